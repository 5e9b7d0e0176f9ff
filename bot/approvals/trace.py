"""What became of approvals, as a trace that the tool agentack judges (``discreet journal export --format agentack``).

The tool reads a file of its schema version 2 and looks for approvals that are missing, changed, replayed, expired or
routed around. It knows two decisions, allow and deny, and takes an action as done or blocked. So here:

- each version of an approval is an action with an approval of its own; all versions of one share an intent;
- an action's parameters are the version alone: it is the digest of action, system and parameters (APPR-3), so the tool
  compares what was shown with what was done, and nothing that an agent wrote is in the file (DUR-5);
- it was done when it was claimed, since from then on it may have had its effect (APPR-5);
- what nobody approved (denied, returned, expired, cancelled, replaced) is closed with a deny; the reason says which;
- what the policy let through or forbade without a person stands under the tool ``policy``, which needs no approval;
- what is open, or nobody knows the outcome of (APPR-6), has no end in the file: the tool calls that incomplete.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

SCHEMA_VERSION: Final = 2
SESSION: Final = "discreet"
NEVER: Final = datetime(9999, 12, 31, tzinfo=UTC)
"""An approval that does not expire; the tool would take five minutes otherwise."""

TOOL: Final = "mcp"
"""What the tool wants an approval for, whatever the operation."""
UNATTENDED: Final = "policy"

_CLOSED: Final = {"deny": "denied", "return": "returned", "expire": "expired", "cancel": "cancelled"}
Event = dict[str, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """One change of an approval.

    Attributes:
        at: when.
        approval: opaque id.
        version: that it was about (APPR-3).
        verb: of the table of states, or ``propose``.
        by_policy: the policy itself decided, no person.
        expires_at: of the approval then; None: never.
    """

    at: datetime
    approval: str
    version: str
    verb: str
    by_policy: bool = False
    expires_at: datetime | None = None


def trace(steps: Iterable[Step], names: Mapping[str, tuple[str, str]] | None = None) -> list[Event]:
    """The events of a trace.

    Args:
        steps: of all approvals, in the order in which they happened.
        names: (action, system) by version, where they are still known.
    """
    steps = list(steps)
    unattended = {(step.approval, step.version) for step in steps if step.by_policy}
    standings: dict[str, _Standing] = {}
    slots: list[list[Event]] = []
    for step in steps:
        standing = standings.get(step.approval)
        if standing is None:
            standing = standings[step.approval] = _Standing(step.approval, unattended, names or {})
        slots.append([])
        standing.take(step, slots[-1])
    last = steps[-1].at if steps else datetime(1970, 1, 1, tzinfo=UTC)
    slots.append([{"schema_version": SCHEMA_VERSION, "type": "session_end", **_when(last)}])
    return [event for slot in slots for event in slot]


class _Standing:
    """One approval on its way; each of its changes has a slot of the trace, which a later one may still fill."""

    def __init__(self, approval: str, unattended: set[tuple[str, str]], names: Mapping[str, tuple[str, str]]) -> None:
        self._approval = approval
        self._unattended = unattended
        self._names = names
        self._number = 0
        self._version = ""
        self._requested = self._decided = False
        self._ended = True
        self._claim: tuple[Step, list[Event]] | None = None

    def take(self, step: Step, slot: list[Event]) -> None:
        """Go on by one change."""
        match step.verb:
            case "propose" | "revise":
                if not self._ended:
                    self._close(step, slot, "replaced")
                self._number, self._version = self._number + 1, step.version
                self._requested = self._decided = self._ended = False
                self._put(slot, "action_proposed", step, action=self._action(step.version))
            case "show":
                self._request(step, slot)
            case "approve":
                self._decide(step, slot, "allow")
            case verb if verb in _CLOSED:
                self._close(step, slot, _CLOSED[verb])
            case "claim":
                self._claim = step, slot
            case "execute":
                self._execute(step, slot)
            case "fail":
                self._claim = None
                self._put(slot, "action_blocked", step, reason="failed", **self._approved_by())
                self._ended = True
            case _:  # a note, or an outcome that nobody knows
                pass

    def _request(self, step: Step, slot: list[Event]) -> None:
        if not self._requested and not self._alone:
            self._requested = True
            self._put(slot, "approval_requested", step, action=self._action(self._version), **self._approved_by())

    def _decide(self, step: Step, slot: list[Event], decision: str) -> None:
        if self._alone or self._decided:
            return
        self._decided = True
        expiry = {"expires_at": _utc(step.expires_at or NEVER)} if decision == "allow" else {}
        self._put(slot, "approval_decision", step, decision=decision, **expiry, **self._approved_by())

    def _close(self, step: Step, slot: list[Event], reason: str) -> None:
        """Nothing comes of this version any more; what nobody has approved is closed with a deny."""
        self._request(step, slot)
        self._decide(step, slot, "deny")
        self._put(slot, "action_blocked", step, reason=reason, **self._approved_by())
        self._ended = True

    def _execute(self, step: Step, slot: list[Event]) -> None:
        if self._claim is not None:
            step, slot = self._claim
        self._claim = None
        self._put(slot, "action_executed", step, action=self._action(step.version), **self._approved_by())
        self._ended = True

    @property
    def _alone(self) -> bool:
        """Whether the policy needed no person for this version."""
        return (self._approval, self._version) in self._unattended

    def _approved_by(self) -> Event:
        return {} if self._alone else {"approval_id": f"{self._approval}-{self._number}"}

    def _action(self, version: str) -> Event:
        name, system = self._names.get(version, ("", ""))
        return {
            "tool": UNATTENDED if self._alone else TOOL,
            "operation": name.strip() or "call",
            **({"resource": system} if system else {}),
            "parameters": {"version": version},
        }

    def _put(self, slot: list[Event], kind: str, step: Step, **fields: Any) -> None:
        slot.append(
            {
                "schema_version": SCHEMA_VERSION,
                "type": kind,
                **_when(step.at),
                "intent_id": self._approval,
                "action_id": f"{self._approval}-{self._number}",
                **fields,
            }
        )


def _when(at: datetime) -> Event:
    return {"timestamp": _utc(at), "session_id": SESSION}


def _utc(at: datetime) -> str:
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z")
