"""The policy file: ``discreet policy ...``."""

from pathlib import Path
from typing import Annotated

import typer

policy_app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Check, explain and describe the policy file.",
    epilog="Example: discreet policy check policy.yaml",
)


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
    "    discreet policy explain --policy policy.yaml -\n"
    '  discreet policy explain --policy policy.yaml --call \'{"action":"refund","parameters":{"amount":5}}\'\n\n'
    "\b\nA line from Matrix:\n"
    '  {"platform":"matrix","bot":{"user_id":"@desk:example.org"},"event":{...},\n'
    '   "room":{"room_id":"!abc:example.org","joined_members":[...],"bot_invite_is_direct":false},\n'
    '   "reply":{"sender":"@ann:example.org"}}\n\n'
    "\b\nA line may also hold what the gateway would remember:\n"
    '  "memory": {"first_start": "2026-01-01T00:00:00Z", "original": "muted", "withdrawn": false,\n'
    '             "person_requests": 0, "channel_requests": 0}',
)
def explain(
    policy: Annotated[Path, typer.Option("--policy", "-p", help="The policy file.")],
    events: Annotated[
        str | None, typer.Argument(metavar="INPUT.jsonl|-", help="Native events, one JSON object a line.")
    ] = None,
    call: Annotated[
        str | None, typer.Option("--call", metavar="JSON|FILE", help="An action that an agent would propose.")
    ] = None,
    now: Annotated[str | None, typer.Option(help="Judge all events at this time (ISO 8601), not at their own.")] = None,
) -> None:
    """Say for each event what would be decided, and why: one JSON line each, and one more for a batch.

    With --call: whether an agent's action needs nobody, needs an approval (whose, and where it is shown), or is
    forbidden.
    """
    if (events is None) is (call is None):
        raise typer.BadParameter("give INPUT.jsonl, or --call, and not both")
    if call is not None:
        from bot.cli.calls import explain_call

        raise typer.Exit(explain_call(policy, call))
    from bot.cli.explaining import explain_events

    raise typer.Exit(explain_events(policy, str(events), now=now))


@policy_app.command(
    short_help="Print the JSON Schema of the file.", epilog="Example: discreet policy schema > policy.schema.json"
)
def schema() -> None:
    """Print the JSON Schema of the policy file, for editors that complete and check while one writes."""
    from bot.cli.policies import print_schema

    print_schema()


@policy_app.command(
    short_help="Print the detectors in force, or what they find in a text.",
    epilog="\b\nExamples:\n  discreet policy detectors --policy policy.yaml\n"
    "  discreet policy detectors --policy policy.yaml 'It costs 12,50 €.'\n"
    "  discreet policy detectors --policy policy.yaml --counterparty acme - < answer.txt",
)
def detectors(
    policy: Annotated[Path, typer.Option("--policy", "-p", help="The policy file.")],
    text: Annotated[str | None, typer.Argument(metavar="[TEXT|-]", help="What would be said to outsiders.")] = None,
    counterparty: Annotated[
        str | None, typer.Option("--counterparty", metavar="ID", help="To whom it would be said.")
    ] = None,
) -> None:
    """Print what raises the class of an answer, as YAML; or what is found in a text, as JSON.

    With a text the exit code is 1 if it would not simply be sent to an outside channel of that counterparty.
    """
    from bot.cli.contents import print_detectors, try_text

    raise typer.Exit(print_detectors(policy) if text is None else try_text(policy, text, counterparty=counterparty))
