"""The end of a run: what becomes of what an agent has said (AUTO-1, AUTO-2, OUT-4, OUT-7).

    final      -> shown in its final form -> assessed -> sent | filed as a draft | withheld
    safe error -> one sentence of the catalogue
    silence    -> nothing, or one short acknowledgement inside (PART-10)

The end of the work, its last parts or its draft, and the journal's record of it are one transaction (DUR-3).
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import assert_never

from bot.approvals.drafts import Draft, Drafts, written
from bot.clarifications.room import Asked
from bot.deliveries.dispatcher import Dispatcher
from bot.deliveries.door import Door
from bot.model.approval import Origin
from bot.model.output import Final, SafeError, Silence, readable
from bot.model.part import Part
from bot.observability.log import get_logger
from bot.ports.channel import Channel, Reply
from bot.ports.decisions import Ruling
from bot.ports.store import Ending, Inbox, NewPart
from bot.runtime.clearing import Clearing
from bot.runtime.reports import Reports
from bot.runtime.rulings import Rulings
from bot.runtime.work import Work
from bot.texts.codes import Failure, Notice
from bot.texts.words import Words
from policy.autonomy import Assessment, assess
from policy.blank import is_blank
from policy.boundary import Speech, Withheld
from policy.decision import Audience
from policy.destination import Destination
from policy.record import Entry
from policy.ruleset import Policy
from policy.screening import screen_of

log = get_logger(__name__)

_WORDLESS = frozenset({"silent", "drafted"})
LONG_TEXT = 4_000
"""Characters; what is longer is brought into its form beside the loop, where it holds up nobody (AGENT-5)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Said:
    """A run that is over.

    Attributes:
        work: the request.
        request: its id, the same at every attempt.
        agent: name of the agent; empty: there was none.
        asked: the words of the request.
        result: what it said last.
        to: where the answer goes.
        language: of the gateway's own words.
        streamed: the message in which the answer has been growing; None: there is none.
        grown: people have seen some of the answer while it grew.
    """

    work: Work
    request: str
    agent: str = ""
    asked: str = field(default="", repr=False)
    result: Final | SafeError | Silence | Asked
    to: Reply
    language: str
    streamed: str | None = None
    grown: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class _End:
    """What it comes to.

    Attributes:
        outcome: bounded, for the inbox (see :meth:`bot.ports.store.Inbox.finish`).
        parts: that go out.
        instead: a sentence of the gateway's own that goes out in their place.
        draft: to be filed.
        notes: further bounded codes, for those who look at decisions.
    """

    outcome: str
    parts: tuple[NewPart, ...] = ()
    instead: tuple[Speech, str] | None = None
    draft: Draft | None = None
    notes: tuple[str, ...] = ()


class Endings:
    """Brings runs to their end."""

    def __init__(
        self,
        *,
        policy: Callable[[], Policy],
        entries: Callable[[], Mapping[str, Entry]],
        channels: Mapping[str, Channel],
        inbox: Inbox,
        dispatcher: Dispatcher,
        door: Door,
        clearing: Clearing,
        drafts: Drafts | None,
        reports: Reports,
        rulings: Rulings,
        clock: Callable[[], datetime],
        steps: Callable[[Destination, str], Sequence[str]] | None = None,
    ) -> None:
        """Make it.

        Args:
            policy: gives the policy in force now.
            entries: gives the authorised record as it stands now.
            channels: by account.
            inbox: where requests end.
            dispatcher: carries parts out.
            door: knows the settings of a place.
            clearing: checks parts.
            drafts: where drafts are filed; None: what would be one is withheld.
            reports: tells operators.
            rulings: hears what came of requests.
            clock: gives aware times.
            steps: gives codes of what a step of a clarification has made of the plan; None: nothing is clarified.
        """
        self._steps = steps
        self._policy = policy
        self._entries = entries
        self._channels = channels
        self._inbox = inbox
        self._dispatcher = dispatcher
        self._door = door
        self._clearing = clearing
        self._drafts = drafts
        self._reports = reports
        self._rulings = rulings
        self._clock = clock
        self._presenting = asyncio.Lock()

    async def write(self, said: Said) -> str:
        """Bring one run to its end; returns what came of it, bounded."""
        end = await self._judge(said)
        work, settings = said.work, self._door.settings(said.work.place)
        if end.outcome in _WORDLESS and settings.never_silent_ack and settings.audience is Audience.INTERNAL:  # PART-10
            outcome = "acknowledged" if end.outcome == "silent" else end.outcome
            said_so = (Speech.ACKNOWLEDGEMENT, Words(said.language).say(Notice.ACKNOWLEDGED))
            end = replace(end, outcome=outcome, instead=said_so)
        elif end.draft is not None and (settings.autonomy.holding_words or said.grown):
            # what has been growing can't stay: it was never approved. Nothing tells that there is a draft (OUT-8)
            end = replace(end, instead=(Speech.SAFE_ERROR, Words(said.language).say(Notice.HOLDING_WORDS)))
        parts = list(end.parts)
        channel = self._channels[said.to.destination.account]
        if end.instead is not None:
            speech, sentence = end.instead
            parts, _ = self._clearing.checked(work, channel.present(speech, Final(text=sentence), to=said.to))
        if said.streamed is not None and parts:
            rest = channel.present_rest(tuple(new.part for new in parts), message=said.streamed)
            parts, _ = self._clearing.checked(work, rest)
        ending = Ending(event_id=work.event_id, parts=tuple(parts), outcome=end.outcome)
        if end.draft is not None and self._drafts is not None:
            await self._drafts.file(end.draft, ending=ending)
        else:
            sent = await self._inbox.finish(work.event_id, parts, outcome=end.outcome, now=self._clock())
            self._dispatcher.enqueue(sent)
        self.publish(work, end.outcome, end.notes)
        if end.outcome in ("safe_error", "withheld"):
            withheld = end.outcome == "withheld"
            notice = Notice.WITHHELD_REPORT if withheld else Notice.RUN_FAILED
            await self._reports.tell(notice, request=said.request[:8], stops=end.notes if withheld else ())
        return end.outcome

    async def _judge(self, said: Said) -> _End:
        match said.result:
            case Final():
                return await self._judge_answer(said, said.result)
            case SafeError(failure=failure):
                return _sorry("safe_error", failure, said)
            case Silence():
                return _End(outcome="silent")
            case Asked(says=says):
                return _End(outcome="clarification", instead=(Speech.SAFE_ERROR, says) if says else None)
            case _:
                assert_never(said.result)

    async def _judge_answer(self, said: Said, answer: Final) -> _End:
        channel = self._channels[said.to.destination.account]
        try:
            parts = await self.present(channel, Speech.FINAL, answer, said.to)
        except Exception as error:  # noqa: BLE001 - an answer may be wrong in any way (AGENT-5)
            log.error("answer_not_shown", request=said.request[:8], error=type(error).__name__)
            return _sorry("safe_error", Failure.UNAVAILABLE, said)
        try:
            return self._sorted(said, answer, parts)
        except Exception as error:  # noqa: BLE001 - a rule that fails lets nothing out
            log.error("rule_failed", request=said.request[:8], error=type(error).__name__)
            return _sorry("withheld", Failure.WITHHELD, said, notes=(Withheld.RULE_FAILED.value,))

    def _sorted(self, said: Said, answer: Final, parts: Sequence[Part]) -> _End:
        """Sent, filed or withheld."""
        assessed = self._assess(said, answer, parts)
        if assessed.blocked:  # a hard stop, or a source that is none: no approval changes that (AUTO-3, AUTO-8)
            return _sorry("withheld", Failure.WITHHELD, said, notes=assessed.codes)
        if assessed.draft:
            return self._draft(said, answer, notes=assessed.codes)
        new, withheld = self._clearing.checked(said.work, parts)
        kept = withheld - {Withheld.EMPTY}
        if kept == {Withheld.DRAFT_ONLY}:
            return self._draft(said, answer, notes=assessed.codes)
        if kept:  # one part may not leave: none does
            return _sorry("withheld", Failure.WITHHELD, said, notes=sorted(one.value for one in kept))
        return _End(outcome="answered" if new else "silent", parts=tuple(new))

    def _assess(self, said: Said, answer: Final, parts: Sequence[Part]) -> Assessment:
        policy, settings = self._policy(), self._door.settings(said.work.place)
        return assess(
            [*(part.text for part in parts), *filter(None, map(readable, answer.files))],
            declared=answer.declared,
            references=answer.references,
            settings=settings,
            detectors=screen_of(policy).detectors,
            needs_reference=policy.needs_reference,
            entries=self._entries(),
            counterparty=settings.counterparty,
            now=self._clock(),
        )

    def _draft(self, said: Said, answer: Final, *, notes: Sequence[str]) -> _End:
        """What an operator has to see first (AUTO-2). What could not be sent even then is not filed (AUTO-5)."""
        text, place = written(answer), said.work.place
        if is_blank(text) and not answer.files:
            return _End(outcome="silent")
        draft = Draft(
            request=said.request,
            agent=said.agent,
            origin=Origin(
                destination=place.destination,
                chat=place.chat,
                person=place.other_side,
                requester=said.work.reading.event.sender,
                event_id=said.work.event_id,
            ),
            language=said.language,
            readers=said.work.decision.audience,
            text=text,
            files=answer.files,
            task=said.asked,
            auto_after_s=answer.auto_after_s,
        )
        flaws = {"no_drafts"} if self._drafts is None else self._drafts.flaws(draft)
        if flaws:
            return _sorry("withheld", Failure.WITHHELD, said, notes=sorted({*notes, *flaws}))
        return _End(outcome="drafted", draft=draft, notes=tuple(notes))

    async def present(self, channel: Channel, speech: Speech, answer: Final, to: Reply) -> Sequence[Part]:
        """An answer in its final form. What an agent writes may take seconds to format: one such text at a time."""
        if len(answer.text) <= LONG_TEXT:
            return channel.present(speech, answer, to=to)
        async with self._presenting:
            return await asyncio.to_thread(channel.present, speech, answer, to=to)

    def publish(self, work: Work, outcome: str, notes: Sequence[str] = ()) -> None:
        """Those who look at decisions hear what came of this one."""
        for _, reading in work.parts:
            event = reading.event
            if event.message is not None:
                steps = () if self._steps is None else self._steps(event.destination, event.message)
                self._rulings.publish(
                    Ruling(
                        destination=event.destination,
                        message=event.message,
                        decision=work.decision,
                        result=outcome,
                        notes=(*notes, *steps),
                    ),
                )


def _sorry(outcome: str, failure: Failure, said: Said, *, notes: Sequence[str] = ()) -> _End:
    sentence = Words(said.language).say(failure)
    return _End(outcome=outcome, instead=(Speech.SAFE_ERROR, sentence), notes=tuple(notes))
