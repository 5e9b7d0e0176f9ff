"""Approvals: ``discreet approvals ...``."""

from typing import Annotated

import typer

from bot.cli.tree.options import DEFAULT_CONFIG, ConfigOption

approvals_app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="What agents want to do, and what people said to it.",
    epilog="Example: discreet approvals list",
)


@approvals_app.command(
    "list",
    short_help="Show what waits for people, or for its outcome.",
    epilog="\b\nExamples:\n  discreet approvals list\n  discreet approvals list --all --json",
)
def list_approvals(
    config: ConfigOption = DEFAULT_CONFIG,
    everything: Annotated[bool, typer.Option("--all", help="The latest hundred, closed ones included.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line.")] = False,
) -> None:
    """Show every approval that is not closed: code, state, when it was proposed, agent and action."""
    from bot.cli.approvals import list_approvals as show

    show(config, everything=everything, as_json=as_json)


@approvals_app.command("show", short_help="Show one in full.", epilog="Example: discreet approvals show K7QM2")
def show_approval(
    approval: Annotated[str, typer.Argument(metavar="ID|CODE")],
    config: ConfigOption = DEFAULT_CONFIG,
) -> None:
    """Show one approval as JSON: what would run, who said what to which version, and what came of it."""
    from bot.cli.approvals import show_approval as show

    show(config, approval)


@approvals_app.command(
    short_help="Say what became of one whose outcome is unknown.",
    epilog="\b\nExample:\n  discreet approvals reconcile K7QM2 --executed --evidence 'the bank shows payment 4711'",
)
def reconcile(
    approval: Annotated[str, typer.Argument(metavar="ID|CODE")],
    executed: Annotated[bool, typer.Option("--executed/--failed", help="Whether it happened.")],
    evidence: Annotated[str, typer.Option(help="How that is known; it is kept.")],
    config: ConfigOption = DEFAULT_CONFIG,
) -> None:
    """Say what became of an approval whose outcome is unknown; until then the same action is not repeated (APPR-6)."""
    from bot.cli.approvals import reconcile as write

    write(config, approval, executed=executed, evidence=evidence)


@approvals_app.command(
    "verify",
    short_help="Check the proofs of passkeys.",
    epilog="\b\nExamples:\n  discreet approvals verify\n  discreet approvals verify K7QM2",
)
def verify_approvals(
    approval: Annotated[
        str | None, typer.Argument(metavar="ID", help="Id or code of one approval; left out: all of them.")
    ] = None,
    config: ConfigOption = DEFAULT_CONFIG,
) -> None:
    """Check each stored proof against its version and key, from the store alone. Exit code 1 if one does not hold."""
    from bot.cli.passkeys import verify_proofs

    raise typer.Exit(verify_proofs(config, approval))
