"""What people write about an approval, read by closed lists and never by a model (FORM-14, D-018).

A reply decides if the whole of it is a decision: a word of the lists, or ``approve``, ``deny`` or ``return`` with the
code, and after the latter two the reason or comment. Whatever else stands there is conversation.
"""

import re
from dataclasses import dataclass, field
from typing import Final

from bot.model.approval import Approval, Verdict
from forms.selection import decision, is_weak

_VERB: Final = re.compile(
    r"\s*[!/]?(?P<verb>approve|deny|return)(?:@\S+)?(?:[\s:,.]+(?P<rest>.*))?\s*", re.IGNORECASE | re.DOTALL
)
_COMMAND: Final = re.compile(
    r"[\s\S]*?[!/](?:approve|deny|return)(?:@\S+)?(?:\s+(?P<rest>.*))?", re.IGNORECASE | re.DOTALL
)
_CODE: Final = re.compile(r"(?P<code>[A-Za-z0-9]{4,12})(?:[\s:,.]+(?P<rest>.*))?", re.DOTALL)
_VERSION: Final = re.compile(r"[0-9a-f]{6,64}")
SHOWN: Final = 6
"""Hexadecimal digits of the version that a command names once another one was there before (APPR-3)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Said:
    """A decision in words.

    Attributes:
        verdict: what is decided.
        words: reason or comment; may be empty.
        weak: people say it to each other as well: it counts as a reply to the card itself alone.
    """

    verdict: Verdict
    words: str = field(default="", repr=False)
    weak: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Ordered:
    """A control command: the code that it names (empty: none), and what follows."""

    code: str
    words: str = field(default="", repr=False)


def read_reply(text: str, code: str) -> Said | None:
    """A reply to what shows an approval; None: it decides nothing.

    Args:
        text: without the bot's own address.
        code: of that approval; one that names another code decides nothing.
    """
    sure = decision(text)
    if sure is not None:
        return Said(verdict=Verdict.APPROVE if sure else Verdict.DENY, weak=is_weak(text))
    found = _VERB.fullmatch(text)
    if found is None:
        return None
    verdict, rest = Verdict(found["verb"].lower()), (found["rest"] or "").strip()
    named = _CODE.fullmatch(rest)
    if named is not None and named["code"].upper() == code:
        rest = (named["rest"] or "").strip()
    if verdict is Verdict.APPROVE and rest:
        return None  # "approve everything but the last line" approves nothing
    return Said(verdict=verdict, words=rest)


def is_justification(text: str) -> bool:
    """Whether words can be the reason why something goes ahead: no mere decision, and none that begins with a no."""
    first = text.split(maxsplit=1)[:1]
    return decision(text) is None and not any(
        decision(word.strip(".,:;!")) is False or _VERB.fullmatch(word.strip(".,:;!")) for word in first
    )


def read_command(text: str) -> Ordered:
    """What follows a control command: ``/deny@desk K7QM2 too early``."""
    found = _COMMAND.fullmatch(text)
    rest = "" if found is None else (found["rest"] or "").strip()
    named = _CODE.fullmatch(rest)
    if named is None:
        return Ordered(code="", words=rest)
    return Ordered(code=named["code"].upper(), words=(named["rest"] or "").strip())


def is_current(approval: Approval, words: str) -> bool:
    """Whether a command to approve names the version that stands now, where another one was shown before (APPR-3)."""
    if not words:
        return not approval.replaced
    return _VERSION.fullmatch(words.lower()) is not None and approval.version.startswith(words.lower())


def code_of(approval: Approval) -> str:
    """What a command to approve has to name."""
    return f"{approval.code} {approval.version[:SHOWN]}" if approval.replaced else approval.code
