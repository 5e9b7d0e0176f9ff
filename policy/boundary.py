"""What may leave, for whom (OUT-1 to 5, AUTO-2 to 5): the last check, on the final words.

The door (:mod:`bot.deliveries.door`) calls :func:`release` for every part of every output and mints a clearance for
what it lets through; nothing else can. The check is a function of what is said, why it may be said at all, and who
reads it.

What the words say is looked at last and only where outsiders read along: inside everything may be said.

- another counterparty's terms and what is never disclosed: withheld, whoever speaks, approved or not;
- a hard stop in the agent's words: withheld, approved or not;
- a class of drafts in the agent's words: withheld, unless exactly these words were approved (Basis.DRAFT).

An echo brings up to date what was asked: its words were cleared as the agent's when it was asked, and what people have
typed there since is no act and no offer of the agent's. Where it can't be shown again the card closes without it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from policy.blank import is_blank
from policy.content import HardStop
from policy.decision import Audience
from policy.ruleset import ChannelPolicy, ContentClass
from policy.screening import Screen


class Speech(StrEnum):
    """What kind of output it is. The agent labels its own; the audience decides what that is worth."""

    FINAL = "final"
    FRAGMENT = "fragment"  # an answer while it grows
    ECHO = "echo"  # a question that is brought up to date: words that were cleared, and what people have typed there
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
    DRAFT_ONLY = "draft_only"  # an operator would have to see it first (AUTO-1, AUTO-2)
    HARD_STOP = "hard_stop"  # never sent, approval or not (AUTO-3)
    LEAK = "leak"  # it may name what belongs to another counterparty (AUTO-5)
    DISCLOSURE = "disclosure"  # it has what never goes outside (OUT-4)
    RULE_FAILED = "rule_failed"  # nobody knows what it says


_EVERYONE = frozenset({Speech.FINAL, Speech.FRAGMENT, Speech.ECHO, Speech.SAFE_ERROR, Speech.SIGN})
_TRUSTED = _EVERYONE | {Speech.PROGRESS, Speech.OPERATIONAL, Speech.REPORT}
_INTERNAL = _TRUSTED | {Speech.ACKNOWLEDGEMENT}
_MAY: dict[Audience, frozenset[Speech]] = {
    Audience.EXTERNAL: _EVERYONE,
    Audience.UNKNOWN: _EVERYONE,
    Audience.OPERATOR: _TRUSTED,
    Audience.INTERNAL: _INTERNAL,
}
_OF_THE_AGENT = frozenset({Speech.FINAL, Speech.FRAGMENT, Speech.PROGRESS, Speech.OPERATIONAL})
_FOR_ITS_READERS = _OF_THE_AGENT | {Speech.ECHO, Speech.REPORT}


@dataclass(frozen=True, kw_only=True, slots=True)
class Utterance:
    """One part as it would reach people.

    Attributes:
        speech: its kind.
        text: everything that a person could read in it: words, captions, button texts, file names.
        contents: what could be read in its files, where they are text.
        files: how many files it carries.
        removes: it takes something away (buttons, a message) and so may be wordless.
    """

    speech: Speech
    text: str = field(repr=False)
    contents: tuple[str, ...] = field(default=(), repr=False)
    files: int = 0
    removes: bool = False


def release(
    utterance: Utterance,
    *,
    settings: ChannelPolicy,
    basis: Basis,
    screen: Screen,
    readers_changed: bool = False,
) -> Withheld | None:
    """Let a part leave, or say why not.

    Args:
        utterance: final, after prefixes, formatting and splitting (OUT-2).
        settings: of its destination, with the audience resolved now (OUT-5).
        basis: why anything may be said there.
        screen: finds what words say, by the policy in force.
        readers_changed: others read along than those for whom it was written.

    Returns:
        None when it may leave.
    """
    audience = settings.audience
    if basis is Basis.NONE:
        return Withheld.NO_BASIS
    if utterance.speech not in _MAY[audience]:
        return Withheld.AUDIENCE
    if basis is Basis.REPORT and not audience.trusted:
        return Withheld.AUDIENCE  # OUT-8: there is no fallback to the outside
    if readers_changed and utterance.speech in _FOR_ITS_READERS:
        return Withheld.READERS_CHANGED
    if utterance.speech in _OF_THE_AGENT and basis is not Basis.DRAFT and not _automatic(settings):
        return Withheld.DRAFT_ONLY
    if utterance.speech is Speech.PROGRESS and not settings.progress:
        return Withheld.NOT_ALLOWED_HERE
    wordless = utterance.speech is Speech.SIGN or utterance.files or utterance.removes
    if not wordless and is_blank(utterance.text):
        return Withheld.EMPTY
    return _content(utterance, settings, basis, screen)


def release_together(
    utterances: Sequence[Utterance], *, settings: ChannelPolicy, basis: Basis, screen: Screen
) -> Withheld | None:
    """Look at the parts of one answer as they are read, one after another: a word may be cut between two.

    Each of them has been let through by :func:`release`.
    """
    if len(utterances) < 2 or settings.audience.trusted:
        return None
    if screen.leaks([one.text for one in utterances], settings.counterparty):
        return Withheld.LEAK
    first = utterances[0]
    return _content(
        Utterance(speech=first.speech, text="".join(one.text for one in utterances)), settings, basis, screen
    )


def _automatic(settings: ChannelPolicy) -> bool:
    """AUTO-1: whether anything of the agent's may leave without an operator."""
    return settings.autonomy.automatic and ContentClass.ROUTINE not in settings.autonomy.draft_only


def _content(utterance: Utterance, settings: ChannelPolicy, basis: Basis, screen: Screen) -> Withheld | None:
    """What the words say, by the strictest rule first."""
    if settings.audience.trusted:
        return None
    found = [screen.all(text, settings.counterparty) for text in (utterance.text, *utterance.contents) if text]
    if any(leaks for leaks, _, _ in found):
        return Withheld.LEAK
    if any(disclosed for _, disclosed, _ in found):
        return Withheld.DISCLOSURE
    if utterance.speech not in _OF_THE_AGENT:
        return None
    topics = {topic for _, _, topics in found for topic in topics}
    if any(isinstance(topic, HardStop) for topic in topics):
        return Withheld.HARD_STOP
    if basis is not Basis.DRAFT and not settings.autonomy.draft_only.isdisjoint(topics):
        return Withheld.DRAFT_ONLY
    return None
