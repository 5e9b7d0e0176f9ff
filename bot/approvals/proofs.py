"""What a passkey has signed for an approval, and all that is needed to look at it again (APPR-9).

    challenge = SHA-256 of the RFC 8785 form of {purpose, approval, version, words, nonce}

An authenticator signs its own data and the digest of what the browser says, which holds the challenge. So a proof says:
this key, by somebody whom the authenticator has verified, on our pages, for this version and these words.
"""

import hashlib
import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass, field
from typing import Final

_PURPOSE: Final = "discreet approval"
_FORM: Final = 1
_BYTES: Final = ("public_key", "authenticator_data", "client_data", "signature")


class CeremonyError(Exception):
    """It proves nothing. The text is a code of ours and holds nothing that was sent."""


def encoded(value: bytes) -> str:
    """Base64url without padding, as browsers write it."""
    return urlsafe_b64encode(value).rstrip(b"=").decode()


def decoded(text: str) -> bytes:
    """The other way.

    Raises:
        ValueError: it is none.
    """
    if not text.isascii() or not text.replace("-", "").replace("_", "").isalnum():
        raise ValueError("no base64url")
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))


@dataclass(frozen=True, kw_only=True, slots=True)
class Bound:
    """What a challenge is bound to.

    Attributes:
        approval: id.
        version: all of it.
        words: SHA-256 of the justification, hexadecimal; empty: there is none.
        nonce: random, kept on our side until the answer comes.
    """

    approval: str
    version: str
    words: str
    nonce: str

    @property
    def challenge(self) -> bytes:
        """What the authenticator signs, in the end."""
        import rfc8785

        return hashlib.sha256(
            rfc8785.dumps(
                {
                    "purpose": _PURPOSE,
                    "approval": self.approval,
                    "version": self.version,
                    "words": self.words,
                    "nonce": self.nonce,
                }
            )
        ).digest()


def words_digest(words: str) -> str:
    """Of a justification; empty for none."""
    return hashlib.sha256(words.encode("utf-8", "replace")).hexdigest() if words else ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Proof:
    """All that is needed to look at an assertion again.

    Attributes:
        credential: id of the passkey, base64url.
        public_key: COSE, as it was enrolled.
        authenticator_data: of the assertion.
        client_data: JSON of the browser, as it was signed.
        signature: over the two.
        party: id of the relying party.
        origin: of the page.
        bound: what the challenge was made from.
    """

    credential: str
    public_key: bytes = field(repr=False)
    authenticator_data: bytes = field(repr=False)
    client_data: bytes = field(repr=False)
    signature: bytes = field(repr=False)
    party: str
    origin: str
    bound: Bound

    def written(self) -> bytes:
        """As JSON."""
        bound = self.bound
        document = {
            "form": _FORM,
            "credential": self.credential,
            **{name: encoded(getattr(self, name)) for name in _BYTES},
            "party": self.party,
            "origin": self.origin,
            "challenge": {
                "approval": bound.approval,
                "version": bound.version,
                "words": bound.words,
                "nonce": bound.nonce,
            },
        }
        return json.dumps(document, separators=(",", ":"), sort_keys=True).encode()


def read_proof(written: bytes) -> Proof:
    """A stored proof.

    Raises:
        CeremonyError: it is none.
    """
    try:
        document = json.loads(written)
        if document["form"] != _FORM:
            raise CeremonyError("form")
        inputs = document["challenge"]
        texts = {name: document[name] for name in ("credential", "party", "origin")}
        bound = {name: inputs[name] for name in ("approval", "version", "words", "nonce")}
        if not all(isinstance(value, str) for value in (*texts.values(), *bound.values())):
            raise CeremonyError("form")
        return Proof(
            credential=texts["credential"],
            public_key=decoded(document["public_key"]),
            authenticator_data=decoded(document["authenticator_data"]),
            client_data=decoded(document["client_data"]),
            signature=decoded(document["signature"]),
            party=texts["party"],
            origin=texts["origin"],
            bound=Bound(**bound),
        )
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        raise CeremonyError("form") from None
