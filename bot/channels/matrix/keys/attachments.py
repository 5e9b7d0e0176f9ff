"""Files in encrypted rooms: AES-256 in counter mode, a key of its own for each file.

The server stores what it can't read; key, counter and the hash of what is stored travel inside of the encrypted message
(client-server API, "Sending encrypted attachments"). INVARIANT: nothing is decrypted whose hash does not fit.
"""

import base64
import hashlib
import hmac
import re
import secrets
from collections.abc import Mapping
from typing import Any, Final

from Crypto.Cipher import AES
from Crypto.Cipher._mode_ctr import CtrMode

from bot.model.errors import ChannelError

_KEY_BYTES: Final = 32
_NONCE_BYTES: Final = 8
_COUNTER_BYTES: Final = 8
_HASH_BYTES: Final = 32
_TEXT: Final = re.compile(r"[A-Za-z0-9+/_-]{1,64}={0,2}")


def encrypt_file(content: bytes) -> tuple[bytes, dict[str, Any]]:
    """Encrypt a file; blocks for about a second for each 500 MB.

    Returns:
        What is uploaded, and the ``EncryptedFile`` of the message, which still lacks its ``url``.
    """
    key = secrets.token_bytes(_KEY_BYTES)
    nonce = secrets.token_bytes(_NONCE_BYTES)  # the other half of the block counts from 0 and never comes round
    sealed = _cipher(key, nonce, 0).encrypt(content)
    return sealed, {
        "v": "v2",
        "key": {
            "kty": "oct",
            "alg": "A256CTR",
            "ext": True,
            "k": base64.urlsafe_b64encode(key).decode().rstrip("="),
            "key_ops": ["encrypt", "decrypt"],
        },
        "iv": base64.b64encode(nonce + bytes(_COUNTER_BYTES)).decode().rstrip("="),
        "hashes": {"sha256": base64.b64encode(hashlib.sha256(sealed).digest()).decode().rstrip("=")},
    }


def decrypt_file(content: bytes, file: Mapping[str, Any]) -> bytes:
    """Decrypt what was downloaded.

    Args:
        content: as it is on the server.
        file: the ``EncryptedFile`` of the message, as hostile as the message.

    Raises:
        ChannelError: the two don't fit each other.
    """
    jwk, hashes = file.get("key"), file.get("hashes")
    if (
        file.get("v") != "v2"
        or not isinstance(jwk, dict)
        or not isinstance(hashes, dict)
        or jwk.get("alg") != "A256CTR"
    ):
        raise ChannelError("the file is encrypted in a way that is not known here")
    key, start, expected = _bytes(jwk.get("k")), _bytes(file.get("iv")), _bytes(hashes.get("sha256"))
    if len(key) != _KEY_BYTES or len(start) != _NONCE_BYTES + _COUNTER_BYTES or len(expected) != _HASH_BYTES:
        raise ChannelError("the key of the file is malformed")
    if not hmac.compare_digest(hashlib.sha256(content).digest(), expected):
        raise ChannelError("the file on the server is not the file of the message")
    return _cipher(key, start[:_NONCE_BYTES], int.from_bytes(start[_NONCE_BYTES:], "big")).decrypt(content)


def _cipher(key: bytes, nonce: bytes, start: int) -> CtrMode:
    return AES.new(key, AES.MODE_CTR, nonce=nonce, initial_value=start)


def _bytes(text: object) -> bytes:
    """Unpadded base64 of either alphabet; empty where it is none."""
    if not isinstance(text, str) or _TEXT.fullmatch(text) is None:
        return b""
    plain = text.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        return base64.b64decode(plain + "=" * (-len(plain) % 4))
    except ValueError:
        return b""
