"""A whole schema read as a form: size, references, names, and each property as a field (FORM-1, FORM-13)."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

from forms.bounds import flaw, pointer, size_bytes
from forms.canonical import schema_of
from forms.errors import SchemaError, SchemaProblem
from forms.field import Field, FieldKind, Form
from forms.patterns import MAX_POSITIONS, positions
from forms.property import read_property
from forms.references import Document, Node, RefusedError, is_vendors

MAX_FIELDS: Final = 20
MAX_BYTES: Final = 8_192

_KEYWORDS: Final = {
    *("type", "properties", "required", "additionalProperties", "unevaluatedProperties"),
    *("title", "description", "default", "examples", "example", "deprecated"),
}


def read(schema: object) -> Form:
    """The form that the schema describes.

    Raises:
        SchemaError: every problem that was found.
    """
    try:
        _check_size(schema)
        document = Document(schema)
        strangers = tuple(document.strangers())
        if strangers:
            raise SchemaError(strangers)
        node = _object(document, schema)
        return _form(document, node)
    except RefusedError as refused:
        raise SchemaError((refused.problem,)) from None


def _check_size(schema: object) -> None:
    found = flaw(schema)
    if found:
        raise RefusedError(*found)
    if not isinstance(schema, dict):
        raise RefusedError("", "not_an_object", "a schema of type object with properties")
    size = size_bytes(schema)
    if size > MAX_BYTES:
        raise RefusedError("", "too_large", f"{size} bytes, at most {MAX_BYTES}")


def _object(document: Document, schema: object) -> Node:
    node = document.opened(schema, "")
    for name, keyword in node.items():
        if name not in _KEYWORDS and not is_vendors(name):
            raise RefusedError(keyword.path, "unsupported_keyword", name)
    kind = node["type"].value if "type" in node else "object" if "properties" in node else None
    if kind not in ("object", ["object"]):
        raise RefusedError(node["type"].path if "type" in node else "", "not_an_object", "type object with properties")
    return node


def _form(document: Document, node: Node) -> Form:
    properties = node["properties"].value if "properties" in node else {}
    if not isinstance(properties, dict):
        raise RefusedError(node["properties"].path, "wrong_type", "names with their schemas")
    if len(properties) > MAX_FIELDS:
        raise RefusedError(node["properties"].path, "too_many_fields", f"at most {MAX_FIELDS}")
    required = _required(node, properties)
    strict = any(_closed(node, name) for name in ("additionalProperties", "unevaluatedProperties"))
    fields: list[Field] = []
    problems: list[SchemaProblem] = []
    for name, part in properties.items():
        path = pointer(node["properties"].path, name)
        try:
            fields.append(read_property(document, name, part, path, required=name in required))
        except RefusedError as refused:
            problems.append(refused.problem)
    together = sum(
        positions(field.pattern, ahead=field.kind is FieldKind.EMAIL) for field in fields if field.pattern is not None
    )
    if together > MAX_POSITIONS:
        problems.append(SchemaProblem(path=node["properties"].path, code="patterns_too_large"))
    if problems:
        raise SchemaError(tuple(problems))
    told_apart = tuple(_told_apart(fields))
    return Form(fields=told_apart, schema=schema_of(told_apart, strict=strict), strict=strict)


def _required(node: Node, properties: dict[str, Any]) -> frozenset[str]:
    if "required" not in node:
        return frozenset()
    names, path = node["required"].value, node["required"].path
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise RefusedError(path, "required_not_a_list", "a list of names")
    for step, name in enumerate(names):
        if name not in properties:
            raise RefusedError(pointer(path, step), "required_unknown", "no property has this name")
    return frozenset(names)


def _closed(node: Node, name: str) -> bool:
    value = node[name].value if name in node else True
    if not isinstance(value, bool) and value != {}:
        raise RefusedError(node[name].path, "unsupported_keyword", "true or false")
    return value is False


def _told_apart(fields: list[Field]) -> Iterator[Field]:
    """The fields, with their names added to titles that would be taken for another field's."""
    words = Counter(word for field in fields for word in {field.name.casefold(), field.title.casefold()})
    for field in fields:
        shared = words[field.title.casefold()] > 1
        yield replace(field, title=f"{field.title} ({field.name})") if shared and field.title != field.name else field
