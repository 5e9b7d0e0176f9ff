"""Deliveries and grants as they are posted and shown, read strictly (OUT-6). JSON in, JSON out; no I/O."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from bot.api.answering import MAX_KEY, Reading, RefusedError, read_object
from bot.deliveries.grants import MAX_PURPOSE, read_duration
from bot.deliveries.schedule import Order
from bot.model.delivery import MAX_TEXT, Delivery
from bot.model.errors import DeliveryError, GrantError
from policy.boundary import Withheld
from policy.grants import Grant, Muted

MAX_PLACE: Final = 600
"""Characters of a written destination; ids of Matrix have up to 255 each."""
MAX_REFERENCES: Final = 50

_ORDER: Final = frozenset(
    {"destination", "text", "at", "cron", "timezone", "grant", "class", "references", "key"},
)
_GRANT: Final = frozenset({"agent", "destination", "uses", "for", "purpose", "key"})
_WHY: Final[Mapping[str, str]] = {
    Muted.NO_GRANT: "nobody has granted you deliveries to this destination; ask an operator for one",
    Muted.OTHER_AGENT: "this grant is another agent's",
    Muted.OTHER_DESTINATION: "this grant is for another destination; a thread is one of its own",
    Muted.REVOKED: "this grant was taken back",
    Muted.EXPIRED: "the grant is over at that time",
    Muted.USED_UP: "the grant is used up",
    Muted.ISSUER_NOT_ENTITLED: "whoever made the grant may not do so any more",
    Muted.DENIED_CHANNEL: "the policy does not let you write there",
    Withheld.DRAFT_ONLY: "an operator has to see first what it says",
    Withheld.HARD_STOP: "what it says is never sent",
}
_STATUS: Final[Mapping[str, int]] = {
    Muted.INCOMPLETE_DESTINATION: 403,
    "key_used": 409,
    "too_many_open": 429,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Wish:
    """A grant that a dispatcher wants made; ``key``: the same call made again makes the same grant."""

    agent: str
    destination: str
    uses: int
    lasts: timedelta
    purpose: str = field(repr=False)
    key: str | None


def read_order(body: bytes, *, header_key: str | None) -> tuple[Order, str]:
    """Read a posted delivery, and its key.

    Raises:
        RefusedError: it can't be taken; every field that is wrong is named.
    """
    reading = Reading(read_object(body), _ORDER)
    reading.required("destination", "text")
    key = reading.key(header_key)
    if key is None:
        reading.wrong("/key", "missing", "send Idempotency-Key, so that a call made again is the same delivery")
    order = Order(
        destination=reading.text("destination", longest=MAX_PLACE),
        text=reading.text("text", longest=MAX_TEXT),
        at=_moment(reading),
        cron=_given(reading, "cron"),
        timezone=_given(reading, "timezone"),
        grant=_given(reading, "grant"),
        declared=_given(reading, "class") or "",
        references=_references(reading),
    )
    if order.at is not None and order.cron is not None:
        reading.wrong("/cron", "differs", "write at or cron, one of them")
    if order.timezone is not None and order.cron is None:
        reading.wrong("/timezone", "alone", "a zone belongs to cron; at has its offset")
    reading.done()
    return order, key or ""


def read_wish(body: bytes, *, header_key: str | None) -> Wish:
    """Read a posted grant.

    Raises:
        RefusedError: it can't be taken; every field that is wrong is named.
    """
    reading = Reading(read_object(body), _GRANT)
    reading.required("agent", "destination", "uses", "for", "purpose")
    lasts = read_duration(reading.text("for", longest=MAX_KEY))
    if lasts is None and not any(path == "/for" for path, _, _ in reading.problems):
        reading.wrong("/for", "wrong_format", "a duration such as 8h")
    wish = Wish(
        agent=reading.text("agent", longest=MAX_KEY),
        destination=reading.text("destination", longest=MAX_PLACE),
        uses=reading.whole("uses", 1),
        lasts=lasts or timedelta(),
        purpose=reading.text("purpose", longest=MAX_PURPOSE),
        key=reading.key(header_key),
    )
    reading.done()
    return wish


def delivery_refusal(error: DeliveryError) -> RefusedError:
    """How an agent hears that its delivery can't be scheduled."""
    after_s = 60.0 if error.code == "too_many_open" else 0.0
    return RefusedError(_STATUS.get(error.code, 422), error.code, str(error), after_s=after_s)


def grant_refusal(error: GrantError) -> RefusedError:
    """How a dispatcher hears that a grant can't be made."""
    return RefusedError(_STATUS.get(error.code, 422), error.code, str(error))


def muted_document(delivery: Delivery) -> dict[str, Any]:
    """A delivery that is recorded and will not be sent, as an error."""
    code = delivery.code or Muted.NO_GRANT.value
    return {
        "error": code,
        "message": _WHY.get(code, "what it says can't be sent there"),
        "delivery": delivery_document(delivery, {}),
    }


def delivery_document(delivery: Delivery, receipts: Mapping[str, int]) -> dict[str, Any]:
    """A delivery as its agent sees it."""
    return {
        "id": delivery.id,
        "destination": str(delivery.destination),
        "state": delivery.state.value,
        "code": delivery.code,
        "at": _written(delivery.at),
        "cron": delivery.cron,
        "timezone": None if delivery.cron is None else delivery.timezone,
        "next_at": _written(delivery.next_at),
        "grant": delivery.grant,
        "fired": delivery.fired,
        "made_at": _written(delivery.made_at),
        "closed_at": _written(delivery.closed_at),
        "receipts": dict(receipts),
    }


def grant_document(grant: Grant, now: datetime) -> dict[str, Any]:
    """A grant as its dispatcher sees it."""
    return {
        "id": grant.id,
        "agent": grant.agent,
        "destination": str(grant.destination),
        "purpose": grant.purpose,
        "uses": grant.uses,
        "used": grant.used,
        "issued_at": _written(grant.issued_at),
        "expires_at": _written(grant.expires_at),
        "revoked_at": _written(grant.revoked_at),
        "open": grant.is_open(now),
    }


def _given(reading: Reading, name: str) -> str | None:
    return None if reading.document.get(name) is None else reading.text(name, longest=MAX_KEY)


def _moment(reading: Reading) -> datetime | None:
    written = _given(reading, "at")
    if written is None:
        return None
    try:
        at = datetime.fromisoformat(written)
        if at.tzinfo is not None:
            return at.astimezone(UTC)
    except (ValueError, OverflowError):
        pass
    reading.wrong("/at", "wrong_format", "a time with its offset, such as 2026-12-01T08:30:00+01:00")
    return None


def _references(reading: Reading) -> tuple[str, ...]:
    written = reading.document.get("references", [])
    fits = isinstance(written, list) and len(written) <= MAX_REFERENCES
    if not fits or not all(isinstance(one, str) and 0 < len(one) <= MAX_KEY for one in written):
        reading.wrong("/references", "wrong_type", f"a list of ids of the record, at most {MAX_REFERENCES}")
        return ()
    return tuple(written)


def _written(at: datetime | None) -> str | None:
    return None if at is None else at.astimezone(UTC).isoformat()
