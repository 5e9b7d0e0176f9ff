"""`discreet mcp` and `discreet mcp-proxy` say what is wrong before anything is started."""

import pytest

from bot.cli.mcp import _header, address
from bot.config.errors import ConfigError
from tests.acceptance.commands import run

KEY = "SYNTHETIC-key-of-the-main-agent"
PROXY = ["mcp-proxy", "--name", "shop"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["mcp"], "there is no key of an agent"),
        (["mcp", "--key-file", "nowhere"], "--key-file nowhere can't be read"),
        (["mcp", "--key-file", "two"], "there is no key of an agent"),
        (["mcp", "--key-file", "key", "--url", "ftp://x"], "--url"),
        (["mcp", "--key-file", "key", "--url", "http://user:secret@x"], "--url"),
        ([*PROXY, "--key-file", "key"], "name the server behind"),
        ([*PROXY, "--key-file", "key", "--server-url", "http://x", "--", "cat"], "name the server behind"),
        (["mcp-proxy", "--name", "Discreet", "--", "cat"], "--name"),
        ([*PROXY, "--person", "ann", "--", "cat"], "--ask-people"),
        ([*PROXY, "--key-file", "key", "--server-url", "http://x", "--header", "nonsense"], "--header"),
        ([*PROXY, "--key-file", "key", "--server-url", "http://x", "--header", "A: ${NOT_THERE}"], "NOT_THERE"),
        ([*PROXY, "--key-file", "key", "--", "/no/such/program"], "No such file"),
    ],
    ids=str,
)
def test_what_is_wrong_is_said_with_its_mend_and_without_a_traceback(tmp_path, arguments, words):
    (tmp_path / "key").write_text(f"{KEY}\n")
    (tmp_path / "two").write_text("one two\n")
    done = run(tmp_path, *arguments)
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert KEY not in done.stderr + done.stdout
    assert "secret" not in done.stderr
    assert done.stdout == "", "that is the client's"


def test_an_address_may_be_written_as_clients_write_it():
    for written in ("http://127.0.0.1:8090", "http://127.0.0.1:8090/", "http://127.0.0.1:8090/mcp"):
        assert address(written) == "http://127.0.0.1:8090"


def test_a_header_takes_its_secret_from_the_environment(monkeypatch):
    monkeypatch.setenv("SHOP_TOKEN", "SYNTHETIC-token")
    assert _header("Authorization: Bearer ${SHOP_TOKEN}") == ("Authorization", "Bearer SYNTHETIC-token")
    with pytest.raises(ConfigError):
        _header("A b: c")
