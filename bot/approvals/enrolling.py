"""``/passkey``: an operator asks for the link under which they add a passkey, in their own private chat (APPR-9)."""

from collections.abc import Sequence
from typing import Final

from bot.approvals.passkeys import INVITE_LASTS, NoLink, Passkeys
from bot.deliveries.door import Door, Place
from bot.model.output import Final as Answer
from bot.ports.hearing import Heard
from bot.texts.codes import Notice
from bot.texts.words import Words
from policy.decision import Audience
from policy.event import Chat, Event

COMMAND: Final = "passkey"
_WHY: Final = {NoLink.NO_PAGES: Notice.PASSKEY_NO_PAGES, NoLink.REVOKED: Notice.PASSKEY_REVOKED}


class PasskeyHearing:
    """Hears the command, and nothing else (see :class:`bot.ports.hearing.Hearer`)."""

    def __init__(self, passkeys: Passkeys, door: Door) -> None:
        """Args: door: knows who reads along at a place."""
        self._passkeys = passkeys
        self._door = door

    async def shows(self, part_id: int) -> bool:
        """No part of the outbox waits for an answer."""
        return False

    async def awaits(self, event: Event) -> bool:
        """No message is an answer."""
        return False

    async def tapped(self, part_id: int, value: str, event: Event, *, language: str) -> Heard | None:
        """No button."""
        return None

    async def replied(self, event: Event, text: str, *, language: str) -> Heard | None:
        """No reply."""
        return None

    async def commanded(self, event: Event, text: str, *, language: str) -> Heard | None:
        """The link, where nobody but the operator reads it; None: another command, or not here."""
        if event.command is None or event.command.name != COMMAND or event.chat is not Chat.DIRECT:
            return None
        place = Place(destination=event.destination, chat=event.chat, person=event.sender)
        if self._door.settings(place).audience is not Audience.OPERATOR:
            return None
        words = Words(language)
        link = await self._passkeys.link_for(event.sender)
        if isinstance(link, NoLink):
            return Heard(says=Answer(text=words.say(_WHY[link])), inside=True)
        minutes = int(INVITE_LASTS.total_seconds()) // 60
        return Heard(says=Answer(text=words.say(Notice.PASSKEY_LINK, link=link, minutes=minutes)), inside=True)

    async def told(self, event: Event, parts: Sequence[int]) -> None:
        """Nothing follows."""
