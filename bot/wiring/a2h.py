"""The face of A2H (AGENT-1)."""

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

from bot.config.settings import Api
from bot.wiring.clock import utc_now

if TYPE_CHECKING:
    from bot.api.a2h.desk import IntentDesk
    from bot.api.a2h.site import A2hApi
    from bot.wiring.questions import Rooms


def a2h(
    rooms: "Rooms", settings: Api, *, data_dir: Path, platforms: Collection[str], passkeys: bool
) -> "tuple[A2hApi, IntentDesk]":
    """Its routes, and what goes on by itself.

    Args:
        rooms: where people are asked.
        settings: of the interface.
        data_dir: where the keys are with which answers are signed.
        platforms: on which there are bots.
        passkeys: whether there are pages that want one.
    """
    from bot.api.a2h.admitting import Names
    from bot.api.a2h.desk import IntentDesk
    from bot.api.a2h.signing import FILE, Signer
    from bot.api.a2h.site import A2hApi
    from bot.api.a2h.standing import KIND

    signer = Signer(data_dir / FILE)
    desk = IntentDesk(
        store=rooms.intents,
        questions=rooms.questions,
        approvals=rooms.approvals,
        schedule=rooms.schedule,
        policy=rooms.policy,
        callbacks=rooms.callbacks,
        signer=signer,
        names=Names(
            agents=settings.agent_ids,
            profiles=settings.profiles,
            passkeys=passkeys,
            chat_for=settings.chat_for,
            may_lack=settings.may_lack,
        ),
        clock=utc_now,
    )
    rooms.callbacks.take(KIND, desk.teller())
    site = A2hApi(
        desk,
        signer,
        policy=rooms.policy,
        platforms=platforms,
        public_url=settings.public_url,
        webhooks=bool(settings.callbacks),
        keyless_agent=settings.keyless_agent,
        published_keys=settings.published_keys,
    )
    return site, desk
