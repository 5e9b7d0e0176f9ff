"""An authenticator in software: real keys, real signatures, the formats of WebAuthn written from its specification."""

import base64
import hashlib
import json
import secrets
from dataclasses import dataclass, field

import cbor2
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec

USER_PRESENT, USER_VERIFIED, ATTESTED = 0x01, 0x04, 0x40


def written(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).rstrip(b"=").decode()


def read(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


@dataclass
class Authenticator:
    """Holds one passkey. ``counts``: its counter rises with each use; many never count."""

    counts: bool = True
    verifies: bool = True
    key: ec.EllipticCurvePrivateKey = field(default_factory=lambda: ec.generate_private_key(ec.SECP256R1()))
    id: bytes = field(default_factory=lambda: secrets.token_bytes(16))
    count: int = 0
    handle: bytes | None = None

    @property
    def public_key(self) -> bytes:
        """COSE, ES256."""
        numbers = self.key.public_key().public_numbers()
        x, y = numbers.x.to_bytes(32, "big"), numbers.y.to_bytes(32, "big")
        return cbor2.dumps({1: 2, 3: -7, -1: 1, -2: x, -3: y})

    def create(self, options, *, origin, **client):
        """The answer to ``navigator.credentials.create``, attestation none."""
        self.handle = read(options["user"]["id"])
        attested = bytes(16) + len(self.id).to_bytes(2, "big") + self.id + self.public_key
        data = self._data(options["rp"]["id"], ATTESTED) + attested
        attestation = cbor2.dumps({"fmt": "none", "attStmt": {}, "authData": data})
        said = self._client("webauthn.create", options["challenge"], origin, client)
        return self._credential({"clientDataJSON": written(said), "attestationObject": written(attestation)})

    def get(self, options, *, origin, party=None, **client):
        """The answer to ``navigator.credentials.get``."""
        if self.counts:
            self.count += 1
        data = self._data(party or options["rpId"], 0)
        said = self._client("webauthn.get", options["challenge"], origin, client)
        signature = self.key.sign(data + hashlib.sha256(said).digest(), ec.ECDSA(hashes.SHA256()))
        response = {
            "clientDataJSON": written(said),
            "authenticatorData": written(data),
            "signature": written(signature),
        }
        if self.handle is not None:
            response["userHandle"] = written(self.handle)
        return self._credential(response)

    def _data(self, party, flags):
        flags |= USER_PRESENT | (USER_VERIFIED if self.verifies else 0)
        return hashlib.sha256(party.encode()).digest() + bytes([flags]) + self.count.to_bytes(4, "big")

    def _client(self, kind, challenge, origin, more):
        return json.dumps(
            {"type": kind, "challenge": challenge, "origin": origin, "crossOrigin": False, **more}
        ).encode()

    def _credential(self, response):
        return {"id": written(self.id), "rawId": written(self.id), "type": "public-key", "response": response}
