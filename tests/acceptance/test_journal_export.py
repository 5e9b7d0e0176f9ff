"""What a running gateway did with approvals, exported and judged by a tool that nobody here wrote (APPR-3 to 6)."""

import json
import re
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bot.channels.telegram.limits import Limits
from bot.model.approval import Action, DecidedBy, Proposal, Verdict
from bot.model.errors import ProposalError
from policy.destination import parse_destination
from tests.acceptance.commands import run
from tests.harness import ANN, BOB, BOT_ID, INTERNAL, POLICY, Clock, running

rule = pytest.mark.rule

OPEN = Limits(chat=None, group=None, total=None)
PASS, FAIL, INCOMPLETE = 0, 1, 3
HERE = parse_destination(f"telegram:{BOT_ID}:{INTERNAL}")
TWO = POLICY.replace("operators: [ann]", "operators: [ann, bob]")
FREE = """
approvals:
  rules:
    - name: reading
      tools: [read_order]
      then: allow
    - name: wiping
      tools: [wipe]
      then: forbid
"""


def action(name="send_email", **parameters):
    return Action(name=name, system="mail", parameters={"to": "secret.person@example.org", **parameters})


class Stage:
    """Agents, people and the passing of time, on a running gateway."""

    def __init__(self, gateway, clock):
        self.gateway, self.clock = gateway, clock
        self.room = gateway.daemon.crew.approvals

    async def propose(self, what=None, **more):
        approval = await self.room.propose(Proposal(action=what or action(), **more), agent="main", origin=None)
        await self.gateway.settled()
        return await self.room.look(approval.id)

    async def decide(self, approval, verdict=Verdict.APPROVE, *, by=ANN, words="", way=DecidedBy.TAP):
        version = approval.version[:16]
        account = f"telegram:{by}"
        outcome = await self.room.decide(approval.id, version, verdict, by=account, way=way, at=HERE, words=words)
        await self.gateway.settled()
        return outcome

    async def use(self, approval, executed=True):
        now = await self.room.look(approval.id)
        await self.room.claim(approval.id, version=now.version, key="once", target_present=None)
        if executed is not ...:
            await self.room.outcome(approval.id, executed=executed, note="")

    async def revise(self, approval, what, by=None):
        now = await self.room.look(approval.id)
        account = None if by is None else f"telegram:{by}"
        revised = await self.room.revise(approval.id, what, by=account, revision=now.revision)
        await self.gateway.settled()
        return await self.room.look(revised.id)


def exported(folder: Path, *options) -> list[dict]:
    (folder / "config.yaml").write_text("agents: {main: {kind: echo}}\ndata_dir: .\npolicy: policy.yaml\n")
    done = run(folder, "journal", "export", "--format", "agentack", "--out", "trace.jsonl", *options)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in (folder / "trace.jsonl").read_text().splitlines()]


def judged(events: list[dict], folder: Path) -> tuple[int, set[str]]:
    """The exit code of ``agentack check`` and the rules that it found broken."""
    path, report = folder / "judged.jsonl", folder / "report.json"
    path.write_text("".join(json.dumps(event) + "\n" for event in events))
    command = [sys.executable, "-m", "agentack", "check", str(path), "--json", str(report)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode in (PASS, FAIL, INCOMPLETE), done.stderr
    return done.returncode, set(json.loads(report.read_text())["result"]["rule_counts"])


async def _done(stage):
    one = await stage.propose()
    await stage.decide(one)
    await stage.use(one)


async def _denied(stage):
    await stage.decide(await stage.propose(), Verdict.DENY)


async def _expired(stage):
    one = await stage.propose(ttl_s=60)
    stage.clock.offset += timedelta(seconds=61)
    await stage.decide(one)
    assert (await stage.room.look(one.id)).state.value == "expired"


async def _approved_too_long_ago(stage):
    one = await stage.propose()
    await stage.decide(one)
    stage.clock.offset += timedelta(days=400)
    with pytest.raises(ProposalError):
        await stage.use(one)


async def _edited_by_the_operator(stage):
    one = await stage.propose()
    other = await stage.revise(one, action(subject="another"), by=ANN)
    await stage.decide(other)
    await stage.use(other)


async def _returned_and_revised(stage):
    one = await stage.propose()
    await stage.decide(one, Verdict.RETURN, words="not like this")
    other = await stage.revise(one, action(subject="better"))
    await stage.decide(other)
    await stage.use(other)


async def _revised_after_it_was_approved(stage):
    one = await stage.propose()
    await stage.decide(one)
    other = await stage.revise(one, action(subject="changed"))
    with pytest.raises(ProposalError):
        await stage.room.claim(one.id, version=one.version, key="old", target_present=None)
    await stage.decide(other)
    await stage.use(other)


async def _interleaved(stage):
    one, other = await stage.propose(action(subject="a")), await stage.propose(action(subject="b"))
    await stage.decide(other, Verdict.DENY)
    await stage.decide(one)
    with pytest.raises(ProposalError):
        await stage.use(other)
    await stage.use(one)


async def _taken_back(stage):
    one = await stage.propose()
    await stage.decide(one)
    await stage.decide(one, Verdict.DENY, way=DecidedBy.COMMAND)
    assert (await stage.room.look(one.id)).state.value == "denied"
    other = await stage.propose(action(subject="b"))
    await stage.room.cancel(other.id)


async def _failed_and_found_out(stage):
    one, other = await stage.propose(action(subject="a")), await stage.propose(action(subject="b"))
    await stage.decide(one)
    await stage.decide(other)
    await stage.use(one, executed=False)
    await stage.use(other, executed=None)
    await stage.room.reconcile(other.id, executed=True, evidence="it stands in the outbox", by="cli")


GOOD = (
    _done,
    _denied,
    _expired,
    _approved_too_long_ago,
    _edited_by_the_operator,
    _returned_and_revised,
    _revised_after_it_was_approved,
    _interleaved,
    _taken_back,
    _failed_and_found_out,
)


async def played(api, folder, *acts, policy=POLICY):
    clock = Clock(datetime(2026, 3, 1, 12, tzinfo=UTC))
    async with running(folder, api=api, policy=policy, clock=clock, limits=OPEN) as gateway:
        stage = Stage(gateway, clock)
        for act in acts:
            await act(stage)
    return exported(folder)


@rule("APPR-3", "APPR-4", "APPR-5")
@pytest.mark.parametrize("act", GOOD, ids=lambda act: act.__name__.strip("_"))
async def test_a_good_run_is_judged_good(api, tmp_path, act):
    assert judged(await played(api, tmp_path, act), tmp_path) == (PASS, set())


@rule("APPR-3", "APPR-4")
async def test_all_good_runs_after_one_another_are_judged_good_and_no_body_is_in_the_file(api, tmp_path):
    events = await played(api, tmp_path, *GOOD)
    assert judged(events, tmp_path) == (PASS, set())
    text = (tmp_path / "trace.jsonl").read_text()
    assert {"send_email", "mail"} <= {one["action"]["operation"] for one in events if "action" in one} | {
        one["action"]["resource"] for one in events if "action" in one
    }
    for word in ("secret.person", "another", "not like this", "outbox", "telegram", str(ANN), str(INTERNAL), "ann"):
        assert not re.search(rf"(?<![0-9a-z]){word}(?![0-9a-z])", text), word
    assert (tmp_path / "trace.jsonl").stat().st_mode & 0o077 == 0


@rule("APPR-8")
async def test_a_quorum_is_one_decision_of_several_people(api, tmp_path):
    async def two(stage):
        one = await stage.propose()
        await stage.decide(one)
        assert (await stage.room.look(one.id)).state.value == "in_review"
        await stage.decide(one, by=BOB)
        await stage.use(one)

    policy = TWO + "approvals: {defaults: {quorum: 2}}\n"
    assert judged(await played(api, tmp_path, two, policy=policy), tmp_path) == (PASS, set())


@rule("APPR-1")
async def test_what_the_policy_lets_through_or_forbids_needs_no_approval_there(api, tmp_path):
    async def judged_by_rule(stage):
        allowed, forbidden = await stage.propose(action("read_order")), await stage.propose(action("wipe"))
        assert (allowed.state.value, forbidden.state.value) == ("approved", "denied")
        await stage.use(allowed)

    events = await played(api, tmp_path, judged_by_rule, policy=POLICY + FREE)
    assert {one["action"]["tool"] for one in events if "action" in one} == {"policy"}
    assert judged(events, tmp_path) == (PASS, set())


@rule("APPR-6")
async def test_what_is_open_or_unknown_is_judged_incomplete(api, tmp_path):
    async def lost(stage):
        one = await stage.propose()
        await stage.decide(one)
        await stage.use(one, executed=None)

    assert judged(await played(api, tmp_path, lost), tmp_path) == (INCOMPLETE, {"ACK009"})


# Faults, each put into a copy of what really happened: a judge that finds none would prove nothing


def _of(events, kind, number=0):
    return [event for event in events if event["type"] == kind][number]


def _without_the_approval(events):
    used = _of(events, "action_executed")
    return [
        {key: value for key, value in one.items() if key != "approval_id"} if one is used else one for one in events
    ]


def _with_other_parameters(events):
    used = _of(events, "action_executed")
    used["action"]["parameters"] = {"version": "0" * 32}
    return events


def _as_another_tool(events):
    _of(events, "action_executed")["action"]["operation"] = "delete"
    return events


def _twice(events):
    used = _of(events, "action_executed")
    return [*events[:-1], used, events[-1]]


def _after_its_time(events):
    _of(events, "action_executed")["timestamp"] = "2030-01-01T00:00:00Z"
    return events


def _after_a_denial_under_another_name(events):
    denied = next(one for one in events if one.get("decision") == "deny")
    used = {**_of(events, "action_executed"), "action_id": "another", "intent_id": denied["intent_id"]}
    proposed = {**_of(events, "action_proposed"), "action_id": "another", "intent_id": denied["intent_id"]}
    return [*events[:-1], proposed, {key: value for key, value in used.items() if key != "approval_id"}, events[-1]]


def _by_a_denial(events):
    for event in events:
        if event.get("decision") == "allow":
            event["decision"] = "deny"
            event.pop("expires_at")
    return events


def _without_the_decision(events):
    return [event for event in events if event.get("decision") != "allow"]


def _without_having_been_shown(events):
    shown = _of(events, "approval_requested")
    return [event for event in events if event is not shown]


def _before_the_decision(events):
    used = _of(events, "action_executed")
    rest = [event for event in events if event is not used]
    at = next(number for number, event in enumerate(rest) if event.get("decision") == "allow")
    return [*rest[:at], used, *rest[at:]]


def _by_the_approval_of_another(events):
    denied = next(one for one in events if one.get("decision") == "deny")
    _of(events, "action_executed")["approval_id"] = denied["approval_id"]
    return events


def _without_an_end(events):
    return events[:-1]


FAULTS = {
    _without_the_approval: (FAIL, "ACK001"),
    _with_other_parameters: (FAIL, "ACK003"),
    _as_another_tool: (FAIL, "ACK003"),
    _twice: (FAIL, "ACK004"),
    _after_its_time: (FAIL, "ACK005"),
    _after_a_denial_under_another_name: (FAIL, "ACK007"),
    _by_a_denial: (FAIL, "ACK002"),
    _without_the_decision: (INCOMPLETE, "ACK009"),
    _without_having_been_shown: (INCOMPLETE, "ACK009"),
    _before_the_decision: (FAIL, "ACK006"),
    _by_the_approval_of_another: (FAIL, "ACK003"),
    _without_an_end: (INCOMPLETE, "ACK009"),
}


@rule("APPR-5")
async def test_each_kind_of_fault_in_a_copy_of_a_good_run_is_found(api, tmp_path):
    events = await played(api, tmp_path, _done, _denied)
    assert judged(events, tmp_path) == (PASS, set())
    for spoil, (code, broken) in FAULTS.items():
        found, rules = judged(spoil(json.loads(json.dumps(events))), tmp_path)
        assert found == code, spoil.__name__
        assert broken in rules, spoil.__name__


# The plain export


@rule("DUR-4")
async def test_the_whole_journal_can_be_written_out(api, tmp_path):
    await played(api, tmp_path, _done)
    done = run(tmp_path, "journal", "export")
    records = [json.loads(line) for line in done.stdout.splitlines()]
    assert [record["seq"] for record in records] == list(range(1, len(records) + 1))
    verbs = [record["facts"]["verb"] for record in records if record["kind"] in ("proposed", "approval")]
    assert verbs == ["propose", "show", "approve", "claim", "execute"]
    later = run(tmp_path, "journal", "export", "--since", "2026-03-02")
    assert (later.returncode, later.stdout) == (0, "")
    assert [event["type"] for event in exported(tmp_path, "--since", "2026-03-02")] == ["session_end"]
