"""Where the record's entries stand, beside the policy: files, and addresses that answer with JSON.

A source is strict: its whole content is checked, and one that can't hold changes nothing. What it said before stays,
for a file as long as the daemon runs, for an address for ``keep`` since it was last heard; each entry in any case only
until its own expiry, which the check looks at.
"""

import asyncio
import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Protocol

from bot.record.fetching import AwayError, Fetches
from bot.record.reading import RecordError, read_json, read_yaml
from policy.record import Entry
from policy.strictyaml import SIZE_LIMIT
from policy.tree import DocumentError, Problem


@dataclass(frozen=True, kw_only=True, slots=True)
class Taken:
    """The source says something new, and it holds."""

    source: str
    entries: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Refused:
    """What it says now can't hold; what it said before stays.

    Attributes:
        source: its name.
        problems: for the admin; may quote ids.
        places: for the log: where, and nothing of what stands there.
        marked: each problem with its place in the file, where it is one.
    """

    source: str
    problems: str
    places: str
    marked: tuple[Problem, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Away:
    """It can't be had; what it said before stays for a while."""

    source: str
    why: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Back:
    """It can be had again, and says what it said before."""

    source: str


Change = Taken | Refused | Away | Back


class Source(Protocol):
    """One place where entries stand."""

    @property
    def name(self) -> str:
        """For admins: a path, or a host."""
        ...

    @property
    def every_s(self) -> float:
        """Seconds between two looks."""
        ...

    @property
    def entries(self) -> Mapping[str, Entry]:
        """What it last said and may still be held to, by id."""
        ...

    async def look(self) -> Change | None:
        """Look once; None: nothing has changed."""
        ...

    async def close(self) -> None:
        """Let go of it."""
        ...


class FileSource:
    """Entries in a YAML file.

    Args:
        path: of the file.
        environment: what ``${NAME}`` in it stands for.
        every_s: seconds between two looks.
    """

    def __init__(self, path: Path, *, environment: Mapping[str, str], every_s: float = 1.0) -> None:
        self.name = str(path)
        self.every_s = every_s
        self.entries: Mapping[str, Entry] = {}
        self._path = path
        self._environment = environment
        self._seen = ""

    async def look(self) -> Change | None:
        """See :meth:`Source.look`."""
        return await asyncio.to_thread(self.read)

    def read(self) -> Change | None:
        """Read the file, if it has changed."""
        try:
            with self._path.open("rb") as opened:
                content = opened.read(SIZE_LIMIT + 1)
            text, seen = content.decode(), hashlib.sha256(content).hexdigest()
        except (OSError, UnicodeDecodeError) as error:
            text, seen = None, f"can't be read: {type(error).__name__}"
        if seen == self._seen:
            return None
        self._seen = seen
        if text is None:
            cause = f"{self._path.name} {seen}"
            return Refused(source=self.name, problems=cause, places=cause)
        try:
            self.entries = read_yaml(text, source=self.name, environment=self._environment)
        except DocumentError as error:
            return Refused(source=self.name, problems=str(error), places=error.places, marked=error.problems)
        return Taken(source=self.name, entries=len(self.entries))

    async def close(self) -> None:
        """There is nothing to let go of."""


class HttpSource:
    """Entries behind an address, as JSON.

    Args:
        name: for admins.
        fetcher: gets the body.
        every_s: seconds between two looks.
        keep: how long what it said stays after it was last heard.
        clock: gives aware times.
    """

    def __init__(
        self, name: str, fetcher: Fetches, *, every_s: float, keep: timedelta, clock: Callable[[], datetime]
    ) -> None:
        self.name = name
        self.every_s = every_s
        self._fetcher = fetcher
        self._keep = keep
        self._clock = clock
        self._entries: Mapping[str, Entry] = {}
        self._heard_at: datetime | None = None
        self._good = ""
        self._trouble: Refused | Away | None = None

    @property
    def entries(self) -> Mapping[str, Entry]:
        """See :attr:`Source.entries`."""
        heard_at = self._heard_at
        fresh = heard_at is not None and self._clock() - heard_at <= self._keep
        return self._entries if fresh else {}

    async def look(self) -> Change | None:
        """See :meth:`Source.look`."""
        try:
            content = await self._fetcher.fetch()
        except AwayError as away:
            return self._once(Away(source=self.name, why=str(away)))
        seen = hashlib.sha256(content).hexdigest()
        changed = seen != self._good
        if changed:
            try:
                self._entries = await asyncio.to_thread(read_json, content, source=self.name)
            except RecordError as error:
                return self._once(Refused(source=self.name, problems=str(error), places=error.places))
        self._good, self._heard_at = seen, self._clock()
        back, self._trouble = self._trouble is not None, None
        if changed:
            return Taken(source=self.name, entries=len(self._entries))
        return Back(source=self.name) if back else None

    async def close(self) -> None:
        """See :meth:`Source.close`."""
        await self._fetcher.close()

    def _once(self, trouble: Refused | Away) -> Change | None:
        """The same trouble is told once."""
        if trouble == self._trouble:
            return None
        self._trouble = trouble
        return trouble
