"""How people come into the built-in chat: one-time invites and the sessions that they open.

The chat makes the tokens and hashes them; a store sees digests only, so nothing in it opens a door.
"""

from datetime import datetime
from typing import Protocol


class Entrances(Protocol):
    """Invites and sessions of one desk. ``digest`` is the SHA-256 of a token, hexadecimal; every write is durable.

    Raises:
        StoreError: from every method, when the store can't be read or written.
    """

    async def invite(self, digest: str, person: str, *, expires_at: datetime) -> None:
        """Keep an invite for one person."""
        ...

    async def redeem(self, invite: str, session: str, *, now: datetime, expires_at: datetime) -> str | None:
        """Use an invite up and open a session, as one step; of two at once one wins.

        Args:
            invite: digest of the invite.
            session: digest of the session that it opens.
            now: an invite is good before its expiry only.
            expires_at: of the session.

        Returns:
            The person; None: unknown, used or expired, and nothing was opened.
        """
        ...

    async def person(self, session: str, *, now: datetime) -> str | None:
        """Whose session it is; None: unknown, ended or expired."""
        ...

    async def leave(self, session: str) -> None:
        """End one session."""
        ...

    async def revoke(self, person: str) -> int:
        """End all sessions and invites of a person; returns how many there were."""
        ...

    async def sweep(self, *, now: datetime) -> int:
        """Forget sessions and invites whose time is over; returns how many there were."""
        ...
