"""Words for one person, in their language (OPS-5).

The language is the person's, where the platform tells it, else the policy's, else English; the caller decides which of
the two it has, this module finds the nearest catalogue.
"""

import gettext
from collections.abc import Iterable, Mapping
from functools import lru_cache
from importlib.resources import files
from typing import Final

from bot.texts.codes import Failure, Notice, Stop
from bot.texts.sentences import FAILURES, NOTICES, REASONS, STOPS
from policy.reasons import Reason

DOMAIN: Final = "discreet"
FALLBACK: Final = "en"
LANGUAGES: Final = ("en", "bg", "de", "es", "ru")
_LONGEST_TAG: Final = 35  # characters; RFC 5646 asks for no more, and the tag comes from outside


@lru_cache(maxsize=256)
def nearest(tag: str | None) -> str:
    """The language of the catalogues that is nearest to a BCP 47 tag; English where none is.

    Args:
        tag: such as ``de-AT``; None, unknown and malformed ones are allowed.
    """
    if not tag or len(tag) > _LONGEST_TAG:
        return FALLBACK
    from babel.core import negotiate_locale

    wanted = tag.replace("_", "-").casefold()
    found = negotiate_locale([wanted, wanted.partition("-")[0]], LANGUAGES, sep="-")
    return FALLBACK if found is None else found


class Words:
    """The gateway's words in one language."""

    def __init__(self, language: str | None) -> None:
        """Args: language: a BCP 47 tag; the nearest catalogue is taken."""
        self.language = nearest(language)

    def say(self, code: Failure | Notice, /, **values: str | int) -> str:
        """The sentence of a code.

        Args:
            code: what to say.
            values: for the names in braces. A name without a value shows as a dash rather than not at all.
        """
        if isinstance(code, Failure):
            sentence = translate(self.language, f"failure.{code.value}", FAILURES[code])
        else:
            sentence = translate(self.language, f"notice.{code.value}", NOTICES[code])
        return sentence.format_map(_Values(values)) if "{" in sentence else sentence

    def explain(self, reason: Reason) -> str:
        """Why an event was decided as it was, in one sentence."""
        return translate(self.language, f"reason.{reason.value}", REASONS[reason])

    def stopped(self, stops: Iterable[Stop]) -> str:
        """Why an answer was stopped: part of a sentence."""
        parts = [translate(self.language, f"stop.{stop.value}", STOPS[stop]) for stop in dict.fromkeys(stops)]
        return "; ".join(parts)


def explain(reason: Reason, language: str | None = None) -> str:
    """Why an event was decided as it was, in one sentence."""
    return Words(language).explain(reason)


def page_words(language: str | None, english: Mapping[str, str]) -> dict[str, str]:
    """The words of a page in the nearest language.

    Args:
        language: a BCP 47 tag.
        english: the page's sentences by key; their translations stand in the same catalogues.
    """
    found = nearest(language)
    return {key: translate(found, key, sentence) for key, sentence in english.items()}


def translate(language: str, key: str, sentence: str) -> str:
    """The translation of an English sentence; the sentence itself where there is none."""
    return sentence if language == FALLBACK else _catalogue(language).pgettext(key, sentence)


@lru_cache(maxsize=len(LANGUAGES))
def _catalogue(language: str) -> gettext.NullTranslations:
    compiled = files(__package__).joinpath("locales", language, "LC_MESSAGES", f"{DOMAIN}.mo")
    with compiled.open("rb") as stream:
        return gettext.GNUTranslations(stream)


class _Values(dict[str, str | int]):
    """A missing value must not cost a person the sentence."""

    def __missing__(self, key: str) -> str:
        return "–"
