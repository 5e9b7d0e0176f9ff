"""Pages from templates: compiled once, everything escaped but the question, which comes as harmless HTML."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from importlib import resources
from typing import Any, Final

from bot.approvals.passkeys import MAX_LABEL, Invited
from bot.model.approval import Approval
from bot.model.question import Question
from bot.pages.action import facts
from bot.pages.wording import Reader, Wording
from forms.field import Field, FieldKind, Form
from forms.page import Control, Input
from forms.reading import Locale
from forms.validation import FieldError
from forms.wording import options_of

Markup = Callable[[str], str]
"""The agent's Markdown as HTML that can do nothing."""

_FOLDER: Final = resources.files("bot.pages") / "static"
_TYPES: Final = {"js": "text/javascript", "css": "text/css", "svg": "image/svg+xml"}
_TEMPLATES: Final = ("form", "confirm", "notice", "approve", "enrol")
_HEADING: Final = re.compile(r"<(/?)h([1-6])>")
_ZONED: Final = frozenset({Control.TIME, Control.MOMENT})


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """Where a page stands: ``base`` leads from there to the static files; ``mini_app``: inside Telegram."""

    base: str = "../"
    mini_app: bool = False


class Assets:
    """The static files, read once."""

    def __init__(self) -> None:
        self._files: dict[str, tuple[bytes, str]] = {}
        for file in _FOLDER.iterdir():
            kind = _TYPES.get(file.name.rpartition(".")[2])
            if kind is not None:
                self._files[file.name] = (file.read_bytes(), kind)

    def get(self, name: str) -> tuple[bytes, str] | None:
        """Content and media type of a static file; None: there is none of that name."""
        return self._files.get(name)

    @property
    def version(self) -> str:
        """Changes with any of the files, so that browsers may keep them."""
        from hashlib import sha256

        return sha256(b"".join(content for content, _ in self._files.values())).hexdigest()[:12]


class Pages:
    """Draws pages; knows nothing of requests."""

    def __init__(self, *, markup: Markup, clock: Callable[[], datetime], version: str) -> None:
        """Args: markup: renders the question. clock: gives aware times. version: of the static files."""
        from jinja2 import Environment, PackageLoader, StrictUndefined  # 40 ms: not for a command that serves nothing

        environment = Environment(
            loader=PackageLoader("bot.pages"),
            autoescape=True,
            undefined=StrictUndefined,
            auto_reload=False,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._templates = {name: environment.get_template(f"{name}.html") for name in _TEMPLATES}
        self._markup = markup
        self._clock = clock
        self._version = version

    def form(
        self,
        question: Question,
        asked: tuple[Input, ...],
        *,
        reader: Reader,
        place: Place,
        errors: tuple[FieldError, ...] = (),
        again: bool = False,
        note: str = "",
    ) -> str:
        """The form.

        Args:
            question: what is asked.
            asked: its fields, with what stands in them.
            reader: who looks.
            place: where the page stands.
            errors: of the answer as a whole; those of fields are in ``asked``.
            again: the person has sent it before.
            note: key of a sentence above it.
        """
        words = Wording(reader, self._clock())
        fields = [_shown(one, words, again=again) for one in asked]
        problems = [
            {"target": field["target"], "title": field["title"], "text": text}
            for field in fields
            for text in field["errors"]
        ]
        problems += [{"target": "", "title": "", "text": words.error(error, None)} for error in errors]
        return self._drawn(
            "form",
            words,
            place,
            text=self._question(question),
            fields=fields,
            problems=problems,
            note=note and words.say(note),
            send=words.say("page.send" if fields else "page.confirm.button"),
            until=words.say("page.until", time=words.moment(question.expires_at)),
        )

    def confirm(self, question: Question, *, reader: Reader, place: Place, changed: bool = False) -> str:
        """The second confirmation of an important question (FORM-12), with everything that would be sent."""
        words = Wording(reader, self._clock())
        return self._drawn(
            "confirm",
            words,
            place,
            text=self._question(question),
            rows=_rows(question.form, question.kept, words),
            shown=question.version,
            changed=changed,
            until=words.say("page.until", time=words.moment(question.expires_at)),
        )

    def taken(self, question: Question, *, reader: Reader, place: Place) -> str:
        """It is sent."""
        words = Wording(reader, self._clock())
        return self._drawn(
            "notice", words, place, name="taken", rows=_rows(question.form, question.answer or {}, words)
        )

    def notice(self, name: str, *, reader: Reader, place: Place) -> str:
        """A page that says one thing."""
        return self._drawn("notice", Wording(reader, self._clock()), place, name=name, rows=[])

    def approve(self, approval: Approval, *, reader: Reader, place: Place, possible: bool) -> str:
        """All of a version, and the button that wants a passkey (APPR-9); ``possible``: somebody has one."""
        words = Wording(reader, self._clock())
        expires_at = approval.expires_at
        return self._drawn(
            "approve",
            words,
            place,
            **facts(approval, words.say),
            ceremony="get",
            button=words.say("page.approve.button"),
            possible=possible,
            first=False,
            until="" if expires_at is None else words.say("page.approve.until", time=words.moment(expires_at)),
        )

    def enrol(self, invited: Invited, *, reader: Reader, place: Place) -> str:
        """The page on which an operator adds a passkey (APPR-9)."""
        words = Wording(reader, self._clock())
        rows = [(words.say("page.enrol.whose"), invited.name)]
        if invited.known:
            rows.append((words.say("page.enrol.known"), words.number(invited.known)))
        field = {
            "title": words.say("page.enrol.label"),
            "hint": words.say("page.enrol.label_hint"),
            "example": words.say("page.enrol.label_example"),
            "required": False,
            "longest": MAX_LABEL,
        }
        button = words.say("page.enrol.button")
        return self._drawn(
            "enrol", words, place, rows=rows, field=field, ceremony="create", button=button, first=invited.first
        )

    def _drawn(self, template: str, words: Wording, place: Place, **facts: Any) -> str:
        return self._templates[template].render(
            say=words.say,
            language=words.reader.language,
            place=place,
            static=f"{place.base}static/",
            asset=self._version,
            **facts,
        )

    def _question(self, question: Question) -> str:
        """Headings of the question stand below the page's own, and no level is left out."""
        above: list[int] = []

        def lowered(tag: re.Match[str]) -> str:
            level = int(tag[2])
            if not tag[1]:
                while above and above[-1] >= level:
                    above.pop()
                above.append(level)
            return f"<{tag[1]}h{min(6, len(above) + 1)}>"

        return _HEADING.sub(lowered, self._markup(question.text))


def locale_of(reader: Reader) -> Locale:
    """How the reader writes numbers and dates."""
    return Locale(language=reader.tag, timezone=reader.timezone)


def _rows(form: Form, values: Mapping[str, object], words: Wording) -> list[tuple[str, str]]:
    return [(field.title, words.value(field, values)) for field in form.fields]


def _shown(one: Input, words: Wording, *, again: bool) -> dict[str, Any]:
    """What the template needs of a field."""
    field = one.field
    options = options_of(field)
    hints = [line for line in (field.description.strip(),) if line]
    hints += words.limits(field)
    if field.examples and not options:
        hints.append(words.say("page.example", example=words.value(field, {field.name: field.examples[0]})))
    if one.control in _ZONED:
        hints.append(words.say("page.zone", zone=words.zone()))
    if one.control is Control.PASSWORD:
        hints.append(words.say("page.retype" if again else "page.masked"))
    target = one.entries[0].name if one.entries else f"{one.name}-0"
    return {
        "input": one,
        "name": one.name,
        "control": one.control.value,
        "title": field.title,
        "required": field.required,
        "keypad": _keypad(field),
        "hints": hints,
        "errors": [words.error(error, field) for error in one.errors],
        "target": one.name if one.control is Control.LIST else target,
        "options": [(place, words.title(option), place in one.chosen) for place, option in enumerate(options)],
        "readings": [
            [(str(reading), words.item(field, reading), str(reading) == entry.picked) for reading in entry.readings]
            for entry in one.entries
        ],
    }


def _keypad(field: Field) -> str:
    """The keyboard of a phone; those for numbers have no minus."""
    if not any(low is not None and low >= 0 for low in (field.minimum, field.exclusive_minimum)):
        return "text"
    return "numeric" if field.kind is FieldKind.INTEGER else "decimal"
