"""Keys with limits, for questions that belong to no request and for the tools of MCP (AGENT-1, AGENT-2)."""

import pytest

from bot.config.credentials import Scope
from bot.mcp.site import McpSite
from tests.acceptance.test_keys import HERE, INSIDE, keyed
from tests.acceptance.test_questions_api import CHANNEL
from tests.mcp_desk import http_client, said

rule = pytest.mark.rule


@rule("AGENT-1", "OUT-8")
async def test_a_question_to_operators_keeps_within_the_limits_of_the_key(api, tmp_path):
    async with keyed(tmp_path, api) as here:
        asking = {"question": "Which?", "schema": CHANNEL}
        to_ann = {**asking, "who": {"kind": "people", "people": ["ann"]}}
        _, there = here.key(destinations=[HERE])
        assert await here.code("POST", "/v1/questions", there, asking) == (403, "beyond_key")
        _, inside = here.key(destinations=[INSIDE])
        assert (await here.code("POST", "/v1/questions", inside, asking))[0] == 201
        _, bobs = here.key(principals=["bob"])
        assert await here.code("POST", "/v1/questions", bobs, to_ann) == (403, "beyond_key")
        _, anns = here.key(principals=["ann"])
        assert await here.code("POST", "/v1/questions", anns, asking) == (403, "beyond_key")
        assert (await here.code("POST", "/v1/questions", anns, to_ann))[0] == 201
        assert (await here.code("POST", "/v1/questions", anns, {**to_ann, "request": None}))[0] == 201


@rule("AGENT-1", "AGENT-2")
async def test_a_tool_may_do_what_the_key_may_and_nothing_more(api, tmp_path):
    site = McpSite(version="1")
    async with keyed(tmp_path, api, further=[site]) as here:
        try:
            made, key = here.key(scopes={Scope.ASK})
            async with http_client(here, key=key) as client:
                asked = said(await client.call_tool("ask_human", {"question": "Well?", "wait_s": 0}))
                assert asked["status"] == "pending"
                proposing = {"action": "refund", "parameters": {"amount": 1}}
                refused = await client.call_tool("request_approval", proposing)
                assert said(refused)["error"] == "forbidden"
                here.credentials.revoke(made)
                with pytest.raises(Exception, match="error response"):
                    await client.call_tool("get_answer", {"id": asked["id"], "wait_s": 0})
        finally:
            await site.close()
