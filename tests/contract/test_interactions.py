"""The clarification loop over the real store: whatever happens in whatever order, its promises hold (CLAR)."""

import asyncio
import tempfile
import uuid
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from bot.model.inbound import Stored
from bot.model.interaction import (
    Candidate,
    Clarification,
    ClarificationState,
    Interaction,
    PatchKind,
    Workspace,
)
from bot.model.plan import read_plan
from bot.ports.interactions import Change, Conflict, Moved, NewClarification, Put, Refusal, Started
from bot.storage.store import Store
from policy.decision import Audience
from policy.event import Chat
from tests.looping import PLAN
from tests.stored import ACCOUNT, NOW, PLACE, RESPOND, decided

IDS = ("alpha", "beta", "gamma")
PLACES = {"scope": "composition", "export": "format"}
PEOPLE = ("ann", "bob")


class Loop(RuleBasedStateMachine):
    """Two conversations; what the store says is compared with a model of it."""

    def __init__(self):
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.loop = asyncio.new_event_loop()
        self.tick = 0
        self.rows = 0
        self.active: dict[str, str] = {}
        self.plans: dict[str, dict[str, str | None]] = {}
        self.versions: dict[str, int] = {}
        self.open: dict[str, Clarification] = {}
        self.answered: dict[str, list[Clarification]] = {}
        self.runs: dict[str, int] = {}
        self.do(self._open())

    def do(self, work):
        return self.loop.run_until_complete(work)

    async def _open(self):
        self.store = await Store.open(Path(self.folder.name) / "store.sqlite")

    def teardown(self):
        self.do(self.store.close())
        self.loop.close()
        self.folder.cleanup()

    @property
    def now(self):
        self.tick += 1
        return NOW + timedelta(seconds=self.tick)

    @rule()
    def restart(self):
        self.do(self.store.close())
        self.do(self._open())

    @rule(person=st.sampled_from(PEOPLE))
    def start(self, person):
        self.rows += 1
        stored = self.do(decided(self.store.inbox, self.rows, RESPOND))
        now = self.now
        interaction = Interaction(
            id=uuid.uuid4().hex,
            agent="main",
            key=f"run:{stored.id}",
            conversation=person,
            destination=PLACE,
            chat=Chat.DIRECT,
            person=None,
            asker=person,
            audience=Audience.EXTERNAL,
            language="en",
            event_id=stored.id,
            root_message="1",
            plan=read_plan(PLAN),
            started_at=now,
            changed_at=now,
        )
        started = self.do(self.store.interactions.start(interaction, now=now))
        assert isinstance(started, Started)
        before = self.active.get(person)
        assert started.closed == ((self.open[before].id,) if before in self.open else ())
        self._forget(person)
        self.active[person] = interaction.id
        self.plans[interaction.id] = {"composition": None, "format": None}
        self.versions[interaction.id] = 1
        self.answered[interaction.id] = []
        self.runs[interaction.id] = 0
        again = self.do(self.store.interactions.start(replace(interaction, id="other"), now=now))
        assert isinstance(again, Started)
        assert again.interaction.id == interaction.id

    def _forget(self, person):
        before = self.active.pop(person, None)
        if before is not None:
            self.open.pop(before, None)

    @rule(person=st.sampled_from(PEOPLE), task=st.sampled_from(tuple(PLACES)), stale=st.booleans())
    def ask(self, person, task, stale):
        one = self.active.get(person)
        if one is None:
            return
        slot = PLACES[task]
        base = self.versions[one] - stale
        new = Clarification(
            id=uuid.uuid4().hex,
            interaction_id=one,
            event_id=None,
            task=task,
            slot=slot,
            text="Which?",
            candidates=tuple(Candidate(id=name, display_name=name) for name in IDS),
            plan_version=base,
            asked_at=self.now,
        )
        put = self.do(
            self.store.interactions.ask(
                NewClarification(clarification=new, key=new.id),
                beginning=None,
                base_plan_version=base,
                plan=None,
                workspace=None,
                now=self.now,
            )
        )
        if stale:
            assert put == Conflict(plan_version=self.versions[one])
        elif self.plans[one][slot] is not None:
            assert put == Refusal(code="slot")
        elif one in self.open:
            assert put == Refusal(code="open")
        else:
            assert isinstance(put, Put)
            self.open[one] = put.clarification

    @rule(person=st.sampled_from(PEOPLE), value=st.sampled_from((*IDS, "elsewhere")), stale=st.booleans())
    def answer(self, person, value, stale):
        one = self.active.get(person)
        if one is None or one not in self.open:
            return
        asked = self.open[one]
        moved = self._change(asked, PatchKind.ANSWER, value, self.versions[one] - stale)
        if stale:
            assert moved == Conflict(plan_version=self.versions[one])
        elif value not in IDS:
            assert moved == Refusal(code="candidate")
        else:
            self._moved(one, moved, asked, value)
            del self.open[one]
            self.answered[one].append(replace(asked, value=value))

    @rule(person=st.sampled_from(PEOPLE), value=st.sampled_from(IDS), which=st.integers(0, 3))
    def correct(self, person, value, which):
        one = self.active.get(person)
        if one is None or not self.answered[one]:
            return
        asked = self.answered[one][which % len(self.answered[one])]
        moved = self._change(asked, PatchKind.CORRECTION, value, self.versions[one])
        self._moved(one, moved, asked, value)
        closed = self.open.pop(one, None)
        assert moved.closed == (() if closed is None else (closed.id,))

    def _change(self, asked, kind, value, base):
        change = Change(
            interaction_id=asked.interaction_id,
            base_plan_version=base,
            kind=kind,
            task=asked.task,
            slot=asked.slot,
            value=value,
            clarification_id=asked.id,
            message="7",
        )
        return self.do(self.store.interactions.change(change, now=self.now))

    def _moved(self, one, moved, asked, value):
        assert isinstance(moved, Moved)
        assert isinstance(moved.work.stored, Stored)
        self.versions[one] += 1
        self.runs[one] += 1
        self.plans[one][asked.slot] = value
        if asked.task == "scope":
            self.plans[one]["format"] = None

    @rule(person=st.sampled_from(PEOPLE), value=st.sampled_from(IDS))
    def answer_what_has_ended(self, person, value):
        one = self.active.get(person)
        if one is None or not self.answered[one]:
            return
        moved = self._change(self.answered[one][-1], PatchKind.ANSWER, value, self.versions[one])
        assert moved == Refusal(code="closed"), "a click on an old candidate"

    @rule(person=st.sampled_from(PEOPLE), existing=st.sets(st.sampled_from(IDS)))
    def change_the_workspace(self, person, existing):
        one = self.active.get(person)
        if one is None or one in self.open:
            return

        def anew(interaction, before, left):
            new = replace(
                before,
                id=uuid.uuid4().hex,
                candidates=tuple(left),
                plan_version=interaction.plan_version,
                state=ClarificationState.OPEN,
                value=None,
                closed_at=None,
            )
            return NewClarification(clarification=new, key=new.id)

        self.tick += 1
        checked = self.do(
            self.store.interactions.recheck(
                one,
                base_plan_version=self.versions[one],
                workspace=Workspace(generation=self.tick, sha256=f"{self.tick:064x}"),
                existing=frozenset(existing),
                rechecks=self.tick,
                anew=anew,
                now=self.now,
            )
        )
        gone = [slot for slot in ("composition", "format") if self.plans[one][slot] not in {None, *existing}]
        if not gone:
            assert isinstance(checked, Moved)
            self.runs[one] += 1
            return
        self.versions[one] += 1
        self.plans[one][gone[0]] = None
        if gone[0] == "composition":
            self.plans[one]["format"] = None
        if isinstance(checked, Put):
            assert {candidate.id for candidate in checked.clarification.candidates} <= existing
            self.open[one] = checked.clarification
        else:
            assert isinstance(checked, Moved), "none is left, and the agent goes on"
            self.runs[one] += 1

    @rule(person=st.sampled_from(PEOPLE), verb=st.sampled_from(("complete", "cancel", "expire")))
    def end(self, person, verb):
        one = self.active.get(person)
        if one is None:
            return
        closed = self.do(self.store.interactions.end(one, verb, now=self.now))
        assert closed == ((self.open[one].id,) if one in self.open else ())
        self._forget(person)
        assert self.do(self.store.interactions.end(one, verb, now=self.now)) is None

    @precondition(lambda self: bool(self.plans))
    @invariant()
    def what_is_stored_is_what_was_done(self):
        assert {one.id for one in self.do(self.store.interactions.actives())} == set(self.active.values())
        for person, one in self.active.items():
            known = self.do(self.store.interactions.active(person))
            assert known.id == one
            assert known.plan_version == self.versions[one]
            slots = {slot: value for task in known.plan.tasks.values() for slot, value in task.slots.items()}
            assert slots == self.plans[one]
            asked = self.do(self.store.interactions.clarifications(one))
            assert [each.id for each in asked if each.open] == ([self.open[one].id] if one in self.open else [])
        unfinished = self.do(self.store.inbox.unfinished(ACCOUNT))
        begun = [row for row in unfinished if row.stored.arrival.key.startswith("continue:")]
        assert len(begun) == sum(self.runs.values()), "each change that goes on is one run"


@pytest.mark.rule("CLAR-1", "CLAR-2", "CLAR-5", "CLAR-6")
def test_the_promises_of_the_loop_hold_in_whatever_order_things_happen():
    run_state_machine_as_test(
        Loop,
        settings=settings(
            max_examples=40,
            stateful_step_count=30,
            deadline=None,
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
        ),
    )
