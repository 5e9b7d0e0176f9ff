"""Who is in which room of the built-in chat, as the configuration says."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from bot.model.errors import ChannelError
from policy.destination import Destination

_ID: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
MAX_NAME: Final = 80


@dataclass(frozen=True, kw_only=True, slots=True)
class Member:
    """A person of the chat; their account is ``web:<id>``.

    Attributes:
        id: small letters, digits, - and _.
        name: what others read; identity comes from ``id`` alone (IDENT-1).
        language: BCP 47.
        operator: sees decisions beside messages. What an operator may do is the policy's matter.
    """

    id: str
    name: str = field(repr=False)
    language: str = "en"
    operator: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Room:
    """A room.

    Attributes:
        id: small letters, digits, - and _.
        title: what people read.
        audience: a label for the demo page (``external``, ``internal``, ``operator``); it decides nothing (IDENT-2).
        members: ids of people.
        direct: a chat of exactly one person with the bot (PART-16).
    """

    id: str
    title: str = field(repr=False)
    members: tuple[str, ...]
    audience: str = ""
    direct: bool = False


class Register:
    """The rooms, the people and the bot of one desk, checked."""

    def __init__(self, *, desk: str, bot_name: str, rooms: Sequence[Room], members: Sequence[Member]) -> None:
        """Args: bot_name: id by which people mention the bot.

        Raises:
            ChannelError: the configuration can't hold; the text says the mend.
        """
        self.desk = desk
        self.bot = bot_name
        self.members = {member.id: member for member in members}
        self.rooms = {room.id: room for room in rooms}
        self._check(rooms, members)
        self._of = {person: tuple(room.id for room in rooms if person in room.members) for person in self.members}

    @property
    def account(self) -> str:
        """``web:<desk>``."""
        return f"web:{self.desk}"

    def destination(self, room: str) -> Destination:
        """Where a room is."""
        return Destination(platform="web", workspace=self.desk, channel=room)

    def lane(self, room: str) -> str:
        """One lane a room."""
        return f"{self.account}:{room}"

    def rooms_of(self, person: str) -> tuple[str, ...]:
        """Ids of the rooms that a person is in, in the order of the configuration."""
        return self._of.get(person, ())

    def addressable(self, room: Room) -> frozenset[str]:
        """Ids that can be mentioned in a room."""
        return frozenset({*room.members, self.bot})

    def _check(self, rooms: Sequence[Room], members: Sequence[Member]) -> None:
        for kind, id_ in (
            ("desk", self.desk),
            ("bot", self.bot),
            *(("room", room.id) for room in rooms),
            *(("member", member.id) for member in members),
        ):
            if _ID.fullmatch(id_) is None:
                raise ChannelError(f"web chat: {kind} id {id_!r} has other than small letters, digits, - and _")
        if len(self.rooms) != len(rooms) or len(self.members) != len(members):
            raise ChannelError("web chat: two rooms or two members have the same id; rename one")
        if self.bot in self.members:
            raise ChannelError(f"web chat: a member has the bot's id {self.bot!r}; rename one of them")
        for room in rooms:
            strangers = set(room.members) - set(self.members)
            if strangers:
                raise ChannelError(f"web chat: room {room.id!r} lists {sorted(strangers)}, who are no members")
            if room.direct and len(room.members) != 1:
                raise ChannelError(f"web chat: the direct room {room.id!r} has exactly one member, or is not direct")
        if any(not member.name.strip() or len(member.name) > MAX_NAME for member in members):
            raise ChannelError(f"web chat: a member's name has 1 to {MAX_NAME} characters")
