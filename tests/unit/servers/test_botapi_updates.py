"""Intake: offsets, long polls, conflicts, filters, webhooks."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from aiohttp import web

from tests.servers.botapi import BotApi
from tests.unit.servers.conftest import Client

Answer = Callable[[dict[str, object], web.Request], Awaitable[web.Response]]


@asynccontextmanager
async def listening(answer: Answer) -> AsyncIterator[str]:
    """An address that answers webhook requests with ``answer``."""

    async def receive(request: web.BaseRequest) -> web.StreamResponse:
        return await answer(await web.Request.json(request), request)  # type: ignore[arg-type]

    runner = web.ServerRunner(web.Server(receive))
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield f"http://127.0.0.1:{runner.addresses[0][1]}/hook"
    await runner.cleanup()


async def test_an_update_comes_again_until_a_higher_offset_forgets_it(api: BotApi, client: Client) -> None:
    for number in range(3):
        api.say(chat=7, text=f"m{number}")
    assert await client.updates() == [1000, 1001, 1002]
    assert await client.updates(1001) == [1001, 1002]
    assert await client.updates(1002, limit=1) == [1002]
    assert api.pending == [1002]


async def test_a_negative_offset_keeps_only_the_newest(api: BotApi, client: Client) -> None:
    for number in range(5):
        api.say(chat=7, text=f"m{number}")
    assert await client.updates(-2) == [1003, 1004]
    assert api.pending == [1003, 1004]


async def test_the_same_offset_at_once_brings_one_update_only(api: BotApi, client: Client) -> None:
    api.say(chat=7, text="one")
    api.say(chat=7, text="two")
    assert await client.updates(1000) == [1000, 1001]
    assert await client.updates(1000) == [1000]


async def test_a_long_poll_ends_when_somebody_writes(api: BotApi, client: Client) -> None:
    poll = asyncio.create_task(client.updates(timeout=30))
    await api.wait_for(lambda: api.totals.get("getUpdates"))
    api.say(chat=7, text="hello")
    assert await poll == [1000]


async def test_a_second_poller_makes_the_first_one_fail_with_409(api: BotApi, client: Client) -> None:
    first = asyncio.create_task(client.refused("getUpdates", timeout=30))
    await api.wait_for(lambda: api.totals.get("getUpdates") == 1)
    second = asyncio.create_task(client.updates(timeout=30, offset=5))
    code, description = await first
    assert code == 409
    assert "terminated by other getUpdates request" in description
    api.say(chat=7, text="hello")
    assert await second == [1000]


async def test_polling_while_a_webhook_is_set_fails_with_409(api: BotApi, client: Client) -> None:
    await client.ok("setWebhook", url="https://bot.example/hook")
    code, description = await client.refused("getUpdates")
    assert (code, description[:45]) == (409, "Conflict: can't use getUpdates method while w")
    await client.ok("deleteWebhook")
    assert await client.updates() == []


async def test_reactions_come_only_to_a_bot_that_asked_for_them(api: BotApi, client: Client) -> None:
    message = api.say(chat=7, text="hello")
    api.react(chat=7, message_id=message["message_id"], sender=7, emoji="👍")
    assert await client.updates(1001) == []
    await client.ok("getUpdates", allowed_updates=["message_reaction"], offset=1002)
    api.say(chat=7, text="unseen")
    api.react(chat=7, message_id=message["message_id"], sender=7, emoji="🔥")
    (update,) = await client.ok("getUpdates", offset=-1)
    assert update["message_reaction"]["new_reaction"] == [{"type": "emoji", "emoji": "🔥"}]


async def test_a_pushed_update_keeps_its_id_and_the_next_one_follows(api: BotApi, client: Client) -> None:
    assert api.push({"update_id": 900001, "poll": {}}) == 900001
    assert api.push({"unheard_of": {"x": 1}}) == 900002
    assert await client.updates() == [900001, 900002]


async def test_a_repeated_delivery_comes_below_the_offset_once(api: BotApi, client: Client) -> None:
    api.say(chat=7, text="hello")
    assert await client.updates(1001) == []
    api.push({"update_id": 1000, "message": api.screen(7)[0]}, again=True)
    assert await client.updates(1001) == [1000]
    api.say(chat=7, text="next")
    assert await client.updates(1001) == [1001]


async def test_numbering_may_restart_below_an_old_offset(api: BotApi, client: Client) -> None:
    api.say(chat=7, text="before")
    assert await client.updates(1001) == []
    api.restart_update_ids(17)
    api.say(chat=7, text="after the quiet week")
    assert await client.updates(1001) == [17]
    assert await client.updates(18) == []


async def test_a_tap_is_lost_after_150_seconds_and_a_message_is_not(api: BotApi, client: Client) -> None:
    api.say(chat=7, text="hello")
    api.press(chat=7, message_id=1, data="x", force=True)
    api.age(151)
    assert await client.updates() == [1000]
    api.age(24 * 3600)
    assert await client.updates(1) == []


async def test_privacy_mode_hides_what_is_not_meant_for_the_bot(api: BotApi, client: Client) -> None:
    api.me["can_read_all_group_messages"] = False
    for text in ("just talk", "@agent_bot hi", "/stop@OtherBot", "/help", "x@agent_bot"):
        api.say(chat=-100500, sender=7, text=text)
    seen = [update["message"]["text"] for update in await client.ok("getUpdates")]
    assert seen == ["@agent_bot hi", "/help"]


async def test_a_webhook_gets_the_secret_and_an_update_again_until_it_says_ok(api: BotApi, client: Client) -> None:
    got: list[tuple[object, str | None]] = []

    async def answer(update: dict[str, object], request: web.Request) -> web.Response:
        got.append((update["update_id"], request.headers.get("X-Telegram-Bot-Api-Secret-Token")))
        return web.Response(status=500 if len(got) < 3 else 200)

    api.account.webhook.first_pause_s = 0.001
    async with listening(answer) as url:
        api.say(chat=7, text="before it was set")
        await client.ok("setWebhook", url=url, secret_token="s-1")
        async with asyncio.timeout(10):
            while api.pending:
                await asyncio.wait(api.account.webhook.lanes)
        info = await client.ok("getWebhookInfo")
        await client.ok("deleteWebhook")
    assert got == [(1000, "s-1")] * 3
    assert info["pending_update_count"] == 0
    assert "500" in info["last_error_message"]


async def test_webhook_deliveries_wait_within_a_chat_and_not_between_chats(api: BotApi, client: Client) -> None:
    order: list[object] = []
    gate = asyncio.Event()
    other = asyncio.Event()

    async def answer(update: dict[str, object], request: web.Request) -> web.Response:
        order.append(update["update_id"])
        if update["update_id"] == 1000:
            await gate.wait()
        if update["update_id"] == 1002:
            other.set()
        return web.json_response({"method": "sendMessage", "chat_id": 8, "text": "seen"})

    async with listening(answer) as url:
        await client.ok("setWebhook", url=url)
        api.say(chat=7, text="first")
        api.say(chat=7, text="second")
        api.say(chat=8, text="elsewhere")
        async with asyncio.timeout(10):
            await other.wait()
        assert order == [1000, 1002]
        gate.set()
        assert len(await api.wait_sent(8, 3)) == 3
        await client.ok("deleteWebhook")
    assert order == [1000, 1002, 1001]


async def test_a_bad_webhook_is_refused(client: Client) -> None:
    assert await client.refused("setWebhook", url="http://bot.example/x") == (
        400,
        "Bad Request: bad webhook: An HTTPS URL must be provided for webhook",
    )
    assert (await client.refused("setWebhook", url="https://bot.example", secret_token="ключ"))[0] == 400
