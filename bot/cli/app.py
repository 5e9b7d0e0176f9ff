"""The tree of commands. Help is written here; what the commands do stands in the modules beside."""

from pathlib import Path
from typing import Annotated

import typer

from bot.cli.failing import show_faults

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="A gateway between AI agents and people. It knows when to keep silent.",
    epilog="\b\nTo look at it:       discreet demo\n"
    "With a bot of yours: discreet init, then discreet run\n"
    "Each command has an example: discreet COMMAND --help",
)
policy_app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Check, explain and describe the policy file.",
    epilog="Example: discreet policy check policy.yaml",
)
journal_app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="The record of what was decided and done.",
    epilog="Example: discreet journal verify",
)
chat_app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="The built-in chat.",
    epilog="Example: discreet chat invite ann",
)
app.add_typer(policy_app, name="policy")
app.add_typer(journal_app, name="journal")
app.add_typer(chat_app, name="chat")

ConfigOption = Annotated[
    Path,
    typer.Option("--config", "-c", help="The configuration file.", envvar="DISCREET_CONFIG"),
]
DEFAULT_CONFIG = Path("config.yaml")


@app.callback()
def discreet(
    debug: Annotated[bool, typer.Option("--debug", help="Show where an internal error comes from.")] = False,
) -> None:
    if debug:
        show_faults()


@app.command(
    short_help="Make the files for a Telegram bot of yours.",
    epilog="\b\nExamples:\n  discreet init\n"
    "  TELEGRAM_BOT_TOKEN=... discreet init ./desk --operator-id 510000001 --group-id -1001234567890 --yes",
)
def init(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Where the files go.")] = Path(),
    token: Annotated[
        str | None,
        typer.Option(
            help="The bot's token from BotFather. Better leave it out and be asked: others see command lines.",
            envvar="TELEGRAM_BOT_TOKEN",
        ),
    ] = None,
    operator_id: Annotated[
        str | None, typer.Option(help="Your Telegram user id, digits; you become an operator.")
    ] = None,
    group_id: Annotated[str | None, typer.Option(help="A group's Telegram id, such as -1001234567890.")] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Ask nothing; take what the options say.")] = False,
    api_url: Annotated[str, typer.Option(help="Another Bot API server.")] = "https://api.telegram.org",
) -> None:
    """Make config.yaml and policy.yaml for a Telegram bot, after checking its token."""
    from bot.cli.starting import start

    start(folder, token=token, operator_id=operator_id, group_id=group_id, ask=not yes, api_url=api_url)


@app.command(
    short_help="Run the gateway until it is told to stop.", epilog="Example: discreet run --config config.yaml"
)
def run(
    config: ConfigOption = DEFAULT_CONFIG,
    policy: Annotated[Path | None, typer.Option(help="Another policy file than the configuration names.")] = None,
) -> None:
    """Run the gateway until it is told to stop (Ctrl-C, SIGTERM). SIGHUP reads the policy again."""
    from bot.cli.serving import serve

    serve(config, policy=policy)


@app.command(short_help="Show everything on this machine.", epilog="Example: discreet demo --open")
def demo(
    port: Annotated[int, typer.Option(min=0, max=65535, help="Of the demo's page; 0: any free one.")] = 8765,
    open_page: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
) -> None:
    """Show the whole gateway on this machine: a built-in chat, a scripted agent, nothing to set up."""
    from bot.cli.serving import show

    show(port=port, open_page=open_page)


@app.command(
    short_help="Show the chats that the bot has seen.",
    epilog="\b\nExamples:\n  discreet channels\n  discreet channels --json",
)
def channels(
    config: ConfigOption = DEFAULT_CONFIG,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line.")] = False,
) -> None:
    """Show what the bot has seen: each chat with its decisions, and the policy lines for those not listed yet."""
    from bot.cli.overview import overview

    overview(config, as_json=as_json)


@app.command(epilog="Example: discreet version")
def version() -> None:
    """Show the version."""
    from bot.cli.serving import version_text

    print(version_text())


@policy_app.command(short_help="Check policy files.", epilog="Example: discreet policy check policy.yaml")
def check(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Policy files.")],
) -> None:
    """Check policy files: each problem with file, line, column and the mend. Exit code 1 if there is any."""
    from bot.cli.policies import check_files

    raise typer.Exit(check_files(files))


@policy_app.command(
    short_help="Say what would be decided for events, and why.",
    epilog="\b\nExamples:\n  discreet policy explain --policy policy.yaml updates.jsonl\n"
    '  echo \'{"platform":"telegram","bot":{"id":7001,"username":"desk_bot"},"update":{...}}\' |\n'
    "    discreet policy explain --policy policy.yaml -\n\n"
    "\b\nA line may also hold what the gateway would remember:\n"
    '  "memory": {"first_start": "2026-01-01T00:00:00Z", "original": "muted", "withdrawn": false,\n'
    '             "person_requests": 0, "channel_requests": 0}',
)
def explain(
    policy: Annotated[Path, typer.Option("--policy", "-p", help="The policy file.")],
    events: Annotated[str, typer.Argument(metavar="INPUT.jsonl|-", help="Native events, one JSON object a line.")],
    now: Annotated[str | None, typer.Option(help="Judge all events at this time (ISO 8601), not at their own.")] = None,
) -> None:
    """Say for each event what would be decided, and why: one JSON line each, and one more for a batch."""
    from bot.cli.explaining import explain_events

    raise typer.Exit(explain_events(policy, events, now=now))


@policy_app.command(
    short_help="Print the JSON Schema of the file.", epilog="Example: discreet policy schema > policy.schema.json"
)
def schema() -> None:
    """Print the JSON Schema of the policy file, for editors that complete and check while one writes."""
    from bot.cli.policies import print_schema

    print_schema()


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
