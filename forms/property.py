"""One property of a schema as a field (FORM-1): taken where a person can answer it, refused with path and reason.

What the tools of agents write is known here: optional values of Pydantic (``anyOf`` with null), classes of
values behind references, titled choices of MCP elicitation, ``nullable`` of OpenAPI, tuples of two dates.
"""

from dataclasses import replace
from typing import Any, Final

from forms import choices, limits
from forms.bounds import pointer
from forms.canonical import schema_of, schema_of_field
from forms.choices import Listed, flag, text, types_of
from forms.dialect import validator
from forms.field import Field, FieldKind, Form, Option
from forms.patterns import PatternError, compiled
from forms.references import Document, Node, RefusedError, is_vendors
from forms.unions import without_unions
from forms.validation import Judge

MAX_NAME: Final = 128
MAX_TITLE: Final = 256

_LENGTHS: Final = {"min_length": "minLength", "max_length": "maxLength"}
_ITEMS: Final = {"min_items": "minItems", "max_items": "maxItems"}
_SAID: Final = {
    *("title", "description", "default", "examples", "example", "deprecated", "readOnly", "writeOnly", "nullable"),
    *("type", "enum", "const"),
}
_OF_TEXT: Final = {"minLength", "maxLength", "pattern", "format"}
_OF_NUMBERS: Final = {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "format"}
_OF_LISTS: Final = {"items", "prefixItems", "additionalItems", "minItems", "maxItems", "uniqueItems"}
_KEYWORDS: Final = {
    "string": _OF_TEXT,
    "integer": _OF_NUMBERS,
    "number": _OF_NUMBERS,
    "boolean": set[str](),
    "array": _OF_LISTS,
    "choice": _OF_TEXT | _OF_NUMBERS | {"enumNames"},
}
_NUMERIC: Final = {"integer", "number"}
_TELLING: Final = {
    "string": _OF_TEXT,
    "number": _OF_NUMBERS - {"format"},
    "array": _OF_LISTS,
    "object": {"properties", "additionalProperties", "patternProperties", "required"},
}
_KNOWN: Final = _SAID | {"enumNames"} | _OF_TEXT | _OF_NUMBERS | _OF_LISTS
_FORMATS: Final = {
    "date": FieldKind.DATE,
    "time": FieldKind.TIME,
    "date-time": FieldKind.DATETIME,
    "email": FieldKind.EMAIL,
    "uri": FieldKind.URI,
    "password": FieldKind.TEXT,
}
# To see which spellings a pattern beside the format takes; the first ones are in UTC.
_SPELLINGS: Final = {
    FieldKind.DATE: ("2026-11-28",),
    FieldKind.TIME: ("10:30:45Z", "10:30:45+01:00"),
    FieldKind.DATETIME: ("2026-11-28T10:30:45Z", "2026-11-28T10:30:45+01:00"),
}
_RANGES: Final = {
    "date": FieldKind.DATE_RANGE,
    "time": FieldKind.TIME_RANGE,
    "date-time": FieldKind.DATETIME_RANGE,
}


def read_property(document: Document, name: str, schema: object, path: str, *, required: bool) -> Field:
    """The field.

    Raises:
        RefusedError: nobody can be asked this, or nobody could answer it.
    """
    if not name.strip() or len(name) > MAX_NAME:
        raise RefusedError(path, "invalid_name", f"1 to {MAX_NAME} characters")
    if isinstance(schema, dict) and isinstance(schema.get("required"), bool):
        raise RefusedError(pointer(path, "required"), "required_not_a_list", "the object lists the names of its own")
    union = without_unions(document, document.opened(schema, path))
    node = union.node
    if flag(node, "readOnly"):
        raise RefusedError(node["readOnly"].path, "read_only", "nobody may fill it in")
    field = Field(
        name=name,
        title=_titled(node) or name,
        description=text(node["description"]) if "description" in node else "",
        kind=FieldKind.TEXT,
        required=required,
        masked=flag(node, "writeOnly") or ("format" in node and node["format"].value == "password"),
    )
    types = types_of(node)
    if union.options is not None:
        _check_keywords(node, "choice")
        field = _choice(field, _valid_options(node, union.options), fixed="const" in node or types == ["null"])
    else:
        nullable = "null" in types if union.nullable is None else union.nullable
        field = _typed(document, replace(field, nullable=nullable), node, _sole_type(node, types, path), path)
    limits.check_answerable(field, path)
    return _prefilled(field, node)


def _titled(node: Node) -> str:
    title = text(node["title"]).strip() if "title" in node else ""
    if len(title) > MAX_TITLE:
        raise RefusedError(node["title"].path, "too_long", f"at most {MAX_TITLE} characters")
    return title


def _sole_type(node: Node, types: list[str], path: str) -> str:
    named = set(types) - {"null"}
    if not named:
        named = {name for name, keywords in _TELLING.items() if keywords & node.keys()} or {"string"}
    if "string" in named and len(named) > 1 and named <= {"string", *_NUMERIC} and "pattern" in node:
        del node["pattern"]  # of the digits in a text, which .NET takes for a number too
        named.discard("string")
    if named == _NUMERIC:
        return "number"
    if len(named) > 1:
        raise RefusedError(path, "ambiguous_type", "one type, so that an answer can be read in one way")
    return named.pop()


def _check_keywords(node: Node, type_name: str) -> None:
    for name, keyword in node.items():
        if name in _SAID or name in _KEYWORDS[type_name] or is_vendors(name):
            continue
        code = "keyword_not_for_type" if name in _KNOWN else "unsupported_keyword"
        raise RefusedError(keyword.path, code, name)


def _valid_options(node: Node, found: tuple[Listed, ...]) -> tuple[Listed, ...]:
    """The options, each of which the rest of their schema takes.

    Raises:
        RefusedError: one of them could be chosen and would never be valid.
    """
    probe = Field(name="", title="", kind=FieldKind.TEXT)
    of_number = "format" in node and limits.is_number_format(node["format"].value)
    texts = {name: keyword for name, keyword in node.items() if name != "format" or not of_number}
    schema = schema_of_field(_text(probe, texts)) | schema_of_field(replace(probe, **limits.bounds(node)))
    judge = validator({name: limit for name, limit in schema.items() if name != "type"})
    types = types_of(node)
    for option in found:
        choices.of_type(option, types)
        if not judge.is_valid(option.value):
            raise RefusedError(option.path, "option_never_valid", "the limits beside it forbid it")
    return found


def _choice(field: Field, found: tuple[Listed, ...], *, fixed: bool) -> Field:
    if fixed:  # the title beside it is the field's own
        only = found[0].value
        option = Option(value=only, title="" if isinstance(only, bool) else choices.spelt(only))
        return replace(field, kind=FieldKind.CHOICE, options=(option,), fixed=True, has_default=True, default=only)
    options = choices.options_of(found)
    if len(options) == 2 and all(isinstance(option.value, bool) for option in options):
        titled = any(option.title for option in found)
        return replace(field, kind=FieldKind.BOOLEAN, options=options if titled else ())
    return replace(field, kind=FieldKind.CHOICE, options=options)


def _typed(document: Document, field: Field, node: Node, type_name: str, path: str) -> Field:
    if type_name == "object":
        raise RefusedError(path, "nested_object", "fields stand side by side")
    _check_keywords(node, type_name)
    if type_name == "string":
        return _text(field, node)
    if type_name == "array":
        return _list(document, field, node, path)
    if type_name == "boolean":
        return replace(field, kind=FieldKind.BOOLEAN)
    if "format" in node and not limits.is_number_format(node["format"].value):
        raise RefusedError(node["format"].path, "unsupported_format", "not of a number")
    return replace(field, kind=FieldKind(type_name), **limits.bounds(node))


def _text(field: Field, node: Node) -> Field:
    kind = FieldKind.TEXT
    if "format" in node:
        name = node["format"].value
        if not isinstance(name, str) or name not in _FORMATS:
            raise RefusedError(node["format"].path, "unsupported_format", "one of " + ", ".join(sorted(_FORMATS)))
        kind = _FORMATS[name]
    field = replace(field, kind=kind, **limits.counts(node, _LENGTHS))
    if "pattern" not in node:
        return field
    source = node["pattern"]
    try:
        pattern = compiled(text(source), ahead=kind is FieldKind.EMAIL)
    except PatternError as error:
        raise RefusedError(source.path, error.code, error.detail) from None
    spellings = [pattern.is_in(spelling) for spelling in _SPELLINGS.get(kind, ())]
    if spellings and not any(spellings):
        raise RefusedError(source.path, "never_valid", f"it takes no {kind}")
    return replace(field, pattern=source.value, in_utc=any(spellings) and not all(spellings[1:]))


def _list(document: Document, field: Field, node: Node, path: str) -> Field:
    field = replace(field, unique_items=flag(node, "uniqueItems"), **limits.counts(node, _ITEMS))
    pair = node.get("prefixItems") or node.get("items")
    if pair is not None and isinstance(pair.value, list):
        return _pair(document, field, node)
    if pair is None:
        raise RefusedError(path, "unsupported_list", "items say what can be chosen")
    if "additionalItems" in node:
        raise RefusedError(node["additionalItems"].path, "unsupported_keyword", "additionalItems")
    union = without_unions(document, document.opened(pair.value, pair.path))
    if union.options is not None:
        _check_keywords(union.node, "choice")
        listed = choices.options_of(_valid_options(union.node, union.options))
        return replace(field, kind=FieldKind.CHOICES, options=listed)
    kind = _range_of(union.node)
    if kind is None:
        raise RefusedError(pair.path, "unsupported_list", "a list of choices (enum), or a range of dates or times")
    if (field.min_items, field.max_items) != (2, 2):
        raise RefusedError(path, "unsupported_list", "a range has minItems and maxItems of 2")
    return replace(field, kind=kind)


def _pair(document: Document, field: Field, node: Node) -> Field:
    """A range written as a tuple of two."""
    name = "prefixItems" if "prefixItems" in node else "items"
    for rest in {"items", "additionalItems"} - {name}:
        if rest in node and node[rest].value is not False:
            raise RefusedError(node[rest].path, "unsupported_list", "a range has no further items")
    places = node[name]
    kinds = [_range_of(document.opened(part, pointer(places.path, n))) for n, part in enumerate(places.value)]
    if len(kinds) != 2 or kinds[0] is None or kinds[0] != kinds[1]:
        raise RefusedError(places.path, "unsupported_list", "a range is two dates, two times or two date-times")
    if (field.min_items or 0) > 2 or (field.max_items is not None and field.max_items < 2):
        raise RefusedError(places.path, "never_valid", "a range has two items")
    return replace(field, kind=kinds[0], min_items=2, max_items=2)


def _range_of(node: Node) -> FieldKind | None:
    """The kind of range whose ends are of this schema."""
    only_format = all(name in _SAID | {"format"} or is_vendors(name) for name in node)
    if not only_format or types_of(node) not in (["string"], []) or "format" not in node:
        return None
    return _RANGES.get(str(node["format"].value))


def _prefilled(field: Field, node: Node) -> Field:
    """The field with its default and its examples, as far as they are answers. What is masked shows none."""
    examples = node["examples"].value if "examples" in node else []
    if not isinstance(examples, list):
        raise RefusedError(node["examples"].path, "wrong_type", "a list")
    if "example" in node:
        examples = [*examples, node["example"].value]
    if field.masked or field.fixed:
        return field
    if not examples and "default" not in node:
        return field
    judge = Judge(Form(fields=(field,), schema=schema_of([field], strict=True)))
    field = replace(field, examples=tuple(value for value in examples if not judge.errors({field.name: value})))
    if "default" not in node:
        return field
    default: Any = node["default"].value
    if not judge.errors({field.name: default}):
        return replace(field, has_default=True, default=default)
    if default in (None, "", []):  # says only that nothing is filled in
        return field
    raise RefusedError(node["default"].path, "invalid_default", "it would not be taken as an answer")
