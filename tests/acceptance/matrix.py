"""A desk on a real homeserver: its people, its rooms, its policy, and what the server saw of the bot."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bot.channels.matrix.limits import Limits
from tests.faults.books import Books, Entry
from tests.matrix_harness import running_matrix
from tests.servers.matrix_person import People, Person
from tests.servers.synapse import Call, Synapse, until

SHOWS = frozenset({"send", "redact", "state", "typing", "receipt", "read_markers", "join", "leave", "invite", "upload"})
"""What people could notice."""
LOOKS = frozenset({"download", "thumbnail", "preview_url", "messages", "context", "relations", "event", "profile"})
"""What is only looked up for a request."""
EXTERNAL, INTERNAL = "{audience: external}", "{audience: internal}"


@dataclass
class Desk:
    """One bot account with its rooms.

    Attributes:
        folder: of the bot's store and policy.
        people: make further ones with it.
        ann: an operator. bob: a listed person.
        rooms: what the policy says of each, by id.
        further: what else the policy says.
    """

    synapse: Synapse
    folder: Path
    people: People
    bot: str
    password: str
    ann: Person
    bob: Person
    rooms: dict[str, str] = field(default_factory=dict)
    further: str = ""

    # before it runs

    async def room(self, *members: Person, policy: str | None = EXTERNAL, bot: bool = True, **options: Any) -> str:
        """A room of these people, made by the first; with the bot in it, and listed, unless told otherwise."""
        owner, *others = members
        room = await owner.room(*(other.id for other in others), *([self.bot] if bot else []), **options)
        for other in others:
            await other.join(room)
        if bot:
            await self.synapse.act(self.bot, "POST", f"join/{room}", {})
        if policy is not None:
            self.rooms[room] = policy
        return room

    def place(self, room: str) -> str:
        """The room as the policy calls it."""
        return f"matrix:{self.bot}:{room}"

    def policy(self) -> str:
        """The policy as it stands now."""
        channels = [f'  "{self.place(room)}": {settings}' for room, settings in self.rooms.items()]
        return "\n".join(
            [
                "version: 1",
                "commands: [status, help]",
                "operators: [ann]",
                "people:",
                f'  ann: {{accounts: ["matrix:{self.ann.id}"], names: [Ann]}}',
                f'  bob: {{accounts: ["matrix:{self.bob.id}"], names: [Bob, Jordan]}}',
                "direct: {strangers: allow}",
                "defaults:",
                "  burst: {quiet: 1s, longest: 5s}",
                *(["channels:", *channels] if channels else []),
                self.further,
                "",
            ],
        )

    def running(self, *, server_url: str | None = None, **options: Any) -> AbstractAsyncContextManager[Any]:
        """The gateway, on the store of this desk."""
        return running_matrix(
            self.folder,
            server_url=server_url or self.synapse.url,
            user_id=self.bot,
            password=self.password,
            policy=self.policy(),
            **{"limits": Limits(room=None, total=None), **options},
        )

    # while it runs

    def reload(self, gateway: Any) -> None:
        """Put the policy in force as it stands now."""
        (self.folder / "policy.yaml").write_text(self.policy())
        gateway.daemon.crew.policy.poke()

    def entry(self, event: str) -> Entry | None:
        """What the store holds of an event."""
        return Books(self.folder / "discreet.db").entries().get(event)

    async def judged(self, event: str, true: Callable[[Entry], Any] = lambda _: True) -> Entry:
        """Wait until an event has its decision."""

        async def look() -> Entry | None:
            entry = self.entry(event)
            return entry if entry is not None and entry.outcome is not None and true(entry) else None

        found: Entry = await until(look)
        return found

    async def over(self, gateway: Any, event: str) -> Entry:
        """Wait until an event has come to its end, and everything that it led to has left."""
        entry = await self.judged(event, lambda entry: entry.state == "done")
        await gateway.settled()
        return entry

    async def reason(self, gateway: Any, event: str) -> str | None:
        """The same; returns the reason of its decision."""
        return (await self.over(gateway, event)).reason

    async def calls(self, *among: frozenset[str]) -> list[Call]:
        """What the bot asked of the server that people could notice, or that is only looked up for a request."""
        verbs = frozenset[str]().union(*(among or (SHOWS, LOOKS)))
        return [
            call
            for call in await self.synapse.calls(self.bot)
            if call.verb in verbs and (call.method != "GET" or call.verb in LOOKS)
        ]

    async def assert_silent(self, gateway: Any) -> None:
        """The server was asked for nothing but what keeps a client going; nothing ran and nothing was fetched."""
        assert await self.calls() == []
        assert gateway.agent.requests == []
        assert gateway.agent.files == []

    async def membership(self, room: str, witness: Person) -> str:
        """Of the bot, as the server has it."""
        state = await self.synapse.act(witness.id, "GET", f"rooms/{room}/state/m.room.member/{self.bot}")
        return str(state["membership"])

    async def becomes(self, room: str, witness: Person, membership: str) -> None:
        """Wait until the bot is, or is no more, in a room."""

        async def look() -> bool:
            return await self.membership(room, witness) == membership

        await until(look)

    async def ready(self, room: str, *members: Person) -> None:
        """Everybody sees the bot in the room; in an encrypted one with its keys."""
        await asyncio.gather(*(member.member(room, self.bot) for member in members))
