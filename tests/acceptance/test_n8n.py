"""The n8n workflow of the examples, played node by node against a running gateway (AGENT-4).

n8n itself is a gigabyte of packages and is not installed here. What stands in for it knows the few nodes that the workflow
uses, and their parameters by the names that n8n has for them.
"""

import asyncio
import json
import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from bot.config.secret import Secret
from bot.config.settings import CallbackAddress
from tests.agents_desk import SECRET, agents_desk, receiving

rule = pytest.mark.rule
WORKFLOW = json.loads((Path(__file__).parents[2] / "examples/n8n/refund_with_approval.json").read_text())
NODES = {node["name"]: node for node in WORKFLOW["nodes"]}
KNOWN = {
    "n8n-nodes-base.webhook": (2, {"httpMethod", "path", "responseMode", "options"}),
    "n8n-nodes-base.httpRequest": (
        4.2,
        {
            "method",
            "url",
            "authentication",
            "genericAuthType",
            "sendBody",
            "specifyBody",
            "jsonBody",
            "options",
        },
    ),
    "n8n-nodes-base.wait": (1.1, {"resume", "httpMethod", "options"}),
    "n8n-nodes-base.if": (2.2, {"conditions", "options"}),
    "n8n-nodes-base.set": (3.4, {"assignments", "options"}),
    "n8n-nodes-base.noOp": (1, set()),
}


class Json(dict):
    """A document whose fields are read as JavaScript does."""

    def __getattr__(self, name):
        value = self.get(name)
        return Json(value) if isinstance(value, dict) else value


def evaluated(text, *, item, execution, done):
    """A parameter of a node: as it is written, or an expression in it."""
    if not isinstance(text, str) or not text.startswith("="):
        return text
    names = {
        "item": Json(item),
        "execution": execution,
        "node": lambda name: SimpleNamespace(item=SimpleNamespace(json=Json(done[name]))),
        "dumps": json.dumps,
        "true": True,
    }

    def value(found):
        script = found[1].replace("JSON.stringify(", "dumps(").replace("$json", "item")
        script = script.replace("$execution", "execution").replace("$(", "node(")
        script = re.sub(r"([{,]\s*)(\w+):", r'\1"\2":', script)
        return eval(script.strip(), {"__builtins__": {}}, names)

    whole = re.fullmatch(r"=\{\{(.*)\}\}", text)
    if whole and "}}" not in whole[1].replace("} }", ""):
        return value(whole)
    return re.sub(r"\{\{(.*?)\}\}", lambda found: str(value(found)), text[1:])


class Player:
    """Plays the workflow once."""

    def __init__(self, desk, receiver):
        self.desk, self.receiver = desk, receiver
        self.execution = SimpleNamespace(id="231", resumeUrl=f"{receiver.url}/webhook-waiting/231?signature=0f3a")
        self.done = {}

    async def play(self, name, item):
        """A node, and those behind it; the names that were played."""
        node = NODES[name]
        kind, parameters = node["type"].removeprefix("n8n-nodes-base."), node["parameters"]

        def given(text):
            return evaluated(text, item=item, execution=self.execution, done=self.done)

        branch = 0
        if kind == "httpRequest":
            assert (parameters["authentication"], parameters["genericAuthType"]) == (
                "genericCredentialType",
                "httpHeaderAuth",
            )
            path = given(parameters["url"]).removeprefix("http://127.0.0.1:8090")
            status, item = await self.desk.call(parameters["method"], path, json.loads(given(parameters["jsonBody"])))
            assert status in (200, 201), item
        elif kind == "wait":
            await self.receiver.wait()
            path, _, body = self.receiver.came[0]
            assert (path, parameters["httpMethod"]) == ("/webhook-waiting/231?signature=0f3a", "POST")
            item = {"body": json.loads(body)}
        elif kind == "if":
            (one,) = parameters["conditions"]["conditions"]
            assert one["operator"] == {"type": "string", "operation": "equals"}
            branch = 0 if given(one["leftValue"]) == one["rightValue"] else 1
        elif kind == "set":
            item = {one["name"]: given(one["value"]) for one in parameters["assignments"]["assignments"]}
        self.done[name] = item
        played = [name]
        for following in (WORKFLOW["connections"].get(name, {}).get("main") or [[], []])[branch]:
            played += await self.play(following["node"], item)
        return played


def test_the_workflow_holds_only_what_n8n_knows_and_no_key():
    assert set(KNOWN) >= {node["type"] for node in WORKFLOW["nodes"]}
    for node in WORKFLOW["nodes"]:
        version, parameters = KNOWN[node["type"]]
        assert (node["typeVersion"], node["parameters"].keys() - parameters) == (version, set()), node["name"]
        for credential in node.get("credentials", {}).values():
            assert set(credential) == {"id", "name"}
    for source, outputs in WORKFLOW["connections"].items():
        assert source in NODES
        for one in (one for output in outputs["main"] for one in output):
            assert (one["node"] in NODES, one["type"], one["index"]) == (True, "main", 0)
    assert len({node["id"] for node in WORKFLOW["nodes"]}) == len(NODES)
    assert WORKFLOW["pinData"] == {}


@rule("AGENT-4")
@pytest.mark.parametrize("what", ["approve", "change", "deny", "policy"])
async def test_a_flow_waits_for_people_with_the_nodes_of_n8n_and_acts_on_what_was_decided(api, tmp_path, what):
    async with receiving() as receiver:
        allowed = CallbackAddress(to=f"{receiver.url}/webhook-waiting", secrets=(Secret(SECRET),), allow_private=True)
        async with agents_desk(tmp_path, api, callbacks=[allowed]) as desk:
            amount = 5 if what == "policy" else 120
            player = Player(desk, receiver)
            body = {"body": {"order": 17, "amount": amount, "reason": "The parcel was lost."}}
            task = asyncio.create_task(player.play("Refund is wanted", body))
            if what == "approve":
                await desk.press_on(0, "Approve")
            elif what == "change":
                await desk.change(0, {"amount": 90})
            elif what == "deny":
                await desk.deny_with(0, "it was found")
            played = await asyncio.wait_for(task, 40)
            (approval,) = await desk.gateway.store.approvals.recent(9)
            if what == "deny":
                assert played[-1] == "Not approved"
                assert approval.state.value == "denied"
            else:
                assert played[-2:] == ["Refund", "Tell the outcome"]
                assert player.done["Refund"] == {"order": 17, "amount": 90 if what == "change" else amount}
                assert (approval.state.value, approval.note) == ("executed", "execution 231")
