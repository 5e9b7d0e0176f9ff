"""The handbook's five minutes with a model: its configuration, its example, a daemon of its own, people in the chat."""

import asyncio
import re
import sys
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.acceptance.test_chat_run import CONFIG, POLICY, answer_to, daemon, entered
from tests.browser.visitor import visit

rule = pytest.mark.rule
ROOT = Path(__file__).parents[2]
HANDBOOK = (ROOT / "docs" / "agents.md").read_text(encoding="utf-8")


@asynccontextmanager
async def practice():
    """The example as it stands, in a process of its own; its address."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, str(ROOT / "examples" / "practice_model.py"), "--port", "0", stdout=asyncio.subprocess.PIPE
    )
    try:
        line = await asyncio.wait_for(process.stdout.readline(), 30)
        yield line.decode().removeprefix("base_url: ").strip()
    finally:
        process.kill()
        await process.wait()


@pytest.fixture
async def folder(tmp_path):
    (block,) = re.findall(r"```yaml\n(agents:\n  main:\n    kind: openai\n.*?)```", HANDBOOK, re.DOTALL)
    async with practice() as url:
        config = CONFIG.replace("agents:\n  main: {kind: echo}\n", block.replace("http://127.0.0.1:8099/v1", url))
        assert url in config
        reports = POLICY.replace("{audience: internal}", "{audience: internal, reports: true}")
        for name, text in (("config.yaml", config), ("policy.yaml", reports)):
            (tmp_path / name).write_text(text)
            (tmp_path / name).chmod(0o600)
        yield tmp_path


@rule("AGENT-3")
async def test_the_handbooks_model_for_practice_asks_goes_on_remembers_and_files_a_draft(folder):
    async with daemon(folder) as running, visit(running) as ann, visit(running) as olga, asyncio.timeout(60):
        await entered(ann, running, "ann")
        await entered(olga, running, "olga")
        hello = await ann.say("customers", "@desk hello")
        assert (await answer_to(ann, hello))["text"].endswith("I remember 0 answers of mine.")
        coffee = await ann.say("customers", "@desk a coffee, please")
        card = await answer_to(ann, coffee)
        token = next(one["token"] for one in card["card"]["buttons"] if one["label"] == "large")
        async with ann.stream() as stream:
            await ann.post(f"/api/rooms/customers/messages/{card['id']}/tap", {"token": token})
            await stream.until("message", text="One large coffee, coming.")
        again = await ann.say("customers", "@desk hello again")
        assert (await answer_to(ann, again))["text"].endswith("I remember 2 answers of mine.")
        await ann.say("customers", "@desk what is the price?")
        async with olga.stream() as stream:
            while True:
                shown = await stream.until("message", room="operators")
                if "A coffee is 3 EUR." in str(shown.get("card")):
                    break
        assert "3 EUR" not in str(await ann.state())
