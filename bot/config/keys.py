"""The file of the agents' keys: a line for each, ``agent-name key``; empty lines and lines after # are passed over.

INVARIANT: no error quotes a key.
"""

from collections.abc import Collection
from typing import Final

from bot.config.secret import Secret

SHORTEST: Final = 24
"""Characters; 16 random bytes in base64 are as many."""
LONGEST: Final = 512
_SIZE_LIMIT: Final = 64 << 10  # bytes
_MAKE: Final = "make one with: python3 -c 'import secrets; print(secrets.token_urlsafe(32))'"


class KeysError(Exception):
    """The file can't be taken: which line and why, and the mend."""

    def __init__(self, message: str, mend: str) -> None:
        super().__init__(message)
        self.mend = mend


def read_keys(content: bytes, agents: Collection[str]) -> dict[str, Secret]:
    """The keys by agent.

    Args:
        content: of the file.
        agents: names that there are.

    Raises:
        KeysError: a line that can't hold, or no key at all.
    """
    if len(content) > _SIZE_LIMIT:
        raise KeysError("it is too large", "keep a line for each agent in it, and nothing else")
    try:
        lines = content.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise KeysError("this is no UTF-8", "save the file as UTF-8") from None
    keys: dict[str, Secret] = {}
    for number, line in enumerate(lines, start=1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        if len(words) != 2:
            raise KeysError(f"line {number}: this is no name and key", "write the agent's name, a space, its key")
        name, key = words
        if name not in agents:
            raise KeysError(f"line {number}: no agent has this name", f"known are {', '.join(sorted(agents))}")
        if name in keys:
            raise KeysError(f"line {number}: this agent has a key already", "keep one")
        if not (key.isascii() and key.isprintable() and SHORTEST <= len(key) <= LONGEST):
            raise KeysError(f"line {number}: this key is too short, too long or not ASCII", _MAKE)
        if Secret(key) in keys.values():
            raise KeysError(f"line {number}: another agent has the same key", f"give each its own: {_MAKE}")
        keys[name] = Secret(key)
    if not keys:
        raise KeysError("it holds no key", "write a line for each agent: its name, a space, its key")
    return keys
