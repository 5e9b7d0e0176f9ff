"""SIGTERM in the middle of work: an orderly end within ten seconds, and whatever was not finished is found again."""

import signal
import time

import pytest

from tests.faults.process import BOB, GROUP, HANDLE, REPORTS, Process, daemon

LONGEST_S = 10.0
SLOW = """
version: 1
rules:
  - when: {words: [slow]}
    say: [{wait: 30}, {final: slow answer}]
otherwise: [{final: quick answer}]
"""
SLOW_AND_THEN_QUICK = SLOW.replace("{wait: 30}, ", "")


async def stopping(process: Process) -> None:
    """Wait until the daemon has heard the signal: then its doors are shut, and commands find nobody at the socket."""
    await process.until(lambda _: not (process.folder / "data" / "control.sock").exists())


@pytest.mark.rule("DUR-1", "DUR-2")
async def test_a_send_under_way_may_end_before_the_daemon_does(api, tmp_path):
    async with daemon(tmp_path, api) as process:
        await process.start()
        fault = api.hang("sendMessage")
        api.say(chat=GROUP, sender=BOB, text=f"{HANDLE} hello")
        await fault.reached()
        process.tell(signal.SIGTERM)
        await stopping(process)
        fault.release()
        assert await process.ended(within_s=LONGEST_S) == 0
        (part,) = process.books.parts()
        assert (part.state, part.messages) == ("delivered", (str(api.sent(GROUP)[0]["message_id"]),))
        assert process.complaints() == []


@pytest.mark.rule("DUR-2", "DUR-3")
@pytest.mark.parametrize("arrives", [True, False], ids=["it-had-arrived", "it-had-not"])
async def test_a_send_that_does_not_end_is_marked_unknown_reported_and_not_repeated(api, tmp_path, arrives):
    async with daemon(tmp_path, api) as process:
        await process.start()
        fault = api.hang("sendMessage", deliver=arrives)
        api.say(chat=GROUP, sender=BOB, text=f"{HANDLE} hello")
        await fault.reached()
        api.say(chat=GROUP, sender=BOB, text=f"{HANDLE} and this?")  # waits behind it
        await api.wait_drained()
        await process.until(lambda books: len(books.answers()) == 2)
        begun = time.monotonic()
        assert await process.stop(within_s=LONGEST_S) == 0
        assert time.monotonic() - begun < LONGEST_S
        fault.cut()
        api.faults.clear()
        await process.start()
        await process.settled()
        await api.wait_sent(REPORTS)
        first, second = process.books.answers()
        assert (first.state, second.state) == ("unknown", "delivered")
        assert api.texts(GROUP) == [f"{HANDLE} hello"] * arrives + [f"{HANDLE} and this?"]
        (report,) = api.texts(REPORTS)
        assert f"number {first.id} " in report
        assert await process.stop() == 0
        assert process.complaints() == []


@pytest.mark.rule("DUR-3")
async def test_an_agent_that_is_still_at_work_is_asked_again_after_the_restart(api, tmp_path):
    async with daemon(tmp_path, api, script=SLOW) as process:
        await process.start()
        for words in ("slow", "quick", "quick"):
            api.say(chat=GROUP, sender=BOB, text=f"{HANDLE} {words}")
        await api.wait_drained()
        await process.until(lambda books: books.states()["decided"] == 3)
        assert await process.stop(within_s=LONGEST_S) == 0
        assert process.books.states() == {"decided": 3}
        assert api.texts(GROUP) == []
        (tmp_path / "script.yaml").write_text(SLOW_AND_THEN_QUICK)
        await process.start()
        await process.settled()
        assert api.texts(GROUP) == ["slow answer", "quick answer", "quick answer"]
        assert await process.stop() == 0
        assert process.complaints() == []


@pytest.mark.rule("DUR-3")
async def test_a_second_sigterm_does_no_harm(api, tmp_path):
    async with daemon(tmp_path, api) as process:
        await process.start()
        fault = api.hang("sendMessage")
        api.say(chat=GROUP, sender=BOB, text=f"{HANDLE} hello")
        await fault.reached()
        process.tell(signal.SIGTERM)
        await stopping(process)
        process.tell(signal.SIGTERM)
        process.tell(signal.SIGINT)
        fault.release()
        assert await process.ended(within_s=LONGEST_S) == 0
        assert [part.state for part in process.books.parts()] == ["delivered"]
        assert process.complaints() == []
        process.check_journal()
