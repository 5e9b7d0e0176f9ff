"""Coming in: invites that an operator makes, and the sessions that they open. Only digests are ever stored."""

import hashlib
import secrets
from datetime import datetime, timedelta
from typing import Final

from bot.ports.entrances import Entrances

INVITE_LIFETIME: Final = timedelta(days=2)
SESSION_LIFETIME: Final = timedelta(days=30)


async def invite(
    entrances: Entrances,
    person: str,
    *,
    base_url: str,
    now: datetime,
    lifetime: timedelta = INVITE_LIFETIME,
) -> str:
    """Make a one-time link for one person.

    Args:
        entrances: where its digest is kept.
        person: id of a member.
        base_url: of the chat, such as ``https://chat.example.org``.
        now: aware.
        lifetime: how long the link is good.

    Returns:
        The link; it is shown once and can't be had again.
    """
    token = secrets.token_urlsafe(32)
    await entrances.invite(digest(token), person, expires_at=now + lifetime)
    return f"{base_url.rstrip('/')}/enter/{token}"


async def enter(entrances: Entrances, token: str, *, now: datetime) -> str | None:
    """Use an invite up; returns the token of the session, for the cookie, or None."""
    session = secrets.token_urlsafe(32)
    person = await entrances.redeem(digest(token), digest(session), now=now, expires_at=now + SESSION_LIFETIME)
    return None if person is None else session


def digest(token: str) -> str:
    """SHA-256 of a token, hexadecimal."""
    return hashlib.sha256(token.encode()).hexdigest()
