"""LangGraph and LangChain graphs that pause, and people who decide on Telegram, on a running gateway (AGENT-4)."""

import asyncio
from contextlib import asynccontextmanager
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import interrupt
from typing_extensions import TypedDict

from bot.clients import people as words
from bot.clients.gateway import Gateway
from bot.clients.langgraph import CutOffError, arun, run
from bot.clients.people import People, UnanswerableError, UnclearError
from tests.agents_desk import KEY, agents_desk
from tests.harness import BOB, GROUP

rule = pytest.mark.rule
CONFIG = {"configurable": {"thread_id": "order-17"}}
PLEASE = {"messages": [{"role": "user", "content": "do it"}]}


class Scripted(GenericFakeChatModel):
    """A chat model that says what stands in its script, and takes any tools."""

    def bind_tools(self, tools, **kwargs):
        return self


class Shop:
    """Tools that note what ran."""

    def __init__(self) -> None:
        self.ran: list[tuple[str, dict[str, Any]]] = []
        ran = self.ran

        @tool
        def refund(order: int, amount: int) -> str:
            """Pay money back."""
            ran.append(("refund", {"order": order, "amount": amount}))
            if amount == 113:
                raise RuntimeError("the bank is closed")
            return f"refunded {amount}"

        @tool
        def mail(to: str) -> str:
            """Write a mail."""
            ran.append(("mail", {"to": to}))
            return f"mailed {to}"

        self.tools = [refund, mail]


def call(name, number=1, **args):
    return {"name": name, "args": args, "id": f"call-{number}", "type": "tool_call"}


def says(*calls):
    return AIMessage(content="", tool_calls=list(calls))


def agent(shop, script, *, saver=None, mode="batched", on=True):
    gated = {"refund": on, "mail": on}
    return create_agent(
        Scripted(messages=iter(script)),
        tools=shop.tools,
        middleware=[HumanInTheLoopMiddleware(interrupt_on=gated, interrupt_mode=mode)],
        checkpointer=InMemorySaver() if saver is None else saver,
    )


def people_of(desk, **more):
    return People(gateway=Gateway(desk.url, KEY, patience_s=20), system="shop", **more)


@asynccontextmanager
async def at_work(work):
    """A run in a thread of its own, or a task, that ends with the test."""
    task = asyncio.create_task(work) if asyncio.iscoroutine(work) else asyncio.ensure_future(work)
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def done(task):
    return await asyncio.wait_for(task, 40)


def results(values):
    return [(one.status, one.content) for one in values["messages"] if isinstance(one, ToolMessage)]


async def approvals(desk):
    """All, in the order in which they were proposed."""
    return sorted(await desk.gateway.store.approvals.recent(50), key=lambda one: one.proposed_at)


@rule("AGENT-4", "APPR-5")
@pytest.mark.parametrize("mode", ["batched", "per_call"])
async def test_a_tool_runs_when_a_person_has_approved_and_what_came_of_it_is_told(api, tmp_path, mode):
    shop = Shop()
    graph = agent(shop, [says(call("refund", order=17, amount=120)), AIMessage(content="done")], mode=mode)
    async with agents_desk(tmp_path, api) as desk, at_work(arun(graph, PLEASE, CONFIG, people=people_of(desk))) as task:
        card = await desk.card_of(0)
        assert "amount: 120" in card["text"]
        assert shop.ran == []
        desk.press("Approve", card=card)
        values = await done(task)
        assert shop.ran == [("refund", {"order": 17, "amount": 120})]
        assert results(values) == [("success", "refunded 120")]
        (approval,) = await approvals(desk)
        assert (approval.state.value, approval.action.system) == ("executed", "shop")


@rule("AGENT-4")
async def test_a_graph_without_an_event_loop_waits_in_its_thread(api, tmp_path):
    shop = Shop()
    graph = agent(shop, [says(call("mail", to="a@example.org")), AIMessage(content="done")])
    async with agents_desk(tmp_path, api) as desk:
        people = people_of(desk, ttl_s=600, task="ticket 4711")
        async with at_work(asyncio.to_thread(run, graph, PLEASE, CONFIG, people=people)) as task:
            card = await desk.card_of(0)
            assert "ticket 4711" in card["text"]
            desk.press("Approve", card=card)
            assert results(await done(task)) == [("success", "mailed a@example.org")]


@rule("AGENT-4")
@pytest.mark.parametrize("mode", ["batched", "per_call"])
async def test_a_refusal_reaches_the_model_in_the_persons_words(api, tmp_path, mode):
    shop = Shop()
    graph = agent(shop, [says(call("refund", order=17, amount=120)), AIMessage(content="I see")], mode=mode)
    async with agents_desk(tmp_path, api) as desk, at_work(arun(graph, PLEASE, CONFIG, people=people_of(desk))) as task:
        await desk.deny_with(0, "the parcel was found")
        values = await done(task)
        assert shop.ran == []
        ((status, text),) = results(values)
        assert status == "error"
        assert "the parcel was found" in text
        assert (await approvals(desk))[0].state.value == "denied"


@rule("AGENT-4", "APPR-3")
@pytest.mark.parametrize("mode", ["batched", "per_call"])
async def test_what_an_operator_has_changed_is_what_runs(api, tmp_path, mode):
    shop = Shop()
    graph = agent(shop, [says(call("refund", order=17, amount=120)), AIMessage(content="done")], mode=mode)
    async with agents_desk(tmp_path, api) as desk, at_work(arun(graph, PLEASE, CONFIG, people=people_of(desk))) as task:
        await desk.change(0, {"amount": 90})
        await done(task)
        assert shop.ran == [("refund", {"order": 17, "amount": 90})]
        (approval,) = await approvals(desk)
        assert approval.state.value == "executed"
        assert approval.action.parameters == {"order": 17, "amount": 90}


async def test_where_the_graph_takes_no_edits_nobody_can_change_values(api, tmp_path):
    shop = Shop()
    only = {"allowed_decisions": ["approve", "reject"]}
    graph = agent(shop, [says(call("refund", order=17, amount=120)), AIMessage(content="done")], on=only)
    async with agents_desk(tmp_path, api) as desk, at_work(arun(graph, PLEASE, CONFIG, people=people_of(desk))) as task:
        card = await desk.card_of(0)
        assert desk.labels(card) == ["Approve", "Deny", "Deny with reason…", "Return…"]
        desk.press("Approve", card=card)
        await done(task)
        assert shop.ran == [("refund", {"order": 17, "amount": 120})]


@rule("AGENT-4")
@pytest.mark.parametrize("mode", ["batched", "per_call"])
async def test_several_calls_of_one_turn_are_shown_at_once_and_answered_each(api, tmp_path, mode):
    shop = Shop()
    first, second = call("refund", 1, order=17, amount=120), call("mail", 2, to="a@example.org")
    graph = agent(shop, [says(first, second), AIMessage(content="done")], mode=mode)
    async with agents_desk(tmp_path, api) as desk, at_work(arun(graph, PLEASE, CONFIG, people=people_of(desk))) as task:
        await desk.card_of(1)
        by_tool = {"mail" if "mail" in one["text"] else "refund": place for place, one in enumerate(desk.cards)}
        await desk.press_on(by_tool["mail"], "Deny")
        await desk.press_on(by_tool["refund"], "Approve")
        values = await done(task)
        assert shop.ran == [("refund", {"order": 17, "amount": 120})]
        assert sorted(status for status, _ in results(values)) == ["error", "success"]
        assert {one.state.value for one in await approvals(desk)} == {"executed", "denied"}


@rule("AGENT-4")
async def test_what_the_policy_allows_or_forbids_needs_no_person(api, tmp_path):
    shop = Shop()
    graph = agent(shop, [says(call("refund", order=1, amount=5)), AIMessage(content="done")])
    async with agents_desk(tmp_path, api) as desk:
        await asyncio.wait_for(arun(graph, PLEASE, CONFIG, people=people_of(desk)), 40)
        assert shop.ran == [("refund", {"order": 1, "amount": 5})]
        assert desk.cards == []


@rule("AGENT-4", "APPR-6")
async def test_a_tool_that_breaks_leaves_its_outcome_unknown(api, tmp_path):
    shop = Shop()
    graph = agent(shop, [says(call("refund", order=17, amount=113)), AIMessage(content="done")], saver=InMemorySaver())
    async with agents_desk(tmp_path, api) as desk:
        async with at_work(arun(graph, PLEASE, CONFIG, people=people_of(desk))) as task:
            await desk.press_on(0, "Approve")
            with pytest.raises(RuntimeError, match="the bank is closed"):
                await done(task)
        assert shop.ran == [("refund", {"order": 17, "amount": 113})]
        assert (await approvals(desk))[0].state.value == "unknown"
        with pytest.raises(CutOffError):  # nothing is retried by itself
            await asyncio.wait_for(arun(graph, PLEASE, CONFIG, people=people_of(desk)), 40)
        assert len(shop.ran) == 1


@rule("AGENT-4", "DUR-3")
@pytest.mark.parametrize("mode", ["batched", "per_call"])
async def test_a_process_that_starts_anew_goes_on_with_the_same_card(api, tmp_path, mode):
    shop, saver = Shop(), InMemorySaver()
    async with agents_desk(tmp_path, api) as desk:
        before = agent(shop, [says(call("refund", order=17, amount=120))], saver=saver, mode=mode)
        async with at_work(arun(before, PLEASE, CONFIG, people=people_of(desk))):
            await desk.card_of(0)
        await desk.press_on(0, "Approve")  # while nobody is there
        await desk.settled()
        after = agent(shop, [AIMessage(content="done")], saver=saver, mode=mode)
        values = await asyncio.wait_for(arun(after, PLEASE, CONFIG, people=people_of(desk)), 40)
        assert shop.ran == [("refund", {"order": 17, "amount": 120})]
        assert results(values) == [("success", "refunded 120")]
        assert len(desk.cards) == 1
        assert [one.state.value for one in await approvals(desk)] == ["executed"]


@rule("AGENT-4", "APPR-6")
async def test_what_a_dead_process_has_claimed_is_not_claimed_again_before_somebody_reconciles_it(api, tmp_path):
    shop, saver = Shop(), InMemorySaver()
    async with agents_desk(tmp_path, api) as desk:
        before = agent(shop, [says(call("refund", order=17, amount=120))], saver=saver)
        async with at_work(arun(before, PLEASE, CONFIG, people=people_of(desk))):
            await desk.card_of(0)
        await desk.press_on(0, "Approve")
        await desk.settled()
        (approval,) = await approvals(desk)
        await desk.room.claim(approval.id, version=approval.version, key="of the dead", target_present=None)
        after = agent(shop, [AIMessage(content="done")], saver=saver)
        for state in ("claimed", "unknown"):
            assert (await approvals(desk))[0].state.value == state
            with pytest.raises(UnclearError) as error:
                await asyncio.wait_for(arun(after, PLEASE, CONFIG, people=people_of(desk)), 40)
            assert approval.code in str(error.value)
            if state == "claimed":
                await desk.room.outcome(approval.id, executed=None, note="")
        await desk.room.reconcile(approval.id, executed=True, evidence="seen", by="ann")
        values = await asyncio.wait_for(arun(after, PLEASE, CONFIG, people=people_of(desk)), 40)
        assert words.ALREADY in results(values)[0][1]
        assert shop.ran == []


@rule("APPR-5")
async def test_of_two_runs_of_one_thread_one_uses_the_approval(api, tmp_path):
    shop, saver = Shop(), InMemorySaver()
    async with agents_desk(tmp_path, api) as desk:
        people = people_of(desk)
        first = agent(shop, [says(call("refund", order=17, amount=120)), AIMessage(content="done")], saver=saver)
        async with at_work(arun(first, PLEASE, CONFIG, people=people)) as one:
            await desk.card_of(0)
            second = agent(shop, [AIMessage(content="done")], saver=saver)
            async with at_work(arun(second, PLEASE, CONFIG, people=people)) as two:
                await desk.press_on(0, "Approve")
                ended = await asyncio.wait_for(asyncio.gather(one, two, return_exceptions=True), 40)
        assert shop.ran == [("refund", {"order": 17, "amount": 120})]
        assert [type(one) for one in ended if isinstance(one, Exception)] in ([UnclearError], [])


# Agent Inbox, and questions


class Noted(TypedDict):
    """What a plain graph keeps."""

    came: Any


def plain(value):
    """A graph that pauses once."""
    graph = StateGraph(Noted)
    graph.add_node("pause", lambda _: {"came": interrupt(value)})
    graph.add_edge(START, "pause")
    graph.add_edge("pause", END)
    return graph.compile(checkpointer=InMemorySaver())


def inbox(description="The parcel was lost.", **allowed):
    config = dict.fromkeys(("allow_accept", "allow_edit", "allow_respond", "allow_ignore"), False) | allowed
    action = {"action": "refund", "args": {"order": 17, "amount": 120}}
    return [{"action_request": action, "config": config, "description": description}]


@rule("AGENT-4")
async def test_interrupts_of_agent_inbox_are_answered_as_it_does(api, tmp_path):
    everything = dict.fromkeys(("allow_accept", "allow_edit", "allow_respond", "allow_ignore"), True)
    cases = [
        (everything, "Approve", {"type": "accept", "args": None}),
        (everything, "Deny", {"type": "ignore", "args": None}),
        (everything, "words", {"type": "response", "args": f"{words.DENIED} too much"}),
        ({"allow_accept": True, "allow_ignore": True}, "words", {"type": "ignore", "args": None}),
        ({"allow_accept": True, "allow_respond": True}, "Deny", {"type": "response", "args": words.DENIED}),
        (
            everything,
            "change",
            {"type": "edit", "args": {"action": "refund", "args": {"order": 17, "amount": 90}}},
        ),
        (
            {"allow_edit": True, "allow_ignore": True},
            "Approve",
            {"type": "edit", "args": {"action": "refund", "args": {"order": 17, "amount": 120}}},
        ),
    ]
    async with agents_desk(tmp_path, api) as desk:
        for number, (allowed, what, wanted) in enumerate(cases):
            config = {"configurable": {"thread_id": f"t{number}"}}
            async with at_work(arun(plain(inbox(**allowed)), {}, config, people=people_of(desk))) as task:
                if what == "words":
                    await desk.deny_with(number, "too much")
                elif what == "change":
                    await desk.change(number, {"amount": 90})
                else:
                    await desk.press_on(number, what)
                assert (await done(task))["came"] == [wanted], number
        assert "The parcel was lost." in desk.cards[0]["text"]
        assert all(one.state.closed for one in await approvals(desk))


@rule("AGENT-4")
async def test_questions_of_a_graph_are_asked_where_the_request_was_made(api, tmp_path):
    schema = {"type": "object", "properties": {"day": {"type": "string", "format": "date"}}, "required": ["day"]}
    async with agents_desk(tmp_path, api) as desk:
        api.say(chat=GROUP, sender=BOB, text="@desk_bot come")
        await asyncio.wait_for(desk.agent.started.wait(), 20)
        people = people_of(desk, request=desk.agent.requests[0].id)
        cases = [
            ("Which colour?", "blue", "blue"),
            ({"question": "Which day?", "schema": schema}, "2026-12-01", {"day": "2026-12-01"}),
            (inbox("What now?", allow_respond=True), "not now", [{"type": "response", "args": "not now"}]),
        ]
        for number, (value, reply, wanted) in enumerate(cases):
            config = {"configurable": {"thread_id": f"q{number}"}}
            async with at_work(arun(plain(value), {}, config, people=people)) as task:
                asked = await desk.question_of(number)
                api.say(chat=GROUP, sender=BOB, text=reply, reply_to=asked["message_id"])
                assert (await done(task))["came"] == wanted


@pytest.mark.parametrize("value", [17, {"anything": 1}, [], [{"action_request": {}}], inbox(allow_ignore=True)])
async def test_an_interrupt_that_is_not_understood_stays_where_it_is(api, tmp_path, value):
    graph = plain(value)
    async with agents_desk(tmp_path, api) as desk:
        with pytest.raises(UnanswerableError):
            await asyncio.wait_for(arun(graph, {}, CONFIG, people=people_of(desk)), 40)
        assert graph.get_state(CONFIG).interrupts
        assert desk.cards == []


async def test_a_refusal_that_the_graph_can_not_take_leaves_it_paused(api, tmp_path):
    graph = plain(inbox(allow_accept=True))
    async with agents_desk(tmp_path, api) as desk, at_work(arun(graph, {}, CONFIG, people=people_of(desk))) as task:
        await desk.press_on(0, "Deny")
        with pytest.raises(UnanswerableError, match="refund"):
            await done(task)
        assert graph.get_state(CONFIG).interrupts
