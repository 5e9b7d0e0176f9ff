"""The policy file as it is written (IDENT, PART, AUTO): its sections, keys and words.

What a single value may be is said here; what values must hold together stands in :mod:`policy.document_checks`. A key
that is not written is None, and its meaning then is decided where the policy is made (:mod:`policy.document`).
"""

from typing import Annotated, Final, Literal

from pydantic import Field

from policy.document_approvals import Approvals, Approver
from policy.document_content import Disclosures, Topic, TopicDetectors
from policy.document_record import EntryId, RecordEntry
from policy.document_shape import Duration, Hints, Identifier, Moment, Shape, Term
from policy.document_words import (
    Account,
    Audience,
    Class,
    ClosedMention,
    CommandName,
    Kept,
    Language,
    Minutely,
    Place,
    ProtectedTerm,
    Readers,
    Streaming,
    Timezone,
)


class Burst(Shape):
    """When a batch of files or a long paste is whole (PART-8)."""

    quiet: Duration | None = Field(default=None, description="A batch is whole after this time without a further part.")
    longest: Duration | None = Field(default=None, description="It is whole after this time at the latest.")


class Rate(Shape):
    """Answered requests a minute."""

    person: Minutely | None = Field(default=None, description="Of one person in one channel.")
    channel: Minutely | None = Field(default=None, description="Of all people in one channel.")


class Autonomy(Shape):
    """What may be said without asking (AUTO)."""

    default: Literal["auto", "draft"] | None = Field(
        default=None,
        description="auto: routine answers are sent (AUTO-1). draft: every answer is filed for an operator.",
    )
    draft_only: list[Class] | None = Field(
        default=None, description="Classes that are filed as drafts, beside those that always are (AUTO-2)."
    )
    auto_after: bool | None = Field(
        default=None, description="A draft may carry a deadline after which it is approved by time (AUTO-7)."
    )
    holding_words: bool | None = Field(
        default=None, description="While a draft waits, people read one neutral sentence instead of nothing."
    )


class GeneralAutonomy(Autonomy):
    """What may be said without asking, with the tiers of counterparties (AUTO)."""

    tiers: dict[Literal["1", "2", "3"], list[Class]] = Field(
        default_factory=dict,
        description="By tier of the counterparty: further classes that are filed as drafts. All of them: [routine].",
    )
    needs_reference: list[Class] = Field(
        default_factory=list,
        description="Classes that are unverified claims unless an entry of the record is named (AUTO-8).",
    )


class Settings(Shape):
    """What can be said in general, for one-to-one chats and for each channel; the closest place wins."""

    language: Language | None = Field(
        default=None,
        description="Of the gateway's own words where the platform doesn't tell the person's (default en).",
    )
    agent: Identifier | None = Field(
        default=None, description="Name of the agent in the configuration (default: its default agent)."
    )
    backlog: Duration | None = Field(
        default=None,
        description="Events that came while the daemon was down are answered up to this age (PART-12, default 1h).",
    )
    burst: Burst | None = Field(default=None, description="Batches (PART-8; default quiet 1.5s, longest 30s).")
    rate: Rate | None = Field(default=None, description="Answered requests a minute (default person 20, channel 60).")
    streaming: Streaming | None = Field(
        default=None,
        description="How an answer may grow: none, draft (one-to-one chats only) or edit (default none).",
    )
    unclear_sends: Literal["park", "resend"] | None = Field(
        default=None,
        description="A send of which nobody knows whether it arrived: park it or send again (DUR-2, default park).",
    )


class Defaults(Settings):
    """What holds where nothing closer says otherwise."""

    timezone: Timezone | None = Field(
        default=None, description="IANA name of the zone in which times of day are meant (default UTC)."
    )
    require_mention: ClosedMention | None = Field(
        default=None, description="Always true here: only a channel itself can open up (PART-6)."
    )
    never_silent_ack: bool | None = Field(
        default=None,
        description="In internal channels: a run that ends without words gets one acknowledgement (PART-10).",
    )


class Counterparty(Shape):
    """An outside organisation."""

    name: Term = Field(description="What operators read.")
    tier: Annotated[int, Field(ge=1, le=3)] | None = Field(default=None, description="1 is the most careful.")
    protected_terms: list[ProtectedTerm] = Field(
        default_factory=list, description="Words that never reach another counterparty (AUTO-5)."
    )


class Person(Shape):
    """A principal: one person with their accounts."""

    accounts: list[Account] = Field(description="Such as telegram:510000001, matrix:@ann:example.org or web:ann.")
    names: list[Term] = Field(
        default_factory=list,
        description="What others call them; 'Ann, can you look?' then is not for the agent (PART-2). Never identity.",
    )
    principals: list[Term] = Field(
        default_factory=list,
        description="Further ids by which agents name them, such as did:example:alice (AGENT-1); not identity.",
    )
    language: Language | None = Field(default=None, description="Of the gateway's words for this person.")
    counterparty: Identifier | None = Field(default=None, description="The organisation they belong to.")
    access: Literal["allow", "deny", "unknown"] | None = Field(
        default=None,
        description="In one-to-one chats: allow, or unknown as for strangers; deny mutes them anywhere (IDENT-5).",
    )


class Observation(Shape):
    """What is kept of messages that nobody addressed to the agent (PART-9)."""

    retention: Kept = Field(description="Kept text is deleted after this time.")
    readers: Readers = Field(description="Agents that may read it.")


class Channel(Settings):
    """A shared channel, or a topic or thread of it; a thread takes from its channel what it doesn't say itself."""

    audience: Audience | None = Field(
        default=None, description="Who reads along; required unless access is deny (IDENT-2)."
    )
    access: Literal["allow", "deny"] | None = Field(
        default=None, description="deny mutes everything (IDENT-5, default allow)."
    )
    counterparty: Identifier | None = Field(default=None, description="The organisation that it belongs to.")
    require_mention: bool | None = Field(
        default=None, description="false: open questions are answered (PART-6); internal channels only (default true)."
    )
    people: Literal["everyone", "listed"] | None = Field(
        default=None, description="listed: only people of this file are answered (default everyone)."
    )
    answer_operators: bool | None = Field(
        default=None,
        description="Operators needn't address the agent (PART-7); internal channels only (default false).",
    )
    observe_unmentioned_group_messages: bool | None = Field(
        default=None,
        description="Keep unaddressed messages as untrusted context; needs observation (PART-9, default false).",
    )
    observation: Observation | None = Field(default=None, description="How long they are kept, and who may read them.")
    never_silent_ack: bool | None = Field(
        default=None,
        description="A run that ends without words gets one acknowledgement (PART-10); internal channels only.",
    )
    progress: bool | None = Field(
        default=None, description="Progress notes are shown (OUT-3); internal channels only (default false)."
    )
    reports: bool | None = Field(
        default=None, description="Operational reports go here (OUT-8); internal channels only (default false)."
    )
    autonomy: Autonomy | None = Field(default=None, description="What may be said here without asking.")


class Direct(Settings):
    """One-to-one chats. Their audience follows from the person: external, or operator (IDENT-3)."""

    strangers: Literal["allow", "deny", "unknown"] | None = Field(
        default=None,
        description="People whom this file doesn't know: allow answers them; deny and unknown mute (default unknown).",
    )


class UnknownChannels(Shape):
    """Channels that are not listed (IDENT-5)."""

    explicit_requests: Literal["answer", "mute"] | None = Field(
        default=None, description="A mention of the agent or a command for it, with external limits (default mute)."
    )


class BotRequest(Shape):
    """An operator's request that lets one bot speak to the agent in one channel until a time (PART-5)."""

    bot: Account = Field(description="Account of the other bot.")
    channel: Place = Field(description="A channel of this file.")
    requested_by: Identifier = Field(description="Id of an operator.")
    until: Moment = Field(description="With its offset, such as 2026-12-31T18:00:00+01:00.")


class Invites(Shape):
    """Whose invites into channels the bot follows (IDENT-5). Direct chats follow ``direct`` and people's access."""

    by: list[Identifier] = Field(
        default_factory=list, description="Ids of people whose invites are accepted anywhere; operators' always are."
    )
    rooms: Literal["listed", "none"] | None = Field(
        default=None,
        description="listed: anybody may invite the bot into a channel of this file (default). none: nobody may.",
    )
    otherwise: Literal["leave", "decline"] | None = Field(
        default=None, description="What is not accepted is left alone or declined (default leave)."
    )


class Approvers(Shape):
    """Who may decide (APPR-1)."""

    groups: dict[Identifier, list[Approver]] = Field(
        default_factory=dict, description="Operators by the name of their group. An empty group is nobody."
    )


class Document(Shape):
    """The policy: who may start the agent, who reads along, and what may be said without asking."""

    version: Literal[1] = Field(description="Of this format.")
    defaults: Defaults = Field(default_factory=Defaults, description="What holds where nothing closer says otherwise.")
    commands: list[CommandName] = Field(
        default_factory=list, description="Names of commands that count as a request in a group (PART-1)."
    )
    operators: list[Identifier] = Field(
        default_factory=list, description="Ids of people who may approve. An empty list is nobody."
    )
    people: dict[Identifier, Person] = Field(default_factory=dict, description="By an id of your choice.")
    counterparties: dict[Identifier, Counterparty] = Field(
        default_factory=dict, description="Outside organisations, by an id of your choice."
    )
    channels: dict[Place, Channel] = Field(
        default_factory=dict, description="By complete destination: platform:bot:channel, then :thread for a topic."
    )
    direct: Direct = Field(default_factory=Direct, description="One-to-one chats.")
    unknown_channels: UnknownChannels = Field(
        default_factory=UnknownChannels, description="Channels that are not listed."
    )
    bot_requests: list[BotRequest] = Field(
        default_factory=list, description="Other bots that may speak to the agent, each for a time."
    )
    bots: list[Account] = Field(
        default_factory=list,
        description="Accounts that are bots, where the platform does not tell; muted as all bots are (PART-5).",
    )
    invites: Invites = Field(default_factory=Invites, description="Whose invites into channels the bot follows.")
    autonomy: GeneralAutonomy = Field(default_factory=GeneralAutonomy, description="What may be said without asking.")
    detectors: dict[Topic, TopicDetectors] = Field(
        default_factory=dict,
        description="What raises the class of an answer, beside the package's own detectors (AUTO-4).",
    )
    disclosure: Disclosures = Field(
        default_factory=Disclosures, description="What never goes outside, beside what the package knows (OUT-4)."
    )
    approvers: Approvers = Field(default_factory=Approvers, description="Who may decide.")
    approvals: Approvals = Field(
        default_factory=Approvals, description="Which calls of agents need nobody, an approval, or are forbidden."
    )
    record: dict[EntryId, RecordEntry] = Field(
        default_factory=dict, max_length=1000, description="Facts that answers may rest on, by an id of your choice."
    )


_CHATS = "shared chats stand under channels, each by its destination"
_USERS = "persons stand under people, each with their accounts"
HINTS: Final[Hints] = {
    **dict.fromkeys((("allow_chats",), ("chats",), ("groups",), ("rooms",)), _CHATS),
    **dict.fromkeys((("allow_users",), ("users",), ("allow_from",)), _USERS),
    ("admins",): "list the ids of people who may approve under operators",
    ("direct", "audience"): "remove it: the audience of a one-to-one chat follows from its person (IDENT-3)",
    ("direct", "access"): "write strangers: allow, deny or unknown",
    ("detectors", "routine"): "detectors raise a class, and nothing is below routine",
    ("detectors", "hard_stops"): "each hard stop stands under detectors by its name, such as signing (AUTO-3)",
    ("channels", "*", "detectors"): "detectors stand at the top and hold everywhere",
    ("autonomy", "detectors"): "detectors stand at the top",
    ("autonomy", "hard_stops"): "remove it: the hard stops are fixed (AUTO-3)",
    ("channels", "*", "autonomy", "hard_stops"): "remove it: the hard stops are fixed (AUTO-3)",
    ("channels", "*", "autonomy", "tiers"): "tiers stand under autonomy at the top",
    ("channels", "*", "strangers"): "write people: everyone or people: listed",
    ("people", "*", "operator"): "list the person's id under operators",
    ("people", "*", "tier"): "a tier stands at a counterparty",
    ("invites", "from"): "write by: and ids of people",
    ("defaults", "commands"): "commands stand at the top",
    ("defaults", "observation"): "observation stands at each channel that is meant (PART-9)",
    ("defaults", "audience"): "the audience stands at each channel (IDENT-2)",
}
