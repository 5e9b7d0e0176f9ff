"""An agent for tests of the clarification loop: a plan of two questions with candidates, and a report at the end."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from bot.model.interaction import Candidate, Doubt, Verdict, VerdictKind, Workspace
from bot.model.output import Clarify, Final, WorkspaceChanged
from bot.model.plan import read_plan
from bot.model.request import Request

PLAN = {
    "tasks": {
        "scope": {"goal": "what it is about", "slots": {"composition": None}},
        "export": {"goal": "how it is written", "slots": {"format": None}, "depends_on": ["scope"]},
    }
}
COMPOSITIONS = ("alpha", "beta")
FORMATS = ("pdf", "html")
FIRST = Workspace(generation=1, sha256="1" * 64)


def candidates(*ids: str) -> tuple[Candidate, ...]:
    return tuple(Candidate(id=one, identity=f"object/{one}", display_name=one.title()) for one in ids)


@dataclass
class PlanningAgent:
    """Asks for each empty slot of its plan in turn. ``existing``: what its workspace holds now."""

    name: str = "main"
    existing: tuple[str, ...] = (*COMPOSITIONS, *FORMATS)
    workspace: Workspace = FIRST
    free_text: bool = False
    verdict: VerdictKind | Exception | None = None
    requests: list[Request] = field(default_factory=list)
    doubts: list[Doubt] = field(default_factory=list)
    answer: Callable[[Request], Any] | None = None

    async def run(self, request, desk):
        self.requests.append(request)
        if not request.text.casefold().endswith("report"):
            yield Final(text="something else")
            return
        known = request.continuing
        if known is not None and known.interaction.workspace.sha256 != self.workspace.sha256:
            yield WorkspaceChanged(workspace=self.workspace, existing=frozenset(self.existing))
            return
        plan = read_plan(PLAN) if known is None else known.interaction.plan
        for task, slot, text, ids in (
            ("scope", "composition", "Which composition?", COMPOSITIONS),
            ("export", "format", "Which format?", FORMATS),
        ):
            if plan.is_empty(task, slot):
                yield Clarify(
                    task=task,
                    slot=slot,
                    text=text,
                    candidates=candidates(*(one for one in ids if one in self.existing)),
                    free_text=self.free_text,
                    plan=plan if known is None else None,
                    workspace=self.workspace,
                )
                return
        chosen = {slot: value for task in plan.tasks.values() for slot, value in task.slots.items()}
        yield Final(text=f"report on {chosen['composition']} as {chosen['format']}")

    async def classify(self, doubt):
        self.doubts.append(doubt)
        if isinstance(self.verdict, Exception):
            raise self.verdict
        return Verdict(kind=self.verdict or VerdictKind.UNCLEAR)

    async def close(self) -> None:
        pass

    @property
    def continuations(self) -> list[Any]:
        return [request.continuing for request in self.requests if request.continuing is not None]
