"""``discreet policy check`` and ``discreet policy schema`` (OPS-1)."""

import json
import os
from collections.abc import Sequence
from pathlib import Path

from bot.cli import terminal
from bot.cli.failing import NOT_IN_ORDER, OK
from bot.config.errors import ConfigError
from policy.document import load, schema
from policy.ruleset import Policy
from policy.tree import DocumentError


def load_policy(path: Path) -> Policy:
    """The policy of a file.

    Raises:
        ConfigError: the file can't be read.
        DocumentError: it can't hold.
    """
    return load(_text_of(path), source=str(path), environment=os.environ)


def check_files(paths: Sequence[Path]) -> int:
    """Print every problem of every file; returns the exit code."""
    broken = False
    for path in paths:
        try:
            policy = load_policy(path)
        except DocumentError as error:
            broken = True
            for problem in error.problems:
                terminal.problem(problem)
        else:
            people = len({person.id for person in policy.people.values()})
            terminal.good(f"{path}: in order (channels: {len(policy.channels)}, people: {people})")
    return NOT_IN_ORDER if broken else OK


def print_schema() -> None:
    """Print the JSON Schema of the policy file."""
    print(json.dumps(schema(), indent=2, ensure_ascii=False))


def _text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ConfigError(f"there is no {path}. Name the policy file, or make one with: discreet init") from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}, byte {error.start}: this is no UTF-8. Save the file as UTF-8") from None
    except OSError as error:
        raise ConfigError(f"{path} can't be read: {error.strerror}. Mend its owner or its mode") from None
