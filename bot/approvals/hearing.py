"""What people say to an approval: taps, replies, commands (APPR-2 to 4, FORM-14).

Who may decide is judged by the room alone; here is only read what was meant, of which version, and whose words are
whose. Decided first, told once after it, in private where the platform can.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from bot.approvals.answering import code_of, is_current, is_justification, read_command, read_reply
from bot.approvals.cards import Cards, Requirements
from bot.approvals.telling import already, barred_by, told
from bot.approvals.words import ApprovalWords
from bot.deliveries.dispatcher import Dispatcher
from bot.deliveries.door import Door, Place
from bot.model.approval import Approval, DecidedBy, Verdict
from bot.model.output import Final as Answer
from bot.observability.log import get_logger
from bot.ports.approvals import (
    Approvals,
    ApprovalStore,
    Outcome,
    PasskeyWanted,
    Role,
    Shown,
    Standing,
    Unseen,
    WordsWanted,
)
from bot.ports.channel import Reply
from bot.ports.hearing import Heard
from bot.questions.hearing import without_address
from bot.questions.showing import plain
from policy.destination import Destination
from policy.entitlement import Bar, entitled
from policy.event import Event
from policy.ruleset import Policy

log = get_logger(__name__)

COMMANDS: Final = {verdict.value: verdict for verdict in Verdict}
_MOST_CODES: Final = 10
_ON_ITS_WAY: Final = timedelta(seconds=30)
"""A second tap meanwhile sends nothing once more."""
Change = Callable[[Approval, Event], Awaitable[bool]]
"""Asks an operator for other values (APPR-3); False: no field can show them."""
Unfold = Callable[[Standing], Awaitable[None]]
"""Everything of a version has arrived somewhere (APPR-2)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Told:
    """What came of a decision, in words."""

    text: str
    asked: bool = False
    unseen: bool = False


class ApprovalHearing:
    """Reads taps and words about approvals."""

    def __init__(
        self,
        room: Approvals,
        *,
        store: ApprovalStore,
        cards: Cards,
        requirement: Requirements,
        policy: Callable[[], Policy],
        door: Door,
        dispatcher: Dispatcher,
        unfold: Unfold,
        change: Change,
        clock: Callable[[], datetime],
    ) -> None:
        """Args: requirement: who may decide now. unfold: what was sent in full can be approved. change: see there."""
        self._room = room
        self._store = store
        self._cards = cards
        self._requirement = requirement
        self._policy = policy
        self._door = door
        self._dispatcher = dispatcher
        self._unfold = unfold
        self._change = change
        self._clock = clock
        self._on_its_way: dict[tuple[str, Destination], datetime] = {}

    # whose matter it is

    async def shows(self, part_id: int) -> bool:
        """Whether a part of the outbox shows an approval."""
        shown = await self._store.role_of(part_id)
        return shown is not None and shown[0] != Role.SEND

    async def awaits(self, event: Event) -> bool:
        """A reply to what shows an approval, or a message in its thread.

        Once it is over a decision is still heard, to be told that it comes too late; and who calls the bot by its name
        and decides nothing speaks to the agent.
        """
        standing = await self._about(event)
        if standing is None:
            return False
        if standing.role.startswith(f"{Role.PROMPT}:"):
            return True
        text = without_address(event, event.text) if event.mentions_self else event.text
        if read_reply(text, standing.approval.code) is not None:
            return True
        return not standing.approval.state.closed and not event.mentions_self

    async def told(self, event: Event, parts: Sequence[int]) -> None:
        """What was told decides nothing more."""

    # taps

    async def tapped(self, part_id: int, value: str, event: Event, *, language: str) -> Heard | None:
        """A button under a card."""
        found = await self._store.of_part(part_id)
        if found is None:
            return None
        approval, _ = found  # whatever came of this part, the button was under this message
        shown = await self._store.role_of(part_id)
        version = "" if shown is None else shown[1]
        words = ApprovalWords(language)
        verb, _, short = value.partition(":")
        if event.sender is None:
            return Heard(toast=words.say("told.not_yours"))
        if not short or not version.startswith(short):  # a button that is not of its own card
            return Heard(toast=words.say("told.stale", code=approval.code))
        return Heard(toast=await self._tapped(approval, version, verb, event, words))

    async def _tapped(self, approval: Approval, version: str, verb: str, event: Event, words: ApprovalWords) -> str:
        match verb:
            case "approve" | "deny":
                came = await self._decide(approval, version, Verdict(verb), event, DecidedBy.TAP, words)
                return came.text
            case "why" | "return":
                verdict = Verdict.DENY if verb == "why" else Verdict.RETURN
                barred = self._barred(approval, version, event, words, verdict)
                if barred is None:
                    await self._ask_for_words(approval, verdict, event)
                return barred or words.say("told.asked")
            case "full":
                barred = self._barred(approval, version, event, words, Verdict.DENY)
                if barred is None:
                    await self._show_in_full(approval, event)
                return barred or words.say("told.full")
            case "change":
                barred = self._barred(approval, version, event, words, Verdict.APPROVE)
                if barred is None:
                    await self._room.hold(approval.id, version)
                if barred is None and not await self._change(approval, event):
                    barred = words.say("edit.none", code=approval.code)
                return barred or words.say("told.change")
            case _:
                return words.say("told.stale", code=approval.code)

    # words

    async def replied(self, event: Event, text: str, *, language: str) -> Heard | None:
        """A reply to a card or to a question for words; other conversation stays unanswered."""
        standing = await self._about(event)
        if standing is None:
            return None
        words = ApprovalWords(language)
        role, _, rest = standing.role.partition(":")
        said = without_address(event, text) if event.mentions_self else text
        if event.sender is None:
            return Heard()
        if role == Role.PROMPT:
            return await self._given(standing, rest, said, event, words)
        return await self._answered(standing, said, event, words)

    async def _given(self, standing: Standing, rest: str, text: str, event: Event, words: ApprovalWords) -> Heard:
        """The words of a decision: from the person who was asked for them, and from nobody else (D-023)."""
        verdict, _, account = rest.partition(":")
        if event.sender != account or not self._is_reply_to(event, standing) or not text.strip():
            return Heard()
        if verdict == Verdict.APPROVE and not is_justification(text):
            return _say(words.say("told.justify"))
        came = await self._decide(
            standing.approval,
            standing.version,
            Verdict(verdict),
            event,
            DecidedBy.REPLY,
            words,
            said=text.strip(),
            at=standing.destination,
        )
        return _say(came.text)

    async def _answered(self, standing: Standing, text: str, event: Event, words: ApprovalWords) -> Heard:
        approval = standing.approval
        read = read_reply(text, approval.code)
        if read is None:
            may = self._barred(approval, standing.version, event, words, Verdict.DENY) is None
            direct = self._is_reply_to(event, standing) and standing.role == Role.CARD
            return _say(words.say("told.unclear")) if may and direct else Heard()
        if read.weak and not (standing.role == Role.CARD and self._is_reply_to(event, standing)):
            return Heard()
        came = await self._decide(
            approval,
            standing.version,
            read.verdict,
            event,
            DecidedBy.REPLY,
            words,
            said=read.words,
            at=standing.destination,
        )
        return Heard() if came.asked else _say(came.text)

    async def commanded(self, event: Event, text: str, *, language: str) -> Heard | None:
        """``approve CODE``, ``deny CODE reason``, ``return CODE comment``: on the inside alone (OUT-8)."""
        verdict = None if event.command is None else COMMANDS.get(event.command.name)
        if verdict is None or event.sender is None:
            return None
        place = _place(event)
        if not self._door.settings(place).audience.trusted:
            return None
        words = ApprovalWords(language)
        person = self._policy().person(event.sender)
        if person is None or not person.operator:
            return _say(words.say("told.not_yours"))
        standing = await self._about(event)
        ordered = read_command(text)
        at: Destination | None = None
        if standing is not None and ordered.code in ("", standing.approval.code):  # as a reply to the card
            said = ordered.words
            approval, version, at = standing.approval, standing.version, standing.destination
            if verdict is Verdict.APPROVE and said and not version.startswith(said.lower()):
                return _say(words.say("told.unclear"))
            said = "" if verdict is Verdict.APPROVE else said
        else:
            if not ordered.code:
                return _say(await self._which(verdict, event, words))
            found = await self._room.by_code(ordered.code)
            if found is None:
                return _say(words.say("told.no_such"))
            approval, version, said = found, found.version, ordered.words
            if verdict is Verdict.APPROVE:
                if not is_current(approval, said):
                    return _say(words.say("told.newer", code=approval.code, example=f"approve {code_of(approval)}"))
                said = ""
        came = await self._decide(approval, version, verdict, event, DecidedBy.COMMAND, words, said=said, at=at)
        if came.unseen and at is None and await self._show_here(approval, event):
            return _say(words.say("told.look", code=approval.code))
        return Heard() if came.asked else _say(came.text)

    async def _show_here(self, approval: Approval, event: Event) -> bool:
        """Somebody would approve by its code what was not shown where they are: it is, and then they can."""
        there = await self._store.places(approval.id, approval.version)
        if (event.destination, Role.CARD) in there:
            return False
        shown, whole = self._cards.here(approval, _place(event), Reply(destination=event.destination))
        await self._show(approval, shown)
        if whole and shown:
            await self._room.unfold(approval.id, approval.version, event.destination)
        return bool(shown)

    async def _which(self, verdict: Verdict, event: Event, words: ApprovalWords) -> str:
        """Never the latest one: the codes of those that this person could decide (D-017)."""
        codes = [
            one.code
            for one in await self._room.pending()
            if self._barred(one, one.version, event, words, verdict) is None
        ][:_MOST_CODES]
        if not codes:
            return words.say("told.nothing")
        if len(codes) == 1:
            return words.say("told.no_code", example=f"{verdict.value} {codes[0]}")
        return words.say("told.which", codes=", ".join(codes))

    # deciding

    async def _decide(
        self,
        approval: Approval,
        version: str,
        verdict: Verdict,
        event: Event,
        way: DecidedBy,
        words: ApprovalWords,
        *,
        said: str = "",
        at: Destination | None = None,
    ) -> _Told:
        if event.sender is None:
            return _Told(text=words.say("told.not_yours"))
        outcome = await self._room.decide(
            approval.id, version, verdict, by=event.sender, way=way, at=at or event.destination, words=said
        )
        if isinstance(outcome, WordsWanted):
            await self._ask_for_words(outcome.approval, verdict, event)
            return _Told(text=words.say("told.words"), asked=True)
        return _Told(text=self._told(outcome, approval, verdict, words), unseen=isinstance(outcome, Unseen))

    def _told(self, outcome: Outcome, approval: Approval, verdict: Verdict, words: ApprovalWords) -> str:
        page = self._cards.page(outcome.approval) if isinstance(outcome, PasskeyWanted) else ""
        return told(outcome, approval.code, verdict, words, people=self._people(), page=page)

    def _people(self) -> dict[str, str]:
        return {person.id: person.display or person.id for person in self._policy().people.values()}

    def _barred(
        self, approval: Approval, version: str, event: Event, words: ApprovalWords, verdict: Verdict
    ) -> str | None:
        """Why somebody is not even asked for more; None: they may decide it."""
        may = entitled(
            self._policy(),
            self._requirement(approval),
            event.sender or "",
            requester=None if approval.origin is None else approval.origin.requester,
            voices=(),
            approving=verdict is Verdict.APPROVE,
            now=self._clock(),
        )
        if isinstance(may, Bar):
            return barred_by(may.value, approval.code, words)
        if version != approval.version:
            return words.say("told.stale", code=approval.code)
        return None if approval.state.undecided else already(approval, words, self._people())

    # showing more

    async def _ask_for_words(self, approval: Approval, verdict: Verdict, event: Event) -> None:
        await self._room.hold(approval.id, approval.version)
        to = Reply(destination=event.destination, message=event.message)
        shown = self._cards.words_wanted(approval, verdict, event.sender or "", place=_place(event), to=to)
        await self._show(approval, shown)

    async def _show_in_full(self, approval: Approval, event: Event) -> None:
        """Everything goes there once; that it arrived unfolds the card."""
        for one in await self._store.messages(approval.id, Role.FULL):
            if (one.version, one.destination) == (approval.version, event.destination):
                await self._unfold(one)  # it arrived before a restart, say
                return
        key, now = (approval.version, event.destination), self._clock()
        if key in self._on_its_way and now - self._on_its_way[key] < _ON_ITS_WAY:
            return
        self._on_its_way = {one: at for one, at in self._on_its_way.items() if now - at < _ON_ITS_WAY} | {key: now}
        to = Reply(destination=event.destination, message=event.message)
        await self._show(approval, self._cards.full(approval, _place(event), to))

    async def _show(self, approval: Approval, shown: Sequence[Shown]) -> None:
        self._dispatcher.enqueue(await self._store.show(approval, shown, now=self._clock()))

    # finding

    async def _about(self, event: Event) -> Standing | None:
        """The message of ours that somebody answers: by a reply, or in its thread.

        What was said to the outside is no matter of its readers (OUT-8).
        """
        for message in (None if event.reply is None else event.reply.message, event.destination.thread):
            if message is not None:
                standing = await self._store.at(event.destination, message)
                if standing is not None and standing.role != Role.SEND:
                    return standing
        return None

    def _is_reply_to(self, event: Event, standing: Standing) -> bool:
        return event.reply is not None and event.reply.message == standing.message


def _say(text: str) -> Heard:
    """Inside alone: a card may stand in a room in which outsiders read along by now (OUT-8)."""
    return Heard(says=Answer(text=plain(text)), inside=True)


def _place(event: Event) -> Place:
    return Place(destination=event.destination, chat=event.chat, person=event.sender)
