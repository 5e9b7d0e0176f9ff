"""The book of approvals: what every part of the room reads and writes with.

INVARIANT: a change goes through :meth:`Book.write`: the state comes from the table, the store compares the revision,
the cards are brought up to date in the same transaction, and whoever waits for the approval wakes.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Final, Protocol

from bot.approvals.cards import Cards
from bot.approvals.proofs import CeremonyError, read_proof
from bot.approvals.states import after
from bot.config.settings import Proposals
from bot.deliveries.dispatcher import Dispatcher
from bot.deliveries.pacing import Bucket, Buckets, Rate
from bot.model.approval import Approval, ApprovalState, Assurance, Decision, Proposal, Subject, Verdict
from bot.model.output import OutFile
from bot.ports.approvals import ApprovalStore, Role, Shown
from policy.approvals import Allow, Ask, Call, Requirement, judge_call
from policy.approvals import Verdict as Judgement
from policy.entitlement import Voice, counted, still_entitled
from policy.ruleset import Policy

_REMEMBERED: Final = 2_048


class Executor(Protocol):
    """Carries out what the gateway itself executes: approved drafts."""

    def approved(self, approval: Approval) -> None:
        """It was approved, or still is after a restart; being told again is fine."""
        ...


class Book:
    """Reads and writes approvals."""

    def __init__(
        self,
        *,
        store: ApprovalStore,
        policy: Callable[[], Policy],
        cards: Cards,
        dispatcher: Dispatcher,
        clock: Callable[[], datetime],
        holds: Callable[[str], bool] = lambda _: False,
        limits: Proposals | None = None,
    ) -> None:
        """Make it.

        Args:
            store: where approvals are kept.
            policy: gives the policy in force now.
            cards: where people decide.
            dispatcher: carries them out.
            clock: gives aware times.
            holds: whether a passkey holds now, by its id.
            limits: how much one agent may propose; None: as the configuration has it by default.
        """
        self.limits = Proposals() if limits is None else limits
        pace = Rate(per_s=self.limits.cards_per_min / 60.0, burst=self.limits.cards_at_once)
        self._paces: Buckets[tuple[str, str]] = Buckets(pace)
        self.store = store
        self.policy = policy
        self.cards = cards
        self.clock = clock
        self._holds = holds
        self._dispatcher = dispatcher
        self._judged_by: Policy | None = None
        self._judgements: dict[tuple[str, str, bool], Judgement] = {}
        self._waiting: dict[str, set[asyncio.Future[None]]] = {}
        self.executors: list[Executor] = []

    # what the policy says

    def judged(self, approval: Approval) -> Judgement:
        """What the policy in force says of the call as it stands.

        What a rule would let through is asked for all the same where the agent itself wants more: a passkey (APPR-9),
        somebody's word about a gate that is not passed (APPR-7), or a certain person's word. Every open one is looked
        at every second, and its parameters may be large: one policy judges one version once.
        """
        policy = self.policy()
        if policy is not self._judged_by:
            self._judged_by, self._judgements = policy, {}
        high = approval.proposal.assurance is Assurance.HIGH
        more = high or bool(approval.proposal.addressee) or any(not gate.passed for gate in approval.proposal.gates)
        key = (approval.agent, approval.version, more)
        if key not in self._judgements:
            if len(self._judgements) >= _REMEMBERED:
                self._judgements.clear()
            self._judgements[key] = self._judge(policy, approval, more=more)
        verdict = self._judgements[key]
        if isinstance(verdict, Ask) and approval.proposal.addressee:
            return Ask(requirement=_addressed(verdict.requirement, approval.proposal))
        return verdict

    def _judge(self, policy: Policy, approval: Approval, *, more: bool) -> Judgement:
        action = approval.action
        call = Call(action=action.name, system=action.system, agent=approval.agent, parameters=action.parameters)
        verdict = judge_call(policy, call)
        if isinstance(verdict, Allow) and more:
            return Ask(requirement=replace(policy.approvals.default, rule=verdict.rule))
        return verdict

    def requirement(self, approval: Approval) -> Requirement:
        """What it needs by the policy in force now; a call that needs nobody now has been asked for all the same."""
        verdict = self.judged(approval)
        if not isinstance(verdict, Ask):
            return self.policy().approvals.default
        return verdict.requirement

    def widened(self, approval: Approval) -> Requirement:
        """The same with those who are asked since the escalation."""
        requirement = self.requirement(approval)
        if not approval.escalated or requirement.escalate is None or requirement.who is None:
            return requirement
        more = requirement.escalate.who
        return replace(requirement, who=None if more is None else requirement.who | more)

    def wants_passkey(self, approval: Approval) -> bool:
        """The policy or the agent asks for high assurance (APPR-9)."""
        return approval.proposal.assurance is Assurance.HIGH or self.requirement(approval).high

    def voices(self, approval: Approval) -> list[Voice]:
        """Those who have agreed to the version as it stands and could do so by the policy in force now (APPR-5)."""
        policy, requirement = self.policy(), self.widened(approval)
        high = self.wants_passkey(approval)
        found: list[Voice] = []
        for decision in approval.standing:
            voice = Voice(person=decision.person, for_whom=decision.for_whom)
            if (
                decision.verdict is Verdict.APPROVE
                and decision.person
                and self._is_sure(decision, high=high)
                and still_entitled(
                    policy, requirement, voice, decision.account, requester=requester_of(approval), at=decision.at
                )
            ):
                found.append(voice)
        return found

    def _is_sure(self, decision: Decision, *, high: bool) -> bool:
        """APPR-9: a passkey that was revoked takes with it what it approved and nobody has used yet."""
        if decision.proof is None:
            return not high
        try:
            return self._holds(read_proof(decision.proof).credential)
        except CeremonyError:
            return False

    def is_full(self, approval: Approval) -> bool:
        """Whether as many agree as have to."""
        return counted(self.voices(approval)) >= self.requirement(approval).quorum

    # changing

    async def write(
        self,
        approval: Approval,
        verb: str,
        *,
        shown: Sequence[Shown] = (),
        files: Sequence[OutFile] | None = None,
        refresh: bool = True,
        **changes: Any,
    ) -> Approval | None:
        """Make one step of the table.

        Args:
            approval: as it was read.
            verb: of the step.
            shown: further parts that go out with it.
            files: of a draft's new version.
            refresh: the cards are brought up to date.
            changes: of further fields.

        Returns:
            The approval as it stands now; None: another change was first.
        """
        now = self.clock()
        state = after(approval.state, verb)
        changed = replace(approval, state=state, **changes)
        if state.closed:
            changed = replace(changed, closed_at=now)
        standing = await self.store.messages(approval.id, Role.CARD) if refresh else []
        about = (approval.version, changed.version)
        fresh = self.cards.brought_up_to_date(changed, [one for one in standing if one.version in about])
        sent = await self.store.change(changed, verb=verb, now=now, shown=[*shown, *fresh], files=files)
        if sent is None:
            return None
        self._dispatcher.enqueue(sent)
        written = replace(changed, revision=changed.revision + 1)
        self.wake(written)
        return written

    async def show(self, approval: Approval, shown: Sequence[Shown]) -> None:
        """Further parts that belong to an approval, whatever its state."""
        self._dispatcher.enqueue(await self.store.show(approval, shown, now=self.clock()))

    def its_turn(self, approval: Approval) -> bool:
        """Whether a new card may be shown: no agent covers those of others, or those of its own, with too many.

        Drafts go by the place where they are to be said, too: who asks much in one does not hold up another.
        """
        return self._pace(approval).wait_s(_now_s()) <= 0

    def _pace(self, approval: Approval) -> Bucket:
        origin = approval.origin if approval.subject is Subject.DRAFT else None
        return self._paces.of((approval.agent, "" if origin is None else str(origin.destination)), _now_s())

    async def open_cards(self, approval: Approval, *, paced: bool = True) -> Approval:
        """Show what is proposed; as it is now where it can be shown nowhere, or somebody was faster (OUT-8).

        Args:
            approval: undecided.
            paced: it waits its turn; else an operator has made it, who waits for it.
        """
        if paced and not self.its_turn(approval):
            return approval  # it is looked at again and again
        shown = self.cards.opened(approval)
        if not shown:
            return approval
        self._pace(approval).take(_now_s())
        now = self.clock()
        changed = replace(
            approval, state=after(approval.state, "show"), unfolded=self.cards.whole_at(approval), reminded_at=now
        )
        sent = await self.store.change(changed, verb="show", now=now, shown=shown)
        if sent is None:
            return await self.store.get(approval.id) or approval
        self._dispatcher.enqueue(sent)
        written = replace(changed, revision=changed.revision + 1)
        self.wake(written)
        return written

    # waiting

    def wake(self, approval: Approval) -> None:
        """Whoever waits for a change of it wakes; who executes what is approved is told."""
        for future in self._waiting.get(approval.id, ()):
            if not future.done():
                future.set_result(None)
        if approval.state is ApprovalState.APPROVED:
            for executor in self.executors:
                executor.approved(approval)

    async def changed(self, approval_id: str, *, since: int) -> Approval | None:
        """Return when its revision is no longer ``since``; None: there is no such approval."""
        while True:
            future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            waiting = self._waiting.setdefault(approval_id, set())
            waiting.add(future)
            try:
                known = await self.store.get(approval_id)
                if known is None or known.revision != since:
                    return known
                await future
            finally:
                waiting.discard(future)
                if not waiting:
                    self._waiting.pop(approval_id, None)


def _addressed(requirement: Requirement, proposal: Proposal) -> Requirement:
    """What the policy asks for, narrowed to the one whose word the agent wants; of several voices it stays as it is."""
    one = frozenset({proposal.addressee})
    narrowed = one if requirement.who is None else one & requirement.who
    return replace(
        requirement,
        who=narrowed if requirement.quorum == 1 else requirement.who,
        shown=requirement.shown if requirement.shown is not None or not proposal.shown else proposal.shown,
    )


def _now_s() -> float:
    return asyncio.get_running_loop().time()


def requester_of(approval: Approval) -> str | None:
    """Account of whoever made the request behind it (APPR-8)."""
    return None if approval.origin is None else approval.origin.requester
