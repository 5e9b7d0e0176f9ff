"""The examples for agents run as they stand, each in a process of its own, against a running gateway (AGENT-4)."""

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

from tests.agents_desk import KEY, agents_desk

rule = pytest.mark.rule
ROOT = Path(__file__).parents[2]


async def started(name, folder, desk, **more):
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "DISCREET_URL": desk.url,
        "DISCREET_KEY": KEY,
        "LANGSMITH_TRACING": "false",
        **more,
    }
    return await asyncio.create_subprocess_exec(
        sys.executable,
        str(ROOT / "examples" / name),
        cwd=folder,
        env=environment,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )


async def said(process):
    """Everything that it says, when it has ended well."""
    text, _ = await asyncio.wait_for(process.communicate(), 60)
    assert process.returncode == 0, text.decode()
    return text.decode()


@rule("AGENT-4", "DUR-3")
@pytest.mark.parametrize("name", ["langgraph_refund.py", "pydantic_ai_refund.py"])
async def test_an_agent_whose_process_is_killed_while_it_waits_goes_on_with_the_same_card(api, tmp_path, name):
    async with agents_desk(tmp_path, api) as desk:
        first = await started(name, tmp_path, desk)
        card = await desk.card_of(0, within_s=60)
        first.send_signal(signal.SIGKILL)
        await first.communicate()
        second = await started(name, tmp_path, desk)
        desk.press("Approve", card=card)
        text = await said(second)
        assert "refunded 120 for order 17" in text
        assert (tmp_path / "refunds.txt").read_text() == "17 120\n"
        assert len(desk.cards) == 1
        (approval,) = await desk.gateway.store.approvals.recent(9)
        assert approval.state.value == "executed"


@rule("AGENT-4")
async def test_a_call_behind_the_agent_approval_protocol_runs_when_a_person_approves(api, tmp_path):
    async with agents_desk(tmp_path, api) as desk:
        process = await started("aap_gate.py", tmp_path, desk)
        card = await desk.card_of(0, within_s=60)
        desk.press("Approve", card=card)
        assert await said(process) == "refunded\n"
        (approval,) = await desk.gateway.store.approvals.recent(9)
        assert approval.state.value == "executed"
