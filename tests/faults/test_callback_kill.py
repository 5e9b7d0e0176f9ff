"""kill -9 between the attempts of a callback: the next daemon tells it, under the same id (DUR-3, AGENT-4)."""

import json
import signal

import aiohttp
import pytest
from standardwebhooks import Webhook

from tests.acceptance.test_chat_run import POLICY, daemon
from tests.agents_desk import KEY, SECRET, receiving

CONFIG = """\
agents:
  main: {{kind: echo}}
chat:
  enabled: true
  listen: "127.0.0.1:0"
  rooms:
    operators: {{title: Operators, members: [olga]}}
api:
  enabled: true
  listen: "127.0.0.1:0"
  callbacks:
    - {{to: "{url}/hooks", secret_file: callback-secret, agents: [main], allow_private: true}}
metrics: {{enabled: false}}
"""
RULES = "approvals: {rules: [{name: small, tools: [refund], then: allow}]}\n"


@pytest.mark.rule("DUR-3", "AGENT-4")
async def test_a_callback_outlives_the_daemon_and_is_known_by_its_id(tmp_path):
    async with receiving() as receiver:
        receiver.answers = [503, 204]
        files = {
            "config.yaml": CONFIG.format(url=receiver.url),
            "policy.yaml": POLICY + RULES,
            "api-keys": f"main {KEY}\n",
            "callback-secret": f"{SECRET}\n",
        }
        for name, text in files.items():
            (tmp_path / name).write_text(text)
            (tmp_path / name).chmod(0o600)
        async with daemon(tmp_path, how=signal.SIGKILL) as one:
            url = f"http://127.0.0.1:{(await one.logged('api'))['port']}/v1/approvals"
            body = {"action": "refund", "parameters": {"n": 1}, "callback": {"url": f"{receiver.url}/hooks/231?s=0f"}}
            async with (
                aiohttp.ClientSession(headers={"Authorization": f"Bearer {KEY}"}) as http,
                http.post(url, json=body) as answer,
            ):
                assert answer.status == 201
                approval = await answer.json()
            await receiver.wait()
        async with daemon(tmp_path):
            await receiver.wait(2, within_s=60)  # killed in the middle of the attempt, it is taken for lost after 15 s
        (first, _, _), (path, headers, body) = receiver.came
        assert first == path == "/hooks/231?s=0f"
        assert len({one["webhook-id"] for _, one, _ in receiver.came}) == 1
        assert Webhook(SECRET).verify(body, headers)["data"]["id"] == approval["id"]
        assert json.loads(body)["data"]["state"] == "approved"
