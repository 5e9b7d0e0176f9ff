"""Commands and what came of them as agents see them, in JSON; every protocol says the same."""

from typing import Any

from bot.model.command import Offered, Ran


def offered_document(one: Offered) -> dict[str, Any]:
    """A command as agents hear of it."""
    return {
        "name": one.name,
        "description": one.description,
        "input_description": one.input_description,
        "reads": list(one.reads),
        "keep_as": one.keep_as,
        "takes_text": one.words,
    }


def ran_document(ran: Ran) -> dict[str, Any]:
    """What came of a run."""
    return {
        "run": ran.run,
        "command": ran.command,
        "outcome": ran.state.value,
        "text": ran.text,
        "object": None if ran.thing is None else {"id": ran.thing.id, "display": ran.thing.display},
        "reasons": [{"code": code, "reason": text} for code, text in ran.reasons],
        "result": ran.result,
        "question": ran.question,
        "repeated": ran.repeated,
    }
