"""The authorised record as it is written (AUTO-8).

In the policy file, in files of its own and in the answers of sources it looks the same::

    record:
      opening-hours: {text: "Mo to Fr, 9 to 18", expires_at: 2027-01-01T00:00:00Z}
      price-2026: {text: "480 EUR a seat", counterparties: [acme], classes: [prices]}
"""

import re
from collections.abc import Mapping
from typing import Annotated

from pydantic import AfterValidator, Field, WithJsonSchema

from policy.content import ContentClass
from policy.document_shape import Identifier, Moment, Shape, flaw
from policy.document_words import Class
from policy.record import Entry

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/-]{0,127}")
TEXT_LIMIT = 2_000
"""Characters of one entry: a fact, no document."""


def _entry_id(value: str) -> str:
    if not _ID.fullmatch(value):
        raise flaw(
            "this is no id of an entry",
            "take letters, digits and . _ : / -, 128 at most, a letter or digit first",
        )
    return value


def _words(value: str) -> str:
    if not value.strip():
        raise flaw("an entry that says nothing", "write what is so, in a sentence")
    if len(value) > TEXT_LIMIT:
        raise flaw(f"this is longer than {TEXT_LIMIT} characters", "write the fact alone, or make it several entries")
    return value.strip()


def _somebody(value: list[str]) -> list[str]:
    if not value:
        raise flaw("nobody may see this", "name counterparties, or leave the key out where everybody may")
    return value


EntryId = Annotated[
    str,
    AfterValidator(_entry_id),
    WithJsonSchema({"type": "string", "pattern": f"^{_ID.pattern}$"}),
]


class RecordEntry(Shape):
    """A fact that answers may rest on (AUTO-8)."""

    text: Annotated[str, AfterValidator(_words)] = Field(description="What is so; the agent gets it as data.")
    counterparties: Annotated[list[Identifier], AfterValidator(_somebody)] | None = Field(
        default=None, description="Ids of those that may see it; left out: everybody may."
    )
    expires_at: Moment | None = Field(
        default=None, description="It holds until then, such as 2027-01-01T00:00:00Z; left out: until it is removed."
    )
    classes: list[Class] = Field(
        default_factory=list, description="Classes of answers that it can be the source of; left out: any."
    )


def record_of(written: Mapping[str, RecordEntry]) -> dict[str, Entry]:
    """The entries by id."""
    return {
        name: Entry(
            id=name,
            text=entry.text,
            counterparties=None if entry.counterparties is None else frozenset(entry.counterparties),
            expires_at=entry.expires_at,
            classes=frozenset(map(ContentClass, entry.classes)),
        )
        for name, entry in written.items()
    }
