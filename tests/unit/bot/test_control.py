"""The control socket: what the command line asks of the daemon beside it."""

import asyncio
import json
import socket
import stat
from contextlib import asynccontextmanager

import pytest
from structlog.testing import capture_logs

from bot.api import control
from bot.api.control import answers, ask, serve
from bot.model.errors import ChannelError, ConfigError


async def greet(person):
    if person == "nobody":
        raise ChannelError("nobody is no member; add them first")
    return f"hello {person}"


@asynccontextmanager
async def serving(path, **verbs):
    """The socket of a daemon; it can be reached from the first line of the block on."""
    task = asyncio.create_task(serve(path, verbs))
    try:
        async with asyncio.timeout(10):
            while not path.is_socket():
                await asyncio.sleep(0)
        yield task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@pytest.fixture
async def path(tmp_path):
    path = tmp_path / "control.sock"
    async with serving(path, greet=greet):
        yield path


async def line(path, sent, *, end=True):
    """What the daemon answers to raw bytes; empty where it hangs up."""
    reader, writer = await asyncio.open_unix_connection(path)
    try:
        async with asyncio.timeout(10):
            writer.write(sent)
            if end:
                writer.write_eof()
            try:
                await writer.drain()
                return await reader.read()
            except ConnectionError:
                return b""
    finally:
        writer.close()


async def test_a_question_gets_its_answer(path):
    assert await ask(path, "greet", person="ann") == "hello ann"


async def test_whether_a_daemon_runs_is_a_question_of_its_own_and_nothing_that_it_complains_of(path, tmp_path):
    with capture_logs() as logs:
        assert await answers(path)
        assert not await answers(tmp_path / "elsewhere.sock")
        assert await ask(path, "greet", person="ann") == "hello ann"  # what it had to say of the first it has said
    assert logs == []


async def test_the_refusal_of_the_daemon_is_what_the_command_says(path):
    with pytest.raises(ConfigError, match="nobody is no member; add them first"):
        await ask(path, "greet", person="nobody")


async def test_a_verb_that_the_daemon_does_not_know_is_told_with_the_mend(path):
    with pytest.raises(ConfigError, match="restart it with its present configuration"):
        await ask(path, "dance")


@pytest.mark.parametrize("words", [{}, {"people": "ann"}, {"person": "ann", "more": "x"}])
async def test_a_question_that_does_not_fit_its_verb_is_refused(path, words):
    with pytest.raises(ConfigError, match="not complete"):
        await ask(path, "greet", **words)


async def test_without_a_daemon_the_command_says_how_to_start_one(tmp_path):
    with pytest.raises(ConfigError, match="Start it first: discreet run"):
        await ask(tmp_path / "control.sock", "greet", person="ann")
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(tmp_path / "control.sock"))  # what a killed daemon leaves
    with pytest.raises(ConfigError, match="Start it first: discreet run"):
        await ask(tmp_path / "control.sock", "greet", person="ann")


async def test_what_a_killed_daemon_left_is_replaced_and_the_socket_is_gone_after_the_end(tmp_path):
    path = tmp_path / "control.sock"
    path.write_text("left behind")
    async with serving(path, greet=greet):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert await ask(path, "greet", person="ann") == "hello ann"
    assert not path.exists()


HOSTILE = {
    "nothing": b"",
    "an empty line": b"\n",
    "no JSON": b"GET / HTTP/1.1\n",
    "no text": b"\xff\xfe\x00\n",
    "a list": b'["greet"]\n',
    "null": b"null\n",
    "a number for a verb": b'{"verb": 1}\n',
    "an object for a person": b'{"verb": "greet", "person": {"a": 1}}\n',
    "NaN": b'{"verb": NaN}\n',
    "a deep nest": b"[" * 60_000 + b"\n",
    "a cut line": b'{"verb": "greet", "person": "ann"',
}


@pytest.mark.parametrize("sent", HOSTILE.values(), ids=HOSTILE)
async def test_what_is_no_question_is_refused_and_the_next_one_is_answered(path, sent):
    assert json.loads(await line(path, sent)) == {"error": "that is no question"}
    assert await ask(path, "greet", person="ann") == "hello ann"


@pytest.mark.parametrize("verb", ["", "__class__", "serve"])
async def test_only_listed_verbs_can_be_reached(path, verb):
    answer = json.loads(await line(path, json.dumps({"verb": verb}).encode() + b"\n"))
    assert answer["error"].startswith("the running daemon can't do that")


async def test_a_line_without_end_is_hung_up_on(path):
    with capture_logs() as logs:
        assert await line(path, b"x" * 200_000, end=False) == b""
    assert [entry["event"] for entry in logs] == ["control_refused"]
    assert "xxx" not in str(logs)
    assert await ask(path, "greet", person="ann") == "hello ann"


async def test_who_says_nothing_is_hung_up_on_and_keeps_nobody_waiting(path, monkeypatch):
    monkeypatch.setattr(control, "_WAIT_S", 0.05)
    silent = asyncio.create_task(line(path, b"", end=False))
    assert await ask(path, "greet", person="ann") == "hello ann"
    async with asyncio.timeout(10):
        assert await silent == b""


async def test_who_leaves_before_the_answer_harms_nobody(path):
    for _ in range(5):
        _, writer = await asyncio.open_unix_connection(path)
        writer.write(b'{"verb": "greet", "person": "ann"}\n')
        writer.transport.abort()
    assert await ask(path, "greet", person="ann") == "hello ann"


async def test_a_socket_that_can_not_be_made_costs_nothing_but_the_commands(tmp_path):
    with capture_logs() as logs:
        async with asyncio.timeout(10):
            await serve(tmp_path / ("x" * 200), {"greet": greet})
            await serve(tmp_path / "no folder" / "control.sock", {"greet": greet})
    assert [entry["event"] for entry in logs] == ["control_socket_failed"] * 2
    assert all(entry["cause"] for entry in logs)
