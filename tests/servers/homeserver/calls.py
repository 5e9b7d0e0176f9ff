"""What the bot called, and trouble on order."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Json = dict[str, Any]

REACHING = frozenset({"send", "typing", "receipt", "join", "leave", "upload", "redact", "set_state", "read_markers"})
"""Names of the calls that people could notice."""


class CutError(Exception):
    """The connection is reset instead of answered."""


class RefusalError(Exception):
    """An answer of 400 or more."""

    def __init__(self, status: int, errcode: str, error: str = "", **more: Any) -> None:
        super().__init__(f"{status} {errcode}")
        self.status = status
        self.body: Json = {"errcode": errcode, "error": error or errcode, **more}


@dataclass(eq=False)
class Call:
    """One call.

    Attributes:
        name: of the endpoint, such as ``sync``, ``send``, ``messages``; ``unknown`` where there is none.
        parts: the decoded variable parts of the path, in order (room, type, transaction id ...).
        query: its query.
        body: its JSON, or the bytes of an upload.
        headers: of the request.
        time: when it came, on the event loop's monotonic clock (s).
        status: of the answer; None while it is open or when it was cut.
        answer: what was answered.
        fate: ``open``, ``answered``, ``refused``, ``hanging`` or ``cut``.
    """

    name: str
    method: str
    path: str
    parts: tuple[str, ...]
    query: Mapping[str, str]
    body: Any
    headers: Mapping[str, str]
    time: float
    status: int | None = None
    answer: Any = None
    fate: str = "open"

    @property
    def token(self) -> str | None:
        """The access token that it bears."""
        kind, _, token = self.headers.get("Authorization", "").partition(" ")
        return token if kind == "Bearer" else None

    @property
    def content(self) -> Json:
        """The content of an event that it sends; empty for other calls."""
        return self.body if isinstance(self.body, dict) else {}

    def __repr__(self) -> str:
        return f"<{self.name} {' '.join(self.parts)} {self.status or self.fate}>"


@dataclass(kw_only=True, eq=False)
class Fault:
    """A rule that spoils calls.

    Attributes:
        name: of the endpoint; ``*`` for all but ``sync``.
        kind: an answer that refuses, no answer until it is released, a reset, or another body with 200.
        refusal: the answer, for ``fail``.
        raw: a body as it is (any bytes), instead of the answer; with the refusal's status, else 200.
        deliver: the call has its effect although the bot doesn't learn of it.
        times: how many calls it spoils, None for all.
        room: only calls about this room.
        hits: how many it has spoiled.
    """

    name: str
    kind: Literal["fail", "hang", "drop", "garble"]
    refusal: RefusalError | None = None
    raw: bytes | None = None
    deliver: bool = False
    times: int | None = 1
    room: str | None = None
    hits: int = 0
    _reached: asyncio.Event = field(default_factory=asyncio.Event)
    _open: asyncio.Event = field(default_factory=asyncio.Event)
    _cut: bool = False

    def applies(self, call: Call) -> bool:
        """Whether this call is to be spoiled."""
        if self.times is not None and self.hits >= self.times:
            return False
        if call.name == "sync" if self.name == "*" else call.name != self.name:
            return False
        return self.room is None or self.room in call.parts

    def hit(self) -> None:
        """Count a call."""
        self.hits += 1
        self._reached.set()

    async def reached(self, timeout_s: float = 10.0) -> None:
        """Wait until a call has come and its effect, if any, has been applied."""
        async with asyncio.timeout(timeout_s):
            await self._reached.wait()

    def release(self) -> None:
        """Let the calls that hang be answered, and later ones pass."""
        self.times = self.hits
        self._open.set()

    def cut(self) -> None:
        """Reset the connections of the calls that hang; later ones pass."""
        self._cut = True
        self.release()

    def cancel(self) -> None:
        """Spoil no further call."""
        self.times = self.hits

    async def hold(self) -> None:
        """Hang until somebody releases or cuts.

        Raises:
            CutError: it was cut.
        """
        await self._open.wait()
        if self._cut:
            raise CutError
