"""What a piece of code does to the network and to files while it is watched (audit events of the interpreter)."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

_NETWORK: Final = ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto", "urllib.Request")
_OWN: Final = tuple({str(Path(place).resolve()) for place in (sys.prefix, sys.base_prefix, Path(__file__).parents[2])})
_heard: list[list[str]] = []


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if not _heard:
        return
    if event in _NETWORK:
        _heard[-1].append(f"{event} {arguments[-1]!r}")
        raise PermissionError("the network is shut")
    if event == "open" and isinstance(arguments[0], str) and not str(Path(arguments[0]).resolve()).startswith(_OWN):
        _heard[-1].append(f"open {arguments[0]!r}")
    if event in {"subprocess.Popen", "os.system", "os.exec", "os.posix_spawn"}:
        _heard[-1].append(event)


sys.addaudithook(_hook)  # for good: nothing is heard outside of `watched`


@contextmanager
def watched() -> Iterator[list[str]]:
    """Shut the network inside, and write down who wanted it, and files outside of the interpreter and this tree."""
    heard: list[str] = []
    _heard.append(heard)
    try:
        yield heard
    finally:
        _heard.remove(heard)
