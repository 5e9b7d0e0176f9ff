"""Where interactions and clarifications are kept (CLAR). Every write is durable when it returns, with its record."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from bot.model.inbound import Stored
from bot.model.interaction import Candidate, Clarification, Continuing, Interaction, PatchKind, PatchResult, Workspace
from bot.model.plan import Plan
from policy.decision import Decision
from policy.destination import Destination


@dataclass(frozen=True, kw_only=True, slots=True)
class Conflict:
    """The plan has changed since (CLAR-5). Attributes: plan_version: the current one."""

    plan_version: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Refusal:
    """It can't be done, and nothing of it was.

    Attributes:
        code: ``unknown``, ``ended``, ``superseded``, ``slot``, ``open``, ``candidate``, ``closed``, ``key_used`` or
            ``gone``.
    """

    code: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Started:
    """An interaction has begun. Attributes: closed: clarifications of the one before it, which has ended by that."""

    interaction: Interaction
    closed: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Put:
    """A clarification is stored. Attributes: closed: others that have ended by that. new: it was not there before."""

    interaction: Interaction
    clarification: Clarification
    closed: tuple[str, ...] = ()
    new: bool = True


@dataclass(frozen=True, kw_only=True, slots=True)
class Resumed:
    """The piece of work that continues an interaction: a row of the inbox, as durable as any."""

    stored: Stored
    decision: Decision


@dataclass(frozen=True, kw_only=True, slots=True)
class Moved:
    """A patch was applied. Attributes: closed: open clarifications that have ended. work: what goes on with it."""

    interaction: Interaction
    result: PatchResult
    closed: tuple[str, ...] = ()
    work: Resumed | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class NewClarification:
    """What is to be asked; ``key`` is unique within the interaction."""

    clarification: Clarification
    key: str


Anew = Callable[[Interaction, Clarification, Sequence[Candidate]], NewClarification]
"""Makes the question for a choice that has gone, with those of its candidates that are left; pure."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    """A patch as it is to be applied, all of it or nothing (CLAR-5).

    Attributes:
        interaction_id: whose plan.
        base_plan_version: the version that it changes.
        kind: answer or correction.
        task: of the slot.
        slot: it.
        value: what stands there then; None empties it.
        clarification_id: the one that it answers, or answered before it was corrected.
        message: that said so.
        goes_on: the agent is asked again (CLAR-7).
    """

    interaction_id: str
    base_plan_version: int
    kind: PatchKind
    task: str
    slot: str
    value: str | None = field(repr=False)
    clarification_id: str | None = None
    message: str | None = None
    goes_on: bool = True


class InteractionStore(Protocol):
    """See the module."""

    async def start(self, interaction: Interaction, *, now: datetime) -> Started | Refusal:
        """Begin; the active one of the conversation is superseded (CLAR-1). Again with the same key: that one."""
        ...

    async def ask(
        self,
        new: NewClarification,
        *,
        beginning: Interaction | None,
        base_plan_version: int,
        plan: Plan | None,
        workspace: Workspace | None,
        now: datetime,
    ) -> Put | Conflict | Refusal:
        """Store a clarification, and where ``beginning`` is given the interaction with it."""
        ...

    async def again(
        self, new: NewClarification, *, instead_of: str, message: str | None, now: datetime
    ) -> Put | Refusal:
        """Ask once more, in the place of an open one, because of what a message has said."""
        ...

    async def change(self, change: Change, *, now: datetime) -> Moved | Conflict | Refusal:
        """Apply a patch: the whole of CLAR-5 in one transaction."""
        ...

    async def recheck(
        self,
        interaction_id: str,
        *,
        base_plan_version: int,
        workspace: Workspace,
        existing: frozenset[str],
        rechecks: int,
        anew: Anew,
        now: datetime,
    ) -> Moved | Put | Conflict | Refusal:
        """The workspace has changed: look at every resolved choice again (CLAR-6).

        Args:
            interaction_id: whose choices.
            base_plan_version: the version that was looked at.
            workspace: as it is now.
            existing: ids of the candidates that still exist.
            rechecks: how often in a row it has changed.
            anew: what is asked for a choice that has gone.
            now: aware.
        """
        ...

    async def end(self, interaction_id: str, verb: str, *, now: datetime) -> tuple[str, ...] | None:
        """End an active one; the clarifications that have ended by that. None: it was not active."""
        ...

    async def close(self, clarification_id: str, verb: str, *, now: datetime) -> bool:
        """End an open clarification alone."""
        ...

    async def get(self, interaction_id: str) -> Interaction | None:
        """One."""
        ...

    async def get_of(self, agent: str, interaction_id: str) -> Interaction | None:
        """One of this agent; another one's is not even read, so that nobody can tell it from none."""
        ...

    async def by_key(self, agent: str, key: str) -> Interaction | None:
        """One, by the key with which its agent has begun it."""
        ...

    async def active(self, conversation: str) -> Interaction | None:
        """The one that goes on in a conversation."""
        ...

    async def actives(self) -> list[Interaction]:
        """All that go on."""
        ...

    async def clarification(self, clarification_id: str) -> Clarification | None:
        """One."""
        ...

    async def clarifications(self, interaction_id: str) -> list[Clarification]:
        """All of an interaction, in order."""
        ...

    async def asked_by(self, event_id: int) -> Clarification | None:
        """What a run has asked."""
        ...

    async def answered_with(self, destination: Destination, message: str) -> Clarification | None:
        """The clarification of an active interaction that a message has answered, or was asked again for."""
        ...

    async def continuation(self, event_id: int) -> Continuing | None:
        """What a row of the inbox continues; None: it is a request of its own."""
        ...

    async def is_latest(self, interaction: Interaction, event_id: int) -> bool:
        """Whether no run of it has begun after this one."""
        ...

    async def members(self, event_id: int) -> list[Stored]:
        """The other parts of the batch in which the request of a continuation came (PART-8), in order."""
        ...

    async def last_result(self, interaction: Interaction) -> str | None:
        """How its latest run ended; None: it has not ended."""
        ...

    async def sweep(self, *, now: datetime, contents_before: datetime) -> int:
        """Erase the words of what ended long enough ago, and end what nobody has touched for as long."""
        ...


OPEN_ENDS: Sequence[str] = ("answered", "silent", "acknowledged", "drafted")
"""Results of a run after which its interaction is complete."""
