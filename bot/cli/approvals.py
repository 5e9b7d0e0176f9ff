"""``discreet approvals list``, ``show`` and ``reconcile`` (APPR-4, APPR-6)."""

import asyncio
import getpass
import json
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from bot.approvals.proposing import read_code
from bot.cli import terminal
from bot.cli.reading import read
from bot.cli.serving import read_config
from bot.config.errors import ConfigError
from bot.model.approval import Approval

_MOST: Final = 10_000


def list_approvals(path: Path, *, everything: bool, as_json: bool) -> None:
    """Print those that are not closed, or the latest of all."""
    config = read_config(path)
    found: Sequence[Approval] = read(
        config, lambda reader: reader.approvals.recent(100) if everything else reader.approvals.pending()
    )
    if as_json:
        for one in found:
            print(json.dumps(_head(one), ensure_ascii=False))
        return
    if not found:
        terminal.say("There is nothing to decide.")
    for one in found:
        action = terminal.clean(one.action.name) or "(erased)"
        terminal.say(f"{one.code}  {one.state.value:<10}  {one.proposed_at:%Y-%m-%d %H:%M}  {one.agent}  {action}")


def show_approval(path: Path, asked: str) -> None:
    """Print one as JSON, with everything that would run and everything that was said of it.

    Raises:
        ConfigError: there is none.
    """
    config = read_config(path)
    approval = read(config, lambda reader: reader.approvals.get(asked))
    if approval is None:
        code = read_code(asked)
        latest: Sequence[Approval] = read(config, lambda reader: reader.approvals.recent(_MOST))
        approval = next((one for one in latest if one.code == code), None)
    if approval is None:
        raise ConfigError(f"there is no approval {asked!r}. discreet approvals list --all shows the latest")
    print(json.dumps(_whole(approval), ensure_ascii=True, indent=2))


def reconcile(path: Path, asked: str, *, executed: bool, evidence: str) -> None:
    """Write down what became of an approval whose outcome nobody knew.

    Raises:
        ConfigError: no daemon runs, or it refused.
    """
    config = read_config(path)

    from bot.wiring.approvals import reconcile_approval

    state = asyncio.run(reconcile_approval(config, asked, executed=executed, evidence=evidence, by=getpass.getuser()))
    terminal.good(f"{asked}: {state}")


def _head(approval: Approval) -> dict[str, Any]:
    return {
        "id": approval.id,
        "code": approval.code,
        "state": approval.state.value,
        "subject": approval.subject.value,
        "agent": approval.agent,
        "action": approval.action.name,
        "version": approval.version,
        "proposed_at": approval.proposed_at.isoformat(),
        "expires_at": _time(approval.expires_at),
    }


def _whole(approval: Approval) -> dict[str, Any]:
    proposal = approval.proposal
    return {
        **_head(approval),
        "system": approval.action.system,
        "parameters": dict(approval.action.parameters),
        "reason": proposal.reason,
        "task": proposal.task,
        "gates": [{"name": one.name, "passed": one.passed, "detail": one.detail} for one in proposal.gates],
        "rule": approval.rule,
        "revision": approval.revision,
        "replaced": [{"version": version, "by": by or "the agent"} for version, by in approval.replaced],
        "decisions": [
            {
                "version": one.version,
                "verdict": one.verdict.value,
                "person": one.person,
                "for": one.for_whom,
                "way": one.way.value,
                "at": one.at.isoformat(),
                "words": one.words,
            }
            for one in approval.decisions
        ],
        "claimed_at": _time(approval.claimed_at),
        "closed_at": _time(approval.closed_at),
        "note": approval.note,
    }


def _time(at: datetime | None) -> str | None:
    return None if at is None else at.isoformat()
