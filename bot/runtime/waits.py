"""Events that wait: for the bot's own identity (PART-14), or for the key with which they can be read (PART-17).

Anybody in a room can write what nobody can read, as much as they like. So who waits for a key is looked at now and
then, the more rarely the longer it has waited; and no more wait than the bounds below allow. What exceeds them is
given up: of whoever writes too much first.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bot.model.inbound import Stored
from bot.ports.store import Unfinished
from policy.decision import Decision
from policy.event import Event, Kind

MOST_OF_ONE = 50
MOST_OF_A_LANE = 250
MOST = 1000
"""Events that wait for keys: of one sender in a lane, in a lane, in all."""
LOOK_S = 1.0
Over = Callable[[Event], bool]
_SHARE = 16  # of the time that it has waited, until the next look


@dataclass(kw_only=True, slots=True)
class Wait:
    """One event that waits.

    Attributes:
        row: as it is to be judged, or taken up again.
        event: as it could be read so far.
        since_s: when it began, by the clock that only grows.
        due_s: when it is to be looked at again.
    """

    row: Unfinished
    event: Event
    decision: Decision
    since_s: float
    due_s: float

    @property
    def blind(self) -> bool:
        """Whether it waits for the bot's identity; these are never given up."""
        return not self.event.identity_known


class Waits:
    """All that wait, by lane, in their order."""

    def __init__(self) -> None:
        self._lanes: dict[str, list[Wait]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._lanes.values()))

    def due(self, now_s: float) -> list[str]:
        """The lanes in which something is to be looked at."""
        return [
            lane for lane, waiting in self._lanes.items() if any(one.blind or one.due_s <= now_s for one in waiting)
        ]

    def add(self, row: Unfinished, event: Event, decision: Decision, *, now_s: float) -> list[Wait]:
        """One more; returns those that are given up for it."""
        waiting = self._lanes.setdefault(row.stored.arrival.lane, [])
        one = Wait(row=row, event=event, decision=decision, since_s=now_s, due_s=now_s + LOOK_S)
        waiting.append(one)
        over = None if one.blind else self._over(waiting, event.sender)
        return [] if over is None else self._gone(over, {over[0].row.stored.id})

    def take(
        self, lane: str, read: Callable[[Stored], Event], over: Over, *, now_s: float, keys: bool
    ) -> list[Unfinished]:
        """Those of a lane that can be judged by now, in their order; they wait no more.

        Args:
            lane: which.
            read: an event as it can be read now.
            over: whether its time is over, so that it is judged without its key.
            now_s: by the clock that only grows.
            keys: look for keys too, not only for the identity.
        """

        def ripe(one: Wait) -> bool:
            event = read(one.row.stored)
            return event.identity_known and (event.kind is not Kind.UNDECRYPTABLE or over(event))

        waiting = self._lanes.get(lane, [])
        blind = [one for one in waiting if one.blind]
        ready: set[int] = set()
        if blind and read(blind[0].row.stored).identity_known:  # what is known for one is known for all
            ready = {one.row.stored.id for one in blind}
        if keys:
            ready |= self._readable(_keyed(waiting), ripe, now_s)
        return [one.row for one in self._gone(waiting, ready)]

    def withdraw(self, lane: str, rows: Sequence[int]) -> list[int]:
        """Those of these rows that wait in a lane wait no more; returns them."""
        return [one.row.stored.id for one in self._gone(self._lanes.get(lane, []), set(rows))]

    def _readable(self, waiting: Sequence[Wait], ripe: Callable[[Wait], bool], now_s: float) -> set[int]:
        """Looks at those that are due, and where one can be read at all: a key seldom opens one event alone."""
        ready: set[int] = set()
        looked: set[int] = set()
        for one in waiting:
            if one.due_s <= now_s:
                looked.add(one.row.stored.id)
                one.due_s = now_s + max(LOOK_S, (now_s - one.since_s) / _SHARE)
                if ripe(one):
                    ready.add(one.row.stored.id)
        if ready:
            ready |= {one.row.stored.id for one in waiting if one.row.stored.id not in looked and ripe(one)}
        return ready

    def _over(self, waiting: list[Wait], sender: str | None) -> list[Wait] | None:
        """Of whom one is too many: events of one lane, of which the first is to go."""
        keyed = _keyed(waiting)
        own = [one for one in keyed if one.event.sender == sender]
        if len(own) > MOST_OF_ONE:
            return own
        if len(keyed) > MOST_OF_A_LANE:
            return keyed
        if len(self) > MOST:
            return max(map(_keyed, self._lanes.values()), key=len)
        return None

    def _gone(self, among: Sequence[Wait], rows: set[int]) -> list[Wait]:
        """Take these out of their lane."""
        gone = [one for one in among if one.row.stored.id in rows]
        for lane in {one.row.stored.arrival.lane for one in gone}:
            rest = [one for one in self._lanes[lane] if one.row.stored.id not in rows]
            if rest:
                self._lanes[lane] = rest
            else:
                del self._lanes[lane]
        return gone


def _keyed(waiting: Sequence[Wait]) -> list[Wait]:
    return [one for one in waiting if not one.blind]
