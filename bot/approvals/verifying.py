"""Stored approvals and their proofs, looked at again with no network: by the keys as they were enrolled (APPR-9).

What was approved, by which way, and what had to be proven for it is said by the journal, whose chain shows what was
changed in it: whoever takes a proof out of the store, and says that a tap had been enough, does not take it out of
there. So it is with keys that nobody has enrolled, and with approvals that nobody has given.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, NamedTuple

from bot.approvals.addresses import RelyingParty
from bot.approvals.ceremony import verify_assertion
from bot.approvals.proofs import CeremonyError, Proof, encoded, read_proof, words_digest
from bot.model.approval import Approval, Assurance, DecidedBy, Decision, Verdict
from bot.ports.approvals import Passkey


class Voice(NamedTuple):
    """Who approved what, and how: approval, version and account by the tags of the journal."""

    approval: str
    version: str
    by: str
    way: DecidedBy


@dataclass(frozen=True, kw_only=True, slots=True)
class Testimony:
    """What the journal says.

    Attributes:
        keys: digest of each key that was enrolled, by the tag of its passkey.
        approved: how often somebody, time or the policy has approved.
        high: for how many of these a passkey was wanted, by the agent or by the policy of that moment.
        tag: the opaque name under which the journal speaks of a text.
        digest: of bytes, as the journal has it.
    """

    keys: Mapping[str, str]
    approved: Counter[Voice]
    high: Counter[Voice]
    tag: Callable[[str], str]
    digest: Callable[[bytes], str]


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """What a look has found.

    Attributes:
        approval: None: the store does not have it any more.
        decision: None: the store does not have it any more.
        faults: nothing: it proves what it should.
        tag: of the approval in the journal.
    """

    approval: Approval | None = None
    decision: Decision | None = None
    faults: tuple[str, ...]
    tag: str


_ANY_TIME: Final = datetime(2000, 1, 1, tzinfo=UTC)


def look_at(
    approvals: Sequence[Approval], passkeys: Sequence[Passkey], testimony: Testimony, *, later: Testimony, alone: bool
) -> Iterator[Finding]:
    """Look at everything that was approved by a passkey, or should have been; and at what nobody has approved.

    Args:
        approvals: with their decisions.
        passkeys: all that the store has, those that were revoked included.
        testimony: of the journal before the approvals were read.
        later: the same after it: what comes meanwhile is in neither or in both.
        alone: these approvals alone; else what the journal knows of others has to be in the store, too.
    """
    known = {passkey.id: passkey for passkey in passkeys}
    missing = Counter({voice: count for voice, count in testimony.approved.items() if _is_proven(voice, testimony)})
    recorded = later.approved.copy()
    for approval in approvals:
        tag = testimony.tag(approval.id)
        for decision in approval.decisions:
            if decision.verdict is not Verdict.APPROVE:
                continue
            voice = _voice(approval, decision, testimony)
            found: list[str] = []
            if recorded[voice] <= 0:
                found.append("not_recorded")
            recorded[voice] -= 1
            missing[voice] -= 1
            proven = decision.way is DecidedBy.PASSKEY or decision.proof is not None
            if proven or _has_to_be(approval, decision, later.high[voice] > 0):
                found += faults(approval.id, decision, known)
                passkey = known.get(_credential(decision))
                if passkey is not None and not _was_enrolled(passkey, later):
                    found.append("not_in_journal")
                proven = True
            if found or proven:
                yield Finding(approval=approval, decision=decision, faults=tuple(found), tag=tag)
        for voice in [voice for voice, count in missing.items() if voice.approval == tag and count > 0]:
            yield Finding(approval=approval, faults=("gone",), tag=tag)
            del missing[voice]
    for voice, count in missing.items():
        if count > 0 and not alone:
            yield Finding(faults=("gone",), tag=voice.approval)


def _is_proven(voice: Voice, testimony: Testimony) -> bool:
    return voice.way is DecidedBy.PASSKEY or testimony.high[voice] > 0


def _has_to_be(approval: Approval, decision: Decision, recorded: bool) -> bool:
    """Whether a passkey was wanted: by what stands with the decision, in the journal, or in the proposal."""
    if decision.way is DecidedBy.POLICY:
        return False
    return recorded or Assurance.HIGH in (decision.assurance, approval.proposal.assurance)


def _voice(approval: Approval, decision: Decision, testimony: Testimony) -> Voice:
    def tag(text: str) -> str:
        return testimony.tag(text) if text else ""

    return Voice(tag(approval.id), tag(decision.version), tag(decision.account or decision.person), decision.way)


def _was_enrolled(passkey: Passkey, testimony: Testimony) -> bool:
    return testimony.keys.get(testimony.tag(passkey.id)) == testimony.digest(passkey.public_key)


def _credential(decision: Decision) -> str:
    try:
        return "" if decision.proof is None else read_proof(decision.proof).credential
    except CeremonyError:
        return ""


def faults(approval_id: str, decision: Decision, passkeys: Mapping[str, Passkey]) -> tuple[str, ...]:
    """What is wrong with the proof of a stored decision; nothing: it proves what it should.

    Args:
        approval_id: of the approval that it stands with.
        decision: an approval under high assurance.
        passkeys: by id, as the store has them, those that were revoked included.
    """
    if decision.proof is None or decision.way is not DecidedBy.PASSKEY:
        return ("no_proof",)
    try:
        proof = read_proof(decision.proof)
    except CeremonyError:
        return ("unreadable",)
    found: list[str] = []
    if proof.bound.approval != approval_id:
        found.append("other_approval")
    if proof.bound.version != decision.version:
        found.append("other_version")
    if decision.words and proof.bound.words != words_digest(decision.words):  # they have a retention
        found.append("other_words")
    passkey = passkeys.get(proof.credential)
    if passkey is None:
        found.append("unknown_passkey")
    else:
        if passkey.public_key != proof.public_key:
            found.append("other_key")
        if passkey.person != decision.person:
            found.append("other_person")
        if passkey.added_at > decision.at or (passkey.revoked_at is not None and passkey.revoked_at < decision.at):
            found.append("not_valid_then")
    if not _holds(proof):
        found.append("signature")
    return tuple(found)


def _holds(proof: Proof) -> bool:
    """Whether the key of a proof has signed it."""
    credential = {
        "id": proof.credential,
        "rawId": proof.credential,
        "type": "public-key",
        "response": {
            "authenticatorData": encoded(proof.authenticator_data),
            "clientDataJSON": encoded(proof.client_data),
            "signature": encoded(proof.signature),
        },
    }
    party = RelyingParty(id=proof.party, origin=proof.origin, base_url=proof.origin)
    try:
        verify_assertion(
            credential,
            party=party,
            bound=proof.bound,
            passkey=Passkey(
                id=proof.credential,
                person="",
                public_key=proof.public_key,
                sign_count=0,
                added_at=_ANY_TIME,
            ),
            handle=None,
        )
    except CeremonyError:
        return False
    return True
