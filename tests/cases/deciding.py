"""Kind ``approval_text_table``: what people type under a question, and whether it is a decision (FORM-14).

Each row is a reply to a question that a running gateway has asked: yes or no, or the case's own options; yes and no also
as replies to the card of an approval. What is no decision leaves the question open and has no other effect; no agent is asked what it may have meant.
"""

from pathlib import Path
from typing import Any, Final

from tests.cases.approving import replies
from tests.cases.asked import AskingAgent, Question, scene
from tests.cases.clocks import listening
from tests.cases.result import NotRun, check

_MEANS: Final = {True: {"approved", "approve", "yes", "allowed"}, False: {"denied", "deny", "no", "rejected"}}
_UNCLEAR: Final = {"unclear", "ask", "ask_again", "asked", "pending", "none"}
_NOT: Final = {"not_approved": {"denied", "unclear"}, "not_denied": {"approved", "unclear"}}


async def approval_text_table(case: dict[str, Any], folder: Path) -> None:
    """All rows; those that fail are named."""
    given = case["input"]
    options = given.get("options")
    answer = {"type": "boolean"} if options is None else {"type": "string", "enum": options}
    schema = {"type": "object", "properties": {"answer": answer}, "required": ["answer"]}
    agent = AskingAgent()
    for _ in given["rows"]:
        agent.add(schema, text="May I?")
    failed: list[str] = []
    with listening() as heard:
        async with scene(folder, agent) as stage:
            for row, question in zip(given["rows"], agent.questions, strict=True):
                await stage.ask(question)
                before = len(agent.runs)
                await stage.reply(question, row["text"])
                got = _got(question)
                failed += [] if got & _right(row) else [f"{row['text']!r}: {' or '.join(sorted(got))}"]
                check(len(agent.runs) == before, "no agent to be asked what was meant", row["text"])
        if options is None:  # a yes or a no is what a card of an approval takes, too
            (folder / "cards").mkdir()
            for row, got in zip(given["rows"], await replies(given["rows"], folder / "cards"), strict=True):
                failed += [] if got & _right(row) else [f"{row['text']!r} to a card: {' or '.join(sorted(got))}"]
    check(not failed, "each row as written", "; ".join(failed))
    check(not heard.errors, "no error in the log", heard.errors)


def _got(question: Question) -> set[str]:
    """What became of it, in all words for it."""
    if question.answer is None:
        return set(_UNCLEAR)
    value = question.answer["answer"]
    return {str(value)} if not isinstance(value, bool) else _MEANS[value]


def _right(row: dict[str, Any]) -> set[str]:
    """What a row takes."""
    words = {str(word) for word in [row.get("result"), *row.get("accept", [])] if word is not None}
    if not words:
        raise NotRun(f"{row['text']!r} has no result")
    return words | {word for name in words for word in _NOT.get(name, ())}
