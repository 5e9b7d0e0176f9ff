"""What an agent posts about an interaction, read strictly; and how it hears of a refusal. JSON in, JSON out; no I/O."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from bot.api.answering import MAX_KEY, Reading, RefusedError, read_object
from bot.clarifications.documents import clarification_document, interaction_document
from bot.model.errors import AskError, InteractionError
from bot.model.interaction import MAX_CANDIDATES, Candidate, Clarification, Interaction, PatchKind, Workspace
from bot.model.output import Clarify
from bot.model.plan import MAX_VALUE, Plan, read_plan
from bot.ports.interactions import Change

_BEGINNING: Final = frozenset({"request", "plan", "workspace", "key"})
_CLARIFICATION: Final = frozenset(
    {"request", "task", "slot", "question", "candidates", "free_text", "basePlanVersion", "ttl_s", "key"}
)
_CANDIDATE: Final = frozenset({"candidateId", "identity", "displayName"})
_PATCH: Final = frozenset({"basePlanVersion", "task", "slot", "value", "candidateId", "replyToClarificationId"})
_WORKSPACE: Final = frozenset({"generation", "sha256", "documentation_version"})
_SHA256: Final = re.compile(r"[0-9a-f]{64}")
_STATUS: Final[Mapping[str, int]] = {
    "unknown": 404,
    "no_request": 403,
    "withheld": 403,
    "nobody": 403,
    "version_conflict": 409,
    "ended": 409,
    "superseded": 409,
    "continues": 409,
    "too_many": 429,
    "open": 409,
    "closed": 409,
    "key_used": 409,
    "gone": 409,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Beginning:
    """A plan, and the request to which it belongs."""

    request: str = field(repr=False)
    plan: Plan = field(repr=False)
    workspace: Workspace | None
    key: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class AskedFor:
    """A clarification, and the request on which the agent works."""

    request: str = field(repr=False)
    clarify: Clarify
    key: str | None


class ConflictError(RefusedError):
    """409: the plan has another version. Attributes: plan_version: the current one."""

    def __init__(self, text: str, plan_version: int) -> None:
        super().__init__(409, "version_conflict", text, problems=[("/basePlanVersion", "stale", str(plan_version))])
        self.plan_version = plan_version


def read_beginning(body: bytes, *, header_key: str | None) -> Beginning:
    """Read a posted interaction.

    Raises:
        RefusedError: it can't be taken; every field that is wrong is named.
    """
    reading = Reading(read_object(body), _BEGINNING)
    reading.required("request", "plan")
    plan = Plan(tasks={})
    try:
        plan = read_plan(reading.document.get("plan"))
    except InteractionError as error:
        for path, code, detail in error.problems:
            reading.wrong(f"/plan{path}", code, detail)
    begun = Beginning(
        request=reading.text("request", longest=MAX_KEY),
        plan=plan,
        workspace=_workspace(reading),
        key=reading.key(header_key),
    )
    reading.done()
    return begun


def read_clarification(body: bytes, *, header_key: str | None) -> AskedFor:
    """Read a posted clarification; what is wrong inside of it is found when it is asked.

    Raises:
        RefusedError: it can't be taken.
    """
    reading = Reading(read_object(body), _CLARIFICATION)
    reading.required("request", "task", "slot", "question")
    asked = AskedFor(
        request=reading.text("request", longest=MAX_KEY),
        clarify=Clarify(
            task=reading.text("task"),
            slot=reading.text("slot"),
            text=reading.text("question"),
            candidates=_candidates(reading),
            free_text=reading.flag("free_text", otherwise=False),
            base_plan_version=_version(reading, required=False),
            ttl_s=reading.whole("ttl_s", 3600),
        ),
        key=reading.key(header_key),
    )
    reading.done()
    return asked


def read_patch(body: bytes, interaction_id: str) -> Change:
    """Read a posted patch: a value, or one of the candidates of the clarification that it answers (CLAR-3).

    Raises:
        RefusedError: it can't be taken.
    """
    reading = Reading(read_object(body), _PATCH)
    reading.required("basePlanVersion", "task", "slot")
    answers = reading.text("replyToClarificationId", longest=64) or None
    if "value" in reading.document and "candidateId" in reading.document:
        reading.wrong("/candidateId", "differs", "a value or a candidate, not both")
    if "candidateId" in reading.document and answers is None:
        reading.wrong("/candidateId", "missing", "a candidate is one of a clarification: name replyToClarificationId")
    value: str | None = None
    if "candidateId" in reading.document:
        value = reading.text("candidateId", longest=64)
    elif reading.document.get("value") is not None:
        value = reading.text("value", longest=MAX_VALUE)
    elif "value" not in reading.document or answers is not None:
        reading.wrong("/value", "missing", "a text; null empties the slot, which is no answer")
    change = Change(
        interaction_id=interaction_id,
        base_plan_version=_version(reading, required=True) or 0,
        kind=PatchKind.CORRECTION if answers is None else PatchKind.ANSWER,
        task=reading.text("task"),
        slot=reading.text("slot"),
        value=value,
        clarification_id=answers,
        goes_on=False,  # no agent begins a run by itself: it would write unasked, again and again (OUT-6)
    )
    reading.done()
    return change


def refusal(error: AskError | InteractionError) -> RefusedError:
    """How an agent hears that it can't be done."""
    if error.code == "no_request":
        return RefusedError(
            403, "no_grant", "you are not working on this request, and a delivery that nobody asked for needs a grant"
        )
    if isinstance(error, InteractionError) and error.plan_version is not None:
        return ConflictError(str(error), error.plan_version)
    return RefusedError(_STATUS.get(error.code, 422), error.code, str(error), problems=error.problems)


def interaction_of(interaction: Interaction, clarifications: Sequence[Clarification]) -> dict[str, Any]:
    """An interaction with what was asked in it."""
    return {**interaction_document(interaction), "clarifications": [clarification_of(one) for one in clarifications]}


def clarification_of(clarification: Clarification) -> dict[str, Any]:
    """A clarification with what was answered."""
    return {**clarification_document(clarification), "untrusted": {"value": clarification.value}}


def _candidates(reading: Reading) -> tuple[Candidate, ...]:
    written = reading.document.get("candidates", [])
    if not isinstance(written, list) or len(written) > MAX_CANDIDATES:
        reading.wrong("/candidates", "wrong_type", f"a list of at most {MAX_CANDIDATES}")
        return ()
    found: list[Candidate] = []
    for place, one in enumerate(written):
        path = f"/candidates/{place}"
        if not isinstance(one, dict) or not all(isinstance(value, str) for value in one.values()):
            reading.wrong(path, "wrong_type", "an object of texts")
            continue
        if one.keys() - _CANDIDATE or not {"candidateId", "displayName"} <= one.keys():
            reading.wrong(path, "wrong_fields", "candidateId, displayName, and identity if you like")
            continue
        found.append(
            Candidate(id=one["candidateId"], identity=one.get("identity", ""), display_name=one["displayName"])
        )
    return tuple(found)


def _workspace(reading: Reading) -> Workspace | None:
    if reading.document.get("workspace") is None:
        return None
    written = reading.object("workspace")
    generation, sha256, documentation = (
        written.get(name) for name in ("generation", "sha256", "documentation_version")
    )
    if written.keys() - _WORKSPACE:
        reading.wrong("/workspace", "unknown_field", "generation, sha256 and documentation_version")
    if generation is not None and (type(generation) is not int or not 0 <= generation < 1 << 62):
        reading.wrong("/workspace/generation", "wrong_type", "a whole number")
        generation = None
    if sha256 is not None and not (isinstance(sha256, str) and _SHA256.fullmatch(sha256)):
        reading.wrong("/workspace/sha256", "wrong_type", "64 hexadecimal digits in lower case")
        sha256 = None
    if documentation is not None and not (isinstance(documentation, str) and 0 < len(documentation) <= MAX_KEY):
        reading.wrong("/workspace/documentation_version", "wrong_type", f"a text of 1 to {MAX_KEY} characters")
        documentation = None
    return Workspace(generation=generation, sha256=sha256, documentation_version=documentation)


def _version(reading: Reading, *, required: bool) -> int | None:
    value = reading.document.get("basePlanVersion")
    if value is None and not required:
        return None
    if type(value) is not int or not 1 <= value < 1 << 31:
        reading.wrong("/basePlanVersion", "wrong_type", "a whole number from 1")
        return None
    return value
