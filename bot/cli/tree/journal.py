"""The record of what was done: ``discreet journal ...``."""

from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from bot.cli.tree.options import DEFAULT_CONFIG, ConfigOption

journal_app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="The record of what was decided and done.",
    epilog="Example: discreet journal verify",
)


class ExportFormat(StrEnum):
    """How ``discreet journal export`` writes."""

    JSONL = "jsonl"
    AGENTACK = "agentack"


@journal_app.command(
    short_help="Check that nothing was changed.", epilog="Example: discreet journal verify --config config.yaml"
)
def verify(config: ConfigOption = DEFAULT_CONFIG) -> None:
    """Check the chain of the journal: any change, gap or missing end is found. Exit code 1 if there is one."""
    from bot.cli.records import verify_journal

    raise typer.Exit(verify_journal(config))


@journal_app.command(short_help="Show the latest records.", epilog="Example: discreet journal tail -n 50")
def tail(
    config: ConfigOption = DEFAULT_CONFIG,
    count: Annotated[int, typer.Option("-n", min=1, max=100_000, help="How many records.")] = 20,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line.")] = False,
) -> None:
    """Show the latest records of the journal."""
    from bot.cli.records import tail_journal

    tail_journal(config, count=count, as_json=as_json)


@journal_app.command(
    "export",
    short_help="Write it out, also for agentack.",
    epilog="\b\nExamples:\n  discreet journal export --out journal.jsonl\n"
    "  discreet journal export --format agentack --out trace.jsonl && agentack check trace.jsonl",
)
def export(
    config: ConfigOption = DEFAULT_CONFIG,
    form: Annotated[ExportFormat, typer.Option("--format", help="What to write.")] = ExportFormat.JSONL,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="The file; left out: the standard output.")] = None,
    since: Annotated[
        datetime | None,
        typer.Option(formats=["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S"], help="Leave out what is older (UTC)."),
    ] = None,
) -> None:
    """Write the journal, one JSON object a line.

    With agentack it is what the journal says of approvals, as a trace that the tool of that name judges: digests in
    place of parameters, no words of anybody; names of actions where they are not erased yet.
    """
    from bot.cli.records import export_journal

    moment = None if since is None else since.replace(tzinfo=UTC)
    export_journal(config, agentack=form is ExportFormat.AGENTACK, out=out, since=moment)
