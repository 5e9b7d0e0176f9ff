"""The section ``approvals``: what its parts must hold together, and the values that rules read (APPR-1, APPR-8).

INVARIANT: who can't decide, and a place where outsiders read along, are refused at load; so is whatever would let a
call through that nobody meant to let through.
"""

from collections.abc import Iterator

from policy import approvals as values
from policy.approvals import ITSELF
from policy.conditions import Condition
from policy.destination import Destination
from policy.document_approvals import Approvals, Asking, Rule, Who
from policy.document_checks import an_operator, effective
from policy.document_model import Document
from policy.document_shape import Path, Report, nearest

_FIELDS = tuple(Asking.model_fields)
_DEFAULT = values.Requirement()


def check_approvals(document: Document, report: Report) -> None:
    """Report what can't hold together in the section."""
    section = document.approvals
    _asking(document, section.defaults, ("approvals", "defaults"), report)
    names: dict[str, int] = {}
    for number, rule in enumerate(section.rules):
        path: Path = ("approvals", "rules", number)
        first = names.setdefault(rule.name, number)
        if first != number:
            line = report.mark(("approvals", "rules", first, "name")).line
            report((*path, "name"), f"the rule in line {line} has this name already", "take another one")
        _rule(document, rule, path, report)
    quiet = section.quiet_hours
    if quiet is not None and quiet.since == quiet.to:
        report(
            ("approvals", "quiet_hours", "to"), "quiet hours end when they begin", "write another time, or remove them"
        )
    for number, delegation in enumerate(section.delegations):
        path = ("approvals", "delegations", number)
        for key, name in (("from", delegation.giver), ("to", delegation.to)):
            _operator(document, name, (*path, key), report)
        if delegation.giver == delegation.to:
            report((*path, "to"), "a right is lent to somebody else", "name another operator")
        if delegation.since is not None and delegation.since >= delegation.until:
            report((*path, "until"), "it is over before it begins", "write a later time")


def approvals_of(document: Document) -> values.Approvals:
    """The section as values, with defaults applied."""
    section = document.approvals
    default = values.Approvals()
    quiet = section.quiet_hours
    return values.Approvals(
        rules=tuple(
            values.Rule(
                name=rule.name,
                effect=values.Effect(rule.then),
                tools=tuple(rule.tools),
                systems=tuple(rule.systems),
                agents=tuple(rule.agents),
                when=tuple(Condition(expression=one) for one in rule.when),
                requirement=_requirement(document, rule, section, name=rule.name),
            )
            for rule in section.rules
        ),
        otherwise=values.Effect(section.otherwise or default.otherwise),
        default=_requirement(document, section.defaults, section, name=""),
        quiet=None
        if quiet is None
        else values.QuietHours(
            since=quiet.since, until=quiet.to, timezone=quiet.timezone or document.defaults.timezone or "UTC"
        ),
        delegations=tuple(
            values.Delegation(giver=one.giver, taker=one.to, since=one.since, until=one.until)
            for one in section.delegations
        ),
        claim_within=section.claim_within or default.claim_within,
        outcome_within=section.outcome_within or default.outcome_within,
    )


def _requirement(document: Document, asking: Asking, section: Approvals, *, name: str) -> values.Requirement:
    whole = _whole(asking, section)
    escalate = whole.escalate
    return values.Requirement(
        rule=name,
        who=_who(document, whole.who),
        quorum=whole.quorum or _DEFAULT.quorum,
        separate=_DEFAULT.separate if whole.separate is None else whole.separate,
        separate_drafts=isinstance(asking, Rule) and ITSELF in asking.systems and asking.separate is True,
        shown=None if whole.shown is None else tuple(_window(document, place) for place in whole.shown),
        ttl=whole.ttl or _DEFAULT.ttl,
        high=whole.assurance == "high",
        remind=whole.remind,
        escalate=None
        if escalate is None
        else values.Escalation(
            after=escalate.after,
            who=_who(document, escalate.who),
            shown=tuple(_window(document, place) for place in escalate.shown),
        ),
        urgent=bool(whole.urgent),
    )


def _whole(asking: Asking, section: Approvals) -> Asking:
    """What is said, and what the defaults say where it is silent."""
    said = {name: value for name in _FIELDS if (value := getattr(asking, name)) is not None}
    return section.defaults.model_copy(update=said)


def _who(document: Document, who: Who | None) -> frozenset[str] | None:
    if who is None:
        return None
    members = {member for group in who.groups for member in document.approvers.groups.get(group, ())}
    return frozenset(who.people) | members


def _window(document: Document, place: Destination) -> values.Window:
    return values.Window(destination=place, person=_other_side(document, place))


def _other_side(document: Document, place: Destination) -> str | None:
    """The account of the operator whose private chat it is; None: it is none that can be told by its id.

    In Telegram the id of a private chat is the number of its person.
    """
    account = f"telegram:{place.channel}"
    if place.platform != "telegram" or place.channel.startswith("-") or place.thread is not None:
        return None
    for name in document.operators:
        person = document.people.get(name)
        if person is not None and account in person.accounts:
            return account
    return None


def _rule(document: Document, rule: Rule, path: Path, report: Report) -> None:
    if rule.then == "ask":
        _asking(document, rule, path, report)
    else:
        for name in _FIELDS:
            if name in rule.model_fields_set:
                report(
                    (*path, name),
                    f"a rule with then: {rule.then} asks nobody",
                    "remove it, or write then: ask",
                    key=True,
                )
    if rule.then == "allow":
        if not (rule.tools or rule.systems or rule.agents or rule.when):
            report((*path, "then"), "this would allow every call", "name the tools that need nobody")
        if ITSELF in rule.systems:
            report((*path, "systems"), "a draft always needs somebody (AUTO-2)", "write then: ask, or remove it")


def _asking(document: Document, asking: Asking, path: Path, report: Report) -> None:
    """What an approval needs, with what the defaults say where it is silent."""
    for key, who in _whos(asking):
        _people(document, who, (*path, *key), report)
    for key, place in _places(asking):
        if not _is_inside(document, place):
            report(
                (*path, *key),
                "approvals are shown inside only (OUT-8)",
                "name a channel of this file with audience: internal, or an operator's private chat",
            )
    if asking.shown == []:
        report((*path, "shown"), "nobody would see it", "name a channel, or remove it")
    whole = _whole(asking, document.approvals)
    quorum, named = whole.quorum or _DEFAULT.quorum, _who(document, whole.who)
    able = set(document.operators) if named is None else named & set(document.operators)
    if {"quorum", "who"} & asking.model_fields_set and len(able) < quorum:
        at = "quorum" if asking.quorum is not None else "who"
        report((*path, at), f"{quorum} must agree, and {len(able)} may decide", "name more people, or a smaller quorum")
    if asking.escalate is not None and asking.escalate.after >= (whole.ttl or _DEFAULT.ttl):
        report((*path, "escalate", "after"), "it has expired by then", "write a time shorter than ttl")


def _whos(asking: Asking) -> Iterator[tuple[Path, Who]]:
    if asking.who is not None:
        yield ("who",), asking.who
    if asking.escalate is not None and asking.escalate.who is not None:
        yield ("escalate", "who"), asking.escalate.who


def _places(asking: Asking) -> Iterator[tuple[Path, Destination]]:
    for number, place in enumerate(asking.shown or ()):
        yield ("shown", number), place
    if asking.escalate is not None:
        for number, place in enumerate(asking.escalate.shown):
            yield ("escalate", "shown", number), place


def _people(document: Document, who: Who, path: Path, report: Report) -> None:
    for number, name in enumerate(who.people):
        _operator(document, name, (*path, "people", number), report)
    for number, group in enumerate(who.groups):
        if group not in document.approvers.groups:
            mend = nearest(group, document.approvers.groups)
            report((*path, "groups", number), "this group is not listed under approvers", mend)
    if not (who.people or who.groups):
        report(path, "nobody could decide", "name people or groups", key=True)


def _operator(document: Document, name: str, path: Path, report: Report) -> None:
    if name not in document.operators:
        report(path, "an approver is an operator", an_operator(document))


def _is_inside(document: Document, place: Destination) -> bool:
    if _other_side(document, place) is not None:
        return True
    listed = place if place in document.channels else place.room
    return listed in document.channels and effective(document, listed).audience == "internal"
