"""What operators hear of the sources of the authorised record (AUTO-8, OUT-8)."""

from typing import assert_never

from bot.observability.health import Health, Level
from bot.observability.log import get_logger
from bot.record.room import Record
from bot.record.sources import Away, Back, Change, Refused, Taken
from bot.runtime.reports import Reports
from bot.texts.codes import Notice

log = get_logger(__name__)


class RecordNews:
    """Tells of changes, each once; see :meth:`bot.record.room.Record.watch`."""

    def __init__(self, record: Record, reports: Reports, health: Health) -> None:
        self._record = record
        self._reports = reports
        self._health = health
        self._trouble: dict[str, str] = {}
        self._twice: frozenset[str] = frozenset()

    async def tell(self, change: Change) -> None:
        """Log it, show it on the health page, and tell operators where something is wrong."""
        match change:
            case Taken(source=source, entries=entries):
                self._trouble.pop(source, None)
                log.info("record_loaded", entries=entries)
            case Back(source=source):
                self._trouble.pop(source, None)
                log.info("record_back")
            case Refused(source=source, places=places):
                self._trouble[source] = "can't be used"
                log.error("record_refused", places=places)
                await self._reports.tell(Notice.RECORD_BROKEN)
            case Away(source=source, why=why):
                self._trouble[source] = why
                log.warning("record_away", why=why)
                await self._reports.tell(Notice.RECORD_AWAY)
            case _:
                assert_never(change)
        twice = self._record.twice()
        if twice - self._twice:
            log.error("record_ids_twice", count=len(twice))
            await self._reports.tell(Notice.RECORD_TWICE, count=len(twice))
        self._twice = twice
        trouble = [*self._trouble.values(), *(["ids stand in two sources"] if twice else [])]
        self._health.set("record", Level.DEGRADED if trouble else Level.OK, "; ".join(sorted(set(trouble))))
