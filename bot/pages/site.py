"""The HTTP side of hosted forms: look, send, confirm. Looking uses nothing up, however often and by whom (FORM-6)."""

import hashlib
import re
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, assert_never

from aiohttp import web

from bot.approvals.passkeys import Passkeys
from bot.model.errors import StoreError
from bot.model.question import Question, QuestionState, Way
from bot.observability.log import get_logger
from bot.pages.body import MAX_BYTES, BodyError, Sent, read_post
from bot.pages.headers import headers, set_headers
from bot.pages.miniapp import Doubt, MiniApp
from bot.pages.pace import Addresses, Pace
from bot.pages.passkeys import GUESSED, PasskeyPages
from bot.pages.rendering import Assets, Markup, Pages, Place, locale_of
from bot.pages.wording import Reader
from bot.ports.questions import Confirm, Gone, Lost, NotYours, Opened, Outcome, Questions, Refused, Taken
from forms.page import inputs, read_page
from forms.validation import FieldError, Judge

log = get_logger(__name__)

FORM: Final = "f"
MINI_APP: Final = "m"
CONFIRM: Final = "confirm"
INIT_DATA: Final = "init_data"
_TOKEN: Final = re.compile(r"[A-Za-z0-9_-]{16,128}")
_FETCH_SITES: Final = frozenset({"same-origin", "none"})
_RECEIPTS: Final = 500
_GUESS: Final = 8.0  # a link that leads nowhere costs as much as so many pages
_STATUS: Final[Mapping[Gone, int]] = {Gone.UNKNOWN: 404, Gone.ANSWERED: 410, Gone.EXPIRED: 410, Gone.CANCELLED: 410}
_NAMES: Final = {400: "malformed", 408: "malformed", 413: "too_large", 415: "malformed"}
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Visit:
    """One request for a question's page. ``link`` is a digest of the token."""

    request: web.Request
    token: str
    link: str
    place: Place
    reader: Reader


@dataclass(frozen=True, kw_only=True, slots=True)
class Receipt:
    """What was taken, and a fingerprint of how it was sent: the same sent once more is the same answer (FORM-7)."""

    sent: bytes
    question: Question


class Site:
    """Routes and their answers."""

    def __init__(
        self,
        questions: Questions,
        *,
        prefix: str,
        markup: Markup,
        clock: Callable[[], datetime],
        answer_self: Callable[[str], str | None],
        mini_app: MiniApp | None = None,
        proxies: Sequence[str] | None = None,
        passkeys: Passkeys | None = None,
    ) -> None:
        """See :func:`bot.pages.server.serve`.

        ``prefix`` is the path of the public address, "" for none; ``answer_self`` answers :mod:`bot.pages.reach`.
        """
        self._questions = questions
        self._prefix = prefix
        self._clock = clock
        self._answer_self = answer_self
        self._mini_app = mini_app
        self._addresses = Addresses() if proxies is None else Addresses(proxies)
        self._assets = Assets()
        self._pages = Pages(markup=markup, clock=clock, version=self._assets.version)
        self._passkeys = None if passkeys is None else PasskeyPages(passkeys, self._pages, clock)
        self._by_address = Pace(burst=120, each_s=0.5)
        self._by_link = Pace(burst=60, each_s=1.0)
        self._sent_by_link = Pace(burst=20, each_s=3.0)
        self._receipts: OrderedDict[str, Receipt] = OrderedDict()

    def application(self) -> web.Application:
        """The aiohttp application; a proxy may leave the path of the public address on or take it off."""
        app = web.Application(middlewares=[self._answer], client_max_size=MAX_BYTES)
        app.on_response_prepare.append(set_headers)
        for prefix in dict.fromkeys(("", self._prefix)):
            for kind in (FORM, MINI_APP) if self._mini_app is not None else (FORM,):
                app.router.add_get(f"{prefix}/{kind}/{{token}}", self._look)
                app.router.add_post(f"{prefix}/{kind}/{{token}}", self._send)
            if self._passkeys is not None:
                self._passkeys.add_to(app, prefix)
            app.router.add_get(f"{prefix}/static/{{name}}", self._asset)
            app.router.add_get(f"{prefix}/self/{{nonce}}", self._self)
        return app

    # Looking

    async def _look(self, request: web.Request) -> web.StreamResponse:
        visit = self._visit(request)
        opened = await self._open(visit)
        if isinstance(opened, Gone):
            return self._notice(visit, opened.value, _STATUS[opened])
        visit, question = self._read_by(visit, opened.question), opened.question
        if question.state is QuestionState.CONFIRMING and "change" not in request.query:
            return self._confirm(visit, question)
        return self._form(visit, question, note="page.kept" if question.kept else "")

    async def _open(self, visit: Visit) -> Opened | Gone:
        """The question of a link. One that can't be of ours is as unknown as any other."""
        opened = await self._questions.open(visit.token) if _TOKEN.fullmatch(visit.token) else Gone.UNKNOWN
        if opened is Gone.UNKNOWN:
            self._by_address.wait_s(self._addresses.of(visit.request), _GUESS)
        return opened

    # Sending

    async def _send(self, request: web.Request) -> web.StreamResponse:
        visit = self._visit(request)
        if request.headers.get("Sec-Fetch-Site", "none") not in _FETCH_SITES:
            return self._notice(visit, "malformed", 403)  # a page elsewhere that has come by the link
        wait_s = self._sent_by_link.wait_s(visit.link)
        if wait_s:
            return self._hasty(visit, wait_s)
        sent = await read_post(request)
        account: str | None = None
        if visit.place.mini_app and self._mini_app is not None and any(sent.get(INIT_DATA, ())):
            checked = self._mini_app.check(sent[INIT_DATA][0], link=visit.link)
            if isinstance(checked, Doubt):
                log.warning("mini_app_unproven", cause=checked.value)
                return self._notice(visit, "unproven", 403)
            account = checked.account
        fingerprint = _fingerprint(sent, account)
        receipt = self._receipts.get(visit.link)
        if receipt is not None and receipt.sent == fingerprint:
            return self._taken(self._read_by(visit, receipt.question), receipt.question)
        opened = await self._open(visit)
        if opened is Gone.ANSWERED:
            return await self._repeated(visit, sent, account, fingerprint)
        if isinstance(opened, Gone):
            return self._ended(visit, opened)
        visit = self._read_by(visit, opened.question)
        if CONFIRM in sent:
            return await self._confirmed(visit, opened.question, sent, account, fingerprint)
        return await self._answered(visit, opened.question, sent, account, fingerprint)

    async def _repeated(self, visit: Visit, sent: Sent, account: str | None, fingerprint: bytes) -> web.StreamResponse:
        """What is answered already: the same answer sent once more is told so as often as it comes (FORM-7)."""
        question = await self._questions.closed(visit.token)
        if question is None:
            return self._ended(visit, Gone.ANSWERED)
        visit = self._read_by(visit, question)
        if CONFIRM in sent:  # it says which version it confirms and not what stood there, so that is not shown again
            last = question.important and sent[CONFIRM] == [str(question.version - 1)]
            return self._notice(visit, "taken", 200) if last else self._ended(visit, Gone.ANSWERED)
        values, errors = self._read(visit, question, sent)
        if errors:
            return self._ended(visit, Gone.ANSWERED)
        outcome = await self._questions.submit(visit.token, values, by=account, way=_way(account))
        return await self._told(visit, question, outcome, sent, fingerprint)

    def _read(self, visit: Visit, question: Question, sent: Sent) -> tuple[dict[str, object], tuple[FieldError, ...]]:
        return read_page(question.form, sent, locale=locale_of(visit.reader), today=visit.reader.today(self._clock()))

    async def _answered(
        self, visit: Visit, question: Question, sent: Sent, account: str | None, fingerprint: bytes
    ) -> web.StreamResponse:
        values, errors = self._read(visit, question, sent)
        try:
            if errors:
                unread = {error.field for error in errors}
                found = (error for error in Judge(question.form).errors(values) if error.field not in unread)
                errors = (*errors, *found)
                await self._questions.refuse(visit.token, errors)
                return self._form(visit, question, sent=sent, errors=errors, status=422)
            outcome = await self._questions.submit(visit.token, values, by=account, way=_way(account))
        except StoreError as error:
            log.error("answer_not_stored", error=type(error).__name__)
            return self._form(visit, question, sent=sent, note="page.unsent", status=503)
        return await self._told(visit, question, outcome, sent, fingerprint)

    async def _confirmed(
        self, visit: Visit, question: Question, sent: Sent, account: str | None, fingerprint: bytes
    ) -> web.StreamResponse:
        """The second confirmation counts for exactly the answer that was shown with it (FORM-12)."""
        if question.state is not QuestionState.CONFIRMING:
            return self._form(visit, question, note="page.kept" if question.kept else "")
        if sent[CONFIRM] != [str(question.version)]:
            return self._confirm(visit, question, changed=True)
        outcome = await self._questions.submit(
            visit.token, question.kept, by=account, way=_way(account), confirmed=True
        )
        return await self._told(visit, question, outcome, {}, fingerprint)

    async def _told(
        self, visit: Visit, question: Question, outcome: Outcome, sent: Sent, fingerprint: bytes
    ) -> web.StreamResponse:
        match outcome:
            case Taken(question=taken):
                self._receipts[visit.link] = Receipt(sent=fingerprint, question=_without_secrets(taken))
                if len(self._receipts) > _RECEIPTS:
                    self._receipts.popitem(last=False)
                return self._taken(visit, taken)
            case Refused(errors=errors):
                return self._form(visit, question, sent=sent, errors=errors, status=422)
            case Confirm():
                return await self._waiting(visit, question, sent)
            case Lost():
                return self._notice(visit, "lost", 409)
            case NotYours():
                return self._notice(visit, "not_yours", 403)
            case Gone():
                return self._ended(visit, outcome)
            case _:
                assert_never(outcome)

    async def _waiting(self, visit: Visit, question: Question, sent: Sent) -> web.StreamResponse:
        """Show what is to be confirmed as it is stored, with the version that it has there."""
        opened = await self._open(visit)
        if isinstance(opened, Gone):
            return self._ended(visit, opened)
        if opened.question.state is QuestionState.CONFIRMING:
            return self._confirm(visit, opened.question)
        return self._form(visit, question, sent=sent)  # somebody has opened it again in between

    # Pages

    def _form(
        self,
        visit: Visit,
        question: Question,
        *,
        sent: Sent | None = None,
        errors: Sequence[FieldError] = (),
        note: str = "",
        status: int = 200,
    ) -> web.StreamResponse:
        known = {field.name for field in question.form.fields if not field.fixed}
        asked = inputs(
            question.form,
            locale=locale_of(visit.reader),
            today=visit.reader.today(self._clock()),
            kept=question.kept,
            sent=sent,
            errors=errors,
        )
        page = self._pages.form(
            question,
            asked,
            reader=visit.reader,
            place=visit.place,
            errors=tuple(error for error in errors if error.field not in known),
            again=sent is not None,
            note=note,
        )
        return _html(page, status, visit.place)

    def _confirm(self, visit: Visit, question: Question, *, changed: bool = False) -> web.StreamResponse:
        page = self._pages.confirm(question, reader=visit.reader, place=visit.place, changed=changed)
        return _html(page, 409 if changed else 200, visit.place)

    def _taken(self, visit: Visit, question: Question) -> web.StreamResponse:
        return _html(self._pages.taken(question, reader=visit.reader, place=visit.place), 200, visit.place)

    def _notice(self, visit: Visit, name: str, status: int) -> web.StreamResponse:
        return _html(self._pages.notice(name, reader=visit.reader, place=visit.place), status, visit.place)

    def _ended(self, visit: Visit, gone: Gone) -> web.StreamResponse:
        """What was sent comes too late: after another answer, or after the end."""
        if gone is Gone.ANSWERED:
            return self._notice(visit, "lost", 409)
        return self._notice(visit, gone.value, _STATUS[gone])

    def _hasty(self, visit: Visit, wait_s: float) -> web.StreamResponse:
        response = self._notice(visit, "hasty", 429)
        response.headers["Retry-After"] = str(int(wait_s) + 1)
        return response

    async def _self(self, request: web.Request) -> web.StreamResponse:
        said = self._answer_self(request.match_info["nonce"])
        if said is None:
            raise web.HTTPNotFound
        return web.Response(text=said)

    async def _asset(self, request: web.Request) -> web.StreamResponse:
        found = self._assets.get(request.match_info["name"])
        if found is None:
            raise web.HTTPNotFound
        response = web.Response(body=found[0], content_type=found[1], charset="utf-8")
        response.headers["Cache-Control"] = "public, max-age=86400"
        return response

    # Around it all

    def _visit(self, request: web.Request) -> Visit:
        """Who asks for what; before the question is known the browser alone tells the language."""
        token = request.match_info.get("token", "")
        mini_app = request.path.rpartition("/")[0].endswith(f"/{MINI_APP}")
        return Visit(
            request=request,
            token=token,
            link=hashlib.sha256(token.encode(errors="replace")).hexdigest(),
            place=Place(base="../" if token else f"{self._prefix}/", mini_app=bool(token) and mini_app),
            reader=Reader.of(request.headers.get("Accept-Language", "")),
        )

    def _read_by(self, visit: Visit, question: Question) -> Visit:
        accepted = visit.request.headers.get("Accept-Language", "")
        return replace(visit, reader=Reader.of(accepted, fallback=question.language, timezone=question.timezone))

    async def _answered_to(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        response = await handler(request)
        if request.get(GUESSED):
            self._by_address.wait_s(self._addresses.of(request), _GUESS)
        return response

    @web.middleware
    async def _answer(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Whatever happens, people get a page in plain words, and logs get no token and no answer."""
        visit = self._visit(request)
        static = "name" in request.match_info
        wait_s = 0.0 if static else self._by_address.wait_s(self._addresses.of(request))
        if not wait_s and visit.token and request.method in ("GET", "HEAD"):
            wait_s = self._by_link.wait_s(visit.link)
        if wait_s:
            return self._hasty(visit, wait_s)
        try:
            return await self._answered_to(request, handler)
        except BodyError as refused:
            return self._notice(visit, _NAMES[refused.status], refused.status)
        except web.HTTPMethodNotAllowed as refused:
            response = self._notice(visit, "malformed", 405)
            response.headers["Allow"] = refused.headers["Allow"]
            return response
        except web.HTTPException as refused:
            return self._notice(visit, "unknown" if refused.status == 404 else "malformed", refused.status)
        except ConnectionError:
            raise
        except Exception as error:  # noqa: BLE001 - a traceback could hold what somebody wrote
            log.error("page_failed", method=request.method, error=type(error).__name__)
            return self._notice(visit, "unavailable", 503)


def _way(account: str | None) -> Way:
    return Way.FORM if account is None else Way.MINI_APP


def _without_secrets(question: Question) -> Question:
    """What a receipt needs to be shown again: that something masked was answered, not what (FORM-10)."""
    masked = dict.fromkeys(field.name for field in question.form.fields if field.masked)
    answer = {name: None if name in masked else value for name, value in (question.answer or {}).items()}
    return replace(question, answer=answer, kept={})


def _fingerprint(sent: Sent, account: str | None) -> bytes:
    """Equal for equal posts. Launch data may differ from page to page; who it names may not."""
    parts = [repr(account), *(f"{name}={values!r}" for name, values in sorted(sent.items()) if name != INIT_DATA)]
    return hashlib.sha256("\n".join(parts).encode(errors="surrogatepass")).digest()


def _html(text: str, status: int, place: Place) -> web.Response:
    return web.Response(text=text, content_type="text/html", status=status, headers=headers(mini_app=place.mini_app))
