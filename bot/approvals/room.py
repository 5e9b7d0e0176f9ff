"""The room of approvals (APPR-3 to 8): proposed, shown, decided, used once, and the outcome told.

    propose -> judged by the policy -> approved | denied | stored and shown --decide--> approved --claim--> outcome
                                                         |__ revise: a new version, everything anew
                                                         |__ returned, expired, cancelled

INVARIANT: a decision counts for the version that was shown and for no other (APPR-3). Every change names the revision
that it changes, and the store compares: of two that race one wins.
"""

import asyncio
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Final

from bot.approvals.book import Book, Executor
from bot.approvals.cards import Cards, Pages
from bot.approvals.claiming import Claiming
from bot.approvals.deciding import Deciding, by_policy, is_version
from bot.approvals.proposing import check_action, check_call, is_same, new_code, read_code
from bot.approvals.timing import Timing
from bot.config.settings import Proposals
from bot.deliveries.dispatcher import Dispatcher
from bot.deliveries.door import Door
from bot.model.approval import (
    ITSELF,
    Action,
    Approval,
    ApprovalState,
    Origin,
    Proposal,
    Subject,
    Verdict,
)
from bot.model.errors import ProposalError
from bot.observability.log import get_logger
from bot.ports.approvals import (
    ApprovalStore,
    Role,
    Shown,
)
from bot.ports.channel import Channel
from policy.approvals import Allow, Ask, Forbid, Requirement, Window
from policy.approvals import Verdict as Judgement
from policy.destination import Destination
from policy.entitlement import Bar
from policy.ruleset import Policy

log = get_logger(__name__)

_TRIES: Final = 5
MOST_VERSIONS: Final = 100
"""Of one call, by its agent; of a draft so many are remembered, and it can always be filed again."""


class ApprovalRoom:
    """See :class:`bot.ports.approvals.Approvals`."""

    def __init__(
        self,
        *,
        store: ApprovalStore,
        policy: Callable[[], Policy],
        channels: Mapping[str, Channel],
        dispatcher: Dispatcher,
        door: Door,
        clock: Callable[[], datetime],
        page: Pages = lambda _approval, _version: None,
        holds: Callable[[str], bool] = lambda _: False,
        limits: Proposals | None = None,
    ) -> None:
        """Make the room; nothing is read before a call.

        Args:
            store: where approvals are kept.
            policy: gives the policy in force now.
            channels: by account.
            dispatcher: carries parts out.
            door: clears them.
            clock: gives aware times.
            page: where a passkey approves.
            holds: whether a passkey holds now, by its id.
            limits: how much one agent may propose; None: as the configuration has it by default.
        """
        self.cards = Cards(policy=policy, channels=channels, door=door, requirement=self.requirement, page=page)
        self.book = Book(
            store=store,
            policy=policy,
            cards=self.cards,
            dispatcher=dispatcher,
            clock=clock,
            holds=holds,
            limits=limits,
        )
        self._proposing: dict[str, asyncio.Lock] = {}
        self._store = store
        self._policy = policy
        self._clock = clock
        self._claiming = Claiming(self.book)
        self._timing = Timing(self.book)
        self._deciding = Deciding(self.book, self._timing)
        self.decide = self._deciding.decide
        self.hold = self._deciding.hold
        self.may_approve = self._deciding.may_approve
        self.claim = self._claiming.claim
        self.outcome = self._claiming.outcome
        self.check_use = self._claiming.check
        self.reconcile = self._claiming.reconcile
        self.cancel = self._claiming.cancel
        self.run = self._timing.run
        self.delivered = self._timing.delivered

    def take(self, executor: Executor) -> None:
        """Tell somebody of every approval that becomes approved, and of those that are at a restart."""
        self.book.executors.append(executor)

    def requirement(self, approval: Approval) -> Requirement:
        """What it needs, by the policy in force now."""
        return self.book.requirement(approval)

    def judged(self, approval: Approval) -> Judgement:
        """What the policy in force says of it as it stands."""
        return self.book.judged(approval)

    # proposing

    async def propose(
        self,
        proposal: Proposal,
        *,
        agent: str,
        origin: Origin | None,
        language: str | None = None,
        new_id: str | None = None,
    ) -> Approval:
        """See :meth:`bot.ports.approvals.Approvals.propose`."""
        check_call(proposal)
        approval = self._new(
            Subject.CALL,
            proposal,
            agent=agent,
            origin=origin,
            language=language,
            approval_id=new_id or uuid.uuid4().hex,
        )
        async with self._proposing.setdefault(agent, asyncio.Lock()):  # so that none slips past the bound
            kept, new = await self._put(approval)
        if not new:
            return _the_same(kept, proposal)
        self.book.wake(kept)
        return await self.book.open_cards(kept) if kept.state is ApprovalState.PROPOSED else kept

    async def _put(self, approval: Approval) -> tuple[Approval, bool]:
        """Store what is proposed, judged by the policy; or what is there already under its key, and False."""
        agent, proposal = approval.agent, approval.proposal
        known = await self._store.by_key(agent, approval.key)
        if known is not None:
            return known, False
        most = self.book.limits.most_open
        if await self._store.open_calls(agent) >= most:
            raise ProposalError("too_many_open", f"{most} approvals of yours are open")
        if await self._store.unreconciled(agent, approval.version) is not None:
            raise ProposalError(
                "unreconciled", "nobody knows yet what became of this action; it is not repeated before somebody does"
            )
        now = approval.proposed_at
        verdict = self.book.judged(approval)
        approval = replace(approval, rule=verdict.rule)
        match verdict:
            case Ask(requirement=requirement):
                if proposal.addressee and not self._may_be_asked(proposal.addressee, requirement):
                    raise ProposalError("not_entitled", "the policy lets others decide about this, or nobody")
                approval = replace(approval, expires_at=now + _ttl(proposal, requirement))
            case Allow():
                approval = by_policy(approval, Verdict.APPROVE, now)
                approval = replace(approval, expires_at=now + self._policy().approvals.claim_within)
            case Forbid():
                approval = replace(by_policy(approval, Verdict.DENY, now), closed_at=now)
        kept, _, new = await self._store.put(approval, (), now=now)
        return kept, new

    async def revise(self, approval_id: str, action: Action, *, by: str | None, revision: int) -> Approval:
        """See :meth:`bot.ports.approvals.Approvals.revise`."""
        check_action(action)
        approval = await self._existing(approval_id)
        if approval.revision != revision:
            raise ProposalError("version", "it has changed meanwhile; look at it again")
        if approval.subject is Subject.CALL and action.system == ITSELF:
            raise ProposalError("system", f"{ITSELF} is the system of drafts")
        if approval.subject is Subject.DRAFT and _beside_text(action) != _beside_text(approval.action):
            raise ProposalError("parameters", "of a draft the text alone can be changed")
        if approval.state not in _REVISABLE:
            raise ProposalError("already_decided", f"it is {approval.state.value} and can't be changed")
        if action.version == approval.version:
            return approval
        if by is None and len(approval.replaced) >= MOST_VERSIONS:
            raise ProposalError(
                "too_many_versions", f"it has changed {MOST_VERSIONS} times; take it back and propose anew"
            )
        editor = ""
        if by is not None and approval.proposal.as_is:
            raise ProposalError("as_is", "who proposed it takes no other values")
        if by is not None:
            voice = self._deciding.who(approval, by, approving=False)
            if isinstance(voice, Bar):
                raise ProposalError("not_entitled", "somebody else has to decide about this")
            editor = voice.person
        changed = replace(approval, version=action.version, proposal=replace(approval.proposal, action=action))
        verdict = self.book.judged(changed)
        if isinstance(verdict, Forbid):
            raise ProposalError("forbidden", "the policy forbids this action")
        expires_at = None
        if approval.subject is Subject.CALL:
            expires_at = self._clock() + _ttl(approval.proposal, self.requirement(changed))
        written = await self.book.write(
            approval,
            "revise",
            files=await self._store.files(approval.id, approval.version),
            proposal=changed.proposal,
            **anew(approval, action.version, by=editor),
            rule=verdict.rule,
            escalated=approval.escalated and verdict.rule == approval.rule,  # another rule asks others, in its time
            expires_at=expires_at,
        )
        if written is None:
            raise ProposalError("version", "it has changed meanwhile; look at it again")
        return await self.book.open_cards(written, paced=by is None)

    # showing

    async def unfold(self, approval_id: str, version: str, place: Destination) -> Approval | None:
        """See :meth:`bot.ports.approvals.Approvals.unfold`."""
        for _ in range(_TRIES):
            approval = await self._store.get(approval_id)
            if approval is None or not approval.state.undecided or not is_version(approval, version):
                return None
            if str(place) in approval.unfolded:
                return approval
            unfolded = approval.unfolded | {str(place)}
            standing = await self._store.messages(approval.id, Role.CARD)
            shown = self.cards.unfolded(replace(approval, unfolded=unfolded), standing, place)
            written = await self.book.write(approval, "note", shown=shown, refresh=False, unfolded=unfolded)
            if written is not None:
                return written
        return None

    def can_be_shown(self, approval: Approval) -> bool:
        """See :meth:`bot.ports.approvals.Approvals.can_be_shown`."""
        return bool(self.cards.places(approval))

    async def show_at(self, approval_id: str, windows: Sequence[Window]) -> Approval | None:
        """See :meth:`bot.ports.approvals.Approvals.show_at`."""
        for _ in range(_TRIES):
            approval = await self._store.get(approval_id)
            if approval is None or not approval.state.undecided:
                return None
            changed = replace(approval, proposal=replace(approval.proposal, shown=tuple(windows)))
            there = {
                place for place, role in await self._store.places(approval.id, approval.version) if role == Role.CARD
            }
            shown = self.cards.opened(changed, except_at=there)
            written = await self.book.write(
                approval,
                "note",
                shown=shown,
                refresh=False,
                proposal=changed.proposal,
                unfolded=approval.unfolded | self.cards.whole_at(changed),
            )
            if written is not None:
                return written
        return None

    async def show(self, approval: Approval, shown: Sequence[Shown]) -> None:
        """Further parts that belong to it."""
        await self.book.show(approval, shown)

    def notice(self, approval: Approval) -> None:
        """It was written by somebody else of this process: whoever waits for it wakes."""
        self.book.wake(approval)

    # looking

    async def look(self, approval_id: str) -> Approval | None:
        """See :meth:`bot.ports.approvals.Approvals.look`."""
        return await self._store.get(approval_id)

    async def receipts(self, approval_id: str) -> Mapping[str, int]:
        """How many parts of its cards are in which state of the outbox."""
        return await self._store.receipts(approval_id)

    async def look_of(self, agent: str, approval_id: str) -> Approval | None:
        """See :meth:`bot.ports.approvals.Approvals.look_of`."""
        return await self._store.get_of(agent, approval_id)

    async def changed(self, approval_id: str, *, since: int) -> Approval | None:
        """See :meth:`bot.ports.approvals.Approvals.changed`."""
        return await self.book.changed(approval_id, since=since)

    async def by_code(self, code: str) -> Approval | None:
        """See :meth:`bot.ports.approvals.Approvals.by_code`."""
        return await self._store.by_code(read_code(code))

    async def pending(self) -> list[Approval]:
        """See :meth:`bot.ports.approvals.Approvals.pending`."""
        return await self._store.pending()

    async def counts(self) -> Mapping[ApprovalState, int]:
        """How many that are not closed are in each state."""
        return await self._store.counts()

    async def decided(self, approval_id: str) -> Approval | None:
        """Return when people have nothing to decide any more, or it was returned; None: there is none."""
        approval = await self._store.get(approval_id)
        while approval is not None and approval.state.undecided:
            approval = await self.book.changed(approval_id, since=approval.revision)
        return approval

    async def proposed_before(self, *, agent: str, key: str, event_id: int) -> Approval | None:
        """What an agent has proposed with a key about the same request; None: nothing that is kept."""
        known = await self._store.by_key(agent, key)
        same = known is not None and known.origin is not None and known.origin.event_id == event_id
        return known if same else None

    async def cancel_of(self, event_id: int) -> None:
        """The request was stopped: what its run has proposed is taken back where it is not used yet."""
        for approval in await self._store.pending():
            if (
                approval.subject is Subject.CALL
                and approval.origin is not None
                and approval.origin.event_id == event_id
                and approval.state in _REVISABLE
            ):
                await self.cancel(approval.id)

    # small things

    def _may_be_asked(self, person: str, requirement: Requirement) -> bool:
        """Whether the policy lets a person decide."""
        return person in self._policy().operators and (requirement.who is None or person in requirement.who)

    def _new(
        self,
        subject: Subject,
        proposal: Proposal,
        *,
        agent: str,
        origin: Origin | None,
        language: str | None,
        approval_id: str,
    ) -> Approval:
        return Approval(
            id=approval_id,
            code=new_code(),
            agent=agent,
            key=proposal.key or approval_id,
            subject=subject,
            proposal=proposal,
            version=proposal.action.version,
            origin=origin,
            language=language or self._policy().language,
            proposed_at=self._clock(),
            expires_at=None,
        )

    async def _existing(self, approval_id: str) -> Approval:
        approval = await self._store.get(approval_id)
        if approval is None:
            raise ProposalError("unknown", "there is no such approval")
        return approval


_REVISABLE: Final = frozenset(
    {ApprovalState.PROPOSED, ApprovalState.IN_REVIEW, ApprovalState.RETURNED, ApprovalState.APPROVED}
)


def _the_same(known: Approval, proposal: Proposal) -> Approval:
    """The same proposal made again; another one under its key is refused."""
    if known.subject is not Subject.CALL or not is_same(known, proposal):
        raise ProposalError("key_used", "this key was used for another proposal")
    return known


def _beside_text(action: Action) -> tuple[object, ...]:
    """What of a draft is no words: who says what where, with which files."""
    kept = {name: value for name, value in action.parameters.items() if name != "text"}
    return (action.name, action.system, repr(sorted(kept.items())), isinstance(action.parameters.get("text"), str))


def anew(approval: Approval, version: str, *, by: str) -> dict[str, Any]:
    """What a new version does away with: nothing that was said of the old one counts (APPR-3)."""
    return {
        "version": version,
        "replaced": (*approval.replaced, (approval.version, by))[-MOST_VERSIONS - 1 :],
        "heard": len(approval.decisions),
        "unfolded": frozenset(),
        "decided_at": None,
        "reminded_at": None,
    }


def _ttl(proposal: Proposal, requirement: Requirement) -> timedelta:
    wanted = requirement.ttl if proposal.ttl_s is None else timedelta(seconds=proposal.ttl_s)
    return min(wanted, requirement.ttl)
