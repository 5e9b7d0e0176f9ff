"""Plans: read strictly, patched, and what depends on a change invalidated (CLAR-5)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.clarifications.states import CLARIFICATION, INTERACTION, TransitionError, after
from bot.model.errors import InteractionError
from bot.model.interaction import ClarificationState, InteractionState
from bot.model.plan import MAX_VALUE, Patch, TaskState, apply, dependents, plan_document, read_plan, single

CHAIN = {
    "tasks": {
        "a": {"slots": {"x": None, "y": "set"}},
        "b": {"slots": {"x": "1"}, "depends_on": ["a"]},
        "c": {"slots": {"x": "2"}, "depends_on": ["b"]},
        "d": {"slots": {"x": "3"}},
    }
}


def patch(plan, task="a", slot="x", value="v"):
    return apply(plan, Patch(base_plan_version=1, task=task, slot=slot, value=value))


def test_a_patch_prepares_its_task_and_invalidates_all_that_depend_on_it():
    plan = read_plan(CHAIN)
    assert plan.tasks["a"].state is TaskState.WAITING
    done = patch(plan)
    assert done.invalidated == ("b", "c")
    assert done.plan.tasks["a"].slots == {"x": "v", "y": "set"}
    assert [done.plan.tasks[name].state.value for name in "abcd"] == ["ready", "invalid", "invalid", "ready"]
    assert done.plan.tasks["c"].slots == {"x": None}
    assert done.plan.tasks["d"].slots == {"x": "3"}
    assert plan.tasks["b"].slots == {"x": "1"}, "a value is never changed"
    emptied = patch(done.plan, value=None).plan
    assert emptied.tasks["a"].state is TaskState.WAITING


@pytest.mark.parametrize(
    ("task", "slot", "value"), [("z", "x", "v"), ("a", "z", "v"), ("a", "x", ""), ("a", "x", "\ud800")]
)
def test_a_patch_that_fits_nowhere_is_refused(task, slot, value):
    with pytest.raises(InteractionError):
        patch(read_plan(CHAIN), task, slot, value)
    with pytest.raises(InteractionError):
        patch(read_plan(CHAIN), value="x" * (MAX_VALUE + 1))


@pytest.mark.parametrize(
    ("document", "path", "code"),
    [
        ([], "", "wrong_type"),
        ({}, "/tasks", "wrong_type"),
        ({"tasks": {}}, "/tasks", "wrong_length"),
        ({"tasks": {f"t{n}": {} for n in range(51)}}, "/tasks", "wrong_length"),
        ({"tasks": {"a": {}}, "more": 1}, "/more", "unknown_field"),
        ({"tasks": {"a": 1}}, "/tasks/a", "wrong_type"),
        ({"tasks": {"a b": {}}}, "/tasks/a b", "wrong_name"),
        ({"tasks": {"a": {"more/x": 1}}}, "/tasks/a/more~1x", "unknown_field"),
        ({"tasks": {"a": {"goal": 1}}}, "/tasks/a/goal", "wrong_type"),
        ({"tasks": {"a": {"slots": []}}}, "/tasks/a/slots", "wrong_type"),
        ({"tasks": {"a": {"slots": {"x y": None}}}}, "/tasks/a/slots/x y", "wrong_name"),
        ({"tasks": {"a": {"slots": {"x": 1}}}}, "/tasks/a/slots/x", "wrong_type"),
        ({"tasks": {"a": {"depends_on": "b"}}}, "/tasks/a/depends_on", "wrong_type"),
        ({"tasks": {"a": {"depends_on": ["b"]}}}, "/tasks/a/depends_on/0", "not_known"),
        ({"tasks": {"a": {"depends_on": ["a"]}}}, "/tasks/a/depends_on", "cycle"),
        ({"tasks": {"a": {"state": "odd"}}}, "/tasks/a/state", "not_known"),
        ({"tasks": {"a": {"slots": {"x": None}, "state": "done"}}}, "/tasks/a/state", "slot_empty"),
    ],
)
def test_what_is_no_plan_is_refused_with_its_path(document, path, code):
    with pytest.raises(InteractionError) as caught:
        read_plan(document)
    assert (path, code) in {(where, what) for where, what, _ in caught.value.problems}


def test_a_plan_of_too_many_dependencies_is_refused():
    tasks = {f"t{n}": {"depends_on": [f"t{m}" for m in range(n)]} for n in range(30)}
    with pytest.raises(InteractionError):
        read_plan({"tasks": tasks})


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=8),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["tasks", "a", "slots", "depends_on", "goal", "state", "x"]), inner, max_size=4
            )
        ),
        max_leaves=20,
    )
)
def test_anything_else_is_refused_and_breaks_nothing(document):
    try:
        plan = read_plan(document)
    except InteractionError as error:
        told = error.problems
    else:
        told = ("a plan",)
        assert read_plan(plan_document(plan)) == plan
    assert told


@given(st.data())
def test_a_patch_leaves_no_cycle_and_touches_only_what_depends_on_it(data):
    names = [f"t{n}" for n in range(data.draw(st.integers(1, 8)))]
    tasks = {
        name: {
            "slots": {"x": data.draw(st.none() | st.just("old"))},
            "depends_on": data.draw(st.lists(st.sampled_from(names[:place] or names[:1]), unique=True))
            if place
            else [],
        }
        for place, name in enumerate(names)
    }
    plan = read_plan({"tasks": tasks})
    task = data.draw(st.sampled_from(names))
    done = patch(plan, task)
    assert done.invalidated == dependents(plan, task)
    for name in set(names) - {task, *done.invalidated}:
        assert done.plan.tasks[name] == plan.tasks[name]
    assert read_plan(plan_document(done.plan)) == done.plan


def test_an_agent_without_a_plan_has_one_of_one_slot():
    assert single("task", "slot").is_empty("task", "slot")
    assert not single("task", "slot").is_empty("task", "other")


def test_only_listed_transitions_lead_anywhere():
    for state in InteractionState:
        for verb in ("patch", "complete", "cancel", "supersede", "expire"):
            if state is InteractionState.ACTIVE:
                assert after(INTERACTION, state, verb) is INTERACTION[state, verb]
            else:
                with pytest.raises(TransitionError):
                    after(INTERACTION, state, verb)
    with pytest.raises(TransitionError):
        after(CLARIFICATION, ClarificationState.STALE, "answer")


def test_the_text_of_an_error_names_nothing_of_the_agents():
    with pytest.raises(InteractionError) as refused:
        read_plan({"tasks": {"SYNTHETIC secret": {"slots": {}}}})
    assert "SYNTHETIC" not in str(refused.value)
    assert refused.value.problems[0][0] == "/tasks/SYNTHETIC secret"
