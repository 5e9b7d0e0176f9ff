"""A2H 1.0 at a running gateway, with people on Telegram (AGENT-1)."""

import asyncio
import hashlib
import json
import uuid
from datetime import UTC, datetime, timedelta

import pytest

from bot.api.a2h.signing import FILE, Signer
from bot.config.settings import CallbackAddress
from tests.a2h_desk import ORIGIN, OWN_ID, POLICY, a2h_desk, webhook_holds, webhook_secret
from tests.agents_desk import receiving
from tests.harness import ANN, BOB, BOT_ID, INTERNAL, Clock

rule = pytest.mark.rule


@rule("AGENT-1")
async def test_an_agent_asks_polls_is_approved_on_telegram_and_tells_the_result(api, tmp_path):
    async with a2h_desk(tmp_path, api) as here:
        place = await here.meet()
        await here.grant(place)
        sent = here.client.message(
            "AUTHORIZE",
            "The agent wants to run:\n\nrm -rf /srv/old",
            interaction_id="exec-1234",
            channel={"type": "web", "address": here.url, "nonce": "cmFuZG9tLW5vbmNl"},
            params={"profile": "x-openclaw:exec.v1", "command": "rm -rf /srv/old", "host": "gateway"},
            assurance={"level": "LOW"},
            explanation_bundle={"why": "the disk is full"},
        )
        status, accepted = await here.client.call("POST", "/v1/intent", sent)
        assert status == 200, accepted
        assert uuid.UUID(accepted["interaction_id"])
        assert accepted["channel_id"] == "telegram"
        waiting = await here.client.poll(accepted["interaction_id"], "WAITING_INPUT")
        assert "decision" not in waiting
        (card,) = here.cards()
        assert "rm -rf /srv/old" in card["text"]
        assert "the disk is full" in card["text"]
        await here.tap("Approve")
        done = await here.client.poll(accepted["interaction_id"], "ANSWERED", "EXPIRED")
        assert (done["decision"], done["response"]["decision"]) == ("APPROVE", "APPROVE")
        assert done["response"]["responds_to"] == sent["message_id"]
        assert (done["evidence"]["factor"], done["evidence"]["proof"]["person"]) == ("chat.telegram.v1", "ann")
        assert await here.client.verified(done["response"])
        assert await here.client.status(accepted["interaction_id"]) == done
        assert not await here.client.verified({**done["response"], "decision": "DECLINE"})
        status, told = await here.client.send(
            "RESULT", "It is deleted.", responds_to=sent["message_id"], params={"status": "EXECUTED"}
        )
        assert status == 200, told
        assert (await here.client.poll(told["interaction_id"], "SENT"))["type"] == "RESULT"
        await here.reads("It is deleted.")
        approval = await here.rooms.approvals.look(uuid.UUID(accepted["interaction_id"]).hex)
        assert approval.state.value == "executed"


@rule("AGENT-1", "APPR-5")
async def test_what_is_declined_or_sent_back_was_not_approved(api, tmp_path):
    async with a2h_desk(tmp_path, api) as here:
        await here.meet()
        _, one = await here.client.send("AUTHORIZE", "Pay 12 EUR?")
        await here.tap("Deny")
        done = await here.client.poll(one["interaction_id"], "ANSWERED")
        assert (done["decision"], done["response"]["status"]) == ("DECLINE", "ANSWERED")
        status, told = await here.client.send(
            "RESULT", "Paid.", responds_to=done["message_id"], params={"status": "EXECUTED"}
        )
        assert (status, told["error"]) == (409, "ERR.CONFLICT")


@rule("AGENT-1", "FORM-2")
async def test_components_are_collected_as_fields_and_come_back(api, tmp_path):
    components = [
        {"type": "TEXT", "name": "full_name", "label": "Full name", "required": True, "validation": {"maxLength": 40}},
        {
            "type": "SELECT",
            "name": "slot",
            "label": "Time",
            "options": [{"value": "tue_2pm", "label": "Tue 2pm"}, {"value": "wed_9am", "label": "Wed 9am"}],
        },
        {"type": "MULTISELECT", "name": "extras", "options": [{"value": "tea"}, {"value": "cake"}]},
        {"type": "NUMBER", "name": "guests", "validation": {"min": 1, "max": 8}},
        {"type": "CHECKBOX", "name": "news"},
        {"type": "DATE", "name": "day"},
    ]
    async with a2h_desk(tmp_path, api) as here:
        await here.grant(await here.meet(BOB))
        status, asked = await here.client.send("COLLECT", "Your appointment", principal_id="bob", components=components)
        assert status == 200, asked
        await here.client.poll(asked["interaction_id"], "WAITING_INPUT")
        question = here.api.sent(BOB)[-1]
        assert "Your appointment" in question["text"]
        here.api.say(chat=BOB, sender=BOB, text="guests: 12", reply_to=question["message_id"])
        await here.settled()
        assert (await here.client.status(asked["interaction_id"]))["state"] == "WAITING_INPUT"
        answer = "Full name: Jane Doe\nTime: Wed 9am\nextras: tea, cake\nguests: 3\nnews: yes\nday: 2026-12-24"
        here.api.say(chat=BOB, sender=BOB, text=answer, reply_to=question["message_id"])
        await here.settled()
        done = await here.client.poll(asked["interaction_id"], "ANSWERED")
        assert done["data"] == {
            "full_name": "Jane Doe",
            "slot": "wed_9am",
            "extras": ["tea", "cake"],
            "guests": 3,
            "news": True,
            "day": "2026-12-24",
        }
        assert "decision" not in done
        assert done["evidence"]["proof"]["person"] == "bob"
        assert await here.client.verified(done["response"])


@rule("AGENT-1", "OUT-6")
async def test_without_a_grant_nothing_is_put_to_anybody(api, tmp_path):
    async with a2h_desk(tmp_path, api) as here:
        await here.meet(BOB)
        before = len(api.sent(BOB))
        collect = {"components": [{"type": "TEXT", "name": "a"}]}
        for kind, more in (("INFORM", {}), ("COLLECT", collect)):
            message = here.client.message(kind, "Good news.", principal_id="bob", **more)
            status, refused = await here.client.call("POST", "/v1/intent", message)
            assert (status, refused["error"]) == (503, "ERR.CHANNEL_UNAVAILABLE"), refused
            assert refused["details"]["reason"] == "no_grant"
        await here.settled()
        assert len(api.sent(BOB)) == before
        await here.grant(f"telegram:{BOT_ID}:{BOB}", uses=1)
        assert (await here.client.call("POST", "/v1/intent", message))[0] == 200  # nothing was kept of it
        status, refused = await here.client.send("INFORM", "More news.", principal_id="bob")
        assert (status, refused["details"]["reason"]) == (503, "used_up")


@rule("AGENT-1", "APPR-8")
async def test_an_escalation_is_taken_over_by_whoever_the_policy_names(api, tmp_path):
    async with a2h_desk(tmp_path, api) as here:
        await here.meet(BOB)
        status, asked = await here.client.send(
            "ESCALATE", "Bob wants a person.", principal_id="bob", params={"targets": ["chat:queue/support"]}
        )
        assert status == 200, asked
        await here.client.poll(asked["interaction_id"], "WAITING_INPUT")
        (card,) = here.cards(INTERNAL)
        assert "chat:queue/support" in card["text"]
        await here.tap("Approve", chat=INTERNAL)
        done = await here.client.poll(asked["interaction_id"], "ANSWERED")
        assert (done["decision"], done["evidence"]["proof"]["person"]) == ("APPROVE", "ann")


@rule("AGENT-1", "APPR-1", "IDENT-1")
async def test_the_policy_alone_says_who_a_principal_is_and_what_they_may_authorize(api, tmp_path):
    rules = """
approvals:
  rules:
    - {name: bank, tools: [authorize], when: ["params.kind == 'bank'"], then: ask, who: {people: [cleo]}}
    - {name: never, tools: [authorize], when: ["params.kind == 'wipe'"], then: forbid}
    - {name: anything, tools: [authorize], then: allow}
"""
    async with a2h_desk(tmp_path, api, policy=POLICY + rules) as here:
        await here.meet()
        for who in ("nobody", "telegram:501", "mallory", "did:example:bob", "Ann"):
            status, refused = await here.client.send("INFORM", "Hello.", principal_id=who)
            assert (status, refused["error"]) == (422, "ERR.INVALID_PRINCIPAL"), who
        status, refused = await here.client.send("AUTHORIZE", "Pay?", principal_id="bob")  # no operator
        assert (status, refused["error"]) == (422, "ERR.INVALID_PRINCIPAL")
        status, refused = await here.client.send("AUTHORIZE", "Pay?", params={"kind": "bank"})  # another one's matter
        assert (status, refused["error"]) == (422, "ERR.INVALID_PRINCIPAL")
        status, never = await here.client.send("AUTHORIZE", "Wipe?", params={"kind": "wipe"})
        assert (status, never["state"], never["decision"]) == (200, "ANSWERED", "DECLINE")
        assert never["evidence"]["factor"] == "policy.v1"
        _, one = await here.client.send("AUTHORIZE", "Tea?", params={"kind": "tea"})  # what needs nobody is asked for
        await here.client.poll(one["interaction_id"], "WAITING_INPUT")
        card = here.cards()[-1]
        data = next(key["callback_data"] for row in card["reply_markup"]["inline_keyboard"] for key in row)
        api.press(chat=ANN, sender=503, message_id=card["message_id"], data=data, force=True)  # cleo was not asked
        await here.settled()
        assert (await here.client.status(one["interaction_id"]))["state"] == "WAITING_INPUT"


@rule("AGENT-1")
async def test_an_address_counts_only_if_the_policy_binds_it(api, tmp_path):
    async with a2h_desk(tmp_path, api) as here:
        await here.grant(await here.meet(ANN))
        await here.meet(BOB)
        channel = {"type": "telegram", "address": f"telegram:{BOB}"}
        before = len(api.sent(BOB))
        status, sent = await here.client.send("INFORM", "For Ann alone.", channel=channel)
        assert status == 200, sent
        await here.client.poll(sent["interaction_id"], "SENT")
        await here.reads("For Ann alone.")
        assert len(api.sent(BOB)) == before


@rule("AGENT-1")
async def test_the_same_message_is_one_interaction_and_old_ones_are_refused(api, tmp_path):
    async with a2h_desk(tmp_path, api) as here:
        await here.meet()
        message = here.client.message("AUTHORIZE", "Pay 1 EUR?")
        answers = await asyncio.gather(*(here.client.call("POST", "/v1/intent", message) for _ in range(5)))
        assert {status for status, _ in answers} == {200}
        assert len({one["interaction_id"] for _, one in answers}) == 1
        assert sorted(one.get("duplicate", False) for _, one in answers) == [False, True, True, True, True]
        await here.settled()
        assert len(here.cards()) == 1
        for off in (timedelta(minutes=6), timedelta(minutes=-6)):
            at = (datetime.now(UTC) + off).isoformat()
            status, refused = await here.client.send("AUTHORIZE", "Pay?", created_at=at)
            assert (status, refused["error"]) == (422, "ERR.REPLAY_REJECTED")
        again = {**message, "created_at": (datetime.now(UTC) - timedelta(minutes=30)).isoformat()}
        assert (await here.client.call("POST", "/v1/intent", again))[1]["duplicate"] is True


@rule("AGENT-1")
async def test_a_nonce_is_used_once(api, tmp_path):
    async with a2h_desk(tmp_path, api) as here:
        await here.meet()
        _, given = await here.client.call("GET", "/v1/nonce")
        assert datetime.fromisoformat(given["expires_at"]) > datetime.now(UTC)
        channel = {"type": "telegram", "address": f"telegram:{ANN}", "nonce": given["nonce"]}
        assert (await here.client.send("AUTHORIZE", "Pay?", channel=channel))[0] == 200
        status, refused = await here.client.send("AUTHORIZE", "Pay more?", channel=channel)
        assert (status, refused["error"]) == (422, "ERR.REPLAY_REJECTED")
        forged = given["nonce"][:-4] + "0000"
        status, refused = await here.client.send("AUTHORIZE", "Pay?", channel={**channel, "nonce": forged})
        assert (status, refused["error"]) == (422, "ERR.REPLAY_REJECTED")
        over = {**channel, "nonce": "own-1", "expires_at": "2026-01-01T00:00:00Z"}
        status, refused = await here.client.send("AUTHORIZE", "Pay?", channel=over)
        assert (status, refused["error"]) == (422, "ERR.EXPIRED")


@rule("AGENT-1")
async def test_what_waits_is_taken_back_and_nothing_else(api, tmp_path):
    async with a2h_desk(tmp_path, api) as here:
        await here.grant(await here.meet())
        _, one = await here.client.send("AUTHORIZE", "Pay?")
        await here.client.poll(one["interaction_id"], "WAITING_INPUT")
        status, gone = await here.client.call("POST", f"/v1/cancel/{one['interaction_id']}")
        assert (status, gone["success"], gone["state"]) == (200, True, "CANCELLED")
        assert (await here.client.status(one["interaction_id"]))["state"] == "CANCELLED"
        status, refused = await here.client.call("POST", f"/v1/cancel/{one['interaction_id']}")
        assert (status, refused["error"]) == (409, "ERR.CONFLICT")
        _, note = await here.client.send("INFORM", "News.")
        assert (await here.client.call("POST", f"/v1/cancel/{note['interaction_id']}"))[0] == 409


@rule("AGENT-1")
async def test_a_late_answer_is_none(api, tmp_path):
    async with a2h_desk(tmp_path, api) as here:
        await here.grant(await here.meet(BOB))
        component = [{"type": "CHECKBOX", "name": "come", "label": "Coming?"}]
        _, one = await here.client.send("COLLECT", "Tonight?", principal_id="bob", components=component, ttl_sec=30)
        await here.client.poll(one["interaction_id"], "WAITING_INPUT")
        question = api.sent(BOB)[-1]
        here.rooms.questions._clock = lambda: datetime.now(UTC) + timedelta(seconds=31)
        done = await here.client.poll(one["interaction_id"], "EXPIRED")
        assert done["error"]["code"] == "ERR.EXPIRED"
        api.say(chat=BOB, sender=BOB, text="yes", reply_to=question["message_id"])
        await here.settled()
        assert (await here.client.status(one["interaction_id"]))["state"] == "EXPIRED"


@rule("AGENT-1")
async def test_the_answer_is_posted_signed_and_again_until_it_is_taken(api, tmp_path):
    async with receiving() as receiver:
        secret, clock = webhook_secret(), Clock()
        receiver.answers = [500, 200]
        address = CallbackAddress(to=receiver.url, allow_private=True)
        async with a2h_desk(tmp_path, api, callbacks=[address], clock=clock) as here:
            await here.meet()
            callback = {"url": f"{receiver.url}/a2h/webhook", "secret": secret}
            _, one = await here.client.send("AUTHORIZE", "Pay?", callback=callback)
            await here.tap("Approve")
            await receiver.wait()
            clock.offset += timedelta(seconds=11)  # it is tried again after ten seconds
            await receiver.wait(2)
            assert receiver.came[1][1]["X-A2H-Delivery-ID"] == receiver.came[0][1]["X-A2H-Delivery-ID"]
            path, headers, body = receiver.came[1]
            assert path == "/a2h/webhook"
            assert webhook_holds(headers, body, secret)
            assert headers["X-A2H-Delivery-ID"]
            message = json.loads(body)
            assert (message["type"], message["decision"]) == ("RESPONSE", "APPROVE")
            assert message["interaction_id"] == one["interaction_id"]
            assert await here.client.verified(message)
            assert (await here.client.status(one["interaction_id"]))["response"] == message
            status, refused = await here.client.send(
                "AUTHORIZE", "Pay?", callback={"url": "http://169.254.169.254/latest", "secret": secret}
            )
            assert (status, refused["error"]) == (422, "ERR.INVALID_REQUEST")


@rule("AGENT-1")
async def test_who_can_not_be_told_is_marked_and_can_still_ask(api, tmp_path):
    async with receiving() as receiver:
        receiver.answers = [410]
        address = CallbackAddress(to=receiver.url, allow_private=True)
        async with a2h_desk(tmp_path, api, callbacks=[address]) as here:
            await here.meet()
            callback = {"url": f"{receiver.url}/gone", "secret": "s" * 20}
            _, one = await here.client.send("AUTHORIZE", "Pay?", callback=callback)
            await here.tap("Deny")
            await receiver.wait()
            async with asyncio.timeout(20):
                while not (status := await here.client.status(one["interaction_id"])).get("webhook_failed"):
                    await asyncio.sleep(0.05)
            assert status["decision"] == "DECLINE"


@rule("AGENT-1")
async def test_where_one_channel_fails_the_next_is_tried(api, tmp_path):
    policy = POLICY.replace(
        f'ann: {{accounts: ["telegram:{ANN}"]', f'ann: {{accounts: ["telegram:{ANN}", "telegram:777"]'
    )
    async with a2h_desk(tmp_path, api, policy=policy) as here:
        for person in (ANN, 777):
            await here.grant(await here.meet(person))
        channel = {
            "type": "telegram",
            "address": f"telegram:{ANN}",
            "fallback": [{"type": "telegram", "address": "telegram:777"}],
        }
        api.fail("sendMessage", 403, "Forbidden: bot was blocked by the user", chat_id=ANN, times=None)
        for kind, more in (
            ("INFORM", {}),
            ("COLLECT", {"components": [{"type": "CHECKBOX", "name": "ok"}]}),
            ("AUTHORIZE", {}),
        ):
            before = len(api.sent(777))
            _, one = await here.client.send(kind, f"{kind} words", channel=channel, **more)
            await here.client.poll(one["interaction_id"], "SENT" if kind == "INFORM" else "WAITING_INPUT")
            async with asyncio.timeout(20):
                while len(api.sent(777)) == before:
                    await asyncio.sleep(0.05)
            assert f"{kind} words" in api.sent(777)[-1]["text"]


@rule("AGENT-1")
async def test_in_quiet_hours_nobody_is_asked_and_news_wait(api, tmp_path):
    now = datetime.now(UTC)
    since, until = (now - timedelta(hours=1)).strftime("%H:%M"), (now + timedelta(minutes=30)).strftime("%H:%M")
    quiet = f'approvals: {{quiet_hours: {{from: "{since}", to: "{until}", timezone: UTC}}}}\n'
    async with a2h_desk(tmp_path, api, policy=POLICY + quiet) as here:
        await here.grant(await here.meet())
        _, found = await here.client.call("GET", "/.well-known/a2h")
        assert found["quiet_hours"] == {"start": since, "end": until, "tz": "UTC"}
        components = [{"type": "CHECKBOX", "name": "ok"}]
        status, refused = await here.client.send("COLLECT", "Now?", components=components)
        assert (status, refused["error"]) == (503, "ERR.QUIET_HOURS")
        assert 0 < refused["retry_after_sec"] <= 1800
        _, later = await here.client.send("INFORM", "It has shipped.", params={"topic": "receipt"})
        assert later["state"] == "PENDING"
        _, alert = await here.client.send("INFORM", "It burns.", params={"topic": "alert"})
        await here.client.poll(alert["interaction_id"], "SENT")
        await here.reads("It burns.")
        assert "It has shipped." not in api.texts(ANN)


@rule("AGENT-1")
async def test_other_agents_keys_and_ids_get_nowhere(api, tmp_path):
    async with a2h_desk(tmp_path, api) as here:
        await here.meet()
        _, one = await here.client.send("AUTHORIZE", "Pay?")
        other = here.agent("idle")
        for method, path in (("GET", "/v1/status/"), ("POST", "/v1/cancel/")):
            foreign = await other.call(method, path + one["interaction_id"])
            assert foreign == await other.call(method, path + str(uuid.uuid4()))
            assert foreign == await other.call(method, f"{path}nonsense")
            assert foreign[0] == 404
        status, refused = await other.send("AUTHORIZE", "Pay?", agent_id=OWN_ID)
        assert (status, refused["details"]["reason"]) == (403, "agent_id")
        status, refused = await other.send(
            "RESULT", "Done.", responds_to=one["message_id"], params={"status": "EXECUTED"}, agent_id="idle"
        )
        assert status == 503 or refused["details"]["reason"] == "responds_to"
        nobody = here.agent()
        nobody.key = "dsk_wrong"
        status, refused = await nobody.send("AUTHORIZE", "Pay?")
        assert (status, refused["error"]) == (401, "ERR.INVALID_REQUEST")
        narrow = here.agent(principals=["bob"])
        status, refused = await narrow.send("AUTHORIZE", "Pay?")
        assert (status, refused["error"]) == (422, "ERR.INVALID_PRINCIPAL")
        asker = here.agent(scopes=["ask"])
        assert (await asker.send("AUTHORIZE", "Pay?"))[0] == 403


@rule("AGENT-1")
async def test_what_can_not_be_taken_is_refused_field_by_field(api, tmp_path):
    async with a2h_desk(tmp_path, api) as here:
        await here.meet()
        for more, path in (
            ({"type": "ASK"}, "/type"),
            ({"ttl_sec": 29}, "/ttl_sec"),
            ({"ttl_sec": True}, "/ttl_sec"),
            ({"render": {}}, "/render"),
            ({"render": {"body": "x" * 4097}}, "/render/body"),
            ({"principal_id": ""}, "/principal_id"),
            ({"message_id": "m" * 257}, "/message_id"),
            ({"a2h_version": "2.0"}, "/a2h_version"),
            ({"assurance": {"level": "HUGE"}}, "/assurance/level"),
            ({"channel": {"type": "sms"}}, "/channel/address"),
            ({"channel": {"type": "sms", "address": "no uri"}}, "/channel/address"),
            ({"callback": {"url": "https://example.org"}}, "/callback/secret"),
            ({"created_at": "yesterday"}, "/created_at"),
            ({"type": "COLLECT"}, "/components"),
            ({"type": "COLLECT", "components": [{"type": "SELECT", "name": "a"}]}, "/components/0/options"),
            ({"type": "COLLECT", "components": [{"type": "TEXT"}]}, "/components/0/name"),
            ({"type": "RESULT"}, "/responds_to"),
            ({"type": "INFORM", "params": {"topic": "gossip"}}, "/params/topic"),
        ):
            status, refused = await here.client.send(more.pop("type", "AUTHORIZE"), "Pay?", **more)
            assert (status, refused["error"]) == (422, "ERR.INVALID_REQUEST"), (more, refused)
            assert path in {one["path"] for one in refused["details"]["problems"]}, (more, refused)
        for more, reason in (
            ({"params": {"profile": "unknown.v1"}}, "profile"),
            ({"profile": "unknown.v1"}, "profile"),
            ({"assurance": {"required_factors": ["otp.sms.v1"]}}, "factors"),
            ({"assurance": {"level": "HIGH"}}, "factors"),  # no pages here
        ):
            status, refused = await here.client.send("AUTHORIZE", "Pay?", **more)
            assert (status, refused["details"]["reason"]) == (422, reason), refused
        assert here.cards() == []


@rule("AGENT-1")
async def test_keys_that_sign_can_be_changed_and_what_was_signed_before_still_holds(api, tmp_path):
    async with a2h_desk(tmp_path, api) as here:
        await here.meet()
        _, one = await here.client.send("AUTHORIZE", "Pay?")
        await here.tap("Deny")
        before = (await here.client.poll(one["interaction_id"], "ANSWERED"))["response"]
        Signer(tmp_path / FILE).rotate()
        _, keys = await here.client.call("GET", "/.well-known/jwks.json")
        assert len(keys["keys"]) == 2
        assert all("d" not in key for key in keys["keys"])
        assert await here.client.verified(before)
        _, two = await here.client.send("AUTHORIZE", "Pay?")
        await here.tap("Deny")
        after = (await here.client.poll(two["interaction_id"], "ANSWERED"))["response"]
        assert after["signature"].split(".")[0] != before["signature"].split(".")[0]
        assert await here.client.verified(after)


@rule("AGENT-1", "DUR-3")
async def test_interactions_survive_a_restart(api, tmp_path):
    async with a2h_desk(tmp_path, api) as here:
        await here.meet()
        _, one = await here.client.send("AUTHORIZE", "Pay?")
        await here.client.poll(one["interaction_id"], "WAITING_INPUT")
        key = here.client.key
    async with a2h_desk(tmp_path, api) as here:
        here.client.key = key
        assert (await here.client.status(one["interaction_id"]))["state"] == "WAITING_INPUT"
        await here.tap("Approve")
        assert (await here.client.poll(one["interaction_id"], "ANSWERED"))["decision"] == "APPROVE"


@rule("AGENT-1", "APPR-9")
async def test_high_assurance_is_a_passkey_bound_to_the_interaction(api, tmp_path):
    from tests.acceptance.test_passkeys import Desk, page_of
    from tests.browser.asked_pages import Kept, forms_served

    async with a2h_desk(tmp_path, api, passkeys=True) as here:
        await here.meet()
        crew = here.gateway.daemon.crew
        async with forms_served(kept=Kept(now=crew.clock()), public_url=ORIGIN, passkeys=crew.passkeys) as forms:
            people = Desk(gateway=here.gateway, forms=forms)
            device = await people.enrols()
            _, one = await here.client.send(
                "AUTHORIZE",
                "Delete the backups?",
                assurance={"level": "HIGH", "required_factors": ["passkey.webauthn.v1"]},
            )
            await here.client.poll(one["interaction_id"], "WAITING_INPUT")
            card = here.cards()[-1]
            buttons = {key["text"]: key for row in card["reply_markup"]["inline_keyboard"] for key in row}
            status, _ = await people.approves(page_of(buttons), device)
            assert status == 200
        done = await here.client.poll(one["interaction_id"], "ANSWERED")
        assert (done["decision"], done["evidence"]["factor"]) == ("APPROVE", "passkey.webauthn.v1")
        proof = done["evidence"]["proof"]
        assert {"credentialId", "clientDataJSON", "authenticatorData", "signature", "userHandle"} <= proof.keys()
        import base64

        import rfc8785

        client = json.loads(base64.urlsafe_b64decode(proof["clientDataJSON"] + "=="))
        assert proof["challenge"]["approval"] == uuid.UUID(one["interaction_id"]).hex
        derived = hashlib.sha256(rfc8785.dumps(proof["challenge"])).digest()
        assert client["challenge"] == base64.urlsafe_b64encode(derived).rstrip(b"=").decode()
        assert await here.client.verified(done["response"])


@rule("AGENT-1")
async def test_a_client_without_a_key_is_served_only_where_that_is_switched_on_and_from_here(api, tmp_path):
    plain = {"Content-Type": "application/json"}
    async with a2h_desk(tmp_path, api, keyless_agent="main") as here:
        await here.meet()

        async def sent(**headers):
            body = json.dumps(here.client.message("AUTHORIZE", "Pay?")).encode()
            async with here.http.post(f"{here.url}/v1/intent", data=body, headers={**plain, **headers}) as answer:
                return answer.status, await answer.json()

        status, one = await sent()
        assert status == 200, one
        async with here.http.get(f"{here.url}/v1/status/{one['interaction_id']}") as answer:
            assert answer.status == 200
        for headers in (
            {"Origin": "https://evil.example"},
            {"X-Forwarded-For": "203.0.113.9"},
            {"Host": "evil.example"},
            {"Content-Type": "text/plain"},
            {"X-A2H-API-Key": "dsk_wrong"},
            {"Authorization": "Bearer dsk_wrong"},
        ):
            assert (await sent(**headers))[0] == 401, headers
        async with here.http.post(f"{here.url}/v1/approvals", json={"action": "a", "parameters": {}}) as answer:
            assert answer.status == 401
    async with a2h_desk(tmp_path, api) as here, here.http.get(f"{here.url}/v1/nonce") as answer:
        assert answer.status == 401


@rule("AGENT-1", "DUR-3")
async def test_what_a_crash_has_left_half_made_is_made(api, tmp_path, monkeypatch):
    monkeypatch.setattr("bot.api.a2h.desk._MAKING_S", 0.0)
    async with a2h_desk(tmp_path, api) as here:
        await here.grant(await here.meet())
        made = here.desk._make

        async def crashed(*_):
            raise RuntimeError

        for kind, more in (
            ("AUTHORIZE", {}),
            ("COLLECT", {"components": [{"type": "CHECKBOX", "name": "ok"}]}),
            ("INFORM", {}),
        ):
            here.desk._make = crashed
            message = here.client.message(kind, f"{kind} after all", **more)
            assert (await here.client.call("POST", "/v1/intent", message))[0] == 503
            here.desk._make = made
            status, found = await here.client.call("POST", "/v1/intent", message)
            assert (status, found["duplicate"]) == (200, True)
            await here.client.poll(found["interaction_id"], "SENT" if kind == "INFORM" else "WAITING_INPUT")
            async with asyncio.timeout(20):
                while not any(f"{kind} after all" in text for text in api.texts(ANN)):
                    await asyncio.sleep(0.02)
            await here.settled()
            assert sum(f"{kind} after all" in text for text in api.texts(ANN)) == 1
