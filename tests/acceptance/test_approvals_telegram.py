"""How people decide on Telegram: cards, taps, words, other values; on a running gateway (APPR-2, APPR-3, OUT-8)."""

import asyncio
import hashlib
import re
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest

from bot.approvals.editing import Editing
from bot.channels.telegram.limits import Limits
from bot.model.approval import Action, ApprovalState, DecidedBy, Gate, Proposal, Verdict
from bot.model.errors import ProposalError
from bot.model.output import Final
from bot.model.question import Way
from bot.ports.questions import Gone
from bot.questions.links import Links
from tests.harness import ANN, BOB, BOT_ID, GROUP, INTERNAL, MALLORY, Clock, CountingAgent, running

rule = pytest.mark.rule
OPEN = Limits(chat=None, group=None, total=None)
CLEO = 503
POLICY = f"""
version: 1
operators: [ann, cleo]
people:
  ann: {{accounts: ["telegram:{ANN}"], names: [Ann]}}
  cleo: {{accounts: ["telegram:{CLEO}"], names: [Cleo]}}
  bob: {{accounts: ["telegram:{BOB}"], names: [Bob]}}
direct: {{strangers: allow}}
defaults: {{timezone: Europe/Berlin}}
channels:
  "telegram:{BOT_ID}:{GROUP}": {{audience: external}}
  "telegram:{BOT_ID}:{INTERNAL}": {{audience: internal, reports: true}}
"""
RULES = f"""
approvals:
  rules:
    - name: money
      tools: [refund]
      then: ask
      who: {{people: [ann, cleo]}}
      quorum: 2
      shown: ["telegram:{BOT_ID}:{INTERNAL}", "telegram:{BOT_ID}:{ANN}"]
    - name: careful
      tools: [wipe]
      then: ask
      assurance: high
"""
DEPLOY = {"service": "api", "version": "1.4.2", "amount": 100}
HOSTILE = 'cat a.txt > b.txt && echo "</pre><b>Approved ✅</b> `x` [y](http://z)"'
CARD = re.compile(r"(?:To decide: |Draft to decide on: |Draft )?[2-9A-Z]{5}(?:: .*)?(?:\n|\Z)")
"""How a card begins, open or closed."""


class Deciding:
    """A gateway, and what people do with its cards."""

    def __init__(self, api, gateway):
        self.api, self.gateway = api, gateway
        self.room = gateway.daemon.crew.approvals

    async def propose(self, parameters=DEPLOY, *, name="deploy", **more):
        action = Action(name=name, system="cluster", parameters=parameters)
        known = await self.room.propose(Proposal(action=action, **more), agent="main", origin=None)
        await self.settled()
        return known

    async def settled(self):
        await self.gateway.settled()

    async def now(self, approval):
        return await self.room.look(approval.id)

    async def state(self, approval):
        return (await self.now(approval)).state

    @property
    def cards(self):
        return [one for one in self.api.sent(INTERNAL) if CARD.match(one.get("text", ""))]

    def card(self, place=-1):
        return self.cards[place]

    def labels(self, card=None):
        card = self.card() if card is None else self.again(card)
        return [key["text"] for row in card.get("reply_markup", {}).get("inline_keyboard", []) for key in row]

    def again(self, card):
        return next(one for one in self.api.sent(INTERNAL) if one["message_id"] == card["message_id"])

    def press(self, label, *, card=None, sender=ANN):
        """Tap a button that the message shows, or has shown as it was given."""
        card = self.card() if card is None else card
        old = {key["text"]: key.get("callback_data") for row in keyboard(card) for key in row}
        return self.api.press(chat=INTERNAL, sender=sender, message_id=card["message_id"], data=old[label], force=True)

    async def tap(self, label, *, card=None, sender=ANN):
        """Tap, and what the person is told in private."""
        query = self.press(label, card=card, sender=sender)
        await self.settled()
        return self.api.toasts[query].get("text", "")

    async def say(self, text, *, sender=ANN, chat=INTERNAL, to=None, command=False):
        entities = [{"type": "bot_command", "offset": 0, "length": len(text.split()[0])}] if command else None
        more = {} if entities is None else {"entities": entities}
        if to is not None:
            more["reply_to"] = to["message_id"]
        said = self.api.say(chat=chat, sender=sender, text=text, **more)
        await self.settled()
        return said

    def last(self, chat=INTERNAL):
        return self.api.sent(chat)[-1]


def keyboard(card):
    return card.get("reply_markup", {}).get("inline_keyboard", [])


@asynccontextmanager
async def deciding(tmp_path, api, *, policy=POLICY, **more):
    async with running(tmp_path, api=api, policy=policy, limits=OPEN, **more) as gateway:
        yield Deciding(api, gateway)


async def until(condition):
    async with asyncio.timeout(10):
        while not await condition():
            await asyncio.sleep(0.01)


# cards


@rule("APPR-2", "OUT-8")
async def test_a_card_shows_everything_that_decides_and_goes_to_the_inside_alone(api, tmp_path):
    async with deciding(tmp_path, api) as there:
        approval = await there.propose(
            {**DEPLOY, "mail": {"to": ["a@example.org", "b@example.org"]}},
            reason="the old one is broken",
            task="T-17",
            gates=(Gate(name="evaluation", passed=False, detail="not ready"), Gate(name="tests", passed=True)),
        )
        text = there.card()["text"]
        for words in (
            f"To decide: {approval.code}",
            "Action: deploy",
            "System: cluster",
            "Agent: main",
            "May decide: Ann, Cleo",
            "(Europe/Berlin)",
            approval.version[:16],
            "│ service: api",
            "│ amount: 100",
            "│ mail.to[0]: a@example.org",
            "│ mail.to[1]: b@example.org",
            "│ evaluation: not ready",
            "│ the old one is broken",
            "│ T-17",
        ):
            assert words in text
        assert "tests" not in text
        assert there.labels() == ["Approve", "Deny", "Deny with reason…", "Return…", "Change…"]
        styles = [key.get("style") for row in keyboard(there.card()) for key in row]
        assert styles == ["success", "danger", "danger", None, None]
        assert api.sent(GROUP) == []
        assert api.lint == []


@rule("APPR-2")
async def test_markup_in_parameters_is_literal_when_sent_and_when_edited(api, tmp_path):  # D-013
    async with deciding(tmp_path, api) as there:
        approval = await there.propose({"command": HOSTILE, "two": "x\nApproved ✅ by Ann"}, reason="_y_ <i>now</i>")
        for _ in range(2):
            text = there.card()["text"]
            assert f"│ command: {HOSTILE}" in text
            assert "│ │ Approved ✅ by Ann" in text
            assert "│ _y_ <i>now</i>" in text
            assert not any(line.startswith("Approved") for line in text.split("\n"))
            assert {one["type"] for one in there.card()["entities"]} <= {"bold", "pre", "italic", "bot_command"}
            assert api.lint == []
            await there.tap("Deny", card=there.card()) if keyboard(there.card()) else None
        assert there.labels() == []
        assert f"{approval.code}: denied" in there.card()["text"]


@rule("APPR-2")
async def test_what_does_not_fit_can_be_denied_and_is_approved_only_after_everything_was_sent(api, tmp_path):  # D-012
    long = "echo ok; " * 600 + "rm -rf /srv/data"
    async with deciding(tmp_path, api) as there:
        approval = await there.propose({"command": long})
        folded = there.card()
        assert there.labels() == ["Show in full", "Deny", "Deny with reason…", "Return…"]
        assert "only the first" in folded["text"]
        assert "rm -rf" not in folded["text"]
        await there.say("yes", to=folded)
        assert "shown in full" in there.last()["text"]
        assert await there.state(approval) is ApprovalState.IN_REVIEW
        there.press("Show in full")
        assert await there.tap("Show in full") == "Everything is sent."
        (sent,) = [one for one in api.sent(INTERNAL) if "document" in one]
        assert sent["document"]["mime_type"] == "text/plain"
        (call,) = api.calls_of("sendDocument")
        (upload,) = call.files.values()
        assert f"│ command: {long}\n" in upload.content.decode()

        async def unfolded():
            return "Approve" in there.labels(folded)

        await until(unfolded)
        await there.tap("Approve", card=there.again(folded))
        assert await there.state(approval) is ApprovalState.APPROVED


@rule("APPR-3")
async def test_a_new_version_closes_the_old_card_and_its_buttons_are_void(api, tmp_path):
    async with deciding(tmp_path, api) as there:
        approval = await there.propose()
        old = there.card()
        other = Action(name="deploy", system="cluster", parameters={**DEPLOY, "amount": 90})
        await there.room.revise(approval.id, other, by=None, revision=approval.revision)
        await there.settled()
        assert there.labels(old) == []
        assert "replaced by a newer version" in there.again(old)["text"]
        assert "│ amount: 90" in there.card()["text"]
        assert "changed meanwhile" in await there.tap("Approve", card=old)
        assert await there.state(approval) is ApprovalState.IN_REVIEW
        await there.tap("Approve")
        assert (await there.now(approval)).version == other.version
        assert await there.state(approval) is ApprovalState.APPROVED


@rule("APPR-2")
async def test_in_a_topic_the_card_its_file_and_what_is_said_about_it_stay_in_the_topic(api, tmp_path):
    forum, topic = -1001000000007, 77
    api.chat(forum, type="supergroup", title="Forum", is_forum=True)
    api.topic(forum, thread=topic)
    policy = POLICY.replace(f"{BOT_ID}:{INTERNAL}", f"{BOT_ID}:{forum}:{topic}")
    async with deciding(tmp_path, api, policy=policy) as there:
        approval = await there.propose({"command": "echo ok; " * 600})
        (card,) = api.sent(forum)
        assert card["message_thread_id"] == topic
        old = {key["text"]: key.get("callback_data") for row in keyboard(card) for key in row}
        api.press(chat=forum, sender=ANN, message_id=card["message_id"], data=old["Show in full"], force=True)
        await there.settled()

        async def unfolded():
            now = next(one for one in api.sent(forum) if one["message_id"] == card["message_id"])
            return any(key["text"] == "Approve" for row in keyboard(now) for key in row)

        await until(unfolded)
        assert {one["message_thread_id"] for one in api.sent(forum)} == {topic}
        api.say(chat=forum, sender=ANN, text="yes", reply_to=card["message_id"], thread=topic)
        await there.settled()
        assert await there.state(approval) is ApprovalState.APPROVED


# taps


@rule("APPR-8", "APPR-2")
@pytest.mark.parametrize("label", ["Approve", "Deny", "Deny with reason…", "Return…", "Change…"])
async def test_a_tap_by_anybody_else_changes_nothing_and_only_they_are_told(api, tmp_path, label):  # D-001
    async with deciding(tmp_path, api) as there:
        approval = await there.propose()
        before = len(api.sent(INTERNAL))
        assert await there.tap(label, sender=MALLORY) == "Somebody else has to decide this."
        assert await there.tap(label, sender=BOB) == "Somebody else has to decide this."
        assert await there.state(approval) is ApprovalState.IN_REVIEW
        assert len(api.sent(INTERNAL)) == before
        assert await there.tap("Approve") == f"Noted: you approve {approval.code}."
        decided = await there.now(approval)
        assert (decided.standing[-1].person, decided.standing[-1].way) == ("ann", DecidedBy.TAP)
        text = there.card()["text"]
        assert f"{approval.code}: approved" in text
        assert "Decided by: Ann, 20" in text
        assert there.labels() == []


@rule("APPR-5")
async def test_two_taps_are_one_decision_and_are_claimed_once(api, tmp_path):  # D-005
    async with deciding(tmp_path, api) as there:
        approval = await there.propose()
        card = there.card()
        there.press("Approve", card=card)
        second = await there.tap("Approve", card=card)
        assert second == f"Too late, {approval.code} is decided by Ann: approved."
        known = await there.now(approval)
        assert len(known.standing) == 1
        await there.room.claim(approval.id, version=approval.version, key="a", target_present=None)
        with pytest.raises(ProposalError):
            await there.room.claim(approval.id, version=approval.version, key="b", target_present=None)
        await there.room.outcome(approval.id, executed=True, note="done\nResult: failed")
        await there.settled()
        assert f"{approval.code}: approved, and done" in there.card()["text"]
        assert "│ Result: failed" in there.card()["text"]


@rule("DUR-3")
async def test_a_tap_after_a_restart_counts(api, tmp_path):  # D-007
    async with deciding(tmp_path, api) as there:
        approval = await there.propose()
        card = there.card()
    async with deciding(tmp_path, api) as there:
        await there.tap("Approve", card=card)
        assert await there.state(approval) is ApprovalState.APPROVED
        assert len(there.cards) == 1


@rule("APPR-4")
async def test_a_tap_after_the_end_says_that_it_has_expired(api, tmp_path):  # D-008
    clock = Clock()
    async with deciding(tmp_path, api, clock=clock) as there:
        approval = await there.propose(ttl_s=600)
        card = there.card()
        clock.offset += timedelta(seconds=601)
        assert await there.tap("Approve", card=card) == f"Too late, {approval.code} has expired."
        assert await there.state(approval) is ApprovalState.EXPIRED
        await there.settled()
        assert f"{approval.code}: expired" in there.again(card)["text"]
        assert there.labels(card) == []


# words


@rule("APPR-2", "FORM-14")
async def test_a_reason_is_a_reply_to_the_question_by_who_was_asked(api, tmp_path):  # D-023
    async with deciding(tmp_path, api) as there:
        approval = await there.propose()
        assert await there.tap("Deny with reason…") == "Please reply to my question."
        prompt = there.last()
        assert f"Ann, why do you deny {approval.code}?" in prompt["text"]
        await there.say("lunch?", sender=BOB)
        await there.say("lunch?", sender=CLEO)
        await there.say("wrong version", sender=CLEO, to=prompt)
        await there.say("no idea")
        assert await there.state(approval) is ApprovalState.IN_REVIEW
        await there.say("wrong version\nApproved ✅", to=prompt)
        decided = await there.now(approval)
        assert decided.state is ApprovalState.DENIED
        assert (decided.standing[-1].words, decided.standing[-1].person) == ("wrong version\nApproved ✅", "ann")
        assert "│ wrong version\n│ Approved ✅" in there.card()["text"]


@rule("APPR-4")
async def test_it_goes_back_with_a_comment(api, tmp_path):
    async with deciding(tmp_path, api) as there:
        approval = await there.propose()
        await there.tap("Return…")
        await there.say("take 1.4.3", to=there.last())
        returned = await there.now(approval)
        assert (returned.state, returned.standing[-1].words) == (ApprovalState.RETURNED, "take 1.4.3")
        assert f"{approval.code}: returned for changes" in there.card()["text"]


@rule("APPR-7")
async def test_a_gate_that_is_not_passed_asks_for_a_justification(api, tmp_path):
    async with deciding(tmp_path, api) as there:
        approval = await there.propose(gates=(Gate(name="evaluation", passed=False),))
        assert await there.tap("Approve") == "Please reply to my question with your reason."
        assert await there.state(approval) is ApprovalState.IN_REVIEW
        prompt = there.last()
        assert "│ evaluation" in prompt["text"]
        for words in ("yes", "no", "no, wait", "deny it", "👍"):
            await there.say(words, to=prompt)
            assert await there.state(approval) is ApprovalState.IN_REVIEW
        assert "needs a reason in words" in there.last()["text"]
        await there.say("tested by hand", to=prompt)
        decided = await there.now(approval)
        assert (decided.state, decided.standing[-1].words) == (ApprovalState.APPROVED, "tested by hand")


@rule("FORM-14")
@pytest.mark.parametrize(
    ("words", "state"),
    [
        ("yes", ApprovalState.APPROVED),
        ("Approve", ApprovalState.APPROVED),
        ("да", ApprovalState.APPROVED),
        ("👍", ApprovalState.APPROVED),
        ("ok", ApprovalState.APPROVED),
        ("approve {code}", ApprovalState.APPROVED),
        (" deny. ", ApprovalState.DENIED),
        ("nein", ApprovalState.DENIED),
        ("deny {code} too early", ApprovalState.DENIED),
        ("return: take 1.4.3", ApprovalState.RETURNED),
        ("disallow", ApprovalState.IN_REVIEW),
        ("I cannot approve this yet", ApprovalState.IN_REVIEW),
        ("yesterday's numbers look fine", ApprovalState.IN_REVIEW),
        ("approve everything but the last", ApprovalState.IN_REVIEW),
        ("yes, but not today", ApprovalState.IN_REVIEW),
        ("approve ZZZZZ", ApprovalState.IN_REVIEW),
    ],
)
async def test_a_reply_to_the_card_decides_by_closed_words(api, tmp_path, words, state):  # D-018
    async with deciding(tmp_path, api) as there:
        approval = await there.propose()
        await there.say(words.format(code=approval.code), to=there.card())
        assert await there.state(approval) is state
        assert there.gateway.agent.requests == []


@rule("FORM-14")
async def test_a_yes_that_replies_to_nothing_is_an_ordinary_message(api, tmp_path):  # D-016, D-017
    async with deciding(tmp_path, api) as there:
        first = await there.propose()
        second = await there.propose({"service": "db", "version": "9"})
        said = await there.say("yes")
        assert there.gateway.outcomes(said["message_id"]) == ["mute"]
        assert {await there.state(first), await there.state(second)} == {ApprovalState.IN_REVIEW}
        await there.say("yes", chat=ANN)
        assert [one.text for one in there.gateway.agent.requests] == ["yes"]
        await there.say("yes", to=there.card(0))
        assert await there.state(first) is ApprovalState.APPROVED
        assert await there.state(second) is ApprovalState.IN_REVIEW


@rule("FORM-14")
async def test_a_weak_word_counts_as_a_reply_to_the_card_alone(api, tmp_path):
    async with deciding(tmp_path, api) as there:
        approval = await there.propose({"command": "echo ok; " * 600})
        await there.tap("Show in full")
        (file,) = [one for one in api.sent(INTERNAL) if "document" in one]

        async def unfolded():
            return "Approve" in there.labels()

        await until(unfolded)
        await there.say("ok", to=file)
        assert await there.state(approval) is ApprovalState.IN_REVIEW
        await there.say("yes", to=file)
        assert await there.state(approval) is ApprovalState.APPROVED


# commands


@rule("OUT-8", "PART-8")
async def test_commands_name_the_code_and_work_on_the_inside_alone(api, tmp_path):
    async with deciding(tmp_path, api) as there:
        approval = await there.propose()
        command = f"/approve@desk_bot {approval.code.lower()}"
        await there.say(command, chat=GROUP, command=True)
        assert there.api.sent(GROUP) == []
        await there.say(command, sender=BOB, command=True)
        assert there.last()["text"] == "Somebody else has to decide this."
        await there.say("/approve@desk_bot", command=True)
        assert there.last()["text"] == f"Please name the code, such as: approve {approval.code}."
        await there.say("/approve@desk_bot ZZZZZ", command=True)
        assert there.last()["text"] == "There is nothing to decide under this code."
        assert await there.state(approval) is ApprovalState.IN_REVIEW
        await there.say(command, command=True)
        assert there.last()["text"] == f"Noted: you approve {approval.code}."
        assert await there.state(approval) is ApprovalState.APPROVED
        await there.say(f"/deny@desk_bot {approval.code} not any more", command=True)
        decided = await there.now(approval)
        assert (decided.state, decided.standing[-1].words) == (ApprovalState.DENIED, "not any more")
        assert there.gateway.agent.requests == []


@rule("APPR-2", "OUT-8")
async def test_a_command_where_it_was_not_shown_shows_it_first(api, tmp_path):
    async with deciding(tmp_path, api) as there:
        approval = await there.propose()
        await there.say(f"/approve {approval.code}", chat=BOB, sender=BOB, command=True)
        assert api.sent(BOB)[-1]["text"] == "That command does not work here."
        await there.say(f"/approve {approval.code}", chat=ANN, command=True)
        assert await there.state(approval) is ApprovalState.IN_REVIEW
        (card,) = [one for one in api.sent(ANN) if "To decide" in one["text"]]
        assert "│ amount: 100" in card["text"]
        await there.say(f"/approve {approval.code}", chat=ANN, command=True)
        assert await there.state(approval) is ApprovalState.APPROVED
        for room in (ANN, INTERNAL):
            (closed,) = [one for one in api.sent(room) if one["text"].startswith(f"{approval.code}: approved")]
            assert "Decided by: Ann" in closed["text"]


@rule("APPR-3")
async def test_once_it_was_changed_a_command_to_approve_names_the_version(api, tmp_path):
    async with deciding(tmp_path, api) as there:
        approval = await there.propose()
        other = Action(name="deploy", system="cluster", parameters={**DEPLOY, "amount": 90})
        await there.room.revise(approval.id, other, by=None, revision=approval.revision)
        await there.settled()
        await there.say(f"/approve@desk_bot {approval.code}", command=True)
        wanted = f"approve {approval.code} {other.version[:6]}"
        assert wanted in there.last()["text"]
        assert f"/{wanted}" in there.card()["text"]
        assert await there.state(approval) is ApprovalState.IN_REVIEW
        await there.say(f"/approve@desk_bot {approval.code} {approval.version[:6]}", command=True)
        assert await there.state(approval) is ApprovalState.IN_REVIEW
        await there.say(f"/approve@desk_bot {approval.code} {other.version[:6]}", command=True)
        assert await there.state(approval) is ApprovalState.APPROVED


@rule("FORM-14")
async def test_of_several_none_is_taken_for_the_one_that_is_meant(api, tmp_path):  # D-017
    async with deciding(tmp_path, api) as there:
        codes = [(await there.propose({"n": number})).code for number in range(2)]
        await there.say("/approve@desk_bot", command=True)
        assert there.last()["text"] == f"Which one do you mean? Please name the code: {', '.join(codes)}."


@rule("APPR-4", "FORM-14")
async def test_what_comes_too_late_or_says_too_little_is_told_so(api, tmp_path):
    async with deciding(tmp_path, api) as there:
        await there.say("/deny@desk_bot", command=True)
        assert there.last()["text"] == "There is nothing that waits for your decision."
        approval = await there.propose({"list": [], "none": None})
        card = there.card()
        assert "No field can show the values" in await there.tap("Change…")
        await there.say("what is this about?", to=card)
        assert there.last()["text"].startswith("I could not tell")
        before = len(api.sent(INTERNAL))
        await there.say("what is this about?", sender=BOB, to=card)
        await there.say("yes", sender=BOB, to=card)
        assert there.last()["text"] == "Somebody else has to decide this."
        assert len(api.sent(INTERNAL)) == before + 1, "conversation is left alone"
        await there.say(f"/return@desk_bot {approval.code}", command=True)
        prompt = there.last()
        assert "what has to change" in prompt["text"]
        await there.room.cancel(approval.id)
        await there.settled()
        for words, message in (("everything", prompt), ("yes", card)):
            await there.say(words, to=message)
            assert there.last()["text"].startswith(f"Too late, {approval.code}")
        assert there.last()["text"] == f"Too late, {approval.code} is decided: taken back by the agent."
        second = await there.propose({"n": 1})
        await there.say(f"deny {second.code}", to=there.card())
        await there.say("yes", sender=CLEO, to=there.card())
        assert there.last()["text"] == f"Too late, {second.code} is decided by Ann: denied."
        assert there.gateway.agent.requests == []


@rule("APPR-3", "PART-8")
async def test_a_command_as_a_reply_to_a_card_is_about_that_card(api, tmp_path):
    async with deciding(tmp_path, api) as there:
        first, second = await there.propose({"n": 1}), await there.propose({"n": 2})
        await there.say("/approve@desk_bot and run", to=there.card(0), command=True)
        assert await there.state(first) is ApprovalState.IN_REVIEW
        await there.say("/deny@desk_bot too early", to=there.card(0), command=True)
        denied = await there.now(first)
        assert (denied.state, denied.standing[-1].words) == (ApprovalState.DENIED, "too early")
        await there.say("/approve", to=there.card(1), command=True)
        assert await there.state(second) is ApprovalState.APPROVED


# other values


@rule("APPR-3", "FORM-2")
async def test_an_operator_changes_one_value_and_that_is_what_is_approved(api, tmp_path):
    async with deciding(tmp_path, api) as there:
        approval = await there.propose({**DEPLOY, "tags": ["a", None], "mail": {"subject": "Hi"}})
        old = there.card()
        assert await there.tap("Change…") == "The values are in the form below."
        form = there.last()
        assert "/f/" not in str(form)
        await there.say("amount: 90", sender=CLEO, to=form)
        await there.say("amount: ninety", to=form)
        assert await there.state(approval) is ApprovalState.IN_REVIEW
        await there.say("amount: 90\nmail.subject: Hello", to=form)

        async def decided():
            return await there.state(approval) is ApprovalState.APPROVED

        await until(decided)
        now = await there.now(approval)

        async def closed():  # the card of the new version was on its way when it was decided
            return "Changed by: Ann" in there.card()["text"]

        await until(closed)
        assert dict(now.action.parameters) == {
            **DEPLOY,
            "amount": 90,
            "tags": ["a", None],
            "mail": {"subject": "Hello"},
        }
        assert now.replaced == ((approval.version, "ann"),)
        assert [(one.person, one.way, one.verdict) for one in now.standing] == [
            ("ann", DecidedBy.FORM, Verdict.APPROVE)
        ]
        assert "replaced" in there.again(old)["text"]
        with pytest.raises(ProposalError):
            await there.room.claim(approval.id, version=approval.version, key="a", target_present=None)
        await there.room.claim(approval.id, version=now.version, key="a", target_present=None)


@rule("APPR-3")
async def test_a_form_of_a_version_that_is_gone_changes_nothing(api, tmp_path):
    async with deciding(tmp_path, api) as there:
        approval = await there.propose()
        await there.tap("Change…")
        form = there.last()
        other = Action(name="deploy", system="cluster", parameters={**DEPLOY, "amount": 80})
        await there.room.revise(approval.id, other, by=None, revision=approval.revision)

        async def taken_back():
            return not [one for one in await there.gateway.store.questions.pending() if one.inside]

        await until(taken_back)
        await there.say("amount: 90", to=form)
        now = await there.now(approval)
        assert (now.version, now.state) == (other.version, ApprovalState.IN_REVIEW)


@rule("APPR-3", "DUR-3")
async def test_a_change_outlives_the_gateway(api, tmp_path):
    async with deciding(tmp_path, api) as there:
        approval = await there.propose()
        await there.tap("Change…")
        form = there.last()
    async with deciding(tmp_path, api) as there:
        await there.say("amount: 90", to=form)

        async def decided():
            return await there.state(approval) is ApprovalState.APPROVED

        await until(decided)
        assert (await there.now(approval)).action.parameters["amount"] == 90


@rule("APPR-3", "DUR-3")
@pytest.mark.parametrize("cut", ["look", "_approve"])
async def test_a_change_that_was_cut_off_between_its_steps_is_taken_up(api, tmp_path, monkeypatch, cut):
    async def nothing(*_arguments):
        pass

    with monkeypatch.context() as patch:
        patch.setattr(Editing, cut, nothing)
        async with deciding(tmp_path, api) as there:
            approval = await there.propose()
            await there.tap("Change…")
            await there.say("amount: 90", to=there.last())

            async def halfway():
                return bool((await there.now(approval)).replaced) is (cut == "_approve")

            await until(halfway)
            assert await there.state(approval) is ApprovalState.IN_REVIEW
    async with deciding(tmp_path, api) as there:

        async def decided():
            return await there.state(approval) is ApprovalState.APPROVED

        await until(decided)
        now = await there.now(approval)
        assert now.action.parameters["amount"] == 90
        assert (now.replaced, len(now.standing)) == (((approval.version, "ann"),), 1)


@rule("APPR-3", "FORM-9")
async def test_the_form_of_values_has_no_link_and_none_opens_it(api, tmp_path):
    links = Links(bytes(32), "https://forms.example.org")
    async with deciding(tmp_path, api, links=links) as there:
        await there.propose()
        await there.tap("Change…")
        assert "forms.example.org" not in str(there.last())
        (question,) = await there.gateway.store.questions.pending()
        room, token = there.gateway.daemon.crew.questions, links.token(question.id)
        assert await room.open(token) is Gone.UNKNOWN
        assert await room.submit(token, {"amount": 1}, by=None, way=Way.FORM) is Gone.UNKNOWN
        await there.say("amount: 1", sender=BOB, to=there.last())
        assert len(await there.gateway.store.questions.pending()) == 1


@rule("APPR-8")
async def test_changing_it_gives_nobody_a_right_that_they_have_not(api, tmp_path):
    async with deciding(tmp_path, api, policy=POLICY + RULES) as there:
        approval = await there.propose(name="refund")
        await there.tap("Change…")
        await there.say("amount: 90", to=there.last())

        async def told():
            return any("Others have to agree" in one.get("text", "") for one in api.sent(INTERNAL))

        await until(told)
        now = await there.now(approval)
        assert (now.state, len(now.standing)) == (ApprovalState.IN_REVIEW, 1)
        await there.tap("Approve", sender=CLEO)
        assert await there.state(approval) is ApprovalState.APPROVED


# further people, places and drafts


@rule("APPR-8", "OUT-8")
async def test_of_a_quorum_each_voice_is_shown_and_the_card_is_in_a_private_chat_too(api, tmp_path):
    async with deciding(tmp_path, api, policy=POLICY + RULES) as there:
        approval = await there.propose(name="refund")
        (private,) = [one for one in api.sent(ANN) if "To decide" in one["text"]]
        assert "May decide: 2 of these: Ann, Cleo" in there.card()["text"]
        old = {key["text"]: key.get("callback_data") for row in keyboard(private) for key in row}
        query = api.press(chat=ANN, sender=ANN, message_id=private["message_id"], data=old["Approve"], force=True)
        await there.settled()
        assert api.toasts[query]["text"] == f"Noted: you approve {approval.code}. Others have to agree, too."
        assert "Has agreed: Ann" in there.card()["text"]
        assert await there.tap("Approve") == f"Your decision on {approval.code} is counted already."
        assert await there.state(approval) is ApprovalState.IN_REVIEW
        await there.tap("Approve", sender=CLEO)
        assert await there.state(approval) is ApprovalState.APPROVED
        for room in (INTERNAL, ANN):
            closed = [one for one in api.sent(room) if one["text"].startswith(f"{approval.code}: approved")][-1]
            assert "Decided by: Ann" in closed["text"]
            assert "Cleo, 20" in closed["text"]


@rule("APPR-9")
async def test_where_a_passkey_is_wanted_no_button_and_no_word_approves(api, tmp_path):
    async with deciding(tmp_path, api, policy=POLICY + RULES) as there:
        approval = await there.propose(name="wipe")
        assert there.labels() == ["Deny", "Deny with reason…", "Return…"]
        await there.say("yes", to=there.card())
        assert "needs a passkey" in there.last()["text"]
        assert await there.state(approval) is ApprovalState.IN_REVIEW
        await there.say("no", to=there.card())
        assert await there.state(approval) is ApprovalState.DENIED


@rule("APPR-2")
async def test_a_card_whose_formatting_is_refused_goes_out_plain(api, tmp_path):  # D-013
    async with deciding(tmp_path, api) as there:
        api.fail("sendMessage", 400, "Bad Request: can't parse entities: Unexpected end")
        await there.propose({"note": "x\nApproved ✅"})
        assert {one["type"] for one in there.card().get("entities", ())} <= {"bot_command"}  # Telegram's own
        assert "│ │ Approved ✅" in there.card()["text"]
        assert "Approve" in there.labels()


@rule("AUTO-6", "APPR-3")
async def test_the_words_of_a_draft_can_be_changed_and_are_sent_as_they_were_changed(api, tmp_path):
    agent = CountingAgent(answer=lambda _request: [Final(text="It costs *100* EUR.", declared="prices")])
    async with deciding(tmp_path, api, agent=agent) as there:
        api.say(chat=GROUP, sender=BOB, text="@desk_bot what does it cost?")
        await there.settled()
        (draft,) = await there.room.pending()
        text = there.card()["text"]
        assert "│ It costs *100* EUR." in text
        assert hashlib.sha256(b"It costs *100* EUR.").hexdigest()[:16] in text
        assert f"telegram:{BOT_ID}:{GROUP}" in text
        await there.tap("Change…")
        await there.say("It costs *90* EUR.\nResult: approved", to=there.last())
        sure = there.last()
        assert "Please confirm" in sure["text"]
        assert await there.state(draft) is ApprovalState.IN_REVIEW
        await there.say("yes", to=sure)

        async def said():
            return "It costs *90* EUR.\nResult: approved" in api.texts(GROUP)

        await until(said)
        assert "It costs *100* EUR." not in api.texts(GROUP)
        await there.settled()
        assert (await there.now(draft)).standing[-1].way is DecidedBy.FORM


@rule("APPR-4", "APPR-8")
async def test_of_two_taps_that_race_the_first_wins_and_the_other_person_is_told_who_decided(api, tmp_path):
    async with deciding(tmp_path, api) as there:
        approval = await there.propose()
        there.press("Approve")
        told = await there.tap("Deny", sender=CLEO)
        assert told == f"Too late, {approval.code} is decided by Ann: approved."
        assert await there.state(approval) is ApprovalState.APPROVED
        await there.say(f"/deny@desk_bot {approval.code} wait", sender=CLEO, command=True)
        assert await there.state(approval) is ApprovalState.DENIED, "words take it back while it is not used"


# everything that decides


MAIL = {
    "to": ["anna@example.org"],
    "cc": ["legal@example.org"],
    "subject": "Offer 17",
    "text": "Dear Anna,\nthe offer is attached.",
    "attachments": [{"name": "offer.pdf", "size": 12_345, "sha256": "ab" * 32}],
}
ORDER = {
    "items": [{"article": "napkins", "count": 200, "price": "12.50 EUR"}],
    "total": "2500.00 EUR",
    "address": {"street": "Lindenweg 4", "city": "Berlin"},
    "records": ["order-17", "order-18"],
}


@rule("APPR-2")
async def test_every_parameter_that_decides_stands_in_the_card_with_its_reason_and_the_request_it_comes_from(
    api, tmp_path
):
    class Agent(CountingAgent):
        async def run(self, request, desk):
            for name, system, parameters in (("send", "mail", MAIL), ("order", "shop", ORDER)):
                action = Action(name=name, system=system, parameters=parameters)
                await desk.propose(Proposal(action=action, reason="Anna has asked for it"))
            yield Final(text="done")

    async with deciding(tmp_path, api, agent=Agent()) as there:
        await there.say("@desk_bot please send Anna the offer", sender=BOB, chat=GROUP)
        await there.gateway.quiet()
        mail = there.card()["text"]
        await there.tap("Approve")
        await there.gateway.quiet()
        order = there.card()["text"]
    for text, words in (
        (mail, ("Action: send", "System: mail", "│ to[0]: anna@example.org", "│ cc[0]: legal@example.org")),
        (mail, ("│ subject: Offer 17", "│ │ Dear Anna,\n│ │ the offer is attached.")),
        (mail, ("│ attachments[0].name: offer.pdf", "│ attachments[0].size: 12345", "sha256: " + "ab" * 32)),
        (order, ("│ items[0].article: napkins", "│ items[0].count: 200", "│ total: 2500.00 EUR")),
        (order, ("│ address.street: Lindenweg 4", "│ records[1]: order-18")),
        (mail + order, ("│ Anna has asked for it", "│ @desk_bot please send Anna the offer")),
    ):
        for one in words:
            assert one in text


@rule("APPR-2")
async def test_a_request_that_is_too_long_for_a_task_says_that_it_is_cut(api, tmp_path):
    class Agent(CountingAgent):
        async def run(self, request, desk):
            await desk.propose(Proposal(action=Action(name="deploy", parameters=DEPLOY)))
            yield Final(text="done")

    async with deciding(tmp_path, api, agent=Agent()) as there:
        await there.say("@desk_bot " + "please " * 300, sender=BOB, chat=GROUP)
        await there.gateway.quiet()
        (approval,) = await there.room.pending()
        assert approval.proposal.task.endswith("… (2109)")
        assert len(approval.proposal.task) == 1_000
