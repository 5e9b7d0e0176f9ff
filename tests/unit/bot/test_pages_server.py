"""The server of hosted forms as a service, and its small parts."""

import asyncio
import socket

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer, make_mocked_request

from bot.channels.web.markdown import render
from bot.model.errors import ConfigError
from bot.pages.body import BodyError, read_post
from bot.pages.pace import Addresses, Pace
from bot.pages.reach import Reach
from bot.pages.server import prefix_of, serve
from tests.browser.asked_pages import NOW, Kept, forms_served


async def until(condition):
    """Wait for what will be logged; bounded."""
    async with asyncio.timeout(10):
        while not condition():
            await asyncio.sleep(0.01)


@pytest.mark.parametrize(
    ("url", "prefix"),
    [
        ("https://ask.example.org", ""),
        ("https://ask.example.org/", ""),
        ("http://127.0.0.1:8088", ""),
        ("https://example.org/a/b/", "/a/b"),
    ],
)
def test_the_path_of_the_public_address_is_the_prefix(url, prefix):
    assert prefix_of(url) == prefix


@pytest.mark.parametrize("url", ["", "example.org", "ftp://example.org", "https://", "https://example.org/?a=b"])
async def test_an_address_that_is_none_is_told_at_once(url):
    with pytest.raises(ConfigError):
        await serve(Kept(), host="127.0.0.1", port=0, public_url=url, markup=render, clock=lambda: NOW)


async def test_a_port_that_is_taken_ends_the_service_and_nothing_else():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        async with asyncio.timeout(10):
            await serve(
                Kept(), host="127.0.0.1", port=port, public_url="http://a.example", markup=render, clock=lambda: NOW
            )


async def test_the_service_ends_when_it_is_cancelled():
    async with forms_served() as forms:
        port = int(forms.url.rpartition(":")[2])
    with pytest.raises(OSError):  # noqa: PT011 - refused or reset, as the system likes
        await asyncio.open_connection("127.0.0.1", port)


async def test_that_the_public_address_leads_here_is_found_out_behind_a_path_too(caplog):
    caplog.set_level("INFO")
    for prefix in ("", "/ask/"):
        caplog.clear()
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        async with forms_served(public_url=f"http://127.0.0.1:{port}", prefix=prefix, port=port):
            await until(lambda: "pages_public_url" in caplog.text)
        assert "pages_public_url_reached" in caplog.text


async def test_an_address_that_leads_nowhere_is_told_and_the_pages_are_served(caplog):
    with socket.socket() as silent:  # takes connections and says nothing
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        public_url = f"http://ann:s3cret@127.0.0.1:{silent.getsockname()[1]}"
        async with forms_served(public_url=public_url) as forms:
            assert (await forms.get("/f/unknown-link-unknown-link"))[0] == 404
        assert "pages_public_url" not in caplog.text  # the end of the service ends the question too
    async with forms_served(public_url=public_url) as forms:
        await until(lambda: "pages_public_url_unreached" in caplog.text)
        assert (await forms.get("/f/unknown-link-unknown-link"))[0] == 404
        assert "127.0.0.1" in caplog.text
        assert "s3cret" not in caplog.text


@pytest.mark.parametrize(
    ("status", "headers", "body", "cause"),
    [
        (404, {}, "", "status 404"),
        (200, {}, "f" * 64, "another answer"),
        (200, {}, "short", "IncompleteReadError"),
        (302, {"Location": "/again"}, "", "redirect"),
        (302, {"Location": "https://elsewhere.example/"}, "", "redirect"),
        (302, {}, "", "redirect"),
    ],
)
async def test_another_place_under_the_public_address_is_no_answer(caplog, status, headers, body, cause):
    seen = []

    async def take(request):
        seen.append(request.path)
        return web.Response(status=status, headers=headers, text=body)

    app = web.Application()
    app.router.add_get("/{tail:.*}", take)
    async with TestServer(app) as server:
        await Reach(str(server.make_url("/"))).check()
    (record,) = [one for one in caplog.records if "unreached" in one.getMessage()]
    assert cause in record.getMessage()
    assert seen[0].startswith("/self/")
    assert len(seen) <= 3


async def test_a_redirect_on_the_same_host_is_followed():
    async def take(request):
        raise web.HTTPMovedPermanently(f"/there{request.path}")

    async def answer(request):
        return web.Response(text=reach.answer(request.match_info["nonce"]))

    app = web.Application()
    app.router.add_get("/self/{nonce}", take)
    app.router.add_get("/there/self/{nonce}", answer)
    async with TestServer(app) as server:
        reach = Reach(str(server.make_url("/")))
        assert await reach._asked() == ""


async def test_only_a_nonce_is_answered_and_each_process_answers_otherwise():
    async with forms_served() as forms:
        nonce = "n" * 32
        status, said, _ = await forms.get(f"/self/{nonce}")
        assert (status, len(said)) == (200, 64)
        assert said != Reach("http://a.example").answer(nonce)
        for wrong in ("short", "n" * 65, "n" * 20 + "%00"):
            assert (await forms.get(f"/self/{wrong}"))[0] == 404


def test_a_bucket_fills_by_itself_and_the_oldest_is_forgotten():
    now = 0.0
    pace = Pace(burst=2, each_s=10, now=lambda: now)
    assert [pace.wait_s("a"), pace.wait_s("a"), pace.wait_s("a")] == [0, 0, 10]
    assert pace.wait_s("b") == 0
    now = 10.0
    assert [pace.wait_s("a"), pace.wait_s("a")] == [0, 10]
    for number in range(10_001):
        pace.wait_s(str(number))
    assert len(pace._debts) == 10_000
    assert pace.wait_s("a", 2) == 0


@pytest.mark.parametrize(
    ("peer", "forwarded", "found"),
    [
        ("203.0.113.7", "198.51.100.1", "203.0.113.7"),
        ("127.0.0.1", "198.51.100.1", "198.51.100.1"),
        ("127.0.0.1", "6.6.6.6, 198.51.100.1", "198.51.100.1"),
        ("127.0.0.1", "198.51.100.1, 127.0.0.2", "198.51.100.1"),
        ("127.0.0.1", "nonsense", "127.0.0.1"),
        ("127.0.0.1", "", "127.0.0.1"),
        ("::ffff:127.0.0.1", "198.51.100.1", "198.51.100.1"),
        ("::1", "2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "", "fe80::/64"),
        ("", "198.51.100.1", "None"),
    ],
)
def test_an_address_is_the_nearest_that_is_no_known_proxy(peer, forwarded, found):
    request = make_mocked_request("GET", "/", headers={"X-Forwarded-For": forwarded}).clone(remote=peer)
    assert Addresses().of(request) == found


async def test_a_body_that_never_ends_is_given_up():
    stream = asyncio.StreamReader()
    request = make_mocked_request("POST", "/", headers={"Content-Type": "application/x-www-form-urlencoded"})
    request._read_bytes = None

    async def read():
        return await stream.read()

    request.read = read
    with pytest.raises(BodyError) as refused:
        await read_post(request, within_s=0.01)
    assert refused.value.status == 408
