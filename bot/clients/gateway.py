"""A gateway as an agent sees it over HTTP: propose, wait, claim, tell the outcome; ask, wait (docs/agents.md).

Calls wait in the thread that makes them; whoever has an event loop gives them to a thread. What fails in passing
(nobody there, 429, 5xx) is tried again for a while: every call is one that may be made twice. Redirects are not
followed and proxies of the environment are not used, because the key goes along.

GatewayError
├── RefusedError   the gateway says no: ``status`` and ``code``
└── AwayError      it could not be reached for as long as there was patience
"""

import http.client
import json
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlsplit

UNDECIDED: Final = frozenset({"proposed", "in_review"})
LONGEST_WAIT_S: Final = 25
_MAX_ANSWER: Final = 1 << 20
_CALL_S: Final = 15.0
_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})


class GatewayError(Exception):
    """The gateway can't do what was asked."""


class AwayError(GatewayError):
    """The gateway can't be reached."""


class RefusedError(GatewayError):
    """The gateway refuses.

    Attributes:
        status: of HTTP.
        code: bounded, such as ``claimed``, ``expired`` or ``key_used``.
    """

    def __init__(self, status: int, code: str, text: str) -> None:
        super().__init__(f"{code}: {text}" if text else code)
        self.status = status
        self.code = code


@dataclass(frozen=True, kw_only=True, slots=True)
class Approval:
    """An approval as its agent sees it.

    Attributes:
        id: opaque.
        code: by which people know it.
        state: ``proposed``, ``in_review``, ``approved``, ``denied``, ``returned``, ``expired``, ``cancelled``,
            ``claimed``, ``executed``, ``failed`` or ``unknown``.
        version: of what would run; a claim names it.
        action: name of the tool.
        parameters: as they stand now: an operator may have changed them.
        changed: somebody other than the agent has replaced what it proposed.
        words: what people said with their latest decision.
    """

    id: str
    code: str
    state: str
    version: str
    action: str
    parameters: Mapping[str, Any] = field(repr=False)
    changed: bool = False
    words: str = field(default="", repr=False)

    @property
    def undecided(self) -> bool:
        """Whether people can still decide."""
        return self.state in UNDECIDED


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """A question as its agent sees it; open, confirming, answered, expired or cancelled."""

    id: str
    state: str
    answer: Mapping[str, Any] | None = field(default=None, repr=False)

    @property
    def pending(self) -> bool:
        """Whether it still takes an answer."""
        return self.state in ("open", "confirming")


class Gateway:
    """One gateway, with the key of one agent.

    Args:
        url: such as ``http://127.0.0.1:8090``; plain http on this machine alone.
        key: of the agent.
        patience_s: how long a call that fails in passing is tried again.

    Raises:
        ValueError: the address or the key can't be used. The text repeats neither.
    """

    def __init__(self, url: str, key: str, *, patience_s: float = 60.0) -> None:
        parts = urlsplit(url)
        local = parts.hostname in _LOOPBACK
        if not parts.hostname or parts.username or parts.query or parts.fragment:
            raise ValueError("the address of a gateway is like http://127.0.0.1:8090")
        if parts.scheme != "https" and not (local and parts.scheme == "http"):
            raise ValueError("a gateway on another machine is reached by https alone: the key goes along")
        if not (key and key.isascii() and key.isprintable() and " " not in key):
            raise ValueError("this is no key")
        self._url = url.rstrip("/")
        self._key = key
        self._patience_s = patience_s
        self._opener = urllib.request.build_opener(_NoRedirect(), urllib.request.ProxyHandler({}))

    def __repr__(self) -> str:
        return "Gateway(...)"

    # approvals

    def propose(
        self,
        action: str,
        parameters: Mapping[str, Any],
        *,
        key: str,
        system: str = "",
        reason: str = "",
        task: str = "",
        ttl_s: int | None = None,
        schema: Mapping[str, Any] | None = None,
        request: str | None = None,
        as_is: bool = False,
    ) -> Approval:
        """Propose an action, or find what was proposed with this key before.

        Raises:
            GatewayError: it can't be proposed.
        """
        body = {
            "action": action,
            "parameters": parameters,
            "key": key,
            "system": system,
            "reason": reason,
            "task": task,
        }
        more = {"ttl_s": ttl_s, "schema": schema, "request": request, "as_is": as_is or None}
        given = {name: value for name, value in {**body, **more}.items() if value not in (None, "")}
        return _approval(self._call("POST", "/v1/approvals", {**given, "parameters": parameters}))

    def approval(self, approval_id: str, *, wait_s: int = 0) -> Approval:
        """How it stands; waits until people have decided, at most as long.

        Raises:
            GatewayError: it can't be had.
        """
        return _approval(self._call("GET", f"/v1/approvals/{approval_id}", wait_s=wait_s))

    def claim(self, approval: Approval, *, claim_key: str) -> Approval:
        """Use it, once; what comes back is what may run.

        Raises:
            GatewayError: it can't be used (any more).
        """
        body = {"version": approval.version, "claim_key": claim_key}
        return _approval(self._call("POST", f"/v1/approvals/{approval.id}/claim", body))

    def outcome(self, approval: Approval, *, executed: bool | None, note: str = "") -> Approval:
        """Tell what came of it; None: nobody knows.

        Raises:
            GatewayError: it can't be told.
        """
        body = {"executed": executed, "note": note[:2_000]}
        return _approval(self._call("POST", f"/v1/approvals/{approval.id}/outcome", body))

    def cancel(self, approval: Approval) -> None:
        """Take it back.

        Raises:
            GatewayError: it is used, or over.
        """
        self._call("DELETE", f"/v1/approvals/{approval.id}")

    # questions

    def ask(
        self,
        question: str,
        schema: Mapping[str, Any],
        *,
        request: str,
        key: str,
        ttl_s: int | None = None,
        who: Mapping[str, Any] | None = None,
    ) -> Question:
        """Ask where a request was made on which the agent works, or find what was asked with this key before.

        Raises:
            GatewayError: it can't be asked.
        """
        body: dict[str, Any] = {"question": question, "schema": schema, "request": request, "key": key}
        more = {"ttl_s": ttl_s, "who": who}
        given = {**body, **{name: value for name, value in more.items() if value is not None}}
        return _question(self._call("POST", "/v1/questions", given))

    def question(self, question_id: str, *, wait_s: int = 0) -> Question:
        """How it stands; waits for its end, at most as long.

        Raises:
            GatewayError: it can't be had.
        """
        return _question(self._call("GET", f"/v1/questions/{question_id}", wait_s=wait_s))

    # HTTP

    def _call(self, method: str, path: str, body: object = None, *, wait_s: int = 0) -> Any:
        data = None if body is None else json.dumps(body, allow_nan=False).encode()
        until, pause_s = time.monotonic() + self._patience_s, 0.2
        while True:
            try:
                return self._once(method, path, data, wait_s)
            except _Passing as passing:
                pause_s = max(pause_s, passing.after_s)
                if time.monotonic() + pause_s > until:
                    raise AwayError("the gateway can't be reached") from None
            time.sleep(pause_s)
            pause_s = min(pause_s * 2, 5.0)

    def _once(self, method: str, path: str, data: bytes | None, wait_s: int) -> Any:
        wait_s = min(wait_s, LONGEST_WAIT_S)
        query = f"?wait={wait_s}s" if wait_s > 0 else ""
        request = urllib.request.Request(f"{self._url}{path}{query}", data=data, method=method)  # noqa: S310 - checked
        request.add_header("Authorization", f"Bearer {self._key}")
        if data is not None:
            request.add_header("Content-Type", "application/json")
        try:
            with self._opener.open(request, timeout=_CALL_S + wait_s) as answer:
                return _document(answer.read(_MAX_ANSWER))
        except urllib.error.HTTPError as error:
            with error:
                status, text = error.code, error.read(_MAX_ANSWER)
                if status == 429 or status >= 500:
                    raise _Passing(error.headers.get("Retry-After")) from None
        except (OSError, http.client.HTTPException):
            raise _Passing(None) from None
        document = _document(text)
        code, words = str(document.get("error", "refused")), str(document.get("message", ""))
        problems = document.get("problems") if isinstance(document.get("problems"), list) else []
        named = ", ".join(f"{one.get('path')} {one.get('code')}" for one in problems or () if isinstance(one, dict))
        raise RefusedError(status, code, f"{words} ({named})" if named else words)


class _Passing(Exception):  # noqa: N818 - never leaves this module
    """It may succeed later."""

    def __init__(self, retry_after: str | None) -> None:
        super().__init__()
        self.after_s = float(retry_after) if retry_after is not None and retry_after.isdecimal() else 0.0


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        """Nowhere: the key would go along."""


def _document(body: bytes) -> dict[str, Any]:
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        raise GatewayError("this is no gateway: its answer is not a JSON object")
    return document


def _approval(document: Mapping[str, Any]) -> Approval:
    """What stands in the answer.

    Raises:
        GatewayError: it is no approval.
    """
    try:
        decisions: Sequence[Mapping[str, Any]] = document.get("decisions", ())
        return Approval(
            id=str(document["id"]),
            code=str(document["code"]),
            state=str(document["state"]),
            version=str(document["version"]),
            action=str(document.get("action", "")),
            parameters=dict(document.get("parameters", {})),
            changed=any(one["by"] is not None for one in document.get("replaced", ())),
            words=str(decisions[-1]["words"]) if decisions else "",
        )
    except (KeyError, TypeError, ValueError):
        raise GatewayError("this is no gateway: its answer is no approval") from None


def _question(document: Mapping[str, Any]) -> Question:
    try:
        return Question(id=str(document["id"]), state=str(document["state"]), answer=document.get("answer"))
    except KeyError:
        raise GatewayError("this is no gateway: its answer is no question") from None
