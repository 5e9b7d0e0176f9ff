"""What happened, as facts that an adapter has authenticated (IDENT-1, PART-14 to 16).

Adapters turn native updates into an :class:`Event`; nothing in it comes from a display name, a title or a guess. The
text is here because two vetoes look at it (salutation, emptiness); it grants nothing.
"""

from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum, StrEnum

from policy.destination import Destination
from policy.quick import quick


class Chat(StrEnum):
    """What kind of place it is, by the platform's own facts."""

    DIRECT = "direct"  # exactly one person and the bot (PART-4, PART-16)
    GROUP = "group"
    BROADCAST = "broadcast"  # a channel: posts, no conversation
    DELEGATED = "delegated"  # Telegram Business: two people talk, the bot looks over a shoulder


class Kind(StrEnum):
    """What kind of event it is."""

    MESSAGE = "message"
    EDIT = "edit"
    TAP = "tap"  # a button under a message of ours
    REACTION = "reaction"
    REDACTION = "redaction"
    SERVICE = "service"  # joins, pins, titles, migrations
    NOTICE = "notice"  # Matrix m.notice: by convention never answered
    AUTOMATIC_FORWARD = "automatic_forward"
    UNDECRYPTABLE = "undecryptable"
    MALFORMED = "malformed"
    INVITE = "invite"  # somebody asks the bot into a channel


class Origin(StrEnum):
    """Who caused it."""

    HUMAN = "human"
    ANONYMOUS = "anonymous"  # an admin who writes as the group: a human without identity (PART-16)
    SELF = "self"
    BOT = "bot"
    SYNTHETIC = "synthetic"  # made by a program: timers, imports, internal events
    UNKNOWN = "unknown"


class Author(StrEnum):
    """Who wrote the message that is replied to."""

    SELF = "self"
    OTHER = "other"
    UNKNOWN = "unknown"  # neither our receipts nor the platform say


class Target(StrEnum):
    """Whom a command names."""

    SELF = "self"
    OTHER = "other"
    NOBODY = "nobody"


@dataclass(frozen=True, kw_only=True, slots=True)
class Command:
    """A command at the very start of the text: ``name`` in lower case without the slash."""

    name: str
    target: Target


@dataclass(frozen=True, kw_only=True, slots=True)
class Reply:
    """A true reply (PART-15 has removed what only looks like one)."""

    message: str
    author: Author


@quick
@dataclass(frozen=True, kw_only=True, slots=True)
class Event:
    """One inbound event.

    Attributes:
        key: unique within the bot's account (Telegram's update_id, Matrix' event id).
        destination: where it happened.
        chat: kind of place.
        kind: kind of event.
        origin: who caused it.
        sender: account such as ``telegram:510000001``; None where there is no person behind it.
        sent_at: the platform's time of it, aware.
        message: the platform's id of the message that it is or is about.
        identity_known: whether the bot knew its own id and name when the facts were read (PART-14).
        text: what the person wrote, formatting removed.
        attachments: how many files it carries.
        batch: the platform's id of an album.
        truncated: the text is as long as a client makes its parts when it splits a long paste.
        mentions_self: the bot is addressed by structure.
        mentions_others: somebody else is.
        command: a command at offset 0.
        reply: a true reply.
        apparent_reply: looked like a reply and is none; the grant is missing for that reason.
        history: it is from before the bot was there, by the platform's own order of events (PART-12).
    """

    key: str
    destination: Destination
    chat: Chat
    kind: Kind
    origin: Origin
    sender: str | None
    sent_at: datetime
    message: str | None = None
    identity_known: bool = True
    text: str = field(default="", repr=False)
    attachments: int = 0
    batch: str | None = None
    truncated: bool = False
    mentions_self: bool = False
    mentions_others: bool = False
    command: Command | None = None
    reply: Reply | None = None
    apparent_reply: bool = False
    history: bool = False


class Original(Enum):
    """What became of the message that an edit changes (PART-11)."""

    UNSEEN = "unseen"
    MUTED = "muted"
    TAKEN = "taken"  # answered, running, deferred or waiting
    FOREIGN = "foreign"  # somebody else wrote it: platforms that don't refuse such an edit leave that to us
    UNKNOWN = "unknown"  # nobody can tell who wrote it


@quick
@dataclass(frozen=True, kw_only=True, slots=True)
class Memory:
    """What the gateway itself knows of the past, looked up by ids alone.

    Attributes:
        first_start: when this bot account was first started here; None: now is the first time.
        original: for an edit, what became of the message.
        question: it replies to a question of ours, or stands in its thread (FORM-14).
        corrects: for an edit, the message has answered a clarification that can still be corrected (CLAR-4).
        withdrawn: the request has been deleted or redacted since (PART-18).
        person_requests: answered requests of this sender here in the last minute.
        channel_requests: answered requests in this channel in the last minute.
        person_controls: control commands of this sender here in the last minute.
    """

    first_start: datetime | None
    original: Original = Original.UNSEEN
    question: bool = False
    corrects: bool = False
    withdrawn: bool = False
    person_requests: int = 0
    channel_requests: int = 0
    person_controls: int = 0
