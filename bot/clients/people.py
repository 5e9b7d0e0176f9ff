"""Whom an agent asks: actions become approvals, used once; questions become questions. No framework is known here.

    put -> stands at the gateway --look until it is decided--> use: claimed, or why not --the action--> tell

INVARIANT: nothing but an approval that is claimed lets an action run. What was claimed by a process that died is not
claimed again (APPR-6): :class:`UnclearError` until somebody has reconciled it.

GatewayError
├── UnclearError        an action may have run already
└── UnanswerableError   there is no way to say what was decided, or nothing is known of what was asked
"""

import hashlib
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from bot.clients.gateway import Approval, Gateway, GatewayError, Question, RefusedError

NOBODY: Final = "Nobody decided about this in time. It was not carried out, and nobody has refused it either."
TAKEN_BACK: Final = "This was taken back before anybody decided. It was not carried out."
DENIED: Final = "This was denied. It was not carried out; don't try it again."
RETURNED: Final = "This was sent back for changes. It was not carried out."
LATE: Final = "This was approved, and the approval could not be used any more. It was not carried out."
UNRECONCILED: Final = "Nobody knows yet what became of the same action earlier. It was not carried out again."
ALREADY: Final = "This was carried out already. It was not carried out again."
FAILED: Final = "This was tried, and it failed."
MAX_REASON: Final = 4_000
_TRIES: Final = 3
_TEXT: Final = {
    "type": "object",
    "properties": {"answer": {"type": "string", "title": "Answer", "minLength": 1, "maxLength": 4_000}},
    "required": ["answer"],
}


class UnclearError(GatewayError):
    """An earlier process may have carried this out; the gateway's operators reconcile it (``code``)."""

    def __init__(self, code: str) -> None:
        super().__init__(
            f"{code} was claimed before, and nobody knows what came of it: discreet approvals reconcile {code}"
        )
        self.code = code


class UnanswerableError(GatewayError):
    """There is no way to answer this interrupt."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Settled:
    """What was decided about one action: ``kind`` is ``approve``, ``edit`` or ``reject``; ``args`` are to run."""

    kind: str
    args: Mapping[str, Any] = field(default_factory=dict, repr=False)
    message: str = field(default="", repr=False)
    said: bool = False
    """The message holds words of a person."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Call:
    """An action that waits for people.

    Attributes:
        name: of the tool.
        args: exactly what would run.
        allowed: decisions that the interrupt takes: ``approve``, ``edit``, ``reject``, ``respond``, ``ignore``.
        reason: the graph's words.
        schema: of the arguments, where it is known.
        tool_call: id of the model's call, where it is known: its result tells the outcome.
    """

    name: str
    args: Mapping[str, Any] = field(repr=False)
    allowed: frozenset[str]
    reason: str = field(default="", repr=False)
    schema: Mapping[str, Any] | None = field(default=None, repr=False)
    tool_call: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """A question that waits for people; ``whole``: its answer is the document, not one text."""

    text: str = field(repr=False)
    schema: Mapping[str, Any] = field(default_factory=lambda: _TEXT, repr=False)
    whole: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Standing:
    """One item, and how it stands at the gateway; ``settled`` without either: it was never put there."""

    item: Call | Asked
    approval: Approval | None = None
    question: Question | None = None
    settled: Settled | None = None

    @property
    def open(self) -> bool:
        """Whether it waits for people."""
        if self.approval is not None:
            return self.approval.undecided
        return self.question is not None and self.question.pending


@dataclass(frozen=True, kw_only=True, slots=True)
class Used:
    """An approval that was claimed for a call."""

    approval: Approval
    call: Call


@dataclass(frozen=True, kw_only=True, slots=True)
class People:
    """Whom an agent asks.

    Attributes:
        gateway: through which.
        system: on which its actions act, for the policy's rules and the cards.
        request: id of the gateway's request on which the agent works; questions need one.
        ttl_s: seconds until an approval expires; None: as the policy says.
        task: what people read beside each action.
    """

    gateway: Gateway
    system: str = ""
    request: str | None = None
    ttl_s: int | None = None
    task: str = ""

    def put(self, item: Call | Asked, *names: str) -> Standing:
        """Put it to people; what was put under these names before is the same.

        Raises:
            GatewayError: it can't be.
        """
        named = "\0".join(names).encode("utf-8", "surrogatepass")
        key = f"client:{hashlib.sha256(named).hexdigest()}"
        return self._propose(item, key) if isinstance(item, Call) else self._ask(item, key)

    def _propose(self, call: Call, key: str) -> Standing:
        try:
            approval = self.gateway.propose(
                call.name,
                call.args,
                key=key,
                system=self.system,
                reason=call.reason[:MAX_REASON],
                task=self.task,
                ttl_s=self.ttl_s,
                schema=call.schema,
                request=self.request,
                as_is="edit" not in call.allowed,
            )
        except RefusedError as error:
            if error.code != "unreconciled":
                raise
            return Standing(item=call, settled=Settled(kind="reject", message=UNRECONCILED))
        return Standing(item=call, approval=approval)

    def _ask(self, asked: Asked, key: str) -> Standing:
        if self.request is None:
            raise UnanswerableError("a question goes where a request was made: give People the request it belongs to")
        question = self.gateway.ask(asked.text, asked.schema, request=self.request, key=key, ttl_s=self.ttl_s)
        return Standing(item=asked, question=self.gateway.question(question.id))

    def look(self, one: Standing, wait_s: int = 0) -> Standing:
        """How it stands; waits for people, at most as long.

        Raises:
            GatewayError: it can't be had.
        """
        if one.approval is not None:
            return replace(one, approval=self.gateway.approval(one.approval.id, wait_s=wait_s))
        if one.question is not None:
            return replace(one, question=self.gateway.question(one.question.id, wait_s=wait_s))
        return one

    def use(self, one: Standing) -> tuple[Any, Used | None]:
        """What was decided: :class:`Settled` for an action, whose approval is claimed; the answer to a question.

        Raises:
            GatewayError: it is unclear, or can't be said.
        """
        if isinstance(one.item, Asked):
            return _answer(one.item, one.question), None
        settled, used = one.settled, None
        if settled is None and one.approval is not None:
            settled, used = self._claim(one.item, one.approval)
        if settled is None or (settled.kind == "reject" and not _can_refuse(one.item)):
            raise UnanswerableError(f"{one.item.name}: there is no way to say that it was not approved")
        return settled, used

    def _claim(self, call: Call, approval: Approval) -> tuple[Settled, Used | None]:
        claim_key = uuid.uuid4().hex  # nobody can claim again what was claimed: no other run, and none after a crash
        for _ in range(_TRIES):
            if approval.state != "approved":
                return _refused(approval), None
            changed = approval.action != call.name or dict(approval.parameters) != dict(call.args)
            if changed and ("edit" not in call.allowed or approval.action != call.name):
                self.gateway.cancel(approval)
                words = f"Other values would be approved: {dict(approval.parameters)}. It was not carried out."
                return Settled(kind="reject", message=words, said=True), None
            try:
                claimed = self.gateway.claim(approval, claim_key=claim_key)
            except RefusedError as error:
                if error.code == "claimed":
                    raise UnclearError(approval.code) from None
                if error.code == "version":
                    approval = self.gateway.approval(approval.id)
                    continue
                return Settled(kind="reject", message=UNRECONCILED if error.code == "unreconciled" else LATE), None
            kind = "edit" if changed else "approve"
            return Settled(kind=kind, args=claimed.parameters), Used(approval=claimed, call=call)
        return Settled(kind="reject", message=LATE), None

    def tell(self, used: Iterable[Used], *, executed: bool | None, note: str = "") -> None:
        """Tell what came of actions; None: nobody knows. One that can't be told is taken for unknown by the gateway."""
        for one in used:
            try:
                self.gateway.outcome(one.approval, executed=executed, note=note)
            except GatewayError:
                continue


def _can_refuse(item: Call) -> bool:
    return bool(item.allowed & {"reject", "respond", "ignore"})


def _refused(approval: Approval) -> Settled:
    """Why an approval that is not approved lets nothing run."""
    match approval.state:
        case "claimed" | "unknown":
            raise UnclearError(approval.code)
        case "denied":
            text, said = DENIED, bool(approval.words)
        case "returned":
            text, said = RETURNED, bool(approval.words)
        case "expired":
            text, said = NOBODY, False
        case "executed":
            text, said = ALREADY, False
        case "failed":
            text, said = FAILED, False
        case _:
            text, said = TAKEN_BACK, False
    return Settled(kind="reject", message=f"{text} {approval.words}".strip() if said else text, said=said)


def _answer(asked: Asked, question: Question | None) -> Any:
    if question is None or question.answer is None:
        if asked.whole:
            return None
        return NOBODY
    return dict(question.answer) if asked.whole else str(question.answer.get("answer", ""))
