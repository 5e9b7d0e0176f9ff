"""What each tool does: one or two calls of ``/v1/``, and a bounded wait for people (AGENT-2).

The id that an agent gets says in which room the thing is, so nothing is remembered here: any process with the agent's
key can go on asking, also after this one, or the gateway, was started anew.
"""

import asyncio
import re
import time
import uuid
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final

from bot.mcp.catalogue import BY_NAME, WAIT_S
from bot.mcp.gateway import Gateway, GatewayError, path_of
from forms.components import ComponentError, schema_of

SLICE_S: Final = 10.0
"""Seconds between two signs of life while people are waited for."""
_PAUSE_S: Final = 1.0
_ID: Final = re.compile(r"(question|approval|delivery)-([A-Za-z0-9]{1,64})")
_ROOMS: Final[Mapping[str, str]] = {"question": "questions", "approval": "approvals", "delivery": "deliveries"}
_ANSWER: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {"answer": {"type": "string", "minLength": 1, "maxLength": 4000}},
    "required": ["answer"],
}
_TAKEN_OVER: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {"taken_over": {"type": "boolean"}, "note": {"type": "string", "maxLength": 2000}},
    "required": ["taken_over"],
}
_LOOK_LATER: Final = "Nobody has answered yet. Go on with other work and call get_answer with this id later."
_OUTCOMES: Final[Mapping[str, bool | None]] = {"success": True, "failure": False, "unknown": None}
_UNDECIDED: Final = frozenset({"proposed", "in_review"})


class ArgumentsError(ValueError):
    """Arguments that a tool does not take; the text names what is wrong."""


Tell = Callable[[float, str], Awaitable[None]]
"""Is told while people are waited for: seconds so far, and a sentence."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Told:
    """What a tool answers; ``failed``: it could not be done."""

    document: Mapping[str, Any] = field(repr=False)
    failed: bool = False


class Tools:
    """The tools of one agent."""

    def __init__(self, gateway: Gateway) -> None:
        """Args: gateway: called with the key of the agent."""
        self._gateway = gateway
        self._done: Mapping[str, Callable[[Mapping[str, Any], Tell], Awaitable[Mapping[str, Any]]]] = {
            "ask_human": self._ask,
            "human_collect": self._collect,
            "human_escalate": self._escalate,
            "request_approval": self._propose,
            "human_authorize": self._authorize,
            "use_approval": self._use,
            "get_answer": self._look,
            "take_back": self._take_back,
            "human_inform": self._inform,
            "human_send_result": self._tell_result,
            "list_commands": self._list_commands,
            "run_command": self._run_command,
        }

    async def has_commands(self) -> bool:
        """Whether this gateway offers commands: it says so by missing the request in whose run they would be run."""
        try:
            await self._gateway.get("/v1/commands")
        except GatewayError as error:
            return error.code == "no_request"
        return False

    async def call(self, name: str, arguments: Mapping[str, Any], tell: Tell) -> Told | None:
        """Do what a tool does; None: there is no such tool."""
        tool = self._done.get(name)
        if tool is None:
            return None
        try:
            check(name, arguments)
            return Told(document=await tool(arguments, tell))
        except GatewayError as error:
            return Told(document={"error": error.code, "message": str(error), **_problems(error)}, failed=True)
        except (ArgumentsError, ComponentError) as error:
            return Told(document={"error": "invalid", "message": str(error)}, failed=True)

    # questions

    async def _ask(self, given: Mapping[str, Any], tell: Tell) -> Mapping[str, Any]:
        body: dict[str, Any] = {"question": given["question"], "schema": given.get("schema", _ANSWER)}
        body |= _some(given, request="request", important="important", expires_in_s="ttl_s")
        who = given.get("who")
        if who is not None:
            body["who"] = {"kind": "people", "people": who} if isinstance(who, list) else {"kind": who}
        return await self._put_question(body, given, tell)

    async def _collect(self, given: Mapping[str, Any], tell: Tell) -> Mapping[str, Any]:
        body = {"question": given["message"], "schema": schema_of(given["components"])}
        body |= _some(given, request="request", ttl_sec="ttl_s")
        if "principal_id" in given:
            body["who"] = {"kind": "people", "people": [given["principal_id"]]}
        return await self._put_question(body, given, tell)

    async def _escalate(self, given: Mapping[str, Any], tell: Tell) -> Mapping[str, Any]:
        targets = given.get("targets")
        who = {"kind": "people", "people": targets} if targets else {"kind": "operators"}
        body = {"question": given["message"], "schema": _TAKEN_OVER, "who": who}
        body |= _some(given, request="request", ttl_sec="ttl_s")
        return await self._put_question(body, given, tell)

    async def _put_question(self, body: Mapping[str, Any], given: Mapping[str, Any], tell: Tell) -> Mapping[str, Any]:
        asked = await self._gateway.post("/v1/questions", body, key=_key(given))
        path = path_of("questions", asked["id"])
        asked = await self._gateway.get(path)  # it may have been answered before, under the same key
        return _question(await self._until(path, asked, _question_over, given.get("wait_s", WAIT_S), tell))

    # approvals

    async def _propose(self, given: Mapping[str, Any], tell: Tell) -> Mapping[str, Any]:
        body = _some(
            given,
            action="action",
            parameters="parameters",
            system="system",
            reason="reason",
            task="task",
            gates="gates",
            target="target",
            schema="schema",
            request="request",
            expires_in_s="ttl_s",
        )
        return await self._put_proposal(body, given, tell)

    async def _authorize(self, given: Mapping[str, Any], tell: Tell) -> Mapping[str, Any]:
        body = {"action": given.get("action", "authorize"), "parameters": given["params"], "reason": given["message"]}
        body |= _some(given, request="request", ttl_sec="ttl_s")
        return await self._put_proposal(body, given, tell)

    async def _put_proposal(self, body: dict[str, Any], given: Mapping[str, Any], tell: Tell) -> Mapping[str, Any]:
        if given.get("assurance") == "HIGH":
            body["assurance"] = "high"
        proposed = await self._gateway.post("/v1/approvals", body, key=_key(given))
        path = path_of("approvals", proposed["id"])
        return _approval(await self._until(path, proposed, _decided, given.get("wait_s", WAIT_S), tell))

    async def _use(self, given: Mapping[str, Any], _tell: Tell) -> Mapping[str, Any]:
        """A key of its own for each call: who calls twice does not get leave to act twice (APPR-5)."""
        path = path_of("approvals", _of("approval", given["id"]), "/claim")
        body = {"version": given["version"], "claim_key": uuid.uuid4().hex}
        used = await self._gateway.post(path, {**body, **_some(given, target_present="target_present")})
        return {
            "status": "use_it_now",
            "id": given["id"],
            "action": used["action"],
            "system": used["system"],
            "parameters": used["parameters"],
            "message": "Run exactly this, once, and tell what came of it with human_send_result.",
        }

    async def _tell_result(self, given: Mapping[str, Any], _tell: Tell) -> Mapping[str, Any]:
        path = path_of("approvals", _of("approval", given["responds_to"]), "/outcome")
        body = {"executed": _OUTCOMES[given["status"]], **_some(given, note="note")}
        return _approval(await self._gateway.post(path, body))

    # whatever there is

    async def _look(self, given: Mapping[str, Any], tell: Tell) -> Mapping[str, Any]:
        room, one = _room_of(given["id"])
        path, wait_s = path_of(_ROOMS[room], one), given.get("wait_s", WAIT_S)
        document = await self._gateway.get(path)
        if room == "question":
            return _question(await self._until(path, document, _question_over, wait_s, tell))
        if room == "approval":
            return _approval(await self._until(path, document, _decided, wait_s, tell))
        return _delivery(document)

    async def _take_back(self, given: Mapping[str, Any], _tell: Tell) -> Mapping[str, Any]:
        room, one = _room_of(given["id"])
        document = await self._gateway.delete(path_of(_ROOMS[room], one))
        return {"status": document["state"], "id": given["id"]}

    # deliveries

    async def _inform(self, given: Mapping[str, Any], _tell: Tell) -> Mapping[str, Any]:
        body = {"destination": given["destination"], "text": given["message"]}
        return _delivery(await self._gateway.post("/v1/deliveries", body, key=_key(given)))

    # commands

    async def _list_commands(self, given: Mapping[str, Any], _tell: Tell) -> Mapping[str, Any]:
        from urllib.parse import quote

        return await self._gateway.get(f"/v1/commands?request={quote(given['request'], safe='')}")

    async def _run_command(self, given: Mapping[str, Any], _tell: Tell) -> Mapping[str, Any]:
        body = _some(given, request="request", object="object", text="text")
        return await self._gateway.post(path_of("commands", given["name"]), body, key=given.get("key"))

    # waiting

    async def _until(
        self,
        path: str,
        document: dict[str, Any],
        over: Callable[[Mapping[str, Any]], bool],
        wait_s: float,
        tell: Tell,
    ) -> dict[str, Any]:
        """Wait until something is over, for at most ``wait_s`` seconds; a gateway that starts anew is waited for."""
        begun = time.monotonic()
        while not over(document):
            waited_s = time.monotonic() - begun
            if waited_s >= wait_s:
                break
            await tell(waited_s, "waiting for a person")
            left_s = wait_s - waited_s
            try:
                document = await self._gateway.get(path, wait_s=min(SLICE_S, left_s))
            except GatewayError as error:
                if error.status not in (0, 429, 503):
                    raise
                await asyncio.sleep(min(_PAUSE_S, left_s))
        return document


# documents as agents get them


def _question(document: Mapping[str, Any]) -> dict[str, Any]:
    one = f"question-{document['id']}"
    if not _question_over(document):
        pending = {"status": "pending", "id": one, "expires_at": document["expires_at"], "message": _LOOK_LATER}
        return pending if not document.get("errors") else {**pending, "refused_so_far": document["errors"]}
    said = {key: document.get(key) for key in ("answer", "answered_by", "way", "at")}
    return {"status": document["state"], "id": one, **(said if document["state"] == "answered" else {})}


def _approval(document: Mapping[str, Any]) -> dict[str, Any]:
    state, one = document["state"], f"approval-{document['id']}"
    if state in _UNDECIDED:
        head = {"status": "pending", "id": one, "code": document["code"], "expires_at": document["expires_at"]}
        return {**head, "message": _LOOK_LATER}
    answer = {
        "status": state,
        "id": one,
        "code": document["code"],
        "version": document["version"],
        "decisions": document["decisions"],
    }
    if state == "approved":
        by_people = any(one["by"] is not None for one in document["replaced"])
        answer |= {"decision": "APPROVE", "parameters": document["parameters"], "changed_by_people": by_people}
        answer["message"] = "Approved, not used yet: call use_approval with id and version right before you act."
    elif state == "denied":
        answer |= {"decision": "DECLINE", "message": "Don't do it, and not in another way either."}
    elif state == "returned":
        answer["message"] = "Not approved: people want it changed. Read what they say and propose it anew."
    elif document["note"]:
        answer["note"] = document["note"]
    return answer


def _delivery(document: Mapping[str, Any]) -> dict[str, Any]:
    kept = {key: document[key] for key in ("destination", "code", "next_at", "receipts") if document.get(key)}
    return {"status": document["state"], "id": f"delivery-{document['id']}", **kept}


def _question_over(document: Mapping[str, Any]) -> bool:
    return document["state"] not in ("open", "confirming")


def _decided(document: Mapping[str, Any]) -> bool:
    return document["state"] not in _UNDECIDED


def _problems(error: GatewayError) -> dict[str, Any]:
    return {"problems": list(error.problems)} if error.problems else {}


# arguments


def check(name: str, arguments: Mapping[str, Any]) -> None:
    """Look at the shape of what was given to a tool.

    Raises:
        ArgumentsError: it does not fit; the first thing that is wrong is named.
    """
    wrong = next(
        iter(sorted(_validator(name).iter_errors(dict(arguments)), key=lambda one: list(map(str, one.path)))), None
    )
    if wrong is not None:
        path = "/".join(map(str, wrong.absolute_path))
        raise ArgumentsError(f"{path or 'arguments'}: {wrong.message[:300]}")


@cache
def _validator(name: str) -> Any:
    from jsonschema import Draft202012Validator

    return Draft202012Validator(BY_NAME[name].schema)


def _some(given: Mapping[str, Any], **names: str) -> dict[str, Any]:
    """Those of the named arguments that were given, under the names of the interface."""
    return {ours: given[theirs] for theirs, ours in names.items() if given.get(theirs) is not None}


def _key(given: Mapping[str, Any]) -> str:
    """Without a key of the agent's own each call is another one."""
    key = given.get("key")
    return key if isinstance(key, str) and key else uuid.uuid4().hex


def _room_of(written: str) -> tuple[str, str]:
    found = _ID.fullmatch(written)
    if found is None:
        raise GatewayError(404, {"error": "unknown", "message": "there is no such thing of yours; ids are kept whole"})
    return found[1], found[2]


def _of(room: str, written: str) -> str:
    found, one = _room_of(written)
    if found != room:
        raise GatewayError(404, {"error": "unknown", "message": f"this is the id of a {found}, not of an {room}"})
    return one
