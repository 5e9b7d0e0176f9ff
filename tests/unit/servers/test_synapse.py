"""The real homeserver, and people on it, do for the tests what the tests rely on."""

import aiohttp
import pytest

from tests.servers.matrix_person import edited, people_on, replied_to, thread_of
from tests.servers.synapse import synapse, way_to

__all__ = ["synapse"]


@pytest.fixture
async def people(synapse, tmp_path):
    async with people_on(synapse, tmp_path) as people:
        yield people


@pytest.fixture
async def two(people):
    ann, bob = await people("ann"), await people("bob")
    room = await ann.room(bob.id, encrypted=True)
    await bob.until(lambda: room in bob.invites)
    await bob.join(room)
    for one, other in ((ann, bob), (bob, ann)):
        await one.member(room, other.id)
    return ann, bob, room


async def test_people_read_each_other_in_an_encrypted_room(two, synapse):
    ann, bob, room = two
    root = await bob.say(room, "hello", mentions=[ann.id])
    await bob.say(room, "goodbye", edit=root)
    await bob.say(room, "in the thread", thread=root)
    await bob.say(room, "a reply", thread=root, reply=root)
    words, edit, thread, reply = await ann.hears(room, bob.id, 4)
    assert (words["event_id"], words["content"]["m.mentions"]) == (root, {"user_ids": [ann.id]})
    assert (edited(edit), edit["content"]["m.new_content"]["body"]) == (root, "goodbye")
    assert (thread_of(thread), replied_to(thread)) == (root, None)
    assert (thread_of(reply), replied_to(reply)) == (root, root)
    sent = [call.path.split("/")[3] for call in await synapse.calls(bob.id) if call.verb == "send"]
    assert sent == ["m.room.encrypted"] * 4


async def test_a_file_in_an_encrypted_room_is_whole_and_the_server_can_not_read_it(two, synapse):
    ann, bob, room = two
    await ann.send_file(room, b"content", caption="see this")
    (event,) = await bob.hears(room, ann.id)
    assert await bob.fetch(event) == b"content"
    assert (await bob.client.download(event["content"]["file"]["url"])).body != b"content"
    assert [call.verb for call in await synapse.calls(bob.id)][-2:] == ["download", "download"]


async def test_receipts_typing_and_membership_are_seen(two):
    ann, bob, room = two
    event = await bob.say(room, "hello")
    await bob.caught_up(room)
    assert (bob.seen_by(room, ann.id), bob.was_typing(room, ann.id)) == ([], False)
    await ann.client.room_typing(room, True)
    await ann.client.update_receipt_marker(room, event)
    await bob.until(lambda: bob.was_typing(room, ann.id))
    assert (await bob.until(lambda: bob.seen_by(room, ann.id)))[0].event == event
    await ann.kick(room, bob.id)
    await ann.member(room, bob.id, present=False)


async def test_a_key_can_come_after_the_words(two):
    ann, bob, room = two
    share = await bob.keep_key(room)
    await bob.say(room, "sealed")
    (event,) = await ann.until(lambda: [one for one in ann.events[room] if one["type"] == "m.room.encrypted"])
    assert ann.texts(room, bob.id) == []
    await share()
    await bob.say(room, "open")
    await ann.hears(room, bob.id)
    decrypted = ann.client.decrypt_event(ann.sealed[event["event_id"]])
    assert decrypted.source["content"]["body"] == "sealed"


async def test_a_way_loses_answers_and_is_shut_and_opened(synapse):
    async with way_to(synapse) as way, aiohttp.ClientSession() as session:

        async def ask() -> int:
            async with session.post(f"{way.url}/_matrix/client/v3/login", json={}) as answer:
                await answer.read()
                return answer.status

        assert await ask() == 400
        for arrives in (True, False):
            way.lose_answer("/login", arrives=arrives)
            with pytest.raises(aiohttp.ClientError):
                await ask()
            assert await ask() == 400
        await way.shut()
        with pytest.raises(aiohttp.ClientError):
            await ask()
        await way.open()
        assert await ask() == 400
        assert way.lost == 2


async def test_a_homeserver_that_is_started_again_has_its_state_and_address(two, synapse):
    ann, bob, room = two
    address = synapse.url
    synapse.stop()
    synapse.start()
    assert synapse.url == address
    await bob.say(room, "still here")
    await ann.hears(room, bob.id)
    assert "still here" in ann.texts(room, bob.id)
