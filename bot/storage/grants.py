"""Grants in the database (see :class:`bot.ports.grants.GrantStore`)."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from bot.journal.chain import Facts
from bot.model.errors import StoreError
from bot.storage import grant_statements as sql
from bot.storage.digests import content_digest
from bot.storage.parts import destination_of
from bot.storage.reader import Reader
from bot.storage.times import from_us, to_us
from bot.storage.writer import Transaction, Writer
from policy.destination import Destination
from policy.grants import Grant, Issuer

MOST_LISTED: Final = 1_000
_Row = tuple[Any, ...]


class GrantReader:
    """Grants, as they are looked at beside a running daemon too."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    async def get(self, grant_id: str) -> Grant | None:
        """See :meth:`bot.ports.grants.GrantLooks.get`."""
        rows = self._reader.read(sql.GRANT, (grant_id,))
        return _grant(rows[0]) if rows else None

    async def all(self) -> list[Grant]:
        """See :meth:`bot.ports.grants.GrantLooks.all`."""
        return [_grant(row) for row in self._reader.read(sql.GRANTS, (MOST_LISTED,))]


class SqlGrants(GrantReader):
    """Grants, and what changes them."""

    def __init__(self, writer: Writer, reader: Reader) -> None:
        super().__init__(reader)
        self._writer = writer

    async def add(self, grant: Grant) -> Grant:
        """See :meth:`bot.ports.grants.GrantStore.add`."""
        return await self._writer.do(_add, grant)

    async def revoke(self, grant_id: str, *, by: str, now: datetime) -> bool:
        """See :meth:`bot.ports.grants.GrantStore.revoke`."""
        return await self._writer.do(_revoke, (grant_id, by, to_us(now)))

    async def use(self, grant_id: str, *, now: datetime) -> bool:
        """See :meth:`bot.ports.grants.GrantStore.use`."""
        return await self._writer.do(_use, (grant_id, to_us(now)))

    async def fitting(self, agent: str, destination: Destination) -> list[Grant]:
        """See :meth:`bot.ports.grants.GrantStore.fitting`."""
        place = (destination.account, destination.channel, destination.thread)
        return [_grant(row) for row in self._reader.read(sql.FITTING, (agent, *place))]


def grant_tag(salt: bytes, grant_id: str) -> str:
    """The opaque name under which the journal speaks of a grant."""
    return content_digest(salt, f"grant:{grant_id}".encode()).hex()[:32]


def _add(tx: Transaction, payloads: Sequence[Grant]) -> list[Grant]:
    results: list[Grant] = []
    for grant in payloads:
        if tx.execute(sql.ADD_GRANT, _new_row(grant)).rowcount == 1:
            by = str(grant.issuer)
            tx.note("grant", _facts(tx, grant, state="issued", by=by), at_us=to_us(grant.issued_at))
            results.append(grant)
        else:
            results.append(_grant(tx.execute(sql.GRANT, (grant.id,)).fetchone()))
    return results


def _revoke(tx: Transaction, payloads: Sequence[tuple[str, str, int]]) -> list[bool]:
    results: list[bool] = []
    for grant_id, by, now in payloads:
        done = tx.execute(sql.REVOKE, (now, grant_id)).rowcount == 1
        if done:
            grant = _grant(tx.execute(sql.GRANT, (grant_id,)).fetchone())
            tx.note("grant", _facts(tx, grant, state="revoked", by=by), at_us=now)
        results.append(done)
    return results


def _use(tx: Transaction, payloads: Sequence[tuple[str, int]]) -> list[bool]:
    results: list[bool] = []
    for grant_id, now in payloads:
        done = tx.execute(sql.USE, (grant_id, now)).rowcount == 1
        if done:
            grant = _grant(tx.execute(sql.GRANT, (grant_id,)).fetchone())
            tx.note("grant", _facts(tx, grant, state="used", by=str(grant.issuer)), at_us=now)
        results.append(done)
    return results


def _facts(tx: Transaction, grant: Grant, *, state: str, by: str) -> Facts:
    """Who let whom do what, by digest; what kind of issuer it was stands in clear."""
    return {
        "grant": grant_tag(tx.salt, grant.id),
        "agent": content_digest(tx.salt, grant.agent.encode()).hex()[:32],
        "state": state,
        "issuer": by.partition(":")[0],
        "by": content_digest(tx.salt, by.encode()).hex()[:32],
        "place": content_digest(tx.salt, str(grant.destination).encode("utf-8", "replace")).hex()[:32],
        "uses": grant.uses,
        "used": grant.used,
        "until": to_us(grant.expires_at) // 1_000_000,
        "content": content_digest(tx.salt, grant.purpose.encode("utf-8", "replace")).hex(),
    }


def _new_row(grant: Grant) -> _Row:
    values: dict[str, Any] = {
        "id": grant.id,
        "issuer": str(grant.issuer),
        "agent": grant.agent,
        "account": grant.destination.account,
        "channel": grant.destination.channel,
        "thread": grant.destination.thread,
        "purpose": grant.purpose,
        "issued_at": to_us(grant.issued_at),
        "expires_at": to_us(grant.expires_at),
        "uses": grant.uses,
        "used": grant.used,
        "revoked_at": None if grant.revoked_at is None else to_us(grant.revoked_at),
    }
    return tuple(values[name] for name in sql.GRANT_NAMES)


def _grant(row: _Row) -> Grant:
    values = dict(zip(sql.GRANT_NAMES, row, strict=True))
    try:
        issuer = Issuer.of(values["issuer"])
    except ValueError:
        raise StoreError("a stored grant can't be read") from None
    return Grant(
        id=values["id"],
        issuer=issuer,
        agent=values["agent"],
        destination=destination_of(values["account"], values["channel"], values["thread"]),
        purpose=values["purpose"],
        issued_at=from_us(values["issued_at"]),
        expires_at=from_us(values["expires_at"]),
        uses=values["uses"],
        used=values["used"],
        revoked_at=None if values["revoked_at"] is None else from_us(values["revoked_at"]),
    )
