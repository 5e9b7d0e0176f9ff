"""The JSON that a webhook agent reads and writes, version ``discreet/1``; docs/agents.md shows it.

Requests keep outsiders' words under ``untrusted`` (PROMPT-2). Answers are read strictly: a field of the wrong type, an
unknown kind or a card that no channel can show is an error of the agent; fields that are not known are passed over, so
that an agent may be newer than the gateway. Errors name the field, never its content.
"""

import base64
import binascii
import json
import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, Literal, assert_never

import orjson
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from bot.agents.loopwire import (
    ClarifyModel,
    VerdictModel,
    WorkspaceChangedModel,
    continuing_document,
    continuing_untrusted,
)
from bot.model import output as out
from bot.model.errors import AgentError
from bot.model.interaction import Verdict
from bot.model.question import Answerer, Asking, Who
from bot.model.request import Attachment, Request
from bot.texts.codes import Failure
from forms.card import Button, Card, CardError, Style
from policy.ruleset import ContentClass, HardStop

VERSION: Final = "discreet/1"
MAX_TEXT: Final = 100_000
"""Characters of one text; more is ``too_long`` and not cut."""
MAX_FILES: Final = 10
MAX_REFERENCES: Final = 50
AUTO_AFTER_LONGEST_S: Final = 30 * 24 * 3600
CLASSES: Final = frozenset(one.value for kind in (ContentClass, HardStop) for one in kind)
"""What an agent may declare (AUTO-4)."""
MAX_BUTTONS: Final = 12
"""Of an agent's card; the gateway's own may have more (a calendar)."""

_NAME = re.compile(r"[^/\\\x00-\x1f\x7f]{1,200}")
_MEDIA_TYPE = re.compile(r"[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]{0,63}/[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]{0,127}")


class _Read(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True, frozen=True, hide_input_in_errors=True)


class ButtonModel(_Read):
    """A button on the wire."""

    label: str
    value: str
    style: Literal["neutral", "primary", "success", "danger"] = "neutral"


class CardModel(_Read):
    """A card on the wire; ``rows`` are pairs of name and value."""

    title: str = ""
    rows: list[Annotated[list[str], Field(min_length=2, max_length=2)]] = []
    buttons: Sequence[ButtonModel] = ()

    def card(self) -> Card:
        """The card.

        Raises:
            CardError: no channel could show it.
        """
        if len(self.buttons) > MAX_BUTTONS:
            raise CardError(f"a card has at most {MAX_BUTTONS} buttons")
        buttons = tuple(Button(label=one.label, value=one.value, style=Style(one.style)) for one in self.buttons)
        return Card(title=self.title, rows=tuple((name, value) for name, value in self.rows), buttons=buttons)


class WhoModel(_Read):
    """Who may answer, on the wire."""

    kind: Annotated[Answerer, Field(strict=False)]
    people: list[Annotated[str, Field(min_length=1)]] = []


class AskModel(_Read):
    """A question to a person on the wire; ``schema`` is the JSON Schema of the answer."""

    question: str
    answer: dict[str, Any] = Field(alias="schema")
    who: WhoModel | None = None
    important: bool = False
    ttl_s: int = 3600

    def asking(self) -> Asking:
        """The question."""
        who = Who() if self.who is None else Who(kind=self.who.kind, people=frozenset(self.who.people))
        return Asking(text=self.question, schema=self.answer, who=who, ttl_s=self.ttl_s, important=self.important)


class _File(_Read):
    name: str
    media_type: str = "application/octet-stream"
    content: str


Reference = Annotated[str, Field(min_length=1, max_length=200)]
"""The id of an entry of the authorised record."""
AutoAfter = Annotated[int, Field(ge=1, le=AUTO_AFTER_LONGEST_S)]


class _Final(_Read):
    kind: Literal["final"]
    text: str = ""
    files: Annotated[list[_File], Field(max_length=MAX_FILES)] = []
    card: CardModel | None = None
    declared: str | None = Field(default=None, alias="class")
    references: Annotated[list[Reference], Field(max_length=MAX_REFERENCES)] = []
    auto_after_s: AutoAfter | None = None


class _Words(_Read):
    kind: Literal["fragment", "progress", "operational"]
    text: str


class _SafeError(_Read):
    kind: Literal["safe_error"]
    failure: str


class _Silence(_Read):
    kind: Literal["silence"]


_Known = _Final | _Words | _SafeError | _Silence | ClarifyModel | WorkspaceChangedModel
_OUTPUT: Final[TypeAdapter[_Known]] = TypeAdapter(Annotated[_Known, Field(discriminator="kind")])


def request_document(request: Request, contents: Sequence[bytes | str | None] = ()) -> dict[str, Any]:
    """A request as it is posted.

    Args:
        request: what is asked.
        contents: for each attachment its bytes, or why they are left out, or None where nobody asked for them.
    """
    given = [*contents, *[None] * (len(request.attachments) - len(contents))]
    going_on = request.continuing
    return {
        "version": VERSION,
        "kind": "request",
        "id": request.id,
        "attempt": request.attempt,
        "destination": str(request.destination),
        "audience": request.audience.value,
        "asked_at": request.asked_at.isoformat(),
        "person": request.person,
        "language": request.language,
        "command": request.command,
        "tap": request.tap,
        "record": record_documents(request),
        **({} if going_on is None else {"interaction": continuing_document(going_on)}),
        "untrusted": {
            **({} if going_on is None else continuing_untrusted(going_on)),
            "text": request.text,
            "context": context_documents(request),
            "attachments": [
                _attachment(attachment, content) for attachment, content in zip(request.attachments, given, strict=True)
            ],
        },
    }


def context_documents(request: Request) -> list[dict[str, Any]]:
    """Labels, quotes and observed words, each apart (PROMPT-2)."""
    return [
        {
            "kind": item.kind,
            "text": item.text,
            "sender": item.sender,
            "at": None if item.at is None else item.at.isoformat(),
        }
        for item in request.context
    ]


def record_documents(request: Request) -> list[dict[str, Any]]:
    """What the admin vouches for, as data (AUTO-8); answers name the ids that they rest on."""
    return [
        {
            "id": entry.id,
            "text": entry.text,
            "classes": sorted(entry.classes),
            "expires_at": None if entry.expires_at is None else entry.expires_at.isoformat(),
        }
        for entry in request.record
    ]


def encode_json(document: Any) -> bytes:
    """A document as UTF-8; half of a surrogate pair, which some clients send, becomes a question mark."""
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode(errors="replace")


def parse_json(data: bytes | str) -> Any:
    """Strict JSON: UTF-8, no lone surrogates, no NaN.

    Raises:
        AgentError: it is none.
    """
    try:
        return orjson.loads(data)
    except (orjson.JSONDecodeError, UnicodeEncodeError):
        pass
    raise AgentError("the agent's answer is not JSON")


def parse_answer(document: Any) -> tuple[out.Output, ...]:
    """A whole answer: one output, or an object with ``outputs``; none at all is silence.

    Raises:
        AgentError: it is neither.
    """
    if not isinstance(document, dict):
        raise AgentError("the agent's answer is not an object")
    if "outputs" not in document:
        return (parse_output(document),)
    _check_version(document)
    outputs = document["outputs"]
    if not isinstance(outputs, list):
        raise AgentError("the agent's answer is wrong at outputs: not a list")
    return tuple(parse_output(one) for one in outputs) or (out.Silence(),)


def parse_output(document: Any) -> out.Output:
    """One output.

    Raises:
        AgentError: unknown kind, missing field, wrong type, a card or file that can't be.
    """
    if not isinstance(document, dict):
        raise AgentError("the agent's output is not an object")
    _check_version(document)
    fault: str
    try:
        return _output(_OUTPUT.validate_python(document))
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        fault = f"{'.'.join(str(step) for step in first['loc']) or 'kind'}: {first['type']}"
    except CardError as error:
        fault = f"final.card: {error}"
    raise AgentError(f"the agent's output is wrong at {fault}")


def parse_verdict(document: Any) -> Verdict:
    """What a classifier has answered (CLAR-4).

    Raises:
        AgentError: it is no verdict.
    """
    if isinstance(document, dict):
        _check_version(document)
    try:
        return VerdictModel.model_validate(document).reading()
    except ValidationError:
        pass
    raise AgentError("the agent's verdict is wrong: kind verdict, and one of the five")


def _output(found: _Known) -> out.Output:
    match found:
        case ClarifyModel():
            return found.clarify()
        case WorkspaceChangedModel():
            return found.changed()
        case _Silence():
            return out.Silence()
        case _SafeError():
            if found.failure not in {one.value for one in Failure}:
                raise AgentError("the agent's output is wrong at safe_error.failure: not in the catalogue")
            return out.SafeError(failure=Failure(found.failure))
        case _Final() | _Words() if len(found.text) > MAX_TEXT:
            return out.SafeError(failure=Failure.TOO_LONG)
        case _Words(kind="fragment"):
            return out.Fragment(text=found.text)
        case _Words(kind="progress"):
            return out.Progress(text=found.text)
        case _Words():
            return out.Operational(text=found.text)
        case _Final():
            if found.declared is not None and found.declared not in CLASSES:
                raise AgentError("the agent's output is wrong at final.class: no content class and no hard stop")
            return out.Final(
                text=found.text,
                files=tuple(_file(one) for one in found.files),
                card=None if found.card is None else found.card.card(),
                declared=found.declared or "",
                references=tuple(found.references),
                auto_after_s=found.auto_after_s,
            )
        case _:
            assert_never(found)


def _file(found: _File) -> out.OutFile:
    if not _NAME.fullmatch(found.name) or found.name in (".", ".."):
        raise AgentError("the agent's output is wrong at final.files.name: not the plain name of a file")
    if not _MEDIA_TYPE.fullmatch(found.media_type):
        raise AgentError("the agent's output is wrong at final.files.media_type: not like text/plain")
    try:
        content = base64.b64decode(found.content, validate=True)
    except (binascii.Error, ValueError):
        content = None
    if content is None:
        raise AgentError("the agent's output is wrong at final.files.content: not base64")
    return out.OutFile(name=found.name, media_type=found.media_type, content=content)


def _attachment(attachment: Attachment, content: bytes | str | None) -> dict[str, Any]:
    document: dict[str, Any] = {
        "name": attachment.name,
        "media_type": attachment.media_type,
        "size": attachment.size,
    }
    match content:
        case bytes():
            document["content"] = base64.b64encode(content).decode()
        case str():
            document["omitted"] = content
        case None:
            pass
        case _:
            assert_never(content)
    return document


def _check_version(document: Mapping[str, Any]) -> None:
    if document.get("version", VERSION) != VERSION:
        raise AgentError(f"the agent speaks another version than {VERSION}")
