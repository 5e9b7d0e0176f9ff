"""Questions under attack and after crashes: what a hostile agent, visitor or moment brings about, and what stays whole."""

import asyncio
import hashlib
import itertools
import json
import sqlite3
from contextlib import asynccontextmanager, closing
from datetime import timedelta

import pytest

import bot.api.questions
from bot.model.errors import StoreError
from bot.model.output import Final
from bot.model.question import Answerer, Asking, QuestionState, Way, Who
from bot.ports.questions import Confirm, Gone, Lost, Taken
from bot.questions.links import Links
from tests.acceptance.test_questions import CHANNEL, OPEN, AskingAgent, keyboard, request, tap, until
from tests.acceptance.test_questions_api import interface, shown
from tests.acceptance.test_questions_matrix import ask
from tests.acceptance.test_questions_telegram_more import YES_NO
from tests.harness import ANN, BOB, GROUP, POLICY, Clock, running

rule = pytest.mark.rule
PAGES = Links(bytes(32), "https://forms.example.org")
MASKED = {
    "type": "object",
    "properties": {"pin": {"type": "string", "writeOnly": True}, "user": {"type": "string"}},
    "required": ["pin"],
}
SECRET = {"pin": "SYNTHETIC-4711", "user": "bob"}


@asynccontextmanager
async def gateway_of(tmp_path, api, agent, **more):
    async with running(
        tmp_path, api=api, agent=agent, limits=OPEN, links=PAGES, **{"policy": POLICY, **more}
    ) as gateway:
        yield gateway


def room(gateway):
    """The room of questions, as the pages have it."""
    return gateway.daemon.crew.questions


async def the_question(gateway):
    """The one that is open."""
    (question,) = await gateway.store.questions.pending()
    return question


async def asked(gateway, api, *, chat=GROUP):
    """Bob asks for something, and is asked."""
    request(api, chat=chat)
    card = (await api.wait_sent(chat))[-1]
    await gateway.settled()
    return card, await the_question(gateway)


def stored(folder, statement):
    """What the store holds."""
    with closing(sqlite3.connect(folder / "discreet.db")) as database:
        return database.execute(statement).fetchall()


# crashes


@rule("DUR-3", "FORM-5")
async def test_a_card_that_leaves_after_a_restart_is_closed_where_its_question_has_ended_meanwhile(api, tmp_path):
    agent, clock = AskingAgent(ttl_s=30), Clock()
    api.fail("sendMessage", 429, retry_after=20, times=1)
    async with gateway_of(tmp_path, api, agent, clock=clock):
        request(api)
        await until(lambda: api.totals.get("sendMessage"))
    assert api.texts(GROUP) == []
    clock.offset += timedelta(seconds=31)
    held = api.hang("sendMessage", deliver=False)
    async with gateway_of(tmp_path, api, agent, clock=clock) as gateway:
        await held.reached()
        await until(lambda: stored(tmp_path, "SELECT 1 FROM questions WHERE state = 'expired'"))
        held.release()
        card = (await api.wait_sent(GROUP))[0]
        await until(lambda: keyboard(api, card) == [])
        await gateway.settled()
    assert "Nobody has answered in time" in api.texts(GROUP)[0]


@rule("DUR-2", "DUR-3", "FORM-12")
async def test_a_card_of_which_nobody_knew_whether_it_arrived_goes_on_once_somebody_taps_it(api, tmp_path):
    agent = AskingAgent(important=True)
    held = api.hang("sendMessage", deliver=True)
    async with gateway_of(tmp_path, api, agent):
        request(api)
        await until(lambda: api.texts(GROUP))
    held.cut()
    api.faults.remove(held)
    (card,) = api.sent(GROUP)
    async with gateway_of(tmp_path, api, agent) as gateway:
        tap(api, card, "beta", sender=BOB)
        await until(lambda: any(row[0]["text"] == "Confirm" for row in keyboard(api, card)))
        assert agent.conclusions == []
        tap(api, api.sent(GROUP)[0], "Confirm", sender=BOB)
        await until(lambda: agent.conclusions and keyboard(api, card) == [])
        await gateway.settled()
    assert agent.conclusions[0].answer == {"channel": "beta"}


class Changing(AskingAgent):
    """Asks two questions at once, in another order and with another third one each time."""

    async def run(self, request, desk):
        self.asked += 1
        texts = ["One?", "Two?"][:: 1 if self.asked % 2 else -1]
        texts.append(f"Attempt {self.asked}?")
        await asyncio.gather(*(desk.ask(Asking(text=text, schema=CHANNEL)) for text in texts))
        yield Final(text="done")


@rule("DUR-3", "FORM-7")
async def test_a_run_that_is_repeated_and_asks_in_another_order_finds_its_questions_and_may_ask_others(api, tmp_path):
    agent = Changing()
    for attempt in (1, 2):
        async with gateway_of(tmp_path, api, agent) as gateway:
            if attempt == 1:
                request(api)
            await until(lambda attempt=attempt: len(api.texts(GROUP)) == 2 + attempt)
            await gateway.settled()
            assert sorted(api.texts(GROUP)) == sorted(
                ["One?", "Two?", *(f"Attempt {n}?" for n in range(1, attempt + 1))]
            )


class Dying(AskingAgent):
    """Gets the answer, and has to be let go on."""

    def __init__(self, **asking) -> None:
        super().__init__(**asking)
        self.gate = asyncio.Event()

    async def run(self, request, desk):
        self.conclusions.append(await desk.ask(self.asking))
        await self.gate.wait()
        yield Final(text="done")


@rule("DUR-3", "FORM-10")
async def test_a_masked_answer_stays_until_the_run_that_needs_it_has_ended(api, tmp_path):
    agent = Dying(schema=MASKED)
    async with gateway_of(tmp_path, api, agent) as gateway:
        _, question = await asked(gateway, api)
        await room(gateway).submit(PAGES.token(question.id), SECRET, by=None, way=Way.FORM)
        await until(lambda: agent.conclusions)
    agent.gate.set()
    async with gateway_of(tmp_path, api, agent) as gateway:
        await until(lambda: "done" in api.texts(GROUP))
        assert [one.answer for one in agent.conclusions] == [SECRET, SECRET]
        await until(lambda: SECRET["pin"] not in str(stored(tmp_path, "SELECT document FROM questions")))
    assert (tmp_path / "discreet.db").read_bytes().count(SECRET["pin"].encode()) == 0


@rule("DUR-3")
async def test_questions_still_expire_after_the_store_has_failed_for_a_while(api, tmp_path, monkeypatch):
    agent, clock = AskingAgent(ttl_s=30), Clock()
    async with gateway_of(tmp_path, api, agent, clock=clock) as gateway:
        await asked(gateway, api)
        failed = asyncio.Event()

        async def failing():
            failed.set()
            raise StoreError("the disk is full")

        with monkeypatch.context() as broken:
            broken.setattr(gateway.store.questions, "pending", failing)
            await asyncio.wait_for(failed.wait(), 10)
        clock.offset += timedelta(seconds=31)
        await until(lambda: agent.conclusions)
    assert agent.conclusions[0].state is QuestionState.EXPIRED


@rule("DUR-2", "FORM-12")
async def test_a_confirmation_that_got_lost_on_its_way_to_the_card_is_shown_all_the_same(api, tmp_path):
    agent = AskingAgent(important=True)
    async with gateway_of(tmp_path, api, agent) as gateway:
        card, _ = await asked(gateway, api)
        held = api.hang("editMessageText", deliver=False)
        tap(api, card, "beta", sender=BOB)
        await held.reached()
    held.cut()
    api.faults.remove(held)
    async with gateway_of(tmp_path, api, agent):
        await until(lambda: any(row[0]["text"] == "Confirm" for row in keyboard(api, card)))
        tap(api, card, "Confirm", sender=BOB)
        await until(lambda: agent.conclusions)
    assert agent.conclusions[0].answer == {"channel": "beta"}


# secrets


@rule("FORM-10", "FORM-12")
async def test_what_is_masked_is_not_in_the_buttons_that_confirm_it_nor_kept_when_it_is_to_be_changed(api, tmp_path):
    agent = AskingAgent(schema=MASKED, important=True)
    async with gateway_of(tmp_path, api, agent) as gateway:
        card, question = await asked(gateway, api)
        said = await room(gateway).submit(PAGES.token(question.id), SECRET, by=None, way=Way.FORM)
        assert isinstance(said, Confirm)
        await gateway.settled()
        written = json.dumps(SECRET, sort_keys=True).encode()
        values = [value for (value,) in stored(tmp_path, "SELECT value FROM buttons WHERE value LIKE 'sure=%'")]
        assert values
        assert f"sure={hashlib.sha256(written).hexdigest()[:16]}" not in values, "a PIN is guessed from its digest"
        change = next(row[1] for row in keyboard(api, card) if len(row) == 2)
        api.press(chat=GROUP, sender=BOB, message_id=card["message_id"], data=change["callback_data"])
        await gateway.settled()
        again = await the_question(gateway)
        assert (again.state, dict(again.kept)) == (QuestionState.OPEN, {"user": "bob"})


# who may answer, and the policy that changes in the middle


@rule("FORM-9", "IDENT-5")
async def test_who_is_denied_meanwhile_answers_by_no_link(api, tmp_path):
    agent = AskingAgent(schema=MASKED)
    async with gateway_of(tmp_path, api, agent) as gateway:
        _, question = await asked(gateway, api, chat=BOB)
        token = PAGES.token(question.id)
        assert not isinstance(await room(gateway).open(token), Gone)
        (tmp_path / "policy.yaml").write_text(POLICY.replace("names: [Bob", "access: deny, names: [Bob"))
        gateway.daemon.crew.policy.refresh()
        assert await room(gateway).open(token) is Gone.UNKNOWN
        for by in (None, f"telegram:{BOB}"):
            said = await room(gateway).submit(token, SECRET, by=by, way=Way.FORM)
            assert said is Gone.UNKNOWN
        assert (await the_question(gateway)).state is QuestionState.OPEN


@rule("FORM-9")
async def test_who_is_no_operator_any_more_answers_nothing_that_is_for_operators(api, tmp_path):
    agent = AskingAgent(who=Who(kind=Answerer.OPERATORS))
    async with gateway_of(tmp_path, api, agent) as gateway:
        card, _ = await asked(gateway, api)
        (tmp_path / "policy.yaml").write_text(POLICY.replace("operators: [ann]", "operators: [bob]"))
        gateway.daemon.crew.policy.refresh()
        query = tap(api, card, "beta", sender=ANN)
        api.say(chat=GROUP, sender=ANN, text="beta", reply_to=card["message_id"])
        await gateway.settled()
        assert "somebody else" in api.toasts[query]["text"]
        assert agent.conclusions == []
        tap(api, card, "stable", sender=BOB)
        await until(lambda: agent.conclusions)


# races


WAYS = ("tap", "reply", "form", "mini_app", "expire", "cancel")


@rule("FORM-7")
@pytest.mark.parametrize(("one", "other"), [*itertools.combinations(WAYS, 2), *((way, way) for way in WAYS[:4])])
async def test_of_two_ways_at_once_one_wins_and_the_other_is_told_so(api, tmp_path, one, other):
    agent = AskingAgent()
    async with gateway_of(tmp_path, api, agent) as gateway:
        _, question = await asked(gateway, api)
        here, bob, token = room(gateway), f"telegram:{BOB}", PAGES.token(question.id)
        ((part,),) = stored(tmp_path, "SELECT part_id FROM question_parts")

        def by(way, place):
            values = {"channel": ("stable", "beta")[place]}
            return {
                "tap": lambda: here.tap(part, f"={place}", by=bob),
                "reply": lambda: here.answer(question, values, by=bob, way=Way.REPLY),
                "form": lambda: here.submit(token, values, by=None, way=Way.FORM),
                "mini_app": lambda: here.submit(token, values, by=bob, way=Way.MINI_APP),
                "expire": lambda: here._end(question.id, "expire"),
                "cancel": lambda: here.cancel(question.id),
            }[way]()

        said = await asyncio.gather(by(one, 0), by(other, 1))
        won = [word for word in said if isinstance(word, Taken) or word is True]
        late = [word for word in said if isinstance(word, Lost | Gone) or word is False]
        assert (len(won), len(late)) == (1, 1), said
        await until(lambda: agent.conclusions)
        await gateway.settled()
        assert len(agent.conclusions) == 1
        if isinstance(won[0], Taken):
            assert agent.conclusions[0].answer == won[0].question.answer


# agents


@rule("AGENT-5")
async def test_an_agent_with_all_its_questions_open_still_finds_one_by_its_key(api, tmp_path, monkeypatch):
    monkeypatch.setattr(bot.api.questions, "MAX_OPEN", 1)
    async with interface(tmp_path, api) as agent:
        status, made = await agent.ask(key="one")
        assert status == 201
        await shown(api)
        assert (await agent.ask(key="one")) == (200, made)
        status, refused = await agent.ask(key="two")
        assert (status, refused["error"]) == (429, "too_many_open")


@rule("AGENT-5", "FORM-13")
@pytest.mark.parametrize(
    "wrong",
    [
        {"text": "a\ud800b"},
        {"text": "\0\u202e\u2066 "},
        {"key": "k\ud800"},
        {"key": "\0"},
        {"schema": {**CHANNEL, "title": "\ud800"}},
        {"schema": {**CHANNEL, "default": {"channel": 2**70}}},
        {"schema": {**CHANNEL, "maxProperties": 2**70}},
        {"schema": {"type": "object", "properties": {"a": {"enum": [2**70, 1]}}}},
        {"schema": {"type": "object", "properties": {"a": {"type": "integer", "maximum": 2**70}}}},
        {"schema": {"type": "object", "properties": {"a": {"type": "number", "maximum": float("inf")}}}},
    ],
)
async def test_what_an_agent_writes_is_asked_or_refused_and_nothing_else_breaks(api, tmp_path, wrong):
    agent = AskingAgent(**wrong)
    async with gateway_of(tmp_path, api, agent) as gateway:
        request(api)
        await until(lambda: api.texts(GROUP))
        await gateway.settled()
        assert [type(error).__name__ for error in agent.errors] in ([], ["AskError"])
        agent.asking = Asking(text="Which channel?", schema=CHANNEL)
        request(api)
        await until(lambda: any(text.startswith("Which channel?") for text in api.texts(GROUP)))


@rule("FORM-14")
@pytest.mark.parametrize("weak", ["ok", "👍"])
async def test_a_weak_word_in_the_thread_of_a_question_is_chat_and_a_yes_is_an_answer(desk, weak):
    room = await desk.room(desk.ann, desk.bob, encrypted=True)
    agent = AskingAgent(schema=YES_NO, text="Delete it?")
    async with desk.running(agent=agent) as gateway:
        there = await ask(desk, gateway, room)
        await there.say(weak, thread=there.id)
        await gateway.settled()
        assert agent.conclusions == []
        await there.say("yes", thread=there.id)
        await until(lambda: agent.conclusions)
    assert agent.conclusions[0].answer == {"sure": True}
