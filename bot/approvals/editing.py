"""Edit and approve (APPR-3): an operator changes values, and what runs is what they have changed.

    tap on "Change…" -> a form for that person alone -> their answer -> a new version, by them -> approved in their name

What was answered is in the store, and so is what came of it: whatever a crash cuts off is taken up by the next look. A
question's key says which version of which approval it changes, and for whom.
"""

import asyncio
import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from bot.approvals.cards import Cards
from bot.approvals.fields import changed, fields_of
from bot.approvals.room import ApprovalRoom
from bot.approvals.words import ApprovalWords
from bot.deliveries.door import Door, Place
from bot.model.approval import Approval, DecidedBy, Verdict
from bot.model.errors import AskError, ProposalError, StoreError
from bot.model.question import OURS, TTL_LEAST_S, Answerer, Asking, Question, Who
from bot.observability.log import get_logger
from bot.ports.approvals import Decided, Outcome, WordsWanted
from bot.ports.channel import Reply
from bot.questions.room import QuestionRoom
from bot.questions.showing import plain
from policy.event import Event
from policy.ruleset import Policy

log = get_logger(__name__)

LOOK_EVERY_S: Final = 1.0
_LONGEST_S: Final = 3_600
_WINDOW: Final = timedelta(days=7)
"""How long after its answer a change is still taken up; nobody waits longer for a gateway to come back."""
_TRIES: Final = 20
_MOST_PATHS: Final = 20


@dataclass(frozen=True, kw_only=True, slots=True)
class _Key:
    """What a question changes: which version of which approval, asked where and how often, and of whom (an id)."""

    approval: str
    version: str
    place: str
    number: int
    person: str

    def __str__(self) -> str:
        return f"{self.approval}:{self.version}:{self.place}:{self.number}:{self.person}"


class Editing:
    """Asks operators for other values, and puts their answers in force."""

    def __init__(
        self,
        room: ApprovalRoom,
        questions: QuestionRoom,
        *,
        cards: Cards,
        policy: Callable[[], Policy],
        door: Door,
        clock: Callable[[], datetime],
    ) -> None:
        """Args: questions: where the form is asked. cards: make what is told there."""
        self._room = room
        self._questions = questions
        self._cards = cards
        self._policy = policy
        self._door = door
        self._clock = clock
        self._since = clock()
        self._done: set[str] = set()
        self._woken = asyncio.Event()
        self._watching: set[asyncio.Task[None]] = set()

    # asking

    async def ask(self, approval: Approval, event: Event) -> bool:
        """Ask the person who tapped for other values, there where the card stands; False: there is no form for it."""
        person = self._policy().person(event.sender)
        fields = fields_of(approval)
        if person is None or not fields.steps or approval.proposal.as_is:
            return False
        place = Place(destination=event.destination, chat=event.chat, person=event.sender)
        settings = self._door.settings(place)
        words = ApprovalWords(settings.language)
        text = plain(words.say("edit.ask", code=approval.code))
        if fields.rest:
            paths = ", ".join(fields.rest[:_MOST_PATHS]) + (", …" if len(fields.rest) > _MOST_PATHS else "")
            text += f"\n{plain(words.say('edit.rest', paths=paths[:1_000]))}"
        alone = len(fields.steps) == 1
        if alone:
            text += f"\n**{plain(next(iter(fields.steps)))}**"
        where = hashlib.sha256(str(event.destination).encode()).hexdigest()[:8]
        for number in range(1, _TRIES):
            key = _Key(approval=approval.id, version=approval.version, place=where, number=number, person=person.id)
            try:
                question = await self._questions.ask(
                    Asking(
                        text=text,
                        schema=fields.schema,
                        who=Who(kind=Answerer.PEOPLE, people=frozenset({person.id})),
                        ttl_s=self._ttl_s(approval),
                        important=alone,  # there any reply is the value: it is shown once more (FORM-12)
                        key=str(key),
                    ),
                    agent=OURS,
                    key=str(key),
                    place=place,
                    to=Reply(destination=event.destination, message=event.message),
                    asker=event.sender,
                    event_id=None,
                    audience=settings.audience,
                    language=settings.language,
                )
            except AskError as error:
                log.warning("values_not_asked", code=error.code)
                return False
            if question.state.pending:  # else it was declined or has expired: asked anew
                self._watch(question)
                return True
        return False

    def _ttl_s(self, approval: Approval) -> int:
        if approval.expires_at is None:
            return _LONGEST_S
        rest_s = int((approval.expires_at - self._clock()).total_seconds())
        return max(TTL_LEAST_S, min(_LONGEST_S, rest_s))

    # putting in force

    async def run(self) -> None:
        """Put answers in force as they come, until cancelled; a store that fails for a while is asked again."""
        try:
            await self._run()
        finally:
            for task in self._watching:
                task.cancel()

    async def _run(self) -> None:
        failing = False
        while True:
            self._woken.clear()
            try:
                await self.look()
                failing = False
            except StoreError as error:
                if not failing:
                    log.error("changes_not_looked_at", error=type(error).__name__)
                failing = True
            try:
                async with asyncio.timeout(LOOK_EVERY_S):
                    await self._woken.wait()
            except TimeoutError:
                continue

    async def look(self) -> None:
        """Once: take up what was answered, and take back what nobody needs to answer any more."""
        for question in await self._questions.answered(since=self._clock() - _WINDOW):
            if question.id not in self._done:
                await self._take_up(question)
                self._done.add(question.id)
        for question in await self._questions.pending():
            if question.inside and not await self._is_wanted(question):
                await self._questions.cancel(question.id)

    async def _is_wanted(self, question: Question) -> bool:
        key = _read(question.key)
        approval = None if key is None else await self._room.look(key.approval)
        return approval is not None and key is not None and _stands(approval, key)

    async def _take_up(self, question: Question) -> None:
        key, account = _read(question.key), question.answered_by
        approval = None if key is None else await self._room.look(key.approval)
        if key is None or approval is None or account is None or question.answer is None:
            return
        words = ApprovalWords(question.language)
        if approval.state.undecided and (key.version, key.person) in approval.replaced[-1:]:
            if any(one.person == key.person for one in approval.standing):
                return  # done before, and others have to agree, too
            await self._approve(approval, question, account, words)  # cut off between the two steps
        elif not _stands(approval, key):
            if question.closed_at is not None and question.closed_at >= self._since and not _is_theirs(approval, key):
                await self._tell(approval, question, words.say("edit.late", code=approval.code))
        else:
            try:
                action = changed(approval, question.answer)
                revised = await self._room.revise(approval.id, action, by=account, revision=approval.revision)
            except ProposalError as error:
                log.info("change_refused", code=error.code)
                await self._tell(approval, question, words.say("edit.late", code=approval.code))
                return
            await self._approve(revised, question, account, words)

    async def _approve(self, approval: Approval, question: Question, account: str, words: ApprovalWords) -> None:
        """In the name of whoever changed it; separation of duties and the quorum still hold (APPR-8).

        They have seen everything of it: what stays stood in the card under which they tapped, and what is other they
        wrote themselves.
        """
        outcome = await self._room.decide(
            approval.id,
            approval.version,
            Verdict.APPROVE,
            by=account,
            way=DecidedBy.FORM,
            at=None,
        )
        if isinstance(outcome, WordsWanted):
            to = Reply(destination=question.destination)
            place = self._place(question)
            asked = self._cards.words_wanted(approval, Verdict.APPROVE, account, place=place, to=to)
            await self._room.show(approval, asked)
            return
        came = _came(outcome)
        if came is not None:  # else the card says it
            await self._tell(approval, question, words.say(f"edit.{came}", code=approval.code))

    async def _tell(self, approval: Approval, question: Question, text: str) -> None:
        to = Reply(destination=question.destination)
        await self._room.show(approval, self._cards.notice(approval, plain(text), place=self._place(question), to=to))

    def _place(self, question: Question) -> Place:
        return Place(destination=question.destination, chat=question.chat, person=question.person)

    def _watch(self, question: Question) -> None:
        """Wake when it is answered; without this it would be seen a moment later."""
        task = asyncio.create_task(self._wake_at_end(question.id), name="change of values")
        self._watching.add(task)
        task.add_done_callback(self._watching.discard)

    async def _wake_at_end(self, question_id: str) -> None:
        await self._questions.ended(question_id)
        self._woken.set()


def _stands(approval: Approval, key: _Key) -> bool:
    return approval.state.undecided and approval.version == key.version


def _is_theirs(approval: Approval, key: _Key) -> bool:
    """Whether what stands now came of this very change."""
    return (key.version, key.person) in approval.replaced


def _came(outcome: Outcome) -> str | None:
    match outcome:
        case Decided(approval=now):
            return "voice" if now.state.undecided else None
        case _:
            return "changed"


def _read(text: str) -> _Key | None:
    pieces = text.split(":", 4)
    if len(pieces) != 5 or not pieces[3].isdecimal():
        return None
    return _Key(approval=pieces[0], version=pieces[1], place=pieces[2], number=int(pieces[3]), person=pieces[4])
