"""The authorised record: ``discreet record ...``."""

from typing import Annotated

import typer

from bot.cli.tree.options import DEFAULT_CONFIG, ConfigOption

record_app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="The authorised record: facts that answers may rest on.",
    epilog="Example: discreet record check",
)


@record_app.command(
    "list",
    short_help="Show the entries, without what they say.",
    epilog="Example: discreet record list --values",
)
def list_record(
    config: ConfigOption = DEFAULT_CONFIG,
    values: Annotated[bool, typer.Option("--values", help="Show what they say, too.")] = False,
) -> None:
    """Show the entries of the record: id, who may see it, until when it holds, for what, and where it stands.

    Sources are asked as the daemon asks them. Exit code 1 if one can't be used.
    """
    from bot.cli.record import list_record as show

    raise typer.Exit(show(config, values=values))


@record_app.command("check", short_help="Check the sources.", epilog="Example: discreet record check")
def check_record(config: ConfigOption = DEFAULT_CONFIG) -> None:
    """Check each source of the record, and that no id stands in two. Exit code 1 if anything is wrong.

    What entries say is not shown.
    """
    from bot.cli.record import check_record as check

    raise typer.Exit(check(config))
