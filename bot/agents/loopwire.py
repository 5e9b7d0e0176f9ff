"""The clarification loop in the JSON of agents, ``discreet/1``; docs/clarifications.md shows it.

What people wrote (and so the plan, whose slots may hold it) stands under ``untrusted`` (PROMPT-2). Names that the
contract gives are spelt as there: ``candidateId``, ``displayName``, ``basePlanVersion``.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from bot.clarifications.asking import check
from bot.clarifications.documents import candidate_document, clarification_document, workspace_document
from bot.model.interaction import Candidate, Continuing, Doubt, Verdict, VerdictKind, Workspace
from bot.model.output import Clarify, WorkspaceChanged
from bot.model.plan import plan_document, read_plan


class _Read(BaseModel):
    model_config = ConfigDict(
        extra="ignore", strict=True, frozen=True, hide_input_in_errors=True, populate_by_name=True
    )


class CandidateModel(_Read):
    """One of a closed list, on the wire."""

    id: str = Field(alias="candidateId")
    identity: str = ""
    display_name: str = Field(alias="displayName")

    def candidate(self) -> Candidate:
        """The candidate."""
        return Candidate(id=self.id, identity=self.identity, display_name=self.display_name)


class WorkspaceModel(_Read):
    """What the agent's choices were made from, on the wire."""

    generation: Annotated[int, Field(ge=0, lt=1 << 62)] | None = None
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None = None
    documentation_version: Annotated[str, Field(min_length=1, max_length=200)] | None = None

    def workspace(self) -> Workspace:
        """The workspace."""
        return Workspace(
            generation=self.generation, sha256=self.sha256, documentation_version=self.documentation_version
        )


class ClarifyModel(_Read):
    """A clarification on the wire, as the end of a run."""

    kind: Literal["clarification_required"]
    task: str
    slot: str
    question: str
    candidates: Annotated[list[CandidateModel], Field(max_length=200)] = []
    free_text: bool = False
    plan: dict[str, Any] | None = None
    base_plan_version: int | None = Field(default=None, alias="basePlanVersion")
    workspace: WorkspaceModel | None = None
    ttl_s: int = 3600

    def clarify(self) -> Clarify:
        """The clarification.

        Raises:
            InteractionError: it can't be asked.
        """
        clarify = Clarify(
            task=self.task,
            slot=self.slot,
            text=self.question,
            candidates=tuple(one.candidate() for one in self.candidates),
            free_text=self.free_text,
            plan=None if self.plan is None else read_plan(self.plan),
            base_plan_version=self.base_plan_version,
            workspace=None if self.workspace is None else self.workspace.workspace(),
            ttl_s=self.ttl_s,
        )
        check(clarify)
        return clarify


class WorkspaceChangedModel(_Read):
    """The workspace is another by now, on the wire."""

    kind: Literal["workspace_changed"]
    workspace: WorkspaceModel
    existing: Annotated[list[str], Field(max_length=1_000)]

    def changed(self) -> WorkspaceChanged:
        """The change."""
        return WorkspaceChanged(workspace=self.workspace.workspace(), existing=frozenset(self.existing))


class VerdictModel(_Read):
    """What a classifier answers."""

    kind: Literal["verdict"]
    verdict: Annotated[VerdictKind, Field(strict=False)]
    sure: bool = True

    def reading(self) -> Verdict:
        """The verdict."""
        return Verdict(kind=self.verdict, sure=self.sure)


def continuing_document(continuing: Continuing) -> dict[str, Any]:
    """What goes on, by ids and versions (CLAR-7)."""
    patch = continuing.patch
    return {
        "id": continuing.interaction.id,
        "planVersion": continuing.plan_version,
        "workspace": workspace_document(continuing.interaction.workspace),
        "patch": {
            "kind": patch.kind.value,
            "clarification": patch.clarification,
            "task": patch.task or None,
            "slot": patch.slot or None,
            "candidate": None if patch.candidate is None else candidate_document(patch.candidate),
            "basePlanVersion": patch.base_plan_version,
            "invalidated": list(patch.invalidated),
        },
    }


def continuing_untrusted(continuing: Continuing) -> dict[str, Any]:
    """What goes on, as far as people wrote it."""
    return {"plan": plan_document(continuing.interaction.plan), "value": continuing.patch.value}


def doubt_document(doubt: Doubt, *, version: str) -> dict[str, Any]:
    """What a classifier is asked (CLAR-4)."""
    return {
        "version": version,
        "kind": "classify",
        "id": doubt.id,
        "destination": str(doubt.interaction.destination),
        "language": doubt.language,
        "interaction": {"id": doubt.interaction.id, "planVersion": doubt.interaction.plan_version},
        "clarification": clarification_document(doubt.clarification),
        "untrusted": {"text": doubt.text, "plan": plan_document(doubt.interaction.plan)},
    }
