"""The policy in force: read once, replaced whole or not at all (OPS-1)."""

import asyncio
import contextlib
import hashlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from bot.observability.log import get_logger
from policy.document import DocumentError
from policy.errors import PolicyError
from policy.ruleset import Policy
from policy.screening import screen_of

log = get_logger(__name__)
Load = Callable[[str], Policy]


@dataclass(frozen=True, kw_only=True, slots=True)
class Loaded:
    """A new policy is in force."""

    digest: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Refused:
    """The file can't hold; the policy before it stays in force.

    Attributes:
        problems: for the admin; may name people and channels.
        places: for the log: where in the file, nothing of what stands there.
    """

    problems: str
    places: str


class PolicyInForce:
    """Holds the policy and watches its file.

    INVARIANT: ``current`` is always a policy that was checked whole; there is no moment without one.
    """

    def __init__(self, path: Path, load: Load) -> None:
        """Args: load: turns the file's text into a policy.

        Raises:
            PolicyError: the file can't hold; nothing starts.
            OSError: it can't be read.
        """
        self._path = path
        self._load = load
        text = path.read_text(encoding="utf-8")
        self._seen = _digest(text)
        self._current = self._made(text)
        self._wake = asyncio.Event()

    def __call__(self) -> Policy:
        """The policy in force now."""
        return self._current

    def _made(self, text: str) -> Policy:
        policy = self._load(text)
        screen_of(policy).make_ready()  # here, beside the loop: the first message does not wait for it
        return policy

    def poke(self) -> None:
        """Look at the file now (SIGHUP)."""
        self._seen = ""
        self._wake.set()

    def refresh(self) -> Loaded | Refused | None:
        """Read the file if it has changed; None where it has not."""
        try:
            text = self._path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            if self._seen == "unreadable":
                return None
            self._seen = "unreadable"
            cause = f"{self._path.name} can't be read: {type(error).__name__}"
            return Refused(problems=cause, places=cause)
        digest = _digest(text)
        if digest == self._seen:
            return None
        self._seen = digest
        try:
            policy = self._made(text)
        except PolicyError as error:
            places = error.places if isinstance(error, DocumentError) else type(error).__name__
            return Refused(problems=str(error), places=str(places))
        self._current = policy
        return Loaded(digest=digest)

    async def watch(self, tell: Callable[[Loaded | Refused], Awaitable[None]], *, every_s: float = 1.0) -> None:
        """Follow the file until cancelled; ``tell`` hears of each change."""
        while True:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._wake.wait(), every_s)
            self._wake.clear()
            change = await asyncio.to_thread(self.refresh)  # a large file takes seconds to check
            if change is None:
                continue
            try:
                await tell(change)
            except Exception as error:  # noqa: BLE001 - that nobody could be told is no reason to follow the file no more
                log.error("policy_change_not_told", error=type(error).__name__)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
