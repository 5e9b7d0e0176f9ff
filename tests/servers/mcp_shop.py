"""A small shop as an MCP server by the official SDK: what it does stands in a ledger, a line for each thing done.

    python -m tests.servers.mcp_shop LEDGER [PORT]

On standard input and output, or on a port of loopback; or as an application of streamable HTTP (:func:`shop`).
"""

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Annotated, Any, Literal

from mcp.server.mcpserver import Context, Elicit, ElicitationResult, MCPServer, Resolve
from mcp.shared.exceptions import MCPError
from pydantic import BaseModel, Field


class Size(BaseModel):
    size: Literal["small", "large"]
    gift: bool = Field(title="A gift")


def shop(ledger: Path) -> MCPServer:
    server = MCPServer("shop")

    def write(**done: Any) -> None:
        with ledger.open("a") as opened:
            opened.write(json.dumps(done) + "\n")

    @server.tool()
    def read_order(order: int) -> str:
        write(read=order)
        return f"order {order}: a lamp"

    @server.tool()
    def read_environment() -> str:
        return " ".join(sorted(os.environ))

    @server.tool()
    async def refund(order: int, amount: int, ctx: Context) -> str:
        await ctx.report_progress(1, 2, "paying")
        write(refund=order, amount=amount)
        return f"refunded {amount}"

    @server.tool()
    async def slow(order: int) -> str:
        write(slow=order)
        while not (ledger.parent / "go").exists():
            await asyncio.sleep(0.01)  # until the test lets it, or ends the process
        return "done at last"

    @server.tool()
    def die(order: int) -> str:
        write(die=order)
        os._exit(3)

    @server.tool()
    def broken(order: int) -> str:
        write(broken=order)
        raise ValueError("no such order")

    @server.tool()
    def confused(order: int) -> str:
        write(confused=order)
        raise MCPError(-32603, "internal")

    def ask(order: int) -> Elicit[Size]:
        return Elicit(f"Which size for {order}?", Size)

    @server.tool()
    def pack(order: int, answer: Annotated[ElicitationResult[Size], Resolve(ask)]) -> str:
        write(pack=order, action=answer.action)
        return f"{answer.action}: {answer.data.model_dump() if answer.action == 'accept' else None}"

    @server.resource("shop://hours")
    def hours() -> str:
        return "9 to 18"

    @server.prompt()
    def greet(name: str) -> str:
        return f"Greet {name}."

    return server


if __name__ == "__main__":
    if len(sys.argv) == 2:
        shop(Path(sys.argv[1])).run("stdio")
    else:
        shop(Path(sys.argv[1])).run("streamable-http", port=int(sys.argv[2]))
