"""Logs without secrets and bodies, metrics with bounded labels, health, and word to systemd."""

import asyncio
import gc
import io
import json
import logging
import re
import socket
import sys
import threading
from datetime import UTC, datetime
from urllib.parse import quote

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from bot.observability import metrics, redaction
from bot.observability.failures import describe, lines_of, show_text_of
from bot.observability.health import Health, Level, answers
from bot.observability.log import HTTP, configure, get_logger, watch_for_failures
from bot.observability.redaction import HIDDEN, redact, register_secret
from bot.observability.systemd import READY, WATCHDOG, feed_watchdog, notify, watchdog_s
from bot.ports.store import OutboxState

TOKEN = "0000000000:SYNTHETIC-TOKEN-NOT-REAL-000000"
BODY = "the merger closes on Friday"


def _fail(text: str) -> None:
    raise ValueError(text)


@pytest.fixture
def lines(monkeypatch):
    """What was logged so far, as objects; everything that is global comes back afterwards."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    hooks = sys.excepthook, threading.excepthook, sys.unraisablehook
    monkeypatch.setattr(logging, "raiseExceptions", logging.raiseExceptions)
    stream = io.StringIO()
    configure(level="debug", stream=stream, json_lines=True)

    def read():
        assert TOKEN not in stream.getvalue()
        assert BODY not in stream.getvalue()
        return [json.loads(line) for line in stream.getvalue().splitlines()]

    yield read
    root.handlers[:] = handlers
    root.setLevel(level)
    sys.excepthook, threading.excepthook, sys.unraisablehook = hooks
    logging.captureWarnings(capture=False)
    logging.getLogger("aiohttp.access").disabled = False


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (f"https://api.telegram.org/bot{TOKEN}/getUpdates", "https://api.telegram.org/bot[hidden]/getUpdates"),
        (f"GET /file/bot{TOKEN}/photos/1.jpg", "GET /file/bot[hidden]/photos/1.jpg"),
        (quote(f"bot{TOKEN}", safe=""), "bot[hidden]"),
        ("Authorization: Bearer abc.def-1", "Authorization: Bearer [hidden]"),
        ("{'Authorization': 'Bearer abc'}", "{'Authorization': 'Bearer [hidden]'}"),
        ("(b'authorization', b'Basic YTpi')", "(b'authorization', b'Basic [hidden]')"),
        ('{"access_token": "s3cr3t", "x": 1}', '{"access_token": "[hidden]", "x": 1}'),
        (r"{\"access_token\": \"s3cr3t\"}", r"{\"access_token\": \"[hidden]\"}"),
        ("/sync?access_token=s3cr3t&since=1", "/sync?access_token=[hidden]&since=1"),
        ("secret whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw=", "secret [hidden]"),
        ("socks5://user:pa55@proxy:1080", "socks5://[hidden]@proxy:1080"),
        ("postgresql+asyncpg://desk:pa55@db/desk", "postgresql+asyncpg://[hidden]@db/desk"),
        ("token syt_YWxpY2U_abcdEFGHijkl_1234", "token [hidden]"),
        ("http://127.0.0.1:8443/enter?invite=abc", "http://127.0.0.1:8443/enter?invite=[hidden]"),
        ("key sk-abcdefghijklmnop1234", "key [hidden]"),
        ("a bearer of bad news, authorization, please: 12:30", "a bearer of bad news, authorization, please: 12:30"),
        ("mail ann@example.org at 10:15", "mail ann@example.org at 10:15"),
    ],
)
def test_what_looks_like_a_secret_is_hidden_and_nothing_else(text, left):
    assert redact(text) == left


def test_an_exact_secret_is_hidden_in_every_form_in_which_a_text_may_carry_it(monkeypatch):
    monkeypatch.setattr(redaction, "_registered", redaction._Registered())
    secret = 'pä/ss "word"\\x'
    register_secret(f" {secret}\n")
    for form in (secret, json.dumps(secret), json.dumps(secret, ensure_ascii=False), repr(secret), quote(secret)):
        assert HIDDEN in redact(f"before {form} after")
        assert "word" not in redact(f"before {form} after")


def test_of_two_secrets_the_longer_one_leaves_no_rest(monkeypatch):
    monkeypatch.setattr(redaction, "_registered", redaction._Registered())
    register_secret("abcdef")
    register_secret("abcdefghi")
    assert redact("abcdefghi abcdef") == f"{HIDDEN} {HIDDEN}"


def test_a_text_too_short_for_a_secret_does_not_blank_out_ordinary_words(monkeypatch):
    monkeypatch.setattr(redaction, "_registered", redaction._Registered())
    register_secret("a")
    assert redact("a cat") == "a cat"


# logs


def test_a_line_is_one_json_object_with_time_level_event_and_facts(lines):
    get_logger("bot.x").warning("event_set_aside", platform="telegram")
    (line,) = lines()
    assert list(line)[:4] == ["timestamp", "level", "event", "logger"]
    assert line["platform"] == "telegram"
    assert datetime.fromisoformat(line["timestamp"]).tzinfo == UTC


def test_tokens_stay_out_of_our_lines_and_of_those_of_others(lines):
    url = f"https://api.telegram.org/bot{TOKEN}/sendMessage"
    get_logger("bot.x").info("call", url=url, nested={"url": [url]})
    logging.getLogger("some.http.client").warning("HTTP 400 on POST %s", url)
    logging.getLogger("bot.old").error("retry %s", url)
    assert len(lines()) == 3


def test_an_exception_shows_its_type_and_frames_and_never_its_text(lines):
    try:
        try:
            _fail(f"{BODY} {TOKEN}")
        except ValueError as error:
            raise RuntimeError(BODY) from error
    except RuntimeError:
        get_logger("bot.x").exception("failed")
        logging.getLogger("some.library").exception("Error handling request")
    ours, theirs = lines()
    for line in (ours, theirs):
        assert line["failure"][0] == "RuntimeError"
        assert "ValueError" in line["failure"]
        assert re.search(r"unit/bot/test_observability.py:\d+ test_an_exception", line["failure"][1])


def test_an_error_that_is_meant_for_admins_shows_its_text():
    class TestedError(Exception):
        pass

    assert describe(TestedError("write it whole")) == "TestedError"
    show_text_of(TestedError)
    assert describe(TestedError("write it whole")) == "TestedError: write it whole"
    assert describe(ConnectionRefusedError(111, "Connection refused")) == "ConnectionRefusedError: Connection refused"


def test_a_group_of_errors_shows_its_members_and_a_loop_of_causes_ends():
    group = ExceptionGroup(BODY, [ValueError(BODY), KeyError(BODY)])
    assert lines_of(group) == ["ExceptionGroup", "  member: ValueError", "  member: KeyError"]
    first, second = ValueError(), KeyError()
    first.__cause__, second.__cause__ = second, first
    assert lines_of(first) == ["ValueError", "KeyError"]


def test_an_object_that_nobody_meant_to_log_shows_its_type(lines):
    get_logger("bot.x").info("odd", thing=ValueError(BODY), raw=BODY.encode())
    (line,) = lines()
    assert line["thing"] == "<ValueError>"
    assert line["raw"] == "<bytes>"


def test_libraries_stay_quiet_at_debug_and_the_access_log_is_off(lines):
    logging.getLogger("aiosqlite").debug("executing %s", BODY)
    logging.getLogger("httpx").info("HTTP Request: POST %s", TOKEN)
    logging.getLogger("aiohttp.access").warning("GET /")
    get_logger("bot.x").debug("ours")
    assert [line["event"] for line in lines()] == ["ours"]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
async def test_of_a_broken_request_nothing_is_told_and_of_a_failure_of_ours_its_kind(lines, caplog):
    async def fail(_):
        _fail(BODY)

    app = web.Application()
    app.router.add_get("/fail/{token}", fail)
    runner = web.AppRunner(app, access_log=None, logger=HTTP)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    port = runner.addresses[0][1]

    async def ask(request):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(request.encode() + b"\r\n\r\n")
        async with asyncio.timeout(10):
            answer = await reader.readline()
        writer.close()
        return answer

    try:
        for broken in (f"GET /{TOKEN} HTTP/9.9", f"GET /{TOKEN} HTTP/1.1\r\nbroken {TOKEN}", f"{TOKEN}"):
            assert b"400" in await ask(broken)
        assert lines() == []
        assert b"500" in await ask(f"GET /fail/{TOKEN} HTTP/1.1\r\nHost: a")
    finally:
        await runner.cleanup()
    (line,) = lines()
    assert (line["event"], line["failure"][0]) == ("http_failed", "ValueError")
    assert TOKEN not in caplog.text
    assert BODY not in caplog.text


def test_a_third_partys_dump_of_many_lines_is_cut_to_its_first(lines):
    logging.getLogger("some.library").warning("went wrong:\n%s", BODY)
    assert lines()[0]["event"] == "went wrong:"


def test_a_line_that_cannot_be_made_prints_nothing_of_its_arguments(lines, capsys):
    logging.getLogger("some.library").warning("%d", BODY)
    assert lines() == []
    assert BODY not in capsys.readouterr().err


async def test_a_task_that_dies_unseen_is_reported_without_its_text(lines):
    loop = asyncio.get_running_loop()
    before = loop.get_exception_handler()
    watch_for_failures(loop)
    try:

        async def die():
            raise ValueError(f"{BODY} {TOKEN}")

        task = asyncio.create_task(die(), name="reader")
        await asyncio.wait([task])
        del task
        gc.collect()
    finally:
        loop.set_exception_handler(before)
    (line,) = lines()
    assert line["event"] == "uncaught_in_loop"
    assert line["where"] == "reader"
    assert line["said"] == "Task exception was never retrieved"
    assert line["failure"][0] == "ValueError"


def test_what_nobody_catches_is_reported_without_its_text(lines):
    watch_for_failures()
    error = ValueError(BODY)
    sys.excepthook(ValueError, error, None)
    sys.excepthook(KeyboardInterrupt, KeyboardInterrupt(), None)

    def die():
        raise ValueError(BODY)

    thread = threading.Thread(target=die, name="feeder")
    thread.start()
    thread.join(10)
    assert [(line["event"], line["where"]) for line in lines()] == [("uncaught", "main"), ("uncaught", "feeder")]


def test_on_a_terminal_a_line_is_for_people_and_as_careful():
    stream = io.StringIO()
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    try:
        configure(stream=stream, json_lines=False)
        try:
            _fail(BODY)
        except ValueError:
            get_logger("bot.x").exception("failed", url=f"/bot{TOKEN}/", count=2, thing=object())
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)
        logging.captureWarnings(capture=False)
        logging.getLogger("aiohttp.access").disabled = False
    first, second, *_ = stream.getvalue().splitlines()
    assert re.fullmatch(r"\d\d:\d\d:\d\d error   failed url=/bot\[hidden]/ count=2 thing=<object>", first)
    assert second == "    ValueError"


# metrics


def test_labels_come_from_closed_lists():
    metrics.events_decided("telegram", "mute", "no_address")
    metrics.events_decided("carrier-pigeon", "coo", BODY)
    metrics.part_ended("telegram", "delivered")
    metrics.part_withheld(BODY)
    metrics.agent_run("main", "final")
    metrics.lanes_open(BODY, 3)
    metrics.queue_size("outbox", 4)
    metrics.outbox_unknown(1)
    metrics.journal_length(12)
    metrics.policy_reloaded(accepted=False)
    text = metrics.render()[0].decode()
    assert 'discreet_events_decided_total{outcome="mute",platform="telegram",reason="no_address"}' in text
    assert 'discreet_events_decided_total{outcome="other",platform="other",reason="other"}' in text
    assert 'discreet_policy_reloads_total{result="refused"}' in text
    assert "discreet_journal_records 12.0" in text
    assert BODY not in text
    assert "pigeon" not in text


def test_every_state_of_a_part_that_can_end_is_counted_by_name():
    assert {OutboxState.READY.value, OutboxState.SENDING.value} == {s.value for s in OutboxState} - metrics.SEND_STATES


def test_agents_beyond_the_limit_are_counted_together(monkeypatch):
    monkeypatch.setattr(metrics, "_agents", {str(number) for number in range(metrics.AGENTS_AT_MOST)})
    metrics.agent_run("one-too-many", "final")
    assert "one-too-many" not in metrics.render()[0].decode()


# health


def test_the_daemon_is_ready_when_everything_is_up_and_alive_until_something_fails_for_good():
    health = Health(["store", "channel"])
    assert (health.alive, health.ready) == (True, False)
    assert health.set("store", Level.OK)
    assert not health.set("store", Level.OK)
    health.set("channel", Level.DEGRADED, "the policy file is broken")
    assert (health.alive, health.ready) == (True, True)
    health.set("channel", Level.FAILED, "the token is wrong")
    assert (health.alive, health.ready) == (False, False)
    assert health.report()["components"]["channel"] == {"state": "failed", "words": "the token is wrong"}
    assert set(health.states()) == {"store", "channel"}


async def test_health_readiness_and_metrics_are_served():
    health = Health(["store"])
    app = web.Application()
    app.router.add_routes([web.get(path, answer) for path, answer in answers(health).items()])
    async with asyncio.timeout(10), TestClient(TestServer(app)) as client:
        assert (await client.get("/healthz")).status == 200
        assert (await client.get("/readyz")).status == 503
        health.set("store", Level.OK)
        ready = await client.get("/readyz")
        assert (ready.status, (await ready.json())["ready"]) == (200, True)
        health.set("store", Level.FAILED)
        assert (await client.get("/healthz")).status == 503
        shown = await client.get("/metrics")
        assert shown.headers["Content-Type"].startswith("text/plain")
        assert "discreet_" in await shown.text()


# systemd


@pytest.mark.parametrize("abstract", [False, True])
def test_systemd_is_told_over_its_socket(tmp_path, abstract):
    address = f"@discreet-test-{tmp_path.name}-{id(tmp_path)}" if abstract else str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.settimeout(5)
        listener.bind("\0" + address[1:] if abstract else address)
        assert notify(READY, "STATUS=serving", environment={"NOTIFY_SOCKET": address})
        assert listener.recv(100) == b"READY=1\nSTATUS=serving"


@pytest.mark.parametrize("variables", [{}, {"NOTIFY_SOCKET": "nonsense"}, {"NOTIFY_SOCKET": "/nowhere/at/all"}])
def test_without_systemd_nobody_is_told_and_nothing_breaks(variables):
    assert not notify(READY, environment=variables)


@pytest.mark.parametrize(
    ("variables", "every_s"),
    [
        ({}, None),
        ({"WATCHDOG_USEC": "60000000"}, 30.0),
        ({"WATCHDOG_USEC": "60000000", "WATCHDOG_PID": "1"}, None),
        ({"WATCHDOG_USEC": "0"}, None),
        ({"WATCHDOG_USEC": "soon"}, None),
    ],
)
def test_signs_of_life_come_twice_as_often_as_systemd_wants_them(variables, every_s):
    assert watchdog_s(variables) == every_s


async def test_a_daemon_that_is_not_alive_gives_no_sign_of_life(tmp_path, monkeypatch):
    path = str(tmp_path / "notify")
    monkeypatch.setenv("NOTIFY_SOCKET", path)
    asked = asyncio.Semaphore(0)
    answers_of_life = iter([True, False, False])

    def alive():
        asked.release()
        return next(answers_of_life, False)

    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.setblocking(False)
        listener.bind(path)
        feeding = asyncio.create_task(feed_watchdog(alive, every_s=0.0), name="watchdog")
        async with asyncio.timeout(5):
            for _ in range(3):
                await asked.acquire()
        feeding.cancel()
        await asyncio.gather(feeding, return_exceptions=True)
        assert listener.recv(100) == WATCHDOG.encode()
        with pytest.raises(BlockingIOError):
            listener.recv(100)
