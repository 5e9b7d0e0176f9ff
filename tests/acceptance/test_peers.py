"""What other gateways did, case by case, and what this one does: one table against which gateways can be compared.

Each test is a row. Its docstring says what was seen elsewhere, and what has to be seen here: what people read at the
platform, whether a model was called, and whether anything at all was done when the answer is silence.

    the group of a customer, a mention required, a stranger
      1  nobody addressed it              silent, and no model call, fetch, receipt or typing sign
      2  two emoji before the mention     answered
      3  a reply to it, words for a human muted
      4  a stranger's privileged command  silent, recorded
      5  the model returns nothing        silent
      6  the model leaks                  blocked, a safe error, a report inside
      7  the provider says error 400      one safe text
    also seen
      8  approvals by order, old buttons  a button decides what it shows, or nothing
      9  media before the gate            never fetched
     10  a thread as consent              no consent
     11  a bare word, "@room"             no mention
     12  a refused invite joined          not joined
     13  introductions                    none
     14  the first person as owner        nobody but the policy's operators
     15  two-person rooms                 no direct chats
     16  scheduled posts by chat name     complete destinations with a grant only
     17  errors that name logs            plain words
"""

import json
import sqlite3

import pytest
from aiohttp import web

from bot.agents.openai import OpenAIAgent
from bot.channels.matrix.limits import Limits
from bot.channels.telegram.limits import Limits as TelegramLimits
from bot.model.approval import Action, Proposal
from bot.model.output import Final, Fragment, Silence
from bot.texts.codes import Failure
from bot.texts.words import Words
from tests.acceptance.test_deliveries import desk
from tests.harness import ANN, BOB, GROUP, INTERNAL, MALLORY, POLICY, CountingAgent, running
from tests.matrix_harness import running_matrix
from tests.servers.agents import serving
from tests.servers.homeserver import Homeserver

rule = pytest.mark.rule

OPEN = TelegramLimits(chat=None, group=None, total=None)
BOT, ALICE, EVE = "@relay:example.org", "@alice:example.org", "@eve:elsewhere.example"
ROOM, PAIR = "!customer:example.org", "!pair:example.org"
MATRIX_POLICY = f"""
version: 1
operators: [ann]
people:
  ann: {{accounts: ["matrix:@ann:example.org"]}}
direct: {{strangers: deny}}
invites: {{rooms: none}}
channels:
  "matrix:{BOT}:{ROOM}": {{audience: external}}
"""


@pytest.fixture
async def server():
    async with Homeserver(user_id=BOT) as server:
        server.room(ROOM, joined=[ALICE, EVE], name="Customer")
        yield server


def on_matrix(folder, server):
    return running_matrix(folder, server=server, policy=MATRIX_POLICY, limits=Limits(room=None, total=None))


def untouched(gateway):
    """Nothing was done: no call at the platform but for taking events, no run, no fetch."""
    return not gateway.person_calls and not gateway.agent.requests and not gateway.agent.files


async def say(gateway, **words):
    message = gateway.api.say(**{"chat": GROUP, "sender": MALLORY, **words})
    await gateway.settled()
    return message


# 1 to 7: the table


@rule("PART-1", "PART-13")
async def test_1_nobody_addressed_it(gateway):
    """Others: silent, no model call. Here: also no fetch, no receipt, no typing sign, no lookup."""
    photo = gateway.api.file(b"picture", name="a.jpg", mime="image/jpeg")
    spoken = await say(gateway, text="does anybody know the price?")
    await say(gateway, text="look at this", photo=photo)
    await gateway.quiet()
    assert untouched(gateway)
    assert gateway.reasons(spoken["message_id"]) == ["no_address"]


@rule("PART-14")
async def test_2_two_emoji_stand_before_the_mention(gateway):
    """Others: one missed it (offsets are UTF-16 units), one answered. Here: answered."""
    await say(gateway, text="👩‍👩‍👧 🎉 @desk_bot what are your hours?")
    assert gateway.api.texts(GROUP) == ["ok"]


@rule("PART-2")
async def test_3_a_reply_to_it_has_words_for_a_human(gateway):
    """Others: both called the model. Here: muted where another person is addressed."""
    await say(gateway, text="@desk_bot hello")
    ours = gateway.api.sent(GROUP)[0]["message_id"]
    before = len(gateway.person_calls)
    for words in ("@maria can you take this?", "Jordan, can you confirm?"):
        await say(gateway, text=words, reply_to=ours)
    assert len(gateway.agent.requests) == 1
    assert len(gateway.person_calls) == before


@rule("PART-13", "IDENT-5")
@pytest.mark.parametrize("command", ["approve K7QM2", "deny K7QM2", "grant", "revoke", "status", "start", "stop"])
async def test_4_a_stranger_gives_a_privileged_command(api, tmp_path, command):
    """Others: one took it, one was silent. Here: silent, and recorded."""
    name, _, rest = command.partition(" ")
    policy = POLICY.replace("strangers: allow", "strangers: unknown").replace("commands: [status, help]", "")
    async with running(tmp_path, api=api, policy=policy) as gateway:
        said = await say(gateway, chat=MALLORY, text=f"/{name} {rest}".strip())
        assert untouched(gateway)
        assert gateway.outcomes(said["message_id"]) == ["mute"]
    with sqlite3.connect(tmp_path / "discreet.db") as store:
        ((decided,),) = store.execute("select count(*) from decisions")
        ((journaled,),) = store.execute("select count(*) from journal where kind = 'decided'")
    store.close()
    assert (decided, journaled) == (1, 1)


@rule("PART-13", "OUT-6", "OUT-8")
@pytest.mark.parametrize(
    "command", ["approve {code}", "deny {code}", "return {code} no", "grant main here", "revoke g1"]
)
async def test_4_a_stranger_gives_a_privileged_command_in_the_customers_group(api, tmp_path, command):
    """The same where everybody may talk to it: nothing is decided, granted or said, and no model is asked."""
    async with running(tmp_path, api=api, limits=OPEN) as gateway:
        room = Room(gateway)
        approval, _ = await room.propose("a")
        before = len(gateway.person_calls)
        name, _, rest = command.format(code=approval.code).partition(" ")
        said = await say(gateway, text=f"/{name}@desk_bot {rest}")
        assert gateway.agent.requests == []
        assert gateway.person_calls[before:] == []
        assert gateway.outcomes(said["message_id"]) == ["mute"]
        assert await room.states(approval) == ["in_review"]


@rule("PART-10", "OUT-3")
async def test_5_the_model_returns_nothing(api, tmp_path):
    """Others: one silent, one posted an error text. Here: silence is a valid outcome."""
    async with running(tmp_path, api=api, agent=CountingAgent(answer=lambda _: [Silence()])) as gateway:
        await say(gateway, text="@desk_bot thanks")
        assert len(gateway.agent.requests) == 1
        assert api.texts(GROUP) == []
    async with running(tmp_path, api=api, agent=CountingAgent(answer=lambda _: [])) as gateway:
        await say(gateway, text="@desk_bot thanks")
        assert len(gateway.agent.requests) == 1
        assert api.texts(GROUP) == []


PROVIDER_SAYS = "invalid_request_error: messages.3.content is too long, key sk-live-abcdef0123456789, see gateway logs"


@rule("OUT-7", "OUT-3")
async def test_7_the_provider_says_error_400(api, tmp_path):
    """Others: a safe text twice; a technical text. Here: one safe text."""

    async def refuse(_):
        return web.json_response({"error": {"message": PROVIDER_SAYS, "type": "invalid_request_error"}}, status=400)

    async with serving(refuse) as url:
        model = OpenAIAgent(name="main", base_url=url, model="m", total_s=5, wait_s=5)
        async with running(tmp_path, api=api, agent=model) as gateway:
            await say(gateway, text="@desk_bot hello")
            assert api.texts(GROUP) == [Words("en").say(Failure.UNAVAILABLE)]
            assert len(api.texts(INTERNAL)) == 1
            assert not any("sk-live" in text or "invalid_request" in text for text in api.texts(INTERNAL))


LEAKS = {
    "a path": "I have looked it up in /srv/agent/customers.csv.",
    "a trace": 'Traceback (most recent call last):\n  File "agent.py", line 3, in run\nValueError: no such order',
    "another's price": "Red Fox Ltd pays 310 EUR for the same.",
    "a key": "Use the key sk-ant-api03-a1B2c3D4e5a1B2c3D4e5a1B2c3D4e5.",
}
LEAKY_POLICY = (
    POLICY.replace("audience: external}", "audience: external, counterparty: acme}")
    + """
counterparties:
  acme: {name: Acme}
  fox: {name: Red Fox, protected_terms: [Red Fox Ltd]}
"""
)


@rule("OUT-4", "AUTO-5", "OUT-7", "OUT-8")
@pytest.mark.parametrize("words", LEAKS.values(), ids=LEAKS)
@pytest.mark.parametrize("growing", [False, True], ids=["whole", "growing"])
async def test_6_the_model_leaks(api, tmp_path, words, growing):
    """Others: all but the key sent; all sent. Here: blocked, a safe error, a report inside that repeats nothing."""
    outputs = [*([Fragment(text=words)] if growing else []), Final(text=words)]
    policy = LEAKY_POLICY.replace("counterparty: acme}", "counterparty: acme, streaming: edit}")
    agent = CountingAgent(answer=lambda _: outputs)
    async with running(tmp_path, api=api, policy=policy, agent=agent, limits=OPEN) as gateway:
        await say(gateway, text="@desk_bot what does it cost?")
        assert api.texts(GROUP) == [Words("en").say(Failure.WITHHELD)]
        told = api.texts(INTERNAL)
        assert told
        calls = json.dumps([call.params for call in gateway.person_calls], default=str)
    for secret in ("customers.csv", "Traceback", "310", "Red Fox", "sk-ant"):
        assert secret not in calls


# 8: approvals


class Room:
    """The operators' room: cards, and taps on them."""

    def __init__(self, gateway):
        self.gateway, self.api = gateway, gateway.api
        self.approvals = gateway.daemon.crew.approvals

    async def propose(self, service):
        action = Action(name="deploy", parameters={"service": service})
        approval = await self.approvals.propose(Proposal(action=action), agent="main", origin=None)
        await self.gateway.settled()
        return approval, self.api.sent(INTERNAL)[-1]

    async def tap(self, card, label="Approve", *, sender=ANN):
        keys = [key for row in card["reply_markup"]["inline_keyboard"] for key in row]
        data = next(key["callback_data"] for key in keys if key["text"] == label)
        query = self.api.press(chat=INTERNAL, sender=sender, message_id=card["message_id"], data=data, force=True)
        await self.gateway.settled()
        return self.api.toasts[query].get("text", "")

    async def states(self, *approvals):
        return [(await self.approvals.look(one.id)).state.value for one in approvals]


@rule("APPR-3")
async def test_8_a_button_decides_what_its_card_shows_whatever_waits_before_it(api, tmp_path):
    """Others: approvals are taken from a queue by order, so the button of B ran A."""
    async with running(tmp_path, api=api, limits=OPEN) as gateway:
        room = Room(gateway)
        (first, _), (second, card) = await room.propose("a"), await room.propose("b")
        assert await room.tap(card)
        assert await room.states(first, second) == ["in_review", "approved"]


@rule("APPR-3", "DUR-3")
async def test_8_an_old_button_approves_nothing_new_after_a_restart(api, tmp_path):
    """Others: button numbers start at 1 after a restart, so an old button approved a new command."""
    async with running(tmp_path, api=api, limits=OPEN) as gateway:
        room = Room(gateway)
        old, old_card = await room.propose("a")
        await room.tap(old_card, "Deny")
    async with running(tmp_path, api=api, limits=OPEN) as gateway:
        room = Room(gateway)
        new, card = await room.propose("b")
        assert await room.tap(old_card)
        assert await room.states(old, new) == ["denied", "in_review"]
        await room.tap(card)
        assert await room.states(old, new) == ["denied", "approved"]


@rule("APPR-3", "DUR-3")
async def test_8_a_button_from_before_a_restart_still_decides_what_it_showed(api, tmp_path):
    """Others: what waited was in memory alone: "unknown approval id"."""
    async with running(tmp_path, api=api, limits=OPEN) as gateway:
        one, card = await Room(gateway).propose("a")
    async with running(tmp_path, api=api, limits=OPEN) as gateway:
        room = Room(gateway)
        assert await room.states(one) == ["in_review"]
        assert await room.tap(card, sender=MALLORY), "a stranger's tap is answered in private"
        assert await room.states(one) == ["in_review"]
        await room.tap(card)
        assert await room.states(one) == ["approved"]


# 9 to 17: also seen


@rule("PART-3", "PART-13")
async def test_9_media_and_voice_are_not_fetched_before_the_gate(gateway):
    """Others: fetched and transcribed, then judged. Here: never fetched for what is muted."""
    api = gateway.api
    voice = api.file(b"voice", name="a.ogg", mime="audio/ogg")
    photo = api.file(b"picture", name="a.jpg", mime="image/jpeg")
    await say(gateway, voice=voice)
    await say(gateway, photo=photo, text="for the archive")
    api.album(chat=GROUP, sender=MALLORY, items=[photo, photo])
    await gateway.quiet()
    assert api.calls_of("getFile") == []
    assert untouched(gateway)


@rule("PART-1", "PART-15")
async def test_10_taking_part_in_a_thread_is_no_consent(gateway):
    """Others: whoever was answered in a thread is answered from then on. Here: each message is judged by itself."""
    api = gateway.api
    api.chat(GROUP, type="supergroup", title="Customer", is_forum=True)
    topic = api.topic(GROUP, "Delivery")
    await say(gateway, text="@desk_bot when do you deliver?", thread=topic)
    assert api.texts(GROUP, thread=topic) == ["ok"]
    for words in ("and what does it cost?", "is anybody there?"):
        await say(gateway, text=words, thread=topic)
    assert api.texts(GROUP, thread=topic) == ["ok"]
    assert len(gateway.agent.requests) == 1


@rule("PART-1", "PART-14")
async def test_10_a_thread_on_matrix_in_which_it_has_answered_is_no_consent(server, tmp_path):
    """The fallback reply of a thread points at the bot's answer, and is none to it."""
    async with on_matrix(tmp_path, server) as gateway:
        root = server.say(ROOM, "relay: when do you deliver?", sender=ALICE, mentions=[BOT])
        (answer,) = await server.wait_sent(ROOM)
        falling = {"rel_type": "m.thread", "event_id": root, "is_falling_back": True}
        falling["m.in_reply_to"] = {"event_id": answer["event_id"]}
        server.say(ROOM, "and what does it cost?", sender=ALICE, mentions=[], **{"m.relates_to": falling})
        await gateway.settled()
        assert len(gateway.agent.requests) == 1


@rule("PART-14")
async def test_11_a_bare_word_and_a_room_wide_mention_are_no_mention(server, tmp_path):
    """Others: its name as a word, or "@room", called it. Here: only a mention of its id does."""
    async with on_matrix(tmp_path, server) as gateway:
        server.say(ROOM, "the relay is broken, relay!", sender=EVE, mentions=[])
        server.say(ROOM, "@room the meeting starts", sender=EVE, **{"m.mentions": {"room": True}})
        server.say(ROOM, f"`{BOT}` is what one types", sender=EVE, mentions=[])
        await gateway.settled()
        assert server.sent(ROOM) == []
        assert gateway.agent.requests == []
        server.say(ROOM, "relay, are you there?", sender=EVE, mentions=[BOT])
        assert len(await server.wait_sent(ROOM)) == 1


@rule("PART-14")
async def test_11_a_bare_word_is_no_mention_on_telegram(gateway):
    for words in ("desk_bot, are you there?", "desk, the price?", "`@desk_bot` is what one types", "@all look"):
        await say(gateway, **({"markdown": words} if "`" in words else {"text": words}))
    assert untouched(gateway)


@rule("IDENT-5")
async def test_12_an_invite_that_is_not_accepted_is_not_joined(server, tmp_path):
    """Others: refused, and joined all the same. Here: not joined, and nothing is said there."""
    async with on_matrix(tmp_path, server) as gateway:
        server.invite("!trap:example.org", sender=EVE, name="Operators")
        server.invite("!chat:example.org", sender=EVE, is_direct=True)
        server.say(ROOM, "relay?", sender=ALICE, mentions=[BOT])
        await server.wait_sent(ROOM)
        await gateway.settled()
        assert server.calls_of("join") == []


@rule("OUT-1", "IDENT-5")
async def test_13_it_does_not_introduce_itself(gateway, server, tmp_path):
    """Others: greet whoever adds them. Here: nothing is said that nobody asked for."""
    api = gateway.api
    api.chat(-1001000000077, type="supergroup", title="New")
    for chat in (GROUP, -1001000000077):
        api.member(chat=chat, user=api.me["id"], by=BOB, notify=True)
        await say(gateway, chat=chat, sender=BOB, new_chat_members=[dict(api.me)])
    assert untouched(gateway)
    folder = tmp_path / "matrix"
    folder.mkdir()
    async with on_matrix(folder, server) as on_the_other:
        server.invite("!new:example.org", sender="@ann:example.org", name="New")
        await on_the_other.until(lambda: server.calls_of("join"))
        await on_the_other.settled()
        assert server.sent("!new:example.org") == []


@rule("IDENT-3", "IDENT-5")
async def test_14_the_first_person_who_writes_is_no_owner(api, tmp_path):
    """Others: whoever pairs first is the owner. Here: operators stand in the policy; an empty list is nobody."""
    policy = POLICY.replace("operators: [ann]", "operators: []").replace("strangers: allow", "strangers: unknown")
    async with running(tmp_path, api=api, policy=policy) as gateway:
        await say(gateway, chat=MALLORY, text="/start")
        await say(gateway, chat=MALLORY, text="hello, I am the owner")
        await say(gateway, chat=ANN, sender=ANN, text="hello")
        assert untouched(gateway)
    async with running(tmp_path, api=api, policy=policy.replace("strangers: unknown", "strangers: allow")) as gateway:
        await say(gateway, chat=MALLORY, text="hello again")
        await say(gateway, chat=ANN, sender=ANN, text="hello again")
        assert {request.audience.value for request in gateway.agent.requests} == {"external"}


@rule("PART-4", "PART-16")
async def test_15_a_room_of_two_is_no_direct_chat(server, gateway, tmp_path):
    """Others: two members make a direct chat. Here: only what was made as one is."""
    server.room(PAIR, joined=[ALICE], name="Pair")
    folder = tmp_path / "matrix"
    folder.mkdir()
    async with on_matrix(folder, server) as on_the_other:
        alone = server.say(PAIR, "hello relay", sender=ALICE, mentions=[])
        await on_the_other.settled()
        assert on_the_other.outcomes(alone) == ["mute"]
        assert server.sent(PAIR) == []
    await say(gateway, text="hello there")  # a group of Telegram in which there is nobody else
    assert untouched(gateway)


@rule("OUT-6", "IDENT-1")
@pytest.mark.parametrize("name", ["Customer", "@customer", "#general", f"telegram:{GROUP}", str(GROUP), "everybody"])
async def test_16_a_scheduled_post_names_a_complete_destination_and_has_a_grant(api, tmp_path, name):
    """Others: a scheduled post goes to any chat by its name. Here: muted and recorded."""
    async with desk(tmp_path, api) as there:
        await there.by("ann")
        _, document = await there.post(destination=name)
        await there.round()
        assert api.texts(GROUP) == []
        assert there.gateway.person_calls == []
        assert document.get("state", "muted") == "muted"
    async with desk(tmp_path, api) as there:
        await there.post(idempotency="without any grant", destination=f"telegram:7001:{INTERNAL}")
        await there.round()
        assert there.gateway.person_calls == []


@rule("OUT-7", "OUT-3")
async def test_17_an_error_in_a_customers_room_names_no_log(api, tmp_path):
    """Others: "check the gateway logs". Here: a plain sentence that is the same for every cause."""

    def crash(_):
        raise RuntimeError("psycopg.OperationalError at /srv/agent/app.py:42, see gateway logs")

    async with running(tmp_path, api=api, agent=CountingAgent(answer=crash)) as gateway:
        await say(gateway, text="@desk_bot hello")
        (text,) = api.texts(GROUP)
    for word in ("log", "gateway", "/srv", "psycopg", "Error", "exception"):
        assert word not in text
    assert text == Words("en").say(Failure.UNAVAILABLE)
