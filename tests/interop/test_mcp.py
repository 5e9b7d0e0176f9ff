"""MCP by those who know nothing of us: the protocol's conformance suite, and a server that others have written."""

import asyncio
import json
import os
import sys
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from mcp import Client, StdioServerParameters

from bot.model.approval import ApprovalState
from tests.acceptance.conftest import api
from tests.interop.person import MODULES, NODE, need_node
from tests.mcp_desk import KEY, ROOT, mcp_desk

__all__ = ["api"]

rule = pytest.mark.rule
SUITE = MODULES / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
FILES = MODULES / "@modelcontextprotocol" / "server-filesystem" / "dist" / "index.js"
WHOLE = {
    "2025-11-25": ["server-initialize", "ping", "tools-list", "dns-rebinding-protection"],
    "2026-07-28": [
        "tools-list",
        "server-sse-multiple-streams",
        "dns-rebinding-protection",
        "http-header-validation",
        "sep-2164-resource-not-found",
        "input-required-result-unsupported-methods",
        "input-required-result-ignore-extra-params",
        "input-required-result-validate-input",
        "server-stateless",
        "caching",
    ],
}
"""What applies to a server that has tools of its own and nothing else. The other scenarios call tools, prompts and
resources that a server made for the suite has, or speak of extensions."""
NOT_OURS = {
    "caching": {"prompts/list", "resources/list", "resources/templates/list"},
    "server-stateless": {"test_missing_capability", "test_streaming_elicitation", "test_logging_tool"},
}
"""What the suite misses there: methods and tools that this server does not have."""


@asynccontextmanager
async def front(url: str):
    """The suite sends no key, so somebody before the gateway adds one."""
    async with aiohttp.ClientSession() as http:

        async def handle(request: web.Request) -> web.StreamResponse:
            headers = {name: value for name, value in request.headers.items() if name.lower() not in HOP}
            headers["Authorization"] = f"Bearer {KEY}"
            body = await request.read()
            async with http.request(request.method, url + request.path_qs, data=body, headers=headers) as answer:
                kept = {name: value for name, value in answer.headers.items() if name.lower() not in HOP}
                back = web.StreamResponse(status=answer.status, headers=kept)
                await back.prepare(request)
                async for piece in answer.content.iter_any():
                    await back.write(piece)
                await back.write_eof()
                return back

        app = web.Application()
        app.router.add_route("*", "/{rest:.*}", handle)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        try:
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            yield f"http://localhost:{runner.addresses[0][1]}/mcp"
        finally:
            await runner.cleanup()


HOP = {"content-length", "transfer-encoding", "connection"}


async def judged(url: str, version: str, scenario: str, folder: Path) -> list[dict[str, Any]]:
    """The suite's own verdicts on one scenario."""
    process = await asyncio.create_subprocess_exec(
        *(str(NODE), str(SUITE), "server", "--url", url, "--scenario", scenario, "--spec-version", version),
        *("--output-dir", str(folder)),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    async with asyncio.timeout(60):
        said, _ = await process.communicate()
    (found,) = list(folder.rglob("checks.json")) or pytest.fail(said.decode())
    checks: list[dict[str, Any]] = json.loads(found.read_text())
    return checks


@rule("AGENT-2")
async def test_the_conformance_suite_finds_nothing_wrong_with_what_the_server_has(api, tmp_path):
    need_node(SUITE)
    async with mcp_desk(tmp_path, api) as desk, front(desk.url) as url:
        for version, scenarios in WHOLE.items():
            for scenario in scenarios:
                checks = await judged(url, version, scenario, tmp_path / version / scenario)
                assert [one for one in checks if one["status"] == "SUCCESS"], scenario
                wrong = [one for one in checks if one["status"] == "FAILURE"]
                missed = NOT_OURS.get(scenario, set())
                unexplained = [one for one in wrong if not any(name in json.dumps(one) for name in missed)]
                assert unexplained == [], (version, scenario)


@rule("APPR-10")
async def test_a_server_of_others_writes_a_file_only_when_a_person_lets_it(api, tmp_path):
    need_node(FILES)
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "a.txt").write_text("a")
    async with mcp_desk(tmp_path, api) as desk:
        server = StdioServerParameters(
            command=sys.executable,
            args=["-m", "bot", "mcp-proxy", "--name", "files", "--", str(NODE), str(FILES), str(folder)],
            env={"DISCREET_KEY": KEY, "DISCREET_URL": desk.url, "PYTHONPATH": str(ROOT), "PATH": os.environ["PATH"]},
        )
        async with Client(server) as client:
            read = await client.call_tool("read_text_file", {"path": str(folder / "a.txt")})
            assert (read.is_error, read.content[0].text) == (False, "a")
            written = {"path": str(folder / "b.txt"), "content": "b"}
            call = asyncio.create_task(client.call_tool("write_file", written))
            approval = await desk.approval()
            assert not (folder / "b.txt").exists()
            await desk.tap("Approve")
            assert not (await call).is_error
            assert (folder / "b.txt").read_text() == "b"
            assert await desk.state(approval) is ApprovalState.EXECUTED
