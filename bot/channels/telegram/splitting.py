"""Long texts in parts that Telegram takes, each valid on its own.

Where a part ends, the first that is found in the second half of what fits: after a paragraph, a line, a sentence, a
space; else after any line or space, then between two grapheme clusters, and inside a cluster only if it is longer than
a part. In a monospace block a part ends after a line; a block that fits into one part is not cut if the part before
it stays at least a quarter full.

Separators stay where they are, at the end of the part before the cut or, where that is full, at the start of the part
after it: the joined texts of the parts equal the original (Telegram trims white space around a message by itself). The
only thing left out is a part in which nothing can be seen, which Telegram would refuse. Entities are closed at a cut
and opened again after it; they don't cover the white space at the cut, except for the indentation of code.
"""

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain, repeat

from bot.channels.telegram.formatting import Entity, FormattedText
from policy.blank import is_blank
from policy.utf16 import utf16_len

TEXT_LIMIT = 4096
"""UTF-16 code units of a message."""
CAPTION_LIMIT = 1024
"""UTF-16 code units of a caption."""

_SENTENCE_END = re.compile(r"[.!?…][\"'»”’)\]]*[ \t\n]+|[。！？][」』”）]*[ \t\n]*")
_SPACES = " \t\u3000"


def split(text: FormattedText, *, limit: int = TEXT_LIMIT) -> tuple[FormattedText, ...]:
    """Cut a text into parts of at most ``limit`` UTF-16 code units.

    Args:
        text: the text, with entities that lie within it.
        limit: UTF-16 code units a part may have, at least 2 (a surrogate pair is never cut).

    Returns:
        The parts in order; the text itself if it fits. None for a longer text in which nothing can be seen.
    """
    if _fits(text.text, limit):
        return (text,)
    return tuple(part for part in _Cutter(text).parts(repeat(limit)) if not is_blank(part.text))


def split_caption(
    text: FormattedText, *, limit: int = CAPTION_LIMIT
) -> tuple[FormattedText, tuple[FormattedText, ...]]:
    """Cut a text into a caption and the messages that follow it.

    Args:
        text: the text, with entities that lie within it.
        limit: UTF-16 code units of the caption, at least 2.

    Returns:
        The caption (empty if nothing can be seen in so many units) and the rest in parts of `TEXT_LIMIT`.
    """
    if _fits(text.text, limit):
        return text, ()
    caption, *rest = _Cutter(text).parts(chain((limit,), repeat(TEXT_LIMIT)))
    if is_blank(caption.text):
        caption = FormattedText(text="")
    return caption, tuple(part for part in rest if not is_blank(part.text))


def _fits(text: str, limit: int) -> bool:
    """Whether a text has at most ``limit`` units; lengths that can't be otherwise are not counted."""
    return len(text) * 2 <= limit or (len(text) <= limit and utf16_len(text) <= limit)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Span:
    """An entity in code points: ``text[start:end]``."""

    start: int
    end: int
    entity: Entity


class _Cutter:
    """One text under the knife. Positions are code points; ``_units`` maps them to UTF-16 where they differ."""

    def __init__(self, text: FormattedText) -> None:
        self._text = text.text
        # None: each character is one unit.
        self._units: Sequence[int] | None = None
        if utf16_len(self._text) != len(self._text):
            self._units = list(accumulate((1 + (char > "\uffff") for char in self._text), initial=0))
        self._spans = [
            _Span(start=self._point(entity.offset), end=self._point(entity.offset + entity.length), entity=entity)
            for entity in text.entities
        ]
        self._blocks = [span for span in self._spans if span.entity.type == "pre"]
        self._codes = [span for span in self._spans if span.entity.type in {"pre", "code"}]

    def parts(self, limits: Iterator[int]) -> Iterator[FormattedText]:
        """The parts, the first of at most the first limit, and so on."""
        start = 0
        while start < len(self._text):
            end = self._cut(start, next(limits))
            self._forget(start)
            yield self._part(start, end)
            start = end

    def _unit(self, point: int) -> int:
        return self._units[point] if self._units else point

    def _point(self, unit: int) -> int:
        return bisect_left(self._units, unit) if self._units else unit

    def _fitting(self, start: int, limit: int) -> int:
        """The last position up to which text from ``start`` fits."""
        last = min(start + limit, len(self._text))
        if not self._units or self._units[last] - self._units[start] <= limit:
            return last
        return bisect_left(self._units, self._units[start] + limit + 1, start, last) - 1

    def _forget(self, start: int) -> None:
        """Leave out what ends before a position, so that a long text costs what its length is."""
        for spans in (self._spans, self._blocks, self._codes):
            spans[:] = [span for span in spans if span.end > start]

    def _cut(self, start: int, limit: int) -> int:
        """Where the part that begins at ``start`` ends."""
        text = self._text
        end = self._fitting(start, limit)
        if end == len(text):
            return end
        block = next((span for span in self._blocks if span.start < end < span.end), None)
        if block is not None:
            return self._cut_in_block(block, start, end, limit)
        half = start + (end - start) // 2
        for floor, find in (
            (half, self._paragraph),
            (half, self._line),
            (half, self._sentence),
            (half, self._space),
            (start, self._line),
            (start, self._space),
        ):
            found = find(floor, end)
            if found > start:
                return found
        return _cluster_start(text, start, end)

    def _cut_in_block(self, block: _Span, start: int, end: int, limit: int) -> int:
        """Where a part ends whose room runs out in a monospace block."""
        whole = self._fitting(block.start, limit) >= block.end
        if whole and block.start - start > (end - start) // 4:
            return block.start
        line = self._line(max(start, block.start), end)
        if line:
            return line
        # Its first line does not fit here: into the next part with it, or it is longer than any part.
        return block.start if block.start > start else _cluster_start(self._text, start, end)

    def _paragraph(self, floor: int, end: int) -> int:
        return self._last("\n\n", floor, end, self._codes)

    def _line(self, floor: int, end: int) -> int:
        return self._last("\n", floor, end, ())

    def _space(self, floor: int, end: int) -> int:
        return max(self._last(space, floor, end, self._codes) for space in _SPACES)

    def _last(self, separator: str, floor: int, end: int, keep: Sequence[_Span]) -> int:
        """The position after the last separator that begins behind ``floor`` and at ``end`` at the latest, or 0.

        A separator that does not fit any more goes on in the next part. None counts inside a span that is to be kept.
        """
        at = end + len(separator)
        while (at := self._text.rfind(separator, floor + 1, at)) >= 0:
            found = min(at + len(separator), end)
            if not _inside(keep, found) and _is_cluster_start(self._text, found):
                return found
            at += len(separator) - 1
        return 0

    def _sentence(self, floor: int, end: int) -> int:
        """The position after the last sentence that ends behind ``floor``, or 0."""
        found = 0
        for match in _SENTENCE_END.finditer(self._text, floor, end):
            if not _inside(self._codes, match.end()) and _is_cluster_start(self._text, match.end()):
                found = match.end()
        return found

    def _part(self, start: int, end: int) -> FormattedText:
        """The part ``text[start:end]`` with its share of every entity."""
        text = self._text[start:end]
        base = self._unit(start)
        # White space at a cut is under no entity, but for the indentation of code; at the ends of the whole text it is
        # as it was.
        in_block = any(span.start <= start < span.end for span in self._blocks)
        first = start + len(text) - len(text.lstrip("\n" if in_block else None)) if start else 0
        last = start + len(text.rstrip()) if end < len(self._text) else end
        entities = []
        for span in self._spans:
            if span.start >= end:
                break  # in order of offset: the others begin later still
            left = max(span.start, first)
            right = min(span.end, last)
            if left < right:
                offset = self._unit(left)
                entities.append(
                    Entity(
                        type=span.entity.type,
                        offset=offset - base,
                        length=self._unit(right) - offset,
                        url=span.entity.url,
                        language=span.entity.language,
                    )
                )
        return FormattedText(text=text, entities=tuple(entities))


def _inside(spans: Sequence[_Span], at: int) -> bool:
    """Whether a cut at a position would part a span."""
    for span in spans:
        if span.start >= at:
            break  # in order of offset
        if at < span.end:
            return True
    return False


def _cluster_start(text: str, start: int, end: int) -> int:
    """The last position up to ``end`` where a grapheme cluster begins; ``end`` if one cluster is all there is."""
    for at in range(end, start, -1):
        if _is_cluster_start(text, at):
            return at
    return end


def _is_cluster_start(text: str, at: int) -> bool:
    """Whether a cut before ``text[at]`` leaves what readers see as one character whole.

    The rules of Unicode's annex 29 as far as the standard library knows the properties: marks, joiners, selectors,
    skin tones, tags, flags, Hangul syllables, Indic conjuncts, CR LF. ``at`` is neither end of the text.
    """
    before, after = text[at - 1], text[at]
    if before < "\u0300" and after < "\u0300":
        return not (before == "\r" and after == "\n")
    if before in "\r\n":
        return True
    if _continues(after) or before == "\u200d":
        return False
    if unicodedata.combining(before) == 9 and unicodedata.category(after) == "Lo":  # a virama joins consonants
        return False
    if _is_flag_half(after) and _is_flag_half(before):
        halves = 1
        while at - halves > 0 and _is_flag_half(text[at - halves - 1]):
            halves += 1
        return halves % 2 == 0
    return not (_is_jamo(after) and (_is_jamo(before) or "\uac00" <= before <= "\ud7a3")) and not (
        _is_leading_jamo(before) and "\uac00" <= after <= "\ud7a3"
    )


def _continues(char: str) -> bool:
    """Whether a character belongs to the one before it."""
    return (
        unicodedata.category(char) in {"Mn", "Mc", "Me"}
        or char in "\u200c\u200d\uff9e\uff9f\u0e33\u0eb3"
        or "\U0001f3fb" <= char <= "\U0001f3ff"
        or "\U000e0020" <= char <= "\U000e007f"
    )


def _is_flag_half(char: str) -> bool:
    return "\U0001f1e6" <= char <= "\U0001f1ff"


def _is_leading_jamo(char: str) -> bool:
    return "\u1100" <= char <= "\u115f" or "\ua960" <= char <= "\ua97c"


def _is_jamo(char: str) -> bool:
    return "\u1100" <= char <= "\u11ff" or "\ud7b0" <= char <= "\ud7fb" or _is_leading_jamo(char)
