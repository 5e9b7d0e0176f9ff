"""``discreet policy detectors``: what a policy finds in texts, to read and to try (AUTO-4)."""

import json
import sys
from pathlib import Path

from bot.cli.failing import NOT_IN_ORDER, OK
from bot.cli.policies import load_policy
from policy.ruleset import Policy
from policy.screening import screen_of


def print_detectors(path: Path) -> int:
    """Print the detectors in force as YAML: the package's that are not switched off, and the file's."""
    import yaml

    print(yaml.safe_dump(_written(load_policy(path)), allow_unicode=True, sort_keys=False, width=110), end="")
    return OK


def try_text(path: Path, text: str, *, counterparty: str | None) -> int:
    """Print what a policy finds in a text that outsiders would read: one JSON object.

    Returns:
        The exit code: whether it would be more than routine.
    """
    words = sys.stdin.read() if text == "-" else text
    screen = screen_of(load_policy(path))
    found = {
        "leak": screen.leaks((words,), counterparty),
        "disclosure": sorted(screen.disclosed(words)),
        "topics": sorted(screen.topics(words)),
    }
    print(json.dumps(found))
    return NOT_IN_ORDER if any(found.values()) else OK


def _written(policy: Policy) -> dict[str, object]:
    written: dict[str, dict[str, object]] = {}
    for one in policy.detectors:
        section = written.setdefault(one.raises.value, {"words": [], "patterns": []})
        for key, more in (("words", one.words), ("patterns", one.patterns)):
            section[key] = [*_list(section[key]), *more]
        if one.amounts:
            section["amounts"] = True
    return {
        "detectors": {
            name: {key: value for key, value in section.items() if value} for name, section in written.items()
        }
    }


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []
