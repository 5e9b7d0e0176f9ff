"""Secrets never leave through a log (DUR-5, OPS-4).

The Bot API puts its token into the path of every URL, so every URL, every HTTP client's log line and the text of many
exceptions hold a secret. Two nets catch them: the exact secrets of the configuration, in each form in which a text
may carry them, and the shapes that secrets have.
"""

import json
import re
import threading
from typing import Final
from urllib.parse import quote

HIDDEN: Final = "[hidden]"
SHORTEST_SECRET: Final = 6
"""Characters. Anything shorter would blank out ordinary words; the configuration refuses such secrets."""

_QUOTE: Final = r"""(?:\\*["'])?"""  # also escaped ones: JSON inside JSON
_OPENS: Final = r"""(?:b?\\*["'])?"""
_SETS: Final = rf"{_QUOTE}\s*[:=]\s*{_OPENS}"
_PAIRS: Final = r"""\\*["'],\s*b?\\*["']"""  # a header as a tuple
_REST: Final = r"""[^\s&#"'\\,;)}\]]+"""
_NAMES: Final = "access_token|refresh_token|api_key|apikey|client_secret|secret_token|password|passwd|signature"
_SHAPES: Final = (
    # Telegram's bot token; in a URL its colon may be written %3A
    (re.compile(r"\d{6,}(?::|%3[Aa])[A-Za-z0-9_-]{30,}"), HIDDEN),
    # user:password@ in front of a host (proxies, database addresses)
    (re.compile(r"""(?P<keep>\b[A-Za-z][A-Za-z0-9+.-]*://)[^/\s@"'\\]+@"""), rf"\g<keep>{HIDDEN}@"),
    (
        re.compile(
            rf"(?P<keep>\bauthorization(?:{_SETS}|{_PAIRS})(?:(?:bearer|basic|digest|token)\s+)?){_REST}",
            re.IGNORECASE,
        ),
        rf"\g<keep>{HIDDEN}",
    ),
    (re.compile(r"(?P<keep>\b(?:bearer|basic)\s+)[A-Za-z0-9._~+/=-]{8,}", re.IGNORECASE), rf"\g<keep>{HIDDEN}"),
    # in a query, a form body or a written mapping
    (re.compile(rf"(?P<keep>\b(?:{_NAMES}){_SETS}){_REST}", re.IGNORECASE), rf"\g<keep>{HIDDEN}"),
    # one-time links
    (re.compile(rf"(?P<keep>[?&](?:token|invite|code|key|ticket)=){_REST}", re.IGNORECASE), rf"\g<keep>{HIDDEN}"),
    (re.compile(r"(?P<keep>/[fm]/)[A-Za-z0-9_-]{43}(?![A-Za-z0-9_-])"), rf"\g<keep>{HIDDEN}"),
    (re.compile(r"\bwhsec_[A-Za-z0-9+/=_-]+"), HIDDEN),
    # Matrix: access, registration and refresh tokens of Synapse, tokens of its authentication service
    (re.compile(r"\bsy[trl]_[A-Za-z0-9_=-]{6,}"), HIDDEN),
    (re.compile(r"\bm[acp]t_[A-Za-z0-9_]{20,}"), HIDDEN),
    # keys of model providers
    (re.compile(r"\bsk-[A-Za-z0-9_-]{16,}"), HIDDEN),
)


class _Registered:
    """The exact secrets of this process, as one pattern; longest first, so that no rest of a longer one stays."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._forms: set[str] = set()
        self.pattern: re.Pattern[str] | None = None

    def add(self, secret: str) -> None:
        with self._lock:
            self._forms |= _forms(secret)
            longest_first = sorted(self._forms, key=len, reverse=True)
            self.pattern = re.compile("|".join(map(re.escape, longest_first)))


_registered = _Registered()


def register_secret(secret: str) -> None:
    """Hide this exact text wherever it appears from now on.

    Args:
        secret: a token, key or password of the configuration. Shorter than :data:`SHORTEST_SECRET`: ignored.
    """
    cleaned = secret.strip()
    if len(cleaned) >= SHORTEST_SECRET:
        _registered.add(cleaned)


def redact(text: str) -> str:
    """The text without anything that is, or looks like, a secret."""
    if _registered.pattern is not None:
        text = _registered.pattern.sub(HIDDEN, text)
    for shape, replacement in _SHAPES:
        text = shape.sub(replacement, text)
    return text


def _forms(secret: str) -> set[str]:
    """How a text may carry a secret: plain, in JSON, in a Python literal, in a URL."""
    return {
        secret,
        json.dumps(secret)[1:-1],
        json.dumps(secret, ensure_ascii=False)[1:-1],
        repr(secret)[1:-1],
        quote(secret, safe=""),
        quote(secret),
    }
