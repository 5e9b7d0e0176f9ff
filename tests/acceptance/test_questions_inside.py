"""Questions that belong to no request: to operators, where approvals are shown, and nowhere else (OUT-8, FORM-9)."""

import aiohttp
import pytest

from tests.harness import BOB, GROUP, INTERNAL
from tests.mcp_desk import KEY, POLICY, mcp_desk

rule = pytest.mark.rule
YES_NO = {"type": "object", "properties": {"sure": {"type": "boolean"}}, "required": ["sure"]}


async def call(desk, method="POST", path="", **body):
    headers = {"Authorization": f"Bearer {KEY}"}
    async with aiohttp.ClientSession() as http:
        request = http.request(method, f"{desk.url}/v1/questions{path}", json=body or None, headers=headers)
        async with request as answer:
            return answer.status, await answer.json()


@rule("OUT-8", "FORM-9")
async def test_it_is_shown_on_the_inside_and_only_operators_answer_it(api, tmp_path):
    async with mcp_desk(tmp_path, api) as desk:
        asking = {"question": "Restart it?", "schema": YES_NO, "key": "k"}
        status, asked = await call(desk, **asking)
        assert status == 201
        assert await call(desk, **asking) == (200, asked)
        card = await desk.message("Restart it?")
        await desk.answer(card, "Yes", sender=BOB)
        assert (await call(desk, "GET", f"/{asked['id']}"))[1]["state"] == "open"
        await desk.answer(card, "Yes")
        answered = (await call(desk, "GET", f"/{asked['id']}?wait=20s"))[1]
        assert (answered["answer"], answered["answered_by"]) == ({"sure": True}, "ann")
        assert api.sent(GROUP) == []


@rule("OUT-6", "OUT-8")
@pytest.mark.parametrize("who", [{"kind": "asker"}, {"kind": "anyone"}, {"kind": "people", "people": ["bob"]}])
async def test_nobody_else_can_be_asked_that_way(api, tmp_path, who):
    async with mcp_desk(tmp_path, api) as desk:
        status, refused = await call(desk, question="?", schema=YES_NO, who=who)
        assert (status, refused["error"]) == (422, "who")
        assert api.sent(GROUP) + api.sent(INTERNAL) == []


@rule("OUT-8")
async def test_where_no_place_on_the_inside_can_be_reached_nothing_is_asked(api, tmp_path):
    async with mcp_desk(tmp_path, api, policy=POLICY.replace(", reports: true", "")) as desk:
        status, refused = await call(desk, question="?", schema=YES_NO)
        assert (status, refused["error"]) == (403, "no_place")
        assert api.sent(GROUP) + api.sent(INTERNAL) == []
