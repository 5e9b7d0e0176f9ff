"""The client of agents: what it trusts, what it tries again, and what it says when a gateway is none."""

import asyncio
import json
import subprocess
import sys

import pytest
from aiohttp import web

from bot.clients.gateway import AwayError, Gateway, GatewayError, RefusedError
from tests.agents_desk import receiving

APPROVAL = {"id": "a", "code": "K7QM2", "state": "approved", "version": "v", "action": "refund", "parameters": {"n": 1}}


@pytest.mark.parametrize(
    ("url", "key"),
    [
        ("http://gateway.example.org", "key"),
        ("gateway.example.org", "key"),
        ("https://me@gateway.example.org", "key"),
        ("https://gateway.example.org/?a=b", "key"),
        ("ftp://127.0.0.1", "key"),
        ("http://127.0.0.1:1", ""),
        ("http://127.0.0.1:1", "a\nb"),
    ],
)
def test_an_address_or_key_that_can_not_be_used_is_refused_and_not_repeated(url, key):
    with pytest.raises(ValueError, match=r"gateway|key") as error:
        Gateway(url, key)
    assert url not in str(error.value)


def test_nothing_of_the_daemon_is_loaded():
    heavy = ("aiohttp", "sqlalchemy", "pydantic", "jinja2", "structlog", "bot.wiring", "bot.storage", "policy")
    script = f"import sys, bot.clients.people; print([one for one in {heavy!r} if one in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "[]"


def json_of(document, status=200, **headers):
    return web.Response(status=status, body=json.dumps(document).encode(), headers=headers)


async def test_what_fails_in_passing_is_tried_again_with_the_same_key():
    async with receiving() as there:
        answers = [json_of({}, 503), json_of({}, 429, **{"Retry-After": "0"}), json_of(APPROVAL, 201)]
        there.reply = lambda _request, _body: answers.pop(0)
        gateway = Gateway(there.url, "SYNTHETIC-key")
        approval = await asyncio.to_thread(gateway.propose, "refund", {"n": 1}, key="one")
        assert (approval.code, approval.parameters) == ("K7QM2", {"n": 1})
        assert [json.loads(body)["key"] for _, _, body in there.came] == ["one"] * 3
        assert "SYNTHETIC" not in repr(gateway)


async def test_a_gateway_that_stays_away_is_told_within_the_patience():
    async with receiving() as there:
        there.answers = [502]
        with pytest.raises(AwayError):
            await asyncio.to_thread(Gateway(there.url, "k", patience_s=0.5).approval, "a")
        gone = there.url
    with pytest.raises(AwayError):
        await asyncio.to_thread(Gateway(gone, "k", patience_s=0.5).approval, "a")


async def test_a_redirect_is_not_followed_and_a_refusal_says_its_code():
    async with receiving() as there:
        there.answers = [302]
        with pytest.raises(GatewayError):
            await asyncio.to_thread(Gateway(there.url, "k", patience_s=0.5).approval, "a")
        assert len(there.came) == 1
        problems = [{"path": "/ttl_s", "code": "wrong_type", "detail": ""}]
        there.reply = lambda *_: json_of({"error": "invalid", "message": "no", "problems": problems}, 422)
        with pytest.raises(RefusedError, match="/ttl_s wrong_type") as error:
            await asyncio.to_thread(Gateway(there.url, "k").propose, "a", {}, key="k")
        assert (error.value.status, error.value.code) == (422, "invalid")


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b"{}", b'{"id": 1}', b"[" * 5_000])
async def test_an_answer_of_something_else_is_told_as_that(body):
    async with receiving() as there:
        there.reply = lambda *_: web.Response(body=body)
        gateway = Gateway(there.url, "k")
        for look in (gateway.approval, gateway.question):
            with pytest.raises(GatewayError, match="no gateway"):
                await asyncio.to_thread(look, "a")
