"""The command line teaches: help is there at once, and each command shows an example."""

import subprocess
import sys
import time

import pytest

from tests.acceptance.commands import environment, run

COMMANDS = {
    "": [
        "init",
        "run",
        "demo",
        "channels",
        "mcp",
        "mcp-proxy",
        "version",
        "policy",
        "journal",
        "chat",
        "matrix",
        "form",
    ],
    "policy": ["check", "explain", "schema"],
    "journal": ["verify", "tail"],
    "chat": ["invite"],
    "matrix": ["login", "whoami", "verify-setup"],
    "form": ["check", "parse", "preview"],
    "grants": ["add", "list", "revoke"],
    "deliveries": ["list"],
}
LEAVES = [f"{group} {name}".split() for group, names in COMMANDS.items() for name in names if name not in COMMANDS]
HEAVY = {"aiogram", "nio", "aiohttp", "sqlalchemy", "alembic", "pydantic", "structlog", "babel", "rich", "jinja2"}


@pytest.mark.parametrize("group", COMMANDS)
def test_help_lists_every_command(tmp_path, group):
    done = run(tmp_path, *group.split(), "--help")
    assert done.returncode == 0
    listed = done.stdout.partition("Commands:")[2]
    for name in COMMANDS[group]:
        assert f"\n  {name} " in listed
    assert "..." not in listed, "a summary that is cut off teaches nothing"


@pytest.mark.parametrize("command", LEAVES, ids=" ".join)
def test_the_help_of_a_command_has_an_example_of_it(tmp_path, command):
    done = run(tmp_path, *command, "--help")
    assert done.returncode == 0
    assert f"discreet {' '.join(command)}" in done.stdout.partition("Example")[2]


def test_nothing_heavy_is_loaded_for_help(tmp_path):
    code = (
        "import sys; sys.argv = ['discreet', '--help']\nimport bot.cli\ntry: bot.cli.main()\nexcept SystemExit: pass\n"
    )
    code += "print('MODULES', *sorted(name.partition('.')[0] for name in sys.modules))"
    done = run(tmp_path, program=["-c", code])
    loaded = set(done.stdout.partition("MODULES")[2].split())
    assert "typer" in loaded
    assert loaded & HEAVY == set()


def test_help_is_there_within_half_a_second(tmp_path):
    run(tmp_path, "--help")  # compiled files are there now, as after an installation

    def once() -> float:
        before = time.perf_counter()
        run(tmp_path, "--help")
        return time.perf_counter() - before

    assert min(once() for _ in range(5)) < 0.5


@pytest.mark.parametrize(
    "arguments", [["nonsense"], ["policy", "check"], ["init", "--nonsense"], ["demo", "--port", "x"]]
)
def test_a_wrong_usage_says_so_and_ends_with_2(tmp_path, arguments):
    done = run(tmp_path, *arguments)
    assert done.returncode == 2
    assert "Usage: discreet" in done.stderr
    assert done.stdout == ""


def test_colours_are_for_terminals_alone(tmp_path):
    (tmp_path / "policy.yaml").write_text("version: 2\n")
    for arguments in (["--help"], ["policy", "check", "policy.yaml"], ["run"]):
        done = run(tmp_path, *arguments)
        assert "\x1b" not in done.stdout + done.stderr


def test_the_version_is_told(tmp_path):
    done = run(tmp_path, "version")
    assert done.returncode == 0
    assert done.stdout.startswith("discreet ")


def test_when_the_reader_of_the_output_goes_away_nothing_is_said(tmp_path):
    schema = run(tmp_path, "policy", "schema").stdout
    assert len(schema) > 4096
    code = "import sys, bot.cli; sys.argv = ['discreet', 'policy', 'schema']; bot.cli.main()"
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=environment(tmp_path),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    process.stdout.close()
    with process:
        assert process.stderr.read() == b""
