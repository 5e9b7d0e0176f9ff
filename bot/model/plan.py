"""A plan: tasks with slots, and which of them depends on which (CLAR-5). Values in, values out.

A patch fills one slot of one task. The task is prepared again, and every task that depends on it, however far away, is
invalid: what was chosen there was chosen on other grounds, so its slots are empty again.

    waiting  a slot is empty
    ready    nothing is missing
    invalid  what it rests on has changed, and its agent has not looked at it since
    done     its agent says so

INVARIANT: a plan has no cycle, and every name in it fits in a line; whatever comes from an agent goes through
:func:`read_plan`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Final

from bot.model.errors import InteractionError

MAX_TASKS: Final = 50
MAX_SLOTS: Final = 20
"""Of one task."""
MAX_DEPENDENCIES: Final = 200
"""In all."""
MAX_GOAL: Final = 500
MAX_VALUE: Final = 2_000
"""Characters of what stands in a slot."""
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.\-]{0,63}")
_PLAN_FIELDS: Final = frozenset({"tasks"})
_TASK_FIELDS: Final = frozenset({"goal", "slots", "depends_on", "state"})

Problem = tuple[str, str, str]
"""JSON pointer, code, detail."""


class TaskState(StrEnum):
    """How a task stands."""

    READY = "ready"
    WAITING = "waiting"
    INVALID = "invalid"
    DONE = "done"


@dataclass(frozen=True, kw_only=True, slots=True)
class Task:
    """Attributes: depends_on: ids of tasks that come before it. slots: by name, None where it is empty."""

    goal: str = field(default="", repr=False)
    slots: Mapping[str, str | None] = field(default_factory=dict, repr=False)
    depends_on: tuple[str, ...] = ()
    state: TaskState = TaskState.WAITING


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """Tasks by id, in the order in which the agent named them."""

    tasks: Mapping[str, Task]

    def is_empty(self, task: str, slot: str) -> bool:
        """Whether there is such a slot, and nothing in it (CLAR-2)."""
        found = self.tasks.get(task)
        return found is not None and slot in found.slots and found.slots[slot] is None


@dataclass(frozen=True, kw_only=True, slots=True)
class Patch:
    """A change of one slot.

    Attributes:
        base_plan_version: the version that it changes; another one is a conflict.
        task: of the slot.
        slot: its name.
        value: what stands there then; None empties it.
    """

    base_plan_version: int
    task: str
    slot: str
    value: str | None = field(repr=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class Patched:
    """What a patch has made. Attributes: invalidated: ids of the tasks that depend on the changed one, in order."""

    plan: Plan
    invalidated: tuple[str, ...]


def apply(plan: Plan, patch: Patch) -> Patched:
    """Fill a slot, invalidate what depends on its task, and prepare it again.

    Raises:
        InteractionError: there is no such slot, or the value is no value.
    """
    task = plan.tasks.get(patch.task)
    if task is None or patch.slot not in task.slots:
        raise InteractionError("slot", "the plan has no such slot")
    if patch.value is not None and not _is_value(patch.value):
        raise InteractionError("value", f"a value has from 1 to {MAX_VALUE} characters of Unicode")
    invalidated = dependents(plan, patch.task)
    changed = dict(plan.tasks)
    changed[patch.task] = _prepared(replace(task, slots={**task.slots, patch.slot: patch.value}))
    for name in invalidated:
        one = changed[name]
        changed[name] = replace(one, slots=dict.fromkeys(one.slots), state=TaskState.INVALID)
    return Patched(plan=Plan(tasks=changed), invalidated=invalidated)


def dependents(plan: Plan, task: str) -> tuple[str, ...]:
    """Ids of all tasks that depend on one, directly or not, in the order of the plan."""
    found: set[str] = set()
    waiting = [task]
    while waiting:
        before = waiting.pop()
        for name, one in plan.tasks.items():
            if before in one.depends_on and name not in found:
                found.add(name)
                waiting.append(name)
    return tuple(name for name in plan.tasks if name in found)


def single(task: str, slot: str) -> Plan:
    """The plan of an agent that has none: one task with one empty slot."""
    return read_plan({"tasks": {task: {"slots": {slot: None}}}})


def plan_document(plan: Plan) -> dict[str, Any]:
    """A plan as JSON; :func:`read_plan` reads it back."""
    return {
        "tasks": {
            name: {
                "goal": task.goal,
                "slots": dict(task.slots),
                "depends_on": list(task.depends_on),
                "state": task.state.value,
            }
            for name, task in plan.tasks.items()
        },
    }


def read_plan(document: object) -> Plan:
    """Read a plan strictly.

    Raises:
        InteractionError: it is none; ``problems`` says where (JSON pointers).
    """
    reading = _Reading()
    plan = reading.plan(document)
    if not reading.problems:
        reading.check_cycles(plan)
    if reading.problems:
        code = reading.problems[0][1]  # without the path: names in it are the agent's, and this text may be logged
        raise InteractionError("plan", f"the plan can't be read: {code}", problems=tuple(reading.problems))
    return plan


def is_name(text: object) -> bool:
    """Whether a text can name a task, a slot or a candidate."""
    return isinstance(text, str) and _NAME.fullmatch(text) is not None


def _prepared(task: Task) -> Task:
    missing = any(value is None for value in task.slots.values())
    return replace(task, state=TaskState.WAITING if missing else TaskState.READY)


def _is_value(value: object) -> bool:
    return isinstance(value, str) and 0 < len(value) <= MAX_VALUE and is_unicode(value)


def is_unicode(text: str) -> bool:
    """Whether there is no half of a surrogate pair in it, which has no bytes."""
    return text.isascii() or not any("\ud800" <= char <= "\udfff" for char in text)


class _Reading:
    """Reads a plan and notes what is wrong."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []

    def plan(self, document: object) -> Plan:
        if not isinstance(document, dict):
            self._wrong("", "wrong_type", "an object with tasks")
            return Plan(tasks={})
        self._only("", document, _PLAN_FIELDS)
        tasks = document.get("tasks")
        if not isinstance(tasks, dict):
            self._wrong("/tasks", "wrong_type", "an object: tasks by their ids")
            return Plan(tasks={})
        if not 1 <= len(tasks) <= MAX_TASKS:
            self._wrong("/tasks", "wrong_length", f"from 1 to {MAX_TASKS} tasks")
            return Plan(tasks={})
        read: dict[str, Task] = {}
        for name, task in tasks.items():
            path = f"/tasks/{_step(name)}"
            if not is_name(name):
                self._wrong(path, "wrong_name", "letters, digits, . _ -, at most 64")
            read[str(name)] = self._task(path, task, tasks)
        if sum(len(task.depends_on) for task in read.values()) > MAX_DEPENDENCIES:
            self._wrong("/tasks", "wrong_length", f"at most {MAX_DEPENDENCIES} dependencies in all")
        return Plan(tasks=read)

    def _task(self, path: str, document: object, tasks: Mapping[str, object]) -> Task:
        if not isinstance(document, dict):
            self._wrong(path, "wrong_type", "an object")
            return Task()
        self._only(path, document, _TASK_FIELDS)
        goal = document.get("goal", "")
        if not isinstance(goal, str) or len(goal) > MAX_GOAL or not is_unicode(goal):
            self._wrong(f"{path}/goal", "wrong_type", f"a text of at most {MAX_GOAL} characters")
            goal = ""
        slots = self._slots(f"{path}/slots", document.get("slots", {}))
        task = _prepared(Task(goal=goal, slots=slots, depends_on=self._dependencies(path, document, tasks)))
        state = document.get("state")
        if state is None:
            return task
        if not isinstance(state, str) or state not in [one.value for one in TaskState]:
            self._wrong(f"{path}/state", "not_known", "ready, waiting, invalid or done")
            return task
        if state in ("ready", "done") and task.state is TaskState.WAITING:
            self._wrong(f"{path}/state", "slot_empty", "a slot is empty, so it is waiting")
        return replace(task, state=TaskState(state)) if state in ("invalid", "done") else task

    def _slots(self, path: str, document: object) -> dict[str, str | None]:
        if not isinstance(document, dict) or len(document) > MAX_SLOTS:
            self._wrong(path, "wrong_type", f"an object of at most {MAX_SLOTS} slots")
            return {}
        for name, value in document.items():
            where = f"{path}/{_step(name)}"
            if not is_name(name):
                self._wrong(where, "wrong_name", "letters, digits, . _ -, at most 64")
            if value is not None and not _is_value(value):
                self._wrong(where, "wrong_type", f"null, or a text of 1 to {MAX_VALUE} characters")
        return {str(name): value if isinstance(value, str) else None for name, value in document.items()}

    def _dependencies(self, path: str, document: Mapping[str, Any], tasks: Mapping[str, object]) -> tuple[str, ...]:
        named = document.get("depends_on", [])
        if not isinstance(named, list) or len(named) > MAX_TASKS or not all(isinstance(one, str) for one in named):
            self._wrong(f"{path}/depends_on", "wrong_type", "a list of ids of tasks")
            return ()
        for number, one in enumerate(named):
            if one not in tasks:
                self._wrong(f"{path}/depends_on/{number}", "not_known", "no task of this plan")
        return tuple(dict.fromkeys(named))

    def check_cycles(self, plan: Plan) -> None:
        """A task that comes before itself can never be prepared."""
        left = {name: set(task.depends_on) for name, task in plan.tasks.items()}
        while free := [name for name, before in left.items() if not before]:
            for name in free:
                del left[name]
            for before in left.values():
                before.difference_update(free)
        for name in left:
            self._wrong(f"/tasks/{_step(name)}/depends_on", "cycle", "the task comes before itself")

    def _only(self, path: str, document: Mapping[object, object], known: frozenset[str]) -> None:
        for name in document:
            if name not in known:
                self._wrong(f"{path}/{_step(name)}", "unknown_field", "")

    def _wrong(self, path: str, code: str, detail: str) -> None:
        self.problems.append((path, code, detail))


def _step(name: object) -> str:
    """A name of somebody else's as a step of a JSON pointer, not too long."""
    return str(name)[:60].replace("~", "~0").replace("/", "~1")
