"""Questions to people on Telegram, on a running gateway: asked, answered once, validated, closed (FORM)."""

import asyncio
from contextlib import asynccontextmanager

import pytest

from bot.channels.telegram.limits import Limits
from bot.model.output import Final
from bot.model.question import Answerer, Asking, QuestionState, Way, Who
from tests.harness import ANN, BOB, GROUP, MALLORY, POLICY, running

rule = pytest.mark.rule
OPEN = Limits(chat=None, group=None, total=None)
CHANNEL = {"type": "object", "properties": {"channel": {"enum": ["stable", "beta"]}}, "required": ["channel"]}
RELEASE = {
    "type": "object",
    "properties": {
        "channel": {"type": "string", "title": "Channel", "enum": ["stable", "beta"]},
        "version": {"type": "string", "title": "Version", "minLength": 5},
        "window": {
            "type": "array",
            "title": "Window",
            "items": {"type": "string", "format": "date"},
            "minItems": 2,
            "maxItems": 2,
        },
        "confirmed": {"type": "boolean", "title": "Confirmed"},
    },
    "required": ["channel", "version", "window", "confirmed"],
}


class AskingAgent:
    """Asks one question for each request, and says how it ended."""

    name = "main"

    def __init__(self, **asking) -> None:
        self.asking = Asking(**{"text": "Which channel?", "schema": CHANNEL, **asking})
        self.conclusions = []
        self.errors = []
        self.asked = 0

    async def run(self, request, desk):
        self.asked += 1
        try:
            conclusion = await desk.ask(self.asking)
        except Exception as error:
            self.errors.append(error)
            raise
        self.conclusions.append(conclusion)
        yield Final(text=f"ended: {conclusion.state.value}")

    async def close(self) -> None:
        pass


@asynccontextmanager
async def asking(tmp_path, api, agent, **more):
    async with running(tmp_path, api=api, agent=agent, limits=OPEN, policy=POLICY, **more) as gateway:
        yield gateway


def request(api, *, chat=GROUP, sender=BOB):
    return api.say(chat=chat, sender=sender, text="release it" if chat > 0 else "@desk_bot release it")


def tap(api, card, button, *, sender):
    """Somebody taps a button, if the message shows it, else the one that it showed."""
    old = {b["text"]: b.get("callback_data") for row in card["reply_markup"]["inline_keyboard"] for b in row}
    where = {"chat": GROUP, "sender": sender, "message_id": card["message_id"]}
    try:
        return api.press(**where, button=button)
    except LookupError:
        return api.press(**where, data=old[button], force=True)


def keyboard(api, card):
    """The buttons that the message shows now."""
    found = next(message for message in api.sent(GROUP) if message["message_id"] == card["message_id"])
    return found.get("reply_markup", {}).get("inline_keyboard", [])


async def until(condition):
    """Wait for what the store will say; bounded."""
    async with asyncio.timeout(10):
        while not condition():
            await asyncio.sleep(0.01)


@rule("FORM-5", "FORM-11")
async def test_a_choice_is_answered_by_one_tap_and_the_card_closes(api, tmp_path):
    agent = AskingAgent()
    async with asking(tmp_path, api, agent) as gateway:
        request(api)
        card = (await api.wait_sent(GROUP))[-1]
        tap(api, card, "beta", sender=BOB)
        await until(lambda: agent.conclusions)
        await gateway.settled()
    (conclusion,) = agent.conclusions
    assert conclusion.state is QuestionState.ANSWERED
    assert (conclusion.answer, conclusion.answered_by, conclusion.way) == ({"channel": "beta"}, "bob", Way.TAP)
    assert keyboard(api, card) == []
    assert api.texts(GROUP)[-1] == "ended: answered"


@rule("FORM-9")
async def test_a_tap_by_somebody_else_changes_nothing_and_tells_them_in_private(api, tmp_path):
    agent = AskingAgent()
    async with asking(tmp_path, api, agent) as gateway:
        request(api)
        card = (await api.wait_sent(GROUP))[-1]
        before = len(api.texts(GROUP))
        query = tap(api, card, "beta", sender=MALLORY)
        await gateway.settled()
        assert "somebody else" in api.toasts[query]["text"]
        assert (agent.conclusions, len(api.texts(GROUP))) == ([], before)


@rule("FORM-8", "FORM-2")
async def test_a_partly_wrong_reply_is_mended_field_by_field(api, tmp_path):
    agent = AskingAgent(text="Release?", schema=RELEASE)
    async with asking(tmp_path, api, agent) as gateway:
        request(api)
        card = (await api.wait_sent(GROUP))[-1]
        words = "Channel: beta\nVersion: 1.2\nWindow: 2026-12-01 - 2026-12-05\nConfirmed: yes"
        api.say(chat=GROUP, sender=BOB, text=words, reply_to=card["message_id"])
        await until(lambda: any("Version needs at least 5" in text for text in api.texts(GROUP)[1:]))
        assert agent.conclusions == []
        api.say(chat=GROUP, sender=BOB, text="Version: 1.2.3", reply_to=card["message_id"])
        await until(lambda: agent.conclusions)
        await gateway.settled()
    assert agent.conclusions[0].answer == {
        "channel": "beta",
        "version": "1.2.3",
        "window": ["2026-12-01", "2026-12-05"],
        "confirmed": True,
    }
    assert agent.conclusions[0].way is Way.REPLY


@rule("FORM-14")
async def test_other_chat_stays_chat_while_a_question_is_open(api, tmp_path):
    agent = AskingAgent()
    async with asking(tmp_path, api, agent) as gateway:
        request(api)
        await api.wait_sent(GROUP)
        message = api.say(chat=GROUP, sender=BOB, text="beta")
        await gateway.settled()
        assert gateway.outcomes(message["message_id"]) == ["mute"]
        assert agent.conclusions == []


@rule("FORM-1", "FORM-13")
async def test_a_schema_that_can_not_be_asked_is_refused_before_anybody_is_asked(api, tmp_path):
    agent = AskingAgent(schema={"type": "object", "properties": {"x": {"enum": []}}})
    async with asking(tmp_path, api, agent) as gateway:
        request(api)
        await until(lambda: agent.errors)
        await gateway.settled()
    assert agent.errors[0].code == "schema"
    assert agent.errors[0].problems[0][0] == "/properties/x/enum"
    assert len(api.texts(GROUP)) == 1, "only the safe error"


@rule("FORM-9")
async def test_a_question_for_operators_is_for_operators(api, tmp_path):
    agent = AskingAgent(who=Who(kind=Answerer.OPERATORS))
    async with asking(tmp_path, api, agent) as gateway:
        request(api)
        card = (await api.wait_sent(GROUP))[-1]
        tap(api, card, "beta", sender=BOB)
        await gateway.settled()
        assert agent.conclusions == []
        tap(api, card, "stable", sender=ANN)
        await until(lambda: agent.conclusions)
    assert agent.conclusions[0].answered_by == "ann"


@rule("FORM-12")
async def test_an_important_question_wants_a_second_confirmation(api, tmp_path):
    agent = AskingAgent(important=True)
    async with asking(tmp_path, api, agent) as gateway:
        request(api)
        card = (await api.wait_sent(GROUP))[-1]
        tap(api, card, "beta", sender=BOB)
        await gateway.settled()
        assert agent.conclusions == []
        tap(api, card, "Confirm", sender=BOB)
        await until(lambda: agent.conclusions)
    assert agent.conclusions[0].answer == {"channel": "beta"}


@rule("DUR-3", "FORM-7")
async def test_a_question_outlives_the_gateway_and_a_tap_from_before_still_counts(api, tmp_path):
    agent = AskingAgent()
    async with asking(tmp_path, api, agent):
        request(api)
        card = (await api.wait_sent(GROUP))[-1]
    sent = len(api.texts(GROUP))
    async with asking(tmp_path, api, agent) as gateway:
        await until(lambda: agent.asked == 2)
        await gateway.settled()
        assert len(api.texts(GROUP)) == sent, "the same question is not shown again"
        tap(api, card, "stable", sender=BOB)
        await until(lambda: agent.conclusions)
        query = tap(api, card, "beta", sender=BOB)
        await gateway.settled()
        assert api.toasts[query]["text"]
    assert [one.answer for one in agent.conclusions] == [{"channel": "stable"}]


async def test_a_conversation_goes_on_while_somebody_is_asked_and_stop_takes_the_question_back(api, tmp_path):
    agent = AskingAgent()
    async with asking(tmp_path, api, agent) as gateway:
        request(api)
        await api.wait_sent(GROUP)
        request(api, sender=ANN)
        await until(lambda: agent.asked == 2)
        await gateway.settled()
        api.say(
            chat=GROUP, sender=BOB, text="/stop@desk_bot", entities=[{"type": "bot_command", "offset": 0, "length": 14}]
        )
        await gateway.settled()
        states = [q.state for q in await gateway.store.questions.pending()]
        assert len(states) == 1, "ann's is still open"


MASKED = {"type": "object", "properties": {"pin": {"type": "string", "writeOnly": True}}, "required": ["pin"]}


@rule("FORM-1", "FORM-10")
@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        ({"schema": MASKED}, "no_form"),
        ({"who": Who(kind=Answerer.PEOPLE, people=frozenset({"nobody"}))}, "who"),
        ({"who": Who(kind=Answerer.PEOPLE)}, "who"),
        ({"ttl_s": 5}, "ttl"),
        ({"text": " "}, "text"),
    ],
)
async def test_what_nobody_could_answer_is_not_asked(api, tmp_path, wrong, code):
    agent = AskingAgent(**wrong)
    async with asking(tmp_path, api, agent) as gateway:
        request(api)
        await until(lambda: agent.errors)
        await gateway.settled()
    assert agent.errors[0].code == code
    assert len(api.texts(GROUP)) == 1, "only the safe error"
