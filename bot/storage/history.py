"""What was said in a conversation before (see :class:`bot.ports.history.History`).

Both tables are walked backwards by their row number, and not further than a bound: an index by conversation would cost
every event and every part, and only agents with a memory ask.
"""

from typing import Any, Final

from sqlalchemy import BindParameter, ColumnElement, bindparam, func, literal_column, select

from bot.model.inbound import Arrival, Stored
from bot.ports.history import Past
from bot.ports.store import OutboxState
from bot.storage.compiled import compiled, fixed
from bot.storage.reader import Reader
from bot.storage.schema import decisions, inbox, inbox_contents, outbox
from bot.storage.times import from_us
from policy.boundary import Speech
from policy.decision import Audience, Outcome
from policy.destination import Destination
from policy.event import Chat

WINDOW: Final = 20_000
"""Rows of all conversations together that are walked at most."""
LOOKED_AT: Final = 1_000
"""Events of the conversation itself, most of which may have been muted."""
_ANSWERED: Final = frozenset({"answered", "acknowledged", "silent", "drafted", "safe_error", "carried"})


def _value(name: str) -> BindParameter[Any]:
    return bindparam(name, required=False)


_FIRST: Final[ColumnElement[int]] = literal_column("0")
_REQUESTS: Final = compiled(
    select(
        decisions.c.event_id,
        inbox.c.key,
        inbox.c.lane,
        inbox.c.received_at,
        decisions.c.message,
        decisions.c.sender,
        decisions.c.outcome,
        decisions.c.audience,
        decisions.c.chat,
        decisions.c.control,
        inbox.c.withdrawn,
        inbox.c.result,
    )
    .select_from(decisions.join(inbox, inbox.c.id == decisions.c.event_id))
    .where(
        decisions.c.event_id < _value("before"),
        decisions.c.event_id >= _value("first"),
        decisions.c.account == _value("account"),
        decisions.c.channel == _value("channel"),
        decisions.c.thread.is_not_distinct_from(_value("thread")),
        decisions.c.kind.in_([fixed("message"), fixed("edit")]),
    )
    .order_by(decisions.c.event_id.desc())
    .limit(_value("limit"))
    .offset(_FIRST),
    "before",
    "first",
    "account",
    "channel",
    "thread",
    "limit",
)
_RAW: Final = compiled(select(inbox_contents.c.raw).where(inbox_contents.c.event_id == _value("event_id")), "event_id")
_ANSWERS: Final = compiled(
    select(outbox.c.made_at, outbox.c.audience, outbox.c.chat, outbox.c.text)
    .where(
        outbox.c.id > select(func.max(outbox.c.id)).scalar_subquery() - fixed(WINDOW),
        outbox.c.account == _value("account"),
        outbox.c.channel == _value("channel"),
        outbox.c.thread.is_not_distinct_from(_value("thread")),
        outbox.c.speech == fixed(Speech.FINAL.value),
        outbox.c.state == fixed(OutboxState.DELIVERED.value),
        outbox.c.text.is_not(None),
    )
    .order_by(outbox.c.id.desc())
    .limit(_value("limit"))
    .offset(_FIRST),
    "account",
    "channel",
    "thread",
    "limit",
)


class SqlHistory:
    """History in a database."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    async def past(
        self, destination: Destination, *, chat: Chat, audience: Audience, before: int, limit: int
    ) -> list[Past]:
        """See :meth:`bot.ports.history.History.past`."""
        place = (destination.account, destination.channel, destination.thread)

        def here(was: str, written_for: str) -> bool:
            return was == chat.value and (not Audience(written_for).trusted or written_for == audience.value)

        found: list[Past] = []
        seen: set[str] = set()
        for row in self._reader.read(_REQUESTS, (before, max(before - WINDOW, 0), *place, LOOKED_AT)):
            (event_id, key, lane, received_at, message, sender, outcome, read_by, was, control, gone, result) = row
            if message is not None and message in seen:
                continue  # it was edited since: what stood there before is nobody's word any more
            seen.update(() if message is None else (message,))
            kept = not gone and result in _ANSWERED
            if outcome != Outcome.RESPOND.value or control or not kept or not here(was, read_by):
                continue
            contents = self._reader.read(_RAW, (event_id,))
            if not contents:
                continue
            at = from_us(received_at)
            arrival = Arrival(key=key, lane=lane, raw=contents[0][0], received_at=at)
            event = Stored(id=event_id, account=destination.account, arrival=arrival)
            found.append(Past(at=at, sender=sender or "", event=event))
            if len(found) == limit:
                break
        for made_at, written_for, was, text in self._reader.read(_ANSWERS, (*place, limit)):
            if here(was, written_for):
                found.append(Past(at=from_us(made_at), text=text))
        return sorted(found, key=lambda one: one.at)[-limit:] if limit else []
