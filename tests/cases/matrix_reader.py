"""Somebody in an encrypted room who reads along: what the bot encrypts has to be readable, not only to arrive."""

import base64
import contextlib
import json
from typing import Any

import vodozemac

from tests.servers.homeserver import Homeserver
from tests.servers.homeserver.person import OLM

Json = dict[str, Any]
_KEYS = 50


class Reader:
    """One device of one person: its keys are published when it is made, and it only reads."""

    def __init__(self, server: Homeserver, user_id: str, device_id: str = "TABLET") -> None:
        self.user_id = user_id
        self._server = server
        self._device_id = device_id
        self._account = vodozemac.Account()
        self._curve25519 = self._account.curve25519_key.to_base64()
        self._channels: list[vodozemac.Session] = []
        self._rooms: dict[str, vodozemac.InboundGroupSession] = {}
        self._opened: dict[str, Json] = {}
        self._taken = 0
        described: Json = {
            "user_id": user_id,
            "device_id": device_id,
            "algorithms": [OLM, "m.megolm.v1.aes-sha2"],
            "keys": {
                f"curve25519:{device_id}": self._curve25519,
                f"ed25519:{device_id}": self._account.ed25519_key.to_base64(),
            },
        }
        server.keys.devices.setdefault(user_id, {})[device_id] = self._signed(described)
        self._account.generate_one_time_keys(_KEYS)
        keys = self._account.one_time_keys.items()
        server.keys.one_time[user_id, device_id] = {
            f"signed_curve25519:{name}": self._signed({"key": key.to_base64()}) for name, key in keys
        }
        self._account.mark_keys_as_published()

    def open(self, event: Json) -> Json | None:
        """The clear type and content of an encrypted event; None: this device can't read it."""
        self._take()
        event_id = event["event_id"]
        if event_id not in self._opened:
            content = event["content"]
            session = self._rooms.get(str(content.get("session_id")))
            if session is None:
                return None
            message = vodozemac.MegolmMessage.from_base64(content["ciphertext"])
            clear = json.loads(session.decrypt(message).plaintext)
            relation = content.get("m.relates_to")
            if relation is not None:
                clear["content"] = {**clear["content"], "m.relates_to": relation}
            self._opened[event_id] = {"type": clear["type"], "content": clear["content"]}
        return self._opened[event_id]

    def _take(self) -> None:
        """Take the keys that the bot has sent to this device since the last time."""
        sent, self._taken = self._server.keys.sent[self._taken :], len(self._server.keys.sent)
        for kind, user, device, content in sent:
            if (kind, user) != ("m.room.encrypted", self.user_id) or device not in (self._device_id, "*"):
                continue
            box = content.get("ciphertext", {}).get(self._curve25519)
            if box is not None:
                self._keep(json.loads(self._plain(content["sender_key"], box)))

    def _plain(self, sender_key: str, box: Json) -> bytes:
        if box["type"] != 0:
            raw = base64.b64decode(box["body"] + "=" * (-len(box["body"]) % 4))
            message = vodozemac.AnyOlmMessage.normal(raw)
            for channel in self._channels:
                with contextlib.suppress(vodozemac.OlmDecryptionException):
                    return bytes(channel.decrypt(message))
            raise AssertionError("a key came over a channel that this device does not know")
        first = vodozemac.PreKeyMessage.from_base64(box["body"])
        for channel in self._channels:
            if channel.session_matches(first):
                return bytes(channel.decrypt(first.to_any()))
        identity = vodozemac.Curve25519PublicKey.from_base64(sender_key)
        channel, plain = self._account.create_inbound_session(identity, first)
        self._channels.append(channel)
        return bytes(plain)

    def _keep(self, clear: Json) -> None:
        content = clear.get("content", {})
        if clear.get("type") == "m.room_key":
            key = vodozemac.SessionKey(content["session_key"])
            self._rooms[content["session_id"]] = vodozemac.InboundGroupSession(key)

    def _signed(self, value: Json) -> Json:
        text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        signature = self._account.sign(text.encode()).to_base64()
        return {**value, "signatures": {self.user_id: {f"ed25519:{self._device_id}": signature}}}
