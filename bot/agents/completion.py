"""A chat completion as it grows, in the shape that OpenAI-compatible servers stream or send it.

What the model thought before it spoke is never part of the answer (OUT-4): fields of reasoning are not read, and a
leading ``<think>`` block is passed over. What the provider says about errors is not read either.
"""

from typing import Any, Final

from bot.agents.prompt import SILENCE, SOURCES
from bot.agents.wire import MAX_REFERENCES, MAX_TEXT, parse_json
from bot.model import output as out
from bot.model.errors import AgentError
from bot.texts.codes import Failure

_THOUGHTS: Final = ("think", "thinking")
_CUT: Final = {
    "length": Failure.TOO_LONG,  # half an answer is none: nothing is cut silently
    "content_filter": Failure.WITHHELD,
}
_DONE: Final = "[DONE]"
_AROUND: Final = " \t\r\n`"
_OPENING, _CLOSING = f"<{SOURCES}>", f"</{SOURCES}>"


class Completion:
    """Collects one completion.

    Args:
        sources: the model was given facts on record, and may name those that it used at the end (AUTO-8).
    """

    def __init__(self, *, sources: bool = False) -> None:
        self._sources = sources
        self._text = ""
        self._finish: str | None = None
        self._failure: Failure | None = None
        self._done = False
        self._tool: tuple[str, str] | None = None

    @property
    def ended(self) -> bool:
        """Whether nothing more is expected."""
        return self._done or self._finish is not None or self._failure is not None

    @property
    def growing(self) -> str:
        """What may be shown while it grows: nothing as long as it may turn out to be a thought or silence."""
        text = spoken(self._text, whole=False)
        if self._sources:
            text = _before_sources(text)
        head = text.strip(_AROUND)
        return "" if SILENCE.startswith(head[: len(SILENCE)]) else text

    @property
    def call(self) -> tuple[str, str] | None:
        """The name and the arguments of the first tool that the model has called, once it has ended with that."""
        return self._tool if self._finish in ("tool_calls", "function_call") else None

    def add(self, data: str) -> None:
        """Take the data of one server-sent event.

        Raises:
            AgentError: it is an error of the provider, or no chunk of a completion.
        """
        if data.strip() == _DONE:
            self._done = True
            return
        choice = _first_choice(parse_json(data))
        if choice is not None:
            self._take(choice, choice.get("delta"))

    def take_whole(self, body: bytes) -> None:
        """Take a completion that was not streamed.

        Raises:
            AgentError: it is an error of the provider, or no completion.
        """
        choice = _first_choice(parse_json(body))
        if choice is None:
            raise AgentError("the provider's answer has no choice")
        self._take(choice, choice.get("message"))
        self._done = True

    def outcome(self) -> out.Final | out.SafeError | out.Silence:
        """What it came to.

        Raises:
            AgentError: it broke off, or the model called a tool that nobody gave it.
        """
        if self._failure is not None:
            return out.SafeError(failure=self._failure)
        if not self.ended:
            raise AgentError("the provider's answer broke off")
        if self._finish in ("tool_calls", "function_call"):
            raise AgentError("the model called a tool, and has none")
        if self._finish is not None and (failure := _CUT.get(self._finish)) is not None:
            return out.SafeError(failure=failure)
        text = spoken(self._text, whole=True).strip()
        if not text or text.strip(_AROUND).startswith(SILENCE):
            return out.Silence()
        references: tuple[str, ...] = ()
        if self._sources:
            text, references = sourced(text)
        return out.Final(text=text, references=references) if text else out.Silence()

    def _take(self, choice: dict[str, Any], message: Any) -> None:
        if isinstance(message, dict):
            self._text += _words(message.get("content")) or _words(message.get("refusal"))
            self._take_calls(message.get("tool_calls"))
        finish = choice.get("finish_reason")
        if isinstance(finish, str) and finish:
            self._finish = finish
        if len(self._text) > MAX_TEXT:
            self._failure = Failure.TOO_LONG

    def _take_calls(self, calls: Any) -> None:
        found = _function_of(calls)
        if found is not None:
            name, arguments = self._tool or ("", "")
            self._tool = (name + found[0], arguments + found[1])
            if len(self._tool[0]) + len(self._tool[1]) > MAX_TEXT:
                self._failure = Failure.TOO_LONG


def _function_of(calls: Any) -> tuple[str, str] | None:
    """The first tool in a piece of an answer: its name and its arguments, as far as they stand in the piece."""
    for call in calls if isinstance(calls, list) else []:
        if isinstance(call, dict) and call.get("index", 0) == 0 and isinstance(call.get("function"), dict):
            name, arguments = call["function"].get("name"), call["function"].get("arguments")
            return (name if isinstance(name, str) else "", arguments if isinstance(arguments, str) else "")
    return None


def spoken(text: str, *, whole: bool) -> str:
    """The answer without the thoughts that some models write before it.

    Args:
        text: so far.
        whole: nothing more will come.
    """
    head = text.lstrip()
    for name in _THOUGHTS:
        opening, closing = f"<{name}>", f"</{name}>"
        if head.startswith(opening) or closing in head:  # templates of some models swallow the opening
            _, closed, rest = head.rpartition(closing)
            return rest.lstrip() if closed else ""
        if not whole and opening.startswith(head):
            return ""
    return head


def sourced(text: str) -> tuple[str, tuple[str, ...]]:
    """The answer and the ids that it names at its end.

    Raises:
        AgentError: it names more than an answer can have.
    """
    ids: list[str] = []
    while (bare := text.rstrip(_AROUND)).endswith(_CLOSING) and (at := bare.rfind(_OPENING)) >= 0:
        ids += bare[at + len(_OPENING) : -len(_CLOSING)].replace(",", " ").replace(";", " ").split()
        around = text[len(bare) :].strip(" \t\r\n")  # a code mark that was opened before them
        text = text[:at].removesuffix(around).rstrip()
    references = tuple(dict.fromkeys(one for one in ids if one))
    if len(references) > MAX_REFERENCES:
        raise AgentError("the model named more sources than an answer can have")
    return text, references


def _before_sources(text: str) -> str:
    """What may be shown while it grows: nothing of what may turn out to be ids."""
    at = text.find(_OPENING)
    if at < 0:
        begun = max((size for size in range(len(_OPENING)) if text.endswith(_OPENING[:size])), default=0)
        at = len(text) - begun
    return text if at == len(text) else text[:at].rstrip()


def _first_choice(document: Any) -> dict[str, Any] | None:
    if not isinstance(document, dict):
        raise AgentError("the provider's answer is not an object")
    if document.get("error"):
        raise AgentError("the provider reported an error")
    choices = document.get("choices")
    if not isinstance(choices, list):
        raise AgentError("the provider's answer has no choices")
    if not choices:
        return None  # usage and the like
    if not isinstance(choices[0], dict):
        raise AgentError("the provider's choice is not an object")
    return choices[0]


def _words(content: Any) -> str:
    match content:
        case None:
            return ""
        case str():
            return content
        case list():
            return "".join(_words(part.get("text")) for part in content if isinstance(part, dict))
        case _:
            raise AgentError("the provider's content is not text")
