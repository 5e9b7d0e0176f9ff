"""Passkeys, as the command line asks about them."""

from collections.abc import Sequence

from bot.approvals.passkeys import Passkeys, short
from bot.config.settings import Config
from bot.model.errors import ConfigError
from bot.ports.approvals import Passkey
from bot.wiring.records import CONTROL, STORE, Verb

INVITE = "passkey_invite"
REVOKE = "passkey_revoke"


def passkey_verbs(passkeys: Passkeys) -> dict[str, Verb]:
    """What the command line asks about passkeys of a running daemon."""

    async def invite(*, person: str) -> str:
        return await passkeys.invite(person)

    async def revoke(*, passkey: str) -> str:
        return "yes" if await passkeys.revoke(passkey) else ""

    return {INVITE: invite, REVOKE: revoke}


async def invite_passkey(config: Config, person: str) -> str:
    """Ask the running daemon for the one-time link under which an operator adds a passkey.

    Raises:
        ConfigError: no daemon runs, or it refused; the text says the mend.
    """
    from bot.api.control import ask

    return await ask(config.data_dir / CONTROL, INVITE, person=person)


async def revoke_passkey(config: Config, passkey_id: str) -> bool:
    """Take a passkey away, by the running daemon, else in its store; whether there was one.

    Raises:
        ConfigError: the daemon refused.
        StoreError: no daemon answers, and the store can't be had.
    """
    from bot.api.control import answers, ask
    from bot.storage.store import Store
    from bot.wiring.clock import utc_now

    socket = config.data_dir / CONTROL
    if await answers(socket):
        return bool(await ask(socket, REVOKE, passkey=passkey_id))
    store = await Store.open(config.data_dir / STORE)
    try:
        return await store.passkeys.revoke(passkey_id, now=utc_now())
    finally:
        await store.close()


def which(passkeys: Sequence[Passkey], beginning: str) -> Passkey:
    """The passkey whose short name begins so.

    Raises:
        ConfigError: none does, or several.
    """
    found = [one for one in passkeys if short(one.id).startswith(beginning.lower())] if beginning else []
    if len(found) == 1:
        return found[0]
    if found:
        raise ConfigError(f"{len(found)} passkeys begin with {beginning!r}. Give more of it")
    raise ConfigError(f"no passkey begins with {beginning!r}. discreet passkeys list shows them")
