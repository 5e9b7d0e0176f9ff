"""``discreet mcp-proxy``: an MCP server to its client, a client to the server behind it (APPR-10)."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from bot.config.secret import Secret
from bot.mcp.eliciting import Eliciting
from bot.mcp.gateway import Gateway, connection
from bot.mcp.holding import Holding
from bot.mcp.relay import Peer, Relay
from bot.mcp.stamping import Stamps
from bot.mcp.standard import client_here


@dataclass(frozen=True, kw_only=True, slots=True)
class Behind:
    """The server behind the proxy: a command, or an address.

    Attributes:
        name: as the policy's rules have it (``systems``).
        command: with its arguments.
        environment: of the command.
        url: of streamable HTTP.
        headers: sent to that address.
    """

    name: str
    command: Sequence[str] = ()
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)


async def run_proxy(
    behind: Behind, *, url: str, key: Secret, wait_s: float, ask_people: bool, people: Sequence[str]
) -> None:
    """Stand between standard input and output and a server, until one of them has gone.

    Args:
        behind: the server.
        url: of the gateway's interface.
        key: of the agent.
        wait_s: seconds after which a client is told that nobody has decided yet.
        ask_people: what the server asks its user is asked of people.
        people: of whom; none: of operators.
    """
    async with connection() as http, _server(behind) as server, client_here() as client:
        gateway = Gateway(http, url=url, key=key)
        relay = Relay(
            client=client,
            server=server,
            holding=Holding(gateway, system=behind.name, wait_s=wait_s),
            eliciting=Eliciting(gateway, system=behind.name, people=people) if ask_people else None,
            stamps=Stamps() if behind.url else None,
        )
        await relay.run()


@asynccontextmanager
async def _server(behind: Behind) -> AsyncIterator[Peer]:
    if behind.url:
        from mcp.client.streamable_http import streamable_http_client
        from mcp.shared._httpx_utils import create_mcp_http_client

        async with (
            create_mcp_http_client(headers=dict(behind.headers)) as http,
            streamable_http_client(behind.url, http_client=http) as (incoming, outgoing),
        ):
            yield Peer(incoming=incoming, outgoing=outgoing)
        return
    from mcp.client.stdio import StdioServerParameters, stdio_client

    command, *arguments = behind.command
    started = StdioServerParameters(command=command, args=arguments, env=dict(behind.environment))
    async with stdio_client(started) as (incoming, outgoing):
        yield Peer(incoming=incoming, outgoing=outgoing)
