"""A chat completion as it grows, in the shape that OpenAI-compatible servers stream or send it.

What the model thought before it spoke is never part of the answer (OUT-4): fields of reasoning are not read, and a
leading ``<think>`` block is passed over. What the provider says about errors is not read either.
"""

from dataclasses import dataclass, field
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


MAX_CALLS: Final = 8
"""Of tools in one completion."""
MAX_CALLED: Final = 4 * MAX_TEXT
"""Characters of all names and arguments in one completion."""
_MAX_ID: Final = 200
_CALLING: Final = frozenset(
    {"tool_calls", "function_call", "stop"}
)  # some servers end with stop though tools are called


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolCall:
    """A tool that the model calls, as it wrote it: nothing of it is checked."""

    id: str
    name: str
    arguments: str = field(repr=False)


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
        self._calls: list[dict[str, str]] = []
        self._numbers: dict[int, dict[str, str]] = {}
        self._called = 0

    @property
    def begun(self) -> bool:
        """Whether the model has said a word, or begun to call a tool."""
        return bool(self._text or self._calls or self.ended)

    @property
    def said(self) -> str:
        """What it has said without its thoughts, to be given back to it beside the calls of its tools."""
        return spoken(self._text, whole=True).strip()

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The tools that it wants called, in order, once it has ended with that."""
        if self._failure is not None or not self._calls or (self._finish or "stop") not in _CALLING or not self.ended:
            return ()
        return tuple(
            ToolCall(id=one["id"] or f"call_{number}", name=one["name"], arguments=one["arguments"])
            for number, one in enumerate(self._calls)
        )

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

    def _take_calls(self, pieces: Any) -> None:
        """Names and arguments come in pieces, of several calls in turn.

        Raises:
            AgentError: there are too many, or they are too long.
        """
        for piece in pieces if isinstance(pieces, list) else []:
            if not isinstance(piece, dict):
                raise AgentError("the provider's tool call is not an object")
            function = piece.get("function")
            given = function if isinstance(function, dict) else {}
            name, arguments = _word(given.get("name")), _word(given.get("arguments"))
            call = self._call_of(piece, named=bool(name))
            call["id"] = call["id"] or _word(piece.get("id"))[:_MAX_ID]
            call["name"] += name
            call["arguments"] += arguments
            self._called += len(name) + len(arguments)
            if self._called > MAX_CALLED:
                raise AgentError("the model called its tools with too much")

    def _call_of(self, piece: dict[str, Any], *, named: bool) -> dict[str, str]:
        """By its number; servers that give none know a call by its id, or send it whole."""
        number, known_as = piece.get("index"), _word(piece.get("id"))[:_MAX_ID]
        if isinstance(number, int):
            if number in self._numbers:
                return self._numbers[number]
        else:
            for call in reversed(self._calls):
                if call["id"] == known_as if known_as else not named:
                    return call
        if len(self._calls) == MAX_CALLS:
            raise AgentError("the model called too many tools at once")
        call = {"id": "", "name": "", "arguments": ""}
        self._calls.append(call)
        if isinstance(number, int):
            self._numbers[number] = call
        return call


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


def _word(value: Any) -> str:
    return value if isinstance(value, str) else ""


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
