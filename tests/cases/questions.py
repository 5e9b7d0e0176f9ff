"""Kinds about questions to people: schemas, links, buttons, approvals, and the words of a decision."""

from tests.cases.approving import sequence
from tests.cases.deciding import approval_text_table
from tests.cases.offered import render_buttons
from tests.cases.onelink import one_time_link
from tests.cases.schemas import schema_check

KINDS = {
    "approval_sequence": sequence,
    "approval_text_table": approval_text_table,
    "one_time_link": one_time_link,
    "render_buttons": render_buttons,
    "schema_check": schema_check,
}
