"""What people read of a clarification beyond its question: English by key; the catalogues have the others (OPS-5)."""

from collections.abc import Mapping
from typing import Final

from bot.texts.words import page_words

ENGLISH: Final[Mapping[str, str]] = {
    "clarification.unclear": "I could not tell which one you mean.",
    "clarification.between": "That fits more than one of them. Which one do you mean?",
    "clarification.gone": "“{choice}” is no longer available. Please choose again.",
    "clarification.outdated": "Something has changed meanwhile. Please answer once more.",
    "clarification.cancelled": "All right, I have stopped working on this.",
    "clarification.corrected": "Thank you, corrected.",
    "clarification.not_corrected": "I could not tell what you mean by this change, so everything stays as it was.",
}


class ClarificationWords:
    """The words in one language."""

    def __init__(self, language: str | None) -> None:
        """Args: language: BCP 47 tag; the nearest catalogue is taken."""
        self._words = page_words(language, ENGLISH)

    def say(self, key: str, **values: str) -> str:
        """One of :data:`ENGLISH`, without its prefix."""
        return self._words[f"clarification.{key}"].format(**values)
