"""The daemon as a process of its own, with a bot on a real homeserver."""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

from tests.faults.books import Books
from tests.faults.process import STARTS_S, Daemon
from tests.servers.synapse import Synapse, until


def configuration(*, url: str, user_id: str) -> str:
    """The daemon's file; its limits are out of the way, and its agent echoes."""
    return f"""
matrix:
  - user_id: "{user_id}"
    homeserver: "{url}"
    password_file: matrix.password
    limits: {{per_room_per_s: 10000, total_per_s: 10000}}
agents:
  main: {{kind: echo}}
metrics: {{enabled: false}}
log: {{level: debug, format: json}}
"""


class MatrixProcess(Daemon):
    """A daemon with a bot on a homeserver."""

    def __init__(self, folder: Path, synapse: Synapse, *, url: str, user_id: str, password: str, policy: str) -> None:
        self._synapse, self._user_id = synapse, user_id
        files = {
            "config.yaml": configuration(url=url, user_id=user_id),
            "policy.yaml": policy,
            "matrix.password": password,
        }
        super().__init__(folder, files)

    async def start(self) -> None:
        """Start it and wait until it has asked for events and been answered."""
        before = await self._synapse.syncs(self._user_id)
        await self.spawn()

        async def more() -> bool:
            assert self.running, "it has ended by itself"
            return await self._synapse.syncs(self._user_id) > before

        await until(more, within_s=STARTS_S)

    async def settled(self, events: Iterable[str], *, within_s: float = 60.0) -> None:
        """All these events are taken, judged, answered and sent."""

        def taken(books: Books) -> bool:
            return set(events) <= set(books.entries())

        await self.until(taken, within_s=within_s)
        await self.idle(within_s=within_s)


@asynccontextmanager
async def matrix_daemon(folder: Path, synapse: Synapse, **options: str) -> AsyncIterator[MatrixProcess]:
    """A daemon that is not started yet; whatever of it runs at the end is killed."""
    folder.mkdir(exist_ok=True)
    process = MatrixProcess(folder, synapse, **options)
    try:
        yield process
    finally:
        if process.running:
            await process.kill()
