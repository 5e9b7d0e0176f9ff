"""Trying out questions: ``discreet form ...``."""

from pathlib import Path
from typing import Annotated

import typer

form_app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Try out questions that agents ask people.",
    epilog="Example: discreet form check schema.json",
)
LocaleOption = Annotated[
    str, typer.Option(help="Language tag of the person, such as de or en-GB; what it would decide is asked otherwise.")
]
ZoneOption = Annotated[str, typer.Option(help="Time zone of the person, such as Europe/Berlin.")]


@form_app.command(
    "check",
    short_help="Check schemas of questions.",
    epilog="Example: discreet form check schema.json",
)
def check_form(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="JSON Schemas, or whole questions.")],
) -> None:
    """Check whether a schema can be asked: each problem with its place in it. Exit code 1 if there is any.

    A file holds a JSON Schema, or a question as POST /v1/questions takes it.
    """
    from bot.cli.forms import check_forms

    raise typer.Exit(check_forms(files))


@form_app.command(
    "parse",
    short_help="Say what a typed reply means.",
    epilog="\b\nExamples:\n  discreet form parse --schema schema.json --reply reply.txt --locale de\n"
    "  echo 'Channel: beta' | discreet form parse --schema schema.json --reply -",
)
def parse_form(
    schema: Annotated[Path, typer.Option("--schema", "-s", help="The JSON Schema, or the whole question.")],
    reply: Annotated[str, typer.Option("--reply", "-r", metavar="FILE|-", help="What was typed.")],
    locale: LocaleOption = "",
    timezone: ZoneOption = "",
    today: Annotated[str | None, typer.Option(help="The person's own day, such as 2026-03-01.")] = None,
) -> None:
    """Say what a typed reply means: one JSON object with values, or with errors and the values that are kept.

    Exit code 1 if there are errors.
    """
    from bot.cli.forms import parse_reply

    raise typer.Exit(parse_reply(schema, reply, locale=locale, timezone=timezone, today=today))


@form_app.command(
    "preview",
    short_help="Show a question as people would see it.",
    epilog="Example: discreet form preview schema.json --port 8089",
)
def preview(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A JSON Schema, or a whole question.")],
    port: Annotated[int, typer.Option(min=0, max=65535, help="Of its page; 0: any free one.")] = 8089,
    locale: LocaleOption = "",
    timezone: ZoneOption = "",
) -> None:
    """Show a question as Telegram and Matrix would, and serve its page on this machine until Ctrl-C."""
    from bot.cli.forms import preview_form

    preview_form(file, port=port, locale=locale, timezone=timezone)
