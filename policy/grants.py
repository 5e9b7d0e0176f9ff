"""Grants (OUT-6): leave for an agent to write to one place unasked, so many times and so long.

A scheduled or tool-made delivery answers nobody, so consent can't come from a person who asked. It comes from a grant:
given by a listed operator, by a dispatcher key that an admin made, or by the admin at the command line; for one agent
and one complete destination; with a purpose, an end and a count. :func:`admit` looks at it anew at every use, by the
policy in force then: whoever is no operator any more grants nothing any more.

INVARIANT: a grant for one destination is worth nothing at another, nor in another thread of the same channel (OUT-5).
"""

from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from policy.audience import settings_of
from policy.destination import Destination
from policy.event import Chat
from policy.invites import direct_access
from policy.ruleset import Access, Policy


class IssuerKind(StrEnum):
    """Who can make a grant. An agent is not among them, and no text in a message or on a page is."""

    OPERATOR = "operator"
    DISPATCHER = "dispatcher"  # a key of its own, that an admin made
    ADMIN = "admin"  # the command line on the gateway's machine


@dataclass(frozen=True, kw_only=True, slots=True)
class Issuer:
    """Who has made a grant: the id of an operator in the policy, or the name of a dispatcher's key."""

    kind: IssuerKind
    id: str

    def __str__(self) -> str:
        return f"{self.kind.value}:{self.id}"

    @classmethod
    def of(cls, text: str) -> "Issuer":
        """The issuer that ``str`` has written.

        Raises:
            ValueError: it is none.
        """
        kind, _, name = text.partition(":")
        return cls(kind=IssuerKind(kind), id=name)


@dataclass(frozen=True, kw_only=True, slots=True)
class Grant:
    """Leave to deliver.

    Attributes:
        id: short enough to be typed.
        issuer: who has made it.
        agent: who may use it.
        destination: the one place, thread included.
        purpose: what it is for, in the issuer's words; for people and the record.
        issued_at: when it was made.
        expires_at: from then on it is worth nothing.
        uses: how often it may be used.
        used: how often it was.
        revoked_at: when it was taken back.
    """

    id: str
    issuer: Issuer
    agent: str
    destination: Destination
    purpose: str = field(repr=False)
    issued_at: datetime
    expires_at: datetime
    uses: int
    used: int = 0
    revoked_at: datetime | None = None

    def is_open(self, now: datetime) -> bool:
        """Whether it could still be used."""
        return self.revoked_at is None and now < self.expires_at and self.used < self.uses


class Muted(StrEnum):
    """Why a delivery does not leave."""

    INCOMPLETE_DESTINATION = "incomplete_destination"
    NO_GRANT = "no_grant"
    OTHER_AGENT = "other_agent"
    OTHER_DESTINATION = "other_destination"
    REVOKED = "revoked"
    EXPIRED = "expired"
    USED_UP = "used_up"
    ISSUER_NOT_ENTITLED = "issuer_not_entitled"  # the operator is none any more, the dispatcher's key is gone
    DENIED_CHANNEL = "denied_channel"  # the policy shuts the place, or does not list it (IDENT-5)


FOR_GOOD = frozenset({Muted.OTHER_AGENT, Muted.OTHER_DESTINATION, Muted.REVOKED, Muted.EXPIRED, Muted.USED_UP})
"""What a grant does not recover from; the others may be mended in the policy."""


def admit(
    grant: Grant | None,
    *,
    agent: str,
    destination: Destination | None,
    chat: Chat,
    person: str | None,
    dispatchers: Collection[str],
    now: datetime,
    policy: Policy,
) -> Muted | None:
    """Let a delivery go on, or say why not.

    Args:
        grant: that it would use; None: there is none.
        agent: whose words they are.
        destination: where they would go; None: what was written is no complete destination.
        chat: what kind of place it is.
        person: in a one-to-one chat the account of the other side.
        dispatchers: names of the dispatcher keys that there are.
        now: aware.
        policy: in force.

    Returns:
        None when it may go on; what it says is judged at the door all the same.
    """
    if destination is None:
        return Muted.INCOMPLETE_DESTINATION
    if grant is None:
        return Muted.NO_GRANT
    return (
        _scope(grant, agent, destination)
        or _worth(grant, now)
        or (None if _entitled(grant.issuer, policy, dispatchers) else Muted.ISSUER_NOT_ENTITLED)
        or (None if _accessible(policy, destination, chat, person) else Muted.DENIED_CHANNEL)
    )


def _scope(grant: Grant, agent: str, destination: Destination) -> Muted | None:
    if grant.agent != agent:
        return Muted.OTHER_AGENT
    return None if grant.destination == destination else Muted.OTHER_DESTINATION


def _worth(grant: Grant, now: datetime) -> Muted | None:
    if grant.revoked_at is not None:
        return Muted.REVOKED
    if now >= grant.expires_at:
        return Muted.EXPIRED
    return Muted.USED_UP if grant.used >= grant.uses else None


def _entitled(issuer: Issuer, policy: Policy, dispatchers: Collection[str]) -> bool:
    if issuer.kind is IssuerKind.OPERATOR:
        return issuer.id in policy.operators
    return issuer.kind is IssuerKind.ADMIN or issuer.id in dispatchers


def _accessible(policy: Policy, destination: Destination, chat: Chat, person: str | None) -> bool:
    """IDENT-5: nothing goes unasked where the policy does not know the place or the person."""
    settings = settings_of(policy, destination, chat=chat, person=person)
    if chat is Chat.DIRECT:
        principal = policy.person(person)
        if principal is not None and principal.access is Access.DENY:
            return False
        return direct_access(policy, settings, principal) is Access.ALLOW
    return chat is Chat.GROUP and settings.access is Access.ALLOW
