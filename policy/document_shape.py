"""From a YAML tree to a pydantic model, with every mismatch as a problem that has a place and a mend.

The policy and the configuration are both read through :func:`fit`. Pydantic says what does not fit and where in the
tree; here that becomes a sentence for an admin, at the line of the file.
"""

import difflib
import re
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from types import UnionType
from typing import Annotated, Any, Final, TypeVar, Union, get_args, get_origin

from pydantic import AfterValidator, BaseModel, ConfigDict, PlainValidator, ValidationError, WithJsonSchema
from pydantic_core import ErrorDetails, PydanticCustomError

from policy.strictyaml import survey
from policy.tree import Mark, Node, Problem, Scalar, Section, content, dotted, find

Path = tuple[str | int, ...]
Hints = Mapping[Path, str]
"""What to do about keys that people look for in a wrong place: path (``*`` stands for one step) to mend."""


class Shape(BaseModel):
    """A section of a file: nothing unknown, nothing converted."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, hide_input_in_errors=True)


ShapeT = TypeVar("ShapeT", bound=Shape)


def flaw(message: str, mend: str) -> PydanticCustomError:
    """The error that a validator raises: what is wrong, and what to write instead."""
    return PydanticCustomError("flaw", "{message}", {"message": message, "mend": mend})


class Report:
    """Collects problems at places of a tree."""

    def __init__(self, source: str, root: Section, problems: list[Problem]) -> None:
        self._source = source
        self._root = root
        self.problems = problems
        self._broken = {problem.mark for problem in problems}
        self._said: set[Path] = set()

    def __call__(self, path: Path, message: str, mend: str, *, key: bool = False) -> None:
        """Note a problem, the first one at each path; a place that is broken as YAML already has its own."""
        mark = self.mark(path, key=key)
        if mark not in self._broken and path not in self._said:
            self._said.add(path)
            self.problems.append(Problem(source=self._source, mark=mark, path=dotted(path), message=message, mend=mend))

    def mark(self, path: Path, *, key: bool = False) -> Mark:
        """The place of a value or of its key."""
        return find(self._root, path, key=key)[0]

    def node(self, path: Path) -> Node:
        """The value at a path, or the closest one on the way there."""
        return find(self._root, path)[1]


def fit(
    model: type[ShapeT],
    text: str,
    *,
    source: str,
    environment: Mapping[str, str],
    hints: Hints | None = None,
) -> tuple[ShapeT | None, Report]:
    """Read a file into a model.

    Args:
        model: of the file.
        text: of the file.
        source: its name, for problems.
        environment: what ``${NAME}`` stands for.
        hints: mends for keys that people look for in a wrong place.

    Returns:
        The model, None when it does not fit, and the report with the problems so far.
    """
    root, problems = survey(text, source=source, environment=environment)
    report = Report(source, root, problems)
    if problems and not root.entries:
        return None, report
    try:
        return model.model_validate(content(root)), report
    except ValidationError as error:
        for detail in error.errors(include_url=False, include_input=False):
            _explain(detail, model, report, hints or {})
        return None, report


def nearest(word: str, known: Iterable[str]) -> str:
    """A mend for a word that is not known: the nearest one, else all of them."""
    words = sorted(known)
    close = difflib.get_close_matches(word, words, n=1)
    if close:
        return f"did you mean {close[0]}?"
    return f"known are: {', '.join(words)}" if words else "none is listed"


_SHAPES: Final = {
    "model_type": ("a section is expected here", "write its keys below, indented, each with a colon"),
    "dict_type": ("a section is expected here", "write its keys below, indented, each with a colon"),
    "list_type": ("a list is expected here", "write [one, two], or each on a line of its own behind a dash"),
    "bool_type": ("true or false is expected here", "write true or false, without quotes"),
    "int_type": ("a whole number is expected here", "write plain digits, without quotes"),
    "float_type": ("a number is expected here", "write plain digits, without quotes"),
}


def _explain(detail: ErrorDetails, model: type[Shape], report: Report, hints: Hints) -> None:
    """Turn one error of pydantic into a problem."""
    path: Path = tuple(step for step in detail["loc"] if step != "[key]")
    kind = detail["type"]
    context: dict[str, Any] = detail.get("ctx", {})
    node = report.node(path)
    if kind == "extra_forbidden":
        known = _keys(model, path[:-1])
        mend = _hint(hints, path) or nearest(str(path[-1]), known)
        report(path, f"the key {path[-1]} is not known here", mend, key=True)
    elif kind == "missing":
        report(path, f"{path[-1]} is missing", f"add {path[-1]}: and its value")
    elif kind == "flaw":
        report(path, str(context["message"]), str(context["mend"]), key="[key]" in detail["loc"])
    elif kind == "literal_error":
        words = re.split(r", | or ", str(context["expected"]).replace("'", ""))
        written = node.written if isinstance(node, Scalar) else ""
        close = difflib.get_close_matches(written, words, n=1) or words
        report(
            path,
            "this word is not known here",
            f"write {close[0]}" if len(close) == 1 else f"write one of {', '.join(words)}",
        )
    elif kind == "string_type":
        if isinstance(node, Scalar):
            report(path, "a text is expected here, this is a number or a truth value", "put it in quotes")
        else:
            report(path, "a text is expected here", "write one word or sentence behind the colon")
    elif kind in _SHAPES:
        report(path, *_SHAPES[kind])
    else:
        report(path, detail["msg"].replace("Input should", "this should"), "write a value within these bounds")


def _hint(hints: Hints, path: Path) -> str | None:
    for pattern, mend in hints.items():
        if len(pattern) == len(path) and all(want in ("*", step) for want, step in zip(pattern, path, strict=True)):
            return mend
    return None


def _keys(model: type[Shape], path: Path) -> list[str]:
    """The keys that a model knows at a path."""
    kind: Any = model
    for step in path:
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            kind = _bare(kind.model_fields[str(step)].annotation)
        else:
            kind = _bare(get_args(kind)[-1])  # the values of a dict, the items of a list
    return [field.alias or name for name, field in kind.model_fields.items()]


def _bare(kind: Any) -> Any:
    """A type without Annotated and without None."""
    while get_origin(kind) in (Annotated, Union, UnionType):
        kind = get_args(kind)[0]
    return kind


_DURATION: Final = re.compile(r"(?P<amount>[0-9]{1,6}(?:\.[0-9]{1,3})?)(?P<unit>s|m|h|d)")
_UNITS_S: Final = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def _duration(value: object) -> timedelta:
    found = _DURATION.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        raise flaw("this is no duration", "write a number with its unit, such as 90s, 15m, 1h or 7d")
    return timedelta(seconds=float(found["amount"]) * _UNITS_S[found["unit"]])


def _moment(value: object) -> datetime:
    moment = None
    if isinstance(value, str):
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            moment = None
    if moment is None or moment.tzinfo is None:
        raise flaw("this is no time with its offset", "write it such as 2026-12-31T18:00:00+02:00 or with Z for UTC")
    return moment


def _identifier(value: str) -> str:
    if not re.fullmatch(r"[a-z][a-z0-9_-]{0,63}", value):
        raise flaw(
            "this is no id of the file's own",
            "take a short word of small letters, digits, - and _ that starts with a letter; accounts and names stand"
            " under people",
        )
    return value


def _term(value: str) -> str:
    if not value.strip():
        raise flaw("an empty text", "write something, or leave the key out")
    if len(value) > 256:
        raise flaw("this is longer than 256 characters", "make it shorter")
    return value.strip()


Duration = Annotated[
    timedelta,
    PlainValidator(_duration),
    WithJsonSchema({"type": "string", "pattern": "^[0-9]{1,6}([.][0-9]{1,3})?(s|m|h|d)$", "examples": ["90s", "1h"]}),
]
Moment = Annotated[datetime, PlainValidator(_moment), WithJsonSchema({"type": "string", "format": "date-time"})]
Identifier = Annotated[
    str,
    AfterValidator(_identifier),
    WithJsonSchema({"type": "string", "pattern": "^[a-z][a-z0-9_-]{0,63}$"}),
]
Term = Annotated[str, AfterValidator(_term), WithJsonSchema({"type": "string", "minLength": 1, "maxLength": 256})]
