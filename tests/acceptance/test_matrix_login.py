"""What becomes of a login: its device lost and made anew, the server away and back, what the daemon says of it."""

import io
import json
import logging
import stat
from urllib.parse import quote

import pytest

from bot.channels.matrix.channel import MatrixChannel
from bot.channels.matrix.credentials import account_folder, read_credentials
from bot.channels.matrix.entering import take_device
from bot.channels.matrix.limits import Limits
from bot.model.errors import ChannelError
from bot.observability.health import Level
from bot.observability.log import configure
from tests.acceptance.commands import run
from tests.harness import Clock
from tests.matrix_harness import running_matrix
from tests.servers.homeserver import Homeserver

rule = pytest.mark.rule

ANN, EVE, ZED = "@ann:example.org", "@eve:example.org", "@zed:example.org"
BOT = "@relay:example.org"
ROOM = "!lab:example.org"
POLICY = f"""
version: 1
operators: [ann]
people:
  ann: {{accounts: ["matrix:{ANN}"]}}
channels:
  "matrix:{BOT}:{ROOM}": {{audience: external}}
"""


@pytest.fixture
async def server():
    async with Homeserver(user_id=BOT) as server:
        server.room(ROOM, joined=[ANN, EVE])
        yield server


@pytest.fixture
def lines(monkeypatch):
    """What the daemon logs; each line as a dict."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    monkeypatch.setattr(logging, "raiseExceptions", logging.raiseExceptions)
    stream = io.StringIO()
    configure(level="info", stream=stream, json_lines=True)
    yield lambda: [json.loads(line) for line in stream.getvalue().splitlines()]
    logging.captureWarnings(capture=False)
    root.handlers[:] = handlers
    root.setLevel(level)


def running(folder, server, **options):
    return running_matrix(folder, server=server, policy=POLICY, **{"limits": Limits(room=None, total=None), **options})


# the device


@pytest.fixture
async def account(synapse, tmp_path):
    """An account that is logged in on the command line; its id, its password and its folder."""
    bot, password = await synapse.register(synapse.fresh("desk"))
    entry = {"user_id": bot, "homeserver": synapse.url}
    (tmp_path / "config.yaml").write_text(f"agents: {{main: {{kind: echo}}}}\nmatrix: [{json.dumps(entry)}]\n")
    (tmp_path / "policy.yaml").write_text("version: 1\n")
    assert run(tmp_path, "matrix", "login", stdin=f"{password}\n").returncode == 0
    return bot, password, account_folder(tmp_path / "data", bot)


async def hard_logout(synapse, folder):
    """As when somebody signs the device out in another client: its keys go, too. Returns the login that was."""
    was = read_credentials(folder)
    await synapse._ask("POST", "/_matrix/client/v3/logout", token=was.access_token.reveal(), body={})
    return was


async def keys_on(synapse, bot):
    """The keys of the account's devices, as people are told."""
    answer = await synapse.act(bot, "POST", "keys/query", {"device_keys": {bot: []}})
    return answer["device_keys"][bot]


async def claimed(synapse, bot, device):
    """A one-time key of the device, as people get it who begin a channel; empty where there is none."""
    body = {"one_time_keys": {bot: {device: "signed_curve25519"}}}
    return (await synapse.act(bot, "POST", "keys/claim", body))["one_time_keys"]


def looked(folder):
    done = run(folder, "matrix", "verify-setup")
    return done.returncode, done.stdout


async def test_after_a_hard_logout_a_new_login_publishes_the_keys_anew(synapse, account, tmp_path):
    bot, password, folder = account
    was = await hard_logout(synapse, folder)
    assert await keys_on(synapse, bot) == {}
    assert run(tmp_path, "matrix", "whoami").returncode == 2

    done = run(tmp_path, "matrix", "login", stdin=f"{password}\n")
    assert done.returncode == 0, done.stderr
    assert "The device is cross-signed" in done.stdout
    assert list(await keys_on(synapse, bot)) == [was.device_id]
    assert await claimed(synapse, bot, was.device_id)
    code, said = looked(tmp_path)
    assert (code, "ok    keys: fingerprint" in said, "ok    cross-signing: " in said) == (0, True, True)


@rule("PART-14", "OUT-5")
async def test_after_a_hard_logout_and_a_new_login_encrypted_mentions_are_answered_again(desk):
    room = await desk.room(desk.ann, desk.bob, encrypted=True)
    folder = desk.folder / "matrix"
    async with desk.running() as gateway:
        await desk.ready(room, desk.ann, desk.bob)
        first = await desk.bob.say(room, "desk?", mentions=[desk.bot])
        assert await desk.reason(gateway, first) == "explicit_mention"
    was = await hard_logout(desk.synapse, folder)
    who = {"user_id": desk.bot, "homeserver": desk.synapse.url, "password": desk.password, "token": None}
    now, _ = await take_device(folder, **who, device_id=was.device_id)
    assert now.device_id == was.device_id
    async with desk.running() as gateway:
        # nio gives no key to a device that has been away once: somebody whose client sees it for the first time
        carol = await desk.people("carol")
        await desk.ann.invite(room, carol.id)
        await carol.join(room)
        await desk.ready(room, carol)
        again = await carol.say(room, "and now?", mentions=[desk.bot])
        assert await desk.reason(gateway, again) == "explicit_mention"
        await carol.hears(room, desk.bot)


@pytest.mark.parametrize("signed_out", [False, True])
async def test_where_the_keys_are_lost_a_login_takes_a_new_device_and_keeps_the_accounts_identity(
    synapse, account, tmp_path, signed_out
):
    bot, password, folder = account
    if signed_out:
        await hard_logout(synapse, folder)
    was, seeds = read_credentials(folder), (folder / "cross-signing.json").read_bytes()
    (folder / "crypto.db").unlink()

    done = run(tmp_path, "matrix", "login", stdin=f"{password}\n")
    assert done.returncode == 0, done.stderr
    assert "The device is cross-signed" in done.stdout
    now = read_credentials(folder)
    assert now.device_id != was.device_id
    assert list(await keys_on(synapse, bot)) == [now.device_id], "nobody writes to the lost one any more"
    assert await claimed(synapse, bot, now.device_id)
    assert (folder / "cross-signing.json").read_bytes() == seeds
    assert looked(tmp_path)[0] == 0
    assert all(stat.S_IMODE(path.stat().st_mode) == 0o600 for path in folder.iterdir())


async def test_a_token_whose_device_has_other_keys_is_not_taken(synapse, account, tmp_path):
    bot, _, folder = account
    token = read_credentials(folder).access_token.reveal()
    (folder / "crypto.db").unlink()
    done = run(tmp_path, "matrix", "login", "--token", stdin=f"{token}\n")
    assert done.returncode == 2
    assert "mend: Take a token of a new device" in done.stderr
    assert list(await keys_on(synapse, bot)) == [read_credentials(folder).device_id]


async def test_verify_setup_says_in_words_what_is_wrong_and_each_mend_once(synapse, account, tmp_path):
    _, _, folder = account
    kept = json.loads((folder / "device.json").read_text())
    (folder / "device.json").write_text(json.dumps({**kept, "fingerprint": "A" * 43}))
    code, said = looked(tmp_path)
    assert code == 1
    assert "warn  keys: the homeserver has other keys for this device than its folder" in said
    assert said.count("discreet matrix login") == 1
    assert "device_differs" not in said


async def test_a_login_remembers_the_address_of_the_homeserver(account, tmp_path):
    bot, password, _ = account
    (tmp_path / "config.yaml").write_text(
        f"agents: {{main: {{kind: echo}}}}\nmatrix: [{{user_id: {json.dumps(bot)}}}]\n"
    )
    done = run(tmp_path, "matrix", "login", stdin=f"{password}\n")
    assert done.returncode == 0, done.stderr


async def test_without_a_server_nobody_is_asked_for_a_password(tmp_path):
    (tmp_path / "config.yaml").write_text("agents: {main: {kind: echo}}\n")
    for address, mend in (
        ("http://192.0.2.1:8008", "allow_plain_http: true"),
        ("http://127.0.0.1:9", "Check the address"),
    ):
        done = run(tmp_path, "matrix", "login", "--user", BOT, "--homeserver", address)
        assert done.returncode == 2
        assert mend in done.stderr
        assert "password" not in done.stderr.partition("mend")[0].replace("passwords", "")
    assert not (tmp_path / "data").exists()


async def test_a_daemon_sends_nothing_secret_over_plain_http_to_another_machine(tmp_path):
    channel = MatrixChannel(
        user_id=BOT,
        folder=tmp_path / "matrix",
        state=None,
        clock=Clock(),
        homeserver="http://192.0.2.1:8008",
        password="a password",
    )
    with pytest.raises(ChannelError, match="allow_plain_http: true"):
        await channel.run(None)


# what the daemon says of it


def levels(gateway):
    return {
        name: (state.level, state.words)
        for name, state in gateway.daemon.crew.health.states().items()
        if name.startswith("channel ")
    }


@rule("OPS-4")
async def test_health_and_log_follow_the_server_away_and_back(server, tmp_path, lines):
    async with running(tmp_path, server) as gateway:
        await gateway.until(lambda: levels(gateway) == {"channel matrix": (Level.OK, "")})
        async with server.outage():
            away = {"channel matrix": (Level.DEGRADED, "the platform can't be reached")}
            await gateway.until(lambda: levels(gateway) == away)
        await gateway.until(lambda: levels(gateway) == {"channel matrix": (Level.OK, "")}, within_s=40)
        server.log_out(soft=True)
        await server.wait_call("login", 2)
        await gateway.until(lambda: [line["event"] for line in lines()].count("connected") == 2)
    told = [line["event"] for line in lines() if line["logger"].startswith("bot.channels.matrix")]
    assert [event for event in told if event != "device_not_signed"] == [
        "logged_in",
        "connected",
        "intake_interrupted",
        "reachable_again",
        "intake_stopped",
        "logged_out",
        "logged_in_again",
        "connected",
    ]


@rule("OPS-4")
async def test_while_nobody_knows_who_the_bot_is_the_log_says_why(server, tmp_path, lines):
    async with server.outage(), running(tmp_path, server, entered=False) as gateway:
        away = {"channel matrix": (Level.DEGRADED, "the platform can't be reached")}
        await gateway.until(lambda: levels(gateway) == away)
    (first, *_) = [line for line in lines() if line["event"] == "identity_unknown"]
    assert first["error"] == "UnreachableError"
    assert "Check the address, its certificate and the network" in first["cause"]
    assert BOT not in json.dumps(lines())


@rule("OPS-4")
async def test_of_several_accounts_each_has_its_own_health(server, tmp_path):
    other = MatrixChannel(
        user_id=ZED,
        folder=tmp_path / "zed",
        state=None,
        clock=Clock(),
        homeserver="http://127.0.0.1:9",
        password="a password",
    )
    async with running(tmp_path, server, beside=[other]) as gateway:
        await gateway.until(
            lambda: (
                levels(gateway)
                == {
                    f"channel matrix:{BOT}": (Level.OK, ""),
                    f"channel matrix:{ZED}": (Level.DEGRADED, "the platform can't be reached"),
                }
            )
        )


@rule("OPS-4")
async def test_channels_tells_people_in_direct_chats_and_counts_what_was_said(server, tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    async with running(data, server) as gateway:
        server.invite("!own:example.org", sender=ANN, is_direct=True)
        server.invite("!eve:example.org", sender=EVE, is_direct=True)
        server.invite("!zed:example.org", sender=ZED, is_direct=True)
        await server.wait_call("join")
        await server.wait_drained()
        server.say("!own:example.org", "hello", sender=ANN)
        await server.wait_sent("!own:example.org")
        server.say(ROOM, "good morning", sender=EVE)
        server.member(ROOM, ZED, "join")
        await gateway.settled()
    (tmp_path / "config.yaml").write_text(
        f"policy: data/policy.yaml\nagents: {{main: {{kind: echo}}}}\nmatrix: [{{user_id: {json.dumps(BOT)}}}]\n"
    )
    done = run(tmp_path, "channels", "--json")
    assert done.returncode == 0, done.stderr
    rows = {row["destination"].partition(":!")[2]: row for row in map(json.loads, done.stdout.splitlines())}
    own, eve, lab = (rows[f"{name}:example.org"] for name in ("own", "eve", "lab"))
    assert (own["audience"], own["listed"], own["decisions"]) == ("operator", True, {"respond": 1})
    assert (eve["audience"], eve["listed"], eve["decisions"]) == ("external", False, {})
    assert lab["decisions"] == {"mute": 1}, "joins, and what the bot said itself, are nobody's words"

    shown = run(tmp_path, "channels").stdout
    people = shown.partition("under people:\n")[2]
    assert "  somebody2:" in people
    assert f'accounts: ["matrix:{EVE}"]' in people
    policy = POLICY.replace("people:", f"people:\n{people.rstrip()}")
    (data / "policy.yaml").write_text(policy)
    assert run(tmp_path, "policy", "check", "data/policy.yaml").returncode == 0
    again = run(tmp_path, "channels", "--json").stdout
    assert all(json.loads(line)["listed"] for line in again.splitlines())


# invites


@pytest.mark.parametrize(
    ("direct", "policy", "words"),
    [
        (True, "", ["access: allow under people, with accounts", "direct: {strangers: allow}"]),
        (True, "people: {eve: {accounts: [EVE]}}", ["access: allow under people.eve"]),
        (True, "people: {eve: {accounts: [EVE], access: deny}}", []),
        (False, "", ["operators or invites.by", "the room to channels"]),
        (False, "invites: {rooms: none}", ["operators or invites.by"]),
        (False, "people: {eve: {accounts: [EVE], access: deny}}", []),
    ],
)
async def test_an_invite_that_is_left_alone_is_no_fault_and_says_what_would_have_it_followed(
    synapse, account, tmp_path, direct, policy, words
):
    bot, _, _ = account
    eve, _ = await synapse.register(synapse.fresh("eve"))
    (tmp_path / "policy.yaml").write_text("version: 1\n" + policy.replace("EVE", json.dumps(f"matrix:{eve}")))
    room = (await synapse.act(eve, "POST", "createRoom", {"invite": [bot], "is_direct": direct}))["room_id"]
    code, said = looked(tmp_path)
    assert code == 0
    _, line, *after = said.partition(f"info  invite: {room}")
    assert line
    for word in words:
        assert word in after[0]
    assert ("mend" in after[0]) == bool(words)
    await synapse.act(bot, "POST", f"rooms/{quote(room)}/leave", {})
