"""What people say while a clarification is open, and what it is taken for (CLAR-3, CLAR-4, CLAR-8).

By rule: taps (the room of questions takes them), native replies, what is said in a question's thread, edits, commands,
and text that names one candidate exactly. Only other free text of the same person in the same conversation goes to the
agent's classifier; without one, or where it fails or is unsure, the text is an answer, and what names no candidate is
asked again.

Only what has passed the gates comes here: free text in a group that addresses nobody stays chat (FORM-14).
"""

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from bot.clarifications.asking import values_of
from bot.clarifications.room import ClarificationRoom
from bot.clarifications.words import ClarificationWords
from bot.model.interaction import Candidate, Clarification, ClarificationState, Doubt, Interaction, Verdict, VerdictKind
from bot.model.output import Final as Answer
from bot.model.plan import MAX_VALUE
from bot.model.question import Question, Way
from bot.observability.log import get_logger
from bot.ports.hearing import Heard
from bot.ports.questions import Taken
from bot.questions.hearing import without_address
from bot.questions.room import QuestionRoom
from bot.questions.showing import plain
from bot.questions.words import QuestionWords
from forms.folding import trim
from forms.ordinals import candidates_meant, is_cancel
from forms.reading import Locale
from policy.destination import Destination
from policy.event import Event, Kind
from policy.ruleset import Policy

log = get_logger(__name__)

CLASSIFY_S: Final = 5.0
"""Seconds that a classifier has."""
_NAMESPACE: Final = uuid.UUID("7a0d6f0c-3a0e-5a39-9d0e-2f1f5b1f8c77")

Classify = Callable[[Doubt], Awaitable[Verdict]]
"""The agent's classifier."""


class ClarificationHearing:
    """Takes what people say for what it is."""

    def __init__(
        self,
        room: ClarificationRoom,
        questions: QuestionRoom,
        *,
        policy: Callable[[], Policy],
    ) -> None:
        """Args: room: of the interactions. questions: show what is asked. policy: gives the policy in force now."""
        self._room = room
        self._questions = questions
        self._policy = policy

    # beside the agents' lanes: replies, thread answers, edits

    async def shows(self, part_id: int) -> bool:
        """The room of questions knows what shows a clarification, and what is about it."""
        return False

    async def awaits(self, event: Event) -> bool:
        """See :meth:`shows`."""
        return False

    async def tapped(self, part_id: int, value: str, event: Event, *, language: str) -> Heard | None:
        """See :meth:`shows`."""
        return None

    async def commanded(self, event: Event, text: str, *, language: str) -> Heard | None:
        """No command is about a clarification but the one that stops everything."""
        return None

    async def told(self, event: Event, parts: Sequence[int]) -> None:
        """What is said about a clarification is no card of it."""

    async def replied(self, event: Event, text: str, *, language: str) -> Heard | None:
        """A reply to an open clarification, or what was said in its thread (CLAR-3); None: it is about none.

        None also where the room of questions says better what is wrong.
        """
        question, native = await self._asked(event)
        clarification = None if question is None else await self._room.store.clarification(question.id)
        if question is None or clarification is None or not clarification.open or not question.state.pending:
            return None
        if not self._questions.may(question, event.sender):
            return Heard()
        text = trim(without_address(event, text) if event.mentions_self else text)
        if native and is_cancel(text):
            return await self._cancelled(clarification.interaction_id, language)
        return await self._resolved(clarification, question, event, text, language=language)

    async def edited(self, event: Event, text: str, *, language: str) -> Heard:
        """A message that answered a clarification reads otherwise now: a correction by rule (CLAR-4)."""
        clarification = None
        if event.message is not None:
            clarification = await self._room.store.answered_with(event.destination, event.message)
        interaction = None if clarification is None else await self._room.store.get(clarification.interaction_id)
        if clarification is None or interaction is None or not self._is_asker(interaction, event.sender):
            return Heard()
        text = trim(without_address(event, text) if event.mentions_self else text)
        if clarification.state is ClarificationState.ANSWERED:
            return await self._corrected(clarification, event, text, language)
        open_one = await self._room.open_of(interaction)  # it said too little, and says more now
        question = None if open_one is None else await self._questions.look(open_one.id)
        if open_one is None or question is None or not question.state.pending:
            return Heard()
        return await self._resolved(open_one, question, event, text, language=language) or Heard()

    async def corrects(self, destination: Destination, message: str) -> bool:
        """Whether an edit of this message corrects an answer of an interaction that goes on."""
        return await self._room.store.answered_with(destination, message) is not None

    # in the lane of the conversation: requests that have passed the gates

    async def hear(
        self,
        event: Event,
        text: str,
        *,
        command: bool,
        language: str,
        event_id: int,
        agent: str,
        classify: Classify | None,
    ) -> Heard | None:
        """A request of somebody in whose conversation an interaction goes on; None: it is a request of its own.

        Args:
            event: its facts.
            text: the person's words.
            command: it is a command, or a button of the agent's own.
            language: of the person.
            event_id: the inbox row.
            agent: name of the agent that answers here now.
            classify: the agent's classifier, if it has one.
        """
        conversation = self._room.conversation(event.destination, event.sender)
        interaction = None if conversation is None else await self._room.store.active(conversation)
        if interaction is None:
            return None
        if interaction.agent != agent:  # the policy names another by now, and a plan is for its own agent alone
            await self._room.end(interaction.id, "supersede")
            return None
        text = trim(without_address(event, text) if event.mentions_self else text)
        if event.reply is not None:  # to what was answered already
            corrected = await self._again_about(interaction, event, text, language)
            if corrected is not None:
                return corrected
        clarification = await self._room.open_of(interaction)
        if clarification is None:
            if await self._room.store.last_result(interaction) is not None:
                await self._room.end(interaction.id, "supersede")
            return None
        question = await self._questions.look(clarification.id)
        if question is None or not question.state.pending:
            return None
        meant = self._meant(clarification, event, text, language)
        if not command and text and len(meant) == 1:
            return await self._resolved(clarification, question, event, text, language=language)
        kind = VerdictKind.NEW_REQUEST
        if not command and text and event.attachments == 0:
            kind = await self._verdict(interaction, clarification, text, language, event_id, classify)
        match kind:
            case VerdictKind.NEW_REQUEST:
                await self._room.end(interaction.id, "supersede")
                return None
            case VerdictKind.CANCEL:
                return await self._cancelled(interaction.id, language)
            case VerdictKind.CORRECTION:
                latest = await self._latest(interaction)
                if latest is not None:
                    return await self._corrected(latest, event, text, language)
            case VerdictKind.ANSWER | VerdictKind.UNCLEAR:
                pass
        heard = await self._resolved(clarification, question, event, text, language=language)
        if heard is None:  # it names none of them
            why = plain(ClarificationWords(language).say("unclear"))
            heard = await self._again(clarification, why, event, language)
        return heard

    async def _again(
        self,
        clarification: Clarification,
        why: str,
        event: Event,
        language: str,
        *,
        candidates: Sequence[Candidate] | None = None,
    ) -> Heard:
        """Ask once more; where that may not be shown any more, say that nothing goes on."""
        asked = await self._room.again(clarification, why, candidates=candidates, message=event.message)
        return Heard() if asked else Heard(says=Answer(text=plain(ClarificationWords(language).say("cancelled"))))

    async def _verdict(
        self,
        interaction: Interaction,
        clarification: Clarification,
        text: str,
        language: str,
        event_id: int,
        classify: Classify | None,
    ) -> VerdictKind:
        if classify is None:
            return VerdictKind.ANSWER
        doubt = Doubt(
            id=uuid.uuid5(_NAMESPACE, f"{clarification.id}\0{event_id}").hex,
            interaction=interaction,
            clarification=clarification,
            text=text,
            language=language,
        )
        try:
            async with asyncio.timeout(CLASSIFY_S):
                verdict = await classify(doubt)
        except Exception as error:  # noqa: BLE001 - whatever goes wrong there, it is taken for an answer (CLAR-4)
            log.warning("not_classified", error=type(error).__name__)
            return VerdictKind.ANSWER
        return verdict.kind if verdict.sure else VerdictKind.ANSWER

    # what comes of it

    async def _resolved(
        self, clarification: Clarification, question: Question, event: Event, text: str, *, language: str
    ) -> Heard | None:
        """An answer: one candidate, two that are asked again, or any text where that is allowed (CLAR-8)."""
        meant = self._meant(clarification, event, text, language)
        if len(meant) > 1:
            why = plain(ClarificationWords(language).say("between"))
            candidates = [clarification.candidates[one] for one in meant]
            return await self._again(clarification, why, event, language, candidates=candidates)
        said = event.message
        if meant:
            values = values_of(clarification, clarification.candidates[meant[0]].id)
            outcome = await self._questions.answer(question, values, by=event.sender, way=Way.REPLY, said=said)
            return Heard(says=_noted("noted" if isinstance(outcome, Taken) else "too_late", language))
        if not clarification.free_text or not text or len(text) > MAX_VALUE:
            return None
        text = text.encode("utf-8", "replace").decode()  # half a pair of surrogates can't be stored
        values = values_of(clarification, text)
        settled = await self._questions.settle(question, values, by=event.sender, way=Way.REPLY, said=said)
        return Heard(says=_noted("noted" if settled else "too_late", language))

    async def _again_about(self, interaction: Interaction, event: Event, text: str, language: str) -> Heard | None:
        """A native reply to a question that was answered is a correction by rule; or a cancel word."""
        question, native = await self._asked(event)
        clarification = None if question is None else await self._room.store.clarification(question.id)
        if clarification is None or not native or clarification.interaction_id != interaction.id:
            return None
        if is_cancel(text):
            return await self._cancelled(interaction.id, language)
        if clarification.state is not ClarificationState.ANSWERED:
            return None
        return await self._corrected(clarification, event, text, language)

    async def _corrected(self, clarification: Clarification, event: Event, text: str, language: str) -> Heard:
        meant = self._meant(clarification, event, text, language)
        value = clarification.candidates[meant[0]].id if len(meant) == 1 else None
        if value is None and not meant and clarification.free_text and 0 < len(text) <= MAX_VALUE:
            value = text.encode("utf-8", "replace").decode()
        words = ClarificationWords(language)
        if value is None:
            return Heard(says=Answer(text=plain(words.say("not_corrected"))))
        if value == clarification.value:
            return Heard()
        done = await self._room.correct(clarification, value, message=event.message)
        return Heard(says=Answer(text=plain(words.say("corrected" if done else "not_corrected"))))

    async def _cancelled(self, interaction_id: str, language: str) -> Heard:
        await self._room.end(interaction_id, "cancel")
        return Heard(says=Answer(text=plain(ClarificationWords(language).say("cancelled"))))

    async def _latest(self, interaction: Interaction) -> Clarification | None:
        """The latest that was answered."""
        known = await self._room.store.clarifications(interaction.id)
        answered = [one for one in known if one.state is ClarificationState.ANSWERED]
        return answered[-1] if answered else None

    def _meant(self, clarification: Clarification, event: Event, text: str, language: str) -> tuple[int, ...]:
        """The candidates that a text names; where it addresses the bot, its first word may be the bot's name."""
        found = self._named(clarification, text, language)
        if found or not event.mentions_self:
            return found
        return self._named(clarification, text.partition(" ")[2], language)

    def _named(self, clarification: Clarification, text: str, language: str) -> tuple[int, ...]:
        names = [one.display_name for one in clarification.candidates]
        timezone = self._policy().timezone
        return candidates_meant(names, text, locale=Locale(language=language, timezone=timezone))

    def _is_asker(self, interaction: Interaction, account: str | None) -> bool:
        return self._room.conversation(interaction.destination, account) == interaction.conversation

    async def _asked(self, event: Event) -> tuple[Question | None, bool]:
        """The question that an event is about, and whether it is a native reply to it."""
        if event.kind is Kind.TAP:
            return None, False
        for message, native in (
            (None if event.reply is None else event.reply.message, True),
            (event.destination.thread, False),
        ):
            if message is not None:
                question = await self._questions.shown_by(event.destination, message)
                if question is not None:
                    return question, native
        return None, False


def _noted(key: str, language: str) -> Answer:
    return Answer(text=plain(QuestionWords(language).say(key)))
