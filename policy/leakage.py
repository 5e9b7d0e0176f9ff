"""Whether a text names what belongs to another counterparty (AUTO-5).

Protected terms and texts are folded alike (:mod:`policy.folding`) and compared without what stands between letters,
so that "B l u e  H e r o n", "Blue-Heron" and look-alikes are all found; thousands of terms in one pass. Where words
begin and end decides then what counts:

- a term stands as words of its own: "Ada" is not in "Canada". In "AdaReport" and "ada2" it is, and where a script has
  no spaces it is everywhere;
- a term from five letters on may have an ending of up to two (Herons);
- a term of several words with eight letters or more is found in the middle of anything;
- a term of up to six letters is not put together from pieces of other words ("in es" is not "Ines"), single letters
  apart.

What is covered by a term of one's own is one's own: "Blue Heron Labs" in its own channel, where another counterparty
is called Heron. What matched is never told.
"""

import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from ahocorasick_rs import AhoCorasick, Implementation

from policy.folding import has_strokes, plain, skeleton, strokes

_SHORT: Final = 6
_ENDED: Final = 5
_ENDING: Final = 2
_GLUED: Final = 8
_UNSPACED: Final = ((0x0E00, 0x0EFF), (0x1000, 0x109F), (0x1780, 0x17FF))
"""Thai, Lao, Burmese, Khmer: scripts without spaces that are not wide."""

_NONE, _SOFT, _HARD = 0, 1, 2

Fold = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class _Term:
    owners: frozenset[str]
    inner: frozenset[int]  # where its own words part, in letters from its start


class Terms:
    """The protected terms of all counterparties, ready to be looked for."""

    def __init__(self, protected: Iterable[tuple[str, Iterable[str]]]) -> None:
        """Args: protected: the terms of each counterparty, by its id."""
        known: dict[str, _Term] = {}
        self._cased = False
        for owner, terms in protected:
            for term in terms:
                self._cased |= skeleton(term.upper()) != skeleton(term.lower())
                for folded in {fold(term) for fold in _forms_of(term)}:
                    _add(known, owner, folded)
        self._terms = list(known.values())
        self._matcher = (
            AhoCorasick(list(known), implementation=Implementation.ContiguousNFA, store_patterns=False)
            if known
            else None
        )

    def leaks(self, texts: Sequence[str], counterparty: str | None) -> bool:
        """Whether texts that are read one after another name what belongs to others.

        Args:
            texts: the parts of one answer; a term that is cut between two of them is found.
            counterparty: whose own terms are fine; None: all terms belong to others.
        """
        if self._matcher is None:
            return False
        whole = [*texts, "".join(texts)] if len(texts) > 1 else texts
        return any(self._leaks(text, counterparty) for text in whole)

    def _leaks(self, text: str, counterparty: str | None) -> bool:
        return any(self._found(text, fold, counterparty) for fold in self._forms(text))

    def _found(self, text: str, fold: Fold, counterparty: str | None) -> bool:
        assert self._matcher is not None  # noqa: S101 - the caller has looked
        letters = fold(text).replace(" ", "")
        matches = self._matcher.find_matches_as_indexes(letters, overlapping=True)
        if not matches or all(counterparty in self._terms[number].owners for number, _, _ in matches):
            return False
        edges = _edges(text, fold, len(letters))
        own: list[tuple[int, int]] = []
        foreign: list[tuple[int, int]] = []
        for number, start, end in matches:
            term = self._terms[number]
            if _stands(term, start, end, edges):
                (own if counterparty in term.owners else foreign).append((start, end))
        return any(not any(a <= start and end <= z for a, z in own) for start, end in foreign)

    def _forms(self, text: str) -> list[Fold]:
        """The forms in which a text is searched; those that would find nothing more are left out."""
        forms: list[Fold] = [skeleton]
        if self._cased and not text.isascii():
            forms.append(plain)
        if has_strokes(text):
            forms.append(strokes)
        return forms


def _add(known: dict[str, _Term], owner: str, folded: str) -> None:
    words = folded.split()
    letters = "".join(words)
    if len(letters) < 2:  # found everywhere; the policy file has refused it
        return
    inner: set[int] = set()
    for word in words[:-1]:
        inner.add(max(inner, default=0) + len(word))
    other = known.get(letters)
    if other is not None:
        known[letters] = _Term(other.owners | {owner}, other.inner | inner)
    else:
        known[letters] = _Term(frozenset({owner}), frozenset(inner))


def _forms_of(term: str) -> list[Fold]:
    """The forms in which a term is known. A capital I is taken for an l only where its word is no word of capitals."""
    small = any(one == "I" and next_one.islower() for one, next_one in pairwise(term))
    return [plain, skeleton, strokes] if small or "I" not in term else [plain, skeleton]


def _edges(text: str, fold: Fold, length: int) -> bytearray:
    """For each place between two letters of a folded text, whether words part there in the text."""
    edges = bytearray(length + 1)
    edges[0] = edges[length] = _HARD
    at = 0
    before = ""
    for character in text:
        folded = fold(character)
        if folded.strip() and edges[at] == _NONE and before and _part(before, character):
            edges[at] = _SOFT
        for one in folded:
            if one == " ":
                edges[at] = _HARD
            else:
                at += 1
        before = character if folded else before
    return edges


def _part(one: str, other: str) -> bool:
    """Whether a word may end between two characters that touch."""
    return (
        (one.islower() and other.isupper())
        or one.isdecimal() is not other.isdecimal()
        or _is_unspaced(one)
        or _is_unspaced(other)
    )


def _is_unspaced(character: str) -> bool:
    code = ord(character)
    if any(first <= code <= last for first, last in _UNSPACED):
        return True
    return unicodedata.east_asian_width(character) == "W"


def _stands(term: _Term, start: int, end: int, edges: bytearray) -> bool:
    """Whether a term that was found there counts, by where words begin and end."""
    length = end - start
    glued = length >= _GLUED and bool(term.inner)
    if not glued:
        if edges[start] == _NONE:
            return False
        ending = _ENDING if length >= _ENDED else 0
        if not any(edges[end : end + ending + 1]):
            return False
    if length > _SHORT:
        return True
    parted = [place for place in range(start + 1, end) if edges[place] == _HARD]
    return all(place - start in term.inner for place in parted) or len(parted) == length - 1
