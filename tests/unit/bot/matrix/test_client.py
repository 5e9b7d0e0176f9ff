"""Calls of the Matrix API: two ways to fail, ids that can't lead astray, and a token that nobody ever sees."""

import asyncio
import gc
import gzip
import json
import socket
import ssl
import traceback
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from bot.channels.matrix import client as module
from bot.channels.matrix.client import (
    CallError,
    Endpoint,
    MatrixApi,
    NoAnswerError,
    RefusedError,
    decode_json,
    homeserver_url,
    look_up,
)
from bot.model.errors import ChannelError
from tests.servers.agents import self_signed

TOKEN = "syt_SECRET_secret0123456789"
SECRET = "SECRET"


@asynccontextmanager
async def server(handler: Any, *, tls: ssl.SSLContext | None = None) -> AsyncIterator[str]:
    runner = web.ServerRunner(web.Server(handler, access_log=None), shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls)
    await site.start()
    try:
        yield f"{'http' if tls is None else 'https'}://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


@asynccontextmanager
async def client(url: str, token: str | None = TOKEN) -> AsyncIterator[MatrixApi]:
    api = MatrixApi(homeserver=url, token=token)
    try:
        yield api
    finally:
        await api.close()


def answer(body: str | bytes, status: int = 200, **headers: str) -> Any:
    async def handler(request: web.BaseRequest) -> web.Response:
        await request.read()
        return web.Response(body=body, status=status, headers={k.replace("_", "-"): v for k, v in headers.items()})

    return handler


def errors_around(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def assert_tells_nothing(error: BaseException) -> None:
    """Neither the error nor anything it came from holds the token, a body or an address."""
    told = "".join((repr(error), str(error), repr(error.args), *traceback.format_exception(error)))
    for hidden in (SECRET, "127.0.0.1", "customer"):
        assert hidden not in told
    assert list(errors_around(error)) == [error]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


async def test_a_call_is_its_method_path_query_and_body() -> None:
    seen: list[Any] = []

    async def handler(request: web.BaseRequest) -> web.Response:
        seen.append((request.method, request.raw_path, request.headers.get("Authorization"), await request.read()))
        return web.json_response({"event_id": "$1"})

    async with server(handler) as url, client(f"{url}/") as api:
        assert await api.call(Endpoint.SEND, "!a/b:c", "m.room.message", "t?1#%", body={"body": "привет"}) == {
            "event_id": "$1"
        }
        await api.call(Endpoint.SYNC, query={"since": "s1 &=", "timeout": "0"})
        await api.call(Endpoint.STATE, "!a:c", "m.room.name", "")
        await api.call(Endpoint.JOIN, "!a:c")
        api.use(None)
        await api.call(Endpoint.VERSIONS)
        assert api.homeserver == url
    bearer = f"Bearer {TOKEN}"
    assert seen == [
        (
            "PUT",
            "/_matrix/client/v3/rooms/%21a%2Fb%3Ac/send/m.room.message/t%3F1%23%25",
            bearer,
            '{"body":"привет"}'.encode(),
        ),
        ("GET", "/_matrix/client/v3/sync?since=s1%20%26%3D&timeout=0", bearer, b""),
        ("GET", "/_matrix/client/v3/rooms/%21a%3Ac/state/m.room.name/", bearer, b""),
        ("POST", "/_matrix/client/v3/join/%21a%3Ac", bearer, b"{}"),
        ("GET", "/_matrix/client/versions", None, b""),
    ]


async def test_a_homeserver_may_live_below_a_path() -> None:
    seen: list[str] = []

    async def handler(request: web.BaseRequest) -> web.Response:
        seen.append(request.path)
        return web.json_response({})

    async with server(handler) as url, client(f"{url}/matrix/") as api:
        await api.call(Endpoint.VERSIONS)
    assert seen == ["/matrix/_matrix/client/versions"]


@pytest.mark.parametrize("part", [".", "..", "$" + "x" * 2000, "$\ud83d"])
async def test_what_cannot_be_an_id_is_refused_before_anything_is_sent(part: str) -> None:
    async with client(f"http://127.0.0.1:{free_port()}") as api:
        with pytest.raises(RefusedError) as caught:
            await api.call(Endpoint.EVENT, "!r:hs", part)
    assert (caught.value.status, caught.value.errcode) == (400, "M_INVALID_PARAM")


async def test_a_call_with_another_number_of_parts_is_our_own_fault() -> None:
    async with client("http://127.0.0.1:9") as api:
        with pytest.raises(ValueError, match="EVENT"):
            await api.call(Endpoint.EVENT, "!r:hs")


async def test_words_that_are_no_unicode_are_left_for_the_server_to_judge() -> None:
    seen: list[Any] = []

    async def handler(request: web.BaseRequest) -> web.Response:
        seen.append(decode_json(await request.read() or b"{}"))
        return web.json_response({})

    body = {"body": "\ud83d", "number": 2**70}
    async with server(handler) as url, client(url) as api:
        await api.call(Endpoint.SEND, "!r:hs", "m.room.message", "t", body=body)
        await api.call(Endpoint.SYNC, query={"since": "\ud83d"})
    assert seen[0] == body


@pytest.mark.parametrize(
    ("status", "body", "header", "errcode", "retry_after_s"),
    [
        (403, '{"errcode":"M_FORBIDDEN","error":"x"}', "", "M_FORBIDDEN", None),
        (429, '{"errcode":"M_LIMIT_EXCEEDED","retry_after_ms":1500}', "9", "M_LIMIT_EXCEEDED", 1.5),
        (429, '{"errcode":"M_LIMIT_EXCEEDED"}', "7", "M_LIMIT_EXCEEDED", 7.0),
        (429, '{"retry_after_ms":"x"}', "soon", "", None),
        (429, '{"retry_after_ms":1e300}', "", "", None),
        (429, '{"retry_after_ms":NaN}', "", "", None),
        (429, '{"retry_after_ms":-1}', "", "", None),
        (429, '{"retry_after_ms":true}', "", "", None),
        (429, '{"retry_after_ms":999999999999}', "", "", 604_800.0),
        (429, "", "99999999", "", 604_800.0),
        (429, "", "²", "", None),
        (502, "<html>Bad Gateway</html>", "", "", None),
        (500, "", "", "", None),
        (404, "[]", "", "", None),
        (404, "[" * 100_000, "", "", None),
        (400, '{"errcode":"M_X\\nthe customer"}', "", "", None),
        (400, '{"errcode":5,"soft_logout":"true"}', "", "", None),
    ],
)
async def test_a_refusal_carries_its_code_and_pause(
    status: int, body: str, header: str, errcode: str, retry_after_s: float | None
) -> None:
    async with server(answer(body, status, **({"Retry_After": header} if header else {}))) as url, client(url) as api:
        with pytest.raises(RefusedError) as caught:
            await api.call(Endpoint.WHOAMI)
    error = caught.value
    assert (error.status, error.errcode, error.retry_after_s, error.soft_logout) == (
        status,
        errcode,
        retry_after_s,
        False,
    )
    assert str(error) == f"WHOAMI: refused with {status} {errcode}".rstrip()


async def test_a_refusal_keeps_what_the_server_said_and_does_not_repeat_it() -> None:
    body = '{"errcode":"M_UNKNOWN_TOKEN","error":"the customer\'s words","soft_logout":true,"session":"customer"}'
    async with server(answer(body, 401)) as url, client(url) as api:
        with pytest.raises(RefusedError) as caught:
            await api.call(Endpoint.WHOAMI)
    assert caught.value.soft_logout
    assert caught.value.body["session"] == "customer"
    assert_tells_nothing(caught.value)


@pytest.mark.parametrize("body", ["", "<html>", '{"a":', "[]", "null", '"x"', "[" * 100_000])
async def test_a_success_that_cannot_be_read_is_no_answer(body: str) -> None:
    async with server(answer(body)) as url, client(url) as api:
        with pytest.raises(NoAnswerError) as caught:
            await api.call(Endpoint.WHOAMI)
    assert (caught.value.code, caught.value.sent) == ("not_understood", True)


async def test_a_lone_surrogate_of_somebody_does_not_hide_the_others_events() -> None:
    async with server(answer(b'{"a":"\\ud83d","b":1}')) as url, client(url) as api:
        assert await api.call(Endpoint.SYNC) == {"a": "\ud83d", "b": 1}


@pytest.mark.parametrize("status", [200, 500])
async def test_an_answer_without_end_is_not_read_to_its_end(status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_ANSWER_BYTES", 100_000)
    monkeypatch.setattr(module, "_REFUSAL_BYTES", 100_000)
    body = gzip.compress(b'{"a":"' + b"x" * 10_000_000 + b'"}')
    async with server(answer(body, status, Content_Encoding="gzip")) as url, client(url) as api:
        with pytest.raises(CallError) as caught:
            await api.call(Endpoint.WHOAMI)
    if status == 200:
        assert isinstance(caught.value, NoAnswerError)
        assert caught.value.code == "too_large"
    else:
        assert isinstance(caught.value, RefusedError)
        assert caught.value.body == {}


@pytest.mark.parametrize("host", ["127.0.0.1", "no-such-host.invalid", "a" * 64 + ".invalid"])
async def test_without_a_connection_it_certainly_did_not_happen(host: str) -> None:
    async with client(f"http://{host}:{free_port()}") as api:
        with pytest.raises(NoAnswerError) as caught:
            await api.call(Endpoint.SEND, "!r:hs", "m.room.message", "t", body={})
    assert not caught.value.sent
    assert_tells_nothing(caught.value)


async def test_a_certificate_that_nobody_vouches_for_is_no_connection() -> None:
    async with server(answer("{}"), tls=self_signed()) as url, client(url) as api:
        with pytest.raises(NoAnswerError) as caught:
            await api.call(Endpoint.WHOAMI)
    assert not caught.value.sent
    assert_tells_nothing(caught.value)


async def test_a_connection_that_ends_after_the_request_leaves_it_unclear() -> None:
    async def handler(request: web.BaseRequest) -> web.Response:
        await request.read()
        assert request.transport is not None
        request.transport.abort()
        return web.Response()

    async with server(handler) as url, client(url) as api:
        with pytest.raises(NoAnswerError) as caught:
            await api.call(Endpoint.JOIN, "!r:hs")
    assert (caught.value.code, caught.value.sent) == ("disconnected", True)
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
            await api.call(Endpoint.SYNC, timeout_s=0.2)
        assert arrived.is_set()
        assert (caught.value.code, caught.value.sent) == ("timeout", True)
        assert_tells_nothing(caught.value)
        never.set()


async def test_a_redirect_is_not_followed_with_the_token() -> None:
    calls: list[str] = []

    async def handler(request: web.BaseRequest) -> web.Response:
        calls.append(request.path)
        await request.read()
        return web.Response(status=307, headers={"Location": "/elsewhere"})

    async with server(handler) as url, client(url) as api:
        with pytest.raises(RefusedError) as caught:
            await api.call(Endpoint.WHOAMI)
        with pytest.raises(RefusedError):
            await api.upload(b"x", media_type="text/plain", name=None)
        with pytest.raises(ChannelError, match="307"):
            await api.download("mxc://hs/a", limit_bytes=10)
    assert caught.value.status == 307
    assert len(calls) == 3
    assert "/elsewhere" not in calls


async def test_a_file_goes_up_with_its_kind_and_name() -> None:
    seen: list[Any] = []

    async def handler(request: web.BaseRequest) -> web.Response:
        seen.append((request.query.get("filename"), request.headers["Content-Type"], await request.read()))
        return web.json_response({"content_uri": "mxc://hs/abc_-1"})

    async with server(handler) as url, client(url) as api:
        assert await api.upload(b"1", media_type="application/pdf", name="a b&\r\nü.pdf") == "mxc://hs/abc_-1"
        await api.upload(b"", media_type="text/plain\r\nX: y", name=None)
    assert seen == [
        ("a b&\r\nü.pdf", "application/pdf", b"1"),
        (None, "application/octet-stream", b""),
    ]


@pytest.mark.parametrize("address", [None, 5, "", "https://hs/a", "mxc://hs", "mxc://hs/a/b", "mxc://hs/a\n"])
async def test_an_upload_without_an_address_is_no_answer(address: Any) -> None:
    async with server(answer(json.dumps({"content_uri": address}))) as url, client(url) as api:
        with pytest.raises(NoAnswerError):
            await api.upload(b"1", media_type="text/plain", name=None)


@pytest.mark.parametrize("headers", [{}, {"Content_Encoding": "gzip"}])
async def test_a_file_is_fetched_whole_up_to_its_limit(headers: dict[str, str]) -> None:
    content = gzip.compress(b"x" * 1000) if headers else b"x" * 1000
    async with server(answer(content, **headers)) as url, client(url) as api:
        assert await api.download("mxc://hs:8448/a", limit_bytes=1000) == b"x" * 1000
        with pytest.raises(ChannelError, match="too large") as caught:
            await api.download("mxc://hs:8448/a", limit_bytes=999)
    assert_tells_nothing(caught.value)


@pytest.mark.parametrize(
    "mxc", ["", "https://hs/a", "mxc://hs/", "mxc:///a", "mxc://hs/..", "mxc://../a", "mxc://hs/a/../b", "mxc://hs/a?b"]
)
async def test_an_address_that_leads_elsewhere_is_not_followed(mxc: str) -> None:
    async with client(f"http://127.0.0.1:{free_port()}") as api:
        with pytest.raises(ChannelError, match="no address"):
            await api.download(mxc, limit_bytes=10)


async def test_a_file_that_cannot_be_had_tells_no_address() -> None:
    async with server(answer("the customer", 404)) as url, client(url) as api:
        with pytest.raises(ChannelError, match="404") as caught:
            await api.download("mxc://hs/a", limit_bytes=10)
        assert_tells_nothing(caught.value)
    async with client(f"http://127.0.0.1:{free_port()}") as api:
        with pytest.raises(ChannelError) as caught:
            await api.download("mxc://hs/a", limit_bytes=10)
    assert_tells_nothing(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "example.org",
        "ftp://example.org",
        "https://",
        "https://a:99999",
        "https://u:pw@example.org",
        "https://a/?b",
        "http://[",
    ],
)
def test_what_is_no_homeserver_is_refused_without_being_repeated(text: str) -> None:
    with pytest.raises(ChannelError) as caught:
        homeserver_url(text)
    assert "pw" not in str(caught.value)
    assert list(errors_around(caught.value)) == [caught.value]


@pytest.mark.parametrize("token", ["", "a b", "a\r\nX: y", "ключ"])
def test_what_is_no_token_is_refused_with_the_mend(token: str) -> None:
    with pytest.raises(ChannelError, match="discreet matrix login"):
        MatrixApi(homeserver="https://example.org", token=token)


def test_nothing_shows_the_token() -> None:
    assert SECRET not in repr(MatrixApi(homeserver="https://example.org", token=TOKEN))


async def test_a_closed_client_leaves_nothing_open_and_can_be_closed_twice() -> None:
    async with server(answer("{}")) as url, client(url) as api:
        await api.call(Endpoint.VERSIONS)
        await api.close()
        await api.close()
    gc.collect()  # an open session would warn here, and a warning is an error


def trusting() -> aiohttp.ClientSession:
    """A session that does not ask who vouches for a certificate."""
    return aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=False), cookie_jar=aiohttp.DummyCookieJar())


async def test_a_public_look_follows_redirects_to_https_alone() -> None:
    async def handler(request: web.BaseRequest) -> web.Response:
        to = {"/": "/two", "/two": "three", "/plain": "http://127.0.0.1:9/", "/loop": "/loop"}.get(request.path)
        if to is not None:
            return web.Response(status=302, headers={"Location": to})
        return web.json_response({"path": request.path})

    async with server(handler, tls=self_signed()) as url:
        assert await look_up(f"{url}/", session=trusting) == {"path": "/three"}
        for path in ("plain", "loop"):
            with pytest.raises(RefusedError) as caught:
                await look_up(f"{url}/{path}", session=trusting)
            assert caught.value.status == 302
