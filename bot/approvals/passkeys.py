"""Passkeys of operators (APPR-9): how they come in, and how one of them approves a version.

A passkey comes in by a link of one use that its person gets in their own private chat, or from whoever keeps this
machine. Who has one uses it first, and who has lost theirs asks the machine's keeper, whose link asks for none: whoever
takes over a chat account, with the device or without, adds none to it. An approval by passkey has a challenge of its
own, of one use and a few minutes, that is made from the version that the page shows: what was signed for one version
fits no other, and nothing sent once is taken twice.
"""

import asyncio
import hashlib
import secrets
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import Enum, StrEnum
from functools import partial
from typing import Any, Final, TypeVar

from bot.approvals.addresses import PageAddresses
from bot.approvals.ceremony import (
    challenge_of,
    creation_options,
    request_options,
    verify_assertion,
    verify_creation,
    verify_use,
)
from bot.approvals.challenges import Challenges
from bot.approvals.proofs import Bound, CeremonyError, encoded, words_digest
from bot.model.approval import Approval, DecidedBy, Verdict
from bot.model.errors import ConfigError
from bot.observability.log import get_logger
from bot.ports.approvals import Approvals, Invite, Outcome, Passkey, PasskeyStore
from bot.questions.links import digest
from bot.texts.codes import Notice
from policy.ruleset import Access, Person, Policy

log = get_logger(__name__)

INVITE_LASTS: Final = timedelta(minutes=15)
MAX_LABEL: Final = 40
MAX_WORDS: Final = 2_000
_LONGEST_ID: Final = 1_400  # base64url of the 1023 bytes that a credential id has at most
Tell = Callable[..., Awaitable[int]]
"""Tells operators a notice."""
Made = TypeVar("Made")
MayApprove = Callable[[Approval, str], bool]
"""Whether an account may approve it now, by the policy in force."""


class Refusal(StrEnum):
    """Why nothing came of it. Each is a page's words."""

    GONE = "enrol_gone"  # the link is used up, too old, or its person is no operator any more
    UNKNOWN = "no_approval"  # no such page
    DECIDED = "decided"  # nobody can decide it any more
    STALE = "stale"
    NOBODY = "nobody"  # nobody who may approve it has a passkey
    WORDS = "words_wanted"
    LATE = "too_slow"  # the challenge is not known, any more
    REFUSED = "passkey_refused"
    COPIED = "passkey_copied"


class NoLink(Enum):
    """Why somebody who writes to the bot gets no link."""

    NO_PAGES = "no_pages"  # or they are no operator
    REVOKED = "revoked"  # they had a passkey; the keeper of the machine lets another one in


@dataclass(frozen=True, kw_only=True, slots=True)
class Invited:
    """Whom a link invites.

    Attributes:
        person: id.
        name: to be read.
        known: how many passkeys they have already.
        first: one of those is wanted before another comes.
    """

    person: str
    name: str
    known: int
    first: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Signed:
    """A passkey has approved; what came of it."""

    outcome: Outcome


@dataclass(frozen=True, kw_only=True, slots=True)
class _Enrolling:
    token: str  # its digest
    person: str
    by: str | None = None  # the passkey that they have used for it


@dataclass(frozen=True, kw_only=True, slots=True)
class _Approving:
    bound: Bound
    words: str


class Passkeys:
    """Enrols passkeys, and lets them approve."""

    def __init__(
        self,
        *,
        store: PasskeyStore,
        approvals: Approvals,
        policy: Callable[[], Policy],
        may_approve: MayApprove,
        addresses: PageAddresses,
        tell: Tell,
        clock: Callable[[], datetime],
    ) -> None:
        """Make it.

        Args:
            store: where passkeys are kept.
            approvals: where it is decided.
            policy: gives the one in force.
            may_approve: tells who may.
            addresses: of the pages.
            tell: tells operators.
            clock: gives aware times.
        """
        self._store = store
        self._approvals = approvals
        self._policy = policy
        self._may_approve = may_approve
        self._addresses = addresses
        self._party = addresses.party
        self._tell = tell
        self._clock = clock
        self._using: Challenges[_Enrolling] = Challenges(clock)
        self._enrolling: Challenges[_Enrolling] = Challenges(clock)
        self._approving: Challenges[_Approving] = Challenges(clock)

    @property
    def origin(self) -> str | None:
        """Of the pages; None: passkeys can't be used on them."""
        return None if self._party is None else self._party.origin

    @property
    def timezone(self) -> str:
        """IANA name of the zone in which people read times."""
        return self._policy().timezone

    # coming in

    async def invite(self, person_id: str, *, vouched: bool = True) -> str:
        """The address of one use under which an operator adds a passkey.

        Args:
            person_id: of the operator.
            vouched: whoever keeps this machine asks; else a further passkey wants one that is there already.

        Raises:
            ConfigError: the person is no operator, or there are no such pages; the text says the mend.
        """
        person = self._operator(person_id)
        if person is None:
            raise ConfigError(f"{person_id!r} is no operator. Name them under operators in the policy")
        token = secrets.token_urlsafe(32)
        address = self._addresses.enrolment(token)
        if address is None:
            raise ConfigError(
                "there are no pages for passkeys. Switch them on in config.yaml (pages: {enabled: true, "
                "public_url: https://...}) and restart; browsers want https and a name"
            )
        now = self._clock()
        invite = Invite(person=person.id, vouched=vouched)
        await self._store.invite(invite, token=digest(token), expires_at=now + INVITE_LASTS, now=now)
        return address

    async def link_for(self, account: str | None) -> str | NoLink:
        """The same for whoever has an account, and be it by theft."""
        person = self._policy().person(account)
        if person is None or self._party is None or self._operator(person.id) is None:
            return NoLink.NO_PAGES
        if await self._store.had(person.id) and not await self._store.of(person.id):
            return NoLink.REVOKED
        return await self.invite(person.id, vouched=False)

    async def invited(self, token: str) -> Invited | None:
        """Whom a link invites now; None: nobody, or not any more."""
        invite = await self._store.invited(digest(token), now=self._clock())
        person = None if invite is None else self._operator(invite.person)
        if invite is None or person is None or self._party is None:
            return None
        known = len(await self._store.of(person.id))
        first = not invite.vouched and await self._store.had(person.id)
        if first and not known:
            return None
        return Invited(person=person.id, name=person.display or person.id, known=known, first=first)

    async def creation(self, token: str, credential: Mapping[str, Any] | None = None) -> dict[str, Any] | Refusal:
        """What the browser is to ask its authenticator for: to make a passkey, or before that to use one.

        Args:
            token: of the link.
            credential: what a passkey has signed that the person has already; None: none was asked for yet.
        """
        invited = await self.invited(token)
        if invited is None or self._party is None:
            return Refusal.GONE
        challenge = secrets.token_bytes(32)
        known = await self._store.of(invited.person)
        enrolling = _Enrolling(token=digest(token), person=invited.person)
        if invited.first and credential is None:
            self._using.put(challenge, enrolling)
            return await asyncio.to_thread(request_options, self._party, allowed=known, challenge=challenge)
        if invited.first and credential is not None:
            used = await self._used_first(enrolling, credential)
            if isinstance(used, Refusal):
                return used
            enrolling = used
        self._enrolling.put(challenge, enrolling)
        return await asyncio.to_thread(
            creation_options,
            self._party,
            handle=_handle(invited.person),
            person=invited.person,
            display=invited.name,
            known=known,
            challenge=challenge,
        )

    async def _used_first(self, wanted: _Enrolling, credential: Mapping[str, Any]) -> _Enrolling | Refusal:
        """The same, once a passkey of the person's own has signed."""
        challenge = challenge_of(credential)
        if challenge is None or self._using.take(challenge) != wanted:
            return Refusal.LATE
        used = await self._verified(credential, partial(verify_use, challenge=challenge), lambda count: count)
        if isinstance(used, Refusal):
            return used
        passkey, _ = used
        return replace(wanted, by=passkey.id) if passkey.person == wanted.person else Refusal.REFUSED

    async def enrol(self, token: str, credential: Mapping[str, Any], *, label: str) -> Refusal | None:
        """Keep a new passkey and use the link up; None: it is kept."""
        challenge = challenge_of(credential)
        asked = self._enrolling.take(challenge)
        if asked is None or challenge is None or self._party is None:
            return Refusal.LATE
        if asked.token != digest(token) or self._operator(asked.person) is None:
            return Refusal.GONE
        try:
            passkey_id, public_key, count = await asyncio.to_thread(
                verify_creation, credential, party=self._party, challenge=challenge
            )
        except CeremonyError as error:
            log.warning("passkey_not_enrolled", cause=str(error))
            return Refusal.REFUSED
        if len(passkey_id) > _LONGEST_ID:
            return Refusal.REFUSED
        now = self._clock()
        passkey = Passkey(
            id=passkey_id,
            person=asked.person,
            public_key=public_key,
            sign_count=count,
            added_at=now,
            label=" ".join(label.split())[:MAX_LABEL],
        )
        if not await self._store.add(passkey, token=asked.token, now=now, by=asked.by):
            return Refusal.GONE if await self.invited(token) is None else Refusal.REFUSED
        log.info("passkey_enrolled")
        count = len(await self._store.of(asked.person))
        await self._tell(Notice.PASSKEY_ADDED, person=asked.person, passkey=short(passkey_id), count=count)
        return None

    async def revoke(self, passkey_id: str) -> bool:
        """Take a passkey away; whether there was one."""
        return await self._store.revoke(passkey_id, now=self._clock())

    # approving

    async def shown(self, token: str) -> Approval | Refusal:
        """The approval behind an address, if the version that it shows still stands and can be decided."""
        read = self._addresses.read(token)
        approval = None if read is None else await self._approvals.look(read[0])
        if read is None or approval is None:
            return Refusal.UNKNOWN
        over = approval.expires_at is not None and approval.expires_at <= self._clock()
        if over or not approval.state.undecided:
            return Refusal.DECIDED if approval.version == read[1] else Refusal.STALE
        return approval if approval.version == read[1] else Refusal.STALE

    async def anybody(self, approval: Approval) -> bool:
        """Whether somebody who may approve it has a passkey."""
        return bool(await self._allowed(approval))

    async def request(self, token: str, *, words: str) -> dict[str, Any] | Refusal:
        """What the browser is to ask its authenticator for.

        Args:
            token: of the address.
            words: justification; needed where a gate is not passed (APPR-7).
        """
        approval = await self.shown(token)
        if isinstance(approval, Refusal):
            return approval
        words = words.strip()
        if len(words) > MAX_WORDS or (not words and needs_words(approval)):
            return Refusal.WORDS
        allowed = await self._allowed(approval)
        if not allowed or self._party is None:
            return Refusal.NOBODY
        bound = Bound(
            approval=approval.id,
            version=approval.version,
            words=words_digest(words),
            nonce=encoded(secrets.token_bytes(32)),
        )
        self._approving.put(bound.challenge, _Approving(bound=bound, words=words))
        return await asyncio.to_thread(request_options, self._party, allowed=allowed, challenge=bound.challenge)

    async def approve(self, token: str, credential: Mapping[str, Any]) -> Signed | Refusal:
        """Approve with what an authenticator has signed.

        The version that is decided on is the one that was signed, whatever stands now: the room tells if it is stale.
        """
        asked = self._approving.take(challenge_of(credential))
        read = self._addresses.read(token)
        if asked is None or self._party is None:
            return Refusal.LATE
        if read is None or (asked.bound.approval, asked.bound.version) != read:
            return Refusal.UNKNOWN
        approval = await self._approvals.look(asked.bound.approval)
        if approval is None:
            return Refusal.UNKNOWN
        used = await self._verified(credential, partial(verify_assertion, bound=asked.bound), lambda made: made[1])
        if isinstance(used, Refusal):
            return used
        passkey, (proof, _) = used
        person = self._operator(passkey.person)
        if person is None:
            return Refusal.REFUSED
        account = self._account(approval, person) or min(person.accounts)  # the room tells why somebody may not
        outcome = await self._approvals.decide(
            asked.bound.approval,
            asked.bound.version,
            Verdict.APPROVE,
            by=account,
            way=DecidedBy.PASSKEY,
            at=None,
            words=asked.words,
            proof=proof.written(),
        )
        return Signed(outcome=outcome)

    async def _verified(
        self, credential: Mapping[str, Any], verify: Callable[..., Made], count_of: Callable[[Made], int]
    ) -> tuple[Passkey, Made] | Refusal:
        """The passkey of an operator that has signed, and what was made of it; its counter has risen."""
        passkey = await self._store.get(str(credential.get("id", ""))[: _LONGEST_ID + 1])
        if passkey is None or self._operator(passkey.person) is None:
            return Refusal.REFUSED
        try:
            made = await asyncio.to_thread(
                verify, credential, party=self._party, passkey=passkey, handle=_handle(passkey.person)
            )
        except CeremonyError as error:
            log.warning("passkey_refused", cause=str(error))
            return Refusal.REFUSED
        if not await self._store.used(passkey.id, sign_count=count_of(made), now=self._clock()):
            log.error("passkey_doubted")
            await self._tell(Notice.PASSKEY_DOUBTED, person=passkey.person, passkey=short(passkey.id))
            return Refusal.COPIED
        return passkey, made

    async def _allowed(self, approval: Approval) -> list[Passkey]:
        """The passkeys of those who may approve it now."""
        policy = self._policy()
        people = {person.id: person for person in policy.people.values() if person.operator}
        return [
            passkey
            for person in people.values()
            if self._operator(person.id) is not None and self._account(approval, person) is not None
            for passkey in await self._store.of(person.id)
        ]

    def _account(self, approval: Approval, person: Person) -> str | None:
        """The account by which a person may approve it; None: they may not."""
        return next((one for one in sorted(person.accounts) if self._may_approve(approval, one)), None)

    def _operator(self, person_id: str) -> Person | None:
        """An operator of the policy in force who is not shut out."""
        policy = self._policy()
        for person in policy.people.values():
            if person.id == person_id:
                return person if person.operator and person.access is not Access.DENY else None
        return None


def needs_words(approval: Approval) -> bool:
    """Whether its approval needs a justification (APPR-7)."""
    return any(not gate.passed for gate in approval.proposal.gates)


def short(passkey_id: str) -> str:
    """By which people tell passkeys apart, and type it: an id itself can begin with a dash, as options do."""
    return hashlib.sha256(passkey_id.encode()).hexdigest()[:10]


def _handle(person_id: str) -> bytes:
    """By which an authenticator tells persons apart; it is told their id anyway."""
    return hashlib.sha256(f"passkey person\n{person_id}".encode()).digest()
