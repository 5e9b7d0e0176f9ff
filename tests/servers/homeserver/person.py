"""A person's device with real keys, so that a bot can be sent real encrypted events and real room keys."""

import base64
import json
from typing import Any

import vodozemac

from tests.servers.homeserver.calls import Json
from tests.servers.homeserver.keys import Keys

OLM = "m.olm.v1.curve25519-aes-sha2"
MEGOLM = "m.megolm.v1.aes-sha2"


class Person:
    """One device of one person; its keys are published when it is made.

    Args:
        keys: of the homeserver.
        user_id: the person's.
        device_id: the device's.
    """

    def __init__(self, keys: Keys, user_id: str, device_id: str = "PHONE") -> None:
        self.user_id = user_id
        self.device_id = device_id
        self._keys = keys
        self._account = vodozemac.Account()
        self.ed25519 = self._account.ed25519_key.to_base64()
        self.curve25519 = self._account.curve25519_key.to_base64()
        self._groups: dict[tuple[str, str], vodozemac.GroupSession] = {}
        self._session_keys: dict[tuple[str, str], str] = {}
        described: Json = {
            "user_id": user_id,
            "device_id": device_id,
            "algorithms": [OLM, MEGOLM],
            "keys": {f"curve25519:{device_id}": self.curve25519, f"ed25519:{device_id}": self.ed25519},
        }
        signature = self._account.sign(_canonical(described)).to_base64()
        described["signatures"] = {user_id: {f"ed25519:{device_id}": signature}}
        keys.devices.setdefault(user_id, {})[device_id] = described

    def encrypt(self, room_id: str, kind: str, content: Json, *, session: str = "") -> Json:
        """The content of an ``m.room.encrypted`` event.

        Args:
            session: a name of one's own for the group session; the same name is the same session.
        """
        group = self._group(room_id, session)
        clear = {"type": kind, "content": content, "room_id": room_id}
        encrypted: Json = {
            "algorithm": MEGOLM,
            "ciphertext": group.encrypt(json.dumps(clear).encode()).to_base64(),
            "session_id": group.session_id,
            "sender_key": self.curve25519,
            "device_id": self.device_id,
        }
        if "m.relates_to" in content:
            encrypted["m.relates_to"] = content["m.relates_to"]
        return encrypted

    def room_key(self, room_id: str, to_user: str, to_device: str, *, session: str = "") -> Json:
        """The to-device event that brings a device the key of a group session.

        Raises:
            LookupError: the device has published no one-time key.
        """
        self._group(room_id, session)
        device = self._keys.devices[to_user][to_device]["keys"]
        claimed = self._keys.claim({"one_time_keys": {to_user: {to_device: "signed_curve25519"}}})["one_time_keys"]
        if to_user not in claimed:
            raise LookupError("no one-time key")
        (one_time_key,) = claimed[to_user][to_device].values()
        curve25519 = device[f"curve25519:{to_device}"]
        channel = self._account.create_outbound_session(
            vodozemac.Curve25519PublicKey.from_base64(curve25519),
            vodozemac.Curve25519PublicKey.from_base64(one_time_key["key"]),
        )
        clear = {
            "type": "m.room_key",
            "content": {
                "algorithm": MEGOLM,
                "room_id": room_id,
                "session_id": self._groups[room_id, session].session_id,
                "session_key": self._session_keys[room_id, session],
            },
            "sender": self.user_id,
            "sender_device": self.device_id,
            "recipient": to_user,
            "keys": {"ed25519": self.ed25519},
            "recipient_keys": {"ed25519": device[f"ed25519:{to_device}"]},
        }
        kind, ciphertext = channel.encrypt(json.dumps(clear).encode()).to_parts()
        body = base64.b64encode(ciphertext).decode().rstrip("=")
        content = {
            "algorithm": OLM,
            "sender_key": self.curve25519,
            "ciphertext": {curve25519: {"type": kind, "body": body}},
        }
        return {"type": "m.room.encrypted", "sender": self.user_id, "content": content}

    def _group(self, room_id: str, session: str) -> vodozemac.GroupSession:
        place = room_id, session
        if place not in self._groups:
            self._groups[place] = group = vodozemac.GroupSession()
            self._session_keys[place] = group.session_key.to_base64()  # at the first index: all of it can be read
        return self._groups[place]


def _canonical(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
