"""Who fills in a form inside Telegram (FORM-5): the launch data of a Mini App, checked.

Telegram signs what it gives to the page with a key that is made from the bot's token. Whoever has seen such data could
use it again, so it counts for a while only, and only for the link with which it came first. That memory is of this
process: after a restart what is left is the age.
"""

import hashlib
import hmac
import json
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Final
from urllib.parse import parse_qsl

from bot.config.secret import Secret

MAX_AGE: Final = timedelta(hours=6)
"""A form may be long, and people are called away."""
_AHEAD: Final = timedelta(minutes=5)  # clocks differ
_MAX_CHARACTERS: Final = 8_192
_MAX_FIELDS: Final = 40
_REMEMBERED: Final = 10_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Known:
    """Telegram vouches for this account, such as ``telegram:42``."""

    account: str


class Doubt(StrEnum):
    """Why it does not."""

    MALFORMED = "malformed"
    FORGED = "forged"
    OLD = "old"
    REPLAYED = "replayed"


class MiniApp:
    """Checks the launch data of our bots' Mini Apps."""

    def __init__(
        self, tokens: Sequence[Secret], *, clock: Callable[[], datetime], max_age: timedelta = MAX_AGE
    ) -> None:
        """Args: tokens: of the bots that may have opened the page. clock: gives aware times. max_age: of the data."""
        self._keys = tuple(_hmac(b"WebAppData", token.reveal()) for token in tokens)
        self._clock = clock
        self._max_age = max_age
        self._seen: OrderedDict[str, tuple[str, datetime]] = OrderedDict()

    def check(self, init_data: str, *, link: str) -> Known | Doubt:
        """Who opened the page.

        Args:
            init_data: as the page got it (``tgWebAppData``).
            link: of the question, or a digest of it.
        """
        fields = _fields(init_data)
        if fields is None:
            return Doubt.MALFORMED
        signature = fields.pop("hash")
        signed = "\n".join(f"{name}={value}" for name, value in sorted(fields.items()))
        if not any(hmac.compare_digest(_hmac(key, signed).hex(), signature) for key in self._keys):
            return Doubt.FORGED
        opened_at, account = _opened_at(fields.get("auth_date", "")), _account(fields.get("user", ""))
        if opened_at is None or account is None:
            return Doubt.MALFORMED
        age = self._clock() - opened_at
        if not -_AHEAD <= age <= self._max_age:
            return Doubt.OLD
        return Known(account=account) if self._first_of(signature, link) == link else Doubt.REPLAYED

    def _first_of(self, signature: str, link: str) -> str:
        """The link with which this data came first."""
        now = self._clock()
        while self._seen and (len(self._seen) >= _REMEMBERED or next(iter(self._seen.values()))[1] < now):
            self._seen.popitem(last=False)
        return self._seen.setdefault(signature, (link, now + self._max_age + _AHEAD))[0]


def _fields(init_data: str) -> dict[str, str] | None:
    if not init_data or len(init_data) > _MAX_CHARACTERS:
        return None
    try:
        pairs = parse_qsl(
            init_data, keep_blank_values=True, strict_parsing=True, max_num_fields=_MAX_FIELDS, errors="strict"
        )
    except ValueError:
        return None
    fields = dict(pairs)
    # A name that comes twice could be checked in one form and read in the other.
    return fields if len(fields) == len(pairs) and fields.get("hash", "").isascii() and "hash" in fields else None


def _opened_at(text: str) -> datetime | None:
    if not (text.isascii() and text.isdigit() and len(text) <= 10):
        return None
    return datetime.fromtimestamp(int(text), UTC)


def _account(text: str) -> str | None:
    try:
        user = json.loads(text)
    except (ValueError, RecursionError):
        return None
    id_ = user.get("id") if isinstance(user, dict) and not user.get("is_bot") else None
    return f"telegram:{id_}" if isinstance(id_, int) and not isinstance(id_, bool) and 0 < id_ < 2**53 else None


def _hmac(key: bytes, text: str) -> bytes:
    return hmac.digest(key, text.encode(), hashlib.sha256)
