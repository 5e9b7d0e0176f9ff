"""The built-in chat: ``discreet chat ...``."""

from typing import Annotated

import typer

from bot.cli.tree.options import DEFAULT_CONFIG, ConfigOption

chat_app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="The built-in chat.",
    epilog="Example: discreet chat invite ann",
)


@chat_app.command(
    short_help="Print a one-time link for a person.", epilog="Example: discreet chat invite ann --config config.yaml"
)
def invite(
    person: Annotated[str, typer.Argument(help="The person's id in the policy file.")],
    config: ConfigOption = DEFAULT_CONFIG,
) -> None:
    """Print a link that lets one person into the built-in chat, once."""
    from bot.cli.serving import print_invite

    print_invite(config, person)
