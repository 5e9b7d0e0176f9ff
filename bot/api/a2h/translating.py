"""Between A2H and the rooms of questions, approvals and deliveries: words, proposals, states, evidence. No I/O."""

from collections.abc import Mapping
from typing import Any, Final

from bot.api.a2h.reading import Envelope
from bot.approvals.proofs import CeremonyError, encoded, read_proof
from bot.model.approval import Action, Approval, ApprovalState, Assurance, DecidedBy, Decision, Proposal, Verdict
from bot.model.delivery import Delivery, DeliveryState
from bot.model.intent import Intent, IntentType
from bot.model.question import Question, QuestionState
from bot.ports.store import OutboxState
from policy.approvals import Window

SYSTEM: Final = "a2h"
"""The system of actions that come by A2H, for the rules of the policy; an AUTHORIZE is the tool ``authorize`` there."""
PASSKEY: Final = "passkey.webauthn.v1"
PLATFORMS: Final = ("telegram", "matrix", "web")

PENDING, SENT, WAITING, ANSWERED = "PENDING", "SENT", "WAITING_INPUT", "ANSWERED"
EXPIRED, CANCELLED, FAILED = "EXPIRED", "CANCELLED", "FAILED"
ENDS: Final = frozenset({ANSWERED, EXPIRED, CANCELLED, FAILED})

_ON_THE_WAY: Final = frozenset({OutboxState.READY.value, OutboxState.SENDING.value})
_ARRIVED: Final = frozenset({OutboxState.DELIVERED.value, OutboxState.UNKNOWN.value})


def factor_of(platform: str) -> str:
    """A tap, a reply or a command of an account that the platform has authenticated."""
    return f"chat.{platform}.v1"


LINK: Final = "link.v1"
"""The page behind a one-time link: whoever has it can answer a question; nothing can be authorized by it."""
FACTORS: Final = (PASSKEY, *(factor_of(platform) for platform in PLATFORMS))
BY_POLICY: Final = "policy.v1"
"""No person has decided: the policy has, and it only ever says no here."""


# words


def words_of(envelope: Envelope) -> str:
    """What is said to a person, as Markdown: a title is bold, and nothing of the rest is ours."""
    title = [f"**{envelope.title.strip()}**"] if envelope.title.strip() else []
    return "\n\n".join([*title, envelope.body, *([envelope.footer] if envelope.footer.strip() else [])])


# AUTHORIZE and ESCALATE


def proposal_of(envelope: Envelope, interaction: Intent, windows: tuple[Window, ...], *, key: str) -> Proposal:
    """What is to be approved. An ESCALATE is taken over by whoever the policy names, an AUTHORIZE by its principal."""
    asks_one = envelope.type is IntentType.AUTHORIZE
    parameters: dict[str, Any] = {"principal": interaction.principal}
    parameters |= {"title": envelope.title} if envelope.title else {}
    parameters |= {"body": envelope.body}
    parameters |= {"footer": envelope.footer} if envelope.footer else {}
    parameters |= {"params": dict(envelope.params)} if envelope.params else {}
    parameters |= {"links": dict(envelope.links)} if envelope.links else {}
    return Proposal(
        action=Action(name=envelope.type.value.lower(), system=SYSTEM, parameters=parameters),
        reason=envelope.why,
        assurance=Assurance.HIGH if wants_passkey(envelope) else Assurance.NORMAL,
        ttl_s=envelope.ttl_s,
        key=key,
        as_is=True,  # no client of this protocol would see that values were changed
        addressee=interaction.principal if asks_one else "",
        shown=windows if asks_one else (),
    )


def wants_passkey(envelope: Envelope) -> bool:
    """HIGH, or nothing else would do."""
    return envelope.level == "HIGH" or (
        PASSKEY in envelope.factors and not any(one in FACTORS for one in envelope.factors if one != PASSKEY)
    )


def evidence_of(decision: Decision) -> dict[str, Any]:
    """Who has said so, and how it is known."""
    about = {
        "decided_at": decision.at.isoformat(),
        "person": decision.person or None,
        "for": decision.for_whom or None,
        "way": decision.way.value,
        "version": decision.version,
    }
    if decision.proof is not None:
        try:
            proof = read_proof(decision.proof)
        except CeremonyError:
            pass
        else:
            return {
                "factor": PASSKEY,
                "proof": {
                    "credentialId": proof.credential,
                    "clientDataJSON": encoded(proof.client_data),
                    "authenticatorData": encoded(proof.authenticator_data),
                    "signature": encoded(proof.signature),
                    "userHandle": None,
                    "publicKey": encoded(proof.public_key),
                    "challenge": {
                        "purpose": "discreet approval",
                        "approval": proof.bound.approval,
                        "version": proof.bound.version,
                        "words": proof.bound.words,
                        "nonce": proof.bound.nonce,
                    },
                    **about,
                },
            }
    platform = (decision.account or "").partition(":")[0]
    by_person = decision.way not in (DecidedBy.POLICY, DecidedBy.TIME) and platform in PLATFORMS
    return {"factor": factor_of(platform) if by_person else BY_POLICY, "proof": about}


# states


def question_state(question: Question, receipts: Mapping[str, int]) -> str:
    """Where a question stands."""
    ends = {
        QuestionState.ANSWERED: ANSWERED,
        QuestionState.EXPIRED: EXPIRED,
        QuestionState.CANCELLED: CANCELLED,
    }
    return ends.get(question.state) or _shown(receipts)


def approval_state(approval: Approval, receipts: Mapping[str, int]) -> str:
    """Where an approval stands. What a person has sent back for changes was not approved."""
    if approval.state is ApprovalState.PROPOSED:
        return PENDING
    if approval.state is ApprovalState.IN_REVIEW:
        return _shown(receipts)
    if approval.state is ApprovalState.EXPIRED:
        return EXPIRED
    return CANCELLED if approval.state is ApprovalState.CANCELLED else ANSWERED


def delivery_state(delivery: Delivery) -> str:
    """Where a delivery stands; nobody answers one, so it ends with SENT."""
    if delivery.state is DeliveryState.SCHEDULED:
        return PENDING
    if delivery.state in (DeliveryState.SENT, DeliveryState.DELIVERED, DeliveryState.UNKNOWN):
        return SENT
    return CANCELLED if delivery.state is DeliveryState.CANCELLED else FAILED


def _shown(receipts: Mapping[str, int]) -> str:
    there = {state for state, count in receipts.items() if count}
    if there & _ARRIVED:
        return WAITING
    if there & _ON_THE_WAY:
        return SENT
    return FAILED if there else PENDING


def decision_of(approval: Approval) -> tuple[str, Decision | None]:
    """What was decided, and the decision that says so."""
    approved = approval.state in (
        ApprovalState.APPROVED,
        ApprovalState.CLAIMED,
        ApprovalState.EXECUTED,
        ApprovalState.FAILED,
        ApprovalState.UNKNOWN,
    )
    wanted = Verdict.APPROVE if approved else None
    said = [one for one in approval.standing if (one.verdict is Verdict.APPROVE) is approved]
    return ("APPROVE" if wanted else "DECLINE"), (said[-1] if said else None)
