"""The files of keys: a line for each agent or dispatcher, ``name key``; empty lines and lines after # are left out.

INVARIANT: no error quotes a key.
"""

import re
from collections.abc import Collection
from typing import Final

from bot.config.secret import Secret

SHORTEST: Final = 24
"""Characters; 16 random bytes in base64 are as many."""
LONGEST: Final = 512
_SIZE_LIMIT: Final = 64 << 10  # bytes
_NAME: Final = re.compile(r"[a-z][a-z0-9_-]{0,63}").fullmatch
_MAKE: Final = "make one with: python3 -c 'import secrets; print(secrets.token_urlsafe(32))'"


class KeysError(Exception):
    """The file can't be taken: which line and why, and the mend."""

    def __init__(self, message: str, mend: str) -> None:
        super().__init__(message)
        self.mend = mend


def read_keys(content: bytes, names: Collection[str] | None) -> dict[str, Secret]:
    """The keys by name.

    Args:
        content: of the file.
        names: of the agents that there are; None: any name may stand there, as it does for dispatchers.

    Raises:
        KeysError: a line that can't hold, or no key at all.
    """
    whose = "dispatcher" if names is None else "agent"
    if len(content) > _SIZE_LIMIT:
        raise KeysError("it is too large", f"keep a line for each {whose} in it, and nothing else")
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
            raise KeysError(f"line {number}: this is no name and key", f"write the {whose}'s name, a space, its key")
        name, key = words
        if names is not None and name not in names:
            raise KeysError(f"line {number}: no agent has this name", f"known are {', '.join(sorted(names))}")
        if names is None and _NAME(name) is None:
            raise KeysError(f"line {number}: this is no name", "take small letters, digits, - and _")
        if name in keys:
            raise KeysError(f"line {number}: this {whose} has a key already", "keep one")
        if not (key.isascii() and key.isprintable() and SHORTEST <= len(key) <= LONGEST):
            raise KeysError(f"line {number}: this key is too short, too long or not ASCII", _MAKE)
        if Secret(key) in keys.values():
            raise KeysError(f"line {number}: another {whose} has the same key", f"give each its own: {_MAKE}")
        keys[name] = Secret(key)
    if not keys:
        raise KeysError("it holds no key", f"write a line for each {whose}: its name, a space, its key")
    return keys
