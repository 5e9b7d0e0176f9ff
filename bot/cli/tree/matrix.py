"""Accounts on Matrix: ``discreet matrix ...``."""

from typing import Annotated

import typer

from bot.cli.tree.options import DEFAULT_CONFIG, ConfigOption

matrix_app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="An account on Matrix: log it in and look at it.",
    epilog="Example: discreet matrix login --user @desk:example.org",
)
UserOption = Annotated[
    str | None,
    typer.Option("--user", "-u", help="User id of the account; may be left out where one is configured."),
]


@matrix_app.command(
    short_help="Log an account in, once.",
    epilog="\b\nExamples:\n  discreet matrix login --user @desk:example.org\n"
    "  discreet matrix login --password-stdin < password.txt\n"
    "  discreet matrix login --token",
)
def login(
    config: ConfigOption = DEFAULT_CONFIG,
    user: UserOption = None,
    homeserver: Annotated[
        str | None, typer.Option(help="Address of the homeserver, only where the user id's server doesn't tell it.")
    ] = None,
    token: Annotated[
        bool, typer.Option("--token", help="Ask for (or read from the standard input) an access token, no password.")
    ] = False,
    password_stdin: Annotated[
        bool, typer.Option("--password-stdin", help="Read the password from the standard input and ask nothing.")
    ] = False,
    device_name: Annotated[str, typer.Option(help="How people see the device.")] = "Discreet",
    reset_cross_signing: Annotated[
        bool,
        typer.Option(
            "--reset-cross-signing",
            help="Replace an identity of the account that another client made; its verifications are lost.",
        ),
    ] = False,
    allow_plain_http: Annotated[
        bool, typer.Option("--allow-plain-http", help="Log in over http, where nobody can read along on the way.")
    ] = False,
) -> None:
    """Log an account in and keep its device under data_dir.

    Neither password nor token is written into any file of yours, nor shown. The configuration need not list the account
    yet.
    """
    from bot.cli.matrix import log_in

    log_in(
        config,
        user=user,
        homeserver=homeserver,
        token=token,
        password_stdin=password_stdin,
        device_name=device_name,
        reset_cross_signing=reset_cross_signing,
        allow_plain_http=allow_plain_http,
    )


@matrix_app.command(short_help="Ask the server who the account is.", epilog="Example: discreet matrix whoami")
def whoami(config: ConfigOption = DEFAULT_CONFIG, user: UserOption = None) -> None:
    """Ask the server who the account is. Exit code 2 with the mend when it is logged out."""
    from bot.cli.matrix import show_login

    show_login(config, user=user)


@matrix_app.command(
    "verify-setup", short_help="Look whether all is in place.", epilog="Example: discreet matrix verify-setup"
)
def verify_setup(config: ConfigOption = DEFAULT_CONFIG, user: UserOption = None) -> None:
    """Look at the device, its keys, the rooms and what the policy gives them, and open invites.

    Exit code 1 if anything is not as it should be.
    """
    from bot.cli.matrix import check_setup

    raise typer.Exit(check_setup(config, user=user))
