"""Keys of agents and dispatchers: ``discreet keys ...``."""

from typing import Annotated

import typer

from bot.cli.tree.options import DEFAULT_CONFIG, ConfigOption
from bot.config.credentials import Scope

keys_app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Keys with which agents and dispatchers call the gateway.",
    epilog="Example: discreet keys add main",
)


@keys_app.command(
    "add",
    short_help="Make a key; it is shown once.",
    epilog="\b\nExamples:\n  discreet keys add main\n"
    "  discreet keys add main --scope ask --scope propose --principal ann\n"
    "  discreet keys add nightly --scope dispatch --destination telegram:7001:-1001234567890:42",
)
def add_key(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Of the agent in the configuration; or of a dispatcher.")],
    scopes: Annotated[
        list[Scope] | None,
        typer.Option("--scope", "-s", help="What it is for; again for more. Default: all but dispatch."),
    ] = None,
    principals: Annotated[
        list[str] | None, typer.Option("--principal", help="Only for this person (id in the policy); again for more.")
    ] = None,
    destinations: Annotated[
        list[str] | None,
        typer.Option("--destination", "-d", help="Only there, threads included; again for more."),
    ] = None,
    config: ConfigOption = DEFAULT_CONFIG,
) -> None:
    """Make a key and print it, this once: it is kept as a digest. A running gateway takes it at once.

    An agent can have several, so that a new one can take the place of an old one. No key lets an agent decide or grant.
    """
    from bot.cli.keys import add

    add(config, name, scopes=scopes or (), principals=principals or (), destinations=destinations or ())


@keys_app.command(
    "list",
    short_help="Show whose keys there are, and what for.",
    epilog="\b\nExamples:\n  discreet keys list\n  discreet keys list --json",
)
def list_keys(
    config: ConfigOption = DEFAULT_CONFIG,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line.")] = False,
) -> None:
    """Show the keys that discreet keys add has made: whose they are and what they are for, never what they are."""
    from bot.cli.keys import list_keys as show

    show(config, as_json=as_json)


@keys_app.command("revoke", short_help="Take a key away.", epilog="Example: discreet keys revoke 1f0c9a3e")
def revoke_key(
    key: Annotated[str, typer.Argument(metavar="ID", help="Id of the key, as discreet keys list shows it.")],
    config: ConfigOption = DEFAULT_CONFIG,
) -> None:
    """Take a key away. From then on it is refused; what was asked for with it stays."""
    from bot.cli.keys import revoke

    revoke(config, key)


@keys_app.command("rotate", short_help="Sign with a new key.", epilog="Example: discreet keys rotate")
def rotate_key(config: ConfigOption = DEFAULT_CONFIG) -> None:
    """Make a new key with which answers of A2H are signed. A running gateway signs with it from the next answer on.

    The public halves of the latest keys stay in the JWKS, so that what was signed before can be checked.
    """
    from bot.cli.keys import rotate

    rotate(config)
