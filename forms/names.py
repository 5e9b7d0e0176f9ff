"""The names and titles of a form's fields, however people type them."""

import re
from difflib import SequenceMatcher
from typing import Final

from forms.field import Field, Form
from forms.folding import compact

NEAR: Final = 0.75  # of 1: "agee" is near "age" (0.86), "status" is not near "state" (0.73)
LIKE: Final = 0.5
MOST_GUESSES: Final = 100  # unknown names compared in one reply
LONGEST_GUESS: Final = 48
AROUND: Final = " \t\u00a0*_~`\"'“”„«»‘’?？:：.!"  # emphasis, quotes, and what titles end with
_REMARK: Final = re.compile(r"(?<=\S)\s*[(\[][^()\[\]]{1,200}[)\]]$")


class Names:
    """Finds a field by its name or title; made for one form."""

    def __init__(self, form: Form) -> None:
        self._fields = {item.name: item for item in form.fields}
        self._exact: dict[str, set[str]] = {}
        self._loose: dict[str, set[str]] = {}
        self._short: dict[str, set[str]] = {}
        self._nearest: dict[str, tuple[str, float]] = {}
        for item in form.fields:
            for label in (item.name, item.title):
                bare = label.strip(AROUND) or label
                self._exact.setdefault(compact(bare, accents=True), set()).add(item.name)
                self._loose.setdefault(compact(bare), set()).add(item.name)
                self._short.setdefault(compact(_shortened(bare)), set()).add(item.name)
        self.window = 2 * max((len(label) for item in form.fields for label in (item.name, item.title)), default=0) + 32

    def find(self, key: str) -> Field | None:
        """The one field of this name or title, in any case, width and accents; a remark in brackets may be left out."""
        bare = key.strip(AROUND)
        if not bare or len(key) > self.window:
            return None
        for labels, plain in (
            (self._exact, compact(bare, accents=True)),
            (self._loose, compact(bare)),
            (self._short, compact(_shortened(bare))),
        ):
            found = labels.get(plain, set())
            if len(found) == 1:
                return self._fields[next(iter(found))]
        return None

    def find_json(self, key: str) -> Field | None:
        """The same; a name that is spelt exactly so comes first."""
        return self._fields.get(key) or self.find(key)

    def nearest(self, key: str) -> str:
        """The name of the field that is most like the key, "" where none is."""
        return self._compared(key)[0]

    def is_slip(self, key: str) -> bool:
        """Whether the key is so near the nearest that it is rather misspelt than another word."""
        return self._compared(key)[1] >= NEAR

    def _compared(self, key: str) -> tuple[str, float]:
        plain = compact(key[:LONGEST_GUESS])
        if plain in self._nearest:
            return self._nearest[plain]
        if len(self._nearest) >= MOST_GUESSES or not plain:
            return "", 0.0
        best = ("", 0.0)
        for label, names in self._loose.items():
            turned = len(plain) > 2 and sorted(label) == sorted(plain)  # "nmae"
            likeness = 1.0 if turned else SequenceMatcher(a=plain, b=label, autojunk=False).ratio()
            if likeness > max(best[1], LIKE - 0.001):
                best = (min(names), likeness)
        self._nearest[plain] = best
        return best


def _shortened(label: str) -> str:
    """Without a last remark in brackets: "Weight (kg)"."""
    return _REMARK.sub("", label).strip(AROUND)
