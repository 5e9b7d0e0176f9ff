"""The whole of an approval for its page: nothing is left out, nothing hides, nothing is markup (APPR-2)."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from bot.approvals.passkeys import MAX_WORDS, needs_words
from bot.approvals.plainness import leaves, line, path_of, visible
from bot.model.approval import Approval

Row = tuple[str, str]
Say = Callable[[str], str]


def facts(approval: Approval, say: Say) -> dict[str, Any]:
    """What the template needs. Whatever an agent wrote is made visible and stands in rows of its own."""
    proposal, action = approval.proposal, approval.action
    head = (
        ("code", approval.code),
        ("agent", approval.agent),
        ("action", action.name),
        ("system", action.system),
    )
    why = (("reason", proposal.reason), ("task", proposal.task), ("target", proposal.target))
    document = {"action": action.name, "system": action.system, "parameters": action.parameters}
    return {
        "head": _said(head, say),
        "values": [(path_of(steps), _value(value)) for steps, value in leaves(action.parameters)],
        "why": _said(why, say),
        "gates": [
            (
                line(gate.name),
                _gate(say("page.approve.passed" if gate.passed else "page.approve.not_passed"), gate.detail),
            )
            for gate in proposal.gates
        ],
        "exact": visible(json.dumps(document, ensure_ascii=False, indent=2, default=dict)),
        "version": approval.version,
        "field": _field(say) if needs_words(approval) else None,
    }


def _said(rows: tuple[Row, ...], say: Say) -> list[Row]:
    return [(say(f"page.approve.{name}"), visible(value.strip())) for name, value in rows if value.strip()]


def _value(value: Any) -> str:
    """A string as it is; in quotes, as in JSON, where it could be taken for something else."""
    if not isinstance(value, str):
        return line(json.dumps(value, ensure_ascii=False, default=dict))
    return visible(json.dumps(value, ensure_ascii=False) if _misleading(value) else value)


def _misleading(text: str) -> bool:
    if not text or text != text.strip() or text[0] == '"':
        return True
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _gate(state: str, detail: str) -> str:
    return f"{state}: {visible(detail.strip())}" if detail.strip() else state


def _field(say: Say) -> Mapping[str, Any]:
    return {
        "title": say("page.approve.words"),
        "hint": say("page.approve.words_hint"),
        "required": True,
        "longest": MAX_WORDS,
    }
