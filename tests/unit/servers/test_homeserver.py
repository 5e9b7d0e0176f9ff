"""The scripted homeserver behaves like one; matrix-nio, which knows nothing of it, is the judge."""

import io
from collections.abc import AsyncIterator

import aiohttp
import nio
import pytest

from tests.servers.homeserver import Homeserver

LAB = "!lab:example.org"
ALICE = "@alice:example.org"


@pytest.fixture
async def server() -> AsyncIterator[Homeserver]:
    async with Homeserver() as running:
        yield running


@pytest.fixture
async def client(server: Homeserver) -> AsyncIterator[nio.AsyncClient]:
    made = nio.AsyncClient(
        server.url, server.user_id, config=nio.AsyncClientConfig(max_timeouts=1, max_limit_exceeded=0)
    )
    assert isinstance(await made.login(server.password), nio.LoginResponse)
    yield made
    await made.close()


async def test_rooms_and_their_events_come_with_the_sync(server: Homeserver, client: nio.AsyncClient) -> None:
    server.room(LAB, joined=[ALICE], name="Lab", encrypted=True)
    server.say(LAB, "hello")
    first = await client.sync(0, full_state=True)
    (event,) = first.rooms.join[LAB].timeline.events
    assert event.body == "hello"
    room = client.rooms[LAB]
    assert (room.name, room.encrypted, set(room.users)) == ("Lab", True, {ALICE, server.user_id})


async def test_a_long_poll_ends_when_something_happens(server: Homeserver, client: nio.AsyncClient) -> None:
    server.room(LAB, joined=[ALICE])
    await client.sync(0)
    server.say(LAB, "x")
    answer = await client.sync(20_000)
    assert [event.body for event in answer.rooms.join[LAB].timeline.events] == ["x"]


async def test_a_limited_timeline_can_be_filled(server: Homeserver, client: nio.AsyncClient) -> None:
    room = server.room(LAB, joined=[ALICE])
    since = (await client.sync(0)).next_batch
    room.timeline_limit = 1
    for word in ("a", "b", "c"):
        server.say(LAB, word)
    timeline = (await client.sync(0)).rooms.join[LAB].timeline
    assert timeline.limited
    page = await client.room_messages(LAB, timeline.prev_batch, since)
    assert [event.body for event in page.chunk] == ["b", "a"]
    assert page.end is None


async def test_a_transaction_is_one_event(server: Homeserver, client: nio.AsyncClient) -> None:
    server.room(LAB)
    content = {"msgtype": "m.text", "body": "once"}
    first = await client.room_send(LAB, "m.room.message", content, tx_id="t1")
    second = await client.room_send(LAB, "m.room.message", content, tx_id="t1")
    assert first.event_id == second.event_id
    assert server.texts(LAB) == ["once"]


async def test_an_invite_is_followed_and_left_again(server: Homeserver, client: nio.AsyncClient) -> None:
    server.invite("!dm:example.org", is_direct=True)
    answer = await client.sync(0)
    (event,) = answer.rooms.invite["!dm:example.org"].invite_state
    assert event.content == {"membership": "invite", "is_direct": True}
    assert isinstance(await client.join("!dm:example.org"), nio.JoinResponse)
    assert isinstance(await client.room_leave("!dm:example.org"), nio.RoomLeaveResponse)
    assert [call.name for call in server.reaching] == ["join", "leave"]


async def test_a_redaction_empties_the_event(server: Homeserver, client: nio.AsyncClient) -> None:
    server.room(LAB, joined=[ALICE])
    event_id = server.say(LAB, "secret")
    server.redact(LAB, event_id)
    event = (await client.room_get_event(LAB, event_id)).event
    assert isinstance(event, nio.RedactedEvent)


async def test_media_come_back_as_they_were(server: Homeserver, client: nio.AsyncClient) -> None:
    uploaded, _ = await client.upload(io.BytesIO(b"bytes"), "text/plain", "a.txt", filesize=5)
    found = await client.download(uploaded.content_uri)
    assert found.body == b"bytes"


async def test_trouble_comes_on_order(server: Homeserver, client: nio.AsyncClient) -> None:
    server.fail("whoami", 429, "M_LIMIT_EXCEEDED", retry_after_ms=5)
    error = await client.whoami()
    assert (error.status_code, error.retry_after_ms) == ("M_LIMIT_EXCEEDED", 5)
    server.room(LAB)
    fault = server.drop("send", deliver=True, times=None)  # aiohttp itself repeats a PUT once
    async with aiohttp.ClientSession(headers={"Authorization": f"Bearer {client.access_token}"}) as raw:
        url = f"{server.url}/_matrix/client/v3/rooms/{LAB}/send/m.room.message/t1"
        with pytest.raises(aiohttp.ClientError):
            await raw.put(url, json={"msgtype": "m.text", "body": "x"})
        fault.cancel()
        assert server.texts(LAB) == ["x"]
        async with server.outage():
            with pytest.raises(aiohttp.ClientConnectorError):
                await raw.put(url, json={})
        async with raw.put(url, json={"msgtype": "m.text", "body": "x"}) as answer:
            assert answer.status == 200
    assert server.texts(LAB) == ["x"]


async def test_a_dead_token_is_refused(server: Homeserver, client: nio.AsyncClient) -> None:
    server.log_out(soft=True)
    error = await client.whoami()
    assert error.status_code == "M_UNKNOWN_TOKEN"
    assert error.soft_logout
