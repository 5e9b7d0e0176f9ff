"""``discreet init``: from a token to a configuration and a policy that start. Nothing is ever overwritten."""

import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import typer

from bot.cli import terminal
from bot.cli.probing import Bot, probe
from bot.cli.templates import config_text, policy_text
from bot.config.errors import ConfigError
from bot.config.secret import Secret
from bot.config.words import bot_id
from bot.observability.redaction import register_secret

CONFIG: Final = "config.yaml"
POLICY: Final = "policy.yaml"
TOKEN: Final = "telegram.token"  # noqa: S105 - the name of the file, not what is in it
_PERSON = re.compile(r"[1-9]\d{0,18}")
_GROUP = re.compile(r"-[1-9]\d{0,18}")


@dataclass(frozen=True, kw_only=True, slots=True)
class _Answers:
    """What the admin said."""

    bot: Bot
    token: Secret
    operator: str | None
    group: str | None


def start(
    folder: Path,
    *,
    token: str | None,
    operator_id: str | None,
    group_id: str | None,
    ask: bool,
    api_url: str,
) -> None:
    """Ask what is missing, check the token, write the files and say what comes next.

    Raises:
        ConfigError: something is there already, or what was said can't hold.
        ChannelError: Telegram refuses the token or can't be reached.
    """
    _refuse_to_overwrite(folder)
    answers = _ask(token, operator_id, group_id, ask=ask, api_url=api_url.rstrip("/"))
    config = config_text(
        token_file=TOKEN,
        policy_file=POLICY,
        username=answers.bot.username,
        api_url=api_url.rstrip("/"),
    )
    policy = policy_text(bot_id=answers.bot.id, operator=answers.operator, group=answers.group)
    _prove(policy)
    _say_about(answers.bot)
    where = folder.resolve()
    if ask and not typer.confirm(f"Write {CONFIG}, {POLICY} and {TOKEN} to {where}?", default=True, err=True):
        raise typer.Exit(1)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    _write(folder / TOKEN, answers.token.reveal() + "\n")
    _write(folder / POLICY, policy)
    _write(folder / CONFIG, config)
    _say_next(folder, answers)


def _ask(token: str | None, operator: str | None, group: str | None, *, ask: bool, api_url: str) -> _Answers:
    if token is None and ask:
        terminal.note("The token comes from @BotFather in Telegram: /newbot makes a bot, /token shows it again.")
        token = typer.prompt("Token of the bot (it is not shown)", hide_input=sys.stdin.isatty(), err=True)
    if token is None:
        raise ConfigError("there is no token. Set TELEGRAM_BOT_TOKEN, or leave out --yes and be asked")
    secret = Secret(token.strip())
    if bot_id(secret) is None:
        raise ConfigError("this is no token of a bot. Copy it whole from @BotFather: digits:letters")
    register_secret(secret.reveal())
    operator = _checked_operator(operator)
    group = _checked_group(group)
    bot = probe(secret, api_url)
    terminal.good(f"The token is right: @{bot.username} ({bot.id})")
    if operator is None and ask:
        terminal.note("Your Telegram user id (digits, but not your phone number) makes you an operator.")
        terminal.note("Leave it empty if you don't know it: `discreet channels` shows it later, when you have written")
        terminal.note("to the bot.")
        operator = _checked_operator(typer.prompt("Your Telegram user id", default="", show_default=False, err=True))
    if group is None and ask:
        terminal.note("A group where the bot is to answer. Leave it empty if you don't know its id yet.")
        group = _checked_group(typer.prompt("Id of the group (-100...)", default="", show_default=False, err=True))
    return _Answers(bot=bot, token=secret, operator=operator, group=group)


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


def _refuse_to_overwrite(folder: Path) -> None:
    there = [name for name in (CONFIG, POLICY, TOKEN) if (folder / name).exists() or (folder / name).is_symlink()]
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


def _say_about(bot: Bot) -> None:
    if bot.reads_everything:
        terminal.say("Privacy mode is off: the bot receives every message of its groups and mutes what is not for it.")
    else:
        terminal.say("Privacy mode is on: of a group the bot receives commands, replies to it and mentions alone.")
        terminal.say("That is enough to answer requests. To observe a group, too, switch it off in @BotFather")
        terminal.say("(/setprivacy, Disable), then remove the bot from the group and add it again.")
    if not bot.joins_groups:
        terminal.warn("the bot can't be added to groups; allow it in @BotFather with /setjoingroups")


def _say_next(folder: Path, answers: _Answers) -> None:
    at = "" if folder.resolve() == Path.cwd() else f" --config {folder / CONFIG}"
    policy = folder / POLICY
    terminal.head("\nWritten. Next:")
    terminal.say(f"  1. discreet run{at}")
    if answers.operator is None or answers.group is None:
        terminal.say(f"     Leave it running. Write to @{answers.bot.username}, or add it to a group and mention it:")
        terminal.say("     it stays silent so far.")
        terminal.say(f"  2. discreet channels{at}")
        terminal.say(f"     in a second terminal shows the ids that it has seen, with the lines for {policy}.")
    else:
        terminal.say(f"     Write to @{answers.bot.username}, or mention it in the group, once it is a member there.")
    terminal.say(f"A running gateway takes a changed {policy} up by itself. To see whether that can hold:")
    terminal.say(f"     discreet policy check {policy}")
    terminal.say(f"The agent is an echo so far. {folder / CONFIG} shows how to connect yours.")
