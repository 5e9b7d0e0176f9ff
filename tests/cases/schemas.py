"""Kind ``schema_check``: an agent asks with a schema, and the question is refused, or shown and answered.

Each schema is read with the network shut and files watched, then asked by a running gateway; then it is answered: by the
case's own reply, or as its words of the end say. Those words are read clause by clause: ``1: ...; 2: ...`` belong to the
schemas in their order, ``true/{} -> ...`` to the schemas that have such a property, anything else to all of them. What
stands beside an "or" is as right.
"""

import json
import re
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from bot.questions.links import Links
from forms.bounds import same
from forms.errors import SchemaError
from forms.field import Form
from forms.schema import read_form
from forms.validation import Judge
from tests.cases.asked import AskingAgent, Question, Scene, scene
from tests.cases.clauses import clauses, listed, literal, there
from tests.cases.clocks import listening
from tests.cases.result import Failed, NotRun, check
from tests.cases.sayings import BASE_URL, Tried, holds, plain
from tests.cases.watched import watched

PROMPT_S: Final = 1.0
_HOSTILE: Final = (
    {"type": "string", "pattern": "^(a|a?)+$"},
    {"type": "string", "pattern": "(a{1000}){1000}"},
    {"type": "string", "pattern": "a{1000}{1000}"},
    {"type": "string", "pattern": "|".join(f"x{n}y*z*" for n in range(1_000))},
    {"type": "string", "pattern": "^(([a-z])+.)+[A-Z]([a-z])+$"},
)


async def schema_check(case: dict[str, Any], folder: Path) -> None:
    """Every schema of the case."""
    given, expected = case["input"], case["expected"]
    schemas = given["schemas"] if "schemas" in given else [given["schema"]]
    replies = given.get("replies", [given.get("reply")] * len(schemas))
    agent = AskingAgent()
    tried = [
        Tried(schema=schema, question=agent.add(schema), replied=reply)
        for schema, reply in zip(schemas, replies, strict=True)
    ]
    spare = [agent.add(one.schema) for one in tried]  # the same once more, for what the words of the end want tried
    read_form({"type": "object", "properties": {"x": {"type": "string", "format": "date", "pattern": "^2"}}})  # imports
    for one in tried:
        one.form = _read(one.schema)
    with listening() as heard:
        async with scene(folder, agent, links=Links(b"k" * 32, BASE_URL)) as stage:
            for one in tried:
                await _try(stage, one)
            await _judge(stage, tried, spare, expected)
            await _promised(stage, tried, expected)
            took = await stage.serves_others()
            check(took < PROMPT_S, "another chat to be served afterwards within a second", f"{took:.2f} s")
    check(not heard.errors, "no error in the log", heard.errors)


def _read(schema: Any) -> Form | None:
    """The form, or None; with nobody spoken to."""
    since, form = time.monotonic(), None
    with watched() as touched:
        try:
            form = read_form(schema)
            Judge(form).errors({})
        except SchemaError as refused:
            for problem in refused.problems:
                check(problem.code, "a code in the refusal")
        except Exception as error:
            raise Failed(f"expected a form or a refusal, got {type(error).__name__}: {error}") from error
    check(not touched, "no network and no files", touched)
    took = time.monotonic() - since
    check(took < PROMPT_S, "a form or a refusal within a second", f"{took:.2f} s")
    return form


async def _try(stage: Scene, one: Tried) -> None:
    question = one.question
    await stage.ask(question)
    check(question.crash is None, "no exception at the agent", repr(question.crash))
    check((one.form is None) == (question.error is not None), "the gateway to take what the form takes")
    if question.error is not None:
        check(question.error.code == "schema", "a refusal of the schema", question.error.code)
        check(question.error.problems, "the places and reasons in the refusal")
        return
    check(question.shown, "the question to be shown")
    if one.replied is not None:
        since = time.monotonic()
        waits = stage.serves_others()
        before = len(stage.api.sent(question.chat))
        at = question.shown[-1]["message_id"]
        stage.api.say(chat=question.chat, sender=stage.person, text=one.replied, reply_to=at)
        check(await waits < PROMPT_S, "another chat to be served meanwhile within a second")
        await stage.api.wait_sent(question.chat, before + 1)
        one.reply_s = time.monotonic() - since
        await stage.gateway.settled()
        one.told = stage.api.texts(question.chat)[before:]
        one.answer = question.answer


# The words of the end


async def _judge(stage: Scene, tried: list[Tried], spare: list[Question], expected: dict[str, Any]) -> None:
    """Every clause that is said of a schema holds, or what is written beside it under ``accept``."""
    words = str(expected.get("end_state", expected.get("result", "")))
    accepted = [str(one) for one in listed(expected.get("accept"))]
    unclear: list[str] = []
    for number, one in enumerate(tried):
        said = list(clauses(words, number, one.schema, len(tried)))
        if not said:
            raise NotRun(f"nothing in {words!r} is said of schema {number + 1}")
        for clause in said:
            held = await holds(stage, one, spare[number], clause)
            if held is not True:
                also = [await holds(stage, one, spare[number], other) for other in accepted]
                if True in also:
                    continue
                if held is None:
                    unclear.append(clause)
                    continue
                raise Failed(f"expected schema {number + 1}: {clause}, got {one.seen}")
    if unclear:
        raise NotRun(f"not understood: {'; '.join(unclear)}")


# What else is promised


async def _promised(stage: Scene, tried: list[Tried], expected: dict[str, Any]) -> None:
    """What must be and must not be; words that say nothing to check here are passed over."""
    for must in map(str, listed(expected.get("must"))):
        confirmed = re.search(r"(\{.*\}) on (confirm|\w+)", must)
        if confirmed is not None:
            for one in tried:
                again = await _once_more(stage, one.schema)
                data = [tap["callback_data"] for tap in again.taps if tap["text"].lower() == confirmed[2]]
                check(len(data) == 1, f"a button {confirmed[2]!r}", [tap["text"] for tap in again.taps])
                await stage.tap(again, data[0])
                check(same(plain(again.answer), literal(confirmed[1])), must, again.answer)
        if re.search(r"patternProperties|alternation|repeats|\{\d+\}", must):
            _hostile()
        if re.search(r"clean error|precise|path|reason", must):
            for one in (one for one in tried if one.question.error is not None):
                problems = one.question.error.problems if one.question.error else ()
                check(all(code and there(one.schema, path) for path, code, _ in problems), must, problems)
    for never in map(str, listed(expected.get("must_not"))):
        for one in tried:
            if "silently optional" in never and one.form is not None and '"required": true' in json.dumps(one.schema):
                check(all(item.required for item in one.form.fields), f"never {never}")
            if re.search(r"resume|passes|reaches the agent", never) and one.replied is not None and one.told:
                check(one.question.conclusion is None, f"never {never}", one.answer)


def _hostile() -> None:
    """Patterns that are made to take forever, in a field and as names of fields."""
    for part in _HOSTILE:
        for schema in (
            {"type": "object", "properties": {"x": part}, "required": ["x"]},
            {"type": "object", "properties": {}, "patternProperties": {part["pattern"]: {"type": "string"}}},
        ):
            since = time.monotonic()
            with suppress(SchemaError):
                Judge(read_form(schema)).errors({"x": "a" * 5_000 + "!"})
            took = time.monotonic() - since
            check(took < PROMPT_S, f"{part['pattern'][:30]!r} to be judged or refused within a second", f"{took:.2f} s")


async def _once_more(stage: Scene, schema: Any) -> Question:
    """The same asked again, in the group of the question that it was asked in first."""
    known = next(one for one in stage.agent.questions if one.asking.schema is schema and not one.conclusion)
    if not known.shown:
        await stage.ask(known)
    return known
