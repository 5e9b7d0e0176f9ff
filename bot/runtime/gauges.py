"""How much waits where, for the metrics (OPS-4)."""

import asyncio

from bot.approvals.room import ApprovalRoom
from bot.deliveries.dispatcher import Dispatcher
from bot.model.errors import StoreError
from bot.observability.log import get_logger
from bot.observability.metrics import approvals_open, journal_length, lanes_open, outbox_unknown, queue_size
from bot.ports.store import Overview
from bot.runtime.gateway import Gateway
from bot.runtime.worker import Worker

log = get_logger(__name__)

MEASURE_EVERY_S = 5.0


async def measure(
    overview: Overview, gateway: Gateway, worker: Worker, dispatcher: Dispatcher, approvals: ApprovalRoom
) -> None:
    """Set the gauges again and again, until cancelled."""
    while True:
        lanes_open("inbound", gateway.open_lanes)
        lanes_open("work", worker.open_lanes)
        lanes_open("outbound", dispatcher.open_lanes)
        queue_size("batches", gateway.open_batches)
        queue_size("work", worker.waiting)
        try:
            load = await overview.load()
            counts = await approvals.counts()
        except StoreError as error:
            log.warning("not_measured", error=type(error).__name__)
        else:
            queue_size("inbox", load.inbox)
            queue_size("outbox", load.outbox)
            outbox_unknown(load.unknown)
            journal_length(load.journal)
            for state, count in counts.items():
                approvals_open(state.value, count)
        await asyncio.sleep(MEASURE_EVERY_S)
