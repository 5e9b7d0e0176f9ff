"""Which calls need nobody, which need an approval, and which are forbidden (APPR-1, APPR-8): values and the judge.

Rules stand in an order; the first that fits decides. Conditions on parameters are JMESPath expressions. An expression
that is true fits, one that is false does not; whatever else comes of it (null, a wrong type, an error) is unsure, and
an unsure condition fits a rule that asks or forbids and never one that allows.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, time, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final
from zoneinfo import ZoneInfo

from policy.conditions import Condition, Holds, Names
from policy.destination import Destination
from policy.folding import readings

if TYPE_CHECKING:
    from policy.ruleset import Policy

ITSELF: Final = "discreet"
"""The system of drafts. Only a rule that names it speaks of them: ``systems: ["*"]`` does not."""


class Effect(StrEnum):
    """What a rule says of a call."""

    ALLOW = "allow"
    ASK = "ask"
    FORBID = "forbid"


@dataclass(frozen=True, kw_only=True, slots=True)
class Call:
    """What an agent wants to do."""

    action: str
    system: str = ""
    agent: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class Window:
    """Where requests are shown: a channel, or the private chat with ``person`` (their account)."""

    destination: Destination
    person: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Escalation:
    """Others are asked, too, when nobody has decided ``after`` that time.

    Attributes:
        after: the proposal.
        who: ids of further people; None: every operator.
        shown: further places.
    """

    after: timedelta
    who: frozenset[str] | None = None
    shown: tuple[Window, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Requirement:
    """What an approval needs.

    Attributes:
        rule: name of the rule that asks for it; empty: the policy's default.
        who: ids of the people who may decide; None: every operator.
        quorum: how many must agree.
        separate: the requester can't approve.
        separate_drafts: the same of drafts, which are an agent's words and not those of whoever asked.
        shown: where it is shown; None: at every channel of reports.
        ttl: it expires after this time.
        high: it needs a passkey (APPR-9).
        remind: people are reminded after this time, again and again; None: never.
        escalate: None: nobody else is asked.
        urgent: reminders and escalations don't wait for the end of quiet hours.
    """

    rule: str = ""
    who: frozenset[str] | None = None
    quorum: int = 1
    separate: bool = True
    separate_drafts: bool = False
    shown: tuple[Window, ...] | None = None
    ttl: timedelta = timedelta(hours=24)
    high: bool = False
    remind: timedelta | None = None
    escalate: Escalation | None = None
    urgent: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Allow:
    """It needs nobody. Attributes: rule: that says so."""

    rule: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Ask:
    """It needs an approval."""

    requirement: Requirement

    @property
    def rule(self) -> str:
        """Name of the rule that says so; empty: none does."""
        return self.requirement.rule


@dataclass(frozen=True, kw_only=True, slots=True)
class Forbid:
    """It never happens. Attributes: rule: that says so; empty: none lets it."""

    rule: str


Verdict = Allow | Ask | Forbid


@dataclass(frozen=True, kw_only=True, slots=True)
class Rule:
    """One rule; what it does not name fits everything.

    Attributes:
        name: for people and for the record.
        effect: what it says.
        tools: names, with ``*`` for any characters.
        systems: likewise.
        agents: likewise.
        when: all of these conditions on the parameters.
        requirement: of a rule that asks.
    """

    name: str
    effect: Effect
    tools: tuple[str, ...] = ()
    systems: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    when: tuple[Condition, ...] = ()
    requirement: Requirement = field(default_factory=Requirement)

    def fits(self, call: Call, names: Names) -> bool:
        """Whether it decides about a call; ``names``: of its parameters."""
        if call.system == ITSELF and (ITSELF not in self.systems or self.effect is Effect.ALLOW):
            return False
        exact = self.effect is Effect.ALLOW
        if not (
            _named(self.tools, call.action, exact=exact)
            and _named(self.systems, call.system, exact=exact)
            and _named(self.agents, call.agent, exact=exact)
        ):
            return False
        held = {condition.holds(call.parameters, names) for condition in self.when}
        if Holds.NO in held:
            return False
        return Holds.UNSURE not in held or self.effect is not Effect.ALLOW


@dataclass(frozen=True, kw_only=True, slots=True)
class QuietHours:
    """When nobody is reminded: local times of a zone, over midnight where ``until`` is the earlier one."""

    since: time
    until: time
    timezone: str

    def holds(self, at: datetime) -> bool:
        """Whether it is quiet at a moment. The wall clock decides, so a change of the clocks needs no care."""
        local = at.astimezone(ZoneInfo(self.timezone)).time()
        if self.since < self.until:
            return self.since <= local < self.until
        return local >= self.since or local < self.until


@dataclass(frozen=True, kw_only=True, slots=True)
class Delegation:
    """One operator decides in the name of another for a time (APPR-8).

    Attributes:
        giver: id of whose right it is.
        taker: id of who uses it.
        since: from then on; None: from ever.
        until: up to then.
    """

    giver: str
    taker: str
    until: datetime
    since: datetime | None = None

    def holds(self, at: datetime) -> bool:
        """Whether it is in force at a moment."""
        return (self.since is None or self.since <= at) and at < self.until


@dataclass(frozen=True, kw_only=True, slots=True)
class Approvals:
    """The section ``approvals`` of the policy.

    Attributes:
        rules: in order.
        otherwise: what holds where none fits: ask or forbid, never allow.
        default: what an approval needs where no rule says more.
        quiet: hours without reminders.
        delegations: in the order of the file.
        claim_within: an approved call that is not claimed by then expires.
        outcome_within: a claimed call without an outcome is unknown then (APPR-6).
    """

    rules: tuple[Rule, ...] = ()
    otherwise: Effect = Effect.ASK
    default: Requirement = field(default_factory=Requirement)
    quiet: QuietHours | None = None
    delegations: tuple[Delegation, ...] = ()
    claim_within: timedelta = timedelta(minutes=10)
    outcome_within: timedelta = timedelta(minutes=10)


def judge_call(policy: "Policy", call: Call) -> Verdict:
    """What the policy says of a call; the first rule that fits decides (APPR-1).

    Args:
        policy: in force.
        call: with its parameters as they would run.
    """
    section = policy.approvals
    names = Names(call.parameters)
    for rule in section.rules:
        if rule.fits(call, names):
            if rule.effect is Effect.ALLOW:
                return Allow(rule=rule.name)
            if rule.effect is Effect.FORBID:
                return Forbid(rule=rule.name)
            return Ask(requirement=_of(call, rule.requirement))
    if section.otherwise is Effect.FORBID and call.system != ITSELF:
        return Forbid(rule="")
    return Ask(requirement=_of(call, section.default))


def _of(call: Call, requirement: Requirement) -> Requirement:
    """What this call needs: of drafts the separation of duties is a matter of its own."""
    if call.system != ITSELF:
        return requirement
    return replace(requirement, separate=requirement.separate_drafts)


def windows(policy: "Policy", requirement: Requirement) -> tuple[Window, ...]:
    """Where a requirement is shown, by the policy in force; what is not internal any more is left out (OUT-8)."""
    if requirement.shown is None:
        return tuple(
            Window(destination=place)
            for place, settings in policy.channels.items()
            if settings.reports and settings.audience.trusted
        )
    return tuple(window for window in requirement.shown if is_inside(policy, window))


def is_inside(policy: "Policy", window: Window) -> bool:
    """Whether a window is an internal channel, or the private chat with an operator."""
    if window.person is None:
        return policy.channel(window.destination).audience.trusted
    principal = policy.person(window.person)
    return principal is not None and principal.operator


def reminder_due(requirement: Requirement, quiet: QuietHours | None, *, last: datetime, now: datetime) -> bool:
    """Whether people are to be reminded now.

    Args:
        requirement: of the approval.
        quiet: hours of the policy.
        last: when it was shown, or when people were last reminded.
        now: aware.
    """
    if requirement.remind is None or now - last < requirement.remind:
        return False
    return requirement.urgent or quiet is None or not quiet.holds(now)


def escalation_due(requirement: Requirement, quiet: QuietHours | None, *, since: datetime, now: datetime) -> bool:
    """Whether others are to be asked now; ``since``: when it was proposed."""
    if requirement.escalate is None or now - since < requirement.escalate.after:
        return False
    return requirement.urgent or quiet is None or not quiet.holds(now)


def _named(patterns: tuple[str, ...], name: str, *, exact: bool) -> bool:
    """Whether one of the patterns fits. What only looks the same is asked about and forbidden alike, never allowed."""
    if not patterns or any(_pattern(pattern).fullmatch(name) for pattern in patterns):
        return True
    return not exact and any(_looks_like(pattern, name) for pattern in patterns)


def _looks_like(pattern: str, name: str) -> bool:
    return any(_pattern(one).fullmatch(other) for one, other in zip(readings(pattern), readings(name), strict=True))


def _pattern(pattern: str) -> re.Pattern[str]:
    """``*`` stands for any characters; everything else for itself."""
    return re.compile(".*".join(re.escape(piece) for piece in pattern.split("*")), re.DOTALL)
