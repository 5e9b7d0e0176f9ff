"""From a browser's post to a durable event, and then into the room (DUR-1).

The order is: check, keep files, make the event durable, show it, answer the browser. Everything is named by a digest of
who posted and the browser's nonce, so a post that is repeated after a lost answer changes nothing.

INVARIANT: a room's lock is held from the moment the event is durable until the message is shown; what the bot says in
answer can't stand above it.
"""

import asyncio
import hashlib
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from bot.channels.filenames import media_type, visible_name
from bot.channels.web.live import Live
from bot.channels.web.mentions import addressed
from bot.channels.web.people import Member, Register, Room
from bot.channels.web.posts import DeletePost, EditPost, MessagePost, TapPost
from bot.channels.web.reading import MAX_QUOTE, native
from bot.channels.web.shelf import Shelf
from bot.model.errors import ChannelError
from bot.model.inbound import Arrival
from bot.ports.channel import Accept
from bot.ports.timeline import Entry, Timeline

MAX_UPLOAD_BYTES: Final = 10 * 1024 * 1024


class RefusedError(ChannelError):
    """A post that can't be taken: ``code`` is a key of the page's words, ``status`` the HTTP status."""

    def __init__(self, code: str, status: int) -> None:
        super().__init__(code)
        self.code = code
        self.status = status


class Intake:
    """Takes posts of people whose rights to the room have been checked."""

    def __init__(
        self,
        *,
        register: Register,
        timeline: Timeline,
        shelf: Shelf,
        live: Live,
        clock: Callable[[], datetime],
    ) -> None:
        self.accept: Accept | None = None
        self._register = register
        self._timeline = timeline
        self._shelf = shelf
        self._live = live
        self._clock = clock
        self._locks = {room: asyncio.Lock() for room in register.rooms}

    def lock(self, room: str) -> asyncio.Lock:
        """Held while a room's messages are read and written back."""
        return self._locks[room]

    async def message(self, room: Room, sender: Member, post: MessagePost) -> Entry:
        """A new message."""
        if not post.text.strip() and not post.files:
            raise RefusedError("error.empty", 422)
        message = self._name("m", room, sender, post.nonce)
        if (known := await self._timeline.get(room.id, message)) is not None:
            return known  # posted again, after a lost answer or with other files: it stands as it was
        reply = await self._replied(room, post.reply)
        files = await self._keep(room, message, post)
        spoken = {
            "text": post.text,
            "mentions": self._mentions(room, post.text, post.mentions),
            "reply": reply,
            "files": files,
        }
        raw = native(
            self._register,
            kind="message",
            key=message,
            message=message,
            room=room,
            sender=sender,
            at=self._clock(),
            spoken=spoken,
        )
        document = {
            "author": sender.id,
            "at": int(self._clock().timestamp() * 1000),
            "text": post.text,
            "mentions": spoken["mentions"],
            "reply": None if reply is None else {"id": reply["id"]},
            "files": files,
        }
        async with self.lock(room.id):
            await self._take(room, message, raw)
            entry = await self._timeline.append(room.id, message, document, at=self._clock())
        self._live.changed(room.id)
        return entry

    async def edit(self, room: Room, sender: Member, message: str, post: EditPost) -> Entry:
        """A message of one's own, as it stands now (PART-11)."""
        key = self._name("e", room, sender, post.nonce)
        async with self.lock(room.id):
            document = await self._own(room, sender, message)
            if not post.text.strip() and not document["files"]:
                raise RefusedError("error.empty", 422)
            reply = document["reply"]
            spoken = {
                "text": post.text,
                "mentions": self._mentions(room, post.text, post.mentions),
                "reply": None if reply is None else await self._quoted(room, reply["id"]),
                "files": document["files"],
            }
            raw = native(
                self._register,
                kind="edit",
                key=key,
                message=message,
                room=room,
                sender=sender,
                at=self._clock(),
                spoken=spoken,
            )
            await self._take(room, key, raw)
            changed = {**document, "text": post.text, "mentions": spoken["mentions"], "edited": True, "decision": None}
            entry = await self._timeline.edit(room.id, message, changed)
        if entry is None:
            raise RefusedError("error.gone", 404)
        self._live.changed(room.id)
        return entry

    async def delete(self, room: Room, sender: Member, message: str, post: DeletePost) -> Entry:
        """Take back a message of one's own: its words leave here and everywhere (PART-9, PART-18)."""
        key = self._name("d", room, sender, post.nonce)
        async with self.lock(room.id):
            document = await self._own(room, sender, message)
            raw = native(
                self._register,
                kind="redaction",
                key=key,
                message=message,
                room=room,
                sender=sender,
                at=self._clock(),
            )
            await self._take(room, key, raw)
            entry = await self._timeline.delete(room.id, message)
            for file in document["files"]:
                await self._shelf.remove(file["handle"])
        if entry is None:
            raise RefusedError("error.gone", 404)
        self._live.changed(room.id)
        return entry

    async def tap(self, room: Room, sender: Member, message: str, post: TapPost) -> None:
        """A button under a message of the bot's; only one that stands there can be pressed."""
        entry = await self._timeline.get(room.id, message)
        document = None if entry is None else entry.document
        card = None if document is None or document["author"] != self._register.bot else document.get("card")
        if card is None or all(button["token"] != post.token for button in card["buttons"]):
            raise RefusedError("error.button_gone", 404)
        key = self._name("t", room, sender, post.nonce)
        raw = native(
            self._register,
            kind="tap",
            key=key,
            message=message,
            room=room,
            sender=sender,
            at=self._clock(),
            tap=post.token,
        )
        await self._take(room, key, raw)

    async def _take(self, room: Room, key: str, raw: bytes) -> None:
        if self.accept is None:
            raise RefusedError("error.unavailable", 503)
        arrival = Arrival(key=key, lane=self._register.lane(room.id), raw=raw, received_at=self._clock())
        await self.accept(self._register.account, [arrival])

    def _name(self, letter: str, room: Room, sender: Member, nonce: str) -> str:
        digest = hashlib.sha256(f"{self._register.desk}\0{room.id}\0{sender.id}\0{letter}\0{nonce}".encode())
        return letter + digest.hexdigest()[:24]

    def _mentions(self, room: Room, text: str, claimed: Sequence[str]) -> list[str]:
        """What the page has marked and the server has found (PART-14)."""
        return [id_ for id_ in addressed(text, self._register.addressable(room)) if id_ in claimed]

    async def _own(self, room: Room, sender: Member, message: str) -> Mapping[str, Any]:
        entry = await self._timeline.get(room.id, message)
        if entry is None or entry.document is None:
            raise RefusedError("error.gone", 404)
        if entry.document["author"] != sender.id:
            raise RefusedError("error.not_yours", 403)
        return entry.document

    async def _replied(self, room: Room, message: str | None) -> Mapping[str, Any] | None:
        if message is None:
            return None
        quoted = await self._quoted(room, message)
        if quoted["author"] is None:
            raise RefusedError("error.gone", 404)
        return quoted

    async def _quoted(self, room: Room, message: str) -> Mapping[str, Any]:
        """A replied-to message as the timeline knows it; of one that is gone nobody knows the author."""
        entry = await self._timeline.get(room.id, message)
        document = None if entry is None else entry.document
        if document is None:
            return {"id": message, "author": None, "text": ""}
        return {"id": message, "author": document["author"], "text": document["text"][:MAX_QUOTE]}

    async def _keep(self, room: Room, message: str, post: MessagePost) -> list[Mapping[str, Any]]:
        files: list[Mapping[str, Any]] = []
        total = 0
        for number, upload in enumerate(post.files):
            try:
                content = upload.decoded()
            except ValueError:
                raise RefusedError("error.malformed", 400) from None
            total += len(content)
            if total > MAX_UPLOAD_BYTES:
                raise RefusedError("error.too_large", 413)
            handle = f"{room.id}.{message}.{number}"
            await self._shelf.put(handle, content)
            files.append(
                {
                    "handle": handle,
                    "name": visible_name(upload.name),
                    "media_type": media_type(upload.media_type),
                    "size": len(content),
                }
            )
        return files
