"""``discreet run``, ``discreet demo``, ``discreet chat invite`` and ``discreet version``."""

import asyncio
import os
import sys
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

from bot.cli import terminal
from bot.config.errors import ConfigError
from bot.config.file import load_config
from bot.config.secret import Secret
from bot.config.settings import Config, LogFormat
from bot.observability.redaction import register_secret


def read_config(path: Path, *, idle: bool = False) -> Config:
    """The configuration; from now on its secrets are hidden in everything that is logged or printed.

    Args:
        path: of the file.
        idle: it may name nothing to serve, as before the first login of an account.

    Raises:
        ConfigError: it can't be read or can't hold.
    """
    config = load_config(path, os.environ, idle=idle)
    _hide(config)
    return config


def serve(path: Path, *, policy: Path | None) -> None:
    """Run the gateway until it is told to stop."""
    config = read_config(path)
    if policy is not None:
        config = replace(config, policy=policy)
    for warning in config.warnings:
        terminal.warn(warning)
    start_log(level=config.log.level.value, json_lines=None if config.log.format is LogFormat.JSON else False)

    from bot.wiring import run_gateway

    finish(lambda: run_gateway(config))


def show(*, port: int, open_page: bool, keep: Path | None) -> None:
    """Run the demo until it is told to stop."""

    def announce(address: str) -> None:
        terminal.head("The demo is running. Open this address:")
        terminal.say(f"\n    {address}\n")
        terminal.say(f"Ctrl-C ends it. {'Nothing of it is kept.' if keep is None else f'All of it is kept in {keep}.'}")
        sys.stdout.flush()  # also where the output goes through a pipe
        if open_page:
            import webbrowser

            webbrowser.open(address)

    refuse_taken(port, instead="discreet demo --port 0")
    start_log(level="warning", json_lines=None)

    from bot.wiring import run_demo

    finish(lambda: run_demo(port=port, announce=announce, keep=keep))


def refuse_taken(port: int, *, instead: str) -> None:
    """Say at once when something else, perhaps another demo, has the port.

    Args:
        port: on loopback.
        instead: the command that takes any free one.

    Raises:
        ConfigError: it can't be had.
    """
    import socket

    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            raise ConfigError(
                f"port {port} can't be had ({error.strerror}); take any free one: {instead}",
            ) from None


def print_invite(path: Path, person: str) -> None:
    """Print a one-time link into the built-in chat."""
    config = read_config(path)

    from bot.wiring import create_invite

    print(asyncio.run(create_invite(config, person)))  # the one secret that is meant for the terminal
    terminal.note(f"This link lets {person} in, once. Send it to nobody else.")


def version_text() -> str:
    """Name and version of the installed package."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return f"discreet {version('discreet')}"
    except PackageNotFoundError:
        return "discreet (a source tree that is not installed)"


def finish(command: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run a coroutine to its end, on uvloop where there is one, with every failure logged."""

    async def watched() -> None:
        from bot.observability.log import watch_for_failures

        watch_for_failures(asyncio.get_running_loop())
        await command()

    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        runner.run(watched())


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop


def start_log(*, level: str, json_lines: bool | None) -> None:
    """Write a log to stderr from now on; ``json_lines`` None: except on a terminal."""
    from bot.config.errors import DiscreetError
    from bot.observability.failures import show_text_of
    from bot.observability.log import configure

    # A policy error may quote the file, so of it only the type is logged; see policy.tree.DocumentError.places.
    show_text_of(DiscreetError)
    configure(level=level, json_lines=json_lines)


def _hide(value: object) -> None:
    """Register every secret of the configuration."""
    if isinstance(value, Secret):
        register_secret(value.reveal())
    elif isinstance(value, Mapping):
        for item in value.values():
            _hide(item)
    elif isinstance(value, tuple):
        for item in value:
            _hide(item)
    elif is_dataclass(value) and not isinstance(value, type):
        for one in fields(value):
            _hide(getattr(value, one.name))
