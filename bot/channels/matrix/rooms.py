"""What the bot knows of its rooms, out of the answers to ``sync`` (pure: nothing is asked, nothing is awaited).

An answer tells a room's state as it was *before* its timeline, and the timeline changes it event by event. So an answer
is walked in its own order, and each event is seen with the facts that held when it was written.

Presence decides what is history (PART-12), and presence is read from the bot's own membership events in that order,
never from clocks: other servers write any time they like into their events.

Everything in an answer may be malformed; a piece that does not fit is passed over, and none stops the rest (PART-17).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

from bot.channels.matrix.roomstate import (
    STATE_TYPES,
    Room,
    changed,
    content_of,
    is_id,
    is_state,
    object_of,
    own_membership,
)

__all__ = ["STATE_TYPES", "Gap", "Room", "Rooms", "Seen"]

Via = Literal["sync", "gap", "invite"]
Snapshot = tuple[bool, Mapping[str, "Room"]]

_JOINED: Final = "joined"
_DIRECT: Final = "direct"
_CROWD: Final = 100


@dataclass(frozen=True, kw_only=True, slots=True)
class Seen:
    """One event of an answer, with what held then.

    Attributes:
        room: as it was when the event was written.
        event: as it came; anything at all.
        history: the bot was not in the room then, or is not any more.
        via: how it came.
    """

    room: Room
    event: Any = field(repr=False)
    history: bool
    via: Via


@dataclass(frozen=True, kw_only=True, slots=True)
class Gap:
    """Events are missing before a room's timeline.

    Attributes:
        room: its id.
        start: the token from which they are found backwards.
        join: id of the bot's own join, where there is nothing to look for before it.
    """

    room: str
    start: str
    join: str | None


class Rooms:
    """The rooms of one account.

    Attributes:
        known: an answer has been taken in; before, only :meth:`recall` has told of rooms.
    """

    def __init__(self, user_id: str) -> None:
        """Args: user_id: the bot's own."""
        self._user_id = user_id
        self._rooms: dict[str, Room] = {}
        self.known = False

    def __iter__(self) -> Iterator[Room]:
        return iter(tuple(self._rooms.values()))

    def get(self, room_id: str) -> Room | None:
        """One room; None: never heard of."""
        return self._rooms.get(room_id)

    # What outlives the process

    def recall(self, kept: Mapping[str, str]) -> None:
        """Begin with what :meth:`kept` gave in an earlier process."""
        for name in kept:
            prefix, _, room_id = name.partition(":")
            room = self._rooms.get(room_id, Room(id=room_id))
            if prefix == _JOINED:
                self._rooms[room_id] = replace(room, membership="join")
            elif prefix == _DIRECT:
                partner = kept[name]
                self._rooms[room_id] = replace(room, direct=True, partner=partner if is_id(partner, "@") else None)

    def kept(self, room_id: str) -> dict[str, str | None]:
        """What is to be kept of a room, by name; None: nothing."""
        room = self._rooms.get(room_id)
        joined = room is not None and room.membership == "join"
        direct = None if room is None or not room.direct else room.partner or "1"
        return {f"{_JOINED}:{room_id}": "1" if joined else None, f"{_DIRECT}:{room_id}": direct}

    def snapshot(self) -> Snapshot:
        """All that is known now, for :meth:`restore`."""
        return self.known, dict(self._rooms)

    def restore(self, snapshot: Snapshot) -> None:
        """Forget what came after a snapshot: an answer that was not made durable comes again."""
        self.known, rooms = snapshot
        self._rooms = dict(rooms)

    # Answers to sync

    def gaps(self, sync: Mapping[str, Any]) -> list[Gap]:
        """Where events are missing that were written while the bot was in the room; before :meth:`take`."""
        found = []
        for room_id, block in _blocks(sync, "join"):
            timeline = object_of(block.get("timeline"))
            start = timeline.get("prev_batch")
            if timeline.get("limited") is not True or not isinstance(start, str):
                continue
            join: str | None = None
            room = self._rooms.get(room_id)
            if room is None or room.membership != "join":
                own = [event for event in _events(block, "state") if self._own(event) == "join"]
                if not own:
                    continue  # the join stands in the timeline: what is missing is from before it
                event_id = own[-1].get("event_id")
                join = event_id if isinstance(event_id, str) else None
            found.append(Gap(room=room_id, start=start, join=join))
        return found

    def take(
        self, sync: Mapping[str, Any], *, gaps: Mapping[str, Sequence[Any]] | None = None, first: bool = False
    ) -> list[Seen]:
        """Take an answer in.

        Args:
            sync: the answer.
            gaps: by room what was missing before its timeline, oldest first.
            first: the answer to a call without a token: its timelines are history.

        Returns:
            Its events in the order of each room; then the bot's own invites.
        """
        seen: list[Seen] = []
        for room_id, block in _blocks(sync, "join"):
            seen += self._joined(room_id, block, (gaps or {}).get(room_id, ()), first=first)
        for room_id, block in _blocks(sync, "leave"):
            seen += self._left(room_id, block, first=first)
        for room_id, block in _blocks(sync, "invite"):
            seen.append(self._invited(room_id, block))
        self.known = True
        return seen

    def _joined(self, room_id: str, block: Mapping[str, Any], gap: Sequence[Any], *, first: bool) -> list[Seen]:
        room = self._rooms.get(room_id, Room(id=room_id))
        present = room.membership == "join"
        if not present:  # a room that the bot is new in tells all of its state; what an invite told of it is old
            nobody: frozenset[str] = frozenset()
            room = replace(room, membership="join", joined=nobody, invited=nobody)
        seen: list[Seen] = []
        crowd: list[Any] = []
        for event in gap:
            if present and self._own(event) == "join" and not _renamed(event):
                seen = [replace(one, history=True) for one in seen]  # the server went back further than it was asked
            room, present = self._step(room, event, crowd, present=present)
            seen.append(Seen(room=room, event=event, history=first or not present, via="gap"))
        state = _events(block, "state")
        room = self._changed(self._changed(room, crowd), state)
        crowd.clear()
        for event in state:
            present = self._presence(event, present=present)
        for event in _events(block, "timeline"):
            room, present = self._step(room, event, crowd, present=present)
            seen.append(Seen(room=room, event=event, history=first or not present, via="sync"))
        self._rooms[room_id] = self._changed(room, crowd)
        return seen

    def _left(self, room_id: str, block: Mapping[str, Any], *, first: bool) -> list[Seen]:
        """The bot has gone, or was sent away, or its invite was taken back; what it still saw has no answer now."""
        room = self._rooms.get(room_id, Room(id=room_id))
        seen: list[Seen] = []
        if room.membership == "join" and not first:
            room = self._changed(room, _events(block, "state"))
            for event in _events(block, "timeline"):
                room, _ = self._step(room, event, [], present=False)
                seen.append(Seen(room=room, event=event, history=True, via="sync"))
        nobody: frozenset[str] = frozenset()
        self._rooms[room_id] = replace(
            room, membership="leave", direct=False, partner=None, joined=nobody, invited=nobody
        )
        return seen

    def _invited(self, room_id: str, block: Mapping[str, Any]) -> Seen:
        stripped = _events(block, "invite_state")
        own = next((event for event in reversed(stripped) if self._own(event) == "invite"), None)
        direct = own is not None and content_of(own).get("is_direct") is True
        room = self._changed(Room(id=room_id, direct=direct, membership="invite"), stripped)
        self._rooms[room_id] = room
        return Seen(room=room, event=own, history=False, via="invite")

    def _step(self, room: Room, event: Any, crowd: list[Any], *, present: bool) -> tuple[Room, bool]:
        """The room and the bot's presence after one event of a timeline.

        Who comes and goes in a crowd is put into ``crowd``, to be counted at once later: one by one, somebody could
        keep the bot busy with nothing but that. Until then it stays a crowd, which is no direct chat.
        """
        if not is_state(event):
            return room, present
        if room.members > _CROWD and event["type"] == "m.room.member" and event["state_key"] != self._user_id:
            crowd.append(event)
            return room, present
        return self._changed(room, (event,)), self._presence(event, present=present)

    def _presence(self, event: Any, *, present: bool) -> bool:
        membership = self._own(event)
        return present if membership is None else membership == "join"

    def _own(self, event: Any) -> str | None:
        return own_membership(event, user_id=self._user_id)

    def _changed(self, room: Room, events: Iterable[Any]) -> Room:
        return changed(room, events, user_id=self._user_id)


def _renamed(event: Mapping[str, Any]) -> bool:
    """Whether a join is that of a member who was in the room already: another name, another picture."""
    return object_of(object_of(event.get("unsigned")).get("prev_content")).get("membership") == "join"


def _blocks(sync: Mapping[str, Any], section: str) -> list[tuple[str, Mapping[str, Any]]]:
    rooms = object_of(object_of(sync.get("rooms")).get(section))
    return [(room_id, block) for room_id, block in rooms.items() if is_id(room_id, "!") and isinstance(block, dict)]


def _events(block: Mapping[str, Any], section: str) -> list[Any]:
    events = object_of(block.get(section)).get("events")
    return events if isinstance(events, list) else []
