"""A developer tries out a question before anybody is asked (FORM-1, FORM-2, FORM-8)."""

import asyncio
import json
import re
import signal
import sys
from contextlib import asynccontextmanager

import aiohttp
import pytest

from tests.acceptance.commands import environment, run

RELEASE = {
    "type": "object",
    "properties": {
        "channel": {"title": "Channel", "enum": ["stable", "beta"]},
        "version": {"type": "string", "title": "Version", "minLength": 5},
        "price": {"type": "number", "title": "Price"},
        "day": {"type": "string", "format": "date", "title": "Day"},
        "at": {"type": "string", "format": "time", "title": "At"},
    },
    "required": ["channel", "version"],
}
SECRET = {
    "question": "Which **PIN**?",
    "important": True,
    "schema": {
        "type": "object",
        "properties": {"pin": {"type": "string", "format": "password", "title": "PIN"}, "note": {"type": "string"}},
        "required": ["pin"],
    },
}
CHOICE = {
    "title": "Which channel?",
    "type": "object",
    "properties": {"channel": {"title": "Channel", "enum": ["stable", "beta"]}},
    "required": ["channel"],
}


@pytest.fixture
def written(tmp_path):
    def write(document, name="schema.json"):
        text = document if isinstance(document, str) else json.dumps(document)
        (tmp_path / name).write_text(text, encoding="utf-8")
        return name

    return write


def parse(folder, reply, *arguments, code=0):
    done = run(folder, "form", "parse", "--schema", "schema.json", "--reply", "-", *arguments, stdin=reply)
    assert done.returncode == code, done.stderr
    return json.loads(done.stdout)


def test_a_reply_that_holds_is_printed_as_its_values(tmp_path, written):
    written(RELEASE)
    found = parse(tmp_path, "Channel: Beta\nversion = 2026.12\n")
    assert found == {"values": {"channel": "beta", "version": "2026.12"}}


def test_a_reply_in_a_file_is_read_as_it_is(tmp_path, written):
    written({"question": "x", "schema": RELEASE})
    written("> quoted\nChannel: beta\nVersion: 2026.12\n", "reply.txt")
    done = run(tmp_path, "form", "parse", "-s", "schema.json", "-r", "reply.txt")
    assert (done.returncode, json.loads(done.stdout)["values"]["channel"]) == (0, "beta")


def test_a_partly_wrong_reply_gives_its_errors_and_what_is_kept(tmp_path, written):
    written(RELEASE)
    found = parse(tmp_path, "Channel: beta\nVersion: 1.2\nDay: 2026-02-17\nVersoin: 3", code=1)
    assert found["values"] == {"channel": "beta", "day": "2026-02-17"}
    first, second = found["errors"]
    assert first == {"field": "version", "code": "too_short", "limit": 5}
    assert (second["code"], second["nearest"], second["line"]) == ("unknown_field", "version", 4)


def test_what_is_ambiguous_is_settled_by_the_options_or_asked_back(tmp_path, written):
    written(RELEASE)
    reply = "Channel: beta\nVersion: 2026.12\nPrice: 12,345\nDay: 03/04/2026"
    found = parse(tmp_path, reply, code=1)
    assert {error["field"]: len(error["readings"]) for error in found["errors"]} == {"price": 2, "day": 2}
    assert parse(tmp_path, reply, "--locale", "de")["values"]["price"] == 12.345
    found = parse(tmp_path, reply, "--locale", "en-GB")["values"]
    assert (found["price"], found["day"]) == (12345, "2026-04-03")
    reply = "Channel: beta\nVersion: 2026.12\nAt: 10:30\nDay: tomorrow"
    found = parse(tmp_path, reply, "--timezone", "Europe/Berlin", "--today", "2026-02-16", "--locale", "en")["values"]
    assert (found["at"], found["day"]) == ("10:30:00+01:00", "2026-02-17")


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (["--timezone", "Mars/Base"], "no such zone"),
        (["--today", "soon"], "no day"),
        (["--schema", "nowhere.json"], "there is no nowhere.json"),
        (["--schema", "bad.json"], "/properties/x/enum"),
        (["--schema", "text.json"], "no JSON"),
        (["--reply", "latin.txt"], "no UTF-8"),
    ],
)
def test_what_can_not_be_tried_is_told_with_its_mend(tmp_path, written, arguments, what):
    written(RELEASE)
    written({"type": "object", "properties": {"x": {"enum": []}}}, "bad.json")
    written("{nonsense", "text.json")
    (tmp_path / "latin.txt").write_bytes(b"\xe9")
    done = run(tmp_path, "form", "parse", "--schema", "schema.json", "--reply", "-", *arguments, stdin="x")
    assert (done.returncode, done.stdout) == (2, "")
    assert what in done.stderr
    assert "mend:" in done.stderr


def test_schemas_are_checked_with_every_problem_and_its_place(tmp_path, written):
    written(RELEASE, "good.json")
    bad = {"type": "object", "properties": {"x": {"enum": []}, "y": {"type": "object", "properties": {}}, "z": False}}
    written(bad, "bad.json")
    written('{"type":\n nonsense}', "text.json")
    done = run(tmp_path, "form", "check", "good.json")
    assert (done.returncode, done.stdout) == (0, "good.json: ok (fields: 5)\n")
    done = run(tmp_path, "form", "check", "good.json", "bad.json", "text.json")
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    assert lines[0] == "good.json: ok (fields: 5)"
    assert [line.split(": ")[:2] for line in lines[1:4]] == [
        ["bad.json", "/properties/x/enum"],
        ["bad.json", "/properties/y"],
        ["bad.json", "/properties/z"],
    ]
    assert lines[4].startswith("text.json:2:2: not_json: ")


@pytest.mark.rule("FORM-13")
def test_no_reference_of_a_schema_is_followed(tmp_path, written):
    written("SYNTHETIC", "other.json")
    written({"type": "object", "properties": {"x": {"$ref": f"file://{tmp_path}/other.json"}}})
    done = run(tmp_path, "form", "check", "schema.json")
    assert done.returncode == 1
    assert "/properties/x/$ref" in done.stdout
    assert "SYNTHETIC" not in done.stdout + done.stderr


@asynccontextmanager
async def previewing(folder, *arguments):
    """The running command, what it has printed so far, and the address of its page."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "bot", "form", "preview", "schema.json", "--port", "0", *arguments),
        cwd=folder,
        env=environment(folder),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(60):
            printed = ""
            while "Ctrl-C ends it" not in printed:
                line = (await process.stdout.readline()).decode()
                assert line, (await process.stderr.read()).decode()
                printed += line
            (address,) = re.findall(r"^    (http://127\.0\.0\.1:\d+/f/\S+)$", printed, re.MULTILINE)
            yield process, printed, address
            process.send_signal(signal.SIGINT)
            _, err = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert (process.returncode, err) == (0, b"")


async def printed_line(process):
    async with asyncio.timeout(20):
        return json.loads(await process.stdout.readline())


async def test_a_question_is_shown_as_each_platform_would_and_answered_on_its_page(tmp_path, written):
    written(CHOICE)
    async with previewing(tmp_path) as (process, printed, address), aiohttp.ClientSession() as http:
        telegram, _, rest = printed.partition("Matrix\n")
        assert "[ stable ]  [ beta ]" in telegram
        assert address in telegram
        assert "1️⃣ stable" in rest
        assert "<p><strong>Which channel?</strong></p>" in rest
        for place, value in (("1", "beta"), ("0", "stable")):  # it can be tried as often as one likes
            async with http.get(address) as page:
                assert page.status == 200
                assert "Which channel?" in await page.text()
            async with http.post(address, data={"f0": f"5{place}"}) as page:
                assert page.status == 422
            assert (await printed_line(process))["errors"][0]["field"] == "channel"
            async with http.post(address, data={"f0": place}) as page:
                assert page.status == 200
            assert await printed_line(process) == {"answer": {"channel": value}}
        async with http.get(address[:-1]) as page:
            assert page.status == 404


@pytest.mark.rule("FORM-10", "FORM-12")
async def test_a_masked_value_that_is_tried_out_is_not_printed(tmp_path, written):
    written(SECRET)
    async with previewing(tmp_path, "--locale", "de") as (process, printed, address), aiohttp.ClientSession() as http:
        assert "Which PIN?" in printed
        assert "Formular" in printed, "the gateway's own words are in the person's language"
        async with http.post(address, data={"f0": "SYNTHETIC", "f1": "n"}) as page:
            shown = await page.text()
        assert await printed_line(process) == {"waits": "for its confirmation"}
        version = re.search(r'name="confirm" value="(\d+)"', shown)[1]
        async with http.post(address, data={"confirm": version}) as page:
            assert page.status == 200
        assert await printed_line(process) == {"answer": {"pin": "••••••", "note": "n"}}


def test_a_port_that_is_taken_is_told(tmp_path, written):
    import socket

    written(CHOICE)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        done = run(tmp_path, "form", "preview", "schema.json", "--port", str(taken.getsockname()[1]))
    assert done.returncode == 2
    assert "discreet form preview schema.json --port 0" in done.stderr
