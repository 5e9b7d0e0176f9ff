"""Where something came from or goes to (contract: Words, IDENT-1, IDENT-2).

A destination is platform, workspace (the bot's own account there), channel and, where there is one, thread, written
``telegram:7001:-100123:42`` or ``matrix:@desk:example.org:!abc:example.org``. Matrix ids hold colons themselves, so
each platform has a grammar of its own; whatever does not fit it is malformed and never matches anything.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from policy.errors import PolicyError

_TELEGRAM = re.compile(
    r"(?P<workspace>[1-9][0-9]{0,18}):(?P<channel>-?[1-9][0-9]{0,18})(?::(?P<thread>[1-9][0-9]{0,18}))?"
)
_MATRIX_SERVER = r"[A-Za-z0-9.\-]+(?::[0-9]{1,5})?|\[[0-9A-Fa-f:.]+\](?::[0-9]{1,5})?"
_MATRIX = re.compile(
    rf"(?P<workspace>@[!-9;-~]+:(?:{_MATRIX_SERVER})):(?P<channel>![!-9;-~]+?(?::(?:{_MATRIX_SERVER}))?)"
    r"(?::(?P<thread>\$[!-~]+))?",
)
_WEB = re.compile(
    r"(?P<workspace>[a-z0-9][a-z0-9_-]{0,63}):(?P<channel>[a-z0-9][a-z0-9_-]{0,63})"
    r"(?::(?P<thread>[a-z0-9][a-z0-9_-]{0,63}))?",
)
_GRAMMARS: Final = {"telegram": _TELEGRAM, "matrix": _MATRIX, "web": _WEB}

_ACCOUNTS: Final = {
    "telegram": re.compile(r"[1-9][0-9]{0,18}"),
    "matrix": re.compile(rf"@[!-9;-~]+:(?:{_MATRIX_SERVER})"),
    "web": re.compile(r"[a-z0-9][a-z0-9_-]{0,63}"),
}

PLATFORMS: Final = tuple(_GRAMMARS)


class MalformedDestinationError(PolicyError):
    """The text is no complete destination of a platform that is known."""


class MalformedAccountError(PolicyError):
    """The text is no account of a person or bot on a platform that is known."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Destination:
    """One exact place: ``platform``, ``workspace``, ``channel`` and ``thread`` (None: the channel itself)."""

    platform: str
    workspace: str
    channel: str
    thread: str | None = None

    def __hash__(self) -> int:
        return hash(self.channel)  # enough, and a fourth of the time: places are looked up for every event

    def __str__(self) -> str:
        tail = "" if self.thread is None else f":{self.thread}"
        return f"{self.platform}:{self.workspace}:{self.channel}{tail}"

    @property
    def room(self) -> "Destination":
        """The channel that a thread belongs to; its members are the thread's."""
        if self.thread is None:
            return self
        return destination_of(self.platform, self.workspace, self.channel, None)

    @property
    def account(self) -> str:
        """The bot's own account: ``platform:workspace``."""
        return f"{self.platform}:{self.workspace}"


@lru_cache(maxsize=65_536)
def destination_of(platform: str, workspace: str, channel: str, thread: str | None) -> Destination:
    """A destination from parts that an adapter has authenticated; the same object for the same place, if it can be."""
    return Destination(platform=platform, workspace=workspace, channel=channel, thread=thread)


def parse_destination(text: str) -> Destination:
    """Read a written destination.

    Args:
        text: for example ``telegram:7001:-100123``.

    Returns:
        The destination, every part as it was written.

    Raises:
        MalformedDestinationError: unknown platform, missing part or an id that the platform can't have.
    """
    platform, _, rest = text.partition(":")
    grammar = _GRAMMARS.get(platform)
    if grammar is None:
        raise MalformedDestinationError(f"{platform!r} is no platform; known are {', '.join(PLATFORMS)}")
    found = grammar.fullmatch(rest)
    if found is None:
        raise MalformedDestinationError(_EXAMPLES[platform])
    return destination_of(platform, found["workspace"], found["channel"], found["thread"])


def parse_account(text: str) -> str:
    """Check a written account such as ``telegram:510000001`` and return it.

    Raises:
        MalformedAccountError: unknown platform, or a name where the platform's id belongs.
    """
    platform, _, rest = text.partition(":")
    grammar = _ACCOUNTS.get(platform)
    if grammar is None:
        raise MalformedAccountError(f"{platform!r} is no platform; known are {', '.join(PLATFORMS)}")
    if grammar.fullmatch(rest) is None:
        raise MalformedAccountError(_ACCOUNT_EXAMPLES[platform])
    return text


_EXAMPLES: Final = {
    "telegram": "a Telegram destination is telegram:BOT_ID:CHAT_ID or telegram:BOT_ID:CHAT_ID:TOPIC_ID, numbers only",
    "matrix": "a Matrix destination is matrix:@bot:server:!room:server, then optionally :$thread",
    "web": "a web destination is web:DESK:ROOM, small letters, digits, - and _",
}
_ACCOUNT_EXAMPLES: Final = {
    "telegram": "a Telegram account is telegram: and the person's number, never the @name (names change hands)",
    "matrix": "a Matrix account is matrix:@localpart:server",
    "web": "a web account is web: and a short id of small letters, digits, - and _",
}
