"""What may leave, for whom (OUT-1 to 3, OUT-5): the last check, on the final words.

The door (:mod:`bot.deliveries.door`) calls :func:`release` for every part of every output and mints a clearance for
what it lets through; nothing else can. The check is a function of what is said, why it may be said at all, and who
reads it.
"""

from dataclasses import dataclass, field
from enum import StrEnum

from policy.blank import is_blank
from policy.decision import Audience


class Speech(StrEnum):
    """What kind of output it is. The agent labels its own; the audience decides what that is worth."""

    FINAL = "final"
    FRAGMENT = "fragment"  # an answer while it grows
    SAFE_ERROR = "safe_error"  # one plain sentence from the gateway's catalogue (OUT-7)
    ACKNOWLEDGEMENT = "acknowledgement"  # PART-10
    PROGRESS = "progress"
    OPERATIONAL = "operational"
    REPORT = "report"  # from the gateway to operators (OUT-8)
    SIGN = "sign"  # typing, a reaction, the end of a spinner: no words of its own


class Basis(StrEnum):
    """Why anything may be said at a destination at all."""

    REQUEST = "request"  # an event there was decided RESPOND
    REPORT = "report"  # a verified internal destination of reports
    DRAFT = "draft"  # an operator has approved exactly these words for this destination (AUTO-6)
    GRANT = "grant"  # a scheduled delivery with a grant for this destination (OUT-6)
    NONE = "none"


class Withheld(StrEnum):
    """Why a part does not leave."""

    NO_BASIS = "no_basis"
    AUDIENCE = "audience"
    NOT_ALLOWED_HERE = "not_allowed_here"
    EMPTY = "empty"
    READERS_CHANGED = "readers_changed"  # it was written for others than those who read along now (OUT-5)
    DRAFT_ONLY = "draft_only"  # an operator would have to see it first (AUTO-1)


_EVERYONE = frozenset({Speech.FINAL, Speech.FRAGMENT, Speech.SAFE_ERROR, Speech.SIGN})
_TRUSTED = _EVERYONE | {Speech.PROGRESS, Speech.OPERATIONAL, Speech.REPORT}
_INTERNAL = _TRUSTED | {Speech.ACKNOWLEDGEMENT}
_MAY: dict[Audience, frozenset[Speech]] = {
    Audience.EXTERNAL: _EVERYONE,
    Audience.UNKNOWN: _EVERYONE,
    Audience.OPERATOR: _TRUSTED,
    Audience.INTERNAL: _INTERNAL,
}
_OF_THE_AGENT = frozenset({Speech.FINAL, Speech.FRAGMENT, Speech.PROGRESS, Speech.OPERATIONAL})
_FOR_ITS_READERS = _OF_THE_AGENT | {Speech.REPORT}


@dataclass(frozen=True, kw_only=True, slots=True)
class Utterance:
    """One part as it would reach people.

    Attributes:
        speech: its kind.
        text: everything that a person could read in it: words, captions, button texts, file names.
        files: how many files it carries.
        removes: it takes something away (buttons, a message) and so may be wordless.
    """

    speech: Speech
    text: str = field(repr=False)
    files: int = 0
    removes: bool = False


def release(
    utterance: Utterance,
    *,
    audience: Audience,
    basis: Basis,
    progress: bool,
    automatic: bool,
    readers_changed: bool = False,
) -> Withheld | None:
    """Let a part leave, or say why not.

    Args:
        utterance: final, after prefixes, formatting and splitting (OUT-2).
        audience: of its destination, resolved now (OUT-5).
        basis: why anything may be said there.
        progress: whether the policy shows progress there.
        automatic: whether the agent's words may leave without an operator (AUTO-1).
        readers_changed: others read along than those for whom it was written.

    Returns:
        None when it may leave.
    """
    if basis is Basis.NONE:
        return Withheld.NO_BASIS
    if utterance.speech not in _MAY[audience]:
        return Withheld.AUDIENCE
    if basis is Basis.REPORT and not audience.trusted:
        return Withheld.AUDIENCE  # OUT-8: there is no fallback to the outside
    if readers_changed and utterance.speech in _FOR_ITS_READERS:
        return Withheld.READERS_CHANGED
    if utterance.speech in _OF_THE_AGENT and not automatic:
        return Withheld.DRAFT_ONLY
    if utterance.speech is Speech.PROGRESS and not progress:
        return Withheld.NOT_ALLOWED_HERE
    wordless = utterance.speech is Speech.SIGN or utterance.files or utterance.removes
    if not wordless and is_blank(utterance.text):
        return Withheld.EMPTY
    return None
