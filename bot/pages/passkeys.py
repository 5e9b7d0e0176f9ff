"""The pages that want a passkey: one approves a version, one adds a passkey (APPR-9).

Looking decides nothing, and neither does an address: what counts is what an authenticator has signed. Our script asks
for what is to be signed (``/options``) and sends it back; both are JSON from our own origin, or nothing.
"""

import hashlib
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any, Final, assert_never

from aiohttp import web

from bot.approvals.addresses import APPROVAL, ENROLMENT
from bot.approvals.passkeys import Passkeys, Refusal, Signed
from bot.model.approval import ApprovalState
from bot.model.errors import StoreError
from bot.observability.log import get_logger
from bot.pages.body import BodyError, read_json
from bot.pages.headers import passkey_headers
from bot.pages.pace import Pace
from bot.pages.rendering import Pages, Place
from bot.pages.wording import Reader, Wording
from bot.ports.approvals import (
    Already,
    Decided,
    NoSuch,
    NotEntitled,
    Outcome,
    PasskeyWanted,
    Stale,
    Unseen,
    WordsWanted,
)

log = get_logger(__name__)

GUESSED: Final = web.RequestKey("guessed", bool)
"""Mark of a request for what is not there: it costs whoever asks."""
_STATUS: Final = {
    Refusal.GONE: 410,
    Refusal.UNKNOWN: 404,
    Refusal.DECIDED: 410,
    Refusal.STALE: 409,
    Refusal.NOBODY: 409,
    Refusal.WORDS: 422,
    Refusal.LATE: 409,
    Refusal.REFUSED: 403,
    Refusal.COPIED: 403,
}
_ENDS: Final = frozenset({Refusal.GONE, Refusal.UNKNOWN, Refusal.DECIDED, Refusal.STALE, Refusal.COPIED})
"""What can't be tried again on the same page."""
_BROWSERS: Final = frozenset({"same-origin", None})
_BROKEN: Final = {408: "malformed", 413: "too_large"}
Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


class PasskeyPages:
    """Routes and their answers."""

    def __init__(self, passkeys: Passkeys, pages: Pages, clock: Callable[[], datetime]) -> None:
        """Args: pages: draws. clock: gives aware times."""
        self._passkeys = passkeys
        self._pages = pages
        self._clock = clock
        self._by_link = Pace(burst=20, each_s=3.0)

    def add_to(self, app: web.Application, prefix: str) -> None:
        """Add the routes below a prefix."""
        for kind, look, options, signed in (
            (APPROVAL, self._approval, self._approval_options, self._approve),
            (ENROLMENT, self._enrolment, self._enrolment_options, self._enrol),
        ):
            app.router.add_get(f"{prefix}/{kind}/{{token}}", look)
            app.router.add_post(f"{prefix}/{kind}/{{token}}", self._guarded(signed))
            app.router.add_post(f"{prefix}/{kind}/{{token}}/options", self._guarded(options))

    # looking

    async def _approval(self, request: web.Request) -> web.StreamResponse:
        shown = await self._passkeys.shown(_token(request))
        if isinstance(shown, Refusal):
            return self._notice(request, shown)
        possible = await self._passkeys.anybody(shown)
        reader = Reader.of(request.headers.get("Accept-Language", ""), timezone=self._passkeys.timezone)
        return _page(self._pages.approve(shown, reader=reader, place=Place(), possible=possible), 200)

    async def _enrolment(self, request: web.Request) -> web.StreamResponse:
        invited = await self._passkeys.invited(_token(request))
        if invited is None:
            return self._notice(request, Refusal.GONE)
        return _page(self._pages.enrol(invited, reader=_reader(request), place=Place()), 200)

    def _notice(self, request: web.Request, refusal: Refusal) -> web.StreamResponse:
        _charge(request, refusal)
        page = self._pages.notice(refusal.value, reader=_reader(request), place=Place())
        return _page(page, _STATUS[refusal])

    # what our script sends

    def _guarded(self, answer: Answer) -> Answer:
        """JSON from our own pages, not too often; whatever happens, the answer is JSON with words."""

        async def guarded(request: web.Request) -> web.StreamResponse:
            origin = request.headers.get("Origin")
            if request.headers.get("Sec-Fetch-Site") not in _BROWSERS or origin not in (None, self._passkeys.origin):
                return self._said(request, "malformed", status=403)
            if self._by_link.wait_s(hashlib.sha256(_token(request).encode(errors="replace")).hexdigest()):
                return self._said(request, "hasty", status=429)
            try:
                return await answer(request)
            except BodyError as refused:
                return self._said(request, _BROKEN.get(refused.status, "malformed"), status=refused.status)
            except StoreError as error:
                log.error("passkey_not_stored", error=type(error).__name__)
                return self._said(request, "unavailable", status=503)

        return guarded

    async def _approval_options(self, request: web.Request) -> web.StreamResponse:
        words = (await read_json(request)).get("words", "")
        if not isinstance(words, str):
            raise BodyError(400)
        return self._options(request, await self._passkeys.request(_token(request), words=words))

    async def _enrolment_options(self, request: web.Request) -> web.StreamResponse:
        credential = (await read_json(request)).get("credential")
        if not isinstance(credential, dict | None):
            raise BodyError(400)
        return self._options(request, await self._passkeys.creation(_token(request), credential))

    def _options(self, request: web.Request, options: dict[str, Any] | Refusal) -> web.StreamResponse:
        if isinstance(options, Refusal):
            return self._refused(request, options)
        return web.json_response({"options": options}, headers=passkey_headers())

    async def _approve(self, request: web.Request) -> web.StreamResponse:
        credential = (await read_json(request)).get("credential")
        if not isinstance(credential, dict):
            raise BodyError(400)
        came = await self._passkeys.approve(_token(request), credential)
        if isinstance(came, Signed):
            name, status, ends = _told(came.outcome)
            return self._said(request, name, status=status, ends=ends)
        return self._refused(request, came)

    async def _enrol(self, request: web.Request) -> web.StreamResponse:
        sent = await read_json(request)
        credential, label = sent.get("credential"), sent.get("label", "")
        if not isinstance(credential, dict) or not isinstance(label, str):
            raise BodyError(400)
        refusal = await self._passkeys.enrol(_token(request), credential, label=label)
        if refusal is None:
            return self._said(request, "enrolled", status=200, ends=True)
        return self._refused(request, refusal)

    def _refused(self, request: web.Request, refusal: Refusal) -> web.StreamResponse:
        _charge(request, refusal)
        return self._said(request, refusal.value, status=_STATUS[refusal], ends=refusal in _ENDS)

    def _said(self, request: web.Request, name: str, *, status: int, ends: bool = False) -> web.StreamResponse:
        words = Wording(_reader(request), self._clock())
        said = {"ends": ends, "title": words.say(f"page.{name}.title"), "sentence": words.say(f"page.{name}.sentence")}
        return web.json_response(said, status=status, headers=passkey_headers())


def _told(outcome: Outcome) -> tuple[str, int, bool]:
    """(name of the words, status, whether the page has nothing more to do)."""
    match outcome:
        case Decided(approval=approval):
            return ("counted" if approval.state is ApprovalState.IN_REVIEW else "approved"), 200, True
        case Stale():
            return "stale", 409, True
        case Already():
            return "decided", 410, True
        case NotEntitled():
            return "not_entitled", 403, False
        case WordsWanted():
            return "words_wanted", 422, False
        case Unseen() | PasskeyWanted():  # a page shows everything, and this was a passkey
            return "unavailable", 503, False
        case NoSuch():
            return "no_approval", 404, True
        case _:
            assert_never(outcome)


def _token(request: web.Request) -> str:
    return request.match_info["token"]


def _reader(request: web.Request) -> Reader:
    return Reader.of(request.headers.get("Accept-Language", ""))


def _charge(request: web.Request, refusal: Refusal) -> None:
    if refusal in (Refusal.UNKNOWN, Refusal.GONE):
        request[GUESSED] = True


def _page(text: str, status: int) -> web.Response:
    return web.Response(text=text, content_type="text/html", status=status, headers=passkey_headers())
