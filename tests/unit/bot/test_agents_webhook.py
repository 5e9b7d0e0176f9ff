import asyncio
import base64
import json
from contextlib import aclosing

import pytest
from aiohttp import web
from standardwebhooks import Webhook, WebhookVerificationError

from bot.agents.connection import AbsentAgentError, SlowAgentError
from bot.agents.webhook import FilesMode, WebhookAgent
from bot.model.errors import AgentError, ConfigError
from bot.model.output import Final, Fragment, Progress, SafeError, Silence
from bot.model.request import Attachment
from bot.texts.codes import Failure
from tests.servers.agents import FilesInMemory, outputs_of, request, self_signed, serving, speaking

OLD = "whsec_" + base64.b64encode(b"o" * 24).decode()
NEW = "whsec_" + base64.b64encode(b"n" * 32).decode()
LINES = "application/x-ndjson"
EVENTS = "text/event-stream"


def agent(url, **changes):
    return WebhookAgent(**{"name": "hook", "url": url, "secrets": [NEW], "total_s": 5, "wait_s": 5, **changes})


def answering(body, content_type="application/json", status=200, **headers):
    async def answer(_):
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        return web.Response(body=raw, status=status, headers={"Content-Type": content_type, **headers})

    return answer


async def ask(handler, asked=None, in_memory=None, /, **changes):
    async with serving(handler) as url:
        asking = agent(f"{url}/answer", **changes)
        try:
            return await outputs_of(asking, asked or request(), in_memory)
        finally:
            await asking.close()


def both(first, last, prefix="", end="\n"):
    return "".join(f"{prefix}{json.dumps(one)}{end}" for one in (first, last)).encode()


GROWING = {"kind": "fragment", "text": "Gr"}
GROWN = {"kind": "final", "text": "Größe"}


@pytest.mark.parametrize(
    ("body", "content_type", "outputs"),
    [
        (GROWN, "application/json; charset=utf-8", [Final(text="Größe")]),
        ({"outputs": [GROWING, GROWN]}, "application/json", [Fragment(text="Gr"), Final(text="Größe")]),
        ({"outputs": [GROWN, GROWING]}, "application/json", [Final(text="Größe")]),
        ({"outputs": []}, "application/json", [Silence()]),
        (both(GROWING, GROWN), LINES, [Fragment(text="Gr"), Final(text="Größe")]),
        (b"\n" + both(GROWING, GROWN).strip(), LINES, [Fragment(text="Gr"), Final(text="Größe")]),
        (both(GROWING, GROWN, "data: ", "\n\n"), EVENTS, [Fragment(text="Gr"), Final(text="Größe")]),
        (
            b": hi\n\n" + both(GROWING, GROWN, "data: ", "\n\n").strip(),
            EVENTS,
            [Fragment(text="Gr"), Final(text="Größe")],
        ),
    ],
)
async def test_an_answer_may_come_as(body, content_type, outputs):
    assert await ask(answering(body, content_type)) == outputs


async def test_no_content_is_silence():
    assert await ask(answering(b"", status=204)) == [Silence()]


async def test_each_secret_signs_and_the_id_stays_the_same_at_each_attempt():
    seen = []

    async def receive(received):
        seen.append((await received.read(), dict(received.headers)))
        return web.json_response({"kind": "silence"})

    async with serving(receive) as url:
        asking = agent(url, secrets=[NEW, OLD], headers={"Authorization": "Bearer t"})
        await outputs_of(asking, request("hello"))
        await outputs_of(asking, request("hello", attempt=2))
        await asking.close()
    for secret in (NEW, OLD):
        assert [Webhook(secret).verify(body, headers)["attempt"] for body, headers in seen] == [1, 2]
    with pytest.raises(WebhookVerificationError):
        Webhook("whsec_" + base64.b64encode(b"x" * 24).decode()).verify(*seen[0])
    with pytest.raises(WebhookVerificationError):
        Webhook(NEW).verify(seen[0][0].replace(b"hello", b"hullo"), seen[0][1])
    assert {headers["webhook-id"] for _, headers in seen} == {"req-1"}
    assert seen[0][1]["Authorization"] == "Bearer t"


FILES = tuple(Attachment(handle=h, name=h, media_type="text/plain", size=s) for h, s in (("a", 3), ("b", 9), ("c", None), ("d", None)))  # fmt: skip


@pytest.mark.parametrize(
    ("mode", "fetched", "sent"),
    [
        (FilesMode.METADATA, [], [(None, None)] * 4),
        (
            FilesMode.INLINE,
            ["a", "c", "d"],
            [("YWJj", None), (None, "too_large"), (None, "unreadable"), (None, "too_large")],
        ),
    ],
)
async def test_contents_go_along_up_to_a_bound_and_only_if_configured(mode, fetched, sent):
    seen = []

    async def receive(received):
        seen.append(await received.json())
        return web.json_response({"kind": "silence"})

    files = FilesInMemory({"a": b"abc", "b": b"x" * 9, "d": b"abc"})
    await ask(receive, request(attachments=FILES), files, files=mode, max_files_bytes=5)
    assert files.fetched == fetched
    assert [(one.get("content"), one.get("omitted")) for one in seen[0]["untrusted"]["attachments"]] == sent


SECRET_BODY = b"Traceback (most recent call last): SECRET"


@pytest.mark.parametrize(
    ("handler", "what"),
    [
        (answering(SECRET_BODY, "text/html", 500), "status 500"),
        (answering(SECRET_BODY, "application/json", 202), "status 202"),
        (answering(b"", status=302, Location="http://127.0.0.1:1/SECRET"), "redirect"),
        (answering(SECRET_BODY, "text/html"), "content type"),
        (answering(SECRET_BODY), "not JSON"),
        (answering(b'{"kind":"final","text":"SECRET'), "not JSON"),
        (answering(b'{"kind":"final","text":"SECRET \xff"}'), "not JSON"),
        (answering(b'{"kind":"final","text":"SECRET \xff"}\n', LINES), "no UTF-8"),
        (answering({"kind": "SECRET"}), "kind: union_tag_invalid"),
        (answering(b'{"kind":"final","text":"' + b"x" * (1 << 20) + b'"}'), "too large"),
        (answering(b"x" * (2 << 20), LINES), "too long"),
        (answering(both(GROWING, GROWING), LINES), "before its final"),
        (answering(b'{"kind":"progress","text":"x"}\n' * 200, LINES), "too many notes"),
        (answering(GROWN, **{"Content-Encoding": "gzip"}), "compressed"),
    ],
)  # fmt: skip
async def test_a_hostile_answer_is_an_error_that_repeats_nothing_of_it(handler, what):
    async with serving(handler) as url:
        asking = agent(f"{url}/SECRET?token=SECRET", headers={"Authorization": "SECRET"})
        with pytest.raises(AgentError, match=what) as caught:
            await outputs_of(asking, request("SECRET"))
        await asking.close()
    assert "SECRET" not in str(caught.value)
    assert "127.0.0.1" not in str(caught.value)
    assert caught.value.__context__ is None


@pytest.mark.parametrize(
    ("raw", "what"),
    [
        (b"", "can't be reached"),
        (b"SSH-2.0-SECRET\r\n\r\n", "proper HTTP"),
        (b"HTTP/1.1 200 OK\r\nX: " + b"x" * 20_000 + b"\r\n\r\n", "proper HTTP"),
        (b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{", "broke off"),
    ],
)
async def test_what_is_hardly_http_is_an_error(raw, what):
    async with speaking(raw) as url:
        asking = agent(url)
        with pytest.raises(AgentError, match=what) as caught:
            await outputs_of(asking, request())
        await asking.close()
    assert "SECRET" not in str(caught.value)


async def test_an_absent_agent_is_an_error():
    async with serving(answering(GROWN)) as url:
        pass
    asking = agent(url)
    with pytest.raises(AbsentAgentError):
        await outputs_of(asking, request())
    await asking.close()


async def test_a_certificate_that_nobody_vouches_for_is_refused():
    asyncio.get_running_loop().set_exception_handler(lambda *_: None)  # the server's side of the failed handshake
    async with serving(answering(GROWN), tls=self_signed()) as url:
        asking = agent(url)
        with pytest.raises(AgentError, match="TLS certificate is not valid"):
            await outputs_of(asking, request())
        await asking.close()


def dripping(piece, gone):
    """Sends the same piece over and over until the other side has gone."""

    async def drip(_request):
        response = web.StreamResponse(headers={"Content-Type": LINES})
        try:
            await response.prepare(_request)
            while True:
                await response.write(piece)
                await asyncio.sleep(0)
        finally:
            gone.set()

    return drip


def mute(gone):
    """Takes the request and never answers."""

    async def wait(_):
        try:
            await asyncio.Event().wait()
        finally:
            gone.set()

    return wait


@pytest.mark.parametrize(
    ("handler", "bounds"),
    [
        (mute, {"wait_s": 0.05}),
        (mute, {"total_s": 0.05}),
        (lambda gone: dripping(b" ", gone), {"total_s": 0.05}),
    ],
)
async def test_a_slow_agent_is_cut_off_and_its_connection_closed(handler, bounds):
    gone = asyncio.Event()
    async with serving(handler(gone)) as url:
        asking = agent(url, **bounds)
        with pytest.raises(SlowAgentError) as caught:
            await outputs_of(asking, request())
        assert isinstance(caught.value, TimeoutError)
        await asyncio.wait_for(gone.wait(), 5)
        await asking.close()


async def test_an_endless_stream_is_cut_off():
    gone = asyncio.Event()
    piece = b'{"kind":"fragment","text":"' + b"x" * 90_000 + b'"}\n'
    async with serving(dripping(piece, gone)) as url:
        asking = agent(url)
        with pytest.raises(AgentError, match="too large"):
            await outputs_of(asking, request())
        await asyncio.wait_for(gone.wait(), 5)
        await asking.close()


async def test_a_run_that_is_closed_or_cancelled_hangs_up():
    for ending in ("closed", "cancelled"):
        gone = asyncio.Event()
        async with serving(dripping(b'{"kind":"fragment","text":"x"}\n', gone)) as url:
            asking = agent(url)
            heard = asyncio.Event()

            async def listen(asking=asking, heard=heard, ending=ending):
                async with aclosing(asking.run(request(), FilesInMemory())) as outputs:
                    async for _ in outputs:
                        heard.set()
                        if ending == "closed":
                            return

            task = asyncio.create_task(listen())
            await asyncio.wait_for(heard.wait(), 5)
            if ending == "cancelled":
                task.cancel()
            await asyncio.wait({task}, timeout=5)
            await asyncio.wait_for(gone.wait(), 5)
            await asking.close()


async def test_a_slow_listener_spends_none_of_the_agents_time():
    loop = asyncio.get_running_loop()
    passed, clock = 0.0, loop.time
    loop.time = lambda: clock() + passed
    async with serving(answering(both({"kind": "progress", "text": "p"}, GROWN), LINES)) as url:
        asking = agent(url, total_s=5)
        said = []
        async with aclosing(asking.run(request(), FilesInMemory())) as outputs:
            async for output in outputs:
                said.append(output)
                passed += 1000
        assert said == [Progress(text="p"), Final(text="Größe")]
        await asking.close()


async def test_an_answer_that_is_too_long_is_a_plain_sentence():
    assert await ask(answering({"kind": "final", "text": "x" * 100_001})) == [SafeError(failure=Failure.TOO_LONG)]


@pytest.mark.parametrize(
    "changes",
    [
        {"url": "ftp://agent.example.org"},
        {"url": "SECRET"},
        {"url": "http://[SECRET"},
        {"url": "https://SECRET@agent.example.org"},
        {"url": "https://u:SECRET@agent.example.org"},
        {"url": "http://agent.example.org/SECRET"},
        {"secrets": []},
        {"secrets": ["SECRET"]},
        {"secrets": ["whsec_SECRET!!"]},
    ],
)
def test_a_wrong_setting_is_refused_and_not_repeated(changes):
    with pytest.raises(ConfigError) as caught:
        agent(**{"url": "https://agent.example.org", **changes})
    assert "SECRET" not in str(caught.value)


def test_plain_http_to_another_machine_can_be_allowed():
    assert agent("http://agent.internal:8000", allow_plain_http=True).name == "hook"
