"""The record as it stands now: what the policy, files and addresses say, together (AUTO-8).

INVARIANT: an id that stands in two sources is in neither: nobody could say which of the two an answer rests on.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence

from bot.observability.log import get_logger
from bot.record.sources import Change, Source
from policy.record import Entry

log = get_logger(__name__)
Tell = Callable[[Change], Awaitable[None]]
POLICY = "policy"


class Record:
    """The authorised record.

    Args:
        policy: gives the entries of the policy in force.
        sources: further ones.
    """

    def __init__(self, policy: Callable[[], Mapping[str, Entry]], sources: Sequence[Source] = ()) -> None:
        self._policy = policy
        self.sources = tuple(sources)

    def entries(self) -> Mapping[str, Entry]:
        """See :class:`bot.ports.record.AuthorisedRecord`."""
        if not self.sources:
            return self._policy()
        twice = self.twice()
        found = {**self._policy()}
        for source in self.sources:
            found.update(source.entries)
        return {name: entry for name, entry in found.items() if name not in twice}

    def twice(self) -> frozenset[str]:
        """Ids that stand in more than one source."""
        counts = Counter(name for _, entries in self.by_source() for name in entries)
        return frozenset(name for name, count in counts.items() if count > 1)

    def by_source(self) -> list[tuple[str, Mapping[str, Entry]]]:
        """What each says, by its name; the policy first."""
        return [(POLICY, self._policy()), *((source.name, source.entries) for source in self.sources)]

    async def read(self) -> list[Change]:
        """Look at every source once; what each has to tell."""
        changes = await asyncio.gather(*(source.look() for source in self.sources))
        return [change for change in changes if change is not None]

    async def watch(self, tell: Tell) -> None:
        """Follow the sources until cancelled; ``tell`` hears of each change."""
        async with asyncio.TaskGroup() as group:
            for source in self.sources:
                group.create_task(self._follow(source, tell), name="record")

    async def close(self) -> None:
        """Let go of the sources."""
        for source in self.sources:
            await source.close()

    async def _follow(self, source: Source, tell: Tell) -> None:
        while True:
            try:
                change = await source.look()
                if change is not None:
                    await tell(change)
            except Exception as error:  # noqa: BLE001 - one that breaks is no reason to follow it no more
                log.error("record_source_failed", error=type(error).__name__)
            await asyncio.sleep(source.every_s)
