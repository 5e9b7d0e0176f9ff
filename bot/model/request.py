"""What an agent is asked (PROMPT-2, PROMPT-3): bound to one destination, outsiders' words apart and untrusted."""

from dataclasses import dataclass, field
from datetime import datetime

from bot.model.interaction import Continuing
from policy.decision import Audience
from policy.destination import Destination
from policy.quick import quick
from policy.record import Entry


@dataclass(frozen=True, kw_only=True, slots=True)
class Attachment:
    """A file that came with a request. ``handle`` is the platform's; the bytes are fetched after consent only.

    ``size`` is in bytes, None where the platform doesn't tell.
    """

    handle: str = field(repr=False)
    name: str = field(repr=False)
    media_type: str
    size: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class ContextItem:
    """One piece of untrusted context: ``kind`` is quoted, observed, sender_name, channel_title, draft or returned."""

    kind: str
    text: str = field(repr=False)
    sender: str | None = None
    at: datetime | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Remark:
    """One thing that was said in this conversation before; ``sender`` is the account of a person, None: it was ours.

    The words of people are as untrusted as ever.
    """

    text: str = field(repr=False)
    sender: str | None
    at: datetime


@quick
@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """One request to an agent.

    Attributes:
        id: the same at every attempt, so that an agent can recognise a repeat (DUR-3).
        attempt: 1, or more where the gateway died during an earlier one.
        destination: where it was asked, and the only place where the answer goes.
        audience: who will read the answer.
        person: the principal's id in the policy, None for a stranger.
        language: BCP 47 tag of the answer's likely language.
        text: the person's words, untrusted.
        command: name of the command, if it is one.
        tap: value of the pressed button, if it is a tap.
        attachments: files, fetched through :class:`bot.ports.agent.Files`.
        context: labels, quotes, observed messages: untrusted, structured, never part of the prompt's text.
        record: what the admin vouches for and this destination's counterparty may see (AUTO-8, PROMPT-3).
        continuing: the interaction that goes on with this run, and what has been answered (CLAR-7).
    """

    id: str
    attempt: int
    destination: Destination
    audience: Audience
    asked_at: datetime
    person: str | None = None
    language: str = "en"
    text: str = field(default="", repr=False)
    command: str | None = None
    tap: str | None = field(default=None, repr=False)
    attachments: tuple[Attachment, ...] = ()
    context: tuple[ContextItem, ...] = ()
    record: tuple[Entry, ...] = ()
    continuing: Continuing | None = None
