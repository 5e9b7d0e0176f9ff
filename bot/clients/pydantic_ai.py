"""Pydantic AI: calls of tools that want an approval go to people through a gateway; the run goes on with the answers.

    agent = Agent(model, tools=[Tool(refund, requires_approval=True)], output_type=[str, DeferredToolRequests])
    people = People(gateway=Gateway("http://127.0.0.1:8090", key), system="shop")
    result = await run(agent, "Order 17 was never delivered.", people=people, save=keep)

A conversation that was kept while it waited goes on with ``conversation=``, also in another process: what was asked is
known by conversation and call, and nobody is asked twice.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final

from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults, ToolApproved, ToolDenied
from pydantic_ai.conversation import Conversation
from pydantic_ai.messages import ToolCallPart, ToolReturnPart

from bot.clients.gateway import LONGEST_WAIT_S
from bot.clients.people import Call, People, Standing, UnanswerableError, Used

Keep = Callable[[Conversation], Awaitable[None]]
_ALLOWED: Final = frozenset({"approve", "edit", "reject"})


async def run(
    agent: Agent[Any, Any],
    prompt: str | None,
    *,
    people: People,
    conversation: Conversation | None = None,
    save: Keep | None = None,
    **options: Any,
) -> Any:
    """Run an agent, and wait for people wherever it defers calls.

    Args:
        agent: with ``DeferredToolRequests`` among its output types.
        prompt: what it is asked. A conversation that waits goes on where it waits, and this is not looked at.
        people: whom it asks.
        conversation: that goes on.
        save: keeps a conversation before it waits.
        options: of each ``agent.run``.

    Returns:
        The result of the last run.

    Raises:
        GatewayError: people can't be asked, or something is unclear; the kept conversation can go on later.
    """
    result: Any = None
    if conversation is None or conversation.deferred_tool_requests is None:
        result = await agent.run(prompt, conversation=conversation, **options)
        conversation = result.conversation
    while conversation.deferred_tool_requests is not None:
        if save is not None:
            await save(conversation)
        results, used = await decide(conversation.deferred_tool_requests, people, conversation.conversation_id)
        try:
            result = await agent.run(conversation=conversation, deferred_tool_results=results, **options)
        except BaseException:
            await asyncio.to_thread(people.tell, used, executed=None, note="the run broke off")  # APPR-6
            raise
        conversation = result.conversation
        await asyncio.to_thread(_tell, people, used, result.new_messages())
    return result


async def decide(
    requests: DeferredToolRequests, people: People, conversation: str
) -> tuple[DeferredToolResults, list[Used]]:
    """What people decided about deferred calls, and the approvals that are claimed for it: tell what came of them.

    Raises:
        GatewayError: it is unclear, or there are calls that are carried out elsewhere, which are the caller's.
    """
    if requests.calls:
        raise UnanswerableError("calls that are carried out elsewhere are answered by whoever carries them out")
    standing: list[Standing] = [
        await asyncio.to_thread(people.put, _call(part), conversation, part.tool_call_id) for part in requests.approvals
    ]
    while waiting := [place for place, one in enumerate(standing) if one.open]:
        standing[waiting[0]] = await asyncio.to_thread(people.look, standing[waiting[0]], LONGEST_WAIT_S)
    results, used = DeferredToolResults(), list[Used]()
    try:
        for part, one in zip(requests.approvals, standing, strict=True):
            settled, claimed = await asyncio.to_thread(people.use, one)
            used += [] if claimed is None else [claimed]
            match settled.kind:
                case "approve":
                    results.approvals[part.tool_call_id] = ToolApproved()
                case "edit":
                    results.approvals[part.tool_call_id] = ToolApproved(override_args=dict(settled.args))
                case _:
                    results.approvals[part.tool_call_id] = ToolDenied(settled.message)
    except BaseException:
        await asyncio.to_thread(people.tell, used, executed=False, note="it was not begun")
        raise
    return results, used


def _call(part: ToolCallPart) -> Call:
    return Call(name=part.tool_name, args=part.args_as_dict(), allowed=_ALLOWED, tool_call=part.tool_call_id)


def _tell(people: People, used: Sequence[Used], messages: Sequence[Any]) -> None:
    """What came of each call, as its result says; one without a result was asked for again or broke off."""
    outcomes = {
        part.tool_call_id: part.outcome == "success"
        for message in messages
        for part in message.parts
        if isinstance(part, ToolReturnPart)
    }
    for one in used:
        people.tell([one], executed=outcomes.get(one.call.tool_call or ""), note="")
