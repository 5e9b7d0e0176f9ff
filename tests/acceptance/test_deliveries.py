"""Scheduled deliveries, over HTTP to what a chat on Telegram receives: with a grant, at their time, once (OUT-5, OUT-6)."""

import asyncio
import json
import sqlite3
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import aiohttp
import pytest

from bot.api.deliveries import DeliveriesApi
from bot.api.grants import GrantsApi
from bot.api.site import Callers, serve
from bot.channels.telegram.limits import Limits
from bot.config.secret import Secret
from policy.grants import Issuer, IssuerKind
from tests.harness import BOB, BOT_ID, GROUP, INTERNAL, POLICY, Clock, CountingAgent, running

rule = pytest.mark.rule
OPEN = Limits(chat=None, group=None, total=None)
PLACE = f"telegram:{BOT_ID}:{GROUP}"
MAIN, IDLE, NIGHTLY = "SYNTHETIC-key-of-the-main-agent", "SYNTHETIC-key-of-another-agent", "SYNTHETIC-key-of-nightly"
WORDS = "The office is open until six."


@dataclass
class Desk:
    """The interface, the gateway behind it, and its clock."""

    url: str
    http: aiohttp.ClientSession
    gateway: Any
    clock: Clock
    posted: int = 0

    async def call(self, method, path, *, key=MAIN, body=None, **headers):
        if key is not None:
            headers["Authorization"] = f"Bearer {key}"
        async with self.http.request(method, f"{self.url}{path}", json=body, headers=headers) as answer:
            return answer.status, await answer.json()

    async def post(self, *, key=MAIN, idempotency=None, **body):
        """Ask for a delivery to the customers' room."""
        self.posted += 1
        name = {"Idempotency-Key": idempotency or f"key {self.posted}"}
        given = {"destination": PLACE, "text": WORDS, **body}
        return await self.call("POST", "/v1/deliveries", key=key, body=given, **name)

    async def look(self, delivery):
        status, document = await self.call("GET", f"/v1/deliveries/{delivery['id']}")
        assert status == 200
        return document

    async def grant(self, *, destination=PLACE, uses=1, lasts="8h", agent="main", key=NIGHTLY, **more):
        body = {"agent": agent, "destination": destination, "uses": uses, "for": lasts, "purpose": "office hours"}
        return await self.call("POST", "/v1/grants", key=key, body={**body, **more})

    async def by(self, operator, *, destination=PLACE, uses=1):
        """A grant of an operator."""
        return await self.gateway.daemon.crew.grants.issue(
            issuer=Issuer(kind=IssuerKind.OPERATOR, id=operator),
            agent="main",
            destination=destination,
            uses=uses,
            lasts=timedelta(hours=8),
            purpose="office hours",
        )

    def seen(self, chat=GROUP):
        return self.gateway.api.texts(chat)

    async def round(self):
        """The schedule is looked at, and everything that comes of it has come."""
        await self.gateway.daemon.crew.schedule.look_round()
        await self.gateway.settled()
        await self.gateway.daemon.crew.schedule.look_round()

    async def records(self):
        """What the journal says of deliveries: state and code, in order."""
        kept = [json.loads(one.facts) for one in await self.gateway.store.journal.tail(500) if one.kind == "delivery"]
        return [(facts["state"], facts["code"]) for facts in kept]


@asynccontextmanager
async def desk(tmp_path, api, *, policy=POLICY, clock=None, dispatchers=("nightly",)):
    clock = clock or Clock()
    idle = CountingAgent(name="idle")
    port = asyncio.get_running_loop().create_future()
    async with running(
        tmp_path, api=api, limits=OPEN, policy=policy, clock=clock, further=[idle], dispatchers=dispatchers
    ) as gateway:
        keys = {"main": Secret(MAIN), "idle": Secret(IDLE)}
        others = {"nightly": Secret(NIGHTLY)}
        crew = gateway.daemon.crew
        parts = (
            DeliveriesApi(crew.schedule),
            GrantsApi(crew.grants, Callers(others, others=keys), clock=clock),
        )
        service = asyncio.create_task(
            serve(parts, host="127.0.0.1", port=0, keys=keys, others=others, bound=port.set_result), name="api"
        )
        try:
            async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=20)) as http:
                yield Desk(url=f"http://127.0.0.1:{await port}", http=http, gateway=gateway, clock=clock)
        finally:
            service.cancel()
            await asyncio.gather(service, return_exceptions=True)


def in_(**time):
    return (datetime.now(UTC) + timedelta(**time)).isoformat()


@rule("OUT-6", "DUR-2")
async def test_a_granted_delivery_arrives_and_its_receipt_is_told(api, tmp_path):
    async with desk(tmp_path, api) as agent:
        assert (await agent.grant())[0] == 201
        status, delivery = await agent.post()
        assert (status, delivery["state"]) == (201, "scheduled")
        await agent.round()
        assert agent.seen() == [WORDS]
        told = await agent.look(delivery)
        assert (told["state"], told["fired"], told["receipts"]) == ("delivered", 1, {"delivered": 1})
        assert await agent.records() == [("scheduled", None), ("sent", None), ("delivered", None)]
        assert agent.gateway.agent.requests == []


@rule("OUT-6")
async def test_a_delivery_waits_for_its_time(api, tmp_path):
    async with desk(tmp_path, api) as agent:
        await agent.grant()
        _, delivery = await agent.post(at=in_(hours=2))
        await agent.round()
        assert agent.seen() == []
        agent.clock.offset += timedelta(hours=2, seconds=5)
        await agent.round()
        assert agent.seen() == [WORDS]
        agent.clock.offset -= timedelta(hours=3)
        await agent.round()
        assert agent.seen() == [WORDS], "a clock that is set back brings nothing back"
        assert (await agent.look(delivery))["state"] == "delivered"


@rule("OUT-6")
async def test_a_grant_for_one_use_is_good_for_one(api, tmp_path):
    async with desk(tmp_path, api) as agent:
        await agent.grant(uses=1)
        _, first = await agent.post(text="one", at=in_(minutes=1))
        _, second = await agent.post(text="two", at=in_(minutes=2))
        assert (first["state"], second["state"]) == ("scheduled", "scheduled")
        agent.clock.offset += timedelta(minutes=3)
        await agent.round()
        assert agent.seen() == ["one"]
        told = await agent.look(second)
        assert (told["state"], told["code"]) == ("muted", "used_up")
        status, third = await agent.post(text="three")
        assert (status, third["error"], third["delivery"]["state"]) == (403, "used_up", "muted")
        await agent.round()
        assert agent.seen() == ["one"]
        assert ("muted", "used_up") in await agent.records()


@rule("OUT-6")
async def test_without_a_grant_nothing_is_sent_and_that_is_recorded(api, tmp_path):
    async with desk(tmp_path, api) as agent:
        status, refused = await agent.post(**{"class": "routine"})
        assert (status, refused["error"]) == (403, "no_grant")
        assert (await agent.look(refused["delivery"]))["state"] == "muted"
        await agent.round()
        assert agent.seen() == []
        assert await agent.records() == [("muted", "no_grant")]


@rule("OUT-5", "OUT-6")
async def test_a_grant_is_worth_nothing_in_another_thread_or_channel_or_of_another_agent(api, tmp_path):
    topic = api.topic(GROUP, "Prices")
    async with desk(tmp_path, api) as agent:
        _, grant = await agent.grant(destination=f"{PLACE}:{topic}", uses=9)
        for body, code in (
            ({}, "other_destination"),
            ({"destination": f"{PLACE}:{topic + 1}"}, "other_destination"),
            ({"destination": f"telegram:{BOT_ID}:{INTERNAL}"}, "other_destination"),
            ({"destination": f"{PLACE}:{topic}"}, None),
        ):
            status, said = await agent.post(grant=grant["id"], **body)
            assert (status, said.get("error")) == (201 if code is None else 403, code)
        status, said = await agent.post(key=IDLE, grant=grant["id"], destination=f"{PLACE}:{topic}")
        assert (status, said["error"]) == (403, "other_agent")
        await agent.round()
        assert [(one["text"], one["message_thread_id"]) for one in api.sent(GROUP)] == [(WORDS, topic)]
        assert api.sent(INTERNAL) == []


@rule("OUT-6", "IDENT-1")
@pytest.mark.parametrize(
    "written",
    [
        "here",
        "telegram:7001",
        str(GROUP),
        f"telegram:{BOT_ID}:",
        "room",
        "telegram:x:y",
        f"{PLACE}:4\u0662",  # 42 to whoever reads it as a number, and another place to the policy
    ],
)
async def test_an_incomplete_destination_is_muted_and_recorded(api, tmp_path, written):
    async with desk(tmp_path, api) as agent:
        await agent.grant(uses=9)
        status, said = await agent.post(destination=written)
        assert (status, said["error"]) == (403, "incomplete_destination")
        assert (await agent.grant(destination=written))[0] == 422
        await agent.round()
        assert agent.seen() == []
        assert await agent.records() == [("muted", "incomplete_destination")]


@rule("OUT-6", "OUT-5")
async def test_a_bot_that_is_not_here_is_no_way_out_and_no_fault(api, tmp_path):
    async with desk(tmp_path, api) as agent:
        await agent.grant(uses=9)
        for written in ("telegram:1:-1001000000001", "matrix:@desk:example.org:!room:example.org", "web:desk:room"):
            status, said = await agent.post(destination=written)
            assert (status, said["error"]) == (403, "no_grant")
        assert await agent.records() == [("muted", "no_grant")] * 3


@rule("OUT-6", "OUT-5")
async def test_what_waits_for_a_bot_that_was_taken_away_is_muted_and_holds_up_nothing(api, tmp_path):
    async with desk(tmp_path, api) as agent:
        await agent.grant(uses=9)
        _, gone = await agent.post(at=in_(minutes=5))
        _, other = await agent.post(at=in_(minutes=6))
        with closing(sqlite3.connect(tmp_path / "discreet.db")) as store:  # as if it were of another bot
            for table, column in (("deliveries", "id = ?"), ("grants", "agent <> ?")):
                store.execute(f"UPDATE {table} SET account = 'telegram:1' WHERE {column}", (gone["id"],))
            store.commit()
        await agent.grant(uses=9)
        agent.clock.offset += timedelta(minutes=10)
        await agent.round()
        assert [(one["state"], one["code"]) for one in (await agent.look(gone), await agent.look(other))] == [
            ("muted", "denied_channel"),
            ("delivered", None),
        ]


@rule("OUT-6")
@pytest.mark.parametrize("spoilt", ["timezone = 'Mars/Olympus'", "timezone = '../x'", "cron = 'nonsense'"])
async def test_a_timetable_that_this_machine_can_not_read_any_more_ends_muted_and_holds_up_nothing(
    api, tmp_path, spoilt
):
    async with desk(tmp_path, api) as agent:
        await agent.grant(uses=9, lasts="7d")
        _, broken = await agent.post(cron="0 8 * * *", timezone="Europe/Berlin")
        _, other = await agent.post(at=in_(hours=31))
        with closing(sqlite3.connect(tmp_path / "discreet.db")) as store:
            store.execute(f"UPDATE deliveries SET {spoilt} WHERE id = ?", (broken["id"],))
            store.commit()
        agent.clock.offset += timedelta(hours=31, minutes=1)
        await agent.round()
        assert [(one["state"], one["code"]) for one in (await agent.look(broken), await agent.look(other))] == [
            ("muted", "failed"),
            ("delivered", None),
        ]


@rule("OUT-6")
async def test_a_grant_that_is_over_or_taken_back_before_its_time_mutes(api, tmp_path):
    async with desk(tmp_path, api) as agent:
        _, grant = await agent.grant(uses=9, lasts="1h")
        status, said = await agent.post(at=in_(hours=3))
        assert (status, said["error"]) == (403, "expired"), "it would be over by then"
        _, delivery = await agent.post(at=in_(minutes=30))
        _, kept = await agent.post(at=in_(minutes=30), text="again", grant=grant["id"])
        status, gone = await agent.call("DELETE", f"/v1/grants/{grant['id']}", key=NIGHTLY)
        assert (status, gone["open"]) == (200, False)
        agent.clock.offset += timedelta(minutes=31)
        await agent.round()
        assert agent.seen() == []
        for one in (delivery, kept):
            told = await agent.look(one)
            assert (told["state"], told["code"]) == ("muted", "revoked")
        inside = agent.seen(INTERNAL)
        assert len(inside) == 2
        assert all("revoked" in text for text in inside), "operators are told, inside"


@rule("OUT-6")
async def test_whoever_is_no_operator_any_more_has_granted_nothing(api, tmp_path):
    async with desk(tmp_path, api) as agent:
        await agent.by("ann", uses=9)
        _, delivery = await agent.post(at=in_(minutes=10))
        path = tmp_path / "policy.yaml"
        path.write_text(POLICY.replace("operators: [ann]", "operators: [bob]"))
        agent.gateway.daemon.crew.policy.refresh()
        agent.clock.offset += timedelta(minutes=11)
        await agent.round()
        assert agent.seen() == []
        assert (await agent.look(delivery))["code"] == "issuer_not_entitled"


@rule("OUT-6")
async def test_a_dispatchers_key_that_is_gone_has_granted_nothing(api, tmp_path):
    async with desk(tmp_path, api) as agent:
        await agent.grant(uses=9)
        _, delivery = await agent.post(at=in_(minutes=10))
    clock = Clock(datetime.now(UTC) + timedelta(minutes=11))
    async with desk(tmp_path, api, clock=clock, dispatchers=()) as agent:
        await agent.round()
        assert agent.seen() == []
        assert (await agent.look(delivery))["code"] == "issuer_not_entitled"


@rule("OUT-6")
async def test_an_agents_key_makes_no_grant_and_a_dispatchers_key_delivers_nothing(api, tmp_path):
    async with desk(tmp_path, api) as agent:
        status, said = await agent.grant(key=MAIN)
        assert (status, said["error"]) == (403, "forbidden")
        assert (await agent.call("GET", "/v1/grants", key=MAIN))[0] == 403
        status, said = await agent.post(key=NIGHTLY)
        assert (status, said["error"]) == (403, "forbidden")
        assert (await agent.post(key="SYNTHETIC-key-of-nobody-at-all"))[0] == 401
        assert (await agent.grant(key=None))[0] == 401
        assert await agent.gateway.store.grants.all() == []
        assert await agent.gateway.store.deliveries.all() == []


@rule("OUT-6", "IDENT-5")
async def test_a_grant_opens_no_channel_that_the_policy_shuts_or_does_not_know(api, tmp_path):
    strange = -1001000009999
    api.chat(strange, type="supergroup", title="Strange")
    policy = POLICY.replace("{audience: external}", "{access: deny}")
    async with desk(tmp_path, api, policy=policy) as agent:
        for place in (PLACE, f"telegram:{BOT_ID}:{strange}", f"telegram:{BOT_ID}:{BOB}"):
            await agent.grant(destination=place)
            status, said = await agent.post(destination=place)
            assert (status, said["error"]) == (403, "denied_channel")
        await agent.round()
        assert api.texts(GROUP) == api.texts(strange) == api.texts(BOB) == []


@rule("OUT-6", "IDENT-3")
async def test_a_private_chat_is_known_by_its_own_events(api, tmp_path):
    async with desk(tmp_path, api) as agent:
        api.say(chat=BOB, sender=BOB, text="hello")
        await agent.gateway.settled()
        place = f"telegram:{BOT_ID}:{BOB}"
        await agent.grant(destination=place)
        status, _ = await agent.post(destination=place)
        assert status == 201
        await agent.round()
        assert agent.seen(BOB)[-1] == WORDS


@rule("AUTO-2", "AUTO-3", "OUT-4")
@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"class": "prices"}, "draft_only"),
        ({"class": "something of its own"}, "draft_only"),
        ({"class": "moving_money"}, "hard_stop"),
        ({"references": ["nowhere"]}, "reference_unknown"),
        (
            {"text": 'Traceback (most recent call last):\n  File "/srv/app/x.py", line 3, in <module>\nKeyError: 1'},
            "disclosure",
        ),
    ],
)
async def test_what_an_operator_has_to_see_first_does_not_go_unasked(api, tmp_path, body, code):
    async with desk(tmp_path, api) as agent:
        await agent.grant()
        status, said = await agent.post(**body)
        assert (status, said["error"]) == (403, code)
        await agent.round()
        assert agent.seen() == []
        [grant] = await agent.gateway.store.grants.all()
        assert grant.used == 0


@rule("DUR-3", "OUT-6")
async def test_what_is_scheduled_survives_a_restart_and_is_sent_once(api, tmp_path):
    async with desk(tmp_path, api) as agent:
        await agent.grant(uses=9)
        _, delivery = await agent.post(at=in_(minutes=10))
    for _ in range(2):
        async with desk(tmp_path, api, clock=Clock(datetime.now(UTC) + timedelta(minutes=20))) as agent:
            await agent.round()
            assert agent.seen() == [WORDS]
            assert (await agent.look(delivery))["state"] == "delivered"


@rule("PART-12", "OUT-6")
async def test_what_was_missed_while_the_gateway_was_down_is_sent_once_or_recorded_as_missed(api, tmp_path):
    async with desk(tmp_path, api) as agent:
        await agent.grant(uses=9, lasts="7d")
        _, soon = await agent.post(at=in_(minutes=10), text="soon")
        _, often = await agent.post(cron="*/10 * * * *", timezone="Europe/Berlin", text="often")
    async with desk(tmp_path, api, clock=Clock(datetime.now(UTC) + timedelta(hours=5))) as agent:
        await agent.round()
        assert agent.seen() == ["often"], "once for all the times that were missed"
        assert (await agent.look(soon))["state"] == "missed"
        told = await agent.look(often)
        assert (told["state"], told["fired"]) == ("scheduled", 1)
        assert datetime.fromisoformat(told["next_at"]) > agent.clock()


@rule("OUT-6")
async def test_what_comes_again_uses_the_grant_each_time_and_stays_scheduled_without_one(api, tmp_path):
    async with desk(tmp_path, api) as agent:
        await agent.grant(uses=2, lasts="7d")
        _, delivery = await agent.post(cron="0 * * * *", timezone="Europe/Berlin")
        for _ in range(4):
            agent.clock.offset += timedelta(hours=1)
            await agent.round()
        assert agent.seen() == [WORDS] * 2
        told = await agent.look(delivery)
        assert (told["state"], told["code"], told["fired"]) == ("scheduled", "used_up", 2)
        assert told["receipts"] == {"delivered": 2}
        await agent.grant(uses=1, lasts="7d")
        agent.clock.offset += timedelta(hours=1)
        await agent.round()
        assert agent.seen() == [WORDS] * 3
        assert (await agent.look(delivery))["code"] is None


@rule("OUT-6", "DUR-1")
async def test_a_call_made_again_is_the_same_delivery(api, tmp_path):
    async with desk(tmp_path, api) as agent:
        await agent.grant(uses=9)
        at = in_(minutes=10)
        first = await agent.post(idempotency="one", at=at)
        again = await agent.post(idempotency="one", at=at)
        assert (first[0], again[0], again[1]["id"]) == (201, 200, first[1]["id"])
        status, said = await agent.post(idempotency="one", at=at, text="other words")
        assert (status, said["error"]) == (409, "key_used")
        agent.clock.offset += timedelta(minutes=11)
        await agent.round()
        again = await agent.post(idempotency="one", at=at)
        assert (again[0], again[1]["state"]) == (200, "delivered")
        assert agent.seen() == [WORDS]


@rule("OUT-6")
async def test_a_grant_asked_for_again_with_its_key_is_the_same_grant(api, tmp_path):
    async with desk(tmp_path, api) as agent:
        body = {"agent": "main", "destination": PLACE, "uses": 3, "for": "8h", "purpose": "hours", "key": "monday"}
        made = await agent.call("POST", "/v1/grants", key=NIGHTLY, body=body)
        again = await agent.call("POST", "/v1/grants", key=NIGHTLY, body=body)
        assert (made[0], again[0], again[1]["id"]) == (201, 200, made[1]["id"])
        status, said = await agent.call("POST", "/v1/grants", key=NIGHTLY, body={**body, "uses": 4})
        assert (status, said["error"]) == (409, "key_used")
        _, listed = await agent.call("GET", "/v1/grants", key=NIGHTLY)
        assert [one["id"] for one in listed["grants"]] == [made[1]["id"]]


@rule("OUT-6")
async def test_a_delivery_can_be_taken_back_until_its_time(api, tmp_path):
    async with desk(tmp_path, api) as agent:
        await agent.grant(uses=9)
        _, delivery = await agent.post(at=in_(minutes=10))
        assert (await agent.call("DELETE", f"/v1/deliveries/{delivery['id']}", key=IDLE))[0] == 404
        status, gone = await agent.call("DELETE", f"/v1/deliveries/{delivery['id']}")
        assert (status, gone["state"]) == (200, "cancelled")
        agent.clock.offset += timedelta(minutes=11)
        await agent.round()
        assert agent.seen() == []
        _, sent = await agent.post()
        await agent.round()
        assert (await agent.call("DELETE", f"/v1/deliveries/{sent['id']}"))[0] == 409
        assert (await agent.call("GET", "/v1/deliveries"))[1] == {"deliveries": []}


@rule("OUT-6")
@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"at": "tomorrow"}, "/at"),
        ({"at": "2026-12-01T08:30:00"}, "/at"),
        ({"at": in_(minutes=5), "cron": "0 8 * * *"}, "/cron"),
        ({"timezone": "Europe/Berlin"}, "/timezone"),
        ({"text": ""}, "/text"),
        ({"text": 3}, "/text"),
        ({"audience": "internal"}, "/audience"),
        ({"force": True}, "/force"),
        ({"references": "x"}, "/references"),
    ],
)
async def test_what_can_not_be_taken_is_named(api, tmp_path, body, path):
    async with desk(tmp_path, api) as agent:
        await agent.grant(uses=9)
        status, said = await agent.post(**body)
        assert (status, [one["path"] for one in said["problems"]]) == (422, [path])
        assert await agent.gateway.store.deliveries.all() == []


@rule("OUT-6")
@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"at": in_(days=400)}, "at"),
        ({"at": in_(hours=-3)}, "at"),
        ({"cron": "every day"}, "cron"),
        ({"cron": "0 0 31 2 *"}, "cron"),
        ({"cron": "0 8 * * *", "timezone": "Nowhere/Town"}, "timezone"),
        ({"text": "   "}, "text"),
    ],
)
async def test_a_time_that_can_not_be_is_refused_at_once(api, tmp_path, body, code):
    async with desk(tmp_path, api) as agent:
        await agent.grant(uses=9)
        status, said = await agent.post(**body)
        assert (status, said["error"]) == (422, code)


@rule("OUT-6")
async def test_a_delivery_wants_a_key_of_its_own(api, tmp_path):
    async with desk(tmp_path, api) as agent:
        status, said = await agent.call("POST", "/v1/deliveries", body={"destination": PLACE, "text": WORDS})
        assert (status, said["problems"][0]["path"]) == (422, "/key")


@rule("OUT-6", "IDENT-4")
async def test_a_grant_does_not_move_with_a_group_that_becomes_a_supergroup(api, tmp_path):
    old, new = -4001, -1001000004001
    api.chat(old, type="group", title="Small")
    policy = POLICY + f'  "telegram:{BOT_ID}:{old}": {{audience: external}}\n'
    async with desk(tmp_path, api, policy=policy) as agent:
        await agent.grant(destination=f"telegram:{BOT_ID}:{old}")
        _, delivery = await agent.post(destination=f"telegram:{BOT_ID}:{old}", at=in_(minutes=5))
        api.migrate(old, new)
        await agent.gateway.settled()
        agent.clock.offset += timedelta(minutes=6)
        await agent.round()
        assert api.texts(new) == []
        assert (await agent.look(delivery))["state"] == "rejected"


@rule("OUT-6", "DUR-2")
@pytest.mark.parametrize("arrived", [True, False], ids=["and arrived", "and was lost"])
async def test_a_send_of_which_nobody_knows_is_unknown_and_is_not_made_again(api, tmp_path, arrived):
    policy = POLICY.replace("{audience: external}", "{audience: external, unclear_sends: resend}")
    async with desk(tmp_path, api, policy=policy) as agent:
        await agent.grant(uses=9)
        api.drop("sendMessage", deliver=arrived, chat_id=GROUP)
        _, delivery = await agent.post()
        await agent.round()
        assert (await agent.look(delivery))["state"] == "unknown"
        assert len([call for call in api.calls if call.text == WORDS]) == 1, "whatever the channel's policy says"
    async with desk(tmp_path, api, policy=policy) as agent:
        await agent.round()
        assert len([call for call in api.calls if call.text == WORDS]) == 1


@rule("OUT-6", "DUR-3")
async def test_one_that_was_under_way_when_the_process_ended_is_unknown_afterwards(api, tmp_path):
    fault = api.hang("sendMessage", deliver=True, chat_id=GROUP)
    async with desk(tmp_path, api) as agent:
        await agent.grant(uses=9)
        _, delivery = await agent.post()
        await fault.reached()
        await agent.gateway.daemon.close(grace_s=0.1)
    fault.cut()
    async with desk(tmp_path, api) as agent:
        await agent.round()
        told = await agent.look(delivery)
        assert (told["state"], told["fired"], told["receipts"]) == ("unknown", 1, {"unknown": 1})
        assert agent.seen() == [WORDS]
