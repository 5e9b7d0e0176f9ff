"""A Pydantic AI agent whose tool waits for a person. Stop it while it waits and start it again: the card is the same.

    DISCREET_URL=http://127.0.0.1:8090 DISCREET_KEY=... python examples/pydantic_ai_refund.py

The model here is scripted; put yours in its place.
"""

import asyncio
import os
from pathlib import Path

from pydantic_ai import Agent, DeferredToolRequests, Tool
from pydantic_ai.conversation import ConversationTypeAdapter
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import FunctionModel

from bot.clients.gateway import Gateway
from bot.clients.people import People
from bot.clients.pydantic_ai import run

KEPT = Path("conversation.json")


def scripted(messages, info):
    """Wants to refund, then says what came of it."""
    for part in messages[-1].parts:
        if isinstance(part, ToolReturnPart):
            return ModelResponse(parts=[TextPart(f"Done: {part.content}")])
    return ModelResponse(parts=[ToolCallPart("refund", {"order": 17, "amount": 120}, "call-1")])


def refund(order: int, amount: int) -> str:
    """Pay money back."""
    with Path("refunds.txt").open("a") as paid:
        paid.write(f"{order} {amount}\n")
    return f"refunded {amount} for order {order}"


async def keep(conversation):
    KEPT.write_bytes(ConversationTypeAdapter.dump_json(conversation))


async def main():
    agent = Agent(
        FunctionModel(scripted),
        tools=[Tool(refund, requires_approval=True)],
        output_type=[str, DeferredToolRequests],
    )
    people = People(gateway=Gateway(os.environ["DISCREET_URL"], os.environ["DISCREET_KEY"]), system="shop")
    kept = ConversationTypeAdapter.validate_json(KEPT.read_bytes()) if KEPT.exists() else None
    result = await run(agent, "Order 17 was never delivered.", people=people, conversation=kept, save=keep)
    print(result.output)


asyncio.run(main())
