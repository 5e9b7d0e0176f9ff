"""What an agent proposes while it works on one request (APPR-1): bound to that request, and the run rests meanwhile."""

import asyncio
import uuid
from collections import Counter
from dataclasses import replace

from bot.approvals.proposing import MAX_TASK
from bot.approvals.room import ApprovalRoom
from bot.model.approval import Approval, Origin, Proposal
from bot.model.errors import ProposalError
from bot.model.request import Request
from bot.runtime.runs import Run


class Proposing:
    """The proposals of one run."""

    def __init__(self, *, room: ApprovalRoom | None, request: Request, run: Run, agent: str) -> None:
        """Args: room: None: nothing can be proposed. run: rests while people decide. agent: its name."""
        self._room = room
        self._request = request
        self._run = run
        self._agent = agent
        self._proposed: Counter[str] = Counter()
        self._resting: dict[str, asyncio.Task[None]] = {}
        self._claim_key = uuid.uuid4().hex  # begun anew after a crash, a run can't claim again what it has claimed

    async def propose(self, proposal: Proposal) -> Approval:
        """Return when people have decided; see :meth:`bot.ports.agent.Desk.propose`."""
        room = self._there()
        return await self._decided(room, await self._put(room, proposal))

    async def before(self, key: str) -> Approval | None:
        """See :meth:`bot.ports.agent.Desk.proposed_before`."""
        if self._room is None:
            return None
        event_id = self._run.work.event_id
        known = await self._room.proposed_before(agent=self._agent, key=key, event_id=event_id)
        return None if known is None else await self._decided(self._room, known)

    async def put(self, proposal: Proposal) -> Approval:
        """Propose for an agent that waits elsewhere; the run rests until people have decided."""
        room = self._there()
        approval = await self._put(room, proposal)
        if approval.state.undecided and approval.id not in self._resting:
            task = asyncio.create_task(self._rest(room, approval.id), name="approval")
            self._resting[approval.id] = task
            task.add_done_callback(lambda _: self._resting.pop(approval.id, None))
        return approval

    async def claim(self, approval: Approval, *, target_present: bool | None) -> Approval:
        """See :meth:`bot.ports.agent.Desk.claim`."""
        return await self._there().claim(
            approval.id, version=approval.version, key=self._claim_key, target_present=target_present
        )

    async def outcome(self, approval: Approval, *, executed: bool | None, note: str) -> Approval:
        """See :meth:`bot.ports.agent.Desk.outcome`."""
        return await self._there().outcome(approval.id, executed=executed, note=note)

    def close(self) -> None:
        """The run is over."""
        for task in self._resting.values():
            task.cancel()

    def _there(self) -> ApprovalRoom:
        if self._room is None:
            raise ProposalError("no_approvals", "nothing can be proposed here")
        return self._room

    async def _decided(self, room: ApprovalRoom, approval: Approval) -> Approval:
        if not approval.state.undecided:
            return approval
        async with self._run.waiting_for_a_person():
            decided = await room.decided(approval.id)
        if decided is None:
            raise ProposalError("unknown", "the approval is not kept any more")
        return decided

    async def _rest(self, room: ApprovalRoom, approval_id: str) -> None:
        async with self._run.waiting_for_a_person():
            await room.decided(approval_id)

    async def _put(self, room: ApprovalRoom, proposal: Proposal) -> Approval:
        """A proposal without a key is known by its version and its place in the run, also after a restart."""
        version = proposal.action.version
        self._proposed[version] += 1
        key = proposal.key or f"{self._request.id}:{version[:32]}:{self._proposed[version]}"
        work = self._run.work
        origin = Origin(
            destination=work.place.destination,
            chat=work.place.chat,
            person=work.place.other_side,
            requester=work.reading.event.sender,
            event_id=work.event_id,
        )
        task = proposal.task if proposal.task.strip() else _task(self._request.text)
        return await room.propose(
            replace(proposal, key=key, task=task), agent=self._agent, origin=origin, language=self._request.language
        )


def _task(asked: str) -> str:
    """The request itself, where the agent names no task that its proposal comes from (APPR-2)."""
    whole = "".join("\N{REPLACEMENT CHARACTER}" if "\ud800" <= sign <= "\udfff" else sign for sign in asked.strip())
    if len(whole) <= MAX_TASK:
        return whole
    rest = f" … ({len(whole)})"
    return whole[: MAX_TASK - len(rest)] + rest
