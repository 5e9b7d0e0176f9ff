"""Approved drafts are said (AUTO-6, DUR-2): the executor of drafts is the gateway's own door.

    approved, by an operator or by time (AUTO-7) -> checked again (APPR-5) -> claimed and on its way
        -> receipts -> executed | failed | unknown

The door looks at the final bytes, also at those that an operator has approved: an approval waives neither a leak nor a
hard stop.

INVARIANT: the claim and the parts of the outbox that say the words are one transaction, and such a part is never sent
again by itself. So a draft is said at most once, whenever the gateway dies (DUR-3).
"""

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from datetime import timedelta
from typing import Any, Final

from bot.approvals.claiming import may_wait_for_time
from bot.approvals.drafts import is_of, place_of, readers_of, said
from bot.approvals.room import ApprovalRoom
from bot.deliveries.door import Door
from bot.model.approval import Approval, ApprovalState, DecidedBy, Decision, Subject, Verdict
from bot.model.errors import ProposalError, StoreError
from bot.observability.log import get_logger
from bot.ports.approvals import Filings, Role, Shown
from bot.ports.channel import Channel, Reply
from bot.ports.store import NewPart, OutboxState
from bot.texts.codes import Notice
from policy.boundary import Basis
from policy.ruleset import Resend

log = get_logger(__name__)

LOOK_EVERY_S: Final = 1.0
"""For what time decides. What is approved is said at once, and a receipt is taken when it comes."""
HEARD_FOR_S: Final = 5.0
"""Seconds that a platform has been heard without a break before time decides: what an operator has tapped there
meanwhile comes first (AUTO-7)."""
_PAUSED: Final = timedelta(seconds=60)
"""A longer time between two looks: the machine has slept, and nothing was heard."""
_STOPPED, _REFUSED, _DELIVERED, _UNKNOWN = "stopped at the door", "refused by the platform", "delivered", "not known"
_OVER: Final = frozenset(OutboxState) - {OutboxState.READY, OutboxState.SENDING}
_NOT_SAID: Final = frozenset({OutboxState.REJECTED, OutboxState.SKIPPED, OutboxState.RETRACTED})
_REPORTS: Final[Mapping[str, Notice]] = {
    _DELIVERED: Notice.DRAFT_SENT,
    _UNKNOWN: Notice.DRAFT_UNKNOWN,
    _REFUSED: Notice.DRAFT_REFUSED,
    _STOPPED: Notice.DRAFT_STOPPED,
}

Tell = Callable[..., Awaitable[int]]
"""Tells the channels of reports (see :meth:`bot.runtime.reports.Reports.tell`)."""


class Saying:
    """Says approved drafts, each once; see :class:`bot.approvals.book.Executor`."""

    def __init__(
        self,
        *,
        room: ApprovalRoom,
        filings: Filings,
        channels: Mapping[str, Channel],
        door: Door,
        tell: Tell,
    ) -> None:
        """Make it; nothing is read before a call.

        Args:
            room: of approvals.
            filings: knows which message a request was.
            channels: by account.
            door: clears parts.
            tell: tells operators what came of a draft.
        """
        self._room = room
        self._book = room.book
        self._filings = filings
        self._channels = channels
        self._door = door
        self._tell = tell
        self._one_at_a_time = asyncio.Lock()
        self._ending = asyncio.Lock()
        self._looking = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()
        self._heard_since: dict[str, float] = {}
        self._looked_at = self._book.clock()

    def approved(self, approval: Approval) -> None:
        """See :meth:`bot.approvals.book.Executor.approved`."""
        if approval.subject is Subject.DRAFT:
            self._start(self._say(approval))

    def ended(self, part_id: int) -> None:
        """Something came of a part of the outbox."""
        self._start(self._heard(part_id))

    async def run(self) -> None:
        """Settle what an earlier process left, and look again now and then, until cancelled."""
        while True:
            if not self._looking.locked():
                self._start(self.look())
            await asyncio.sleep(LOOK_EVERY_S)

    async def idle(self) -> None:
        """Return when nothing is being claimed or settled."""
        while self._tasks:
            await asyncio.gather(*self._tasks, return_exceptions=True)

    async def close(self, *, grace_s: float) -> None:
        """Let what has begun end for ``grace_s`` seconds; the next process takes up the rest."""
        if self._tasks:
            _, late = await asyncio.wait(self._tasks, timeout=grace_s)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(self._guarded(work), name="draft")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _guarded(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except StoreError as error:  # it is looked at again
            log.error("draft_not_carried_on", error=type(error).__name__)

    async def look(self) -> None:
        """Carry on every draft for which something is due."""
        async with self._looking:
            self._listen()
            for approval in await self._book.store.pending():
                if approval.subject is not Subject.DRAFT:
                    continue
                if approval.state is ApprovalState.APPROVED:
                    await self._say(approval)
                elif approval.state is ApprovalState.CLAIMED:
                    await self._settle(approval)
                elif await self._is_over(approval):
                    await self._approve_by_time(approval)

    # approved by time

    async def _is_over(self, approval: Approval) -> bool:
        """AUTO-7: only what somebody could have seen inside, and on which nobody has acted."""
        if approval.state is not ApprovalState.IN_REVIEW or approval.auto_at is None:
            return False
        if self._book.clock() < approval.auto_at or approval.standing:
            return False
        if not may_wait_for_time(self._book, approval):
            return False
        cards = await self._book.store.messages(approval.id, Role.CARD)
        places = {card.destination.account for card in cards if card.version == approval.version}
        return bool(places) and all(map(self._is_heard, places))

    def _listen(self) -> None:
        """Note which platforms are heard."""
        now = self._book.clock()
        if abs(now - self._looked_at) > _PAUSED:
            self._heard_since.clear()
        self._looked_at = now
        for account, channel in self._channels.items():
            if channel.state == "ok":
                self._heard_since.setdefault(account, _now_s())
            else:
                self._heard_since.pop(account, None)

    def _is_heard(self, account: str) -> bool:
        since = self._heard_since.get(account)
        return since is not None and _now_s() - since >= HEARD_FOR_S

    async def _approve_by_time(self, approval: Approval) -> None:
        decision = Decision(
            version=approval.version,
            verdict=Verdict.APPROVE,
            person="",
            account=None,
            way=DecidedBy.TIME,
            at=self._book.clock(),
        )
        await self._book.write(approval, "approve", decisions=(*approval.decisions, decision), decided_at=decision.at)

    # saying

    async def _say(self, approval: Approval) -> None:
        """Claim it and put its words on their way, one transaction."""
        if approval.origin is None or approval.origin.destination.account not in self._channels:
            return  # its account is not served by this process
        async with self._one_at_a_time:
            standing = await self._book.store.get(approval.id)
            if standing is None or (standing.state, standing.version) != (ApprovalState.APPROVED, approval.version):
                return
            await self._claim(standing)

    async def _claim(self, approval: Approval) -> None:
        try:
            shown, withheld = await self._shown(approval)
        except StoreError:
            raise
        except Exception as error:  # noqa: BLE001 - words may be wrong in any way: then none of them leaves
            log.error("draft_not_shown", error=type(error).__name__)
            shown, withheld = [], True
        try:
            claimed = await self._room.claim(
                approval.id,
                version=approval.version,
                key=f"door:{uuid.uuid4().hex}",
                target_present=None,
                shown=[] if withheld else shown,
            )
        except ProposalError as error:
            await self._refused(approval, error)
            return
        if withheld:
            await self._end(claimed, executed=False, code=_STOPPED)

    async def _shown(self, approval: Approval) -> tuple[list[Shown], bool]:
        """Its parts on the final bytes, and whether one of them may not leave: then none does."""
        origin = approval.origin
        if origin is None:
            return [], True
        place = place_of(origin)
        channel = self._channels[place.destination.account]
        asked_in = None if origin.event_id is None else await self._filings.asked_in(origin.event_id)
        files = await self._book.store.files(approval.id, approval.version)
        to = Reply(destination=place.destination, message=asked_in)
        parts = said(channel, str(approval.action.parameters.get("text", "")), files, to)
        readers = readers_of(approval)
        verdicts = [self._door.verdict(part, place, Basis.DRAFT, written_for=readers) for part in parts]
        verdicts.append(self._door.verdict_together(parts, place, Basis.DRAFT))
        shown = [
            Shown(
                part=NewPart(
                    lane=channel.lane(part.destination),
                    part=part,
                    audience=readers,
                    basis=Basis.DRAFT,
                    person=place.other_side,
                    chat=place.chat.value,
                    event_id=origin.event_id,
                    unclear=Resend.PARK.value,  # whatever the policy says of other messages (DUR-2)
                ),
                role=Role.SEND,
                version=approval.version,
            )
            for part in parts
        ]
        whole = is_of(approval, files) and bool(parts)
        return shown, not whole or any(verdict is not None for verdict in verdicts)

    async def _refused(self, approval: Approval, error: ProposalError) -> None:
        """Approved, and it may not be used any more: the policy has changed since."""
        log.warning("draft_not_claimed", code=error.code)
        standing = await self._book.store.get(approval.id)
        if standing is None or standing.state is not ApprovalState.APPROVED or standing.version != approval.version:
            return
        now = self._book.clock()
        decision = Decision(
            version=standing.version,
            verdict=Verdict.DENY,
            person="",
            account=None,
            way=DecidedBy.POLICY,
            at=now,
            words=str(error),
        )
        await self._book.write(standing, "deny", decisions=(*standing.decisions, decision), decided_at=now)

    # receipts

    async def _heard(self, part_id: int) -> None:
        role = await self._book.store.role_of(part_id)
        if role is not None and role[0] == Role.SEND:
            found = await self._book.store.of_part(part_id)
            if found is not None:
                await self._settle(found[0])

    async def _settle(self, approval: Approval) -> None:
        """What became of all its parts: all are there, none is, or nobody knows (DUR-2)."""
        if approval.state is not ApprovalState.CLAIMED:
            return
        sendings = await self._book.store.sendings(approval.id, approval.version)
        states = {OutboxState(state) for state in sendings.values()}
        if not states <= _OVER:
            return
        if not states:  # it was stopped at the door, and the gateway died before that was written down
            await self._end(approval, executed=False, code=_STOPPED)
        elif states == {OutboxState.DELIVERED}:
            await self._end(approval, executed=True, code=_DELIVERED)
        elif states <= _NOT_SAID:
            await self._end(approval, executed=False, code=_STOPPED if OutboxState.SKIPPED in states else _REFUSED)
        else:
            await self._end(approval, executed=None, code=_UNKNOWN)

    async def _end(self, approval: Approval, *, executed: bool | None, code: str) -> None:
        """Write the outcome and tell it inside, once."""
        async with self._ending:
            known = await self._book.store.get(approval.id)
            if known is None or known.state is not ApprovalState.CLAIMED:
                return
            try:
                await self._room.outcome(approval.id, executed=executed, note=code)
            except ProposalError:  # another process was faster
                return
        await self._tell(_REPORTS[code], code=approval.code)


def _now_s() -> float:
    return asyncio.get_running_loop().time()
