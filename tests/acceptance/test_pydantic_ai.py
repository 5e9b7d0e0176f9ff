"""Pydantic AI agents whose calls are deferred, and people who decide on Telegram, on a running gateway (AGENT-4)."""

import asyncio

import pytest
from pydantic_ai import Agent, CallDeferred, DeferredToolRequests, Tool
from pydantic_ai.conversation import ConversationTypeAdapter
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import FunctionModel

from bot.clients.people import UnanswerableError
from bot.clients.pydantic_ai import run
from tests.acceptance.test_langgraph import approvals, at_work, done, people_of
from tests.agents_desk import agents_desk

rule = pytest.mark.rule


class Shop:
    """An agent with a scripted model, and what its tools did."""

    def __init__(self, *calls):
        self.ran, self.heard, self.kept = [], [], None
        parts = [ToolCallPart(name, args, f"call-{number}") for number, (name, args) in enumerate(calls)]

        def say(messages, info):
            results = [part for part in messages[-1].parts if isinstance(part, ToolReturnPart)]
            self.heard += [(part.outcome, part.content) for part in results]
            return ModelResponse(parts=[TextPart("done")] if results else parts)

        def refund(order: int, amount: int) -> str:
            """Pay money back."""
            self.ran.append(("refund", order, amount))
            if amount == 113:
                raise RuntimeError("the bank is closed")
            return f"refunded {amount}"

        def elsewhere() -> str:
            """Is carried out elsewhere."""
            raise CallDeferred

        tools = [Tool(refund, requires_approval=True), Tool(elsewhere)]
        self.agent = Agent(FunctionModel(say), tools=tools, output_type=[str, DeferredToolRequests])

    async def keep(self, conversation):
        self.kept = ConversationTypeAdapter.dump_json(conversation)


def refund(amount):
    return ("refund", {"order": 17, "amount": amount})


@rule("AGENT-4", "APPR-3", "APPR-5")
async def test_deferred_calls_run_as_people_decide_each(api, tmp_path):
    shop = Shop(refund(120), refund(130), refund(140), refund(5))
    async with agents_desk(tmp_path, api) as desk:
        async with at_work(run(shop.agent, "refund", people=people_of(desk))) as task:
            await desk.card_of(2)
            places = {
                amount: place
                for amount in (120, 130, 140)
                for place, one in enumerate(desk.cards)
                if f"amount: {amount}" in one["text"]
            }
            await desk.press_on(places[120], "Approve")
            await desk.deny_with(places[130], "not that one")
            await desk.change(places[140], {"amount": 90})
            result = await done(task)
        assert result.output == "done"
        assert sorted(shop.ran) == [("refund", 17, 5), ("refund", 17, 90), ("refund", 17, 120)]
        ((_, words),) = [one for one in shop.heard if one[0] == "denied"]
        assert "not that one" in words
        assert sorted(one.state.value for one in await approvals(desk)) == [
            "denied",
            "executed",
            "executed",
            "executed",
        ]


@rule("AGENT-4", "DUR-3")
async def test_a_kept_conversation_goes_on_in_another_process_with_the_same_card(api, tmp_path):
    first, second = Shop(refund(120)), Shop(refund(120))
    async with agents_desk(tmp_path, api) as desk:
        async with at_work(run(first.agent, "refund", people=people_of(desk), save=first.keep)):
            await desk.card_of(0)
        kept = ConversationTypeAdapter.validate_json(first.kept)
        await desk.press_on(0, "Approve")
        result = await asyncio.wait_for(run(second.agent, None, people=people_of(desk), conversation=kept), 40)
        assert (result.output, first.ran, second.ran) == ("done", [], [("refund", 17, 120)])
        assert len(desk.cards) == 1
        assert [one.state.value for one in await approvals(desk)] == ["executed"]


@rule("APPR-6")
async def test_a_tool_that_breaks_leaves_its_outcome_unknown(api, tmp_path):
    shop = Shop(refund(113))
    async with agents_desk(tmp_path, api) as desk, at_work(run(shop.agent, "refund", people=people_of(desk))) as task:
        await desk.press_on(0, "Approve")
        with pytest.raises(RuntimeError, match="the bank is closed"):
            await done(task)
        assert (await approvals(desk))[0].state.value == "unknown"


async def test_calls_that_are_carried_out_elsewhere_are_the_callers(api, tmp_path):
    shop = Shop(("elsewhere", {}))
    async with agents_desk(tmp_path, api) as desk:
        with pytest.raises(UnanswerableError):
            await asyncio.wait_for(run(shop.agent, "go", people=people_of(desk)), 40)
