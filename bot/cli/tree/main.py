"""The commands without a group, and the groups."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from bot.cli.failing import show_faults
from bot.cli.tree.approvals import approvals_app
from bot.cli.tree.chat import chat_app
from bot.cli.tree.form import form_app
from bot.cli.tree.grants import deliveries_app, grants_app
from bot.cli.tree.journal import journal_app
from bot.cli.tree.keys import keys_app
from bot.cli.tree.matrix import matrix_app
from bot.cli.tree.options import DEFAULT_CONFIG, ConfigOption
from bot.cli.tree.passkeys import passkeys_app
from bot.cli.tree.policy import policy_app
from bot.cli.tree.record import record_app

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

UrlOption = Annotated[
    str, typer.Option("--url", help="Address of the gateway's interface for agents.", envvar="DISCREET_URL")
]
DEFAULT_URL = "http://127.0.0.1:8090"
KeyFileOption = Annotated[
    Path | None, typer.Option("--key-file", help="A file that holds the agent's key; left out: DISCREET_KEY.")
]


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
