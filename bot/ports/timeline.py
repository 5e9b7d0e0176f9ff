"""What the built-in chat needs of a store: the messages that people have written and received, one JSON document each.

The chat is its own platform, so this is the platform's memory, apart from the inbox and the outbox: what people see
after a restart. Documents are opaque to the store.

INVARIANT: ``seq`` rises with every change of the desk, in the order in which changes become visible; a reader that has
seen everything up to N and asks for what is after N misses nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """One message.

    Attributes:
        id: chosen by the writer, unique within the desk.
        room: the channel it stands in.
        position: its place in the room; given once.
        seq: of its latest change.
        document: JSON; None: it was deleted and its words are gone.
    """

    id: str
    room: str
    position: int
    seq: int
    document: Mapping[str, Any] | None = field(repr=False)


class Timeline(Protocol):
    """The messages of one desk. Every write is durable when it returns.

    Raises:
        StoreError: from every method, when the store can't be read or written.
    """

    async def append(self, room: str, message: str, document: Mapping[str, Any], *, at: datetime) -> Entry:
        """Add a message; an id that is there already changes nothing and gives what stands there (DUR-2).

        Args:
            room: where.
            message: its id.
            document: JSON.
            at: when it came; its words are kept from then on (DUR-5).
        """
        ...

    async def edit(self, room: str, message: str, document: Mapping[str, Any]) -> Entry | None:
        """Replace a document; None where there is no such message, or no more."""
        ...

    async def delete(self, room: str, message: str) -> Entry | None:
        """Erase a document; the entry stays without it. None where there is no such message."""
        ...

    async def get(self, room: str, message: str) -> Entry | None:
        """One message of this room."""
        ...

    async def latest(self, room: str, *, before: int | None, limit: int) -> list[Entry]:
        """The last ``limit`` messages of a room (whose position is under ``before``), in the order of position."""
        ...

    async def changed(self, rooms: Sequence[str], *, after: int, limit: int) -> list[Entry]:
        """Messages of these rooms whose ``seq`` is over ``after``, each as it stands now, in the order of ``seq``."""
        ...

    async def head(self) -> int:
        """The highest ``seq`` there is; 0 where there is none."""
        ...

    async def sweep(self, *, now: datetime, contents_before: datetime) -> int:
        """Erase the documents of messages that came before ``contents_before``, each as :meth:`delete` does (DUR-5).

        Returns:
            How many there were.
        """
        ...
