"""Each way out of each platform, with a final and with a failed output, on a running gateway (OUT-9; docs/paths.md).

What people see is asked of the platform, or of the page; which way was taken is read off the parts that the adapter
was given. A failed output says what went wrong to nobody but the operators, by whatever way it would have gone.
"""

import asyncio
import json
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest

from bot.approvals.addresses import PageAddresses, relying_party
from bot.channels.matrix.limits import Limits as MatrixLimits
from bot.channels.telegram.limits import Limits
from bot.deliveries.schedule import Order
from bot.model.approval import Action as ToolAction
from bot.model.approval import Proposal
from bot.model.errors import ConfigError, GrantError, ProposalError
from bot.model.output import Final, Fragment, OutFile
from bot.model.part import Action, Delivered, Rejected
from bot.model.question import Asking
from bot.texts.codes import Failure
from bot.texts.words import Words
from bot.wiring.approvals import approval_verbs
from bot.wiring.deliveries import grant_verbs
from bot.wiring.passkeys import passkey_verbs
from forms.card import Button, Card
from policy.boundary import Speech
from tests.approvals_desk import DESK_POLICY, approvals_desk
from tests.harness import ANN as ANN_ID
from tests.harness import BOB, GROUP, INTERNAL, POLICY, CountingAgent, running
from tests.matrix_harness import running_matrix
from tests.servers.homeserver import Homeserver

rule = pytest.mark.rule
SECRET = "Traceback (most recent call last): /srv/secret/desk.py, password=hunter2-SECRET"
SORRY = Words("en").say(Failure.UNAVAILABLE)
WITHHELD = Words("en").say(Failure.WITHHELD)
CHOICE = {"type": "object", "properties": {"size": {"enum": ["small", "large"]}}, "required": ["size"]}
BOT, ANN, ROOM = "@desk:example.org", "@ann:example.org", "!customers:example.org"
VISITOR = "@bob:example.org"
MATRIX_POLICY = f"""
version: 1
operators: [ann]
people:
  ann: {{accounts: ["matrix:{ANN}"], names: [Ann]}}
channels:
  "matrix:{BOT}:{ROOM}": {{audience: external}}
"""


@dataclass
class Taken:
    """Parts that an adapter was given, and what came of each."""

    parts: list = field(default_factory=list)

    def watch(self, channel, monkeypatch):
        """From now on."""
        deliver = channel.deliver

        async def watched(part, clearance):
            receipt = await deliver(part, clearance)
            self.parts.append((part, receipt))
            return receipt

        monkeypatch.setattr(channel, "deliver", watched)

    def by(self, action, speech=None):
        """The receipts of those that took this way."""
        return [
            receipt
            for part, receipt in self.parts
            if part.action is action and (speech is None or part.speech is speech)
        ]

    async def reached(self, action, speech=None):
        async with asyncio.timeout(10):
            while not self.by(action, speech):
                await asyncio.sleep(0.01)  # bounded above


@dataclass
class There:
    """A gateway on one platform, and an outsider in a room of customers."""

    platform: str
    taken: Taken
    agent: object
    daemon: object
    say: object
    texts: object
    quiet: object
    everything: object

    async def ask(self, text="hello"):
        await self.say(text)
        await self.quiet()


@asynccontextmanager
async def on_telegram(folder, agent, monkeypatch, *, streaming=""):
    from tests.harness import BOT_ID
    from tests.servers.botapi import BotApi

    policy = POLICY.replace("{audience: external}", f"{{audience: external{streaming}}}")
    taken = Taken()
    async with BotApi(token=f"{BOT_ID}:{'A' * 35}", username="desk_bot") as api:
        api.chat(GROUP, type="supergroup", title="Customer")
        limits = Limits(chat=None, group=None, total=None)
        async with running(folder, api=api, agent=agent, policy=policy, limits=limits) as gateway:
            taken.watch(gateway.channel, monkeypatch)

            async def say(text):
                api.say(chat=GROUP, sender=BOB, text=f"@desk_bot {text}")

            there = There(
                platform="telegram",
                taken=taken,
                agent=agent,
                daemon=gateway.daemon,
                say=say,
                texts=lambda: _now(api.texts(GROUP)),
                quiet=gateway.quiet,
                everything=lambda: _now(" ".join(f"{call.params}" for call in gateway.person_calls)),
            )
            there.api = api
            yield there


@asynccontextmanager
async def on_matrix(folder, agent, monkeypatch, *, streaming=""):
    policy = MATRIX_POLICY.replace("{audience: external}", f"{{audience: external{streaming}}}")
    taken = Taken()
    async with Homeserver(user_id=BOT) as server:
        server.room(ROOM, joined=(ANN, VISITOR))
        limits = MatrixLimits(room=None, total=None)
        async with running_matrix(folder, policy=policy, server=server, agent=agent, limits=limits) as gateway:
            taken.watch(gateway.channel, monkeypatch)

            async def say(text):
                server.say(ROOM, text, sender=VISITOR, mentions=[BOT])

            there = There(
                platform="matrix",
                taken=taken,
                agent=agent,
                daemon=gateway.daemon,
                say=say,
                texts=lambda: _now(latest(server)),
                quiet=gateway.quiet,
                everything=lambda: _now(json.dumps([call.content for call in server.reaching])),
            )
            there.server = server
            yield there


def latest(server):
    """The messages of the bot as they stand after their edits."""
    found = {}
    for event in server.sent(ROOM):
        if event["type"] != "m.room.message":
            continue
        relation = event["content"].get("m.relates_to", {})
        if relation.get("rel_type") == "m.replace":
            found[relation["event_id"]] = event["content"]["m.new_content"]["body"]
        else:
            found[event["event_id"]] = event["content"]["body"]
    return list(found.values())


@asynccontextmanager
async def on_web(folder, agent, monkeypatch, *, streaming=""):
    policy = DESK_POLICY.replace("{audience: external}", f"{{audience: external{streaming}}}")
    taken = Taken()
    async with approvals_desk(folder, policy=policy, agent=agent) as desk:
        taken.watch(desk.chat, monkeypatch)

        async def texts():
            return [one["text"] for one in await desk.visitor.messages("customers") if one["author"]["bot"]]

        async def everything():
            said = [str(part.payload) for part, _ in taken.parts]
            return " ".join([*said, json.dumps((await desk.visitor.state())["messages"]["customers"])])

        async def say(text):
            await desk.visitor.say("customers", f"@desk {text}", who="bob")

        there = There(
            platform="web",
            taken=taken,
            agent=agent,
            daemon=desk.daemon,
            say=say,
            texts=texts,
            quiet=desk.idle,
            everything=everything,
        )
        there.desk = desk
        yield there


async def _now(value):
    return value


PLATFORMS = {"telegram": on_telegram, "matrix": on_matrix, "web": on_web}
everywhere = pytest.mark.parametrize("platform", sorted(PLATFORMS))


@pytest.fixture
def on(tmp_path, monkeypatch):
    def open_it(platform, agent, **options):
        return PLATFORMS[platform](tmp_path, agent, monkeypatch, **options)

    return open_it


def saying(*outputs, **more):
    return CountingAgent(answer=lambda _request: list(outputs), **more)


def delivered(receipts):
    return bool(receipts) and all(isinstance(one, Delivered) for one in receipts)


# send


@rule("OUT-9")
@everywhere
async def test_a_final_answer_is_sent(on, platform):
    async with on(platform, saying(Final(text="It is noon."))) as there:
        await there.ask()
        assert await there.texts() == ["It is noon."]
        assert delivered(there.taken.by(Action.SEND, Speech.FINAL))


@rule("OUT-9", "OUT-4", "OUT-7")
@everywhere
async def test_a_failure_is_sent_as_one_plain_sentence(on, platform):
    async with on(platform, saying(RuntimeError(SECRET))) as there:
        await there.ask()
        assert await there.texts() == [SORRY]
        assert "SECRET" not in await there.everything()
        assert delivered(there.taken.by(Action.SEND, Speech.SAFE_ERROR))


# files


@rule("OUT-9")
@everywhere
async def test_a_file_arrives(on, platform):
    file = OutFile(name="menu.txt", media_type="text/plain", content=b"soup")
    async with on(platform, saying(Final(text="", files=(file,)))) as there:
        await there.ask()
        assert delivered(there.taken.by(Action.FILES, Speech.FINAL))


@rule("OUT-9", "OUT-4")
@everywhere
async def test_a_file_that_may_not_leave_is_one_plain_sentence_and_no_file(on, platform):
    file = OutFile(name="log.txt", media_type="text/plain", content=SECRET.encode())
    async with on(platform, saying(Final(text="here", files=(file,)))) as there:
        await there.ask()
        assert await there.texts() == [WITHHELD]
        assert not [part for part, _ in there.taken.parts if part.files]
        assert "SECRET" not in await there.everything()


# an answer that grows


@rule("OUT-9")
@everywhere
async def test_an_answer_grows_and_is_whole_in_the_end(on, platform):
    agent = saying(Fragment(text="It is"), Final(text="It is noon."))
    async with on(platform, agent, streaming=", streaming: edit") as there:
        await there.ask()
        assert await there.texts() == ["It is noon."]
        assert delivered([receipt for part, receipt in there.taken.parts if part.speech is Speech.FRAGMENT])


@rule("OUT-9", "OUT-4", "OUT-7")
@everywhere
async def test_an_answer_that_fails_while_it_grows_ends_as_one_plain_sentence(on, platform):
    agent = saying(Fragment(text="It is"), RuntimeError(SECRET))
    async with on(platform, agent, streaming=", streaming: edit") as there:
        await there.ask()
        assert await there.texts() == [SORRY]
        assert "SECRET" not in await there.everything()


@rule("OUT-9", "OUT-4")
@everywhere
async def test_what_may_not_be_said_is_not_shown_while_it_grows_either(on, platform):
    agent = saying(Fragment(text=SECRET), Final(text="It is noon."))
    async with on(platform, agent, streaming=", streaming: edit") as there:
        await there.ask()
        assert await there.texts() == ["It is noon."]
        assert "SECRET" not in await there.everything()


# edit


class SizeAgent:
    """Asks for a size."""

    name = "main"

    async def run(self, request, desk):
        ended = await desk.ask(Asking(text="Which size?", schema=CHOICE))
        yield Final(text=f"It is {(ended.answer or {}).get('size', 'nothing')}.")

    async def close(self):
        pass


async def question(there):
    """The question that is open by now, as it is kept."""
    async with asyncio.timeout(10):
        while not (found := await there.daemon.crew.questions.pending()):
            await asyncio.sleep(0.01)  # bounded above
    return found[0]


@rule("OUT-9")
@everywhere
async def test_a_card_is_edited_when_its_question_was_answered(on, platform):
    async with on(platform, SizeAgent()) as there:
        await there.ask()
        asked = await question(there)
        await answer(there)
        await there.quiet()
        assert (await there.daemon.crew.questions.look(asked.id)).answer == {"size": "large"}
        assert delivered(there.taken.by(Action.EDIT))
        assert (await there.texts())[-1] == "It is large."


async def answer(there):
    """Bob writes the answer as a reply to the question, or taps it on the page."""
    match there.platform:
        case "telegram":
            there.api.press(chat=GROUP, sender=BOB, button="large")
        case "matrix":
            (card,) = [one for one in there.server.sent(ROOM) if one["type"] == "m.room.message"]
            relation = {"m.in_reply_to": {"event_id": card["event_id"]}}
            there.server.say(ROOM, "large", sender=VISITOR, **{"m.relates_to": relation})
        case _:
            (card,) = [one for one in await there.desk.visitor.messages("customers") if one["author"]["bot"]]
            token = next(one["token"] for one in card["card"]["buttons"] if one["label"] == "large")
            path = f"/api/rooms/customers/messages/{card['id']}/tap"
            assert (await there.desk.visitor.post(path, {"token": token, "as": "bob"}))[0] == 200


@rule("OUT-9", "OUT-7")
@everywhere
async def test_a_card_is_edited_to_plain_words_when_nobody_can_answer_any_more(on, platform):
    async with on(platform, SizeAgent()) as there:
        await there.ask()
        asked = await question(there)
        assert await there.daemon.crew.questions.cancel(asked.id)
        await there.quiet()
        assert delivered(there.taken.by(Action.EDIT))
        closed, said = await there.texts()
        assert "Which size?" in closed
        assert "large" not in closed
        assert said == "It is nothing."


# typing


@rule("OUT-9")
@everywhere
async def test_the_typing_sign_shows_while_the_agent_takes_its_time(on, platform):
    agent = saying(Final(text="ok"), gate=asyncio.Event())
    async with on(platform, agent) as there:
        await there.say("hello")
        await there.taken.reached(Action.TYPING)
        agent.gate.set()
        await there.quiet()
        assert delivered(there.taken.by(Action.TYPING))
        assert await there.texts() == ["ok"]


@rule("OUT-9", "OUT-4")
@everywhere
async def test_a_typing_sign_ends_when_the_agent_fails_and_says_nothing_of_it(on, platform):
    agent = saying(RuntimeError(SECRET), gate=asyncio.Event())
    async with on(platform, agent) as there:
        await there.say("hello")
        await there.taken.reached(Action.TYPING)
        agent.gate.set()
        await there.quiet()
        count = len(there.taken.by(Action.TYPING))
        assert await there.texts() == [SORRY]
        assert all(part.text == "" for part, _ in there.taken.parts if part.action is Action.TYPING)
        assert len(there.taken.by(Action.TYPING)) == count
        assert "SECRET" not in await there.everything()


# drafts of the platform, in private


@rule("OUT-9", "OUT-7")
async def test_a_draft_of_telegram_that_fails_ends_as_one_plain_sentence(api, tmp_path):
    policy = POLICY.replace("direct: {strangers: allow}", "direct: {strangers: allow, streaming: draft}")
    agent = saying(Fragment(text="It is"), RuntimeError(SECRET))
    async with running(tmp_path, api=api, agent=agent, policy=policy) as gateway:
        api.say(chat=BOB, sender=BOB, text="hello")
        await gateway.quiet()
        assert gateway.person_calls[0].method == "sendMessageDraft"
        assert api.texts(BOB) == [SORRY]
        assert "SECRET" not in " ".join(f"{call.params}" for call in gateway.person_calls)


CARD = Card(title="A table", buttons=(Button(label="19:00", value="table"),))


# Matrix alone: the mark, invites, signs under a message


@rule("OUT-9")
@pytest.mark.parametrize("refused", [False, True], ids=["and is shown", "and is refused"])
async def test_a_request_on_matrix_is_marked_as_read_and_answered_also_where_the_mark_fails(on, refused):
    async with on("matrix", saying(Final(text="ok"))) as there:
        if refused:
            there.server.fail("receipt", 403, "M_FORBIDDEN", times=None)
        await there.ask()
        (receipt,) = there.taken.by(Action.READ)
        assert isinstance(receipt, Rejected if refused else Delivered)
        assert await there.texts() == ["ok"]


@rule("OUT-9")
@pytest.mark.parametrize("refused", [False, True], ids=["and is let in", "and is refused"])
async def test_an_invite_of_an_operator_is_followed_and_a_refusal_is_nobodys_message(on, refused):
    new = "!new:example.org"
    async with on("matrix", saying(Final(text="ok"))) as there:
        if refused:
            there.server.fail("join", 403, "M_FORBIDDEN", times=None)
        there.server.invite(new, sender=ANN)
        await there.taken.reached(Action.JOIN)
        await there.quiet()
        assert isinstance(there.taken.by(Action.JOIN)[0], Rejected if refused else Delivered)
        assert {part.action for part, _ in there.taken.parts} == {Action.JOIN}


@rule("OUT-9")
@pytest.mark.parametrize("refused", [False, True], ids=["and is out", "and is refused"])
async def test_an_invite_of_a_stranger_is_declined_where_the_policy_says_so_without_a_word(on, refused, monkeypatch):
    monkeypatch.setitem(globals(), "MATRIX_POLICY", MATRIX_POLICY + "invites: {otherwise: decline}\n")
    new = "!new:example.org"
    async with on("matrix", saying(Final(text="ok"))) as there:
        if refused:
            there.server.fail("leave", 403, "M_FORBIDDEN", times=None)
        there.server.invite(new, sender="@eve:example.org")
        await there.taken.reached(Action.LEAVE)
        await there.quiet()
        assert isinstance(there.taken.by(Action.LEAVE)[0], Rejected if refused else Delivered)
        assert {part.action for part, _ in there.taken.parts} == {Action.LEAVE}


@rule("OUT-9")
async def test_signs_to_tap_stand_under_a_card_on_matrix(on):
    async with on("matrix", saying(Final(text="When?", card=CARD))) as there:
        await there.ask()
        card, *signs = there.server.sent(ROOM)
        assert "When?" in card["content"]["body"]
        assert [one["type"] for one in signs] == ["m.reaction"]


@rule("OUT-9")
async def test_where_signs_are_refused_on_matrix_the_card_stands_without_them(on):
    async with on("matrix", saying(Final(text="When?", card=CARD))) as there:
        deliver = there.server.world.append

        def append(room, event):
            done = deliver(room, event)
            if isinstance(event, dict) and event.get("sender") == BOT:
                there.server.fail("send", 403, "M_FORBIDDEN", times=None)
            return done

        there.server.world.append = append
        await there.ask()
        assert [one["type"] for one in there.server.sent(ROOM)] == ["m.room.message"]
        assert delivered(there.taken.by(Action.SEND, Speech.FINAL))


# the command line, by the verbs of the control socket


async def used(gateway):
    """An approval that somebody has claimed and that nobody knows the outcome of."""
    room = gateway.daemon.crew.approvals
    action = ToolAction(name="refund", system="shop", parameters={"order": 17})
    made = await room.propose(Proposal(action=action), agent="main", origin=None)
    await gateway.settled()
    (card,) = [one for one in gateway.api.sent(INTERNAL) if made.code in one.get("text", "")]
    data = {key["text"]: key["callback_data"] for row in card["reply_markup"]["inline_keyboard"] for key in row}
    gateway.api.press(chat=INTERNAL, sender=ANN_ID, message_id=card["message_id"], data=data["Approve"], force=True)
    await gateway.settled()
    await room.claim(made.id, version=made.version, key="once", target_present=None)
    await room.outcome(made.id, executed=None, note="")
    await gateway.settled()
    return made


@rule("OUT-9", "OUT-8")
async def test_what_the_command_line_reconciles_is_told_inside_and_nowhere_else(api, tmp_path):
    async with running(tmp_path, api=api) as gateway:
        made = await used(gateway)
        reconcile = approval_verbs(gateway.daemon.crew.approvals)["reconcile"]
        assert (
            await reconcile(approval=made.code, outcome="executed", evidence="bank says so", by="admin") == "executed"
        )
        await gateway.settled()
        (card,) = [one for one in api.sent(INTERNAL) if "Action: refund" in one.get("text", "")]
        assert "done" in card["text"]
        assert api.texts(GROUP) == []


@rule("OUT-9", "OUT-8")
async def test_what_the_command_line_can_not_reconcile_changes_and_says_nothing(api, tmp_path):
    async with running(tmp_path, api=api) as gateway:
        made = await used(gateway)
        reconcile = approval_verbs(gateway.daemon.crew.approvals)["reconcile"]
        before = len(gateway.person_calls)
        with pytest.raises(ProposalError):
            await reconcile(approval=made.code, outcome="executed", evidence=" ", by="admin")
        with pytest.raises(ConfigError):
            await reconcile(approval="ZZZZZ", outcome="executed", evidence="bank says so", by="admin")
        await gateway.settled()
        assert len(gateway.person_calls) == before


@rule("OUT-9", "OUT-6")
async def test_grants_of_the_command_line_say_nothing_by_themselves(api, tmp_path):
    async with running(tmp_path, api=api) as gateway:
        verbs = grant_verbs(gateway.daemon.crew.grants)
        asked = {"agent": "main", "destination": f"telegram:7001:{GROUP}", "lasts": "8h", "purpose": "figures"}
        grant = await verbs["grant_add"](uses="1", **asked)
        assert await verbs["grant_revoke"](grant=grant) == "yes"
        assert await verbs["grant_revoke"](grant=grant) == ""
        with pytest.raises(GrantError):
            await verbs["grant_add"](uses="0", **asked)
        await gateway.settled()
        assert gateway.person_calls == []


@rule("OUT-9", "APPR-9")
async def test_passkeys_of_the_command_line_say_nothing_in_any_chat(api, tmp_path):
    addresses = PageAddresses(b"k" * 32, relying_party("https://desk.example.org"))
    async with running(tmp_path, api=api, addresses=addresses) as gateway:
        verbs = passkey_verbs(gateway.daemon.crew.passkeys)
        assert (await verbs["passkey_invite"](person="ann")).startswith("https://desk.example.org/")
        assert await verbs["passkey_revoke"](passkey="nothing") == ""
        with pytest.raises(ConfigError):
            await verbs["passkey_invite"](person="bob")
        await gateway.settled()
        assert gateway.person_calls == []


# the timer, on each platform

PLACES = {"telegram": f"telegram:7001:{GROUP}", "matrix": f"matrix:{BOT}:{ROOM}", "web": "web:desk:customers"}


async def schedule(there, text):
    """A delivery with a grant of the admin; what became of it once its time was there."""
    crew, place = there.daemon.crew, PLACES[there.platform]
    await grant_verbs(crew.grants)["grant_add"](agent="main", destination=place, uses="1", lasts="8h", purpose="weekly")
    delivery = await crew.schedule.post(Order(destination=place, text=text), agent="main", key="weekly")
    await crew.schedule.look_round()
    await there.quiet()
    return await crew.schedule.look(delivery.id)


@rule("OUT-9", "OUT-6")
@everywhere
async def test_a_scheduled_delivery_arrives_at_its_time(on, platform):
    async with on(platform, saying(Final(text="ok"))) as there:
        await there.ask()
        await schedule(there, "The figures are there.")
        assert await there.texts() == ["ok", "The figures are there."]


@rule("OUT-9", "OUT-4", "OUT-6")
@everywhere
async def test_a_scheduled_delivery_that_may_not_be_said_reaches_nobody(on, platform):
    async with on(platform, saying(Final(text="ok"))) as there:
        await there.ask()
        delivery = await schedule(there, SECRET)
        assert delivery.code == "disclosure"
        assert await there.texts() == ["ok"]
        assert "SECRET" not in await there.everything()
