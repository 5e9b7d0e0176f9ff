"""Kinds ``form_reply_table`` and ``form_reply``: a schema, what a person typed under the question, and what it means.

A row says the value, or the code of an error ("code" or "code:field"), and what else is right: ``accept_value``,
``accept_error`` (true: any error; a code or several: these). Both at once means a partly wrong reply whose right values
are kept. A schema that the contract refuses (FORM-1: fields stand side by side, none inside another) is right to be
refused at once, if the refusal names the place, and wrong to be refused anywhere else.
"""

from collections.abc import Iterable, Mapping
from datetime import date, datetime
from pathlib import Path
from typing import Any

from forms.bounds import same
from forms.errors import SchemaError
from forms.field import Form
from forms.replies import Reply, read_reply
from forms.schema import read_form
from forms.values import Locale
from tests.cases.result import Failed, NotRun, check

TODAY = date(2026, 2, 16)
_PLACES = ("today", "now", "date")
_ERRORS = {"error", "errors", "invalid", "ask", "asked", "asked_back", "rejected", "refused"}


async def reply_table(case: dict[str, Any], folder: Path) -> None:
    """Every row of the table; all that fail are named."""
    given = case["input"]
    form = _form(given["schema"])
    failed: list[str] = []
    for row in given["rows"] if form else []:
        wrong = _judged(row, _read(form, row["reply"], {**given.get("context", {}), **row}, row), row)
        failed += [f"{row['reply']!r}: {wrong}"] if wrong else []
    check(not failed, "every row as written", "; ".join(failed))


async def reply(case: dict[str, Any], folder: Path) -> None:
    """One reply."""
    given, expected = case["input"], case["expected"]
    if "reply" not in given:
        raise NotRun("the case has no reply")
    form = _form(given["schema"])
    if form is None:
        return
    row = dict(expected)
    if expected.get("result") in _ERRORS and not row.keys() & {"error", "errors", "accept_value"}:
        row.setdefault("accept_error", True)
    if not row.keys() & {"value", "values", "error", "errors", "accept_error", "accept_value"}:
        raise NotRun(f"the result {expected.get('result')!r} says no value and no error")
    wrong = _judged(row, _read(form, given["reply"], given.get("context", {}), given), row)
    check(not wrong, str({**row}), wrong)


def _form(schema: Any) -> Form | None:
    try:
        return read_form(schema)
    except SchemaError as refused:
        for problem in refused.problems:
            if not _nested(schema, problem.path):
                raise Failed(f"expected a form, the schema was refused: {refused}") from None
        return None


def _nested(schema: Any, path: str) -> bool:
    """Whether there is a field with fields inside it at the place, or around it."""
    place, steps = schema, [step.replace("~1", "/").replace("~0", "~") for step in path.split("/")[1:]]
    for depth, step in enumerate(steps):
        place = place[int(step)] if isinstance(place, list) else place[step]
        if depth and isinstance(place, dict) and (place.get("type") == "object" or "properties" in place):
            return True
    return False


def _read(form: Form, text: str, context: Mapping[str, Any], row: Mapping[str, Any]) -> Reply:
    told = next((context[name] for name in _PLACES if context.get(name)), None)
    today = datetime.fromisoformat(told).date() if isinstance(told, str) else TODAY
    locale = Locale(language=context.get("locale") or "", timezone=context.get("timezone") or "")
    kept = row.get("kept_before") or row.get("previous") or context.get("previous") or {}
    return read_reply(form, text, locale=locale, today=today, kept=kept if isinstance(kept, dict) else {})


def _judged(row: Mapping[str, Any], got: Reply, expected: Mapping[str, Any]) -> str:
    """What is not as expected, or nothing."""
    codes = [error.code for error in got.errors]
    named = [f"{error.code}:{error.field}" for error in got.errors]
    found = f"{dict(got.values)} {named}" if got.errors else str(dict(got.values))
    if not got.errors:
        right = [row[name] for name in ("value", "values", "accept_value") if name in row and not _wanted(row)]
        right += [row["accept_value"]] if "accept_value" in row and _wanted(row) else []
        return "" if any(same(dict(got.values), value) for value in right) else f"got {found}"
    accepted = row.get("accept_error")
    if accepted is True or (accepted and any(_meets(code, codes, named) for code in _several(accepted))):
        return ""
    wanted = _wanted(row)
    if not wanted or not all(_meets(code, codes, named) for code in wanted):
        return f"got {found}"
    kept = next((row[name] for name in ("kept", "values", "value") if name in row), None)
    return "" if not isinstance(kept, dict) or same(dict(got.values), kept) else f"kept {dict(got.values)}"


def _wanted(row: Mapping[str, Any]) -> list[str]:
    return [*_several(row.get("error")), *_several(row.get("errors"))]


def _several(codes: Any) -> list[str]:
    if isinstance(codes, Mapping):  # by field
        return [f"{code}:{field}" for field, code in codes.items()]
    if isinstance(codes, str):
        return [codes]
    return [code for code in codes if isinstance(code, str)] if isinstance(codes, Iterable) else []


def _meets(wanted: str, codes: list[str], named: list[str]) -> bool:
    """A code, with its field where one is said; "ambiguous" is said of dates, numbers, times and choices alike."""
    code, _, field = wanted.partition(":")
    for got_code, got in zip(codes, named, strict=True):
        family = code.startswith("ambiguous") and got_code.startswith("ambiguous")
        if (
            got == wanted
            or (not field and got_code == code)
            or (family and (not field or got == f"{got_code}:{field}"))
        ):
            return True
    return False


KINDS = {"form_reply_table": reply_table, "form_reply": reply}
