"""One-time links (FORM-6): unguessable, derived and not kept, so that a card can be shown again with its link.

The token is an HMAC of the question's id under a key that lies in a file of its own; the store has a hash of the token
alone, so neither the database nor a copy of it opens a form.
"""

import base64
import hashlib
import hmac
import os
import secrets
from pathlib import Path
from typing import Final

from bot.model.errors import StoreError

_KEY_BYTES: Final = 32


class Links:
    """Makes the links of questions."""

    def __init__(self, key: bytes, base_url: str | None) -> None:
        """Args: base_url: under which people reach the pages, without a slash at the end; None: there are no pages."""
        self._key = key
        self._base_url = base_url

    @property
    def base_url(self) -> str | None:
        """Under which people reach the pages; None: there are none."""
        return self._base_url

    def token(self, question_id: str) -> str:
        """The token of a question: 256 bits, 43 characters."""
        made = hmac.new(self._key, question_id.encode(), hashlib.sha256).digest()
        return base64.urlsafe_b64encode(made).rstrip(b"=").decode()

    def page(self, question_id: str) -> str | None:
        """The address of a question's page; None where no pages are served."""
        return None if self._base_url is None else f"{self._base_url}/f/{self.token(question_id)}"

    def mini_app(self, question_id: str) -> str | None:
        """The same for a Mini App, which Telegram opens by https alone."""
        if self._base_url is None or not self._base_url.startswith("https://"):
            return None
        return f"{self._base_url}/m/{self.token(question_id)}"


def digest(token: str) -> str:
    """What is kept of a token: its SHA-256, hexadecimal."""
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()


def link_key(path: Path) -> bytes:
    """The key of this installation; made where there is none, for this user alone.

    Raises:
        StoreError: it can't be read or made.
    """
    try:
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            key = path.read_bytes()
            if len(key) != _KEY_BYTES:
                raise StoreError(f"{path} is damaged. Remove it: links that are out become invalid") from None
            return key
        key = secrets.token_bytes(_KEY_BYTES)
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(key)
            stream.flush()
            os.fsync(stream.fileno())
    except OSError as error:
        raise StoreError(f"{path} can't be read or made ({error.strerror})") from None
    return key
