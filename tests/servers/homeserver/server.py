"""The scripted homeserver as tests use it."""

import secrets
import time
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Any, Self, TypeVar

from tests.servers.botapi.watch import Watch
from tests.servers.homeserver.calls import REACHING, Call, Fault, Json, RefusalError
from tests.servers.homeserver.front import Front
from tests.servers.homeserver.keys import Keys
from tests.servers.homeserver.world import Entry, Room, World

T = TypeVar("T")


class Homeserver:
    """A homeserver with one bot account, on 127.0.0.1.

    ``async with Homeserver() as server`` listens; leaving stops. It may be entered again: it keeps its port and all
    that happened, like a server that was away for a while.

    Args:
        user_id: the bot's.
        password: the bot's.
        token: one that is valid from the beginning, of the device ``device``.
        port: 0 takes a free one.
    """

    def __init__(
        self,
        *,
        user_id: str = "@relay:example.org",
        password: str = "correct horse",
        token: str = "syt_first",
        device: str = "BOTDEVICE",
        port: int = 0,
    ) -> None:
        self.user_id = user_id
        self.password = password
        self.token = token
        self.device = device
        self.port = port
        self.watch = Watch()
        self.world = World(user_id, self.watch.changed)
        self.keys = Keys()
        self.calls: list[Call] = []
        self.faults: list[Fault] = []
        self.tokens: dict[str, str] = {token: device}
        self.soft_logout = False
        self.login_flows = ["m.login.password", "m.login.token"]
        self.well_known: Json | None = None
        self.filters: list[Json] = []
        self.transactions: dict[tuple[str, str], str] = {}
        self.media: dict[str, tuple[bytes, str]] = {}
        self.upload_bytes = 50 * 1024 * 1024
        self.asks_password_for_keys = False
        self.display_names: dict[str, str] = {}
        self.event_refusals: dict[str, RefusalError] = {}
        self._front = Front(self)

    # Life

    async def start(self) -> Self:
        """Listen."""
        self.port = await self._front.start(self.port)
        return self

    async def stop(self) -> None:
        """Stop listening, cut all connections; the state stays. Connections are refused from then on."""
        for fault in self.faults:
            if fault.kind == "hang":
                fault.cut()
        await self._front.stop()

    @asynccontextmanager
    async def outage(self) -> AsyncIterator[None]:
        """Connections are refused inside."""
        await self.stop()
        try:
            yield
        finally:
            await self.start()

    async def __aenter__(self) -> Self:
        return await self.start()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.stop()

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.port}"

    # What happens in rooms

    def room(
        self,
        room_id: str = "!lab:example.org",
        *,
        joined: Iterable[str] = (),
        invited: Iterable[str] = (),
        left: Iterable[str] = (),
        name: str | None = None,
        version: str | None = "11",
        encrypted: bool = False,
        membership: str = "join",
        names: dict[str, str] | None = None,
        state: Iterable[Json] = (),
    ) -> Room:
        """A room that is there from now on; the bot is in it unless ``membership`` says otherwise.

        Args:
            joined: members beside the bot (the bot may stand among them).
            names: display names by user id.
            state: more state events (type, state_key, content ...), replacing those made here.
        """
        people = [*dict.fromkeys((self.user_id, *joined) if membership == "join" else joined)]
        names = names or {}
        create: Json = {} if version is None else {"room_version": version}
        made = [self.event("m.room.create", create, sender=(people or [self.user_id])[0], state_key="")]
        if name is not None:
            made.append(self.event("m.room.name", {"name": name}, sender=self.user_id, state_key=""))
        if encrypted:
            content = {"algorithm": "m.megolm.v1.aes-sha2"}
            made.append(self.event("m.room.encryption", content, sender=self.user_id, state_key=""))
        for kind, users in (("join", people), ("invite", invited), ("leave", left)):
            for user in users:
                content = {"membership": kind} | ({"displayname": names[user]} if user in names else {})
                made.append(self.event("m.room.member", content, sender=user, state_key=user))
        made += [self.event(e["type"], e.get("content", {}), **_rest(e)) for e in state]
        room = Room(id=room_id, membership=membership, base=made, joined_at=self.world.step())
        self.world.rooms[room_id] = room
        self.world.wake()
        return room

    def event(self, kind: str, content: Any, *, sender: str = "@alice:example.org", **more: Any) -> Json:
        """An event with a new id and the time of now, not yet anywhere."""
        event = {
            "type": kind,
            "sender": sender,
            "content": content,
            "origin_server_ts": int(time.time() * 1000),
            **more,
        }
        event.setdefault("event_id", self.world.new_id())
        return event

    def push(self, room_id: str, event: Any) -> Any:
        """Put an event at the end of a room's stream exactly as it is, however malformed."""
        return self.world.append(self.world.rooms[room_id], event)

    def say(self, room_id: str, body: str, *, sender: str = "@alice:example.org", **content: Any) -> str:
        """A text message; returns its id. ``mentions`` stands for ``m.mentions`` (user ids)."""
        mentions = content.pop("mentions", None)
        words = {"msgtype": "m.text", "body": body, **content}
        if mentions is not None:
            words["m.mentions"] = {"user_ids": list(mentions)} if mentions else {}
        return str(self.push(room_id, self.event("m.room.message", words, sender=sender))["event_id"])

    def member(self, room_id: str, user: str, membership: str, *, sender: str | None = None, **content: Any) -> str:
        """A change of membership, the bot's own too (a kick has another sender)."""
        content = {"membership": membership, **content}
        return str(
            self.push(room_id, self.event("m.room.member", content, sender=sender or user, state_key=user))["event_id"]
        )

    def redact(self, room_id: str, event_id: str, *, sender: str = "@alice:example.org") -> str:
        """Redact an event, in the way of all room versions at once; returns the redaction's id."""
        room = self.world.rooms[room_id]
        event = self.event("m.room.redaction", {"redacts": event_id}, sender=sender, redacts=event_id)
        self.world.append(room, event)
        self.world.redact(room, event_id)
        return str(event["event_id"])

    def invite(
        self,
        room_id: str,
        *,
        sender: str = "@alice:example.org",
        is_direct: bool | None = None,
        name: str | None = None,
        state: Iterable[Any] = (),
        event: Any = None,
    ) -> Room:
        """Invite the bot; the room comes to be if it isn't there.

        Args:
            state: more stripped events, as they are.
            event: the invite itself, as it is, instead of a proper one.
        """
        room = self.world.rooms.get(room_id) or self.room(room_id, joined=[sender], membership="none")
        content: Json = {"membership": "invite"} | ({} if is_direct is None else {"is_direct": is_direct})
        stripped: Json = {"type": "m.room.member", "state_key": self.user_id, "sender": sender, "content": content}
        names = [{"type": "m.room.name", "state_key": "", "sender": sender, "content": {"name": name}}] if name else []
        room.invite_state = [*names, *state, stripped if event is None else event]
        room.membership, room.invited_at = "invite", self.world.step()
        self.world.wake()
        return room

    def know(self, event: Json) -> None:
        """An event that can be fetched by its id and stands in no stream."""
        self.world.known[event["room_id"], event["event_id"]] = event

    def patch_sync(self, patch: Callable[[Json], Any]) -> None:
        """Spoil the next news: ``patch`` gets the answer and returns the one to give, as often as it is asked for."""
        self.world.patches.append(Entry(self.world.step(), patch))
        self.world.wake()

    def to_device(self, event: Any) -> None:
        """A message for the bot's device."""
        self.world.to_device.append(Entry(self.world.step(), event))
        self.world.wake()

    def device_changed(self, user: str) -> None:
        """Tell the bot that a user's devices have changed."""
        self.world.changed_devices.append(Entry(self.world.step(), user))
        self.world.wake()

    def forget_tokens(self) -> None:
        """All sync tokens given so far are unknown from now on."""
        self.world.epoch += 1
        self.world.step()
        self.world.wake()

    def add_token(self, device: str) -> str:
        """A new access token of a device."""
        token = f"syt_{secrets.token_urlsafe(12)}"
        self.tokens[token] = device
        return token

    def log_out(self, *, soft: bool = False) -> None:
        """Make all access tokens invalid."""
        self.soft_logout = soft
        self.tokens.clear()
        self.world.wake()

    # Trouble

    def fail(
        self,
        name: str,
        status: int,
        errcode: str = "M_UNKNOWN",
        *,
        times: int | None = 1,
        retry_after_ms: int | None = None,
        room: str | None = None,
        deliver: bool = False,
        raw: bytes | None = None,
        **more: Any,
    ) -> Fault:
        """Refuse calls (``times``: None for all); ``raw``: with this body, such as a proxy's."""
        if retry_after_ms is not None:
            more["retry_after_ms"] = retry_after_ms
        refusal = RefusalError(status, errcode, **more)
        return self._fault(
            Fault(name=name, kind="fail", refusal=refusal, times=times, room=room, deliver=deliver, raw=raw)
        )

    def drop(self, name: str, *, times: int | None = 1, deliver: bool = False, room: str | None = None) -> Fault:
        """Reset the connection, before the call has its effect or (``deliver``) after it."""
        return self._fault(Fault(name=name, kind="drop", times=times, deliver=deliver, room=room))

    def hang(self, name: str, *, times: int | None = 1, deliver: bool = False, room: str | None = None) -> Fault:
        """Don't answer until the fault is released or cut."""
        return self._fault(Fault(name=name, kind="hang", times=times, deliver=deliver, room=room))

    def garble(self, name: str, raw: bytes, *, times: int | None = 1, deliver: bool = False) -> Fault:
        """Answer 200 with this body."""
        return self._fault(Fault(name=name, kind="garble", raw=raw, times=times, deliver=deliver))

    def _fault(self, fault: Fault) -> Fault:
        self.faults.append(fault)
        return fault

    # Looking and waiting

    def calls_of(self, *names: str) -> list[Call]:
        """The calls of these endpoints, oldest first."""
        return [call for call in self.calls if call.name in names]

    @property
    def reaching(self) -> list[Call]:
        """The calls that people could notice: sends, typing, receipts, joins, leaves, uploads."""
        return [call for call in self.calls if call.name in REACHING]

    def sent(self, room_id: str) -> list[Json]:
        """The bot's own events that stand in a room, oldest first."""
        events = [entry.event for entry in self.world.rooms[room_id].entries if isinstance(entry.event, dict)]
        return [e for e in events if e.get("sender") == self.user_id and "state_key" not in e]

    def texts(self, room_id: str) -> list[str]:
        """The bodies of its messages there."""
        return [e["content"].get("body", "") for e in self.sent(room_id) if e["type"] == "m.room.message"]

    @property
    def drained(self) -> bool:
        """Whether the bot has acknowledged all news: it asks for what comes after."""
        polls = [call for call in self.calls_of("sync") if call.fate in ("open", "answered", "hanging")]
        return bool(polls) and polls[-1].query.get("since") == self.world.token()

    async def wait_for(self, predicate: Callable[[], T], timeout: float = 10.0) -> T:
        """Wait until ``predicate()`` is true; it is tried after every call and change.

        Raises:
            TimeoutError: not within ``timeout`` seconds; the message shows the last calls.
        """
        return await self.watch.wait_for(predicate, timeout, self._describe)

    async def wait_drained(self, timeout: float = 10.0) -> None:
        """Wait until the bot has acknowledged all news."""
        await self.wait_for(lambda: self.drained, timeout)

    async def wait_call(self, name: str, count: int = 1, *, timeout: float = 10.0) -> Call:
        """Wait until an endpoint has been called ``count`` times and that call is over, and return it."""

        def found() -> Call | None:
            calls = self.calls_of(name)
            return calls[count - 1] if len(calls) >= count and calls[count - 1].fate != "open" else None

        call = await self.wait_for(found, timeout)
        assert call is not None
        return call

    async def wait_sent(self, room_id: str, count: int = 1, *, timeout: float = 10.0) -> list[Json]:
        """Wait until at least ``count`` events of the bot stand in a room, and return them all."""
        await self.wait_for(lambda: len(self.sent(room_id)) >= count, timeout)
        return self.sent(room_id)

    def _describe(self) -> str:
        recent = [repr(call) for call in self.calls if call.name != "sync"][-8:]
        polls = [call.query.get("since") for call in self.calls_of("sync")][-3:]
        return f"at {self.world.token()}, last polls from {polls}; last calls: {'; '.join(recent) or 'none'}"


def _rest(event: Json) -> Json:
    return {"state_key": ""} | {key: value for key, value in event.items() if key not in ("type", "content")}
