"""What waits when the daemon dies, for a tap, for the bot's own name, for the rest of an album, is still waiting after."""

import pytest

from tests.faults.process import ANN, BOB, GROUP, HANDLE, daemon
from tests.harness import CountingAgent, running

QUESTION = """
version: 1
rules:
  - when: {tap: "table:19"}
    say: [{final: booked for 19}]
otherwise:
  - final:
      text: When?
      card:
        title: A table
        buttons: [{label: "At 19", value: "table:19"}, {label: "At 20", value: "table:20"}]
"""
PATIENT = """
version: 1
defaults: {burst: {quiet: 4s, longest: 20s}}
channels:
  "telegram:7001:-1001000000001": {audience: external}
"""


@pytest.mark.rule("DUR-3")
async def test_a_tap_on_a_question_from_before_the_kill_still_works_once(api, tmp_path):
    async with daemon(tmp_path, api, script=QUESTION) as process:
        await process.start()
        api.say(chat=GROUP, sender=BOB, text=f"{HANDLE} a table please")
        await api.wait_sent(GROUP)
        await process.settled()
        await process.kill()
        tap = api.press(chat=GROUP, sender=BOB, button="At 19")  # nobody is there
        await process.start()
        await api.wait_sent(GROUP, 2)
        await process.settled()
        assert api.texts(GROUP)[1:] == ["booked for 19"]
        assert api.toasts.keys() == {tap}
        await process.kill()
        await process.start()
        await process.settled()
        assert api.texts(GROUP)[1:] == ["booked for 19"]
        assert await process.stop() == 0
        assert process.complaints() == []


@pytest.mark.rule("DUR-3", "PART-14")
async def test_what_waits_for_the_bots_own_name_survives_a_kill_and_keeps_its_order(api, tmp_path):
    fault = api.fail("getMe", 500, times=None)
    async with daemon(tmp_path, api) as process:
        await process.start()
        numbers = [api.say(chat=GROUP, sender=BOB, text=f"{HANDLE} {n}")["message_id"] for n in range(3)]
        await api.wait_drained()
        await process.until(lambda books: books.states()["deferred"] == len(numbers))
        await process.kill()
        assert {entry.reason for entry in process.books.entries().values()} == {"identity_unknown"}
        api.say(chat=GROUP, sender=BOB, text=f"{HANDLE} 3")
        await process.start()
        await process.until(lambda books: books.states()["deferred"] == 4)
        assert api.texts(GROUP) == []
        fault.cancel()
        await api.wait_for(lambda: api.calls_of("getMe")[-1].fate == "answered")
        api.say(chat=GROUP, sender=BOB, text=f"{HANDLE} 4")  # comes when the name is known, and still waits its turn
        await api.wait_sent(GROUP, 5)
        await process.settled()
        assert api.texts(GROUP) == [f"{HANDLE} {n}" for n in range(5)]
        assert await process.stop() == 0
        assert process.complaints() == []


@pytest.mark.rule("DUR-3", "PART-8")
async def test_an_album_that_is_cut_in_two_by_a_kill_is_handed_over_once_and_whole(api, tmp_path):
    picture = api.file(b"a picture", name="picture.jpg")
    async with daemon(tmp_path, api, policy=PATIENT) as process:
        await process.start()
        await api.wait_call("getMe")
        album = {"chat": GROUP, "sender": ANN, "media_group_id": "77"}
        for _ in range(2):
            api.say(**album, photo=picture)
        await api.wait_drained()
        await process.until(lambda books: books.states()["deferred"] == 2)
        await process.kill()
        api.say(**album, photo=picture, text=f"{HANDLE} what is this?")
        await process.start()
        await api.wait_drained()
        await process.settled()
        (answer,) = api.texts(GROUP)
        assert answer.startswith(f"{HANDLE} what is this?\n")
        assert answer.count(" bytes") == 3
        assert sorted(str(entry.result) for entry in process.books.entries().values()) == [
            "answered",
            "carried",
            "carried",
        ]
        assert await process.stop() == 0
        assert process.complaints() == []


@pytest.mark.rule("DUR-3", "PART-8", "PART-14")
async def test_an_album_that_waited_for_the_bots_own_name_is_whole_after_a_kill_of_its_agent(api, tmp_path):
    """Its parts were put off for another reason first: that must not cost them their place in the batch."""
    picture = api.file(b"a picture", name="picture.jpg")
    fault = api.fail("getMe", 500, times=None)
    async with daemon(tmp_path, api) as process:
        await process.start()
        api.album(chat=GROUP, sender=ANN, items=[picture, {"photo": picture, "text": f"{HANDLE} what is this?"}])
        await api.wait_drained()
        await process.until(lambda books: books.states()["deferred"] == 2)
        reading = api.hang("getFile")
        fault.cancel()
        await reading.reached(20)
        await process.kill()
        reading.cut()
        await process.start()
        await process.settled()
        (answer,) = api.texts(GROUP)
        assert answer.count(" bytes") == 2
        assert await process.stop() == 0
        assert process.complaints() == []


@pytest.mark.rule("PART-11", "PART-8")
async def test_an_edit_of_a_caption_that_adds_a_mention_is_a_request(api, tmp_path):
    picture = api.file(b"a picture", name="picture.jpg")
    policy = PATIENT.replace("4s", "1s")
    async with running(tmp_path, api=api, policy=policy, agent=CountingAgent()) as gateway:
        message = api.say(chat=GROUP, sender=BOB, photo=picture, text="for the desk")
        await gateway.quiet()
        assert gateway.agent.requests == []
        api.edit(chat=GROUP, message_id=message["message_id"], text=f"for {HANDLE}")
        await gateway.quiet()
        assert [request.text for request in gateway.agent.requests] == [f"for {HANDLE}"]
        api.edit(chat=GROUP, message_id=message["message_id"], text=f"for you, {HANDLE}")
        await gateway.quiet()
        assert len(gateway.agent.requests) == 1
