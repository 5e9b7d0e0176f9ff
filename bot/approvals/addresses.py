"""Where the pages of passkeys stand: whose passkeys they are to be (the relying party), and the addresses of pages.

The address of an approval's page is no authority: it shows one version of one approval to whoever has it, and the
passkey alone decides (APPR-9). It is derived under the key of one-time links and kept nowhere. It carries the whole
version: of a part of it an agent could make two versions that have it in common, and change one for the other after
the page was opened.
"""

import base64
import hashlib
import hmac
import ipaddress
import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

APPROVAL: Final = "a"
ENROLMENT: Final = "k"
_ID: Final = re.compile(r"[A-Za-z0-9_-]{1,128}")
_VERSION: Final = re.compile(r"[0-9a-f]{64}")
_PORTS: Final = {"https": 443, "http": 80}
_LOCALHOST: Final = "localhost"


@dataclass(frozen=True, kw_only=True, slots=True)
class RelyingParty:
    """For whom passkeys are made.

    Attributes:
        id: the host by which authenticators know us.
        origin: of the pages, as browsers write it.
        base_url: of the pages, without a slash at the end.
    """

    id: str
    origin: str
    base_url: str


def relying_party(base_url: str) -> RelyingParty | None:
    """The relying party of a public address; None where browsers let no passkey be made or used.

    They want https and a name; on this machine http will do, under the name localhost (an IP address has no passkeys).
    """
    try:
        parts = urlsplit(base_url)
        host = (parts.hostname or "").encode("idna").decode()
        port = parts.port
    except (ValueError, UnicodeError):
        return None
    address = _address(host)
    if address is not None and address.is_loopback:
        host = _LOCALHOST
    elif address is not None or not host:
        return None
    local = host == _LOCALHOST or host.endswith(f".{_LOCALHOST}")
    if parts.scheme != "https" and not (parts.scheme == "http" and local):
        return None
    origin = f"{parts.scheme}://{host}" + ("" if port in (None, _PORTS[parts.scheme]) else f":{port}")
    return RelyingParty(id=host, origin=origin, base_url=origin + parts.path.rstrip("/"))


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


class PageAddresses:
    """Makes the addresses of pages that want a passkey, and reads what comes back of them."""

    def __init__(self, key: bytes, party: RelyingParty | None) -> None:
        """Args: key: of one-time links. party: None: there are no such pages."""
        self._key = key
        self.party = party

    def approval(self, approval_id: str, version: str) -> str | None:
        """The page on which one version of an approval is approved; None where no such pages are served."""
        if self.party is None:
            return None
        return f"{self.party.base_url}/{APPROVAL}/{approval_id}.{version}.{self._mac(approval_id, version)}"

    def enrolment(self, token: str) -> str | None:
        """The page on which a passkey is enrolled; None where no such pages are served."""
        return None if self.party is None else f"{self.party.base_url}/{ENROLMENT}/{token}"

    def read(self, token: str) -> tuple[str, str] | None:
        """(approval id, version) of the last step of an address; None: it is not ours."""
        pieces = token.split(".")
        if len(pieces) != 3:
            return None
        approval_id, version, mac = pieces
        if not _ID.fullmatch(approval_id) or not _VERSION.fullmatch(version):
            return None
        if not hmac.compare_digest(self._mac(approval_id, version).encode(), mac.encode("utf-8", "replace")):
            return None
        return approval_id, version

    def _mac(self, approval_id: str, version: str) -> str:
        made = hmac.digest(self._key, f"approval page\n{approval_id}\n{version}".encode(), hashlib.sha256)
        return base64.urlsafe_b64encode(made).rstrip(b"=").decode()
