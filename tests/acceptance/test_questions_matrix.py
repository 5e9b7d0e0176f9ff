"""Questions to people on Matrix: a real homeserver, encrypted rooms, replies, threads and signs to tap (FORM)."""

import asyncio
from datetime import timedelta

import pytest

from bot.model.question import Answerer, QuestionState, Way, Who
from bot.ports.questions import Taken
from bot.questions.links import Links
from tests.acceptance.test_questions import CHANNEL, RELEASE, AskingAgent
from tests.acceptance.test_questions_telegram_more import LONG, MASKED, SECRET, TARGETS, YES_NO
from tests.harness import Clock
from tests.servers.matrix_person import edited, relation, thread_of
from tests.servers.synapse import until

rule = pytest.mark.rule
KEYS = ["1️⃣", "2️⃣", "3️⃣"]
ALL = "Channel: beta\nVersion: 1.2.3\nWindow: 2026-12-01 - 2026-12-05\nConfirmed: yes"
ANSWER = {"channel": "beta", "version": "1.2.3", "window": ["2026-12-01", "2026-12-05"], "confirmed": True}


class Asked:
    """A room in which bob has asked, with the card that came of it."""

    def __init__(self, desk, gateway, room, card, thread=None):
        self.desk, self.gateway, self.room, self.card, self.thread = desk, gateway, room, card, thread

    @property
    def id(self):
        return self.card["event_id"]

    async def say(self, text, *, by=None, **where):
        """Say something and wait until it has come to its end; returns the reason of its decision."""
        by = self.desk.bob if by is None else by
        return await self.desk.reason(self.gateway, await by.say(self.room, text, **where))

    async def reply(self, text, *, by=None, to=None, **where):
        return await self.say(text, by=by, reply=to or self.id, **where)

    async def tap(self, key, *, by=None, on=None):
        by = self.desk.bob if by is None else by
        event = await by.react(self.room, on or self.id, key)
        await self.desk.over(self.gateway, event)
        return event

    async def texts(self):
        """All words of the bot, edits as what they make of a message."""
        await self.desk.bob.caught_up(self.room)
        return [
            event["content"].get("m.new_content", event["content"])["body"]
            for event in self.desk.bob.said(self.room, self.desk.bot)
        ]

    async def becomes(self, message=None):
        """What the card is after its latest edit."""
        await self.desk.bob.caught_up(self.room)
        of = message or self.id
        edits = [event for event in self.desk.bob.said(self.room, self.desk.bot) if edited(event) == of]
        return edits[-1]["content"]["m.new_content"] if edits else None

    async def seeds(self, on=None):
        """The signs that the bot has put under a message, in order."""
        await self.desk.bob.caught_up(self.room)
        return [
            relation(event)["key"]
            for event in self.desk.bob.events[self.room]
            if event["type"] == "m.reaction"
            and event["sender"] == self.desk.bot
            and relation(event)["event_id"] == (on or self.id)
        ]


PAGES = Links(bytes(32), "https://forms.example.org")


async def ask(desk, gateway, room, *, thread=None):
    """Bob asks, and the question is there for everybody."""
    await desk.ready(room, desk.ann, desk.bob)
    await desk.bob.say(room, "desk, release it", mentions=[desk.bot], thread=thread)
    (card,) = await desk.bob.hears(room, desk.bot)
    await gateway.settled()
    return Asked(desk, gateway, room, card, thread)


async def ended(agent, count=1):
    async def look():
        return len(agent.conclusions) >= count

    await until(look)
    return agent.conclusions[-1]


@pytest.fixture
async def room(desk):
    return await desk.room(desk.ann, desk.bob, encrypted=True)


@rule("FORM-4")
async def test_in_an_encrypted_room_the_card_is_a_table_and_readable_as_plain_text(desk, room):
    async with desk.running(agent=AskingAgent(text="**Release** it?", schema=RELEASE), links=PAGES) as gateway:
        there = await ask(desk, gateway, room)
        content = there.card["content"]
        html, body = content["formatted_body"], content["body"]
        assert content["msgtype"] == "m.text"
        assert "<strong>Release</strong>" in html
        assert "<table>" in html
        for words in ("Field", "Format", "Required", "Channel", "Version", "Window", "Confirmed", "at least 5"):
            assert words in html
        for words in ("Channel", "at least 5", "Version: …", "https://forms.example.org/f/"):
            assert words in body
        assert "<" not in body
        assert 'href="https://forms.example.org/f/' in html
        assert await there.seeds() == []
        sent = [call.path.split("/")[3] for call in await desk.calls() if call.verb == "send"]
        assert sent == ["m.room.encrypted"]


@rule("FORM-4", "FORM-8", "FORM-11", "FORM-3")
async def test_lines_as_a_reply_are_the_answer_and_the_card_closes_and_the_agent_goes_on(desk, room):
    agent = AskingAgent(text="Release?", schema=RELEASE)
    async with desk.running(agent=agent) as gateway:
        there = await ask(desk, gateway, room)
        assert await there.reply(ALL) == "answer"
        conclusion = await ended(agent)
        await desk.bob.until(lambda: "ended: answered" in desk.bob.texts(room, desk.bot))
        closed = await there.becomes()
        assert "Answered by Bob." in closed["body"]
        assert "1.2.3" in closed["formatted_body"]
        assert "…" not in closed["body"]
        late = await desk.judged(await desk.bob.say(room, "Channel: stable", reply=there.id))
        assert late.reason == "direct_reply", "what comes after the end is a request like any other"
    assert (conclusion.answer, conclusion.answered_by, conclusion.way) == (ANSWER, "bob", Way.REPLY)


@rule("FORM-4")
async def test_a_client_that_quotes_the_card_in_its_reply_is_understood(desk, room):
    agent = AskingAgent(text="Release?", schema=RELEASE)
    async with desk.running(agent=agent) as gateway:
        there = await ask(desk, gateway, room)
        quote = "\n".join(f"> {line}" for line in f"<{desk.bot}> {there.card['content']['body']}".splitlines())
        html = f"<mx-reply><blockquote>Channel: stable</blockquote></mx-reply>{ALL.replace(chr(10), '<br>')}"
        assert await there.reply(f"{quote}\n\n{ALL}", html=html, mentions=[desk.bot]) == "answer"
        assert (await ended(agent)).answer == ANSWER


@rule("FORM-8")
@pytest.mark.parametrize("address", ["", "{bot}: ", "{bot} "])
async def test_a_reply_that_mentions_the_bot_keeps_every_name_and_address_that_was_typed(desk, room, address):
    schema = {
        "type": "object",
        "properties": {"who": {"type": "string"}, "mail": {"type": "string", "format": "email"}},
        "required": ["who"],
    }
    agent = AskingAgent(text="Who?", schema=schema)
    async with desk.running(agent=agent) as gateway:
        there = await ask(desk, gateway, room)
        words = f"{address.format(bot=desk.bot)}mail: kim@example.org\nwho: @kim:example.org"
        assert await there.reply(words, mentions=[desk.bot]) == "answer"
        assert (await ended(agent)).answer == {"who": "@kim:example.org", "mail": "kim@example.org"}


@rule("FORM-8")
async def test_the_bare_value_of_a_text_is_kept_as_typed_though_it_begins_with_a_name(desk, room):
    schema = {"type": "object", "properties": {"who": {"type": "string"}}, "required": ["who"]}
    agent = AskingAgent(text="Who?", schema=schema)
    async with desk.running(agent=agent) as gateway:
        there = await ask(desk, gateway, room)
        await there.reply("@kim:example.org", mentions=[desk.bot])
        assert (await ended(agent)).answer == {"who": "@kim:example.org"}


@rule("FORM-4", "FORM-14")
async def test_a_thread_under_the_card_is_answered_there_without_a_mention(desk, room):
    agent = AskingAgent()
    async with desk.running(agent=agent) as gateway:
        there = await ask(desk, gateway, room)
        assert await there.say("beta", thread=there.id) == "answer"
        conclusion = await ended(agent)
        thanks = next(e for e in desk.bob.said(room, desk.bot) if "noted" in e["content"]["body"])
        assert thread_of(thanks) == there.id
    assert (conclusion.answer, conclusion.way) == ({"channel": "beta"}, Way.REPLY)


@rule("FORM-4")
async def test_what_is_asked_in_a_thread_is_shown_and_answered_there(desk, room):
    agent = AskingAgent()
    root = await desk.ann.say(room, "about the release")
    async with desk.running(agent=agent) as gateway:
        there = await ask(desk, gateway, room, thread=root)
        assert thread_of(there.card) == root
        assert await there.reply("beta", thread=root) == "answer"
        await ended(agent)
        await gateway.settled()
        assert "Answered by Bob." in (await there.becomes())["body"]


@rule("FORM-5", "FORM-11")
async def test_a_sign_under_the_card_is_a_tap(desk, room):
    agent = AskingAgent()
    async with desk.running(agent=agent) as gateway:
        there = await ask(desk, gateway, room)
        assert await there.seeds() == KEYS[:2]
        assert f"{KEYS[1]}" in there.card["content"]["body"]
        await there.tap(KEYS[1])
        conclusion = await ended(agent)
        await gateway.settled()
        closed = await there.becomes()
        assert "Answered by Bob." in closed["body"]
        assert KEYS[0] not in closed["body"]
    assert (conclusion.answer, conclusion.answered_by, conclusion.way) == ({"channel": "beta"}, "bob", Way.TAP)


@rule("FORM-14")
async def test_signs_that_were_not_offered_and_signs_taken_away_do_nothing(desk, room):
    agent = AskingAgent()
    async with desk.running(agent=agent) as gateway:
        there = await ask(desk, gateway, room)
        for key in ("👍", KEYS[2], "2", "beta"):
            await there.tap(key)
        assert agent.conclusions == []
        await there.tap(KEYS[0], on=await desk.ann.say(room, "which one, then?"))
        assert agent.conclusions == []
        sign = await there.tap(KEYS[0])
        conclusion = await ended(agent)
        await desk.over(gateway, await desk.bob.redact(room, sign))
        await there.tap(KEYS[1])
        await there.say("never mind")
        assert len(agent.conclusions) == 1
    assert conclusion.answer == {"channel": "stable"}


@rule("FORM-9")
async def test_somebody_else_answers_in_no_way_and_no_sign_of_it_is_given(desk, room):
    agent = AskingAgent()
    async with desk.running(agent=agent) as gateway:
        there = await ask(desk, gateway, room)
        before = len(await desk.calls())
        await there.tap(KEYS[1], by=desk.ann)
        assert await there.reply("beta", by=desk.ann) == "answer"
        assert await there.say("beta", by=desk.ann, thread=there.id) == "answer"
        await desk.bob.caught_up(room)
        assert (agent.conclusions, len(await desk.calls())) == ([], before)
        await there.reply("stable")
        assert (await ended(agent)).answer == {"channel": "stable"}


@rule("FORM-9")
async def test_a_question_for_operators_is_for_operators(desk, room):
    agent = AskingAgent(who=Who(kind=Answerer.OPERATORS))
    async with desk.running(agent=agent) as gateway:
        there = await ask(desk, gateway, room)
        await there.tap(KEYS[1])
        assert agent.conclusions == []
        await there.tap(KEYS[0], by=desk.ann)
        assert (await ended(agent)).answered_by == "ann"


@rule("FORM-2", "FORM-8")
async def test_a_partly_wrong_reply_is_mended_field_by_field(desk, room):
    agent = AskingAgent(text="Release?", schema=RELEASE)
    async with desk.running(agent=agent) as gateway:
        there = await ask(desk, gateway, room)
        await there.reply(ALL.replace("1.2.3", "1.2"))
        told = (await there.texts())[-1]
        assert "Version needs at least 5" in told
        assert agent.conclusions == []
        (question,) = await gateway.store.questions.pending()
        assert question.refused == (("version", "too_short"),)
        await there.say("Version: 1.2.3", thread=there.id)
        assert (await ended(agent)).answer == ANSWER


@rule("FORM-2", "FORM-8")
async def test_who_replies_to_what_was_wrong_answers_the_question(desk, room):
    agent = AskingAgent(text="Release?", schema=RELEASE)
    async with desk.running(agent=agent) as gateway:
        there = await ask(desk, gateway, room)
        await there.reply(ALL.replace("1.2.3", "1.2"))
        told = await desk.bob.sees(
            room, lambda event: "at least 5 char" in str(event["content"].get("body")) and event["event_id"] != there.id
        )
        assert await there.reply("Version: 1.2.3", to=told["event_id"]) == "answer"
        assert (await ended(agent)).answer == ANSWER
        await gateway.settled()
        assert "Answered by Bob." in (await there.becomes())["body"]
        assert await there.becomes(told["event_id"]) is None


@rule("PART-11")
async def test_an_edit_of_an_answer_is_no_second_answer(desk, room):
    agent = AskingAgent(text="Release?", schema=RELEASE)
    async with desk.running(agent=agent) as gateway:
        there = await ask(desk, gateway, room)
        words = await desk.bob.say(room, ALL.replace("1.2.3", "1.2"), reply=there.id)
        assert await desk.reason(gateway, words) == "answer"
        edit = await desk.bob.say(room, ALL, edit=words, reply=there.id)
        assert await desk.reason(gateway, edit) == "edit_of_seen_message"
        assert agent.conclusions == []
        final = await desk.bob.say(room, "Version: 1.2.3", reply=there.id)
        assert await desk.reason(gateway, final) == "answer"
        conclusion = await ended(agent)
        await desk.reason(gateway, await desk.bob.say(room, "Version: 9.9.9", edit=final, reply=there.id))
        assert conclusion.answer == ANSWER
        assert len(agent.conclusions) == 1
        assert "9.9.9" not in (await there.becomes())["body"]


@rule("PART-18")
async def test_an_answer_that_is_redacted_stays_an_answer_and_its_words_are_erased(desk, room):
    agent = AskingAgent(text="Release?", schema=RELEASE)
    async with desk.running(agent=agent) as gateway:
        there = await ask(desk, gateway, room)
        wrong = await desk.bob.say(room, ALL.replace("1.2.3", "1.2"), reply=there.id)
        await desk.over(gateway, wrong)
        await desk.over(gateway, await desk.bob.redact(room, wrong))
        assert agent.conclusions == []
        assert await there.reply(ALL) == "answer"
        conclusion = await ended(agent)
        words = next(e for e in reversed(desk.bob.said(room, desk.bob.id)) if e["content"]["body"] == ALL)
        await desk.over(gateway, await desk.bob.redact(room, words["event_id"]))
        await gateway.settled()
    assert conclusion.answer == ANSWER
    assert len(agent.conclusions) == 1


@rule("PART-17", "PART-18")
async def test_an_answer_that_is_redacted_before_its_key_has_come_is_none(desk, room):
    agent = AskingAgent()
    async with desk.running(agent=agent) as gateway:
        there = await ask(desk, gateway, room)
        share = await desk.bob.keep_key(room)
        sealed = await desk.bob.say(room, "beta", reply=there.id)
        entry = await desk.judged(sealed)
        assert (entry.outcome, entry.reason) == ("defer", "undecryptable")
        await desk.judged(await desk.bob.redact(room, sealed))
        await share()
        await there.say("hello")
        assert agent.conclusions == []
        await there.reply("stable")
        assert (await ended(agent)).answer == {"channel": "stable"}


@rule("PART-17")
async def test_an_answer_whose_key_comes_late_is_taken_then(desk, room):
    agent = AskingAgent()
    async with desk.running(agent=agent) as gateway:
        there = await ask(desk, gateway, room)
        share = await desk.bob.keep_key(room)
        sealed = await desk.bob.say(room, "beta", reply=there.id)
        assert (await desk.judged(sealed)).reason == "undecryptable"
        await share()
        assert await desk.reason(gateway, sealed) == "answer"
        assert (await ended(agent)).answer == {"channel": "beta"}


@rule("FORM-14")
async def test_other_chat_stays_chat_while_a_question_is_open(desk, room):
    agent = AskingAgent(schema=YES_NO, text="Sure?")
    async with desk.running(agent=agent) as gateway:
        there = await ask(desk, gateway, room)
        aside = await desk.ann.say(room, "shall we?")
        for words, where in (("yes", {}), ("yes", {"reply": aside}), ("ok", {"thread": aside})):
            assert await there.say(words, **where) in ("no_address", "reply_to_other", "looks_like_a_reply")
        assert await there.reply("Ann, are you sure?", mentions=[desk.ann.id]) != "answer"
        assert agent.conclusions == []
        assert await there.reply("ok") == "answer"
        assert (await ended(agent)).answer == {"sure": True}


@rule("FORM-14")
async def test_a_conversation_goes_on_while_somebody_is_asked(desk, room):
    agent = AskingAgent()
    async with desk.running(agent=agent) as gateway:
        there = await ask(desk, gateway, room)
        await desk.ann.say(room, "and for me", mentions=[desk.bot])
        cards = await desk.bob.hears(room, desk.bot, 2)
        await gateway.settled()
        assert agent.asked == 2
        await there.tap(KEYS[0], by=desk.ann, on=cards[1]["event_id"])
        await ended(agent)
        assert [q.asker for q in await gateway.store.questions.pending()] == [f"matrix:{desk.bob.id}"]


@rule("FORM-12", "FORM-4")
async def test_an_important_question_is_confirmed_by_a_reply(desk, room):
    agent = AskingAgent(text="Release?", schema=RELEASE, important=True)
    async with desk.running(agent=agent) as gateway:
        there = await ask(desk, gateway, room)
        await there.reply(ALL)
        assert agent.conclusions == []
        assert any("Please confirm" in text and "1.2.3" in text for text in await there.texts())
        await there.reply("no")
        await there.reply("Version: 2.0.0")
        assert agent.conclusions == []
        await there.reply("yes", by=desk.ann)
        assert agent.conclusions == []
        await there.reply("yes")
        assert (await ended(agent)).answer == {**ANSWER, "version": "2.0.0"}


@rule("FORM-12", "FORM-5")
async def test_an_important_question_is_confirmed_by_a_sign_under_a_message_of_its_own(desk, room):
    agent = AskingAgent(important=True)
    async with desk.running(agent=agent) as gateway:
        there = await ask(desk, gateway, room)
        await there.tap(KEYS[0])
        confirm = desk.bob.said(room, desk.bot)[-1]
        assert edited(confirm) is None
        assert "Please confirm" in confirm["content"]["body"]
        assert "stable" in confirm["content"]["body"]
        assert await there.seeds(confirm["event_id"]) == KEYS[:2]
        await there.tap(KEYS[1])
        assert agent.conclusions == [], "a sign under the question confirms nothing"
        await there.tap(KEYS[0], by=desk.ann, on=confirm["event_id"])
        assert agent.conclusions == []
        await there.tap(KEYS[1], on=confirm["event_id"])
        assert "once more" in (await there.becomes(confirm["event_id"]))["body"]
        await there.tap(KEYS[0], on=confirm["event_id"])
        assert agent.conclusions == [], "there is nothing to confirm any more"
        await there.reply("beta")
        again = next(e for e in reversed(desk.bob.said(room, desk.bot)) if KEYS[0] in e["content"]["body"])
        assert again["event_id"] != confirm["event_id"]
        await there.tap(KEYS[0], on=again["event_id"])
        assert (await ended(agent)).answer == {"channel": "beta"}
        await gateway.settled()
        for message in (there.id, confirm["event_id"], again["event_id"]):
            assert "Answered by Bob." in (await there.becomes(message))["body"]


@rule("FORM-5")
async def test_what_needs_buttons_that_change_is_answered_in_words(desk, room):
    agent = AskingAgent(text="Where to?", schema=TARGETS)
    async with desk.running(agent=agent) as gateway:
        there = await ask(desk, gateway, room)
        assert await there.seeds() == []
        assert "Done" not in there.card["content"]["body"]
        await there.reply("web and phone")
        assert (await ended(agent)).answer == {"targets": ["web", "phone"]}


@rule("FORM-6", "FORM-4")
async def test_the_form_behind_the_link_closes_the_card(desk, room):
    agent = AskingAgent(text="Release?", schema=RELEASE)
    async with desk.running(agent=agent, links=PAGES) as gateway:
        there = await ask(desk, gateway, room)
        token = there.card["content"]["body"].split("https://forms.example.org/f/")[1].split()[0].rstrip(")>")
        questions = gateway.daemon.crew.questions
        assert isinstance(await questions.submit(token, ANSWER, by=None, way=Way.FORM), Taken)
        assert (await ended(agent)).way is Way.FORM
        await desk.bob.until(lambda: "ended: answered" in desk.bob.texts(room, desk.bot))
        closed = await there.becomes()
        assert "Answered through the link." in closed["body"]
        assert "forms.example.org" not in closed["body"]


@rule("FORM-10")
async def test_what_is_masked_is_asked_by_form_only(desk, room):
    agent = AskingAgent(text="Log in?", schema=MASKED)
    async with desk.running(agent=agent, links=PAGES) as gateway:
        there = await ask(desk, gateway, room)
        assert "Please answer in the form." in there.card["content"]["body"]
        await there.reply(f"User: bob\nPassword: {SECRET}")
        assert "delete your message" in (await there.texts())[-1]
        assert agent.conclusions == []
        token = there.card["content"]["body"].split("https://forms.example.org/f/")[1].split()[0].rstrip(")>")
        questions = gateway.daemon.crew.questions
        await questions.submit(token, {"user": "bob", "password": SECRET}, by=None, way=Way.FORM)
        assert (await ended(agent)).answer == {"user": "bob", "password": SECRET}
        await gateway.settled()
        assert not any(SECRET in text for text in await there.texts())


@rule("FORM-7")
async def test_a_question_that_expires_closes_its_card(desk, room):
    agent = AskingAgent(ttl_s=60)
    clock = Clock()
    async with desk.running(agent=agent, clock=clock) as gateway:
        there = await ask(desk, gateway, room)
        clock.offset += timedelta(seconds=61)
        assert (await ended(agent)).state is QuestionState.EXPIRED
        await gateway.settled()
        assert "Nobody has answered in time." in (await there.becomes())["body"]
        await there.tap(KEYS[0])
        assert len(agent.conclusions) == 1


@rule("DUR-3", "FORM-7", "DUR-2")
async def test_a_question_outlives_the_gateway_and_a_sign_from_while_it_was_down_counts(desk, room):
    agent = AskingAgent()
    async with desk.running(agent=agent) as gateway:
        there = await ask(desk, gateway, room)
    sign = await desk.bob.react(room, there.id, KEYS[1])
    async with desk.running(agent=agent) as gateway:
        conclusion = await ended(agent)
        await desk.over(gateway, sign)
        assert "Answered by Bob." in (await Asked(desk, gateway, room, there.card).becomes())["body"]
        cards = [e for e in desk.bob.said(room, desk.bot) if "Which channel?" in e["content"]["body"]]
        assert [edited(e) for e in cards] == [None, there.id], "it is not shown again"
    assert conclusion.answer == {"channel": "beta"}


@rule("FORM-7")
async def test_of_two_signs_at_once_one_wins(desk, room):
    agent = AskingAgent(who=Who(kind=Answerer.ANYONE))
    async with desk.running(agent=agent) as gateway:
        there = await ask(desk, gateway, room)
        events = await asyncio.gather(desk.bob.react(room, there.id, KEYS[0]), desk.ann.react(room, there.id, KEYS[1]))
        conclusion = await ended(agent)
        for event in events:
            await desk.over(gateway, event)
    assert len(agent.conclusions) == 1
    assert conclusion.answered_by == {"stable": "bob", "beta": "ann"}[conclusion.answer["channel"]]


@rule("FORM-4")
async def test_a_long_question_stays_whole_when_it_closes(desk, room):
    agent = AskingAgent(text=LONG, schema=CHANNEL)
    async with desk.running(agent=agent) as gateway:
        there = await ask(desk, gateway, room)
        await there.tap(KEYS[0])
        await ended(agent)
        await gateway.settled()
        closed = await there.becomes()
        assert "Way 11" in closed["body"]
        assert "Answered by Bob." in closed["body"]


async def test_stop_takes_the_question_back(desk, room):
    agent = AskingAgent()
    async with desk.running(agent=agent) as gateway:
        there = await ask(desk, gateway, room)
        assert await there.say(f"{desk.bot}: /stop", mentions=[desk.bot]) == "control_command"
        await gateway.settled()
        assert await gateway.store.questions.pending() == []
        assert "taken back" in (await there.becomes())["body"]


@rule("FORM-4")
async def test_in_a_direct_chat_a_reply_answers_as_well(desk):
    room = await desk.bob.room(desk.bot, direct=True, encrypted=True)
    agent = AskingAgent()
    async with desk.running(agent=agent) as gateway:
        await desk.ready(room, desk.bob)
        await desk.bob.say(room, "release it")
        (card,) = await desk.bob.hears(room, desk.bot)
        await gateway.settled()
        assert await Asked(desk, gateway, room, card).reply("beta") == "answer"
        assert (await ended(agent)).answer == {"channel": "beta"}
