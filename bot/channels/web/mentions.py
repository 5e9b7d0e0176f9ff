"""Which people a text addresses, by structure (PART-14).

A mention is the token ``@id`` that stands by itself outside code and quotes, and equals the id of somebody in the room.
The page marks them and the server looks again: only what both have found counts. static/text.js holds the same
rules; tests/browser holds both to one table.
"""

import re
from typing import Final

from policy.event import Command, Target

_FENCE: Final = re.compile(r" {0,3}(?P<mark>`{3,}|~{3,})")
_QUOTE: Final = re.compile(r"\s*>")
_INDENTED: Final = re.compile(r" {4}|\t")
_SPAN: Final = re.compile(r"(?<!`)(?P<mark>`+)(?!`).*?(?<!`)(?P=mark)(?!`)", re.DOTALL)
_TOKEN: Final = re.compile(r"(?<![\w@./:+`-])@(?P<id>[a-z0-9][a-z0-9_-]{0,63})(?![\w@/`-]|[.:]\w)")
_COMMAND: Final = re.compile(r"/(?P<name>[A-Za-z0-9_]{1,32})(?:@(?P<target>[A-Za-z0-9_-]{1,64}))?(?=\s|$)")


def addressed(text: str, known: frozenset[str]) -> tuple[str, ...]:
    """Ids of ``known`` that the text mentions, in order, each once."""
    found = (match["id"] for match in _TOKEN.finditer(_spoken(text)))
    return tuple(dict.fromkeys(id_ for id_ in found if id_ in known))


def command_of(text: str, bot: str) -> Command | None:
    """The command at offset 0, if there is one."""
    found = _COMMAND.match(text)
    if found is None:
        return None
    target = Target.NOBODY
    if found["target"] is not None:
        target = Target.SELF if found["target"] == bot else Target.OTHER
    return Command(name=found["name"].lower(), target=target)


def _spoken(text: str) -> str:
    """The text without code blocks, code spans and quoted lines."""
    kept: list[str] = []
    fence = ""
    for line in text.split("\n"):
        mark = _FENCE.match(line)
        if fence:
            if mark is not None and mark["mark"].startswith(fence) and not line[mark.end() :].strip():
                fence = ""
            kept.append("")
        elif mark is not None:
            fence = mark["mark"]
            kept.append("")
        else:
            kept.append("" if _QUOTE.match(line) or _INDENTED.match(line) else line)
    return _SPAN.sub("`", "\n".join(kept))
