"""Who is addressed, by structure (PART-14).

``m.mentions`` decides alone where it is an object, even an empty one. Only where a client sends none do a link to the
user or the full user id count, outside code, quotes, spoilers and reply fallback. Names, labels, localparts and
``@room`` address nobody. User ids are compared exactly.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from bot.channels.matrix.content import Spoken
from bot.channels.matrix.identifiers import is_user_id
from bot.channels.matrix.markup import Markup, read_markup
from policy.event import Command, Target

Native = Mapping[str, Any]

_MENTIONS: Final = "m.mentions"
_FENCE: Final = re.compile(r" {0,3}(?P<mark>`{3,}|~{3,})")
_ASIDE: Final = re.compile(r" {0,3}>| {4}|\t")
_PARAGRAPHS: Final = re.compile(r"\n[ \t]*\n")
_TICKS: Final = re.compile(r"`+")
_BEFORE: Final = r"(?<![\w@/.=+%&#?~-])"
_AFTER: Final = r"(?![\w@/]|[.-]+\w|:\d)"
_USER_ID: Final = re.compile(
    _BEFORE + r"@[A-Za-z0-9._=/+-]{1,250}:(?:[A-Za-z0-9.-]{1,250}+|\[[0-9A-Fa-f:.]{2,45}\])(?::\d{1,5})?+(?![\w@/])"
)
_COMMAND: Final = re.compile(r"[!/](?P<name>[A-Za-z0-9_]{1,32})(?=\s|$)")
_SEPARATOR: Final = re.compile(r"\s*[:,：，]?\s*")


@dataclass(frozen=True, kw_only=True, slots=True)
class Addressed:
    """Whom a text addresses, and the command that it begins with."""

    mentions_self: bool = False
    mentions_others: bool = False
    command: Command | None = None


def mentions_of(content: Native, now: Native) -> Native | None:
    """``m.mentions`` of the content as it stands now; None: the client sends none.

    Args:
        content: of the event. In an edit its own list holds only those who are newly mentioned; it is asked only where
            the new content has none.
        now: the same, or the new content of an edit.
    """
    for one in (now, content):
        mentions = one.get(_MENTIONS)
        if isinstance(mentions, Mapping):
            return mentions
    return None


def addressed(said: Spoken, mentions: Native | None, *, user_id: str, sender: str, direct: bool) -> Addressed:
    """Read whom a message addresses.

    Args:
        said: the words.
        mentions: of :func:`mentions_of`.
        user_id: the bot's own.
        sender: user id of the author, whose own id in the text addresses nobody.
        direct: in a one-to-one chat a command is for nobody else.
    """
    markup: Markup | None = None
    if mentions is not None:
        listed = mentions.get("user_ids")
        found: Iterable[Any] = listed if isinstance(listed, list) else ()
    else:
        markup = _markup(said)
        found = _mentioned(said, markup, user_id)
    mine = others = False
    for one in found:
        if one == user_id:
            mine = True
        elif one != sender and is_user_id(one):
            others = True
    name = _command(said, markup, user_id, mine=mine)
    command = None if name is None else Command(name=name, target=_target(mine=mine, others=others, direct=direct))
    return Addressed(mentions_self=mine, mentions_others=others, command=command)


def _target(*, mine: bool, others: bool, direct: bool) -> Target:
    if mine:
        return Target.SELF
    return Target.OTHER if others and not direct else Target.NOBODY


def _markup(said: Spoken) -> Markup | None:
    return None if said.html is None else read_markup(said.html)


def _mentioned(said: Spoken, markup: Markup | None, user_id: str) -> Iterator[str]:
    """User ids of the links and in the text. Where there is a formatted body it alone tells what is code."""
    text = said.text
    if markup is not None:
        yield from markup.pills
        text = markup.text
    if "@" not in text:
        return
    text = _outside(text)
    if _own(user_id).search(text):
        yield user_id
    for match in _USER_ID.finditer(text):
        found = match[0].rstrip(".-")
        if found != user_id:
            yield found


@lru_cache(maxsize=64)
def _own(user_id: str) -> re.Pattern[str]:
    return re.compile(_BEFORE + re.escape(user_id) + _AFTER)


def _command(said: Spoken, markup: Markup | None, user_id: str, *, mine: bool) -> str | None:
    """Name of the command at the start, or right after the bot's own address.

    A formatted body has to begin with a command too: only there can be seen that it stands in code or in a quote.
    """
    text = said.text
    if not text.startswith(("!", "/")) and not mine:
        return None
    markup = markup or _markup(said)
    if markup is None:
        return _name(_past_id(text, user_id) if mine else text)
    if mine and markup.lead == user_id:
        shown = _past(markup.after)
        text = _past(text.removeprefix(markup.label)) if text.startswith(markup.label) else _past_id(text, user_id)
    elif mine:
        shown, text = _past_id(markup.shown.lstrip(), user_id), _past_id(text, user_id)
    else:
        shown = markup.shown.lstrip()
    seen = _name(shown)
    return None if seen is None else _name(text) or seen


def _name(text: str) -> str | None:
    found = _COMMAND.match(text)
    return None if found is None else found["name"].lower()


def _past(text: str) -> str:
    found = _SEPARATOR.match(text)
    return text if found is None else text[found.end() :]


def _past_id(text: str, user_id: str) -> str:
    """The text after the bot's full id, if it begins with it."""
    found = _own(user_id).match(text)
    return text if found is None else _past(text[found.end() :])


def _outside(text: str) -> str:
    """The text without code blocks, code spans and quoted lines."""
    kept: list[str] = []
    fence = ""
    for line in text.split("\n"):
        mark = _FENCE.match(line)
        if fence:
            if mark is not None and mark["mark"].startswith(fence) and not line[mark.end() :].strip():
                fence = ""
            kept.append("")
        elif mark is not None and not (mark["mark"][0] == "`" and "`" in line[mark.end() :]):
            fence = mark["mark"]
            kept.append("")
        else:
            kept.append("" if _ASIDE.match(line) else line)
    joined = "\n".join(kept)
    if "`" not in joined:
        return joined
    return "\n\n".join(_without_spans(paragraph) for paragraph in _PARAGRAPHS.split(joined))


def _without_spans(text: str) -> str:
    """The text without what stands between two equal runs of backticks. Goes over the runs twice, not more."""
    runs = [match.span() for match in _TICKS.finditer(text)]
    partner: dict[int, int] = {}
    last: dict[int, int] = {}
    for number in range(len(runs) - 1, -1, -1):
        length = runs[number][1] - runs[number][0]
        if length in last:
            partner[number] = last[length]
        last[length] = number
    kept: list[str] = []
    at = number = 0
    while number < len(runs):
        closing = partner.get(number)
        if closing is None:
            number += 1
            continue
        kept.append(text[at : runs[number][0]])
        kept.append("`")
        at = runs[closing][1]
        number = closing + 1
    kept.append(text[at:])
    return "".join(kept)
