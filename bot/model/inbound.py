"""What comes in: stored raw first, read afterwards (DUR-1)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from bot.model.request import Attachment
from policy.event import Event
from policy.quick import quick


@quick
@dataclass(frozen=True, kw_only=True, slots=True)
class Arrival:
    """One native event as it came from the platform, before anything has looked into it.

    Attributes:
        key: the platform's id of the event, unique within the account.
        lane: events of one lane are decided in their order (one lane a chat).
        raw: the native event, JSON.
        received_at: aware.
    """

    key: str
    lane: str
    raw: bytes = field(repr=False)
    received_at: datetime


@quick
@dataclass(frozen=True, kw_only=True, slots=True)
class Stored:
    """An arrival that is durable; ``id`` is the inbox row, rising in the order of arrival."""

    id: int
    account: str
    arrival: Arrival


@dataclass(frozen=True, kw_only=True, slots=True)
class Migration:
    """A channel goes on under another id (IDENT-4)."""

    old: str
    new: str


@quick
@dataclass(frozen=True, kw_only=True, slots=True)
class Reading:
    """What an adapter read out of one native event.

    Attributes:
        event: the authenticated facts.
        native: the decoded update, for :meth:`bot.ports.channel.Channel.material`.
        migration: the event announces a new id of its channel.
        loose: it is about a message and doesn't say where that stands: the thread is that of the message.
    """

    event: Event
    native: Mapping[str, Any] = field(repr=False)
    migration: Migration | None = None
    loose: bool = False


@quick
@dataclass(frozen=True, kw_only=True, slots=True)
class Material:
    """What a request is made of; read only after consent. Everything in it is untrusted (PROMPT-2).

    Attributes:
        text: the person's words.
        attachments: files that can be fetched.
        sender_name: what the person calls themselves.
        channel_title: what the channel is called.
        quoted: the words that are replied to or quoted.
        language: the person's language (BCP 47), where the platform tells it.
        tap: token of a pressed button, and the platform's id of the tap.
        command_arguments: what follows the command.
    """

    text: str = field(default="", repr=False)
    attachments: tuple[Attachment, ...] = ()
    sender_name: str = field(default="", repr=False)
    channel_title: str = field(default="", repr=False)
    quoted: str = field(default="", repr=False)
    language: str | None = None
    tap_token: str | None = None
    tap_id: str | None = None
