"""Device keys, one-time keys and signatures: kept and handed out, never checked."""

from typing import Any

from tests.servers.homeserver.calls import Json


class Keys:
    """Public keys by user and device.

    Attributes:
        devices: device keys.
        one_time: one-time keys; a claim takes one away.
        fallback: those that a claim leaves there.
        crosssigning: ``master``, ``self_signing`` and ``user_signing`` keys by user.
        sent: to-device messages that the bot sent, as (type, user, device, content).
    """

    def __init__(self) -> None:
        self.devices: dict[str, dict[str, Json]] = {}
        self.one_time: dict[tuple[str, str], dict[str, Any]] = {}
        self.fallback: dict[tuple[str, str], dict[str, Any]] = {}
        self.crosssigning: dict[str, dict[str, Json]] = {}
        self.sent: list[tuple[str, str, str, Json]] = []

    def upload(self, user: str, device: str, body: Json) -> Json:
        """Keep what a device uploads."""
        if isinstance(body.get("device_keys"), dict):
            self.devices.setdefault(user, {})[device] = body["device_keys"]
        self.one_time.setdefault((user, device), {}).update(body.get("one_time_keys") or {})
        fallback = body.get("fallback_keys") or body.get("org.matrix.msc2732.fallback_keys") or {}
        self.fallback.setdefault((user, device), {}).update(fallback)
        return {"one_time_key_counts": self.counts(user, device)}

    def counts(self, user: str, device: str) -> dict[str, int]:
        """How many one-time keys are left."""
        return {"signed_curve25519": len(self.one_time.get((user, device), {}))}

    def unused_fallback(self, user: str, device: str) -> list[str]:
        """Kinds of fallback keys that are there."""
        return sorted({name.partition(":")[0] for name in self.fallback.get((user, device), {})})

    def query(self, body: Json) -> Json:
        """The keys of some users' devices."""
        users = list(body.get("device_keys") or {})
        answer: Json = {"device_keys": {user: self.devices.get(user, {}) for user in users}, "failures": {}}
        for kind in ("master", "self_signing", "user_signing"):
            answer[f"{kind}_keys"] = {
                user: keys[kind] for user in users if kind in (keys := self.crosssigning.get(user, {}))
            }
        return answer

    def claim(self, body: Json) -> Json:
        """A one-time key of each device that is asked for."""
        found: dict[str, dict[str, Json]] = {}
        for user, devices in (body.get("one_time_keys") or {}).items():
            for device in devices:
                keys = self.one_time.get((user, device), {})
                if keys:
                    name = next(iter(keys))
                    found.setdefault(user, {})[device] = {name: keys.pop(name)}
                elif spare := self.fallback.get((user, device)):
                    found.setdefault(user, {})[device] = dict([next(iter(spare.items()))])
        return {"one_time_keys": found, "failures": {}}

    def sign(self, body: Json) -> Json:
        """Add signatures to devices and to keys for cross-signing."""
        for user, objects in body.items():
            for name, signed in objects.items():
                known = self.devices.get(user, {}).get(name)
                if known is None:
                    keys = self.crosssigning.get(user, {}).values()
                    known = next((key for key in keys if f"ed25519:{name}" in key.get("keys", {})), None)
                if known is None:
                    continue
                for signer, signatures in signed.get("signatures", {}).items():
                    known.setdefault("signatures", {}).setdefault(signer, {}).update(signatures)
        return {"failures": {}}
