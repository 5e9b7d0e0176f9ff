"""The tools that agents see: names, what they are for, and what they take (AGENT-2).

The descriptions are read by models: they say what to do next, and nothing about this machine.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

WAIT_S: Final = 45
"""For how long a tool waits if nothing else is said: most clients give up after a minute."""
LONGEST_WAIT_S: Final = 600

_TEXT: Final = {"type": "string", "minLength": 1}
_OBJECT: Final = {"type": "object"}
_REQUEST: Final = {
    "type": "string",
    "description": "Id of the request on which you work, if the gateway has given you one: what you ask is then shown "
    "there where it was made. Leave it out otherwise: operators are asked.",
}
_WAIT: Final = {
    "type": "integer",
    "minimum": 0,
    "maximum": LONGEST_WAIT_S,
    "description": f"Seconds to wait for people, {WAIT_S} if left out. After that you get status pending and an id.",
}
_KEY: Final = {
    "type": "string",
    "maxLength": 200,
    "description": "A name of your own for this call. The same call made again with it is the same one, not a second "
    "one: use it where you might have to repeat a call whose answer you did not get.",
}
_EXPIRES: Final = {"type": "integer", "minimum": 30, "description": "Seconds after which nobody is asked any more."}
_WHO: Final = {
    "description": "Who may answer: asker (whoever made the request), operators, anyone (in that channel), or a list "
    "of ids of people. If left out: the asker of the request, and operators where there is none.",
    "anyOf": [
        {"type": "string", "enum": ["asker", "operators", "anyone"]},
        {"type": "array", "items": {"type": "string"}, "minItems": 1},
    ],
}
_PRINCIPAL: Final = {"type": "string", "description": "Id of the person who is asked, as the gateway's policy has it."}
_ASSURANCE: Final = {
    "type": "string",
    "enum": ["LOW", "MEDIUM", "HIGH"],
    "description": "HIGH: a passkey decides, not a tap.",
}
_DESTINATION: Final = {
    "type": "string",
    "description": "Where: platform:workspace:channel, with :thread if it is one. It needs a grant for this place, "
    "which an operator gives; you can't give one yourself.",
}
_PENDING: Final = (
    " It waits for a while. If it comes back with status pending, nobody has decided yet: go on with other work and "
    "call get_answer with its id later. Never take pending, expired or cancelled for a yes."
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Tool:
    """A tool.

    Attributes:
        name: of the tool.
        title: for people.
        description: for models.
        properties: what it takes.
        required: of these.
        looks: it changes nothing.
    """

    name: str
    title: str
    description: str
    properties: Mapping[str, Any] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    looks: bool = False

    @property
    def schema(self) -> dict[str, Any]:
        """JSON Schema of what it takes."""
        return {
            "type": "object",
            "properties": dict(self.properties),
            "required": list(self.required),
            "additionalProperties": False,
        }


ASK_HUMAN: Final = Tool(
    name="ask_human",
    title="Ask a person",
    description="Ask a person something that you need to know and can't find out. The answer is checked against the "
    "schema before you get it." + _PENDING,
    properties={
        "question": {**_TEXT, "description": "The question, Markdown, at most 4,000 characters."},
        "schema": {
            **_OBJECT,
            "description": "JSON Schema of the answer: a flat object with at most 20 properties (string, number, "
            "integer, boolean, enum, lists of choices, formats such as date). If left out: one text named answer.",
        },
        "request": _REQUEST,
        "who": _WHO,
        "important": {"type": "boolean", "description": "The answer is confirmed once more before you get it."},
        "expires_in_s": _EXPIRES,
        "wait_s": _WAIT,
        "key": _KEY,
    },
    required=("question",),
)
REQUEST_APPROVAL: Final = Tool(
    name="request_approval",
    title="Ask for an approval",
    description="Propose an action before you carry it out. People see exactly these parameters and may change them. "
    "With status approved call use_approval, which gives you what may run; then run exactly that, once, and tell the "
    "outcome with human_send_result. With denied don't do it in any other way either." + _PENDING,
    properties={
        "action": {**_TEXT, "description": "Name of the tool or action."},
        "parameters": {**_OBJECT, "description": "Everything that decides what will happen, in full."},
        "system": {"type": "string", "description": "On which system it acts."},
        "reason": {"type": "string", "description": "Why, for the people who decide."},
        "task": {"type": "string", "description": "The task from which it comes."},
        "gates": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"name": _TEXT, "passed": {"type": "boolean"}, "detail": {"type": "string"}},
                "required": ["name", "passed"],
            },
            "description": "Conditions of yours; with one that is not passed people have to say why they approve.",
        },
        "target": {"type": "string", "description": "What has to be there still when it is carried out."},
        "assurance": _ASSURANCE,
        "schema": {**_OBJECT, "description": "JSON Schema of the parameters, for people who change them."},
        "request": _REQUEST,
        "expires_in_s": {**_EXPIRES, "minimum": 60},
        "wait_s": _WAIT,
        "key": _KEY,
    },
    required=("action", "parameters"),
)
USE_APPROVAL: Final = Tool(
    name="use_approval",
    title="Use an approval",
    description="The last step before an approved action: everything is checked again, and the approval is used up. "
    "Run exactly the parameters that come back (people may have changed them), once, and tell the outcome with "
    "human_send_result. If you lose the answer, don't run the action: tell the outcome unknown.",
    properties={
        "id": {**_TEXT, "description": "As request_approval or human_authorize has given it."},
        "version": {**_TEXT, "description": "The version that came with status approved."},
        "target_present": {"type": "boolean", "description": "What your own check of the target has found."},
    },
    required=("id", "version"),
)
GET_ANSWER: Final = Tool(
    name="get_answer",
    title="Look for an answer",
    description="How something stands that you have asked, proposed or sent; waits for people if they have not decided."
    + _PENDING,
    properties={"id": {**_TEXT, "description": "As the other tool has given it."}, "wait_s": _WAIT},
    required=("id",),
    looks=True,
)
TAKE_BACK: Final = Tool(
    name="take_back",
    title="Take back",
    description="Take back a question, a proposal or a delivery that is not needed any more, before it is answered, "
    "used or sent.",
    properties={"id": _TEXT},
    required=("id",),
)
HUMAN_INFORM: Final = Tool(
    name="human_inform",
    title="Inform a person (A2H INFORM)",
    description="Tell people something where nobody has asked; no answer comes back. It needs a grant for that place.",
    properties={
        "destination": _DESTINATION,
        "message": {**_TEXT, "description": "Markdown."},
        "topic": {"type": "string", "enum": ["receipt", "progress", "alert", "result", "exception"]},
        "key": _KEY,
    },
    required=("destination", "message"),
)
HUMAN_COLLECT: Final = Tool(
    name="human_collect",
    title="Collect data from a person (A2H COLLECT)",
    description="Ask a person for a few values by A2H components." + _PENDING,
    properties={
        "message": {**_TEXT, "description": "What it is about, Markdown."},
        "components": {
            "type": "array",
            "minItems": 1,
            "maxItems": 20,
            "items": {
                "type": "object",
                "properties": {
                    "name": {**_TEXT, "maxLength": 64},
                    "type": {
                        "type": "string",
                        "enum": [
                            "TEXT",
                            "TEXTAREA",
                            "NUMBER",
                            "SELECT",
                            "RADIO",
                            "MULTISELECT",
                            "CHECKBOX",
                            "DATE",
                            "TIME",
                            "DATETIME",
                        ],
                    },
                    "label": {"type": "string", "maxLength": 256},
                    "required": {"type": "boolean"},
                    "validation": _OBJECT,
                    "options": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "properties": {"value": {"type": "string"}, "label": {"type": "string"}},
                            "required": ["value"],
                        },
                    },
                },
                "required": ["name", "type"],
            },
        },
        "principal_id": _PRINCIPAL,
        "request": _REQUEST,
        "ttl_sec": _EXPIRES,
        "wait_s": _WAIT,
        "key": _KEY,
    },
    required=("message", "components"),
)
HUMAN_AUTHORIZE: Final = Tool(
    name="human_authorize",
    title="Ask a person to authorize (A2H AUTHORIZE)",
    description="Ask people to approve or decline an action. With decision APPROVE call use_approval before you act; "
    "with DECLINE don't act." + _PENDING,
    properties={
        "message": {**_TEXT, "description": "What they are asked, and why."},
        "action": {**_TEXT, "description": "Name of the action; authorize if left out."},
        "params": {**_OBJECT, "description": "Everything that decides what will happen, in full."},
        "assurance": _ASSURANCE,
        "request": _REQUEST,
        "ttl_sec": {**_EXPIRES, "minimum": 60},
        "wait_s": _WAIT,
        "key": _KEY,
    },
    required=("message", "params"),
)
HUMAN_ESCALATE: Final = Tool(
    name="human_escalate",
    title="Hand over to a person (A2H ESCALATE)",
    description="Hand something over that you can't or may not settle. Somebody says whether they take it over."
    + _PENDING,
    properties={
        "message": {**_TEXT, "description": "What is to be settled, and what you have tried."},
        "targets": {
            "type": "array",
            "items": {"type": "string"},
            "minItems": 1,
            "description": "Ids of people; operators if left out.",
        },
        "request": _REQUEST,
        "ttl_sec": _EXPIRES,
        "wait_s": _WAIT,
        "key": _KEY,
    },
    required=("message",),
)
HUMAN_SEND_RESULT: Final = Tool(
    name="human_send_result",
    title="Tell the result (A2H RESULT)",
    description="Tell what came of an approved action, after use_approval: success, failure, or unknown where you "
    "can't tell. Unknown blocks a repeat until somebody has looked.",
    properties={
        "responds_to": {**_TEXT, "description": "Id of the approval."},
        "status": {"type": "string", "enum": ["success", "failure", "unknown"]},
        "note": {"type": "string", "description": "What happened, for people; short."},
    },
    required=("responds_to", "status"),
)
LIST_COMMANDS: Final = Tool(
    name="list_commands",
    title="List commands",
    description="The commands of the gateway that you may run for the person who made a request.",
    properties={"request": {**_TEXT, "description": "Id of the request on which you work."}},
    required=("request",),
    looks=True,
)
RUN_COMMAND: Final = Tool(
    name="run_command",
    title="Run a command",
    description="Run one command that list_commands has shown, with the rights of the person who made the request.",
    properties={
        "request": {**_TEXT, "description": "Id of the request on which you work."},
        "name": _TEXT,
        "object": {"type": "string", "description": "Id of one object, where the command takes one."},
        "text": {"type": "string", "description": "Words, where the command takes them."},
        "key": _KEY,
    },
    required=("request", "name"),
)

ALWAYS: Final = (
    HUMAN_INFORM,
    HUMAN_COLLECT,
    HUMAN_AUTHORIZE,
    HUMAN_ESCALATE,
    HUMAN_SEND_RESULT,
    ASK_HUMAN,
    REQUEST_APPROVAL,
    USE_APPROVAL,
    GET_ANSWER,
    TAKE_BACK,
)
COMMANDS: Final = (LIST_COMMANDS, RUN_COMMAND)
"""Where the gateway has them."""
BY_NAME: Final[Mapping[str, Tool]] = {tool.name: tool for tool in (*ALWAYS, *COMMANDS)}
