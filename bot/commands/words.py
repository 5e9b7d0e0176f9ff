"""What people read about commands, in English; the catalogues translate it (OPS-5, CMD-4)."""

from typing import Final

from bot.texts.words import page_words

ENGLISH: Final[dict[str, str]] = {
    "command.refused": "“{command}” can't be done. {reasons}",
    "command.refused_for": "“{command}” can't be done for {object}. {reasons}",
    "command.not_kept": "The reason is not kept any more.",
    "command.summary": "Summary of a conversation:",
    "command.handover": "A conversation is handed over to a person (request {request}).",
    "command.handover_who": "Who asks: {person}.",
    "command.handover_where": "Where: `{place}`.",
    "command.handover_what": "What it is about: {object}.",
    "command.handover_said": "They said:",
    "command.handover_words": "The agent says:",
    "command.handover_stranger": "somebody whom the policy does not know",
    "command.unknown": "Nobody can tell whether a command was carried out (run {run}). "
    "It will not be run again by itself.",
}


class CommandWords:
    """The words in one language."""

    def __init__(self, language: str | None) -> None:
        """Args: language: BCP 47 tag; the nearest catalogue is taken."""
        self._words = page_words(language, ENGLISH)

    def say(self, key: str, **values: str) -> str:
        """One of :data:`ENGLISH`, without its prefix."""
        return self._words[f"command.{key}"].format(**values)
