"""What an agent posts over A2H 1.0, read strictly as far as the protocol says; further fields are allowed. No I/O."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import urlsplit

from bot.api.answering import Reading, read_object
from bot.model.intent import IntentType

VERSION: Final = "1.0"
TTL_LEAST_S: Final = 30
TTL_LONGEST_S: Final = 86_400
TTL_S: Final = 300
LEVELS: Final = ("LOW", "MEDIUM", "HIGH")
TOPICS: Final = ("receipt", "progress", "alert", "result", "exception")
COMPONENTS: Final = (
    *("TEXT", "SELECT", "MULTISELECT", "CHECKBOX", "RADIO"),
    *("TEXTAREA", "NUMBER", "DATE", "TIME", "DATETIME"),
)
MAX_FALLBACK: Final = 5
MAX_ID: Final = 256
MAX_SHORT: Final = 2_000
_CHOICES: Final = ("SELECT", "MULTISELECT", "RADIO")
_URI: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\s]+")
_NONCE: Final = re.compile(r"[A-Za-z0-9_.-]{1,512}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Way:
    """A channel that the agent names: its type, and an address that counts only if the policy binds it (AGENT-1)."""

    type: str
    address: str = field(repr=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class Envelope:
    """A message as it was sent.

    Attributes:
        document: all of it.
        type: what it wants.
        body: the words.
        ways: channels in the order in which they are to be tried; none: the gateway's choice.
        level: of assurance.
        factors: one of them has to be used; none: any.
        created_at: None: it does not say.
        expires_at: of the channel; None: it does not say.
        callback: address and secret; None: there is none.
        profiles: that it claims; each has to be known.
    """

    document: Mapping[str, Any] = field(repr=False)
    type: IntentType
    message: str
    agent: str
    principal: str
    responds_to: str | None
    title: str = field(repr=False)
    body: str = field(repr=False)
    footer: str = field(repr=False)
    why: str = field(repr=False)
    params: Mapping[str, Any] = field(repr=False)
    links: Mapping[str, Any] = field(repr=False)
    components: tuple[Mapping[str, Any], ...] = field(default=(), repr=False)
    ways: tuple[Way, ...] = field(default=(), repr=False)
    nonce: str | None = field(default=None, repr=False)
    ttl_s: int = TTL_S
    level: str = LEVELS[0]
    factors: tuple[str, ...] = ()
    created_at: datetime | None = None
    expires_at: datetime | None = None
    callback: tuple[str, str] | None = field(default=None, repr=False)
    profiles: tuple[str, ...] = ()


def read_envelope(body: bytes, unsaid: Mapping[str, str] | None = None) -> Envelope:
    """Read a posted message.

    Args:
        body: as it was posted.
        unsaid: what stands in fields that it may lack; by default it may lack none.

    Raises:
        RefusedError: it can't be taken; every field that is wrong is named.
    """
    document = {**(unsaid or {}), **read_object(body)}
    reading = Reading(document, frozenset(document))
    reading.required("type", "message_id", "agent_id", "principal_id")
    for name in ("a2h_version", "a2h_min_version"):
        if document.get(name, VERSION) != VERSION:
            reading.wrong(f"/{name}", "not_known", f"this gateway speaks {VERSION}")
    channel = _object(reading, document, "channel")
    render = _object(reading, document, "render") or _object(reading, channel, "render", "/channel")
    written = document.get("type")
    known = written if isinstance(written, str) else ""
    intent = next((one for one in IntentType if one.value == known), IntentType.INFORM)
    if known != intent.value and "type" in document:
        reading.wrong("/type", "not_known", f"one of {', '.join(one.value for one in IntentType)}")
    if not render:
        reading.wrong("/render", "missing", "what is to be said: {body: ...}")
    params = _object(reading, document, "params")
    level, factors = _assurance(reading)
    envelope = Envelope(
        document=document,
        type=intent,
        message=reading.text("message_id", longest=MAX_ID),
        agent=reading.text("agent_id", longest=MAX_ID),
        principal=reading.text("principal_id", longest=MAX_ID),
        responds_to=reading.text("responds_to", longest=MAX_ID) if "responds_to" in document else None,
        title=_text(reading, render, "title", "/render", 256),
        body=_text(reading, render, "body", "/render", 4096, required=bool(render)),
        footer=_text(reading, render, "footer", "/render", 512),
        why=_text(reading, _object(reading, document, "explanation_bundle"), "why", "/explanation_bundle", MAX_SHORT),
        params=params,
        links=_object(reading, document, "links"),
        components=_components(reading, intent),
        ways=_ways(reading, channel),
        nonce=_nonce(reading, channel),
        ttl_s=_ttl(reading),
        level=level,
        factors=factors,
        created_at=_moment(reading, document, "created_at", ""),
        expires_at=_moment(reading, channel, "expires_at", "/channel"),
        callback=_callback(reading),
        profiles=tuple(
            _text(reading, holder, "profile", path, MAX_ID)
            for holder, path in ((document, ""), (params, "/params"))
            if "profile" in holder
        ),
    )
    _text(reading, render, "icon", "/render", 128)
    if intent is IntentType.INFORM and "topic" in params and params["topic"] not in TOPICS:
        reading.wrong("/params/topic", "not_known", f"one of {', '.join(TOPICS)}")
    if intent is IntentType.RESULT and envelope.responds_to is None:
        reading.wrong("/responds_to", "missing", "the message_id of what it is the result of")
    reading.done()
    return envelope


def _object(reading: Reading, holder: Mapping[str, Any], name: str, path: str = "") -> Mapping[str, Any]:
    value = holder.get(name, {})
    if not isinstance(value, dict):
        reading.wrong(f"{path}/{name}", "wrong_type", "an object")
        return {}
    return value


def _text(
    reading: Reading, holder: Mapping[str, Any], name: str, path: str, longest: int, *, required: bool = False
) -> str:
    value = holder.get(name, "")
    if not isinstance(value, str):
        reading.wrong(f"{path}/{name}", "wrong_type", "a text")
        return ""
    if len(value) > longest or (required and not value):
        reading.wrong(f"{path}/{name}", "wrong_length", f"from {int(required)} to {longest} characters")
    return value


def _ttl(reading: Reading) -> int:
    ttl_s = reading.whole("ttl_sec", TTL_S)
    if not TTL_LEAST_S <= ttl_s <= TTL_LONGEST_S:
        reading.wrong("/ttl_sec", "wrong_number", f"from {TTL_LEAST_S} to {TTL_LONGEST_S}")
    return ttl_s


def _assurance(reading: Reading) -> tuple[str, tuple[str, ...]]:
    written = _object(reading, reading.document, "assurance")
    level, factors = written.get("level", LEVELS[0]), written.get("required_factors", [])
    if level not in LEVELS:
        reading.wrong("/assurance/level", "not_known", f"one of {', '.join(LEVELS)}")
        level = LEVELS[0]
    if not isinstance(factors, list) or not all(isinstance(one, str) and len(one) <= MAX_ID for one in factors):
        reading.wrong("/assurance/required_factors", "wrong_type", "a list of names of factors")
        factors = []
    return level, tuple(factors)


def _ways(reading: Reading, channel: Mapping[str, Any]) -> tuple[Way, ...]:
    if not channel:
        return ()
    fallback = channel.get("fallback", [])
    if not isinstance(fallback, list) or len(fallback) > MAX_FALLBACK:
        reading.wrong("/channel/fallback", "wrong_type", f"a list of at most {MAX_FALLBACK} channels")
        fallback = []
    found = [_way(reading, channel, "/channel")]
    found += [_way(reading, one, f"/channel/fallback/{number}") for number, one in enumerate(fallback)]
    return tuple(one for one in found if one is not None)


def _way(reading: Reading, written: object, path: str) -> Way | None:
    if not isinstance(written, dict):
        reading.wrong(path, "wrong_type", "an object such as {type: telegram, address: ...}")
        return None
    kind, address = written.get("type"), written.get("address")
    if not (isinstance(kind, str) and 0 < len(kind) <= MAX_ID):
        reading.wrong(f"{path}/type", "wrong_type", "a text")
    if not (isinstance(address, str) and len(address) <= MAX_SHORT and _URI.fullmatch(address)):
        reading.wrong(f"{path}/address", "wrong_type", "a URI")
    return Way(type=kind, address=address) if isinstance(kind, str) and isinstance(address, str) else None


def _nonce(reading: Reading, channel: Mapping[str, Any]) -> str | None:
    nonce = channel.get("nonce")
    if nonce is None and "nonce" not in channel:
        return None
    if not isinstance(nonce, str) or _NONCE.fullmatch(nonce) is None:
        reading.wrong("/channel/nonce", "wrong_type", "base64url")
        return None
    return nonce


def _moment(reading: Reading, holder: Mapping[str, Any], name: str, path: str) -> datetime | None:
    if name not in holder:
        return None
    written = holder[name]
    try:
        at = datetime.fromisoformat(written)
        if at.tzinfo is not None:
            return at.astimezone(UTC)
    except (TypeError, ValueError, OverflowError):
        pass
    reading.wrong(f"{path}/{name}", "wrong_format", "a time with its offset, such as 2026-12-01T08:30:00Z")
    return None


def _callback(reading: Reading) -> tuple[str, str] | None:
    written = _object(reading, reading.document, "callback")
    if not written:
        if "callback" in reading.document and isinstance(reading.document["callback"], dict):
            reading.wrong("/callback", "missing", "{url: ..., secret: ...}")
        return None
    url, secret = written.get("url"), written.get("secret")
    if not (isinstance(url, str) and 0 < len(url) <= MAX_SHORT and _is_address(url)):
        reading.wrong("/callback/url", "wrong_format", "an https address")
    if not (isinstance(secret, str) and 0 < len(secret) <= 512):
        reading.wrong("/callback/secret", "wrong_length", "from 1 to 512 characters")
    return (url, secret) if isinstance(url, str) and isinstance(secret, str) else None


def _is_address(url: str) -> bool:
    try:
        return urlsplit(url).scheme in ("http", "https")
    except ValueError:
        return False


def _components(reading: Reading, intent: IntentType) -> tuple[Mapping[str, Any], ...]:
    written = reading.document.get("components", [])
    if not isinstance(written, list) or not all(isinstance(one, dict) for one in written):
        reading.wrong("/components", "wrong_type", "a list of components")
        return ()
    if intent is IntentType.COLLECT and not written:
        reading.wrong("/components", "missing", "what is to be collected")
    seen: set[object] = set()
    for number, one in enumerate(written):
        path = f"/components/{number}"
        name = one.get("name")
        if one.get("type") not in COMPONENTS:
            reading.wrong(f"{path}/type", "not_known", f"one of {', '.join(COMPONENTS)}")
        if not (isinstance(name, str) and 0 < len(name) <= 64):
            reading.wrong(f"{path}/name", "wrong_length", "from 1 to 64 characters")
        elif name in seen:
            reading.wrong(f"{path}/name", "twice", "each name once")
        seen.add(name if isinstance(name, str) else None)
        _text(reading, one, "label", path, 256)
        if type(one.get("required", False)) is not bool:
            reading.wrong(f"{path}/required", "wrong_type", "true or false")
        _validation(reading, _object(reading, one, "validation", path), f"{path}/validation")
        _options(reading, one, path)
    return tuple(written)


def _validation(reading: Reading, written: Mapping[str, Any], path: str) -> None:
    if not isinstance(written.get("pattern", ""), str):
        reading.wrong(f"{path}/pattern", "wrong_type", "a text")
    for name in ("min", "max"):
        if type(written.get(name, 0)) not in (int, float):
            reading.wrong(f"{path}/{name}", "wrong_type", "a number")
    for name in ("minLength", "maxLength"):
        if type(written.get(name, 0)) is not int or written.get(name, 0) < 0:
            reading.wrong(f"{path}/{name}", "wrong_type", "a whole number")


def _options(reading: Reading, one: Mapping[str, Any], path: str) -> None:
    options = one.get("options", [])
    fits = isinstance(options, list) and all(
        isinstance(option, dict)
        and isinstance(option.get("value", ""), str)
        and isinstance(option.get("label", ""), str)
        for option in options
    )
    if not fits:
        reading.wrong(f"{path}/options", "wrong_type", "a list of {value, label}")
    elif one.get("type") in _CHOICES and not all(option.get("value") for option in options):
        reading.wrong(f"{path}/options", "missing", "each option has a value")
    elif one.get("type") in _CHOICES and not options:
        reading.wrong(f"{path}/options", "missing", "what can be chosen")
