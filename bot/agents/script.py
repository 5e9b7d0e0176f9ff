"""The script of the scripted agent: a YAML document, checked whole when it is loaded.

version: 1
rules:                          # the first that fits is played
  - when:
      - words: [opening hours, open today]   # one of them, as whole words
      - command: hours                       # or this
    say:
      - progress: Looking it up ...
      - final: "We are open **9 to 18**."
  - when: { words: [book] }
    say:
      - ask:                                 # a person is asked; the next steps know the answer
          question: "When?"
          schema: { type: object, properties: { day: { type: string, format: date } }, required: [day] }
          otherwise: [{ final: Too late. }]  # nobody has answered; without it nothing more is said
      - final: "See you on {answer.day}."
  - when: { words: [report] }
    say:
      - clarify:                             # ends the run; the same rule is played on once it is answered (CLAR-7)
          task: scope
          slot: composition
          question: "Which composition?"
          candidates: [{ id: alpha, name: Alpha }, { id: beta, name: Beta }]
      - final: "The report on {slot.composition} is under way."
  - when: { words: [close my order] }
    say:
      - command:                             # the gateway runs it on behalf of the person; see docs/commands.md
          name: close_order
          object: o-17
          otherwise: [{ final: "{command.text}" }]  # it was refused or not carried out; without it nothing is said
      - final: "Closed ({command.outcome})."
classify:                                    # what free text is while a clarification is open; otherwise unclear
  - { words: [never mind], verdict: cancel }
otherwise:
  - final: I can tell you our opening hours.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Any, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from bot.agents.wire import CLASSES, MAX_REFERENCES, AskModel, AutoAfter, ButtonModel, CardModel, Reference, WhoModel
from bot.approvals.proposing import check_call
from bot.clarifications.asking import check
from bot.model import output as out
from bot.model.approval import Action, Assurance, Gate, Proposal
from bot.model.errors import ConfigError, InteractionError, ProposalError
from bot.model.interaction import Candidate, VerdictKind
from bot.model.plan import Plan, read_plan
from bot.model.question import MAX_TEXT, TTL_LEAST_S, TTL_LONGEST_S, Answerer, Asking
from bot.model.request import Request
from bot.texts.codes import Failure
from forms.card import CardError
from forms.errors import SchemaError
from forms.field import Form
from forms.schema import read_form
from policy.strictyaml import parse
from policy.tree import DocumentError, content, dotted, find

LONGEST_WAIT_S: Final = 60.0
ANSWERS: Final = re.compile(r"\{answer(?:\.(?P<name>[^{}\s]+))?\}")
"""What stands in a text for an answer, or for one field of it."""
COMMANDS: Final = re.compile(r"\{command\.(?P<name>outcome|text)\}")
"""What stands in a text for what came of the latest command."""
SLOTS: Final = re.compile(r"\{slot\.(?P<name>[^{}\s]+)\}")
"""What stands in a text for what is in a slot of the plan."""
_TAGS: Final = ("_", "constrained", "list[")  # what pydantic calls the branches of a union, in paths


@dataclass(frozen=True, kw_only=True, slots=True)
class Wait:
    """A step: nothing happens for some seconds."""

    seconds: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Crash:
    """A step: the agent breaks down, with these words in its error."""

    text: str = field(repr=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class Ask:
    """A step: a person is asked.

    Attributes:
        asking: the question.
        form: its fields.
        then: steps to play once it is answered, before those that follow.
        otherwise: steps to play instead of those that follow, where nobody has answered.
    """

    asking: Asking
    form: Form = field(repr=False)
    then: "tuple[Step, ...]" = ()
    otherwise: "tuple[Step, ...]" = ()


class Ending(StrEnum):
    """What a script tells of an action that it has claimed."""

    EXECUTED = "executed"
    FAILED = "failed"
    UNKNOWN = "unknown"
    NOTHING = "nothing"  # it dies before it can tell


@dataclass(frozen=True, kw_only=True, slots=True)
class Propose:
    """A step: an action is proposed, and where it is approved it is claimed and its outcome told (APPR-5).

    Attributes:
        proposal: what is proposed.
        approved: steps to play once it is claimed and the outcome told, before those that follow.
        denied: steps to play instead of those that follow.
        returned: likewise, where it was returned for changes.
        expired: likewise, where nobody has decided in time, or it can't be used any more.
        outcome: what the script tells.
    """

    proposal: Proposal
    approved: "tuple[Step, ...]" = ()
    denied: "tuple[Step, ...]" = ()
    returned: "tuple[Step, ...]" = ()
    expired: "tuple[Step, ...]" = ()
    outcome: Ending = Ending.EXECUTED


@dataclass(frozen=True, kw_only=True, slots=True)
class Need:
    """A step: a slot of the plan is filled, or the run ends with a clarification (CLAR-7).

    Attributes:
        clarify: what is asked.
        after: ids of the tasks that its task depends on.
    """

    clarify: out.Clarify
    after: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class RunCommand:
    """A step: a command is run on behalf of the person (CMD).

    Attributes:
        name: of the command.
        object_id: the one object; ``{slot.name}`` in it is the slot of the plan.
        words: the agent's own.
        otherwise: steps to play instead of those that follow, where it was not done.
    """

    name: str
    object_id: str | None = field(default=None, repr=False)
    words: str | None = field(default=None, repr=False)
    otherwise: "tuple[Step, ...]" = ()


Step = out.Output | Wait | Crash | Ask | Propose | Need | RunCommand


@dataclass(frozen=True, kw_only=True, slots=True)
class Condition:
    """What a request must be like; None and empty ask for nothing, everything else must hold.

    Attributes:
        words: one of them, as whole words; patterns over folded text.
        command: name of the command.
        tap: the value of the pressed button.
        attachments: whether there are any.
        destinations: one of these exact places.
        audiences: one of these.
    """

    words: tuple[re.Pattern[str], ...] = ()
    command: str | None = None
    tap: str | None = None
    attachments: bool | None = None
    destinations: frozenset[str] = frozenset()
    audiences: frozenset[str] = frozenset()

    def fits(self, request: Request) -> bool:
        """Whether a request is like that."""
        text = folded(request.text)
        return (
            (not self.words or any(pattern.search(text) for pattern in self.words))
            and (self.command is None or request.command == self.command)
            and (self.tap is None or request.tap == self.tap)
            and (self.attachments is None or bool(request.attachments) is self.attachments)
            and (not self.destinations or str(request.destination) in self.destinations)
            and (not self.audiences or request.audience.value in self.audiences)
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Rule:
    """Steps to play where one of the conditions fits."""

    when: tuple[Condition, ...]
    steps: tuple[Step, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Script:
    """Rules in their order, and what is played where none fits."""

    rules: tuple[Rule, ...]
    otherwise: tuple[Step, ...]
    verdicts: tuple[tuple[tuple[re.Pattern[str], ...], VerdictKind], ...] = ()

    def verdict(self, text: str) -> VerdictKind:
        """What free text is taken for while a clarification is open."""
        plain = folded(text)
        for patterns, verdict in self.verdicts:
            if any(pattern.search(plain) for pattern in patterns):
                return verdict
        return VerdictKind.UNCLEAR

    def steps(self, request: Request) -> tuple[Step, ...]:
        """What is played for a request."""
        for rule in self.rules:
            if any(condition.fits(request) for condition in rule.when):
                return rule.steps
        return self.otherwise


def plan_of(steps: Sequence[Step]) -> Plan:
    """The plan of a rule: the tasks and slots that its steps need.

    Raises:
        InteractionError: they make no plan.
    """
    tasks: dict[str, dict[str, object]] = {}
    for step in steps:
        if isinstance(step, Need):
            task = tasks.setdefault(step.clarify.task, {"slots": {}, "depends_on": []})
            slots, before = task["slots"], task["depends_on"]
            if isinstance(slots, dict) and isinstance(before, list):
                slots[step.clarify.slot] = None
                before += [one for one in step.after if one not in before]
    return read_plan({"tasks": tasks})


def folded(text: str) -> str:
    """A text in lower case, with single spaces."""
    return " ".join(text.casefold().split())


def load_script(text: str, *, source: str) -> Script:
    """Read a script.

    Args:
        text: YAML.
        source: name of the file, for errors.

    Raises:
        ConfigError: it is no script; the text says where and what is wrong.
    """
    try:
        root = parse(text, source=source, environment={})
    except DocumentError as error:
        raise ConfigError(str(error)) from None
    try:
        return _Script.model_validate(content(root)).script()
    except ValidationError as error:
        found = error.errors(include_url=False, include_context=False, include_input=False)
        deepest = max(found, key=lambda one: len(one["loc"]))
        path = tuple(step for step in deepest["loc"] if not str(step).startswith(_TAGS))
        mark, _ = find(root, path)
        where = dotted(path)
        fault = f"{source}:{mark.line}:{mark.column}: {where}: {deepest['msg'].removeprefix('Value error, ')}"
    raise ConfigError(fault)


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, hide_input_in_errors=True)


_Filled = Annotated[str, Field(min_length=1)]
_Audience = Literal["external", "internal", "operator", "unknown"]


class _When(_Strict):
    words: Annotated[list[_Filled], Field(min_length=1)] | None = None
    command: _Filled | None = None
    tap: _Filled | None = None
    attachments: bool | None = None
    destinations: Annotated[list[_Filled], Field(min_length=1)] | None = None
    audiences: Annotated[list[_Audience], Field(min_length=1)] | None = None

    @model_validator(mode="after")
    def _asks_for_something(self) -> Self:
        if not self.model_fields_set:
            raise ValueError("an empty condition fits everything; use otherwise")
        return self

    def condition(self) -> Condition:
        return Condition(
            words=_patterns(self.words or ()),
            command=self.command,
            tap=self.tap,
            attachments=self.attachments,
            destinations=frozenset(self.destinations or ()),
            audiences=frozenset(self.audiences or ()),
        )


class _File(_Strict):
    name: Annotated[str, Field(pattern=r"^[^/\\]{1,200}$")]
    media_type: Annotated[str, Field(pattern=r"^[a-z]+/[a-z0-9.+-]+$")]
    content: str


class _Button(ButtonModel):
    model_config = ConfigDict(extra="forbid")


class _Card(CardModel):
    model_config = ConfigDict(extra="forbid")

    buttons: Sequence[_Button] = ()

    @model_validator(mode="after")
    def _can_be_shown(self) -> Self:
        try:
            self.card()
        except CardError as error:
            raise ValueError(str(error)) from None
        return self


class _Answer(_Strict):
    text: str = ""
    files: list[_File] = []
    card: _Card | None = None
    declared: str | None = Field(default=None, alias="class")
    references: Annotated[list[Reference], Field(max_length=MAX_REFERENCES)] = []
    auto_after_s: AutoAfter | None = None

    @field_validator("declared")
    @classmethod
    def _is_known(cls, declared: str | None) -> str | None:
        if declared is not None and declared not in CLASSES:
            raise ValueError("a class is one of: " + ", ".join(sorted(CLASSES)))
        return declared

    def final(self) -> out.Final:
        return out.Final(
            text=self.text,
            files=tuple(
                out.OutFile(name=one.name, media_type=one.media_type, content=one.content.encode())
                for one in self.files
            ),
            card=None if self.card is None else self.card.card(),
            declared=self.declared or "",
            references=tuple(self.references),
            auto_after_s=self.auto_after_s,
        )


_Seconds = Annotated[float, Field(gt=0, le=LONGEST_WAIT_S)]


class _Stream(_Strict):
    parts: Annotated[list[_Filled], Field(min_length=2)]
    every: _Seconds | None = None

    def steps(self) -> Iterator[Step]:
        """All of the text so far each time, then the whole as the answer."""
        text = ""
        for part in self.parts[:-1]:
            text += part
            yield out.Fragment(text=text)
            if self.every is not None:
                yield Wait(seconds=self.every)
        yield out.Final(text=text + self.parts[-1])


class _Who(WhoModel):
    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="after")
    def _names_people(self) -> Self:
        if (self.kind is Answerer.PEOPLE) is not bool(self.people):
            raise ValueError("people are named with kind people, and with it alone")
        return self


class _Ask(AskModel):
    model_config = ConfigDict(extra="forbid")

    question: Annotated[str, Field(min_length=1, max_length=MAX_TEXT)]
    who: _Who | None = None
    ttl_s: Annotated[int, Field(ge=TTL_LEAST_S, le=TTL_LONGEST_S)] = 3600
    then: "Sequence[_Step]" = ()
    otherwise: "Sequence[_Step]" = ()

    @model_validator(mode="after")
    def _can_be_asked(self) -> Self:
        try:
            read_form(self.answer)
        except SchemaError as error:
            raise ValueError(f"this schema can't be asked: {error}") from None
        return self

    def step(self) -> Ask:
        return Ask(
            asking=self.asking(),
            form=read_form(self.answer),
            then=_flat(self.then),
            otherwise=_flat(self.otherwise),
        )


class _Gate(_Strict):
    name: _Filled
    passed: bool
    detail: str = ""


class _Propose(_Strict):
    action: _Filled
    system: str = ""
    parameters: dict[str, Any] = {}
    reason: str = ""
    task: str = ""
    gates: list[_Gate] = []
    target: str = ""
    assurance: Annotated[Assurance, Field(strict=False)] = Assurance.NORMAL
    ttl_s: int | None = None
    key: _Filled | None = None
    approved: "Sequence[_Step]" = ()
    denied: "Sequence[_Step]" = ()
    returned: "Sequence[_Step]" = ()
    expired: "Sequence[_Step]" = ()
    outcome: Annotated[Ending, Field(strict=False)] = Ending.EXECUTED

    @model_validator(mode="after")
    def _can_be_proposed(self) -> Self:
        try:
            check_call(self.proposal())
        except ProposalError as error:
            raise ValueError(f"this can't be proposed: {error}") from None
        return self

    def proposal(self) -> Proposal:
        return Proposal(
            action=Action(name=self.action, system=self.system, parameters=self.parameters),
            reason=self.reason,
            task=self.task,
            gates=tuple(Gate(name=one.name, passed=one.passed, detail=one.detail) for one in self.gates),
            target=self.target,
            assurance=self.assurance,
            ttl_s=self.ttl_s,
            key=self.key,
        )

    def step(self) -> Propose:
        return Propose(
            proposal=self.proposal(),
            approved=_flat(self.approved),
            denied=_flat(self.denied),
            returned=_flat(self.returned),
            expired=_flat(self.expired),
            outcome=self.outcome,
        )


class _Command(_Strict):
    name: _Filled
    object: str | None = None
    text: str | None = None
    otherwise: "Sequence[_Step]" = ()

    def step(self) -> RunCommand:
        return RunCommand(name=self.name, object_id=self.object, words=self.text, otherwise=_flat(self.otherwise))


class _Candidate(_Strict):
    id: str
    name: str
    identity: str = ""


class _Clarify(_Strict):
    task: str
    slot: str
    question: str
    candidates: list[_Candidate] = []
    free_text: bool = False
    after: list[str] = []
    ttl_s: int = 3600

    def clarify(self) -> out.Clarify:
        candidates = tuple(
            Candidate(id=one.id, identity=one.identity, display_name=one.name) for one in self.candidates
        )
        return out.Clarify(
            task=self.task,
            slot=self.slot,
            text=self.question,
            candidates=candidates,
            free_text=self.free_text,
            ttl_s=self.ttl_s,
        )

    @model_validator(mode="after")
    def _can_be_asked(self) -> Self:
        try:
            check(self.clarify())
        except InteractionError as error:
            raise ValueError(f"this can't be asked: {error}") from None
        return self


class _Verdict(_Strict):
    words: Annotated[list[_Filled], Field(min_length=1)]
    verdict: Annotated[VerdictKind, Field(strict=False)]


class _Step(_Strict):
    """One of these."""

    final: _Filled | _Answer | None = None
    stream: _Stream | None = None
    progress: _Filled | None = None
    operational: _Filled | None = None
    safe_error: Annotated[Failure, Field(strict=False)] | None = None
    silence: Literal[True] | None = None
    wait: _Seconds | None = None
    crash: _Filled | None = None
    ask: _Ask | None = None
    propose: _Propose | None = None
    clarify: _Clarify | None = None
    command: _Command | None = None

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        if len(self.model_fields_set) != 1:
            raise ValueError("a step is exactly one of: " + ", ".join(type(self).model_fields))
        return self

    def steps(self) -> tuple[Step, ...]:
        return (self._single(),) if self.stream is None else tuple(self.stream.steps())

    def _single(self) -> Step:
        if isinstance(self.final, str):
            return out.Final(text=self.final)
        if self.final is not None:
            return self.final.final()
        if self.progress is not None:
            return out.Progress(text=self.progress)
        if self.operational is not None:
            return out.Operational(text=self.operational)
        if self.safe_error is not None:
            return out.SafeError(failure=self.safe_error)
        if self.ask is not None:
            return self.ask.step()
        if self.propose is not None:
            return self.propose.step()
        if self.clarify is not None:
            return Need(clarify=self.clarify.clarify(), after=tuple(self.clarify.after))
        if self.command is not None:
            return self.command.step()
        if self.wait is not None:
            return Wait(seconds=self.wait)
        if self.crash is not None:
            return Crash(text=self.crash)
        return out.Silence()


class _Rule(_Strict):
    when: _When | Annotated[list[_When], Field(min_length=1)]
    say: Annotated[list[_Step], Field(min_length=1)]

    @model_validator(mode="after")
    def _knows_its_answers(self) -> Self:
        steps = _flat(self.say)
        _check_answers(steps, frozenset())
        _check_slots(steps)
        return self


class _Script(_Strict):
    version: Literal[1]
    rules: list[_Rule] = []
    classify: list[_Verdict] = []
    otherwise: Annotated[list[_Step], Field(min_length=1)]

    def script(self) -> Script:
        return Script(
            rules=tuple(
                Rule(
                    when=tuple(one.condition() for one in (rule.when if isinstance(rule.when, list) else [rule.when])),
                    steps=_flat(rule.say),
                )
                for rule in self.rules
            ),
            otherwise=_flat(self.otherwise),
            verdicts=tuple((_patterns(one.words), one.verdict) for one in self.classify),
        )


def _patterns(words: Sequence[str]) -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(rf"(?<!\w){re.escape(folded(one))}(?!\w)") for one in words)


def _check_slots(steps: tuple[Step, ...]) -> None:
    """The steps make a plan, and a text names slots that are filled before it.

    Raises:
        ValueError: they don't.
    """
    known: set[str] = set()
    for step in steps:
        if isinstance(step, Need):
            if step.clarify.slot in known:
                raise ValueError("two clarifications fill slots of one name, and {slot.name} could be either")
            known.add(step.clarify.slot)
        elif isinstance(step, out.Final | RunCommand):
            for found in SLOTS.finditer(step.text if isinstance(step, out.Final) else step.object_id or ""):
                if found["name"] not in known:
                    raise ValueError(f"no clarification before this text fills the slot of {found[0]}")
    if known:
        try:
            plan_of(steps)
        except InteractionError as error:
            raise ValueError(f"the clarifications make no plan: {error}") from None


def _flat(steps: Sequence[_Step]) -> tuple[Step, ...]:
    return tuple(single for step in steps for single in step.steps())


def _check_answers(steps: tuple[Step, ...], known: frozenset[str]) -> None:
    """A text names fields of a question before it.

    Raises:
        ValueError: one names another field.
    """
    for step in steps:
        if isinstance(step, Ask):
            _check_answers(step.otherwise, known)
            known |= {one.name for one in step.form.fields}
            _check_answers(step.then, known)
        elif isinstance(step, Propose):
            for branch in (step.approved, step.denied, step.returned, step.expired):
                _check_answers(branch, known)
        elif isinstance(step, RunCommand):
            _check_answers(step.otherwise, known)
        elif isinstance(step, out.Final):
            for found in ANSWERS.finditer(step.text):
                if known and found["name"] is not None and found["name"] not in known:
                    raise ValueError(f"no question before this text has the field of {found[0]}")
