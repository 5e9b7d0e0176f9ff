"""Requests to a question's page, and what must hold of their answers, whatever the case is called."""

import html
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlsplit

import aiohttp

from bot.model.question import Question as Stored
from bot.model.question import QuestionState
from bot.pages.words import ENGLISH
from forms.bounds import same
from tests.cases.asked import Question
from tests.cases.result import NotRun, check


@dataclass(kw_only=True)
class Visit:
    """One request and what came of it.

    Attributes:
        t: seconds after the question was asked.
        body: the values that it sends; None: nothing.
        before, after: the question in the store.
    """

    t: float
    method: str
    asked: Mapping[str, Any]
    body: Mapping[str, Any] | None
    status: int = 0
    page: str = field(default="", repr=False)
    before: Stored | None = None
    after: Stored | None = None

    @property
    def words(self) -> str:
        """What a person reads on the page."""
        body = re.sub(r"<(head|script|style)\b.*?</\1>", " ", self.page, flags=re.DOTALL)
        return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", body)).split())

    @property
    def taken(self) -> bool:
        """Whether the page says thanks."""
        return self.status == 200 and _said("taken.title") in self.words

    @property
    def has_form(self) -> bool:
        """Whether there is something to fill in and send."""
        return re.search(r"<form\b[^>]*method=\"?post", self.page, re.IGNORECASE) is not None


def _said(name: str) -> str:
    """A sentence of the pages in English."""
    return next(sentence for key, sentence in ENGLISH.items() if key.partition(".")[2] == name)


class Visitor:
    """Comes to the pages' server, as through the proxy before it."""

    def __init__(self, http: aiohttp.ClientSession, port: int, base_url: str, prefix: str) -> None:
        self._http = http
        self._port = port
        self._base = urlsplit(base_url)
        self._prefix = prefix

    async def go(
        self, link: str, method: str, *, agent: str | None, data: Any = None, off: bool = False, **headers: str
    ) -> tuple[int, str]:
        """Status and page. ``off``: the proxy takes the public address's path off."""
        path = urlsplit(link).path
        if off:
            path = path.removeprefix(self._prefix)
        sent = {"Host": self._base.netloc, "User-Agent": agent or "", **headers}
        url = f"http://127.0.0.1:{self._port}{path}"
        async with self._http.request(method, url, data=data, headers=sent, allow_redirects=False) as answer:
            return answer.status, await answer.text()


def judge(visits: list[Visit], question: Question, expected: Mapping[str, Any]) -> None:
    """What always holds of the pages, then the case's own words of the end."""
    posts = [visit for visit in visits if visit.method == "POST"]
    first = next((visit for visit in posts if visit.taken), None)
    for visit in posts[posts.index(first) + 1 :] if first else []:
        if visit.asked.get("body") == first.asked.get("body"):
            check((visit.status, visit.page) == (first.status, first.page), "the same success page for the same answer")
        else:
            check(visit.status >= 400 and not visit.taken, "another answer to be refused", visit.status)
        check(visit.after == visit.before, "a later answer to change nothing")
    if first is not None:
        check(question.conclusion is not None and question.conclusion.answer is not None, "the agent to get the answer")
        for visit in (visit for visit in visits if visit.method == "GET" and visits.index(visit) > visits.index(first)):
            check(visit.status in {404, 410} and not visit.has_form, "no form after the answer", visit.status)
            check(_said("answered.title") in visit.words, "a later GET to say that it is answered", visit.words)
            for value in (question.conclusion.answer or {}).values() if question.conclusion else ():
                found = re.search(rf"(?<!\w){re.escape(str(value))}(?!\w)", visit.words)
                check(not found, "a later GET without the content", visit.words)
            check("Why" not in visit.words, "a later GET without the question", visit.words)
    end_state = str(expected["end_state"])
    judged = False
    for pattern, ends in _ENDS:
        match = re.search(pattern, end_state, re.IGNORECASE)
        if match is not None:
            ends(visits, question, match)
            judged = True
    if not judged:
        raise NotRun(f"the end {end_state!r} is not understood")


def _taken_at(visits: list[Visit], question: Question, match: "re.Match[str]") -> None:
    t = float(match[1])
    at = [visit for visit in visits if visit.t == t and visit.method == "POST"]
    check(at and at[0].taken, match[0], [visit.status for visit in at])
    check(at[0].before is not None and at[0].before.state.pending, "the question to be open until then")
    check(at[0].after is not None and at[0].after.state is QuestionState.ANSWERED, match[0])
    check(
        question.answer is not None and same(dict(question.answer), dict(at[0].body or {})), match[0], question.answer
    )


def _one_answer(visits: list[Visit], question: Question, match: "re.Match[str]") -> None:
    pairs = dict(re.findall(r"(\w+) ?= ?([^\s,;]+)", match.string))
    got = {name: str(value) for name, value in (question.answer or {}).items()}
    check(question.conclusion is not None and question.conclusion.state is QuestionState.ANSWERED, match[0])
    check(not pairs or {name: value.strip("'\"") for name, value in pairs.items()} == got, match.string, got)
    changed = [visit for visit in visits if visit.before and visit.after and visit.before.state != visit.after.state]
    check(len(changed) == 1, "one request to answer it", len(changed))


def _status(visits: list[Visit], question: Question, match: "re.Match[str]") -> None:
    check(str(visits[-1].status) == match[1], match.string, visits[-1].status)


def _form_page(visits: list[Visit], question: Question, match: "re.Match[str]") -> None:
    check(visits[-1].status == 200 and visits[-1].has_form, match.string, visits[-1].status)
    check("Why" in visits[-1].words, "the question on the page")


def _gone(visits: list[Visit], question: Question, match: "re.Match[str]") -> None:
    told = [name for name in ("expired", "cancelled", "answered", "unknown") if name[:6] in match[0].lower()]
    words = visits[-1].words
    check(visits[-1].status in {404, 409, 410}, match.string, visits[-1].status)
    check(any(_said(f"{name}.title") in words for name in told), match.string, words)


def _unanswered(visits: list[Visit], question: Question, match: "re.Match[str]") -> None:
    check(question.answer is None, match.string, question.answer)


def _open(visits: list[Visit], question: Question, match: "re.Match[str]") -> None:
    check(visits[-1].after is not None and visits[-1].after.state.pending, match.string)


def _refused(visits: list[Visit], question: Question, match: "re.Match[str]") -> None:
    check(visits[-1].status >= 400 and not visits[-1].taken, match.string, visits[-1].status)


_ENDS: Final = (
    (r"answer accepted at t ?= ?(\d+(?:\.\d+)?)", _taken_at),
    (r"\b(one|a single|exactly one|first) answer\b", _one_answer),
    (r"^(?:HTTP )?([2-5]\d\d)\b", _status),
    (r"form page|the form (is )?shown", _form_page),
    (r"\b(expired|cancelled|already answered|unknown)\b", _gone),
    (r"\bno answer|not answered|unanswered|nothing (is )?(accepted|recorded)", _unanswered),
    (r"still (open|pending|valid|usable)|\bpending\b", _open),
    (r"\brefused\b|\brejected\b", _refused),
)
