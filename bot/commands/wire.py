"""What endpoints of commands are sent and what they answer, version ``discreet/1``; docs/commands.md shows it. Pure.

An endpoint is the admin's own, and its answers are read strictly all the same: whatever does not fit is no answer.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from bot.config.commands import Command
from bot.model.command import Call, Grounds, RunState, Thing
from bot.ports.commands import Answered

VERSION: Final = "discreet/1"
MAX_RESULT: Final = 16 << 10
"""Bytes of a result that goes to the agent."""
MAX_REASONS: Final = 8
MAX_REASON: Final = 1_000
MAX_FIELDS: Final = 50
_CODE: Final = re.compile(r"[a-z][a-z0-9_]{0,31}")
_UNSURE: Final = frozenset({408})
"""Client errors after which nobody can tell."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """What an action has come to. Attributes: question: that was opened."""

    state: RunState
    grounds: tuple[Grounds, ...] = ()
    result: Any = field(default=None, repr=False)
    question: str | None = None


def look_document(command: Command, object_id: str, call: Call, person: str | None) -> bytes:
    """Asks for an object, always for the person on whose behalf the agent acts (CMD-3)."""
    return _bytes(
        {
            "version": VERSION,
            "kind": "object",
            "command": command.name,
            "object": object_id,
            "person": person,
            "request": call.request_id,
        }
    )


def run_document(
    command: Command, call: Call, person: str | None, *, run: str, thing: Thing | None, slots: Mapping[str, Thing]
) -> bytes:
    """Asks to carry a command out."""
    return _bytes(
        {
            "version": VERSION,
            "kind": "command",
            "run": run,
            "command": command.name,
            "object": None if thing is None else {"id": thing.id, "display": thing.display},
            "slots": {name: {"id": one.id, "display": one.display} for name, one in slots.items()},
            "person": person,
            "language": call.language,
            "audience": call.audience.value,
            "request": call.request_id,
        }
    )


def read_thing(object_id: str, answered: Answered) -> Thing | None:
    """The object that an endpoint has found; None: there is none for this person, whatever else was answered."""
    document = _object(answered.body) if answered.status == 200 else None
    if document is None:
        return None
    display, fields = document.get("display"), document.get("fields", {})
    if not isinstance(display, str) or not 0 < len(display) <= 200 or not isinstance(fields, dict):
        return None
    if len(fields) > MAX_FIELDS:
        return None
    return Thing(
        id=object_id,
        display=_line(display) or object_id,
        fields={name: _word(value) for name, value in fields.items() if isinstance(value, str | bool | int)},
    )


def read_outcome(answered: Answered) -> Outcome:
    """What a command has come to: done, refused by its own rules, not done, or nobody can tell."""
    if 200 <= answered.status < 300:
        return Outcome(state=RunState.DONE, result=_result(answered.body))
    if 400 <= answered.status < 500 and answered.status not in _UNSURE:
        grounds = _grounds(answered.body)
        return Outcome(state=RunState.REFUSED, grounds=grounds) if grounds else Outcome(state=RunState.FAILED)
    return Outcome(state=RunState.UNKNOWN)


def _grounds(body: bytes) -> tuple[Grounds, ...]:
    document = _object(body)
    written = None if document is None else document.get("refused")
    if not isinstance(written, list) or not 0 < len(written) <= MAX_REASONS:
        return ()
    found = [_ground(one) for one in written]
    return tuple(one for one in found if one is not None) if None not in found else ()


def _ground(written: object) -> Grounds | None:
    if not isinstance(written, dict):
        return None
    code, texts = written.get("code"), written.get("reason")
    if not isinstance(code, str) or not _CODE.fullmatch(code) or not isinstance(texts, dict) or len(texts) > MAX_FIELDS:
        return None
    if not all(isinstance(text, str) and 0 < len(text) <= MAX_REASON for text in texts.values()) or "en" not in texts:
        return None
    return Grounds(code=code, texts=texts)


def _result(body: bytes) -> Any:
    """JSON for the agent; what is none, or too much, is left out: the command is done all the same."""
    if not body or len(body) > MAX_RESULT:
        return None
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        return None


def _object(body: bytes) -> dict[str, Any] | None:
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
    return document if isinstance(document, dict) else None


def _line(display: str) -> str:
    """A name in one line, of signs that can be seen: people read it, and customers may have written it."""
    return "".join(sign for sign in " ".join(display.split()) if sign.isprintable())


def _word(value: str | bool | int) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def content_of(call: Call) -> bytes:
    """What a call asks for, for a digest: two calls with one key have to ask for the same."""
    given: Sequence[str | None] = (call.name, call.object_id, call.words, call.request_id)
    return _bytes(list(given))


def _bytes(document: object) -> bytes:
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode(errors="replace")
