"""Who may decide, and whose voices count (APPR-8): by the policy in force now, and by the account alone (IDENT-1).

Named is who stands in the requirement, or has a delegation of somebody who does. A delegation is not passed on. One
person has one voice, and one right is used once: whoever delegated it can't use it again.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from policy.approvals import Requirement
from policy.ruleset import Access, Person, Policy


class Bar(StrEnum):
    """Why somebody may not decide."""

    STRANGER = "stranger"  # no operator
    NOT_NAMED = "not_named"  # an operator, but others have to decide
    REQUESTER = "requester"  # it is their own request
    VOTED = "voted"  # they have agreed already


@dataclass(frozen=True, kw_only=True, slots=True)
class Voice:
    """Somebody who agreed, or may decide.

    Attributes:
        person: their id.
        for_whom: id of whoever delegated it to them; empty: it is their own right.
    """

    person: str
    for_whom: str = ""

    @property
    def right(self) -> str:
        """Whose right is used."""
        return self.for_whom or self.person


def entitled(
    policy: Policy,
    requirement: Requirement,
    account: str,
    *,
    requester: str | None,
    voices: Iterable[Voice],
    approving: bool,
    now: datetime,
) -> Voice | Bar:
    """Whether a person may decide now, and in whose name.

    Args:
        policy: in force.
        requirement: of the approval.
        account: of the person, as the platform authenticated it.
        requester: account of whoever made the request; None: nobody did.
        voices: of those who have agreed to this version.
        approving: they would agree; to deny or to return it needs no other person than the requester.
        now: aware.
    """
    person = policy.person(account)
    if person is None or not _trusted(person):
        return Bar.STRANGER
    rights = [
        person.id,
        *(one.giver for one in policy.approvals.delegations if one.taker == person.id and one.holds(now)),
    ]
    named = [right for right in rights if _named(policy, requirement, right)]
    if not named:
        return Bar.NOT_NAMED
    if approving:
        own = _requester(policy, requester)
        if requirement.separate and own is not None:
            named = [] if own == person.id else [right for right in named if right != own]
            if not named:
                return Bar.REQUESTER
        heard = list(voices)
        used = {voice.right for voice in heard}
        named = [right for right in named if right not in used]
        if not named or person.id in {voice.person for voice in heard}:
            return Bar.VOTED
    right = named[0]
    return Voice(person=person.id, for_whom="" if right == person.id else right)


def still_entitled(
    policy: Policy,
    requirement: Requirement,
    voice: Voice,
    account: str | None,
    *,
    requester: str | None,
    at: datetime,
) -> bool:
    """Whether somebody who agreed at a moment could have done so by the policy that is in force now (APPR-5).

    A delegation whose time is over since does not void what was decided while it lasted; one that was taken away does.
    """
    person = policy.person(account)
    if person is None or person.id != voice.person or not _trusted(person):
        return False
    if not _named(policy, requirement, voice.right):
        return False
    own = _requester(policy, requester)
    if requirement.separate and own in (voice.person, voice.right):
        return False
    return not voice.for_whom or any(
        one.giver == voice.for_whom and one.taker == voice.person and one.holds(at)
        for one in policy.approvals.delegations
    )


def counted(voices: Iterable[Voice]) -> int:
    """How many agree: one for each person, and one for each right."""
    people: set[str] = set()
    rights: set[str] = set()
    for voice in voices:
        if voice.person not in people and voice.right not in rights:
            people.add(voice.person)
            rights.add(voice.right)
    return len(people)


def _trusted(person: Person) -> bool:
    return person.operator and person.access is not Access.DENY


def _named(policy: Policy, requirement: Requirement, right: str) -> bool:
    """Whether an operator is among those who may decide."""
    if right not in policy.operators:
        return False
    return requirement.who is None or right in requirement.who


def _requester(policy: Policy, account: str | None) -> str | None:
    """The id of the requester; who is not in the policy can't be an approver."""
    person = policy.person(account)
    return None if person is None else person.id
