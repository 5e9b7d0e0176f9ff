"""Prometheus metrics (OPS-4).

Every label comes from a closed list or is counted as ``other``; none names a person, a channel or a text.
"""

from typing import Final

from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Gauge,
    PlatformCollector,
    ProcessCollector,
    generate_latest,
)

from policy.boundary import Withheld
from policy.decision import Outcome
from policy.destination import PLATFORMS
from policy.reasons import Reason

OTHER: Final = "other"
SEND_STATES: Final = frozenset({"delivered", "rejected", "unknown", "skipped", "retracted", "postponed"})
RUN_OUTCOMES: Final = frozenset(
    {
        "final",
        "safeerror",
        "silence",
        "timeout",
        "attachment",
        "error",
        "crash",
        "stopped",
    }
)
DELIVERY_ENDS: Final = frozenset({"sent", "muted", "missed"})
COMMAND_ENDS: Final = frozenset(
    {
        "done",
        "refused",
        "failed",
        "unknown",
        "unknown_command",
        "not_allowed",
        "no_input_expected",
        "object_missing",
        "unknown_object",
        "slot_empty",
        "busy",
        "too_many",
        "key_used",
    }
)
AGENTS_AT_MOST: Final = 32

registry: Final = CollectorRegistry()
ProcessCollector(registry=registry)
PlatformCollector(registry=registry)

_events = Counter(
    "discreet_events_decided",
    "Inbound events by what was decided and why.",
    ("platform", "outcome", "reason"),
    registry=registry,
)
_sends = Counter("discreet_parts", "Outbound parts by what came of them.", ("platform", "state"), registry=registry)
_withheld = Counter(
    "discreet_parts_withheld", "Parts that the door did not let through.", ("reason",), registry=registry
)
_deliveries = Counter(
    "discreet_deliveries", "Times of scheduled deliveries by what came of them.", ("result",), registry=registry
)
_runs = Counter("discreet_agent_runs", "Runs of agents by how they ended.", ("agent", "outcome"), registry=registry)
_commands = Counter(
    "discreet_commands", "Commands that agents ran, by how that ended.", ("outcome",), registry=registry
)
_lanes = Gauge("discreet_lanes", "Conversations with work waiting.", ("kind",), registry=registry)
_queue = Gauge("discreet_queue", "Items that wait.", ("queue",), registry=registry)
_unknown = Gauge("discreet_outbox_unknown", "Sends of which nobody knows whether they arrived.", registry=registry)
_journal = Gauge("discreet_journal_records", "Records in the journal.", registry=registry)
_approvals = Gauge("discreet_approvals", "Approvals that are not closed.", ("state",), registry=registry)
_reloads = Counter("discreet_policy_reloads", "Reloads of the policy file.", ("result",), registry=registry)

_LANES: Final = frozenset({"inbound", "outbound", "work"})
_QUEUES: Final = frozenset({"inbox", "outbox", "batches", "work"})
_PLATFORMS: Final = frozenset(PLATFORMS)
_OUTCOMES: Final = frozenset(Outcome)
_REASONS: Final = frozenset(Reason)
_WITHHELD: Final = frozenset(Withheld)
_OPEN: Final = frozenset({"proposed", "in_review", "returned", "approved", "claimed", "unknown"})
_agents: set[str] = set()


def events_decided(platform: str, outcome: str, reason: str) -> None:
    """One event was decided."""
    _events.labels(_bounded(platform, _PLATFORMS), _bounded(outcome, _OUTCOMES), _bounded(reason, _REASONS)).inc()


def approvals_open(state: str, count: int) -> None:
    """How many approvals are in a state that is not closed (APPR-4)."""
    _approvals.labels(_bounded(state, _OPEN)).set(count)


def part_ended(platform: str, state: str) -> None:
    """One outbound part came to an end (or was put off)."""
    _sends.labels(_bounded(platform, _PLATFORMS), _bounded(state, SEND_STATES)).inc()


def part_withheld(reason: str) -> None:
    """The door kept one part back."""
    _withheld.labels(_bounded(reason, _WITHHELD)).inc()


def delivery_ended(result: str) -> None:
    """The time of a delivery has come, and it was ``sent``, ``muted`` or ``missed``."""
    _deliveries.labels(_bounded(result, DELIVERY_ENDS)).inc()


def agent_run(agent: str, outcome: str) -> None:
    """One run of an agent ended; its name comes from the configuration."""
    if agent not in _agents:
        if len(_agents) >= AGENTS_AT_MOST:
            agent = OTHER
        else:
            _agents.add(agent)
    _runs.labels(agent, _bounded(outcome, RUN_OUTCOMES)).inc()


def command_ended(outcome: str) -> None:
    """One command was run, or refused."""
    _commands.labels(_bounded(outcome, COMMAND_ENDS)).inc()


def lanes_open(kind: str, count: int) -> None:
    """How many conversations have work waiting now: ``inbound``, ``outbound`` or ``work``."""
    _lanes.labels(_bounded(kind, _LANES)).set(count)


def queue_size(queue: str, count: int) -> None:
    """How much waits now in ``inbox``, ``outbox``, ``batches`` or ``work``."""
    _queue.labels(_bounded(queue, _QUEUES)).set(count)


def outbox_unknown(count: int) -> None:
    """How many sends are UNKNOWN now (DUR-2)."""
    _unknown.set(count)


def journal_length(records: int) -> None:
    """How long the journal is."""
    _journal.set(records)


def policy_reloaded(*, accepted: bool) -> None:
    """The policy file was read again, and is in force or was refused (OPS-1)."""
    _reloads.labels("accepted" if accepted else "refused").inc()


def render() -> tuple[bytes, str]:
    """All metrics as text, and the media type of it."""
    return generate_latest(registry), CONTENT_TYPE_LATEST


def _bounded(value: str, known: frozenset[str]) -> str:
    return value if value in known else OTHER
