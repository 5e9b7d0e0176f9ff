"""Kind ``render_buttons``: a choice as people see it, on Telegram and on Matrix, and what a tap on each option means."""

import re
from pathlib import Path
from typing import Any, Final

from bot.channels.matrix.limits import Limits
from forms.field import Field, FieldKind
from forms.schema import read_form
from forms.wording import WORDS, options_of, title_of
from tests.cases.asked import WITHIN_S, AskingAgent, Question, scene
from tests.cases.clocks import listening
from tests.cases.result import NotRun, check
from tests.matrix_harness import running_matrix
from tests.servers.homeserver import Homeserver

DATA_BYTES: Final = 64
GLANCE: Final = 20
"""Characters of a label that a phone shows beside another one."""
BOT, ROOM, PERSON = "@desk:example.org", "!lab:example.org", "@alice:example.org"
_CHOICES: Final = frozenset({FieldKind.CHOICE, FieldKind.BOOLEAN})
_NUMBER: Final = r"(?:\(?{0}[.):]|{0}\ufe0f?\u20e3)"


async def render_buttons(case: dict[str, Any], folder: Path) -> None:
    """Ask the same on both, tap every option of it, and look at what was shown."""
    given, expected = case["input"], case["expected"]
    end_state = str(expected.get("end_state", "")).lower()
    if not re.search(r"\bsent\b|\bshown\b|\bbuttons?\b", end_state):
        raise NotRun(f"the end {end_state!r} is not understood")
    schema = given.get("schema") or _schema(given)
    fields = [field for field in read_form(schema).fields if not field.fixed]
    field = fields[0] if len(fields) == 1 and fields[0].kind in _CHOICES else None
    if field is None:
        raise NotRun("the schema is no single choice")
    values = [option.value for option in options_of(field)]
    titles = [title_of(option, WORDS) for option in options_of(field)]
    musts = "\n".join(map(str, expected.get("must", []))).lower()
    key = str(given["question_id"]) if "question_id" in given else None
    with listening() as heard:
        (folder / "telegram").mkdir()
        await _on_telegram(folder / "telegram", schema, field, titles, values, musts, end_state, key)
        (folder / "matrix").mkdir()
        await _on_matrix(folder / "matrix", schema, field, titles, values, musts)
    check(not heard.errors, "no error in the log", heard.errors)


def _schema(given: dict[str, Any]) -> dict[str, Any]:
    """Of a case that names its options alone."""
    options = given.get("options", given.get("labels"))
    if not isinstance(options, list):
        raise NotRun("there is no schema and there are no options")
    return {"type": "object", "properties": {"choice": {"enum": options}}, "required": ["choice"]}


async def _on_telegram(
    folder: Path,
    schema: Any,
    field: Field,
    titles: list[str],
    values: list[Any],
    musts: str,
    end_state: str,
    key: str | None,
) -> None:
    agent = AskingAgent()
    for number in range(len(values) + 1):
        agent.add(schema, key=None if key is None else f"{key}-{number}" if number else key)
    async with scene(folder, agent) as stage:
        first = agent.questions[0]
        await stage.ask(first)
        check(first.shown, "the question to be sent", first.error)
        refused = [call for call in stage.api.calls_of("sendMessage", "editMessageText") if call.error is not None]
        check(not refused, "nothing that Telegram refuses", refused)
        labels = [tap["text"] for tap in first.taps][: len(titles)]
        if "button" in end_state or labels:
            check(len(labels) == len(titles), f"{len(titles)} buttons", labels)
        _check_data(first, titles, key)
        _check_words(first.text, labels, titles, musts)
        for number, value in enumerate(values if labels else [], 1):
            question = agent.questions[number]
            await stage.ask(question)
            await stage.tap(question, question.taps[number - 1]["callback_data"])
            check(question.answer == {field.name: value}, f"the tap on {labels[number - 1]!r} to mean {value!r}")


def _check_data(question: Question, titles: list[str], key: str | None) -> None:
    """What is on the wire is short, opaque, and different for each button."""
    sent = [str(tap["callback_data"]) for tap in question.taps]
    for data in sent:
        check(1 <= len(data.encode()) <= DATA_BYTES, f"callback_data of 1 to {DATA_BYTES} bytes", len(data.encode()))
        told = [word for word in (*titles, key or "") if len(word) > 3 and word.lower() in data.lower()]
        check(not told, "opaque callback_data", told)
    check(len(set(sent)) == len(sent), "each button to have its own callback_data")


def _check_words(text: str, labels: list[str], titles: list[str], musts: str) -> None:
    """Each option can be read in full; labels can be told apart at a glance."""
    numbered = "numbered" in musts
    for number, title in enumerate(titles, 1):
        if numbered or number > len(labels) or title not in labels[number - 1]:
            check(title in text, "the full option in the message", text)
        if numbered:
            found = re.search(_NUMBER.format(number) + r"\s*" + re.escape(title), text)
            check(found, f"option {number} with its number in the message", text)
    if "distinguish" in musts or "number first" in musts:
        check(len({label[:GLANCE] for label in labels}) == len(labels), "labels that can be told apart", labels)
    if "number first" in musts:
        bare = [label for number, label in enumerate(labels, 1) if not re.match(_NUMBER.format(number), label)]
        check(not bare, "labels that begin with their number", bare)


async def _on_matrix(folder: Path, schema: Any, field: Field, titles: list[str], values: list[Any], musts: str) -> None:
    """The same in a room: the choices in words, each with its sign, and a reaction as a tap."""
    agent = AskingAgent()
    question = agent.add(schema)
    policy = f'version: 1\nchannels:\n  "matrix:{BOT}:{ROOM}": {{audience: external}}\n'
    async with Homeserver(user_id=BOT) as server:
        server.room(ROOM, joined=[PERSON], name="Lab")
        async with running_matrix(
            folder, server=server, policy=policy, agent=agent, limits=Limits(room=None, total=None)
        ) as gateway:
            server.say(ROOM, "desk: ask number 0", sender=PERSON, **{"m.mentions": {"user_ids": [BOT]}})
            await server.wait_sent(ROOM, timeout=WITHIN_S)
            await gateway.settled()
            check(
                question.error is None and question.crash is None, "the question to be sent on Matrix", question.error
            )
            shown = [event for event in server.sent(ROOM) if event["type"] == "m.room.message"]
            body = "\n".join(str(event["content"].get("body", "")) for event in shown)
            for title in titles:
                check(title in " ".join(body.split()), "the full option in the message on Matrix", body)
            if "numbered" in musts:
                for number, title in enumerate(titles, 1):
                    found = re.search(_NUMBER.format(number) + r"\s*" + re.escape(title), body)
                    check(found, f"option {number} with its number in the message on Matrix", body)
            seeds = [event for event in server.sent(ROOM) if event["type"] == "m.reaction"]
            if not seeds:
                return
            sign = seeds[len(values) - 1]["content"]["m.relates_to"]
            server.push(ROOM, server.event("m.reaction", {"m.relates_to": sign}, sender=PERSON))
            await gateway.until(lambda: question.conclusion is not None)
            check(question.answer == {field.name: values[-1]}, "the last sign to mean the last option", question.answer)
