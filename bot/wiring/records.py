"""The store and the running daemon, as the command line looks at them."""

from collections.abc import Awaitable, Callable, Coroutine, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bot.config.settings import Config
from bot.model.errors import ConfigError
from bot.storage.store import Store, StoreReader

if TYPE_CHECKING:
    from bot.channels.web.channel import WebChat

STORE = "discreet.db"
CONTROL = "control.sock"
LINK_KEY = "links.key"
Service = Callable[[], Coroutine[Any, Any, None]]
Verb = Callable[..., Awaitable[str]]
"""What a command on this machine asks of a running daemon (see :mod:`bot.api.control`)."""


def open_reader(config: Config) -> Awaitable[StoreReader]:
    """Open the store of a configuration to look at it, also while its daemon runs."""
    return Store.open_reader(config.data_dir / STORE)


async def create_invite(config: Config, person: str) -> str:
    """Ask the running daemon for a one-time link into the built-in chat.

    Raises:
        ConfigError: the chat is off, no daemon runs, or it refused; the text says the mend.
    """
    from bot.api.control import ask

    if not config.chat.enabled:
        raise ConfigError("the built-in chat is off. Switch it on in config.yaml (chat: {enabled: true}) and restart")
    return await ask(config.data_dir / CONTROL, "invite", person=person)


def control_socket(
    path: Path, chat: "WebChat | None", members: Mapping[str, str], further: Mapping[str, Verb]
) -> Service:
    """What the command line asks of a running daemon.

    Args:
        path: of the socket.
        chat: None: people can't be invited.
        members: ids in the chat by ids in the policy.
        further: what else can be asked, looked at when the socket opens.
    """
    from bot.api.control import serve

    async def invite(person: str) -> str:
        if chat is None or person not in members:
            raise ConfigError(
                f"{person!r} has no account in the chat. Add web:NAME to their accounts in the policy, and restart"
            )
        return await chat.invite(members[person])

    verbs: dict[str, Verb] = {} if chat is None else {"invite": invite}
    return lambda: serve(path, {**verbs, **further})
