"""Calls of the Bot API: three ways to fail, and a token that nobody ever sees."""

import asyncio
import gc
import socket
import traceback
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web

from bot.channels.telegram.client import (
    BotApi,
    CallError,
    NoAnswerError,
    NotSentError,
    RefusedError,
    bot_id_of,
    decode_json,
)
from bot.model.errors import ChannelError, ConfigError
from bot.model.output import OutFile

TOKEN = "7001:SECRET-secret_0123456789"
SECRET = "SECRET"


@asynccontextmanager
async def server(handler: Any) -> AsyncIterator[str]:
    runner = web.ServerRunner(web.Server(handler, access_log=None), shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


@asynccontextmanager
async def client(url: str) -> AsyncIterator[BotApi]:
    api = BotApi(token=TOKEN, api_url=url)
    try:
        yield api
    finally:
        await api.close()


def answer(body: str | bytes, status: int = 200) -> Any:
    async def handler(request: web.BaseRequest) -> web.Response:
        await request.read()
        return web.Response(body=body, status=status)

    return handler


def errors_around(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def assert_tells_nothing(error: BaseException) -> None:
    """Neither the error nor anything it came from holds the token or an address."""
    for one in errors_around(error):
        told = "".join((repr(one), str(one), repr(one.args), repr(vars(one)), *traceback.format_exception(one)))
        assert SECRET not in told
        assert "127.0.0.1" not in told
    assert list(errors_around(error)) == [error]


@pytest.mark.parametrize("token", ["", "7001", "7001:", ":x", "x:y", "7001:a b", "0:x", "7001:a/../b", f"{TOKEN}\n"])
def test_a_text_that_is_no_token_is_refused_without_being_repeated(token: str) -> None:
    with pytest.raises(ConfigError) as caught:
        bot_id_of(token)
    assert "BotFather" in str(caught.value)
    assert not token or token not in str(caught.value)


def test_the_bots_id_is_known_from_its_token_and_nothing_else_of_it_is_shown() -> None:
    api = BotApi(token=TOKEN, api_url="https://api.example.org/")
    assert api.bot_id == 7001
    assert SECRET not in repr(api)


async def test_an_answer_is_its_result() -> None:
    seen: list[Any] = []

    async def handler(request: web.BaseRequest) -> web.Response:
        seen.append((request.path, request.content_type, decode_json(await request.read())))
        return web.json_response({"ok": True, "result": {"message_id": 5}})

    async with server(handler) as url, client(url) as api:
        assert await api.call("sendMessage", {"chat_id": 5, "text": "привет"}) == {"message_id": 5}
    assert seen == [(f"/bot{TOKEN}/sendMessage", "application/json", {"chat_id": 5, "text": "привет"})]


async def test_files_go_as_a_form_with_clean_names() -> None:
    seen: dict[str, Any] = {}

    async def handler(request: web.BaseRequest) -> web.Response:
        async for part in await request.multipart():
            assert part is not None
            seen[part.name or ""] = (part.filename, part.headers.get("Content-Type"), bytes(await part.read()))
        return web.json_response({"ok": True, "result": True})

    files = (
        OutFile(name='a/"b"\r\nX: y.pdf', media_type="application/pdf", content=b"1"),
        OutFile(name="\ud83d", media_type="bad\r\ntype", content=b"2"),
    )
    params = {"chat_id": 5, "document": "attach://0", "reply_parameters": {"message_id": 1}}
    async with server(handler) as url, client(url) as api:
        assert await api.call("sendDocument", params, files=files) is True
    assert seen["chat_id"][2] == b"5"
    assert seen["document"][2] == b"attach://0"
    assert seen["reply_parameters"][2] == b'{"message_id":1}'
    assert seen["0"] == ("a__b___X: y.pdf", "application/pdf", b"1")
    assert seen["1"] == ("?", "application/octet-stream", b"2")


@pytest.mark.parametrize(
    ("status", "body", "code", "retry_after_s", "migrate_to"),
    [
        (400, '{"ok":false,"error_code":400,"description":"Bad Request: x"}', 400, None, None),
        (429, '{"ok":false,"error_code":429,"description":"T","parameters":{"retry_after":7}}', 429, 7.0, None),
        (400, '{"ok":false,"error_code":400,"description":"u","parameters":{"migrate_to_chat_id":-9}}', 400, None, -9),
        (502, "<html>Bad Gateway</html>", 502, None, None),
        (500, "", 500, None, None),
        (403, '{"ok":false}', 403, None, None),
        (404, '{"ok":false,"error_code":"x","description":5,"parameters":[]}', 404, None, None),
        (429, '{"ok":false,"parameters":{"retry_after":"x","migrate_to_chat_id":"x"}}', 429, None, None),
        (429, '{"ok":false,"parameters":{"retry_after":999999999}}', 429, 604_800.0, None),
        (429, '{"ok":false,"parameters":{"retry_after":1e300}}', 429, None, None),
        (429, '{"ok":false,"parameters":{"retry_after":NaN}}', 429, None, None),
        (429, '{"ok":false,"parameters":{"retry_after":-1}}', 429, None, None),
        (429, '{"ok":false,"parameters":{"retry_after":1%s}}' % ("0" * 400), 429, None, None),
    ],
)
async def test_a_refusal_carries_its_code_and_hints(
    status: int,
    body: str,
    code: int,
    retry_after_s: float | None,
    migrate_to: int | None,
) -> None:
    async with server(answer(body, status)) as url, client(url) as api:
        with pytest.raises(RefusedError) as caught:
            await api.call("sendMessage", {})
    error = caught.value
    assert (error.code, error.retry_after_s, error.migrate_to) == (code, retry_after_s, migrate_to)
    assert str(error) == f"sendMessage: refused with {code}"


@pytest.mark.parametrize("body", ["", "<html>", '{"ok":true', "[]", '{"ok":true}', '{"ok":"true","result":1}'])
async def test_a_success_that_cannot_be_read_is_no_answer(body: str) -> None:
    async with server(answer(body)) as url, client(url) as api:
        with pytest.raises(NoAnswerError) as caught:
            await api.call("sendMessage", {})
    assert caught.value.code == "disconnected"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


async def test_without_a_connection_it_certainly_did_not_happen() -> None:
    async with client(f"http://127.0.0.1:{free_port()}") as api:
        with pytest.raises(NotSentError) as caught:
            await api.call("sendMessage", {})
    assert_tells_nothing(caught.value)


async def test_a_name_that_cannot_be_resolved_is_no_connection() -> None:
    async with client("http://no-such-host.invalid") as api:
        with pytest.raises(NotSentError) as caught:
            await api.call("sendMessage", {})
    assert_tells_nothing(caught.value)


async def test_a_connection_that_ends_after_the_request_leaves_it_unclear() -> None:
    async def handler(request: web.BaseRequest) -> web.Response:
        await request.read()
        assert request.transport is not None
        request.transport.abort()
        return web.Response()

    async with server(handler) as url, client(url) as api:
        with pytest.raises(NoAnswerError) as caught:
            await api.call("sendMessage", {})
    assert caught.value.code == "disconnected"
    assert_tells_nothing(caught.value)


async def test_an_answer_that_does_not_come_in_time_leaves_it_unclear() -> None:
    arrived = asyncio.Event()
    never = asyncio.Event()

    async def handler(request: web.BaseRequest) -> web.Response:
        await request.read()
        arrived.set()
        await never.wait()
        return web.Response()

    async with server(handler) as url, client(url) as api:
        with pytest.raises(NoAnswerError) as caught:
            await api.call("sendMessage", {}, timeout_s=0.2)
        assert arrived.is_set()
        assert caught.value.code == "timeout"
        assert_tells_nothing(caught.value)
        never.set()


async def test_a_refusal_does_not_repeat_what_the_platform_said() -> None:
    body = '{"ok":false,"error_code":400,"description":"can\'t parse: the customer\'s words"}'
    async with server(answer(body, 400)) as url, client(url) as api:
        with pytest.raises(CallError) as caught:
            await api.call("sendMessage", {})
    assert "customer" not in "".join(traceback.format_exception(caught.value))
    assert "customer" not in repr(caught.value)


async def test_a_redirect_is_not_followed_with_the_token() -> None:
    calls: list[str] = []

    async def handler(request: web.BaseRequest) -> web.Response:
        calls.append(request.path)
        return web.Response(status=302, headers={"Location": "/elsewhere"})

    async with server(handler) as url, client(url) as api:
        with pytest.raises(CallError):
            await api.call("getMe", {})
        with pytest.raises(ChannelError):
            await api.download("photos/a.jpg", limit_bytes=10)
    assert "/elsewhere" not in calls


async def test_a_file_is_fetched_whole_up_to_its_limit() -> None:
    async with server(answer(b"x" * 1000)) as url, client(url) as api:
        assert await api.download("photos/a b%.jpg", limit_bytes=1000) == b"x" * 1000
        with pytest.raises(ChannelError, match="too large") as caught:
            await api.download("photos/a.jpg", limit_bytes=999)
    assert_tells_nothing(caught.value)


@pytest.mark.parametrize("path", ["/etc/passwd", "../x", "a/../../x"])
async def test_a_path_that_leads_elsewhere_is_not_followed(path: str) -> None:
    async with client("http://127.0.0.1:9") as api:
        with pytest.raises(ChannelError):
            await api.download(path, limit_bytes=10)


async def test_a_file_that_cannot_be_had_tells_no_address() -> None:
    async with server(answer("", 404)) as url, client(url) as api:
        with pytest.raises(ChannelError, match="404") as caught:
            await api.download("photos/a.jpg", limit_bytes=10)
        assert_tells_nothing(caught.value)
    async with client(f"http://127.0.0.1:{free_port()}") as api:
        with pytest.raises(ChannelError) as caught:
            await api.download("photos/a.jpg", limit_bytes=10)
    assert_tells_nothing(caught.value)


async def test_a_closed_client_leaves_nothing_open_and_can_be_closed_twice() -> None:
    async with server(answer('{"ok":true,"result":1}')) as url, client(url) as api:
        await api.call("getMe", {})
        await api.close()
        await api.close()
    gc.collect()  # an open session would warn here, and a warning is an error
