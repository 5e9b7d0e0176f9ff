"""Updates come in: the adapter against an emulated Telegram, with a store that can be made to fail."""

import asyncio
import io
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import aiohttp
import pytest

from bot.channels.telegram.channel import TelegramChannel
from bot.channels.telegram.intake import Polling
from bot.channels.telegram.webhook import SECRET_HEADER, Webhook
from bot.model.errors import ChannelError, ConfigError, StoreError
from bot.model.inbound import Arrival, Stored
from policy.event import Kind
from tests.servers.botapi import BotApi

GROUP = -1001000000001
OTHER_GROUP = -1001000000002
ANN = 501
SECRET = "s3cret_s3cret_s3cret"
QUICK = Polling(back_off_first_s=0.01, back_off_longest_s=0.02, conflict_s=0.3)


@dataclass
class Inbox:
    """Takes arrivals; what it has taken is what is durable."""

    arrivals: list[Arrival] = field(default_factory=list)
    failures: int = 0
    offered: list[str] = field(default_factory=list)
    gate: asyncio.Event | None = None
    news: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def __call__(self, account: str, arrivals: Sequence[Arrival]) -> None:
        assert account == "telegram:7001"
        self.offered += [arrival.key for arrival in arrivals]
        async with self.news:
            self.news.notify_all()
        if self.gate is not None:
            await self.gate.wait()
        if self.failures:
            self.failures -= 1
            raise StoreError("the disk is full")
        self.arrivals += arrivals
        async with self.news:
            self.news.notify_all()

    @property
    def keys(self) -> list[str]:
        return [arrival.key for arrival in self.arrivals]

    async def asked(self) -> None:
        """Something was offered, taken or not."""
        async with asyncio.timeout(10), self.news:
            await self.news.wait_for(lambda: self.offered)

    async def has(self, count: int) -> None:
        async with asyncio.timeout(10), self.news:
            await self.news.wait_for(lambda: len(self.arrivals) >= count)


@pytest.fixture
async def api() -> AsyncIterator[BotApi]:
    async with BotApi(bot_id=7001, username="desk_bot", parse="none") as emulator:
        emulator.chat(GROUP, title="Room", type="supergroup")
        yield emulator


def channel_for(api: BotApi, mode: Polling | Webhook = QUICK, **options: Any) -> TelegramChannel:
    return TelegramChannel(
        token=options.pop("token", api.token),
        api_url=api.url,
        clock=lambda: datetime.now(UTC),
        mode=mode,
        **options,
    )


@asynccontextmanager
async def running(channel: TelegramChannel, inbox: Inbox) -> AsyncIterator[asyncio.Task[None]]:
    task = asyncio.create_task(channel.run(inbox))
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await channel.close()


async def comes_to(channel: TelegramChannel, state: str) -> None:
    async with asyncio.timeout(10):
        while channel.state != state:
            await asyncio.sleep(0)


async def end_of(channel: TelegramChannel, inbox: Inbox) -> ChannelError:
    """The error with which the channel gives up by itself."""
    try:
        async with asyncio.timeout(10):
            with pytest.raises(ChannelError) as caught:
                await channel.run(inbox)
    finally:
        await channel.close()
    assert channel._api._methods.split("/")[3].partition(":")[2] not in f"{caught.value!r}{caught.value.__context__!r}"
    return caught.value


# polling


async def test_the_first_call_leaves_at_once_and_asks_for_everything_that_is_judged(api: BotApi) -> None:
    inbox = Inbox()
    async with running(channel_for(api), inbox):
        call = await api.wait_call("getUpdates", timeout=2)
    assert "offset" not in call.params
    assert {"message", "edited_message", "callback_query", "my_chat_member", "business_message"} <= set(
        call.params["allowed_updates"]
    )


async def test_updates_are_acknowledged_only_when_they_are_durable(api: BotApi) -> None:
    inbox = Inbox(gate=asyncio.Event())
    async with running(channel_for(api), inbox):
        api.say(chat=GROUP, sender=ANN, text="one")
        await inbox.asked()
        assert len(api.pending) == 1
        assert inbox.gate is not None
        inbox.gate.set()
        await api.wait_drained()
    assert len(inbox.arrivals) == 1


async def test_what_could_not_be_stored_comes_again(api: BotApi) -> None:
    inbox = Inbox(failures=2)
    async with running(channel_for(api), inbox):
        for word in ("one", "two", "three"):
            api.say(chat=GROUP, sender=ANN, text=word)
        await api.wait_drained(timeout=20)
    assert sorted(set(inbox.keys)) == ["1000", "1001", "1002"]
    assert len(inbox.keys) == 3
    assert len(inbox.offered) > 3


async def test_a_daemon_that_died_before_acknowledging_gets_everything_again(api: BotApi) -> None:
    first, second = Inbox(gate=asyncio.Event()), Inbox()
    async with running(channel_for(api), first):
        api.say(chat=GROUP, sender=ANN, text="one")
        await first.asked()
    async with running(channel_for(api), second):
        await second.has(1)
        await api.wait_drained()
    assert first.keys == []
    assert second.keys == ["1000"]


async def test_poison_does_not_block_what_stands_beside_it(api: BotApi) -> None:
    inbox = Inbox()
    channel = channel_for(api)
    api.say(chat=GROUP, sender=ANN, text="before")
    api.push({"message": {"message_id": 5, "chat": {"id": GROUP}, "text": ["what"]}})
    api.push({"message": "nonsense"})
    api.push({"message": {"chat": {"id": -1009, "type": "tomorrow"}, "message_id": 1, "date": 1, "text": "x"}})
    api.say(chat=GROUP, sender=ANN, text="after")
    async with running(channel, inbox):
        await inbox.has(5)
        await api.wait_drained()
    kinds = [channel.read(Stored(id=1, account="telegram:7001", arrival=one)).event.kind for one in inbox.arrivals]
    assert kinds == [Kind.MESSAGE, Kind.MALFORMED, Kind.MALFORMED, Kind.MALFORMED, Kind.MESSAGE]
    nobodys = inbox.arrivals[2].lane
    assert [one.lane == nobodys for one in inbox.arrivals] == [False, False, True, False, False]


async def test_a_chat_is_one_lane_with_its_topics_and_taps(api: BotApi) -> None:
    inbox = Inbox()
    thread = api.topic(GROUP)
    api.say(chat=GROUP, sender=ANN, text="one")
    api.say(chat=GROUP, sender=ANN, text="two", thread=thread)
    api.say(chat=OTHER_GROUP, sender=ANN, text="three")
    api.push({"callback_query": {"id": "9", "from": api.user(ANN), "message": api.screen(GROUP)[-1], "data": "x"}})
    channel = channel_for(api)
    async with running(channel, inbox):
        await inbox.has(4)
    events = [channel.read(Stored(id=1, account=channel.account, arrival=one)).event for one in inbox.arrivals]
    assert [one.lane for one in inbox.arrivals] == [channel.lane(event.destination) for event in events]
    assert len({one.lane for one in inbox.arrivals}) == 2


async def test_numbers_that_start_again_lower_are_taken_and_acknowledged(api: BotApi) -> None:
    inbox = Inbox()
    async with running(channel_for(api), inbox):
        api.restart_update_ids(900_000)
        api.say(chat=GROUP, sender=ANN, text="before the quiet week")
        await api.wait_drained()
        api.restart_update_ids(17)
        api.say(chat=GROUP, sender=ANN, text="after it")
        await inbox.has(2)
        await api.wait_drained()
    assert inbox.keys == ["900000", "17"]


@pytest.mark.parametrize("trouble", ["502", "429", "cut", "hang"])
async def test_trouble_on_the_way_is_waited_out(api: BotApi, trouble: str) -> None:
    if trouble == "502":
        api.fail("getUpdates", 502, raw="<html>Bad Gateway</html>", times=2)
    elif trouble == "429":
        api.fail("getUpdates", retry_after=0, times=2)
    elif trouble == "cut":
        api.drop("getUpdates", times=2)
    inbox = Inbox()
    channel = channel_for(api)
    async with running(channel, inbox):
        api.say(chat=GROUP, sender=ANN, text="hello")
        if trouble == "hang":
            fault = api.hang("getUpdates")
            await fault.reached()
            fault.cut()
        await inbox.has(1)
        await api.wait_drained()
        await comes_to(channel, "ok")


async def test_a_telegram_that_is_away_is_found_again(api: BotApi) -> None:
    inbox = Inbox()
    channel = channel_for(api)
    await api.stop()
    async with running(channel, inbox):
        await comes_to(channel, "unreachable")
        await api.start()
        api.say(chat=GROUP, sender=ANN, text="hello")
        await inbox.has(1)


async def test_a_passing_conflict_is_waited_out(api: BotApi) -> None:
    api.fail("getUpdates", 409, "Conflict: terminated by other getUpdates request", times=3)
    inbox = Inbox()
    channel = channel_for(api)
    async with running(channel, inbox):
        api.say(chat=GROUP, sender=ANN, text="hello")
        await inbox.has(1)
        await api.wait_drained()
    assert api.totals["getUpdates"] >= 4


async def test_a_conflict_that_stays_ends_the_channel_with_the_mend(api: BotApi) -> None:
    api.fail("getUpdates", 409, "Conflict: terminated by other getUpdates request", times=None)
    channel = channel_for(api)
    error = await end_of(channel, Inbox())
    assert "another process polls" in str(error)
    assert channel.state == "conflict"


async def test_success_between_conflicts_starts_the_patience_anew(api: BotApi) -> None:
    inbox = Inbox()
    async with running(channel_for(api), inbox) as task:
        loop = asyncio.get_running_loop()
        until = loop.time() + 3 * QUICK.conflict_s
        said = 0
        while loop.time() < until:
            api.fail("getUpdates", 409, "Conflict: terminated by other getUpdates request", times=2)
            api.say(chat=GROUP, sender=ANN, text="hello")
            said += 1
            await inbox.has(said)
        assert not task.done()


async def test_a_webhook_that_is_set_is_told_and_not_taken_away(api: BotApi) -> None:
    await api.account.webhook.set("http://127.0.0.1:9/elsewhere", "", 1)
    error = await end_of(channel_for(api), Inbox())
    assert "webhook" in str(error)
    assert api.account.webhook.url
    assert not api.calls_of("deleteWebhook")


async def test_a_webhook_goes_if_the_admin_says_so_and_what_waits_stays(api: BotApi) -> None:
    await api.account.webhook.set("http://127.0.0.1:9/elsewhere", "", 1)
    api.say(chat=GROUP, sender=ANN, text="hello")
    inbox = Inbox()
    mode = Polling(back_off_first_s=0.01, back_off_longest_s=0.02, delete_webhook=True)
    async with running(channel_for(api, mode), inbox):
        await inbox.has(1)
    assert api.calls_of("deleteWebhook")[0].params["drop_pending_updates"] is False


@pytest.mark.parametrize(("code", "word"), [(401, "BotFather"), (404, "API address")])
async def test_a_token_that_is_not_accepted_is_told_at_once_with_the_mend(api: BotApi, code: int, word: str) -> None:
    if code == 404:
        api.fail("getUpdates", 404, "Not Found", times=None)
    error = await end_of(channel_for(api, token="7001:wrong-one" if code == 401 else api.token), Inbox())
    assert word in str(error)
    assert "wrong-one" not in repr(error)


# who the bot is


async def test_updates_are_taken_while_the_bot_does_not_know_its_name(api: BotApi) -> None:
    fault = api.hang("getMe")
    inbox = Inbox()
    channel = channel_for(api)
    async with running(channel, inbox):
        api.say(chat=GROUP, sender=ANN, text="hello")
        await inbox.has(1)
        await fault.reached()
        stored = Stored(id=1, account=channel.account, arrival=inbox.arrivals[0])
        assert not channel.read(stored).event.identity_known
        fault.release()
        async with asyncio.timeout(10):
            await channel.identified()
        assert channel.read(stored).event.identity_known


async def test_a_name_that_could_not_be_asked_for_is_asked_for_again(api: BotApi) -> None:
    api.fail("getMe", 502, raw="<html>")
    channel = channel_for(api)
    async with running(channel, Inbox()), asyncio.timeout(10):
        await channel.identified()
    assert api.totals["getMe"] == 2


async def test_a_new_name_of_the_bot_is_learnt_without_a_restart(api: BotApi) -> None:
    inbox = Inbox()
    channel = channel_for(api, identity_refresh_s=0.05)
    mention = [{"type": "mention", "offset": 0, "length": 8}]
    async with running(channel, inbox):
        async with asyncio.timeout(10):
            await channel.identified()
        api.me["username"] = "new_bot"
        api.say(chat=GROUP, sender=ANN, text="@new_bot hi", entities=mention)
        await inbox.has(1)
        before = api.totals["getMe"]
        await api.wait_for(lambda: api.totals["getMe"] >= before + 2)
        event = channel.read(Stored(id=1, account=channel.account, arrival=inbox.arrivals[0])).event
    assert event.mentions_self


async def test_a_mention_of_somebody_else_asks_for_the_name_at_most_once_a_minute(api: BotApi) -> None:
    inbox = Inbox()
    channel = channel_for(api)
    async with running(channel, inbox):
        async with asyncio.timeout(10):
            await channel.identified()
        for _ in range(20):
            api.say(chat=GROUP, sender=ANN, text="@bob_t hi", entities=[{"type": "mention", "offset": 0, "length": 6}])
        await inbox.has(20)
        for one in inbox.arrivals:
            channel.read(Stored(id=1, account=channel.account, arrival=one))
        await api.wait_drained()
    assert api.totals["getMe"] == 1


# webhook


async def post(port: int | None, body: bytes, secret: str | bytes | None = SECRET, **options: Any) -> int:
    headers = {} if secret is None else {SECRET_HEADER: secret}
    path = options.get("path", "/telegram")
    async with aiohttp.ClientSession() as session:
        method = options.get("method", "POST")
        async with session.request(
            method, f"http://127.0.0.1:{port}{path}", data=io.BytesIO(body), headers=headers
        ) as response:
            return response.status


def hook(port: int = 0, url: str = "https://bot.example.org/telegram") -> Webhook:
    return Webhook(url=url, secret=SECRET, port=port)


async def listening(api: BotApi, channel: TelegramChannel) -> int:
    await api.wait_call("setWebhook")
    port = getattr(channel._intake, "port", None)
    assert isinstance(port, int)
    return port


async def test_a_webhook_is_announced_with_its_secret_and_hears_200_when_the_update_is_durable(api: BotApi) -> None:
    inbox = Inbox()
    channel = channel_for(api, hook())
    async with running(channel, inbox):
        port = await listening(api, channel)
        params = api.calls_of("setWebhook")[0].params
        assert params["secret_token"] == SECRET
        assert "callback_query" in params["allowed_updates"]
        assert params["drop_pending_updates"] is False
        assert await post(port, b'{"update_id":501,"message":{}}') == 200
        assert inbox.keys == ["501"]


async def test_a_webhook_whose_update_could_not_be_stored_asks_for_it_again(api: BotApi) -> None:
    inbox = Inbox(failures=1)
    channel = channel_for(api, hook())
    async with running(channel, inbox):
        port = await listening(api, channel)
        assert await post(port, b'{"update_id":501}') == 500
        assert inbox.keys == []
        assert await post(port, b'{"update_id":501}') == 200
        assert inbox.keys == ["501"]


@pytest.mark.parametrize("secret", [None, "", "wrong", SECRET[:-1], f"{SECRET}x", "sécret", b"\xff\xfe"])
async def test_who_does_not_know_the_secret_is_turned_away(api: BotApi, secret: str | bytes | None) -> None:
    inbox = Inbox()
    channel = channel_for(api, hook())
    async with running(channel, inbox):
        port = await listening(api, channel)
        assert await post(port, b'{"update_id":501}', secret if isinstance(secret, str | None) else None) == 401
        assert await raw_post(port, secret or b"") == 401
    assert inbox.offered == []


async def raw_post(port: int, secret: str | bytes) -> int:
    """A request whose header holds any bytes."""
    value = secret.encode() if isinstance(secret, str) else secret
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(
        b"POST /telegram HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 2\r\n"
        + SECRET_HEADER.encode()
        + b": "
        + value
        + b"\r\n\r\n{}",
    )
    async with asyncio.timeout(5):
        status = await reader.readline()
    writer.close()
    await writer.wait_closed()
    return int(status.split()[1])


async def test_a_webhook_takes_only_posts_at_its_path_and_no_more_than_an_update_can_have(api: BotApi) -> None:
    inbox = Inbox()
    channel = channel_for(api, hook())
    async with running(channel, inbox):
        port = await listening(api, channel)
        assert await post(port, b"{}", path="/other") == 404
        assert await post(port, b"", method="GET") == 405
        assert await post(port, b"x" * 1_100_000) == 413
    assert inbox.offered == []


async def test_a_body_that_is_no_json_is_set_aside_instead_of_coming_for_ever(api: BotApi) -> None:
    inbox = Inbox()
    channel = channel_for(api, hook())
    async with running(channel, inbox):
        port = await listening(api, channel)
        assert await post(port, b"\xffnonsense") == 200
    event = channel.read(Stored(id=1, account=channel.account, arrival=inbox.arrivals[0])).event
    assert event.kind is Kind.MALFORMED


async def test_telegram_pushes_through_the_webhook_until_it_is_taken(api: BotApi) -> None:
    inbox = Inbox(failures=1)
    channel = channel_for(api, hook())
    api.account.webhook.first_pause_s = 0.01
    async with running(channel, inbox):
        port = await listening(api, channel)
        await api.account.webhook.set(f"http://127.0.0.1:{port}/telegram", SECRET, 4)
        api.say(chat=GROUP, sender=ANN, text="hello")
        await inbox.has(1)
        async with asyncio.timeout(10):
            while api.pending:
                await asyncio.sleep(0)
    assert inbox.keys == ["1000"]
    assert len(inbox.offered) == 2


async def test_a_webhook_that_cannot_be_set_yet_is_set_later(api: BotApi) -> None:
    api.fail("setWebhook", retry_after=0)
    inbox = Inbox()
    channel = channel_for(api, hook())
    async with running(channel, inbox):
        await api.wait_call("setWebhook", 2)
        await comes_to(channel, "ok")


async def test_an_address_that_telegram_refuses_is_told_with_the_mend(api: BotApi) -> None:
    error = await end_of(channel_for(api, hook(url="http://bot.example.org/telegram")), Inbox())
    assert "https" in str(error)
    error = await end_of(channel_for(api, hook(), token="7001:wrong-one"), Inbox())
    assert "BotFather" in str(error)


async def test_a_port_that_is_taken_is_told_with_the_mend(api: BotApi) -> None:
    error = await end_of(channel_for(api, hook(port=api.port)), Inbox())
    assert str(api.port) in str(error)


@pytest.mark.parametrize("secret", ["", "short", "not allowed here!", "ж" * 20, "x" * 257])
def test_a_secret_that_telegram_would_not_take_is_refused_without_being_repeated(secret: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Webhook(url="https://bot.example.org/telegram", secret=secret)
    assert not secret or secret not in str(caught.value)
