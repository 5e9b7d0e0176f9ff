"""The policy in force, resolved: what the YAML document says, as values that rules can read fast.

:mod:`policy.document` makes it from a file; nothing else should, outside of tests. Defaults are already applied, so
each channel carries every setting that holds there.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

from policy.approvals import Approvals
from policy.content import DRAFT_ONLY, ContentClass, Detector, Disclosure, HardStop
from policy.decision import Audience
from policy.destination import Destination
from policy.record import Entry

__all__ = [
    "DRAFT_ONLY",
    "Access",
    "Autonomy",
    "BotRequest",
    "Burst",
    "ChannelPolicy",
    "ContentClass",
    "Counterparty",
    "HardStop",
    "Invites",
    "Observation",
    "Person",
    "Policy",
    "Rate",
    "Resend",
    "Streaming",
]


class Access(StrEnum):
    """IDENT-5: what the policy says of a channel or a person."""

    ALLOW = "allow"
    DENY = "deny"
    UNKNOWN = "unknown"


class Streaming(StrEnum):
    """How an answer may grow before people's eyes."""

    OFF = "off"
    DRAFT = "draft"  # the platform's own drafts, in one-to-one chats
    EDIT = "edit"  # a message that is edited until it is final


class Resend(StrEnum):
    """DUR-2: what happens to a send of which nobody knows whether it arrived."""

    PARK = "park"
    RESEND = "resend"


@dataclass(frozen=True, kw_only=True, slots=True)
class Observation:
    """PART-9: how long unaddressed words are kept, and which agents may read them."""

    retention: timedelta
    readers: frozenset[str]


@dataclass(frozen=True, kw_only=True, slots=True)
class Burst:
    """PART-8: a batch is whole after ``quiet`` without a further part, and at ``longest`` at the latest."""

    quiet: timedelta = timedelta(seconds=1.5)
    longest: timedelta = timedelta(seconds=30)


@dataclass(frozen=True, kw_only=True, slots=True)
class Rate:
    """Answered requests a minute."""

    person: int = 20
    channel: int = 60


@dataclass(frozen=True, kw_only=True, slots=True)
class Autonomy:
    """What may be said without asking.

    Attributes:
        automatic: routine content may be sent without an operator (AUTO-1); False: every answer is a draft.
        draft_only: classes that are filed for an operator; always holds all of ``DRAFT_ONLY``.
        auto_after: a draft may carry a deadline after which it is approved by time (AUTO-7).
        holding_words: while a draft waits, people read one neutral sentence instead of nothing.
    """

    automatic: bool = True
    draft_only: frozenset[ContentClass] = DRAFT_ONLY
    auto_after: bool = False
    holding_words: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class ChannelPolicy:
    """What holds in one channel (or one topic or thread of it, where it is listed by itself).

    Attributes:
        audience: who reads along.
        access: IDENT-5.
        counterparty: id of the organisation it belongs to.
        require_mention: PART-1; False only where the audience is internal (PART-6).
        listed_people_only: unlisted people are muted.
        answer_operators: PART-7.
        observation: PART-9; None: words of muted events are erased.
        never_silent_ack: PART-10; only where the audience is internal.
        streaming: how answers may grow.
        progress: whether progress notes may be shown (OUT-3); only where the audience is trusted.
        unclear_sends: DUR-2.
        agent: name of the agent that answers here; None: the default one.
        language: of the gateway's own words, where the platform doesn't tell the person's.
        reports: operational reports go here (OUT-8).
        autonomy: what may be said here without asking; the tier of the counterparty is already applied.
    """

    audience: Audience
    access: Access
    counterparty: str | None = None
    require_mention: bool = True
    listed_people_only: bool = False
    answer_operators: bool = False
    observation: Observation | None = None
    never_silent_ack: bool = False
    streaming: Streaming = Streaming.OFF
    progress: bool = False
    unclear_sends: Resend = Resend.PARK
    agent: str | None = None
    language: str = "en"
    reports: bool = False
    backlog: timedelta = timedelta(hours=1)
    burst: Burst = field(default_factory=Burst)
    rate: Rate = field(default_factory=Rate)
    autonomy: Autonomy = field(default_factory=Autonomy)


@dataclass(frozen=True, kw_only=True, slots=True)
class Person:
    """A principal.

    Attributes:
        id: key in the policy.
        accounts: ``platform:id`` of each account.
        operator: may approve, and is trusted in a private chat (IDENT-3).
        display: the first of their names, as it is written in the file; empty: none is. Never identity (IDENT-1).
        principals: further ids by which agents name them; they are never taken for who somebody is.
    """

    id: str
    accounts: frozenset[str]
    operator: bool = False
    access: Access = Access.UNKNOWN
    counterparty: str | None = None
    language: str | None = None
    display: str = field(default="", repr=False)
    principals: frozenset[str] = frozenset()


@dataclass(frozen=True, kw_only=True, slots=True)
class BotRequest:
    """PART-5: an operator's scoped request that lets one bot speak to us in one channel until a time."""

    bot: str
    channel: Destination
    requested_by: str
    until: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class Invites:
    """Whose invites into channels are accepted; operators' always are (IDENT-5).

    Attributes:
        inviters: ids of further people.
        listed_rooms: anybody may invite the bot into a channel that the policy lists.
        decline: what is not accepted is declined; False: it is left alone.
    """

    inviters: frozenset[str] = frozenset()
    listed_rooms: bool = True
    decline: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Counterparty:
    """An outside organisation; ``protected_terms`` never reach another one (AUTO-5)."""

    id: str
    name: str = field(default="", repr=False)
    tier: int | None = None
    protected_terms: tuple[str, ...] = field(default=(), repr=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class Policy:
    """The whole policy in force.

    Attributes:
        channels: by exact destination.
        people: by account.
        direct: what holds in one-to-one chats; the audience is set by who it is (IDENT-3).
        strangers: access of people in one-to-one chats whom the policy does not know.
        unknown: what holds in channels that are not listed (IDENT-5).
        answer_unknown: whether an explicit request in an unknown channel is answered.
        bots: accounts that are bots, where the platform does not tell (PART-5).
        invites: whose invites are accepted.
        called: ids of people by what they are called in a salutation, case folded (PART-2).
        commands: names of commands that are recognised.
        digest: SHA-256 of the file's text, hexadecimal.
        operators: ids of the people who are operators, in the order of the file.
        timezone: IANA name of the zone in which the policy's times of day are meant.
        language: of the gateway's own words where nothing closer says it.
        agent: name of the agent that answers where a channel names none; None: the configuration's default.
        approvers: groups of operators who may decide, by name (APPR-1).
        tiers: what is draft-only by the tier of a counterparty, in addition; already applied in ``channels`` (AUTO-2).
        record: facts that answers may rest on, by id; files and sources may add to them (AUTO-8).
        needs_reference: classes that are unverified claims where no such fact is named (AUTO-8).
        detectors: what raises the class of a text: the package's that are not switched off, and the file's (AUTO-4).
        disclosure: what the file adds to what never goes outside (OUT-4).
        approvals: rules for the calls of agents (APPR-1).
    """

    channels: Mapping[Destination, ChannelPolicy]
    people: Mapping[str, Person]
    direct: ChannelPolicy
    unknown: ChannelPolicy
    strangers: Access = Access.UNKNOWN
    answer_unknown: bool = False
    bot_requests: tuple[BotRequest, ...] = ()
    bots: frozenset[str] = frozenset()
    invites: Invites = field(default_factory=Invites)
    called: Mapping[str, frozenset[str]] = field(default_factory=dict)
    commands: frozenset[str] = frozenset()
    counterparties: Mapping[str, Counterparty] = field(default_factory=dict)
    digest: str = ""
    operators: tuple[str, ...] = ()
    timezone: str = "UTC"
    language: str = "en"
    agent: str | None = None
    approvers: Mapping[str, frozenset[str]] = field(default_factory=dict)
    tiers: Mapping[int, frozenset[ContentClass]] = field(default_factory=dict)
    record: Mapping[str, Entry] = field(default_factory=dict, repr=False)
    needs_reference: frozenset[ContentClass] = frozenset()
    detectors: tuple[Detector, ...] = field(default=(), repr=False)
    disclosure: Disclosure = field(default_factory=Disclosure)
    approvals: Approvals = field(default_factory=Approvals)

    def channel(self, destination: Destination) -> ChannelPolicy:
        """What holds at a destination that is no one-to-one chat (IDENT-2).

        A topic or thread that is not listed by itself has the members, and so the policy, of its channel.
        """
        found = self.channels.get(destination)
        if found is None and destination.thread is not None:
            found = self.channels.get(destination.room)
        return self.unknown if found is None else found

    def person(self, account: str | None) -> Person | None:
        """The principal behind an account, if the policy knows one."""
        return None if account is None else self.people.get(account)

    def named(self, principal: str) -> Person | None:
        """The principal whom an agent names, by their id or one of the further ones; None: nobody (AGENT-1)."""
        return next((one for one in self.people.values() if principal == one.id or principal in one.principals), None)
