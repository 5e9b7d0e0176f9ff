"""The section ``approvals`` of the policy file as it is written (APPR-1, APPR-8): what a single value may be."""

import re
from datetime import time, timedelta
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, PlainValidator, WithJsonSchema

from policy.conditions import ConditionError, check_expression
from policy.destination import Destination, MalformedDestinationError, parse_destination
from policy.document_shape import Duration, Identifier, Moment, Shape, flaw
from policy.document_words import Timezone

TTL_LEAST = timedelta(minutes=1)
TTL_LONGEST = timedelta(days=30)


def _approver(value: object) -> str:
    if isinstance(value, int) or (isinstance(value, str) and re.fullmatch(r"(\w+:)?-?[0-9]+", value)):
        raise flaw(
            "a chat or an account decides nothing, a person does",
            "name an operator by their id of this file, or a group of approvers",
        )
    if not isinstance(value, str) or not re.fullmatch(r"[a-z][a-z0-9_-]{0,63}", value):
        raise flaw("an approver is an operator", "write the id under which this file lists the person")
    return value


def _window(value: object) -> Destination:
    try:
        return parse_destination(value if isinstance(value, str) else "")
    except MalformedDestinationError as error:
        raise flaw("this is no complete destination", f"{error}; an @name or a title never stands for an id") from None


def _pattern(value: str) -> str:
    if not value or value != value.strip() or len(value) > 200:
        raise flaw("this is no name", "write the name as the agent sends it, with * for any characters")
    return value


def _expression(value: str) -> str:
    try:
        check_expression(value)
    except ConditionError as error:
        raise flaw(
            f"this is no JMESPath expression: {error}",
            "write a comparison such as amount <= `100`, with numbers in backticks and texts in single quotes",
        ) from None
    return value


def _time_of_day(value: object) -> time:
    found = re.fullmatch(r"([01][0-9]|2[0-3]):([0-5][0-9])", value) if isinstance(value, str) else None
    if found is None:
        raise flaw("this is no time of day", 'write it in quotes such as "22:00"')
    return time(int(found[1]), int(found[2]))


def _positive(value: timedelta) -> timedelta:
    if not value:
        raise flaw("this is no time at all", "write a number with its unit, such as 15m")
    return value


def _ttl(value: timedelta) -> timedelta:
    if not TTL_LEAST <= value <= TTL_LONGEST:
        raise flaw("an approval waits from 1m to 30d", "write a time within these bounds")
    return value


_NAME = {"type": "string", "pattern": "^[a-z][a-z0-9_-]{0,63}$"}
Approver = Annotated[str, PlainValidator(_approver), WithJsonSchema(_NAME)]
WindowPlace = Annotated[
    Destination,
    PlainValidator(_window),
    WithJsonSchema({"type": "string", "pattern": "^(telegram|matrix|web):.+:.+"}),
]
Pattern = Annotated[str, AfterValidator(_pattern)]
Expression = Annotated[str, AfterValidator(_expression)]
TimeOfDay = Annotated[
    time,
    PlainValidator(_time_of_day),
    WithJsonSchema({"type": "string", "pattern": "^([01][0-9]|2[0-3]):[0-5][0-9]$"}),
]
Positive = Annotated[Duration, AfterValidator(_positive)]
Ttl = Annotated[Duration, AfterValidator(_ttl)]


class Who(Shape):
    """Who may decide: all of these together."""

    people: list[Approver] = Field(default_factory=list, description="Ids of operators.")
    groups: list[Identifier] = Field(default_factory=list, description="Names of groups under approvers.")


class Escalate(Shape):
    """Others are asked, too, when nobody has decided in time."""

    after: Positive = Field(description="Time since the proposal.")
    who: Who | None = Field(default=None, description="May decide then, too (default every operator).")
    shown: list[WindowPlace] = Field(
        default_factory=list, description="Where it is shown then, too: internal channels, or operators' private chats."
    )


class Asking(Shape):
    """What an approval needs."""

    who: Who | None = Field(default=None, description="Who may decide (default every operator).")
    quorum: Annotated[int, Field(ge=1, le=20)] | None = Field(
        default=None, description="How many must agree (default 1). One that denies is enough to deny."
    )
    separate: bool | None = Field(
        default=None,
        description="Who made the request can't approve it (APPR-8, default true). Of drafts only where a rule that"
        " names systems: [discreet] says true.",
    )
    shown: list[WindowPlace] | None = Field(
        default=None,
        description="Internal channels, or operators' private chats (default: the channels with reports: true).",
    )
    ttl: Ttl | None = Field(default=None, description="It expires after this time (default 24h).")
    assurance: Literal["normal", "high"] | None = Field(
        default=None, description="high: with a passkey (APPR-9, default normal)."
    )
    remind: Positive | None = Field(default=None, description="People are reminded whenever this time is over.")
    urgent: bool | None = Field(
        default=None, description="Reminders and escalations don't wait for the end of quiet hours (default false)."
    )
    escalate: Escalate | None = Field(default=None, description="When others are asked, too.")


class Rule(Asking):
    """One rule. What it does not name fits everything."""

    name: Identifier = Field(description="For people and the record.")
    tools: list[Pattern] = Field(default_factory=list, description="Names of actions; * stands for any characters.")
    systems: list[Pattern] = Field(default_factory=list, description="Names of systems, likewise.")
    agents: list[Pattern] = Field(default_factory=list, description="Names of agents, likewise.")
    when: list[Expression] = Field(
        default_factory=list,
        description="JMESPath expressions on the parameters, all of which must be true; what can't be told fits a rule"
        " that asks or forbids, and none that allows.",
    )
    then: Literal["allow", "ask", "forbid"] = Field(description="What it says of the call.")


class QuietHours(Shape):
    """Hours without reminders; cards are shown all the same."""

    since: TimeOfDay = Field(alias="from", description="Local time, such as 22:00.")
    to: TimeOfDay = Field(description="Local time, such as 07:00.")
    timezone: Timezone | None = Field(default=None, description="IANA name (default that of defaults).")


class Delegation(Shape):
    """One operator decides in the name of another for a time."""

    giver: Approver = Field(alias="from", description="Id of whose right it is.")
    to: Approver = Field(description="Id of who uses it.")
    since: Moment | None = Field(default=None, description="With its offset.")
    until: Moment = Field(description="With its offset, such as 2026-12-31T18:00:00+01:00.")


class Approvals(Shape):
    """Which calls of agents need nobody, which need an approval, and which are forbidden (APPR-1)."""

    rules: list[Rule] = Field(default_factory=list, description="In order: the first that fits decides.")
    otherwise: Literal["ask", "forbid"] | None = Field(
        default=None, description="Where none fits (default ask). Nothing is allowed that no rule allows."
    )
    defaults: Asking = Field(default_factory=Asking, description="What an approval needs where its rule doesn't say.")
    quiet_hours: QuietHours | None = Field(default=None, description="Hours without reminders.")
    delegations: list[Delegation] = Field(default_factory=list, description="Rights lent for a time (APPR-8).")
    claim_within: Positive | None = Field(
        default=None, description="An approved call that is not claimed by then expires (APPR-5, default 10m)."
    )
    outcome_within: Positive | None = Field(
        default=None, description="A claimed call without an outcome is unknown then (APPR-6, default 10m)."
    )
