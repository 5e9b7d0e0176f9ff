"""YAML without surprises: text in, a tree out that knows the line and column of every key and value.

Files that decide who may speak to whom must mean what they look like. So only a plain part of YAML is taken: sections
(mappings), lists, texts, whole and decimal numbers, true and false. Whatever readers of YAML disagree about (``no``,
``0123``, ``22:30``, ``1_000``), whatever hides (duplicate keys, merge keys, aliases, tags) and whatever is empty
(``channels:`` with nothing behind it) is refused with its place and its mend. All problems are reported together.

``${NAME}`` in a value is taken from the environment and stays a text: it is never read as YAML. ``${NAME:-default}``
has a default for a variable that is unset or empty; ``$${`` is a plain ``${``.

INVARIANT: a problem never quotes a value that could be a secret; the place says which one is meant.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Final

import yaml

from policy.tree import DocumentError, Entry, Items, Mark, Node, Problem, Scalar, Section, dotted

__all__ = ["NESTING_LIMIT", "SIZE_LIMIT", "DocumentError", "Problem", "parse", "survey"]

SIZE_LIMIT: Final = 1024 * 1024  # bytes
NESTING_LIMIT: Final = 16


def parse(text: str, *, source: str, environment: Mapping[str, str]) -> Section:
    """Read a file.

    Args:
        text: of the file; a byte order mark and any line ends are taken.
        source: its name, for problems.
        environment: what ``${NAME}`` stands for.

    Returns:
        Its top section.

    Raises:
        DocumentError: with every problem that was found.
    """
    root, problems = survey(text, source=source, environment=environment)
    if problems:
        raise DocumentError(problems)
    return root


def survey(text: str, *, source: str, environment: Mapping[str, str]) -> tuple[Section, list[Problem]]:
    """As :func:`parse`, with the problems beside whatever could be read in spite of them."""
    reader = _Reader(source, environment)
    root = reader.read(text.removeprefix("\ufeff"))
    return root, reader.problems


_START: Final = Mark(line=1, column=1)
_QUOTE: Final = "put it in quotes if it is a text"
_PLAINLY: Final = "write a number in plain digits, and put a text in quotes"
_VARIABLE: Final = re.compile(
    r"\$(?:(?P<literal>\$\{)|\{(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?::-(?P<default>[^}]*))?\}|(?P<broken>\{))",
)
_INTEGER: Final = re.compile(r"0|-?[1-9][0-9]{0,18}")
_DECIMAL: Final = re.compile(r"-?(?:0|[1-9][0-9]{0,8})\.[0-9]{0,8}[1-9]")
_UNFIT: Final = re.compile("[\0\ud800-\udfff]")
_SURPRISES: Final = (
    (re.compile(r"yes|no|on|off|y|n"), "this word is a truth value to some readers of YAML and a text to others",
     "write true or false, or put the word in quotes if it is a text"),
    (re.compile(r"true|false"), "a truth value is written small", "write true or false"),
    (re.compile(r"~|null"), "this says nothing", "leave the key out, or put the word in quotes if it is a text"),
    (re.compile(r"[-+]?0[0-9_]+"), "a number with a leading zero is octal to some readers of YAML", _PLAINLY),
    (re.compile(r"[-+]?0(?:x[0-9a-f_]+|o[0-7_]+|b[01_]+)"), "a number in another base", _PLAINLY),
    (re.compile(r"[-+]?[0-9][0-9_]*(?::[0-9]{1,2})+(?:\.[0-9_]*)?"),
     "digits with colons are a number to base 60 to some readers of YAML", _QUOTE),
    (re.compile(r"[-+]?(?:[0-9][0-9_]*\.?[0-9_]*|\.[0-9_]+)e[-+]?[0-9]+"),
     "a number with an exponent is a text to some readers of YAML", _PLAINLY),
    (re.compile(r"[-+]?\.(?:inf|nan)"), "no number that can be counted with", _PLAINLY),
    (re.compile(r"[-+]?[0-9][0-9_]*_[0-9_]*(?:\.[0-9_]*)?"), "a number with _ in it is a text to some readers of YAML",
     _PLAINLY),
    (re.compile(r"[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+)"),
     "as a number this would not keep the digits as they are written here", _PLAINLY),
    (re.compile(r"[-+]?[0-9]+"), "no plain whole number", _PLAINLY),
)  # fmt: skip
_MENDS: Final = (
    ("\\t", "use spaces instead of the tab"),
    ("cannot start any token", "put a text that starts with a special character in quotes"),
    (
        "mapping values are not allowed",
        "check the indentation, and put a text that holds a colon and a space in quotes",
    ),
    ("expected ':'", "each key needs a colon and a space behind it"),
    ("block end", "keys of one section start in the same column"),
    ("<stream end>", "close what was opened with [ or {"),
    ("expected ','", "close what was opened with [ or {; in there ${NAME} stands in quotes"),
    ("quoted scalar", "close the quotes"),
    ("escape", "use single quotes where \\ stands for itself"),
)
_OTHERWISE: Final = "look at the indentation, the colons and the quotes here and in the line before"


class _Unreadable(Exception):  # noqa: N818 - a jump out of the reader, never seen outside
    """Nothing behind this place can be read."""


class _Reader:
    """Builds the tree from the parser's events, so that nothing is expanded or constructed on the way."""

    def __init__(self, source: str, environment: Mapping[str, str]) -> None:
        self._source = source
        self._environment = environment
        self.problems: list[Problem] = []

    def read(self, text: str) -> Section:
        """The top section; an empty one where there is none."""
        nothing = Section(mark=_START, entries={})
        if len(text) > SIZE_LIMIT or len(text.encode(errors="surrogatepass")) > SIZE_LIMIT:
            self._report(_START, "", "the file is larger than 1 MiB", "make it smaller; it should fit on some pages")
            return nothing
        tabs = [number for number, line in enumerate(text.splitlines(), 1) if "\t" in line[: _indent(line)]]
        for number in tabs:
            mark = Mark(line=number, column=1)
            self._report(mark, "", "a tab in the indentation", "use spaces instead of the tab")
        if tabs:
            return nothing
        try:
            events = yaml.parse(text, Loader=yaml.SafeLoader)
            return self._document(events, nothing)
        except _Unreadable:
            pass
        except yaml.reader.ReaderError as error:
            before = text[: error.position]
            mark = Mark(line=before.count("\n") + 1, column=error.position - before.rfind("\n"))
            self._report(
                mark, "", "a character that YAML does not allow", "remove it, or write it as an escape in quotes"
            )
        except yaml.MarkedYAMLError as error:
            mark = _mark(error.problem_mark or error.context_mark)
            said = str(error.problem or error.context)
            mend = next((mend for sign, mend in _MENDS if sign in said), _OTHERWISE)
            self._report(mark, "", f"this is no YAML: {said}", mend)
        except (ValueError, OverflowError):  # the scanner's own, for escapes and versions that no number can hold
            self._report(_START, "", "this is no YAML: an escape or a directive is out of bounds", _OTHERWISE)
        return nothing

    def _document(self, events: Iterator[yaml.Event], nothing: Section) -> Section:
        root = nothing
        found = False
        for event in events:
            if isinstance(event, yaml.DocumentStartEvent):
                if found:
                    self._report(_mark(event.start_mark), "", "a second document", "keep one document in a file")
                    raise _Unreadable
                found = True
                node = self._node(next(events), events, (), _START)
                if isinstance(node, Section):
                    root = node
                elif not self.problems:
                    self._report(node.mark, "", "a section is expected at the top", "write keys, each with a colon")
        if not found:
            self._report(_START, "", "the file is empty", "start from the example")
        return root

    def _node(self, event: yaml.Event, events: Iterator[yaml.Event], path: tuple[str | int, ...], owner: Mark) -> Node:
        """One node; ``owner`` is the place of its key, to which what is empty belongs."""
        mark = _mark(event.start_mark)
        where = dotted(path)
        if len(path) > NESTING_LIMIT:
            self._report(mark, where, f"more than {NESTING_LIMIT} levels", "nest less")
            raise _Unreadable
        if isinstance(event, yaml.ScalarEvent):
            self._bare(event.anchor, event.tag, mark, where)
            return self._scalar(event, where, owner)
        if isinstance(event, yaml.SequenceStartEvent):
            self._bare(event.anchor, event.tag, mark, where)
            items: list[Node] = []
            while not isinstance(event := next(events), yaml.SequenceEndEvent):
                items.append(self._node(event, events, (*path, len(items)), _mark(event.start_mark)))
            return Items(mark=mark, items=tuple(items))
        if isinstance(event, yaml.MappingStartEvent):
            self._bare(event.anchor, event.tag, mark, where)
            return self._section(mark, events, path)
        self._report(mark, where, "an alias", "write it out; put a text that starts with * in quotes")
        return Scalar(mark=mark, value="", written="")

    def _bare(self, anchor: str | None, tag: str | None, mark: Mark, where: str) -> None:
        if anchor is not None:
            self._report(mark, where, "an anchor", "remove it; put a text that starts with & in quotes")
        if tag is not None:
            self._report(mark, where, "a tag", "remove it; put a text that starts with ! in quotes")

    def _section(self, mark: Mark, events: Iterator[yaml.Event], path: tuple[str | int, ...]) -> Section:
        entries: dict[str, Entry] = {}
        while not isinstance(event := next(events), yaml.MappingEndEvent):
            key_mark = _mark(event.start_mark)
            if not isinstance(event, yaml.ScalarEvent):
                self._report(key_mark, dotted(path), "a key that is no word", "keys are words or ids")
                raise _Unreadable
            key = event.value
            self._key(event, key_mark, dotted(path))
            value = self._node(next(events), events, (*path, key), key_mark)
            first = entries.get(key)
            if first is None:
                entries[key] = Entry(key=key_mark, value=value)
                continue
            self._report(
                key_mark,
                dotted((*path, key)),
                f"this key is here twice, in line {first.key.line} and in line {key_mark.line}",
                "join the two, or remove one",
            )
        return Section(mark=mark, entries=entries)

    def _key(self, event: yaml.ScalarEvent, mark: Mark, where: str) -> None:
        if event.anchor is not None or event.tag is not None:
            self._report(mark, where, "an anchor or a tag at a key", "remove it, or put the key in quotes")
        elif event.value == "":
            self._report(mark, where, "an empty key", "write a word before the colon")
        elif event.value == "<<" and event.style is None:
            self._report(mark, where, "a merge key", "write the keys out")
        elif _VARIABLE.search(event.value):
            self._report(mark, where, "a variable in a key", "variables stand in values only; write the key out")
        elif _UNFIT.search(event.value):
            self._report(mark, where, "a character that no text may hold", "remove the escape")
        elif event.style is None and event.value in ("true", "false"):
            self._report(mark, where, "a truth value as a key", "put the key in quotes")
        elif event.style is None:
            self._resolve(event.value, mark, where)

    def _scalar(self, event: yaml.ScalarEvent, where: str, owner: Mark) -> Scalar:
        mark = _mark(event.start_mark)
        written = event.value
        if event.style is None and not written:
            if event.tag is None and event.anchor is None:
                self._report(owner, where, "nothing stands here", "write a value, or leave the key out")
            return Scalar(mark=owner, value="", written="")
        value: str | int | float | bool = written
        if _VARIABLE.search(written):
            value = _VARIABLE.sub(lambda found: self._variable(found, mark, where), written)
        elif event.style is None:
            value = self._resolve(written, mark, where)
        if isinstance(value, str) and _UNFIT.search(value):
            self._report(mark, where, "a character that no text may hold", "remove it")
        return Scalar(mark=mark, value=value, written=written)

    def _variable(self, found: re.Match[str], mark: Mark, where: str) -> str:
        if found["literal"]:
            return "${"
        name, default = found["name"], found["default"]
        if name is None:
            self._report(mark, where, "${ without a name and }", "write ${NAME}, or $${ for the characters themselves")
            return ""
        value = self._environment.get(name)
        if default is not None:
            return value or default
        if value is None:
            self._report(mark, where, f"the variable {name} is not set", f"set {name} in the environment of the daemon")
            return ""
        return value

    def _resolve(self, text: str, mark: Mark, where: str) -> str | int | float | bool:
        """What an unquoted word stands for."""
        if text in ("true", "false"):
            return text == "true"
        if _INTEGER.fullmatch(text):
            return int(text)
        if _DECIMAL.fullmatch(text):
            return float(text)
        for pattern, message, mend in _SURPRISES:
            if pattern.fullmatch(text.lower()):
                self._report(mark, where, message, mend)
                break
        return text

    def _report(self, mark: Mark, path: str, message: str, mend: str) -> None:
        self.problems.append(Problem(source=self._source, mark=mark, path=path, message=message, mend=mend))


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" \t"))


def _mark(mark: "yaml.error.Mark | yaml._yaml.Mark | None") -> Mark:
    return _START if mark is None else Mark(line=mark.line + 1, column=mark.column + 1)
