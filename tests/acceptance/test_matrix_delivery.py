"""How answers reach people on Matrix: through a homeserver that goes away, grown by edits, cut into parts."""

import asyncio
from dataclasses import dataclass, field

import pytest

from bot.model.errors import AgentError
from bot.model.output import Final, Fragment
from tests.acceptance.matrix import INTERNAL
from tests.harness import CountingAgent
from tests.servers.matrix_person import edited, replied_to
from tests.servers.synapse import until

rule = pytest.mark.rule


def echo():
    return CountingAgent(answer=lambda request: [Final(text=f"to {request.text}")])


async def away(gateway):
    """Wait until the channel has noticed that nobody is there."""

    async def look():
        return gateway.channel.state != "ok"

    await until(look)


@rule("DUR-1", "DUR-2")
async def test_while_the_homeserver_can_not_be_reached_nothing_is_lost_and_order_holds(desk, way):
    room = await desk.room(desk.ann, desk.bob, encrypted=True)
    agent = CountingAgent(gate=asyncio.Event(), answer=lambda request: [Final(text=f"to {request.text}")])
    async with desk.running(server_url=way.url, agent=agent) as gateway:
        await desk.ready(room, desk.bob)
        await desk.bob.say(room, "1", mentions=[desk.bot])
        async with asyncio.timeout(20):
            await agent.started.wait()
        await way.shut()
        agent.gate.set()  # the answer finds nobody
        await away(gateway)
        for number in (2, 3):
            await desk.bob.say(room, f"{number}", mentions=[desk.bot])
        await way.open()
        await desk.bob.hears(room, desk.bot, 3, within_s=60)
        await gateway.settled()
        assert desk.bob.texts(room, desk.bot) == ["to 1", "to 2", "to 3"]


@rule("DUR-1", "DUR-2")
async def test_a_homeserver_that_is_restarted_is_found_again(desk):
    room = await desk.room(desk.ann, desk.bob, encrypted=True)
    async with desk.running(agent=echo()) as gateway:
        await desk.ready(room, desk.bob)
        desk.synapse.stop()
        await away(gateway)
        desk.synapse.start()
        event = await desk.bob.say(room, "hello", mentions=[desk.bot])
        await desk.bob.hears(room, desk.bot, within_s=60)
        await desk.over(gateway, event)
        assert desk.bob.texts(room, desk.bot) == ["to hello"]


@rule("DUR-3")
async def test_a_request_that_was_cut_off_is_given_to_its_agent_again_with_its_words_and_files(desk):
    room = await desk.room(desk.ann, desk.bob, encrypted=True)
    agent = CountingAgent(gate=asyncio.Event())
    async with desk.running(agent=agent) as gateway:
        await desk.ready(room, desk.bob)
        await desk.bob.send_file(room, b"content", caption="read this", mentions=[desk.bot])
        second = await desk.bob.say(room, "and this", mentions=[desk.bot])
        async with asyncio.timeout(20):
            await agent.started.wait()
        await desk.judged(second)
    async with desk.running(agent=echo()) as gateway:
        await desk.bob.hears(room, desk.bot, 2)
        await gateway.quiet()
        assert sorted(desk.bob.texts(room, desk.bot)) == ["to and this", "to read this"]
        assert gateway.agent.files == [b"content"]


@rule("DUR-2")
@pytest.mark.parametrize("arrives", [True, False], ids=["it-had-arrived", "it-had-not"])
@pytest.mark.parametrize("encrypted", [True, False], ids=["encrypted", "plain"])
async def test_a_send_whose_answer_was_lost_is_made_again_and_is_one_message(desk, way, arrives, encrypted):
    room = await desk.room(desk.ann, desk.bob, encrypted=encrypted)
    async with desk.running(server_url=way.url, agent=echo()) as gateway:
        await desk.ready(room, desk.bob)
        for _ in range(3):  # an HTTP client may repeat a PUT by itself, once
            way.lose_answer("/send/m.room", arrives=arrives)
        event = await desk.bob.say(room, "hello", mentions=[desk.bot])
        await way.has_lost(3)
        await desk.over(gateway, event)
        after = await desk.bob.say(room, "and then?", mentions=[desk.bot])
        await desk.over(gateway, after)
        await desk.bob.caught_up(room)
        assert desk.bob.texts(room, desk.bot) == ["to hello", "to and then?"]


@dataclass
class GrowingAgent(CountingAgent):
    """Says the first half, waits, and says the whole."""

    seen: asyncio.Event = field(default_factory=asyncio.Event)

    async def run(self, request, files):
        self.requests.append(request)
        yield Fragment(text="the **first** half")
        await self.seen.wait()
        yield Final(text="the **first** half and the second")


@rule("OUT-3")
@pytest.mark.parametrize("encrypted", [True, False], ids=["encrypted", "plain"])
async def test_an_answer_grows_by_edits_of_one_message(desk, encrypted):
    room = await desk.room(desk.ann, desk.bob, encrypted=encrypted, policy="{audience: internal, streaming: edit}")
    agent = GrowingAgent()
    async with desk.running(agent=agent) as gateway:
        await desk.ready(room, desk.bob)
        event = await desk.bob.say(room, "tell me", mentions=[desk.bot])
        (first,) = await desk.bob.hears(room, desk.bot)
        assert first["content"]["body"].startswith("the first half") or "first" in first["content"]["body"]
        assert replied_to(first) == event
        agent.seen.set()
        await desk.over(gateway, event)
        last = (await desk.bob.hears(room, desk.bot, 2))[-1]
        assert edited(last) == first["event_id"]
        assert last["content"]["m.new_content"]["formatted_body"].count("<strong>first</strong>") == 1
        assert last["content"]["m.new_content"]["body"].endswith("and the second")
        assert [edited(one) for one in desk.bob.said(room, desk.bot)].count(None) == 1


@rule("OUT-2")
async def test_an_answer_that_is_too_long_for_one_event_comes_whole_and_in_order(desk):
    room = await desk.room(desk.ann, desk.bob, encrypted=True)
    words = [f"word{number}" for number in range(12_000)]
    agent = CountingAgent(answer=lambda _request: [Final(text=" ".join(words))])
    async with desk.running(agent=agent) as gateway:
        await desk.ready(room, desk.bob)
        event = await desk.bob.say(room, "everything, please", mentions=[desk.bot])
        await desk.over(gateway, event)
        await desk.bob.caught_up(room)
        parts = desk.bob.texts(room, desk.bot)
        assert len(parts) > 1
        assert " ".join(parts).split() == words


@rule("OUT-7", "OUT-8")
async def test_a_failure_is_plain_words_outside_and_its_report_goes_inside(desk):
    room = await desk.room(desk.ann, desk.bob, encrypted=True)
    inside = await desk.room(desk.ann, encrypted=True, policy="{audience: internal, reports: true}")
    error = AgentError("Traceback in /opt/agent/brain.py, password hunter2")
    async with desk.running(agent=CountingAgent(answer=lambda _request: [error])) as gateway:
        await desk.ready(room, desk.bob)
        await desk.ready(inside, desk.ann)
        await desk.over(gateway, await desk.bob.say(room, "hello", mentions=[desk.bot]))
        await desk.ann.hears(inside, desk.bot)
        (answer,) = await desk.bob.hears(room, desk.bot)
        assert "hunter2" not in str(answer)
        assert "Traceback" not in str(answer)
        assert answer["content"]["body"]


@rule("PART-10")
async def test_a_wordless_run_is_acknowledged_in_an_internal_room_only(desk):
    outside = await desk.room(desk.ann, desk.bob)
    inside = await desk.room(desk.ann, desk.bob, policy=INTERNAL.replace("}", ", never_silent_ack: true}"))
    async with desk.running(agent=CountingAgent(answer=lambda _request: [])) as gateway:
        await desk.ready(outside, desk.bob)
        await desk.ready(inside, desk.bob)
        for room in (outside, inside):
            await desk.over(gateway, await desk.bob.say(room, "noted?", mentions=[desk.bot]))
        await desk.bob.hears(inside, desk.bot)
        assert desk.bob.texts(outside, desk.bot) == []
