"""What a clause says of a schema that was asked: refused, buttons, a value, filled in, text, a link; and whether it holds.

A saying is looked up by its form. What it wants tried (a tap, a typed word) is tried on the same question asked once more.
"""

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Final

from forms.bounds import same
from forms.field import FieldKind, Form
from tests.cases.asked import Question, Scene
from tests.cases.clauses import NOTHING, literal, there
from tests.cases.result import check

BASE_URL: Final = "https://forms.example.org/relay"
WORDS: Final = "a few plain words"
_COUNTS: Final = {"no": 0, "one": 1, "a single": 1, "single": 1, "two": 2, "three": 3, "four": 4}
Yes = bool | None
"""Whether a clause holds; None where it is not understood."""


@dataclass(kw_only=True)
class Tried:
    """One schema and what became of it.

    Attributes:
        form: as it was read; None where it was refused.
        replied: what the case replies; told: what the person was told then.
        answer: what the agent got for it.
    """

    schema: Any
    question: Question
    form: Form | None = None
    replied: str | None = None
    told: list[str] = field(default_factory=list)
    reply_s: float = 0.0
    answer: Any = None

    @property
    def refused(self) -> bool:
        """At ask time, before anybody saw it."""
        return self.question.error is not None and not self.question.shown

    @property
    def options(self) -> list[str]:
        """The words on the buttons that answer."""
        return [button["text"] for button in self.question.taps]

    @property
    def seen(self) -> str:
        """What became of it, in words."""
        if self.question.error is not None:
            return f"refused: {self.question.error.problems}"
        told = f", told {self.told}" if self.told else ""
        return f"{self.question.text!r} with buttons {self.options}{told}, answer {self.answer}"


async def holds(stage: Scene, one: Tried, spare: Question, clause: str) -> Yes:
    """One of what stands beside an "or"."""
    found: list[Yes] = []
    for way in re.split(r",?\s+or\s+(?=[^'\"]*(?:['\"][^'\"]*['\"][^'\"]*)*$)", clause.strip(" .")):
        for pattern, judge in _SAYINGS:
            match = re.search(pattern, way, re.IGNORECASE | re.DOTALL)
            if match is not None:
                found.append(await judge(stage, one, spare, match))
                break
        else:
            found.append(None)
    within = re.search(r"within (\d+(?:\.\d+)?) ?s", clause)
    if within is not None and True in found:
        return max(one.question.took_s, one.reply_s) <= float(within[1])
    return True if True in found else None if None in found else False


Judgement = Callable[[Scene, Tried, Question, "re.Match[str]"], Awaitable[Yes]]


async def _is_refused(stage: Scene, one: Tried, spare: Question, match: "re.Match[str]") -> Yes:
    if not one.refused:
        return one.replied is not None and await _is_wrong(stage, one, spare, match)
    problems = one.question.error.problems if one.question.error else ()
    if "precise" in match.string or "message" in match.string or "path" in match.string:
        return all(code and detail and there(one.schema, path) for path, code, detail in problems)
    return True


async def _is_wrong(stage: Scene, one: Tried, spare: Question, match: "re.Match[str]") -> Yes:
    """The person is told, and the agent waits on."""
    return (bool(one.told) and one.question.conclusion is None) or one.refused


async def _waits_on(stage: Scene, one: Tried, spare: Question, match: "re.Match[str]") -> Yes:
    return one.question.conclusion is None


async def _is_taken(stage: Scene, one: Tried, spare: Question, match: "re.Match[str]") -> Yes:
    return not one.refused and bool(one.question.shown)


async def _is_text(stage: Scene, one: Tried, spare: Question, match: "re.Match[str]") -> Yes:
    """Typed words are the value."""
    if one.refused or one.options or one.form is None or len(one.form.fields) != 1:
        return False
    await _ask(stage, spare)
    await stage.reply(spare, WORDS)
    return same(spare.answer, {one.form.fields[0].name: WORDS})


async def _has_link(stage: Scene, one: Tried, spare: Question, match: "re.Match[str]") -> Yes:
    return any(button.get("url", "").startswith(f"{BASE_URL}/") for button in one.question.buttons)


async def _has_buttons(stage: Scene, one: Tried, spare: Question, match: "re.Match[str]") -> Yes:
    """Those that are named, or so many."""
    quoted = [first or second for first, second in re.findall(r"'([^']+)'|\"([^\"]+)\"", match.string)]
    if quoted:
        return one.options == quoted
    slashed = re.search(r"([\w-]+(?:/[\w-]+)+) buttons?", match.string)
    if slashed is not None:
        return [option.lower() for option in one.options] == slashed[1].lower().split("/")
    counted = re.search(r"(\w+|a single) buttons?", match.string.lower())
    number = None if counted is None else _COUNTS.get(counted[1], int(counted[1]) if counted[1].isdecimal() else None)
    return bool(one.options) if number is None else len(one.options) == number


async def _maps(stage: Scene, one: Tried, spare: Question, match: "re.Match[str]") -> Yes:
    """A button stands for a value."""
    value = literal(match["value"])
    if one.form is None or len(one.form.fields) != 1 or value is NOTHING:
        return None if value is NOTHING else False
    await _ask(stage, spare)
    data = [tap["callback_data"] for tap in spare.taps if tap["text"].lower() == match["label"].lower()]
    if len(data) != 1:
        return False
    await stage.tap(spare, data[0])
    return same(spare.answer, {one.form.fields[0].name: value})


async def _is_filled(stage: Scene, one: Tried, spare: Question, match: "re.Match[str]") -> Yes:
    """Nothing is asked but a confirmation, and the fixed values are in the answer."""
    if one.form is None or not all(item.fixed for item in one.form.fields) or len(one.options) != 2:
        return False
    await _ask(stage, spare)
    await stage.tap(spare, spare.taps[0]["callback_data"])
    return same(spare.answer, {item.name: item.default for item in one.form.fields})


async def _has_value(stage: Scene, one: Tried, spare: Question, match: "re.Match[str]") -> Yes:
    value = literal(match["value"])
    if value is NOTHING:
        return None
    if one.replied is not None:
        return same(plain(one.answer), value)
    await _ask(stage, spare)
    if len(spare.taps) != 1 and not (one.form and all(item.fixed for item in one.form.fields)):
        return None
    await stage.tap(spare, spare.taps[0]["callback_data"])
    return same(plain(spare.answer), value)


async def _is_kind(stage: Scene, one: Tried, spare: Question, match: "re.Match[str]") -> Yes:
    kind = match["kind"].lower().replace("-", "_").replace(" ", "_")
    kind = {"calendar": "date", "multiple_choice": "choices", "toggles": "choices", "checkboxes": "choices"}.get(
        kind, kind
    )
    return one.form is not None and any(item.kind is FieldKind(kind) for item in one.form.fields)


async def _is_shown(stage: Scene, one: Tried, spare: Question, match: "re.Match[str]") -> Yes:
    """The quoted words can be read in it."""
    quoted = [first or second for first, second in re.findall(r"'([^']+)'|\"([^\"]+)\"", match.string)]
    seen = f"{one.question.text}\n{chr(10).join(one.options)}"
    return all(words in seen for words in quoted) and not one.refused


_SAYINGS: Final[tuple[tuple[str, Judgement], ...]] = (
    (r"['\"]?(?P<label>[\w ]+?)['\"]? (?:option|button) (?:maps to|means|stands for|gives|is) (?P<value>.+)", _maps),
    (r"\b(refus|reject|invalid schema|not accepted|unanswerable)", _is_refused),
    (r"\berror|\binvalid|asked again|asks again", _is_wrong),
    (
        r"fill(ed)? (in )?without asking|prefilled|(shown )?as (a )?confirm|filled (in )?(automatically|by itself)",
        _is_filled,
    ),
    (r"\b(?:value|answer)\b[^{\[]*(?P<value>[\[{].*[\]}])", _has_value),
    (r"not resumed|not answered|stays? (open|pending)|nothing reaches|waits on|still (open|pending)", _waits_on),
    (r"\bbuttons?\b", _has_buttons),
    (r"hosted form|\blink\b|\bform link|\bpage\b", _has_link),
    (
        r"(?P<kind>calendar|date[- ]range|date-?time|multiple choice|checkboxes|toggles|integer|number|boolean|email|uri) ?(field|input)?$",
        _is_kind,
    ),
    (r"\btext\b|free answer", _is_text),
    (r"(shown|visible|reads?|listed).*['\"]", _is_shown),
    (r"normali[sz]|accept|\btaken\b|\bshown\b|\basked\b|\bok\b", _is_taken),
)


async def _ask(stage: Scene, spare: Question) -> None:
    if not spare.shown:
        await stage.ask(spare)
        check(spare.shown, "the same question to be shown once more")


def plain(answer: Any) -> Any:
    return None if answer is None else dict(answer)
