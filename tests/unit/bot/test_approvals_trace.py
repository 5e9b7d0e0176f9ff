"""The trace that agentack judges: each history of an approval, made by hand, through the real tool."""

import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bot.approvals.trace import Step, trace

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
PASS, FAIL, INCOMPLETE = 0, 1, 3
V1, V2, V3 = "1" * 64, "2" * 64, "3" * 64
NAMES = {V1: ("send_email", "mail"), V2: ("send_email", "mail"), V3: ("refund", "")}


def steps(*told: str, start: int = 0) -> list[Step]:
    """``verb approval version``; a minute apart; ``verb!`` is the policy's own decision."""
    found = []
    for minute, line in enumerate(told, start):
        verb, approval, version = line.split()
        found.append(
            Step(
                at=START + timedelta(minutes=minute),
                approval=approval,
                version={"v1": V1, "v2": V2, "v3": V3}[version],
                verb=verb.rstrip("!"),
                by_policy=verb.endswith("!"),
                expires_at=START + timedelta(hours=1),
            )
        )
    return found


def judged(events: list[dict], folder: Path) -> tuple[int, dict[str, int]]:
    """The exit code of ``agentack check`` and the rules that it found broken."""
    path, report = folder / "trace.jsonl", folder / "report.json"
    path.write_text("".join(json.dumps(event) + "\n" for event in events))
    command = [sys.executable, "-m", "agentack", "check", str(path), "--json", str(report)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode in (PASS, FAIL, INCOMPLETE), done.stderr
    return done.returncode, json.loads(report.read_text())["result"]["rule_counts"]


GOOD = {
    "approved and done": ["propose a v1", "show a v1", "approve a v1", "claim a v1", "execute a v1"],
    "denied": ["propose a v1", "show a v1", "deny a v1"],
    "expired": ["propose a v1", "show a v1", "expire a v1"],
    "expired before anybody saw it": ["propose a v1", "expire a v1"],
    "taken back": ["propose a v1", "show a v1", "cancel a v1"],
    "approved, then taken back": ["propose a v1", "show a v1", "approve a v1", "cancel a v1"],
    "reminded": ["propose a v1", "show a v1", "note a v1", "approve a v1", "claim a v1", "execute a v1"],
    "edited": [
        *("propose a v1", "show a v1", "revise a v2", "show a v2", "approve a v2", "claim a v2", "execute a v2"),
    ],
    "returned, then revised": [
        *("propose a v1", "show a v1", "return a v1", "revise a v2", "show a v2", "approve a v2", "claim a v2"),
        "execute a v2",
    ],
    "approved, revised, approved again": [
        *("propose a v1", "show a v1", "approve a v1", "revise a v2", "show a v2", "approve a v2", "claim a v2"),
        "execute a v2",
    ],
    "two interleaved": [
        *("propose a v1", "propose b v3", "show b v3", "show a v1", "approve a v1", "deny b v3", "claim a v1"),
        "execute a v1",
    ],
    "failed": ["propose a v1", "show a v1", "approve a v1", "claim a v1", "fail a v1"],
    "lost, then found out": ["propose a v1", "show a v1", "approve a v1", "claim a v1", "lose a v1", "execute a v1"],
    "nobody was needed": ["propose a v1", "approve! a v1", "claim a v1", "execute a v1"],
    "forbidden": ["propose a v1", "deny! a v1"],
}


@pytest.mark.parametrize("history", GOOD.values(), ids=GOOD)
def test_a_history_in_order_passes(history: list[str], tmp_path: Path):
    assert judged(trace(steps(*history), NAMES), tmp_path) == (PASS, {})


OPEN = {
    "undecided": ["propose a v1", "show a v1"],
    "approved and not used": ["propose a v1", "show a v1", "approve a v1"],
    "under way": ["propose a v1", "show a v1", "approve a v1", "claim a v1"],
    "unknown": ["propose a v1", "show a v1", "approve a v1", "claim a v1", "lose a v1"],
}


@pytest.mark.parametrize("history", OPEN.values(), ids=OPEN)
def test_a_history_without_an_end_is_incomplete(history: list[str], tmp_path: Path):
    code, rules = judged(trace(steps(*history), NAMES), tmp_path)
    assert code == INCOMPLETE
    assert set(rules) == {"ACK009"}


WRONG = {
    "without an approval": (["propose a v1", "claim a v1", "execute a v1"], {"ACK009"}),
    "approved by somebody to whom it was not shown": (
        ["propose a v1", "approve a v1", "claim a v1", "execute a v1"],
        {"ACK009"},
    ),
    "other parameters": (["propose a v1", "show a v1", "approve a v1", "claim a v2", "execute a v2"], {"ACK003"}),
    "twice": (
        ["propose a v1", "show a v1", "approve a v1", "claim a v1", "execute a v1", "claim a v1", "execute a v1"],
        {"ACK004"},
    ),
    "after a denial": (["propose a v1", "show a v1", "deny a v1", "claim a v1", "execute a v1"], {"ACK002", "ACK006"}),
    "after its time": (
        ["propose a v1", "show a v1", "approve a v1", *["note a v1"] * 70, "claim a v1", "execute a v1"],
        {"ACK005"},
    ),
    "as the version before": (
        ["propose a v1", "show a v1", "approve a v1", "revise a v2", "show a v2", "claim a v1", "execute a v1"],
        {"ACK003", "ACK009"},
    ),
}


@pytest.mark.parametrize(("history", "rules"), WRONG.values(), ids=WRONG)
def test_a_journal_that_tells_of_a_wrong_use_does_not_pass(history: list[str], rules: set[str], tmp_path: Path):
    code, found = judged(trace(steps(*history), NAMES), tmp_path)
    assert code in (FAIL, INCOMPLETE)
    assert set(found) >= rules


def test_it_holds_digests_and_names_of_tools_only():
    events = trace(steps("propose a v1", "show a v1", "approve a v1"), NAMES)
    assert events[0]["action"] == {
        "tool": "mcp",
        "operation": "send_email",
        "resource": "mail",
        "parameters": {"version": V1},
    }
    assert events[2]["expires_at"] == "2026-03-01T13:00:00Z"


def test_an_approval_without_an_expiry_does_not_expire(tmp_path: Path):
    late = [Step(at=START, approval="a", version=V1, verb=verb) for verb in ("propose", "show", "approve")]
    late += [Step(at=START + timedelta(days=400), approval="a", version=V1, verb=verb) for verb in ("claim", "execute")]
    assert judged(trace(late), tmp_path) == (PASS, {})


def test_an_empty_journal_is_a_session_without_anything():
    assert [event["type"] for event in trace([])] == ["session_end"]
