"""``discreet policy explain --call``: what the policy says of an action that an agent would propose (APPR-1)."""

import json
from pathlib import Path
from typing import Any, Final

from bot.cli.failing import OK
from bot.cli.policies import load_policy
from bot.config.errors import ConfigError
from policy.approvals import Allow, Ask, Call, Forbid, Requirement, judge_call, windows
from policy.ruleset import Policy

_KEYS: Final = frozenset({"action", "system", "agent", "parameters"})
_SHAPE: Final = '{"action": "refund", "system": "shop", "agent": "main", "parameters": {"amount": 5}}'


def explain_call(policy_path: Path, written: str) -> int:
    """Print what would become of a call, one JSON line; returns the exit code.

    Args:
        policy_path: the policy file.
        written: JSON, or the path of a file that holds it.

    Raises:
        PolicyError: the policy file can't hold.
        ConfigError: that is no call.
    """
    policy = load_policy(policy_path)
    print(json.dumps(_answer(policy, _call(written)), ensure_ascii=False))
    return OK


def _call(written: str) -> Call:
    text = written
    if not written.lstrip().startswith("{"):
        try:
            text = Path(written).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            raise ConfigError(f"--call {written}: there is no such file. Write {_SHAPE}") from None
    try:
        document: Any = json.loads(text)
    except (ValueError, RecursionError):
        raise ConfigError(f"--call: that is not JSON. Write {_SHAPE}") from None
    if not isinstance(document, dict) or not document.keys() <= _KEYS or not isinstance(document.get("action"), str):
        raise ConfigError(f"--call: that is no call. Write {_SHAPE}")
    parameters = document.get("parameters", {})
    names = [document.get(key, "") for key in ("system", "agent")]
    if not isinstance(parameters, dict) or not all(isinstance(name, str) for name in names):
        raise ConfigError(f"--call: that is no call. Write {_SHAPE}")
    return Call(action=document["action"], system=names[0], agent=names[1], parameters=parameters)


def _answer(policy: Policy, call: Call) -> dict[str, Any]:
    verdict = judge_call(policy, call)
    rule = verdict.rule or None
    match verdict:
        case Allow():
            return {"verdict": "allow", "rule": rule}
        case Forbid():
            return {"verdict": "forbid", "rule": rule}
        case Ask(requirement=requirement):
            return {"verdict": "ask", "rule": rule, **_needs(policy, requirement)}


def _needs(policy: Policy, requirement: Requirement) -> dict[str, Any]:
    escalate = requirement.escalate
    return {
        "who": _people(policy, requirement.who),
        "quorum": requirement.quorum,
        "separate": requirement.separate,
        "shown": [str(window.destination) for window in windows(policy, requirement)],
        "expires_after_s": round(requirement.ttl.total_seconds()),
        "assurance": "high" if requirement.high else "normal",
        "remind_after_s": None if requirement.remind is None else round(requirement.remind.total_seconds()),
        "escalate_after_s": None if escalate is None else round(escalate.after.total_seconds()),
        "escalate_to": [] if escalate is None else _people(policy, escalate.who),
    }


def _people(policy: Policy, who: frozenset[str] | None) -> list[str]:
    return [name for name in policy.operators if who is None or name in who]
