"""The built-in chat of `discreet run`: people come in by a link, and what they said survives whatever happens."""

import asyncio
import json
import signal
import sqlite3
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from bot.api.control import ask
from tests.acceptance.commands import environment, run
from tests.browser.visitor import Visitor, upload, visit

BODY = "the merger closes on Friday"
POLICY = """\
version: 1
operators: [olga]
people:
  ann: {accounts: ["web:annie"], names: [Ann Example, Annie]}
  bob: {accounts: ["web:bob"]}
  olga: {accounts: ["web:olga"]}
channels:
  "web:desk:customers": {audience: external}
  "web:desk:operators": {audience: internal}
"""
CONFIG = """\
agents:
  main: {kind: echo}
chat:
  enabled: true
  listen: "127.0.0.1:0"
  rooms:
    customers: {title: Customers, members: [ann, bob]}
    operators: {title: Operators, members: [olga]}
metrics: {enabled: false}
log: {level: info, format: json}
"""


@dataclass
class Daemon:
    """`python -m bot run` as a process of its own."""

    folder: Path
    process: asyncio.subprocess.Process
    lines: list[dict[str, Any]] = field(default_factory=list)
    said: asyncio.Condition = field(default_factory=asyncio.Condition)
    url: str = ""

    async def listen(self) -> None:
        """Read its log to the end."""
        while line := await self.process.stderr.readline():
            assert BODY not in line.decode()
            async with self.said:
                self.lines.append(json.loads(line))
                self.said.notify_all()

    async def logged(self, event: str) -> dict[str, Any]:
        """The first line of this name."""
        async with asyncio.timeout(30), self.said:
            while True:
                for line in self.lines:
                    if line["event"] == event:
                        return line
                await self.said.wait()

    async def end(self, how: signal.Signals) -> None:
        if self.process.returncode is None:
            self.process.send_signal(how)
        async with asyncio.timeout(30):
            await self.process.wait()


@asynccontextmanager
async def daemon(folder: Path, *, how: signal.Signals = signal.SIGTERM) -> AsyncIterator[Daemon]:
    """A daemon that serves; the block's end is its end, in the way that is asked for."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "bot", "run"),
        cwd=folder,
        env=environment(folder),
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    one = Daemon(folder=folder, process=process)
    listening = asyncio.create_task(one.listen())
    try:
        serves = await one.logged("chat_serves")
        await one.logged("control_socket")
        one.url = f"http://{serves['host']}:{serves['port']}"
        yield one
        await one.end(how)
        async with asyncio.timeout(30):
            await listening
        assert process.returncode == (0 if how is signal.SIGTERM else -how)
        assert [line for line in one.lines if line["level"] == "error"] == []
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
        listening.cancel()
        await asyncio.gather(listening, return_exceptions=True)


@pytest.fixture
def folder(tmp_path):
    for name, text in (("config.yaml", CONFIG), ("policy.yaml", POLICY)):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o600)
    return tmp_path


async def beside(folder, *arguments):
    return await asyncio.to_thread(run, folder, *arguments)


async def invited(one: Daemon, person: str) -> str:
    """The path of a fresh link."""
    done = await beside(one.folder, "chat", "invite", person)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("\n") == 1  # the link and nothing else, so that it can be piped on
    assert done.stdout.startswith(f"{one.url}/enter/")
    return done.stdout.strip().removeprefix(one.url)


async def entered(visitor: Visitor, one: Daemon, person: str) -> None:
    """As with `discreet chat invite`, but for the start of another process."""
    link = await ask(one.folder / "data" / "control.sock", "invite", person=person)
    path = link.removeprefix(one.url)
    assert (await visitor.post(path, {}))[0] == 200


async def answer_to(visitor: Visitor, message: dict[str, Any]) -> dict[str, Any]:
    async with asyncio.timeout(20), visitor.stream() as stream:
        while True:
            shown = await stream.until("message", room=message["room"])
            if "author" in shown and shown["author"]["bot"] and shown["reply"] == {"id": message["id"]}:
                return shown


def texts(state: Any, room: str = "customers") -> list[str]:
    return [message["text"] for message in state["messages"][room]]


async def test_a_link_lets_its_person_in_once_and_only_looking_at_it_uses_nothing_up(folder):
    async with daemon(folder) as one, visit(one) as ann, visit(one) as thief:
        path = await invited(one, "ann")
        for _ in range(3):  # previews and robots look
            status, page = await ann.get(path)
            assert status == 200
            assert b"once" in page
        assert (await ann.get("/api/state"))[0] == 401
        assert (await ann.post(path, {}))[0] == 200
        assert (await ann.state())["me"] == {"id": "annie", "name": "Ann Example"}
        assert await thief.post(path, {}) == (410, {"error": "error.session"})
        assert (await thief.get(path))[0] == 200
        assert (await thief.get("/api/state"))[0] == 401
        assert (await ann.get("/"))[0] == 200


async def test_who_is_not_in_the_policy_gets_no_link_and_the_admin_reads_why(folder):
    async with daemon(folder) as one:
        for person in ("nobody", "annie"):
            done = await beside(folder, "chat", "invite", person)
            assert done.returncode != 0
            assert done.stdout == ""
            assert f"'{person}' has no account in the chat" in done.stderr
        assert one.process.returncode is None
    done = await beside(folder, "chat", "invite", "ann")
    assert done.returncode != 0
    assert "Start it first: discreet run" in done.stderr


@pytest.mark.rule("PART-1", "OUT-5")
async def test_a_mention_is_answered_and_a_room_is_for_its_members_only(folder):
    async with daemon(folder) as one, visit(one) as ann, visit(one) as bob, visit(one) as olga:
        for visitor, person in ((ann, "ann"), (bob, "bob"), (olga, "olga")):
            await entered(visitor, one, person)
        talk = await ann.say("customers", f"@bob {BODY}", mentions=["bob"])
        asked = await ann.say("customers", "@desk hello", files=[upload("a.txt", b"abc")])
        inside = await olga.say("operators", "@desk secret plan", files=[upload("b.txt", b"xyz")])
        answer = await answer_to(ann, asked)
        assert "hello" in answer["text"]
        assert "a.txt" in answer["text"]
        await answer_to(olga, inside)
        assert texts(await bob.state())[:2] == [talk["text"], asked["text"]]
        for outsider in (ann, bob):
            state = await outsider.state()
            assert [room["id"] for room in state["rooms"]] == ["customers"]
            assert "secret plan" not in json.dumps(state)
            for path in ("/api/rooms/operators/messages", inside["files"][0]["url"], "/api/rooms/nowhere/messages"):
                assert await outsider.get(path) == (404, {"error": "error.gone"})
            for path in ("messages", f"messages/{inside['id']}/delete"):
                body = {"text": "let me in"} if path == "messages" else {}
                assert (await outsider.post(f"/api/rooms/operators/{path}", body))[0] == 404
        assert (await olga.get(asked["files"][0]["url"]))[0] == 404
        assert (await bob.get(asked["files"][0]["url"]))[1] == b"abc"
    assert (await beside(folder, "journal", "verify")).returncode == 0


@pytest.mark.rule("DUR-3", "DUR-4")
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL], ids=["stopped", "killed"])
async def test_what_was_said_and_who_has_come_in_survive_the_daemon(folder, how):
    jar = aiohttp.CookieJar(unsafe=True)
    async with daemon(folder, how=how) as one, aiohttp.ClientSession(cookie_jar=jar) as http:
        ann = Visitor(one, http)
        await entered(ann, one, "ann")
        unused = await invited(one, "bob")
        asked = await ann.say("customers", "@desk hello", files=[upload("a.txt", b"abc")])
        deleted = await ann.say("customers", BODY)
        assert (await ann.post(f"/api/rooms/customers/messages/{deleted['id']}/delete", {}))[0] == 200
        answer = await answer_to(ann, asked)
        before = (await ann.state())["messages"]["customers"]
    async with daemon(folder) as one, aiohttp.ClientSession(cookie_jar=jar) as http, visit(one) as bob:
        ann = Visitor(one, http)
        after = (await ann.state())["messages"]["customers"]
        assert [(m["id"], m["position"], m.get("text")) for m in after] == [
            (m["id"], m["position"], m.get("text")) for m in before
        ]
        assert [m["id"] for m in after if (m.get("reply") or {}).get("id") == asked["id"]] == [answer["id"]]
        assert next(m for m in after if m["id"] == deleted["id"])["deleted"] is True
        assert (await ann.get(asked["files"][0]["url"]))[1] == b"abc"
        assert (await bob.post(unused, {}))[0] == 200
        assert (await bob.post(unused, {}))[0] == 410
        again = await ann.say("customers", "@desk and now?")
        assert "and now?" in (await answer_to(ann, again))["text"]
    done = await beside(folder, "journal", "verify")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.rule("DUR-1", "DUR-3")
async def test_a_request_that_was_taken_is_answered_by_the_next_daemon_when_this_one_is_killed_at_once(folder):
    jar = aiohttp.CookieJar(unsafe=True)
    async with daemon(folder, how=signal.SIGKILL) as one, aiohttp.ClientSession(cookie_jar=jar) as http:
        ann = Visitor(one, http)
        await entered(ann, one, "ann")
        asked = await ann.say("customers", "@desk hello")
    async with daemon(folder) as one, aiohttp.ClientSession(cookie_jar=jar) as http:
        ann = Visitor(one, http)
        answer = await answer_to(ann, asked)
        messages = (await ann.state())["messages"]["customers"]
        assert [message["id"] for message in messages] == [asked["id"], answer["id"]]


@pytest.mark.rule("DUR-5")
async def test_the_chat_forgets_what_it_has_kept_long_enough(folder):
    (folder / "config.yaml").write_text(CONFIG + "contents_retention: 1h\n")
    jar = aiohttp.CookieJar(unsafe=True)
    async with daemon(folder) as one, aiohttp.ClientSession(cookie_jar=jar) as http:
        ann = Visitor(one, http)
        await entered(ann, one, "ann")
        old = await ann.say("customers", BODY, files=[upload("a.txt", b"abc")])
        new = await ann.say("customers", "@desk still here")
        await answer_to(ann, new)
    with closing(sqlite3.connect(folder / "data" / "discreet.db")) as store:  # two hours go by
        for table, column in (("chat_messages", "came_at"), ("inbox", "done_at")):
            store.execute(f"UPDATE {table} SET {column} = {column} - 7200000000 WHERE id = 1")
        store.commit()
    async with daemon(folder) as one, aiohttp.ClientSession(cookie_jar=jar) as http:
        ann = Visitor(one, http)
        await one.logged("swept")
        first, *rest = (await ann.state())["messages"]["customers"]
        assert (first["id"], first["deleted"]) == (old["id"], True)
        assert rest[0]["text"] == "@desk still here"
        assert (await ann.get(old["files"][0]["url"]))[0] == 404
    held = [path for path in (folder / "data").rglob("*") if path.is_file() and BODY.encode() in path.read_bytes()]
    assert held == []
    assert (await beside(folder, "journal", "verify")).returncode == 0
