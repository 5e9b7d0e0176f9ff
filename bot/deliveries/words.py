"""What operators read about grants and about what stands open: English by key; the catalogues have the others (OPS-5).

None of these sentences holds a word of an agent or of a stranger.
"""

from collections.abc import Mapping
from typing import Final

from bot.texts.words import page_words

_PREFIX: Final = "grant."

SENTENCES: Final[Mapping[str, str]] = {
    "help": "A grant lets one agent write to one place unasked. Write: /grant AGENT DESTINATION USES TIME PURPOSE, "
    "such as `/grant {agent} {destination} 3 8h weekly figures`. "
    "The destination is written out in full; “here” is never guessed.",
    "help_revoke": "Write /revoke and the id of the grant. `discreet grants list` shows them.",
    "issued": "Granted: `{grant}`. Agent `{agent}` may write to `{destination}` until {until}. Times: {uses}. "
    "`/revoke {grant}` takes it back.",
    "revoked": "Grant `{grant}` is taken back.",
    "unknown": "There is no grant `{grant}` that could be taken back.",
    "agent": "There is no such agent. There are: {agents}.",
    "destination": "That is no complete destination. Write it out, such as `{destination}`.",
    "account": "This gateway has no bot with that account. It has: {accounts}.",
    "uses": "A grant has from 1 to {most} uses.",
    "duration": "Say how long it is to last, from 1m to 366d, such as 8h.",
    "purpose": "Say in a few words what the grant is for.",
    "used": "That grant was made before, and differently.",
    "status": "What stands open:",
    "status.approvals": "Approvals that wait for a decision: {count}",
    "status.drafts": "Drafts that wait for a decision: {count}",
    "status.unreconciled": "Actions whose outcome nobody knows: {count}",
    "status.unknown": "Messages of which nobody knows whether they arrived: {count}",
    "status.grants": "Grants that can be used: {count}",
    "status.deliveries": "Scheduled deliveries: {count}",
}
ENGLISH: Final[dict[str, str]] = {f"{_PREFIX}{key}": sentence for key, sentence in SENTENCES.items()}


class GrantWords:
    """The words around grants in one language."""

    def __init__(self, language: str | None) -> None:
        """Args: language: a BCP 47 tag; the nearest catalogue is taken."""
        self._words = page_words(language, ENGLISH)

    def say(self, key: str, **values: str | int) -> str:
        """A sentence.

        Args:
            key: of :data:`SENTENCES`.
            values: for the names in braces.
        """
        sentence = self._words[_PREFIX + key]
        return sentence.format_map(values) if "{" in sentence else sentence
