"""The references of a schema: inlined where they point into the same document, refused wherever else (FORM-13).

Nothing is ever fetched: a reference is looked up in the schema that is at hand or it is a problem.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeGuard
from urllib.parse import unquote

from forms.bounds import pointer, same
from forms.errors import FormError, SchemaProblem

MAX_REFERENCES: Final = 100
DIALECTS: Final = frozenset(
    f"{scheme}://json-schema.org/{name}/schema{end}"
    for scheme in ("http", "https")
    for name in ("draft-04", "draft-06", "draft-07", "draft/2019-09", "draft/2020-12")
    for end in ("", "#")
)

# What gives a schema another address or lets it point elsewhere.
_IDENTITIES: Final = {"$id", "$anchor", "$vocabulary"} | {
    f"${kind}{what}" for kind in ("dynamic", "recursive") for what in ("Ref", "Anchor")
}
_MAPS: Final = {"properties", "$defs", "definitions", "patternProperties", "dependentSchemas", "dependencies"}
_DATA: Final = {"enum", "const", "default", "examples", "example", "required", "enumNames"}
_NOT_INLINED: Final = {"$ref", "allOf", "$defs", "definitions", "$comment", "$schema"}
# Said of a use, not of the thing: what stands nearest to the field wins.
_ANNOTATIONS: Final = {"title", "description", "default", "examples", "example", "deprecated", "readOnly", "writeOnly"}


class RefusedError(FormError):
    """A part of the schema is refused."""

    def __init__(self, path: str, code: str, detail: str = "") -> None:
        self.problem = SchemaProblem(path=path, code=code, detail=detail)
        super().__init__(code)


@dataclass(frozen=True, kw_only=True, slots=True)
class Keyword:
    """A keyword's value and where it stands."""

    value: Any
    path: str


Node = dict[str, Keyword]
"""A schema with its references and ``allOf`` merged in."""


class Document:
    """One schema as it was sent, for looking up what its references point to."""

    def __init__(self, root: object) -> None:
        self._root = root
        self._references = 0

    def strangers(self) -> Iterator[SchemaProblem]:
        """Every place, also an unused one, where the schema points outside or names itself."""
        yield from _strangers(self._root, "")

    def opened(self, schema: object, path: str, seen: tuple[str, ...] = ()) -> Node:
        """The schema's keywords together with those that it refers to.

        Raises:
            RefusedError: no schema, a reference that leads nowhere or in a circle, or two different demands at once.
        """
        if schema is True:
            return {}
        if schema is False:
            raise RefusedError(path, "never_valid", "false takes no answer")
        if not isinstance(schema, dict):
            raise RefusedError(path, "not_a_schema")
        node = {
            name: Keyword(value=value, path=pointer(path, name))
            for name, value in schema.items()
            if name not in _NOT_INLINED
        }
        if "$ref" in schema:
            target, target_path = self._followed(schema["$ref"], pointer(path, "$ref"), seen)
            merge(node, self.opened(target, target_path, (*seen, target_path)))
        if "allOf" in schema:
            for step, part in enumerate(branches(schema["allOf"], pointer(path, "allOf"))):
                merge(node, self.opened(part, pointer(path, "allOf", step), seen))
        return node

    def _followed(self, reference: object, path: str, seen: tuple[str, ...]) -> tuple[object, str]:
        if not _is_local(reference):
            raise RefusedError(path, "reference_not_local", "such as #/$defs/Name")
        steps = [step.replace("~1", "/").replace("~0", "~") for step in unquote(reference[1:]).split("/")[1:]]
        target_path = pointer("", *steps)
        self._references += 1
        if target_path in seen or not target_path:
            raise RefusedError(path, "reference_in_a_circle")
        if self._references > MAX_REFERENCES:
            raise RefusedError(path, "too_many_references", f"at most {MAX_REFERENCES}")
        target = self._root
        for step in steps:
            if isinstance(target, dict) and step in target:
                target = target[step]
            elif isinstance(target, list) and step.isdecimal() and step.isascii() and int(step[:9]) < len(target):
                target = target[int(step[:9])]
            else:
                raise RefusedError(path, "reference_to_nothing", reference)
        return target, target_path


def branches(value: object, path: str) -> list[object]:
    """The schemas under ``allOf``, ``anyOf`` or ``oneOf``.

    Raises:
        RefusedError: it is not a list with at least one.
    """
    if not isinstance(value, list) or not value:
        raise RefusedError(path, "wrong_type", "a list of schemas")
    return value


def merge(node: Node, other: Mapping[str, Keyword]) -> None:
    """Let a schema ask what another one asks too; what is said of a use stays as it is.

    Raises:
        RefusedError: the two want different things of one keyword.
    """
    for name, keyword in other.items():
        if name not in node:
            node[name] = keyword
        elif name not in _ANNOTATIONS and not same(node[name].value, keyword.value):
            raise RefusedError(node[name].path, "contradiction", f"another {name} stands at {keyword.path}")


def is_vendors(name: str) -> bool:
    """A keyword that says nothing about answers: ``x-order``, ``ui:widget``."""
    return name.startswith("x-") or ":" in name


def _is_local(reference: object) -> TypeGuard[str]:
    return isinstance(reference, str) and (reference == "#" or reference.startswith("#/"))


def _strangers(schema: object, path: str) -> Iterator[SchemaProblem]:
    if isinstance(schema, list):
        for step, part in enumerate(schema):
            yield from _strangers(part, pointer(path, step))
    if not isinstance(schema, dict):
        return
    for name, value in schema.items():
        here = pointer(path, name)
        if name in _IDENTITIES:
            yield SchemaProblem(path=here, code="identity", detail="a schema has no address here")
        elif name == "$schema":
            if not isinstance(value, str) or value not in DIALECTS:
                yield SchemaProblem(path=here, code="unknown_dialect", detail="an address of json-schema.org, or none")
        elif name == "$ref":
            if not _is_local(value):
                yield SchemaProblem(path=here, code="reference_not_local", detail="such as #/$defs/Name")
        elif name in _MAPS and isinstance(value, dict):
            for step, part in value.items():
                yield from _strangers(part, pointer(here, step))
        elif name not in _DATA and not is_vendors(name):
            yield from _strangers(value, here)
