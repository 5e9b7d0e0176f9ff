"""What an agent answers: typed outputs. The label is the agent's word; the door decides what it is worth."""

import codecs
from dataclasses import dataclass, field

from bot.model.interaction import Candidate, Workspace
from bot.model.plan import Plan
from bot.texts.codes import Failure
from forms.card import Card


@dataclass(frozen=True, kw_only=True, slots=True)
class OutFile:
    """A file to send: content in memory, at most what the channel takes."""

    name: str
    media_type: str
    content: bytes = field(repr=False)


READ_BYTES = 1 << 20
"""Of a file that is text; what comes after them is not looked at."""
_TEXTS = ("text/", "application/json", "application/xml", "application/yaml", "application/x-yaml", "application/toml")


def readable(file: OutFile) -> str:
    """What a person reads in a file that is plain text, whatever its label is; empty where it is none."""
    head = file.content[:READ_BYTES]
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return head.decode("utf-16", "replace")
    if file.media_type.startswith(_TEXTS):
        return head.decode("utf-8", "replace")
    if b"\0" in head:
        return ""
    try:
        return codecs.getincrementaldecoder("utf-8")().decode(head)  # its last character may be cut
    except UnicodeDecodeError:
        return ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Final:
    """The answer (Markdown), with files and a card of buttons if there are any.

    Attributes:
        text: Markdown.
        files: that go with it.
        card: of buttons.
        declared: the class of what it says, or a hard stop, by the agent's own word (AUTO-4); empty: routine.
        references: ids of the authorised record that it rests on (AUTO-8).
        auto_after_s: if it becomes a draft: seconds after which it is approved by time (AUTO-7); None: never.
        verbatim: the text is no Markdown: it is shown as it is written (AUTO-6).
    """

    text: str = field(repr=False)
    files: tuple[OutFile, ...] = ()
    card: Card | None = None
    declared: str = ""
    references: tuple[str, ...] = ()
    auto_after_s: int | None = None
    verbatim: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Fragment:
    """The answer while it grows: all of its text so far, never only the news."""

    text: str = field(repr=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class Progress:
    """A note on work under way."""

    text: str = field(repr=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class Operational:
    """A fact for operators: never for outsiders (OUT-3)."""

    text: str = field(repr=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class SafeError:
    """It did not work; people read a sentence of the catalogue, never the error (OUT-7)."""

    failure: Failure


@dataclass(frozen=True, kw_only=True, slots=True)
class Silence:
    """Nothing to say, which is a valid outcome."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Clarify:
    """The run ends with a clarification, and the interaction goes on (CLAR-7).

    Attributes:
        task: whose slot is empty.
        slot: it.
        text: the question, Markdown.
        candidates: a closed list; empty: any text is an answer.
        free_text: beside the candidates any text is an answer too.
        plan: the plan at the beginning, or as the agent has changed it; None: as it stands.
        base_plan_version: the version that the agent has seen; None: the one that its run was given.
        workspace: what the candidates were taken from (CLAR-6).
        ttl_s: seconds until it expires.
    """

    task: str
    slot: str
    text: str = field(repr=False)
    candidates: tuple[Candidate, ...] = field(default=(), repr=False)
    free_text: bool = False
    plan: Plan | None = field(default=None, repr=False)
    base_plan_version: int | None = None
    workspace: Workspace | None = None
    ttl_s: int = 3600


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkspaceChanged:
    """The run ends because the workspace is another than that of its continuation (CLAR-6).

    Attributes:
        workspace: as it is now.
        existing: ids of the candidates that still exist.
    """

    workspace: Workspace
    existing: frozenset[str]


Output = Final | Fragment | Progress | Operational | SafeError | Silence | Clarify | WorkspaceChanged
