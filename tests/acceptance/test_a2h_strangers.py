"""Clients of A2H that were written for another gateway: what they send is taken as it comes, where the configuration says so.

The shapes are those of the programs in the protocol's own repository; the words are ours.
"""

import secrets
from datetime import UTC, datetime, timedelta

import pytest

from tests.a2h_desk import ALICE, OWN_ID, a2h_desk

rule = pytest.mark.rule
SMS = {"level": "MEDIUM", "required_factors": ["sms.otp.v1"]}


def shell_message(gateway, command, **more):
    """An agent with a shell: ids of its own making, a channel that is the gateway itself, a profile among the values."""
    now = datetime.now(UTC)
    return {
        "a2h_version": "1.0",
        "message_id": f"note-{secrets.token_hex(6)}",
        "interaction_id": f"shell-{secrets.token_hex(4)}",
        "created_at": now.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "agent_id": "did:web:openclaw.local",
        "principal_id": ALICE,
        "channel": {
            "type": "web",
            "address": gateway,
            "nonce": secrets.token_urlsafe(16),
            "expires_at": (now + timedelta(minutes=5)).isoformat().replace("+00:00", "Z"),
        },
        "type": "AUTHORIZE",
        "render": {"body": f"The shell is to run:\n\n{command}"},
        "params": {"profile": "x-openclaw:exec.v1", "command": command, "host": "gateway", "assurance_level": "MEDIUM"},
        "assurance": SMS,
        "ttl_sec": 300,
        **more,
    }


async def posted(here, message, headers=None):
    """A client that knows the address alone."""
    async with here.http.post(f"{here.url}/v1/intent", json=message, headers=headers) as answer:
        return answer.status, await answer.json()


async def polled(here, interaction):
    async with here.http.get(f"{here.url}/v1/status/{interaction}") as answer:
        return await answer.json()


@rule("AGENT-1")
@pytest.mark.parametrize(("label", "decision"), [("Approve", "APPROVE"), ("Deny", "DECLINE")])
async def test_a_chat_stands_in_for_a_factor_that_is_not_offered_where_the_owner_says_so(
    api, tmp_path, label, decision
):
    async with a2h_desk(tmp_path, api, keyless_agent="main", chat_for=["sms.otp.v1"]) as here:
        await here.meet()
        status, asked = await posted(here, shell_message(here.url, "git push"))
        assert status == 200, asked
        await here.tap(label)
        done = await polled(here, asked["interaction_id"])
        assert (done["state"], done["decision"]) == ("ANSWERED", decision)
        assert done["evidence"]["factor"] == "chat.telegram.v1"  # what it was, not what it stood for
        _, found = await here.client.call("GET", "/.well-known/a2h")
        assert "sms.otp.v1" not in found["factors"]


@rule("AGENT-1", "APPR-9")
async def test_no_chat_stands_in_for_a_passkey_nor_for_what_was_not_named(api, tmp_path):
    async with a2h_desk(tmp_path, api, keyless_agent="main", chat_for=["sms.otp.v1"]) as here:
        await here.meet()
        for assurance in (
            {"level": "LOW", "required_factors": ["otp.email.v1"]},
            {"level": "HIGH", "required_factors": ["sms.otp.v1"]},
            {"level": "LOW", "required_factors": ["passkey.webauthn.v1", "sms.otp.v1"]},
        ):
            status, refused = await posted(here, shell_message(here.url, "rm notes", assurance=assurance))
            assert (status, refused["details"]["reason"]) == (422, "factors"), refused
        assert here.cards() == []


@rule("AGENT-1")
async def test_fields_that_a_client_never_sends_may_lack_where_the_owner_says_so(api, tmp_path):
    message = {"type": "AUTHORIZE", "principal_id": ALICE, "render": {"body": "Empty the bin?"}, "ttl_sec": 300}
    async with a2h_desk(tmp_path, api, may_lack=["agent_id", "message_id"]) as here:
        await here.meet()
        key = {"Authorization": f"Bearer {here.client.key}"}
        assert (await posted(here, message))[0] == 401
        status, refused = await posted(here, {**message, "agent_id": "idle"}, key)
        assert (status, refused["details"]["reason"]) == (403, "agent_id")
        assert (await posted(here, {**message, "message_id": ""}, key))[0] == 422
        _, one = await posted(here, message, key)
        await here.tap("Deny")
        assert (await here.client.poll(one["interaction_id"], "ANSWERED"))["decision"] == "DECLINE"
        _, two = await posted(here, message, key)  # without an id of its own it is another one
        assert (two["interaction_id"] != one["interaction_id"], "duplicate" in two) == (True, False)
    async with a2h_desk(tmp_path, api) as here:
        status, refused = await posted(here, message, {"Authorization": f"Bearer {here.client.key}"})
        assert {one["path"] for one in refused["details"]["problems"]} == {"/message_id", "/agent_id"}
        status, refused = await posted(
            here, {**message, "agent_id": OWN_ID}, {"Authorization": f"Bearer {here.client.key}"}
        )
        assert (status, [one["path"] for one in refused["details"]["problems"]]) == (422, ["/message_id"])


@rule("AGENT-1")
async def test_a_key_that_everybody_knows_is_as_good_as_none(api, tmp_path):
    demo = {"Authorization": "Bearer everybody-knows-it"}
    async with a2h_desk(tmp_path, api, keyless_agent="main", published_keys=["everybody-knows-it"]) as here:
        await here.meet()
        message = shell_message(here.url, "ls", assurance={"level": "LOW"})
        for more in (
            {"Origin": "https://evil.example"},
            {"X-Forwarded-For": "203.0.113.9"},
            {"Host": "evil.example"},
            {"X-A2H-API-Key": "everybody-knows-it"},
            {"Authorization": "Bearer everybody-knows"},
            {"Authorization": "Bearer "},
        ):
            assert (await posted(here, message, {**demo, **more}))[0] == 401, more
        assert (await posted(here, message, demo))[0] == 200
        async with here.http.post(f"{here.url}/v1/approvals", json={"action": "a"}, headers=demo) as answer:
            assert answer.status == 401
    async with a2h_desk(tmp_path, api, published_keys=["everybody-knows-it"]) as here:
        assert (await posted(here, message, demo))[0] == 401
