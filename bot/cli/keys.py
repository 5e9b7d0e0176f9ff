"""``discreet keys`` (AGENT-1)."""

import json
from collections.abc import Sequence
from pathlib import Path

from bot.cli import terminal
from bot.cli.serving import read_config
from bot.config.credentials import Credential, Scope
from bot.config.errors import ConfigError

_ANY = "any"


def add(
    path: Path, name: str, *, scopes: Sequence[str], principals: Sequence[str], destinations: Sequence[str]
) -> None:
    """Make a key and print it, this once."""
    config = read_config(path)

    from bot.wiring.keys import add_key

    made, key = add_key(
        config,
        name,
        scopes=[Scope(scope) for scope in scopes],
        principals=principals,
        destinations=destinations,
    )
    print(key.reveal())
    terminal.note(f"The key {made.id} of {name}, for {', '.join(sorted(made.scopes))}. It is shown this once.")
    terminal.note(f"A running gateway takes it at once. discreet keys revoke {made.id} takes it away.")
    if not config.api.enabled:
        terminal.warn("the interface for agents is off. Switch it on in config.yaml: api: {enabled: true}")


def revoke(path: Path, key_id: str) -> None:
    """Take a key away.

    Raises:
        ConfigError: there is none with this id.
    """
    config = read_config(path)

    from bot.wiring.keys import revoke_key

    if revoke_key(config, key_id.strip().lower()) is None:
        raise ConfigError(f"there is no key {terminal.clean(key_id)!r} to take away. discreet keys list shows them")
    terminal.good("revoked")


def rotate(path: Path) -> None:
    """Sign answers of A2H with a new key; prints its id."""
    config = read_config(path)

    from bot.wiring.keys import rotate_signing_key

    print(rotate_signing_key(config))
    terminal.note("Answers are signed with this key from now on. Earlier ones can still be checked.")


def list_keys(path: Path, *, as_json: bool) -> None:
    """Print the keys, never what they are."""
    config = read_config(path)

    from bot.wiring.keys import list_keys as listed

    keys = listed(config)
    if as_json:
        for one in keys:
            print(json.dumps(_facts(one), ensure_ascii=False))
        return
    if keys:
        rows = [
            (
                one.id,
                one.name,
                ", ".join(sorted(one.scopes)),
                _limit(one.principals),
                _limit(one.destinations),
                "-" if one.made_at is None else f"{one.made_at:%Y-%m-%d %H:%M}",
            )
            for one in keys
        ]
        terminal.table(("id", "name", "scopes", "people", "destinations", "made (UTC)"), rows)
    else:
        terminal.say("There are no keys yet. discreet keys add AGENT makes one.")
    fixed = len(config.api.keys) + len(config.api.dispatchers)
    if fixed:
        terminal.say(f"Beside these the configuration names files with keys: {fixed}.")


def _limit(names: frozenset[str] | None) -> str:
    return _ANY if names is None else ", ".join(sorted(names))


def _facts(one: Credential) -> dict[str, object]:
    return {
        "id": one.id,
        "name": one.name,
        "scopes": sorted(one.scopes),
        "principals": None if one.principals is None else sorted(one.principals),
        "destinations": None if one.destinations is None else sorted(one.destinations),
        "made_at": None if one.made_at is None else one.made_at.isoformat(),
    }
