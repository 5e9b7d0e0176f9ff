"""The MCP server on standard input and output: a thin client of a gateway that runs elsewhere on this machine."""

from bot.config.secret import Secret
from bot.mcp.gateway import Gateway, connection
from bot.mcp.server import build
from bot.mcp.tools import Tools


async def serve_stdio(*, url: str, key: Secret, version: str) -> None:
    """Serve until standard input ends.

    Args:
        url: of the gateway's interface.
        key: of the agent.
        version: of this program.
    """
    from mcp.server.stdio import stdio_server

    async with connection() as http:
        tools = Tools(Gateway(http, url=url, key=key))
        server = build(lambda _: tools, version=version)
        async with stdio_server() as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())
