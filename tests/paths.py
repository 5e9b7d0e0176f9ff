"""The paths by which anything can reach a person, read off the code (OUT-9). ``python -m tests.paths`` lists them.

- ``telegram send``: a way out of a platform's adapter: each action that its presenting can make a part of;
- ``from bot/...``: a module that hands parts to the dispatcher, or shows signs by it;
- ``timer ...``: what runs beside the events and may cause any of it;
- ``command line ...``: what the command line asks of a running daemon;
- ``page ...``: what answers a browser.

docs/paths.md names for each of them a test of a final and one of a failed output; a test compares both.
"""

import ast
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
BOT = ROOT / "bot"
TABLE = ROOT / "docs" / "paths.md"
UNTESTED = "untested"
_PLATFORMS = tuple(sorted(one.parent.name for one in BOT.glob("channels/*/channel.py")))


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def _of_platform(name: str) -> Iterator[str]:
    """Each action that the adapter can present; what its sender compares actions with makes none."""
    for path in sorted((BOT / "channels" / name).rglob("*.py")):
        tree = _tree(path)
        compared = {id(one) for node in ast.walk(tree) if isinstance(node, ast.Compare) for one in ast.walk(node)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and node.value == "m.reaction" and path.name == "sending.py":
                yield "reaction"
            if not isinstance(node, ast.Attribute) or id(node) in compared or path.name == "sending.py":
                continue
            if ast.unparse(node.value) == "Action":
                yield node.attr.lower()
            elif ast.unparse(node) == "Speech.FRAGMENT":
                yield "stream"


def _handing_over() -> Iterator[str]:
    for path in sorted(BOT.rglob("*.py")):
        if "dispatcher" not in path.read_text(encoding="utf-8"):
            continue
        for node in ast.walk(_tree(path)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                whose = ast.unparse(node.func.value)
                if node.func.attr in {"enqueue", "show"} and whose.endswith("dispatcher"):
                    yield path.relative_to(ROOT).as_posix()


def _timers() -> Iterator[str]:
    """The services of the daemon, where it is put together."""
    for node in ast.walk(_tree(BOT / "wiring" / "gateway.py")):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "Crew":
            (services,) = (one.value for one in node.keywords if one.arg == "services")
            assert isinstance(services, ast.Tuple)
            for one in services.elts:
                if not isinstance(one, ast.Starred):
                    yield ast.unparse(one.args[0] if isinstance(one, ast.Call) else one)


def _verbs() -> Iterator[str]:
    """What the control socket does: the functions inside of those that make verbs."""
    for path in sorted((BOT / "wiring").glob("*.py")):
        for node in ast.walk(_tree(path)):
            if isinstance(node, ast.FunctionDef) and "dict[str, Verb]" in ast.unparse(node):
                yield from (f"{path.stem}.{one.name}" for one in node.body if isinstance(one, ast.AsyncFunctionDef))


def _answering_browsers() -> Iterator[str]:
    for path in sorted([*(BOT / "pages").rglob("*.py"), *(BOT / "channels").rglob("*.py")]):
        for node in ast.walk(_tree(path)):
            if isinstance(node, ast.AsyncFunctionDef):
                given = [ast.unparse(one.annotation) for one in node.args.args if one.annotation is not None]
                answers = re.fullmatch(r"web\.\w*Response", ast.unparse(node.returns)) if node.returns else None
                if given == ["web.Request"] and answers:
                    yield f"{path.relative_to(BOT).as_posix()} {node.name}"


def paths() -> list[str]:
    """All of them."""
    found = [f"{platform} {one}" for platform in _PLATFORMS for one in sorted(set(_of_platform(platform)))]
    found += [f"from {one}" for one in sorted(set(_handing_over()))]
    found += [f"timer {one}" for one in _timers()]
    found += [f"command line {one}" for one in sorted(set(_verbs()))]
    found += [f"page {one}" for one in sorted(set(_answering_browsers()))]
    return found


def written() -> dict[str, tuple[str, str]]:
    """What the document says: the test of a final and the test of a failed output, by path."""
    rows = re.findall(r"^\| `([^`|]+)` \| `?([^`|]+?)`? \| `?([^`|]+?)`? \|$", TABLE.read_text("utf-8"), re.MULTILINE)
    return {path: (final, failed) for path, final, failed in rows}


def tests() -> set[str]:
    """Every test there is, as ``file::name`` below tests/."""
    return {
        f"{path.relative_to(ROOT / 'tests').as_posix()}::{name}"
        for path in sorted((ROOT / "tests").rglob("test_*.py"))
        for name in re.findall(r"^(?:async )?def (test_\w+)", path.read_text(encoding="utf-8"), re.MULTILINE)
    }


def judged() -> dict[str, tuple[str, str]]:
    """Every path with its test of a final and of a failed output: ``untested`` where none is named, or it is gone."""
    known, there = written(), tests()
    return {
        path: tuple(test if test in there else UNTESTED for test in known.get(path, (UNTESTED, UNTESTED)))
        for path in paths()
    }


def untested() -> list[str]:
    """What has no test of a final or of a failed output."""
    return [
        f"{path}: {outcome} output"
        for path, found in judged().items()
        for outcome, test in zip(("final", "failed"), found, strict=True)
        if test == UNTESTED
    ]


if __name__ == "__main__":
    for path, (final, failed) in judged().items():
        sys.stdout.write(f"{path}\n    final:  {final}\n    failed: {failed}\n")
