"""What operators command about grants, and what stands open: ``/grant``, ``/revoke``, ``/status`` (OUT-6, PART-8).

    /grant AGENT DESTINATION USES TIME PURPOSE...
    /revoke ID
    /status

Only a listed operator is heard, and only where insiders alone read along (:mod:`policy.participation` says so first,
and it is looked at again here). No model is called, and no text of anybody else makes a grant.
"""

import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import fields
from datetime import datetime, timedelta
from typing import Final as Constant
from zoneinfo import ZoneInfo

from bot.deliveries.door import Door, Place
from bot.deliveries.grants import MOST_USES, GrantRoom, grant_id, read_duration
from bot.deliveries.words import GrantWords
from bot.model.errors import GrantError
from bot.model.output import Final
from bot.ports.grants import Standing
from bot.ports.hearing import Heard
from policy.event import Event
from policy.grants import Grant, Issuer, IssuerKind
from policy.participation import OPERATORS_COMMANDS
from policy.ruleset import Person, Policy

_WANTED: Constant = 4
"""Words before the purpose: agent, destination, uses, time."""
_EXAMPLES: Constant = {
    "telegram": ":-1001234567890:42",
    "matrix": ":!room:example.org",
    "web": ":room",
}


class Granting:
    """See :class:`bot.ports.hearing.Hearer`."""

    def __init__(
        self,
        room: GrantRoom,
        *,
        standing: Callable[[datetime], Awaitable[Standing]],
        policy: Callable[[], Policy],
        door: Door,
        clock: Callable[[], datetime],
    ) -> None:
        """Make it.

        Args:
            room: of the grants.
            standing: tells what stands open at a moment.
            policy: gives the policy in force now.
            door: knows who reads along.
            clock: gives aware times.
        """
        self._room = room
        self._standing = standing
        self._policy = policy
        self._door = door
        self._clock = clock

    async def shows(self, part_id: int) -> bool:
        """Nothing is shown that could be tapped."""
        return False

    async def awaits(self, event: Event) -> bool:
        """Nothing waits for a reply."""
        return False

    async def tapped(self, part_id: int, value: str, event: Event, *, language: str) -> None:
        """No button is about a grant."""

    async def replied(self, event: Event, text: str, *, language: str) -> None:
        """No reply is about a grant."""

    async def told(self, event: Event, parts: Sequence[int]) -> None:
        """Nothing is to be noted."""

    async def commanded(self, event: Event, text: str, *, language: str) -> Heard | None:
        """One of the three commands; None: another one, or not from here, or not from this person."""
        command = event.command
        if command is None or command.name not in OPERATORS_COMMANDS:
            return None
        operator = self._operator(event)
        if operator is None:
            return None
        words = GrantWords(language)
        said = _arguments(text, command.name)
        if command.name == "status":
            sentence = await self._status(words)
        elif command.name == "grant":
            sentence = await self._grant(event, operator, said, words)
        else:
            sentence = await self._revoke(operator, said, words)
        return Heard(says=Final(text=sentence))

    def _operator(self, event: Event) -> Person | None:
        """Whose command it is, if it may be theirs, here and now."""
        place = Place(destination=event.destination, chat=event.chat, person=event.sender)
        person = self._policy().person(event.sender)
        trusted = self._door.settings(place).audience.trusted
        return person if trusted and person is not None and person.operator else None

    async def _status(self, words: GrantWords) -> str:
        standing = await self._standing(self._clock())
        lines = [f"- {words.say(f'status.{one.name}', count=getattr(standing, one.name))}" for one in fields(standing)]
        return "\n".join([words.say("status"), "", *lines])

    async def _grant(self, event: Event, operator: Person, said: str, words: GrantWords) -> str:
        given = said.split(maxsplit=_WANTED)
        if len(given) <= _WANTED:
            return self._help(event, words)
        agent, destination, uses, lasts, purpose = given
        try:
            grant = await self._room.issue(
                issuer=Issuer(kind=IssuerKind.OPERATOR, id=operator.id),
                agent=agent,
                destination=destination,
                uses=int(uses) if uses.isascii() and uses.isdecimal() and len(uses) < len(str(MOST_USES)) + 1 else 0,
                lasts=read_duration(lasts) or timedelta(),
                purpose=purpose,
                new_id=grant_id(event.destination.account, event.key),  # carried out again, it is the same grant
            )
        except GrantError as error:
            return self._refusal(event, error, words)
        return self._issued(grant, words)

    def _issued(self, grant: Grant, words: GrantWords) -> str:
        zone = self._policy().timezone
        until = grant.expires_at.astimezone(ZoneInfo(zone)).strftime("%Y-%m-%d %H:%M")
        return words.say(
            "issued",
            grant=grant.id,
            agent=grant.agent,
            destination=str(grant.destination),
            until=f"{until} ({zone})",
            uses=grant.uses,
        )

    def _refusal(self, event: Event, error: GrantError, words: GrantWords) -> str:
        key = "used" if error.code == "key_used" else error.code
        return words.say(
            key,
            agents=", ".join(f"`{name}`" for name in sorted(self._room.agents)),
            accounts=", ".join(f"`{account}`" for account in sorted(self._room.accounts)),
            destination=_example(event),
            most=MOST_USES,
        )

    def _help(self, event: Event, words: GrantWords) -> str:
        return words.say("help", agent=min(self._room.agents, default="main"), destination=_example(event))

    async def _revoke(self, operator: Person, said: str, words: GrantWords) -> str:
        given = said.split()
        if len(given) != 1 or not given[0].isalnum() or not given[0].isascii():
            return words.say("help_revoke")
        grant = given[0].lower()[:64]
        done = await self._room.revoke(grant, by=Issuer(kind=IssuerKind.OPERATOR, id=operator.id))
        return words.say("revoked" if done else "unknown", grant=grant)


def _arguments(text: str, name: str) -> str:
    """What follows the command; the bot's address may stand before it or be joined to it."""
    found = re.search(rf"(?:^|\s)[!/]{re.escape(name)}(?:@\S+)?(?=\s|$)", text, re.IGNORECASE)
    return "" if found is None else text[found.end() :].strip()


def _example(event: Event) -> str:
    """A destination as it is written, of the bot that is spoken to, and of no place that there is."""
    return event.destination.account + _EXAMPLES.get(event.destination.platform, ":room")
