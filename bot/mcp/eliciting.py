"""What MCP servers ask their users (elicitation), as questions of the gateway, and the answers back (AGENT-3).

First people are asked whether they want to answer that server at all, then for the values: so each form can be
declined. ``accept`` has values that the gateway has checked; ``decline`` is a no; ``cancel`` is nobody's answer.
"""

import asyncio
import re
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Final
from urllib.parse import urlsplit

from bot.mcp.gateway import Gateway, GatewayError, path_of

SLICE_S: Final = 20.0
TTL_S: Final = 3_600
_CONSENT: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {"answer": {"type": "boolean", "title": "Answer it"}},
    "required": ["answer"],
}
_OPENED: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {"open": {"type": "boolean", "title": "Opened"}},
    "required": ["open"],
}
_KEPT: Final = frozenset(
    {
        "type",
        "title",
        "description",
        "default",
        "enum",
        "oneOf",
        "minLength",
        "maxLength",
        "minimum",
        "maximum",
        "minItems",
        "maxItems",
        "format",
    }
)
_FORMATS: Final = frozenset({"email", "uri", "date", "date-time"})
_MARKUP: Final = re.compile(r"([\\`*_{}\[\]()#+\-.!|<>~])")
_ADDRESS: Final = re.compile(r"[!-;=?-~]+")
"""Signs of an address, as they may stand in a message between < and >."""
_MAX_ADDRESS: Final = 500
_MAX_MESSAGE: Final = 3_000


class ElicitationError(Exception):
    """It can't be asked; nobody was asked."""


class Eliciting:
    """Asks people for servers."""

    def __init__(self, gateway: Gateway, *, system: str, people: Sequence[str] = ()) -> None:
        """Args: system: name of the server, for people. people: ids of who is asked; none: operators."""
        self._gateway = gateway
        self._system = system
        self._who = {"kind": "people", "people": list(people)} if people else {"kind": "operators"}

    async def answer(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Ask, and wait for the answer: an ``ElicitResult``.

        Raises:
            ElicitationError: it can't be asked.
        """
        message = params.get("message")
        if not isinstance(message, str):
            raise ElicitationError("message is missing")
        if params.get("mode", "form") == "url":
            return await self._address(message, params.get("url"))
        schema = form_of(params.get("requestedSchema"))
        head = f"The server **{_plain(self._system)}** asks:\n\n{_plain(message[:_MAX_MESSAGE])}"
        consent = await self._ask(f"{head}\n\nAnswer it?", _CONSENT)
        if consent is None:
            return {"action": "cancel"}
        if not consent["answer"]:
            return {"action": "decline"}
        if not schema["properties"]:
            return {"action": "accept", "content": {}}
        given = await self._ask(head, schema)
        if given is None:
            return {"action": "cancel"}
        return {"action": "accept", "content": {name: value for name, value in given.items() if value is not None}}

    async def _address(self, message: str, url: object) -> dict[str, Any]:
        """An address is shown in full, with its host said again; nothing here opens it."""
        host = _host(url)
        if host is None:
            raise ElicitationError("url: an https address")
        text = (
            f"The server **{_plain(self._system)}** asks you to open an address on **{_plain(host)}**:\n\n"
            f"{_plain(message[:_MAX_MESSAGE])}\n\n<{url}>\n\nHave you opened it, and will you go on there?"
        )
        given = await self._ask(text, _OPENED)
        if given is None:
            return {"action": "cancel"}
        return {"action": "accept" if given["open"] else "decline"}

    async def _ask(self, text: str, schema: Mapping[str, Any]) -> dict[str, Any] | None:
        body = {"question": text, "schema": schema, "who": self._who, "ttl_s": TTL_S}
        try:
            asked = await self._gateway.post("/v1/questions", body, key=uuid.uuid4().hex)
        except GatewayError as error:
            fields = "; ".join(f"{one.get('path')} {one.get('code')}" for one in error.problems)
            raise ElicitationError(f"{error} {fields}".strip()) from None
        path, state = path_of("questions", asked["id"]), "open"
        document: dict[str, Any] = {}
        try:
            while state in ("open", "confirming"):
                document = await self._gateway.get(path, wait_s=SLICE_S)
                state = document["state"]
        except GatewayError:
            return None
        except BaseException:  # nobody waits for it any more
            await self._take_back(path)
            raise
        answer = document["answer"]
        return dict(answer) if state == "answered" and isinstance(answer, dict) else None

    async def _take_back(self, path: str) -> None:
        with suppress(GatewayError):
            await asyncio.shield(self._gateway.delete(path))


def _host(url: object) -> str | None:
    """The host of an address that can be shown; None: it is none."""
    if not isinstance(url, str) or len(url) > _MAX_ADDRESS or _ADDRESS.fullmatch(url) is None:
        return None
    try:
        parts = urlsplit(url)
    except ValueError:
        return None
    return parts.hostname if parts.scheme == "https" and not parts.username else None


def form_of(written: object) -> dict[str, Any]:
    """The schema of a question out of that of an elicitation: flat, of the known kinds; the gateway looks at it again.

    Raises:
        ElicitationError: it is none.
    """
    if not isinstance(written, dict) or not isinstance(written.get("properties", {}), dict):
        raise ElicitationError("requestedSchema: an object with properties")
    properties = {str(name): _property(one) for name, one in written.get("properties", {}).items()}
    required = written.get("required", [])
    if not isinstance(required, list) or not all(name in properties for name in required):
        raise ElicitationError("requestedSchema: required names properties")
    return {"type": "object", "properties": properties, "required": required}


def _property(written: object) -> dict[str, Any]:
    if not isinstance(written, dict):
        raise ElicitationError("requestedSchema: each property is an object")
    kept = {name: value for name, value in written.items() if name in _KEPT}
    if "format" in kept and kept["format"] not in _FORMATS:
        raise ElicitationError("requestedSchema: this format can't be asked for")
    choices, names = kept.get("enum"), written.get("enumNames")
    if isinstance(choices, list) and isinstance(names, list) and len(names) == len(choices):
        del kept["enum"]
        kept["oneOf"] = [{"const": value, "title": title} for value, title in zip(choices, names, strict=True)]
    if kept.get("type") == "array":
        items = written.get("items")
        if not isinstance(items, dict):
            raise ElicitationError("requestedSchema: a list has items")
        kept["items"] = {name: value for name, value in items.items() if name in ("type", "enum", "anyOf")}
        kept["uniqueItems"] = True
    return kept


def _plain(text: str) -> str:
    """Words of a server as they are: nothing in them is markup."""
    return _MARKUP.sub(r"\\\1", text)
