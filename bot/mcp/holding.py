"""Holding calls of tools until the gateway lets them run: proposed, decided, claimed, and the outcome told (APPR-10).

    call -> proposed -> decided --claim--> leave: exactly these parameters, once --run--> the outcome is told
               |           |__ denied, returned, expired, taken back: nothing runs, and the client reads why
               |__ nobody has decided in time: the client is told; the same call made again goes on waiting

INVARIANT: nothing runs without a claim of this very call, and a claim is never used twice. What becomes of a claim
whose outcome can't be told is the gateway's matter: it is unknown, and blocks a repeat (APPR-6).
"""

import asyncio
import hashlib
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from bot.mcp.gateway import Gateway, GatewayError, path_of
from bot.observability.log import get_logger

log = get_logger(__name__)

SLICE_S: Final = 10.0
"""Seconds between two signs of life."""
PATIENCE_S: Final = 30.0
"""How long a gateway that can't be reached is called again where a call stands at stake."""
_PAUSE_S: Final = 0.5
_CLAIMS: Final = 5
_UNDECIDED: Final = frozenset({"proposed", "in_review"})
_OPEN: Final = frozenset({"proposed", "in_review", "returned", "approved"})
_MAX_WORDS: Final = 1_000

Tell = Callable[[], Awaitable[None]]
"""A sign of life to whoever waits."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Call:
    """What a client wants to run."""

    name: str
    arguments: Mapping[str, Any] = field(repr=False)

    @property
    def digest(self) -> str:
        """The same for the same call."""
        return hashlib.sha256(orjson.dumps([self.name, self.arguments], option=orjson.OPT_SORT_KEYS)).hexdigest()


@dataclass(frozen=True, kw_only=True, slots=True)
class Leave:
    """This call may run now, once.

    Attributes:
        approval: id.
        code: for people.
        call: exactly what may run.
        changed: people have changed it before they approved.
    """

    approval: str
    code: str
    call: Call
    changed: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Held:
    """This call does not run.

    Attributes:
        status: ``pending``, ``denied``, ``returned``, ``expired``, ``cancelled``, ``used``, ``unknown``, ``refused`` or
            ``unreachable``.
        text: for the client, which is a model.
        code: of the approval, for people.
    """

    status: str
    text: str = field(repr=False)
    code: str = ""


class Holding:
    """Asks the gateway about calls."""

    def __init__(self, gateway: Gateway, *, system: str, wait_s: float) -> None:
        """Make it.

        Args:
            gateway: called with the key of the agent.
            system: name of the server on which the calls act, as the policy's rules have it.
            wait_s: seconds after which a client is told that nobody has decided yet.
        """
        self._gateway = gateway
        self._system = system
        self._wait_s = wait_s
        self._session = uuid.uuid4().hex
        self._number = 0
        self._left: dict[str, str] = {}
        self._locks: dict[str, tuple[asyncio.Lock, int]] = {}

    @asynccontextmanager
    async def one_at_a_time(self, call: Call) -> AsyncIterator[None]:
        """Calls that are the same come one after another: of two under way nobody could tell the outcomes apart."""
        lock, users = self._locks.get(call.digest, (asyncio.Lock(), 0))
        self._locks[call.digest] = (lock, users + 1)
        try:
            async with lock:
                yield
        finally:
            lock, users = self._locks[call.digest]
            if users == 1:
                del self._locks[call.digest]
            else:
                self._locks[call.digest] = (lock, users - 1)

    async def ask(self, call: Call, tell: Tell) -> Leave | Held:
        """Ask whether a call may run; when it may, it is claimed.

        Raises:
            CancelledError: the client does not want it any more; what was proposed is taken back.
        """
        proposing = asyncio.ensure_future(self._proposed(call))
        try:
            document = await asyncio.shield(proposing)
        except GatewayError as error:
            return _refused(error)
        except asyncio.CancelledError:
            with suppress(GatewayError):
                await self._abandon((await proposing)["id"])
            raise
        try:
            document = await self._decided(document, tell)
            return await self._claimed(call, document)
        except GatewayError as error:
            return _refused(error)
        except asyncio.CancelledError:
            self._left.pop(call.digest, None)
            await asyncio.shield(self._abandon(document["id"]))
            raise

    async def told(self, leave: Leave, *, executed: bool | None, note: str) -> bool:
        """Tell the gateway what came of a call; False: it can't be told, and is unknown there."""
        path = path_of("approvals", leave.approval, "/outcome")
        try:
            await self._patiently(lambda: self._gateway.post(path, {"executed": executed, "note": note[:_MAX_WORDS]}))
        except GatewayError as error:
            log.error("outcome_not_told", code=error.code)
            return False
        return True

    async def take_back(self, approval: str) -> None:
        """Take a proposal back, if it is not used yet."""
        with suppress(GatewayError):
            await self._gateway.delete(path_of("approvals", approval))

    async def _abandon(self, approval: str) -> None:
        """The client does not want it any more; if it was claimed in this very moment, nothing has run."""
        try:
            await self._gateway.delete(path_of("approvals", approval))
        except GatewayError:
            with suppress(GatewayError):
                body = {"executed": False, "note": "the client cancelled it before it ran"}
                await self._gateway.post(path_of("approvals", approval, "/outcome"), body)

    async def close(self) -> None:
        """Nobody will come for what waits: people need not decide it."""
        left, self._left = list(self._left.values()), {}
        for approval in left:
            await self.take_back(approval)

    # steps

    async def _proposed(self, call: Call) -> dict[str, Any]:
        """The proposal of the same call that a client was told to come back for; else a new one."""
        before = self._left.pop(call.digest, None)
        if before is not None:
            return await self._patiently(lambda: self._gateway.get(path_of("approvals", before)))
        self._number += 1
        key = f"{self._session}:{self._number}"  # of ours: ids of a client may come again and mean another call
        body = {"action": call.name, "system": self._system, "parameters": dict(call.arguments)}
        return await self._patiently(lambda: self._gateway.post("/v1/approvals", body, key=key))

    async def _decided(self, document: dict[str, Any], tell: Tell) -> dict[str, Any]:
        """Wait until people have decided, or for as long as a client may be kept."""
        begun, path = time.monotonic(), path_of("approvals", document["id"])
        while document["state"] in _UNDECIDED:
            left_s = self._wait_s - (time.monotonic() - begun)
            if left_s <= 0:
                break
            await tell()
            try:
                document = await self._gateway.get(path, wait_s=min(SLICE_S, left_s))
            except GatewayError as error:
                if error.status not in (0, 429, 503):
                    raise
                await asyncio.sleep(min(_PAUSE_S, left_s))  # it is started anew; what was proposed is in its store
        return document

    async def _claimed(self, call: Call, document: dict[str, Any]) -> Leave | Held:
        path, key = path_of("approvals", document["id"]), uuid.uuid4().hex
        for _ in range(_CLAIMS):
            if document["state"] != "approved":
                return await self._held(call, document)
            body = {"version": document["version"], "claim_key": key}
            try:
                used = await self._patiently(lambda body=body: self._gateway.post(f"{path}/claim", body))  # type: ignore[misc]
            except GatewayError as error:
                if error.code != "version":
                    raise
                document = await self._patiently(lambda: self._gateway.get(path))
                continue
            run = Call(name=used["action"], arguments=used["parameters"])
            leave = Leave(approval=document["id"], code=document["code"], call=run, changed=run.digest != call.digest)
            if (run.name, used["system"]) != (call.name, self._system):  # an edit changes what a tool is given, no more
                await self.told(leave, executed=False, note="another tool than the one that was called")
                return Held(status="refused", text=_TOOL, code=document["code"])
            return leave
        return Held(status="refused", text="This call was not carried out: it keeps changing.", code=document["code"])

    async def _held(self, call: Call, document: Mapping[str, Any]) -> Held:
        state, code = document["state"], document["code"]
        if state in _UNDECIDED:
            self._left[call.digest] = document["id"]
            return Held(status="pending", text=_TEXTS["pending"].format(code=code), code=code)
        if state in _OPEN:  # returned: the agent will come with another call, and this one is not needed any more
            await self.take_back(document["id"])
        words = _words(document)
        text = _TEXTS.get(state, _TEXTS["used"]).format(code=code)
        said = f" They say: {words}" if words else ""
        return Held(status=state if state in _TEXTS else "used", text=f"{text}{said}", code=code)

    async def _patiently(self, call: Callable[[], Awaitable[dict[str, Any]]]) -> dict[str, Any]:
        """Make a call that can be made twice again, while nobody answers."""
        until = time.monotonic() + PATIENCE_S
        while True:
            try:
                return await call()
            except GatewayError as error:
                if error.status not in (0, 503) or time.monotonic() >= until:
                    raise
                await asyncio.sleep(_PAUSE_S)


_TEXTS: Final[Mapping[str, str]] = {
    "pending": (
        "This call has not been carried out yet: it waits for people ({code}). Go on with other work, and make exactly "
        "the same call again later to go on waiting. Another call would be another request."
    ),
    "denied": "This call was not carried out: it was denied ({code}). Don't do it in another way either.",
    "returned": "This call was not carried out: people want it changed ({code}). Make a new call as they want it.",
    "expired": "This call was not carried out: nobody decided in time ({code}). That is not a yes.",
    "cancelled": "This call was not carried out: it was taken back ({code}).",
    "unknown": (
        "This call is not repeated: nobody knows what became of it ({code}). An operator has to find out and say so."
    ),
    "used": "This call is not repeated: its approval was used already ({code}).",
}
_STATUS: Final[Mapping[str, str]] = {"expired": "expired", "claimed": "used", "not_approved": "denied"}
_TOOL: Final = "This call was not carried out: what was approved is another tool."


def _words(document: Mapping[str, Any]) -> str:
    """What people said to the decision."""
    said = [one["words"] for one in document["decisions"] if one["words"]]
    return " / ".join(said)[:_MAX_WORDS]


def _refused(error: GatewayError) -> Held:
    if error.code == "unreconciled":
        return Held(status="unknown", text=_TEXTS["unknown"].format(code="the same call"))
    status = _STATUS.get(error.code, "unreachable" if error.status in (0, 503) else "refused")
    fields = "; ".join(f"{one.get('path')} {one.get('code')}" for one in error.problems)
    more = f" [{fields}]" if fields else ""
    return Held(status=status, text=f"This call was not carried out: {error} ({error.code}).{more}")
