"""How a callback is signed, and when it is tried again.

``standard`` is Standard Webhooks: several secrets sign at once, so that they can be changed one after the other.
``a2h`` is what A2H 1.0 says of its webhooks.
"""

import base64
import binascii
import hashlib
import hmac
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from bot.config.secret import Secret

_LEAST, _MOST = 24, 64  # bytes of a key
_LONGEST: Final = 512
"""Characters of a secret that is no key in base64."""


class SecretError(Exception):
    """A secret can't sign. The text does not repeat it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Scheme:
    """A way to sign.

    Attributes:
        name: as it is stored with a callback.
        again_after_s: seconds between an attempt that failed and the next; after the last it is given up.
        timeout_s: for one attempt.
        sign: headers for (id of the message, seconds since 1970, body, secrets); SecretError where one can't sign.
    """

    name: str
    again_after_s: tuple[float, ...]
    timeout_s: float
    sign: Callable[[str, int, bytes, Sequence[Secret]], Mapping[str, str]]


def sign_standard(message: str, at: int, body: bytes, secrets: Sequence[Secret]) -> dict[str, str]:
    """The headers of Standard Webhooks.

    Raises:
        SecretError: a secret is not ``whsec_`` and base64 of 24 to 64 bytes.
    """
    signed = f"{message}.{at}.".encode() + body
    digests = [hmac.digest(key_of(secret), signed, hashlib.sha256) for secret in secrets]
    return {
        "webhook-id": message,
        "webhook-timestamp": str(at),
        "webhook-signature": " ".join(f"v1,{base64.b64encode(digest).decode()}" for digest in digests),
    }


def sign_a2h(message: str, at: int, body: bytes, secrets: Sequence[Secret]) -> dict[str, str]:
    """The headers of A2H 1.0.

    Raises:
        SecretError: a secret is too long.
    """
    keys = [secret.reveal().encode() for secret in secrets]
    if any(not 0 < len(key) <= _LONGEST for key in keys):
        raise SecretError(f"a secret has from 1 to {_LONGEST} bytes")
    digests = [hmac.digest(key, f"{at}.".encode() + body, hashlib.sha256).hex() for key in keys]
    return {
        "X-A2H-Signature": ",".join([f"t={at}", *(f"v1={digest}" for digest in digests)]),
        "X-A2H-Delivery-ID": message,
    }


def key_of(secret: Secret) -> bytes:
    """The bytes of a written secret.

    Raises:
        SecretError: it is not ``whsec_`` and base64 of 24 to 64 bytes.
    """
    text = secret.reveal()
    try:
        key = base64.b64decode(text.removeprefix("whsec_"), validate=True) if text.startswith("whsec_") else b""
    except (binascii.Error, ValueError):
        key = b""
    if not _LEAST <= len(key) <= _MOST:
        raise SecretError(f"a secret is whsec_ and the base64 of {_LEAST} to {_MOST} random bytes")
    return key


STANDARD: Final = Scheme(
    name="standard",
    again_after_s=(5, 60, 300, 1_800, 7_200, 18_000, 36_000),
    timeout_s=10.0,
    sign=sign_standard,
)
A2H: Final = Scheme(name="a2h", again_after_s=(10, 60, 300), timeout_s=30.0, sign=sign_a2h)
SCHEMES: Final[Mapping[str, Scheme]] = {scheme.name: scheme for scheme in (STANDARD, A2H)}
