"""The configuration file: what it says becomes settings, what can't hold is refused, and secrets stay secret."""

import copy
import pickle
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.config import Config, ConfigError, DiscreetError, Secret, load_config, make_data_dir
from bot.config.document import build
from bot.config.file import exposed
from bot.config.settings import (
    Api,
    ChatRoom,
    EchoAgent,
    Limits,
    Listen,
    LogFormat,
    LogLevel,
    MatrixBot,
    MatrixLimits,
    Mode,
    OpenAIAgent,
    Pages,
    ScriptedAgent,
    WebhookAgent,
)
from bot.model import errors

ROOT = Path(__file__).parents[3]
TOKEN = "7001:SYNTHETIC-token_1"
ECHO = "agents: {main: {kind: echo}}\n"
BOT = "telegram: [{token: '7001:SYNTHETIC-token_1'}]\n"


@pytest.fixture
def config_file(tmp_path):
    def write(text: str) -> Path:
        path = tmp_path / "config.yaml"
        path.write_text(text, encoding="utf-8")
        path.chmod(0o600)
        return path

    return write


@pytest.fixture
def load(config_file):
    def read(text: str, **environment: str) -> Config:
        return load_config(config_file(text), environment)

    return read


@pytest.fixture
def refused(load):
    def read(text: str, **environment: str):
        with pytest.raises(ConfigError) as caught:
            load(text, **environment)
        assert "SYNTHETIC" not in str(caught.value)
        return caught.value.problems

    return read


def test_the_smallest_configuration_has_careful_defaults(load, tmp_path):
    found = load(BOT + ECHO)

    (bot,) = found.telegram
    assert (bot.bot_id, bot.account, bot.token.reveal()) == ("7001", "telegram:7001", TOKEN)
    assert (bot.api_url, bot.mode, bot.webhook) == ("https://api.telegram.org", Mode.POLLING, None)
    assert (bot.limits, bot.max_file_bytes) == (Limits(), 20 << 20)
    assert found.agents == {"main": EchoAgent()}
    assert found.default_agent == "main"
    assert (found.data_dir, found.policy) == (tmp_path / "data", tmp_path / "policy.yaml")
    assert not found.chat.enabled
    assert str(found.chat.listen) == "127.0.0.1:8443"
    assert found.contents_retention == timedelta(days=30)
    assert (found.log.level, found.log.format) == (LogLevel.INFO, LogFormat.JSON)
    assert (found.metrics.enabled, str(found.metrics.listen)) == (True, "127.0.0.1:9464")
    assert found.warnings == ()


def test_everything_can_be_said(load, tmp_path):
    (tmp_path / "secret").write_text("whsec_Zm9v\n")
    (tmp_path / "secret").chmod(0o600)
    found = load(
        "data_dir: /srv/discreet\npolicy: rules/policy.yaml\ncontents_retention: 7d\nlog: {level: debug, format: console}\n"
        'metrics: {enabled: false, listen: "[::1]:0"}\n'
        "chat:\n  {enabled: true, listen: 0.0.0.0:8443, public_url: https://chat.example.org/, desk: shop, bot_name: helper,\n"
        "   rooms: {hall: {title: Hall, members: [ann, bob]}, ann: {title: Ann, members: [ann], direct: true}}}\n"
        "default_agent: model\n"
        "telegram:\n"
        "  - token: ${TOKEN}\n    api_url: http://127.0.0.1:8081/\n    mode: webhook\n    max_file_mb: 50\n"
        "    webhook: {public_url: https://bot.example.org/hook, secret: abc-DEF_1, listen: localhost:8080, path: /hook}\n"
        "    limits: {per_chat_per_s: 0.5, per_group_per_min: 10, total_per_s: 5}\n"
        "agents:\n"
        "  desk:\n    kind: webhook\n    url: https://agent.example.org/x\n    secret_file: secret\n    previous_secret: whsec_b2xk\n"
        "    headers: {Authorization: SYNTHETIC-header}\n    files: inline\n    timeout: 2m\n    wait: 1.5s\n"
        "    allow_plain_http: true\n"
        "  model:\n    kind: openai\n    base_url: https://api.example.com/v1\n    model: large\n    api_key: ${KEY}\n"
        "    options: {temperature: 0.2, stop: [a]}\n    stream: false\n    images: true\n    timeout: 3m\n"
        "    tools: [ask_human, file_draft]\n    history: 20\n    history_characters: 500\n"
        "  bare: {kind: openai, base_url: http://127.0.0.1:1, model: m}\n"
        "  rehearsal: {kind: scripted, script: script.yaml}\n"
        "  demo: {kind: scripted}\n",
        TOKEN=TOKEN,
        KEY="SYNTHETIC-key",
    )

    (bot,) = found.telegram
    assert (bot.api_url, bot.mode, bot.max_file_bytes) == ("http://127.0.0.1:8081", Mode.WEBHOOK, 50 << 20)
    assert bot.limits == Limits(per_chat_per_s=0.5, per_group_per_min=10, total_per_s=5)
    assert bot.webhook is not None
    assert (bot.webhook.public_url, bot.webhook.path) == ("https://bot.example.org/hook", "/hook")
    assert bot.webhook.listen == Listen(host="localhost", port=8080)
    assert bot.webhook.secret == Secret("abc-DEF_1")
    assert found.agents == {
        "desk": WebhookAgent(
            url="https://agent.example.org/x",
            secrets=(Secret("whsec_Zm9v"), Secret("whsec_b2xk")),
            headers={"Authorization": Secret("SYNTHETIC-header")},
            inline_files=True,
            total_s=120.0,
            wait_s=1.5,
            allow_plain_http=True,
        ),
        "model": OpenAIAgent(
            base_url="https://api.example.com/v1",
            model="large",
            api_key=Secret("SYNTHETIC-key"),
            options={"temperature": 0.2, "stop": ["a"]},
            stream=False,
            images=True,
            tools=("ask_human", "file_draft"),
            history=20,
            history_characters=500,
            total_s=180.0,
        ),
        "bare": OpenAIAgent(base_url="http://127.0.0.1:1", model="m"),
        "rehearsal": ScriptedAgent(script=tmp_path / "script.yaml"),
        "demo": ScriptedAgent(),
    }
    assert found.default_agent == "model"
    assert (found.data_dir, found.policy) == (Path("/srv/discreet"), tmp_path / "rules/policy.yaml")
    assert found.chat.public_url == "https://chat.example.org"
    assert (found.chat.desk, found.chat.bot_name) == ("shop", "helper")
    assert found.chat.rooms == (
        ChatRoom(id="hall", title="Hall", members=("ann", "bob")),
        ChatRoom(id="ann", title="Ann", members=("ann",), direct=True),
    )
    assert str(found.metrics.listen) == "[::1]:0"
    assert (found.log.level, found.log.format) == (LogLevel.DEBUG, LogFormat.CONSOLE)
    assert "SYNTHETIC" not in repr(found)


def test_an_account_on_matrix_needs_its_user_id_alone(load):
    found = load("matrix: [{user_id: '@desk:example.org'}]\n" + ECHO)

    assert found.matrix == (MatrixBot(user_id="@desk:example.org"),)
    (bot,) = found.matrix
    assert (bot.account, bot.homeserver, bot.password, bot.access_token) == (
        "matrix:@desk:example.org",
        None,
        None,
        None,
    )
    assert (bot.limits, bot.max_file_bytes) == (MatrixLimits(per_room_per_s=1, total_per_s=5), 20 << 20)
    assert found.telegram == ()


def test_everything_can_be_said_of_accounts_on_matrix(load, tmp_path):
    for name, content in (("password", " SYNTHETIC pässword\n"), ("token", " SYNTHETIC-token \n")):
        (tmp_path / name).write_text(content)
        (tmp_path / name).chmod(0o600)
    found = load(
        "matrix:\n"
        "  - user_id: '@desk:example.org'\n    homeserver: https://matrix.example.org/\n    password_file: password\n"
        "    limits: {per_room_per_s: 0.5, total_per_s: 2}\n    max_file_mb: 50\n"
        "  - {user_id: '@shop:[::1]:8448', access_token_file: token}\n"
        "  - {user_id: '@hall:localhost', password: '${PASSWORD}', allow_plain_http: true}\n"
        "  - {user_id: '@door:localhost', access_token: '${TOKEN}'}\n" + ECHO,
        PASSWORD="SYNTHETIC one",
        TOKEN="SYNTHETIC-two",
    )

    desk, shop, hall, door = found.matrix
    assert (desk.homeserver, desk.max_file_bytes) == ("https://matrix.example.org", 50 << 20)
    assert desk.limits == MatrixLimits(per_room_per_s=0.5, total_per_s=2)
    assert desk.password == Secret(" SYNTHETIC pässword")
    assert (shop.account, shop.access_token) == ("matrix:@shop:[::1]:8448", Secret("SYNTHETIC-token"))
    assert (hall.password, door.access_token) == (Secret("SYNTHETIC one"), Secret("SYNTHETIC-two"))
    assert (desk.allow_plain_http, hall.allow_plain_http) == (False, True)
    assert "SYNTHETIC" not in repr(found)
    assert found.warnings == ()


def test_a_password_that_stands_in_a_readable_file_is_warned_of(config_file):
    path = config_file("matrix: [{user_id: '@desk:example.org', password: SYNTHETIC}]\n" + ECHO)
    path.chmod(0o644)

    assert "chmod go=" in load_config(path, {}).warnings[0]


def test_before_the_first_login_there_may_be_nothing_to_serve(config_file):
    assert load_config(config_file(ECHO), {}, idle=True).matrix == ()


def test_the_example_of_commands_loads(tmp_path):
    lines = [line.removeprefix("# ") for line in (ROOT / "config.example.yaml").read_text().splitlines()]
    start = next(number for number, line in enumerate(lines) if line.startswith("commands:"))
    section = "\n".join(lines[start : lines.index("", start)])
    path = tmp_path / "config.yaml"
    path.write_text(f"chat: {{enabled: true, rooms: {{r: {{title: R, members: [ann]}}}}}}\n{ECHO}\n{section}\n")
    path.chmod(0o600)

    assert list(load_config(path, {"ORDERS_SECRET": "whsec_" + "c" * 32}).commands) == ["close_order"]


def test_the_example_of_matrix_loads(tmp_path):
    written = (ROOT / "config.example.yaml").read_text()
    lines = [line.removeprefix("# ") for line in written.splitlines()]
    start = next(number for number, line in enumerate(lines) if line.startswith("matrix:"))
    section = "\n".join(line for line in lines[start : lines.index("", start)] if "access_token" not in line)
    (tmp_path / "matrix.password").write_text("SYNTHETIC")

    (bot,) = build(f"{section}\n{ECHO}", path=tmp_path / "config.yaml", environment={}).matrix

    assert (bot.homeserver, bot.password) == ("https://matrix.example.org", Secret("SYNTHETIC"))
    assert (bot.limits, bot.max_file_bytes) == (MatrixLimits(), 20 << 20)


def test_the_example_loads():
    found = load_config(ROOT / "config.example.yaml", {"TELEGRAM_BOT_TOKEN": TOKEN})

    assert found.telegram[0].bot_id == "7001"
    assert found.agents == {"main": EchoAgent()}


MATRIX = "matrix: [{user_id: '@desk:example.org', %s}]\n" + ECHO
KEY = "SYNTHETIC-of-the-main-agent"
KEYED = "agents: {main: {kind: echo}, desk: {kind: echo}}\n"
HOOK = (
    "telegram: [{token: '7001:SYNTHETIC', mode: webhook, webhook: {public_url: 'https://b.example.org', %s}}]\n" + ECHO
)
REFUSED = [
    (BOT + ECHO + "token: x\n", 3, "token is not known", "under telegram"),
    (BOT + ECHO + "channels: {}\n", 3, "channels is not known", "policy file"),
    (BOT + ECHO + "logs: {}\n", 3, "logs is not known", "log?"),
    (BOT + ECHO + "log: {level: debgu}\n", 3, "not known here", "write debug"),
    (BOT + ECHO + "chat: {enabled: on}\n", 3, "truth value", "true or false"),
    (BOT + ECHO + "chat: {listen: 8443}\n", 3, "no host and port", "127.0.0.1:8443"),
    (BOT + ECHO + "chat: {listen: localhost:99999}\n", 3, "no host and port", "127.0.0.1:8443"),
    (BOT + ECHO + "chat: {enabled: true, listen: 0.0.0.0:8443}\n", 3, "public_url is missing", "from outside"),
    (BOT + ECHO + "chat: {enabled: true}\n", 3, "the chat has no room", "with a title and members"),
    (
        BOT + ECHO + "chat: {rooms: {ann: {title: Ann, members: [ann, bob], direct: true}}}\n",
        3,
        "this is no direct room",
        "name one member",
    ),
    (BOT + ECHO + "chat: {public_url: chat.example.org}\n", 3, "no web address", "https://"),
    (BOT + ECHO + "chat: {public_url: 'https://[example.org'}\n", 3, "no web address", "https://"),
    (BOT + ECHO + "chat: {public_url: 'https://me:SYNTHETIC@example.org'}\n", 3, "a password", "take them out"),
    (BOT + ECHO + "chat: {public_url: 'https://example.org/?a=b'}\n", 3, "a ? or a #", "without"),
    (BOT + ECHO + "pages: {enabled: true, listen: 0.0.0.0:8088}\n", 3, "public_url is missing", "from outside"),
    (BOT + ECHO + "pages: {public_url: 'http://forms.example.org'}\n", 3, "no https address", "https://"),
    (BOT + ECHO + "pages: {public_url: forms.example.org}\n", 3, "no web address", "https://"),
    (BOT + ECHO + "pages: {enabled: true, listen: 127.0.0.1:0}\n", 3, "any free port", "name one"),
    (BOT + ECHO + "pages: {port: 80}\n", 3, "port is not known", ""),
    (BOT + ECHO + "api: {enabled: true, keys_file: api-keys}\n", 3, "api-keys can't be read", "a line for each agent"),
    (BOT + ECHO + "api: {enabled: true, listen: 0.0.0.0:8090}\n", 3, "in the clear", "TLS"),
    (BOT + ECHO + "api: {keys: {main: SYNTHETIC}}\n", 3, "keys is not known", "keys_file"),
    (BOT + ECHO + "contents_retention: 30\n", 3, "no duration", "7d"),
    (BOT + ECHO + "policy: '  '\n", 3, "empty text", "leave the key out"),
    (BOT + ECHO + "default_agent: mian\n", 3, "not listed", "main?"),
    (BOT + "agents: {one: {kind: echo}, two: {kind: echo}}\n", 1, "default_agent is missing", "one, two"),
    (BOT + "agents: {}\n", 2, "no agent", "main: {kind: echo}"),
    (BOT, 1, "agents is missing", "add agents:"),
    (ECHO, 1, "nothing to serve", "under telegram"),
    ("telegram: []\n" + ECHO, 1, "nothing to serve", "under telegram"),
    ("telegram: {token: x}\n" + ECHO, 1, "list is expected", "dash"),
    ("telegram: [{token: '${NOT_SET}'}]\n" + ECHO, 1, "NOT_SET is not set", "environment"),
    ("telegram: [{mode: polling}]\n" + ECHO, 1, "token is missing", "token_file"),
    ("telegram: [{token: SYNTHETIC}]\n" + ECHO, 1, "no token of a bot", "BotFather"),
    ("telegram: [{token: '0:SYNTHETIC'}]\n" + ECHO, 1, "no token of a bot", "BotFather"),
    ("telegram: [{token: 70011}]\n" + ECHO, 1, "a secret is a text", "${NAME}"),
    ("telegram: [{token: '7001:SYNTHETIC SYNTHETIC'}]\n" + ECHO, 1, "has spaces", "copy it again"),
    ("telegram: [{token: ''}]\n" + ECHO, 1, "empty", "copy it again"),
    ("telegram: [{token: '7001:SYNTHETIC', token_file: x}]\n" + ECHO, 1, "both stand here", "keep one"),
    ("telegram: [{token_file: nowhere}]\n" + ECHO, 1, "can't be read", "daemon can read"),
    ("telegram: [{token: '7001:SYNTHETIC'}, {token: '7001:SYNTHETIC-2'}]\n" + ECHO, 1, "listed twice", "one receiver"),
    ("telegram: [{token: '7001:SYNTHETIC', mode: webhook}]\n" + ECHO, 1, "webhook is missing", "public_url"),
    ("telegram: [{token: '7001:SYNTHETIC', webhook: {public_url: 'https://b.example.org', secret: x}}]\n" + ECHO, 1,
     "no effect with polling", "mode: webhook"),
    ("telegram: [{token: '7001:SYNTHETIC', max_file_mb: 0}]\n" + ECHO, 1, "greater than or equal to 1", "bounds"),
    ("telegram: [{token: '7001:SYNTHETIC', limits: {total_per_s: 0}}]\n" + ECHO, 1, "greater than 0", "bounds"),
    ("matrix: [{user_id: desk}]\n" + ECHO, 1, "no Matrix user id", "@name:server"),
    ("matrix: [{user_id: 'matrix:@desk:example.org'}]\n" + ECHO, 1, "no Matrix user id", "@name:server"),
    ("matrix: [{user_id: '!room:example.org'}]\n" + ECHO, 1, "no Matrix user id", "@name:server"),
    ("matrix: [{}]\n" + ECHO, 1, "user_id is missing", "add user_id"),
    ("matrix: {user_id: '@desk:example.org'}\n" + ECHO, 1, "list is expected", "dash"),
    ("matrix: []\n" + ECHO, 1, "nothing to serve", "telegram or matrix"),
    (MATRIX % "homeserver: example.org", 1, "no web address", "https://"),
    (MATRIX % "password: 12345678", 1, "a password is a text", "quotes"),
    (MATRIX % "password: ' '", 1, "a password that is empty", "one line"),
    (MATRIX % "password_file: nowhere", 1, "can't be read", "daemon can read"),
    (MATRIX % "password: SYNTHETIC, password_file: x", 1, "both stand here", "keep one"),
    (MATRIX % "password: SYNTHETIC, access_token: SYNTHETIC", 1, "a password and a token", "keep one"),
    (MATRIX % "password: SYNTHETIC, access_token_file: x", 1, "a password and a token", "keep one"),
    (MATRIX % "access_token: 'SYNTHETIC SYNTHETIC'", 1, "has spaces", "copy it again"),
    (MATRIX % "token: SYNTHETIC", 1, "token is not known", "access_token"),
    (MATRIX % "device_id: SYNTHETIC", 1, "device_id is not known", "leave it out"),
    (MATRIX % "limits: {total_per_s: 0}", 1, "greater than 0", "bounds"),
    (MATRIX % "max_file_mb: 0", 1, "greater than or equal to 1", "bounds"),
    ("matrix: [{user_id: '@a:b.org'}, {user_id: '@a:b.org'}]\n" + ECHO, 1, "listed twice", "one receiver"),
    (BOT + "user_id: '@desk:example.org'\n" + ECHO, 2, "user_id is not known", "stands under matrix"),
    (HOOK % "secret: 'SYNTHETIC.'", 1, "takes no such secret", "256"),
    (HOOK % f"secret: {'S' * 300}", 1, "takes no such secret", "256"),
    (HOOK % "path: /x", 1, "secret is missing", "secret_file"),
    (HOOK % "secret: x, path: hook", 1, "no path", "start it with /"),
    (BOT + "agents: {main: {kind: ehco}}\n", 2, "not known here", "write echo"),
    (BOT + "agents: {main: {kind: echo, url: 'https://a.example.org'}}\n", 2, "kind echo has no url", "change kind"),
    (BOT + "agents: {main: {kind: webhook, secret: whsec_x}}\n", 2, "url is missing", "kind webhook needs it"),
    (BOT + "agents: {main: {kind: webhook, url: 'https://a.example.org'}}\n", 2, "secret is missing", "secret_file"),
    (BOT + "agents: {main: {kind: webhook, url: 'https://a.example.org', secret: SYNTHETIC}}\n", 2, "no secret", "whsec_"),
    (BOT + "agents: {main: {kind: openai, base_url: 'https://a.example.org'}}\n", 2, "model is missing", "openai needs it"),
    (BOT + "agents: {main: {kind: openai, timeout_s: 5}}\n", 2, "timeout_s is not known", "timeout: and a duration"),
    (BOT + "agents: {Main: {kind: echo}}\n", 2, "no id of the file's own", "small letters"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "line", "message", "mend"), REFUSED, ids=lambda value: repr(value)[-50:])
def test_what_can_not_hold_is_refused_with_its_line_and_mend_and_without_secrets(refused, text, line, message, mend):
    (problem,) = [problem for problem in refused(text) if problem.mark.line == line and message in problem.message]

    assert mend in problem.mend


def test_problems_are_reported_together(refused):
    text = "telegram: [{token: SYNTHETIC}, {}]\nagents: {main: {kind: webhook}}\nchat: {enabled: true, listen: 0.0.0.0:1, rooms: {hall: {title: Hall, members: [ann]}}}\n"

    assert [problem.mark.line for problem in refused(text)] == [1, 1, 2, 2, 3]


@pytest.mark.parametrize("content", [b"\xff\xfe", b"SYNTHETIC\nSYNTHETIC\n", b" \n", b""])
def test_a_password_file_holds_one_password(refused, tmp_path, content):
    (tmp_path / "password").write_bytes(content)

    (problem,) = refused(MATRIX % "password_file: password")

    assert "no single secret" in problem.message


@pytest.mark.parametrize("content", [b"\xff\xfe", b"7001:SYNTHETIC\n7002:SYNTHETIC\n", b"\n"])
def test_a_secret_file_holds_one_secret(refused, tmp_path, content):
    (tmp_path / "token").write_bytes(content)

    (problem,) = refused("telegram: [{token_file: token}]\n" + ECHO)

    assert "no single secret" in problem.message


def test_a_token_file_that_holds_no_token_is_named(refused, tmp_path):
    (tmp_path / "token").write_text("SYNTHETIC")

    (problem,) = refused("telegram:\n  - token_file: token\n" + ECHO)

    assert problem.path == "telegram.0.token_file"


def test_a_secret_file_that_others_can_read_is_warned_of(load, tmp_path):
    token = tmp_path / "token"
    token.write_text(f"{TOKEN}\n")
    token.chmod(0o644)

    found = load("telegram: [{token_file: token}]\n" + ECHO)

    assert found.telegram[0].token.reveal() == TOKEN
    assert found.warnings == (f"{token} is open to other users of this machine. Mend it: chmod go= {token}",)


@pytest.mark.parametrize(("text", "warned"), [(BOT, True), ("telegram: [{token: '${TOKEN}'}]\n", False)])
def test_a_configuration_that_others_can_read_is_warned_of_where_a_secret_stands_in_it(config_file, text, warned):
    path = config_file(text + ECHO)
    path.chmod(0o640)

    assert bool(load_config(path, {"TOKEN": TOKEN}).warnings) == warned


def test_the_home_folder_may_be_written_short(load):
    assert load("data_dir: ~/discreet\n" + BOT + ECHO).data_dir == Path.home() / "discreet"


def test_the_home_of_nobody_is_told_plainly(config_file):
    with pytest.raises(ConfigError, match="no such home"):
        load_config(config_file("data_dir: ~nobody-of-this-name/x\n" + BOT + ECHO), {})


def test_pages_and_interface_are_off_at_first(load):
    found = load(BOT + ECHO)

    assert (found.pages, found.api) == (Pages(), Api())
    assert (str(found.pages.listen), str(found.api.listen)) == ("127.0.0.1:8088", "127.0.0.1:8090")
    assert found.pages.base_url == "http://127.0.0.1:8088"


@pytest.mark.parametrize(
    ("section", "base_url"),
    [
        ("{enabled: true}", "http://127.0.0.1:8088"),
        ('{enabled: true, listen: "[::1]:8000"}', "http://[::1]:8000"),
        ("{enabled: true, public_url: 'https://forms.example.org/relay/'}", "https://forms.example.org/relay"),
        ("{enabled: true, listen: 0.0.0.0:80, public_url: 'https://forms.example.org'}", "https://forms.example.org"),
        ("{enabled: true, public_url: 'http://localhost:8000'}", "http://localhost:8000"),
    ],
)
def test_links_of_pages_begin_with_the_public_address_or_on_this_machine(load, section, base_url):
    found = load(f"pages: {section}\n" + BOT + ECHO)

    assert (found.pages.enabled, found.pages.base_url) == (True, base_url)


def test_keys_of_agents_stand_in_a_file_of_their_own(load, tmp_path):
    keys = tmp_path / "api-keys"
    keys.write_text(f"# made in May\n\nmain  {KEY}-1\ndesk\t{KEY}-2\n")
    keys.chmod(0o600)

    found = load(f"api: {{enabled: true}}\ndefault_agent: main\n{BOT}{KEYED}")

    assert found.api.keys == {"main": Secret(f"{KEY}-1"), "desk": Secret(f"{KEY}-2")}
    assert found.warnings == ()
    assert "SYNTHETIC" not in repr(found)
    keys.chmod(0o640)
    assert "chmod go=" in load(f"api: {{enabled: true}}\ndefault_agent: main\n{BOT}{KEYED}").warnings[0]


def test_keys_of_dispatchers_stand_in_another_file_under_any_name(load, refused, tmp_path):
    dispatchers = tmp_path / "dispatchers"
    for name, text in (("api-keys", f"main {KEY}-1\n"), ("dispatchers", f"nightly {KEY}-9\n")):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o600)
    section = f"api: {{enabled: true, dispatchers_file: dispatchers}}\ndefault_agent: main\n{BOT}{KEYED}"

    assert load(section).api.dispatchers == {"nightly": Secret(f"{KEY}-9")}
    for text, message in (
        (f"nightly {KEY}-1\n", "agent's key too"),
        (f"Night:ly {KEY}-9\n", "no name"),
        ("", "holds no key"),
    ):
        dispatchers.write_text(text)
        (problem,) = refused(section)
        assert (problem.path, message in problem.message) == ("api.dispatchers_file", True), problem
    dispatchers.unlink()
    (problem,) = refused(section)
    assert "a line for each dispatcher" in problem.mend


def test_addresses_that_may_be_called_back_are_listed_with_their_secrets(load, refused, tmp_path):
    (tmp_path / "api-keys").write_text(f"main {KEY}-1\ndesk {KEY}-2\n")
    (tmp_path / "api-keys").chmod(0o600)
    rest = f"default_agent: main\n{BOT}{KEYED}"

    def section(text):
        return f"api: {{enabled: true, callbacks: [{{{text}}}]}}\n{rest}"

    secrets = "secret: whsec_SYNTHETIC1, previous_secret: whsec_SYNTHETIC2"
    (one,) = load(section(f"to: 'https://f.example.org/r/', agents: [desk], {secrets}")).api.callbacks
    assert (one.to, one.agents, one.allow_private) == ("https://f.example.org/r", frozenset({"desk"}), False)
    assert one.secrets == (Secret("whsec_SYNTHETIC1"), Secret("whsec_SYNTHETIC2"))
    (two,) = load(section("to: 'http://127.0.0.1:5678', allow_private: true")).api.callbacks
    assert (two.secrets, two.allow_private) == ((), True)
    assert load(section("to: 'http://flows', allow_plain_http: true")).api.callbacks[0].to == "http://flows"
    for text, message, mend in (
        ("to: 'http://f.example.org'", "no https address", "allow_plain_http"),
        ("to: 'http://localhost:5678'", "on this machine", "allow_private: true"),
        ("to: 'https://10.0.0.7'", "in a private network", "allow_private: true"),
        ("to: f.example.org", "no web address", "https://"),
        ("to: 'https://f.example.org', agents: [mian]", "not listed", "main?"),
        ("to: 'https://f.example.org', secret: SYNTHETIC", "no secret of a webhook", "whsec_"),
        ("secret: whsec_SYNTHETIC", "to is missing", "add to"),
    ):
        (problem,) = refused(section(text))
        assert message in problem.message, problem
        assert mend in problem.mend, problem


def test_where_the_interface_is_off_there_need_be_no_keys(load):
    assert load("api: {enabled: false, listen: 0.0.0.0:1, keys_file: nowhere}\n" + BOT + ECHO).api.keys == {}


def test_without_a_file_of_keys_the_admin_is_told_how_to_make_one(load, tmp_path):
    section = "api: {enabled: true}\n" + BOT + ECHO
    assert "discreet keys add" in load(section).warnings[0]
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "keys.json").write_text("{}")
    assert load(section).warnings == ()


@pytest.mark.parametrize(
    ("content", "message", "mend"),
    [
        (b"", "holds no key", "a line for each agent"),
        (b"# nothing\n", "holds no key", "a line for each agent"),
        (b"\xff\xfe", "no UTF-8", "save"),
        (b"main\n", "line 1: this is no name and key", "a space"),
        (b"main SYNTHETIC SYNTHETIC-of-the-main-agent\n", "line 1: this is no name and key", "a space"),
        (b"\nmian SYNTHETIC-of-the-main-agent\n", "line 2: no agent has this name", "desk, main"),
        (b"main SYNTHETIC\n", "line 1: this key is too short", "token_urlsafe"),
        ("main SYNTHETIC-öf-the-main-agent\n".encode(), "line 1: this key", "token_urlsafe"),
        (b"main SYNTHETIC" + b"x" * 600, "line 1: this key is too short, too long", "token_urlsafe"),
        (
            b"main SYNTHETIC-of-the-main-agent\nmain SYNTHETIC-of-the-main-agent-2\n",
            "line 2: this agent has",
            "keep one",
        ),
        (b"main SYNTHETIC-of-the-main-agent\ndesk SYNTHETIC-of-the-main-agent\n", "line 2: another agent", "its own"),
        (b"#" * (65 << 10), "too large", "nothing else"),
    ],
)
def test_a_file_of_keys_that_can_not_hold_is_refused_with_its_line_and_without_keys(
    refused, tmp_path, content, message, mend
):
    (tmp_path / "api-keys").write_bytes(content)

    (problem,) = refused(f"api: {{enabled: true}}\ndefault_agent: main\n{BOT}{KEYED}")

    assert (message in problem.message, mend in problem.mend) == (True, True), problem
    assert problem.path == "api.keys_file"


def test_the_chat_alone_is_something_to_serve(load):
    assert load("chat: {enabled: true, rooms: {hall: {title: Hall, members: [ann]}}}\n" + ECHO).telegram == ()


def test_a_file_that_is_not_there_or_no_text_is_told_plainly(tmp_path):
    with pytest.raises(ConfigError, match="discreet init"):
        load_config(tmp_path / "config.yaml", {})
    with pytest.raises(ConfigError, match="can't be read: Is a directory"):
        load_config(tmp_path, {})
    (tmp_path / "latin").write_bytes(b"a: \xe9\n")
    with pytest.raises(ConfigError, match="byte 3: this is no UTF-8"):
        load_config(tmp_path / "latin", {})


def test_the_data_folder_is_made_for_its_owner_alone(tmp_path):
    path = tmp_path / "var" / "data"

    assert make_data_dir(path) is None
    assert make_data_dir(path) is None
    assert path.stat().st_mode & 0o777 == 0o700


def test_a_data_folder_that_others_can_look_into_is_warned_of(tmp_path):
    path = tmp_path / "data"
    path.mkdir()
    path.chmod(0o750)

    assert make_data_dir(path) == exposed(path, 0o750) != exposed(path, 0o700)


def test_a_data_folder_that_can_not_be_made_is_told_plainly(tmp_path):
    (tmp_path / "file").touch()

    with pytest.raises(ConfigError, match="is no folder"):
        make_data_dir(tmp_path / "file")
    with pytest.raises(ConfigError, match="can't be made: Not a directory"):
        make_data_dir(tmp_path / "file" / "data")


def test_a_secret_is_given_out_only_when_asked_for():
    secret = Secret("SYNTHETIC")

    assert {str(secret), repr(secret), f"{secret}", f"{secret:>3}", "%s" % secret, repr([secret])} == {"***", "[***]"}  # noqa: UP031
    assert secret.reveal() == "SYNTHETIC"
    assert secret == Secret("SYNTHETIC") != Secret("other")
    assert secret != "SYNTHETIC"
    assert len({secret, Secret("SYNTHETIC")}) == 1
    for way in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="not written"):
            way(secret)


def test_there_is_one_root_of_errors_and_one_error_of_the_configuration():
    assert errors.ConfigError is ConfigError
    assert errors.DiscreetError is DiscreetError
    assert issubclass(ConfigError, DiscreetError)
    assert ConfigError("said").problems == ()


def test_importing_the_configuration_loads_neither_pydantic_nor_yaml():
    program = "import sys, bot.config; print([name for name in ('pydantic', 'yaml', 'asyncio') if name in sys.modules])"

    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True, cwd=ROOT
    )

    assert done.stdout.strip() == "[]"


@given(st.text())
def test_any_text_is_a_configuration_or_a_config_error(text):
    with pytest.raises(ConfigError):
        build(text, path=Path("config.yaml"), environment={})


def test_what_agents_call_themselves_stands_below_the_interface(load, refused):
    section = "api: {enabled: true, public_url: 'https://agents.example.org/', a2h: {agent_ids: {%s: ['did:web:a']}, profiles: [a.v1]}}\n"
    found = load(section % "main" + BOT + ECHO).api
    assert (found.public_url, found.profiles) == ("https://agents.example.org", {"a.v1"})
    assert found.agent_ids == {"main": {"did:web:a"}}
    for wrong in (section % "mian", "api: {enabled: true, a2h: {keyless_agent: mian}}\n"):
        (problem,) = refused(wrong + BOT + ECHO)
        assert ("not listed" in problem.message, "main" in problem.mend) == (True, True)
    keyless = load("api: {enabled: true, a2h: {keyless_agent: main}}\n" + BOT + ECHO)
    assert keyless.api.keyless_agent == "main"
    assert any("keyless_agent" in warning for warning in keyless.warnings)


def test_what_clients_of_a2h_lack_is_made_up_for_only_as_far_as_it_is_written(load, refused):
    section = "api: {enabled: true, a2h: {chat_for: [%s], may_lack: [%s]}}\n"
    found = load(section % ("sms.otp.v1", "message_id") + BOT + ECHO).api
    assert (found.chat_for, found.may_lack) == ({"sms.otp.v1"}, {"message_id"})
    (problem,) = refused(section % ("passkey.webauthn.v1", "agent_id") + BOT + ECHO)
    assert "never" in problem.mend
    assert refused(section % ("sms.otp.v1", "principal_id") + BOT + ECHO)
    (problem,) = refused("api: {enabled: true, a2h: {published_keys: [demo]}}\n" + BOT + ECHO)
    assert "keyless_agent" in problem.mend
    keyless = load("api: {enabled: true, a2h: {keyless_agent: main, published_keys: [demo]}}\n" + BOT + ECHO)
    assert keyless.api.published_keys == {"demo"}
