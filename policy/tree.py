"""What a file says, with the line and column of every key and value, and what can't hold in it.

:mod:`policy.strictyaml` makes the tree; whoever reads it finds the place of a value again by its path.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from policy.errors import PolicyError


@dataclass(frozen=True, kw_only=True, slots=True)
class Mark:
    """A place in the file; both count from 1."""

    line: int
    column: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Problem:
    """One thing that can't hold.

    Attributes:
        source: name of the file.
        mark: where.
        path: the keys that lead there, joined by dots; empty at the top.
        message: what is wrong.
        mend: what to write instead.
    """

    source: str
    mark: Mark
    path: str
    message: str
    mend: str

    @property
    def place(self) -> str:
        """``file:line:column``; free of anything that the file says."""
        return f"{self.source}:{self.mark.line}:{self.mark.column}"

    def __str__(self) -> str:
        path = f"{self.path}: " if self.path else ""
        end = "" if self.mend.endswith("?") else "."
        return f"{self.place}: {path}{self.message}. {self.mend[:1].upper()}{self.mend[1:]}{end}"


class DocumentError(PolicyError):
    """A file can't hold. ``problems`` are in the order of the file; the text has one line for each, with its mend."""

    def __init__(self, problems: list[Problem]) -> None:
        self.problems = tuple(sorted(problems, key=lambda problem: (problem.mark.line, problem.mark.column)))
        super().__init__("\n".join(str(problem) for problem in self.problems))

    @property
    def places(self) -> str:
        """Where the problems are, for logs that may not hold what the file says (DUR-5)."""
        return ", ".join(problem.place for problem in self.problems)


@dataclass(frozen=True, kw_only=True, slots=True)
class Scalar:
    """A text, number or truth value; ``written`` is how the file has it, before variables were filled in."""

    mark: Mark
    value: str | int | float | bool = field(repr=False)
    written: str = field(repr=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class Items:
    """A list."""

    mark: Mark
    items: "tuple[Node, ...]"


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """A key's place and its value."""

    key: Mark
    value: "Node"


@dataclass(frozen=True, kw_only=True, slots=True)
class Section:
    """A mapping; keys are texts whatever they look like, so ``-100`` and ``"-100"`` are one key."""

    mark: Mark
    entries: Mapping[str, Entry]


Node = Scalar | Items | Section


def content(node: Node) -> object:
    """The tree as plain dictionaries, lists and values."""
    if isinstance(node, Scalar):
        return node.value
    if isinstance(node, Items):
        return [content(item) for item in node.items]
    return {key: content(entry.value) for key, entry in node.entries.items()}


def find(root: Section, path: tuple[str | int, ...], *, key: bool = False) -> tuple[Mark, Node]:
    """The node at the end of a path, or the last one on the way that exists, with its place.

    Args:
        root: of the tree.
        path: keys and indexes.
        key: the place is that of the last key and not of its value.
    """
    node: Node = root
    mark = root.mark
    for step in path:
        if isinstance(node, Section) and isinstance(step, str) and step in node.entries:
            entry = node.entries[step]
            node, mark = entry.value, entry.key if key else entry.value.mark
        elif isinstance(node, Items) and isinstance(step, int) and step < len(node.items):
            node = node.items[step]
            mark = node.mark
        else:
            break
    return mark, node


def dotted(path: tuple[str | int, ...]) -> str:
    """A path as problems show it."""
    return ".".join(str(step) for step in path)
