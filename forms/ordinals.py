"""Which of a list is meant: by its exact name, its number, or its place in words ("the second one") (CLAR-8).

Closed lists, never a guess: a text names a candidate as a whole or not at all. What fits two is both of them, for the
caller to ask again with those two.
"""

import re
from collections.abc import Sequence
from typing import Final

from forms.field import Option
from forms.folding import ascii_digits, fold, trim
from forms.reading import Locale
from forms.selection import found, unquoted

LONGEST: Final = 200
"""Characters of a text that can name a candidate."""
_NOBODY_TYPES: Final = "\ufdd0"
_ENDINGS: Final = (
    # English
    "first; second; third; fourth; fifth; sixth; seventh; eighth; ninth; tenth",
    # German, in every case and gender
    (
        "erste ersten erster erstes; zweite zweiten zweiter zweites; dritte dritten dritter drittes;"
        " vierte vierten vierter viertes; funfte funften funfter funftes; sechste sechsten sechster sechstes;"
        " siebte siebten siebter siebtes; achte achten achter achtes; neunte neunten neunter neuntes;"
        " zehnte zehnten zehnter zehntes"
    ),
    # Russian
    (
        "первый первая первое первую первого первой; второй вторая второе вторую второго; третий третья третье третью"
        " третьего третьей; четвертый четвертая четвертое четвертую четвертого четвертой; пятый пятая пятое пятую"
        " пятого пятой; шестой шестая шестое шестую шестого; седьмой седьмая седьмое седьмую седьмого; восьмой восьмая"
        " восьмое восьмую восьмого; девятый девятая девятое девятую девятого девятой; десятый десятая десятое десятую"
        " десятого десятой"
    ),
    # Spanish
    (
        "primero primera primer; segundo segunda; tercero tercera tercer; cuarto cuarta; quinto quinta; sexto sexta;"
        " septimo septima; octavo octava; noveno novena; decimo decima"
    ),
    # Bulgarian
    (
        "първи първият първия първа първата първо първото; втори вторият втория втора втората второ второто;"
        " трети третият третия трета третата трето третото; четвърти четвъртият четвъртия четвърта четвъртата четвърто"
        " четвъртото; пети петият петия пета петата пето петото; шести шестият шестия шеста шестата шесто шестото;"
        " седми седмият седмия седма седмата седмо седмото; осми осмият осмия осма осмата осмо осмото;"
        " девети деветият деветия девета деветата девето деветото; десети десетият десетия десета десетата десето"
        " десетото"
    ),
)
_LAST_WORDS: Final = (
    "last letzte letzten letzter letztes последний последняя последнее последнюю ultimo ultima последният последния"
    " последна последната последно последното"
)
_LAST: Final = frozenset(_LAST_WORDS.split())
_PLACES: Final = {
    word: place for ending in _ENDINGS for place, words in enumerate(ending.split(";"), 1) for word in words.split()
}
_BEFORE_WORDS: Final = (
    "the der die das den dem el la lo los las option variant variante вариант варианта опция опцията opcion i ich"
    " take nehme quiero хочу беру искам"
)
_BEFORE: Final = frozenset(_BEFORE_WORDS.split())
_AFTER_WORDS: Final = "one option choice please bitte variante вариант пожалуйста опция моля opcion por favor"
_AFTER: Final = frozenset(_AFTER_WORDS.split())
_SHORT: Final = re.compile(
    r"([0-9]{1,2})(?:\.|st|nd|rd|th|-?(?:й|я|е|ю|ый|ая|ое|ую|ий|ого|ой)|-?(?:ри|ти|ви|та|то)|\.?[ao])?"
)
_CANCEL: Final = frozenset(
    [
        *(
            "cancel",
            "cancel it",
            "cancel that",
            "stop",
            "abort",
            "never mind",
            "nevermind",
            "forget it",
            "forget about it",
        ),
        *("abbrechen", "abbruch", "stopp", "vergiss es", "lass es", "lass gut sein", "doch nicht"),
        *("отмена", "отмени", "отменить", "отменяй", "стоп", "забудь", "не надо", "не нужно"),
        *("cancelar", "cancela", "cancelalo", "olvidalo", "dejalo", "anular", "anula"),
        *("отказ", "откажи", "отмяна", "отмени го", "спри", "забрави", "няма нужда"),
    ]
)


def candidates_meant(names: Sequence[str], text: str, *, locale: Locale) -> tuple[int, ...]:
    """The places, from 0, of the candidates that a text names: none, one, or those between which it can't tell.

    Args:
        names: as they were shown, in their order.
        text: what was said.
        locale: of whoever said it.
    """
    if not trim(text) or len(text) > LONGEST:
        return ()
    options = tuple(Option(value=f"{_NOBODY_TYPES}{place}", title=name) for place, name in enumerate(names))
    matching = found(options, text, locale=locale)
    named = {place for place, option in enumerate(options) if option in matching}
    place = _place(text, len(names))
    return tuple(sorted(named if place is None else named | {place}))


def is_cancel(text: str) -> bool:
    """Whether a text, as a whole, takes a request back; it counts as a reply or a command alone (CLAR-4)."""
    return len(text) <= LONGEST and fold(unquoted(text)).strip(" .,!") in _CANCEL


def _place(text: str, count: int) -> int | None:
    """The place that is said in words or as "2nd", from 0; None: none, or behind the end of the list."""
    if unquoted(text) != trim(text):  # in quotes it is a name, never a place
        return None
    tokens = re.sub(r"[,.!;]+(?:\s|$)", " ", fold(ascii_digits(text))).split()
    while tokens and tokens[0] in _BEFORE:
        del tokens[0]
    while len(tokens) > 1 and tokens[-1] in _AFTER:
        del tokens[-1]
    if len(tokens) != 1:
        return None
    if tokens[0] in _LAST:
        return count - 1
    short = _SHORT.fullmatch(tokens[0])
    place = int(short[1]) if short else _PLACES.get(tokens[0], 0)
    return place - 1 if 1 <= place <= count else None
