"""The errors of the forms package.

FormError
├── CardError     a card that no channel could show                       (card)
└── SchemaError   a schema that nobody could answer, or that is not taken
"""

from dataclasses import dataclass


class FormError(Exception):
    """Root of what this package raises."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SchemaProblem:
    """One reason why a schema is refused. ``path`` is a JSON pointer into the schema as it was sent; "" is its root."""

    path: str
    code: str
    detail: str = ""


class SchemaError(FormError):
    """The schema is refused; the text names every place and reason."""

    def __init__(self, problems: tuple[SchemaProblem, ...]) -> None:
        self.problems = problems
        super().__init__(
            "; ".join(f"{p.path or '/'}: {p.code}{f' ({p.detail})' if p.detail else ''}" for p in problems)
        )
