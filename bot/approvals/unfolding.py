"""What did not fit into a card, once it has arrived: then, and not before, it can be approved there (APPR-2)."""

import asyncio

from bot.model.errors import StoreError
from bot.observability.log import get_logger
from bot.ports.approvals import Approvals, ApprovalStore, Role, Standing

log = get_logger(__name__)


class Unfolding:
    """Hears that parts have arrived."""

    def __init__(self, room: Approvals, *, store: ApprovalStore) -> None:
        """Args: store: tells what a part is."""
        self._room = room
        self._store = store
        self._busy: set[asyncio.Task[None]] = set()

    def delivered(self, part_id: int) -> None:
        """A part of the outbox has arrived."""
        task = asyncio.create_task(self._arrived(part_id), name="unfolding")
        self._busy.add(task)
        task.add_done_callback(self._busy.discard)

    async def idle(self) -> None:
        """Return when everything that has arrived so far is noted."""
        while self._busy:
            await asyncio.gather(*self._busy, return_exceptions=True)

    async def _arrived(self, part_id: int) -> None:
        try:
            shown = await self._store.role_of(part_id)
            if shown is None or shown[0] != Role.FULL:
                return
            found = await self._store.of_part(part_id)
            if found is not None and found[1] is not None:
                await self.unfold(found[1])
        except StoreError as error:  # the next tap finds that it has arrived
            log.error("card_not_unfolded", error=type(error).__name__)

    async def unfold(self, full: Standing) -> None:
        """Everything of a version is there; where that is the version that stands, it can be approved."""
        await self._room.unfold(full.approval.id, full.version, full.destination)
