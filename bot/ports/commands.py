"""What the room of commands needs: a store, a way to endpoints, somebody to ask and somebody to tell.

What protocols of agents call is at the end: :class:`DesksFor` gives the desk of a request that an agent works on, and
:class:`CommandDesk` lists and runs. :mod:`bot.commands.documents` says both in JSON.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from bot.config.commands import Endpoint
from bot.model.command import Offered, Ran, RunState
from bot.model.question import Asking, Question
from policy.destination import Destination


@dataclass(frozen=True, kw_only=True, slots=True)
class NewRun:
    """A run as it is noted. Attributes: content: what was asked for; only a salted digest of it is kept (CMD-5)."""

    id: str
    event_id: int
    agent: str
    command: str
    content: bytes = field(repr=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class KnownRun:
    """A run as it stands. Attributes: same: it was asked for with the same content. codes: of a refusal."""

    id: str
    state: RunState
    codes: tuple[str, ...] = ()
    same: bool = True


@dataclass(frozen=True, kw_only=True, slots=True)
class Kept:
    """What stands in a slot (CMD-6). Attributes: command: that has kept it."""

    slot: str
    command: str
    value: str = field(repr=False)


class CommandStore(Protocol):
    """Where runs and slots are kept. Every write is durable when it returns, with its record in the journal."""

    async def known(self, run: NewRun) -> KnownRun | None:
        """A run that was asked for before."""
        ...

    async def begin(self, run: NewRun, *, now: datetime) -> bool:
        """Note that a run begins, before anything is done; False: it has begun before."""
        ...

    async def settle(
        self,
        run: NewRun,
        state: RunState,
        *,
        now: datetime,
        codes: tuple[str, ...] = (),
        keep: Kept | None = None,
        root_id: int = 0,
    ) -> None:
        """Note the end of a run, whether its beginning was noted or not; ``keep`` goes into its slot with it."""
        ...

    async def deny(self, run: NewRun, code: str, *, now: datetime) -> None:
        """Note in the journal that nothing was run, because the tool itself has refused."""
        ...

    async def lost(self, *, started_before: datetime, now: datetime) -> list[str]:
        """Runs that an earlier process has begun and not ended are unknown from now on; their ids."""
        ...

    async def kept(self, root_id: int) -> dict[str, Kept]:
        """What stands in the slots of an interaction, by slot."""
        ...

    async def forget(self, root_id: int) -> None:
        """The run has ended: if no interaction goes on from its request, its slots end (CMD-6)."""
        ...

    async def sweep(self, *, now: datetime, contents_before: datetime) -> int:
        """Forget slots whose end was missed, and runs that ended long enough ago."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Answered:
    """What an endpoint has answered. Attributes: body: bounded."""

    status: int
    body: bytes = field(repr=False)


class Endpoints(Protocol):
    """The way to endpoints of the configuration."""

    async def call(self, endpoint: Endpoint, message_id: str, body: bytes, *, timeout_s: float) -> Answered:
        """Post a signed request, once.

        Raises:
            AgentError: nobody can tell what became of it.
        """
        ...


Ask = Callable[[Asking], Awaitable[Question]]
"""Asks a question where the request was made."""


class Tell(Protocol):
    """Tells operators on verified internal channels."""

    async def __call__(self, say: Callable[[str], str], /, *, about: str, place: str | None = None) -> int:
        """Tell them; returns how many channels were told.

        Args:
            say: the words in a language.
            about: what kind of report it is.
            place: that has brought it about, and may do so a few times a minute; None: without limit.
        """
        ...


class CommandDesk(Protocol):
    """The desk of a run as protocols of agents use it (see :class:`bot.runtime.desk.RequestDesk`)."""

    def list_commands(self) -> tuple[Offered, ...]:
        """What may be run."""
        ...

    async def start_command(
        self, name: str, object_id: str | None = None, *, words: str | None = None, key: str | None = None
    ) -> Ran:
        """Run one; what an action opens (a form) is answered later, and the id of the question is in what this returns.

        Args:
            name: of the command.
            object_id: the one object (CMD-2).
            words: the agent's own, for commands that take some.
            key: the same call made again has the same; None: counted within the run.

        Raises:
            CommandError: the tool itself refuses; nothing was run (CMD-4).
        """
        ...


class DesksFor(Protocol):
    """Knows the runs of agents (see :class:`bot.runtime.worker.Worker`)."""

    def desk_for(self, request_id: str, agent: str) -> CommandDesk:
        """The desk of an agent that works on a request.

        Raises:
            AskError: it works on no such request.
        """
        ...

    def place_of(self, request_id: str, agent: str) -> tuple[Destination, str | None] | None:
        """Where a request was made on which an agent works, and by whom; None: there is none."""
        ...
