"""Keys of agents and dispatchers: made, listed and taken away, also beside a running daemon (AGENT-1)."""

from collections.abc import Collection

from bot.config.credentials import FILE, OF_AGENTS, Credential, Credentials, KeyRing, Scope
from bot.config.errors import ConfigError
from bot.config.file import make_data_dir
from bot.config.secret import Secret
from bot.config.settings import Config
from bot.wiring.clock import utc_now
from policy.destination import MalformedDestinationError, parse_destination


def key_ring(config: Config) -> KeyRing:
    """All keys that hold: of the configuration, and made by ``discreet keys``."""
    return KeyRing(
        agents=config.api.keys,
        dispatchers=config.api.dispatchers,
        known=tuple(config.agents),
        credentials=Credentials(config.data_dir / FILE),
    )


def add_key(
    config: Config,
    name: str,
    *,
    scopes: Collection[Scope],
    principals: Collection[str],
    destinations: Collection[str],
) -> tuple[Credential, Secret]:
    """Make a key.

    Args:
        config: names the agents and the data folder.
        name: of the agent; of a dispatcher, with its scope alone.
        scopes: none: all that an agent can have.
        principals: ids of people to whom it is limited; none: no limit.
        destinations: places to which it is limited; none: no limit.

    Raises:
        ConfigError: it can't be made; the text says the mend.
    """
    wanted = frozenset(scopes) or OF_AGENTS
    if Scope.DISPATCH in wanted:
        if len(wanted) > 1:
            raise ConfigError("who writes can't be who lets write: dispatch goes with no other scope. Make two keys")
        if principals:
            raise ConfigError("a dispatcher addresses nobody. Limit its key by destinations")
    elif name not in config.agents:
        known = ", ".join(sorted(config.agents))
        raise ConfigError(f"no agent of the configuration has this name. Known are {known}")
    _check_people(config, principals)
    for written in destinations:
        try:
            parse_destination(written)
        except MalformedDestinationError as error:
            raise ConfigError(f"a destination is not complete: {error}. discreet channels shows them") from None
    make_data_dir(config.data_dir)
    return Credentials(config.data_dir / FILE).add(
        name,
        scopes=wanted,
        principals=principals or None,
        destinations=destinations or None,
        now=utc_now(),
    )


def list_keys(config: Config) -> tuple[Credential, ...]:
    """Those that ``discreet keys add`` has made.

    Raises:
        ConfigError: their file can't be taken.
    """
    return Credentials(config.data_dir / FILE).check()


def revoke_key(config: Config, key_id: str) -> Credential | None:
    """Take a key away; None: there is none with this id.

    Raises:
        ConfigError: their file can't be changed.
    """
    return Credentials(config.data_dir / FILE).revoke(key_id) if config.data_dir.is_dir() else None


def rotate_signing_key(config: Config) -> str:
    """Sign answers of A2H with a new key; returns its id.

    Raises:
        ConfigError: it can't be kept.
    """
    from bot.api.a2h.signing import FILE as SIGNING
    from bot.api.a2h.signing import Signer

    make_data_dir(config.data_dir)
    return Signer(config.data_dir / SIGNING).rotate()


def _check_people(config: Config, principals: Collection[str]) -> None:
    if not principals:
        return
    import os

    from policy.document import load

    try:
        policy = load(config.policy.read_text("utf-8"), source=str(config.policy), environment=os.environ)
    except (OSError, UnicodeDecodeError):
        raise ConfigError(f"the policy {config.policy} can't be read, and people are named in it") from None
    known = {person.id for person in policy.people.values()}
    unknown = sorted(set(principals) - known)
    if unknown:
        raise ConfigError(f"{unknown[0]!r} is nobody's id in the policy. Known are {', '.join(sorted(known))}")
