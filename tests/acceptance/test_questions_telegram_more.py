"""More of questions on Telegram: step by step, by links, in private, raced, closed, and what never leaves (FORM)."""

import asyncio
import json
import logging
import sqlite3
from contextlib import asynccontextmanager, closing
from datetime import timedelta

import pytest

from bot.journal.chain import Record, verify
from bot.model.output import Final
from bot.model.question import Answerer, QuestionState, Way, Who
from bot.ports.questions import Lost, NotYours, Taken
from bot.questions.links import Links
from tests.acceptance.test_questions import OPEN, RELEASE, AskingAgent, asking, keyboard, request, until
from tests.harness import ANN, BOB, GROUP, MALLORY, POLICY, Clock, running

rule = pytest.mark.rule
PAGES = Links(bytes(32), "https://forms.example.org")
SECRET = "correct-horse-battery-staple"
DATE = {"type": "object", "properties": {"day": {"type": "string", "format": "date"}}, "required": ["day"]}
WINDOW = {"type": "object", "properties": {"window": RELEASE["properties"]["window"]}, "required": ["window"]}
TARGETS = {
    "type": "object",
    "properties": {
        "targets": {"type": "array", "items": {"enum": ["web", "desktop", "phone"]}, "minItems": 2, "uniqueItems": True}
    },
    "required": ["targets"],
}
MASKED = {
    "type": "object",
    "properties": {
        "user": {"type": "string", "title": "User"},
        "password": {"type": "string", "title": "Password", "writeOnly": True, "minLength": 8},
    },
    "required": ["user", "password"],
}
LONG = "\n\n".join(f"Way {number} " + "😀" * 300 for number in range(12))
"""Longer than one message, for Telegram counts in UTF-16."""
YES_NO = {"type": "object", "properties": {"sure": {"type": "boolean", "title": "Sure?"}}, "required": ["sure"]}


@asynccontextmanager
async def at(tmp_path, api, agent, clock):
    """The gateway, with a clock that can be put forward."""
    async with running(tmp_path, api=api, agent=agent, limits=OPEN, policy=POLICY, clock=clock) as gateway:
        yield gateway


def room(gateway):
    """The room of questions, as the pages have it."""
    return gateway.daemon.crew.questions


async def asked(api, gateway, chat=GROUP):
    """Bob asks, and the question is there."""
    request(api, chat=chat, sender=BOB)
    await api.wait_sent(chat)
    await gateway.settled()
    return api.sent(chat)[-1]


def labels(api, card):
    return [[button["text"] for button in row] for row in keyboard(api, card)]


async def press(api, gateway, card, button, *, sender=BOB):
    """Tap what the message shows now; returns the toast."""
    query = api.press(chat=GROUP, sender=sender, message_id=card["message_id"], button=button)
    await gateway.settled()
    return api.toasts[query].get("text", "")


def shown(api, card):
    return next(message for message in api.sent(GROUP) if message["message_id"] == card["message_id"])["text"]


def journal(folder):
    with closing(sqlite3.connect(folder / "discreet.db")) as database:
        rows = database.execute("SELECT seq, at, kind, facts, hash FROM journal ORDER BY seq").fetchall()
    return [Record(*row) for row in rows]


# step by step


@rule("FORM-5")
async def test_a_date_is_picked_in_a_calendar_that_turns_its_months(api, tmp_path):
    agent = AskingAgent(text="Which day?", schema=DATE)
    async with asking(tmp_path, api, agent) as gateway:
        card = await asked(api, gateway)
        first = labels(api, card)[0][2]
        await press(api, gateway, card, "›")
        second = labels(api, card)[0][2]
        assert first != second
        assert agent.conclusions == []
        await press(api, gateway, card, "»")
        assert labels(api, card)[0][2] == f"{second.split()[0]} {int(second.split()[1]) + 1}"
        await press(api, gateway, card, second.split()[0] + labels(api, card)[0][2].removeprefix(second.split()[0]))
        assert agent.conclusions == [], "the name of the month does nothing"
        await press(api, gateway, card, "15")
        await until(lambda: agent.conclusions)
    assert agent.conclusions[0].answer["day"].endswith("-15")
    assert agent.conclusions[0].way is Way.TAP
    assert len(api.sent(GROUP)) == 2, "the question, and what the agent says"


@rule("FORM-5")
async def test_a_range_of_dates_takes_two_taps_and_can_begin_again(api, tmp_path):
    agent = AskingAgent(text="When?", schema=WINDOW)
    async with asking(tmp_path, api, agent) as gateway:
        card = await asked(api, gateway)
        await press(api, gateway, card, "›")
        await press(api, gateway, card, "20")
        assert "19" not in [label for row in labels(api, card) for label in row], "it can't end before it begins"
        await press(api, gateway, card, "Back")
        await press(api, gateway, card, "10")
        await press(api, gateway, card, "12")
        await until(lambda: agent.conclusions)
    begin, end = agent.conclusions[0].answer["window"]
    assert (begin[-3:], end[-3:], begin[:7]) == ("-10", "-12", end[:7])


@rule("FORM-5", "DUR-3")
async def test_choices_are_ticked_also_across_a_restart_and_done_ends_it(api, tmp_path):
    agent = AskingAgent(text="Where to?", schema=TARGETS)
    async with asking(tmp_path, api, agent) as gateway:
        card = await asked(api, gateway)
        assert labels(api, card) == [["☐ web"], ["☐ desktop"], ["☐ phone"], ["Choose at least 2"]]
        await press(api, gateway, card, "☐ phone")
        assert labels(api, card)[2:] == [["☑ phone"], ["Choose at least 2"]]
    async with asking(tmp_path, api, agent) as gateway:
        await until(lambda: agent.asked == 2)
        await gateway.settled()
        assert labels(api, card)[2] == ["☑ phone"]
        await press(api, gateway, card, "Choose at least 2")
        await press(api, gateway, card, "☐ web")
        await press(api, gateway, card, "☐ desktop")
        await press(api, gateway, card, "☑ web")
        await press(api, gateway, card, "Done")
        await until(lambda: agent.conclusions)
    assert [one.answer for one in agent.conclusions] == [{"targets": ["desktop", "phone"]}]


@rule("FORM-9")
async def test_what_somebody_else_ticks_is_not_ticked(api, tmp_path):
    agent = AskingAgent(text="Where to?", schema=TARGETS)
    async with asking(tmp_path, api, agent) as gateway:
        card = await asked(api, gateway)
        assert "somebody else" in await press(api, gateway, card, "☐ phone", sender=MALLORY)
        assert labels(api, card)[2] == ["☐ phone"]


# by links


@rule("FORM-5", "FORM-6", "FORM-11")
async def test_in_a_group_the_form_is_a_link_and_its_answer_closes_the_card(api, tmp_path):
    agent = AskingAgent(text="Release?", schema=RELEASE)
    async with asking(tmp_path, api, agent, links=PAGES) as gateway:
        card = await asked(api, gateway)
        ((button,),) = keyboard(api, card)
        assert (button["text"], "web_app" in button) == ("Fill in the form", False)
        page, token = button["url"].rsplit("/", 1)
        assert page == "https://forms.example.org/f"
        values = {"channel": "beta", "version": "1.2.3", "window": ["2026-12-01", "2026-12-05"], "confirmed": True}
        for _ in range(3):  # a robot that looks at links uses nothing up
            assert (await room(gateway).open(token)).question.text == "Release?"
        assert isinstance(await room(gateway).submit(token, values, by=None, way=Way.FORM), Taken)
        await until(lambda: agent.conclusions)
        await gateway.settled()
        assert keyboard(api, card) == []
        assert "Answered through the link" in shown(api, card)
        assert isinstance(await room(gateway).submit(token, values, by=None, way=Way.FORM), Taken), "the same once more"
        other = {**values, "channel": "stable"}
        assert isinstance(await room(gateway).submit(token, other, by=None, way=Way.FORM), Lost)
    (conclusion,) = agent.conclusions
    assert (conclusion.answer, conclusion.answered_by, conclusion.way) == (values, None, Way.FORM)


@rule("FORM-5", "FORM-9")
async def test_in_a_private_chat_the_form_opens_as_a_mini_app_that_knows_who_fills_it_in(api, tmp_path):
    agent = AskingAgent(text="Release?", schema=RELEASE)
    async with asking(tmp_path, api, agent, links=PAGES) as gateway:
        card = await asked(api, gateway, chat=BOB)
        ((button,),) = card["reply_markup"]["inline_keyboard"]
        place, token = button["web_app"]["url"].rsplit("/", 1)
        assert place == "https://forms.example.org/m"
        values = {"channel": "beta", "version": "1.2.3", "window": ["2026-12-01", "2026-12-05"], "confirmed": True}
        other = await room(gateway).submit(token, values, by=f"telegram:{MALLORY}", way=Way.MINI_APP)
        assert isinstance(other, NotYours)
        assert agent.conclusions == []
        assert isinstance(await room(gateway).submit(token, values, by=f"telegram:{BOB}", way=Way.MINI_APP), Taken)
        await until(lambda: agent.conclusions)
    assert (agent.conclusions[0].answered_by, agent.conclusions[0].way) == ("bob", Way.MINI_APP)


@rule("FORM-5")
@pytest.mark.parametrize(("url", "key"), [("http://192.0.2.7:8080", "url"), ("http://localhost:8080", None)])
async def test_without_https_the_form_is_a_link_or_a_line_of_text_in_a_private_chat_too(api, tmp_path, url, key):
    agent = AskingAgent(text="Release?", schema=RELEASE)
    async with asking(tmp_path, api, agent, links=Links(bytes(32), url)) as gateway:
        card = await asked(api, gateway, chat=BOB)
        if key is None:
            assert f"Fill in the form: {url}/f/" in card["text"]
        else:
            assert card["reply_markup"]["inline_keyboard"][0][0][key].startswith(f"{url}/f/")


@rule("FORM-8")
async def test_in_a_private_chat_the_bare_value_as_a_reply_is_the_answer_and_other_words_are_not(api, tmp_path):
    agent = AskingAgent()
    async with asking(tmp_path, api, agent) as gateway:
        card = await asked(api, gateway, chat=BOB)
        api.say(chat=BOB, text="BETA", reply_to=card["message_id"])
        await until(lambda: agent.conclusions)
        await gateway.settled()
    assert agent.conclusions[0].answer == {"channel": "beta"}


# races and ends


@rule("FORM-7")
async def test_of_two_people_who_tap_at_once_one_wins_and_the_other_is_told(api, tmp_path):
    agent = AskingAgent(who=Who(kind=Answerer.ANYONE))
    async with asking(tmp_path, api, agent) as gateway:
        card = await asked(api, gateway)
        one = api.press(chat=GROUP, sender=BOB, message_id=card["message_id"], button="beta")
        two = api.press(chat=GROUP, sender=MALLORY, message_id=card["message_id"], button="stable")
        await until(lambda: agent.conclusions)
        await gateway.settled()
        assert "noted" in api.toasts[one]["text"]
        assert api.toasts[two]["text"] == "This question is no longer open."
    assert [(c.answer, c.answered_by) for c in agent.conclusions] == [({"channel": "beta"}, "bob")]


@rule("FORM-7")
async def test_of_a_tap_and_a_page_at_the_same_moment_one_wins_and_the_other_loses(api, tmp_path):
    agent = AskingAgent()
    async with asking(tmp_path, api, agent, links=PAGES) as gateway:
        card = await asked(api, gateway)
        link = next(b["url"] for row in keyboard(api, card) for b in row if "url" in b)
        token = link.rsplit("/", 1)[1]
        ways = [room(gateway).submit(token, {"channel": c}, by=None, way=Way.FORM) for c in ("beta", "stable", "beta")]
        outcomes = await asyncio.gather(*ways)
        await until(lambda: agent.conclusions)
    assert sorted(type(one).__name__ for one in outcomes) == ["Lost", "Taken", "Taken"]
    assert len(agent.conclusions) == 1


@rule("FORM-7")
async def test_a_question_that_expires_closes_its_card_and_the_agent_goes_on(api, tmp_path):
    agent = AskingAgent(ttl_s=30)
    clock = Clock()
    async with at(tmp_path, api, agent, clock) as gateway:
        card = await asked(api, gateway)
        clock.offset += timedelta(seconds=31)
        await until(lambda: agent.conclusions)
        await gateway.settled()
        assert keyboard(api, card) == []
        assert "Nobody has answered in time." in shown(api, card)
        query = api.press(chat=GROUP, sender=BOB, message_id=card["message_id"], data=_data(card, "beta"), force=True)
        await gateway.settled()
        assert api.toasts[query]["text"] == "This question is no longer open."
    assert [(one.state, one.answer) for one in agent.conclusions] == [(QuestionState.EXPIRED, None)]
    assert api.texts(GROUP)[-1] == "ended: expired"


@rule("FORM-7")
async def test_an_answer_that_comes_after_the_time_is_too_late_before_anybody_has_looked(api, tmp_path):
    agent = AskingAgent(ttl_s=30)
    clock = Clock()
    async with at(tmp_path, api, agent, clock) as gateway:
        card = await asked(api, gateway)
        clock.offset += timedelta(seconds=31)
        await press_anyway(api, gateway, card, "beta")
        await until(lambda: agent.conclusions)
    assert agent.conclusions[0].state is QuestionState.EXPIRED


async def test_stop_takes_the_question_back_and_its_card_says_so(api, tmp_path):
    agent = AskingAgent()
    async with asking(tmp_path, api, agent) as gateway:
        card = await asked(api, gateway)
        entities = [{"type": "bot_command", "offset": 0, "length": 14}]
        api.say(chat=GROUP, sender=BOB, text="/stop@desk_bot", entities=entities)
        await gateway.settled()
        await until(lambda: keyboard(api, card) == [])
        assert "This question was taken back." in shown(api, card)
        assert await gateway.store.questions.pending() == []
    assert agent.conclusions == []


@rule("FORM-12")
async def test_a_form_without_fields_is_a_confirmation_that_can_be_declined(api, tmp_path):
    agent = AskingAgent(text="Delete it all?", schema={"type": "object"})
    async with asking(tmp_path, api, agent) as gateway:
        card = await asked(api, gateway)
        assert labels(api, card) == [["Confirm", "Cancel"]]
        await press(api, gateway, card, "Cancel")
        await until(lambda: agent.conclusions)
    assert agent.conclusions[0].state is QuestionState.CANCELLED


# important


@rule("FORM-12", "FORM-8")
async def test_an_important_question_is_confirmed_by_reply_and_no_leads_back(api, tmp_path):
    agent = AskingAgent(important=True)
    async with asking(tmp_path, api, agent) as gateway:
        card = await asked(api, gateway)

        async def say(text, sender=BOB):
            message = api.say(chat=GROUP, sender=sender, text=text, reply_to=card["message_id"])
            await gateway.settled()
            assert gateway.outcomes(message["message_id"]) == ["respond"]

        await say("beta")
        assert labels(api, card) == [["Confirm", "Change"]]
        await say("yes", sender=MALLORY)
        assert agent.conclusions == []
        await say("no")
        assert labels(api, card) == [["stable", "beta"]]
        await say("yes")
        assert agent.conclusions == [], "there is nothing to confirm"
        await say("stable")
        assert agent.conclusions == []
        await say("Ja, bitte.")
        await until(lambda: agent.conclusions)
    assert [(one.answer, one.way) for one in agent.conclusions] == [({"channel": "stable"}, Way.REPLY)]


@rule("FORM-12")
async def test_what_is_confirmed_is_what_was_shown_whatever_wrong_answer_came_between(api, tmp_path):
    agent = AskingAgent(text="Release?", schema=RELEASE, important=True)
    async with asking(tmp_path, api, agent) as gateway:
        card = await asked(api, gateway)

        async def say(text):
            api.say(chat=GROUP, sender=BOB, text=text, reply_to=card["message_id"])
            await gateway.settled()

        await say("Channel: beta\nVersion: 1.2.3\nWindow: 2026-12-01 - 2026-12-05\nConfirmed: yes")
        assert labels(api, card) == [["Confirm", "Change"]]
        sure = _data(next(m for m in api.sent(GROUP) if m["message_id"] == card["message_id"]), "Confirm")
        await say("Channel: stable\nVersion: 1")
        assert "Version needs at least 5" in api.texts(GROUP)[-1]
        api.press(chat=GROUP, sender=BOB, message_id=card["message_id"], data=sure, force=True)
        await gateway.settled()
        await say("yes")
        assert agent.conclusions == [], "that answer was never shown"
        await say("Version: 2.0.0")
        assert agent.conclusions == []
        assert labels(api, card) == [["Confirm", "Change"]]
        await say("yes")
        await until(lambda: agent.conclusions)
    assert agent.conclusions[0].answer["channel"] == "stable"
    assert agent.conclusions[0].answer["version"] == "2.0.0"


@rule("FORM-12")
async def test_the_second_tap_of_a_double_tap_confirms_nothing(api, tmp_path):
    agent = AskingAgent(text="Sure?", schema=YES_NO, important=True)
    async with asking(tmp_path, api, agent) as gateway:
        card = await asked(api, gateway)
        for _ in range(2):
            api.press(chat=GROUP, sender=BOB, message_id=card["message_id"], button="Yes")
        await gateway.settled()
        assert agent.conclusions == []
        await press(api, gateway, card, "Change")
        await press(api, gateway, card, "No")
        await press(api, gateway, card, "Confirm")
        await until(lambda: agent.conclusions)
    assert agent.conclusions[0].answer == {"sure": False}


# what never leaves


@rule("FORM-10")
async def test_what_is_masked_is_asked_by_form_only_and_is_nowhere_in_clear(api, tmp_path, caplog, capfd):
    caplog.set_level(logging.DEBUG)
    agent = AskingAgent(text="Log in?", schema=MASKED)
    async with asking(tmp_path, api, agent, links=PAGES) as gateway:
        card = await asked(api, gateway)
        assert "Please answer in the form." in card["text"]
        assert "…" not in card["text"], "no lines to copy"
        token = keyboard(api, card)[0][0]["url"].rsplit("/", 1)[1]
        wrong = await room(gateway).submit(token, {"user": "bob", "password": SECRET[:4]}, by=None, way=Way.FORM)
        assert dict(wrong.kept) == {"user": "bob"}
        answer = {"user": "bob", "password": SECRET}
        assert isinstance(await room(gateway).submit(token, answer, by=None, way=Way.FORM), Taken)
        await until(lambda: agent.conclusions)
        await gateway.settled()
        assert "bob" in shown(api, card)
        assert "•••" in shown(api, card)
    assert agent.conclusions[0].answer == answer
    assert not any(SECRET in str(call.params) for call in api.calls)
    captured = capfd.readouterr()
    assert SECRET not in caplog.text + captured.out + captured.err
    assert SECRET not in repr(agent.conclusions)
    for stored in tmp_path.glob("discreet.db*"):
        assert SECRET.encode() not in stored.read_bytes()
    assert not any(SECRET in record.facts for record in journal(tmp_path))


@rule("FORM-10")
async def test_a_secret_that_is_typed_into_the_chat_is_not_taken(api, tmp_path):
    agent = AskingAgent(text="Log in?", schema=MASKED)
    async with asking(tmp_path, api, agent, links=PAGES) as gateway:
        card = await asked(api, gateway)
        words = f"User: bob\nPassword: {SECRET}"
        before = len(api.texts(GROUP))
        api.say(chat=GROUP, sender=MALLORY, text=words, reply_to=card["message_id"])
        await gateway.settled()
        assert len(api.texts(GROUP)) == before, "who is not asked is told nothing"
        api.say(chat=GROUP, sender=BOB, text=words, reply_to=card["message_id"])
        await gateway.settled()
        assert "use the form, and delete your message" in api.texts(GROUP)[-1]
        assert agent.conclusions == []
        (question,) = await gateway.store.questions.pending()
        assert (question.kept, question.refused) == ({}, ())
    assert not any(SECRET in text for text in api.texts(GROUP))
    assert not any(SECRET in record.facts for record in journal(tmp_path))


@rule("FORM-11", "DUR-4")
async def test_the_whole_chain_of_a_question_is_in_the_journal_by_digest(api, tmp_path):
    agent = AskingAgent(text="Release?", schema=RELEASE, important=True)
    async with asking(tmp_path, api, agent) as gateway:
        card = await asked(api, gateway)

        async def say(text):
            api.say(chat=GROUP, sender=BOB, text=text, reply_to=card["message_id"])
            await gateway.settled()

        await say("Channel: beta\nVersion: 1.2\nWindow: 2026-12-01 - 2026-12-05\nConfirmed: yes")
        await say("Version: 7.7.7")
        await say("yes")
        await until(lambda: agent.conclusions)
        await gateway.settled()
    records = journal(tmp_path)
    assert verify(records) is None
    told = [(one.kind, json.loads(one.facts)) for one in records if one.kind in ("asked", "question")]
    assert [(kind, facts["state"], facts["way"], facts.get("refused")) for kind, facts in told] == [
        ("asked", "open", None, None),
        ("question", "open", None, "too_short"),
        ("question", "confirming", None, None),
        ("question", "answered", "reply", None),
    ]
    assert len({facts["question"] for _, facts in told}) == 1
    assert told[0][1]["parts"] == 1, "where it was shown is told by its parts"
    assert told[-1][1]["by"] is not None
    whole = "".join(one.facts for one in records)
    for words in ("7.7.7", "Release?", "bob", f"telegram:{BOB}", str(GROUP)):
        assert words not in whole


# long


@rule("FORM-5")
async def test_a_long_question_stands_in_several_messages_and_each_can_be_answered(api, tmp_path):
    agent = AskingAgent(text=LONG)
    async with asking(tmp_path, api, agent) as gateway:
        await asked(api, gateway)
        cards = api.sent(GROUP)
        assert len(cards) > 1
        assert [bool(card.get("reply_markup")) for card in cards] == [False] * (len(cards) - 1) + [True]
        api.say(chat=GROUP, sender=BOB, text="beta", reply_to=cards[0]["message_id"])
        await until(lambda: agent.conclusions)
        await gateway.settled()
        assert keyboard(api, cards[-1]) == []
        assert shown(api, cards[0]) == cards[0]["text"]
        assert "Answered by Bob." in shown(api, cards[-1])
    assert agent.conclusions[0].answer == {"channel": "beta"}


@rule("FORM-5")
async def test_a_long_question_keeps_its_words_while_something_is_ticked(api, tmp_path):
    agent = AskingAgent(text=LONG, schema=TARGETS)
    async with asking(tmp_path, api, agent) as gateway:
        await asked(api, gateway)
        cards = api.sent(GROUP)
        assert len(cards) > 1
        await press(api, gateway, cards[-1], "☐ web")
        assert labels(api, cards[-1])[0] == ["☑ web"]
        assert shown(api, cards[-1]) == cards[-1]["text"]
        assert len(api.sent(GROUP)) == len(cards)


@rule("FORM-5")
async def test_options_that_are_too_long_for_buttons_stand_in_full_in_the_message(api, tmp_path):
    begin = "Keep the current provider and renegotiate the *whole* contract before"
    schema = {
        "type": "object",
        "properties": {"plan": {"enum": [f"{begin} March", f"{begin} May"]}},
        "required": ["plan"],
    }
    agent = AskingAgent(text="Which plan?", schema=schema)
    async with asking(tmp_path, api, agent) as gateway:
        card = await asked(api, gateway)
        assert f"1. {begin} March\n2. {begin} May" in card["text"]
        assert [row[0][:7] for row in labels(api, card)] == ["1. Keep", "2. Keep"]
        await press(api, gateway, card, labels(api, card)[1][0])
        await until(lambda: agent.conclusions)
    assert agent.conclusions[0].answer == {"plan": f"{begin} May"}


async def test_two_questions_of_one_run_are_two_questions(api, tmp_path):
    class TwoQuestions(AskingAgent):
        async def run(self, request, desk):
            self.conclusions.append(await desk.ask(self.asking))
            self.conclusions.append(await desk.ask(self.asking))
            yield Final(text="both")

    agent = TwoQuestions()
    async with asking(tmp_path, api, agent) as gateway:
        first = await asked(api, gateway)
        await press(api, gateway, first, "beta")
        second = (await api.wait_sent(GROUP, 2))[-1]
        await press(api, gateway, second, "stable")
        await until(lambda: len(agent.conclusions) == 2)
        await gateway.settled()
    assert [one.answer["channel"] for one in agent.conclusions] == ["beta", "stable"]
    assert api.texts(GROUP)[-1] == "both"


@rule("FORM-8")
async def test_an_address_before_the_answer_belongs_to_no_field_and_those_in_it_do(api, tmp_path):
    schema = {"type": "object", "properties": {"mail": {"type": "string", "format": "email"}}, "required": ["mail"]}
    agent = AskingAgent(text="Which address?", schema=schema)
    async with asking(tmp_path, api, agent) as gateway:
        card = await asked(api, gateway)
        api.say(chat=GROUP, sender=BOB, text="@desk_bot kim@example.org", reply_to=card["message_id"])
        await until(lambda: agent.conclusions)
    assert agent.conclusions[0].answer == {"mail": "kim@example.org"}


@rule("PART-11")
async def test_an_edit_of_an_answer_is_no_second_answer(api, tmp_path):
    agent = AskingAgent(text="Release?", schema=RELEASE)
    async with asking(tmp_path, api, agent) as gateway:
        card = await asked(api, gateway)
        words = "Channel: beta\nVersion: 1.2\nWindow: 2026-12-01 - 2026-12-05\nConfirmed: yes"
        message = api.say(chat=GROUP, sender=BOB, text=words, reply_to=card["message_id"])["message_id"]
        await gateway.settled()
        api.edit(chat=GROUP, message_id=message, text=words.replace("1.2", "1.2.3"))
        await gateway.settled()
        assert gateway.reasons(message) == ["answer", "edit_of_seen_message"]
        assert agent.conclusions == []


@rule("FORM-12", "DUR-3")
async def test_what_waits_to_be_confirmed_waits_across_a_restart(api, tmp_path):
    agent = AskingAgent(important=True)
    async with asking(tmp_path, api, agent) as gateway:
        card = await asked(api, gateway)
        await press(api, gateway, card, "beta")
    async with asking(tmp_path, api, agent) as gateway:
        await until(lambda: agent.asked == 2)
        await gateway.settled()
        assert labels(api, card) == [["Confirm", "Change"]]
        await press(api, gateway, card, "Confirm")
        await until(lambda: agent.conclusions)
    assert agent.conclusions[0].answer == {"channel": "beta"}


@rule("FORM-14")
async def test_a_thumb_under_the_question_decides_nothing(api, tmp_path):
    agent = AskingAgent(text="Sure?", schema=YES_NO)
    async with asking(tmp_path, api, agent) as gateway:
        card = await asked(api, gateway)
        api.react(chat=GROUP, message_id=card["message_id"], sender=BOB, emoji="👍")
        api.say(chat=GROUP, sender=BOB, text="yes")
        await gateway.settled()
        assert agent.conclusions == []
        api.say(chat=GROUP, sender=BOB, text="👍", reply_to=card["message_id"])
        await until(lambda: agent.conclusions)
    assert agent.conclusions[0].answer == {"sure": True}


@rule("FORM-9")
async def test_a_question_to_people_is_theirs_and_the_operator_is_not_one_of_them(api, tmp_path):
    agent = AskingAgent(who=Who(kind=Answerer.PEOPLE, people=frozenset({"bob"})))
    async with asking(tmp_path, api, agent) as gateway:
        card = await asked(api, gateway)
        assert "somebody else" in await press(api, gateway, card, "beta", sender=ANN)
        assert agent.conclusions == []
        await press(api, gateway, card, "stable")
        await until(lambda: agent.conclusions)
    assert agent.conclusions[0].answered_by == "bob"


def _data(card, label):
    keys = card["reply_markup"]["inline_keyboard"]
    return next(key["callback_data"] for row in keys for key in row if key["text"] == label)


async def press_anyway(api, gateway, card, label):
    """Tap what the message showed, as a client can that has not heard of the change."""
    api.press(chat=GROUP, sender=BOB, message_id=card["message_id"], data=_data(card, label), force=True)
    await gateway.settled()


async def test_a_question_that_ends_while_its_card_is_on_the_way_is_closed_when_the_card_arrives(api, tmp_path):
    agent = AskingAgent()
    fault = api.hang("sendMessage", deliver=True, chat_id=GROUP, match_text="Which channel?")
    async with asking(tmp_path, api, agent) as gateway:
        request(api)
        await fault.reached()
        (question,) = await gateway.store.questions.pending()
        assert await gateway.daemon.crew.questions.cancel(question.id)
        fault.release()
        await until(lambda: api.sent(GROUP) and not keyboard(api, api.sent(GROUP)[0]))
        await until(lambda: agent.conclusions)
    assert agent.conclusions[0].state is QuestionState.CANCELLED
