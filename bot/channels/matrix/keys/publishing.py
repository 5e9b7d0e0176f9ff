"""Publishing this device: its description, and the one-time keys with which others begin channels to it."""

from http import HTTPStatus
from typing import Any, Final

from bot.channels.matrix.client import Endpoint, MatrixApi, RefusedError
from bot.channels.matrix.keys.devices import OLM, canonical
from bot.channels.matrix.keys.keyfile import KeyFile
from bot.channels.matrix.keys.memberships import MEGOLM, objects
from bot.channels.matrix.keys.olm import OlmChannels
from bot.model.errors import ChannelError
from bot.observability.log import get_logger

log = get_logger(__name__)

LOST: Final = (
    "the keys of this device are not in its folder (any more), so nobody could read what it writes. "
    "Stop Discreet and run `discreet matrix login`, which takes a new device"
)


class KeysLostError(ChannelError):
    """The device has had keys that are not here: only a new device can go on."""


class Publishing:
    """What the server has of this device.

    Attributes:
        on_server: how many one-time keys it has; None: it has not said.
    """

    def __init__(self, own: tuple[str, str], file: KeyFile, channels: OlmChannels) -> None:
        """Begin.

        Args:
            own: user and device.
            file: for transactions.
            channels: of the device.
        """
        self._own = own
        self._file = file
        self._channels = channels
        self.on_server: int | None = None
        self._compared = False

    async def run(self, api: MatrixApi) -> None:
        """Publish what the server lacks.

        The first time it is asked what it has: a logout takes the keys of a device away, and a later login under the
        same name does not bring them back.

        Raises:
            CallError: a call did not succeed.
            KeysLostError: the server has other keys for this device.
            StoreError: the disk is full or the like.
        """
        if not self._compared:
            await self._compare(api)
        keys, half = self._channels.unpublished_keys(), self._channels.most_keys // 2
        if self._channels.published and not keys and (self.on_server is None or self.on_server >= half):
            return
        body: dict[str, Any] = {}
        if not self._channels.published:
            body["device_keys"] = self._description()
        with self._file.transaction():
            if not keys:
                self._channels.make_keys(max(self._channels.most_keys - (self.on_server or 0), 1))
                keys = self._channels.unpublished_keys()
            # Before the server has them: a key that others use and that was lost here would lock them out.
            self._channels.save()
        body["one_time_keys"] = {f"signed_curve25519:{name}": self._signed({"key": key}) for name, key in keys.items()}
        answer: dict[str, Any] | None = None
        try:
            answer = await api.call(Endpoint.KEYS_UPLOAD, body=body)
        except RefusedError as refused:
            if refused.status != HTTPStatus.BAD_REQUEST or "already exists" not in str(refused.body.get("error")):
                raise
        if answer is None:  # another key of the same number: that of an older file, or of a lost one
            raise KeysLostError(LOST)
        with self._file.transaction():
            self._channels.set_published()
            self._channels.save()
        self._compared = True
        count = objects(answer.get("one_time_key_counts")).get("signed_curve25519")
        self.on_server = count if type(count) is int else None

    async def _compare(self, api: MatrixApi) -> None:
        """Look what the server has: nothing is published anew, and the place of another device is not taken.

        Raises:
            CallError: it can't be asked.
            KeysLostError: it has other keys.
        """
        user_id, device_id = self._own
        answer = await api.call(Endpoint.KEYS_QUERY, body={"device_keys": {user_id: [device_id]}})
        device = objects(objects(objects(answer.get("device_keys")).get(user_id)).get(device_id))
        found = objects(device.get("keys")).get(f"ed25519:{device_id}")
        if found not in (None, self._channels.ed25519):
            raise KeysLostError(LOST)
        if found is None and self._channels.published:
            log.warning("keys_published_anew")
            self._channels.published = False
            self.on_server = None  # what it has said of one-time keys may be of before
        self._compared = found is not None

    def _description(self) -> dict[str, Any]:
        user_id, device_id = self._own
        keys = {"curve25519": self._channels.curve25519, "ed25519": self._channels.ed25519}
        return self._signed(
            {
                "user_id": user_id,
                "device_id": device_id,
                "algorithms": [OLM, MEGOLM],
                "keys": {f"{kind}:{device_id}": key for kind, key in keys.items()},
            }
        )

    def _signed(self, value: dict[str, Any]) -> dict[str, Any]:
        user_id, device_id = self._own
        return {**value, "signatures": {user_id: {f"ed25519:{device_id}": self._channels.sign(canonical(value))}}}
