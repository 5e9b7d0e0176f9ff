"""Passkeys of operators: ``discreet passkeys ...``."""

from typing import Annotated

import typer

from bot.cli.tree.options import DEFAULT_CONFIG, ConfigOption

passkeys_app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Passkeys of operators, for high assurance.",
    epilog="Example: discreet passkeys invite ann",
)


@passkeys_app.command(
    "invite",
    short_help="Print a one-time link for an operator.",
    epilog="Example: discreet passkeys invite ann",
)
def invite_to_a_passkey(
    person: Annotated[str, typer.Argument(help="The operator's id in the policy file.")],
    config: ConfigOption = DEFAULT_CONFIG,
) -> None:
    """Print a link under which one operator adds one passkey, within 15 minutes. The daemon has to run."""
    from bot.cli.passkeys import print_passkey_invite

    print_passkey_invite(config, person)


@passkeys_app.command(
    "list",
    short_help="Show all passkeys.",
    epilog="\b\nExamples:\n  discreet passkeys list\n  discreet passkeys list --json",
)
def list_passkeys(
    config: ConfigOption = DEFAULT_CONFIG,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line.")] = False,
) -> None:
    """Show whose passkeys there are, since when, and which were revoked."""
    from bot.cli.passkeys import list_passkeys as show

    show(config, as_json=as_json)


@passkeys_app.command(
    "revoke", short_help="Take a passkey away.", epilog="Example: discreet passkeys revoke 5f0c9a31be"
)
def revoke_passkey(
    passkey: Annotated[str, typer.Argument(metavar="PASSKEY", help="Its name in the list, or the beginning of it.")],
    config: ConfigOption = DEFAULT_CONFIG,
) -> None:
    """Take a passkey away at once. What it approved before stays proven."""
    from bot.cli.passkeys import revoke

    revoke(config, passkey)
