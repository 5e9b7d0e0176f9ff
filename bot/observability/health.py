"""How the parts of the daemon are (OPS-4): what /healthz and /readyz answer, and what feeds systemd's watchdog."""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # aiohttp is heavy and needed only where a server runs
    from aiohttp import web


class Level(StrEnum):
    """How one component is."""

    STARTING = "starting"
    OK = "ok"
    DEGRADED = "degraded"  # works, with something that an admin should see to
    FAILED = "failed"  # does not work, and will not by itself


@dataclass(frozen=True, kw_only=True, slots=True)
class State:
    """How one component is, with words for the admin: bounded, without secrets and without ids of channels."""

    level: Level
    words: str = ""


class Health:
    """Holds the state of each component."""

    def __init__(self, components: Iterable[str] = ()) -> None:
        """Args: components: what has to come up before the daemon is ready."""
        self._states: dict[str, State] = {name: State(level=Level.STARTING) for name in components}

    def set(self, component: str, level: Level, words: str = "") -> bool:
        """Note how a component is now; True where that is news."""
        state = State(level=level, words=words)
        if self._states.get(component) == state:
            return False
        self._states[component] = state
        return True

    def states(self) -> dict[str, State]:
        """All components, by name."""
        return dict(self._states)

    @property
    def alive(self) -> bool:
        """Whether a restart is not called for: nothing has failed for good."""
        return all(state.level is not Level.FAILED for state in self._states.values())

    @property
    def ready(self) -> bool:
        """Whether everything is up; what is degraded still serves."""
        return all(state.level in (Level.OK, Level.DEGRADED) for state in self._states.values())

    def report(self) -> dict[str, object]:
        """Everything as JSON values."""
        parts = {
            name: {"state": state.level.value, "words": state.words} for name, state in sorted(self._states.items())
        }
        return {"alive": self.alive, "ready": self.ready, "components": parts}


Answer = Callable[["web.Request"], Awaitable["web.Response"]]


def answers(health: Health) -> dict[str, Answer]:
    """Handlers by path: ``/healthz``, ``/readyz`` and ``/metrics``."""
    from aiohttp import web

    async def healthz(_: web.Request) -> web.Response:
        return web.json_response(health.report(), status=200 if health.alive else 503)

    async def readyz(_: web.Request) -> web.Response:
        return web.json_response(health.report(), status=200 if health.ready else 503)

    async def metrics(_: web.Request) -> web.Response:
        from bot.observability.metrics import render

        body, media_type = render()
        return web.Response(body=body, headers={"Content-Type": media_type})

    return {"/healthz": healthz, "/readyz": readyz, "/metrics": metrics}
