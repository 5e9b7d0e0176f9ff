"""Agents that flood, send too much or nothing sensible: clear errors for them, and nothing for anybody else (AGENT-5)."""

import asyncio

import pytest

from bot.config.secret import Secret
from bot.config.settings import CallbackAddress
from tests.agents_desk import KEY, OTHER_KEY, SECRET, agents_desk, receiving

rule = pytest.mark.rule
REFUND = {"action": "refund", "parameters": {"amount": 120}}
ASKED = {"tool": "refund", "arguments": {"amount": 120}, "timeout": "10m"}


@rule("AGENT-5")
async def test_bodies_that_are_too_large_or_no_json_get_a_clear_error_from_every_face(api, tmp_path):
    async with agents_desk(tmp_path, api) as desk:
        for path in ("/aap/v1/requests", "/aap/v1/instances", "/v1/approvals"):
            for data, wanted in ((b"x" * (70 << 10), 413), (b"{", 400), (b'{"a":' * 100 + b"1" + b"}" * 100, 400)):
                headers = {"Authorization": f"Bearer {KEY}", "Idempotency-Key": "k"}
                async with desk.http.post(desk.url + path, data=data, headers=headers) as answer:
                    document = await answer.json()
                    assert answer.status == wanted, (path, document)
                    code = document["error"]["code"] if path.startswith("/aap") else document["error"]
                    assert code in ("too_large", "malformed", "invalid_request")
        assert await desk.gateway.store.approvals.recent(9) == []


@rule("AGENT-5")
async def test_an_agent_that_floods_is_slowed_down_and_another_is_not(api, tmp_path):
    async with agents_desk(tmp_path, api) as desk:

        async def ask(number, key):
            headers = {"Idempotency-Key": f"k{number}"}
            body = {**ASKED, "arguments": {"amount": 1, "n": number}}  # the policy allows it: nobody is asked
            status, document = await desk.call("POST", "/aap/v1/requests", body, key=key, **headers)
            return status if status < 400 else (status, document["error"]["code"])

        found = await asyncio.gather(*(ask(number, KEY) for number in range(60)))
        assert set(found) == {201, (429, "too_fast")}
        assert await ask(1, OTHER_KEY) == 201


@rule("AGENT-5")
async def test_a_receiver_that_hangs_holds_up_neither_decisions_nor_the_callbacks_of_others(api, tmp_path):
    async with receiving() as slow, receiving() as quick:
        slow.hang = asyncio.Event()
        entries = [CallbackAddress(to=one.url, secrets=(Secret(SECRET),), allow_private=True) for one in (slow, quick)]
        async with agents_desk(tmp_path, api, callbacks=entries) as desk:
            for number in range(10):
                body = {"action": "refund", "parameters": {"amount": 1, "n": number}}
                status, _ = await desk.call(
                    "POST", "/v1/approvals", {**body, "callback": {"url": f"{slow.url}/{number}"}}
                )
                assert status == 201
            await slow.wait(4)
            body = {**REFUND, "callback": {"url": f"{quick.url}/x"}}
            status, _ = await desk.call("POST", "/v1/approvals", body, key=OTHER_KEY)
            assert status == 201
            await desk.press_on(0, "Approve")
            await quick.wait()
            assert len(slow.came) == 4
        slow.hang.set()
