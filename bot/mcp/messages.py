"""What is written into the messages that pass the proxy, and what is read out of them. Pure.

Nothing of a client's call goes along that was not reviewed (APPR-10), and what people have changed is said (APPR-3).
"""

from collections.abc import Mapping
from typing import Any, Final

import orjson

from bot.mcp.holding import Held, Leave

_ABOUT: Final = "discreet/approval"
_META: Final = frozenset(
    {
        "progressToken",
        "io.modelcontextprotocol/protocolVersion",
        "io.modelcontextprotocol/clientInfo",
        "io.modelcontextprotocol/clientCapabilities",
        "io.modelcontextprotocol/logLevel",
    }
)
_CAPABILITIES: Final = "io.modelcontextprotocol/clientCapabilities"
_ELICITATION: Final[Mapping[str, Any]] = {"form": {}, "url": {}}
_SURELY_NOT_RUN: Final = frozenset({-32601, -32602})
"""Errors after which a call has not run: no such method, no such parameters. Of any other nobody can tell."""

BROKEN: Final = "This call was not carried out, or nobody knows: something went wrong. Ask an operator."
UNKNOWN: Final = (
    "Nobody knows whether this call was carried out: the connection to the server was lost ({code}). It is not "
    "repeated until an operator has found out."
)
_CHANGED: Final = "People have changed what was called before they approved it. This is what was run: "


def outcome_of(answer: Mapping[str, Any]) -> tuple[bool | None, str]:
    """What came of a call by the server's answer; None: nobody can tell."""
    error = answer.get("error")
    if isinstance(error, dict):
        code = error.get("code")
        return (False if code in _SURELY_NOT_RUN else None), f"error {code}"
    result = answer.get("result")
    if isinstance(result, dict) and result.get("isError") is True:
        return False, "the tool says that it failed"
    return True, ""


def held_answer(held: Held) -> dict[str, Any]:
    """What a client reads of a call that did not run."""
    about = {"status": held.status, "code": held.code or None}
    result = {"content": [{"type": "text", "text": held.text}], "isError": True, "resultType": "complete"}
    return {"result": {**result, "_meta": {_ABOUT: about}}}


def marked(answer: Mapping[str, Any], leave: Leave) -> dict[str, Any]:
    """The server's answer, with a word about what was run where people have changed it (APPR-3)."""
    result = answer.get("result")
    if not isinstance(result, dict):
        return dict(answer)
    about: dict[str, Any] = {"status": "ran", "code": leave.code, "changed": leave.changed}
    marked = dict(result)
    if leave.changed:
        arguments = dict(leave.call.arguments)
        about["arguments"] = arguments
        content = marked.get("content")
        text = _CHANGED + orjson.dumps(arguments).decode()
        marked["content"] = [{"type": "text", "text": text}, *(content if isinstance(content, list) else [])]
    meta = marked.get("_meta")
    marked["_meta"] = {**(meta if isinstance(meta, dict) else {}), _ABOUT: about}
    return {"result": marked}


def kept_meta(written: object, *, elicitation: bool) -> dict[str, Any]:
    """What the protocol itself needs beside a call. The rest was not reviewed and does not go along."""
    if not isinstance(written, dict):
        return {}
    kept = {key: value for key, value in written.items() if key in _META}
    return _with_capability(kept) if elicitation else kept


def with_elicitation(method: str, params: dict[str, Any]) -> dict[str, Any]:
    """People answer what the server asks, whether the client could or not; so the server is told that it may ask."""
    if method == "initialize":
        capabilities = params.get("capabilities")
        known = capabilities if isinstance(capabilities, dict) else {}
        return {**params, "capabilities": {**known, "elicitation": dict(_ELICITATION)}}
    meta = params.get("_meta")
    return {**params, "_meta": _with_capability(meta)} if isinstance(meta, dict) else params


def _with_capability(meta: Mapping[str, Any]) -> dict[str, Any]:
    capabilities = meta.get(_CAPABILITIES)
    if not isinstance(capabilities, dict):
        return dict(meta)
    return {**meta, _CAPABILITIES: {**capabilities, "elicitation": dict(_ELICITATION)}}
