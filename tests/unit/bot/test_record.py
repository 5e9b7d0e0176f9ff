"""The authorised record: reading its sources, following them, and what is left of it when they are away (AUTO-8)."""

import asyncio
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from aiohttp import web

from bot.model.errors import ConfigError
from bot.record.fetching import SIZE_LIMIT, AwayError, Fetcher, PublicOnly, checked, is_public
from bot.record.reading import RecordError, read_json, read_yaml
from bot.record.room import Record
from bot.record.sources import Away, Back, FileSource, HttpSource, Refused, Taken
from policy.record import Entry
from policy.tree import DocumentError
from tests.harness import Clock

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
HOURS = {"version": 1, "record": {"hours": {"text": "Mo to Fr"}}}


def entry(name, text="a fact", **more):
    return Entry(id=name, text=text, **more)


# Reading


def test_a_file_and_an_answer_say_the_same():
    text = "version: 1\nrecord:\n  hours: {text: Mo to Fr, counterparties: [acme], classes: [prices]}\n"
    document = {"hours": {"text": "Mo to Fr", "counterparties": ["acme"], "classes": ["prices"]}}
    answer = json.dumps({"version": 1, "record": document}).encode()
    assert read_yaml(text, source="facts.yaml", environment={}) == read_json(answer, source="host")


def test_what_is_wrong_in_a_file_is_told_with_line_and_mend_and_without_what_it_says():
    with pytest.raises(DocumentError) as caught:
        read_yaml("version: 1\nrecord:\n  hours: {txt: secret words}\n", source="facts.yaml", environment={})
    assert "facts.yaml:3:" in str(caught.value)
    assert "did you mean text?" in str(caught.value).lower()
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "wrong",
    [
        b"{",
        b"[]",
        b"{}",
        b'{"version": 2}',
        b'{"version": 1, "record": {"a b": {"text": "x"}}}',
        b'{"version": 1, "record": {"a": {"text": " "}}}',
        b'{"version": 1, "record": {"a": {"text": "x", "expires_at": "tomorrow"}}}',
        b'{"version": 1, "record": {"a": {"text": "x", "counterparties": []}}}',
        b'{"version": 1, "record": {"a": {"text": "x", "more": 1}}}',
    ],
)
def test_an_answer_that_cannot_hold_is_refused_whole(wrong):
    with pytest.raises(RecordError) as caught:
        read_json(wrong, source="host")
    assert str(caught.value).startswith("host")
    assert caught.value.places


def test_a_record_has_a_bounded_number_of_entries():
    many = {"version": 1, "record": {f"e{n}": {"text": "x"} for n in range(1001)}}
    with pytest.raises(RecordError):
        read_json(json.dumps(many).encode(), source="host")


# Files


def test_a_file_that_breaks_changes_nothing_and_says_so_once(tmp_path: Path):
    path = tmp_path / "facts.yaml"
    path.write_text("version: 1\nrecord:\n  hours: {text: Mo to Fr}\n")
    source = FileSource(path, environment={})
    assert source.read() == Taken(source=str(path), entries=1)
    assert source.read() is None
    path.write_text("version: 1\nrecord:\n  hours: {text: }\n")
    change = source.read()
    assert isinstance(change, Refused)
    assert change.marked[0].mark.line == 3
    assert source.read() is None
    assert source.entries["hours"].text == "Mo to Fr"
    path.unlink()
    assert isinstance(source.read(), Refused)
    assert source.read() is None
    assert "hours" in source.entries
    path.write_text("version: 1\n")
    assert source.read() == Taken(source=str(path), entries=0)


# Addresses


class Answers:
    """A fetcher that answers what it is told."""

    def __init__(self, *answers):
        self.answers = list(answers)

    async def fetch(self):
        answer = self.answers.pop(0)
        if isinstance(answer, str):
            raise AwayError(answer)
        return json.dumps(answer).encode() if isinstance(answer, dict) else answer

    async def close(self):
        pass


def http(*answers, clock):
    return HttpSource("host", Answers(*answers), every_s=60, keep=timedelta(hours=1), clock=clock)


async def test_a_source_that_is_away_is_told_once_and_its_entries_stay_for_a_while_only():
    clock = Clock(NOW)
    source = http(HOURS, "gone", "gone", HOURS, "gone", clock=clock)
    assert await source.look() == Taken(source="host", entries=1)
    assert await source.look() == Away(source="host", why="gone")
    assert await source.look() is None
    assert set(source.entries) == {"hours"}
    clock.offset += timedelta(minutes=61)
    assert source.entries == {}
    assert await source.look() == Back(source="host")
    assert set(source.entries) == {"hours"}
    assert await source.look() == Away(source="host", why="gone")


async def test_a_source_that_was_never_heard_says_nothing():
    source = http("gone", clock=Clock(NOW))
    assert isinstance(await source.look(), Away)
    assert source.entries == {}


async def test_an_answer_that_cannot_hold_changes_nothing_and_does_not_count_as_heard():
    clock = Clock(NOW)
    wrong = {"version": 2}
    source = http(HOURS, wrong, wrong, "gone", wrong, HOURS, HOURS, clock=clock)
    await source.look()
    assert isinstance(await source.look(), Refused)
    assert await source.look() is None
    assert isinstance(await source.look(), Away)
    assert isinstance(await source.look(), Refused)
    assert set(source.entries) == {"hours"}
    clock.offset += timedelta(minutes=61)
    assert source.entries == {}
    assert await source.look() == Back(source="host")
    assert await source.look() is None
    assert set(source.entries) == {"hours"}


# Together


async def test_an_id_that_stands_in_two_sources_is_in_neither():
    record = Record(lambda: {"hours": entry("hours"), "site": entry("site")}, [http(HOURS, clock=Clock(NOW))])
    assert set(record.entries()) == {"hours", "site"}
    assert await record.read() == [Taken(source="host", entries=1)]
    assert record.twice() == {"hours"}
    assert set(record.entries()) == {"site"}


async def test_a_source_that_breaks_is_followed_all_the_same():
    class Broken(Answers):
        async def fetch(self):
            if not self.answers:
                await asyncio.Event().wait()
            if self.answers.pop(0) == "broken":
                raise RuntimeError
            return json.dumps(HOURS).encode()

    source = HttpSource("host", Broken("broken", "fine"), every_s=0, keep=timedelta(hours=1), clock=Clock(NOW))
    told = asyncio.Queue()
    watching = asyncio.create_task(Record(dict, [source]).watch(told.put))
    async with asyncio.timeout(5):
        assert await told.get() == Taken(source="host", entries=1)
    watching.cancel()
    await asyncio.gather(watching, return_exceptions=True)


# Fetching


async def serving(handler):
    application = web.Application()
    application.router.add_get("/facts", handler)
    application.router.add_get("/elsewhere", handler)
    runner = web.AppRunner(application, shutdown_timeout=1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    return runner, f"http://127.0.0.1:{runner.addresses[0][1]}/facts"


async def fetched(handler, **options):
    runner, url = await serving(handler)
    fetcher = Fetcher(url=url, allow_private=True, timeout_s=2, **options)
    try:
        return await fetcher.fetch()
    finally:
        await fetcher.close()
        await runner.cleanup()


async def test_it_sends_its_headers_and_gets_the_body():
    heard = {}

    async def answer(request):
        heard.update(request.headers)
        return web.json_response(HOURS)

    assert json.loads(await fetched(answer, headers={"Authorization": "Bearer abc"})) == HOURS
    assert heard["Authorization"] == "Bearer abc"


async def _redirect(_):
    raise web.HTTPFound("/elsewhere")


async def _refuse(_):
    return web.json_response({"secret": "sk-live"}, status=403)


async def _huge(_):
    return web.Response(body=b"[" + b" " * SIZE_LIMIT + b"]", content_type="application/json")


async def _page(_):
    return web.Response(text="<html>log in</html>", content_type="text/html")


async def _packed(_):
    return web.Response(body=b"x", content_type="application/json", headers={"Content-Encoding": "br"})


async def _hang(_):
    await asyncio.sleep(30)


@pytest.mark.parametrize(
    ("handler", "why"),
    [
        (_redirect, "redirect"),
        (_refuse, "status 403"),
        (_huge, "too large"),
        (_page, "not JSON"),
        (_packed, "compressed"),
    ],
)
async def test_an_answer_that_is_none_leaves_the_source_away(handler, why):
    with pytest.raises(AwayError, match=why) as caught:
        await fetched(handler)
    assert "127.0.0.1" not in str(caught.value)
    assert "sk-live" not in str(caught.value)
    assert caught.value.__cause__ is None


async def test_a_slow_source_is_away():
    runner, url = await serving(_hang)
    fetcher = Fetcher(url=url, allow_private=True, timeout_s=0.1)
    with pytest.raises(AwayError, match="too long"):
        await fetcher.fetch()
    await fetcher.close()
    await runner.cleanup()


async def test_nobody_there_is_away():
    runner, url = await serving(_hang)
    await runner.cleanup()
    fetcher = Fetcher(url=url, allow_private=True)
    with pytest.raises(AwayError, match="can't be reached"):
        await fetcher.fetch()
    await fetcher.close()


@pytest.mark.parametrize(
    ("url", "options"),
    [
        ("http://127.0.0.1/facts", {}),
        ("https://localhost/facts", {}),
        ("https://10.1.2.3/facts", {}),
        ("https://169.254.169.254/facts", {}),
        ("https://[::1]/facts", {}),
        ("https://[::ffff:10.0.0.1]/facts", {}),
        ("https://2130706433/facts", {}),
        ("http://facts.example.org/x", {}),
        ("http://10.1.2.3/facts", {"allow_private": True}),
        ("https://ann:pw@facts.example.org/x", {}),
        ("ftp://facts.example.org/x", {}),
        ("elsewhere.example", {}),
    ],
)
def test_an_address_that_leads_inside_or_in_the_clear_is_refused_unless_it_is_meant(url, options):
    with pytest.raises(ConfigError) as caught:
        checked(url, **{"allow_private": False, "allow_plain_http": False, **options})
    assert url not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "options"),
    [
        ("https://facts.example.org/x", {}),
        ("https://8.8.8.8/x", {}),
        ("http://127.0.0.1:8080/facts", {"allow_private": True}),
        ("http://facts.example.org/x", {"allow_plain_http": True}),
    ],
)
def test_what_is_meant_is_taken(url, options):
    assert str(checked(url, **{"allow_private": False, "allow_plain_http": False, **options})) == url


@pytest.mark.parametrize(
    ("host", "public"),
    [
        ("8.8.8.8", True),
        ("2606:4700::1111", True),
        ("127.0.0.1", False),
        ("192.168.1.1", False),
        ("100.64.0.1", False),
        ("224.0.0.1", False),
        ("fe80::1%eth0", False),
        ("64:ff9b::a00:1", False),
        ("64:ff9b::808:808", True),
        ("2002:a00:1::", False),
        ("no address", False),
    ],
)
def test_only_the_open_internet_is_public(host, public):
    assert is_public(host) is public


async def test_a_name_that_leads_inside_leads_nowhere():
    class Names:
        async def resolve(self, host, port=0, family=0):
            return [{"host": "8.8.8.8", "port": port}, {"host": "10.0.0.1", "port": port}]

        async def close(self):
            pass

    with pytest.raises(AwayError, match="private"):
        await PublicOnly(Names()).resolve("facts.example.org")
