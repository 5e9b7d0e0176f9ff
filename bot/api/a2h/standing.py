"""How an interaction stands (AGENT-1): what its question, approval or delivery says, in the words of A2H.

An answer is signed and kept when it is told first, and does not change any more. An APPROVE is told when the approval
is claimed, and not before: told is used (APPR-5). What a person sends back for changes was not approved.
"""

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final, Protocol

from bot.api.a2h import translating as to
from bot.api.a2h.refusing import CONFLICT, DELIVERY, EXPIRED
from bot.deliveries.schedule import Schedule
from bot.model.approval import ApprovalState
from bot.model.callback import Callback, CallbackState
from bot.model.errors import ProposalError
from bot.model.intent import Intent, IntentType
from bot.observability.log import get_logger
from bot.ports.approvals import Approvals
from bot.ports.intents import IntentStore
from bot.questions.room import QuestionRoom

log = get_logger(__name__)

KIND: Final = "a2h"
"""Of callbacks, and of keys in the rooms."""
UNUSABLE: Final = "it was approved, and can't be used any more"
_INEXACT: Final = 2**53
_WORDS: Final[Mapping[str, str]] = {
    EXPIRED: "it expired before anybody answered",
    DELIVERY: "it could not be brought to the person",
    CONFLICT: "it was taken back",
}


class Signs(Protocol):
    """Signs messages (see :class:`bot.api.a2h.signing.Signer`)."""

    def sign(self, message: Mapping[str, Any]) -> str:
        """A detached JWS."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Standing:
    """An interaction as it stands: its state, and when that came about."""

    interaction: Intent
    state: str
    at: datetime


class Standings:
    """Looks at interactions."""

    def __init__(
        self,
        *,
        store: IntentStore,
        questions: QuestionRoom,
        approvals: Approvals,
        schedule: Schedule,
        signer: Signs,
        clock: Callable[[], datetime],
    ) -> None:
        """Args: as of :class:`bot.api.a2h.desk.IntentDesk`."""
        self._store = store
        self._questions = questions
        self._approvals = approvals
        self._schedule = schedule
        self._signer = signer
        self._clock = clock

    async def look(self, interaction: Intent, *, use: bool = True) -> Standing:
        """How it stands.

        Args:
            interaction: as it was read.
            use: it is told to the agent: what was approved is used by that.
        """
        if interaction.answer is not None:
            return _stored(interaction)
        state, at, message = await self._state(interaction, use=use)
        if state not in to.ENDS and message is None:
            return Standing(interaction=interaction, state=state, at=at)
        if state == to.ANSWERED and message is None:  # approved, and not to be used yet
            return Standing(interaction=interaction, state=to.WAITING, at=at)
        return await self._keep(interaction, state, at, message)

    async def _state(self, interaction: Intent, *, use: bool) -> tuple[str, datetime, dict[str, Any] | None]:
        """State, since when, and what is to be told for good; an empty message: nothing more comes of it."""
        if interaction.subject is None:
            return to.PENDING, interaction.made_at, None
        if interaction.type is IntentType.COLLECT:
            return await self._question_state(interaction, interaction.subject)
        if interaction.type.answered:
            return await self._approval_state(interaction, interaction.subject, use=use)
        return await self._delivery_state(interaction, interaction.subject)

    async def _question_state(self, interaction: Intent, subject: str) -> tuple[str, datetime, dict[str, Any] | None]:
        question = await self._questions.look(subject)
        if question is None:
            return self.failed(interaction, to.FAILED, DELIVERY, self._clock())
        state = to.question_state(question, await self._questions.receipts(subject))
        at = question.closed_at or question.asked_at
        if state == to.ANSWERED:
            concluded = self._questions.conclusion(question)
            platform = (question.answered_by or "").partition(":")[0]
            factor = to.factor_of(platform) if platform in to.PLATFORMS else to.LINK
            proof = {
                "decided_at": at.isoformat(),
                "person": concluded.answered_by,
                "way": None if concluded.way is None else concluded.way.value,
            }
            data = {name: _exact(value) for name, value in (question.answer or {}).items()}
            return state, at, self._response(interaction, at, data=data, evidence={"factor": factor, "proof": proof})
        return self._unanswered(interaction, state, at)

    async def _approval_state(
        self, interaction: Intent, subject: str, *, use: bool
    ) -> tuple[str, datetime, dict[str, Any] | None]:
        approval = await self._approvals.look(subject)
        if approval is None:
            return self.failed(interaction, to.FAILED, DELIVERY, self._clock())
        if approval.state is ApprovalState.APPROVED:
            if not use:
                return to.ANSWERED, approval.decided_at or approval.proposed_at, None
            try:
                approval = await self._approvals.claim(
                    subject, version=approval.version, key=f"{KIND}:{interaction.id}", target_present=None
                )
            except ProposalError as error:
                log.info("authorization_not_usable", code=error.code)
                approval = await self._approvals.look(subject) or approval
                if approval.state is ApprovalState.APPROVED:
                    return self.failed(interaction, to.FAILED, CONFLICT, self._clock(), words=UNUSABLE)
        if use and interaction.type is IntentType.ESCALATE and approval.state is ApprovalState.CLAIMED:
            approval = await self._approvals.outcome(subject, executed=True, note="")  # somebody has taken over
        state = to.approval_state(approval, await self._approvals.receipts(subject))
        at = approval.decided_at or approval.closed_at or approval.proposed_at
        if state == to.ANSWERED:
            said, decision = to.decision_of(approval)
            evidence = (
                {"factor": to.BY_POLICY, "proof": {"rule": approval.rule}}
                if decision is None
                else to.evidence_of(decision)
            )
            data: dict[str, Any] = {"words": decision.words} if decision is not None and decision.words else {}
            if approval.state is ApprovalState.RETURNED:
                await self._take_back(subject)  # over A2H nothing is revised
            return state, at, self._response(interaction, at, decision=said, data=data, evidence=evidence)
        return self._unanswered(interaction, state, at)

    async def _take_back(self, subject: str) -> None:
        try:
            await self._approvals.cancel(subject)
        except ProposalError as error:
            log.info("authorization_not_taken_back", code=error.code)

    async def _delivery_state(self, interaction: Intent, subject: str) -> tuple[str, datetime, dict[str, Any] | None]:
        delivery = await self._schedule.look(subject)
        if delivery is None:
            return self.failed(interaction, to.FAILED, DELIVERY, self._clock())
        state, at = to.delivery_state(delivery), delivery.closed_at or delivery.made_at
        if state == to.SENT and delivery.state.closed:
            return state, at, {}
        return self._unanswered(interaction, state, at)

    def _unanswered(self, interaction: Intent, state: str, at: datetime) -> tuple[str, datetime, dict[str, Any] | None]:
        if state == to.FAILED and interaction.attempt + 1 < len(interaction.routes):
            return to.PENDING, at, None  # another way is tried
        codes = {to.EXPIRED: EXPIRED, to.CANCELLED: CONFLICT, to.FAILED: DELIVERY}
        return self.failed(interaction, state, codes[state], at) if state in codes else (state, at, None)

    def failed(
        self, interaction: Intent, state: str, code: str, at: datetime, *, words: str = ""
    ) -> tuple[str, datetime, dict[str, Any]]:
        """An end without an answer."""
        return (
            state,
            at,
            {
                "type": "ERROR",
                "responds_to": interaction.message,
                "interaction_id": public_id(interaction),
                "error": {"code": code, "message": words or _WORDS[code], "timestamp": at.isoformat()},
                "timestamp": at.isoformat(),
            },
        )

    def _response(
        self,
        interaction: Intent,
        at: datetime,
        *,
        data: Mapping[str, Any],
        evidence: Mapping[str, Any],
        decision: str | None = None,
    ) -> dict[str, Any]:
        return {
            "type": "RESPONSE",
            "a2h_version": "1.0",
            "responds_to": interaction.message,
            "interaction_id": public_id(interaction),
            "agent_id": interaction.sent.get("agent_id", interaction.agent),
            "principal_id": interaction.sent.get("principal_id", interaction.principal),
            "status": to.ANSWERED,
            **({} if decision is None else {"decision": decision}),
            "decided_at": at.isoformat(),
            "data": dict(data),
            "evidence": dict(evidence),
        }

    async def has_failed(self, interaction: Intent) -> bool:
        """Whether the way that was tried did not lead to the person."""
        subject = interaction.subject or ""
        if interaction.type is IntentType.COLLECT:
            question = await self._questions.look(subject)
            return (
                question is not None
                and to.question_state(question, await self._questions.receipts(subject)) == to.FAILED
            )
        if interaction.type.answered:
            approval = await self._approvals.look(subject)
            return (
                approval is not None
                and to.approval_state(approval, await self._approvals.receipts(subject)) == to.FAILED
            )
        delivery = await self._schedule.look(subject)
        return delivery is not None and to.delivery_state(delivery) == to.FAILED

    async def give_up(self, interaction: Intent) -> None:
        """No way leads to the person."""
        state, at, message = self.failed(interaction, to.FAILED, DELIVERY, self._clock())
        await self._keep(interaction, state, at, message)

    async def _keep(self, interaction: Intent, state: str, at: datetime, message: Mapping[str, Any] | None) -> Standing:
        signed = {**message, "signature": self._signer.sign(message)} if message else message
        answer = {"state": state, "at": at.isoformat(), "message": signed}
        return _stored(await self._store.answer(replace(interaction, answer=answer, closed_at=self._clock())))


def public_id(interaction: Intent) -> str:
    """As agents see it."""
    return str(uuid.UUID(interaction.id))


def document_of(standing: Standing, callback: Callback | None) -> dict[str, Any]:
    """An interaction as its agent sees it; an answer stands in ``response``, and once more beside it."""
    interaction = standing.interaction
    document: dict[str, Any] = {
        "interaction_id": public_id(interaction),
        "message_id": interaction.message,
        "type": interaction.type.value,
        "state": standing.state,
        "created_at": interaction.made_at.isoformat(),
        "updated_at": standing.at.isoformat(),
        "ttl_sec": interaction.ttl_s,
    }
    if interaction.routes:
        document["channel_id"] = interaction.routes[min(interaction.attempt, len(interaction.routes) - 1)].platform
    message = (interaction.answer or {}).get("message") or {}
    if message.get("type") == "RESPONSE":
        beside = ("decision", "decided_at", "data", "evidence", "signature")
        document |= {name: message[name] for name in beside if name in message}
        document["response"] = message
    elif message:
        document["error"] = message["error"]
    if callback is not None and callback.state is CallbackState.FAILED:
        document["webhook_failed"] = True
    return document


def _stored(interaction: Intent) -> Standing:
    answer = interaction.answer or {}
    return Standing(interaction=interaction, state=str(answer["state"]), at=datetime.fromisoformat(str(answer["at"])))


def _exact(value: object) -> object:
    """JCS has no whole numbers from 2^53 on: they are told as texts."""
    if isinstance(value, list | tuple):
        return [_exact(one) for one in value]
    return str(value) if type(value) is int and abs(value) >= _INEXACT else value
