"""Where the chat keeps the files that people and the agent have sent: in memory, or in a folder.

A handle is made by the chat (``<room>.<message>.<number>``), never by a browser, and names the file on the shelf.
"""

import asyncio
import contextlib
import os
import re
import time
from collections import OrderedDict
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from bot.model.errors import ChannelError

HANDLE: Final = re.compile(r"(?P<room>[a-z0-9][a-z0-9_-]{0,63})\.(?P<message>[a-z0-9]{1,40})\.(?P<number>\d{1,2})")

_DRAFT: Final = ".part"


class Shelf:
    """Files by handle."""

    def __init__(self, folder: Path | None = None, *, memory_bytes: int = 256 * 1024 * 1024) -> None:
        """Args: folder: None keeps files in memory, the oldest leaving when ``memory_bytes`` are full."""
        self._folder = folder
        self._memory: OrderedDict[str, tuple[bytes, float]] = OrderedDict()
        self._memory_bytes = memory_bytes
        self._used = 0

    async def put(self, handle: str, content: bytes) -> None:
        """Keep a file; durable when it returns, if there is a folder. OSError: it can't be written."""
        if self._folder is not None:
            await asyncio.to_thread(_write, self._folder / _checked(handle), content)
            return
        self._forget(handle)
        self._used += len(content)
        self._memory[handle] = (content, time.time())
        while self._used > self._memory_bytes and self._memory:
            self._forget(next(iter(self._memory)))

    async def read(self, handle: str, *, limit_bytes: int) -> bytes:
        """A file's content.

        Raises:
            ChannelError: it isn't there, or is larger than ``limit_bytes``.
        """
        if self._folder is not None:
            content = await asyncio.to_thread(_read, self._folder / _checked(handle), limit_bytes)
        else:
            content = self._memory.get(handle, (None, 0.0))[0]
        if content is None:
            raise ChannelError("the file is not there any more")
        if len(content) > limit_bytes:
            raise ChannelError("the file is larger than the limit")
        return content

    async def remove(self, handle: str) -> None:
        """Take a file away; one that isn't there is fine. OSError: it can't be removed."""
        if self._folder is not None:
            await asyncio.to_thread((self._folder / _checked(handle)).unlink, missing_ok=True)
        self._forget(handle)

    async def kept(self, *, before: datetime) -> list[str]:
        """Handles of the files that were put here before a time; what a crash left half written is removed.

        OSError: the folder can't be read.
        """
        if self._folder is not None:
            return await asyncio.to_thread(_kept, self._folder, before)
        return [handle for handle, (_, put_at) in self._memory.items() if put_at < before.timestamp()]

    def _forget(self, handle: str) -> None:
        self._used -= len(self._memory.pop(handle, (b"", 0.0))[0])


def _checked(handle: str) -> str:
    if HANDLE.fullmatch(handle) is None:
        raise ChannelError("this is no handle of a file of the chat")
    return handle


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = path.with_name(path.name + _DRAFT)
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)


def _kept(folder: Path, before: datetime) -> list[str]:
    handles = []
    with contextlib.suppress(FileNotFoundError), os.scandir(folder) as entries:
        for entry in entries:
            if datetime.fromtimestamp(entry.stat().st_mtime, UTC) >= before:
                continue
            if HANDLE.fullmatch(entry.name):
                handles.append(entry.name)
            elif HANDLE.fullmatch(entry.name.removesuffix(_DRAFT)):
                Path(entry.path).unlink(missing_ok=True)
    return handles


def _read(path: Path, limit_bytes: int) -> bytes | None:
    try:
        with path.open("rb") as file:
            return file.read(limit_bytes + 1)
    except FileNotFoundError:
        return None
