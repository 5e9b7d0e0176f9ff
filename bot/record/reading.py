"""A source of the record as it is written: the same entries as in the policy, in a YAML file or as JSON (AUTO-8).

    version: 1
    record:
      opening-hours: {text: "Mo to Fr, 9 to 18", expires_at: 2027-01-01T00:00:00Z}

INVARIANT: a problem says where and what to write instead, and never quotes what an entry says.
"""

from collections.abc import Mapping
from typing import Final, Literal

import orjson
from pydantic import Field, ValidationError
from pydantic_core import ErrorDetails

from bot.config.errors import DiscreetError
from policy.document_record import EntryId, RecordEntry, record_of
from policy.document_shape import Shape, fit
from policy.record import Entry
from policy.tree import DocumentError, dotted

MOST: Final = 1_000
"""Entries of one source."""


class RecordFile(Shape):
    """A source of the authorised record."""

    version: Literal[1]
    record: dict[EntryId, RecordEntry] = Field(default_factory=dict, max_length=MOST)


class RecordError(DiscreetError):
    """What an address says can't hold.

    Attributes:
        places: where, for the log.
    """

    def __init__(self, text: str, *, places: str) -> None:
        super().__init__(text)
        self.places = places


def read_yaml(text: str, *, source: str, environment: Mapping[str, str]) -> dict[str, Entry]:
    """The entries of a file, by id.

    Args:
        text: of the file.
        source: its name, for problems.
        environment: what ``${NAME}`` stands for.

    Raises:
        DocumentError: it can't hold; with every problem that was found.
    """
    document, report = fit(RecordFile, text, source=source, environment=environment)
    if document is None or report.problems:
        raise DocumentError(report.problems)
    return record_of(document.record)


def read_json(content: bytes, *, source: str) -> dict[str, Entry]:
    """The entries of an answer, by id.

    Args:
        content: JSON, as the file has it in YAML.
        source: its name, for problems.

    Raises:
        RecordError: it can't hold; with every problem that was found.
    """
    try:
        document = RecordFile.model_validate(orjson.loads(content))
    except orjson.JSONDecodeError as error:
        where = f"{source}:{error.lineno}:{error.colno}"
        raise RecordError(f"{where}: this is no JSON", places=where) from None
    except ValidationError as error:
        found = [
            (dotted(tuple(step for step in detail["loc"] if step != "[key]")), _said(detail))
            for detail in error.errors(include_url=False, include_input=False)
        ]
    else:
        return record_of(document.record)
    text = "\n".join(f"{source}, {place or 'at the top'}: {said}" for place, said in found)
    raise RecordError(text, places=f"{source}, {len(found)} places")


def _said(detail: ErrorDetails) -> str:
    if detail["type"] == "flaw":
        message, mend = str(detail["ctx"]["message"]), str(detail["ctx"]["mend"])
        return f"{message}. {mend[:1].upper()}{mend[1:]}"
    return detail["msg"].replace("Input should", "this should")
