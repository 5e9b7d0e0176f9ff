"""Passkeys in the database (see :class:`bot.ports.approvals.PasskeyStore`).

A passkey that was revoked stays, so that what it has signed before can still be verified. Invites go by themselves.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import BindParameter, and_, bindparam, delete, func, or_, select, update

from bot.journal.chain import Facts
from bot.ports.approvals import Invite, Passkey
from bot.storage.compiled import compiled, fixed, insert
from bot.storage.digests import content_digest
from bot.storage.reader import Reader
from bot.storage.schema import passkey_invites, passkeys
from bot.storage.times import from_us, to_us
from bot.storage.writer import Transaction, Writer

_KEPT: Final = timedelta(days=1)
"""How long an invite stays after its time."""
_Row = tuple[Any, ...]


def _value(name: str) -> BindParameter[Any]:
    return bindparam(name, required=False)


_NAMES: Final = ("id", "person", "public_key", "sign_count", "label", "added_at", "revoked_at")
_columns: Final = [passkeys.c[name] for name in _NAMES]
_ADD: Final = compiled(
    insert(passkeys).values({name: _value(name) for name in _NAMES[:-1]}).on_conflict_do_nothing(), *_NAMES[:-1]
)
_ALL: Final = compiled(select(*_columns).order_by(passkeys.c.person, passkeys.c.added_at, passkeys.c.id))
_GET: Final = compiled(select(*_columns).where(passkeys.c.id == _value("id"), passkeys.c.revoked_at.is_(None)), "id")
_OF: Final = compiled(
    select(*_columns)
    .where(passkeys.c.person == _value("person"), passkeys.c.revoked_at.is_(None))
    .order_by(passkeys.c.added_at, passkeys.c.id),
    "person",
)
_EVER: Final = compiled(select(func.count()).where(passkeys.c.person == _value("person")), "person")
_USED: Final = compiled(
    update(passkeys)
    .where(
        passkeys.c.id == _value("id"),
        passkeys.c.revoked_at.is_(None),
        or_(
            passkeys.c.sign_count < _value("above"),
            # an authenticator that counts nothing always says 0
            and_(passkeys.c.sign_count == fixed(0), fixed(0) == _value("none")),
        ),
    )
    .values(sign_count=_value("count")),
    "count",
    "id",
    "above",
    "none",
)
_REVOKE: Final = compiled(
    update(passkeys)
    .where(passkeys.c.id == _value("id"), passkeys.c.revoked_at.is_(None))
    .values(revoked_at=_value("at")),
    "at",
    "id",
)
_INVITE: Final = compiled(
    insert(passkey_invites).values({name: _value(name) for name in ("token", "person", "vouched", "expires_at")}),
    "token",
    "person",
    "vouched",
    "expires_at",
)
_open: Final = (
    passkey_invites.c.token == _value("token"),
    passkey_invites.c.used_at.is_(None),
    passkey_invites.c.expires_at > _value("now"),
)
_INVITED: Final = compiled(select(passkey_invites.c.person, passkey_invites.c.vouched).where(*_open), "token", "now")
_USE_UP: Final = compiled(
    update(passkey_invites).where(*_open, passkey_invites.c.person == _value("person")).values(used_at=_value("at")),
    "at",
    "token",
    "now",
    "person",
)
_CLEAR: Final = compiled(
    delete(passkey_invites).where(
        or_(
            passkey_invites.c.expires_at < _value("before"),
            and_(passkey_invites.c.person == _value("person"), passkey_invites.c.used_at.is_(None)),
        ),
    ),
    "before",
    "person",
)


class PasskeyReader:
    """Passkeys, to be looked at."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    async def all(self) -> list[Passkey]:
        """Everybody's, those that were revoked included."""
        return [_passkey(row) for row in self._reader.read(_ALL)]


class SqlPasskeys(PasskeyReader):
    """Passkeys and the invites to enrol them."""

    def __init__(self, writer: Writer, reader: Reader) -> None:
        super().__init__(reader)
        self._writer = writer

    async def add(self, passkey: Passkey, *, token: str, now: datetime, by: str | None = None) -> bool:
        """See :meth:`bot.ports.approvals.PasskeyStore.add`."""
        return await self._writer.do(_add, (passkey, token, by, to_us(now)))

    async def of(self, person: str) -> list[Passkey]:
        """See :meth:`bot.ports.approvals.PasskeyStore.of`."""
        return [_passkey(row) for row in self._reader.read(_OF, (person,))]

    async def had(self, person: str) -> bool:
        """See :meth:`bot.ports.approvals.PasskeyStore.had`."""
        return bool(self._reader.read(_EVER, (person,))[0][0])

    async def get(self, passkey_id: str) -> Passkey | None:
        """See :meth:`bot.ports.approvals.PasskeyStore.get`."""
        rows = self._reader.read(_GET, (passkey_id,))
        return _passkey(rows[0]) if rows else None

    def holds(self, passkey_id: str) -> bool:
        """See :meth:`bot.ports.approvals.PasskeyStore.holds`."""
        return bool(self._reader.read(_GET, (passkey_id,)))

    async def used(self, passkey_id: str, *, sign_count: int, now: datetime) -> bool:
        """See :meth:`bot.ports.approvals.PasskeyStore.used`."""
        return await self._writer.do(_use, (passkey_id, sign_count, to_us(now)))

    async def revoke(self, passkey_id: str, *, now: datetime) -> bool:
        """See :meth:`bot.ports.approvals.PasskeyStore.revoke`."""
        return await self._writer.do(_revoke, (passkey_id, to_us(now)))

    async def invite(self, invite: Invite, *, token: str, expires_at: datetime, now: datetime) -> None:
        """See :meth:`bot.ports.approvals.PasskeyStore.invite`."""
        await self._writer.do(_invite, (invite, token, to_us(expires_at), to_us(now)))

    async def invited(self, token: str, *, now: datetime) -> Invite | None:
        """See :meth:`bot.ports.approvals.PasskeyStore.invited`."""
        rows = self._reader.read(_INVITED, (token, to_us(now)))
        return Invite(person=rows[0][0], vouched=bool(rows[0][1])) if rows else None


def _add(tx: Transaction, payloads: Sequence[tuple[Passkey, str, str | None, int]]) -> list[bool]:
    added: list[bool] = []
    for passkey, token, by, now in payloads:
        row = (passkey.id, passkey.person, passkey.public_key, passkey.sign_count, passkey.label, now)
        # INVARIANT: an invite is used up by the passkey that it has brought, and by nothing else
        invited = tx.execute(_INVITED, (token, now)).fetchone()
        fresh = invited is not None and invited[0] == passkey.person
        # and no chat account, which can be stolen together with a passkey, brings another where there was one
        first = tx.execute(_EVER, (passkey.person,)).fetchone()[0] == 0
        known = {one[0] for one in tx.execute(_OF, (passkey.person,)).fetchall()}
        if fresh and (invited[1] or first or by in known) and tx.execute(_ADD, row).rowcount == 1:
            tx.execute(_USE_UP, (now, token, now, passkey.person))
            tx.note("passkey", _facts(tx, "added", passkey.id, passkey.person, passkey.public_key), at_us=now)
            added.append(True)
        else:
            added.append(False)
    return added


def _use(tx: Transaction, payloads: Sequence[tuple[str, int, int]]) -> list[bool]:
    used: list[bool] = []
    for passkey_id, sign_count, now in payloads:
        rose = tx.execute(_USED, (sign_count, passkey_id, sign_count, sign_count)).rowcount == 1
        tx.note("passkey", _facts(tx, "used" if rose else "doubted", passkey_id), at_us=now)
        used.append(rose)
    return used


def _revoke(tx: Transaction, payloads: Sequence[tuple[str, int]]) -> list[bool]:
    revoked: list[bool] = []
    for passkey_id, now in payloads:
        found = tx.execute(_REVOKE, (now, passkey_id)).rowcount == 1
        if found:
            tx.note("passkey", _facts(tx, "revoked", passkey_id), at_us=now)
        revoked.append(found)
    return revoked


def _invite(tx: Transaction, payloads: Sequence[tuple[Invite, str, int, int]]) -> list[None]:
    for invite, token, expires_at, now in payloads:
        person = invite.person
        tx.execute(_CLEAR, (now - round(_KEPT.total_seconds() * 1_000_000), person))  # the latest link alone holds
        tx.execute(_INVITE, (token, person, int(invite.vouched), expires_at))
        tx.note("passkey", _facts(tx, "invited", None, person), at_us=now)
    return [None] * len(payloads)


def _facts(
    tx: Transaction, verb: str, passkey_id: str | None, person: str | None = None, key: bytes | None = None
) -> Facts:
    """Who and which, by digest (DUR-5)."""
    return {
        "verb": verb,
        "passkey": None if passkey_id is None else content_digest(tx.salt, passkey_id.encode()).hex()[:32],
        "person": None if person is None else content_digest(tx.salt, person.encode()).hex()[:32],
        "key": None if key is None else content_digest(tx.salt, key).hex(),
    }


def _passkey(row: _Row) -> Passkey:
    values = dict(zip(_NAMES, row, strict=True))
    return Passkey(
        id=values["id"],
        person=values["person"],
        public_key=values["public_key"],
        sign_count=values["sign_count"],
        added_at=from_us(values["added_at"]),
        label=values["label"],
        revoked_at=None if values["revoked_at"] is None else from_us(values["revoked_at"]),
    )
