"""What may be proposed at all, whoever proposes it: an agent's words are hostile until they are checked (APPR-3)."""

import secrets
import unicodedata
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

import rfc8785

from bot.approvals.plainness import leaves
from bot.model.approval import ITSELF, Action, Approval, Proposal
from bot.model.errors import ProposalError

MAX_NAME: Final = 200
MAX_PARAMETERS: Final = 48 << 10
"""Bytes of the canonical form; what is longer nobody reads before they decide."""
MAX_DEPTH: Final = 32
MAX_REASON: Final = 4_000
MAX_TASK: Final = 1_000
MAX_GATES: Final = 20
MAX_KEY: Final = 200
MAX_NOTE: Final = 2_000
TTL_LEAST_S: Final = 30
TTL_LONGEST_S: Final = 30 * 24 * 3600

_INEXACT: Final = 2.0**53
_LETTERS: Final = "23456789ABCDEFGHJKMNPQRSTVWXYZ"  # nothing that looks like something else
_CODE_LENGTH: Final = 5


def new_code() -> str:
    """A short name of an approval, to be typed by people."""
    return "".join(secrets.choice(_LETTERS) for _ in range(_CODE_LENGTH))


def read_code(text: str) -> str:
    """A code as it was typed."""
    return text.strip().upper()


def check_call(proposal: Proposal) -> None:
    """See that an agent's call can be proposed.

    Raises:
        ProposalError: it can't; the text says why, for the agent.
    """
    check_action(proposal.action)
    if proposal.action.system == ITSELF:
        raise ProposalError("system", f"{ITSELF} is the system of drafts: what is to be said is answered, not proposed")
    for name, text, longest in (("reason", proposal.reason, MAX_REASON), ("task", proposal.task, MAX_TASK)):
        _check_text(name, text, longest)
    _check_text("target", proposal.target, MAX_REASON)
    _check_text("key", proposal.key or "", MAX_KEY)
    if len(proposal.gates) > MAX_GATES:
        raise ProposalError("gates", f"there are at most {MAX_GATES} gates")
    for gate in proposal.gates:
        _check_name("gates", gate.name)
        _check_text("gates", gate.detail, MAX_REASON)
    if proposal.ttl_s is not None and not TTL_LEAST_S <= proposal.ttl_s <= TTL_LONGEST_S:
        raise ProposalError("ttl", f"ttl_s is from {TTL_LEAST_S} to {TTL_LONGEST_S} seconds")
    if proposal.schema is not None:
        _check_size("schema", proposal.schema)
    if proposal.context is not None:
        _check_size("context", proposal.context)


def check_action(action: Action) -> None:
    """See that an action has a name, bounded parameters, and a version.

    Raises:
        ProposalError: it has not.
    """
    _check_name("action", action.name)
    if action.system:
        _check_name("system", action.system)
    _check_size("parameters", action.parameters)
    action.version  # noqa: B018 - raises where there is no canonical form


def is_same(kept: Approval, proposal: Proposal) -> bool:
    """Whether an approval was proposed with exactly these words; what was changed since does not count.

    Words that are erased by now are taken for the same.
    """
    if not kept.proposal.action.name:
        return True
    first = kept.replaced[0][0] if kept.replaced else kept.version
    blank = Action(name="")
    return first == proposal.action.version and _plain(replace(kept.proposal, action=blank)) == _plain(
        replace(proposal, action=blank)
    )


def _plain(proposal: Proposal) -> tuple[object, ...]:
    schema, context = (None if one is None else rfc8785.dumps(dict(one)) for one in (proposal.schema, proposal.context))
    gates = tuple((gate.name, gate.passed, gate.detail) for gate in proposal.gates)
    rest = (proposal.assurance, proposal.ttl_s, schema, proposal.as_is, context)
    return (proposal.reason, proposal.task, gates, proposal.target, *rest)


def _check_name(what: str, name: str) -> None:
    """A name is shown in one line and compared: nothing in it may be unseen."""
    if not name.strip() or name != name.strip() or len(name) > MAX_NAME:
        raise ProposalError(what, f"a name has from 1 to {MAX_NAME} characters and no space around it")
    if any(unicodedata.category(sign) in ("Cc", "Cf", "Cs", "Zl", "Zp") for sign in name):
        raise ProposalError(what, "a name is in one line and has no hidden characters")


def _check_text(what: str, text: str, longest: int) -> None:
    if len(text) > longest:
        raise ProposalError(what, f"{what} has at most {longest} characters")
    if any(unicodedata.category(sign) == "Cs" for sign in text):
        raise ProposalError(what, f"{what} is of Unicode characters")


def _check_size(what: str, value: Mapping[str, Any]) -> None:
    if not _is_shallow(value, MAX_DEPTH):
        raise ProposalError(what, f"{what} are nested at most {MAX_DEPTH} deep")
    if any(isinstance(one, float) and one.is_integer() and abs(one) >= _INEXACT for _, one in leaves(value)):
        raise ProposalError(what, f"{what}: whole numbers from 2^53 are not exact; write them as texts")
    try:
        size = len(rfc8785.dumps(dict(value)))
    except (rfc8785.CanonicalizationError, UnicodeError, RecursionError, TypeError, ValueError):
        raise ProposalError(what, f"{what}: no canonical JSON form (NaN, integers from 2^53, surrogates)") from None
    if size > MAX_PARAMETERS:
        raise ProposalError(what, f"{what} have at most {MAX_PARAMETERS} bytes")


def _is_shallow(value: object, depth: int) -> bool:
    level: list[object] = [value]
    for _ in range(depth):
        level = [
            inner
            for one in level
            if isinstance(one, dict | list)
            for inner in (one.values() if isinstance(one, dict) else one)
        ]
        if not level:
            return True
    return False
