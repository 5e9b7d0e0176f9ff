"""The statements of the built-in chat, compiled once. Each lists the order of its values after its name."""

from typing import Any, Final

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Table,
    bindparam,
    delete,
    literal_column,
    null,
    select,
    text,
    update,
)

from bot.storage.compiled import BulkInsert, compiled
from bot.storage.schema import chat_invites, chat_messages, chat_sessions


def _value(name: str) -> BindParameter[Any]:
    """A value that the caller gives."""
    return bindparam(name, required=False)


_FIRST: Final[ColumnElement[int]] = literal_column("0")
_desk: Final = chat_messages.c.desk == _value("desk")
_one: Final = (_desk, chat_messages.c.room == _value("room"), chat_messages.c.message == _value("message"))
_PLACE: Final = ("desk", "room", "message")
_entry: Final = select(
    chat_messages.c.message,
    chat_messages.c.room,
    chat_messages.c.position,
    chat_messages.c.seq,
    chat_messages.c.document,
)

# messages

MESSAGE_ROWS: Final = BulkInsert(chat_messages, "desk", "room", "message", "position", "seq", "came_at", "document")
HEAD: Final = compiled(
    select(chat_messages.c.seq)
    .where(_desk)
    .order_by(chat_messages.c.seq.desc())
    .limit(literal_column("1"))
    .offset(_FIRST),
    "desk",
)
GET: Final = compiled(_entry.where(*_one), *_PLACE)
EDIT: Final = compiled(
    update(chat_messages)
    .where(*_one, chat_messages.c.document.is_not(None))
    .values(seq=_value("seq"), document=_value("document")),
    "seq",
    "document",
    *_PLACE,
)
ERASE: Final = compiled(
    update(chat_messages)
    .where(*_one, chat_messages.c.document.is_not(None))
    .values(seq=_value("seq"), document=null()),
    "seq",
    *_PLACE,
)
LATEST: Final = compiled(
    _entry.where(_desk, chat_messages.c.room == _value("room"), chat_messages.c.position < _value("before"))
    .order_by(chat_messages.c.position.desc())
    .limit(_value("limit"))
    .offset(_FIRST),
    "desk",
    "room",
    "before",
    "limit",
)
CHANGED: Final = compiled(
    _entry.where(_desk, chat_messages.c.room == _value("room"), chat_messages.c.seq > _value("after"))
    .order_by(chat_messages.c.seq)
    .limit(_value("limit"))
    .offset(_FIRST),
    "desk",
    "room",
    "after",
    "limit",
)
OLD: Final = compiled(
    select(chat_messages.c.room, chat_messages.c.message)
    .where(_desk, text("document IS NOT NULL"), chat_messages.c.came_at < _value("before"))
    .order_by(chat_messages.c.came_at)
    .limit(_value("limit"))
    .offset(_FIRST),
    "desk",
    "before",
    "limit",
)

# entrances

INVITE_ROWS: Final = BulkInsert(chat_invites, "desk", "digest", "person", "expires_at")
SESSION_ROWS: Final = BulkInsert(chat_sessions, "desk", "digest", "person", "expires_at")
USE_UP: Final = compiled(
    delete(chat_invites)
    .where(chat_invites.c.desk == _value("desk"), chat_invites.c.digest == _value("digest"))
    .returning(chat_invites.c.person, chat_invites.c.expires_at),
    "desk",
    "digest",
)
PERSON: Final = compiled(
    select(chat_sessions.c.person).where(
        chat_sessions.c.desk == _value("desk"),
        chat_sessions.c.digest == _value("digest"),
        chat_sessions.c.expires_at > _value("now"),
    ),
    "desk",
    "digest",
    "now",
)
LEAVE: Final = compiled(
    delete(chat_sessions).where(chat_sessions.c.desk == _value("desk"), chat_sessions.c.digest == _value("digest")),
    "desk",
    "digest",
)


def _revoke(table: Table) -> str:
    return compiled(
        delete(table).where(table.c.desk == _value("desk"), table.c.person == _value("person")), "desk", "person"
    )


def _expire(table: Table) -> str:
    return compiled(
        delete(table).where(table.c.desk == _value("desk"), table.c.expires_at <= _value("now")), "desk", "now"
    )


REVOKE: Final = (_revoke(chat_invites), _revoke(chat_sessions))
EXPIRE: Final = (_expire(chat_invites), _expire(chat_sessions))
