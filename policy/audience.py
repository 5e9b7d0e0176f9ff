"""Who reads along at a destination (IDENT-2, IDENT-3, OUT-5).

INVARIANT: trust comes from the operator's file alone. A one-to-one chat is external unless its person is a listed
operator; a channel is what the file says; everything else is unknown.
"""

from dataclasses import replace

from policy.decision import Audience, OutputClass
from policy.destination import Destination
from policy.event import Chat
from policy.ruleset import ChannelPolicy, Policy


def audience_of(policy: Policy, destination: Destination, *, chat: Chat, person: str | None) -> Audience:
    """The audience at a destination, by the policy in force now.

    Args:
        policy: in force.
        destination: where something is read.
        chat: kind of place, by the platform's facts.
        person: in a one-to-one chat the account of the other side.
    """
    if chat is Chat.DIRECT:
        principal = policy.person(person)
        return Audience.OPERATOR if principal is not None and principal.operator else Audience.EXTERNAL
    if chat is Chat.GROUP:
        return policy.channel(destination).audience
    return Audience.UNKNOWN


def settings_of(policy: Policy, destination: Destination, *, chat: Chat, person: str | None) -> ChannelPolicy:
    """The settings that hold at a destination; in a one-to-one chat audience and counterparty are its person's."""
    if chat is Chat.DIRECT:
        audience = audience_of(policy, destination, chat=chat, person=person)
        settings = policy.direct
        principal = policy.person(person)
        counterparty = None if principal is None else principal.counterparty
        if settings.audience is audience and settings.counterparty == counterparty:
            return settings
        return replace(settings, audience=audience, progress=audience.trusted, counterparty=counterparty)
    return policy.channel(destination)


def output_class_of(audience: Audience) -> OutputClass:
    """What may leave for an audience at most (OUT-3)."""
    return OutputClass.OPERATIONAL if audience.trusted else OutputClass.BUSINESS
