"""What speaks the Model Context Protocol: the server beside the interface, and the processes of the command line."""

from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed_version
from typing import TYPE_CHECKING

from bot.config.secret import Secret

if TYPE_CHECKING:
    from bot.mcp.proxy import Behind
    from bot.mcp.site import McpSite


def program_version() -> str:
    """Of this program, as servers and clients say it of themselves."""
    try:
        return installed_version("discreet")
    except PackageNotFoundError:
        return "0"


def mcp_site() -> "McpSite":
    """The server at ``/mcp`` of the interface."""
    from bot.mcp.site import McpSite

    return McpSite(version=program_version())


async def run_mcp(*, url: str, key: Secret) -> None:
    """``discreet mcp``."""
    from bot.mcp.stdio import serve_stdio

    await serve_stdio(url=url, key=key, version=program_version())


async def run_mcp_proxy(
    behind: "Behind", *, url: str, key: Secret, wait_s: float, ask_people: bool, people: Sequence[str]
) -> None:
    """``discreet mcp-proxy`` (see :func:`bot.mcp.proxy.run_proxy`)."""
    from bot.mcp.proxy import run_proxy

    await run_proxy(behind, url=url, key=key, wait_s=wait_s, ask_people=ask_people, people=people)
