"""Finding the homeserver, logging in with a kept device, and noticing when the login has ended."""

import json
import re
import socket
import ssl
import traceback
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from aiohttp.abc import AbstractResolver

from bot.channels.matrix.client import CallError, MatrixApi, NoAnswerError, RefusedError
from bot.channels.matrix.credentials import Credentials
from bot.channels.matrix.login import (
    SoftLogoutError,
    UnreachableError,
    check,
    discover,
    log_in,
    look_for_server,
    refuse_open_way,
)
from bot.config.secret import Secret
from bot.model.errors import ChannelError
from tests.servers.agents import self_signed

USER = "@desk:example.org"
PASSWORD = "the-password-of-the-desk"
TOKEN = "token-of-the-desk"


class Homeserver:
    """Just enough of one: a password, tokens with their devices, and one refusal for everything where a test wants it."""

    def __init__(self) -> None:
        self.url = ""
        self.flows: Any = [{"type": "m.login.sso"}, {"type": "m.login.password"}]
        self.devices = {TOKEN: "DEVICE"}
        self.user: Any = USER
        self.whoami: dict[str, Any] | None = None
        self.login: dict[str, Any] | None = None
        self.fault: tuple[int, Any] | None = None
        self.logins: list[dict[str, Any]] = []
        self.logged_out: list[str] = []

    async def __call__(self, request: web.BaseRequest) -> web.Response:
        body = json.loads(await request.read() or b"{}")
        if self.fault is not None:
            status, said = self.fault
            if isinstance(said, str):
                return web.Response(status=status, text=said)
            return web.json_response(said, status=status)
        token = request.headers.get("Authorization", "").removeprefix("Bearer ")
        match request.method, request.path.removeprefix("/_matrix/client/v3/"):
            case "GET", "login":
                return web.json_response({"flows": self.flows})
            case "POST", "login":
                return self._log_in(body)
            case "POST", "logout":
                self.logged_out.append(token)
                return web.json_response({})
            case "GET", "account/whoami" if token in self.devices:
                said = {"user_id": self.user, "device_id": self.devices[token]}
                return web.json_response(said if self.whoami is None else self.whoami)
            case "GET", "account/whoami":
                return web.json_response({"errcode": "M_UNKNOWN_TOKEN"}, status=401)
        return web.json_response({"errcode": "M_UNRECOGNIZED"}, status=404)

    def _log_in(self, body: dict[str, Any]) -> web.Response:
        self.logins.append(body)
        if body.get("password") != PASSWORD or body["identifier"] != {"type": "m.id.user", "user": USER}:
            return web.json_response({"errcode": "M_FORBIDDEN", "error": "Invalid"}, status=403)
        device = body.get("device_id", "NEWDEVICE")
        said = {"user_id": self.user, "device_id": device, "access_token": "fresh-token"}
        self.devices["fresh-token"] = device
        return web.json_response(said if self.login is None else said | self.login)


@asynccontextmanager
async def listening(handler: Any, *, tls: ssl.SSLContext | None = None) -> AsyncIterator[int]:
    runner = web.ServerRunner(web.Server(handler, access_log=None), shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls)
    await site.start()
    try:
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()


@pytest.fixture
async def homeserver() -> AsyncIterator[Homeserver]:
    server = Homeserver()
    async with listening(server) as port:
        server.url = f"http://127.0.0.1:{port}"
        yield server


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def assert_tells_nothing(error: BaseException) -> None:
    told = "".join((repr(error), *traceback.format_exception(error)))
    for secret in (PASSWORD, TOKEN, "fresh-token"):
        assert secret not in told
    assert error.__cause__ is None
    assert error.__context__ is None


# logging in


async def test_a_password_makes_a_device_and_its_token(homeserver: Homeserver) -> None:
    login = await log_in(homeserver=homeserver.url + "/", user_id=USER, password=PASSWORD)
    assert login == Credentials(
        homeserver=homeserver.url, user_id=USER, device_id="NEWDEVICE", access_token=Secret("fresh-token")
    )
    assert homeserver.logins[0]["initial_device_display_name"] == "Discreet"
    assert "device_id" not in homeserver.logins[0]


async def test_a_kept_device_logs_in_again_as_the_same_device(homeserver: Homeserver) -> None:
    login = await log_in(homeserver=homeserver.url, user_id=USER, password=PASSWORD, device_id="KEPT")
    assert login.device_id == "KEPT"


async def test_a_token_brings_its_own_device(homeserver: Homeserver) -> None:
    login = await log_in(homeserver=homeserver.url, user_id=USER, token=TOKEN)
    assert (login.device_id, login.access_token) == ("DEVICE", Secret(TOKEN))
    assert homeserver.logins == []


async def test_a_wrong_password_is_said_so_and_not_repeated(homeserver: Homeserver) -> None:
    with pytest.raises(ChannelError, match="does not accept this password") as caught:
        await log_in(homeserver=homeserver.url, user_id=USER, password="wrong-" + PASSWORD)
    assert_tells_nothing(caught.value)


async def test_a_wrong_token_is_said_so_and_not_repeated(homeserver: Homeserver) -> None:
    homeserver.devices.clear()
    with pytest.raises(ChannelError, match=r"does not know this access token .*Take another token") as caught:
        await log_in(homeserver=homeserver.url, user_id=USER, token=TOKEN)
    assert_tells_nothing(caught.value)


async def test_an_address_with_the_path_of_the_interface_is_too_long(homeserver: Homeserver) -> None:
    for tail in ("/_matrix", "/_matrix/client/v3"):
        with pytest.raises(ChannelError, match=f"without /_matrix: {re.escape(homeserver.url)}$"):
            await look_for_server(homeserver.url + tail, with_password=True)


async def test_a_server_is_looked_for_before_anybody_is_asked_for_a_secret(homeserver: Homeserver) -> None:
    await look_for_server(homeserver.url, with_password=True)
    homeserver.flows = []
    with pytest.raises(ChannelError, match="compatibility token"):
        await look_for_server(homeserver.url, with_password=True)
    for with_password in (True, False):
        with pytest.raises(UnreachableError, match="can't be reached"):
            await look_for_server(f"http://127.0.0.1:{free_port()}", with_password=with_password)
    assert homeserver.logins == []


@pytest.mark.parametrize("way", [{"password": PASSWORD}, {"token": TOKEN}])
async def test_no_secret_goes_over_plain_http_to_another_machine(way: dict[str, str]) -> None:
    with pytest.raises(ChannelError, match="allow_plain_http: true") as caught:
        await log_in(homeserver="http://matrix.example.org", user_id=USER, **way)
    assert_tells_nothing(caught.value)


@pytest.mark.parametrize(
    ("address", "allowed", "refused"),
    [
        ("http://matrix.example.org", False, True),
        ("http://192.0.2.1:8008", False, True),
        ("http://localhost.example.org", False, True),
        ("http://matrix.example.org", True, False),
        ("https://matrix.example.org", False, False),
        ("http://127.0.0.1:8008", False, False),
        ("http://localhost:8008", False, False),
        ("http://[::1]:8008", False, False),
    ],
)
def test_plain_http_is_for_this_machine_unless_it_is_allowed(address: str, allowed: bool, refused: bool) -> None:
    try:
        refuse_open_way(address, allow_plain_http=allowed)
    except ChannelError:
        assert refused
    else:
        assert not refused


@pytest.mark.parametrize("flows", [[], [{"type": "m.login.sso"}], [5, None, {"type": ["m.login.password"]}]])
async def test_a_server_without_passwords_wants_a_compatibility_token(homeserver: Homeserver, flows: Any) -> None:
    homeserver.flows = flows
    with pytest.raises(ChannelError, match="compatibility token"):
        await log_in(homeserver=homeserver.url, user_id=USER, password=PASSWORD)
    assert homeserver.logins == []


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"user_id": "@other:example.org"}, "another account"),
        ({"user_id": None}, "another account"),
        ({"user_id": USER}, "no device"),
        ({"user_id": USER, "device_id": 5}, "no device"),
        ({"user_id": USER, "device_id": "x\n"}, "no device"),
        ({"user_id": USER, "device_id": "OTHER"}, "another device"),
    ],
)
async def test_a_token_of_somebody_else_is_not_taken(homeserver: Homeserver, said: dict[str, Any], words: str) -> None:
    homeserver.whoami = said
    with pytest.raises(ChannelError, match=words) as caught:
        await log_in(homeserver=homeserver.url, user_id=USER, token=TOKEN, device_id="DEVICE")
    assert_tells_nothing(caught.value)


async def test_a_login_that_is_of_no_use_is_ended(homeserver: Homeserver) -> None:
    homeserver.login = {"device_id": "OTHER"}
    with pytest.raises(ChannelError, match="another device") as caught:
        await log_in(homeserver=homeserver.url, user_id=USER, password=PASSWORD, device_id="KEPT")
    assert homeserver.logged_out == ["fresh-token"]
    assert_tells_nothing(caught.value)


@pytest.mark.parametrize("login", [{"access_token": None}, {"access_token": 5}])
async def test_a_login_without_a_token_is_none(homeserver: Homeserver, login: dict[str, Any]) -> None:
    homeserver.login = login
    with pytest.raises(ChannelError, match="no Matrix server"):
        await log_in(homeserver=homeserver.url, user_id=USER, password=PASSWORD)


async def test_a_token_that_can_stand_in_no_header_is_no_token(homeserver: Homeserver) -> None:
    homeserver.login = {"access_token": "a\r\nX: y"}
    with pytest.raises(ChannelError, match="no access token"):
        await log_in(homeserver=homeserver.url, user_id=USER, password=PASSWORD)


@pytest.mark.parametrize(
    ("fault", "kind", "words"),
    [
        ((404, "not found"), ChannelError, "no Matrix server"),
        ((404, {"errcode": "M_UNRECOGNIZED"}), ChannelError, "no Matrix server"),
        ((200, "<html>welcome</html>"), ChannelError, "no Matrix server"),
        ((200, {"flows": 5}), ChannelError, "no Matrix server"),
        ((301, ""), ChannelError, "no Matrix server"),
        ((403, {"errcode": "M_FORBIDDEN"}), ChannelError, "refuses the login"),
        ((401, {"errcode": "M_USER_DEACTIVATED"}), ChannelError, None),
        ((429, {"errcode": "M_LIMIT_EXCEEDED", "retry_after_ms": 12_000}), UnreachableError, "in 12 seconds"),
        ((429, ""), UnreachableError, "later"),
        ((502, "<html>"), UnreachableError, "fault of its own"),
    ],
)
async def test_an_admin_reads_why_a_login_failed(
    homeserver: Homeserver, fault: tuple[int, Any], kind: type[ChannelError], words: str | None
) -> None:
    homeserver.fault = fault
    with pytest.raises(kind, match=words) as caught:
        await log_in(homeserver=homeserver.url, user_id=USER, password=PASSWORD)
    assert isinstance(caught.value, UnreachableError) == (kind is UnreachableError)
    assert_tells_nothing(caught.value)


@pytest.mark.parametrize("way", [{"password": PASSWORD}, {"token": TOKEN}])
async def test_nobody_there_is_said_so(way: dict[str, str]) -> None:
    with pytest.raises(UnreachableError, match="can't be reached") as caught:
        await log_in(homeserver=f"http://127.0.0.1:{free_port()}", user_id=USER, **way)
    assert_tells_nothing(caught.value)


@pytest.mark.parametrize(
    "user", ["", "desk", "@desk", "desk:example.org", "@desk:", "@desk:a b", "@desk:example.org\n"]
)
async def test_a_login_wants_the_full_user_id(user: str) -> None:
    with pytest.raises(ChannelError, match="full user id"):
        await log_in(homeserver="https://example.org", user_id=user, password=PASSWORD)


@pytest.mark.parametrize("way", [{}, {"password": PASSWORD, "token": TOKEN}])
async def test_a_login_wants_one_secret(way: dict[str, str]) -> None:
    with pytest.raises(ChannelError, match="one of the two"):
        await log_in(homeserver="https://example.org", user_id=USER, **way)


# checking


@asynccontextmanager
async def logged_in(server: Homeserver) -> AsyncIterator[tuple[MatrixApi, Credentials]]:
    login = Credentials(homeserver=server.url, user_id=USER, device_id="DEVICE", access_token=Secret(TOKEN))
    api = MatrixApi(homeserver=server.url, token=TOKEN)
    try:
        yield api, login
    finally:
        await api.close()


async def test_a_good_login_is_good(homeserver: Homeserver) -> None:
    async with logged_in(homeserver) as (api, login):
        await check(api, login)


async def test_a_soft_logout_is_told_from_a_lost_login(homeserver: Homeserver) -> None:
    async with logged_in(homeserver) as (api, login):
        homeserver.fault = (401, {"errcode": "M_UNKNOWN_TOKEN", "soft_logout": True})
        with pytest.raises(SoftLogoutError, match="discreet matrix login"):
            await check(api, login)
        homeserver.fault = (401, {"errcode": "M_UNKNOWN_TOKEN", "soft_logout": False})
        with pytest.raises(ChannelError, match="discreet matrix login") as caught:
            await check(api, login)
    assert not isinstance(caught.value, SoftLogoutError)
    assert_tells_nothing(caught.value)


@pytest.mark.parametrize("errcode", ["M_USER_LOCKED", "M_USER_SUSPENDED", "M_USER_DEACTIVATED", "M_MISSING_TOKEN"])
async def test_a_locked_account_does_not_log_in_again_by_itself(homeserver: Homeserver, errcode: str) -> None:
    homeserver.fault = (401, {"errcode": errcode, "soft_logout": True})
    async with logged_in(homeserver) as (api, login):
        with pytest.raises(ChannelError) as caught:
            await check(api, login)
    assert not isinstance(caught.value, SoftLogoutError)


@pytest.mark.parametrize(
    "said", [{}, {"user_id": "@other:example.org", "device_id": "DEVICE"}, {"user_id": USER, "device_id": "OTHER"}]
)
async def test_somebody_elses_login_is_not_ours(homeserver: Homeserver, said: dict[str, Any]) -> None:
    homeserver.whoami = said
    async with logged_in(homeserver) as (api, login):
        with pytest.raises(ChannelError):
            await check(api, login)


@pytest.mark.parametrize(
    ("fault", "kind"),
    [((502, ""), RefusedError), ((429, {}), RefusedError), ((404, ""), RefusedError), ((200, ""), NoAnswerError)],
)
async def test_a_server_that_can_say_nothing_now_is_asked_again_by_the_caller(
    homeserver: Homeserver, fault: tuple[int, Any], kind: type[CallError]
) -> None:
    homeserver.fault = fault
    async with logged_in(homeserver) as (api, login):
        with pytest.raises(kind):
            await check(api, login)


# finding


class Names(AbstractResolver):
    """Every name leads to one port of this machine; ``nowhere.example`` to none."""

    def __init__(self, port: int) -> None:
        self._port = port

    async def resolve(self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET) -> list[Any]:
        if host == "nowhere.example":
            raise OSError("no such name")
        return [
            {
                "hostname": host,
                "host": "127.0.0.1",
                "port": self._port,
                "family": socket.AF_INET,
                "proto": 0,
                "flags": 0,
            }
        ]

    async def close(self) -> None:
        pass


def leading_to(port: int) -> Callable[[], aiohttp.ClientSession]:
    def make() -> aiohttp.ClientSession:
        return aiohttp.ClientSession(connector=aiohttp.TCPConnector(resolver=Names(port), ssl=False))

    return make


@asynccontextmanager
async def telling(status: int, said: Any) -> AsyncIterator[tuple[Callable[[], aiohttp.ClientSession], list[str]]]:
    seen: list[str] = []

    async def handler(request: web.BaseRequest) -> web.Response:
        seen.append(f"{request.host}{request.path}")
        if isinstance(said, str):
            return web.Response(status=status, text=said)
        return web.json_response(said, status=status)

    async with listening(handler, tls=self_signed()) as port:
        yield leading_to(port), seen


@pytest.mark.parametrize("text", ["https://matrix.example.org/", " http://127.0.0.1:8008 "])
async def test_an_address_is_taken_as_it_is(text: str) -> None:
    assert await discover(text) == text.strip().rstrip("/")


@pytest.mark.parametrize("text", [USER, "example.org", "example.org:8448"])
async def test_a_server_tells_where_its_homeserver_is(text: str) -> None:
    async with telling(200, {"m.homeserver": {"base_url": "https://matrix.example.org/"}}) as (session, seen):
        assert await discover(text, session=session) == "https://matrix.example.org"
    assert seen == ["example.org/.well-known/matrix/client"]


async def test_a_server_that_tells_nothing_is_the_homeserver_itself() -> None:
    async with telling(404, "") as (session, _):
        assert await discover("@desk:example.org:8448", session=session) == "https://example.org:8448"


@pytest.mark.parametrize(
    ("status", "said", "passing"),
    [
        (200, "<html>", False),
        (200, {}, False),
        (200, {"m.homeserver": "x"}, False),
        (200, {"m.homeserver": {"base_url": 5}}, False),
        (200, {"m.homeserver": {"base_url": "http://matrix.example.org"}}, False),
        (200, {"m.homeserver": {"base_url": "https://u:p@matrix.example.org"}}, False),
        (403, "", False),
        (503, "", True),
    ],
)
async def test_what_cannot_be_followed_is_said_so_with_the_mend(status: int, said: Any, passing: bool) -> None:
    async with telling(status, said) as (session, _):
        with pytest.raises(ChannelError, match=r"--homeserver, or as homeserver: in config\.yaml") as caught:
            await discover(USER, session=session)
    assert isinstance(caught.value, UnreachableError) == passing
    assert_tells_nothing(caught.value)


async def test_a_name_that_leads_nowhere_is_said_so() -> None:
    with pytest.raises(UnreachableError, match="can't be reached"):
        await discover("nowhere.example", session=leading_to(9))
    assert await discover("nowhere.example:8448", session=leading_to(9)) == "https://nowhere.example:8448"


@pytest.mark.parametrize(
    "text", ["", "@", "@desk", "a b", "example.org/x", "ftp://example.org", "example.org:x", "a@b"]
)
async def test_what_names_no_server_is_refused(text: str) -> None:
    with pytest.raises(ChannelError, match=re.escape("https://matrix.example.org")):
        await discover(text)
