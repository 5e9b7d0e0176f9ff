"""Strangers, agents, clocks and admins who mean harm or take no care, on a running gateway."""

import asyncio
import json
import time
from datetime import timedelta

import pytest

from bot.model.errors import StoreError
from bot.model.inbound import Arrival
from bot.model.output import Final, OutFile
from forms.card import Button, Card
from tests.browser.brain import open_desk
from tests.browser.visitor import upload, visit
from tests.harness import ANN, BOB, BOT_ID, GROUP, INTERNAL, MALLORY, POLICY, Clock, CountingAgent, running

rule = pytest.mark.rule
TIGHT = POLICY.replace("{audience: external}", "{audience: external, rate: {person: 3, channel: 50}}")
STOPPED, NOTHING = "Stopped.", "There is nothing to stop right now."


async def until(found, *, within_s=10):
    """Wait for something that nobody announces."""
    async with asyncio.timeout(within_s):
        while not found():
            await asyncio.sleep(0.01)


async def busy(gateway, sender=BOB):
    """Somebody has asked and the agent is at work."""
    gateway.agent.gate = asyncio.Event()
    gateway.api.say(chat=GROUP, sender=sender, text="@desk_bot long work")
    async with asyncio.timeout(10):
        await gateway.agent.started.wait()


@rule("PART-8", "AGENT-5")
async def test_a_stranger_stops_nobody_elses_request_and_an_operator_does(gateway):
    await busy(gateway)
    gateway.api.say(chat=GROUP, sender=MALLORY, text="/stop@desk_bot")
    await until(lambda: gateway.api.texts(GROUP) == [NOTHING])
    assert gateway.daemon.crew.worker.open_lanes == 1
    gateway.api.say(chat=GROUP, sender=ANN, text="/stop@desk_bot")
    await gateway.settled()
    assert gateway.api.texts(GROUP) == [NOTHING, STOPPED]


@rule("PART-8", "PART-16")
async def test_who_has_no_account_stops_nobody(gateway):
    await busy(gateway)
    nobody = {"id": 1087968824, "is_bot": True, "first_name": "Group", "username": "GroupAnonymousBot"}
    text = "/stop@desk_bot"
    message = {
        "message_id": 900,
        "date": int(time.time()),
        "chat": {"id": GROUP, "type": "supergroup", "title": "Customer"},
        "from": nobody,
        "sender_chat": {"id": GROUP, "type": "supergroup", "title": "Customer"},
        "text": text,
        "entities": [{"type": "bot_command", "offset": 0, "length": len(text)}],
    }
    gateway.api.push({"message": message})
    await until(lambda: gateway.api.texts(GROUP) == [NOTHING])
    gateway.agent.gate.set()
    await gateway.settled()
    assert gateway.api.texts(GROUP) == [NOTHING, "ok"]


@rule("PART-8")
async def test_stop_also_ends_what_the_person_still_collects(gateway):
    picture = gateway.api.file(b"picture", name="a.jpg", mime="image/jpeg")
    gateway.api.say(chat=GROUP, sender=BOB, text="@desk_bot compare", photo=picture)
    gateway.api.say(chat=GROUP, sender=BOB, text="/stop@desk_bot")
    await gateway.quiet()
    assert gateway.api.texts(GROUP) == [STOPPED]
    assert gateway.agent.requests == []


@rule("PART-8")
async def test_control_commands_pass_the_rate_gate_like_everything_else(api, tmp_path):
    async with running(tmp_path, api=api, policy=TIGHT) as gateway:
        for _ in range(6):
            api.say(chat=GROUP, sender=MALLORY, text="/stop@desk_bot")
        api.say(chat=GROUP, sender=BOB, text="/stop@desk_bot")
        await gateway.settled()
        assert api.texts(GROUP) == [NOTHING] * 4, "three for the stranger, and one for who has said nothing yet"


@rule("PART-13", "AGENT-5")
async def test_a_button_that_is_pressed_again_and_again_runs_no_agent_without_end(api, tmp_path):
    card = Card(title="Go on?", buttons=(Button(label="Yes", value="yes"),))
    agent = CountingAgent(answer=lambda request: [Final(text="x", card=None if request.tap else card)])
    async with running(tmp_path, api=api, policy=TIGHT, agent=agent) as gateway:
        api.say(chat=GROUP, sender=BOB, text="@desk_bot hello")
        await gateway.settled()
        message = api.sent(GROUP)[0]
        token = message["reply_markup"]["inline_keyboard"][0][0]["callback_data"]
        person = {"id": MALLORY, "is_bot": False, "first_name": "Mallory"}
        for number in range(10):
            tap = {"id": str(number), "from": person, "chat_instance": "1", "data": token, "message": message}
            api.push({"callback_query": tap})
        await gateway.settled()
        assert [request.tap for request in agent.requests] == [None, "yes", "yes", "yes"]


@rule("AGENT-5")
async def test_an_agent_that_hangs_everywhere_takes_no_place_of_another(api, tmp_path):
    other = CountingAgent(name="other")
    policy = POLICY.replace("audience: internal, reports: true", "audience: internal, agent: other")
    async with running(
        tmp_path, api=api, agent=CountingAgent(gate=asyncio.Event()), further=[other], policy=policy
    ) as g:
        for person in range(2000, 2070):
            api.say(chat=person, sender=person, text="hello")
        await until(lambda: len(g.agent.requests) == 64, within_s=20)
        api.say(chat=INTERNAL, sender=ANN, text="@desk_bot is it only there?")
        await until(lambda: len(other.requests) == 1)
        assert g.daemon.crew.worker.waiting == 6
        api.say(chat=2069, sender=2069, text="/stop")
        await until(lambda: api.texts(2069) == [STOPPED])
        g.agent.gate.set()
        await g.settled()
        assert len(g.agent.requests) == 69, "the one that waited for its place was stopped before it began"


@rule("AGENT-5", "OUT-7")
async def test_an_answer_that_no_channel_can_show_becomes_a_plain_sentence(gateway):
    odd = OutFile(name="half \ud800", media_type="text/plain", content=b"x")
    answers = [Final(text=None), Final(text="here", files=(odd,))]
    gateway.agent.answer = lambda _request: [answers.pop(0)]
    gateway.api.say(chat=GROUP, sender=BOB, text="@desk_bot the file please")
    await gateway.settled()
    assert len(gateway.api.texts(GROUP)) == 1
    gateway.api.say(chat=GROUP, sender=BOB, text="@desk_bot the file please")
    await gateway.settled()
    assert len(gateway.api.sent(GROUP)) == 2
    assert await gateway.store.inbox.unfinished(gateway.channel.account) == []


@rule("AGENT-5")
@pytest.mark.parametrize("sign", ["![", "[", "|a", "**a_"])
async def test_an_answer_that_is_hard_to_format_holds_up_nobody(gateway, sign):
    gateway.agent.answer = lambda _request: [Final(text=(sign * 100_000)[:40_000])]
    late = asyncio.Event()

    async def watch():
        loop = asyncio.get_running_loop()
        while True:
            before = loop.time()
            await asyncio.sleep(0.01)
            if loop.time() - before > 1.5:
                late.set()

    watching = asyncio.create_task(watch())
    gateway.api.say(chat=GROUP, sender=BOB, text="@desk_bot write")
    await until(lambda: gateway.api.texts(GROUP), within_s=20)
    watching.cancel()
    assert not late.is_set()


async def test_a_clock_that_is_set_back_mutes_nobody(api, tmp_path):
    clock = Clock()
    async with running(tmp_path, api=api, policy=TIGHT, clock=clock) as gateway:
        for _ in range(3):
            api.say(chat=GROUP, sender=BOB, text="@desk_bot hello")
        await gateway.settled()
        clock.offset -= timedelta(minutes=30)
        api.say(chat=GROUP, sender=BOB, text="@desk_bot hello")
        await gateway.settled()
        assert len(gateway.agent.requests) == 4


@rule("PART-8", "PART-16")
async def test_what_one_without_an_account_says_never_joins_the_request_of_another(gateway):
    base = {"date": int(time.time()), "chat": {"id": GROUP, "type": "supergroup", "title": "Customer"}}
    admin = base | {
        "message_id": 901,
        "from": {"id": 1087968824, "is_bot": True, "first_name": "Group"},
        "sender_chat": base["chat"],
        "text": "@desk_bot " + "a" * 4080,
        "entities": [{"type": "mention", "offset": 0, "length": 9}],
    }
    stranger = base | {
        "message_id": 902,
        "from": {"id": 136817688, "is_bot": True, "first_name": "Channel"},
        "sender_chat": {"id": -1009, "type": "channel", "title": "Other"},
        "text": "and send it to me",
    }
    gateway.api.push({"message": admin})
    gateway.api.push({"message": stranger})
    await gateway.quiet()
    assert [request.text for request in gateway.agent.requests] == [admin["text"]]
    assert gateway.reasons(902) == ["no_address"]


@rule("PART-9", "PART-13")
async def test_half_a_surrogate_pair_in_observed_words_keeps_no_event_undecided(api, tmp_path):
    observed = "observe_unmentioned_group_messages: true, observation: {retention: 1h, readers: [main]}"
    policy = POLICY.replace("{audience: external}", f"{{audience: external, {observed}}}")
    async with running(tmp_path, api=api, policy=policy) as gateway:
        message = {
            "message_id": 903,
            "date": int(time.time()),
            "chat": {"id": GROUP, "type": "supergroup", "title": "Customer"},
            "from": {"id": BOB, "is_bot": False, "first_name": "Bob"},
            "text": "half \ud800",
        }
        raw = json.dumps({"update_id": 1, "message": message}).encode()
        lane, account = f"telegram:{BOT_ID}:{GROUP}", gateway.channel.account
        arrival = Arrival(key="1", lane=lane, raw=raw, received_at=Clock()())
        await gateway.daemon.crew.gateway.accept(account, [arrival])
        await gateway.settled()
        assert gateway.reasons(903) == ["no_address"]
        assert await gateway.store.inbox.unfinished(account) == []


@rule("IDENT-5", "OUT-5")
async def test_access_that_is_taken_away_while_the_agent_works_lets_nothing_out(gateway):
    await busy(gateway)
    denied = POLICY.replace("{audience: external}", "{audience: external, access: deny}")
    (gateway.folder / "policy.yaml").write_text(denied)
    gateway.daemon.crew.policy.refresh()
    gateway.agent.gate.set()
    await gateway.settled()
    assert gateway.api.texts(GROUP) == []


@rule("IDENT-5")
async def test_a_report_that_fails_does_not_end_the_following_of_the_policy(gateway, monkeypatch):
    async def full(*_args, **_values):
        raise StoreError("the disk is full")

    crew, path = gateway.daemon.crew, gateway.folder / "policy.yaml"
    with monkeypatch.context() as patch:
        patch.setattr(crew.reports, "tell", full)
        path.write_text("broken")
        await until(lambda: "policy" in crew.health.report()["components"])
        await asyncio.sleep(0)
    path.write_text(POLICY.replace("{audience: external}", "{audience: external, access: deny}"))
    await until(lambda: any(one.access.value == "deny" for one in crew.policy().channels.values()))
    assert crew.health.alive


async def test_a_post_that_is_repeated_with_another_file_changes_nothing():
    nonce = "n" * 16
    async with open_desk() as desk, visit(desk) as page:
        first = await page.say("customers", "look", who="mara", nonce=nonce, files=[upload("a.txt", b"first")])
        again = await page.say("customers", "look", who="mara", nonce=nonce, files=[upload("a.txt", b"other")])
        assert again["id"] == first["id"]
        assert (await page.get(first["files"][0]["url"]))[1] == b"first"


@rule("OUT-8")
async def test_strangers_who_make_the_agent_fail_flood_no_room_of_the_operators(api, tmp_path):
    agent = CountingAgent(answer=lambda _request: [ValueError("broken")])
    async with running(tmp_path, api=api, agent=agent) as gateway:
        for person in range(3000, 3030):
            api.say(chat=person, sender=person, text="hello")
        await until(lambda: all(api.texts(person) for person in range(3000, 3030)), within_s=20)
        reports = await gateway.store.outbox.pending(gateway.channel.account, now=Clock()())
        assert len(api.texts(INTERNAL)) + len(reports) == 10


@rule("IDENT-4")
async def test_groups_that_nobody_listed_fill_no_room_of_the_operators(gateway):
    gateway.api.push(
        {
            "message": {
                "message_id": 904,
                "date": int(time.time()),
                "chat": {"id": -77, "type": "group", "title": "Mine"},
                "from": {"id": MALLORY, "is_bot": False, "first_name": "Mallory"},
                "migrate_to_chat_id": -1007,
            },
        },
    )
    await gateway.settled()
    assert gateway.api.texts(INTERNAL) == []
