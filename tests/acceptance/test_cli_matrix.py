"""An admin brings the bot to Matrix: files, the login, a look at it, and what the policy would decide (OPS-1, OPS-2).

Most tests are about the words, the exit codes, and that no secret is taken from or shown in the wrong place; there
:mod:`bot.wiring.matrix`, which asks the homeserver, is stood in for. The last ones ask a real one.
"""

import json
import os
import pty
import select
import stat
import subprocess
import sys
import time

import aiohttp
import pytest

from tests.acceptance.commands import environment, run

BOT = "@desk:example.org"
YOU = "@you:example.org"
ROOM = "!abc:example.org"
PASSWORD = "synthetic pässword"
TOKEN = "syt_c3ludGhldGlj_synthetictoken_000000"
STAND_IN = """\
import json, pathlib, sys, types
from bot.model.errors import ChannelError
from bot.model.setup import MatrixCheck, MatrixLogin
async def server(config, user_id, *, homeserver, with_password, allow_plain_http):
    if user_id == "@nowhere:example.org":
        raise ChannelError("there is no Matrix server at https://example.org. Write its address")
    if homeserver is not None and homeserver.startswith("http:") and not allow_plain_http:
        raise ChannelError("on the way everybody could read along. Take its https address")
    return homeserver or "https://matrix.example.org"
async def login(config, user_id, **said):
    said = {**said, "user_id": user_id, "data_dir": str(config.data_dir), "made": config.data_dir.is_dir()}
    pathlib.Path("said.json").write_text(json.dumps(said))
    if said["password"] == "wrong":
        raise ChannelError("the homeserver does not know this user or password. Check both")
    signed = said["device_name"] != "Unsigned"
    note = None if signed else "run it again with --reset-cross-signing"
    return MatrixLogin(user_id=user_id, device_id="ABCD", homeserver=said["homeserver"], signed=signed, note=note)
async def whoami(config, user_id):
    if user_id == "@gone:example.org":
        raise ChannelError("the homeserver has logged this device out. Run discreet matrix login")
    return MatrixLogin(user_id=user_id, device_id="ABCD", homeserver="https://matrix.example.org", signed=True)
async def setup(config, user_id):
    room = MatrixCheck(name="room", ok=True, detail="Ops\\x1b[2J\\u202e, 3 members, external")
    device = MatrixCheck(name="device", ok=user_id != "@bad:example.org", detail="ABCD", mend="log in again")
    invite = MatrixCheck(name="invite", ok=True, detail="!x:example.org by @a:b.c: it is left alone", told=True)
    return [device, room, invite]
module = types.ModuleType("bot.wiring.matrix")
module.matrix_login, module.matrix_server, module.matrix_whoami, module.matrix_setup = login, server, whoami, setup
sys.modules["bot.wiring.matrix"] = module
import bot.cli
sys.exit(bot.cli.main())
"""
POLICY = f"""\
version: 1
operators: [you]
people:
  you:
    accounts: ["matrix:{YOU}"]
channels:
  "matrix:{BOT}:{ROOM}":
    audience: external
"""


def config(folder, *entries):
    listed = "".join(f"  - {json.dumps(entry)}\n" for entry in entries)
    (folder / "config.yaml").write_text(f"agents: {{main: {{kind: echo}}}}\n{'matrix:' if entries else ''}\n{listed}")
    (folder / "config.yaml").chmod(0o600)


def matrix(folder, *arguments, stdin=""):
    done = run(folder, "matrix", *arguments, stdin=stdin, program=["-c", STAND_IN])
    for secret in (PASSWORD, TOKEN):
        assert secret not in done.stdout + done.stderr
        for path in folder.rglob("*"):
            assert path.is_dir() or path.name in ("said.json", "secret") or secret not in path.read_text()
    return done


def said(folder):
    return json.loads((folder / "said.json").read_text())


def test_init_makes_files_for_matrix_that_are_in_order(tmp_path):
    done = run(tmp_path, "init", "desk", "--user", BOT, "--operator-id", YOU, "--group-id", ROOM, "--yes")
    assert (done.returncode, done.stderr) == (0, "")
    assert sorted(path.name for path in (tmp_path / "desk").iterdir()) == ["config.yaml", "policy.yaml"]
    for path in (tmp_path / "desk").iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    policy = run(tmp_path, "policy", "check", "desk/policy.yaml")
    assert policy.returncode == 0
    assert "channels: 1, people: 1" in policy.stdout
    program = (
        "import os, pathlib, bot.config.file as f; c = f.load_config(pathlib.Path('desk/config.yaml'), os.environ)\n"
    )
    loaded = run(
        tmp_path, program=["-c", program + "print(c.matrix[0].account, c.telegram, c.default_agent, c.warnings)"]
    )
    assert loaded.stdout.strip() == f"matrix:{BOT} () main ()", loaded.stderr
    for step in ("discreet matrix login --config desk/config.yaml", "discreet run --config desk/config.yaml"):
        assert step in done.stdout


def test_init_asks_for_what_was_not_given(tmp_path):
    done = run(tmp_path, "init", stdin=f"matrix\n{BOT}\n{YOU}\n{ROOM}\ny\n")
    assert done.returncode == 0, done.stderr
    for question in ("Where is the bot to be", "User id of the bot", "Your own user id", "Id of the room", "Write"):
        assert question in done.stderr
    assert f"matrix:{YOU}" in (tmp_path / "policy.yaml").read_text()
    assert f'"matrix:{BOT}:{ROOM}":' in (tmp_path / "policy.yaml").read_text()


def test_init_without_ids_leads_to_them(tmp_path):
    done = run(tmp_path, "init", "--platform", "matrix", "--user", BOT, "--yes")
    assert done.returncode == 0
    assert "nobody is an operator yet" in done.stderr
    assert "discreet channels" in done.stdout
    assert run(tmp_path, "policy", "check", "policy.yaml").returncode == 0


def test_init_can_name_the_homeserver(tmp_path):
    run(tmp_path, "init", "--user", BOT, "--homeserver", "https://m.example.org/", "--yes")
    assert 'homeserver: "https://m.example.org"' in (tmp_path / "config.yaml").read_text()


@pytest.mark.parametrize("name", ["config.yaml", "policy.yaml"])
def test_init_overwrites_nothing(tmp_path, name):
    (tmp_path / name).write_text("mine")
    done = run(tmp_path, "init", "--user", BOT, "--yes")
    assert done.returncode == 2
    assert f"has {name} already" in done.stderr
    assert [path.read_text() for path in tmp_path.iterdir()] == ["mine"]


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["--platform", "matrix"], "Say --user"),
        (["--user", "desk"], "no Matrix user id"),
        (["--user", BOT, "--operator-id", "you"], "no Matrix user id"),
        (["--user", BOT, "--operator-id", BOT], "the bot's own account"),
        (["--user", BOT, "--group-id", "#support:example.org"], "no Matrix id of a room"),
        (["--user", BOT, "--group-id", f"{ROOM}:$thread"], "no Matrix id of a room"),
        (["--user", BOT, "--homeserver", "m.example.org"], "no web address"),
    ],
)
def test_init_refuses_names_where_ids_belong(tmp_path, arguments, word):
    done = run(tmp_path, "init", "--yes", *arguments)
    assert done.returncode == 2
    assert word in done.stderr.replace("mend: ", "")
    assert list(tmp_path.iterdir()) == []


def test_a_login_needs_no_listed_account_and_says_what_to_list(tmp_path):
    config(tmp_path)
    done = matrix(tmp_path, "login", "--user", BOT, "--password-stdin", stdin=f"{PASSWORD}\n")
    assert (done.returncode, done.stderr) == (0, "")
    assert said(tmp_path) == {
        "homeserver": "https://matrix.example.org",
        "password": PASSWORD,
        "token": None,
        "device_name": "Discreet",
        "reset_cross_signing": False,
        "allow_plain_http": False,
        "user_id": BOT,
        "data_dir": "data",
        "made": True,
    }
    assert stat.S_IMODE((tmp_path / "data").stat().st_mode) == 0o700
    assert "device ABCD" in done.stdout
    assert f'matrix:\n       - user_id: "{BOT}"\n' in done.stdout
    assert "Make policy.yaml" in done.stdout


def test_a_listed_account_need_not_be_named_and_its_homeserver_is_taken(tmp_path):
    config(tmp_path, {"user_id": BOT, "homeserver": "https://m.example.org"})
    (tmp_path / "policy.yaml").write_text(POLICY)
    done = matrix(tmp_path, "login", "--token", "--device-name", "Desk", stdin=f" {TOKEN} \n")
    assert done.returncode == 0, done.stderr
    found = said(tmp_path)
    assert (found["homeserver"], found["password"], found["token"]) == ("https://m.example.org", None, TOKEN)
    assert found["device_name"] == "Desk"
    assert "user_id:" not in done.stdout
    assert "operators:" not in done.stdout
    assert "1. discreet run\n" in done.stdout


def test_a_policy_without_operator_and_room_is_told_what_to_add(tmp_path):
    config(tmp_path, {"user_id": BOT})
    (tmp_path / "policy.yaml").write_text("version: 1\n")
    done = matrix(tmp_path, "login", stdin=f"{PASSWORD}\n")
    assert 'accounts: ["matrix:@you:example.org"]' in done.stdout
    assert f'"matrix:{BOT}:!room:example.org":' in done.stdout


def test_the_configured_password_is_taken_unless_another_is_given(tmp_path):
    (tmp_path / "secret").write_text(f"{PASSWORD}\n")
    (tmp_path / "secret").chmod(0o600)
    config(tmp_path, {"user_id": BOT, "password_file": "secret"})
    assert matrix(tmp_path, "login", "--reset-cross-signing").returncode == 0
    assert (said(tmp_path)["password"], said(tmp_path)["reset_cross_signing"]) == (PASSWORD, True)
    assert matrix(tmp_path, "login", "--password-stdin", stdin="another-one\n").returncode == 0
    assert said(tmp_path)["password"] == "another-one"


def test_a_device_that_is_not_cross_signed_is_warned_of(tmp_path):
    config(tmp_path, {"user_id": BOT})
    done = matrix(tmp_path, "login", "--device-name", "Unsigned", stdin=f"{PASSWORD}\n")
    assert done.returncode == 0
    assert "warning: the device is not cross-signed" in done.stderr
    assert "mend: run it again with --reset-cross-signing" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "stdin", "error", "mend"),
    [
        (["login"], "x\n", "no account is configured yet", "--user"),
        (["login", "--user", "desk"], "x\n", "no Matrix user id", "@desk:example.org"),
        (["login", "--user", BOT], "", "there is no password", "pipe it in"),
        (["login", "--user", BOT, "--token"], "\n", "there is no token", "pipe it in"),
        (["login", "--user", BOT, "--token", "--password-stdin"], "x\n", "don't go together", "Keep one"),
        (["login", "--user", "@nowhere:example.org"], "", "there is no Matrix server", "Write its address"),
        (["login", "--user", BOT, "--homeserver", "http://m.example.org"], "", "could read along", "https"),
        (["login", "--user", BOT], "wrong\n", "does not know this user or password", "Check both"),
        (["whoami"], "", "no account is configured yet", "--user"),
        (["whoami", "--user", "@gone:example.org"], "", "logged this device out", "discreet matrix login"),
        (["verify-setup"], "", "no account is configured yet", "--user"),
    ],
)
def test_what_fails_has_its_cause_its_mend_and_the_exit_code_2(tmp_path, arguments, stdin, error, mend):
    config(tmp_path)
    done = matrix(tmp_path, *arguments, stdin=stdin)
    assert (done.returncode, done.stdout) == (2, "")
    first, second = done.stderr.splitlines()
    assert first.startswith("error: ")
    assert error in first
    assert second.startswith("mend: ")
    assert mend in second


def test_without_a_configuration_it_says_how_one_is_made(tmp_path):
    done = matrix(tmp_path, "login", "--user", BOT, stdin="x\n")
    assert done.returncode == 2
    assert "mend: Make one with: discreet init" in done.stderr


def test_several_accounts_must_be_told_apart(tmp_path):
    config(tmp_path, {"user_id": BOT}, {"user_id": "@other:example.org"})
    done = matrix(tmp_path, "whoami")
    assert done.returncode == 2
    assert f"several accounts are configured: {BOT}, @other:example.org" in done.stderr
    assert matrix(tmp_path, "whoami", "--user", "@other:example.org").returncode == 0


def test_neither_password_nor_token_can_stand_on_the_command_line(tmp_path):
    config(tmp_path, {"user_id": BOT})
    for arguments in (["--password", "x"], ["--token", "x"], ["--token=x"]):
        done = matrix(tmp_path, "login", *arguments, stdin=f"{TOKEN}\n")
        assert done.returncode == 2
        assert not (tmp_path / "said.json").exists()


def test_whoami_tells_user_device_and_homeserver(tmp_path):
    config(tmp_path, {"user_id": BOT})
    done = matrix(tmp_path, "whoami")
    assert (done.returncode, done.stderr) == (0, "")
    assert [line.split(maxsplit=1)[1] for line in done.stdout.splitlines()[:3]] == [
        BOT,
        "ABCD",
        "https://matrix.example.org",
    ]


def test_the_setup_is_looked_at_for_every_account_and_a_fault_ends_with_1(tmp_path):
    config(tmp_path, {"user_id": BOT}, {"user_id": "@bad:example.org"})
    done = matrix(tmp_path, "verify-setup")
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.splitlines() == [
        BOT,
        "ok    device: ABCD",
        "      mend: log in again",
        "ok    room: Ops�[2J�, 3 members, external",
        "info  invite: !x:example.org by @a:b.c: it is left alone",
        "@bad:example.org",
        "warn  device: ABCD",
        "      mend: log in again",
        "ok    room: Ops�[2J�, 3 members, external",
        "info  invite: !x:example.org by @a:b.c: it is left alone",
    ]
    assert matrix(tmp_path, "verify-setup", "--user", BOT).returncode == 0


def test_plain_http_is_allowed_for_one_login_or_for_good(tmp_path):
    config(tmp_path)
    named = ("--homeserver", "http://m.example.org")
    done = matrix(tmp_path, "login", "--user", BOT, *named, "--allow-plain-http", stdin=f"{PASSWORD}\n")
    assert (done.returncode, said(tmp_path)["allow_plain_http"]) == (0, True)
    assert '         homeserver: "http://m.example.org"\n         allow_plain_http: true\n' in done.stdout
    config(tmp_path, {"user_id": BOT, "homeserver": "http://m.example.org", "allow_plain_http": True})
    done = matrix(tmp_path, "login", stdin=f"{PASSWORD}\n")
    assert (done.returncode, said(tmp_path)["allow_plain_http"]) == (0, True)
    assert "allow_plain_http" not in done.stdout


def typed(folder, *answers):
    """Type answers on a terminal, each after a prompt; returns the exit code and all that was seen."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", STAND_IN, "matrix", "login"],
        cwd=folder,
        env=environment(folder, TERM="dumb"),
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
        preexec_fn=lambda: __import__("fcntl").ioctl(0, __import__("termios").TIOCSCTTY, 0),
    )
    os.close(theirs)
    seen, waiting, until = "", list(answers), time.monotonic() + 60
    while time.monotonic() < until and select.select([ours], [], [], 60)[0]:
        try:
            piece = os.read(ours, 65536).decode()
        except OSError:  # the other end is closed
            break
        seen += piece
        if waiting and seen.endswith(": ") and waiting[0][0] in seen.splitlines()[-1]:
            os.write(ours, f"{waiting.pop(0)[1]}\n".encode())
    os.close(ours)
    return process.wait(60), seen


def test_on_a_terminal_user_homeserver_and_password_are_asked_for_and_the_password_is_not_shown(tmp_path):
    config(tmp_path)
    code, seen = typed(
        tmp_path, ("User id", BOT), ("Homeserver", "https://m.example.org"), ("Password of @desk", "synthetic-password")
    )
    assert code == 0, seen
    assert "synthetic-password" not in seen
    assert (said(tmp_path)["password"], said(tmp_path)["homeserver"]) == ("synthetic-password", "https://m.example.org")
    assert 'homeserver: "https://m.example.org"' in seen


def event(text, *, at=1790000000000, sender=YOU, number=1, **content):
    body = {"msgtype": "m.text", "body": text, "m.mentions": {}, **content}
    return {
        "type": "m.room.message",
        "room_id": ROOM,
        "event_id": f"$event{number}",
        "sender": sender,
        "origin_server_ts": at,
        "content": body,
    }


def line(event, **more):
    room = {"room_id": ROOM, "joined_members": [BOT, YOU, "@bob:example.org"], "bot_invite_is_direct": False}
    return {"platform": "matrix", "bot": {"user_id": BOT}, "room": room, "event": event, **more}


MENTION = {"m.mentions": {"user_ids": [BOT]}}


def explain(folder, *lines, code=0):
    (folder / "policy.yaml").write_text(POLICY)
    text = "".join(f"{json.dumps(one)}\n" for one in lines)
    done = run(folder, "policy", "explain", "--policy", "policy.yaml", "-", stdin=text)
    assert done.returncode == code, done.stderr
    return [json.loads(one) for one in done.stdout.splitlines()]


def test_an_event_from_matrix_is_explained(tmp_path):
    silent, answered = explain(tmp_path, line(event("hello")), line(event("hello", number=2, **MENTION)))
    assert (silent["key"], silent["decision"], silent["reason"]) == ("$event1", "mute", "no_address")
    assert (answered["decision"], answered["reason"], answered["audience"]) == (
        "respond",
        "explicit_mention",
        "external",
    )


def reply(number, to, **more):
    return event("yes", number=number, **{"m.relates_to": {"m.in_reply_to": {"event_id": to}}}, **more)


def test_whom_a_reply_answers_is_known_from_earlier_lines_or_said_by_the_line(tmp_path):
    lines = explain(
        tmp_path,
        line(event("here is the list", number=1, sender=BOT)),
        line(event("hello", number=2, sender="@bob:example.org")),
        line(reply(3, "$event1")),
        line(reply(4, "$event2")),
        line(reply(5, "$elsewhere")),
        line(reply(6, "$elsewhere"), reply={"sender": BOT}),
        line(reply(7, "$elsewhere"), reply={"sender": "@bob:example.org"}),
    )
    assert [one["reason"] for one in lines[2:]] == [
        "direct_reply",
        "reply_to_other",
        "reply_author_unknown",
        "direct_reply",
        "reply_to_other",
    ]


def edit(number, of, **more):
    new = {"msgtype": "m.text", "body": "@desk hello", **MENTION}
    relation = {"rel_type": "m.replace", "event_id": of}
    return event("* hello", number=number, **{"m.new_content": new, "m.relates_to": relation, **MENTION}, **more)


def test_an_edit_is_its_own_authors(tmp_path):
    lines = explain(
        tmp_path,
        line(event("hello", number=1)),
        line(edit(2, "$event1", sender="@bob:example.org")),
        line(edit(3, "$event1")),
        line(edit(4, "$elsewhere")),
        line(edit(5, "$elsewhere"), memory={"original": "muted"}),
    )
    assert [one["reason"] for one in lines[1:]] == [
        "edit_by_another",
        "explicit_mention",
        "edit_of_unknown_message",
        "explicit_mention",
    ]


def test_lines_from_matrix_that_cannot_be_taken_are_named(tmp_path):
    good = line(event("hello"))
    lines = explain(
        tmp_path,
        {**good, "bot": {"id": 7001}},
        {**good, "bot": {"user_id": "desk"}},
        {**good, "bot": BOT},
        {**good, "room": ROOM},
        {**good, "event": None},
        code=2,
    )
    assert [one["line"] for one in lines] == [1, 2, 3, 4, 5]
    assert all(one["error"] and one["mend"] for one in lines)


async def made(synapse, folder):
    """An account with files from init; returns its id and password, and a token of its operator."""
    (bot, password), (you, _) = [await synapse.register(synapse.fresh(name)) for name in ("desk", "you")]
    done = run(folder, "init", "--user", bot, "--operator-id", you, "--homeserver", synapse.url, "--yes")
    assert done.returncode == 0, done.stderr
    return bot, password, await synapse.token_of(you)


async def invited(synapse, bot, token, **more):
    url = f"{synapse.url}/_matrix/client/v3/createRoom"
    async with (
        aiohttp.ClientSession() as client,
        client.post(url, json={"invite": [bot], **more}, headers={"Authorization": f"Bearer {token}"}) as answer,
    ):
        return (await answer.json())["room_id"]


async def test_an_account_on_a_real_homeserver_is_logged_in_once_and_keeps_its_device(synapse, tmp_path):
    bot, password, token = await made(synapse, tmp_path)
    first = run(tmp_path, "matrix", "whoami")
    assert (first.returncode, "discreet matrix login" in first.stderr) == (2, True)
    wrong = run(tmp_path, "matrix", "login", "--password-stdin", stdin="another-one\n")
    assert (wrong.returncode, "does not accept this password" in wrong.stderr) == (2, True)

    done = run(tmp_path, "matrix", "login", "--password-stdin", stdin=f"{password}\n")
    assert (done.returncode, done.stderr) == (0, "")
    assert "cross-signed" in done.stdout
    who = run(tmp_path, "matrix", "whoami")
    assert who.stdout.splitlines()[0].split() == ["user", bot]
    again = run(tmp_path, "matrix", "login", stdin=f"{password}\n")
    assert again.stdout.splitlines()[0] == done.stdout.splitlines()[0]

    for path in (tmp_path / "data").rglob("*"):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path
        assert path.is_dir() or password.encode() not in path.read_bytes()

    room = await invited(synapse, bot, token, name="Hall")
    direct = await invited(synapse, bot, token, is_direct=True)
    stranger = await synapse.token_of((await synapse.register(synapse.fresh("stranger")))[0])
    other = await invited(synapse, bot, stranger)
    looked = run(tmp_path, "matrix", "verify-setup")
    assert (looked.returncode, looked.stderr) == (0, ""), "to leave an invite alone is what the policy wants"
    lines = looked.stdout.splitlines()
    for where, word in ((room, "accepted"), (direct, "accepted"), (other, "left alone")):
        (line,) = [line for line in lines if where in line]
        assert word in line
        assert line.startswith("ok" if word == "accepted" else "info")


async def test_keys_of_another_client_are_replaced_only_where_that_is_asked_for(synapse, tmp_path):
    bot, password, _ = await made(synapse, tmp_path)
    assert run(tmp_path, "matrix", "login", stdin=f"{password}\n").returncode == 0
    (tmp_path / "elsewhere").mkdir()
    config(tmp_path / "elsewhere", {"user_id": bot, "homeserver": synapse.url})

    second = run(tmp_path / "elsewhere", "matrix", "login", stdin=f"{password}\n")
    assert second.returncode == 0
    assert "not cross-signed" in second.stderr
    assert "--reset-cross-signing" in second.stderr
    third = run(tmp_path / "elsewhere", "matrix", "login", "--reset-cross-signing", stdin=f"{password}\n")
    assert (third.returncode, third.stderr) == (0, "")
    assert "another client" in run(tmp_path, "matrix", "verify-setup").stdout
