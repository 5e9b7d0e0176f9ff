"""``discreet mcp`` and ``discreet mcp-proxy``: processes that MCP clients start, and that talk to a running gateway."""

import os
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


def serve_tools(*, url: str, key_file: Path | None) -> None:
    """Serve the tools on standard input and output until it ends."""
    key = read_key(key_file)
    start_log(level="warning", json_lines=False)

    from bot.wiring.mcp import run_mcp

    finish(lambda: run_mcp(url=address(url), key=key))


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
