"""The clarification loop on Telegram, on a running gateway (CLAR)."""

import asyncio
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta

import pytest

from bot.channels.telegram.limits import Limits
from bot.model.errors import StoreError
from bot.model.interaction import (
    Candidate,
    ClarificationState,
    InteractionState,
    PatchKind,
    VerdictKind,
    Workspace,
)
from bot.model.output import Clarify
from tests.harness import BOB, GROUP, POLICY, Clock, running
from tests.looping import PlanningAgent

rule = pytest.mark.rule
OPEN = Limits(chat=None, group=None, total=None)


@asynccontextmanager
async def looping(tmp_path, api, agent, **more):
    async with running(tmp_path, api=api, agent=agent, limits=OPEN, policy=POLICY, **more) as gateway:
        yield gateway


def ask(api, *, chat=BOB, text="report"):
    return api.say(chat=chat, sender=BOB, text=text if chat > 0 else f"@desk_bot {text}")


async def card(api, text, *, chat=BOB, after=0):
    """The latest message with these words and buttons, once it is there."""
    async with asyncio.timeout(10):
        while True:
            found = [one for one in api.sent(chat) if text in one.get("text", "") and one["message_id"] > after]
            if found and found[-1].get("reply_markup"):
                return found[-1]
            await asyncio.sleep(0.01)


async def said(api, text, *, chat=BOB):
    async with asyncio.timeout(10):
        while not any(text in one for one in api.texts(chat)):
            await asyncio.sleep(0.01)


async def until(condition):
    async with asyncio.timeout(10):
        while not await condition():
            await asyncio.sleep(0.01)


def tap(api, shown, button, *, chat=BOB, sender=BOB):
    old = {b["text"]: b.get("callback_data") for row in shown["reply_markup"]["inline_keyboard"] for b in row}
    where = {"chat": chat, "sender": sender, "message_id": shown["message_id"]}
    try:
        return api.press(**where, button=button)
    except LookupError:
        return api.press(**where, data=old[button], force=True)


async def only(gateway):
    """The interaction that there is, with its clarifications."""
    (interaction,) = await gateway.store.interactions.actives()
    return interaction, await gateway.store.interactions.clarifications(interaction.id)


@rule("CLAR-2", "CLAR-3", "CLAR-5", "CLAR-7")
async def test_two_clarifications_in_a_row_lead_to_one_answer(api, tmp_path):
    agent = PlanningAgent()
    async with looping(tmp_path, api, agent) as gateway:
        asked = ask(api)
        first = await card(api, "Which composition?")
        await gateway.settled()
        assert len(agent.requests) == 1, "the run has ended, the interaction has not"
        tap(api, first, "Beta")
        second = await card(api, "Which format?")
        interaction, _ = await only(gateway)
        assert interaction.plan_version == 2
        tap(api, second, "Pdf")
        await said(api, "report on beta as pdf")
        await gateway.settled()
        assert await gateway.store.interactions.actives() == []
        done = await gateway.store.interactions.get(interaction.id)
        known = await gateway.store.interactions.clarifications(interaction.id)
    assert done.state is InteractionState.COMPLETED
    assert done.root_message == str(asked["message_id"])
    assert [one.value for one in known] == ["beta", "pdf"]
    assert [one.question_message for one in known] == [str(first["message_id"]), str(second["message_id"])]
    patches = [one.patch for one in agent.continuations]
    assert [(one.kind, one.task, one.slot, one.value) for one in patches] == [
        (PatchKind.ANSWER, "scope", "composition", "beta"),
        (PatchKind.ANSWER, "export", "format", "pdf"),
    ]
    assert patches[0].candidate.identity == "object/beta"
    assert patches[0].invalidated == ("export",)
    assert [one.plan_version for one in agent.continuations] == [2, 3]
    assert agent.requests[1].text == "report", "the original words are as they were"


@rule("CLAR-2")
async def test_a_click_on_an_old_candidate_changes_nothing(api, tmp_path):
    agent = PlanningAgent()
    async with looping(tmp_path, api, agent) as gateway:
        ask(api)
        first = await card(api, "Which composition?")
        tap(api, first, "Beta")
        await card(api, "Which format?")
        query = tap(api, first, "Alpha")
        await gateway.settled()
        interaction, _ = await only(gateway)
        assert "no longer" in api.toasts[query]["text"]
        assert interaction.plan.tasks["scope"].slots == {"composition": "beta"}
        assert interaction.plan_version == 2


@rule("CLAR-8")
@pytest.mark.parametrize(
    "words", ["Beta", "beta.", "the second one", "der zweite", "вторая", "la segunda", "втората", "2"]
)
async def test_a_candidate_is_named_in_a_private_chat_by_name_number_or_place(api, tmp_path, words):
    agent = PlanningAgent()
    async with looping(tmp_path, api, agent) as gateway:
        ask(api)
        await card(api, "Which composition?")
        api.say(chat=BOB, sender=BOB, text=words)
        await card(api, "Which format?")
        interaction, known = await only(gateway)
    assert interaction.plan.tasks["scope"].slots == {"composition": "beta"}
    assert agent.doubts == [], "what names one candidate exactly needs no classifier"
    assert known[0].answer_message is not None


@rule("CLAR-8", "CLAR-3")
async def test_what_fits_two_candidates_is_asked_again_with_those_two(api, tmp_path):
    class Ambiguous(PlanningAgent):
        async def run(self, request, desk):
            async for output in super().run(request, desk):
                if isinstance(output, Clarify) and output.slot == "composition":
                    names = (("alpha", "Second"), ("beta", "Beta"), ("gamma", "Gamma"))
                    yield replace(output, candidates=tuple(Candidate(id=one, display_name=name) for one, name in names))
                else:
                    yield output

    agent = Ambiguous()
    async with looping(tmp_path, api, agent) as gateway:
        ask(api)
        first = await card(api, "Which composition?")
        api.say(chat=BOB, sender=BOB, text="second", reply_to=first["message_id"])
        again = await card(api, "more than one", after=first["message_id"])
        labels = [b["text"] for row in again["reply_markup"]["inline_keyboard"] for b in row]
        assert labels == ["Second", "Beta"]
        tap(api, again, "Beta")
        await card(api, "Which format?")
        interaction, known = await only(gateway)
        await gateway.settled()
    assert interaction.plan.tasks["scope"].slots == {"composition": "beta"}
    assert [one.state for one in known[:2]] == [ClarificationState.AGAIN, ClarificationState.ANSWERED]


@rule("CLAR-4", "CLAR-5")
async def test_an_edited_answer_is_a_correction_and_what_depends_on_it_is_asked_anew(api, tmp_path):
    agent = PlanningAgent()
    async with looping(tmp_path, api, agent) as gateway:
        ask(api)
        first = await card(api, "Which composition?")
        answer = api.say(chat=BOB, sender=BOB, text="Alpha", reply_to=first["message_id"])
        second = await card(api, "Which format?")
        api.edit(chat=BOB, message_id=answer["message_id"], text="Beta")
        third = await card(api, "Which format?", after=second["message_id"])
        await gateway.settled()
        interaction, known = await only(gateway)
        assert interaction.plan.tasks["scope"].slots == {"composition": "beta"}
        assert [one.state for one in known] == [
            ClarificationState.ANSWERED,
            ClarificationState.STALE,
            ClarificationState.OPEN,
        ]
        assert gateway.reasons(answer["message_id"])[-1] == "correction"
        tap(api, third, "Html")
        await said(api, "report on beta as html")
        await gateway.settled()
    assert [one.patch.kind for one in agent.continuations] == [
        PatchKind.ANSWER,
        PatchKind.CORRECTION,
        PatchKind.ANSWER,
    ]
    assert "report on alpha" not in "\n".join(api.texts(BOB))


@rule("CLAR-4")
async def test_a_native_reply_to_an_answered_question_is_a_correction(api, tmp_path):
    agent = PlanningAgent()
    async with looping(tmp_path, api, agent) as gateway:
        ask(api, chat=GROUP)
        first = await card(api, "Which composition?", chat=GROUP)
        tap(api, first, "Alpha", chat=GROUP)
        second = await card(api, "Which format?", chat=GROUP)
        api.say(chat=GROUP, sender=BOB, text="the second", reply_to=first["message_id"])
        third = await card(api, "Which format?", chat=GROUP, after=second["message_id"])
        tap(api, third, "Pdf", chat=GROUP)
        await said(api, "report on beta as pdf", chat=GROUP)
        await gateway.settled()
    assert agent.doubts == []


@rule("CLAR-1", "CLAR-4")
async def test_a_new_request_supersedes_the_interaction_before_it(api, tmp_path):
    agent = PlanningAgent(verdict=VerdictKind.NEW_REQUEST)
    async with looping(tmp_path, api, agent) as gateway:
        ask(api)
        first = await card(api, "Which composition?")
        (before, _) = await only(gateway)
        api.say(chat=BOB, sender=BOB, text="another report")
        second = await card(api, "Which composition?", after=first["message_id"])
        await gateway.settled()
        now, _ = await only(gateway)
        gone = await gateway.store.interactions.get(before.id)
        query = tap(api, first, "Alpha")
        await gateway.settled()
        assert "no longer" in api.toasts[query]["text"]
        assert (await gateway.store.interactions.get(now.id)).plan_version == 1
    assert second["message_id"] != first["message_id"]
    assert gone.state is InteractionState.SUPERSEDED
    assert now.id != before.id
    assert agent.doubts[0].text == "another report"


@rule("CLAR-4")
@pytest.mark.parametrize("verdict", [VerdictKind.UNCLEAR, VerdictKind.ANSWER, RuntimeError("broken"), None])
async def test_free_text_that_nobody_can_class_is_taken_for_an_answer_and_asked_again(api, tmp_path, verdict):
    agent = PlanningAgent(verdict=verdict)
    async with looping(tmp_path, api, agent) as gateway:
        ask(api)
        first = await card(api, "Which composition?")
        api.say(chat=BOB, sender=BOB, text="hm, whichever is nicer")
        again = await card(api, "could not tell", after=first["message_id"])
        tap(api, again, "Alpha")
        await card(api, "Which format?")
        await gateway.settled()
    assert len(agent.requests) == 2


@rule("CLAR-4")
async def test_an_agent_without_a_classifier_loses_nothing(api, tmp_path):
    class Plain:
        def __init__(self):
            self.inner = PlanningAgent()
            self.name = "main"
            self.run = self.inner.run
            self.close = self.inner.close

    async with looping(tmp_path, api, Plain()) as gateway:
        ask(api)
        first = await card(api, "Which composition?")
        api.say(chat=BOB, sender=BOB, text="what?")
        await card(api, "could not tell", after=first["message_id"])
        await gateway.settled()


@rule("CLAR-4")
async def test_a_classifier_that_says_nothing_is_not_waited_for(api, tmp_path, monkeypatch):
    monkeypatch.setattr("bot.clarifications.hearing.CLASSIFY_S", 0.05)

    class Slow(PlanningAgent):
        async def classify(self, doubt):
            await asyncio.Event().wait()

    async with looping(tmp_path, api, Slow()) as gateway:
        ask(api)
        first = await card(api, "Which composition?")
        api.say(chat=BOB, sender=BOB, text="what?")
        await card(api, "could not tell", after=first["message_id"])
        await gateway.settled()


@rule("CLAR-4")
@pytest.mark.parametrize("words", ["cancel", "отмена", "abbrechen", "cancelar", "отказ", "/cancel"])
async def test_a_cancel_word_counts_as_a_reply_or_a_command(api, tmp_path, words):
    agent = PlanningAgent()
    async with looping(tmp_path, api, agent) as gateway:
        ask(api)
        first = await card(api, "Which composition?")
        (interaction, _) = await only(gateway)
        reply = {} if words.startswith("/") else {"reply_to": first["message_id"]}
        api.say(chat=BOB, sender=BOB, text=words, **reply)

        async def over():
            return (await gateway.store.interactions.get(interaction.id)).state is InteractionState.CANCELLED

        await until(over)
        await gateway.settled()
        query = tap(api, first, "Alpha")
        await gateway.settled()
        assert "no longer" in api.toasts[query]["text"]
    assert len(agent.requests) == 1


@rule("CLAR-4")
async def test_a_cancel_word_that_is_no_reply_is_for_the_classifier(api, tmp_path):
    agent = PlanningAgent(verdict=VerdictKind.UNCLEAR)
    async with looping(tmp_path, api, agent) as gateway:
        ask(api)
        first = await card(api, "Which composition?")
        api.say(chat=BOB, sender=BOB, text="cancel")
        await card(api, "could not tell", after=first["message_id"])
        await gateway.settled()
        await only(gateway)
    assert [one.text for one in agent.doubts] == ["cancel"]


@rule("CLAR-4", "CLAR-1")
async def test_in_a_group_other_chat_stays_chat_and_a_mention_of_the_same_person_counts(api, tmp_path):
    agent = PlanningAgent()
    async with looping(tmp_path, api, agent) as gateway:
        ask(api, chat=GROUP)
        await card(api, "Which composition?", chat=GROUP)
        chat = api.say(chat=GROUP, sender=BOB, text="Beta")
        await gateway.settled()
        assert gateway.outcomes(chat["message_id"]) == ["mute"]
        other = api.say(chat=GROUP, sender=501, text="@desk_bot Beta")
        await gateway.settled()
        interaction, known = await only(gateway)
        assert known[0].open, "somebody else's words answer nothing"
        api.say(chat=GROUP, sender=BOB, text="@desk_bot Beta")
        await card(api, "Which format?", chat=GROUP)
        await gateway.settled()
        interaction, _ = await only(gateway)
    assert other is not None
    assert interaction.plan.tasks["scope"].slots == {"composition": "beta"}


@rule("CLAR-2")
async def test_free_text_beside_the_candidates_is_an_answer_where_the_agent_allows_it(api, tmp_path):
    agent = PlanningAgent(free_text=True)
    async with looping(tmp_path, api, agent) as gateway:
        ask(api)
        first = await card(api, "Which composition?")
        api.say(chat=BOB, sender=BOB, text="a new one of my own", reply_to=first["message_id"])
        await card(api, "Which format?")
        await gateway.settled()
        interaction, _ = await only(gateway)
    assert interaction.plan.tasks["scope"].slots == {"composition": "a new one of my own"}
    assert agent.continuations[0].patch.candidate is None


@rule("CLAR-6")
async def test_a_choice_that_has_gone_with_a_new_workspace_is_asked_anew_and_says_why(api, tmp_path):
    agent = PlanningAgent()
    async with looping(tmp_path, api, agent) as gateway:
        ask(api)
        tap(api, await card(api, "Which composition?"), "Beta")
        second = await card(api, "Which format?")
        agent.workspace = Workspace(generation=2, sha256="2" * 64)
        agent.existing = ("alpha", "pdf", "html")
        tap(api, second, "Pdf")
        anew = await card(api, "Beta” is no longer available")
        labels = [b["text"] for row in anew["reply_markup"]["inline_keyboard"] for b in row]
        interaction, _ = await only(gateway)
        assert labels == ["Alpha"]
        assert interaction.plan.tasks["scope"].slots == {"composition": None}
        assert interaction.plan.tasks["export"].state.value == "invalid"
        tap(api, anew, "Alpha")
        tap(api, await card(api, "Which format?", after=anew["message_id"]), "Html")
        await said(api, "report on alpha as html")
        await gateway.settled()
    hashes = [one.interaction.workspace.sha256 for one in agent.continuations]
    assert hashes == ["1" * 64, "1" * 64, "2" * 64, "2" * 64]


@rule("CLAR-6")
async def test_a_new_workspace_that_still_has_every_choice_goes_on(api, tmp_path):
    agent = PlanningAgent()
    async with looping(tmp_path, api, agent) as gateway:
        ask(api)
        tap(api, await card(api, "Which composition?"), "Beta")
        second = await card(api, "Which format?")
        agent.workspace = Workspace(generation=2, sha256="2" * 64)
        tap(api, second, "Pdf")
        await said(api, "report on beta as pdf")
        await gateway.settled()
    assert [one.patch.kind for one in agent.continuations] == [PatchKind.ANSWER, PatchKind.ANSWER, PatchKind.RECHECK]


@rule("CLAR-7")
async def test_the_loop_survives_a_restart_between_question_and_answer(api, tmp_path):
    agent = PlanningAgent()
    async with looping(tmp_path, api, agent):
        ask(api)
        first = await card(api, "Which composition?")
    tap(api, first, "Beta")
    async with looping(tmp_path, api, agent) as gateway:
        second = await card(api, "Which format?")
        await gateway.settled()
    async with looping(tmp_path, api, agent) as gateway:
        tap(api, second, "Pdf")
        await said(api, "report on beta as pdf")
        await gateway.settled()
    assert len(agent.requests) == 3


@rule("CLAR-1", "AGENT-5")
async def test_the_plan_of_one_agent_is_never_given_to_another(api, tmp_path):
    first, second = PlanningAgent(), PlanningAgent(name="other")
    async with looping(tmp_path, api, first, further=[second]) as gateway:
        ask(api)
        card_of_first = await card(api, "Which composition?")
        (before, _) = await only(gateway)
        path = gateway.folder / "policy.yaml"
        path.write_text(POLICY.replace("direct: {strangers: allow}", "direct: {strangers: allow, agent: other}"))
        gateway.daemon.crew.policy.poke()

        async def reloaded():
            return gateway.daemon.crew.policy().direct.agent == "other"

        await until(reloaded)
        tap(api, card_of_first, "Beta")
        await gateway.settled()
        gone = await gateway.store.interactions.get(before.id)
        api.say(chat=BOB, sender=BOB, text="whichever")
        await said(api, "something else")
        await gateway.settled()
    assert gone.state is InteractionState.CANCELLED
    assert (second.doubts, second.continuations) == ([], [])


@rule("CLAR-7")
async def test_a_request_that_was_deleted_is_not_carried_on(api, tmp_path):
    agent = PlanningAgent()
    async with looping(tmp_path, api, agent) as gateway:
        ask(api)
        first = await card(api, "Which composition?")
        (before, _) = await only(gateway)
        await gateway.store.inbox.withdraw(before.destination, before.root_message, now=before.started_at)
        tap(api, first, "Beta")
        await gateway.settled()
        gone = await gateway.store.interactions.get(before.id)
    assert gone.state is InteractionState.CANCELLED
    assert len(agent.requests) == 1


@rule("CLAR-7")
async def test_a_question_that_nobody_answers_ends_the_interaction(api, tmp_path):
    class Hasty(PlanningAgent):
        async def run(self, request, desk):
            async for output in super().run(request, desk):
                yield replace(output, ttl_s=30) if isinstance(output, Clarify) else output

    clock = Clock()
    async with looping(tmp_path, api, Hasty(), clock=clock) as gateway:
        ask(api)
        await card(api, "Which composition?")
        (before, _) = await only(gateway)
        clock.offset += timedelta(seconds=31)

        async def over():
            return (await gateway.store.interactions.get(before.id)).state is InteractionState.EXPIRED

        await until(over)
        await gateway.settled()


@rule("CLAR-5")
async def test_words_are_erased_after_their_retention_and_the_journal_stays_in_order(api, tmp_path):
    agent = PlanningAgent()
    async with looping(tmp_path, api, agent) as gateway:
        ask(api)
        tap(api, await card(api, "Which composition?"), "Beta")
        tap(api, await card(api, "Which format?"), "Pdf")
        await said(api, "report on beta as pdf")
        await gateway.settled()
        interaction = agent.continuations[-1].interaction.id
        later = gateway.daemon.crew.clock() + timedelta(days=40)
        assert await gateway.store.interactions.sweep(now=later, contents_before=later - timedelta(days=30)) == 1
        known = await gateway.store.interactions.clarifications(interaction)
        kept = await gateway.store.interactions.get(interaction)
    assert [(one.text, one.value, one.candidates) for one in known] == [("", None, ()), ("", None, ())]
    assert kept.plan.tasks == {}
    assert kept.plan_version == 3


@rule("CLAR-7", "PART-8")
async def test_the_files_of_an_album_go_on_with_its_request(api, tmp_path):
    agent = PlanningAgent()
    async with looping(tmp_path, api, agent) as gateway:
        one, two = (api.file(b"x", name=f"{number}.jpg") for number in range(2))
        api.album(chat=BOB, sender=BOB, items=[{"photo": one, "text": "report"}, two])
        first = await card(api, "Which composition?")
        tap(api, first, "Beta")
        await card(api, "Which format?")
        await gateway.quiet()
    assert [len(request.attachments) for request in agent.requests] == [2, 2]
    assert agent.requests[1].text == "report"


@rule("CLAR-2")
async def test_many_long_candidates_that_no_channel_can_show_are_refused(api, tmp_path):
    class Long(PlanningAgent):
        async def run(self, request, desk):
            names = tuple(Candidate(id=f"{'x' * 60}{n}", display_name=f"{'y' * 90} {n}") for n in range(50))
            yield Clarify(task="a", slot="b", text="Which?", candidates=names)

    async with looping(tmp_path, api, Long()) as gateway:
        ask(api)
        await said(api, "can't answer right now")
        await gateway.settled()
        assert await gateway.store.interactions.actives() == []


@rule("CLAR-4", "CLAR-8")
async def test_an_answer_that_said_too_little_is_mended_by_an_edit(api, tmp_path):
    agent = PlanningAgent()
    async with looping(tmp_path, api, agent) as gateway:
        ask(api)
        first = await card(api, "Which composition?")
        answer = api.say(chat=BOB, sender=BOB, text="bete")
        await card(api, "could not tell", after=first["message_id"])
        await gateway.settled()
        api.edit(chat=BOB, message_id=answer["message_id"], text="beta")
        await card(api, "Which format?")
        await gateway.settled()
        interaction, _ = await only(gateway)
        api.edit(chat=BOB, message_id=answer["message_id"], text="no idea")
        await said(api, "could not tell what you mean by this change")
        await gateway.settled()
    assert interaction.plan.tasks["scope"].slots == {"composition": "beta"}


@rule("CLAR-5", "CLAR-7", "DUR-3")
async def test_an_answer_that_was_kept_and_not_applied_is_applied_by_the_next_process(api, tmp_path, monkeypatch):
    agent = PlanningAgent()
    async with looping(tmp_path, api, agent) as gateway:

        async def fails(*_args, **_more):
            raise StoreError("the disk is away")

        monkeypatch.setattr(gateway.store.interactions, "change", fails)
        ask(api)
        tap(api, await card(api, "Which composition?"), "Beta")
        await gateway.settled()
        assert len(agent.requests) == 1
    async with looping(tmp_path, api, agent) as gateway:
        await card(api, "Which format?")
        interaction, _ = await only(gateway)
        await gateway.settled()
    assert interaction.plan.tasks["scope"].slots == {"composition": "beta"}
    assert len(agent.requests) == 2


@rule("CLAR-7", "DUR-3")
async def test_a_continuation_that_was_cut_off_is_run_again_by_the_next_process(api, tmp_path):
    class Hanging(PlanningAgent):
        hangs = True

        async def run(self, request, desk):
            if request.continuing is not None and self.hangs:
                self.requests.append(request)
                await asyncio.Event().wait()
            async for output in super().run(request, desk):
                yield output

    agent = Hanging()
    async with looping(tmp_path, api, agent):
        ask(api)
        tap(api, await card(api, "Which composition?"), "Beta")

        async def runs():
            return len(agent.requests) == 2

        await until(runs)
    agent.hangs = False
    async with looping(tmp_path, api, agent) as gateway:
        await card(api, "Which format?")
        await gateway.settled()
        interaction, known = await only(gateway)
    assert [request.attempt for request in agent.requests] == [1, 1, 2]
    assert agent.requests[1].id == agent.requests[2].id
    assert interaction.plan_version == 2
    assert len(known) == 2


@rule("CLAR-7", "DUR-3")
async def test_a_run_that_was_cut_off_after_its_question_does_not_ask_its_agent_again(api, tmp_path, monkeypatch):
    agent = PlanningAgent()
    async with looping(tmp_path, api, agent) as gateway:

        async def fails(*_args, **_more):
            raise StoreError("the disk is away")

        monkeypatch.setattr(gateway.store.inbox, "finish", fails)
        ask(api)
        first = await card(api, "Which composition?")
    async with looping(tmp_path, api, agent) as gateway:
        tap(api, first, "Beta")
        await card(api, "Which format?")
        await gateway.settled()
        questions = [text for text in api.texts(BOB) if "Which composition?" in text]
    assert len(questions) == 1
    assert [request.attempt for request in agent.requests] == [1, 1]
