"""Asking the server for what belongs to other devices: their keys, and one-time keys to begin a channel with them."""

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final

from bot.channels.matrix.client import Endpoint, MatrixApi, RefusedError
from bot.channels.matrix.keys.devices import Device, Devices, signed_by
from bot.channels.matrix.keys.keyfile import KeyFile
from bot.channels.matrix.keys.memberships import objects
from bot.channels.matrix.keys.olm import OlmChannels

DEVICES_A_CALL: Final = 100
_USERS_A_CALL: Final = 200
_REMOTE_MS: Final = 10_000
_LATER_S: Final = 600.0


class KeyCalls:
    """The two calls, one at a time."""

    def __init__(
        self, file: KeyFile, devices: Devices, channels: OlmChannels, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Make them.

        Args:
            file: for transactions.
            devices: where answers are kept.
            channels: where channels are begun.
            clock: seconds that only grow.
        """
        self._file = file
        self._devices = devices
        self._channels = channels
        self._clock = clock
        self._later: dict[Device, float] = {}
        self._turn = asyncio.Lock()

    async def ask(self, api: MatrixApi, own: tuple[str, str], users: Iterable[str] | None = None) -> None:
        """Ask for the devices of those about whom something may have changed.

        Args:
            api: for the call.
            own: user and device, about which we know better than the server.
            users: nobody but these; None: all.

        Raises:
            CallError: it did not succeed; they are asked about again.
            StoreError: the disk is full or the like.
        """
        among = None if users is None else list(users)
        async with self._turn:
            while batch := self._devices.stale(among)[:_USERS_A_CALL]:
                self._devices.asking(batch)
                silent: Iterable[str] = batch
                soon = True
                try:
                    answer = await self._query(api, batch)
                    with self._file.transaction():
                        silent = [user_id for user_id in batch if not self._learn(user_id, answer.get(user_id), own)]
                    soon = False
                finally:
                    self._devices.unanswered(silent, soon=soon)

    async def _query(self, api: MatrixApi, users: Sequence[str]) -> Mapping[str, Any]:
        """One call, or smaller ones where the server objects to it: one bad id must not stop the others."""
        body = {"device_keys": {user_id: [] for user_id in users}, "timeout": _REMOTE_MS}
        try:
            return objects((await api.call(Endpoint.KEYS_QUERY, body=body)).get("device_keys"))
        except RefusedError as refused:
            if refused.status != HTTPStatus.BAD_REQUEST:
                raise
            if len(users) == 1:
                return {}
        half = len(users) // 2
        return {**await self._query(api, users[:half]), **await self._query(api, users[half:])}

    def _learn(self, user_id: str, answer: object, own: tuple[str, str]) -> bool:
        if not isinstance(answer, dict):
            return False
        self._devices.learn(user_id, {name: value for name, value in answer.items() if (user_id, name) != own})
        return True

    def due(self, device: Device) -> bool:
        """Whether a channel to the device may be tried: it was not, or not lately."""
        return self._later.get(device, 0.0) <= self._clock()

    async def claim(self, api: MatrixApi, devices: Sequence[Device]) -> list[Device]:
        """Begin channels to devices; returns those where it came about. The others are not tried again for a while.

        Raises:
            CallError: it did not succeed.
            StoreError: the disk is full or the like.
        """
        begun = []
        async with self._turn:
            for batch in batches(devices):
                wanted: dict[str, dict[str, str]] = {}
                for device in batch:
                    wanted.setdefault(device.user_id, {})[device.device_id] = "signed_curve25519"
                body = {"one_time_keys": wanted, "timeout": _REMOTE_MS}
                answer = objects((await api.call(Endpoint.KEYS_CLAIM, body=body)).get("one_time_keys"))
                with self._file.transaction():
                    for device in batch:
                        if self._begin(device, objects(objects(answer.get(device.user_id)).get(device.device_id))):
                            self._later.pop(device, None)
                            begun.append(device)
                        else:
                            self._later[device] = self._clock() + _LATER_S
        return begun

    def _begin(self, device: Device, answer: Mapping[str, Any]) -> bool:
        for name, signed in answer.items():
            key = objects(signed).get("key")
            if not name.startswith("signed_curve25519:") or not isinstance(key, str):
                continue
            if signed_by(objects(signed), device.user_id, device.device_id, device.ed25519):
                try:
                    self._channels.begin(device, key)
                except ValueError:
                    continue
                return True
        return False


def batches(devices: Sequence[Device]) -> Iterator[Sequence[Device]]:
    """In pieces of which each fits into one call."""
    for start in range(0, len(devices), DEVICES_A_CALL):
        yield devices[start : start + DEVICES_A_CALL]
