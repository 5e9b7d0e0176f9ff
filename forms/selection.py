"""Choices and decisions: by value, by title, by number, by closed lists of words. Nothing matches by a part of it."""

import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Final

from forms import numbers, words
from forms.bounds import same
from forms.field import Field, Option
from forms.folding import ascii_digits, fold, trim
from forms.reading import Ambiguous, Locale, Reading, Value, Wrong, settle

MOST_PIECES: Final = 200
LONGEST: Final = 200  # characters of what is compared with closed lists

_KEYCAP: Final = re.compile("([0-9]{1,3})\ufe0f?\u20e3")
_NUMBERED: Final = re.compile(r"\(?([0-9]{1,3})[.):]?")
_PLACED: Final = re.compile(r"([^\W\d]+\.?|#) ?([0-9]{1,3})")
_NUMBER_AND_TITLE: Final = re.compile(r"\(?([0-9]{1,3})(?:[.):] ?| [-–—] )(.+)")
_QUOTES: Final = {'"': '"', "'": "'", "“": "”", "„": "“”", "«": "»", "‘": "’", "‚": "‘’", "`": "`"}
_EMOJI_SHADES: Final = re.compile("[\ufe0e\ufe0f\U0001f3fb-\U0001f3ff]")
_LINES: Final = re.compile(r"\n|;")
_SPACED_NUMBERS: Final = re.compile(r"[0-9]{1,3}(?:[ \t]+[0-9]{1,3})+")
_BULLET: Final = re.compile(r"^[ \t]*(?:[-*+•◦▪‣·–—][ \t]+)?(?:\[[xX ]\][ \t]+|[☑☐✅][ \t]*)?")
_UNTICKED: Final = re.compile(r"^[ \t]*(?:[-*+•][ \t]+)?(?:\[ \]|☐)[ \t]*\S")


def unquoted(text: str) -> str:
    """Without one pair of quotes or backticks around the whole."""
    text = trim(text)
    if len(text) >= 2 and text[0] in _QUOTES and text[-1] in _QUOTES[text[0]]:
        return trim(text[1:-1])
    return text


def read_boolean(field: Field, text: str, *, locale: Locale) -> Reading:
    """The titles first, if there are any; then yes and no. A number that is a place and also 1 or 0 may be a doubt."""
    titled = found(field.options, text, locale=locale)
    said = decision(text)
    if said is not None and not any(option.value is said for option in titled):
        titled = [*titled, Option(value=said, title="")]
    return settle((option.value for option in titled), none="not_a_boolean", many="ambiguous_choice")


def decision(text: str) -> bool | None:
    """Yes or no by the closed lists, or neither. Every word of the text has to be in them, and all agree."""
    return _decided(text, words.YES, words.NO)


def is_weak(text: str) -> bool:
    """A yes or no that people also say to each other ("ok", a thumb): it decides as a reply alone (FORM-14)."""
    return decision(text) is not None and _decided(text, words.STRONG_YES, words.STRONG_NO) is None


def _decided(text: str, yes: frozenset[str], no: frozenset[str]) -> bool | None:
    if len(text) > LONGEST:
        return None
    plain = fold(_EMOJI_SHADES.sub("", ascii_digits(unquoted(text))))
    for spelt in (plain, plain.strip(" .,!;")):
        if spelt in yes | no:
            return spelt in yes
    said: set[bool] = set()
    tokens = re.sub(r"[,.!;]", " ", plain).split()
    while tokens:
        size = next((n for n in (3, 2, 1) if " ".join(tokens[:n]) in yes | no | words.POLITE), 0)
        phrase, tokens = " ".join(tokens[:size]), tokens[size:]
        if not size:
            return None
        if phrase not in words.POLITE:
            said.add(phrase in yes)
    return said.pop() if len(said) == 1 else None


def read_choice(field: Field, text: str, *, locale: Locale) -> Reading:
    """One option; where the text names none, the one that says yes or no itself takes a yes or a no in any language."""
    options = found(field.options, text, locale=locale) or _deciding(field.options, text)
    if not options:
        return Wrong("not_a_choice")
    return Value(options[0].value) if len(options) == 1 else Ambiguous("ambiguous_choice", _values(options))


def read_choices(field: Field, text: str, *, locale: Locale) -> Reading:
    """Options joined by commas, semicolons, lines or "and". An option whose title has a comma in it is found whole."""
    plain = fold(text).strip(" .!")
    whole = found(field.options, text, locale=locale)
    if whole:
        return chosen([whole])
    if plain in words.ALL or plain in words.NOTHING:
        return chosen([[option] for option in field.options if plain in words.ALL])
    pieces = [piece for line in _LINES.split(text) if not _UNTICKED.match(line) for piece in _pieces(line)]
    matching = _matched(field.options, pieces, locale=locale)
    return chosen(matching) if matching else Wrong("not_a_choice")


def chosen(matching: Sequence[Sequence[Option]]) -> Reading:
    """A list of values, each once, unless one of them is in doubt."""
    values: list[object] = []
    for options in matching:
        if len(options) > 1:
            return Ambiguous("ambiguous_choice", _values(options))
        values += [option.value for option in options if not any(same(option.value, value) for value in values)]
    return Value(values)


def _pieces(line: str) -> Iterator[str]:
    """What the commas of a line part; numbers may be parted by spaces alone."""
    line = _BULLET.sub("", line)
    if _SPACED_NUMBERS.fullmatch(line.strip()):
        yield from line.split()
    else:
        yield from (piece for piece in line.split(",") if piece.strip())


def _matched(options: tuple[Option, ...], pieces: list[str], *, locale: Locale) -> list[list[Option]]:
    """The options that the pieces name, as many pieces together as can; none if anything is left over."""
    if len(pieces) > MOST_PIECES or sum(map(len, pieces)) > MOST_PIECES * LONGEST:
        return []
    waiting = deque(pieces)
    matching: list[list[Option]] = []
    commas = max((name.count(",") for option in options for name in _names(option)), default=0)
    while waiting:
        for size in range(min(commas + 1, len(waiting)), 0, -1):
            if named := found(options, ",".join(islice(waiting, size)), locale=locale):
                matching.append(named)
                for _ in range(size):
                    waiting.popleft()
                break
        else:
            parted = _parted(options, waiting.popleft(), locale=locale)
            if parted is None:
                return []
            waiting.extendleft(reversed(parted))
    return matching


def _parted(options: tuple[Option, ...], piece: str, *, locale: Locale) -> list[str] | None:
    """Two pieces of "red and blue", one of "and blue", every word of "red blue" if all are options; else None."""
    tokens = piece.split()
    if 1 < len(tokens) <= 20 and all(found(options, token, locale=locale) for token in tokens):
        return tokens
    joints = [place for place, token in enumerate(tokens) if fold(token) in words.AND]
    for joint in joints[:10]:
        before, after = " ".join(tokens[:joint]), " ".join(tokens[joint + 1 :])
        if after and (not before or found(options, before, locale=locale)):
            return [before, after] if before else [after]
    return None


def found(options: tuple[Option, ...], text: str, *, locale: Locale) -> list[Option]:
    """The options that the text names: none, one, or those between which it can't tell."""
    bare = trim(text)
    if len(bare) > MOST_PIECES * LONGEST:
        return []
    for spelt in dict.fromkeys((bare, bare.rstrip(" .,!;"))):
        matching = _named(options, spelt, locale=locale)
        place = _place(spelt)
        matching += [option for option in options[place - 1 : place] if place and option not in matching]
        if matching:
            return matching
    if place := _only_place(bare):
        return list(options[place - 1 : place])
    numbered = _NUMBER_AND_TITLE.fullmatch(bare)
    if numbered:  # a line of the numbered list, copied: the number has to be its own
        place = int(numbered[1])
        matching = _named(options, numbered[2], locale=locale)
        placed = options[place - 1 : place] if matching and place else ()
        return matching + [option for option in placed if option not in matching]
    return _named(options, unquoted(bare), locale=locale)  # in quotes it is a value or title, never a place


def _named(options: tuple[Option, ...], text: str, *, locale: Locale) -> list[Option]:
    """By value or title: as written, else folded with accents, else without."""
    for same_text in (str, lambda given: fold(given, accents=True), fold):
        wanted = same_text(text)
        matching = [option for option in options if wanted and wanted in {same_text(name) for name in _names(option)}]
        if matching:
            return matching
    plain = fold(ascii_digits(text))
    if any(option.value is None for option in options) and plain in words.NOTHING:
        return [option for option in options if option.value is None]
    if any(isinstance(option.value, bool) for option in options) and (said := decision(text)) is not None:
        return [option for option in options if option.value is said]
    meant = [numbers.json_number(number) for number in numbers.readings(text, locale=locale)]
    return [option for option in options if any(number is not None and same(option.value, number) for number in meant)]


def _deciding(options: tuple[Option, ...], text: str) -> list[Option]:
    """The options that by their own words say what the text decides: "yes" for "да"."""
    said = decision(text)
    if said is None:
        return []
    yes, no = words.STRONG_YES - words.OTHERWISE_MEANT, words.STRONG_NO - words.OTHERWISE_MEANT
    return [option for option in options if {_decided(name, yes, no) for name in _names(option)} - {None} == {said}]


def _names(option: Option) -> Iterator[str]:
    yield trim(option.title)
    if isinstance(option.value, str):
        yield trim(option.value)


def _place(text: str) -> int:
    """The number that the text is, if it may be the place in the list: "2", "2.", "2)"; else 0."""
    match = _NUMBERED.fullmatch(ascii_digits(text)) if len(text) <= 8 else None
    return int(match[1]) if match else 0


def _only_place(text: str) -> int:
    """The number of a text that says that it is the place in the list: "#2", "option 2", the keycap 2; else 0."""
    if len(text) > 40:
        return 0
    if match := _KEYCAP.fullmatch(text):
        return int(match[1])
    match = _PLACED.fullmatch(fold(ascii_digits(text)))
    return int(match[2]) if match and match[1] in words.PLACE else 0


def _values(options: Iterable[Option]) -> tuple[object, ...]:
    return tuple(option.value for option in options)
