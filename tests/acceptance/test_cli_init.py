"""A newcomer starts with a token: init checks it, writes what is needed, and never overwrites anything."""

import asyncio
import stat
import sys

import pytest

from tests.acceptance.commands import environment, run
from tests.servers.botapi import BotApi

TOKEN = f"7001:{'A' * 35}"
OTHER = f"7001:{'B' * 35}"
FILES = ("config.yaml", "policy.yaml", "telegram.token")


@pytest.fixture
async def api():
    async with BotApi(token=TOKEN, username="desk_bot") as emulator:
        yield emulator


def names(folder):
    return [path.name for path in folder.iterdir()]


async def init(folder, api, *arguments, token=TOKEN, stdin=""):
    """Run init beside the emulator, which lives in this very loop."""
    given = [] if token is None else ["--token", token]
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "bot", "init", *given, "--api-url", api if isinstance(api, str) else api.url, *arguments),
        cwd=folder,
        env=environment(folder),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(60):
        out, err = await process.communicate(stdin.encode())
    said = out.decode(), err.decode()
    assert "Traceback" not in "".join(said)
    assert TOKEN not in "".join(said)
    assert OTHER not in "".join(said)
    return process.returncode, *said


async def test_a_right_token_makes_files_for_their_owner_alone_that_are_in_order(tmp_path, api):
    code, out, err = await init(tmp_path, api, "desk", "--operator-id", "510000001", "--group-id", "-100123", "--yes")
    assert (code, err) == (0, "")
    assert "@desk_bot (7001)" in out
    assert "Privacy mode is off" in out
    for name in FILES:
        assert stat.S_IMODE((tmp_path / "desk" / name).stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "desk").stat().st_mode) == 0o700
    assert (tmp_path / "desk" / "telegram.token").read_text() == f"{TOKEN}\n"
    assert TOKEN not in (tmp_path / "desk" / "config.yaml").read_text()
    policy = (tmp_path / "desk" / "policy.yaml").read_text()
    assert "telegram:7001:-100123:" in policy
    assert "accounts: [telegram:510000001]" in policy
    done = run(tmp_path, "policy", "check", "desk/policy.yaml")
    assert done.returncode == 0
    assert "channels: 1, people: 1" in done.stdout
    for step in ("discreet policy check desk/policy.yaml", "discreet run --config desk/config.yaml"):
        assert step in out


async def test_without_ids_the_next_steps_lead_to_them(tmp_path, api):
    code, out, _ = await init(tmp_path, api, "--yes")
    assert code == 0
    assert "discreet channels" in out
    assert run(tmp_path, "policy", "check", "policy.yaml").returncode == 0


async def test_it_asks_for_what_was_not_given(tmp_path, api):
    answers = f"telegram\n{TOKEN}\n510000001\n\ny\n"
    code, _, err = await init(tmp_path, api, token=None, stdin=answers)
    assert code == 0
    for question in (
        "Where is the bot to be",
        "Token of the bot",
        "Your Telegram user id",
        "Id of the group",
        "Write config.yaml",
    ):
        assert question in err
    assert "telegram:510000001" in (tmp_path / "policy.yaml").read_text()


async def test_a_no_writes_nothing(tmp_path, api):
    code, _, _ = await init(tmp_path, api, "desk", stdin="\n\nn\n")
    assert code == 1
    assert not (tmp_path / "desk").exists()


@pytest.mark.parametrize("name", FILES)
async def test_nothing_is_ever_overwritten(tmp_path, api, name):
    (tmp_path / name).write_text("mine")
    code, _, err = await init(tmp_path, api, "--yes")
    assert code == 2
    assert f"has {name} already" in err
    assert names(tmp_path) == [name]
    assert (tmp_path / name).read_text() == "mine"


async def test_a_wrong_token_says_so_and_writes_nothing(tmp_path, api):
    code, _, err = await init(tmp_path, api, "--yes", token=OTHER)
    assert code == 2
    assert err.splitlines() == [
        "error: Telegram does not know this token",
        "mend: Copy it again, whole, from @BotFather",
    ]
    assert names(tmp_path) == []


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["--token", "hello"], "no token of a bot"),
        (["--operator-id", "@ann"], "write digits only"),
        (["--group-id", "100123"], "it starts with -"),
    ],
)
async def test_names_where_ids_belong_are_refused_before_anything_is_asked(tmp_path, api, arguments, word):
    token = None if "--token" in arguments else TOKEN
    code, _, err = await init(tmp_path, api, "--yes", *arguments, token=token)
    assert code == 2
    assert word.casefold() in err.casefold()
    assert names(tmp_path) == []


async def test_without_a_token_and_without_questions_it_says_where_one_goes(tmp_path, api):
    code, _, err = await init(tmp_path, api, "--yes", token=None)
    assert code == 2
    assert "TELEGRAM_BOT_TOKEN" in err


async def test_a_server_that_cannot_be_reached_is_named_without_the_token(tmp_path):
    code, _, err = await init(tmp_path, "http://127.0.0.1:9", "--yes")
    assert code == 2
    assert "http://127.0.0.1:9 can't be reached" in err


async def test_a_server_that_is_no_bot_api_is_recognised(tmp_path):
    async def answer(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n[]")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        code, _, err = await init(tmp_path, f"http://127.0.0.1:{port}", "--yes")
    assert code == 2
    assert "does not answer like a Bot API server" in err


async def test_another_server_stands_in_the_configuration_which_is_in_order(tmp_path, api):
    code, _, _ = await init(tmp_path, api, "--yes")
    assert code == 0
    assert f'api_url: "{api.url}"' in (tmp_path / "config.yaml").read_text()
    program = "import os, pathlib, bot.config.file as f; c = f.load_config(pathlib.Path('config.yaml'), os.environ)\n"
    done = run(tmp_path, program=["-c", program + "print(c.telegram[0].bot_id, c.default_agent, c.warnings)"])
    assert done.stdout.strip() == "7001 main ()", done.stderr
