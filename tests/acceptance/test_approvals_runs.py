"""An agent that proposes while it works on a request, by a script; and what the command line says of approvals."""

import asyncio
import json

import pytest

from bot.agents.script import load_script
from bot.agents.scripted import ScriptedAgent
from bot.model.approval import ApprovalState
from bot.model.errors import ConfigError
from tests.acceptance.commands import run
from tests.acceptance.test_approvals_telegram import OPEN, POLICY, Deciding
from tests.harness import BOB, GROUP, running

rule = pytest.mark.rule
SCRIPT = """
version: 1
rules:
  - when: {words: [refund]}
    say:
      - propose:
          action: refund
          system: shop
          parameters: {order: 17, amount: 100}
          reason: They asked for it.
          target: order 17
          outcome: OUTCOME
          ttl_s: 60
          approved: [{final: "It is refunded."}]
          denied: [{final: "That is not possible."}]
          returned: [{final: "We look at it again."}]
          expired: [{final: "Nobody could look at it."}]
otherwise: [{final: "hello"}]
"""


def acting(api, tmp_path, *, outcome="executed", policy=POLICY, **more):
    agent = ScriptedAgent(name="main", script=load_script(SCRIPT.replace("OUTCOME", outcome), source="script.yaml"))
    return running(tmp_path, api=api, agent=agent, policy=policy, limits=OPEN, **more)


async def asked(api, gateway):
    """Bob has asked for it, and the card is there."""
    api.say(chat=GROUP, sender=BOB, text="@desk_bot refund it")
    there = Deciding(api, gateway)
    await api.wait_for(lambda: there.cards, timeout=10)
    await gateway.settled()
    (approval,) = await there.room.pending()
    return there, approval


async def answered(api, *texts):
    await api.wait_for(lambda: api.texts(GROUP) == list(texts), timeout=10)


@rule("APPR-1", "APPR-4", "APPR-5")
@pytest.mark.parametrize(
    ("label", "said", "state"),
    [
        ("Approve", "It is refunded.", ApprovalState.EXECUTED),
        ("Deny", "That is not possible.", ApprovalState.DENIED),
    ],
)
async def test_the_run_waits_before_the_tool_and_goes_on_with_the_decision(api, tmp_path, label, said, state):
    async with acting(api, tmp_path) as gateway:
        there, approval = await asked(api, gateway)
        assert api.texts(GROUP) == []
        api.say(chat=GROUP, sender=BOB, text="@desk_bot anything else")  # the conversation goes on meanwhile
        await answered(api, "hello")
        await there.tap(label)
        await answered(api, "hello", said)
        assert await there.state(approval) is state
        assert (await there.now(approval)).origin.requester == f"telegram:{BOB}"


@rule("APPR-4", "APPR-6")
async def test_it_is_returned_or_nobody_decides_or_its_outcome_is_not_told(api, tmp_path):
    async with acting(api, tmp_path, outcome="nothing") as gateway:
        there, approval = await asked(api, gateway)
        await there.tap("Return…")
        await there.say("Look at the order first.", to=there.last())
        await answered(api, "We look at it again.")
        await there.room.cancel(approval.id)
        there, approval = await asked(api, gateway)
        await there.tap("Approve")
        await answered(api, "We look at it again.", "It is refunded.")
        assert await there.state(approval) is ApprovalState.CLAIMED


@rule("DUR-3", "APPR-5")
async def test_a_run_that_a_restart_has_cut_off_finds_its_approval_and_shows_no_second_card(api, tmp_path):
    async with acting(api, tmp_path) as gateway:
        _, approval = await asked(api, gateway)
    async with acting(api, tmp_path) as gateway:
        there = Deciding(api, gateway)
        await there.tap("Approve")
        await answered(api, "It is refunded.")
        assert await there.state(approval) is ApprovalState.EXECUTED
        assert len(there.cards) == 1


@rule("APPR-4", "PART-18")
async def test_who_stops_the_request_takes_its_proposal_back(api, tmp_path):
    async with acting(api, tmp_path) as gateway:
        there, approval = await asked(api, gateway)
        api.say(chat=GROUP, sender=BOB, text="@desk_bot stop")
        api.say(
            chat=GROUP, sender=BOB, text="/stop@desk_bot", entities=[{"type": "bot_command", "offset": 0, "length": 14}]
        )
        async with asyncio.timeout(10):
            while (await there.now(approval)).state is ApprovalState.IN_REVIEW:
                await asyncio.sleep(0.02)
        assert await there.state(approval) is ApprovalState.CANCELLED
        await gateway.settled()
        assert there.labels() == []


def test_a_script_that_can_not_be_proposed_is_refused():
    with pytest.raises(ConfigError, match="this can't be proposed"):
        load_script(SCRIPT.replace("OUTCOME", "executed").replace("ttl_s: 60", "ttl_s: 1"), source="script.yaml")


# the command line

CALLS = POLICY + (
    "approvals: {rules: [{name: small, tools: [refund], when: ['amount < `10`'], then: allow},"
    " {name: never, tools: [wipe], then: forbid},"
    " {name: big, tools: [pay], then: ask, quorum: 2, remind: 10m, assurance: high, escalate: {after: 1h}}]}\n"
)


@rule("OPS-1", "APPR-1")
def test_explain_answers_for_a_call(tmp_path):
    (tmp_path / "policy.yaml").write_text(CALLS)
    (tmp_path / "call.json").write_text('{"action": "refund", "parameters": {"amount": 5}}')

    def explain(call):
        done = run(tmp_path, "policy", "explain", "--policy", "policy.yaml", "--call", call)
        return done.returncode, json.loads(done.stdout) if done.stdout else done.stderr

    assert explain("call.json") == (0, {"verdict": "allow", "rule": "small"})
    assert explain('{"action": "wipe"}') == (0, {"verdict": "forbid", "rule": "never"})
    code, big = explain('{"action": "pay", "system": "bank", "agent": "main"}')
    assert (code, big["verdict"], big["rule"], big["who"]) == (0, "ask", "big", ["ann", "cleo"])
    assert (big["quorum"], big["assurance"], big["escalate_after_s"], big["remind_after_s"]) == (2, "high", 3600, 600)
    assert len(big["shown"]) == 1
    for wrong in ("no-such-file.json", "{", '{"act": 1}', '{"action": "a", "parameters": []}'):
        code, said = explain(wrong)
        assert code != 0
        assert "--call" in said
    done = run(tmp_path, "policy", "explain", "--policy", "policy.yaml")
    assert done.returncode == 2


@rule("APPR-4")
async def test_approvals_are_listed_and_shown_while_the_daemon_runs(api, tmp_path):
    (tmp_path / "config.yaml").write_text(
        f'data_dir: "{tmp_path}"\ntelegram: [{{token_file: telegram.token}}]\nagents: {{main: {{kind: echo}}}}\n'
    )
    (tmp_path / "telegram.token").write_text(f"7001:{'A' * 35}")
    (tmp_path / "telegram.token").chmod(0o600)
    async with acting(api, tmp_path) as gateway:
        _, approval = await asked(api, gateway)

        def command(*words):
            return run(tmp_path, "approvals", *words, "--config", "config.yaml")

        listed = await asyncio.to_thread(command, "list")
        assert (approval.code in listed.stdout, "in_review" in listed.stdout) == (True, True), listed.stderr
        as_json = await asyncio.to_thread(command, "list", "--all", "--json")
        assert json.loads(as_json.stdout)["id"] == approval.id
        for name in (approval.id, approval.code.lower()):
            shown = await asyncio.to_thread(command, "show", name)
            assert json.loads(shown.stdout)["parameters"] == {"order": 17, "amount": 100}
        assert (await asyncio.to_thread(command, "show", "NONE9")).returncode != 0
        alone = await asyncio.to_thread(command, "reconcile", approval.code, "--executed", "--evidence", "seen")
        assert "no daemon answers" in alone.stderr
