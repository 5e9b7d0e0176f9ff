"""A client, the proxy and a server, each a process of its own, and people who decide (APPR-10)."""

import asyncio
import json
import socket
import sys
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from mcp import Client, MCPError
from mcp.shared.memory import create_client_server_memory_streams

from bot.config.secret import Secret
from bot.mcp.eliciting import Eliciting
from bot.mcp.gateway import Gateway
from bot.mcp.holding import Holding
from bot.mcp.relay import Peer, Relay
from bot.model.approval import ApprovalState
from tests.mcp_desk import KEY, ROOT, McpDesk, mcp_desk, stdio_client
from tests.servers.mcp_shop import shop

rule = pytest.mark.rule
ERAS = ["auto", "legacy"]


@dataclass
class Shop:
    desk: McpDesk
    client: Client
    ledger: Path

    @property
    def done(self) -> list[Any]:
        return [json.loads(line) for line in self.ledger.read_text().splitlines()] if self.ledger.exists() else []

    async def written(self, number: int = 1) -> None:
        async with asyncio.timeout(15):
            while len(self.done) < number:
                await asyncio.sleep(0.01)  # bounded above

    def call(self, name: str, **arguments: Any) -> asyncio.Task[Any]:
        return asyncio.create_task(self.client.call_tool(name, arguments))

    async def decided(self, label: str = "Approve") -> Any:
        """Wait for the card of a new approval, and tap."""
        approval = await self.desk.approval()
        await self.desk.tap(label)
        return approval

    async def ended(self, approval: Any, state: ApprovalState) -> None:
        async with asyncio.timeout(15):
            while await self.desk.state(approval) is not state:
                await asyncio.sleep(0.01)  # bounded above


def command(tmp_path: Path, *options: str) -> list[str]:
    ledger = str(tmp_path / "ledger")
    return ["mcp-proxy", "--name", "shop", *options, "--", sys.executable, "-m", "tests.servers.mcp_shop", ledger]


@asynccontextmanager
async def processes(tmp_path, desk, **more):
    """The proxy and the server as processes of their own."""
    async with stdio_client(desk, *command(tmp_path), **more) as client:
        yield Shop(desk, client, tmp_path / "ledger")


@asynccontextmanager
async def shopping(tmp_path, api, *, desk=None, wait_s=50.0, people=None, key=KEY, **more):
    """The proxy and the server in this process, with nothing but their pipes replaced."""
    async with AsyncExitStack() as stack:
        desk = await stack.enter_async_context(mcp_desk(tmp_path, api)) if desk is None else desk
        near, here = await stack.enter_async_context(create_client_server_memory_streams())
        there, far = await stack.enter_async_context(create_client_server_memory_streams())
        server = shop(tmp_path / "ledger")._lowlevel_server
        serving = asyncio.create_task(server.run(*far, server.create_initialization_options()))
        http = await stack.enter_async_context(aiohttp.ClientSession())
        gateway = Gateway(http, url=desk.url, key=Secret(key))
        relay = Relay(
            client=Peer(incoming=here[0], outgoing=here[1]),
            server=Peer(incoming=there[0], outgoing=there[1]),
            holding=Holding(gateway, system="shop", wait_s=wait_s),
            eliciting=None if people is None else Eliciting(gateway, system="shop", people=people),
            stamps=None,
        )
        relaying = asyncio.create_task(relay.run())
        try:
            async with Client(_pipes(near), **more) as client:
                yield Shop(desk, client, tmp_path / "ledger")
        finally:
            await near[1].aclose()
            async with asyncio.timeout(20):
                await relaying
            serving.cancel()
            await asyncio.gather(serving, return_exceptions=True)


@asynccontextmanager
async def _pipes(streams):
    yield streams


def text(result: Any) -> str:
    return " ".join(one.text for one in result.content)


def about(result: Any) -> Any:
    return result.meta["discreet/approval"]


@rule("APPR-10", "APPR-1")
@pytest.mark.parametrize("mode", ERAS)
async def test_everything_passes_and_a_call_runs_when_the_policy_or_a_person_lets_it(api, tmp_path, mode):
    async with mcp_desk(tmp_path, api) as desk, processes(tmp_path, desk, mode=mode) as there:
        assert "refund" in {tool.name for tool in (await there.client.list_tools()).tools}
        assert (await there.client.read_resource("shop://hours")).contents[0].text == "9 to 18"
        assert "Greet Ann" in str(await there.client.get_prompt("greet", {"name": "Ann"}))
        assert text(await there.client.call_tool("read_order", {"order": 7})) == "order 7: a lamp"
        inherited = text(await there.client.call_tool("read_environment", {})).split()
        assert {"PATH", "PYTHONPATH"} <= {*inherited}
        assert not {"DISCREET_KEY", "DISCREET_URL"} & {*inherited}
        assert there.desk.cards == []

        heard = []

        async def progress(done, total, message):
            heard.append(message)

        call = asyncio.create_task(
            there.client.call_tool("refund", {"order": 17, "amount": 120}, progress_callback=progress)
        )
        approval = await there.desk.approval()
        assert there.done == [{"read": 7}]
        await there.desk.tap("Approve")
        assert (approval.action.name, approval.action.system) == ("refund", "shop")
        result = await call
        assert (text(result), result.is_error) == ("refunded 120", False)
        assert about(result)["changed"] is False
        assert heard[0] == "waiting for people to decide"
        assert heard[-1] == "paying"
        assert there.done[1:] == [{"refund": 17, "amount": 120}]
        assert await there.desk.state(approval) is ApprovalState.EXECUTED


@rule("APPR-10")
@pytest.mark.parametrize("mode", ERAS)
async def test_a_client_is_told_plainly_of_a_denial_a_return_and_a_call_that_is_forbidden(api, tmp_path, mode):
    async with shopping(tmp_path, api, mode=mode) as there:
        call = there.call("refund", order=17, amount=120)
        await there.decided("Deny")
        denied = await call
        assert denied.is_error
        assert "denied" in text(denied)
        assert about(denied)["status"] == "denied"
        call = there.call("refund", order=17, amount=121)
        approval = await there.desk.approval()
        await there.desk.say("return take 90", to=there.desk.card())
        returned = await call
        assert "They say: take 90" in text(returned)
        await there.ended(approval, ApprovalState.CANCELLED)
        forbidden = await there.client.call_tool("wipe_all", {})
        assert (forbidden.is_error, about(forbidden)["status"]) == (True, "denied")
        for name in ("WIPE_all", " wipe_all", "wipe\u200b_all", "ｗipe_all"):
            assert (await there.client.call_tool(name, {})).is_error, name
        assert there.done == []


@rule("APPR-10", "APPR-3")
async def test_what_people_have_changed_is_what_runs_and_the_client_is_told(api, tmp_path):
    async with shopping(tmp_path, api) as there:
        call = there.call("refund", order=17, amount=120)
        approval = await there.desk.approval()
        await there.desk.tap("Change…")
        await there.desk.say("amount: 90", to=there.desk.last())
        result = await call
        assert await there.desk.state(approval) is ApprovalState.EXECUTED
        assert there.done == [{"refund": 17, "amount": 90}]
        assert "People have changed" in text(result)
        assert about(result)["arguments"] == {"order": 17, "amount": 90}


@rule("APPR-10", "APPR-5")
async def test_who_waits_too_long_comes_again_with_the_same_call_and_it_runs_once(api, tmp_path):
    async with shopping(tmp_path, api, wait_s=0) as there:
        arguments = {"order": 17, "amount": 120}
        first = await there.client.call_tool("refund", arguments)
        assert (first.is_error, about(first)["status"]) == (True, "pending")
        approval = await there.desk.approval()
        again = await there.client.call_tool("refund", {"amount": 120, "order": 17})
        assert about(again) == about(first)
        await there.desk.tap("Approve")
        assert text(await there.client.call_tool("refund", arguments)) == "refunded 120"
        assert there.done == [{"refund": 17, "amount": 120}]
        another = await there.client.call_tool("refund", arguments)
        assert about(another)["status"] == "pending"
        assert about(another)["code"] != approval.code
        changed = await there.client.call_tool("refund", {"order": 17, "amount": 121})
        assert about(changed)["status"] == "pending"
        assert there.done == [{"refund": 17, "amount": 120}]


@rule("APPR-10", "APPR-6")
async def test_a_server_that_dies_while_it_runs_leaves_unknown_and_no_repeat(api, tmp_path):
    async with mcp_desk(tmp_path, api) as desk:
        async with processes(tmp_path, desk) as there:
            call = there.call("die", order=17)
            approval = await there.decided()
            result = await call
            assert (result.is_error, about(result)["status"]) == (True, "unknown")
            await there.ended(approval, ApprovalState.UNKNOWN)
        async with shopping(tmp_path, api, desk=desk) as there:
            again = await there.client.call_tool("die", {"order": 17})
            assert (again.is_error, about(again)["status"]) == (True, "unknown")
            assert there.done == [{"die": 17}]


@rule("APPR-10", "APPR-6")
async def test_a_proxy_that_is_killed_between_claim_and_outcome_leaves_unknown_and_no_repeat(api, tmp_path):
    async with mcp_desk(tmp_path, api) as desk:
        process = await started(desk, *command(tmp_path))
        await process.hand_shake()
        process.write({"id": 5, "method": "tools/call", "params": {"name": "slow", "arguments": {"order": 1}}})
        approval = await desk.approval()
        await desk.tap("Approve")
        there = Shop(desk, None, tmp_path / "ledger")
        await there.written()
        await process.kill()
        assert await desk.state(approval) is ApprovalState.CLAIMED
        async with shopping(tmp_path, api, desk=desk) as there:
            again = await there.client.call_tool("slow", {"order": 1})
            assert about(again)["status"] == "unknown"
            desk.clock.offset += desk.gateway.daemon.crew.policy().approvals.outcome_within * 2
            await there.ended(approval, ApprovalState.UNKNOWN)
            again = await there.client.call_tool("slow", {"order": 1})
            assert about(again)["status"] == "unknown"
            assert there.done == [{"slow": 1}]


@rule("APPR-10")
async def test_an_error_of_the_tool_has_failed_and_one_that_says_nothing_is_unknown(api, tmp_path):
    async with shopping(tmp_path, api) as there:
        call = there.call("broken", order=1)
        approval = await there.decided()
        assert (await call).is_error
        assert await there.desk.state(approval) is ApprovalState.FAILED
        call = there.call("confused", order=2)
        approval = await there.decided()
        with pytest.raises(MCPError):
            await call
        assert await there.desk.state(approval) is ApprovalState.UNKNOWN


@rule("APPR-10")
async def test_a_client_that_cancels_takes_the_proposal_back_and_one_that_leaves_too(api, tmp_path):
    async with mcp_desk(tmp_path, api) as desk:
        async with shopping(tmp_path, api, desk=desk) as there:
            call = there.call("refund", order=1, amount=2)
            approval = await desk.approval()
            call.cancel()
            await asyncio.gather(call, return_exceptions=True)
            await there.ended(approval, ApprovalState.CANCELLED)
            there.call("refund", order=1, amount=3)
            left = await desk.approval()
        await there.ended(left, ApprovalState.CANCELLED)
        assert there.done == []


@rule("APPR-10")
async def test_a_client_that_cancels_while_it_runs_leaves_unknown(api, tmp_path):
    async with shopping(tmp_path, api) as there:
        call = there.call("slow", order=1)
        approval = await there.decided()
        await there.written()
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)
        await there.ended(approval, ApprovalState.UNKNOWN)


@rule("APPR-10", "APPR-5")
async def test_there_is_no_way_around_by_batches_repeated_ids_other_methods_or_hidden_fields(api, tmp_path):
    async with mcp_desk(tmp_path, api) as desk:
        process = await started(desk, *command(tmp_path))
        try:
            await process.hand_shake()
            wiping = {"jsonrpc": "2.0", "id": 90, "method": "tools/call", "params": {"name": "refund", "arguments": {}}}
            process.write_raw(json.dumps([wiping]))
            assert (await process.read())["error"]["code"] == -32600
            for number, method in enumerate(("tools/Call", "tools/execute", "tasks/get", "x"), start=20):
                process.write({"id": number, "method": method, "params": wiping["params"]})
                assert (await process.read())["error"]["code"] == -32601
            process.write(
                {"method": "tools/call", "params": {"name": "refund", "arguments": {"order": 1, "amount": 1}}}
            )
            process.write({"id": 31, "method": "tools/call", "params": {"name": ["refund"], "arguments": {}}})
            assert (await process.read())["error"]["code"] == -32602
            stated = {"name": "read_order", "arguments": {"order": 1}, "requestState": "x", "inputResponses": {}}
            process.write({"id": 32, "method": "tools/call", "params": stated})
            assert (await process.read())["error"]["code"] == -32602

            # the last of two names is what counts, for people and for the server alike; unreviewed fields stay behind
            process.write_raw(
                '{"jsonrpc":"2.0","id":40,"method":"tools/call","params":{"name":"read_order","name":"refund",'
                '"arguments":{"order":1,"amount":5},"task":{"ttl":1},"extra":1,"_meta":{"x/y":1,"progressToken":"t"}}}'
            )
            approval = await desk.approval()
            assert approval.action.name == "refund"
            beat = await process.read()
            assert beat["params"]["progressToken"] == "t"
            process.write({"id": 40, "method": "tools/call", "params": {"name": "read_order", "arguments": {}}})
            assert (await process.read())["error"]["message"] == "a request with this id is under way"
            await desk.tap("Approve")
            assert (await process.answer(40))["content"][0]["text"] == "refunded 5"

            # an id that comes again is another call
            desk.api.sent(0)
            process.write({"id": 40, "method": "tools/call", "params": {"name": "refund", "arguments": {"order": 2}}})
            second = await desk.approval()
            assert second.id != approval.id
            there = Shop(desk, None, tmp_path / "ledger")
            assert there.done == [{"refund": 1, "amount": 5}]
        finally:
            await process.kill()


@rule("APPR-10")
@pytest.mark.parametrize("mode", ERAS)
async def test_a_server_over_http_is_held_as_well(api, tmp_path, mode):
    import uvicorn

    app = shop(tmp_path / "ledger").streamable_http_app()
    served = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error", ws="none", timeout_graceful_shutdown=1))
    running = asyncio.create_task(served.serve())
    try:
        async with asyncio.timeout(15):
            while not served.started:
                await asyncio.sleep(0.01)  # bounded above
        port = served.servers[0].sockets[0].getsockname()[1]
        options = ["mcp-proxy", "--name", "shop", "--server-url", f"http://127.0.0.1:{port}/mcp"]
        async with mcp_desk(tmp_path, api) as desk, stdio_client(desk, *options, mode=mode) as client:
            there = Shop(desk, client, tmp_path / "ledger")
            assert (await client.read_resource("shop://hours")).contents[0].text == "9 to 18"
            call = there.call("refund", order=17, amount=120)
            approval = await there.decided()
            assert text(await call) == "refunded 120"
            assert await desk.state(approval) is ApprovalState.EXECUTED
    finally:
        served.should_exit = True
        await running


@rule("APPR-10", "APPR-6")
async def test_a_server_over_http_that_dies_while_it_runs_leaves_unknown_and_the_client_is_told(api, tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    ledger = tmp_path / "ledger"
    server = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "tests.servers.mcp_shop", str(ledger), str(port)),
        cwd=ROOT,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        async with asyncio.timeout(20):
            while True:
                with suppress(OSError):
                    _, writer = await asyncio.open_connection("127.0.0.1", port)
                    writer.close()
                    break
                await asyncio.sleep(0.05)  # bounded above
        options = ["mcp-proxy", "--name", "shop", "--server-url", f"http://127.0.0.1:{port}/mcp"]
        async with mcp_desk(tmp_path, api) as desk, stdio_client(desk, *options) as client:
            there = Shop(desk, client, ledger)
            call = there.call("slow", order=1)
            approval = await there.decided()
            await there.written()
            server.kill()
            result = await call
            assert (result.is_error, about(result)["status"]) == (True, "unknown")
            await there.ended(approval, ApprovalState.UNKNOWN)
    finally:
        if server.returncode is None:
            server.kill()
        await server.wait()


@rule("APPR-10")
async def test_a_server_that_is_not_there_leaves_no_client_waiting(api, tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        nowhere = f"http://127.0.0.1:{free.getsockname()[1]}/mcp"
        async with mcp_desk(tmp_path, api) as desk:
            for options in (["--server-url", nowhere], ["--", sys.executable, "-c", "pass"]):
                process = await started(desk, "mcp-proxy", "--name", "shop", *options)
                try:
                    process.write({"id": 1, "method": "initialize", "params": {}})
                    assert (await process.read())["error"]["message"] == "the server has gone"
                    async with asyncio.timeout(15):
                        await process.process.wait()
                finally:
                    await process.kill()


@rule("APPR-10")
async def test_without_a_key_that_holds_nothing_runs_and_the_client_is_told(api, tmp_path):
    async with mcp_desk(tmp_path, api) as desk:
        async with shopping(tmp_path, api, desk=desk, key="SYNTHETIC-key-of-nobody-at-all") as there:
            refused = await there.client.call_tool("read_order", {"order": 1})
            assert refused.is_error
            assert "unauthorized" in text(refused)
        assert not (tmp_path / "ledger").exists()


# elicitation


@rule("APPR-10", "AGENT-3")
@pytest.mark.parametrize("mode", ERAS)
@pytest.mark.parametrize("action", ["accept", "decline", "cancel"])
async def test_what_a_server_asks_its_user_is_asked_of_people_and_goes_back(api, tmp_path, mode, action):
    async with shopping(tmp_path, api, people=["ann"], mode=mode) as there:
        call = there.call("pack", order=17)
        approval = await there.decided()
        asked = await there.desk.message("Answer it?")
        assert "shop" in asked["text"]
        assert "Which size for 17?" in asked["text"]
        if action == "cancel":
            (question,) = await there.desk.gateway.daemon.crew.questions.pending()
            await there.desk.gateway.daemon.crew.questions.cancel(question.id)
        else:
            await there.desk.answer(asked, "Yes" if action == "accept" else "No")
        if action == "accept":
            async with asyncio.timeout(15):
                while not (found := [one for one in api.sent(asked["chat"]["id"]) if "A gift" in one.get("text", "")]):
                    await asyncio.sleep(0.01)  # bounded above
            await there.desk.say("size: large\nA gift: no", to=found[-1])
        result = await call
        content = {"size": "large", "gift": False} if action == "accept" else None
        assert text(result) == f"{action}: {content}"
        assert there.done == [{"pack": 17, "action": action}]
        await there.ended(approval, ApprovalState.EXECUTED)


@rule("APPR-10")
@pytest.mark.parametrize("mode", ERAS)
async def test_without_that_the_client_answers_and_the_call_that_goes_on_is_the_approved_one(api, tmp_path, mode):
    from mcp_types import ElicitResult

    async def answer(_context, _params):
        return ElicitResult(action="accept", content={"size": "small", "gift": True})

    async with shopping(tmp_path, api, mode=mode, elicitation_callback=answer) as there:
        call = there.call("pack", order=17)
        approval = await there.decided()
        assert text(await call) == "accept: {'size': 'small', 'gift': True}"
        assert there.done == [{"pack": 17, "action": "accept"}]
        assert await there.desk.state(approval) is ApprovalState.EXECUTED


# a client without manners


class Raw:
    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process

    def write_raw(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line.encode() + b"\n")

    def write(self, message: dict[str, Any]) -> None:
        self.write_raw(json.dumps({"jsonrpc": "2.0", **message}))

    async def read(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        async with asyncio.timeout(15):
            message: dict[str, Any] = json.loads(await self.process.stdout.readline())
            return message

    async def answer(self, number: int) -> dict[str, Any]:
        while (message := await self.read()).get("id") != number:
            pass
        result: dict[str, Any] = message["result"]
        return result

    async def hand_shake(self) -> None:
        info = {"name": "raw", "version": "1"}
        params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info}
        self.write({"id": 1, "method": "initialize", "params": params})
        await self.answer(1)
        self.write({"method": "notifications/initialized"})

    async def kill(self) -> None:
        if self.process.returncode is None:
            self.process.kill()
        await self.process.wait()


async def started(desk: McpDesk, *arguments: str) -> Raw:
    environment = {"DISCREET_KEY": "SYNTHETIC-key-of-the-main-agent", "DISCREET_URL": desk.url, "PYTHONPATH": str(ROOT)}
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "bot", *arguments),
        env={"PATH": "/usr/bin:/bin", **environment},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    return Raw(process)
