"""The room of questions (FORM-1 to 14): asked, shown, answered once, closed everywhere.

    ask -> stored with what shows it -> shown --tap, reply, page, card--> judged -> kept | to be confirmed | answered
                                        |__ expired, cancelled                      -> cards are closed, the agent wakes

INVARIANT: one submission wins. Every change names the version that it changes, and the store compares (FORM-7).
Whatever way an answer comes, the same judge looks at it last (FORM-2).
"""

import asyncio
import uuid
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from bot.deliveries.dispatcher import Dispatcher
from bot.deliveries.door import Door, Place
from bot.model.errors import AskError, StoreError
from bot.model.part import Action, Part
from bot.model.question import (
    MAX_TEXT,
    OURS,
    TTL_LEAST_S,
    TTL_LONGEST_S,
    Answerer,
    Asking,
    Conclusion,
    Question,
    QuestionState,
    Way,
)
from bot.observability.log import get_logger
from bot.ports.channel import Channel, Reply
from bot.ports.questions import Confirm, Gone, Kept, Lost, NotYours, Opened, Outcome, QuestionStore, Refused, Taken
from bot.ports.store import NewPart
from bot.questions.answerers import may_answer
from bot.questions.links import Links, digest
from bot.questions.showing import Showing, masked, words_of
from bot.questions.states import after
from forms.bounds import is_text
from forms.field import Form
from forms.presentation import CONFIRM, Cancelled, Changed, Complete, tapped
from forms.schema import SchemaError, read_form
from forms.validation import FieldError, Judge
from policy.boundary import Basis
from policy.decision import Audience
from policy.destination import Destination
from policy.ruleset import Access, Policy, Resend

log = get_logger(__name__)

LOOK_EVERY_S: Final = 1.0
"""How often the room looks whether a question has expired."""
_JUDGES: Final = 1_000
_GONE: Final = {
    QuestionState.ANSWERED: Gone.ANSWERED,
    QuestionState.EXPIRED: Gone.EXPIRED,
    QuestionState.CANCELLED: Gone.CANCELLED,
}


Follower = Callable[[Question], Awaitable[None]]
"""Goes on where a question has ended."""


class QuestionRoom:
    """See :class:`bot.ports.questions.Questions`."""

    def __init__(
        self,
        *,
        store: QuestionStore,
        policy: Callable[[], Policy],
        channels: Mapping[str, Channel],
        dispatcher: Dispatcher,
        door: Door,
        links: Links,
        clock: Callable[[], datetime],
        stopped: Callable[[Sequence[str]], Awaitable[object]] | None = None,
    ) -> None:
        """Make the room; nothing is read before a call.

        Args:
            store: where questions are kept.
            policy: gives the policy in force now.
            channels: by account.
            dispatcher: carries parts out.
            door: clears them.
            links: makes the links of pages.
            clock: gives aware times.
            stopped: tells operators that a question may not be shown, by the codes of why.
        """
        self._stopped = stopped
        self._store = store
        self._policy = policy
        self._channels = channels
        self._dispatcher = dispatcher
        self._door = door
        self._showing = Showing(links)
        self._links = links
        self._clock = clock
        self._judges: OrderedDict[str, Judge] = OrderedDict()
        self._waiting: dict[str, set[asyncio.Future[Question]]] = {}
        self._closing: set[asyncio.Task[None]] = set()
        self._follower: Follower | None = None

    def follow(self, follower: "Follower") -> None:
        """Somebody goes on with a question that has ended; it is asked before anybody is told of the end."""
        self._follower = follower

    # asking

    async def ask(
        self,
        asking: Asking,
        *,
        agent: str,
        key: str,
        place: Place,
        to: Reply,
        asker: str | None,
        event_id: int | None,
        audience: Audience,
        language: str,
        question_id: str | None = None,
    ) -> Question:
        """Ask, or find the question that was asked with this key before.

        Args:
            asking: what the agent wants to know.
            agent: its name.
            key: unique within the agent.
            place: where the request was made that the question belongs to.
            to: where exactly the question goes.
            asker: account of whoever made the request.
            event_id: the inbox row of the request.
            audience: who was to read the answer of that request.
            language: of the gateway's words around it.
            question_id: of a question that belongs to something which is stored already; None: a new one.

        Raises:
            AskError: it can't be asked; the text says why, for the agent.
        """
        form = _form(asking)
        self._check_people(asking)
        now = self._clock()
        question = Question(
            id=question_id or uuid.uuid4().hex,
            agent=agent,
            key=key,
            destination=to.destination,
            chat=place.chat,
            person=place.other_side,
            asker=asker,
            event_id=event_id,
            schema=asking.schema,
            form=form,
            text=asking.text,
            who=asking.who,
            important=asking.important,
            language=language,
            timezone=self._policy().timezone,
            asked_at=now,
            expires_at=now + timedelta(seconds=asking.ttl_s),
        )
        if masked(question) and to.destination.platform != "web" and self._links.page(question.id) is None:
            raise AskError("no_form", "a masked field is filled in on a page, and no pages are served here")
        shown = self._showing.open(question, self._channels[to.destination.account], to=to, today=self._today(question))
        withheld = self._withheld(question, shown, place, audience)
        if withheld or not shown:
            await self._report(withheld)
            raise AskError("withheld", "the question may not be shown there")
        parts = self._cleared(question, shown, audience)
        kept, waiting = await self._store.put(question, parts, token=digest(self._links.token(question.id)), now=now)
        self._dispatcher.enqueue(waiting)
        asked_before = (kept.text, kept.schema, kept.who, kept.important)
        if kept.schema and asked_before != (question.text, question.schema, question.who, question.important):
            raise AskError("key_used", "this key was used for another question")
        return kept

    def _withheld(self, question: Question, shown: Sequence[Part], place: Place, audience: Audience) -> list[str]:
        """Why a question may not be shown: its messages one by one, one after another, and its page."""
        verdicts = [self._door.verdict(part, place, Basis.REQUEST, written_for=audience) for part in shown]
        verdicts.append(self._door.verdict_together(shown, place, Basis.REQUEST))
        verdicts.append(self._door.verdict_of_words(words_of(question), place, Basis.REQUEST, written_for=audience))
        return sorted({verdict.value for verdict in verdicts if verdict is not None})

    async def _report(self, codes: Sequence[str]) -> None:
        if self._stopped is not None:
            await self._stopped(codes)

    def _check_people(self, asking: Asking) -> None:
        known = {person.id for person in self._policy().people.values()}
        unknown = sorted(asking.who.people - known)
        if unknown:
            raise AskError("who", "people are named by their ids in the policy, and one of these is not there")

    async def wait(self, question_id: str) -> Conclusion | None:
        """Return how a question ended, when it has; None: there is none.

        A masked value is given once: the store forgets it then (FORM-10).
        """
        ended = await self.ended(question_id)
        if ended is None:
            return None
        await self._store.consume(ended)
        return self.conclusion(ended)

    async def ended(self, question_id: str) -> Question | None:
        """Return when a question has ended, and take nothing of it; None: there is none."""
        future: asyncio.Future[Question] = asyncio.get_running_loop().create_future()
        waiting = self._waiting.setdefault(question_id, set())
        waiting.add(future)
        try:
            known = await self._store.get(question_id)
            if known is None or not known.state.pending:
                return known
            return await future
        finally:
            waiting.discard(future)
            if not waiting:
                self._waiting.pop(question_id, None)

    async def look(self, question_id: str) -> Question | None:
        """A question as it stands."""
        return await self._store.get(question_id)

    async def receipts(self, question_id: str) -> Mapping[str, int]:
        """How many parts that show it are in which state of the outbox."""
        return await self._store.receipts(question_id)

    async def known(self, agent: str, key: str) -> Question | None:
        """The question that an agent has asked with this key before."""
        return await self._store.by_key(agent, key)

    async def look_of(self, agent: str, question_id: str) -> Question | None:
        """A question of this agent as it stands; another one's is as unknown as any."""
        return await self._store.get_of(agent, question_id)

    async def asked_before(self, *, agent: str, key: str, event_id: int) -> Asking | None:
        """What an agent has asked with a key about the same request, as it asked it; None: nothing that is kept."""
        known = await self._store.by_key(agent, key)
        if known is None or known.event_id != event_id or not known.schema:
            return None
        return Asking(text=known.text, schema=known.schema, who=known.who, important=known.important, key=key)

    async def pending(self) -> list[Question]:
        """All that still take an answer."""
        return await self._store.pending()

    async def answered(self, *, since: datetime) -> list[Question]:
        """What the gateway itself has asked and people have answered since a moment."""
        return await self._store.answered(OURS, since=since)

    def conclusion(self, question: Question) -> Conclusion:
        """How a question ended, for its agent: people by their ids in the policy."""
        person = self._policy().person(question.answered_by)
        return Conclusion(
            question_id=question.id,
            state=question.state,
            answer=question.answer,
            answered_by=question.answered_by if person is None else person.id,
            way=question.way,
            at=question.closed_at,
        )

    async def cancel(self, question_id: str) -> bool:
        """Take a question back; whether it still took an answer."""
        return await self._end(question_id, "cancel")

    async def cancel_of(self, event_id: int) -> None:
        """The request was stopped: its questions are taken back."""
        for question in await self._store.pending():
            if question.event_id == event_id:
                await self._end(question.id, "cancel")

    async def run(self) -> None:
        """Let questions expire, until cancelled; a store that fails for a while is asked again."""
        failing = False
        while True:
            try:
                for question in await self._store.pending():
                    if question.expires_at > self._clock():
                        break
                    await self._end(question.id, "expire")
                failing = False
            except StoreError as error:
                if not failing:
                    log.error("questions_not_looked_at", error=type(error).__name__)
                failing = True
            await asyncio.sleep(LOOK_EVERY_S)

    # finding

    async def shown_by(self, destination: Destination, message: str) -> Question | None:
        """The question that a message of ours shows, whether it still takes an answer or not."""
        return await self._store.at(destination, message)

    async def told(self, question: Question, parts: Sequence[int]) -> None:
        """What a person was told about a question can be replied to like the question itself (FORM-8)."""
        await self._store.attach(question.id, parts)

    async def is_shown_in(self, part_id: int) -> bool:
        """Whether a part of the outbox shows a question."""
        return await self._store.of_part(part_id) is not None

    def delivered(self, part_id: int) -> None:
        """A part was delivered: a question that ended while its card was on the way is closed there too.

        The store tells, not this process: the card may have left with the next one.
        """
        task = asyncio.create_task(self._close_late(part_id), name="late card")
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

    async def _close_late(self, part_id: int) -> None:
        try:
            question = await self._store.late(part_id)
            if question is None or question.closed_at is None:
                return
            parts = self._closing_parts(question, await self._store.messages(question.id))
            now = max(self._clock(), question.closed_at)  # what closes a card is never late itself
            self._dispatcher.enqueue(await self._store.show(question, parts, now=now))
        except StoreError as error:
            log.error("late_card_not_closed", error=type(error).__name__)

    # answering

    async def _behind(self, token: str) -> Question | None:
        """The question of a link. Access comes first, also where it was taken away after the question (IDENT-5)."""
        question = await self._store.by_token(digest(token))
        if question is None or question.inside:
            return None
        place = Place(destination=question.destination, chat=question.chat, person=question.person)
        person = self._policy().person(place.other_side)
        denied = Access.DENY in (self._door.settings(place).access, None if person is None else person.access)
        return None if denied else question

    async def open(self, token: str) -> Opened | Gone:
        """See :meth:`bot.ports.questions.Questions.open`."""
        question = await self._behind(token)
        if question is None:
            return Gone.UNKNOWN
        if self._over(question):
            await self._end(question.id, "expire")
            return Gone.EXPIRED
        return Opened(question=question) if question.state.pending else _GONE[question.state]

    async def closed(self, token: str) -> Question | None:
        """See :meth:`bot.ports.questions.Questions.closed`."""
        question = await self._behind(token)
        return None if question is None or question.state.pending else question

    async def submit(
        self, token: str, values: Mapping[str, object], *, by: str | None, way: Way, confirmed: bool = False
    ) -> Outcome:
        """See :meth:`bot.ports.questions.Questions.submit`."""
        question = await self._behind(token)
        if question is None:
            return Gone.UNKNOWN
        if by is not None and not may_answer(self._policy(), question, by):
            return NotYours()
        return await self._answer(question, values, by=by, way=way, confirmed=confirmed)

    async def submit_shown(
        self,
        destination: Destination,
        message: str,
        values: Mapping[str, object],
        *,
        by: str,
        way: Way,
        confirmed: bool = False,
    ) -> Outcome:
        """See :meth:`bot.ports.questions.Questions.submit_shown`."""
        question = await self._store.at(destination, message)
        if question is None:
            return Gone.UNKNOWN
        if not may_answer(self._policy(), question, by):
            return NotYours()
        return await self._answer(question, values, by=by, way=way, confirmed=confirmed)

    async def refuse(self, token: str, errors: Sequence[FieldError]) -> None:
        """See :meth:`bot.ports.questions.Questions.refuse`."""
        question = await self._behind(token)
        if question is not None and question.state.pending:
            changed = replace(question, refused=_refusals(errors))
            await self._store.change(changed, now=self._clock(), note=_codes(errors))

    async def tap(
        self, part_id: int, value: str, *, by: str | None, message: str | None = None
    ) -> Outcome | Kept | None:
        """A button under a question.

        Args:
            part_id: the part of the outbox that carries the button.
            value: what the button stands for.
            by: account of whoever pressed it.
            message: under which it stands: where nobody knew whether the part arrived, it is known now.

        Returns:
            None: the part shows no question.
        """
        question = await self._store.of_part(part_id)
        if question is None:
            return None
        if not question.state.pending:
            return _GONE[question.state]
        if not may_answer(self._policy(), question, by):
            return NotYours()
        if message is not None:
            await self._store.seen(part_id, message, now=self._clock())
        step = tapped(question.form, question.kept, question.view, value)
        match step:
            case Complete(values=values):
                confirmed = question.state is QuestionState.CONFIRMING
                return await self._answer(question, values, by=by, way=Way.TAP, confirmed=confirmed, said=message)
            case Changed(kept=kept, view=view):
                if (kept, view) == (question.kept, question.view):
                    return Kept()  # a tap on something that does nothing
                verb = "keep" if question.state is QuestionState.OPEN else "reopen"
                kept = _without_masked(question.form, kept)
                changed = replace(question, state=after(question.state, verb), kept=kept, view=view)
                done = await self._store.change(changed, now=self._clock(), parts=await self._refreshed(changed))
                if done is None:
                    return Lost()
                self._dispatcher.enqueue(done)
                return Kept()
            case Cancelled():
                await self.decline(question, by=by)
                return Kept()
            case _:
                return Lost()

    def may(self, question: Question, account: str | None) -> bool:
        """Whether a person may answer, by the policy in force now (FORM-9)."""
        return may_answer(self._policy(), question, account)

    async def keep(self, question: Question, kept: Mapping[str, object], errors: Sequence[FieldError]) -> None:
        """Valid values of a partly wrong answer are kept, and the attempt is noted (FORM-2, FORM-8)."""
        if not await self._refuse(question, kept, errors):
            log.info("attempt_not_kept")

    async def _refuse(self, question: Question, kept: Mapping[str, object], errors: Sequence[FieldError]) -> bool:
        """What is being confirmed is what was shown: another answer in its place opens the question again (FORM-12)."""
        changed = replace(question, kept=_without_masked(question.form, kept), refused=_refusals(errors))
        parts: list[NewPart] = []
        if question.state is QuestionState.CONFIRMING:
            changed = replace(changed, state=after(question.state, "reopen"), view="")
            parts = await self._refreshed(changed)
        done = await self._store.change(changed, now=self._clock(), parts=parts, note=_codes(errors))
        self._dispatcher.enqueue(done or ())
        return done is not None

    async def reopen(self, question: Question) -> Outcome | Kept:
        """The answer that was to be confirmed is not the one: it can be changed (FORM-12)."""
        kept = _without_masked(question.form, question.kept)
        changed = replace(question, state=after(question.state, "reopen"), kept=kept, view="")
        done = await self._store.change(changed, now=self._clock(), parts=await self._refreshed(changed))
        if done is None:
            return Lost()
        self._dispatcher.enqueue(done)
        return Kept()

    async def decline(self, question: Question, *, by: str | None) -> bool:
        """A person to whom it is put says no to a question without fields; whether it still took that."""
        return await self._end(question.id, "cancel", by=by)

    async def answer(
        self,
        question: Question,
        values: Mapping[str, object],
        *,
        by: str | None,
        way: Way,
        confirmed: bool = False,
        said: str | None = None,
    ) -> Outcome:
        """Answer a question that a channel has found, as a person whom it has authenticated; ``said``: the message."""
        if not may_answer(self._policy(), question, by):
            return NotYours()
        return await self._answer(question, values, by=by, way=way, confirmed=confirmed, said=said)

    async def settle(
        self, question: Question, values: Mapping[str, object], *, by: str | None, way: Way, said: str | None
    ) -> bool:
        """End a question with an answer that its own room has judged (CLAR: free text beside candidates).

        Returns:
            Whether it still took one, from this person.
        """
        if not question.state.pending or not may_answer(self._policy(), question, by):
            return False
        state = after(question.state, "answer")
        ended = replace(question, state=state, answer=dict(values), kept={}, view="", answered_by=by, way=way)
        return await self._write_end(replace(ended, said=said, closed_at=self._clock()))

    async def _answer(
        self,
        question: Question,
        values: Mapping[str, object],
        *,
        by: str | None,
        way: Way,
        confirmed: bool,
        said: str | None = None,
    ) -> Outcome:
        """Judge, and let one submission win."""
        for _ in range(3):  # another change that came between is looked at
            if self._over(question):
                await self._end(question.id, "expire")
                return Gone.EXPIRED
            if not question.state.pending:
                return _repeated(question, values)
            errors = self._judge(question).errors(dict(values))
            if errors:
                wrong = {error.field for error in errors}
                right = {} if "" in wrong else {name: value for name, value in values.items() if name not in wrong}
                kept = _without_masked(question.form, {**question.kept, **right})
                if await self._refuse(question, kept, errors):
                    return Refused(errors=errors, kept=kept)
            elif question.important and not (confirmed and _is_confirmed(question, values)):
                changed = replace(question, state=after(question.state, "confirm"), kept=dict(values), view=CONFIRM)
                parts = await self._refreshed(changed)
                done = await self._store.change(changed, now=self._clock(), parts=parts)
                if done is not None:
                    self._dispatcher.enqueue(done)
                    return Confirm(question=replace(changed, version=changed.version + 1))
            else:
                answered = replace(
                    question,
                    state=after(question.state, "answer"),
                    answer=dict(values),
                    kept={},
                    view="",
                    answered_by=by,
                    way=way,
                    said=said,
                    closed_at=self._clock(),
                )
                if await self._write_end(answered):
                    return Taken(question=answered)
            again = await self._store.get(question.id)
            if again is None:
                return Gone.UNKNOWN
            question = again
        return Lost()

    # ending

    async def _end(self, question_id: str, verb: str, *, by: str | None = None) -> bool:
        for _ in range(3):
            question = await self._store.get(question_id)
            if question is None or not question.state.pending:
                return False
            state = after(question.state, verb)
            ended = replace(question, state=state, kept={}, view="", closed_at=self._clock(), answered_by=by)
            if await self._write_end(ended):
                return True
        return False

    async def _write_end(self, question: Question) -> bool:
        """Write the end and what closes the cards, one transaction; then the agent wakes."""
        parts = self._closing_parts(question, await self._store.messages(question.id))
        done = await self._store.change(question, now=question.closed_at or self._clock(), parts=parts)
        if done is None:
            return False
        self._dispatcher.enqueue(done)
        if self._follower is not None:
            await self._follower(question)
        for future in self._waiting.get(question.id, ()):
            if not future.done():
                future.set_result(question)
        return True

    def _closing_parts(self, question: Question, messages: Sequence[str]) -> list[NewPart]:
        """What closes the cards of a question that has ended."""
        channel = self._channels.get(question.destination.account)
        if channel is None or not messages:
            return []
        person = self._policy().person(question.answered_by)
        name = "" if person is None else person.display or person.id
        today = self._today(question)
        shown = self._showing.closed(question, channel, messages=messages, person=name, today=today)
        parts = self._cleared(question, shown, None)
        if len(parts) == len(shown):
            return parts
        bare = self._showing.closed_bare(question, channel, messages=messages, person=name)
        return self._cleared(question, bare, None)  # what was typed can't be shown there: the card closes all the same

    async def _refreshed(self, question: Question) -> list[NewPart]:
        """What brings the cards up to date, where buttons under a message can change."""
        channel = self._channels[question.destination.account]
        messages = await self._store.messages(question.id)
        if not messages:
            return []
        shown = self._showing.again(question, channel, messages=messages, today=self._today(question))
        return self._cleared(question, shown, None)

    def _cleared(self, question: Question, parts: Sequence[Part], audience: Audience | None) -> list[NewPart]:
        """The parts that may leave. A card that closes is for whoever reads there now: ``audience`` None."""
        place = Place(destination=question.destination, chat=question.chat, person=question.person)
        settings = self._door.settings(place)
        channel = self._channels[question.destination.account]
        for_whom = settings.audience if audience is None else audience
        again = Resend.RESEND.value  # a card that is brought up to date twice is up to date; one that is not is stuck
        return [
            NewPart(
                lane=channel.lane(part.destination),
                part=part,
                audience=for_whom,
                basis=Basis.REQUEST,
                person=place.other_side,
                chat=place.chat.value,
                event_id=question.event_id,
                unclear=again if channel.repeatable or part.action is Action.EDIT else settings.unclear_sends.value,
            )
            for part in parts
            if self._door.verdict(part, place, Basis.REQUEST, written_for=for_whom) is None
        ]

    # small things

    def _judge(self, question: Question) -> Judge:
        judge = self._judges.get(question.id)
        if judge is None:
            judge = self._judges[question.id] = Judge(question.form)
            while len(self._judges) > _JUDGES:
                self._judges.popitem(last=False)
        return judge

    def _over(self, question: Question) -> bool:
        return question.state.pending and self._clock() >= question.expires_at

    def _today(self, question: Question) -> date:
        return self._clock().astimezone(ZoneInfo(question.timezone)).date()


def _form(asking: Asking) -> Form:
    if not asking.text.strip() or len(asking.text) > MAX_TEXT or not is_text(asking.text):
        raise AskError("text", f"a question has from 1 to {MAX_TEXT} characters of Unicode")
    if not is_text(asking.key or ""):
        raise AskError("key", "a key is of Unicode characters")
    if not TTL_LEAST_S <= asking.ttl_s <= TTL_LONGEST_S:
        raise AskError("ttl", f"ttl_s is from {TTL_LEAST_S} to {TTL_LONGEST_S} seconds")
    if (asking.who.kind is Answerer.PEOPLE) is not bool(asking.who.people):
        raise AskError("who", "people are named with kind people, and with it alone")
    try:
        return read_form(asking.schema)
    except SchemaError as error:
        problems = tuple((problem.path, problem.code, problem.detail) for problem in error.problems)
        first = problems[0] if problems else ("", "schema", "")
        raise AskError("schema", f"{first[0] or '/'}: {first[1]}", problems=problems) from None


def _repeated(question: Question, values: Mapping[str, object]) -> Outcome:
    """The same answer sent twice is taken twice; another one is too late (FORM-7)."""
    if question.state is not QuestionState.ANSWERED:
        return _GONE[question.state]
    if question.answer is None:  # its words are erased by now
        return Lost()
    known = question.answer
    masked = {field.name for field in question.form.fields if field.masked}
    same = _equal(
        {name: value for name, value in values.items() if name not in masked},
        {name: value for name, value in known.items() if name not in masked},
    )
    return Taken(question=question) if same and not masked & values.keys() else Lost()


def _is_confirmed(question: Question, values: Mapping[str, object]) -> bool:
    """FORM-12: the same answer for the second time; what was merely kept has not been answered once."""
    return question.state is QuestionState.CONFIRMING and _equal(values, question.kept)


def _equal(one: Mapping[str, object], other: Mapping[str, object]) -> bool:
    """Equal as JSON: true is not 1."""
    return repr(sorted(one.items())) == repr(sorted(other.items()))


def _without_masked(form: Form, values: Mapping[str, object]) -> dict[str, object]:
    """FORM-10: what is masked is not kept; it has to be typed again."""
    masked = {field.name for field in form.fields if field.masked}
    return {name: value for name, value in values.items() if name not in masked}


def _refusals(errors: Sequence[FieldError]) -> tuple[tuple[str, str], ...]:
    return tuple((error.field, error.code) for error in errors)


def _codes(errors: Sequence[FieldError]) -> str:
    """What was wrong, for the journal: codes, no names and no values."""
    return ",".join(sorted({error.code for error in errors}))[:200]
