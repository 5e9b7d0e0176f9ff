"""What goes out: parts with their final bytes, and what the platform said of each."""

import hashlib
from dataclasses import dataclass, field
from enum import StrEnum

from bot.model.output import OutFile, readable
from policy.boundary import Speech, Utterance
from policy.destination import Destination
from policy.quick import quick


class Action(StrEnum):
    """The paths by which something reaches a person (OUT-9)."""

    SEND = "send"
    EDIT = "edit"
    FILES = "files"
    DRAFT = "draft"
    TYPING = "typing"
    REACTION = "reaction"
    TAP_ANSWER = "tap_answer"
    READ = "read"  # the mark that a message was read
    JOIN = "join"  # into a channel that the bot was invited to
    LEAVE = "leave"


@dataclass(frozen=True, kw_only=True, slots=True)
class ButtonToken:
    """A button's opaque token, and what it stands for on our side (never on the wire).

    ``key``: where the platform has no buttons, the sign that stands for it under the message.
    """

    token: str
    label: str = field(repr=False)
    value: str = field(repr=False)
    key: str = ""


@quick
@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """One call to a platform, ready to be made.

    Attributes:
        destination: the complete place.
        action: which path it takes.
        speech: what kind of output it is.
        text: everything that a person could read in it, for the check (OUT-2).
        payload: the final bytes: canonical JSON that only its own adapter understands.
        files: content that goes with it.
        buttons: tokens that its buttons carry.
    """

    destination: Destination
    action: Action
    speech: Speech
    text: str = field(repr=False)
    payload: bytes = field(repr=False)
    files: tuple[OutFile, ...] = ()
    buttons: tuple[ButtonToken, ...] = ()
    _digest: str = field(default="", init=False, repr=False, compare=False)  # derived, once

    @property
    def utterance(self) -> Utterance:
        """The part as the boundary sees it."""
        return Utterance(
            speech=self.speech,
            text=self.text,
            contents=tuple(filter(None, map(readable, self.files))),
            files=len(self.files),
            removes=self.action is Action.EDIT and not self.text,
        )

    @property
    def digest(self) -> str:
        """SHA-256 over destination and final bytes, files included, hexadecimal."""
        if self._digest:
            return self._digest
        total = hashlib.sha256(f"{self.destination}\0{self.action}\0".encode())
        total.update(self.payload)
        for file in self.files:
            total.update(f"\0{file.name}\0{file.media_type}\0".encode())
            total.update(hashlib.sha256(file.content).digest())
        object.__setattr__(self, "_digest", total.hexdigest())
        return self._digest


@quick
@dataclass(frozen=True, kw_only=True, slots=True)
class Delivered:
    """The platform has it; ``messages`` are its ids there (none for a typing sign or a no-op)."""

    messages: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Rejected:
    """The platform has refused it and did nothing.

    Attributes:
        code: bounded, for the journal: ``formatting``, ``forbidden``, ``not_found``, ``thread_not_found``,
            ``too_long``, ``rejected``.
        channel_gone: nothing can be sent to this channel until membership changes.
    """

    code: str
    channel_gone: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class TryLater:
    """It certainly did not happen and may be tried again after ``after_s`` seconds.

    ``flood``: the platform asked for it (429), which spends no attempt.
    """

    after_s: float
    flood: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Moved:
    """The channel goes on as ``channel``; the part did not happen (IDENT-4)."""

    channel: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Unclear:
    """Nobody knows whether it happened (DUR-2)."""

    code: str


Receipt = Delivered | Rejected | TryLater | Moved | Unclear
