"""What other rooms need of the authorised record (AUTO-8)."""

from collections.abc import Mapping
from typing import Protocol

from policy.record import Entry


class AuthorisedRecord(Protocol):
    """The facts that may be said, as they stand now."""

    def entries(self) -> Mapping[str, Entry]:
        """By id; what can't be vouched for now (its source is away for too long, its id is ambiguous) is not there."""
        ...
