"""What may become of a row of the inbox and a part of the outbox. What is not listed is an error.

The UPDATE itself compares: its WHERE holds the states from which the verb leads to the new one, so a row that is
elsewhere is not touched and the caller gets a :class:`bot.model.errors.StoreError`.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final, TypeVar

from bot.ports.store import InboxState, OutboxState

State = TypeVar("State", bound=StrEnum)
Table = Mapping[tuple[State, str], frozenset[State]]

INBOX: Final[Table[InboxState]] = {
    (InboxState.NEW, "decide"): frozenset(
        {InboxState.DEFERRED, InboxState.DECIDED, InboxState.DONE, InboxState.SET_ASIDE},
    ),
    (InboxState.DEFERRED, "settle"): frozenset({InboxState.DECIDED, InboxState.DONE}),
    (InboxState.DEFERRED, "withdraw"): frozenset({InboxState.DONE}),
    (InboxState.DECIDED, "withdraw"): frozenset({InboxState.DONE}),
    (InboxState.DECIDED, "finish"): frozenset({InboxState.DONE}),
}

OUTBOX: Final[Table[OutboxState]] = {
    (OutboxState.READY, "begin"): frozenset({OutboxState.SENDING}),
    (OutboxState.READY, "replace"): frozenset({OutboxState.READY}),
    (OutboxState.READY, "end"): frozenset({OutboxState.SKIPPED, OutboxState.REJECTED, OutboxState.RETRACTED}),
    (OutboxState.SENDING, "postpone"): frozenset({OutboxState.READY}),
    (OutboxState.SENDING, "replace"): frozenset({OutboxState.READY}),
    (OutboxState.SENDING, "end"): frozenset({OutboxState.DELIVERED, OutboxState.REJECTED, OutboxState.UNKNOWN}),
    (OutboxState.SENDING, "recover"): frozenset({OutboxState.UNKNOWN, OutboxState.READY}),
}


def sources(table: Table[State], verb: str, target: State) -> list[State]:
    """The states from which ``verb`` leads to ``target``; empty where it never does."""
    return [state for (state, name), targets in table.items() if name == verb and target in targets]


def mermaid(table: Table[State], first: State) -> str:
    """The table as a Mermaid state diagram, for the documentation."""
    lines = ["stateDiagram-v2", f"    [*] --> {first}"]
    lines += [
        f"    {state} --> {target}: {verb}" for (state, verb), targets in table.items() for target in sorted(targets)
    ]
    left = {state for state, _ in table}
    ends = sorted({target for targets in table.values() for target in targets} - left)
    lines += [f"    {state} --> [*]" for state in ends]
    return "\n".join(lines)
