"""A conversation: a destination and a principal (CLAR-1).

A person whom the policy knows under several accounts is one principal; a stranger is their account. Whoever has no
account (PART-16) can't be told from others of the kind, and has no conversation.
"""

from policy.destination import Destination
from policy.ruleset import Policy


def conversation_of(policy: Policy, destination: Destination, account: str | None) -> str | None:
    """The conversation of a message, as one opaque key.

    Args:
        policy: in force now.
        destination: where it was written.
        account: of whoever wrote it, authenticated by the channel.
    """
    if account is None:
        return None
    person = policy.person(account)
    principal = f"account {account}" if person is None else f"person {person.id}"
    return f"{destination}\n{principal}"
