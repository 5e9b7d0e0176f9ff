"""The table of states is what the documentation shows, and every state is reached and left as the contract says."""

from pathlib import Path

import pytest

from bot.approvals.states import TABLE, TransitionError, after
from bot.model.approval import ITSELF, ApprovalState
from bot.storage.states import mermaid
from policy import approvals as rules

DOCS = Path(__file__).parents[3] / "docs" / "approvals.md"


def test_the_documentation_shows_the_table():
    table = {step: frozenset({state}) for step, state in TABLE.items()}
    assert mermaid(table, ApprovalState.PROPOSED) in DOCS.read_text()


@pytest.mark.rule("APPR-4")
@pytest.mark.parametrize("state", list(ApprovalState))
def test_what_is_not_in_the_table_is_an_error(state):
    verbs = {verb for _, verb in TABLE}
    for verb in verbs:
        if (state, verb) in TABLE:
            assert after(state, verb) is TABLE[state, verb]
        else:
            with pytest.raises(TransitionError):
                after(state, verb)
    assert state.closed is not any((state, verb) in TABLE for verb in verbs)


def test_the_policy_and_the_gateway_call_drafts_by_the_same_system():
    assert rules.ITSELF == ITSELF
