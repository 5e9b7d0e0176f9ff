"""The chat's ports in memory: for tests, and for a chat whose messages need not outlive the process."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from bot.ports.timeline import Entry


class MemoryTimeline:
    """A :class:`bot.ports.timeline.Timeline`."""

    def __init__(self) -> None:
        self._entries: dict[tuple[str, str], Entry] = {}
        self._came: dict[tuple[str, str], datetime] = {}
        self._seq = 0

    async def append(self, room: str, message: str, document: Mapping[str, Any], *, at: datetime) -> Entry:
        """Add a message, once."""
        found = self._entries.get((room, message))
        if found is not None:
            return found
        seq = self._next()
        self._came[room, message] = at
        return self._put(Entry(id=message, room=room, position=seq, seq=seq, document=dict(document)))

    async def edit(self, room: str, message: str, document: Mapping[str, Any]) -> Entry | None:
        """Replace a document."""
        found = self._entries.get((room, message))
        if found is None or found.document is None:
            return None
        return self._put(replace(found, seq=self._next(), document=dict(document)))

    async def delete(self, room: str, message: str) -> Entry | None:
        """Erase a document."""
        found = self._entries.get((room, message))
        if found is None or found.document is None:
            return found
        return self._put(replace(found, seq=self._next(), document=None))

    async def get(self, room: str, message: str) -> Entry | None:
        """One message."""
        return self._entries.get((room, message))

    async def latest(self, room: str, *, before: int | None, limit: int) -> list[Entry]:
        """The last messages of a room."""
        here = [e for e in self._entries.values() if e.room == room and (before is None or e.position < before)]
        return sorted(here, key=lambda entry: entry.position)[-limit:]

    async def changed(self, rooms: Sequence[str], *, after: int, limit: int) -> list[Entry]:
        """What has changed since."""
        if after >= self._seq:
            return []
        fresh = [entry for entry in self._entries.values() if entry.seq > after and entry.room in rooms]
        return sorted(fresh, key=lambda entry: entry.seq)[:limit]

    async def head(self) -> int:
        """The highest seq."""
        return self._seq

    async def sweep(self, *, now: datetime, contents_before: datetime) -> int:
        """Erase what is too old."""
        kept = [(key, entry) for key, entry in self._entries.items() if entry.document is not None]
        old = [entry for key, entry in kept if self._came[key] < contents_before]
        for entry in old:
            await self.delete(entry.room, entry.id)
        return len(old)

    def _next(self) -> int:
        self._seq += 1
        return self._seq

    def _put(self, entry: Entry) -> Entry:
        self._entries[entry.room, entry.id] = entry
        return entry


class MemoryEntrances:
    """A :class:`bot.ports.entrances.Entrances`."""

    def __init__(self) -> None:
        self._invites: dict[str, tuple[str, datetime]] = {}
        self._sessions: dict[str, tuple[str, datetime]] = {}

    async def invite(self, digest: str, person: str, *, expires_at: datetime) -> None:
        """Keep an invite."""
        self._invites[digest] = (person, expires_at)

    async def redeem(self, invite: str, session: str, *, now: datetime, expires_at: datetime) -> str | None:
        """Use an invite up."""
        person, until = self._invites.pop(invite, ("", now))
        if now >= until:
            return None
        self._sessions[session] = (person, expires_at)
        return person

    async def person(self, session: str, *, now: datetime) -> str | None:
        """Whose session it is."""
        person, until = self._sessions.get(session, ("", now))
        return person if now < until else None

    async def leave(self, session: str) -> None:
        """End one session."""
        self._sessions.pop(session, None)

    async def revoke(self, person: str) -> int:
        """End everything of a person."""
        count = 0
        for kept in (self._invites, self._sessions):
            theirs = [digest for digest, (whose, _) in kept.items() if whose == person]
            count += len(theirs)
            for digest in theirs:
                del kept[digest]
        return count

    async def sweep(self, *, now: datetime) -> int:
        """Forget what is over."""
        count = 0
        for kept in (self._invites, self._sessions):
            over = [digest for digest, (_, until) in kept.items() if now >= until]
            count += len(over)
            for digest in over:
                del kept[digest]
        return count
