"""A question as people would see it, without a store, a connection or anybody to ask: ``discreet form preview``."""

import hmac
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, Protocol, cast
from zoneinfo import ZoneInfo

from bot.model.output import Final as Answer
from bot.model.part import Part
from bot.model.question import Asking, Question, QuestionState, Way
from bot.ports.channel import Channel, Reply
from bot.ports.questions import Confirm, Gone, Opened, Outcome, Refused, Taken
from bot.questions.links import Links
from bot.questions.showing import Showing
from forms.schema import read_form
from forms.validation import FieldError, Judge
from policy.boundary import Speech
from policy.destination import parse_destination
from policy.event import Chat

if TYPE_CHECKING:
    from collections.abc import Coroutine

_PLACES: Final[Mapping[str, str]] = {
    "telegram": "telegram:7001:-1001900000001",
    "matrix": "matrix:@desk:example.org:!room:example.org",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Message:
    """One message of a question, as a platform would get it: its words, its buttons row by row, and its HTML if any."""

    platform: str
    text: str
    keyboard: tuple[tuple[str, ...], ...] = ()
    html: str = ""


class _Presents(Protocol):
    def __call__(self, speech: Speech, answer: Answer, *, to: Reply) -> tuple[Part, ...]: ...


class _Platform:
    """As much of a channel as showing a question needs."""

    def __init__(self, present: _Presents, *, keyboards: bool) -> None:
        self.present = present
        self.keyboards = keyboards


class Rehearsal:
    """One question in memory; see :class:`bot.ports.questions.Questions`. After an answer it can be answered again."""

    def __init__(
        self,
        asking: Asking,
        *,
        language: str,
        timezone: str,
        heard: Callable[[Outcome | Sequence[FieldError]], None],
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """Make it.

        Args:
            asking: what is asked.
            language: of the gateway's words around it.
            timezone: IANA name.
            heard: is told of every attempt.
            clock: gives aware times.

        Raises:
            SchemaError: the schema can't be asked.
        """
        now = clock()
        self.clock = clock
        self.question = Question(
            id=secrets.token_hex(16),
            agent="preview",
            key="preview",
            destination=parse_destination(_PLACES["telegram"]),
            chat=Chat.GROUP,
            person=None,
            asker=None,
            event_id=None,
            schema=asking.schema,
            form=read_form(asking.schema),
            text=asking.text,
            who=asking.who,
            important=asking.important,
            language=language,
            timezone=timezone,
            asked_at=now,
            expires_at=now + timedelta(seconds=asking.ttl_s),
        )
        self._key = secrets.token_bytes(32)
        self._links = Links(self._key, None)
        self._heard = heard
        self._judge = Judge(self.question.form)

    def reach(self, base_url: str) -> None:
        """From now on its page is there."""
        self._links = Links(self._key, base_url)

    @property
    def address(self) -> str:
        """Of its page."""
        return self._links.page(self.question.id) or ""

    def messages(self) -> list[Message]:
        """How Telegram and Matrix would show it."""
        from bot.channels.matrix import presenting as matrix
        from bot.channels.matrix.payload import decode as decode_matrix
        from bot.channels.telegram import presenting as telegram
        from bot.channels.telegram.payload import decode as decode_telegram

        found = []
        for part in self._parts("telegram", _Platform(telegram.present, keyboards=True)):
            _, params = decode_telegram(part)
            rows = params.get("reply_markup", {}).get("inline_keyboard", [])
            keyboard = tuple(tuple(_button(key) for key in row) for row in rows)
            found.append(Message(platform="telegram", text=params.get("text", ""), keyboard=keyboard))
        for part in self._parts("matrix", _Platform(matrix.present, keyboards=False)):
            content = decode_matrix(part)["content"]
            seeds = tuple(decode_matrix(part).get("seeds", ()))
            found.append(
                Message(
                    platform="matrix",
                    text=content.get("body", ""),
                    keyboard=(seeds,) if seeds else (),
                    html=content.get("formatted_body", ""),
                )
            )
        return found

    def _parts(self, platform: str, channel: _Platform) -> tuple[Part, ...]:
        question = replace(self.question, destination=parse_destination(_PLACES[platform]))
        today = self.clock().astimezone(ZoneInfo(question.timezone)).date()
        to = Reply(destination=question.destination)
        return Showing(self._links).open(question, cast("Channel", channel), to=to, today=today)

    # bot.ports.questions.Questions

    async def open(self, token: str) -> Opened | Gone:
        """The question, whatever has been answered."""
        if not hmac.compare_digest(token.encode(), self._links.token(self.question.id).encode()):
            return Gone.UNKNOWN
        return Opened(question=self.question)

    async def closed(self, token: str) -> Question | None:
        """It never ends."""
        return None

    async def submit(
        self, token: str, values: Mapping[str, object], *, by: str | None, way: Way, confirmed: bool = False
    ) -> Outcome:
        """Judge as the gateway does, tell, and start again."""
        opened = await self.open(token)
        if isinstance(opened, Gone):
            return opened
        outcome = self._outcome(opened.question, values, way=way, confirmed=confirmed)
        self._heard(outcome)
        return outcome

    def _outcome(
        self, question: Question, values: Mapping[str, object], *, way: Way, confirmed: bool
    ) -> Refused | Confirm | Taken:
        errors = self._judge.errors(dict(values))
        if errors:
            return Refused(errors=errors, kept={})
        version = question.version + 1
        if question.important and not confirmed:
            waiting = replace(question, state=QuestionState.CONFIRMING, kept=dict(values), version=version)
            self.question = waiting
            return Confirm(question=waiting)
        self.question = replace(question, state=QuestionState.OPEN, kept={}, version=version)
        ended = replace(question, state=QuestionState.ANSWERED, kept={}, answer=dict(values), way=way)
        return Taken(question=replace(ended, version=version, closed_at=self.clock()))

    async def submit_shown(self, *_: object, **__: object) -> Outcome:
        """There is no chat to answer in."""
        return Gone.UNKNOWN

    async def refuse(self, token: str, errors: Sequence[FieldError]) -> None:
        """Tell of an attempt that could not even be read."""
        if isinstance(await self.open(token), Opened):
            self._heard(tuple(errors))

    def serving(self, *, port: int, bound: Callable[[int], None]) -> "Coroutine[Any, Any, None]":
        """Serve its page on loopback."""
        from bot.channels.web.markdown import render
        from bot.pages.server import serve

        return serve(
            self,
            host="127.0.0.1",
            port=port,
            public_url=f"http://127.0.0.1:{port}",
            markup=render,
            clock=self.clock,
            bound=bound,
        )


def _button(key: Mapping[str, str]) -> str:
    return f"{key['text']} ({key['url']})" if "url" in key else key["text"]
