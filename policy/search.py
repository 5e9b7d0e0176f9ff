"""Many words and patterns over one text, in linear time; little is done where nothing is found.

Words go through one automaton of all words (Aho-Corasick), patterns through RE2, which has a memory of its own that
many classes of Unicode would burst: so words are never written as patterns.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

import re2  # type: ignore[import-untyped]
from ahocorasick_rs import AhoCorasick, Implementation

from policy.folding import visible

Code = TypeVar("Code")

_MEMORY_BYTES: Final = 64 << 20
"""Of a compiled search at most; RE2 falls back to a slower machine before it takes more."""


class PatternError(Exception):
    """A pattern that RE2 does not take; the text says why."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Wanted:
    """What stands for one code: words (whole, in any case, ``*`` at the end for any ending), and patterns."""

    words: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()


class Search(Generic[Code]):
    """Which of several kinds of things a text has."""

    def __init__(self, wanted: Mapping[Code, Wanted]) -> None:
        """Args: wanted: by what it stands for; patterns are known to compile."""
        words: dict[str, set[tuple[Code, bool]]] = {}
        for code, one in wanted.items():
            for word in one.words:
                stem = folded(word)
                if stem.rstrip("*").strip():
                    words.setdefault(stem.rstrip("* "), set()).add((code, stem.endswith("*")))
        self._words = [frozenset(codes) for codes in words.values()]
        self._matcher = AhoCorasick(list(words), implementation=Implementation.ContiguousNFA) if words else None
        kinds = {code: "|".join(f"(?:{pattern})" for pattern in one.patterns) for code, one in wanted.items()}
        self._kinds = {code: compiled(pattern) for code, pattern in kinds.items() if pattern}
        self._any = compiled("|".join(filter(None, kinds.values()))) if self._kinds else None

    def found(self, text: str) -> frozenset[Code]:
        """What the text has."""
        text = visible(text)
        return frozenset(self._patterns_in(text)).union(self._words_in(_folded(text)))

    def _patterns_in(self, text: str) -> Iterable[Code]:
        raw = text.encode("utf-8", "replace")
        if self._any is None or self._any.search(raw) is None:
            return ()
        return [code for code, pattern in self._kinds.items() if pattern.search(raw) is not None]

    def _words_in(self, text: str) -> Iterable[Code]:
        if self._matcher is None:
            return
        for number, start, end in self._matcher.find_matches_as_indexes(text, overlapping=True):
            if start and _is_word(text[start - 1]) and _is_word(text[start]):
                continue
            whole = end == len(text) or not _is_word(text[end]) or not _is_word(text[end - 1])
            for code, any_ending in self._words[number]:
                if whole or any_ending:
                    yield code


def folded(text: str) -> str:
    """A text for the comparison of words: any case, single spaces."""
    return _folded(visible(text))


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def compiled(pattern: str) -> "re2._Regexp":
    """Compile a pattern for UTF-8.

    Raises:
        PatternError: RE2 does not take it.
    """
    options = re2.Options()
    options.never_capture = True
    options.log_errors = False
    options.max_mem = _MEMORY_BYTES
    try:
        return re2.compile(pattern.encode("utf-8", "replace"), options)
    except re2.error as error:
        raise PatternError(error.args[0].decode(errors="replace")) from None


def literal(text: str) -> str:
    """A pattern that finds a text as it is."""
    return "".join(one if one.isalnum() else rf"\x{{{ord(one):x}}}" for one in text)
