"""What time does to approvals: they expire, people are reminded, others are asked, an outcome is lost (APPR-6, 8).

INVARIANT: nothing is kept in memory that a restart would forget: every time comes from the store, and is looked at
again and again.
"""

import asyncio
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from bot.approvals.book import Book
from bot.model.approval import Approval, ApprovalState, Subject
from bot.model.errors import StoreError
from bot.observability.log import get_logger
from bot.ports.approvals import Role
from policy.approvals import escalation_due, reminder_due

log = get_logger(__name__)

LOOK_EVERY_S: Final = 1.0
SHOW_AGAIN: Final = timedelta(seconds=30)
"""Between two tries to show what can be shown nowhere."""
_EXPIRING: Final = frozenset(
    {ApprovalState.PROPOSED, ApprovalState.IN_REVIEW, ApprovalState.RETURNED, ApprovalState.APPROVED}
)


class Timing:
    """Looks at every approval that is not closed."""

    def __init__(self, book: Book) -> None:
        self._book = book
        self._tried: dict[str, datetime] = {}
        self._broken: set[str] = set()
        self._late: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Look again and again, until cancelled; a store that fails for a while is asked again."""
        await self.resume()
        failing = False
        while True:
            try:
                await self.look()
                failing = False
            except StoreError as error:
                if not failing:
                    log.error("approvals_not_looked_at", error=type(error).__name__)
                failing = True
            await asyncio.sleep(LOOK_EVERY_S)

    async def resume(self) -> None:
        """After a restart: what is approved and not used yet is told to whoever executes it."""
        try:
            for approval in await self._book.store.pending():
                if approval.state is ApprovalState.APPROVED:
                    for executor in self._book.executors:
                        executor.approved(approval)
        except StoreError as error:
            log.error("approvals_not_resumed", error=type(error).__name__)

    async def look(self) -> None:
        """Once: do what is due."""
        for approval in await self._book.store.pending():
            try:
                await self._look_at(approval)
            except StoreError:
                raise
            except Exception as error:  # noqa: BLE001 - a fault with one of them is not to hold up the others
                if approval.id not in self._broken:
                    self._broken.add(approval.id)
                    log.error("approval_not_looked_at", error=type(error).__name__)

    async def expired(self, approval: Approval) -> Approval:
        """The approval as it stands now; its time may be over."""
        if not self._over(approval):
            return approval
        await self._book.write(approval, "expire")
        return await self._book.store.get(approval.id) or approval

    def delivered(self, part_id: int) -> None:
        """A part has arrived: a card that something has overtaken is brought up to date there too."""
        task = asyncio.create_task(self._overtaken(part_id), name="late card")
        self._late.add(task)
        task.add_done_callback(self._late.discard)

    async def _overtaken(self, part_id: int) -> None:
        book = self._book
        try:
            approval = await book.store.late(part_id)
            found = None if approval is None else await book.store.of_part(part_id)
            if found is None or found[1] is None:
                return
            await book.show(found[0], book.cards.brought_up_to_date(found[0], [found[1]]))
        except StoreError as error:
            log.error("late_card_not_updated", error=type(error).__name__)

    def _over(self, approval: Approval) -> bool:
        return (
            approval.state in _EXPIRING
            and approval.expires_at is not None
            and self._book.clock() >= approval.expires_at
        )

    async def _look_at(self, approval: Approval) -> None:
        now = self._book.clock()
        if self._over(approval):
            await self._book.write(approval, "expire")
        elif approval.state is ApprovalState.PROPOSED:
            await self._show(approval, now)
        elif approval.state is ApprovalState.IN_REVIEW:
            await self._nudge(approval, now)
        elif approval.state is ApprovalState.CLAIMED:
            await self._lose(approval, now)

    async def _show(self, approval: Approval, now: datetime) -> None:
        """Stored and not shown: cut off by a crash, no place could be reached, or it waits its turn."""
        if not self._book.its_turn(approval):
            return
        tried = self._tried.get(approval.id)
        if tried is None or now - tried >= SHOW_AGAIN:
            self._tried[approval.id] = now
            await self._book.open_cards(approval)
        if len(self._tried) > 10_000:
            self._tried.clear()

    async def _nudge(self, approval: Approval, now: datetime) -> None:
        book = self._book
        requirement, quiet = book.requirement(approval), book.policy().approvals.quiet
        if not approval.escalated and escalation_due(requirement, quiet, since=approval.proposed_at, now=now):
            await self._escalate(approval)
            return
        last = approval.reminded_at or approval.proposed_at
        if reminder_due(requirement, quiet, last=last, now=now):
            standing = await book.store.messages(approval.id, Role.CARD)
            await book.write(approval, "note", shown=book.cards.reminders(approval, standing), reminded_at=now)

    async def _escalate(self, approval: Approval) -> None:
        """Others are asked, too: they may decide from now on, and see it where the policy says."""
        book = self._book
        further = replace(approval, escalated=True)
        there = [place for place, role in await book.store.coming(approval.id, approval.version) if role == Role.CARD]
        shown = book.cards.opened(further, except_at=there)
        unfolded = approval.unfolded | book.cards.whole_at(further)
        await book.write(approval, "note", shown=shown, escalated=True, unfolded=unfolded)

    async def _lose(self, approval: Approval, now: datetime) -> None:
        """APPR-6: no outcome in time. The gateway knows by itself what became of its own sends."""
        if approval.subject is Subject.DRAFT or approval.claimed_at is None:
            return
        if now - approval.claimed_at >= self._book.policy().approvals.outcome_within:
            await self._book.write(approval, "lose")
