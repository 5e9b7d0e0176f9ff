"""What exists on the scripted homeserver: rooms with a stream of events, invites, what waits for the device."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.servers.homeserver.calls import Json, RefusalError


@dataclass(frozen=True, slots=True)
class Entry:
    """One event in a room's stream. ``event`` may be anything at all."""

    position: int
    event: Any


@dataclass(kw_only=True)
class Room:
    """A room as the server knows it.

    Attributes:
        membership: of the bot: ``join``, ``invite``, ``leave``, ``ban``, or ``none``.
        base: state from long ago, which stands in no timeline.
        entries: the stream, oldest first.
        joined_at: position of the bot's join.
        left_at: position of its leaving.
        invited_at: position of the pending invite.
        invite_state: the stripped state that comes with it.
        timeline_limit: at most so many events in one answer, less than the filter allows; for gaps.
        public: anybody may join.
    """

    id: str
    membership: str = "join"
    base: list[Json] = field(default_factory=list)
    entries: list[Entry] = field(default_factory=list)
    joined_at: int = 0
    left_at: int = 0
    invited_at: int = 0
    invite_state: list[Any] = field(default_factory=list)
    timeline_limit: int | None = None
    public: bool = False

    def state(self, before: int | None = None) -> dict[tuple[str, str], Json]:
        """The state by type and state key, now or before a position."""
        found = {(event["type"], event["state_key"]): event for event in self.base}
        for entry in self.entries:
            if (before is None or entry.position < before) and _is_state(entry.event):
                found[entry.event["type"], entry.event["state_key"]] = entry.event
        return found

    def members(self, membership: str) -> list[str]:
        """User ids with this membership."""
        return [
            key
            for (kind, key), event in self.state().items()
            if kind == "m.room.member" and event.get("content", {}).get("membership") == membership
        ]

    def find(self, event_id: str) -> Json | None:
        """An event by its id."""
        for event in [*self.base, *(entry.event for entry in self.entries)]:
            if isinstance(event, dict) and event.get("event_id") == event_id:
                return event
        return None


def _is_state(event: Any) -> bool:
    return isinstance(event, dict) and isinstance(event.get("type"), str) and isinstance(event.get("state_key"), str)


class World:
    """Everything that an answer to ``sync`` is made of.

    Attributes:
        position: of the latest change; positions rise over all rooms.
        epoch: a part of every token; a new one makes all earlier tokens unknown.
        repeat_invites: an answer with ``full_state`` shows pending invites again, as some servers do.
    """

    def __init__(self, user_id: str, changed: Callable[[], None]) -> None:
        self.user_id = user_id
        self.server = user_id.partition(":")[2]
        self.rooms: dict[str, Room] = {}
        self.known: dict[tuple[str, str], Any] = {}  # events that can be fetched and stand in no stream
        self.to_device: list[Entry] = []
        self.changed_devices: list[Entry] = []
        self.patches: list[Entry] = []
        self.position = 1
        self.epoch = 1
        self.repeat_invites = False
        self._changed = changed
        self._ids = 0

    def step(self) -> int:
        """The next position."""
        self.position += 1
        return self.position

    def wake(self) -> None:
        """Something has changed: waiting calls look again."""
        self._changed()

    def new_id(self, sigil: str = "$") -> str:
        """An id nobody has had."""
        self._ids += 1
        return f"{sigil}made{self._ids:06d}"

    def append(self, room: Room, event: Any) -> Any:
        """Add an event to a room's stream; the bot's own membership follows it."""
        position = self.step()
        room.entries.append(Entry(position, event))
        if _is_state(event) and (event["type"], event["state_key"]) == ("m.room.member", self.user_id):
            content = event.get("content")
            membership = content.get("membership") if isinstance(content, dict) else None
            if membership == "join" and room.membership != "join":
                room.joined_at = position
            if membership in ("leave", "ban"):
                room.left_at = position
            if isinstance(membership, str):
                room.membership = membership
        self.wake()
        return event

    def redact(self, room: Room, event_id: str) -> None:
        """Take an event's content away, as servers show it from then on."""
        because = room.entries[-1].event
        for index, entry in enumerate(room.entries):
            if isinstance(entry.event, dict) and entry.event.get("event_id") == event_id:
                bare = {**entry.event, "content": {}, "unsigned": {"redacted_because": because}}
                room.entries[index] = Entry(entry.position, bare)

    # Answers

    def token(self, position: int | None = None) -> str:
        """The token of a position, by default of now."""
        return f"s{self.epoch}_{self.position if position is None else position}"

    def since(self, token: str) -> int:
        """The position of a token.

        Raises:
            RefusalError: nobody knows it.
        """
        epoch, _, position = token[1:].partition("_")
        if token[:1] not in ("s", "t") or epoch != str(self.epoch) or not position.isdecimal():
            raise RefusalError(400, "M_UNKNOWN_POS", "Unknown stream token")
        return int(position)

    def news(self, since: int) -> bool:
        """Whether anything has happened after a position."""
        return self.position > since

    def sync(self, since: int | None, *, full_state: bool, limit: int) -> Json:
        """The answer to ``sync`` but for keys: only sections that hold something."""
        rooms: dict[str, Json] = {"join": {}, "invite": {}, "leave": {}}
        for room in self.rooms.values():
            if room.membership == "join":
                if block := self._joined(room, since, full_state=full_state, limit=limit):
                    rooms["join"][room.id] = block
            elif room.membership == "invite":
                if room.invited_at > (since or 0) or (full_state and self.repeat_invites):
                    rooms["invite"][room.id] = {"invite_state": {"events": room.invite_state}}
            elif since is not None and room.left_at > since:
                rooms["leave"][room.id] = self._block(room, since, room.left_at, limit=limit)
        self.to_device = [entry for entry in self.to_device if since is None or entry.position > since]
        answer: Json = {"next_batch": self.token()}
        if any(rooms.values()):
            answer["rooms"] = {name: found for name, found in rooms.items() if found}
        if self.to_device:
            answer["to_device"] = {"events": [entry.event for entry in self.to_device]}
        if since is not None:
            users = [entry.event for entry in self.changed_devices if entry.position > since]
            if users:
                answer["device_lists"] = {"changed": users, "left": []}
        for patch in self.patches:
            if patch.position > (since or 0):
                answer = patch.event(answer)
        return answer

    def _joined(self, room: Room, since: int | None, *, full_state: bool, limit: int) -> Json | None:
        newly = since is None or room.joined_at > since
        block = self._block(room, 0 if newly else since or 0, None, limit=limit, full_state=newly or full_state)
        if not newly and not full_state and not block["timeline"]["events"] and not block["state"]["events"]:
            return None
        joined, invited = room.members("join"), room.members("invite")
        block["summary"] = {"m.joined_member_count": len(joined), "m.invited_member_count": len(invited)}
        block["unread_notifications"] = {"highlight_count": 0, "notification_count": 0}
        return block

    def _block(self, room: Room, since: int, until: int | None, *, limit: int, full_state: bool = False) -> Json:
        found = [e for e in room.entries if e.position > since and (until is None or e.position <= until)]
        most = limit if room.timeline_limit is None else min(limit, room.timeline_limit)
        shown = found[len(found) - most :] if len(found) > most else found
        first = shown[0].position if shown else (until or self.position) + 1
        state = room.state(before=first)
        if not full_state:
            gap = [entry.event for entry in found if entry.position < first]
            state = {key: event for key, event in state.items() if any(event is one for one in gap)}
        timeline = {
            "events": [without_room(entry.event) for entry in shown],
            "limited": len(found) > most,
            "prev_batch": f"t{self.epoch}_{first}",
        }
        return {"timeline": timeline, "state": {"events": [without_room(event) for event in state.values()]}}

    def messages(self, room: Room, query: Json) -> Json:
        """A page of a room's past, newest first, between ``from`` and ``to``; with ``dir=f`` oldest first."""
        limit = int(query.get("limit", "10"))
        low, high = 0, self.position + 1
        start, stop = query.get("from"), query.get("to")
        backwards = query.get("dir") != "f"
        if start is not None:
            at = self.since(start)
            if backwards:
                high = at if start.startswith("t") else at + 1
            else:
                low = at - 1 if start.startswith("t") else at
        if stop is not None:
            at = self.since(stop)
            if backwards:
                low = at - 1 if stop.startswith("t") else at
            else:
                high = at + 1
        found = [entry for entry in room.entries if low < entry.position < high]
        if backwards:
            found.reverse()
        page = found[:limit]
        answer: Json = {"chunk": [with_room(entry.event, room.id) for entry in page], "start": start or self.token()}
        if len(found) > limit:
            last = page[-1].position
            answer["end"] = f"t{self.epoch}_{last}" if backwards else f"s{self.epoch}_{last}"
        return answer


def without_room(event: Any) -> Any:
    """An event as it stands in an answer to ``sync``: the room's id stands above it."""
    return {key: value for key, value in event.items() if key != "room_id"} if isinstance(event, dict) else event


def with_room(event: Any, room_id: str) -> Any:
    """An event as it stands elsewhere."""
    return {**event, "room_id": room_id} if isinstance(event, dict) else event
