"""Questions in the database (see :class:`bot.ports.questions.QuestionStore`)."""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

import orjson

from bot.journal.chain import Facts
from bot.model.errors import StoreError
from bot.model.question import Answerer, Question, QuestionState, Way, Who
from bot.ports.store import NewPart, Waiting
from bot.storage import question_statements as sql
from bot.storage.digests import content_digest
from bot.storage.parts import destination_of, part_digest, store_parts
from bot.storage.reader import Reader
from bot.storage.retention import erasing, sweep_all
from bot.storage.statements import ADD_RECEIPT
from bot.storage.times import from_us, to_us
from bot.storage.writer import Transaction, Writer
from forms.errors import FormError
from forms.schema import Form, read_form
from policy.destination import Destination
from policy.event import Chat

_FORMS: Final = 1_000
_Row = tuple[Any, ...]
_Put = tuple[Question, Sequence[NewPart], str, int]
_Change = tuple[Question, int, Sequence[NewPart], str | None]


class SqlQuestions:
    """Questions, and which parts of the outbox show them."""

    def __init__(self, writer: Writer, reader: Reader) -> None:
        self._writer = writer
        self._reader = reader
        self._forms: OrderedDict[str, Form] = OrderedDict()

    async def put(
        self, question: Question, parts: Sequence[NewPart], *, token: str, now: datetime
    ) -> tuple[Question, list[Waiting]]:
        """See :meth:`bot.ports.questions.QuestionStore.put`."""
        row, waiting = await self._writer.do(_put, (question, parts, token, to_us(now)))
        return (question, waiting) if row is None else (self._question(row), [])

    async def get(self, question_id: str) -> Question | None:
        """See :meth:`bot.ports.questions.QuestionStore.get`."""
        return self._one(self._reader.read(sql.GET, (question_id,)))

    async def get_of(self, agent: str, question_id: str) -> Question | None:
        """See :meth:`bot.ports.questions.QuestionStore.get_of`."""
        return self._one(self._reader.read(sql.GET_OF, (question_id, agent)))

    async def by_key(self, agent: str, key: str) -> Question | None:
        """See :meth:`bot.ports.questions.QuestionStore.by_key`."""
        return self._one(self._reader.read(sql.BY_KEY, (agent, key)))

    async def receipts(self, question_id: str) -> dict[str, int]:
        """See :meth:`bot.ports.questions.QuestionStore.receipts`."""
        return dict(self._reader.read(sql.RECEIPTS, (question_id,)))

    async def by_token(self, token: str) -> Question | None:
        """See :meth:`bot.ports.questions.QuestionStore.by_token`."""
        return self._one(self._reader.read(sql.BY_TOKEN, (token,)))

    async def at(self, destination: Destination, message: str) -> Question | None:
        """See :meth:`bot.ports.questions.QuestionStore.at`."""
        return self._one(self._reader.read(sql.AT, (destination.account, destination.channel, message)))

    async def of_part(self, part_id: int) -> Question | None:
        """See :meth:`bot.ports.questions.QuestionStore.of_part`."""
        return self._one(self._reader.read(sql.BY_PART, (part_id,)))

    async def pending(self) -> list[Question]:
        """See :meth:`bot.ports.questions.QuestionStore.pending`."""
        return [self._question(row) for row in self._reader.read(sql.PENDING)]

    async def answered(self, agent: str, *, since: datetime) -> list[Question]:
        """See :meth:`bot.ports.questions.QuestionStore.answered`."""
        return [self._question(row) for row in self._reader.read(sql.ANSWERED, (agent, to_us(since)))]

    async def change(
        self, question: Question, *, now: datetime, parts: Sequence[NewPart] = (), note: str | None = None
    ) -> list[Waiting] | None:
        """See :meth:`bot.ports.questions.QuestionStore.change`."""
        return await self._writer.do(_change, (question, to_us(now), parts, note))

    async def show(self, question: Question, parts: Sequence[NewPart], *, now: datetime) -> list[Waiting]:
        """See :meth:`bot.ports.questions.QuestionStore.show`."""
        return await self._writer.do(_show_more, (question, parts, to_us(now))) if parts else []

    async def late(self, part_id: int) -> Question | None:
        """See :meth:`bot.ports.questions.QuestionStore.late`."""
        return self._one(self._reader.read(sql.LATE, (part_id,)))

    async def seen(self, part_id: int, message: str, *, now: datetime) -> None:
        """See :meth:`bot.ports.questions.QuestionStore.seen`."""
        if not self._reader.read(sql.RECEIPT, (part_id,)):
            await self._writer.do(_seen, (message, to_us(now), part_id))

    async def messages(self, question_id: str) -> list[str]:
        """See :meth:`bot.ports.questions.QuestionStore.messages`."""
        return list(dict.fromkeys(row[0] for row in self._reader.read(sql.SHOWN, (question_id,))))

    async def attach(self, question_id: str, parts: Sequence[int]) -> None:
        """See :meth:`bot.ports.questions.QuestionStore.attach`."""
        if parts:
            await self._writer.do(_attach, [(part, question_id) for part in parts])

    async def consume(self, question: Question) -> None:
        """See :meth:`bot.ports.questions.QuestionStore.consume`."""
        masked = {field.name for field in question.form.fields if field.masked}
        if question.answer is not None and masked & question.answer.keys():
            kept = {name: None if name in masked else value for name, value in question.answer.items()}
            await self._writer.do(_rewrite, (question.id, _document(replace(question, answer=kept, kept={}))))

    async def sweep(self, *, now: datetime, contents_before: datetime) -> int:
        """See :meth:`bot.ports.questions.QuestionStore.sweep`."""
        return await sweep_all(self._writer, _erase, to_us(contents_before))

    def _one(self, rows: Sequence[_Row]) -> Question | None:
        return self._question(rows[0]) if rows else None

    def _question(self, row: _Row) -> Question:
        values = dict(zip(sql.COLUMNS, row, strict=True))
        written: dict[str, Any] = orjson.loads(values["document"]) if values["document"] else {}
        who = orjson.loads(values["who"])
        return Question(
            id=values["id"],
            agent=values["agent"],
            key=values["key"],
            destination=destination_of(values["account"], values["channel"], values["thread"]),
            chat=Chat(values["chat"]),
            person=values["person"],
            asker=values["asker"],
            event_id=values["event_id"],
            schema=written.get("schema") or {},
            form=self._form(values["id"], written.get("schema")),
            text=written.get("text", ""),
            who=Who(kind=Answerer(who["kind"]), people=frozenset(who["people"])),
            important=bool(values["important"]),
            language=values["language"],
            timezone=values["timezone"],
            state=QuestionState(values["state"]),
            version=values["version"],
            asked_at=from_us(values["asked_at"]),
            expires_at=from_us(values["expires_at"]),
            kept=written.get("kept", {}),
            view=written.get("view", ""),
            refused=tuple((name, code) for name, code in written.get("refused", ())),
            answer=written.get("answer"),
            answered_by=values["answered_by"],
            way=None if values["way"] is None else Way(values["way"]),
            said=written.get("said"),
            closed_at=None if values["closed_at"] is None else from_us(values["closed_at"]),
        )

    def _form(self, question_id: str, schema: Mapping[str, Any] | None) -> Form:
        """The typed form; making it is dear, so those in use are kept. Erased words leave an empty one."""
        if schema is None:
            return Form(fields=(), schema={})
        form = self._forms.get(question_id)
        if form is None:
            try:
                form = read_form(schema)
            except FormError as error:
                raise StoreError("a stored question can't be read any more") from error
            self._forms[question_id] = form
            while len(self._forms) > _FORMS:
                self._forms.popitem(last=False)
        return form


def _put(tx: Transaction, payloads: Sequence[_Put]) -> list[tuple[_Row | None, list[Waiting]]]:
    results: list[tuple[_Row | None, list[Waiting]]] = []
    for question, parts, token, now in payloads:
        if tx.execute(sql.ADD, _new_row(question, token)).rowcount != 1:
            known = tx.execute(sql.BY_KEY, (question.agent, question.key)).fetchone()
            if known is None:
                raise StoreError("a question with this id or link is there already")
            results.append((known, []))
            continue
        waiting = _show(tx, question, parts, now)
        tx.note("asked", _facts(tx, question, parts=len(parts)), at_us=now)
        results.append((None, waiting))
    return results


def _change(tx: Transaction, payloads: Sequence[_Change]) -> list[list[Waiting] | None]:
    results: list[list[Waiting] | None] = []
    for question, now, parts, note in payloads:
        way = None if question.way is None else question.way.value
        closed_at = None if question.closed_at is None else to_us(question.closed_at)
        values = (question.state.value, closed_at, question.answered_by, way, _document(question))
        if tx.execute(sql.CHANGE, (*values, question.id, question.version)).rowcount != 1:
            results.append(None)
            continue
        waiting = _show(tx, question, parts, now)
        facts = _facts(tx, question, parts=len(parts))
        if note is not None:
            facts = {**facts, "refused": note}
        tx.note("question", facts, at_us=now)
        results.append(waiting)
    return results


def _show(tx: Transaction, question: Question, parts: Sequence[NewPart], now: int) -> list[Waiting]:
    waiting = store_parts(tx, [(part, now, part_digest(tx.salt, part.part)) for part in parts])
    if waiting:
        tx.insert(sql.PART_ROWS, [(one.id, question.id) for one in waiting])
    return waiting


def _attach(tx: Transaction, payloads: Sequence[list[tuple[Any, ...]]]) -> list[None]:
    for rows in payloads:
        tx.insert(sql.PART_ROWS, rows)
    return [None] * len(payloads)


def _seen(tx: Transaction, payloads: Sequence[tuple[str, int, int]]) -> list[None]:
    for row in payloads:
        tx.execute(ADD_RECEIPT, row)
    return [None] * len(payloads)


def _show_more(tx: Transaction, payloads: Sequence[tuple[Question, Sequence[NewPart], int]]) -> list[list[Waiting]]:
    return [_show(tx, question, parts, now) for question, parts, now in payloads]


def _rewrite(tx: Transaction, payloads: Sequence[tuple[str, bytes]]) -> list[None]:
    for question_id, document in payloads:
        tx.execute(sql.REWRITE, (document, question_id))
    return [None] * len(payloads)


_erase = erasing(sql.ERASE)


def _facts(tx: Transaction, question: Question, *, parts: int) -> Facts:
    """FORM-11: who, when, how, by digest; no masked value is in what is digested (FORM-10)."""
    masked = {field.name for field in question.form.fields if field.masked}
    answer = None
    if question.answer is not None:
        shown = {name: value for name, value in question.answer.items() if name not in masked}
        answer = content_digest(tx.salt, orjson.dumps(shown, option=orjson.OPT_SORT_KEYS)).hex()
    by = question.answered_by
    return {
        "question": content_digest(tx.salt, question.id.encode()).hex()[:32],
        "agent": content_digest(tx.salt, question.agent.encode()).hex()[:32],
        "state": question.state.value,
        "version": question.version,
        "way": None if question.way is None else question.way.value,
        "by": None if by is None else content_digest(tx.salt, by.encode()).hex()[:32],
        "parts": parts,
        "content": answer or content_digest(tx.salt, question.text.encode("utf-8", "replace")).hex(),
    }


def _new_row(question: Question, token: str) -> _Row:
    values: dict[str, Any] = {
        "id": question.id,
        "agent": question.agent,
        "key": question.key,
        "token": token,
        "account": question.destination.account,
        "channel": question.destination.channel,
        "thread": question.destination.thread,
        "chat": question.chat.value,
        "person": question.person,
        "asker": question.asker,
        "event_id": question.event_id,
        "who": orjson.dumps({"kind": question.who.kind.value, "people": sorted(question.who.people)}).decode(),
        "important": int(question.important),
        "language": question.language,
        "timezone": question.timezone,
        "state": question.state.value,
        "version": question.version,
        "asked_at": to_us(question.asked_at),
        "expires_at": to_us(question.expires_at),
        "closed_at": None,
        "answered_by": None,
        "way": None,
        "document": _document(question),
    }
    return tuple(values[name] for name in sql.NAMES)


def _document(question: Question) -> bytes:
    written = {
        "text": question.text,
        "schema": question.schema,
        "kept": question.kept,
        "view": question.view,
        "refused": question.refused,
        "answer": question.answer,
        **({} if question.said is None else {"said": question.said}),
    }
    return orjson.dumps(written, default=dict)
