"""Whose invites the bot follows (IDENT-5).

To join a channel is an action, so it is decided by who invites and where to, and by nothing else: not by names, titles
or the platform's own idea of who may invite. What is not accepted is left alone, or declined where the policy says so.
"""

from policy.event import Chat, Event, Origin
from policy.reasons import Reason
from policy.ruleset import Access, ChannelPolicy, Person, Policy


def answer(policy: Policy, event: Event, settings: ChannelPolicy, person: Person | None) -> Reason:
    """Whether an invite is accepted.

    Args:
        policy: in force.
        event: of ``Kind.INVITE``; its sender is the inviter.
        settings: that hold at the place.
        person: the inviter, if the policy knows them.
    """
    if event.origin is Origin.HUMAN and event.sender not in policy.bots and _welcome(policy, event, settings, person):
        return Reason.INVITE_ACCEPTED
    return Reason.INVITE_DECLINED if policy.invites.decline else Reason.INVITE_NOT_AUTHORISED


def direct_access(policy: Policy, settings: ChannelPolicy, person: Person | None) -> Access:
    """Access of a person in a one-to-one chat."""
    if settings.access is Access.DENY:
        return Access.DENY
    if person is None:
        return policy.strangers
    if person.operator or person.access is Access.ALLOW:
        return Access.ALLOW
    return policy.strangers


def _welcome(policy: Policy, event: Event, settings: ChannelPolicy, person: Person | None) -> bool:
    if person is not None and person.access is Access.DENY:
        return False
    if event.chat is Chat.DIRECT:
        return direct_access(policy, settings, person) is Access.ALLOW
    if settings.access is Access.DENY:
        return False
    if settings.access is Access.ALLOW and policy.invites.listed_rooms:
        return True
    return person is not None and (person.operator or person.id in policy.invites.inviters)
