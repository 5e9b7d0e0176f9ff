"""All checks of what a text says, made ready once for a policy.

A :class:`Screen` belongs to one policy, which is a frozen value that is replaced whole; :func:`screen_of` keeps those
of the latest. What a text gives away depends on nothing but the text, so the latest answers are kept too: the door asks
when a part is made and again when it is sent.
"""

import hashlib
from collections.abc import Sequence
from functools import cached_property
from typing import Final

from policy.autonomy import Detectors, Topic
from policy.decoding import decoded
from policy.disclosure import Disclosed, Disclosures
from policy.leakage import Terms
from policy.ruleset import Policy

_KEPT: Final = 512
_LONG: Final = 2_048
"""Characters; longer texts are remembered by their digest, so that what is kept stays within a megabyte."""


class Screen:
    """What a policy finds in texts."""

    def __init__(self, policy: Policy) -> None:
        """Args: policy: in force; nothing is made ready before it is asked for."""
        self.policy = policy
        self._seen: dict[tuple[int, str, str | None], tuple[bool, frozenset[Disclosed], frozenset[Topic]]] = {}

    def leaks(self, texts: Sequence[str], counterparty: str | None) -> bool:
        """Whether texts, read one after another, name what belongs to another counterparty (AUTO-5)."""
        if self._terms.leaks(texts, counterparty):
            return True
        become = [decoded(text) for text in texts]
        return any(become) and self._terms.leaks(
            [text if found is None else found for text, found in zip(texts, become, strict=True)], counterparty
        )

    def disclosed(self, text: str) -> frozenset[Disclosed]:
        """What a text gives away (OUT-4)."""
        found, become = self._disclosures.found(text), decoded(text)
        return found if become is None else found | self._disclosures.found(become)

    def topics(self, text: str) -> frozenset[Topic]:
        """What a text is about (AUTO-2, AUTO-3)."""
        return self.detectors.found(text)

    def all(self, text: str, counterparty: str | None) -> tuple[bool, frozenset[Disclosed], frozenset[Topic]]:
        """All three, remembered for a while."""
        short = text if len(text) <= _LONG else hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        key = (len(text), short, counterparty)
        known = self._seen.get(key)
        if known is None:
            known = (self.leaks((text,), counterparty), self.disclosed(text), self.topics(text))
            if len(self._seen) >= _KEPT:
                self._seen.pop(next(iter(self._seen)), None)
            self._seen[key] = known
        return known

    def make_ready(self) -> None:
        """Make ready now what else the first text would wait for."""
        self.all("é0", None)

    @cached_property
    def detectors(self) -> Detectors:
        """Of classes and hard stops."""
        return Detectors(self.policy.detectors)

    @cached_property
    def _terms(self) -> Terms:
        counterparties = self.policy.counterparties.values()
        return Terms((one.id, one.protected_terms) for one in counterparties)

    @cached_property
    def _disclosures(self) -> Disclosures:
        return Disclosures(self.policy.disclosure)


_screens: list[Screen] = []
_SCREENS: Final = 4


def screen_of(policy: Policy) -> Screen:
    """The screen of a policy: the same one as long as the policy is among the latest."""
    for screen in _screens:
        if screen.policy is policy:
            return screen
    screen = Screen(policy)
    _screens.insert(0, screen)
    del _screens[_SCREENS:]
    return screen
