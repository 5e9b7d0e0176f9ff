"""Grants, and deliveries that use them: ``discreet grants ...``."""

from typing import Annotated

import typer

from bot.cli.tree.options import DEFAULT_CONFIG, ConfigOption

grants_app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Grants: leave for an agent to write to one place unasked.",
    epilog="Example: discreet grants list",
)
deliveries_app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Deliveries that agents have scheduled.",
    epilog="Example: discreet deliveries list",
)


@grants_app.command(
    "add",
    short_help="Let an agent write to one place.",
    epilog="Example: discreet grants add --agent main --destination telegram:7001:-1001234567890:42 --uses 3 "
    "--for 8h --purpose 'weekly figures'",
)
def add_grant(
    agent: Annotated[str, typer.Option("--agent", "-a", help="Name of the agent in the configuration.")],
    destination: Annotated[
        str, typer.Option("--destination", "-d", help="The place, written out: platform:bot:channel, then :thread.")
    ],
    purpose: Annotated[str, typer.Option("--purpose", "-p", help="What it is for; operators read it.")],
    lasts: Annotated[str, typer.Option("--for", help="How long it lasts, such as 30m, 8h or 7d.")],
    uses: Annotated[int, typer.Option("--uses", "-n", help="How many deliveries it is good for.")] = 1,
    config: ConfigOption = DEFAULT_CONFIG,
) -> None:
    """Make a grant and print its id: one agent may deliver to one complete destination, so often and so long.

    A grant for a channel is not one for its threads, nor the other way round. discreet channels shows destinations.
    """
    from bot.cli.grants import add

    add(config, agent=agent, destination=destination, uses=uses, lasts=lasts, purpose=purpose)


@grants_app.command(
    "list",
    short_help="Show the grants that can be used.",
    epilog="\b\nExamples:\n  discreet grants list\n  discreet grants list --all --json",
)
def list_grants(
    config: ConfigOption = DEFAULT_CONFIG,
    everything: Annotated[bool, typer.Option("--all", help="Also those that are used up, over or revoked.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line.")] = False,
) -> None:
    """Show who may write where unasked, how often it was used, until when, and who has granted it."""
    from bot.cli.grants import list_grants as show

    show(config, everything=everything, as_json=as_json)


@grants_app.command("revoke", short_help="Take a grant back.", epilog="Example: discreet grants revoke mfzgkzdsmvqwc")
def revoke_grant(
    grant: Annotated[str, typer.Argument(metavar="ID", help="Id of the grant.")],
    config: ConfigOption = DEFAULT_CONFIG,
) -> None:
    """Take a grant back. What is due later is muted; what has left has left."""
    from bot.cli.grants import revoke as take_back

    take_back(config, grant)


@deliveries_app.command(
    "list",
    short_help="Show them, without their words.",
    epilog="\b\nExamples:\n  discreet deliveries list\n  discreet deliveries list --json",
)
def list_deliveries(
    config: ConfigOption = DEFAULT_CONFIG,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line.")] = False,
) -> None:
    """Show what agents have scheduled, the latest first: when it is due, how it stands, and why it was muted."""
    from bot.cli.grants import list_deliveries as show

    show(config, as_json=as_json)
