"""Interactions and clarifications (CLAR): an unfinished goal with its plan, and what people are asked on the way.

The states are tables (:mod:`bot.clarifications.states`).
"""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Final

from bot.model.plan import Plan
from policy.decision import Audience
from policy.destination import Destination
from policy.event import Chat

MAX_CANDIDATES: Final = 50
MAX_IDENTITY: Final = 200
MAX_DISPLAY: Final = 100
CONTINUES: Final = "continue:"
"""How the key of an inbox row begins that carries the continuation of an interaction; no platform's key does."""


class InteractionState(StrEnum):
    """Where an interaction stands."""

    ACTIVE = "active"
    COMPLETED = "completed"
    CANCELLED = "cancelled"
    SUPERSEDED = "superseded"  # by a new request of the same conversation (CLAR-1)
    EXPIRED = "expired"  # nobody has answered in time


class ClarificationState(StrEnum):
    """Where a clarification stands."""

    OPEN = "open"
    ANSWERED = "answered"
    AGAIN = "again"  # the answer fitted several candidates or none, and another question took its place
    STALE = "stale"  # the plan has changed since it was asked
    CANCELLED = "cancelled"
    EXPIRED = "expired"


class PatchKind(StrEnum):
    """What has led to a continuation."""

    ANSWER = "answer"
    CORRECTION = "correction"
    RECHECK = "recheck"  # the workspace has changed, and every choice still exists, or none is left (CLAR-6)


class VerdictKind(StrEnum):
    """What a message is, while a clarification is open (CLAR-4)."""

    ANSWER = "answer"
    CORRECTION = "correction"
    NEW_REQUEST = "new_request"
    CANCEL = "cancel"
    UNCLEAR = "unclear"


@dataclass(frozen=True, kw_only=True, slots=True)
class Candidate:
    """One of a closed list. Attributes: identity: the agent's own name of the object; nobody reads it."""

    id: str
    identity: str = field(default="", repr=False)
    display_name: str = field(repr=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class Workspace:
    """What the agent's choices were made from (CLAR-6), by its own word: all of it may be unknown."""

    generation: int | None = None
    sha256: str | None = None
    documentation_version: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Interaction:
    """An unfinished goal.

    Attributes:
        id: opaque.
        agent: name of the agent that works on it.
        key: unique within the agent; starting again with it finds this one.
        conversation: destination and principal, see :mod:`bot.conversations.conversation`.
        destination: where it takes place.
        chat: kind of place.
        person: in a direct chat the account of the other side.
        asker: account of whoever made the request.
        audience: who was to read the answer of that request.
        language: of the gateway's words.
        event_id: the inbox row of the request.
        root_message: the message of the request.
        plan: as it stands.
        plan_version: rises with each change of the plan.
        workspace: see there.
    """

    id: str
    agent: str
    key: str
    conversation: str
    destination: Destination
    chat: Chat
    person: str | None
    asker: str | None
    audience: Audience
    language: str
    event_id: int
    root_message: str | None
    plan: Plan = field(repr=False)
    plan_version: int = 1
    workspace: Workspace = field(default_factory=Workspace)
    state: InteractionState = InteractionState.ACTIVE
    started_at: datetime
    changed_at: datetime
    closed_at: datetime | None = None

    @property
    def active(self) -> bool:
        """Whether it goes on."""
        return self.state is InteractionState.ACTIVE


@dataclass(frozen=True, kw_only=True, slots=True)
class Clarification:
    """One empty slot of one task, and what was asked for it (CLAR-2).

    Attributes:
        id: opaque; the question that shows it has the same.
        interaction_id: whose.
        event_id: the inbox row of the run that asked.
        text: the question, Markdown.
        why: it is asked once more, in a sentence before it.
        candidates: frozen when asked; empty: any text is an answer.
        free_text: beside the candidates any text is an answer too.
        plan_version: at which it was asked; its answer changes this one.
        ttl_s: seconds until it expires.
        value: what was answered.
        answer_message: the message that answered it.
        question_message: the message that showed it, once that is known.
    """

    id: str
    interaction_id: str
    event_id: int | None
    task: str
    slot: str
    text: str = field(repr=False)
    why: str = field(default="", repr=False)
    candidates: tuple[Candidate, ...] = field(default=(), repr=False)
    free_text: bool = False
    plan_version: int
    ttl_s: int = 3600
    state: ClarificationState = ClarificationState.OPEN
    value: str | None = field(default=None, repr=False)
    answer_message: str | None = None
    question_message: str | None = None
    asked_at: datetime
    closed_at: datetime | None = None

    @property
    def open(self) -> bool:
        """Whether it takes an answer."""
        return self.state is ClarificationState.OPEN

    def candidate(self, candidate_id: str | None) -> Candidate | None:
        """One of the frozen list."""
        return next((one for one in self.candidates if one.id == candidate_id), None)


@dataclass(frozen=True, kw_only=True, slots=True)
class PatchResult:
    """What was changed, as the continuation tells it (CLAR-7).

    Attributes:
        value: what stands in the slot now.
        candidate: which of the list it is.
        base_plan_version: the version that was changed.
        invalidated: ids of the tasks that have to be prepared anew.
        rechecks: how often in a row the workspace has changed.
    """

    kind: PatchKind
    clarification: str | None = None
    task: str = ""
    slot: str = ""
    value: str | None = field(default=None, repr=False)
    candidate: Candidate | None = field(default=None, repr=False)
    base_plan_version: int
    invalidated: tuple[str, ...] = ()
    rechecks: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Continuing:
    """What a run knows of the interaction that it continues (CLAR-7)."""

    interaction: Interaction
    patch: PatchResult
    plan_version: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Doubt:
    """Free text that may be an answer or not, for the agent's classifier (CLAR-4); the text is untrusted."""

    id: str
    interaction: Interaction
    clarification: Clarification
    text: str = field(repr=False)
    language: str = "en"


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """What an agent takes a message for. Attributes: sure: whether it is sure; an unsure verdict is an answer."""

    kind: VerdictKind
    sure: bool = True
