"""The tools that a model may have: asking a person, proposing an action, filing a draft (AGENT-3).

They are thin: each is a call of the desk, which decides as for every agent whether it may be. What a model writes into
them is as hostile as its words. What it did wrong it is told in plain words, so that it can do better; how often is
bounded by whoever runs it. What people have answered goes back to it as untrusted data (PROMPT-2).
"""

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from bot.agents.completion import ToolCall
from bot.agents.tools import NAME, TOOLS, called
from bot.agents.wire import MAX_REFERENCES, encode_json, parse_json
from bot.model import output as out
from bot.model.approval import Action, Approval, ApprovalState, Assurance, Proposal
from bot.model.errors import AgentError, AskError, ProposalError
from bot.model.question import Answerer, Asking, QuestionState, Who
from bot.model.request import Request
from bot.ports.agent import Desk
from forms.errors import SchemaError
from forms.schema import read_form
from policy.ruleset import DRAFT_ONLY

MAX_ARGUMENTS: Final = 65_536
"""Characters of the arguments of one call."""
MAX_PUT: Final = 10
"""Questions and proposals of one run."""
NOTE_OF_SILENCE: Final = "the model's answer ended without a word of it"


class Tool(StrEnum):
    """What can be switched on in the configuration; ``report_outcome`` comes with ``request_approval``."""

    ASK_HUMAN = "ask_human"
    REQUEST_APPROVAL = "request_approval"
    FILE_DRAFT = "file_draft"


REPORT_OUTCOME: Final = "report_outcome"
_TEXT: Final = {"type": "string"}
_DESCRIPTIONS: Final[Mapping[str, tuple[str, dict[str, Any]]]] = {
    Tool.ASK_HUMAN: (
        (
            "Ask a person in this chat and wait for the answer, which may take long. Only for what you need to go on "
            "and can't know. Never ask for passwords, codes or card numbers."
        ),
        {
            "type": "object",
            "properties": {
                "question": {"type": "string", "description": "One short question in the person's language."},
                "choices": {
                    "type": "array",
                    "items": _TEXT,
                    "description": "The possible answers, if there are only these.",
                },
                "schema": {
                    "type": "object",
                    "description": "Instead of choices: a JSON Schema of type object with up to 20 flat properties.",
                },
                "who": {
                    "type": "string",
                    "enum": [Answerer.ASKER.value, Answerer.OPERATORS.value],
                    "description": "Who may answer: whoever made the request (default), or an operator.",
                },
                "ttl_s": {"type": "integer", "description": "Seconds until nobody is waited for; default 3600."},
            },
            "required": ["question"],
        },
    ),
    Tool.REQUEST_APPROVAL: (
        (
            "Before an action with an effect: propose exactly what would run, and wait until people have decided. "
            "Where it is approved, do exactly what the result says, once, and then call report_outcome."
        ),
        {
            "type": "object",
            "properties": {
                "action": {"type": "string", "description": "Name of the action, such as refund."},
                "system": {"type": "string", "description": "The system that it acts on."},
                "parameters": {"type": "object", "description": "Everything that decides the effect."},
                "reason": {"type": "string", "description": "Why, in a sentence for whoever decides."},
            },
            "required": ["action", "parameters", "reason"],
        },
    ),
    REPORT_OUTCOME: (
        "Tell what came of an approved action.",
        {
            "type": "object",
            "properties": {
                "approval": {"type": "string", "description": "The id that request_approval gave."},
                "outcome": {"type": "string", "enum": ["executed", "failed", "unknown"]},
                "note": _TEXT,
            },
            "required": ["approval", "outcome"],
        },
    ),
    Tool.FILE_DRAFT: (
        (
            "End your work with a draft that an operator has to approve before it is sent: whenever the answer is "
            "about prices, a contract, law, a public statement, an unmeasured figure or a claim that you can't verify."
        ),
        {
            "type": "object",
            "properties": {
                "text": {"type": "string", "description": "The whole answer, as it would be sent."},
                "class": {"type": "string", "enum": sorted(one.value for one in DRAFT_ONLY)},
                "references": {"type": "array", "items": _TEXT, "description": "Ids of the facts on record used."},
            },
            "required": ["text", "class"],
        },
    ),
}
_OUTCOMES: Final[Mapping[str, bool | None]] = {"executed": True, "failed": False, "unknown": None}
_MASKED: Final = "passwords and the like are never asked for through you"


class MisuseError(Exception):
    """The model has used a tool in a wrong way; it is told so, and nothing has happened."""


@dataclass(kw_only=True, slots=True)
class Toolbox:
    """The tools of one run.

    Attributes:
        offered: those that the model has, as the provider wants to read of them.
        claimed: approvals that are used and whose outcome nobody has told yet, by id.
        put: how many questions and proposals this run has put to people.
    """

    request: Request
    desk: Desk
    offered: tuple[str, ...]
    claimed: dict[str, Approval] = field(default_factory=dict)
    put: int = 0

    @property
    def documents(self) -> list[dict[str, Any]]:
        """What the provider is told of them."""
        return [
            *(TOOLS if NAME in self.offered else ()),
            *(
                {"type": "function", "function": {"name": name, "description": text, "parameters": parameters}}
                for name, (text, parameters) in _DESCRIPTIONS.items()
                if name in self.offered
            ),
        ]

    async def use(self, call: ToolCall) -> str | out.Final | out.Clarify:
        """What comes of a call: a result for the model, or the end of the run.

        Raises:
            AgentError: the gateway itself can't go on with it.
        """
        try:
            if call.name == NAME and NAME in self.offered:
                return self._ask_back(call)
            arguments = self._arguments(call)
            match call.name:
                case Tool.FILE_DRAFT:
                    return _draft(arguments)
                case Tool.ASK_HUMAN:
                    return _result(await self._ask(arguments))
                case Tool.REQUEST_APPROVAL:
                    return _result(await self._propose(arguments))
                case _:
                    return _result(await self._tell(arguments))
        except MisuseError as misuse:
            return _result({"error": str(misuse)})
        except AskError as error:
            problems = [{"path": path, "code": code, "detail": detail} for path, code, detail in error.problems]
            return _result({"error": str(error), "code": error.code, **({"problems": problems} if problems else {})})
        except ProposalError as error:
            return _result({"error": str(error), "code": error.code})

    def _ask_back(self, call: ToolCall) -> out.Clarify:
        try:
            return called(call.name, call.arguments, self.request.continuing)
        except AgentError as error:
            raise MisuseError(str(error)) from None

    async def before(self) -> list[tuple[ToolCall, str]]:
        """What an attempt that was cut off has put to people, and what became of it: nobody is asked twice (DUR-3)."""
        found: list[tuple[ToolCall, str]] = []
        while self.request.attempt > 1 and (known := await self._put_before(self._key)) is not None:
            self.put += 1
            name, arguments, result = known
            call = ToolCall(id=f"call_{self.put}", name=name, arguments=encode_json(arguments).decode())
            found.append((call, _result(result)))
        return found

    async def _put_before(self, key: str) -> tuple[str, dict[str, Any], dict[str, Any]] | None:
        """One question or proposal: the tool, its arguments, its result."""
        asking = await self.desk.asked_before(key)
        if asking is not None:
            arguments = {"question": asking.text, "schema": dict(asking.schema), "who": asking.who.kind.value}
            try:
                return Tool.ASK_HUMAN.value, arguments, await self._concluded(asking)
            except AskError as error:  # the policy is another one by now
                return Tool.ASK_HUMAN.value, arguments, {"error": str(error), "code": error.code}
        decided = await self.desk.proposed_before(key)
        if decided is None:
            return None
        action = decided.action
        arguments = {
            "action": action.name,
            "system": action.system,
            "parameters": dict(action.parameters),
            "reason": decided.proposal.reason,
        }
        try:
            return Tool.REQUEST_APPROVAL.value, arguments, await self._used(decided)
        except ProposalError as error:
            return Tool.REQUEST_APPROVAL.value, arguments, {"error": str(error), "code": error.code}

    async def close(self) -> None:
        """The run ends: of what was used and never told of, nobody knows what became (APPR-6)."""
        for approval in list(self.claimed.values()):
            with suppress(ProposalError):  # its time is over: that is written down already
                await self._told(approval, executed=None, note=NOTE_OF_SILENCE)

    def _arguments(self, call: ToolCall) -> "_Arguments":
        if call.name not in self.offered:
            raise MisuseError(f"there is no such tool; yours are {', '.join(self.offered)}")
        if len(call.arguments) > MAX_ARGUMENTS:
            raise MisuseError(f"the arguments have more than {MAX_ARGUMENTS} characters")
        try:
            document = parse_json(call.arguments or "{}")
        except AgentError:
            raise MisuseError("the arguments are not JSON") from None
        if not isinstance(document, dict):
            raise MisuseError("the arguments are not a JSON object")
        known = _DESCRIPTIONS[call.name][1]["properties"]
        if unknown := sorted(document.keys() - known.keys()):
            raise MisuseError(f"unknown arguments: {', '.join(unknown)[:200]}; known are {', '.join(known)}")
        arguments = _Arguments({name: value for name, value in document.items() if value is not None})
        for name in _DESCRIPTIONS[call.name][1]["required"]:
            arguments.demand(name)
        return arguments

    async def _ask(self, arguments: "_Arguments") -> dict[str, Any]:
        self._more()
        ttl_s = arguments.whole("ttl_s", 3600)
        asking = Asking(
            text=arguments.text("question"),
            schema=_schema(arguments),
            who=Who(kind=Answerer(arguments.one_of("who", (Answerer.ASKER, Answerer.OPERATORS)))),
            ttl_s=ttl_s,
            key=self._key,
        )
        try:
            masked = any(field.masked for field in read_form(asking.schema).fields)
        except SchemaError:
            masked = False  # the desk says what is wrong with it
        if masked:
            raise MisuseError(_MASKED)
        found = await self._concluded(asking)
        self.put += 1
        return found

    async def _concluded(self, asking: Asking) -> dict[str, Any]:
        ended = await self.desk.ask(asking)
        found: dict[str, Any] = {"untrusted": True, "state": ended.state.value}
        if ended.state is QuestionState.ANSWERED:
            found |= {"answer": dict(ended.answer or {}), "answered_by": ended.answered_by}
        return found

    @property
    def _key(self) -> str:
        """Of the next question or proposal, the same in each attempt."""
        return f"{self.request.id}:tool:{self.put + 1}"

    def _more(self) -> None:
        if self.put >= MAX_PUT:
            raise MisuseError("you have asked people enough; answer with what you know")

    async def _propose(self, arguments: "_Arguments") -> dict[str, Any]:
        self._more()
        action = Action(
            name=arguments.text("action"),
            system=arguments.text("system"),
            parameters=arguments.object("parameters"),
        )
        decided = await self.desk.propose(
            Proposal(action=action, reason=arguments.text("reason"), assurance=Assurance.NORMAL, key=self._key)
        )
        self.put += 1
        return await self._used(decided)

    async def _used(self, decided: Approval) -> dict[str, Any]:
        """What was decided; where it is approved it is used now, once (APPR-5)."""
        if decided.state is not ApprovalState.APPROVED:
            words = [one.words for one in decided.standing if one.words]
            return {"untrusted": True, "approval": decided.id, "state": decided.state.value, "words": words}
        used = await self.desk.claim(decided, target_present=None)
        self.claimed[used.id] = used
        return {
            "untrusted": True,
            "approval": used.id,
            "state": ApprovalState.APPROVED.value,
            "action": used.action.name,
            "system": used.action.system,
            "parameters": dict(used.action.parameters),  # people may have changed them (APPR-3)
        }

    async def _tell(self, arguments: "_Arguments") -> dict[str, Any]:
        approval = self.claimed.get(arguments.text("approval"))
        if approval is None:
            raise MisuseError("there is no approval of this id whose outcome is still to be told")
        executed = _OUTCOMES[arguments.one_of("outcome", tuple(_OUTCOMES))]
        await self._told(approval, executed=executed, note=arguments.text("note"))
        return {"noted": True}

    async def _told(self, approval: Approval, *, executed: bool | None, note: str) -> None:
        try:
            await self.desk.outcome(approval, executed=executed, note=note)
        finally:
            self.claimed.pop(approval.id, None)


def offered(tools: Iterable[Tool], request: Request, *, asks_back: bool = False) -> tuple[str, ...]:
    """The names of those tools that mean anything where the request was made: inside, no draft waits for anybody."""
    names: list[str] = [NAME] if asks_back else []
    for tool in tools:
        if tool is Tool.FILE_DRAFT and request.audience.trusted:
            continue
        names.append(tool.value)
        if tool is Tool.REQUEST_APPROVAL:
            names.append(REPORT_OUTCOME)
    return tuple(names)


def _draft(arguments: "_Arguments") -> out.Final:
    references = arguments.texts("references")
    if len(references) > MAX_REFERENCES:
        raise MisuseError(f"references: at most {MAX_REFERENCES}")
    text = arguments.text("text")
    if not text.strip():
        raise MisuseError("text is empty")
    declared = arguments.one_of("class", tuple(sorted(one.value for one in DRAFT_ONLY)))
    return out.Final(text=text, declared=declared, references=references)


def _schema(arguments: "_Arguments") -> Mapping[str, Any]:
    choices, schema = arguments.texts("choices"), arguments.object("schema")
    if choices and schema:
        raise MisuseError("give choices or a schema, not both")
    if schema:
        return schema
    answer: dict[str, Any] = {"type": "string", "title": "Answer"} | ({"enum": list(choices)} if choices else {})
    return {"type": "object", "properties": {"answer": answer}, "required": ["answer"]}


def _result(document: Mapping[str, Any]) -> str:
    return json.dumps(document, ensure_ascii=False)


class _Arguments:
    """The arguments of a call, one by one; what is wrong is told to the model, by name."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        self._given = given

    def demand(self, name: str) -> None:
        """It has to be there."""
        if name not in self._given:
            raise MisuseError(f"{name} is missing")

    def text(self, name: str) -> str:
        """A text; empty where it is not there."""
        value = self._typed(name, str, "a text", "")
        return str(value)

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of texts."""
        value = self._typed(name, list, "a list of texts", [])
        if not all(isinstance(one, str) for one in value):
            raise MisuseError(f"{name} is not a list of texts")
        return tuple(value)

    def object(self, name: str) -> dict[str, Any]:
        """An object."""
        return dict(self._typed(name, dict, "an object", {}))

    def whole(self, name: str, otherwise: int) -> int:
        """A whole number."""
        value = self._typed(name, int, "a whole number", otherwise)
        if isinstance(value, bool):
            raise MisuseError(f"{name} is not a whole number")
        return int(value)

    def one_of(self, name: str, known: tuple[str, ...]) -> str:
        """One of some words; the first where it is not there."""
        value = self.text(name) if name in self._given else known[0]
        if value not in known:
            raise MisuseError(f"{name} is none of {', '.join(known)}")
        return value

    def _typed(self, name: str, kind: type, what: str, otherwise: Any) -> Any:
        value = self._given.get(name, otherwise)
        if not isinstance(value, kind):
            raise MisuseError(f"{name} is not {what}")
        return value
