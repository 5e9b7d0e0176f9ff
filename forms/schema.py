"""From an agent's JSON Schema to a form (FORM-1, FORM-13)."""

from forms.errors import SchemaError, SchemaProblem
from forms.field import Field, FieldKind, Form, Option

__all__ = ["Field", "FieldKind", "Form", "Option", "SchemaError", "SchemaProblem", "read_form"]


def read_form(schema: object) -> Form:
    """The form that the schema describes.

    Raises:
        SchemaError: with every problem's JSON pointer, code and detail.
    """
    from forms.form import read  # late: it brings the validator and RE2, 60 ms

    return read(schema)
