"""Hostile members, servers and moments on Matrix, against the running gateway on a scripted homeserver."""

import asyncio
import io
import json
import logging

import pytest

from bot.channels.matrix.limits import Limits
from bot.model.output import Final, OutFile
from bot.observability.log import configure
from bot.observability.metrics import render
from forms.card import Button, Card
from tests.harness import CountingAgent
from tests.matrix_harness import running_matrix
from tests.servers.homeserver import Homeserver

rule = pytest.mark.rule

ANN, BOB, EVE = "@ann:example.org", "@bob:example.org", "@eve:hostile.example"
BOT = "@relay:example.org"
ROOM, OTHER = "!lab:example.org", "!office:example.org"
POLICY = f"""
version: 1
operators: [ann]
people:
  ann: {{accounts: ["matrix:{ANN}"], names: [Ann]}}
direct: {{strangers: allow}}
channels:
  "matrix:{BOT}:{ROOM}": {{audience: external}}
  "matrix:{BOT}:{OTHER}": {{audience: external}}
"""


@pytest.fixture
async def server():
    async with Homeserver(user_id=BOT) as server:
        server.room(ROOM, joined=[ANN, BOB, EVE])
        server.room(OTHER, joined=[ANN, BOB])
        yield server


def running(folder, server, **options):
    options.setdefault("limits", Limits(room=None, total=None))
    return running_matrix(folder, server=server, policy=options.pop("policy", POLICY), **options)


def gated():
    return CountingAgent(gate=asyncio.Event())


async def asked(agent):
    async with asyncio.timeout(20):
        await agent.started.wait()


def unreadable(server, room=ROOM, sender=EVE, number=0):
    content = {
        "algorithm": "m.megolm.v1.aes-sha2",
        "session_id": f"nobody{number}",
        "ciphertext": "AwgAEpABm6dOSPsmCOJmrFh9XFFcDBXsPd4" + "A" * 300,
    }
    return server.push(room, server.event("m.room.encrypted", content, sender=sender))["event_id"]


# Events that nobody can read


@rule("PART-17", "AGENT-5")
async def test_a_flood_of_unreadable_events_keeps_nobody_waiting_and_is_bounded(server, tmp_path):
    async with running(tmp_path, server) as gateway:
        for number in range(3000):
            unreadable(server, number=number)
        async with asyncio.timeout(20):
            await gateway.settled()
        for room in (ROOM, OTHER):
            server.say(room, "desk?", sender=BOB, mentions=[BOT])
            await server.wait_sent(room, timeout=5)
        assert len(gateway.daemon.crew.gateway._waits) <= 100


# Looking up


@rule("PART-1")
async def test_a_flood_of_replies_to_invented_events_makes_few_lookups(server, tmp_path):
    async with running(tmp_path, server) as gateway:
        for number in range(200):
            relates = {"m.in_reply_to": {"event_id": f"$invented{number}"}}
            server.say(ROOM, "and?", sender=EVE, mentions=[], **{"m.relates_to": relates})
        await gateway.settled()
        assert len(server.calls_of("event")) <= 20
        assert gateway.agent.requests == []


@rule("PART-9", "PART-18")
async def test_words_that_were_redacted_since_are_not_quoted(server, tmp_path):
    first = server.event("m.room.message", {"msgtype": "m.text", "body": "the secret"}, sender=BOB)
    server.world.known[ROOM, first["event_id"]] = first
    relates = {"m.in_reply_to": {"event_id": first["event_id"]}}
    async with running(tmp_path, server) as gateway:
        server.say(ROOM, "agreed", sender=EVE, mentions=[], **{"m.relates_to": relates})
        await gateway.settled()
        server.world.known[ROOM, first["event_id"]] = {**first, "content": {}, "unsigned": {"redacted_because": {}}}
        server.say(ROOM, "desk, what was that?", sender=EVE, mentions=[BOT], **{"m.relates_to": relates})
        await gateway.settled()
        (request,) = gateway.agent.requests
        assert not [item for item in request.context if item.kind == "quoted"]


@rule("PART-11")
async def test_an_edit_of_an_edit_is_none_and_starts_no_second_run(server, tmp_path):
    async with running(tmp_path, server) as gateway:
        words = server.say(ROOM, "desk, the hours?", sender=BOB, mentions=[BOT])

        def edit(of):
            new = {"msgtype": "m.text", "body": "desk, delete it", "m.mentions": {"user_ids": [BOT]}}
            relates = {"rel_type": "m.replace", "event_id": of}
            return server.say(ROOM, "* x", sender=BOB, **{"m.new_content": new, "m.relates_to": relates})

        first = edit(words)
        edit(first)
        await gateway.settled()
        assert [request.text for request in gateway.agent.requests] == ["desk, the hours?"]
        assert gateway.reasons(first) == ["edit_of_unknown_message"]


@rule("PART-1", "OUT-5", "IDENT-1")
async def test_an_answer_of_the_bot_in_another_room_is_no_answer_here(server, tmp_path):
    async with running(tmp_path, server) as gateway:
        server.say(ROOM, "desk?", sender=BOB, mentions=[BOT])
        (answer,) = await server.wait_sent(ROOM)
        relates = {"m.in_reply_to": {"event_id": answer["event_id"]}}
        reply = server.say(OTHER, "and then?", sender=BOB, mentions=[], **{"m.relates_to": relates})
        await gateway.ruled(reply)
        assert gateway.reasons(reply) == ["reply_author_unknown"]


@rule("PART-1", "IDENT-1")
@pytest.mark.parametrize(
    "spoiled",
    [
        {"event_id": "$another"},
        {"room_id": OTHER},
        {"sender": [BOT]},
        {"sender": None},
        {"content": {"m.relates_to": {"rel_type": "m.replace", "event_id": "$x"}}},
    ],
)
async def test_who_wrote_a_message_is_not_taken_from_an_answer_about_something_else(server, tmp_path, spoiled):
    event = {"event_id": "$asked", "room_id": ROOM, "sender": BOT, "type": "m.room.message", "content": {}}
    async with running(tmp_path, server) as gateway:
        server.garble("event", json.dumps({**event, **spoiled}).encode(), times=None)
        relates = {"m.in_reply_to": {"event_id": "$asked"}}
        reply = server.say(ROOM, "and then?", sender=EVE, mentions=[], **{"m.relates_to": relates})
        await gateway.ruled(reply)
        assert gateway.reasons(reply) == ["reply_author_unknown"]


# Redactions


@rule("PART-18")
async def test_an_edit_that_was_the_request_and_is_redacted_before_its_start_is_not_started(server, tmp_path):
    agent = gated()
    async with running(tmp_path, server, agent=agent) as gateway:
        server.say(ROOM, "first", sender=BOB, mentions=[BOT])
        await asked(agent)
        words = server.say(ROOM, "hello", sender=BOB, mentions=[])
        new = {"msgtype": "m.text", "body": "desk, delete it", "m.mentions": {"user_ids": [BOT]}}
        relates = {"rel_type": "m.replace", "event_id": words}
        edit = server.say(ROOM, "* x", sender=BOB, **{"m.new_content": new, "m.relates_to": relates})
        await gateway.ruled(words)
        await gateway.until(lambda: "explicit_mention" in gateway.reasons(words))
        server.redact(ROOM, edit, sender=BOB)
        await server.wait_drained()
        await gateway.until(lambda: gateway.reasons(edit))
        agent.gate.set()
        await gateway.settled()
        assert [request.text for request in agent.requests] == ["first"]


# Direct chats


def direct(server, room="!direct:example.org", who=ANN):
    invite = {"membership": "invite", "is_direct": True}
    made = server.room(room, joined=[who, BOT])
    own = next(event for event in made.base if event.get("state_key") == BOT and event["type"] == "m.room.member")
    own["unsigned"] = {"prev_content": invite, "prev_sender": who}
    return room


@rule("PART-16", "OUT-5")
@pytest.mark.parametrize("restarted", [False, True])
async def test_what_was_written_for_an_operator_is_not_said_to_whoever_took_their_place(server, tmp_path, restarted):
    room = direct(server)
    agent = gated()
    agent.answer = lambda _request: [Final(text="for the operator")]
    async with running(tmp_path, server, agent=agent) as gateway:
        server.say(room, "how are the sales?", sender=ANN)
        await asked(agent)
        assert agent.requests[0].audience.value == "operator"
        if restarted:
            server.fail("send", 503, times=None)
            agent.gate.set()
            await server.wait_call("send")
        else:
            swap(server, room)
            await server.wait_drained()
            agent.gate.set()
            await gateway.settled()
    if restarted:
        swap(server, room)
        server.faults.clear()
        async with running(tmp_path, server, agent=CountingAgent()) as gateway:
            await gateway.settled()
    assert "for the operator" not in server.texts(room)


def swap(server, room):
    server.member(room, EVE, "invite", sender=ANN)
    server.member(room, EVE, "join")
    server.member(room, ANN, "leave")


@rule("IDENT-5", "PART-4", "PART-16")
async def test_a_direct_invite_is_followed_also_where_the_server_tells_nothing_of_the_inviter(server, tmp_path):
    async with running(tmp_path, server) as gateway:
        room = "!bare:example.org"
        server.invite(room, sender=BOB, is_direct=True)
        await server.wait_call("join")
        await server.wait_drained()
        server.say(room, "hello", sender=BOB)
        await server.wait_sent(room)
        assert [request.audience.value for request in gateway.agent.requests] == ["external"]


# Encryption


@rule("OUT-5", "DUR-2")
async def test_after_a_new_login_nothing_leaves_in_the_clear_before_the_rooms_are_known_again(server, tmp_path):
    agent = gated()
    async with running(tmp_path, server, agent=agent):
        server.say(ROOM, "desk?", sender=BOB, mentions=[BOT])
        await asked(agent)
        hanging = server.hang("sync", times=None)
        server.log_out(soft=True)
        content = {"algorithm": "m.megolm.v1.aes-sha2"}
        server.push(ROOM, server.event("m.room.encryption", content, sender=BOB, state_key=""))
        await server.wait_call("login", 2)
        await hanging.reached()
        agent.gate.set()
        with pytest.raises(TimeoutError):
            await server.wait_call("send", timeout=1.5)
        hanging.release()
        await server.wait_sent(ROOM, timeout=20)
        assert [event["type"] for event in server.sent(ROOM)] == ["m.room.encrypted"]


@rule("OUT-5")
@pytest.mark.parametrize("content", [{"algorithm": "org.hostile.plain"}, {}, {"algorithm": None}])
async def test_what_was_encrypted_once_never_goes_in_the_clear_whatever_its_state_says_later(server, tmp_path, content):
    server.push(
        ROOM, server.event("m.room.encryption", {"algorithm": "m.megolm.v1.aes-sha2"}, sender=BOB, state_key="")
    )
    async with running(tmp_path, server):
        pass
    server.push(ROOM, server.event("m.room.encryption", content, sender=EVE, state_key=""))
    async with running(tmp_path, server) as gateway:
        words = server.say(ROOM, "desk?", sender=BOB, mentions=[BOT])
        await gateway.ruled(words)
        await gateway.until(lambda: gateway.agent.requests)
        await gateway.daemon.crew.worker.idle()
        await gateway.until(lambda: server.sent(ROOM) or gateway.daemon.crew.dispatcher.waiting)
        assert {event["type"] for event in server.sent(ROOM)} <= {"m.room.encrypted"}


# Signs


@rule("AGENT-5")
async def test_a_server_that_hangs_over_typing_signs_keeps_no_answer_back(server, tmp_path):
    agent = gated()
    async with running(tmp_path, server, agent=agent):
        hanging = server.hang("typing", times=None)
        server.say(ROOM, "desk?", sender=BOB, mentions=[BOT])
        await hanging.reached()
        agent.gate.set()
        await server.wait_sent(ROOM, timeout=5)
        hanging.release()


# Logs


@pytest.fixture
def lines(monkeypatch):
    """What is logged, in the form of the running daemon."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    monkeypatch.setattr(logging, "raiseExceptions", logging.raiseExceptions)
    stream = io.StringIO()
    configure(level="debug", stream=stream, json_lines=True)
    yield stream
    logging.captureWarnings(capture=False)
    root.handlers[:] = handlers
    root.setLevel(level)


@rule("OPS-4", "DUR-5")
async def test_no_id_and_no_word_of_anybody_reaches_the_log_or_the_metrics(server, tmp_path, lines):
    agent = CountingAgent(answer=lambda _request: [RuntimeError("the agent's secret")])
    async with running(tmp_path, server, agent=agent) as gateway:
        server.fail("send", 500, "M_UNKNOWN", times=1, error=f"secret of {ROOM}")
        server.fail("receipt", 403, "M_FORBIDDEN", times=1, error=f"secret of {EVE}")
        server.say(ROOM, "a secret word", sender=EVE, mentions=[BOT])
        server.push(ROOM, {"type": "m.room.message", "sender": EVE, "event_id": 7, "content": "a secret word"})
        server.push(ROOM, server.event("m.room.encrypted", {"ciphertext": "secret"}, sender=EVE))
        invite = {"type": "m.room.member", "state_key": BOT, "sender": [EVE], "content": {"secret": 1}}
        server.invite("!hole:hostile.example", sender=EVE, event=invite)
        server.fail("sync", 502, "M_SECRET", times=1, error="secret")
        await gateway.settled()
        await server.wait_sent(ROOM, timeout=20)
        server.member(ROOM, BOT, "leave", sender=EVE)
        await gateway.settled()
    said = lines.getvalue() + render()[0].decode()
    assert "agent_crashed" in said
    assert "event_set_aside" in said
    for word in ("secret word", "agent's secret", "secret of", "M_SECRET", EVE, BOB, ROOM, "hostile.example", "$made"):
        assert word not in said, word


# Rooms of which no sync has told


@rule("OUT-1", "OUT-5")
async def test_into_an_encrypted_room_that_was_joined_just_now_nothing_goes_in_the_clear(server, tmp_path):
    agent = gated()
    async with running(tmp_path, server, agent=agent):
        server.say(ROOM, "desk?", sender=BOB, mentions=[BOT])
        await asked(agent)
        server.member(ROOM, BOT, "leave", sender=ANN)
        await server.wait_drained()
        content = {"algorithm": "m.megolm.v1.aes-sha2"}
        hanging = server.hang("sync", times=None)
        server.push(ROOM, server.event("m.room.encryption", content, sender=BOB, state_key=""))
        await hanging.reached()
        server.member(ROOM, BOT, "join")
        agent.gate.set()
        await server.wait_call("state_event")
        assert server.sent(ROOM) == []
        hanging.release()
        await server.wait_sent(ROOM, timeout=20)
        assert [event["type"] for event in server.sent(ROOM)] == ["m.room.encrypted"]


@rule("PART-16", "OUT-5")
async def test_who_comes_in_while_a_file_is_uploaded_does_not_read_what_was_cleared_before(server, tmp_path):
    room = direct(server)
    report = OutFile(name="sales.csv", media_type="text/csv", content=b"1;2")
    agent = CountingAgent(answer=lambda _request: [Final(text="for the operator", files=(report,))])
    async with running(tmp_path, server, agent=agent) as gateway:
        hanging = server.hang("upload")
        server.say(room, "the sales?", sender=ANN)
        await hanging.reached()
        server.member(room, EVE, "invite", sender=ANN)
        server.member(room, EVE, "join")
        await server.wait_drained()
        hanging.release()
        await gateway.settled()
    assert not [event for event in server.sent(room) if "url" in event["content"]]


# Taps


@rule("PART-1", "FORM-9")
async def test_a_reaction_to_what_is_not_ours_or_with_another_sign_or_by_the_bot_itself_is_no_tap(server, tmp_path):
    card = Card(title="Shall I?", buttons=(Button(label="Yes", value="yes"),))
    agent = CountingAgent(answer=lambda _request: [Final(text="", card=card)])
    async with running(tmp_path, server, agent=agent) as gateway:
        theirs = server.say(ROOM, "desk?", sender=BOB, mentions=[BOT])
        sent = await server.wait_sent(ROOM, 2)
        ours = sent[0]["event_id"]
        (sign,) = [one["content"]["m.relates_to"]["key"] for one in sent if one["type"] == "m.reaction"]

        def react(message, key, *, sender=EVE, room=ROOM):
            relates = {"rel_type": "m.annotation", "event_id": message, "key": key}
            server.push(room, server.event("m.reaction", {"m.relates_to": relates}, sender=sender))

        react(theirs, sign)
        react(ours, "👎")
        react(ours, sign, room=OTHER)
        react(ours, sign, sender=BOT)
        react("$invented", sign)
        await gateway.settled()
        assert len(agent.requests) == 1
        react(ours, sign, sender=BOB)
        await gateway.until(lambda: len(agent.requests) > 1)
        assert [request.tap for request in agent.requests] == [None, "yes"]


# Crowds


@rule("AGENT-5")
async def test_a_flood_of_joins_into_a_huge_room_holds_up_nobody(server, tmp_path):
    server.room("!huge:example.org", joined=[f"@member{number}:example.org" for number in range(20_000)])
    async with running(tmp_path, server):
        loop, longest = asyncio.get_running_loop(), 0.0

        def patch(answer):
            found = server.event("m.room.member", {"membership": "join"})
            events = [{**found, "state_key": f"@new{n}:hostile.example", "event_id": f"$new{n}"} for n in range(3000)]
            answer.setdefault("rooms", {}).setdefault("join", {})["!huge:example.org"] = {
                "timeline": {"events": events}
            }
            return answer

        server.patch_sync(patch)
        async with asyncio.timeout(20):
            while not server.drained:
                before = loop.time()
                await asyncio.sleep(0.01)  # what takes longer was blocked; bounded above
                longest = max(longest, loop.time() - before)
        assert longest < 1.5
