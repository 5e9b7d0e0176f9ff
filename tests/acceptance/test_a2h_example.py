"""The example of docs/a2h.md, as a process of its own (AGENT-1)."""

import asyncio
import os
import sys
from pathlib import Path

import pytest

from tests.a2h_desk import a2h_desk

rule = pytest.mark.rule
EXAMPLE = Path(__file__).parents[2] / "examples" / "a2h_agent.py"


@rule("AGENT-1")
async def test_the_example_asks_acts_and_tells(api, tmp_path):
    async with a2h_desk(tmp_path, api) as here:
        await here.grant(await here.meet())
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            str(EXAMPLE),
            *("main", "ann"),
            env={**os.environ, "A2H_GATEWAY": here.url, "A2H_KEY": here.client.key},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        await here.tap("Approve")
        async with asyncio.timeout(60):
            out, _ = await process.communicate()
        assert process.returncode == 0, out.decode()
        assert "ANSWERED APPROVE" in out.decode()
        await here.reads("The print server is back.")
