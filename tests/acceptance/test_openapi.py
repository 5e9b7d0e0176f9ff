"""The OpenAPI document that the gateway serves is what it does: schemathesis judges the running gateway by it (AGENT-1)."""

import asyncio
import os
import sys
from pathlib import Path

import pytest

import bot.api.answering
from bot.api.site import Callers, Paces
from bot.config.credentials import Scope
from bot.deliveries.pacing import Rate
from tests.a2h_desk import a2h_desk

rule = pytest.mark.rule
MAX_EXAMPLES = 12
HOOKS = """
import schemathesis


@schemathesis.hook
def map_body(context, body):
    \"\"\"Who asks whom can't be said by a schema: take those that there are, where a name stands.\"\"\"
    if context.operation.path == "/v1/intent" and isinstance(body, dict):
        for name, known in (("agent_id", "main"), ("principal_id", "ann")):
            if isinstance(body.get(name), str) and 0 < len(body[name]) <= 256:
                body[name] = known
        for one in (body, body.get("params")):
            if isinstance(one, dict) and isinstance(one.get("profile"), str):
                del one["profile"]
    return body
"""
CONFIG = """
hooks = "hooks"

[generation]
max-examples = {examples}
deterministic = true
database = "none"

[checks]
positive_data_acceptance.expected-statuses = ["2xx", "401", "403", "404", "409", "422", "429", "503"]
negative_data_rejection.expected-statuses = ["400", "401", "403", "404", "405", "409", "413", "422", "429"]

[phases.stateful]
enabled = true

[[operations]]
include-path-regex = "^/v1/grants"
headers = {{ Authorization = "Bearer {dispatcher}" }}

[[operations]]
exclude-path-regex = "^/v1/grants"
headers = {{ Authorization = "Bearer {agent}" }}
"""


@rule("AGENT-1")
async def test_schemathesis_finds_nothing_at_the_running_gateway(api, tmp_path, monkeypatch):
    monkeypatch.setattr(Callers, "paces", lambda _self, _rate: Paces(Rate(per_s=1e6, burst=10**6)))
    monkeypatch.setattr(bot.api.answering, "LONGEST_WAIT_S", 0.05)
    async with a2h_desk(tmp_path, api) as here:
        await here.grant(await here.meet(), uses=1000)
        dispatcher = here.agent("nightly", scopes=[Scope.DISPATCH])
        config = tmp_path / "schemathesis.toml"
        config.write_text(CONFIG.format(examples=MAX_EXAMPLES, dispatcher=dispatcher.key, agent=here.client.key))
        (tmp_path / "hooks.py").write_text(HOOKS)
        process = await asyncio.create_subprocess_exec(
            str(Path(sys.executable).parent / "schemathesis"),
            *("--config-file", str(config), "run", f"{here.url}/v1/openapi.json"),
            *("--checks", "all", "--no-color", "--continue-on-failure"),
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(tmp_path)},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        async with asyncio.timeout(300):
            out, _ = await process.communicate()
        assert process.returncode == 0, out.decode()[-6000:]


@rule("AGENT-1")
async def test_the_document_has_every_call_and_no_other(api, tmp_path):
    async with a2h_desk(tmp_path, api) as here:
        status, found = await here.client.call("GET", "/v1/openapi.json")
        assert status == 200
        described = {(verb.upper(), path) for path, verbs in found["paths"].items() for verb in verbs}
        served = {(route.method, route.resource.canonical) for route in here.application.router.routes()}
        assert described == {one for one in served if not one[1].startswith("/aap/")}
