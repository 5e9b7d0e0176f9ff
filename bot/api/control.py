"""The control socket: how a command on the same machine asks the running daemon for something.

A Unix socket in the data folder (0600 in a 0700 folder), so who may use it is the file system's matter. One JSON line
each way: ``{"verb": ..., ...}`` and ``{"result": ...}`` or ``{"error": ...}``.
"""

import asyncio
import json
import os
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

from bot.model.errors import ConfigError, DiscreetError
from bot.observability.log import get_logger

log = get_logger(__name__)

Verb = Callable[..., Awaitable[str]]
_LINE_BYTES = 65_536
_WAIT_S = 10.0
_PING = "ping"


async def serve(path: Path, verbs: Mapping[str, Verb]) -> None:
    """Answer until cancelled. A socket that can't be made is told and costs nothing but the commands.

    Args:
        path: of the socket; a stale one is replaced (the store's lock says that no other daemon runs).
        verbs: by name; each takes keyword texts and returns a text.
    """

    async def converse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(_WAIT_S):
                line = await reader.readline()  # ValueError: longer than it may be
                writer.write(json.dumps(await _answer(line, verbs)).encode() + b"\n")
                await writer.drain()
        except (TimeoutError, ValueError, ConnectionError) as error:
            log.warning("control_refused", error=type(error).__name__)
        finally:
            writer.close()

    before = os.umask(0o177)
    try:
        _remove(path)
        server = await asyncio.start_unix_server(converse, path, limit=_LINE_BYTES)
    except OSError as error:  # a path of more than 100 characters, say: people go on talking
        log.error("control_socket_failed", cause=error.strerror or str(error))
        return
    finally:
        os.umask(before)
    log.info("control_socket")
    try:
        async with server:
            await server.serve_forever()
    finally:
        _remove(path)


def _remove(path: Path) -> None:
    path.unlink(missing_ok=True)


async def _answer(line: bytes, verbs: Mapping[str, Verb]) -> dict[str, str]:
    try:
        asked = json.loads(line)
    except (ValueError, RecursionError):
        asked = None
    if not isinstance(asked, dict) or not all(isinstance(value, str) for value in asked.values()):
        return {"error": "that is no question"}
    name = asked.pop("verb", "")
    if name == _PING:
        return {"result": ""}
    verb = verbs.get(name)
    if verb is None:
        return {"error": "the running daemon can't do that; restart it with its present configuration"}
    try:
        return {"result": await verb(**asked)}
    except DiscreetError as error:
        return {"error": str(error)}
    except TypeError:
        return {"error": "that question is not complete"}


async def answers(path: Path) -> bool:
    """Whether a daemon runs there."""
    try:
        await _converse(path, {"verb": _PING})
    except OSError:
        return False
    except ValueError:  # something is there that says nothing: a daemon that ends, say
        return True
    return True


async def ask(path: Path, verb: str, **words: str) -> str:
    """Ask the daemon whose socket this is.

    Raises:
        ConfigError: no daemon runs there, or it refused; the text says the mend.
    """
    try:
        answer = await _converse(path, {"verb": verb, **words})
    except (OSError, ValueError):
        raise ConfigError("no daemon answers. Start it first: discreet run") from None
    if "error" in answer:
        raise ConfigError(str(answer["error"]))
    return str(answer["result"])


async def _converse(path: Path, question: Mapping[str, str]) -> dict[str, str]:
    """One question and its answer.

    Raises:
        OSError: nobody is there, or nobody answers in time.
        ValueError: what comes is no answer.
    """
    async with asyncio.timeout(_WAIT_S):
        reader, writer = await asyncio.open_unix_connection(path, limit=_LINE_BYTES)
        try:
            writer.write(json.dumps(question).encode() + b"\n")
            await writer.drain()
            answer: dict[str, str] = json.loads(await reader.readline())
        finally:
            writer.close()
    return answer
