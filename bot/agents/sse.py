"""Lines and server-sent events out of chunks that may be cut anywhere, even inside a character.

Both are bounded: a sender that never ends its line, or its event, is refused and not collected.
"""

import re
from collections.abc import Iterator

from bot.model.errors import AgentError

_BOM = b"\xef\xbb\xbf"
_ANY_END = re.compile(rb"\r\n|\n|\r")
_LF_END = re.compile(rb"\r?\n")


class Lines:
    """Cuts chunks into lines, decoded as strict UTF-8, without their ends.

    Args:
        longest: bytes that one line may have.
        bare_cr: a carriage return alone ends a line too (server-sent events; not in JSON lines).
    """

    def __init__(self, *, longest: int, bare_cr: bool) -> None:
        self._longest = longest
        self._ends = _ANY_END if bare_cr else _LF_END
        self._rest = bytearray()
        self._searched = 0
        self._first = True

    def feed(self, chunk: bytes) -> Iterator[str]:
        """Take a chunk; give the lines that are complete now.

        Raises:
            AgentError: a line is too long or is not UTF-8.
        """
        self._rest += chunk
        while (end := self._end()) is not None:
            stop, start = end
            line = bytes(self._rest[:stop])
            del self._rest[:start]
            self._searched = 0
            yield self._decoded(line)
        if len(self._rest) > self._longest:
            raise AgentError("the agent sent a line that is too long")

    def finish(self) -> str | None:
        """The last line, if the sender left it without an end."""
        line, self._rest = bytes(self._rest).removesuffix(b"\r"), bytearray()
        return self._decoded(line) if line else None

    def _end(self) -> tuple[int, int] | None:
        """Where the first line stops and where the next one starts."""
        found = self._ends.search(self._rest, self._searched)
        if found is None:
            self._searched = max(len(self._rest) - 1, 0)  # a CR there may be half of CR LF
            return None
        if found[0] == b"\r" and found.end() == len(self._rest):  # the same: the next chunk tells
            self._searched = found.start()
            return None
        return found.span()

    def _decoded(self, line: bytes) -> str:
        if len(line) > self._longest:
            raise AgentError("the agent sent a line that is too long")
        if self._first:
            self._first = False
            line = line.removeprefix(_BOM)
        try:
            return line.decode()
        except UnicodeDecodeError:
            pass
        raise AgentError("the agent sent bytes that are no UTF-8")


class EventStream:
    """Reads server-sent events: comments are passed over, data of several lines is joined.

    Args:
        longest: bytes that the data of one event may have.
    """

    def __init__(self, *, longest: int) -> None:
        self._longest = longest
        self._lines = Lines(longest=longest + len("data: "), bare_cr=True)
        self._data: list[str] = []
        self._size = 0

    def feed(self, chunk: bytes) -> Iterator[str]:
        """Take a chunk; give the data of the events that are complete now.

        Raises:
            AgentError: an event is too long or is not UTF-8.
        """
        for line in self._lines.feed(chunk):
            data = self._take(line)
            if data is not None:
                yield data

    def finish(self) -> str | None:
        """The data of a last event that the sender left without an empty line."""
        line = self._lines.finish()
        if line is not None:
            self._take(line)
        return self._take("")

    def _take(self, line: str) -> str | None:
        if not line:
            data = "\n".join(self._data) if self._data else None
            self._data, self._size = [], 0
            return data
        name, _, value = line.partition(":")
        if name == "data":  # a comment has an empty name; event, id and retry mean nothing here
            self._size += len(value)
            if self._size > self._longest:
                raise AgentError("the agent sent an event that is too long")
            self._data.append(value.removeprefix(" "))
        return None
