"""What other rooms ask of the room of approvals, and what it asks of its store."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from bot.model.approval import Action, Approval, ApprovalState, DecidedBy, Origin, Proposal, Verdict
from bot.model.output import OutFile
from bot.ports.store import Ending, NewPart, Waiting
from policy.approvals import Window
from policy.destination import Destination
from policy.event import Chat

# what comes of a decision; each is told to the person who decided, in private where the platform can


@dataclass(frozen=True, kw_only=True, slots=True)
class Decided:
    """It is decided; with a quorum that is not full yet it is still in review, and the voice counts."""

    approval: Approval


@dataclass(frozen=True, kw_only=True, slots=True)
class Stale:
    """Another version than the one that stands now was shown (APPR-3)."""

    approval: Approval


@dataclass(frozen=True, kw_only=True, slots=True)
class Already:
    """It was decided before, expired or taken back; ``approval.state`` tells which."""

    approval: Approval


@dataclass(frozen=True, kw_only=True, slots=True)
class NotEntitled:
    """Somebody else has to decide: ``why`` is stranger, not_named, requester or voted (APPR-8)."""

    why: str


@dataclass(frozen=True, kw_only=True, slots=True)
class WordsWanted:
    """The decision needs words: a comment, or the justification of a gate that is not passed (APPR-7)."""

    approval: Approval


@dataclass(frozen=True, kw_only=True, slots=True)
class Unseen:
    """Something of it was not shown there yet: it can be denied, not approved (APPR-2)."""

    approval: Approval


@dataclass(frozen=True, kw_only=True, slots=True)
class PasskeyWanted:
    """High assurance: a tap opens the page and decides nothing (APPR-9)."""

    approval: Approval


@dataclass(frozen=True, kw_only=True, slots=True)
class NoSuch:
    """There is no such approval, or none that this person may know of."""


Outcome = Decided | Stale | Already | NotEntitled | WordsWanted | Unseen | PasskeyWanted | NoSuch


class Approvals(Protocol):
    """The room of approvals (APPR-3 to 8)."""

    async def propose(
        self,
        proposal: Proposal,
        *,
        agent: str,
        origin: Origin | None,
        language: str | None = None,
        new_id: str | None = None,
    ) -> Approval:
        """Judge a call by the policy in force and store it; it is shown to people where the rule wants them.

        Returns:
            APPROVED where the rule needs nobody, DENIED where it forbids the call, else PROPOSED; the approval as it
            stands where this agent has proposed with this key before.

        Raises:
            ProposalError: it can't be proposed.
        """
        ...

    async def look(self, approval_id: str) -> Approval | None:
        """An approval as it stands."""
        ...

    async def look_of(self, agent: str, approval_id: str) -> Approval | None:
        """An approval of this agent as it stands; another one's is as unknown as any."""
        ...

    async def receipts(self, approval_id: str) -> Mapping[str, int]:
        """How many parts of its cards are in which state of the outbox."""
        ...

    async def revise(self, approval_id: str, action: Action, *, by: str | None, revision: int) -> Approval:
        """Another action in its place: a new version, which has to be looked at anew (APPR-3).

        Args:
            approval_id: of the approval.
            action: as it is to be now.
            by: account of the operator who changed it; None: the agent.
            revision: that was read.

        Raises:
            ProposalError: it has been decided, used or changed meanwhile.
        """
        ...

    async def decide(
        self,
        approval_id: str,
        version: str,
        verdict: Verdict,
        *,
        by: str,
        way: DecidedBy,
        at: Destination | None,
        words: str = "",
        proof: bytes | None = None,
    ) -> Outcome:
        """A person decides on the version that they were shown.

        Args:
            approval_id: of the approval.
            version: that was shown.
            verdict: what they say.
            by: their account, as the platform authenticated it.
            way: by which it comes.
            at: where they said it; None: on a page.
            words: reason, comment or justification.
            proof: of a passkey.
        """
        ...

    async def hold(self, approval_id: str, version: str) -> None:
        """Somebody who may decide has begun to: this version is not approved by time any more (AUTO-7)."""
        ...

    async def unfold(self, approval_id: str, version: str, place: Destination) -> Approval | None:
        """Everything of this version was shown at a place (APPR-2); None: it has changed meanwhile."""
        ...

    def can_be_shown(self, approval: Approval) -> bool:
        """Whether there is a place for its cards; they may wait their turn all the same."""
        ...

    async def show_at(self, approval_id: str, windows: Sequence[Window]) -> Approval | None:
        """Ask the addressee there, too, where the policy does not say where it is shown; None: it is decided by now."""
        ...

    async def claim(self, approval_id: str, *, version: str, key: str, target_present: bool | None) -> Approval:
        """Use an approval, once; everything is checked again (APPR-5).

        Args:
            approval_id: of the approval.
            version: of what would run.
            key: the same claim made again with it is the same claim.
            target_present: what the agent's own check has found; None: it has not looked.

        Raises:
            ProposalError: not approved, expired, used, another version, its target gone, an approver not entitled now.
        """
        ...

    async def outcome(self, approval_id: str, *, executed: bool | None, note: str) -> Approval:
        """What came of it; ``executed`` None: nobody knows (APPR-6).

        Raises:
            ProposalError: it was not claimed, or another outcome was told before.
        """
        ...

    async def reconcile(self, approval_id: str, *, executed: bool, evidence: str, by: str) -> Approval:
        """Somebody has found out what became of an unknown one.

        Raises:
            ProposalError: it is not unknown, or there is no evidence.
        """
        ...

    async def cancel(self, approval_id: str) -> Approval:
        """The agent takes it back.

        Raises:
            ProposalError: it is used already, or over.
        """
        ...

    async def changed(self, approval_id: str, *, since: int) -> Approval | None:
        """Return when its revision is no longer ``since``."""
        ...

    async def by_code(self, code: str) -> Approval | None:
        """The one that people know by a code, among those that are not closed."""
        ...

    async def pending(self) -> list[Approval]:
        """All that are not closed, the oldest first."""
        ...


class Role:
    """What a part of the outbox is to an approval; ``prompt:deny:ACCOUNT`` asks that person for words."""

    CARD = "card"
    FULL = "full"  # everything that did not fit into the card
    SEND = "send"  # the words of an approved draft
    PROMPT = "prompt"
    NOTICE = "notice"


@dataclass(frozen=True, kw_only=True, slots=True)
class Shown:
    """A part of the outbox that belongs to an approval.

    Attributes:
        part: to be stored.
        role: see :class:`Role`.
        version: that it shows or says.
    """

    part: NewPart
    role: str
    version: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Standing:
    """A message of ours that belongs to an approval.

    Attributes:
        approval: as it stands now.
        role: as it was stored with its part.
        version: likewise.
        destination: where it is.
        message: its id there.
        chat: kind of place.
        person: in a direct chat the account of the other side.
    """

    approval: Approval
    role: str
    version: str
    destination: Destination
    message: str
    chat: Chat = Chat.GROUP
    person: str | None = None


class ApprovalStore(Protocol):
    """Where approvals are kept; every write is durable when it returns, with its journal record."""

    async def put(
        self, approval: Approval, shown: Sequence[Shown], *, files: Sequence[OutFile] = (), now: datetime
    ) -> tuple[Approval, list[Waiting], bool]:
        """Store an approval, the files of a draft, and what shows it, one transaction.

        Returns:
            The approval and its parts on their way, and True; the one that is there already under the agent's key, no
            parts, and False. A draft finds the open draft of the same destination (AUTO-6).
        """
        ...

    async def get(self, approval_id: str) -> Approval | None:
        """One approval."""
        ...

    async def get_of(self, agent: str, approval_id: str) -> Approval | None:
        """One approval of this agent; another one's is not even read, so that nobody can tell it from none."""
        ...

    async def by_key(self, agent: str, key: str) -> Approval | None:
        """By the agent's own key, whatever its state."""
        ...

    async def by_code(self, code: str) -> Approval | None:
        """By its code, among those that are not closed."""
        ...

    async def draft_for(self, destination: Destination) -> Approval | None:
        """The draft of a destination that is not closed (AUTO-6)."""
        ...

    async def unreconciled(self, agent: str, version: str) -> Approval | None:
        """One of this agent and this version whose outcome is unknown, or that is claimed (APPR-6)."""
        ...

    async def change(
        self,
        approval: Approval,
        *,
        verb: str,
        now: datetime,
        shown: Sequence[Shown] = (),
        files: Sequence[OutFile] | None = None,
    ) -> list[Waiting] | None:
        """Write a change, if nobody has changed it since.

        Args:
            approval: as it is to be; ``revision`` is the one that was read.
            verb: of the table of states, for the journal.
            now: aware.
            shown: parts that go out with it.
            files: of the new version of a draft; None: as they were.

        Returns:
            The parts on their way; None: another change was first.
        """
        ...

    async def show(self, approval: Approval, shown: Sequence[Shown], *, now: datetime) -> list[Waiting]:
        """Store further parts that belong to an approval, whatever its state."""
        ...

    async def of_part(self, part_id: int) -> tuple[Approval, Standing | None] | None:
        """The approval that a part of the outbox belongs to; with the message where a receipt is there."""
        ...

    async def role_of(self, part_id: int) -> tuple[str, str] | None:
        """(role, version) of a part."""
        ...

    async def at(self, destination: Destination, message: str) -> Standing | None:
        """The approval that a message of ours belongs to."""
        ...

    async def receipts(self, approval_id: str) -> Mapping[str, int]:
        """How many parts of its cards are in which state of the outbox."""
        ...

    async def messages(self, approval_id: str, role: str) -> list[Standing]:
        """Our messages of one role, in order."""
        ...

    async def places(self, approval_id: str, version: str) -> frozenset[tuple[Destination, str]]:
        """Where parts of a version have gone, with their roles: what was refused or withheld is not among them."""
        ...

    async def coming(self, approval_id: str, version: str) -> frozenset[tuple[Destination, str]]:
        """The same with those that are on their way."""
        ...

    async def open_calls(self, agent: str) -> int:
        """How many calls of an agent are not closed."""
        ...

    async def late(self, part_id: int) -> Approval | None:
        """The approval whose card has arrived only after it had changed or was decided."""
        ...

    async def counts(self) -> Mapping[ApprovalState, int]:
        """How many that are not closed are in each state."""
        ...

    async def sendings(self, approval_id: str, version: str) -> Mapping[int, str]:
        """The state of each part that says the words of an approved draft, by its number."""
        ...

    async def files(self, approval_id: str, version: str) -> tuple[OutFile, ...]:
        """The files of a draft."""
        ...

    async def pending(self) -> list[Approval]:
        """All that are not closed, the oldest first."""
        ...

    async def recent(self, limit: int) -> list[Approval]:
        """The latest, whatever their state."""
        ...

    async def sweep(self, *, now: datetime, contents_before: datetime) -> int:
        """Erase the words of approvals that were closed long enough ago; returns of how many."""
        ...


class Filings(Protocol):
    """Where drafts are filed, as the end of requests."""

    async def file(
        self,
        approval: Approval,
        *,
        verb: str | None,
        shown: Sequence[Shown],
        files: Sequence[OutFile],
        ending: Ending,
        now: datetime,
    ) -> list[Waiting] | None:
        """Store a draft, what shows it, and the end of the request that it answers, one transaction (DUR-3).

        Args:
            approval: as it is to be; of a change ``revision`` is the one that was read.
            verb: of the table of states; None: it is new.
            shown: parts that show it, and close what showed an earlier version.
            files: of this version.
            ending: of the request.
            now: aware.

        Returns:
            All parts on their way; None: another filing or another change was first, and nothing was written.
        """
        ...

    async def asked_in(self, event_id: int) -> str | None:
        """The message that a request was; None: it was no message, or it is not there any more."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Passkey:
    """A passkey of an operator (APPR-9).

    Attributes:
        id: credential id, base64url.
        person: id of the principal.
        public_key: COSE.
        sign_count: last seen.
        added_at: when it was enrolled.
        label: what the person called it.
        revoked_at: None: it holds.
    """

    id: str
    person: str
    public_key: bytes = field(repr=False)
    sign_count: int
    added_at: datetime
    label: str = field(default="", repr=False)
    revoked_at: datetime | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Invite:
    """A link that is good now.

    Attributes:
        person: whom it invites.
        vouched: the admin of the machine made it; else a further passkey wants one that the person has already.
    """

    person: str
    vouched: bool


class PasskeyStore(Protocol):
    """Where passkeys are kept; every write is durable when it returns, with its journal record."""

    async def add(self, passkey: Passkey, *, token: str, now: datetime, by: str | None = None) -> bool:
        """Keep a passkey and use up the invite whose token has this digest, one transaction.

        Args:
            passkey: new.
            token: digest.
            now: aware.
            by: id of the passkey that was used to say so; a person who has had one needs it, unless the admin vouches.

        Returns:
            False: the invite is used up, or another passkey is wanted first.
        """
        ...

    async def of(self, person: str) -> list[Passkey]:
        """Those of a person that are not revoked."""
        ...

    async def had(self, person: str) -> bool:
        """Whether a person has or has had one, be it revoked since."""
        ...

    async def get(self, passkey_id: str) -> Passkey | None:
        """One that is not revoked."""
        ...

    def holds(self, passkey_id: str) -> bool:
        """Whether there is one and it is not revoked; a look-up of microseconds."""
        ...

    async def used(self, passkey_id: str, *, sign_count: int, now: datetime) -> bool:
        """Note the counter; False: it did not rise where it should have (a copy of the key), or it was revoked."""
        ...

    async def revoke(self, passkey_id: str, *, now: datetime) -> bool:
        """Take one away; whether there was one."""
        ...

    async def invite(self, invite: Invite, *, token: str, expires_at: datetime, now: datetime) -> None:
        """Let a person enrol one passkey with the token of this digest; earlier invites of theirs are void."""
        ...

    async def invited(self, token: str, *, now: datetime) -> Invite | None:
        """Whom a token invites, by its digest; None: nobody, or not any more."""
        ...


Document = Mapping[str, Any]
