"""The statements of commands, compiled once. Each lists the order of its values after its name."""

from typing import Any, Final

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    and_,
    bindparam,
    delete,
    exists,
    literal_column,
    or_,
    select,
    update,
)

from bot.model.command import RunState
from bot.storage.compiled import compiled, fixed, insert
from bot.storage.schema import command_runs, command_slots, inbox, interactions


def _value(name: str) -> BindParameter[Any]:
    """A value that the caller gives."""
    return bindparam(name, required=False)


_FIRST: Final[ColumnElement[int]] = literal_column("0")
RUN: Final = tuple(column.name for column in command_runs.columns)
SLOT: Final = tuple(column.name for column in command_slots.columns)
_started: Final = and_(command_runs.c.closed_at.is_(None), command_runs.c.state == fixed(RunState.STARTED.value))

ADD_RUN: Final = compiled(
    insert(command_runs).values({name: _value(name) for name in RUN}).on_conflict_do_nothing(), *RUN
)
GET_RUN: Final = compiled(
    select(command_runs.c.state, command_runs.c.codes, command_runs.c.content).where(command_runs.c.id == _value("id")),
    "id",
)
END_RUN: Final = compiled(
    update(command_runs)
    .where(command_runs.c.id == _value("id"), _started)
    .values(state=_value("state"), codes=_value("codes"), closed_at=_value("closed_at")),
    "state",
    "codes",
    "closed_at",
    "id",
)
LOST: Final = compiled(
    select(command_runs.c.id, command_runs.c.command).where(_started, command_runs.c.started_at < _value("before")),
    "before",
)
KEEP: Final = compiled(
    insert(command_slots)
    .values({name: _value(name) for name in SLOT})
    .on_conflict_do_update(
        index_elements=["event_id", "slot"],
        set_={"command": literal_column("excluded.command"), "value": literal_column("excluded.value")},
    ),
    *SLOT,
)
SLOTS: Final = compiled(
    select(command_slots.c.slot, command_slots.c.command, command_slots.c.value).where(
        command_slots.c.event_id == _value("event")
    ),
    "event",
)
DROP_SLOTS: Final = compiled(delete(command_slots).where(command_slots.c.event_id == _value("event")), "event")
_goes_on: Final = exists().where(
    interactions.c.event_id == command_slots.c.event_id, interactions.c.closed_at.is_(None)
)
FORGET_SLOTS: Final = compiled(
    delete(command_slots).where(command_slots.c.event_id == _value("event"), ~_goes_on), "event"
)
_runs: Final = exists().where(inbox.c.id == command_slots.c.event_id, inbox.c.done_at.is_(None))
MISSED_SLOTS: Final = compiled(delete(command_slots).where(~or_(_goes_on, _runs)))
_ended_long_ago = (
    select(command_runs.c.id)
    .where(command_runs.c.closed_at < _value("before"))
    .order_by(command_runs.c.closed_at)
    .limit(_value("limit"))
    .offset(_FIRST)
)
OLD_RUNS: Final = compiled(_ended_long_ago, "before", "limit")
DROP_RUN: Final = compiled(delete(command_runs).where(command_runs.c.id == _value("id")), "id")
