"""Deciding about one version of an approval (APPR-2, 3, 7 to 9): who may, what they have to have seen, what it needs.

INVARIANT: a decision counts for the version that was shown and for no other. Of two that race one wins.
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Final

from bot.approvals.book import Book, requester_of
from bot.approvals.timing import Timing
from bot.model.approval import Approval, ApprovalState, Assurance, DecidedBy, Decision, Subject, Verdict
from bot.ports.approvals import (
    Already,
    Decided,
    NoSuch,
    NotEntitled,
    Outcome,
    PasskeyWanted,
    Stale,
    Unseen,
    WordsWanted,
)
from policy.approvals import Forbid
from policy.destination import Destination
from policy.entitlement import Bar, Voice, entitled

SHORTEST_VERSION: Final = 16
"""Digits of a version that a button carries."""
MAX_WORDS: Final = 4_000
_TRIES: Final = 5
_VERBS: Final[Mapping[Verdict, str]] = {
    Verdict.APPROVE: "approve",
    Verdict.DENY: "deny",
    Verdict.RETURN: "return",
}


class Deciding:
    """Takes decisions, or says why it can't."""

    def __init__(self, book: Book, timing: Timing) -> None:
        """Args: timing: knows what has expired."""
        self._book = book
        self._timing = timing

    async def decide(
        self,
        approval_id: str,
        version: str,
        verdict: Verdict,
        *,
        by: str,
        way: DecidedBy,
        at: Destination | None,
        words: str = "",
        proof: bytes | None = None,
    ) -> Outcome:
        """See :meth:`bot.ports.approvals.Approvals.decide`."""
        words = words.strip()[:MAX_WORDS]
        for _ in range(_TRIES):
            approval = await self._book.store.get(approval_id)
            if approval is None:
                return NoSuch()
            approval = await self._timing.expired(approval)
            barred = await self._barred(approval, version, verdict, by=by, way=way, at=at, words=words, proof=proof)
            if not isinstance(barred, Voice):
                return barred
            now = self._book.clock()
            decision = Decision(
                version=approval.version,
                verdict=verdict,
                person=barred.person,
                account=by,
                way=way,
                at=now,
                words=words,
                for_whom=barred.for_whom,
                assurance=self._wanted(approval, verdict),
                proof=proof,
            )
            voiced = replace(approval, decisions=(*approval.decisions, decision))
            if verdict is Verdict.APPROVE and barred not in self._book.voices(voiced):
                return PasskeyWanted(approval=approval)  # its proof does not hold: a voice that counts for nothing
            if verdict is Verdict.APPROVE and not self._book.is_full(voiced):
                written = await self._book.write(approval, "note", decisions=voiced.decisions)
            else:
                written = await self._decide(approval, verdict, decision)
            if written is not None:
                return Decided(approval=written)
        approval = await self._book.store.get(approval_id)
        return NoSuch() if approval is None else Already(approval=approval)

    async def hold(self, approval_id: str, version: str) -> None:
        """Somebody has begun to deny, return or change it: time decides nothing any more (AUTO-7)."""
        for _ in range(_TRIES):
            approval = await self._book.store.get(approval_id)
            if approval is None or approval.auto_at is None or not approval.state.undecided:
                return
            if not is_version(approval, version):
                return
            if await self._book.write(approval, "note", auto_at=None) is not None:
                return

    async def _barred(
        self,
        approval: Approval,
        version: str,
        verdict: Verdict,
        *,
        by: str,
        way: DecidedBy,
        at: Destination | None,
        words: str,
        proof: bytes | None,
    ) -> Outcome | Voice:
        """Why a decision can't be taken, or in whose name it is."""
        # of two taps that race the first wins, and the other is told so; words can still take it back
        approved = approval.state is ApprovalState.APPROVED
        taking_back = approved and verdict is Verdict.DENY and way is not DecidedBy.TAP
        if not (approval.state.undecided or taking_back):
            return Already(approval=approval)
        if not is_version(approval, version):
            return Stale(approval=approval)
        voice = self.who(approval, by, approving=verdict is Verdict.APPROVE)
        if isinstance(voice, Bar):
            return NotEntitled(why=voice.value)
        if verdict is Verdict.RETURN and not words:
            return WordsWanted(approval=approval)
        if verdict is not Verdict.APPROVE:
            return voice
        if isinstance(self._book.judged(approval), Forbid):  # since it was proposed
            await self._forbid(approval)
            return Already(approval=await self._again(approval))
        if at is not None and not await self._was_seen(approval, at):
            return Unseen(approval=approval)
        if self._book.wants_passkey(approval) and (way is not DecidedBy.PASSKEY or proof is None):
            return PasskeyWanted(approval=approval)
        if not words and any(not gate.passed for gate in approval.proposal.gates):
            return WordsWanted(approval=approval)
        return voice

    def may_approve(self, approval: Approval, account: str) -> bool:
        """Whether somebody may approve it now, by the policy in force."""
        return isinstance(self.who(approval, account, approving=True), Voice)

    def who(self, approval: Approval, account: str, *, approving: bool) -> Voice | Bar:
        """In whose name somebody may decide now, or why not (APPR-8)."""
        return entitled(
            self._book.policy(),
            self._book.widened(approval),
            account,
            requester=requester_of(approval),
            voices=self._book.voices(approval),
            approving=approving,
            now=self._book.clock(),
        )

    def _wanted(self, approval: Approval, verdict: Verdict) -> Assurance:
        """What is wanted of a decision now; denying and returning is free."""
        high = verdict is Verdict.APPROVE and self._book.wants_passkey(approval)
        return Assurance.HIGH if high else Assurance.NORMAL

    async def _was_seen(self, approval: Approval, at: Destination) -> bool:
        """APPR-2: a card of this version has gone there, and everything of it could be read there."""
        here = {at, at.room}  # what is said in a thread is said before the eyes of its room
        if not approval.unfolded & {str(place) for place in here}:
            return False
        return any(place in here for place, _ in await self._book.store.places(approval.id, approval.version))

    async def _decide(self, approval: Approval, verdict: Verdict, decision: Decision) -> Approval | None:
        now = decision.at
        expires_at = approval.expires_at
        if verdict is Verdict.APPROVE and approval.subject is Subject.CALL:
            expires_at = now + self._book.policy().approvals.claim_within
        return await self._book.write(
            approval,
            _VERBS[verdict],
            decisions=(*approval.decisions, decision),
            decided_at=now,
            expires_at=expires_at,
        )

    async def _forbid(self, approval: Approval) -> None:
        denied = by_policy(approval, Verdict.DENY, self._book.clock()).decisions[-1]
        await self._decide(approval, Verdict.DENY, denied)

    async def _again(self, approval: Approval) -> Approval:
        return await self._book.store.get(approval.id) or approval


def by_policy(approval: Approval, verdict: Verdict, now: datetime) -> Approval:
    """It is decided by a rule, and by nobody."""
    decision = Decision(
        version=approval.version, verdict=verdict, person="", account=None, way=DecidedBy.POLICY, at=now
    )
    state = ApprovalState.APPROVED if verdict is Verdict.APPROVE else ApprovalState.DENIED
    return replace(approval, state=state, decisions=(*approval.decisions, decision), decided_at=now)


def is_version(approval: Approval, version: str) -> bool:
    """Whether it is the version that stands, in full or as a button carries it."""
    return len(version) >= SHORTEST_VERSION and approval.version.startswith(version)
