"""``discreet mcp-proxy``: an MCP server to its client, a client to the server behind it (APPR-10)."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

from bot.config.errors import DiscreetError
from bot.config.secret import Secret
from bot.mcp.eliciting import Eliciting
from bot.mcp.gateway import Gateway, connection
from bot.mcp.holding import Holding
from bot.mcp.relay import Peer, Relay
from bot.mcp.stamping import Stamps
from bot.mcp.standard import client_here

CALL_S: Final = 30.0
READ_S: Final = 600.0
"""Seconds without a sign of life, after which a server of HTTP is taken for gone."""


class ServerError(DiscreetError):
    """The server behind can't be reached any more."""


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
    relaying: asyncio.Task[None] | None = None
    async with connection() as http, client_here() as client:
        try:
            async with _server(behind) as server:
                gateway = Gateway(http, url=url, key=key)
                relay = Relay(
                    client=client,
                    server=server,
                    holding=Holding(gateway, system=behind.name, wait_s=wait_s),
                    eliciting=Eliciting(gateway, system=behind.name, people=people) if ask_people else None,
                    stamps=Stamps() if behind.url else None,
                )
                relaying = asyncio.create_task(relay.run(), name="relay")
                await asyncio.shield(relaying)  # a connection that breaks cancels us here, and not what is to be told
        finally:
            if relaying is not None:
                await relaying


@asynccontextmanager
async def _server(behind: Behind) -> AsyncIterator[Peer]:
    if behind.url:
        import httpx2
        from mcp.client.streamable_http import streamable_http_client

        timeout = httpx2.Timeout(CALL_S, read=READ_S)
        try:
            async with (
                httpx2.AsyncClient(headers=dict(behind.headers), timeout=timeout) as http,
                streamable_http_client(behind.url, http_client=http) as (incoming, outgoing),
            ):
                yield Peer(incoming=incoming, outgoing=outgoing)
        except* httpx2.HTTPError as errors:
            kinds = sorted({type(one).__name__ for one in _leaves(errors)})
            raise ServerError(f"the server can't be reached ({', '.join(kinds)}); see that it runs") from None
        return
    from mcp.client.stdio import StdioServerParameters, stdio_client

    command, *arguments = behind.command
    started = StdioServerParameters(command=command, args=arguments, env=dict(behind.environment))
    async with stdio_client(started) as (incoming, outgoing):
        yield Peer(incoming=incoming, outgoing=outgoing)


def _leaves(errors: BaseExceptionGroup[BaseException]) -> Iterator[BaseException]:
    for one in errors.exceptions:
        if isinstance(one, BaseExceptionGroup):
            yield from _leaves(one)
        else:
            yield one
