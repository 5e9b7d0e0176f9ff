"""The OpenAPI document of the whole interface, served at ``/v1/openapi.json`` without a key (AGENT-1)."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final

import orjson
from aiohttp import web

from bot.api.answering import MAX_KEY
from bot.api.site import Callers

PATH: Final = "/v1/openapi.json"

_JSON: Final = "application/json"
_WAIT: Final[Mapping[str, Any]] = {
    "name": "wait",
    "in": "query",
    "description": "How long to wait, such as 25s; at most 60 s.",
    "schema": {"type": "string", "pattern": "^[0-9]{1,6}(ms|s|m)?$"},
}
_SINCE: Final[Mapping[str, Any]] = {
    "name": "since",
    "in": "query",
    "description": "The revision that is known.",
    "schema": {"type": "string", "pattern": "^[0-9]{1,9}$"},
}
_ONCE: Final[Mapping[str, Any]] = {
    "name": "Idempotency-Key",
    "in": "header",
    "description": "The same call made again with it is the same.",
    "schema": {"type": "string", "minLength": 1, "maxLength": MAX_KEY, "pattern": "^[ -~]+$"},
}


class DescriptionApi:
    """The document, for whoever asks."""

    def add_to(self, router: web.UrlDispatcher, _callers: Callers) -> None:
        """See :class:`bot.api.site.ApiPart`."""
        router.add_get(PATH, self._give, allow_head=False)

    async def _give(self, _request: web.Request) -> web.StreamResponse:
        return web.Response(body=_written(), content_type=_JSON)


@cache
def _written() -> bytes:
    return orjson.dumps(document())


def document() -> dict[str, Any]:
    """The document."""
    from importlib.metadata import PackageNotFoundError, version

    from bot.api.loop_shapes import OF_LOOPS
    from bot.api.shapes import OF_A2H, OF_OURS

    try:
        number = version("discreet")
    except PackageNotFoundError:
        number = "0"
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Discreet",
            "version": number,
            "description": "Questions, approvals and deliveries for agents, and A2H 1.0.",
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "servers": [{"url": "/"}],
        "paths": {**_ours(), **_loops(), **_a2h()},
        "components": {
            "schemas": {**OF_OURS, **OF_LOOPS, **OF_A2H},
            "securitySchemes": {
                "key": {"type": "http", "scheme": "bearer", "description": "A key of discreet keys add."},
                "a2h": {"type": "apiKey", "in": "header", "name": "X-A2H-API-Key"},
            },
        },
    }


def _ours() -> dict[str, Any]:
    question, approval = "/v1/questions", "/v1/approvals"
    delivery, grant = "/v1/deliveries", "/v1/grants"
    dispatcher = "With the key of a dispatcher."
    return {
        PATH: {"get": _operation("describe", "This document.", {"200": {"type": "object"}}, key=False)},
        question: {
            "post": _operation("ask", "Ask people.", {"201": "QuestionHead", "200": "QuestionHead"}, "Asking", [_ONCE]),
            "get": _operation("listQuestions", "Your questions that still take an answer.", {"200": "Questions"}),
        },
        f"{question}/{{id}}": {
            "get": _operation("lookAtQuestion", "How it stands.", {"200": "Question"}, parameters=[_id(), _WAIT]),
            "delete": _operation("cancelQuestion", "Take it back.", {"200": "QuestionHead"}, parameters=[_id()]),
        },
        approval: {
            "post": _operation(
                "propose", "Propose an action.", {"201": "Approval", "200": "Approval"}, "Proposal", [_ONCE]
            ),
            "get": _operation("listApprovals", "Your approvals that are not closed.", {"200": "Approvals"}),
        },
        f"{approval}/{{id}}": {
            "get": _operation(
                "lookAtApproval", "How it stands.", {"200": "Approval"}, parameters=[_id(), _WAIT, _SINCE]
            ),
            "delete": _operation("cancelApproval", "Take it back.", {"200": "ApprovalHead"}, parameters=[_id()]),
        },
        **{
            f"{approval}/{{id}}/{verb}": {
                "post": _operation(verb, what, {"200": "Approval"}, shape, [_id()]),
            }
            for verb, what, shape in (
                ("revise", "Another action in its place.", "Revision"),
                ("claim", "Use it, once.", "Claim"),
                ("outcome", "What came of it.", "Outcome"),
            )
        },
        delivery: {
            "post": _operation(
                "deliver",
                "Have words go out unasked.",
                {"201": "Delivery", "200": "Delivery"},
                "Order",
                [_ONCE],
                muted=True,
            ),
            "get": _operation("listDeliveries", "Yours that are not closed.", {"200": "Deliveries"}),
        },
        f"{delivery}/{{id}}": {
            "get": _operation("lookAtDelivery", "How it stands.", {"200": "Delivery"}, parameters=[_id()]),
            "delete": _operation("cancelDelivery", "Take it back.", {"200": "Delivery"}, parameters=[_id()]),
        },
        grant: {
            "post": _operation(
                "grant", f"Make a grant. {dispatcher}", {"201": "Grant", "200": "Grant"}, "Wish", [_ONCE]
            ),
            "get": _operation("listGrants", f"Yours. {dispatcher}", {"200": "Grants"}),
        },
        f"{grant}/{{id}}": {
            "get": _operation("lookAtGrant", f"How it stands. {dispatcher}", {"200": "Grant"}, parameters=[_id()]),
            "delete": _operation("revokeGrant", f"Take it back. {dispatcher}", {"200": "Grant"}, parameters=[_id()]),
        },
    }


def _loops() -> dict[str, Any]:
    interaction, one = "/v1/interactions", "/v1/interactions/{id}"
    stands = {"200": "PlannedInteraction"}
    request = {"name": "request", "in": "query", "required": True, "schema": {"type": "string", "minLength": 1}}
    name = {**_id("name"), "description": "Of the command."}
    return {
        interaction: {
            "post": _operation(
                "begin", "Begin with a plan.", {"201": "PlannedInteraction", **stands}, "Beginning", [_ONCE]
            ),
            "get": _operation("listInteractions", "Yours that go on.", {"200": "PlannedInteractions"}),
        },
        one: {
            "get": _operation("lookAtInteraction", "How it stands.", stands, parameters=[_id()]),
            "delete": _operation("cancelInteraction", "End it.", stands, parameters=[_id()]),
        },
        f"{one}/clarifications": {
            "post": _operation("clarify", "Ask for one slot.", {"201": "Clarification"}, "Clarify", [_id(), _ONCE])
        },
        f"{one}/patches": {"post": _operation("patch", "Change one slot.", stands, "Patch", [_id()])},
        f"{one}/complete": {"post": _operation("complete", "It is done.", stands, parameters=[_id()])},
        "/v1/commands": {
            "get": _operation("listCommands", "What may be run.", {"200": "Commands"}, parameters=[request])
        },
        "/v1/commands/{name}": {
            "post": _operation("run", "Run a command.", {"200": "Ran"}, "Run", [name, _ONCE]),
        },
    }


def _a2h() -> dict[str, Any]:
    one = [_id("interaction_id")]
    return {
        "/.well-known/a2h": {
            "get": _operation("discover", "What A2H can do here.", {"200": "Capabilities"}, key=False)
        },
        "/.well-known/jwks.json": {
            "get": _operation("keys", "With which answers are signed.", {"200": "KeySet"}, key=False)
        },
        "/v1/nonce": {"get": _operation("nonce", "A nonce, used once.", {"200": "Nonce"}, a2h=True)},
        "/v1/intent": {
            "post": _operation(
                "intent",
                "Inform, collect, authorize, escalate, result.",
                {"200": "Interaction"},
                "A2HMessage",
                a2h=True,
            )
        },
        "/v1/status/{interaction_id}": {
            "get": _operation("status", "How it stands.", {"200": "Interaction"}, parameters=one, a2h=True)
        },
        "/v1/cancel/{interaction_id}": {
            "post": _operation("cancel", "Take it back.", {"200": "Cancelled"}, parameters=one, a2h=True)
        },
    }


def _id(name: str = "id") -> dict[str, Any]:
    return {"name": name, "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}}


def _operation(
    name: str,
    what: str,
    answers: Mapping[str, Any],
    body: str | None = None,
    parameters: Sequence[Mapping[str, Any]] | None = None,
    *,
    key: bool = True,
    a2h: bool = False,
    muted: bool = False,
) -> dict[str, Any]:
    """One call: what it takes, what it answers, and how it is refused."""
    error = "A2HError" if a2h else "Error"
    refusals = {"401": error, "403": error, "429": error} if key else {}
    if parameters is not None and any(one["in"] == "path" for one in parameters):
        refusals |= {"404": error, "409": error}
    if body is not None or parameters:
        refusals |= {"400": error}
    if body is not None:
        refusals |= {"409": error, "413": error, "422": error}
    responses = {
        **{status: _answer(shape) for status, shape in answers.items()},
        **{status: _answer(shape) for status, shape in sorted(refusals.items())},
        "503": _answer(error),
    }
    if muted:
        responses["403"] = _answer({"anyOf": [_ref("Muted"), _ref("Error")]})
    operation: dict[str, Any] = {"operationId": name, "summary": what, "responses": responses}
    operation["security"] = ([{"a2h": []}, {"key": []}] if a2h else [{"key": []}]) if key else []
    if parameters:
        operation["parameters"] = [dict(one) for one in parameters]
    if body is not None:
        operation["requestBody"] = {"required": True, "content": {_JSON: {"schema": _ref(body)}}}
    return operation


def _answer(shape: Any) -> dict[str, Any]:
    schema = _ref(shape) if isinstance(shape, str) else shape
    return {"description": shape if isinstance(shape, str) else "Done.", "content": {_JSON: {"schema": schema}}}


def _ref(name: str) -> dict[str, Any]:
    return {"$ref": f"#/components/schemas/{name}"}
