"""``commands`` as they are written, and what becomes of them (CMD-1). Keys are described in docs/commands.md."""

import re
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Annotated, Any, Final, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field

from bot.config.commands import (
    MAX_OBJECT_ID,
    Command,
    CommandAction,
    CommandRule,
    Endpoint,
    FormAction,
    HandoverAction,
    HttpAction,
    KeepAction,
    ObjectTable,
    Readers,
    SummaryAction,
    TableObject,
)
from bot.config.secret import Secret
from bot.config.words import SecretText, Url, Word
from forms.errors import SchemaError
from forms.schema import read_form
from policy.decision import Audience
from policy.destination import Destination, MalformedDestinationError, parse_destination
from policy.document_shape import Duration, Identifier, Report, Shape, flaw, nearest
from policy.document_shape import Path as KeyPath

LONGEST_CALL_S: Final = 60.0
LONGEST_LOOK_S: Final = 10.0
"""An unreadable object is refused after just this time (CMD-3), so it is what an agent waits for."""
_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})
_CODE: Final = re.compile(r"[a-z][a-z0-9_]{0,31}")
_TAG: Final = re.compile(r"[a-z]{2,3}(-[A-Za-z0-9]{2,8})*")
_KEYS: Final[Mapping[str, frozenset[str]]] = {
    "http": frozenset({"url", "secret", "secret_file", "previous_secret", "timeout", "allow_plain_http"}),
    "form": frozenset({"question", "schema", "who", "people", "important", "ttl"}),
    "summary": frozenset({"room"}),
    "handover": frozenset(),
    "keep": frozenset(),
}
_NEEDED: Final[Mapping[str, tuple[str, ...]]] = {"http": ("url",), "form": ("question", "schema")}


def _texts(value: dict[str, str]) -> dict[str, str]:
    for tag, text in value.items():
        if not _TAG.fullmatch(tag):
            raise flaw("this is no language", "write it such as en, de or pt-BR")
        if not text.strip() or len(text) > 1000:
            raise flaw("a text has from 1 to 1000 characters", "write what people read")
    if "en" not in value:
        raise flaw("English is missing", "add en: it is what people read whose language is not there")
    return value


def _code(value: str) -> str:
    if not _CODE.fullmatch(value):
        raise flaw("this is no code", "take up to 32 small letters, digits and _ that start with a letter")
    return value


def _object_id(value: str) -> str:
    if not (0 < len(value) <= MAX_OBJECT_ID and value.isprintable()):
        raise flaw("this is no id of an object", f"take from 1 to {MAX_OBJECT_ID} printable characters")
    return value


Texts = Annotated[dict[str, str], AfterValidator(_texts)]
Code = Annotated[str, AfterValidator(_code)]
ObjectId = Annotated[str, AfterValidator(_object_id)]


class ObjectSection(Shape):
    """An entry of ``objects.table``."""

    display: Annotated[str, Field(min_length=1, max_length=200)]
    people: list[Identifier] = Field(default_factory=list)
    groups: list[Identifier] = Field(default_factory=list)
    counterparties: list[Identifier] = Field(default_factory=list)
    fields: dict[Code, Word] = Field(default_factory=dict)


class ObjectsSection(Shape):
    """``commands.NAME.objects``: a table, or an endpoint."""

    table: dict[ObjectId, ObjectSection] | None = None
    url: Url | None = None
    secret: SecretText | None = None
    secret_file: Word | None = None
    previous_secret: SecretText | None = None
    timeout: Duration | None = None
    allow_plain_http: bool | None = None


class RuleSection(Shape):
    """An entry of ``commands.NAME.rules``."""

    code: Code
    when: Annotated[dict[Code, Annotated[list[Word], Field(min_length=1)]], Field(min_length=1)]
    reason: Texts


class ActionSection(Shape):
    """``commands.NAME.action``; which keys it may have depends on its kind."""

    kind: Literal["http", "form", "summary", "handover", "keep"]
    url: Url | None = None
    secret: SecretText | None = None
    secret_file: Word | None = None
    previous_secret: SecretText | None = None
    timeout: Duration | None = None
    allow_plain_http: bool | None = None
    question: Texts | None = None
    form: Annotated[dict[str, Any] | None, Field(alias="schema")] = None
    who: Literal["asker", "people", "operators", "anyone"] = "asker"
    people: list[Identifier] = Field(default_factory=list)
    important: bool = False
    ttl: Duration = timedelta(hours=1)
    room: Word | None = None


class CommandSection(Shape):
    """An entry of ``commands``."""

    description: Word
    input_description: Word | None = None
    title: Texts | None = None
    audiences: Annotated[list[Literal["external", "internal", "operator"]], Field(min_length=1)]
    people: list[Identifier] | None = None
    groups: list[Identifier] = Field(default_factory=list)
    objects: ObjectsSection | None = None
    rules: list[RuleSection] = Field(default_factory=list)
    keep_as: Code | None = None
    reads: list[Code] = Field(default_factory=list)
    action: ActionSection


ReadSecret = Callable[..., Secret | None]
"""Reads a secret of a section (see ``_Builder._secret`` of :mod:`bot.config.document`)."""


class CommandReader:
    """Turns the written commands into settings and reports what can't hold."""

    def __init__(self, report: Report, secret: ReadSecret) -> None:
        """Args: report: of problems. secret: reads one, from the file or from one of its own."""
        self._report = report
        self._secret = secret

    def commands(self, written: Mapping[str, CommandSection]) -> dict[str, Command]:
        """All that can hold; what can't is reported."""
        kept = sorted({one.keep_as for one in written.values() if one.keep_as is not None})
        found = {}
        for name, one in written.items():
            for number, slot in enumerate(one.reads):
                if slot not in kept:
                    self._report(("commands", name, "reads", number), "no command keeps this", nearest(slot, kept))
            command = self._command(name, one)
            if command is not None:
                found[name] = command
        return found

    def _command(self, name: str, written: CommandSection) -> Command | None:
        path: KeyPath = ("commands", name)
        takes = written.input_description is not None
        if takes and written.objects is None:
            self._report((*path, "objects"), "objects is missing", "say where its object is looked up: a table or url")
        for key, has in (("objects", written.objects), ("rules", written.rules), ("keep_as", written.keep_as)):
            if has and not takes:
                mend = "add input_description: what the object is, in English, or remove this"
                self._report((*path, key), "the command takes no object", mend, key=True)
        if written.action.kind == "keep" and written.keep_as is None:
            self._report((*path, "action"), "there is nothing to keep", "add keep_as: and the name of a slot")
        action = self._action((*path, "action"), written.action)
        objects = None if written.objects is None else self._objects((*path, "objects"), written.objects)
        if isinstance(objects, ObjectTable):
            self._check_fields(path, written, objects)
        if action is None:
            return None
        return Command(
            name=name,
            description=written.description,
            input_description=written.input_description,
            title=written.title or {"en": name},
            audiences=frozenset(Audience(one) for one in written.audiences),
            people=None if written.people is None else frozenset(written.people),
            groups=frozenset(written.groups),
            objects=objects,
            rules=tuple(
                CommandRule(
                    code=one.code,
                    when={field: frozenset(values) for field, values in one.when.items()},
                    reason=one.reason,
                )
                for one in written.rules
            ),
            keep_as=written.keep_as,
            reads=tuple(dict.fromkeys(written.reads)),
            action=action,
        )

    def _check_fields(self, path: KeyPath, written: CommandSection, table: ObjectTable) -> None:
        wanted = sorted({field for rule in written.rules for field in rule.when})
        for object_id, one in table.objects.items():
            missing = [field for field in wanted if field not in one.fields]
            if missing:
                mend = f"add {missing[0]}: under its fields; without it the rule refuses"
                self._report(
                    (*path, "objects", "table", object_id), f"a rule looks at {missing[0]}, which is not there", mend
                )

    def _objects(self, path: KeyPath, written: ObjectsSection) -> ObjectTable | Endpoint | None:
        if (written.table is None) is (written.url is None):
            self._report(path, "objects are a table or an endpoint", "write table: or url:, one of them")
            return None
        if written.table is None:
            return self._endpoint(path, written, otherwise_s=2.0, longest_s=LONGEST_LOOK_S)
        for key in sorted(written.model_fields_set - {"table"}):
            self._report((*path, key), f"a table has no {key}", "remove it", key=True)
        return ObjectTable(
            objects={
                object_id: TableObject(
                    display=one.display,
                    readers=Readers(
                        people=frozenset(one.people),
                        groups=frozenset(one.groups),
                        counterparties=frozenset(one.counterparties),
                    ),
                    fields=one.fields,
                )
                for object_id, one in written.table.items()
            }
        )

    def _action(self, path: KeyPath, written: ActionSection) -> CommandAction | None:
        kind = written.kind
        given = {"schema" if key == "form" else key for key in written.model_fields_set}
        for key in sorted(given - _KEYS[kind] - {"kind"}):
            self._report((*path, key), f"an action of kind {kind} has no {key}", "remove it, or change kind", key=True)
        missing = [key for key in _NEEDED.get(kind, ()) if key not in given]
        for key in missing:
            self._report((*path, key), f"{key} is missing", f"add {key}: an action of kind {kind} needs it")
        if missing:
            return None
        match kind:
            case "http":
                endpoint = self._endpoint(path, written, otherwise_s=10.0, longest_s=LONGEST_CALL_S)
                return None if endpoint is None else HttpAction(endpoint=endpoint)
            case "form":
                return self._form(path, written)
            case "summary":
                return self._summary(path, written.room)
            case "handover":
                return HandoverAction()
            case "keep":
                return KeepAction()

    def _form(self, path: KeyPath, written: ActionSection) -> FormAction | None:
        schema = written.form or {}
        try:
            read_form(schema)
        except SchemaError as error:
            self._report((*path, "schema"), f"this can't be asked: {error}"[:300], "see docs/questions.md")
            return None
        if (written.who == "people") is not bool(written.people):
            self._report((*path, "who"), "people are named with who: people", "write both, or neither")
        ttl_s = int(written.ttl.total_seconds())
        if not 30 <= ttl_s <= 7 * 86_400:
            self._report((*path, "ttl"), "a question waits from 30s to 7d", "write a time within these bounds")
        return FormAction(
            question=written.question or {},
            schema=schema,
            who=written.who,
            people=frozenset(written.people),
            important=written.important,
            ttl_s=ttl_s,
        )

    def _summary(self, path: KeyPath, room: str | None) -> SummaryAction | None:
        if room is None:
            return SummaryAction()
        found: Destination | None = None
        try:
            found = parse_destination(room)
        except MalformedDestinationError as error:
            self._report((*path, "room"), f"this is no destination: {error}"[:300], "write it as in the policy")
        return None if found is None else SummaryAction(room=found)

    def _endpoint(
        self, path: KeyPath, written: ActionSection | ObjectsSection, *, otherwise_s: float, longest_s: float
    ) -> Endpoint | None:
        secret = self._secret(path, "secret", written.secret, written.secret_file, needed=True)
        secrets = tuple(one for one in (secret, written.previous_secret) if one is not None)
        if any(not one.reveal().startswith("whsec_") for one in secrets):
            self._report(
                (*path, "secret"), "this is no secret of a webhook", "it starts with whsec_, then base64", key=True
            )
        timeout_s = otherwise_s if written.timeout is None else written.timeout.total_seconds()
        if not 0 < timeout_s <= longest_s:
            self._report((*path, "timeout"), f"this is not within 0 and {longest_s:g}s", "write a time within that")
        if not secrets or written.url is None:
            return None
        address = urlsplit(written.url)
        if address.scheme != "https" and address.hostname not in _LOOPBACK and not written.allow_plain_http:
            mend = "write https://, or allow_plain_http: true if nobody else can read along on the way"
            self._report((*path, "url"), "requests would travel in the clear", mend)
        return Endpoint(
            url=written.url,
            secrets=secrets,
            timeout_s=timeout_s,
            allow_plain_http=bool(written.allow_plain_http),
        )
