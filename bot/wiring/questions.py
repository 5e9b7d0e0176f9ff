"""What needs the rooms of people: the built-in chat, the pages behind links, and the interface for agents."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bot.approvals.addresses import relying_party
from bot.approvals.passkeys import Passkeys
from bot.approvals.room import ApprovalRoom
from bot.callbacks.room import CallbackRoom
from bot.clarifications.room import ClarificationRoom
from bot.config.credentials import KeyRing
from bot.config.settings import Api, Config
from bot.deliveries.grants import GrantRoom
from bot.deliveries.schedule import Schedule
from bot.ports.intents import IntentStore
from bot.ports.store import State
from bot.questions.room import QuestionRoom
from bot.runtime.worker import Worker
from policy.ruleset import Policy

if TYPE_CHECKING:
    from bot.api.site import ApiPart
    from bot.channels.web.channel import WebChat

Service = Callable[[], Coroutine[Any, Any, None]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Rooms:
    """Where people are asked."""

    questions: QuestionRoom
    approvals: ApprovalRoom
    passkeys: Passkeys
    grants: GrantRoom
    schedule: Schedule
    callbacks: CallbackRoom
    clarifications: ClarificationRoom
    worker: Worker
    policy: Callable[[], Policy]
    intents: IntentStore
    state: State

    def person(self, account: str) -> str | None:
        """Id of a person in the policy in force, by account."""
        found = self.policy().person(account)
        return None if found is None else found.id


Asks = Callable[[Rooms], Service | None]


def answers_in(chat: "WebChat") -> Asks:
    """Cards of the built-in chat can be answered there."""

    def take(rooms: Rooms) -> None:
        chat.take(rooms.questions)

    return take


def pages(config: Config) -> list[Asks]:
    """The pages behind one-time links, where they are switched on."""
    if not config.pages.enabled:
        return []

    def serving(rooms: Rooms) -> Service:
        from bot.channels.web.markdown import render
        from bot.pages.server import serve
        from bot.wiring.clock import utc_now

        settings = config.pages
        return lambda: serve(
            rooms.questions,
            host=settings.listen.host,
            port=settings.listen.port,
            public_url=settings.base_url,
            markup=render,
            clock=utc_now,
            telegram=[bot.token for bot in config.telegram],
            passkeys=rooms.passkeys,
        )

    return [serving]


def interface(config: Config) -> list[Asks]:
    """``/v1/``, where it is switched on."""
    if not config.api.enabled:
        return []

    def serving(rooms: Rooms) -> Service:
        from bot.api.site import serve
        from bot.wiring.a2h import a2h
        from bot.wiring.keys import key_ring
        from bot.wiring.mcp import mcp_site

        settings, ring = config.api, key_ring(config)
        site, desk = a2h(
            rooms,
            settings,
            data_dir=config.data_dir,
            platforms=_platforms(config),
            passkeys=config.pages.enabled and relying_party(config.pages.base_url) is not None,
        )
        mcp = mcp_site()
        parts = (*parts_for_agents(rooms, settings, ring), site, mcp)

        async def service() -> None:
            try:
                async with asyncio.TaskGroup() as group:
                    group.create_task(desk.run(), name="interactions")
                    await serve(parts, host=settings.listen.host, port=settings.listen.port, keys=ring)
            finally:
                await mcp.close()

        return service

    return [serving]


def _platforms(config: Config) -> frozenset[str]:
    bots = {"telegram": config.telegram, "matrix": config.matrix, "web": config.chat.enabled}
    return frozenset(platform for platform, there in bots.items() if there)


def parts_for_agents(rooms: Rooms, settings: Api, ring: KeyRing | None = None) -> Sequence["ApiPart"]:
    """Everything that agents can do over HTTP, and what tells them how it ended."""
    from bot.api.aap.provider import KIND, AapProvider
    from bot.api.approvals import ApprovalsApi
    from bot.api.callbacks import APPROVAL, QUESTION, approval_teller, question_teller
    from bot.api.commands import CommandsApi
    from bot.api.deliveries import DeliveriesApi
    from bot.api.describing import DescriptionApi
    from bot.api.grants import GrantsApi
    from bot.api.interactions import InteractionsApi
    from bot.api.questions import QuestionsApi
    from bot.api.site import Callers
    from bot.wiring.clock import utc_now

    ring = KeyRing(agents=settings.keys, dispatchers=settings.dispatchers) if ring is None else ring
    callbacks = rooms.callbacks
    callbacks.take(APPROVAL, approval_teller(rooms.approvals.look, utc_now))
    callbacks.take(QUESTION, question_teller(rooms.questions, utc_now))
    aap = AapProvider(
        rooms.approvals,
        callbacks,
        rooms.state,
        clock=utc_now,
        claim_within=lambda: rooms.approvals.book.policy().approvals.claim_within,
    )
    callbacks.take(KIND, aap.tell)
    return (
        QuestionsApi(rooms.worker, rooms.questions, clock=utc_now, callbacks=callbacks),
        InteractionsApi(rooms.worker, rooms.clarifications),
        CommandsApi(rooms.worker),
        ApprovalsApi(rooms.worker, rooms.approvals, clock=utc_now, callbacks=callbacks),
        aap,
        DeliveriesApi(rooms.schedule, people=rooms.person),
        GrantsApi(rooms.grants, Callers(ring, dispatchers=True), clock=utc_now),
        DescriptionApi(),
    )
