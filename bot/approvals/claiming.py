"""Using an approval, once, and what came of it (APPR-5, APPR-6).

INVARIANT: between a claim and its outcome the action may have happened. Whoever can't tell gets "unknown", which nobody
repeats before somebody has found out.
"""

import asyncio
from collections.abc import Sequence
from typing import Final

from bot.approvals.book import Book
from bot.approvals.proposing import MAX_NOTE
from bot.model.approval import Approval, ApprovalState, DecidedBy, Subject, Verdict
from bot.model.errors import ProposalError
from bot.ports.approvals import Shown
from policy.approvals import Allow, Forbid
from policy.audience import settings_of

_USED: Final = frozenset({ApprovalState.CLAIMED, ApprovalState.EXECUTED, ApprovalState.FAILED, ApprovalState.UNKNOWN})
_TOLD: Final = {ApprovalState.EXECUTED: True, ApprovalState.FAILED: False, ApprovalState.UNKNOWN: None}
_VERBS: Final = {True: "execute", False: "fail", None: "lose"}
_TRIES: Final = 5


class Claiming:
    """Claims, outcomes, reconciliations; and what agents take back."""

    def __init__(self, book: Book) -> None:
        self._book = book
        self._one_at_a_time = asyncio.Lock()

    async def claim(
        self,
        approval_id: str,
        *,
        version: str,
        key: str,
        target_present: bool | None,
        shown: Sequence[Shown] = (),
    ) -> Approval:
        """See :meth:`bot.ports.approvals.Approvals.claim`; ``shown`` goes out with it, in the same transaction."""
        if not key:
            raise ProposalError("key", "a claim has a key, so that it can be made again")
        async with self._one_at_a_time:  # two approvals of the same action are used one after the other
            for _ in range(_TRIES):
                approval = await self._existing(approval_id)
                if approval.state in _USED and approval.claim_key == key and approval.version == version:
                    return approval
                await self.check(approval, version=version, target_present=target_present)
                written = await self._book.write(
                    approval, "claim", shown=shown, claim_key=key, claimed_at=self._book.clock(), expires_at=None
                )
                if written is not None:
                    return written
        raise ProposalError("state", "it keeps changing; look at it again")

    async def outcome(self, approval_id: str, *, executed: bool | None, note: str) -> Approval:
        """See :meth:`bot.ports.approvals.Approvals.outcome`."""
        for _ in range(_TRIES):
            approval = await self._existing(approval_id)
            if approval.state in _TOLD:
                if _TOLD[approval.state] is executed:
                    return approval
                unknown = approval.state is ApprovalState.UNKNOWN
                raise ProposalError(
                    "unreconciled" if unknown else "already_decided",
                    "its outcome is unknown by now: somebody has to reconcile it"
                    if unknown
                    else f"it is {approval.state.value} already",
                )
            if approval.state is not ApprovalState.CLAIMED:
                raise ProposalError("state", f"it is {approval.state.value} and was not claimed")
            written = await self._book.write(approval, _VERBS[executed], note=note[:MAX_NOTE])
            if written is not None:
                return written
        raise ProposalError("state", "it keeps changing; look at it again")

    async def reconcile(self, approval_id: str, *, executed: bool, evidence: str, by: str) -> Approval:
        """See :meth:`bot.ports.approvals.Approvals.reconcile`."""
        evidence = evidence.strip()
        if not evidence:
            raise ProposalError("evidence", "say how you know what became of it")
        for _ in range(_TRIES):
            approval = await self._existing(approval_id)
            if approval.state is not ApprovalState.UNKNOWN:
                raise ProposalError("state", f"it is {approval.state.value}, not unknown")
            note = f"{by}: {evidence}"[:MAX_NOTE]
            written = await self._book.write(approval, _VERBS[executed], note=note)
            if written is not None:
                return written
        raise ProposalError("state", "it keeps changing; look at it again")

    async def cancel(self, approval_id: str) -> Approval:
        """See :meth:`bot.ports.approvals.Approvals.cancel`."""
        for _ in range(_TRIES):
            approval = await self._existing(approval_id)
            if approval.state is ApprovalState.CANCELLED:
                return approval
            if approval.state.closed:
                raise ProposalError("already_decided", f"it is {approval.state.value}")
            if approval.state in _USED:
                raise ProposalError("claimed", "it is used already")
            written = await self._book.write(approval, "cancel")
            if written is not None:
                return written
        raise ProposalError("state", "it keeps changing; look at it again")

    async def check(self, approval: Approval, *, version: str, target_present: bool | None) -> None:
        """Everything again, by the policy in force now (APPR-5).

        Raises:
            ProposalError: it can't be used.
        """
        if approval.state in _USED:
            raise ProposalError("claimed", "it was used already")
        if approval.state is ApprovalState.EXPIRED:
            raise ProposalError("expired", "it is expired")
        if approval.state is not ApprovalState.APPROVED:
            raise ProposalError("not_approved", f"it is {approval.state.value}")
        if approval.expires_at is not None and self._book.clock() >= approval.expires_at:
            await self._book.write(approval, "expire")
            raise ProposalError("expired", "it was not used in time")
        if not version == approval.version == approval.action.version:
            raise ProposalError("version", "another version was approved")
        if approval.proposal.target and target_present is not True:
            raise ProposalError("target", "its target was not found again")
        if isinstance(self._book.judged(approval), Forbid):
            raise ProposalError("forbidden", "the policy forbids this action")
        if not self._stands(approval):
            raise ProposalError("not_approved", "who approved it may not do so any more")
        other = await self._book.store.unreconciled(approval.agent, approval.version)
        if other is not None and other.id != approval.id:
            raise ProposalError("unreconciled", "nobody knows yet what became of the same action")

    def _stands(self, approval: Approval) -> bool:
        """Whether it would be approved by the policy in force now."""
        if isinstance(self._book.judged(approval), Allow):
            return True
        by_time = any(one.way is DecidedBy.TIME and one.verdict is Verdict.APPROVE for one in approval.standing)
        if by_time and approval.subject is Subject.DRAFT and may_wait_for_time(self._book, approval):
            return True
        return self._book.is_full(approval)

    async def _existing(self, approval_id: str) -> Approval:
        approval = await self._book.store.get(approval_id)
        if approval is None:
            raise ProposalError("unknown", "there is no such approval")
        return approval


def may_wait_for_time(book: Book, approval: Approval) -> bool:
    """Whether the policy in force lets time approve drafts for that place, and asks for no more than one (AUTO-7)."""
    origin = approval.origin
    if origin is None or book.wants_passkey(approval) or book.requirement(approval).quorum > 1:
        return False
    settings = settings_of(book.policy(), origin.destination, chat=origin.chat, person=origin.person)
    return settings.autonomy.auto_after
