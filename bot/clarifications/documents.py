"""Interactions and clarifications as their agents see them, in JSON; what people wrote stands under ``untrusted``."""

from typing import Any

from bot.model.interaction import Candidate, Clarification, Interaction, Workspace
from bot.model.plan import plan_document


def clarification_document(one: Clarification) -> dict[str, Any]:
    """A clarification as agents see it; what was answered stands elsewhere."""
    return {
        "id": one.id,
        "task": one.task,
        "slot": one.slot,
        "state": one.state.value,
        "question": one.text,
        "candidates": [candidate_document(candidate) for candidate in one.candidates],
        "free_text": one.free_text,
        "planVersion": one.plan_version,
        "asked_at": one.asked_at.isoformat(),
        "question_message": one.question_message,
        "answer_message": one.answer_message,
    }


def interaction_document(interaction: Interaction) -> dict[str, Any]:
    """An interaction as its agent sees it."""
    return {
        "id": interaction.id,
        "state": interaction.state.value,
        "destination": str(interaction.destination),
        "planVersion": interaction.plan_version,
        "workspace": workspace_document(interaction.workspace),
        "started_at": interaction.started_at.isoformat(),
        "changed_at": interaction.changed_at.isoformat(),
        "untrusted": {"plan": plan_document(interaction.plan)},
    }


def candidate_document(candidate: Candidate) -> dict[str, str]:
    """A candidate as it came."""
    return {"candidateId": candidate.id, "identity": candidate.identity, "displayName": candidate.display_name}


def workspace_document(workspace: Workspace) -> dict[str, Any]:
    """A workspace as it came."""
    return {
        "generation": workspace.generation,
        "sha256": workspace.sha256,
        "documentation_version": workspace.documentation_version,
    }
