"""Interactions in the database (see :class:`bot.ports.interactions.InteractionStore`).

What continues an interaction is a row of the inbox like any other, made in the transaction that applies the answer:
whatever promises hold for a request hold for it (DUR-3).
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

import orjson

from bot.clarifications.states import CLARIFICATION, INTERACTION, after
from bot.journal.chain import Facts
from bot.model.errors import InteractionError
from bot.model.inbound import Arrival, Stored
from bot.model.interaction import (
    CONTINUES,
    Candidate,
    Clarification,
    ClarificationState,
    Continuing,
    Interaction,
    InteractionState,
    PatchKind,
    PatchResult,
    Workspace,
)
from bot.model.plan import Patch, Plan, apply, plan_document, read_plan
from bot.ports.interactions import Anew, Change, Conflict, Moved, NewClarification, Put, Refusal, Resumed, Started
from bot.ports.store import InboxState
from bot.storage import interaction_statements as sql
from bot.storage import statements as inbox_sql
from bot.storage.command_statements import DROP_SLOTS
from bot.storage.digests import content_digest
from bot.storage.parts import destination_of
from bot.storage.question_statements import SHOWN
from bot.storage.reader import Reader
from bot.storage.retention import SWEEP_ROWS, sweep_all
from bot.storage.times import from_us, to_us
from bot.storage.writer import Transaction, Writer
from policy.decision import Audience, Decision, Gate, Outcome, OutputClass
from policy.destination import Destination
from policy.event import Chat
from policy.reasons import Reason

_Row = tuple[Any, ...]
_Ask = tuple[NewClarification, Interaction | None, int, Plan | None, Workspace | None, int]
_Recheck = tuple[str, int, Workspace, frozenset[str], int, Anew, int]


class SqlInteractions:
    """Interactions, what was asked in them, and the runs that continue them."""

    def __init__(self, writer: Writer, reader: Reader) -> None:
        self._writer = writer
        self._reader = reader

    async def start(self, interaction: Interaction, *, now: datetime) -> Started | Refusal:
        """See :meth:`bot.ports.interactions.InteractionStore.start`."""
        return await self._writer.do(_start, (interaction, to_us(now)))

    async def ask(
        self,
        new: NewClarification,
        *,
        beginning: Interaction | None,
        base_plan_version: int,
        plan: Plan | None,
        workspace: Workspace | None,
        now: datetime,
    ) -> Put | Conflict | Refusal:
        """See :meth:`bot.ports.interactions.InteractionStore.ask`."""
        return await self._writer.do(_ask, (new, beginning, base_plan_version, plan, workspace, to_us(now)))

    async def again(
        self, new: NewClarification, *, instead_of: str, message: str | None, now: datetime
    ) -> Put | Refusal:
        """See :meth:`bot.ports.interactions.InteractionStore.again`."""
        return await self._writer.do(_again, (new, instead_of, message, to_us(now)))

    async def change(self, change: Change, *, now: datetime) -> Moved | Conflict | Refusal:
        """See :meth:`bot.ports.interactions.InteractionStore.change`."""
        return await self._writer.do(_change, (change, to_us(now)))

    async def recheck(
        self,
        interaction_id: str,
        *,
        base_plan_version: int,
        workspace: Workspace,
        existing: frozenset[str],
        rechecks: int,
        anew: Anew,
        now: datetime,
    ) -> Moved | Put | Conflict | Refusal:
        """See :meth:`bot.ports.interactions.InteractionStore.recheck`."""
        order = (interaction_id, base_plan_version, workspace, existing, rechecks, anew, to_us(now))
        return await self._writer.do(_recheck, order)

    async def end(self, interaction_id: str, verb: str, *, now: datetime) -> tuple[str, ...] | None:
        """See :meth:`bot.ports.interactions.InteractionStore.end`."""
        return await self._writer.do(_end, (interaction_id, verb, to_us(now)))

    async def close(self, clarification_id: str, verb: str, *, now: datetime) -> bool:
        """See :meth:`bot.ports.interactions.InteractionStore.close`."""
        return await self._writer.do(_close, (clarification_id, verb, to_us(now)))

    async def get(self, interaction_id: str) -> Interaction | None:
        """See :meth:`bot.ports.interactions.InteractionStore.get`."""
        return _first(self._reader.read(sql.GET, (interaction_id,)))

    async def get_of(self, agent: str, interaction_id: str) -> Interaction | None:
        """See :meth:`bot.ports.interactions.InteractionStore.get_of`."""
        return _first(self._reader.read(sql.GET_OF, (interaction_id, agent)))

    async def by_key(self, agent: str, key: str) -> Interaction | None:
        """See :meth:`bot.ports.interactions.InteractionStore.by_key`."""
        return _first(self._reader.read(sql.BY_KEY, (agent, key)))

    async def active(self, conversation: str) -> Interaction | None:
        """See :meth:`bot.ports.interactions.InteractionStore.active`."""
        return _first(self._reader.read(sql.ACTIVE, (conversation,)))

    async def actives(self) -> list[Interaction]:
        """See :meth:`bot.ports.interactions.InteractionStore.actives`."""
        return [_interaction(row) for row in self._reader.read(sql.ACTIVES)]

    async def clarification(self, clarification_id: str) -> Clarification | None:
        """See :meth:`bot.ports.interactions.InteractionStore.clarification`."""
        rows = self._reader.read(sql.CLARIFICATION_GET, (clarification_id,))
        return _clarification(rows[0]) if rows else None

    async def clarifications(self, interaction_id: str) -> list[Clarification]:
        """See :meth:`bot.ports.interactions.InteractionStore.clarifications`."""
        return [_clarification(row) for row in self._reader.read(sql.OF_INTERACTION, (interaction_id,))]

    async def asked_by(self, event_id: int) -> Clarification | None:
        """See :meth:`bot.ports.interactions.InteractionStore.asked_by`."""
        rows = self._reader.read(sql.ASKED_BY, (event_id,))
        return _clarification(rows[-1]) if rows else None

    async def answered_with(self, destination: Destination, message: str) -> Clarification | None:
        """See :meth:`bot.ports.interactions.InteractionStore.answered_with`."""
        rows = self._reader.read(sql.ANSWERED_WITH, (destination.account, destination.channel, message))
        return _clarification(rows[0]) if rows else None

    async def continuation(self, event_id: int) -> Continuing | None:
        """See :meth:`bot.ports.interactions.InteractionStore.continuation`."""
        for interaction_id, plan_version, document in self._reader.read(sql.CONTINUATION, (event_id,)):
            interaction = await self.get(interaction_id)
            if interaction is not None and document is not None:
                return Continuing(
                    interaction=interaction, patch=_result(orjson.loads(document)), plan_version=plan_version
                )
        return None

    async def is_latest(self, interaction: Interaction, event_id: int) -> bool:
        """See :meth:`bot.ports.interactions.InteractionStore.is_latest`."""
        latest = self._reader.read(sql.LATEST_RUN, (interaction.id,))[0][0]
        return latest is None or bool(latest <= event_id)

    async def members(self, event_id: int) -> list[Stored]:
        """See :meth:`bot.ports.interactions.InteractionStore.members`."""
        continuing = await self.continuation(event_id)
        if continuing is None:
            return []
        rows = self._reader.read(inbox_sql.MEMBERS, (continuing.interaction.event_id,))
        return [
            Stored(id=row, account=account, arrival=Arrival(key=key, lane=lane, raw=raw, received_at=from_us(at)))
            for row, account, key, lane, raw, at in rows
        ]

    async def last_result(self, interaction: Interaction) -> str | None:
        """See :meth:`bot.ports.interactions.InteractionStore.last_result`."""
        latest = self._reader.read(sql.LATEST_RUN, (interaction.id,))[0][0]
        rows = self._reader.read(sql.RESULT, (interaction.event_id if latest is None else latest,))
        return None if not rows or rows[0][0] is None else rows[0][1]

    async def sweep(self, *, now: datetime, contents_before: datetime) -> int:
        """See :meth:`bot.ports.interactions.InteractionStore.sweep`."""
        return await sweep_all(self._writer, _erase, (to_us(now), to_us(contents_before)))


# operations


def _start(tx: Transaction, payloads: Sequence[tuple[Interaction, int]]) -> list[Started | Refusal]:
    return [_start_one(tx, interaction, now) for interaction, now in payloads]


def _start_one(tx: Transaction, interaction: Interaction, now: int) -> Started | Refusal:
    known = _first(tx.execute(sql.BY_KEY, (interaction.agent, interaction.key)).fetchall())
    if known is not None:
        same = (known.conversation, known.event_id) == (interaction.conversation, interaction.event_id)
        return Started(interaction=known) if same else Refusal(code="key_used")
    closed: tuple[str, ...] = ()
    before = _first(tx.execute(sql.ACTIVE, (interaction.conversation,)).fetchall())
    if before is not None and before.event_id > interaction.event_id:
        return Refusal(code="superseded")  # a run that was parked meanwhile; its request is the older one
    if before is not None:  # CLAR-1
        closed = _end_one(tx, before, "supersede", now)
    tx.execute(sql.ADD, _interaction_row(interaction))
    _note(tx, interaction, "start", now)
    return Started(interaction=interaction, closed=closed)


def _ask(tx: Transaction, payloads: Sequence[_Ask]) -> list[Put | Conflict | Refusal]:
    return [_ask_one(tx, *payload) for payload in payloads]


def _ask_one(
    tx: Transaction,
    new: NewClarification,
    beginning: Interaction | None,
    base: int,
    plan: Plan | None,
    workspace: Workspace | None,
    now: int,
) -> Put | Conflict | Refusal:
    wanted = new.clarification
    closed: tuple[str, ...] = ()
    if beginning is not None:
        if not beginning.plan.is_empty(wanted.task, wanted.slot):
            return Refusal(code="slot")
        started = _start_one(tx, beginning, now)
        if isinstance(started, Refusal):
            return started
        interaction, closed = started.interaction, started.closed
    else:
        found = _first(tx.execute(sql.GET, (wanted.interaction_id,)).fetchall())
        if found is None:
            return Refusal(code="unknown")
        interaction = found
    wanted = replace(wanted, interaction_id=interaction.id)
    known = tx.execute(sql.CLARIFICATION_BY_KEY, (interaction.id, new.key)).fetchone()
    if known is not None:
        return Put(interaction=interaction, clarification=_clarification(known), new=False)
    if not interaction.active:
        return Refusal(code="ended")
    if beginning is None and interaction.plan_version != base:
        return Conflict(plan_version=interaction.plan_version)
    asked_for = interaction.plan if plan is None else plan
    if not asked_for.is_empty(wanted.task, wanted.slot):
        return Refusal(code="slot")
    if tx.execute(sql.OPEN, (interaction.id,)).fetchone() is not None:
        return Refusal(code="open")
    revised = plan is not None and plan != interaction.plan
    if revised or (workspace is not None and workspace != interaction.workspace):
        after_that = replace(
            interaction,
            plan=asked_for,
            plan_version=interaction.plan_version + revised,
            workspace=interaction.workspace if workspace is None else workspace,
        )
        interaction = _write(tx, interaction, after_that, now)
    wanted = replace(wanted, plan_version=interaction.plan_version)
    tx.execute(sql.ADD_CLARIFICATION, _clarification_row(wanted, new.key))
    _note(tx, interaction, "ask", now)
    return Put(interaction=interaction, clarification=wanted, closed=closed)


def _again(tx: Transaction, payloads: Sequence[tuple[NewClarification, str, str | None, int]]) -> list[Put | Refusal]:
    return [_again_one(tx, *payload) for payload in payloads]


def _again_one(tx: Transaction, new: NewClarification, instead_of: str, message: str | None, now: int) -> Put | Refusal:
    wanted = new.clarification
    interaction = _first(tx.execute(sql.GET, (wanted.interaction_id,)).fetchall())
    if interaction is None or not interaction.active:
        return Refusal(code="ended")
    known = tx.execute(sql.CLARIFICATION_BY_KEY, (interaction.id, new.key)).fetchone()
    if known is not None:
        return Put(interaction=interaction, clarification=_clarification(known), new=False)
    if not _close_one(tx, instead_of, "ask_again", now):
        row = tx.execute(sql.CLARIFICATION_GET, (instead_of,)).fetchone()
        if row is None or _clarification(row).state is not ClarificationState.STALE:
            return Refusal(code="closed")
    if tx.execute(sql.OPEN, (interaction.id,)).fetchone() is not None:
        return Refusal(code="open")
    if not interaction.plan.is_empty(wanted.task, wanted.slot):
        return Refusal(code="slot")
    if message is not None:
        tx.execute(sql.LINK, (message, instead_of))
    wanted = replace(wanted, plan_version=interaction.plan_version)
    tx.execute(sql.ADD_CLARIFICATION, _clarification_row(wanted, new.key))
    _note(tx, interaction, "ask_again", now)
    return Put(interaction=interaction, clarification=wanted, closed=(instead_of,))


def _change(tx: Transaction, payloads: Sequence[tuple[Change, int]]) -> list[Moved | Conflict | Refusal]:
    return [_change_one(tx, change, now) for change, now in payloads]


def _change_one(tx: Transaction, change: Change, now: int) -> Moved | Conflict | Refusal:
    """CLAR-5, step by step; whatever is wrong is found before anything is written."""
    interaction = _first(tx.execute(sql.GET, (change.interaction_id,)).fetchall())
    if interaction is None:
        return Refusal(code="unknown")
    if not interaction.active:
        return Refusal(code="ended")
    if interaction.plan_version != change.base_plan_version:  # 1: the version
        return Conflict(plan_version=interaction.plan_version)
    clarification = None
    if change.clarification_id is not None:  # 2: the candidates, as they were frozen (CLAR-2)
        row = tx.execute(sql.CLARIFICATION_GET, (change.clarification_id,)).fetchone()
        clarification = None if row is None else _clarification(row)
        if clarification is None or clarification.interaction_id != interaction.id:
            return Refusal(code="unknown")
        if (clarification.task, clarification.slot) != (change.task, change.slot):
            return Refusal(code="slot")
        right = ClarificationState.OPEN if change.kind is PatchKind.ANSWER else ClarificationState.ANSWERED
        if clarification.state is not right:
            return Refusal(code="closed")
        closed_list = clarification.candidates and not clarification.free_text
        if closed_list and clarification.candidate(change.value) is None:
            return Refusal(code="candidate")
    filling = change.kind is PatchKind.ANSWER and change.value is not None
    if filling and not interaction.plan.is_empty(change.task, change.slot):
        return Refusal(code="slot")
    patch = Patch(base_plan_version=change.base_plan_version, task=change.task, slot=change.slot, value=change.value)
    try:
        patched = apply(interaction.plan, patch)
    except InteractionError as error:
        return Refusal(code=error.code)
    root = tx.execute(sql.ROOT, (interaction.event_id,)).fetchone() if change.goes_on else None
    if change.goes_on and (root is None or root[3]):  # the request was deleted (PART-18), or is past its retention
        return Refusal(code="gone")
    if clarification is not None:  # 3: the message that said so
        verb = "answer" if change.kind is PatchKind.ANSWER else "correct"
        shown = tx.execute(SHOWN, (clarification.id,)).fetchone()
        answered = replace(
            clarification,
            state=after(CLARIFICATION, clarification.state, verb),
            value=change.value,
            answer_message=change.message or clarification.answer_message,
            question_message=clarification.question_message if shown is None else shown[0],
            closed_at=from_us(now),
        )
        values = _clarification_values(answered)
        tx.execute(sql.ANSWER, (*(values[name] for name in sql.ANSWERED), clarification.id))
    moved = replace(interaction, plan=patched.plan, plan_version=interaction.plan_version + 1)
    interaction = _write(tx, interaction, moved, now)  # 4 to 6: patch, version, dependents
    closed = _close_open(tx, interaction.id, "outdate", now)
    result = PatchResult(
        kind=change.kind,
        clarification=change.clarification_id,
        task=change.task,
        slot=change.slot,
        value=change.value,
        candidate=None if clarification is None else clarification.candidate(change.value),
        base_plan_version=change.base_plan_version,
        invalidated=patched.invalidated,
    )
    _note(tx, interaction, change.kind.value, now)
    work = None if root is None else _continue(tx, interaction, result, root, now)  # 7: prepare again
    return Moved(interaction=interaction, result=result, closed=closed, work=work)


def _recheck(tx: Transaction, payloads: Sequence[_Recheck]) -> list[Moved | Put | Conflict | Refusal]:
    return [_recheck_one(tx, *payload) for payload in payloads]


def _recheck_one(
    tx: Transaction,
    interaction_id: str,
    base: int,
    workspace: Workspace,
    existing: frozenset[str],
    rechecks: int,
    anew: Anew,
    now: int,
) -> Moved | Put | Conflict | Refusal:
    interaction = _first(tx.execute(sql.GET, (interaction_id,)).fetchall())
    if interaction is None or not interaction.active:
        return Refusal(code="ended")
    if interaction.plan_version != base:
        return Conflict(plan_version=interaction.plan_version)
    root = tx.execute(sql.ROOT, (interaction.event_id,)).fetchone()
    if root is None or root[3]:
        return Refusal(code="gone")
    known = [_clarification(row) for row in tx.execute(sql.OF_INTERACTION, (interaction.id,)).fetchall()]
    order = list(interaction.plan.tasks)
    for one in sorted(known, key=lambda one: order.index(one.task) if one.task in order else len(order)):
        task = interaction.plan.tasks.get(one.task)
        chosen = one.candidate(one.value)
        if one.state is not ClarificationState.ANSWERED or task is None or chosen is None:
            continue
        if task.slots.get(one.slot) != chosen.id or chosen.id in existing:
            continue
        patched = apply(interaction.plan, Patch(base_plan_version=base, task=one.task, slot=one.slot, value=None))
        moved = replace(interaction, plan=patched.plan, plan_version=interaction.plan_version + 1, workspace=workspace)
        interaction = _write(tx, interaction, moved, now)
        closed = _close_open(tx, interaction.id, "outdate", now)
        _note(tx, interaction, "gone", now)
        left = [candidate for candidate in one.candidates if candidate.id in existing]
        if left:
            new = anew(interaction, one, left)
            tx.execute(sql.ADD_CLARIFICATION, _clarification_row(new.clarification, new.key))
            return Put(interaction=interaction, clarification=new.clarification, closed=closed)
        result = PatchResult(
            kind=PatchKind.RECHECK,
            clarification=one.id,
            task=one.task,
            slot=one.slot,
            base_plan_version=base,
            invalidated=patched.invalidated,
            rechecks=rechecks,
        )
        work = _continue(tx, interaction, result, root, now)
        return Moved(interaction=interaction, result=result, closed=closed, work=work)
    interaction = _write(tx, interaction, replace(interaction, workspace=workspace), now)
    result = PatchResult(kind=PatchKind.RECHECK, base_plan_version=base, rechecks=rechecks)
    _note(tx, interaction, "recheck", now)
    return Moved(interaction=interaction, result=result, work=_continue(tx, interaction, result, root, now))


def _end(tx: Transaction, payloads: Sequence[tuple[str, str, int]]) -> list[tuple[str, ...] | None]:
    results: list[tuple[str, ...] | None] = []
    for interaction_id, verb, now in payloads:
        interaction = _first(tx.execute(sql.GET, (interaction_id,)).fetchall())
        active = interaction is not None and interaction.active
        results.append(_end_one(tx, interaction, verb, now) if active and interaction is not None else None)
    return results


def _end_one(tx: Transaction, interaction: Interaction, verb: str, now: int) -> tuple[str, ...]:
    state = after(INTERACTION, interaction.state, verb)
    closed = _close_open(tx, interaction.id, "expire" if verb == "expire" else "cancel", now)
    tx.execute(sql.END, (state.value, now, now, interaction.id))
    tx.execute(DROP_SLOTS, (interaction.event_id,))  # CMD-6
    _note(tx, replace(interaction, state=state), verb, now)
    return closed


def _close(tx: Transaction, payloads: Sequence[tuple[str, str, int]]) -> list[bool]:
    return [_close_one(tx, clarification_id, verb, now) for clarification_id, verb, now in payloads]


def _close_one(tx: Transaction, clarification_id: str, verb: str, now: int) -> bool:
    state = after(CLARIFICATION, ClarificationState.OPEN, verb)
    return tx.execute(sql.CLOSE, (state.value, now, clarification_id)).rowcount == 1


def _close_open(tx: Transaction, interaction_id: str, verb: str, now: int) -> tuple[str, ...]:
    closed = tuple(row[0] for row in tx.execute(sql.OPEN, (interaction_id,)).fetchall())
    for one in closed:
        _close_one(tx, one, verb, now)
    return closed


def _write(tx: Transaction, before: Interaction, changed: Interaction, now: int) -> Interaction:
    workspace = changed.workspace
    values = (
        changed.plan_version,
        workspace.generation,
        workspace.sha256,
        workspace.documentation_version,
        now,
        orjson.dumps({"plan": plan_document(changed.plan)}),
    )
    tx.execute(sql.CHANGE, (*values, before.id, before.plan_version))
    return replace(changed, changed_at=from_us(now))


def _continue(tx: Transaction, interaction: Interaction, result: PatchResult, root: _Row, now: int) -> Resumed:
    """A row of the inbox that carries the request on: decided as the request was, under a key of its own."""
    account, lane, raw, _, *columns = root
    rechecked = f":{result.rechecks}" if result.kind is PatchKind.RECHECK else ""
    key = f"{CONTINUES}{interaction.id}:{interaction.plan_version}{rechecked}"
    decided = InboxState.DECIDED.value
    (row,) = tx.insert(inbox_sql.INBOX_ROWS, [(account, key, lane, now, decided)])
    tx.insert(inbox_sql.CONTENT_ROWS, [(row, raw)])
    known = dict(zip(inbox_sql.DECISION_COLUMNS, columns, strict=True))
    known |= {"event_id": row, "kind": "continuation", "decided_at": now}
    tx.insert(inbox_sql.DECISION_ROWS, [tuple(known[name] for name in inbox_sql.DECISION_COLUMNS)])
    tx.insert(
        sql.CONTINUATION_ROWS,
        [(row, interaction.id, interaction.plan_version, orjson.dumps(_result_document(result)))],
    )
    arrival = Arrival(key=key, lane=lane, raw=raw, received_at=from_us(now))
    return Resumed(stored=Stored(id=row, account=account, arrival=arrival), decision=_decision(known))


def _erase(tx: Transaction, payloads: Sequence[tuple[int, int]]) -> list[int]:
    gone = []
    for now, before in payloads:
        for (one,) in tx.execute(sql.UNTOUCHED, (before, SWEEP_ROWS)).fetchall():
            interaction = _first(tx.execute(sql.GET, (one,)).fetchall())
            if interaction is not None:
                _end_one(tx, interaction, "expire", now)
        ended = tx.execute(sql.ENDED, (before, SWEEP_ROWS)).fetchall()
        for (one,) in ended:
            for statement in (sql.ERASE, sql.ERASE_CLARIFICATIONS, sql.ERASE_CONTINUATIONS):
                tx.execute(statement, (one,))
        gone.append(len(ended))
    return gone


def _note(tx: Transaction, interaction: Interaction, verb: str, now: int) -> None:
    """By digest, without words (DUR-5)."""
    facts: Facts = {
        "interaction": content_digest(tx.salt, interaction.id.encode()).hex()[:32],
        "agent": content_digest(tx.salt, interaction.agent.encode()).hex()[:32],
        "verb": verb,
        "state": interaction.state.value,
        "version": interaction.plan_version,
        "content": content_digest(tx.salt, orjson.dumps(plan_document(interaction.plan))).hex(),
    }
    tx.note("interaction", facts, at_us=now)


# values and rows


def _first(rows: Sequence[_Row]) -> Interaction | None:
    return _interaction(rows[0]) if rows else None


def _interaction(row: _Row) -> Interaction:
    values = dict(zip(sql.INTERACTION, row, strict=True))
    written = orjson.loads(values["document"]) if values["document"] else None
    return Interaction(
        id=values["id"],
        agent=values["agent"],
        key=values["key"],
        conversation=values["conversation"],
        destination=destination_of(values["account"], values["channel"], values["thread"]),
        chat=Chat(values["chat"]),
        person=values["person"],
        asker=values["asker"],
        audience=Audience(values["audience"]),
        language=values["language"],
        event_id=values["event_id"],
        root_message=values["root_message"],
        plan=Plan(tasks={}) if written is None else read_plan(written["plan"]),
        plan_version=values["plan_version"],
        workspace=Workspace(
            generation=values["workspace_generation"],
            sha256=values["workspace_snapshot_sha256"],
            documentation_version=values["documentation_version"],
        ),
        state=InteractionState(values["status"]),
        started_at=from_us(values["started_at"]),
        changed_at=from_us(values["changed_at"]),
        closed_at=None if values["closed_at"] is None else from_us(values["closed_at"]),
    )


def _interaction_row(interaction: Interaction) -> _Row:
    destination, workspace = interaction.destination, interaction.workspace
    values: dict[str, Any] = {
        "id": interaction.id,
        "agent": interaction.agent,
        "key": interaction.key,
        "conversation": interaction.conversation,
        "account": destination.account,
        "channel": destination.channel,
        "thread": destination.thread,
        "chat": interaction.chat.value,
        "person": interaction.person,
        "asker": interaction.asker,
        "audience": interaction.audience.value,
        "language": interaction.language,
        "event_id": interaction.event_id,
        "root_message": interaction.root_message,
        "status": interaction.state.value,
        "plan_version": interaction.plan_version,
        "workspace_generation": workspace.generation,
        "workspace_snapshot_sha256": workspace.sha256,
        "documentation_version": workspace.documentation_version,
        "started_at": to_us(interaction.started_at),
        "changed_at": to_us(interaction.changed_at),
        "closed_at": None,
        "document": orjson.dumps({"plan": plan_document(interaction.plan)}),
    }
    return tuple(values[name] for name in sql.INTERACTION)


def _clarification(row: _Row) -> Clarification:
    values = dict(zip(sql.CLARIFICATION, row, strict=True))
    written: dict[str, Any] = orjson.loads(values["document"]) if values["document"] else {}
    return Clarification(
        id=values["id"],
        interaction_id=values["interaction_id"],
        event_id=values["event_id"],
        task=values["task"],
        slot=values["slot"],
        text=written.get("text", ""),
        why=written.get("why", ""),
        candidates=tuple(candidate_of(one) for one in written.get("candidates", ())),
        free_text=written.get("free_text", False),
        plan_version=values["plan_version"],
        ttl_s=written.get("ttl_s", 3600),
        state=ClarificationState(values["status"]),
        value=written.get("value"),
        answer_message=values["answer_message"],
        question_message=values["question_message"],
        asked_at=from_us(values["asked_at"]),
        closed_at=None if values["closed_at"] is None else from_us(values["closed_at"]),
    )


def _clarification_values(one: Clarification) -> dict[str, Any]:
    document = {
        "text": one.text,
        "why": one.why,
        "candidates": [_candidate_document(candidate) for candidate in one.candidates],
        "free_text": one.free_text,
        "ttl_s": one.ttl_s,
        "value": one.value,
    }
    return {
        "id": one.id,
        "interaction_id": one.interaction_id,
        "event_id": one.event_id,
        "task": one.task,
        "slot": one.slot,
        "status": one.state.value,
        "plan_version": one.plan_version,
        "question_message": one.question_message,
        "answer_message": one.answer_message,
        "asked_at": to_us(one.asked_at),
        "closed_at": None if one.closed_at is None else to_us(one.closed_at),
        "document": orjson.dumps(document),
    }


def _clarification_row(one: Clarification, key: str) -> _Row:
    values = {**_clarification_values(one), "key": key}
    return tuple(values[name] for name in sql.CLARIFICATION)


def _candidate_document(candidate: Candidate) -> dict[str, str]:
    return {"id": candidate.id, "identity": candidate.identity, "name": candidate.display_name}


def candidate_of(document: Mapping[str, str]) -> Candidate:
    """A candidate out of a document of ours."""
    return Candidate(id=document["id"], identity=document["identity"], display_name=document["name"])


def _result_document(result: PatchResult) -> dict[str, Any]:
    return {
        "kind": result.kind.value,
        "clarification": result.clarification,
        "task": result.task,
        "slot": result.slot,
        "value": result.value,
        "candidate": None if result.candidate is None else _candidate_document(result.candidate),
        "base": result.base_plan_version,
        "invalidated": list(result.invalidated),
        "rechecks": result.rechecks,
    }


def _result(document: Mapping[str, Any]) -> PatchResult:
    return PatchResult(
        kind=PatchKind(document["kind"]),
        clarification=document["clarification"],
        task=document["task"],
        slot=document["slot"],
        value=document["value"],
        candidate=None if document["candidate"] is None else candidate_of(document["candidate"]),
        base_plan_version=document["base"],
        invalidated=tuple(document["invalidated"]),
        rechecks=document["rechecks"],
    )


def _decision(known: Mapping[str, Any]) -> Decision:
    stopped = known["stopped_at"]
    return Decision(
        outcome=Outcome(known["outcome"]),
        reason=Reason(known["reason"]),
        audience=Audience(known["audience"]),
        output_class=OutputClass(known["output_class"]),
        stopped_at=None if stopped is None else Gate(stopped),
        observe=bool(known["observe"]),
        control=bool(known["control"]),
    )
