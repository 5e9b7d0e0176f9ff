"""Writing in encrypted rooms: the bot's own key of each room, and who is given it.

INVARIANT: nothing is encrypted with a key that somebody has who is no longer a reader of the room, or a device that is
gone: between the last look at members and devices and the encryption nothing is awaited. Whoever joins gets the key as
it stands, and a key opens nothing that was written before.
"""

import asyncio
import json
import secrets
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import vodozemac

from bot.channels.matrix.client import Endpoint, MatrixApi
from bot.channels.matrix.keys.devices import Device, Devices
from bot.channels.matrix.keys.keycalls import KeyCalls, batches
from bot.channels.matrix.keys.keyfile import KeyFile
from bot.channels.matrix.keys.keyring import Keyring
from bot.channels.matrix.keys.memberships import MEGOLM, Memberships, objects
from bot.channels.matrix.keys.olm import OlmChannels
from bot.model.errors import ChannelError

_STEPS: Final = 12


class EncryptionError(ChannelError):
    """It can't be encrypted for this room now; nothing was sent."""


@dataclass(slots=True)
class _Share:
    """The key with which the bot writes in one room.

    Attributes:
        born_s: by the clock that only grows.
        offered: the devices that may have it: it was sent to them, whether or not that is known to have succeeded.
        given: those of them that certainly have it.
    """

    born_s: float
    writer: vodozemac.GroupSession = field(default_factory=vodozemac.GroupSession, repr=False)
    offered: set[Device] = field(default_factory=set)
    given: set[Device] = field(default_factory=set)


class Sharing:
    """The keys of all rooms in which the bot writes; they live as long as the process."""

    def __init__(
        self,
        *,
        own: tuple[str, str],
        file: KeyFile,
        keyring: Keyring,
        devices: Devices,
        memberships: Memberships,
        calls: KeyCalls,
        channels: OlmChannels,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Begin without keys.

        Args:
            own: user and device.
            file: for transactions.
            keyring: gets each key, so that the bot can read what it wrote.
            devices: who has which.
            memberships: who is to read.
            calls: to the server.
            channels: through which keys are given.
            clock: seconds that only grow.
        """
        self._own = own
        self._file = file
        self._keyring = keyring
        self._devices = devices
        self._memberships = memberships
        self._calls = calls
        self._channels = channels
        self._clock = clock
        self._shares: dict[str, _Share] = {}
        self._turns: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def encrypt(
        self, api: MatrixApi, room_id: str, event_type: str, content: Mapping[str, Any]
    ) -> tuple[str, dict[str, Any]]:
        """See :meth:`bot.channels.matrix.keys.encryption.Encryption.encrypt`."""
        if not self._memberships.encrypted(room_id):
            raise EncryptionError("the room is not known to be encrypted")
        if self._memberships.foreign(room_id):
            raise EncryptionError("the room is encrypted in a way that is not known here")
        clear = _written({"type": event_type, "content": content, "room_id": room_id})
        async with self._turns[room_id]:
            for _ in range(_STEPS):
                # Each step awaits, and the world may be another one after it: so all is looked at anew.
                if (readers := self._memberships.readers(room_id)) is None:
                    await self._find_members(api, room_id)
                    continue
                if self._devices.stale(readers):
                    await self._calls.ask(api, self._own, readers)
                    continue
                devices = self._readable(readers)
                share = self._share(room_id, devices)
                lacking = [device for device in devices if device not in share.given]
                if new := [one for one in lacking if not self._channels.ready(one) and self._calls.due(one)]:
                    await self._calls.claim(api, new)
                elif ready := [one for one in lacking if self._channels.ready(one)]:
                    await self._give(api, room_id, share, ready)
                else:
                    return "m.room.encrypted", self._sealed(share, clear, content)
        raise EncryptionError("the members of the room or their devices keep changing; try again")

    async def _find_members(self, api: MatrixApi, room_id: str) -> None:
        """Ask for the members of a room of which no sync has told since the start."""
        joined = objects((await api.call(Endpoint.JOINED_MEMBERS, room_id)).get("joined"))
        if self._own[0] not in joined:
            raise EncryptionError("the bot is not a member of the room")
        self._memberships.learn(room_id, joined)
        self._devices.watch(self._memberships.watched())

    def _readable(self, readers: Iterable[str]) -> list[Device]:
        return [device for device in self._devices.of(readers) if (device.user_id, device.device_id) != self._own]

    def _share(self, room_id: str, devices: Sequence[Device]) -> _Share:
        """The room's present key; a new one where somebody has the old one who is not to read on, or it has served."""
        messages, age_s = self._memberships.rotation(room_id)
        share = self._shares.get(room_id)
        if (
            share is not None
            and share.offered.issubset(devices)
            and share.writer.message_index < messages
            and self._clock() - share.born_s < age_s
        ):
            return share
        share = _Share(born_s=self._clock())
        with self._file.transaction():
            self._keyring.add(
                room_id=room_id,
                key_id=share.writer.session_id,
                secret=share.writer.session_key.to_base64(),
                user_id=self._own[0],
                sender_key=self._channels.curve25519,
                fingerprint=self._channels.ed25519,
            )
        self._shares[room_id] = share
        return share

    async def _give(self, api: MatrixApi, room_id: str, share: _Share, devices: Sequence[Device]) -> None:
        key = {
            "algorithm": MEGOLM,
            "room_id": room_id,
            "session_id": share.writer.session_id,
            "session_key": share.writer.session_key.to_base64(),
        }
        for batch in batches(devices):
            messages: dict[str, dict[str, Any]] = {}
            with self._file.transaction():  # the channels have moved on for good before their messages leave
                for device in batch:
                    messages.setdefault(device.user_id, {})[device.device_id] = self._channels.seal(
                        device, "m.room_key", key
                    )
            share.offered.update(batch)
            await api.call(
                Endpoint.TO_DEVICE, "m.room.encrypted", secrets.token_urlsafe(12), body={"messages": messages}
            )
            share.given.update(batch)

    def _sealed(self, share: _Share, clear: bytes, content: Mapping[str, Any]) -> dict[str, Any]:
        sealed: dict[str, Any] = {
            "algorithm": MEGOLM,
            "sender_key": self._channels.curve25519,
            "device_id": self._own[1],
            "session_id": share.writer.session_id,
            "ciphertext": share.writer.encrypt(clear).to_base64(),
        }
        if "m.relates_to" in content:  # servers need it: edits and threads are theirs to put together
            sealed["m.relates_to"] = content["m.relates_to"]
        return sealed


def _written(value: Mapping[str, Any]) -> bytes:
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    except (ValueError, TypeError, RecursionError):
        raise EncryptionError("the content is no JSON that can be sent") from None
