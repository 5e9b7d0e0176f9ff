"""Whether a value from outside is plain JSON of a bearable size. Walks without recursion: no nesting can hurt."""

import json
import math
from collections.abc import Iterator
from typing import Final

MAX_NESTING: Final = 16
MAX_SAFE_INTEGER: Final = 2**53 - 1  # beyond it the JSON of others (RFC 8785 among them) loses digits
TYPES: Final = frozenset({"string", "integer", "number", "boolean", "null", "array", "object"})
MAX_TEXT: Final = 16_384  # code points of one text in an answer


def pointer(path: str, *steps: str | int) -> str:
    """The JSON pointer that goes these steps on (RFC 6901)."""
    return path + "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in steps)


def is_text(value: str) -> bool:
    """No lone surrogates: the text can be written as UTF-8."""
    return not any("\ud800" <= char <= "\udfff" for char in value)


def is_too_large(number: float) -> bool:
    """An integer that a JSON reader with doubles would change."""
    return isinstance(number, int) and abs(number) > MAX_SAFE_INTEGER


def flaw(value: object) -> tuple[str, str] | None:
    """The JSON pointer and the code of the first thing that is not plain JSON within the bounds; None: all is well."""
    waiting: list[tuple[object, str, int]] = [(value, "", 0)]
    while waiting:
        item, path, depth = waiting.pop()
        code = _flaw_of(item, depth)
        if code:
            return path, code
        waiting += [(child, pointer(path, step), depth + 1) for step, child in _children(item)]
    return None


def _flaw_of(item: object, depth: int) -> str | None:
    if isinstance(item, str):
        return None if is_text(item) else "not_text"
    if isinstance(item, dict):
        if not all(isinstance(name, str) for name in item):
            return "not_json"
        if not all(is_text(name) for name in item):
            return "not_text"
    elif isinstance(item, int) and not isinstance(item, bool):
        return "number_too_large" if item.bit_length() > 64 else None
    elif isinstance(item, float):
        return None if math.isfinite(item) else "not_a_number"
    elif not isinstance(item, list):
        return None if item is None or isinstance(item, bool) else "not_json"
    return "nested_too_deeply" if depth >= MAX_NESTING else None


def _children(item: object) -> Iterator[tuple[str | int, object]]:
    if isinstance(item, dict):
        yield from item.items()
    elif isinstance(item, list):
        yield from enumerate(item)


def size_bytes(value: object) -> int:
    """The size of a flawless value's canonical JSON: no spaces, names sorted, UTF-8."""
    return len(json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode())


def same(one: object, other: object) -> bool:
    """Equal as JSON values: 1 is 1.0 and not true."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[name], other[name]) for name in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return one == other


def is_of_type(value: object, name: str) -> bool:
    """Whether JSON Schema counts the value to the type: 5.0 is an integer, true is no number."""
    if isinstance(value, bool) or value is None:
        return name == ("null" if value is None else "boolean")
    if isinstance(value, int | float):
        return name == "number" or (name == "integer" and value == int(value))
    return name == ("string" if isinstance(value, str) else "array" if isinstance(value, list) else "object")
