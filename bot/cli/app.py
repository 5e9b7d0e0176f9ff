"""The tree of commands. Help is written here; what the commands do stands in the modules beside."""

from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from bot.cli.failing import show_faults
from bot.config.credentials import Scope

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
matrix_app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="An account on Matrix: log it in and look at it.",
    epilog="Example: discreet matrix login --user @desk:example.org",
)
record_app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="The authorised record: facts that answers may rest on.",
    epilog="Example: discreet record check",
)
form_app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Try out questions that agents ask people.",
    epilog="Example: discreet form check schema.json",
)
passkeys_app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Passkeys of operators, for high assurance.",
    epilog="Example: discreet passkeys invite ann",
)
approvals_app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="What agents want to do, and what people said to it.",
    epilog="Example: discreet approvals list",
)
grants_app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Grants: leave for an agent to write to one place unasked.",
    epilog="Example: discreet grants list",
)
deliveries_app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Deliveries that agents have scheduled.",
    epilog="Example: discreet deliveries list",
)
keys_app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Keys with which agents and dispatchers call the gateway.",
    epilog="Example: discreet keys add main",
)
app.add_typer(policy_app, name="policy")
app.add_typer(approvals_app, name="approvals")
app.add_typer(journal_app, name="journal")
app.add_typer(chat_app, name="chat")
app.add_typer(matrix_app, name="matrix")
app.add_typer(record_app, name="record")
app.add_typer(form_app, name="form")
app.add_typer(passkeys_app, name="passkeys")
app.add_typer(grants_app, name="grants")
app.add_typer(deliveries_app, name="deliveries")
app.add_typer(keys_app, name="keys")

ConfigOption = Annotated[
    Path,
    typer.Option("--config", "-c", help="The configuration file.", envvar="DISCREET_CONFIG"),
]
UserOption = Annotated[
    str | None,
    typer.Option("--user", "-u", help="User id of the account; may be left out where one is configured."),
]
DEFAULT_CONFIG = Path("config.yaml")
UrlOption = Annotated[
    str, typer.Option("--url", help="Address of the gateway's interface for agents.", envvar="DISCREET_URL")
]
DEFAULT_URL = "http://127.0.0.1:8090"
KeyFileOption = Annotated[
    Path | None, typer.Option("--key-file", help="A file that holds the agent's key; left out: DISCREET_KEY.")
]


class ExportFormat(StrEnum):
    """How ``discreet journal export`` writes."""

    JSONL = "jsonl"
    AGENTACK = "agentack"


class Platform(StrEnum):
    """Where ``discreet init`` can put a bot."""

    TELEGRAM = "telegram"
    MATRIX = "matrix"


@app.callback()
def discreet(
    debug: Annotated[bool, typer.Option("--debug", help="Show where an internal error comes from.")] = False,
) -> None:
    if debug:
        show_faults()


@app.command(
    short_help="Make the files for a bot of yours.",
    epilog="\b\nExamples:\n  discreet init\n"
    "  TELEGRAM_BOT_TOKEN=... discreet init ./desk --operator-id 510000001 --group-id -1001234567890 --yes\n"
    "  discreet init --platform matrix --user @desk:example.org --operator-id @you:example.org",
)
def init(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Where the files go.")] = Path(),
    platform: Annotated[Platform | None, typer.Option(help="Where the bot is to be.", show_default=False)] = None,
    token: Annotated[
        str | None,
        typer.Option(
            help="Telegram: the bot's token from BotFather. Better be asked for it: others see command lines.",
            envvar="TELEGRAM_BOT_TOKEN",
        ),
    ] = None,
    user: Annotated[str | None, typer.Option(help="Matrix: the bot's user id, such as @desk:example.org.")] = None,
    operator_id: Annotated[
        str | None,
        typer.Option(help="Your own user id (Telegram: digits, Matrix: @you:server); you become an operator."),
    ] = None,
    group_id: Annotated[
        str | None, typer.Option(help="Id of a group, such as -1001234567890, or of a room, such as !abc:example.org.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Ask nothing; take what the options say.")] = False,
    api_url: Annotated[str, typer.Option(help="Telegram: another Bot API server.")] = "https://api.telegram.org",
    homeserver: Annotated[
        str | None,
        typer.Option(help="Matrix: address of the homeserver, only where the user id's server doesn't tell it."),
    ] = None,
) -> None:
    """Make config.yaml and policy.yaml for a bot on Telegram, after checking its token, or on Matrix."""
    from bot.cli.starting import Said, start

    start(
        folder,
        Said(
            platform=None if platform is None else platform.value,
            token=token,
            api_url=api_url,
            user=user,
            homeserver=homeserver,
            operator_id=operator_id,
            group_id=group_id,
            ask=not yes,
        ),
    )


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
    keep: Annotated[Path | None, typer.Option(help="Keep everything in this folder, for the next start.")] = None,
) -> None:
    """Show the whole gateway on this machine: a built-in chat, a scripted agent, nothing to set up."""
    from bot.cli.serving import show

    show(port=port, open_page=open_page, keep=keep)


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


@app.command(
    "mcp",
    short_help="Give agents tools that reach people (MCP).",
    epilog="\b\nExamples:\n  DISCREET_KEY=... discreet mcp\n  discreet mcp --key-file main.key --url http://127.0.0.1:8090\n\n"
    "\b\nIn the configuration of an MCP client:\n"
    '  {"mcpServers": {"people": {"command": "discreet", "args": ["mcp"], "env": {"DISCREET_KEY": "..."}}}}\n\n'
    "A client that speaks streamable HTTP needs no process: the same tools are at /mcp of the gateway's interface, "
    "with the same key as a bearer token.",
)
def mcp(url: UrlOption = DEFAULT_URL, key_file: KeyFileOption = None) -> None:
    """Serve tools on standard input and output: ask people, ask for approvals, hand over, tell results.

    An MCP client starts this. It talks to the interface of a running gateway (api: in its configuration) with the key
    of an agent, which stands in DISCREET_KEY or in a file.
    """
    from bot.cli.mcp import serve_tools

    serve_tools(url=url, key_file=key_file)


@app.command(
    "mcp-proxy",
    short_help="Hold an MCP server's tool calls until people agree.",
    epilog="\b\nExamples:\n  DISCREET_KEY=... discreet mcp-proxy --name files -- npx some-mcp-server /srv/files\n"
    "  discreet mcp-proxy --name shop --key-file main.key --server-url https://shop.example.org/mcp \\\n"
    "    --header 'Authorization: Bearer ${SHOP_TOKEN}'\n\n"
    "\b\nIn the configuration of an MCP client, in place of the server itself:\n"
    '  {"mcpServers": {"files": {"command": "discreet", "env": {"DISCREET_KEY": "..."},\n'
    '    "args": ["mcp-proxy", "--name", "files", "--", "npx", "some-mcp-server", "/srv/files"]}}}\n\n'
    "\b\nThe policy says which calls need nobody, which need an approval, and which are forbidden:\n"
    "  approvals:\n"
    "    rules:\n"
    '      - {name: reading, systems: [files], tools: ["read_*"], then: allow}\n'
    "      - {name: writing, systems: [files], then: ask}",
)
def mcp_proxy(
    name: Annotated[str, typer.Option("--name", help="Name of the server, as the policy has it under systems.")],
    command: Annotated[
        list[str] | None, typer.Argument(metavar="[-- COMMAND...]", help="The server's command, after --.")
    ] = None,
    server_url: Annotated[
        str | None, typer.Option("--server-url", help="Address of a server of streamable HTTP, in place of a command.")
    ] = None,
    header: Annotated[
        list[str] | None,
        typer.Option("--header", help="Sent to that address; ${NAME} stands for the environment. Can be repeated."),
    ] = None,
    wait: Annotated[
        float, typer.Option(min=0, max=86_400, help="Seconds after which the client hears that nobody has decided yet.")
    ] = 50.0,
    ask_people: Annotated[
        bool, typer.Option("--ask-people", help="What the server asks its user (elicitation) is asked of operators.")
    ] = False,
    person: Annotated[
        list[str] | None, typer.Option("--person", help="Id of an operator who is asked. Can be repeated.")
    ] = None,
    url: UrlOption = DEFAULT_URL,
    key_file: KeyFileOption = None,
) -> None:
    """Stand between an MCP client and a server: each call of a tool runs only when the gateway's policy lets it.

    Everything else passes. A call that needs people waits for them; what runs is what they approved, once, also where
    they have changed it, and the client is told. When it is denied, or nobody decides in time, the client reads that,
    too. After a wait the client makes the same call again, and goes on waiting.
    """
    from bot.cli.mcp import hold_calls

    hold_calls(
        name=name,
        command=command or (),
        server_url=server_url,
        headers=header or (),
        url=url,
        key_file=key_file,
        wait_s=wait,
        ask_people=ask_people,
        people=person or (),
    )


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


@record_app.command(
    "list",
    short_help="Show the entries, without what they say.",
    epilog="Example: discreet record list --values",
)
def list_record(
    config: ConfigOption = DEFAULT_CONFIG,
    values: Annotated[bool, typer.Option("--values", help="Show what they say, too.")] = False,
) -> None:
    """Show the entries of the record: id, who may see it, until when it holds, for what, and where it stands.

    Sources are asked as the daemon asks them. Exit code 1 if one can't be used.
    """
    from bot.cli.record import list_record as show

    raise typer.Exit(show(config, values=values))


@record_app.command("check", short_help="Check the sources.", epilog="Example: discreet record check")
def check_record(config: ConfigOption = DEFAULT_CONFIG) -> None:
    """Check each source of the record, and that no id stands in two. Exit code 1 if anything is wrong.

    What entries say is not shown.
    """
    from bot.cli.record import check_record as check

    raise typer.Exit(check(config))


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


@grants_app.command(
    "add",
    short_help="Let an agent write to one place.",
    epilog="Example: discreet grants add --agent main --destination telegram:7001:-1001234567890:42 --uses 3 "
    "--for 8h --purpose 'weekly figures'",
)
def add_grant(
    agent: Annotated[str, typer.Option("--agent", "-a", help="Name of the agent in the configuration.")],
    destination: Annotated[
        str, typer.Option("--destination", "-d", help="The place, written out: platform:bot:channel, then :thread.")
    ],
    purpose: Annotated[str, typer.Option("--purpose", "-p", help="What it is for; operators read it.")],
    lasts: Annotated[str, typer.Option("--for", help="How long it lasts, such as 30m, 8h or 7d.")],
    uses: Annotated[int, typer.Option("--uses", "-n", help="How many deliveries it is good for.")] = 1,
    config: ConfigOption = DEFAULT_CONFIG,
) -> None:
    """Make a grant and print its id: one agent may deliver to one complete destination, so often and so long.

    A grant for a channel is not one for its threads, nor the other way round. discreet channels shows destinations.
    """
    from bot.cli.grants import add

    add(config, agent=agent, destination=destination, uses=uses, lasts=lasts, purpose=purpose)


@grants_app.command(
    "list",
    short_help="Show the grants that can be used.",
    epilog="\b\nExamples:\n  discreet grants list\n  discreet grants list --all --json",
)
def list_grants(
    config: ConfigOption = DEFAULT_CONFIG,
    everything: Annotated[bool, typer.Option("--all", help="Also those that are used up, over or revoked.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line.")] = False,
) -> None:
    """Show who may write where unasked, how often it was used, until when, and who has granted it."""
    from bot.cli.grants import list_grants as show

    show(config, everything=everything, as_json=as_json)


@grants_app.command("revoke", short_help="Take a grant back.", epilog="Example: discreet grants revoke mfzgkzdsmvqwc")
def revoke_grant(
    grant: Annotated[str, typer.Argument(metavar="ID", help="Id of the grant.")],
    config: ConfigOption = DEFAULT_CONFIG,
) -> None:
    """Take a grant back. What is due later is muted; what has left has left."""
    from bot.cli.grants import revoke as take_back

    take_back(config, grant)


@deliveries_app.command(
    "list",
    short_help="Show them, without their words.",
    epilog="\b\nExamples:\n  discreet deliveries list\n  discreet deliveries list --json",
)
def list_deliveries(
    config: ConfigOption = DEFAULT_CONFIG,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line.")] = False,
) -> None:
    """Show what agents have scheduled, the latest first: when it is due, how it stands, and why it was muted."""
    from bot.cli.grants import list_deliveries as show

    show(config, as_json=as_json)


@keys_app.command(
    "add",
    short_help="Make a key; it is shown once.",
    epilog="\b\nExamples:\n  discreet keys add main\n"
    "  discreet keys add main --scope ask --scope propose --principal ann\n"
    "  discreet keys add nightly --scope dispatch --destination telegram:7001:-1001234567890:42",
)
def add_key(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Of the agent in the configuration; or of a dispatcher.")],
    scopes: Annotated[
        list[Scope] | None,
        typer.Option("--scope", "-s", help="What it is for; again for more. Default: all but dispatch."),
    ] = None,
    principals: Annotated[
        list[str] | None, typer.Option("--principal", help="Only for this person (id in the policy); again for more.")
    ] = None,
    destinations: Annotated[
        list[str] | None,
        typer.Option("--destination", "-d", help="Only there, threads included; again for more."),
    ] = None,
    config: ConfigOption = DEFAULT_CONFIG,
) -> None:
    """Make a key and print it, this once: it is kept as a digest. A running gateway takes it at once.

    An agent can have several, so that a new one can take the place of an old one. No key lets an agent decide or grant.
    """
    from bot.cli.keys import add

    add(config, name, scopes=scopes or (), principals=principals or (), destinations=destinations or ())


@keys_app.command(
    "list",
    short_help="Show whose keys there are, and what for.",
    epilog="\b\nExamples:\n  discreet keys list\n  discreet keys list --json",
)
def list_keys(
    config: ConfigOption = DEFAULT_CONFIG,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line.")] = False,
) -> None:
    """Show the keys that discreet keys add has made: whose they are and what they are for, never what they are."""
    from bot.cli.keys import list_keys as show

    show(config, as_json=as_json)


@keys_app.command("revoke", short_help="Take a key away.", epilog="Example: discreet keys revoke 1f0c9a3e")
def revoke_key(
    key: Annotated[str, typer.Argument(metavar="ID", help="Id of the key, as discreet keys list shows it.")],
    config: ConfigOption = DEFAULT_CONFIG,
) -> None:
    """Take a key away. From then on it is refused; what was asked for with it stays."""
    from bot.cli.keys import revoke

    revoke(config, key)


@keys_app.command("rotate", short_help="Sign with a new key.", epilog="Example: discreet keys rotate")
def rotate_key(config: ConfigOption = DEFAULT_CONFIG) -> None:
    """Make a new key with which answers of A2H are signed. A running gateway signs with it from the next answer on.

    The public halves of the latest keys stay in the JWKS, so that what was signed before can be checked.
    """
    from bot.cli.keys import rotate

    rotate(config)
