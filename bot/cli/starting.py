"""``discreet init``: from an account to a configuration and a policy that start. Nothing is ever overwritten."""

import os
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import typer

from bot.cli import terminal
from bot.cli.probing import Bot, probe
from bot.cli.templates import config_text, matrix_policy, matrix_section, telegram_policy, telegram_section
from bot.config.errors import ConfigError
from bot.config.secret import Secret
from bot.config.words import bot_id
from bot.observability.redaction import register_secret
from policy.destination import MalformedAccountError, MalformedDestinationError, parse_account, parse_destination

CONFIG: Final = "config.yaml"
POLICY: Final = "policy.yaml"
TOKEN: Final = "telegram.token"  # noqa: S105 - the name of the file, not what is in it
TELEGRAM: Final = "telegram"
MATRIX: Final = "matrix"
_PERSON = re.compile(r"[1-9]\d{0,18}")
_GROUP = re.compile(r"-[1-9]\d{0,18}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Said:
    """What the options say; None: nothing, and then it is asked for where ``ask`` allows it.

    Attributes:
        platform: telegram or matrix.
        token: of a Telegram bot.
        api_url: of the Bot API server.
        user: user id of the bot on Matrix.
        homeserver: its address.
        operator_id: the admin's own id on the platform.
        group_id: of a group or room.
        ask: questions may be asked.
    """

    platform: str | None
    token: str | None
    api_url: str
    user: str | None
    homeserver: str | None
    operator_id: str | None
    group_id: str | None
    ask: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class _Plan:
    """What is to be written, by name; and what is said before and after it."""

    files: dict[str, str]
    remarks: tuple[str, ...]
    warnings: tuple[str, ...]
    steps: tuple[str, ...]


def start(folder: Path, said: Said) -> None:
    """Ask what is missing, check it, write the files and say what comes next.

    Raises:
        ConfigError: something is there already, or what was said can't hold.
        ChannelError: Telegram refuses the token or can't be reached.
    """
    _refuse_to_overwrite(folder, (CONFIG, POLICY))
    platform = _platform(said)
    _refuse_to_overwrite(folder, (TOKEN,) if platform == TELEGRAM else ())
    plan = _telegram(folder, said) if platform == TELEGRAM else _matrix(folder, said)
    _prove(plan.files[POLICY])
    for line in plan.remarks:
        terminal.say(line)
    for line in plan.warnings:
        terminal.warn(line)
    *most, last = plan.files
    where = folder.resolve()
    if said.ask and not typer.confirm(f"Write {', '.join(most)} and {last} to {where}?", default=True, err=True):
        raise typer.Exit(1)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for name, text in reversed(plan.files.items()):
        _write(folder / name, text)
    terminal.head("\nWritten. Next:")
    for line in plan.steps:
        terminal.say(line)
    terminal.say(f"A running gateway takes a changed {folder / POLICY} up by itself. To see whether that can hold:")
    terminal.say(f"     discreet policy check {folder / POLICY}")
    terminal.say(f"The agent is an echo so far. {folder / CONFIG} shows how to connect yours.")


def _platform(said: Said) -> str:
    """Where the bot is to be: what was said, what the ids show, else a question."""
    if said.platform is not None:
        return said.platform
    if said.user is not None or said.homeserver is not None:
        return MATRIX
    if said.token is None and ((said.operator_id or "").startswith("@") or (said.group_id or "").startswith("!")):
        return MATRIX
    if said.token is None and said.ask:
        typed = str(typer.prompt("Where is the bot to be, telegram or matrix?", default=TELEGRAM, err=True))
        if typed.strip().casefold() not in (TELEGRAM, MATRIX):
            raise ConfigError("this is no place for a bot. Write telegram or matrix")
        return typed.strip().casefold()
    return TELEGRAM


def _telegram(folder: Path, said: Said) -> _Plan:
    token = said.token
    if token is None and said.ask:
        terminal.note("The token comes from @BotFather in Telegram: /newbot makes a bot, /token shows it again.")
        token = typer.prompt("Token of the bot (it is not shown)", hide_input=sys.stdin.isatty(), err=True)
    if token is None:
        raise ConfigError("there is no token. Set TELEGRAM_BOT_TOKEN, or leave out --yes and be asked")
    secret = Secret(token.strip())
    if bot_id(secret) is None:
        raise ConfigError("this is no token of a bot. Copy it whole from @BotFather: digits:letters")
    register_secret(secret.reveal())
    operator = _checked_operator(said.operator_id)
    group = _checked_group(said.group_id)
    api_url = said.api_url.rstrip("/")
    bot = probe(secret, api_url)
    terminal.good(f"The token is right: @{bot.username} ({bot.id})")
    if operator is None and said.ask:
        terminal.note("Your Telegram user id (digits, but not your phone number) makes you an operator.")
        terminal.note("Leave it empty if you don't know it: `discreet channels` shows it later, when you have written")
        terminal.note("to the bot.")
        operator = _checked_operator(_ask("Your Telegram user id"))
    if group is None and said.ask:
        terminal.note("A group where the bot is to answer. Leave it empty if you don't know its id yet.")
        group = _checked_group(_ask("Id of the group (-100...)"))
    section = telegram_section(token_file=TOKEN, username=bot.username, api_url=api_url)
    return _Plan(
        files={
            CONFIG: config_text(policy_file=POLICY, channel=section),
            POLICY: telegram_policy(bot_id=bot.id, operator=operator, group=group),
            TOKEN: secret.reveal() + "\n",
        },
        remarks=_about(bot),
        warnings=()
        if bot.joins_groups
        else ("the bot can't be added to groups; allow it in @BotFather with /setjoingroups",),
        steps=_next(
            folder,
            complete=f"Write to @{bot.username}, or mention it in the group, once it is a member there."
            if operator and group
            else None,
            enter=(f"Write to @{bot.username}, or add it to a group and mention it:", "it stays silent so far."),
        ),
    )


def _matrix(folder: Path, said: Said) -> _Plan:
    user = said.user
    if user is None and said.ask:
        terminal.note(
            "The bot has an ordinary account of its own on any homeserver; docs/matrix.md says how to get one."
        )
        user = _ask("User id of the bot (@desk:example.org)")
    if not user or not user.strip():
        raise ConfigError("there is no account. Say --user @desk:example.org, or leave out --yes and be asked")
    user = _checked_user(user)
    homeserver = _checked_homeserver(said.homeserver)
    operator = _checked_user(said.operator_id, bot=user) if said.operator_id else None
    room = _checked_room(user, said.group_id)
    if operator is None and said.ask:
        terminal.note("Your own user id makes you an operator; the bot then joins every room to which you invite it.")
        typed = _ask("Your own user id (@you:example.org)")
        operator = _checked_user(typed, bot=user) if typed.strip() else None
    if room is None and said.ask:
        terminal.note("A room where the bot is to answer. Leave it empty if you don't know its id (not its #name) yet.")
        room = _checked_room(user, _ask("Id of the room (!...)"))
    at = _config_option(folder)
    first = (f"discreet matrix login{at}", f"asks for the password of {user}, once. Nothing of it is written.")
    return _Plan(
        files={
            CONFIG: config_text(policy_file=POLICY, channel=matrix_section(user_id=user, homeserver=homeserver)),
            POLICY: matrix_policy(user_id=user, operator=operator, room=room),
        },
        remarks=(),
        warnings=()
        if operator is not None
        else ("nobody is an operator yet, so the bot joins only rooms that the policy lists; put your user id there",),
        steps=_next(
            folder,
            first,
            complete=f"Invite {user} to the room and mention it there, or write to it in private."
            if operator and room
            else None,
            enter=(f"Invite {user} to a room and mention it there:", "it joins, and stays silent so far.")
            if operator
            else (f"Invite {user} to a room:", "it does not join so far."),
        ),
    )


def _ask(question: str) -> str:
    return str(typer.prompt(question, default="", show_default=False, err=True))


def _checked_operator(written: str | None) -> str | None:
    if not written or not written.strip():
        return None
    return _fitting(written, _PERSON, "this is no Telegram user id", "write digits only, never the @name")


def _checked_group(written: str | None) -> str | None:
    if not written or not written.strip():
        return None
    return _fitting(written, _GROUP, "this is no Telegram id of a group", "it starts with -, such as -1001234567890")


def _fitting(written: str, form: re.Pattern[str], message: str, mend: str) -> str:
    cleaned = written.strip()
    if form.fullmatch(cleaned) is None:
        raise ConfigError(f"{message}. {mend[:1].upper()}{mend[1:]}")
    return cleaned


def _checked_user(written: str, *, bot: str | None = None) -> str:
    try:
        user = parse_account(f"matrix:{written.strip()}").partition(":")[2]
    except MalformedAccountError:
        raise ConfigError("this is no Matrix user id. Write it whole, such as @desk:example.org") from None
    if user == bot:
        raise ConfigError("this is the bot's own account. Name the one that you yourself use")
    return user


def _checked_room(user: str, written: str | None) -> str | None:
    if not written or not written.strip():
        return None
    try:
        place = parse_destination(f"matrix:{user}:{written.strip()}")
    except MalformedDestinationError:
        place = None
    if place is None or place.thread is not None or place.workspace != user:
        raise ConfigError(
            "this is no Matrix id of a room. It starts with !, such as !abc:example.org; #names change hands"
        )
    return place.channel


def _checked_homeserver(written: str | None) -> str | None:
    if written is None or not written.strip():
        return None
    address = written.strip().rstrip("/")
    if not re.fullmatch(r"https?://[^/\s?#@]+(?:/[^\s?#]*)?", address):
        raise ConfigError("--homeserver is no web address. Write it whole, such as https://matrix.example.org")
    return address


def _refuse_to_overwrite(folder: Path, names: Sequence[str]) -> None:
    there = [name for name in names if (folder / name).exists() or (folder / name).is_symlink()]
    if there:
        raise ConfigError(
            f"{folder.resolve()} has {', '.join(there)} already. Nothing was changed; name another folder: "
            "discreet init DIR",
        )


def _prove(policy: str) -> None:
    """What is written must load: a fault here is ours."""
    from policy.document import load

    load(policy, source=POLICY, environment={})


def _write(path: Path, text: str) -> None:
    """A new file for its owner alone; one that appeared meanwhile is left as it is."""
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as stream:  # noqa: PTH123 - a mode from the first moment on
        os.fchmod(stream.fileno(), 0o600)
        stream.write(text)


def _about(bot: Bot) -> tuple[str, ...]:
    if bot.reads_everything:
        return ("Privacy mode is off: the bot receives every message of its groups and mutes what is not for it.",)
    return (
        "Privacy mode is on: of a group the bot receives commands, replies to it and mentions alone.",
        "That is enough to answer requests. To observe a group, too, switch it off in @BotFather",
        "(/setprivacy, Disable), then remove the bot from the group and add it again.",
    )


def _config_option(folder: Path) -> str:
    return "" if folder.resolve() == Path.cwd() else f" --config {folder / CONFIG}"


def _next(folder: Path, *first: tuple[str, ...], complete: str | None, enter: tuple[str, str]) -> tuple[str, ...]:
    """The steps from here to the first answer.

    Args:
        folder: of the files.
        first: commands before all others, each with a word on it.
        complete: what is answered at once; None: the policy lacks an operator or a place for that.
        enter: how the bot is made to see a place, and what it does there so far.
    """
    at = _config_option(folder)
    run, see = f"discreet run{at}", f"discreet channels{at}"
    blocks = list(first)
    if complete is not None:
        blocks.append((run, complete))
    else:
        shows = f"in a second terminal shows the ids that it has seen, with the lines for {folder / POLICY}."
        blocks += [(run, f"Leave it running. {enter[0]}", enter[1]), (see, shows)]
    return tuple(
        line
        for number, (command, *rest) in enumerate(blocks, start=1)
        for line in (f"  {number}. {command}", *(f"     {more}" for more in rest))
    )
