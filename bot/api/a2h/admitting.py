"""Who may send what to whom over A2H, and by which ways (AGENT-1): looked at before anything is kept."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from bot.api.a2h import translating as to
from bot.api.a2h.nonces import Nonces
from bot.api.a2h.reading import Envelope
from bot.api.a2h.refusing import EXPIRED, INVALID, PRINCIPAL, QUIET, REPLAY, A2hError
from bot.config.credentials import Credential, Scope
from bot.deliveries.door import Place
from bot.deliveries.schedule import Schedule
from bot.model.intent import IntentType
from policy.ruleset import Access, Person, Policy

TOLERANCE: Final = timedelta(minutes=5)
"""How far ``created_at`` may be off."""
_SCOPES: Final[Mapping[IntentType, Scope]] = {
    IntentType.INFORM: Scope.DELIVER,
    IntentType.RESULT: Scope.DELIVER,
    IntentType.COLLECT: Scope.ASK,
    IntentType.AUTHORIZE: Scope.PROPOSE,
    IntentType.ESCALATE: Scope.PROPOSE,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Names:
    """What the configuration says of A2H.

    Attributes:
        agents: further ids of agents, by name.
        profiles: that are known; a message with another one is refused.
        passkeys: whether there are pages that want one.
        chat_for: factors in whose place any private chat is taken; the evidence says which it was.
        may_lack: fields that may be left out, though the protocol wants them.
    """

    agents: Mapping[str, frozenset[str]] = field(default_factory=dict)
    profiles: frozenset[str] = frozenset()
    passkeys: bool = False
    chat_for: frozenset[str] = frozenset()
    may_lack: frozenset[str] = frozenset()


class Admission:
    """Looks at messages; each check raises :class:`A2hError`."""

    def __init__(
        self,
        *,
        schedule: Schedule,
        policy: Callable[[], Policy],
        names: Names,
        nonces: Nonces,
        clock: Callable[[], datetime],
    ) -> None:
        """Args: as of :class:`bot.api.a2h.desk.IntentDesk`."""
        self._schedule = schedule
        self._policy = policy
        self._names = names
        self._nonces = nonces
        self._clock = clock

    def check_sender(self, envelope: Envelope, credential: Credential) -> None:
        """Whose key it is, and what it is for."""
        if _SCOPES[envelope.type] not in credential.scopes:
            raise A2hError(403, INVALID, f"your key is not for {envelope.type.value}", reason="forbidden")
        if envelope.agent != credential.name and envelope.agent not in self._names.agents.get(credential.name, ()):
            raise A2hError(403, INVALID, "agent_id is not that of your key", reason="agent_id")
        unknown = [one for one in envelope.profiles if one not in self._names.profiles]
        if unknown:
            raise A2hError(
                422, INVALID, "this profile is not known here", reason="profile", profiles=sorted(self._names.profiles)
            )

    def check_time(self, envelope: Envelope) -> None:
        """It is no old one come again."""
        now = self._clock()
        if envelope.created_at is not None and abs(now - envelope.created_at) > TOLERANCE:
            raise A2hError(422, REPLAY, "created_at is more than 5 minutes off")
        if envelope.expires_at is not None and envelope.expires_at <= now:
            raise A2hError(422, EXPIRED, "the time of its channel is over")
        self._nonces.check(envelope.nonce)

    def person(self, envelope: Envelope, credential: Credential) -> Person:
        """The principal whom the policy knows; another one's is as unknown as none."""
        person = self._policy().named(envelope.principal)
        if person is None or person.access is Access.DENY or not credential.reaches(person.id):
            raise A2hError(422, PRINCIPAL, "the policy knows no such principal for you")
        if envelope.type is IntentType.AUTHORIZE and not person.operator:
            raise A2hError(422, PRINCIPAL, "this principal can't authorize anything: no operator in the policy")
        return person

    def check_assurance(self, envelope: Envelope) -> None:
        """There is a way to be as sure as it wants."""
        if envelope.type is not IntentType.AUTHORIZE:
            if envelope.level == "HIGH" or to.PASSKEY in envelope.factors:
                raise A2hError(422, INVALID, "HIGH assurance is for AUTHORIZE", reason="assurance")
            return
        offered = [one for one in to.FACTORS if self._names.passkeys or one != to.PASSKEY]
        if envelope.factors and set(envelope.factors).isdisjoint({*offered, *self._names.chat_for}):
            raise A2hError(422, INVALID, "none of these factors is offered here", reason="factors", factors=offered)
        if to.wants_passkey(envelope) and not self._names.passkeys:
            raise A2hError(422, INVALID, "there are no pages for passkeys here", reason="factors", factors=offered)

    async def routes(self, envelope: Envelope, person: Person, credential: Credential) -> list[Place]:
        """Private chats with the person: those that the agent names, if the policy binds them; else any."""
        places = [
            place for place in await self._schedule.reachable(person.accounts) if credential.covers(place.destination)
        ]
        named = [
            place
            for way in envelope.ways
            for place in places
            if place.other_side == way.address
            or (way.address not in person.accounts and way.type == place.destination.platform)
        ]
        found = list({place.destination: place for place in named or places}.values())
        chats = {one for one in envelope.factors if one in to.FACTORS and one != to.PASSKEY}
        if envelope.type is IntentType.AUTHORIZE and chats and not to.wants_passkey(envelope):
            found = [place for place in found if to.factor_of(place.destination.platform) in chats]
        return found

    def check_quiet(self, envelope: Envelope) -> None:
        """Nobody is asked in quiet hours."""
        quiet, now = self._policy().approvals.quiet, self._clock()
        if envelope.type is IntentType.COLLECT and quiet is not None and quiet.holds(now):
            after_s = max(1.0, (self.loud(now) - now).total_seconds())
            raise A2hError(503, QUIET, "nobody is asked in quiet hours", after_s=after_s)

    def loud(self, now: datetime) -> datetime:
        """When quiet hours are over; now, outside of them."""
        quiet = self._policy().approvals.quiet
        if quiet is None or not quiet.holds(now):
            return now
        local = now.astimezone(ZoneInfo(quiet.timezone))
        end = local.replace(hour=quiet.until.hour, minute=quiet.until.minute, second=0, microsecond=0)
        return (end if end > local else end + timedelta(days=1)).astimezone(UTC)
