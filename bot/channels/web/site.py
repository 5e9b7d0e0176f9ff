"""The HTTP side of the chat: one page, a small JSON interface, one stream, files, and the way in."""

import contextlib
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

import orjson
from aiohttp import web

from bot.channels.web.answering import Answering
from bot.channels.web.entering import SESSION_LIFETIME, digest, enter
from bot.channels.web.guard import Budget, Guard, set_headers
from bot.channels.web.intake import MAX_UPLOAD_BYTES, Intake, RefusedError
from bot.channels.web.live import Live, Subscriber
from bot.channels.web.pages import Assets, confirm, notice
from bot.channels.web.people import Member, Register, Room
from bot.channels.web.posts import MAX_TEXT, AnswerPost, DeletePost, EditPost, MessagePost, PostT, TapPost, parse
from bot.channels.web.shelf import HANDLE, Shelf
from bot.channels.web.views import Try, Viewer, rooms_of, try_of, view_of
from bot.channels.web.words import WordsFor
from bot.model.errors import ChannelError, StoreError
from bot.ports.entrances import Entrances
from bot.ports.timeline import Entry, Timeline

PAGE_LENGTH: Final = 50
MAX_STREAMS: Final = 12
HEARTBEAT_S: Final = 15.0
_BATCH: Final = 200
_MAX_BODY: Final = MAX_UPLOAD_BYTES * 4 // 3 + 256 * 1024
_PICTURES: Final = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
}


class Site:
    """Routes and their answers."""

    def __init__(
        self,
        *,
        register: Register,
        timeline: Timeline,
        entrances: Entrances,
        shelf: Shelf,
        live: Live,
        intake: Intake,
        answering: Answering,
        guard: Guard,
        clock: Callable[[], datetime],
        words: WordsFor,
        things_to_try: Sequence[Try],
        demo: bool,
    ) -> None:
        self._register = register
        self._timeline = timeline
        self._entrances = entrances
        self._shelf = shelf
        self._live = live
        self._intake = intake
        self._answering = answering
        self._guard = guard
        self._clock = clock
        self._words = words
        self._things = [try_of(thing) for thing in things_to_try]
        self._demo = demo
        self._assets = Assets()
        self._budget = Budget(clock)
        self._cookie = f"__Host-discreet-{register.desk}" if guard.secure else f"discreet-{register.desk}"

    def application(self) -> web.Application:
        """The aiohttp application."""
        app = web.Application(middlewares=[self._guard.check, self._answer_refusals], client_max_size=_MAX_BODY)
        app.on_response_prepare.append(set_headers)
        app.router.add_get("/", self._page)
        app.router.add_get("/static/{name}", self._asset)
        app.router.add_get("/enter/{token}", self._confirm)
        app.router.add_post("/enter/{token}", self._enter)
        app.router.add_post("/api/leave", self._leave)
        app.router.add_get("/api/state", self._state)
        app.router.add_get("/api/stream", self._stream)
        app.router.add_get("/api/rooms/{room}/messages", self._earlier)
        app.router.add_post("/api/rooms/{room}/messages", self._post_message)
        app.router.add_post("/api/rooms/{room}/messages/{message}/edit", self._post_edit)
        app.router.add_post("/api/rooms/{room}/messages/{message}/delete", self._post_delete)
        app.router.add_post("/api/rooms/{room}/messages/{message}/tap", self._post_tap)
        app.router.add_post("/api/rooms/{room}/messages/{message}/answer", self._post_answer)
        app.router.add_get("/rooms/{room}/files/{handle}", self._file)
        return app

    # Who is asking

    async def _viewer(self, request: web.Request) -> Viewer | None:
        """Who looks, by the session and nothing else; None: nobody who may."""
        if self._demo:
            return Viewer(member=None, rooms=tuple(self._register.rooms))
        token = request.cookies.get(self._cookie)
        if not token or len(token) > 200:
            return None
        person = await self._entrances.person(digest(token), now=self._clock())
        member = self._register.members.get(person or "")
        return None if member is None else Viewer(member=member, rooms=self._register.rooms_of(member.id))

    async def _required(self, request: web.Request) -> Viewer:
        viewer = await self._viewer(request)
        if viewer is None:
            raise RefusedError("error.session", 401)
        return viewer

    def _room(self, request: web.Request, viewer: Viewer) -> Room:
        """A room that the viewer is in; any other is exactly as if it did not exist."""
        id_ = request.match_info["room"]
        if id_ not in viewer.rooms:
            raise RefusedError("error.gone", 404)
        return self._register.rooms[id_]

    def _sender(self, viewer: Viewer, room: Room, claimed: str | None) -> Member:
        """People are only ever themselves; the demo plays them all."""
        if viewer.member is not None:
            return viewer.member
        if claimed not in room.members:
            raise RefusedError("error.forbidden", 403)
        return self._register.members[claimed or ""]

    async def _accepted(self, request: web.Request, kind: type[PostT]) -> tuple[Viewer, Room, Member, PostT]:
        viewer = await self._required(request)
        room = self._room(request, viewer)
        if not self._budget.spend(viewer.id or ""):
            raise RefusedError("error.too_many", 429)
        post = parse(kind, await request.read())
        if post is None:
            raise RefusedError("error.malformed", 400)
        return viewer, room, self._sender(viewer, room, post.as_), post

    # Pages

    async def _page(self, request: web.Request) -> web.StreamResponse:
        if await self._viewer(request) is None:
            return _html(notice(self._words(_language(request)), "closed"), status=403)
        return self._static("index.html")

    async def _asset(self, request: web.Request) -> web.StreamResponse:
        name = request.match_info["name"]
        return self._static(name) if name != "index.html" else _refusal("error.gone", 404)

    async def _confirm(self, request: web.Request) -> web.StreamResponse:
        """FORM-6 for entrances: a preview robot that opens the link uses nothing up."""
        return _html(confirm(self._words(_language(request))))

    async def _enter(self, request: web.Request) -> web.StreamResponse:
        session = None if self._demo else await enter(self._entrances, request.match_info["token"], now=self._clock())
        if session is None:
            return _refusal("error.session", 410)
        response = web.json_response({"ok": True})
        response.set_cookie(
            self._cookie,
            session,
            max_age=int(SESSION_LIFETIME.total_seconds()),
            path="/",
            httponly=True,
            samesite="Strict",
            secure=self._guard.secure,
        )
        return response

    async def _leave(self, request: web.Request) -> web.StreamResponse:
        token = request.cookies.get(self._cookie)
        if token:
            await self._entrances.leave(digest(token))
        response = web.json_response({"ok": True})
        response.del_cookie(self._cookie, path="/", httponly=True, samesite="Strict", secure=self._guard.secure)
        return response

    def _static(self, name: str) -> web.StreamResponse:
        found = self._assets.get(name)
        if found is None:
            return _refusal("error.gone", 404)
        return web.Response(body=found[0], content_type=found[1], charset="utf-8")

    # Reading

    async def _state(self, request: web.Request) -> web.StreamResponse:
        viewer = await self._required(request)
        member = viewer.member
        seq = await self._timeline.head()  # before the messages: what comes in between is only told twice
        messages = {
            room: [
                view_of(entry, self._register, viewer)
                for entry in await self._timeline.latest(room, before=None, limit=PAGE_LENGTH)
            ]
            for room in viewer.rooms
        }
        return _json(
            {
                "demo": self._demo,
                "bot": self._register.bot,
                "me": None if member is None else {"id": member.id, "name": member.name},
                "decisions": viewer.sees_decisions,
                "rooms": rooms_of(self._register, viewer),
                "words": self._words(_language(request) if member is None else member.language),
                "things": self._things if self._demo else [],
                "limits": {"text": MAX_TEXT, "upload": MAX_UPLOAD_BYTES, "page": PAGE_LENGTH},
                "messages": messages,
                "seq": seq,
            }
        )

    async def _earlier(self, request: web.Request) -> web.StreamResponse:
        viewer = await self._required(request)
        room = self._room(request, viewer)
        before = _number(request.query.get("before"))
        entries = await self._timeline.latest(room.id, before=before, limit=PAGE_LENGTH)
        return _json({"messages": [view_of(entry, self._register, viewer) for entry in entries]})

    async def _file(self, request: web.Request) -> web.StreamResponse:
        viewer = await self._required(request)
        room = self._room(request, viewer)
        handle = HANDLE.fullmatch(request.match_info["handle"])
        entry = None if handle is None else await self._timeline.get(room.id, handle["message"])
        files = [] if entry is None or entry.document is None else entry.document["files"]
        for file in files:
            if handle is not None and file["handle"] == handle[0] and handle["room"] == room.id:
                content = await self._shelf.read(file["handle"], limit_bytes=file["size"])
                return _download(file, content)
        raise RefusedError("error.gone", 404)

    async def _stream(self, request: web.Request) -> web.StreamResponse:
        """Server-sent events: messages with their seq as id, passing signs without one."""
        viewer = await self._required(request)
        if self._live.closed or self._live.count(viewer.id) >= MAX_STREAMS:
            raise RefusedError("error.too_many", 429)
        cursor = _number(request.headers.get("Last-Event-ID")) or _number(request.query.get("after")) or 0
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "X-Accel-Buffering": "no"})
        subscriber = self._live.open(viewer.id, viewer.rooms)
        try:
            await response.prepare(request)
            await response.write(b"retry: 1000\n\n")
            await self._tell(request, response, subscriber, viewer, cursor)
        except ConnectionError:
            pass  # the browser has gone, and comes back by itself
        finally:
            self._live.leave(subscriber)
        return response

    async def _tell(
        self,
        request: web.Request,
        response: web.StreamResponse,
        subscriber: Subscriber,
        viewer: Viewer,
        cursor: int,
    ) -> None:
        while not subscriber.closed:
            now = await self._viewer(request)
            if now is None or now.rooms != viewer.rooms:
                return  # the session has ended while the page was open
            entries = await self._timeline.changed(viewer.rooms, after=cursor, limit=_BATCH)
            lines = [_event("message", view_of(entry, self._register, viewer), entry.seq) for entry in entries]
            if entries:
                cursor = entries[-1].seq
            lines += [_event(name, data) for name, data in subscriber.take()]
            await response.write(b"".join(lines) or b": alive\n\n")
            if len(entries) < _BATCH:
                await subscriber.wait(HEARTBEAT_S)

    # Writing

    async def _post_message(self, request: web.Request) -> web.StreamResponse:
        viewer, room, sender, post = await self._accepted(request, MessagePost)
        return self._shown(await self._intake.message(room, sender, post), viewer)

    async def _post_edit(self, request: web.Request) -> web.StreamResponse:
        viewer, room, sender, post = await self._accepted(request, EditPost)
        return self._shown(await self._intake.edit(room, sender, request.match_info["message"], post), viewer)

    async def _post_delete(self, request: web.Request) -> web.StreamResponse:
        viewer, room, sender, post = await self._accepted(request, DeletePost)
        return self._shown(await self._intake.delete(room, sender, request.match_info["message"], post), viewer)

    async def _post_tap(self, request: web.Request) -> web.StreamResponse:
        _, room, sender, post = await self._accepted(request, TapPost)
        await self._intake.tap(room, sender, request.match_info["message"], post)
        return _json({"ok": True})

    async def _post_answer(self, request: web.Request) -> web.StreamResponse:
        _, room, sender, post = await self._accepted(request, AnswerPost)
        return _json(await self._answering.answer(room, sender, request.match_info["message"], post))

    def _shown(self, entry: Entry, viewer: Viewer) -> web.StreamResponse:
        return _json({"message": view_of(entry, self._register, viewer)})

    @web.middleware
    async def _answer_refusals(self, request: web.Request, handler: Callable[[web.Request], Any]) -> web.StreamResponse:
        """Refusals are codes of the words; nothing of an error reaches a browser (OUT-7)."""
        try:
            response: web.StreamResponse = await handler(request)
        except RefusedError as refused:
            return _refusal(refused.code, refused.status)
        except web.HTTPRequestEntityTooLarge:
            return _refusal("error.too_large", 413)
        except web.HTTPNotFound:
            return _html(notice(self._words(_language(request)), "notfound"), status=404)
        except ChannelError:
            return _refusal("error.gone", 404)
        except (StoreError, OSError) as error:
            if isinstance(error, ConnectionError):
                raise
            return _refusal("error.unavailable", 503)
        return response


def _event(name: str, data: Mapping[str, Any], seq: int | None = None) -> bytes:
    head = f"id: {seq}\n" if seq is not None else ""
    return f"{head}event: {name}\ndata: ".encode() + orjson.dumps(data) + b"\n\n"


def _json(value: Mapping[str, Any]) -> web.Response:
    return web.Response(body=orjson.dumps(value), content_type="application/json")


def _refusal(code: str, status: int) -> web.Response:
    return web.json_response({"error": code}, status=status)


def _html(text: str, status: int = 200) -> web.Response:
    return web.Response(text=text, content_type="text/html", status=status)


def _number(text: str | None) -> int | None:
    return int(text) if text and len(text) < 19 and text.isascii() and text.isdigit() else None


def _language(request: web.Request) -> str | None:
    """The first language that a browser names."""
    first = request.headers.get("Accept-Language", "").split(",")[0].split(";")[0].strip()
    return first[:35] or None


def _download(file: Mapping[str, Any], content: bytes) -> web.Response:
    """Pictures by their own first bytes are shown; everything else is only ever saved."""
    picture = next((kind for magic, kind in _PICTURES.items() if content.startswith(magic)), None)
    if picture is None and content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        picture = "image/webp"
    response = web.Response(body=content, content_type=picture or "application/octet-stream")
    response.headers["Content-Security-Policy"] = "default-src 'none'; sandbox"
    response.headers["Content-Disposition"] = _disposition("inline" if picture else "attachment", file["name"])
    return response


def _disposition(kind: str, name: str) -> str:
    from aiohttp.helpers import content_disposition_header

    with contextlib.suppress(ValueError):
        return content_disposition_header(kind, filename=name)
    return kind
