"""The bot in encrypted rooms with a client that shares no code with ours, in its strictest setting.

In that setting a client gives keys only to devices that their owners cross-signed, and reads only what such devices
wrote: a bot that does not cross-sign its device hears and says nothing there.
"""

from pathlib import Path

import pytest

from bot.channels.matrix.credentials import read_credentials
from bot.channels.matrix.entering import take_device
from bot.model.output import Final, OutFile
from tests.harness import CountingAgent
from tests.interop.person import person
from tests.matrix_harness import running_matrix

FILE = bytes(range(256)) * 300


def policy(accounts, room: str) -> str:
    return f"""
version: 1
operators: []
people:
  ann: {{accounts: ["matrix:{accounts.ann}"], names: [Ann]}}
defaults:
  burst: {{quiet: 0.3s, longest: 2s}}
channels:
  "matrix:{accounts.bot}:{room}": {{audience: external}}
"""


def mentioning(user: str) -> dict[str, object]:
    return {"m.mentions": {"user_ids": [user]}}


async def test_both_read_each_other_where_only_signed_devices_count(synapse, accounts, tmp_path: Path):
    agent = CountingAgent(answer=lambda request: [Final(text=f"You asked: **{request.text[-7:]}**")])
    login = {"user_id": accounts.bot, "password": accounts.password, "server_url": synapse.url}
    async with person(tmp_path, homeserver=synapse.url, user=accounts.ann, password=accounts.password) as ann:
        room = await ann.do("create_room", name="Harbour", invite=[accounts.bot], encrypted=True, direct=False)
        async with running_matrix(tmp_path, **login, policy=policy(accounts, room), agent=agent):
            await ann.sees_member(room, accounts.bot)
            devices = await ann.do("devices", user=accounts.bot)
            assert set(devices.values()) == {True}
            root = await ann.say(room, "about the crane", **mentioning(accounts.bot))
            first = await ann.sees_words(room, accounts.bot, "You asked")
            thread = {"rel_type": "m.thread", "event_id": root, "is_falling_back": True}
            thread["m.in_reply_to"] = {"event_id": first["id"]}
            asked = await ann.say(room, "desk, the pier 7?", **mentioning(accounts.bot), **{"m.relates_to": thread})
            second = await ann.sees(lambda event: event["sender"] == accounts.bot and "pier 7" in str(event["content"]))
    assert [event["shield"] for event in (first, second)] == ["NONE", "NONE"]
    assert all(event["encrypted"] for event in (first, second))
    assert "<strong>" in first["content"]["formatted_body"]
    assert second["relation"]["rel_type"] == "m.thread"
    assert second["relation"]["event_id"] == root
    assert [request.text for request in agent.requests] == ["about the crane", "desk, the pier 7?"]
    assert agent.requests[1].destination.thread == root
    assert asked != second["id"]
    assert [event for event in ann.events if event["failure"]] == []


async def test_files_go_both_ways_encrypted(synapse, accounts, tmp_path: Path):
    sent = OutFile(name="plan.bin", media_type="application/octet-stream", content=FILE[::-1])
    agent = CountingAgent(answer=lambda _: [Final(text="Here it is.", files=(sent,))])
    login = {"user_id": accounts.bot, "password": accounts.password, "server_url": synapse.url}
    async with person(tmp_path, homeserver=synapse.url, user=accounts.ann, password=accounts.password) as ann:
        room = await ann.do("create_room", name="Harbour", invite=[accounts.bot], encrypted=True, direct=False)
        async with running_matrix(tmp_path, **login, policy=policy(accounts, room), agent=agent):
            await ann.sees_member(room, accounts.bot)
            caption = {"body": "read this, please", **mentioning(accounts.bot)}
            await ann.attach(room, "facts.bin", FILE, media_type="application/octet-stream", **caption)
            got = await ann.sees(lambda event: event["sender"] == accounts.bot and "file" in event["content"])
            assert await ann.fetch(got) == FILE[::-1]
    assert agent.files == [FILE]
    assert (got["shield"], got["content"].get("url")) == ("NONE", None)


@pytest.mark.rule("PART-12")
async def test_after_a_restart_it_is_the_same_device_and_reads_what_was_written_meanwhile(
    synapse, accounts, tmp_path: Path
):
    agent = CountingAgent(answer=lambda request: [Final(text=f"I have read: {request.text}")])
    login = {"user_id": accounts.bot, "password": accounts.password, "server_url": synapse.url}
    async with person(tmp_path, homeserver=synapse.url, user=accounts.ann, password=accounts.password) as ann:
        room = await ann.do("create_room", name="Harbour", invite=[accounts.bot], encrypted=True, direct=False)
        login["policy"] = policy(accounts, room)
        async with running_matrix(tmp_path, **login, agent=agent):
            await ann.sees_member(room, accounts.bot)
            await ann.say(room, "the first", **mentioning(accounts.bot))
            await ann.sees_words(room, accounts.bot, "I have read: the first")
        before = await ann.do("devices", user=accounts.bot)
        await ann.say(room, "the second", **mentioning(accounts.bot))
        async with running_matrix(tmp_path, **login, agent=agent):
            again = await ann.sees_words(room, accounts.bot, "I have read: the second")
        assert await ann.do("devices", user=accounts.bot) == before
    assert list(before.values()) == [True]
    assert again["shield"] == "NONE"
    assert [request.text for request in agent.requests] == ["the first", "the second"]


async def test_after_its_device_was_signed_out_and_logged_in_again_it_hears_and_is_heard(
    synapse, accounts, tmp_path: Path
):
    login = {"user_id": accounts.bot, "password": accounts.password, "server_url": synapse.url}
    async with person(tmp_path, homeserver=synapse.url, user=accounts.ann, password=accounts.password) as ann:
        room = await ann.do("create_room", name="Harbour", invite=[accounts.bot], encrypted=True, direct=False)
        async with running_matrix(tmp_path, **login, policy=policy(accounts, room)):
            await ann.sees_member(room, accounts.bot)
            await ann.say(room, "about the crane", **mentioning(accounts.bot))
            await ann.sees_words(room, accounts.bot, "ok")
        folder = tmp_path / "matrix"
        was = read_credentials(folder)
        assert was is not None
        await synapse._ask("POST", "/_matrix/client/v3/logout", token=was.access_token.reveal(), body={})
        await ann.say(room, "is anybody there?")  # she learns that the device is gone
        now, _ = await take_device(
            folder,
            user_id=accounts.bot,
            homeserver=synapse.url,
            password=accounts.password,
            token=None,
            device_id=was.device_id,
        )
        assert now.device_id == was.device_id
        agent = CountingAgent(answer=lambda _: [Final(text="back again")])
        async with running_matrix(tmp_path, **login, policy=policy(accounts, room), agent=agent):
            await ann.say(room, "and now?", **mentioning(accounts.bot))
            answer = await ann.sees_words(room, accounts.bot, "back again")
    assert (answer["encrypted"], answer["shield"]) == (True, "NONE")
