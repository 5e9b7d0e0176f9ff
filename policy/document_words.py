"""What a single value of the policy file may be: destinations, accounts, zones, audiences and the other words.

INVARIANT: an id is an id of its platform. Names, @handles, titles and bare numbers are refused, each with the mend;
a person where a chat belongs, and the other way round, is told by the sign of a Telegram id.
"""

import difflib
import re
from datetime import timedelta
from typing import Annotated, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from pydantic import AfterValidator, Field, PlainValidator, WithJsonSchema

from policy.destination import (
    Destination,
    MalformedAccountError,
    MalformedDestinationError,
    parse_account,
    parse_destination,
)
from policy.document_shape import Duration, Identifier, Term, flaw

Language = Literal["en", "ru", "es", "bg", "de"]
Class = Literal["routine", "prices", "contract", "legal", "public_post", "unverified_claim", "technical_figure"]


def _place(value: object) -> Destination:
    text = value if isinstance(value, str) else ""
    if re.fullmatch(r"-[0-9]+", text):
        raise flaw("a bare number is no destination", f"write telegram:BOT_ID:{text} with the number of your bot")
    if text.isdecimal():
        raise flaw(
            "a positive number is a person and no chat",
            f"list the person under people with the account telegram:{text}",
        )
    try:
        destination = parse_destination(text)
    except MalformedDestinationError as error:
        raise flaw("this is no complete destination", f"{error}; an @name or a title never stands for an id") from None
    if destination.platform == "telegram" and not destination.channel.startswith("-"):
        raise flaw(
            "a positive number is a person, and this a one-to-one chat with them",
            f"list the person under people with the account telegram:{destination.channel}; what holds in one-to-one"
            " chats stands under direct",
        )
    return destination


def _account(value: str) -> str:
    if re.fullmatch(r"(telegram:)?-[0-9]+", value):
        raise flaw("a negative number is a chat and no person", "list the chat under channels")
    if value.isdecimal():
        raise flaw("a bare number is no account", f"write telegram:{value}")
    try:
        return parse_account(value)
    except MalformedAccountError as error:
        raise flaw("this is no account", str(error)) from None


def _command(value: str) -> str:
    if value.startswith("/"):
        raise flaw("a command is listed without its slash", f"write {value[1:]}")
    if not re.fullmatch(r"[a-z0-9_]{1,32}", value):
        raise flaw("this is no name of a command", "take up to 32 small letters, digits and _")
    return value


def _timezone(value: str) -> str:
    try:
        ZoneInfo(value)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        close = difflib.get_close_matches(value, available_timezones(), n=1)
        mend = f"did you mean {close[0]}?" if close else "write a name such as Europe/Berlin, never an offset"
        raise flaw("this is no zone of the IANA database", mend) from None
    return value


def _closed(value: bool) -> bool:
    if not value:
        raise flaw(
            "open questions are answered only where a channel says so itself (PART-6)",
            "remove it here and write require_mention: false at each internal channel that is meant",
        )
    return value


def _readers(value: list[str]) -> list[str]:
    if not value:
        raise flaw("nobody may read what is kept (PART-9)", "name the agents that may, or remove the observation")
    return value


def _kept(value: timedelta) -> timedelta:
    if not value:
        raise flaw("nothing is kept for no time (PART-9)", "write how long words are kept, such as 1h")
    return value


def _audience(value: object) -> object:
    if value in ("operator", "unknown"):
        raise flaw(
            f"the audience {value} can't be written: it follows from who is there",
            "write external, or internal where only your own people read along",
        )
    if value not in ("external", "internal"):
        raise flaw("one of external or internal is expected here", "write external where outsiders read along")
    return value


def _streaming(value: object) -> object:
    if value is False or value == "off":
        raise flaw("the word off means false to some readers of YAML", "write none")
    if value not in ("none", "draft", "edit"):
        raise flaw("one of none, draft or edit is expected here", "write none for whole answers")
    return value


def _protected(value: str) -> str:
    if sum(map(str.isalnum, value)) < 2:
        raise flaw("a single letter would be found everywhere", "write the whole term; signs alone can't be looked for")
    return value


Place = Annotated[
    Destination,
    PlainValidator(_place),
    WithJsonSchema({"type": "string", "pattern": "^(telegram|matrix|web):.+:.+"}),
]
Account = Annotated[
    str,
    AfterValidator(_account),
    WithJsonSchema({"type": "string", "pattern": "^(telegram|matrix|web):.+"}),
]
CommandName = Annotated[
    str, AfterValidator(_command), WithJsonSchema({"type": "string", "pattern": "^[a-z0-9_]{1,32}$"})
]
Streaming = Annotated[
    Literal["none", "draft", "edit"],
    PlainValidator(_streaming),
    WithJsonSchema({"enum": ["none", "draft", "edit"]}),
]
Minutely = Annotated[int, Field(ge=1, le=6000)]
Audience = Annotated[
    Literal["external", "internal"],
    PlainValidator(_audience),
    WithJsonSchema({"enum": ["external", "internal"]}),
]
Timezone = Annotated[str, AfterValidator(_timezone)]
ClosedMention = Annotated[bool, AfterValidator(_closed)]
Kept = Annotated[Duration, AfterValidator(_kept)]
Readers = Annotated[list[Identifier], AfterValidator(_readers)]
ProtectedTerm = Annotated[Term, AfterValidator(_protected)]
