"""``discreet matrix``: log an account in, ask who it is, and look whether all is set up (OPS-2).

Neither a password nor a token is taken from the command line, which others can see, and none is written or shown.
"""

import asyncio
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import typer

from bot.cli import terminal
from bot.cli.failing import NOT_IN_ORDER, OK
from bot.cli.policies import load_policy
from bot.cli.serving import read_config, start_log
from bot.config.errors import ConfigError
from bot.config.file import make_data_dir
from bot.config.settings import Config, MatrixBot
from bot.model.setup import MatrixCheck, MatrixLogin
from bot.observability.redaction import register_secret
from policy.destination import MalformedAccountError, parse_account
from policy.errors import PolicyError

LONGEST_SECRET: Final = 8192  # characters
_EXAMPLE: Final = "@desk:example.org"


def log_in(
    path: Path,
    *,
    user: str | None,
    homeserver: str | None,
    token: bool,
    password_stdin: bool,
    device_name: str,
    reset_cross_signing: bool,
    allow_plain_http: bool,
) -> None:
    """Log an account in and say what comes next.

    Args:
        path: of the configuration; it need not list the account yet.
        user: id of the account; None: the one that is configured, else it is asked for.
        homeserver: its address or the name of its server; None: as configured, else that of the last
            login, else the server of the id tells it.
        token: a token is asked for, not a password.
        password_stdin: the password comes on the standard input.
        device_name: how other people see the device.
        reset_cross_signing: replace a cross-signing identity that is not Discreet's.
        allow_plain_http: also to another machine than this one, as the configuration may say, too.

    Raises:
        ConfigError: something that is needed was not said.
        ChannelError: the server refused or can't be reached.
    """
    if token and password_stdin:
        raise ConfigError("--token and --password-stdin don't go together. Keep one")
    config = _config(path)
    user_id = _user(config, user, ask=not password_stdin and sys.stdin.isatty())
    listed = _listed(config).get(user_id)
    if homeserver is None and listed is not None:
        homeserver = listed.homeserver
    if homeserver is None and listed is None and not password_stdin and sys.stdin.isatty():
        terminal.note(f"The address of the homeserver. Leave it empty if {user_id.partition(':')[2]} tells it itself.")
        homeserver = typer.prompt("Homeserver", default="", show_default=False, err=True)
    homeserver = (homeserver or "").strip() or None
    configured = _configured(listed) if not token and not password_stdin else None
    by_token = token if configured is None else configured[1] is not None
    allowed = allow_plain_http or (listed is not None and listed.allow_plain_http)

    from bot.wiring import matrix_login, matrix_server

    address = asyncio.run(
        matrix_server(config, user_id, homeserver=homeserver, with_password=not by_token, allow_plain_http=allowed)
    )
    password, access_token = configured or _asked(user_id, token=token)
    terminal.warn_of(make_data_dir(config.data_dir))
    done = asyncio.run(
        matrix_login(
            config,
            user_id,
            homeserver=address,
            password=password,
            token=access_token,
            device_name=device_name,
            reset_cross_signing=reset_cross_signing,
            allow_plain_http=allowed,
        )
    )
    terminal.good(f"Logged in: {done.user_id}, device {done.device_id}, on {done.homeserver}")
    _say_about(done)
    _say_next(path, config, done, named=homeserver is not None, allowed=allow_plain_http)


def show_login(path: Path, *, user: str | None) -> None:
    """Ask the server who the account is.

    Raises:
        ConfigError: nobody said which account.
        ChannelError: it is logged out, or the server can't be reached.
    """
    config = _config(path)

    from bot.wiring import matrix_whoami

    found = asyncio.run(matrix_whoami(config, _user(config, user, ask=False)))
    terminal.say(f"user        {found.user_id}")
    terminal.say(f"device      {found.device_id}")
    terminal.say(f"homeserver  {found.homeserver}")
    _say_about(found)


def check_setup(path: Path, *, user: str | None) -> int:
    """Look at everything that an account needs; returns the exit code.

    Raises:
        ConfigError: nobody said which account.
        ChannelError: it is logged out, or the server can't be reached.
    """
    config = _config(path)
    users = list(_listed(config)) if user is None else []

    from bot.wiring import matrix_setup

    code = OK
    for user_id in users or [_user(config, user, ask=False)]:
        terminal.head(user_id)
        for check in asyncio.run(matrix_setup(config, user_id)):
            _say_check(check)
            code = code if check.ok else NOT_IN_ORDER
    return code


def _config(path: Path) -> Config:
    """The configuration, which need not serve anything yet, with its warnings shown and the log set up."""
    config = read_config(path, idle=True)
    for warning in config.warnings:
        terminal.warn(warning)
    start_log(level="error", json_lines=None)  # what a warning would say is in the answer
    return config


def _listed(config: Config) -> Mapping[str, MatrixBot]:
    return {bot.user_id: bot for bot in config.matrix}


def _user(config: Config, given: str | None, *, ask: bool) -> str:
    """Which account is meant.

    Raises:
        ConfigError: nobody said it, or it is no id.
    """
    listed = list(_listed(config))
    if given is None and len(listed) == 1:
        return listed[0]
    if given is None and ask:
        given = typer.prompt(f"User id of the bot, such as {_EXAMPLE}", err=True)
    if given is None:
        several = f"several accounts are configured: {', '.join(listed)}"
        raise ConfigError(f"{several if listed else 'no account is configured yet'}. Name one: --user {_EXAMPLE}")
    try:
        return parse_account(f"matrix:{given.strip()}").partition(":")[2]
    except MalformedAccountError:
        raise ConfigError(f"this is no Matrix user id. Write it whole, such as {_EXAMPLE}") from None


def _configured(listed: MatrixBot | None) -> tuple[str | None, str | None] | None:
    """Password and token, one of them, as the configuration has it; None: it has neither."""
    if listed is not None and listed.password is not None:
        return listed.password.reveal(), None
    if listed is not None and listed.access_token is not None:
        return None, listed.access_token.reveal()
    return None


def _asked(user_id: str, *, token: bool) -> tuple[str | None, str | None]:
    """The same, typed or piped in."""
    what = f"Access token of {user_id}" if token else f"Password of {user_id}"
    if sys.stdin.isatty():
        typed = typer.prompt(f"{what} (it is not shown)", hide_input=True, err=True)
    else:
        typed = sys.stdin.readline(LONGEST_SECRET).rstrip("\r\n")
    secret = typed.strip() if token else typed
    if not secret:
        raise ConfigError(
            f"there is no {'token' if token else 'password'}. Run this on a terminal and be asked, or pipe it in"
        )
    register_secret(secret)
    return (None, secret) if token else (secret, None)


def _say_about(login: MatrixLogin) -> None:
    note = None if login.note is None else terminal.clean(login.note)
    if login.signed:
        terminal.say("The device is cross-signed: other people's clients trust it with their keys.")
        if note is not None:
            terminal.say(note)
        return
    terminal.warn("the device is not cross-signed: other people's clients may keep the keys of their messages from it")
    if note is not None:
        terminal.mend(note)


def _say_next(path: Path, config: Config, done: MatrixLogin, *, named: bool, allowed: bool) -> None:
    """What comes next.

    Args:
        path: of the configuration.
        config: what stands there.
        done: the login.
        named: the address of the homeserver was said.
        allowed: plain http was.
    """
    at = "" if path == Path("config.yaml") else f" --config {path}"
    steps: list[tuple[str, ...]] = []
    listed = _listed(config).get(done.user_id)
    lines = []
    if named and (listed is None or listed.homeserver is None):
        lines.append(f"    homeserver: {json.dumps(done.homeserver)}")
    if allowed and (listed is None or not listed.allow_plain_http):
        lines.append("    allow_plain_http: true")
    if listed is None:
        steps.append((f"Add to {path}:", "matrix:", f"  - user_id: {json.dumps(done.user_id)}", *lines))
    elif lines:
        steps.append((f"Add to {path} below user_id:", *lines))
    steps += _policy_steps(config, done.user_id)
    steps.append((f"discreet run{at}",))
    steps.append(
        (f"Invite {done.user_id} to a room and mention it there. `discreet channels{at}` shows the room's id.",)
    )
    steps.append((f"discreet matrix verify-setup{at}",))
    terminal.head("\nNext:")
    for number, (first, *rest) in enumerate(steps, start=1):
        terminal.say(f"  {number}. {first}")
        for line in rest:
            terminal.say(f"     {line}")


def _policy_steps(config: Config, user_id: str) -> list[tuple[str, ...]]:
    """What the policy does not have yet: an operator, whose invites are accepted, and a room."""
    try:
        policy = load_policy(config.policy)
    except (ConfigError, PolicyError) as error:
        if isinstance(error, PolicyError):
            return [(f"Mend {config.policy}: discreet policy check {config.policy}",)]
        return [(f"Make {config.policy}; docs/matrix.md shows what is in it.",)]
    steps: list[tuple[str, ...]] = []
    if not any(person.operator for account, person in policy.people.items() if account.startswith("matrix:")):
        steps.append(
            (
                f"Say in {config.policy} who you are; an operator's invites are accepted:",
                "operators: [me] # an id of your choice",
                "people:",
                "  me:",
                '    accounts: ["matrix:@you:example.org"]',
            )
        )
    if not any(place.account == f"matrix:{user_id}" for place in policy.channels):
        steps.append(
            (
                f"List in {config.policy} each room in which it may answer, now or when you know its id:",
                "channels:",
                f"  {json.dumps(f'matrix:{user_id}:!room:example.org')}:",
                "    audience: external",
            )
        )
    return steps


def _say_check(check: MatrixCheck) -> None:
    line = f"{terminal.clean(check.name)}: {terminal.clean(check.detail)}"
    sign = "warn" if not check.ok else "info" if check.told else "ok"
    terminal.say(f"{sign:6}{line}")
    if check.mend is not None:
        terminal.say(f"      mend: {terminal.clean(check.mend)}")
