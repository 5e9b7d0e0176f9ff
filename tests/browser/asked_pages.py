"""Questions in memory that are judged and compared as the real room does it, for the pages alone."""

import asyncio
import hashlib
import hmac
from collections.abc import Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from urllib.parse import urlencode

import aiohttp

from bot.channels.web.markdown import render
from bot.config.secret import Secret
from bot.model.errors import StoreError
from bot.model.question import Question, QuestionState, Way, Who
from bot.pages.server import serve
from bot.ports.questions import Confirm, Gone, Lost, NotYours, Opened, Outcome, Refused, Taken
from forms.bounds import same
from forms.schema import read_form
from forms.validation import FieldError, Judge
from policy.destination import Destination
from policy.event import Chat

TOKEN = "t0ken-of-a-question-t0ken-of-a-question-xyz"
NOW = datetime(2026, 7, 1, 10, 0, tzinfo=UTC)
BOT_TOKEN = Secret("7001:" + "AbCdEfGhIj" * 4)
SECRET = BOT_TOKEN.reveal()
DESTINATION = Destination(platform="web", workspace="desk", channel="customers")


@dataclass
class Kept:
    """Questions by the digest of their token, and what was done with them."""

    now: datetime = NOW
    questions: dict[str, Question] = field(default_factory=dict)
    refused: list[tuple[FieldError, ...]] = field(default_factory=list)
    submitted: list[dict[str, object]] = field(default_factory=list)
    opened: int = 0
    allowed: frozenset[str | None] | None = None
    broken: bool = False
    waits: asyncio.Barrier | None = None

    def ask(self, schema, *, token=TOKEN, text="Which day suits you?", **facts) -> Question:
        question = Question(
            id="q1",
            agent="planner",
            key="k1",
            destination=DESTINATION,
            chat=Chat.GROUP,
            person=None,
            asker=None,
            event_id=None,
            form=read_form(schema),
            schema=schema,
            text=text,
            who=Who(),
            asked_at=self.now,
            expires_at=self.now + timedelta(hours=1),
            **facts,
        )
        self.questions[digest(token)] = question
        return question

    def question(self, token=TOKEN) -> Question:
        return self.questions[digest(token)]

    def change(self, token=TOKEN, **facts) -> Question:
        """Somebody else changes it."""
        question = self.question(token)
        self.questions[digest(token)] = replace(question, version=question.version + 1, **facts)
        return self.question(token)

    async def open(self, token: str) -> Opened | Gone:
        self.opened += 1
        self._stumble()
        question = self.questions.get(digest(token))
        if question is None:
            return Gone.UNKNOWN
        if question.state.pending and self.now >= question.expires_at:
            question = self.change(token, state=QuestionState.EXPIRED)
        return Opened(question=question) if question.state.pending else Gone(question.state.value)

    async def closed(self, token: str) -> Question | None:
        self._stumble()
        question = self.questions.get(digest(token))
        return None if question is None or question.state.pending else question

    async def submit(
        self, token: str, values: Mapping[str, object], *, by: str | None, way: Way, confirmed: bool = False
    ) -> Outcome:
        self.submitted.append({"values": dict(values), "by": by, "way": way, "confirmed": confirmed})
        opened = await self.open(token)
        if opened is Gone.ANSWERED:
            question = self.question(token)
            return Taken(question=question) if same(question.answer, dict(values)) else Lost()
        if isinstance(opened, Gone):
            return opened
        if self.allowed is not None and by not in self.allowed:
            return NotYours()
        question = opened.question
        if errors := Judge(question.form).errors(dict(values)):
            wrong = {error.field for error in errors}
            self.refused.append(errors)
            kept = {name: value for name, value in values.items() if name not in wrong}
            return Refused(errors=errors, kept=kept)
        if self.waits is not None:  # until all are as far, so that a race is one
            await self.waits.wait()
        if question.important and not confirmed:
            if not self._swap(token, question, state=QuestionState.CONFIRMING, kept=dict(values)):
                return Lost()
            return Confirm(question=replace(self.question(token), version=question.version))
        if confirmed and not same(dict(question.kept), dict(values)):
            return Lost()
        won = self._swap(token, question, state=QuestionState.ANSWERED, answer=dict(values), answered_by=by, way=way)
        if won or same(self.question(token).answer, dict(values)):
            return Taken(question=self.question(token))
        return Lost()

    async def refuse(self, token: str, errors) -> None:
        self._stumble()
        self.refused.append(tuple(errors))

    def _swap(self, token: str, seen: Question, **facts) -> bool:
        """Compare and set: another version in between wins."""
        if self.question(token).version != seen.version:
            return False
        self.change(token, **facts)
        return True

    def _stumble(self) -> None:
        if self.broken:
            raise StoreError("the disk is full: /secret/path", passing=True)


def digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def launch_data(*, token=SECRET, user='{"id":42,"first_name":"Ann & Bo"}', at=NOW, **more):
    """What Telegram gives to a Mini App of the bot, signed."""
    fields = {"user": user, "auth_date": str(int(at.timestamp())), "query_id": "AAE", "signature": "x_y", **more}
    return signed(fields, token)


def signed(fields, token=SECRET):
    key = hmac.digest(b"WebAppData", token.encode(), hashlib.sha256)
    text = "\n".join(f"{name}={value}" for name, value in sorted(fields.items()))
    return urlencode({**fields, "hash": hmac.digest(key, text.encode(), hashlib.sha256).hex()})


@dataclass
class Forms:
    """Pages that are served, and a way to them."""

    kept: Kept
    url: str
    http: aiohttp.ClientSession

    def link(self, token=TOKEN, *, kind="f") -> str:
        return f"{self.url}/{kind}/{token}"

    async def get(self, path: str, *, method="GET", **headers) -> tuple[int, str, Mapping[str, str]]:
        async with self.http.request(method, self.url + path, headers=headers, allow_redirects=False) as answer:
            return answer.status, await answer.text(), answer.headers

    async def post(self, fields, *, path=f"/f/{TOKEN}", **headers) -> tuple[int, str]:
        async with self.http.post(self.url + path, data=fields, headers=headers) as answer:
            return answer.status, await answer.text()


@asynccontextmanager
async def forms_served(*, kept: Kept | None = None, public_url="https://ask.example.org", prefix="", **settings):
    """Serve pages on a free port; ``prefix``: of the public address."""
    kept = kept or Kept()
    port = asyncio.get_running_loop().create_future()
    running = asyncio.create_task(
        serve(
            kept,
            host="127.0.0.1",
            public_url=public_url + prefix,
            markup=render,
            clock=lambda: kept.now,
            bound=port.set_result,
            **{"port": 0, "telegram": [BOT_TOKEN], **settings},
        ),
        name="pages",
    )
    try:
        async with asyncio.timeout(10):
            await asyncio.wait([running, port], return_when=asyncio.FIRST_COMPLETED)
        assert port.done(), running
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=20)) as http:
            yield Forms(kept=kept, url=f"http://127.0.0.1:{port.result()}", http=http)
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
