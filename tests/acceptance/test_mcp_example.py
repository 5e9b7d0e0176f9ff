"""The example of docs/mcp.md runs as it stands there, and people meet it (AGENT-2)."""

import asyncio
import os
import sys

import pytest

from bot.model.approval import ApprovalState
from tests.mcp_desk import KEY, ROOT, mcp_desk

rule = pytest.mark.rule


@rule("AGENT-2")
async def test_the_example_asks_proposes_acts_once_and_tells_the_outcome(api, tmp_path):
    async with mcp_desk(tmp_path, api) as desk:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            str(ROOT / "examples" / "mcp_agent.py"),
            env={"PATH": os.environ["PATH"], "DISCREET_URL": desk.url, "DISCREET_KEY": KEY},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            await desk.answer(await desk.message("Was the parcel of order 17 lost?"), "Yes")
            approval = await desk.approval()
            await desk.tap("Approve")
            async with asyncio.timeout(30):
                out, err = await process.communicate()
            assert err == b""
            assert out.decode().splitlines() == ["paid 120 back for order 17", "the approval is executed"]
            assert await desk.state(approval) is ApprovalState.EXECUTED
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
