"""Drafts (AUTO-6, AUTO-7, OUT-8): words that an operator has to approve before they are said.

    filed -> shown inside -> approved, by an operator or by time -> sent (bot.approvals.saying)
      |__ filed again: a new version, and every earlier button is void

A draft is an approval whose action is to say exactly these words at exactly this destination. There is one for each
destination. What is approved is what is sent: the text as the card shows it, without formatting and without a footer.

INVARIANT: a draft enters the store in the transaction that ends its request. A request that is worked on again after
a crash has left no draft, and one that has left one is not worked on again (DUR-3).
"""

import hashlib
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any, Final

from bot.approvals.book import Book
from bot.approvals.claiming import may_wait_for_time
from bot.approvals.proposing import check_action, new_code
from bot.approvals.room import anew
from bot.approvals.states import after
from bot.deliveries.dispatcher import Dispatcher
from bot.deliveries.door import Door, Place
from bot.model.approval import ITSELF, SAY, Action, Approval, ApprovalState, Origin, Proposal, Subject
from bot.model.errors import ProposalError, StoreError
from bot.model.output import Final as Answer
from bot.model.output import OutFile
from bot.model.part import Part
from bot.model.request import ContextItem
from bot.ports.approvals import Filings, Role
from bot.ports.channel import Channel, Reply
from bot.ports.store import Ending
from policy.approvals import Forbid
from policy.boundary import Basis, Speech
from policy.decision import Audience
from policy.destination import Destination

TASK_LONGEST: Final = 500
"""Characters of the request that a card shows; it decides nothing."""
_TRIES: Final = 5


@dataclass(frozen=True, kw_only=True, slots=True)
class Draft:
    """What an agent has written, and may not say by itself.

    Attributes:
        request: id of the request that it answers.
        agent: that wrote it.
        origin: where it is to be said, and whose request it answers.
        language: of the gateway's words there.
        readers: for whom it was written; words for trusted readers stay with them (OUT-5).
        text: exactly what is to be sent.
        files: that go with it.
        task: the words of the request.
        auto_after_s: seconds after which it is approved by time, if the policy allows that; None: never.
    """

    request: str
    agent: str
    origin: Origin
    language: str
    readers: Audience
    text: str = field(repr=False)
    files: tuple[OutFile, ...] = ()
    task: str = field(default="", repr=False)
    auto_after_s: int | None = None


def written(answer: Answer) -> str:
    """An answer in words that every channel shows as they are; a card becomes lines under them.

    What no channel could carry (control characters, halves of surrogate pairs, blanks around it) is gone from here on:
    what is filed is what is shown and sent.
    """
    lines = [answer.text]
    if answer.card is not None:
        card = answer.card
        lines += [card.title, *(f"{name}: {value}" for name, value in card.rows)]
        lines += [f"- {button.label}" for button in card.buttons]
    text = "\n".join(line for line in lines if line)
    text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return "".join(sign for sign in text if sign in "\n\t" or not (ord(sign) < 32 or 127 <= ord(sign) < 160)).strip()


class Drafts:
    """Files drafts."""

    def __init__(
        self,
        *,
        book: Book,
        filings: Filings,
        channels: Mapping[str, Channel],
        dispatcher: Dispatcher,
        door: Door,
    ) -> None:
        """Make it; nothing is read before a call.

        Args:
            book: of the room of approvals.
            filings: where drafts are filed.
            channels: by account.
            dispatcher: carries parts out.
            door: clears them.
        """
        self._book = book
        self._filings = filings
        self._channels = channels
        self._dispatcher = dispatcher
        self._door = door

    def flaws(self, draft: Draft) -> set[str]:
        """Why it could not be sent even if it were approved, in bounded codes: then it is not filed (AUTO-5)."""
        place = place_of(draft.origin)
        try:
            check_action(_action(draft, filing=1))
        except ProposalError as error:
            return {error.code}
        if isinstance(self._book.judged(self._new(draft)), Forbid):
            return {"forbidden"}
        channel = self._channels[place.destination.account]
        parts = said(channel, draft.text, draft.files, Reply(destination=place.destination))
        found = [self._door.verdict(part, place, Basis.DRAFT, written_for=draft.readers) for part in parts]
        found.append(self._door.verdict_together(parts, place, Basis.DRAFT))
        return {one.value for one in found if one is not None}

    async def file(self, draft: Draft, *, ending: Ending) -> Approval:
        """File a draft as the end of its request; the one before it of this destination is void (AUTO-6).

        Raises:
            StoreError: it could not be filed, and the request has not ended.
        """
        store = self._book.store
        for _ in range(_TRIES):
            standing = await store.draft_for(draft.origin.destination)
            if standing is not None and standing.agent != draft.agent:  # another agent speaks there now
                await self._book.write(standing, "cancel")
                continue
            if standing is None:
                filed, verb, shown = self._new(draft), None, []
                if await store.by_code(filed.code) is not None:
                    continue
            else:
                filed, verb = self._again(standing, draft), "revise"
                old = await store.messages(standing.id, Role.CARD)
                shown = self._book.cards.brought_up_to_date(
                    filed, [one for one in old if one.version == standing.version]
                )
            waiting = await self._filings.file(
                filed,
                verb=verb,
                shown=shown,
                files=draft.files,
                ending=ending,
                now=self._book.clock(),
            )
            if waiting is not None:
                self._dispatcher.enqueue(waiting)
                if verb is not None:
                    filed = replace(filed, revision=filed.revision + 1)
                self._book.wake(filed)
                return await self._book.open_cards(filed)  # where it is cut off here, the room opens them later
        raise StoreError("a draft could not be filed: others were first again and again", passing=True)

    async def context(self, destination: Destination, agent: str) -> tuple[ContextItem, ...]:
        """What an agent learns of its own draft there with the next request: the text, and why it was returned."""
        standing = await self._book.store.draft_for(destination)
        if standing is None or standing.agent != agent:
            return ()
        items = [ContextItem(kind="draft", text=str(standing.action.parameters.get("text", "")))]
        if standing.state is ApprovalState.RETURNED and standing.decisions:
            returned = standing.decisions[-1]
            items.append(ContextItem(kind="returned", text=returned.words, sender=returned.person, at=returned.at))
        return tuple(items)

    def _new(self, draft: Draft) -> Approval:
        now, approval_id = self._book.clock(), uuid.uuid4().hex
        action = _action(draft, filing=1)
        filed = Approval(
            id=approval_id,
            code=new_code(),
            agent=draft.agent,
            key=f"{draft.request}:{approval_id}",
            subject=Subject.DRAFT,
            proposal=Proposal(action=action, task=_task(draft)),
            version=action.version,
            origin=draft.origin,
            language=draft.language,
            proposed_at=now,
            expires_at=None,  # a draft without a deadline waits for ever (AUTO-7)
        )
        return self._judged(filed, draft)

    def _again(self, standing: Approval, draft: Draft) -> Approval:
        """The same text filed again is another version, too: nothing that was shown before decides on it (AUTO-6)."""
        action = _action(draft, filing=_filing(standing) + 1)
        filed = replace(
            standing,
            state=after(standing.state, "revise"),
            proposal=Proposal(action=action, task=_task(draft)),
            origin=draft.origin,
            expires_at=None,
            escalated=False,
            **anew(standing, action.version, by=""),
        )
        return self._judged(filed, draft)

    def _judged(self, filed: Approval, draft: Draft) -> Approval:
        """With the rule that asks for it, and the deadline where the policy lets time approve it (AUTO-7)."""
        auto_at = None
        if draft.auto_after_s is not None and may_wait_for_time(self._book, filed):
            auto_at = self._book.clock() + timedelta(seconds=draft.auto_after_s)
        return replace(filed, rule=self._book.judged(filed).rule, auto_at=auto_at)


def place_of(origin: Origin) -> Place:
    """Where a draft is to be said."""
    return Place(destination=origin.destination, chat=origin.chat, person=origin.person)


def said(channel: Channel, text: str, files: tuple[OutFile, ...], to: Reply) -> tuple[Part, ...]:
    """The words of a draft in their final form: as they are."""
    return channel.present(Speech.FINAL, Answer(text=text, files=files, verbatim=True), to=to)


def _action(draft: Draft, *, filing: int) -> Action:
    """What is approved: the place, the words and the files; and which filing it is, from the second on."""
    parameters: dict[str, Any] = {
        "destination": str(draft.origin.destination),
        "text": draft.text,
        "files": _listed(draft.files),
    }
    if draft.readers.trusted:
        parameters["readers"] = draft.readers.value
    if filing > 1:
        parameters["filing"] = filing
    return Action(name=SAY, system=ITSELF, parameters=parameters)


def _filing(standing: Approval) -> int:
    """Which filing it is; what an operator has changed in it counts, too."""
    said = standing.action.parameters.get("filing", 1)
    return max(said if isinstance(said, int) else 1, len(standing.replaced) + 1)


def readers_of(approval: Approval) -> Audience:
    """For whom a draft was written."""
    try:
        return Audience(approval.action.parameters.get("readers", Audience.EXTERNAL.value))
    except ValueError:
        return Audience.UNKNOWN


def is_of(approval: Approval, files: tuple[OutFile, ...]) -> bool:
    """Whether what was approved is this place, a text, and exactly these files."""
    parameters = approval.action.parameters
    return (
        approval.origin is not None
        and parameters.get("destination") == str(approval.origin.destination)
        and isinstance(parameters.get("text"), str)
        and parameters.get("files") == _listed(files)
    )


def _listed(files: tuple[OutFile, ...]) -> list[dict[str, Any]]:
    return [
        {
            "name": file.name,
            "media_type": file.media_type,
            "size": len(file.content),
            "sha256": hashlib.sha256(file.content).hexdigest(),
        }
        for file in files
    ]


def _task(draft: Draft) -> str:
    return draft.task if len(draft.task) <= TASK_LONGEST else f"{draft.task[:TASK_LONGEST]} …"
