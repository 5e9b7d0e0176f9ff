"""``discreet mcp`` and ``discreet mcp-proxy``: processes that MCP clients start, and that talk to a running gateway."""

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from bot.cli.serving import finish, start_log
from bot.config.errors import ConfigError
from bot.config.secret import Secret
from bot.observability.redaction import register_secret

KEY: Final = "DISCREET_KEY"
URL: Final = "DISCREET_URL"
_LONGEST: Final = 4_096
_HEADER: Final = re.compile(r"[A-Za-z0-9-]{1,64}").fullmatch
_VARIABLE: Final = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


def serve_tools(*, url: str, key_file: Path | None) -> None:
    """Serve the tools on standard input and output until it ends."""
    key = read_key(key_file)
    start_log(level="warning", json_lines=False)

    from bot.wiring.mcp import run_mcp

    finish(lambda: run_mcp(url=address(url), key=key))


def hold_calls(
    *,
    name: str,
    command: Sequence[str],
    server_url: str | None,
    headers: Sequence[str],
    url: str,
    key_file: Path | None,
    wait_s: float,
    ask_people: bool,
    people: Sequence[str],
) -> None:
    """Stand before an MCP server until its client has gone.

    Raises:
        ConfigError: the options don't fit together.
    """
    if bool(command) is (server_url is not None):
        raise ConfigError("name the server behind: after -- its command, or --server-url, and not both")
    if not name.strip() or name.strip().casefold() == "discreet":
        raise ConfigError("--name: a name for the server, as rules of the policy have it under systems; not discreet")
    if people and not ask_people:
        raise ConfigError("--person says who answers what the server asks. Add --ask-people")
    key = read_key(key_file)
    start_log(level="warning", json_lines=False)

    from bot.mcp.proxy import Behind
    from bot.wiring.mcp import run_mcp_proxy

    behind = Behind(
        name=name.strip(),
        command=tuple(command),
        environment={given: value for given, value in os.environ.items() if given not in (KEY, URL)},
        url=server_url or "",
        headers=dict(_header(written) for written in headers),
    )
    finish(
        lambda: run_mcp_proxy(
            behind, url=address(url), key=key, wait_s=wait_s, ask_people=ask_people, people=tuple(people)
        )
    )


def _header(written: str) -> tuple[str, str]:
    """A header; ``${NAME}`` in it stands for the environment, so that no secret has to stand in a command line."""
    name, sign, value = written.partition(":")
    if not sign or _HEADER(name) is None:
        raise ConfigError("--header: write it as 'Name: value'")

    def known(found: re.Match[str]) -> str:
        if found[1] not in os.environ:
            raise ConfigError(f"--header: {found[1]} is not set in the environment")
        register_secret(os.environ[found[1]])
        return os.environ[found[1]]

    return name, _VARIABLE.sub(known, value.strip())


def read_key(path: Path | None) -> Secret:
    """The key of the agent, from a file or from the environment; it is hidden in logs from now on.

    Raises:
        ConfigError: there is none.
    """
    if path is not None:
        try:
            with path.open(encoding="utf-8") as opened:
                written = opened.read(_LONGEST)
        except (OSError, UnicodeDecodeError):
            raise ConfigError(f"--key-file {path} can't be read. Name a file that holds the key alone") from None
    else:
        written = os.environ.get(KEY, "")
    key = written.strip()
    if not key or len(key.split()) != 1 or not key.isascii():
        raise ConfigError(f"there is no key of an agent. Put it into {KEY}, or name a file: --key-file PATH")
    register_secret(key)
    return Secret(key)


def address(url: str) -> str:
    """The address of the interface, with what clients like to write after it taken off.

    Raises:
        ConfigError: it is none.
    """
    try:
        parts = urlsplit(url)
        fits = parts.scheme in ("http", "https") and parts.hostname and not parts.username and parts.port != 0
    except ValueError:
        fits = False
    if not fits:
        raise ConfigError("--url: this is no address of a gateway. Write it as http://127.0.0.1:8090")
    return url.rstrip("/").removesuffix("/mcp").removesuffix("/v1")
