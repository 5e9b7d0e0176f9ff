"""A person at a Matrix client: matrix-nio with its own encryption, which shares no code of the adapter's HTTP or sync.

Everything that the server delivers to this person is kept in order: events (decrypted where they can be), receipts and
typing signs. Waiting is for what has been delivered, with a bound.
"""

import asyncio
import io
import itertools
import json
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import nio
from nio.crypto.attachments import decrypt_attachment

from tests.servers.synapse import Synapse

Event = Mapping[str, Any]
WITHIN_S: Final = 20.0
_POLL_MS: Final = 20_000
_ENCRYPTED: Final = {"type": "m.room.encryption", "state_key": "", "content": {"algorithm": "m.megolm.v1.aes-sha2"}}


@dataclass(frozen=True, kw_only=True, slots=True)
class Seen:
    """A receipt that the server delivered."""

    room: str
    event: str
    user: str
    kind: str


class RefusedError(AssertionError):
    """The server refused what the person wanted."""


def _done(response: Any) -> Any:
    if isinstance(response, nio.ErrorResponse):
        raise RefusedError(f"{response.status_code} {response.message}")
    return response


def relation(event: Event) -> Mapping[str, Any]:
    """What an event says of another."""
    related: Mapping[str, Any] = event.get("content", {}).get("m.relates_to") or {}
    return related


def thread_of(event: Event) -> str | None:
    """The root of the thread that a message stands in."""
    related = relation(event)
    return related.get("event_id") if related.get("rel_type") == "m.thread" else None


def replied_to(event: Event) -> str | None:
    """The message that a message answers, the fallback of threads not counted."""
    related = relation(event)
    if related.get("is_falling_back"):
        return None
    return (related.get("m.in_reply_to") or {}).get("event_id")


def edited(event: Event) -> str | None:
    """The message that a message replaces."""
    related = relation(event)
    return related.get("event_id") if related.get("rel_type") == "m.replace" else None


@dataclass
class Person:
    """One account on one device.

    Attributes:
        events: by room, everything that was delivered, in order, decrypted where it could be.
        receipts: all that were delivered. typing: by room, who was typing, each time that it changed.
        sealed: events for which the key was missing, by id.
        invites: rooms that the person is invited to, with the state that an invite shows.
    """

    client: nio.AsyncClient
    password: str
    events: dict[str, list[Event]] = field(default_factory=dict)
    receipts: list[Seen] = field(default_factory=list)
    typing: dict[str, list[frozenset[str]]] = field(default_factory=dict)
    invites: dict[str, list[Any]] = field(default_factory=dict)
    sealed: dict[str, nio.MegolmEvent] = field(default_factory=dict)
    _news: asyncio.Condition = field(default_factory=asyncio.Condition)
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    _marks: dict[str, int] = field(default_factory=dict)
    _task: asyncio.Task[None] | None = None

    @property
    def id(self) -> str:
        """The full user id."""
        return str(self.client.user_id)

    # coming and going

    async def enter(self) -> None:
        """Log in and listen."""
        _done(await self.client.login(self.password, device_name="a phone"))
        await self._round(timeout_ms=0)
        self._task = asyncio.create_task(self._listen(), name=f"person {self.id}")

    async def leave_off(self) -> None:
        """Stop listening and let go of the connection; the account stays."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        await self.client.close()
        if self.client.store is not None:
            self.client.store.database.close()

    async def _listen(self) -> None:
        while True:
            await self._round(timeout_ms=_POLL_MS)

    async def _round(self, *, timeout_ms: int) -> None:
        client = self.client
        response = await client.sync(timeout=timeout_ms, full_state=not client.next_batch)
        if isinstance(response, nio.ErrorResponse):
            await asyncio.sleep(0.1)  # the server is down or starting
            return
        await client.send_to_device_messages()
        if client.should_upload_keys:
            _done(await client.keys_upload())
        if client.should_query_keys:
            await client.keys_query()
        if client.should_claim_keys:
            await client.keys_claim(client.get_users_for_key_claiming())
        async with self._news:
            for room, joined in response.rooms.join.items():
                self._take(room, joined.timeline.events)
                for sign in joined.ephemeral:
                    self._note(room, sign)
                for data in joined.account_data:
                    if getattr(data, "type", "") == "test.mark":
                        self._marks[room] = data.content["number"]
            for room, left in response.rooms.leave.items():
                self._take(room, left.timeline.events)
            for room, invited in response.rooms.invite.items():
                self.invites[room] = list(invited.invite_state)
            self._news.notify_all()

    def _take(self, room: str, events: Iterable[Any]) -> None:
        for event in events:
            self.events.setdefault(room, []).append(dict(event.source))
            if isinstance(event, nio.MegolmEvent):
                self.sealed[event.event_id] = event

    def _note(self, room: str, sign: Any) -> None:
        if isinstance(sign, nio.TypingNoticeEvent):
            self.typing.setdefault(room, []).append(frozenset(sign.users))
        elif isinstance(sign, nio.ReceiptEvent):
            self.receipts += [
                Seen(room=room, event=receipt.event_id, user=receipt.user_id, kind=receipt.receipt_type)
                for receipt in sign.receipts
            ]

    # rooms

    async def room(
        self,
        *invite: str,
        encrypted: bool = False,
        direct: bool = False,
        name: str | None = "Room",
        version: str | None = None,
    ) -> str:
        """Make a room and invite people; returns its id."""
        made = _done(
            await self.client.room_create(
                name=None if direct else name,
                is_direct=direct,
                invite=list(invite),
                room_version=version,
                preset=nio.RoomPreset.trusted_private_chat if direct else nio.RoomPreset.private_chat,
                initial_state=[_ENCRYPTED] if encrypted else [],
            ),
        )
        await self.until(lambda: made.room_id in self.client.rooms)
        return str(made.room_id)

    async def join(self, room: str) -> None:
        """Join, and see it."""
        _done(await self.client.join(room))
        await self.until(lambda: room in self.client.rooms)

    async def invite(self, room: str, user: str) -> None:
        """Invite somebody."""
        _done(await self.client.room_invite(room, user))

    async def kick(self, room: str, user: str) -> None:
        """Put somebody out."""
        _done(await self.client.room_kick(room, user))

    async def leave(self, room: str) -> None:
        """Go."""
        _done(await self.client.room_leave(room))

    async def upgrade(self, room: str) -> str:
        """Replace a room by a new one of the same version, as its admin; returns the new id."""
        token = {"Authorization": f"Bearer {self.client.access_token}"}
        path = f"/_matrix/client/v3/rooms/{room}/upgrade"
        answer = await self.client.send("POST", path, json.dumps({"new_version": "12"}), token)
        return str((await answer.json())["replacement_room"])

    async def member(self, room: str, user: str, *, present: bool = True) -> None:
        """Wait until somebody is in a room, or no more; in an encrypted one with their keys known."""

        def there() -> bool:
            known = self.client.rooms.get(room)
            if known is None or user not in known.users or user in known.invited_users:
                return False
            return not known.encrypted or bool(list(self.client.device_store.active_user_devices(user)))

        await self.until(lambda: there() is present)

    # words

    async def say(
        self,
        room: str,
        text: str,
        *,
        mentions: Sequence[str] | None = (),
        html: str | None = None,
        thread: str | None = None,
        reply: str | None = None,
        edit: str | None = None,
        kind: str = "m.text",
        more: Mapping[str, Any] | None = None,
    ) -> str:
        """Send words; returns the event's id.

        Args:
            mentions: user ids for ``m.mentions``; None: a client that sends no such key.
            html: the formatted body.
            thread: the root; without ``reply`` as clients send it, with the fallback.
            reply: a true reply.
            edit: the message that this replaces.
            kind: the msgtype.
            more: further keys of the content.
        """
        content: dict[str, Any] = {"msgtype": kind, "body": text, **(more or {})}
        if mentions is not None:
            content["m.mentions"] = {"user_ids": list(mentions)} if mentions else {}
        if html is not None:
            content |= {"format": "org.matrix.custom.html", "formatted_body": html}
        related: dict[str, Any] = {}
        if thread is not None:
            related = {"rel_type": "m.thread", "event_id": thread}
            related |= {"is_falling_back": reply is None, "m.in_reply_to": {"event_id": reply or thread}}
        elif reply is not None:
            related = {"m.in_reply_to": {"event_id": reply}}
        if related:
            content["m.relates_to"] = related
        if edit is not None:
            content = {
                **content,
                "body": f"* {text}",
                "m.new_content": content,
                "m.relates_to": {"rel_type": "m.replace", "event_id": edit},
            }
        return await self.send(room, "m.room.message", content)

    async def send(self, room: str, kind: str, content: Mapping[str, Any]) -> str:
        """Send any event; encrypted where the room is."""
        sent = _done(
            await self.client.room_send(room, kind, dict(content), secrets.token_hex(8), ignore_unverified_devices=True)
        )
        return str(sent.event_id)

    async def keep_key(self, room: str) -> Callable[[], Awaitable[None]]:
        """Begin a new key for an encrypted room and share it with nobody yet; returns what shares it."""
        olm = self.client.olm
        assert olm is not None
        members = list(self.client.rooms[room].users)
        if missing := self.client.get_missing_sessions(room):
            _done(await self.client.keys_claim(missing))
        olm.create_outbound_group_session(room)
        ready = list(olm.share_group_session_parallel(room, members, ignore_unverified_devices=True))
        olm.outbound_group_sessions[room].shared = True
        token = {"Authorization": f"Bearer {self.client.access_token}"}

        async def share() -> None:
            for _, messages in ready:
                path = f"/_matrix/client/v3/sendToDevice/m.room.encrypted/{secrets.token_hex(8)}"
                (await self.client.send("PUT", path, json.dumps(messages), token)).release()

        return share

    async def redact(self, room: str, event: str) -> str:
        """Take back an event."""
        return str(_done(await self.client.room_redact(room, event)).event_id)

    async def react(self, room: str, event: str, key: str) -> str:
        """Put a sign under an event."""
        related = {"rel_type": "m.annotation", "event_id": event, "key": key}
        return await self.send(room, "m.reaction", {"m.relates_to": related})

    async def send_file(
        self,
        room: str,
        content: bytes,
        *,
        name: str = "note.txt",
        media_type: str = "text/plain",
        caption: str | None = None,
        mentions: Sequence[str] = (),
    ) -> str:
        """Send a file, encrypted where the room is; ``caption`` stands with it in one event."""
        encrypt = self.client.rooms[room].encrypted
        uploaded, keys = await self.client.upload(
            io.BytesIO(content), content_type=media_type, filename=name, encrypt=encrypt, filesize=len(content)
        )
        place = _done(uploaded).content_uri
        message: dict[str, Any] = {
            "msgtype": "m.file",
            "body": name if caption is None else caption,
            "filename": name,
            "info": {"mimetype": media_type, "size": len(content)},
            "m.mentions": {"user_ids": list(mentions)} if mentions else {},
        }
        if encrypt:
            message["file"] = {**keys, "url": place}
        else:
            message["url"] = place
        return await self.send(room, "m.room.message", message)

    async def fetch(self, event: Event) -> bytes:
        """The content of a file that was sent here."""
        content = event["content"]
        file = content.get("file")
        downloaded = _done(await self.client.download(file["url"] if file else content["url"]))
        if file is None:
            return bytes(downloaded.body)
        return decrypt_attachment(downloaded.body, file["key"]["k"], file["hashes"]["sha256"], file["iv"])

    # what came

    async def until(self, true: Callable[[], Any], *, within_s: float = WITHIN_S) -> Any:
        """Wait until something holds of what was delivered; returns it."""
        async with asyncio.timeout(within_s), self._news:
            while not (answer := true()):
                await self._news.wait()
            return answer

    def said(self, room: str, by: str) -> list[Event]:
        """The messages of somebody, edits included, in the order of the server."""
        return [
            event
            for event in self.events.get(room, ())
            if event["sender"] == by and event["type"] == "m.room.message" and event["content"]
        ]

    def texts(self, room: str, by: str) -> list[str]:
        """Their words."""
        return [event["content"].get("body", "") for event in self.said(room, by)]

    async def sees(self, room: str, true: Callable[[Event], Any], *, within_s: float = WITHIN_S) -> Event:
        """The first event in a room for which something holds."""
        found: Event = await self.until(
            lambda: next((event for event in self.events.get(room, ()) if true(event)), None), within_s=within_s
        )
        return found

    async def hears(self, room: str, by: str, count: int = 1, *, within_s: float = WITHIN_S) -> list[Event]:
        """Wait for so many messages of somebody."""
        await self.until(lambda: len(self.said(room, by)) >= count, within_s=within_s)
        return self.said(room, by)

    async def caught_up(self, room: str) -> None:
        """Everything that the server has for this person by now is delivered. Nobody else is shown anything of it."""
        number = next(self._numbers)
        path = f"/_matrix/client/v3/user/{self.id}/rooms/{room}/account_data/test.mark"
        token = {"Authorization": f"Bearer {self.client.access_token}"}
        answer = await self.client.send("PUT", path, json.dumps({"number": number}), token)
        answer.release()
        await self.until(lambda: self._marks.get(room, 0) >= number)

    def seen_by(self, room: str, user: str) -> list[Seen]:
        """Receipts of somebody in a room."""
        return [seen for seen in self.receipts if (seen.room, seen.user) == (room, user)]

    def was_typing(self, room: str, user: str) -> bool:
        """Whether somebody was ever shown as typing."""
        return any(user in users for users in self.typing.get(room, ()))


class People:
    """The people of one test; each has an account of their own on the server."""

    def __init__(self, synapse: Synapse, folder: Path, stack: AsyncExitStack) -> None:
        self._synapse, self._folder, self._stack = synapse, folder, stack

    async def __call__(self, name: str, *, account: tuple[str, str] | None = None) -> Person:
        """Somebody who is there and listens; ``account`` (user id and password) if it exists already."""
        user_id, password = account or await self._synapse.register(self._synapse.fresh(name))
        store = self._folder / f"client-{user_id[1:].partition(':')[0]}-{secrets.token_hex(2)}"
        store.mkdir()
        client = nio.AsyncClient(
            self._synapse.url,
            user_id,
            store_path=str(store),
            config=nio.AsyncClientConfig(store_sync_tokens=False, encryption_enabled=True, max_limit_exceeded=0),
        )
        person = Person(client=client, password=password)
        self._stack.push_async_callback(person.leave_off)
        await person.enter()
        return person


@asynccontextmanager
async def people_on(synapse: Synapse, folder: Path) -> AsyncIterator[People]:
    """People who go when the block ends."""
    async with AsyncExitStack() as stack:
        yield People(synapse, folder, stack)
