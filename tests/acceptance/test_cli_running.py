"""`discreet run` serves, and beside it `channels` and `journal` show what it has seen and recorded."""

import asyncio
import json
import signal
import sqlite3
import sys
import time
from contextlib import asynccontextmanager, closing

import pytest

from tests.acceptance.commands import environment, run
from tests.servers.botapi import BotApi

TOKEN = f"7001:{'A' * 35}"
OTHER = f"7001:{'B' * 35}"
BOB = {"id": 510000002, "is_bot": False, "first_name": "Bob", "language_code": "de"}
GROUP, UNLISTED = -1001900000001, -1001900000002
BODY = "the merger closes on Friday"
POLICY = """\
version: 1
operators: []
channels:
  telegram:7001:-1001900000001:
    audience: external
"""


@pytest.fixture
async def api():
    async with BotApi(token=TOKEN, username="desk_bot") as emulator:
        emulator.chat(GROUP, type="supergroup", title="Customer")
        emulator.chat(UNLISTED, type="supergroup", title="Elsewhere")
        yield emulator


@pytest.fixture
def folder(tmp_path, api):
    config = f"""\
telegram:
  - token_file: telegram.token
    api_url: "{api.url}"
agents:
  main: {{kind: echo}}
metrics: {{enabled: false}}
log: {{level: debug, format: json}}
"""
    for name, text in (("config.yaml", config), ("policy.yaml", POLICY), ("telegram.token", TOKEN)):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o600)
    return tmp_path


@asynccontextmanager
async def running(folder, *arguments, code=0):
    """The daemon as a process of its own; it is told to stop at the end."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "bot", "run", *arguments),
        cwd=folder,
        env=environment(folder),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    seen = {}
    try:
        yield seen
        process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(30):
            out, err = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    seen.update(code=process.returncode, out=out.decode(), err=err.decode())
    assert process.returncode == code, err.decode()
    for secret in (TOKEN, OTHER, BODY, "Traceback"):
        assert secret not in out.decode() + err.decode()


async def beside(folder, *arguments):
    return await asyncio.to_thread(run, folder, *arguments)


@pytest.fixture
async def served(folder, api):
    """A folder of a daemon that has answered one message and muted two."""
    async with running(folder) as seen:
        await api.wait_for(lambda: api.calls_of("getUpdates"), timeout=30)
        later = int(time.time()) + 1  # what came within the second of the very first start counts as before it
        api.say(chat=UNLISTED, sender=BOB, text=BODY, date=later)
        api.say(chat=GROUP, sender=BOB, text=BODY, date=later)
        api.say(chat=GROUP, sender=BOB, text="@desk_bot hello", date=later)
        await api.wait_sent(GROUP, timeout=30)
    seen["folder"] = folder
    return seen


@pytest.mark.rule("OPS-4", "DUR-5")
async def test_a_served_daemon_logs_json_without_bodies_and_leaves_cleanly(served):
    assert served["out"] == ""
    lines = [json.loads(line) for line in served["err"].splitlines()]
    assert all({"timestamp", "level", "event"} <= line.keys() for line in lines)


async def test_channels_shows_what_was_seen_and_the_lines_for_what_is_not_listed(served):
    done = await beside(served["folder"], "channels")
    assert done.returncode == 0, done.stderr
    assert BODY not in done.stdout
    table, _, paste = done.stdout.partition("Not listed yet")
    listed = next(line.split() for line in table.splitlines() if str(GROUP) in line)
    assert listed[:6] == [f"telegram:7001:{GROUP}", "group", "external", "1", "1", "0"]
    assert "unknown (not listed)" in next(line for line in table.splitlines() if str(UNLISTED) in line)
    lines = paste.splitlines()[1:]
    assert lines[0] == f"  telegram:7001:{UNLISTED}:"
    (served["folder"] / "policy.yaml").write_text(POLICY + "\n".join(lines) + "\n")
    assert (await beside(served["folder"], "policy", "check", "policy.yaml")).returncode == 0
    done = await beside(served["folder"], "channels", "--json")
    rows = {row["destination"]: row for row in map(json.loads, done.stdout.splitlines())}
    assert rows[f"telegram:7001:{UNLISTED}"]["listed"] is True
    assert rows[f"telegram:7001:{GROUP}"]["decisions"] == {"mute": 1, "respond": 1}


@pytest.mark.rule("DUR-4", "DUR-5")
async def test_the_journal_is_in_order_until_somebody_changes_it(served):
    folder = served["folder"]
    done = await beside(folder, "journal", "verify")
    assert (done.returncode, done.stdout) == (0, "journal: in order\n"), done.stderr
    done = await beside(folder, "journal", "tail", "-n", "100")
    assert done.returncode == 0
    shown = done.stdout
    done = await beside(folder, "journal", "tail", "-n", "100", "--json")
    records = [json.loads(line) for line in done.stdout.splitlines()]
    assert [record["seq"] for record in records] == list(range(1, len(records) + 1))
    assert len(shown.splitlines()) == len(records)
    assert any(record["facts"].get("reason") == "explicit_mention" for record in records)
    for private in (BODY, str(GROUP), str(UNLISTED), "Bob", str(BOB["id"])):
        assert private not in shown + done.stdout
    with closing(sqlite3.connect(folder / "data" / "discreet.db")) as database, database:
        for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            database.execute(f'DROP TRIGGER "{name}"')
        changed = database.execute("UPDATE journal SET facts = replace(facts, 'explicit_mention', 'open_question')")
        assert changed.rowcount
    done = await beside(folder, "journal", "verify")
    assert done.returncode == 1
    assert done.stderr.startswith("error: journal: broken at record ")


@pytest.mark.rule("OPS-4")
async def test_a_token_that_is_wrong_ends_the_daemon_with_the_mend(folder, api):
    (folder / "telegram.token").write_text(OTHER)
    done = await beside(folder, "run")
    assert done.returncode == 2, done.stderr
    assert OTHER not in done.stdout + done.stderr
    assert "mend: " in done.stderr


async def test_a_broken_policy_starts_nothing(folder, api):
    (folder / "other.yaml").write_text("version: 1\nchanels: {}\n")
    done = await beside(folder, "run", "--policy", "other.yaml")
    assert done.returncode == 2
    assert "other.yaml:2:1: error: " in done.stderr
    assert not (folder / "data" / "discreet.db").exists()


@pytest.mark.parametrize("command", [["channels"], ["journal", "verify"], ["journal", "tail"]], ids=" ".join)
async def test_before_the_first_start_there_is_nothing_to_look_at_and_nothing_is_made(folder, api, command):
    done = await beside(folder, *command)
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")
    assert not (folder / "data").exists()


async def test_an_open_token_file_is_warned_about(folder, api):
    (folder / "telegram.token").chmod(0o644)
    async with running(folder, "--config", "config.yaml") as seen:
        await api.wait_for(lambda: api.calls_of("getUpdates"), timeout=30)
    assert "warning: " in seen["err"]
    assert "telegram.token" in seen["err"]


async def test_an_invitation_needs_a_chat_that_is_on(folder, api):
    done = await beside(folder, "chat", "invite", "ann")
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("error: ")
