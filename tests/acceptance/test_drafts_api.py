"""Drafts at the interface for agents: their own alone, what was said of them, and no way round the door (OUT-8)."""

import asyncio
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import aiohttp
import pytest

from bot.api.approvals import ApprovalsApi
from bot.api.site import serve
from bot.config.secret import Secret
from tests.acceptance.test_drafts import PRICE, ask, buttons, cards, drafting, says, tap
from tests.harness import ANN, GROUP, INTERNAL, POLICY

rule = pytest.mark.rule
KEY, OTHER = "SYNTHETIC-key-of-the-main-agent", "SYNTHETIC-key-of-another-agent"


class There:
    """A gateway with its interface."""

    def __init__(self, gateway, http, url):
        self.gateway, self.api, self.http, self.url = gateway, gateway.api, http, url

    async def call(self, method="GET", path="", *, key=KEY, body=None):
        headers = {"Authorization": f"Bearer {key}"}
        async with self.http.request(method, f"{self.url}{path}", json=body, headers=headers) as answer:
            return answer.status, await answer.json()

    async def one(self):
        _, document = await self.call()
        (found,) = document["approvals"]
        return found


@asynccontextmanager
async def there(tmp_path, api, *, policy=POLICY):
    port = asyncio.get_running_loop().create_future()
    async with drafting(tmp_path, api, says(PRICE, "It costs 1,500 EUR."), policy=policy) as gateway:
        crew = gateway.daemon.crew
        interface = ApprovalsApi(crew.worker, crew.approvals, clock=lambda: datetime.now(UTC))
        keys = {"main": Secret(KEY), "other": Secret(OTHER)}
        service = asyncio.create_task(
            serve([interface], host="127.0.0.1", port=0, keys=keys, bound=port.set_result), name="interface"
        )
        try:
            async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=20)) as http:
                yield There(gateway, http, f"http://127.0.0.1:{await port}/v1/approvals")
        finally:
            service.cancel()
            await asyncio.gather(service, return_exceptions=True)


@rule("OUT-8", "AUTO-6")
async def test_without_a_verified_channel_the_draft_stands_in_the_interface_of_its_agent_alone(api, tmp_path):
    async with there(tmp_path, api, policy=POLICY.replace(", reports: true", "")) as here:
        await ask(here.gateway)
        found = await here.one()
        assert (found["subject"], found["state"], found["parameters"]["text"]) == ("draft", "proposed", PRICE)
        assert (await here.call(key=OTHER))[1] == {"approvals": []}
        assert (await here.call(path=f"/{found['id']}", key=OTHER))[0] == 404
        assert (api.texts(GROUP), api.texts(INTERNAL)) == ([], [])


@rule("AUTO-6")
async def test_an_agent_learns_what_an_operator_wants_changed_and_what_came_of_its_draft(api, tmp_path):
    async with there(tmp_path, api) as here:
        await ask(here.gateway)
        (card,) = cards(api)
        found = await here.one()
        words = f"return {found['code']} with the band"
        api.say(chat=INTERNAL, sender=ANN, text=words, reply_to=card["message_id"])
        await here.gateway.quiet()
        _, returned = await here.call(path=f"/{found['id']}")
        assert (returned["state"], returned["decisions"][-1]["words"]) == ("returned", "with the band")
        await ask(here.gateway)
        await tap(here.gateway, cards(api)[-1], "Approve")
        _, over = await here.call(path=f"/{found['id']}?wait=5s")
        assert over["state"] == "executed"


@rule("AUTO-6", "APPR-5")
async def test_an_agent_can_neither_change_nor_use_a_draft_and_may_take_it_back(api, tmp_path):
    async with there(tmp_path, api) as here:
        await ask(here.gateway)
        (card,) = cards(api)
        approve = buttons(card)["Approve"]
        found = await here.one()
        for verb, body in (
            ("claim", {"version": found["version"], "claim_key": "mine"}),
            ("outcome", {"executed": True, "note": "done"}),
        ):
            assert (await here.call("POST", f"/{found['id']}/{verb}", body=body))[0] == 409
        status, _ = await here.call("DELETE", f"/{found['id']}")
        assert status == 200
        await tap(here.gateway, card, "Approve", data=approve)
        assert api.texts(GROUP) == []
