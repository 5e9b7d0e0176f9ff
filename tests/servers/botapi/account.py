"""The bot's account on the emulated Telegram: what the methods work on."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from tests.servers.botapi.arguments import Arguments
from tests.servers.botapi.faults import FloodControl, FloodLimits
from tests.servers.botapi.texts import Parse
from tests.servers.botapi.updates import UpdateQueue
from tests.servers.botapi.webhook import Webhook
from tests.servers.botapi.world import Tree, World


@dataclass(kw_only=True, slots=True)
class Query:
    """A tap on a button; ``answer`` is what the person was shown, None until then."""

    asked: float
    answer: Tree | None = None


@dataclass(kw_only=True)
class Account:
    """One bot.

    Attributes:
        token: its secret.
        world: what exists around it.
        updates: what waits for it.
        webhook: the address that it set, if any.
        parse: whether TDLib looks at what it sends.
        limits: flood limits, None for none.
        queries: taps by callback query id.
        drafts: text that is being written, by chat and draft id.
        actions: chat actions such as ``typing``, oldest first, with their chat.
        reactions: the bot's own, by chat and message.
        commands: command lists by scope and language, in the order of setting.
        paths: file ids by download path.
    """

    token: str
    world: World
    updates: UpdateQueue
    webhook: Webhook
    parse: Parse = "tdlib"
    limits: FloodLimits | None = None
    flood: FloodControl
    queries: dict[str, Query] = field(default_factory=dict)
    drafts: dict[int, dict[int, Tree]] = field(default_factory=dict)
    actions: list[tuple[int, str]] = field(default_factory=list)
    reactions: dict[tuple[int, int], list[Tree]] = field(default_factory=dict)
    commands: dict[str, list[Tree]] = field(default_factory=dict)
    paths: dict[str, str] = field(default_factory=dict)


Method = Callable[[Account, Arguments], Any]
"""A method that answers at once; those that wait are not among them."""

METHODS: Final[dict[str, Method]] = {}
"""Methods by name in lower case: the Bot API doesn't mind the case."""
NAMES: Final[dict[str, str]] = {
    name.lower(): name
    for name in ("getUpdates", "setWebhook", "deleteWebhook")  # these wait, see Dispatch
}
"""The documented spelling by the name in lower case."""


def method(name: str) -> Callable[[Method], Method]:
    """Register a function as the method ``name``."""

    def register(function: Method) -> Method:
        METHODS[name.lower()] = function
        NAMES[name.lower()] = name
        return function

    return register
