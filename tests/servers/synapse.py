"""A real Synapse homeserver for the tests of a whole run, and a way to it that can be cut.

It is started by the first test that asks for it and ends with the run, however that ends: the script behind it
(``synapse.sh``) runs as long as we hold its stdin. What an account asked of it is told by Synapse's own access log.
"""

import asyncio
import hashlib
import hmac
import itertools
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

import aiohttp
import pytest

SCRIPT: Final = Path(__file__).with_name("synapse.sh")
SERVER_NAME: Final = "localhost"
PASSWORD: Final = "correct-horse-battery"
_SECRET: Final = b"for-tests"
_LOOK_EVERY_S: Final = 0.02
_CALL: Final = re.compile(
    r"- \{(?P<user>[^}]*)\} Processed request: .* (?P<status>\d+)!? \"(?P<method>[A-Z]+) (?P<path>[^ ?\"]+)",
)
_CLIENT: Final = re.compile(r"/_matrix/(?:client|media)/(?:r0|v1|v3|unstable)/")
_KEEPS_ITSELF_GOING: Final = re.compile(
    r"sync|login|logout|versions|account/|keys/|room_keys/|devices|sendToDevice/|user/[^/]+/filter|media/config|joined_rooms",
)
"""What an adapter may ask of the server without anybody noticing, and without any lookup for a request."""


class AbsentError(Exception):
    """Synapse can't be had on this machine."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Call:
    """What an account asked of the server: the path is without its prefix, and readable."""

    method: str
    path: str
    status: int

    @property
    def verb(self) -> str:
        """The word of the path that says what is done: send, typing, receipt, join, download."""
        words = self.path.split("/")
        place = {"rooms": 2, "media": 1}.get(words[0], 0)
        return words[place] if len(words) > place else words[0]


class Synapse:
    """One homeserver with its state.

    Attributes:
        url: where it listens; the same after a restart.
        server_name: the part of ids after the colon.
    """

    server_name = SERVER_NAME

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.url = ""
        self._process: subprocess.Popen[str] | None = None
        self._numbers = itertools.count(1)
        self._admin: str | None = None

    # the process

    def start(self) -> None:
        """Start it, on the state that it has; returns when it answers.

        Raises:
            AbsentError: it can't be installed or started here.
        """
        self._process = subprocess.Popen(
            ["bash", str(SCRIPT), "serve", str(self.folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHON": sys.executable},
            start_new_session=True,  # an interrupt at the keyboard is for the tests, which then end it
        )
        assert self._process.stdout is not None
        self.url = self._process.stdout.readline().strip()
        if not self.url:
            self.stop()
            raise AbsentError("Synapse can't be installed or started here; tests/servers/synapse.sh install says why")

    def stop(self) -> None:
        """End it; its state stays."""
        process, self._process = self._process, None
        if process is None:
            return
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.close()
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()

    # accounts

    def fresh(self, name: str) -> str:
        """A localpart that no other test has."""
        return f"{name}-{next(self._numbers)}"

    async def register(self, localpart: str, *, admin: bool = False) -> tuple[str, str]:
        """Make an account with the shared secret; returns its user id and its password. It has no device."""
        path = "/_synapse/admin/v1/register"
        nonce = (await self._ask("GET", path))["nonce"]
        words = (nonce, localpart, PASSWORD, "admin" if admin else "notadmin")
        mac = hmac.new(_SECRET, "\0".join(words).encode(), hashlib.sha1).hexdigest()
        body = {"nonce": nonce, "username": localpart, "password": PASSWORD, "admin": admin, "mac": mac}
        made = await self._ask("POST", path, body=body)
        await self._ask("POST", "/_matrix/client/v3/logout", token=made["access_token"], body={})
        return str(made["user_id"]), PASSWORD

    async def token_of(self, user_id: str) -> str:
        """A token with which to act as a user without a device of theirs."""
        path = f"/_synapse/admin/v1/users/{user_id}/login"
        return str((await self._ask("POST", path, token=await self._administrator(), body={}))["access_token"])

    async def _administrator(self) -> str:
        if self._admin is None:
            user_id, password = await self.register("administrator", admin=True)
            self._admin = await self.log_in(user_id, password)
        return self._admin

    async def log_in(self, user_id: str, password: str) -> str:
        """A token with a device of its own."""
        body = {"type": "m.login.password", "identifier": {"type": "m.id.user", "user": user_id}, "password": password}
        return str((await self._ask("POST", "/_matrix/client/v3/login", body=body))["access_token"])

    async def act(self, user_id: str, method: str, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Call the client API (``path`` begins after v3/) as a user, from no device; for what a test sets up."""
        token = await self.token_of(user_id)
        return await self._ask(method, f"/_matrix/client/v3/{path}", token=token, body=body)

    async def _ask(
        self, method: str, path: str, *, token: str | None = None, body: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        async with (
            aiohttp.ClientSession(headers=headers, timeout=aiohttp.ClientTimeout(total=30)) as session,
            session.request(method, self.url + path, json=body) as response,
        ):
            answer: dict[str, Any] = await response.json()
            if response.status != 200:
                raise AssertionError(
                    f"{method} {path}: {response.status} {answer.get('errcode')} {answer.get('error')}"
                )
            return answer

    # what it saw

    async def calls(self, user_id: str) -> list[Call]:
        """What a user's devices asked of it, oldest first, but for what keeps a client itself going."""
        return [call for call in await self.all_calls(user_id) if _KEEPS_ITSELF_GOING.match(call.path) is None]

    async def all_calls(self, user_id: str) -> list[Call]:
        """Everything that a user's devices asked of it, oldest first.

        Every call that has been answered is in it: a call of our own is written behind it, and waited for.
        """
        mark = f"mark-{next(self._numbers)}"
        await self._ask("GET", f"/_matrix/client/versions?{mark}")
        async with asyncio.timeout(10):
            while mark not in (text := self._access()):
                await asyncio.sleep(_LOOK_EVERY_S)  # another process writes it
        found = []
        for line in text.splitlines():
            if (told := _CALL.search(line)) is None or told["user"].partition("|")[0] != user_id:
                continue
            path = unquote(_CLIENT.sub("", told["path"], count=1))
            found.append(Call(method=told["method"], path=path, status=int(told["status"])))
        return found

    async def syncs(self, user_id: str) -> int:
        """How often a user's devices have been told what is new."""
        return sum(call.verb == "sync" and call.status == 200 for call in await self.all_calls(user_id))

    def _access(self) -> str:
        return (self.folder / "access.log").read_text(errors="replace")

    def complaints(self) -> str:
        """What Synapse itself thought wrong."""
        log = (self.folder / "synapse.log").read_text(errors="replace")
        return "\n".join(line for line in log.splitlines() if " ERROR " in line)


# the way to it


@dataclass
class Way:
    """A TCP way to the server that can be shut, and that can lose the answer to a call.

    Attributes:
        url: what a client is told.
        lost: how many answers were lost.
    """

    port_behind: int
    url: str = ""
    lost: int = 0
    _server: asyncio.Server | None = None
    _port: int = 0
    _losing: list[tuple[bytes, bool]] = field(default_factory=list)
    _news: asyncio.Condition = field(default_factory=asyncio.Condition)
    _open: set[asyncio.StreamWriter] = field(default_factory=set)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    async def open(self) -> None:
        """Let calls through, on the port that it had."""
        self._server = await asyncio.start_server(self._take, "127.0.0.1", self._port)
        self._port = self._server.sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{self._port}"

    async def shut(self) -> None:
        """Cut every connection and refuse new ones."""
        server, self._server = self._server, None
        if server is not None:
            server.close()
        for writer in self._open:
            writer.transport.abort()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if server is not None:
            await server.wait_closed()

    def lose_answer(self, to: str, *, arrives: bool = True) -> None:
        """The next call whose request line holds these words is cut off: after it was carried out, or before."""
        self._losing.append((to.encode(), arrives))

    def keep_answers(self) -> None:
        """What was to be lost and has not been is not."""
        self._losing.clear()

    async def has_lost(self, count: int, *, within_s: float = 20.0) -> None:
        """Wait until so many answers were lost."""
        async with asyncio.timeout(within_s), self._news:
            await self._news.wait_for(lambda: self.lost >= count)

    async def _take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self._open.add(writer)
        try:
            behind_reader, behind = await asyncio.open_connection("127.0.0.1", self.port_behind)
        except OSError:
            behind_reader = behind = None
        try:
            if behind is not None and behind_reader is not None:
                self._open.add(behind)
                await self._carry(reader, writer, behind_reader, behind)
        except (OSError, asyncio.CancelledError):  # a connection of a client that went away, or of a shut way
            pass
        finally:
            for end in (writer, behind):
                if end is not None:
                    self._open.discard(end)
                    end.transport.abort()
            self._tasks.discard(task)

    async def _carry(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        behind_reader: asyncio.StreamReader,
        behind: asyncio.StreamWriter,
    ) -> None:
        cut = asyncio.Event()

        async def there() -> None:
            while chunk := await reader.read(65536):
                line = chunk.partition(b"\r\n")[0]
                for words, arrives in self._losing:
                    if words in line:
                        self._losing.remove((words, arrives))
                        cut.set()
                        if not arrives:
                            await self._lose()
                            return
                        break
                behind.write(chunk)
                await behind.drain()

        async def back() -> None:
            while chunk := await behind_reader.read(65536):
                if cut.is_set():
                    await self._lose()
                    return
                writer.write(chunk)
                await writer.drain()

        ways = [asyncio.create_task(there()), asyncio.create_task(back())]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)

    async def _lose(self) -> None:
        self.lost += 1
        async with self._news:
            self._news.notify_all()


@asynccontextmanager
async def way_to(synapse: Synapse) -> AsyncIterator[Way]:
    """An open way; shut at the end."""
    way = Way(port_behind=int(synapse.url.rpartition(":")[2]))
    await way.open()
    try:
        yield way
    finally:
        await way.shut()


async def until(true: Callable[[], Awaitable[Any]], *, within_s: float = 20.0) -> Any:
    """Ask again and again until the answer is true, for what only another process knows; returns the answer."""
    async with asyncio.timeout(within_s):
        while not (answer := await true()):
            await asyncio.sleep(_LOOK_EVERY_S)
    return answer


# fixtures

_shared: list[Synapse] = []


@pytest.fixture(scope="session")
def synapse() -> Iterator[Synapse]:
    """The homeserver of this run; rooms and people of other tests are on it too."""
    if not _shared:
        folder = Path(tempfile.mkdtemp(prefix="discreet-synapse-"))
        server = Synapse(folder)
        try:
            server.start()
        except AbsentError as absent:
            shutil.rmtree(folder, ignore_errors=True)
            pytest.skip(str(absent))
        _shared.append(server)
    try:
        yield _shared[0]
    finally:
        with suppress(IndexError):
            server = _shared.pop()
            server.stop()
            shutil.rmtree(server.folder, ignore_errors=True)
