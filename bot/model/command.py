"""A command that an agent runs (CMD): what it asks for, and what becomes of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from policy.decision import Audience
from policy.destination import Destination
from policy.event import Chat


class RunState(StrEnum):
    """Where a run of a command stands."""

    STARTED = "started"
    DONE = "done"
    REFUSED = "refused"  # by the command's own rules; nothing was done (CMD-4)
    FAILED = "failed"  # nothing was done
    UNKNOWN = "unknown"  # nobody can tell; it is never repeated by itself


@dataclass(frozen=True, kw_only=True, slots=True)
class Thing:
    """An object of a command, as the person may read it. Attributes: fields: what rules look at."""

    id: str = field(repr=False)
    display: str = field(repr=False)
    fields: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class Grounds:
    """Why a command's own rules refuse. Attributes: texts: by language; empty: they are not kept any more."""

    code: str
    texts: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class Offered:
    """A command as the agent that may run it hears of it (CMD-1)."""

    name: str
    description: str
    input_description: str | None
    reads: tuple[str, ...]
    keep_as: str | None
    words: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Call:
    """What an agent wants, in a run for a person; whoever runs it fills in everything but the first three (CMD-3).

    Attributes:
        name: of the command.
        object_id: the one object (CMD-2).
        words: the agent's own, for commands that take some.
        key: the same call made again has the same; unique within the agent.
        agent: its name.
        request_id: of the run.
        event_id: the inbox row of the run.
        root_id: the row of the request with which its interaction began; slots belong to it (CMD-6).
        destination: where the request was made.
        chat: kind of place.
        account: of whoever made it.
        message: of the request.
        audience: who was to read the answer.
        language: of the person.
        asked: the person's words.
    """

    name: str
    object_id: str | None = field(default=None, repr=False)
    words: str | None = field(default=None, repr=False)
    key: str = field(repr=False)
    agent: str
    request_id: str
    event_id: int
    root_id: int
    destination: Destination
    chat: Chat
    account: str | None
    message: str | None
    audience: Audience
    language: str
    asked: str = field(default="", repr=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class Ran:
    """What came of a run, for its agent.

    Attributes:
        run: opaque id.
        state: all but ``STARTED``.
        text: one sentence: in the person's language where the command's own rules refuse, else plain English.
        thing: the object, if one was given.
        reasons: (code, text) of a refusal.
        result: what an endpoint has answered.
        question: id of the question that was opened.
        answer: to it, where the agent has waited for that.
        repeated: it was run before with the same key, and was not run again.
    """

    run: str
    command: str
    state: RunState
    text: str = field(repr=False)
    thing: Thing | None = None
    reasons: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    result: Any = field(default=None, repr=False)
    question: str | None = None
    answer: Mapping[str, object] | None = field(default=None, repr=False)
    repeated: bool = False
