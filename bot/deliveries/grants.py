"""The room of grants (OUT-6): made, listed, taken back. What a grant is worth is said in :mod:`policy.grants`.

INVARIANT: nothing here is reached by an agent's key, by a message of somebody who is no operator, or by a page.
"""

import base64
import hashlib
import re
import secrets
from collections.abc import Callable, Collection
from datetime import datetime, timedelta
from typing import Final

from bot.model.errors import GrantError
from bot.ports.grants import GrantStore
from policy.destination import Destination, MalformedDestinationError, parse_destination
from policy.grants import Grant, Issuer, IssuerKind

MOST_USES: Final = 1_000
SHORTEST: Final = timedelta(minutes=1)
LONGEST: Final = timedelta(days=366)
MAX_PURPOSE: Final = 200
"""Characters."""
_ID_BYTES: Final = 8
_DURATION: Final = re.compile(r"(?P<number>[0-9]{1,6})(?P<unit>[mhd])")
_UNITS: Final = {"m": timedelta(minutes=1), "h": timedelta(hours=1), "d": timedelta(days=1)}


def read_duration(text: str) -> timedelta | None:
    """A written duration such as ``8h``; None where it is none."""
    found = _DURATION.fullmatch(text)
    return None if found is None else int(found["number"]) * _UNITS[found["unit"]]


def grant_id(*parts: str) -> str:
    """An id that can be typed. The same parts make the same id, so that what is done twice makes one grant.

    Args:
        parts: that say what made it; none: a new id.
    """
    seed = secrets.token_bytes(32) if not parts else "\0".join(parts).encode("utf-8", "replace")
    digest = hashlib.sha256(b"grant\0" + seed).digest()[:_ID_BYTES]
    return base64.b32encode(digest).decode().rstrip("=").lower()


class GrantRoom:
    """Makes grants and takes them back."""

    def __init__(
        self,
        *,
        store: GrantStore,
        agents: Collection[str],
        accounts: Collection[str],
        clock: Callable[[], datetime],
    ) -> None:
        """Make the room.

        Args:
            store: where grants are kept.
            agents: names of the agents that there are.
            accounts: of the bots that there are, ``platform:workspace``.
            clock: gives aware times.
        """
        self._store = store
        self._agents = agents
        self._accounts = accounts
        self._clock = clock

    @property
    def agents(self) -> tuple[str, ...]:
        """Names of the agents that there are."""
        return tuple(self._agents)

    @property
    def accounts(self) -> tuple[str, ...]:
        """Accounts of the bots that there are."""
        return tuple(self._accounts)

    async def issue(
        self,
        *,
        issuer: Issuer,
        agent: str,
        destination: str,
        uses: int,
        lasts: timedelta,
        purpose: str,
        new_id: str | None = None,
    ) -> Grant:
        """Make a grant.

        Args:
            issuer: whoever makes it, as was authenticated.
            agent: who may use it.
            destination: the complete place, written out; "here" and parts of a place are none.
            uses: how often.
            lasts: how long.
            purpose: what for.
            new_id: of the grant; the same id again is the same grant. None: a new one.

        Raises:
            GrantError: it can't be made; the text says the mend.
        """
        now = self._clock()
        if agent not in self._agents:
            raise GrantError("agent", f"there is no such agent. Known are {', '.join(sorted(self._agents))}")
        place = self._place(destination)
        if not 1 <= uses <= MOST_USES:
            raise GrantError("uses", f"a grant has from 1 to {MOST_USES} uses")
        if not SHORTEST <= lasts <= LONGEST:
            raise GrantError("duration", "a grant lasts from 1m to 366d, such as 8h")
        words = " ".join(purpose.split())
        if not 0 < len(words) <= MAX_PURPOSE or not words.isprintable():
            raise GrantError("purpose", f"say what it is for, in at most {MAX_PURPOSE} characters")
        wanted = Grant(
            id=grant_id() if new_id is None else new_id,
            issuer=issuer,
            agent=agent,
            destination=place,
            purpose=words,
            issued_at=now,
            expires_at=now + lasts,
            uses=uses,
        )
        kept = await self._store.add(wanted)
        if (kept.issuer, kept.agent, kept.destination, kept.uses, kept.purpose) != (issuer, agent, place, uses, words):
            raise GrantError("key_used", "this key was used for another grant")
        return kept

    def _place(self, written: str) -> Destination:
        try:
            place = parse_destination(written)
        except MalformedDestinationError as error:
            raise GrantError("destination", f"the destination is not complete: {error}") from None
        if place.account not in self._accounts:
            known = ", ".join(sorted(self._accounts))
            raise GrantError("account", f"no bot of this gateway has that account. Known are {known}")
        return place

    async def revoke(self, grant: str, *, by: Issuer) -> bool:
        """Take a grant back; False: there is none that could be, or it is not theirs.

        Operators and the admin take back any grant, a dispatcher its own.
        """
        if by.kind is IssuerKind.DISPATCHER:
            found = await self._store.get(grant)
            if found is None or found.issuer != by:
                return False
        return await self._store.revoke(grant, by=str(by), now=self._clock())

    async def look(self, grant: str) -> Grant | None:
        """A grant as it stands."""
        return await self._store.get(grant)

    async def all(self) -> list[Grant]:
        """Every grant, the latest first."""
        return await self._store.all()
