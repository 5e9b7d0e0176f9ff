"""Taking events in from a scripted homeserver."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.channels.matrix.client import CallError, MatrixApi, NoAnswerError
from bot.channels.matrix.intake import Intake
from bot.channels.matrix.login import SoftLogoutError
from bot.channels.matrix.rooms import Rooms
from bot.model.errors import ChannelError, StoreError
from bot.model.inbound import Arrival
from tests.servers.homeserver import Homeserver

BOT = "@relay:example.org"
ALICE = "@alice:example.org"
LAB = "!lab:example.org"
ACCOUNT = f"matrix:{BOT}"


@dataclass
class Book:
    """A store that remembers, and fails on order."""

    kept: dict[str, str] = field(default_factory=dict)
    arrivals: list[Arrival] = field(default_factory=list)
    refuse_accept: int = 0
    refuse_write: int = 0
    steps: list[str] = field(default_factory=list)

    async def read(self, account: str) -> dict[str, str]:
        assert account == ACCOUNT
        return dict(self.kept)

    async def write(self, account: str, changes: Mapping[str, str | None]) -> None:
        if self.refuse_write and "sync_token" in changes:
            self.refuse_write -= 1
            raise StoreError("disk full")
        self.steps.append("write")
        for name, value in changes.items():
            if value is None:
                self.kept.pop(name, None)
            else:
                self.kept[name] = value

    async def accept(self, account: str, arrivals: Sequence[Arrival]) -> None:
        if self.refuse_accept:
            self.refuse_accept -= 1
            raise StoreError("disk full")
        self.steps.append("accept")
        known = {arrival.key for arrival in self.arrivals}
        self.arrivals += [arrival for arrival in arrivals if arrival.key not in known]

    @property
    def envelopes(self) -> list[dict[str, Any]]:
        return [json.loads(arrival.raw) for arrival in self.arrivals]

    @property
    def bodies(self) -> list[str]:
        return [e["event"]["content"]["body"] for e in self.envelopes if e["event"]["type"] == "m.room.message"]


@dataclass
class Keyring:
    """The encryption, as far as the intake sees it."""

    taken: list[Any] = field(default_factory=list)
    kept_up: int = 0
    faults: list[Exception] = field(default_factory=list)

    def take(self, sync: Any) -> None:
        self.taken.append(sync)
        if self.faults and not isinstance(self.faults[0], CallError):
            raise self.faults.pop(0)

    async def upkeep(self, api: Any) -> None:
        self.kept_up += 1
        if self.faults:
            raise self.faults.pop(0)


@pytest.fixture
async def server() -> AsyncIterator[Homeserver]:
    async with Homeserver() as running:
        yield running


@asynccontextmanager
async def taking(
    server: Homeserver,
    book: Book,
    *,
    keys: Keyring | None = None,
    rooms: Rooms | None = None,
    ended: list[BaseException] | None = None,
) -> AsyncIterator[Intake]:
    api = MatrixApi(homeserver=server.url, token=server.token)
    intake = Intake(
        api,
        keys or Keyring(),
        rooms or Rooms(BOT),
        book,
        account=ACCOUNT,
        user_id=BOT,
        clock=lambda: datetime.now(UTC),
        wait_s=20,
        back_off_first_s=0.01,
        back_off_longest_s=0.02,
    )
    task = asyncio.create_task(intake.run(book.accept))
    if ended is not None:
        task.add_done_callback(lambda done: ended.append(done.exception() or AssertionError("it ended")))
    try:
        yield intake
        assert task.done() is (ended is not None)
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await api.close()


async def until(predicate: Callable[[], object]) -> None:
    async with asyncio.timeout(5):
        while not predicate():
            await asyncio.sleep(0.005)  # nothing tells; bounded above


async def test_the_first_sync_is_history_and_the_second_is_not(server: Homeserver) -> None:
    server.room(LAB, joined=[ALICE], name="Lab")
    server.say(LAB, "old")
    book = Book()
    async with taking(server, book) as intake:
        await server.wait_drained()
        server.say(LAB, "new")
        await server.wait_drained()
        assert intake.state == "ok"
    old, new = book.envelopes
    assert (old["history"], new["history"]) == (True, False)
    assert new["room"] == {
        "room_id": LAB,
        "name": "Lab",
        "room_version": "11",
        "encrypted": False,
        "members": 2,
        "direct": False,
    }
    assert new["event"]["room_id"] == LAB
    assert new["via"] == "sync"
    assert book.arrivals[1].lane == f"matrix:{BOT}:{LAB}"
    assert book.arrivals[1].key == new["event"]["event_id"]


async def test_the_first_call_is_short_and_whole_and_later_ones_wait(server: Homeserver) -> None:
    server.room(LAB)
    async with taking(server, Book()):
        await server.wait_drained()
    first, second = server.calls_of("sync")
    assert (first.query["timeout"], first.query["full_state"], first.query.get("since")) == ("0", "true", None)
    assert (second.query["timeout"], second.query.get("full_state")) == ("20000", None)
    wanted = json.loads(second.query["filter"])
    assert wanted["presence"] == wanted["room"]["ephemeral"] == wanted["account_data"] == {"not_types": ["*"]}
    assert not server.reaching


async def test_the_token_is_kept_after_the_events_are(server: Homeserver) -> None:
    server.room(LAB)
    server.say(LAB, "x")
    book = Book()
    async with taking(server, book):
        await server.wait_drained()
    assert book.steps == ["accept", "write"]
    assert book.kept["sync_token"] == server.world.token()


@pytest.mark.parametrize("part", ["refuse_accept", "refuse_write"])
async def test_what_could_not_be_stored_comes_again(server: Homeserver, part: str) -> None:
    server.room(LAB, joined=[ALICE])
    book = Book()
    async with taking(server, book) as intake:
        await server.wait_drained()
        token = book.kept["sync_token"]
        setattr(book, part, 3)
        server.say(LAB, "hello")
        server.member(LAB, "@bob:example.org", "join")
        await until(lambda: intake.state == "store")
        assert book.kept["sync_token"] == token
        await server.wait_drained()
        assert intake.state == "ok"
    assert book.bodies == ["hello"]
    assert [e["room"]["members"] for e in book.envelopes] == [3, 3]


async def test_a_restart_goes_on_where_it_was_and_knows_the_rooms(server: Homeserver) -> None:
    server.room(LAB, joined=[ALICE], name="Lab")
    book = Book()
    async with taking(server, book):
        await server.wait_drained()
    server.say(LAB, "meanwhile")
    rooms = Rooms(BOT)
    async with taking(server, book, rooms=rooms):
        await server.wait_drained()
    (envelope,) = book.envelopes
    assert not envelope["history"]
    assert envelope["room"]["members"] == 2
    assert rooms.get(LAB).name == "Lab"


async def test_a_gap_is_filled_in_order_before_the_timeline(server: Homeserver) -> None:
    room = server.room(LAB, joined=[ALICE])
    book = Book()
    async with taking(server, book):
        await server.wait_drained()
    room.timeline_limit = 3
    words = [str(n) for n in range(230)]
    for word in words:
        server.say(LAB, word)
    async with taking(server, book):
        await server.wait_drained()
    assert book.bodies == words
    assert [e["via"] for e in book.envelopes] == ["gap"] * 227 + ["sync"] * 3
    assert len(server.calls_of("messages")) == 3


async def test_a_gap_that_cannot_be_filled_now_keeps_the_token(server: Homeserver) -> None:
    room = server.room(LAB, joined=[ALICE])
    book = Book()
    async with taking(server, book):
        await server.wait_drained()
    token = book.kept["sync_token"]
    room.timeline_limit = 1
    for word in ("a", "b", "c"):
        server.say(LAB, word)
    fault = server.fail("messages", 500, times=None)
    async with taking(server, book) as intake:
        await server.wait_call("messages", 3)
        assert intake.state == "unreachable"
        assert book.kept["sync_token"] == token
        assert book.arrivals == []
        fault.cancel()
        await server.wait_drained()
    assert book.bodies == ["a", "b", "c"]


async def test_a_gap_that_is_refused_each_time_does_not_silence_the_rest(server: Homeserver) -> None:
    room = server.room(LAB, joined=[ALICE])
    server.room("!other:example.org", joined=[ALICE])
    book = Book()
    async with taking(server, book):
        await server.wait_drained()
        room.timeline_limit = 1
        server.fail("messages", 403, "M_FORBIDDEN", times=None)
        async with server.outage():
            for word in ("a", "b"):
                server.say(LAB, word)
            server.say("!other:example.org", "c")
        await server.wait_drained()
    assert book.bodies == ["b", "c"]


async def test_a_first_sync_fills_no_gap(server: Homeserver) -> None:
    server.room(LAB, joined=[ALICE]).timeline_limit = 1
    for word in ("a", "b"):
        server.say(LAB, word)
    book = Book()
    async with taking(server, book):
        await server.wait_drained()
    assert book.bodies == ["b"]
    assert not server.calls_of("messages")


async def test_an_invite_comes_once_also_after_a_restart(server: Homeserver) -> None:
    server.invite("!trap:evil.example", sender="@mallory:evil.example", is_direct=True, name="Trap")
    book = Book()
    server.world.repeat_invites = True
    for _ in range(2):
        async with taking(server, book):
            await server.wait_drained()
    (envelope,) = book.envelopes
    assert envelope["via"] == "invite"
    assert envelope["history"] is False
    assert envelope["room"]["name"] == "Trap"
    event = envelope["event"]
    assert (event["type"], event["state_key"], event["sender"]) == ("m.room.member", BOT, "@mallory:evil.example")
    assert event["content"] == {"membership": "invite", "is_direct": True}
    assert type(event["origin_server_ts"]) is int
    assert book.arrivals[0].key.startswith("invite:!trap:evil.example:")
    assert not server.reaching


async def test_an_invite_has_the_same_name_after_a_crash_between_accept_and_token(server: Homeserver) -> None:
    server.invite("!x:example.org")
    book = Book(refuse_write=1)
    async with taking(server, book):
        await server.wait_drained()
    assert len(book.arrivals) == 1
    assert book.steps.count("accept") == 2


async def test_a_new_invite_after_leaving_is_a_new_one(server: Homeserver) -> None:
    server.invite("!x:example.org", is_direct=True)
    book = Book()
    async with taking(server, book):
        await server.wait_drained()
        assert book.kept["direct:!x:example.org"] == ALICE
        server.member("!x:example.org", BOT, "leave", sender=ALICE)
        await server.wait_drained()
        assert not [name for name in book.kept if name != "sync_token"]
        server.invite("!x:example.org", is_direct=True)
        await server.wait_drained()
    first, second = book.arrivals
    assert first.key != second.key


async def test_a_direct_chat_is_known_as_one_after_a_restart(server: Homeserver) -> None:
    server.invite("!dm:example.org", is_direct=True)
    book = Book()
    async with taking(server, book):
        await server.wait_drained()
        server.member("!dm:example.org", BOT, "join")
        await server.wait_drained()
    async with taking(server, book):
        server.say("!dm:example.org", "hello")
        await server.wait_drained()
    envelope = book.envelopes[-1]
    assert envelope["room"]["direct"] is True
    assert envelope["room"]["members"] == 2
    assert envelope["history"] is False


async def test_what_was_said_before_the_own_join_is_history(server: Homeserver) -> None:
    book = Book()
    async with taking(server, book):
        await server.wait_drained()
        server.room(LAB, joined=[ALICE], membership="none")
        server.say(LAB, "before")
        server.member(LAB, BOT, "join")
        server.say(LAB, "after")
        await server.wait_drained()
    assert [e["history"] for e in book.envelopes] == [True, False, False]


async def test_a_busy_room_is_taken_from_the_own_join_on(server: Homeserver) -> None:
    book = Book()
    async with taking(server, book):
        await server.wait_drained()
        async with server.outage():
            room = server.room(LAB, joined=[ALICE], membership="none")
            room.timeline_limit = 2
            server.say(LAB, "before")
            server.member(LAB, BOT, "join")
            for word in ("a", "b", "c", "d"):
                server.say(LAB, word)
        await server.wait_drained()
    found = [(e["event"]["content"].get("body", "join"), e["history"]) for e in book.envelopes]
    assert found[-5:] == [("join", False), ("a", False), ("b", False), ("c", False), ("d", False)]
    assert all(old for _, old in found[:-5])


async def test_being_kicked_is_noticed(server: Homeserver) -> None:
    server.room(LAB, joined=[ALICE])
    book, rooms = Book(), Rooms(BOT)
    async with taking(server, book, rooms=rooms):
        await server.wait_drained()
        server.member(LAB, BOT, "leave", sender=ALICE)
        await server.wait_drained()
    assert rooms.get(LAB).membership == "leave"
    assert f"joined:{LAB}" not in book.kept


async def test_a_lost_token_begins_again_as_a_first_sync(server: Homeserver) -> None:
    server.room(LAB, joined=[ALICE])
    book = Book()
    async with taking(server, book):
        await server.wait_drained()
        server.say(LAB, "heard")
        await server.wait_drained()
        server.forget_tokens()
        server.say(LAB, "old by then")
        await server.wait_drained()
        server.say(LAB, "new")
        await server.wait_drained()
    assert [(e["event"]["content"]["body"], e["history"]) for e in book.envelopes] == [
        ("heard", False),
        ("old by then", True),
        ("new", False),
    ]


async def test_a_single_bad_request_loses_no_token(server: Homeserver) -> None:
    server.room(LAB, joined=[ALICE])
    book = Book()
    async with taking(server, book):
        await server.wait_drained()
        server.fail("sync", 400, "M_UNKNOWN", times=2)
        server.say(LAB, "x")
        await server.wait_drained()
        server.say(LAB, "y")
        await server.wait_drained()
    assert [e["history"] for e in book.envelopes] == [False, False]
    assert all(call.query.get("since") for call in server.calls_of("sync")[1:])


@pytest.mark.parametrize("soft", [False, True])
async def test_a_dead_token_ends_it(server: Homeserver, soft: bool) -> None:
    ended: list[BaseException] = []
    async with taking(server, Book(), ended=ended) as intake:
        await server.wait_drained()
        server.log_out(soft=soft)
        await until(lambda: ended)
    assert isinstance(ended[0], ChannelError)
    assert isinstance(ended[0], SoftLogoutError) is soft
    assert intake.state == "logged_out"
    assert server.token not in str(ended[0])


async def test_it_waits_as_long_as_the_server_asks(server: Homeserver) -> None:
    server.fail("sync", 429, "M_LIMIT_EXCEEDED", retry_after_ms=300)
    async with taking(server, Book()):
        await server.wait_drained()
    first, second, *_ = server.calls_of("sync")
    assert second.time - first.time >= 0.3


async def test_an_outage_is_waited_for(server: Homeserver) -> None:
    server.room(LAB, joined=[ALICE])
    book = Book()
    async with taking(server, book) as intake:
        await server.wait_drained()
        async with server.outage():
            server.say(LAB, "x")
            await until(lambda: intake.state == "unreachable")
        await server.wait_drained()
        assert intake.state == "ok"
    assert book.bodies == ["x"]


async def test_trouble_with_keys_stops_no_event(server: Homeserver) -> None:
    server.room(LAB, joined=[ALICE])
    faults = [RuntimeError("?"), NoAnswerError("KEYS_UPLOAD", "timeout", sent=True)]
    keys, book = Keyring(faults=[*faults]), Book()
    async with taking(server, book, keys=keys):
        server.say(LAB, "x")
        await server.wait_drained()
        await server.wait_for(lambda: keys.kept_up >= 2)
    assert book.bodies == ["x"]


@pytest.mark.parametrize(
    "broken",
    [
        None,
        [],
        "word",
        7,
        {},
        {"event_id": 5},
        {"event_id": "$"},
        {"event_id": "no sigil", "type": "m.room.message"},
        {"event_id": "$\ud800", "type": "m.room.message"},
        {"event_id": "$ok", "content": []},
        {"event_id": "$ok", "type": "m.room.message", "content": {"body": "\ud800", "n": 2**80}},
        {"event_id": "$deep", "content": json.loads("[" * 400 + "]" * 400)},
        {"event_id": "$large", "content": {"body": "x" * 300_000}},
        {"type": "m.room.member", "state_key": BOT, "content": {"membership": ["join"]}},
    ],
)
async def test_a_malformed_event_blocks_nothing(server: Homeserver, broken: Any) -> None:
    server.room(LAB, joined=[ALICE])
    book = Book()
    async with taking(server, book):
        await server.wait_drained()
        server.push(LAB, broken)
        server.push(LAB, broken)
        server.say(LAB, "behind")
        await server.wait_drained()
    assert len(book.arrivals) == 2
    assert b"behind" in book.arrivals[-1].raw
    named = isinstance(broken, dict) and broken.get("event_id") in ("$ok", "$deep", "$large")
    assert (book.arrivals[0].lane == book.arrivals[1].lane) is named
    assert all(len(arrival.raw) < 262_145 for arrival in book.arrivals)


async def test_an_answer_without_a_token_is_none(server: Homeserver) -> None:
    server.room(LAB, joined=[ALICE])
    server.garble("sync", b"[]")
    server.garble("sync", b'{"rooms": {}, "next_batch": 5}')
    server.garble("sync", b'{"next_batch": "\\ud800"}')
    server.garble("sync", b"<html>")
    book = Book()
    async with taking(server, book):
        await server.wait_drained()
        server.say(LAB, "x")
        await server.wait_drained()
    assert book.bodies == ["x"]


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["events", "join", "state", "timeline", "invite_state", LAB]), inner, max_size=3
        )
    ),
    max_leaves=10,
)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(_JSON, max_size=4))
async def test_no_answer_stops_what_comes_behind(server: Homeserver, spoiled: list[Any]) -> None:
    sections = ["join", "invite", "leave", "knock"]
    server.world.rooms.clear()
    server.world.patches.clear()
    server.room(LAB, joined=[ALICE])
    book = Book()
    async with taking(server, book):
        await server.wait_drained()
        for section, value in zip(sections, spoiled, strict=False):
            server.patch_sync(
                lambda answer, s=section, v=value: {**answer, "rooms": {s: {"!odd": v, "!": v, "x": v}, "odd": v}}
            )
            await server.wait_drained()
            server.patch_sync(lambda answer, v=value: {**answer, "rooms": v})
            await server.wait_drained()
        server.say(LAB, "behind")
        await server.wait_drained()
    assert b"behind" in book.arrivals[-1].raw
