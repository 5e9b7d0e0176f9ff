"""Holding a call: what is asked of the gateway, in which order, and what happens when it is slow, gone or odd (APPR-10)."""

import asyncio
from typing import Any

import pytest

import bot.mcp.holding
import bot.mcp.tools
from bot.mcp.gateway import GatewayError
from bot.mcp.holding import Call, Held, Holding, Leave
from bot.mcp.tools import Tools

CALL = Call(name="refund", arguments={"amount": 5})
GONE = GatewayError(0, {"error": "unreachable", "message": "nobody there"})


def refused(code: str, status: int = 409) -> GatewayError:
    return GatewayError(status, {"error": code, "message": code})


def document(state: str = "approved", **more: Any) -> dict[str, Any]:
    known = {"id": "a1", "code": "K7QM2", "state": state, "version": "v1", "decisions": [], "replaced": [], "note": ""}
    return {**known, "action": "refund", "system": "shop", "parameters": {"amount": 5}, **more}


class Scripted:
    """Answers each call with what comes next: a document, an error, or a gate that it waits for first."""

    def __init__(self, *script: Any) -> None:
        self.script = list(script)
        self.calls: list[tuple[str, str, Any]] = []
        self.keys: list[str | None] = []

    async def _next(self, verb: str, path: str, body: Any = None) -> dict[str, Any]:
        self.calls.append((verb, path.removeprefix("/v1/approvals"), body))
        step = self.script.pop(0)
        if isinstance(step, asyncio.Event):
            await step.wait()
            step = self.script.pop(0)
        if isinstance(step, Exception):
            raise step
        found: dict[str, Any] = step
        return found

    async def post(self, path: str, body: Any, *, key: str | None = None) -> dict[str, Any]:
        self.keys.append(key)
        return await self._next("post", path, body)

    async def get(self, path: str, *, wait_s: float = 0.0, since: int | None = None) -> dict[str, Any]:
        return await self._next("get", path)

    async def delete(self, path: str) -> dict[str, Any]:
        return await self._next("delete", path)

    @property
    def steps(self) -> list[str]:
        return [f"{verb} {path}" for verb, path, _ in self.calls]


async def beat() -> None:
    pass


@pytest.fixture(autouse=True)
def no_pause(monkeypatch):
    monkeypatch.setattr(bot.mcp.holding, "_PAUSE_S", 0.0)
    monkeypatch.setattr(bot.mcp.tools, "_PAUSE_S", 0.0)


def holding(gateway: Scripted, wait_s: float = 10.0) -> Holding:
    return Holding(gateway, system="shop", wait_s=wait_s)  # type: ignore[arg-type]


async def test_a_call_that_is_allowed_is_proposed_and_claimed():
    gateway = Scripted(document(), document("claimed"))
    leave = await holding(gateway).ask(CALL, beat)
    assert leave == Leave(approval="a1", code="K7QM2", call=CALL, changed=False)
    assert gateway.steps == ["post ", "post /a1/claim"]
    assert gateway.calls[0][2] == {"action": "refund", "system": "shop", "parameters": {"amount": 5}}


async def test_a_gateway_that_is_gone_for_a_moment_gets_the_same_call_again_under_the_same_key():
    gateway = Scripted(GONE, document("in_review"), GONE, document(), GONE, GONE, document("claimed"))
    assert isinstance(await holding(gateway).ask(CALL, beat), Leave)
    assert gateway.steps == [*["post "] * 2, *["get /a1"] * 2, *["post /a1/claim"] * 3]
    assert gateway.keys[0] == gateway.keys[1]
    assert len({body["claim_key"] for verb, path, body in gateway.calls if path == "/a1/claim"}) == 1


async def test_a_gateway_that_stays_away_lets_nothing_run(monkeypatch):
    monkeypatch.setattr(bot.mcp.holding, "PATIENCE_S", -1.0)
    held = await holding(Scripted(GONE)).ask(CALL, beat)
    assert isinstance(held, Held)
    assert held.status == "unreachable"
    held = await holding(Scripted(document(), GONE)).ask(CALL, beat)
    assert isinstance(held, Held)
    assert held.status == "unreachable"


async def test_an_action_that_changed_between_decision_and_claim_is_looked_at_again():
    changed = document(version="v2", parameters={"amount": 4})
    gateway = Scripted(document(), refused("version"), changed, document("claimed", parameters={"amount": 4}))
    leave = await holding(gateway).ask(CALL, beat)
    assert isinstance(leave, Leave)
    assert (leave.call.arguments, leave.changed) == ({"amount": 4}, True)
    assert [body["version"] for _, path, body in gateway.calls if path == "/a1/claim"] == ["v1", "v2"]


@pytest.mark.parametrize("other", [{"action": "wipe"}, {"system": "bank"}])
async def test_what_was_approved_is_the_tool_that_was_called_or_nothing_runs(other):
    gateway = Scripted(document(), document("claimed", **other), document("failed"))
    held = await holding(gateway).ask(CALL, beat)
    assert isinstance(held, Held)
    assert held.status == "refused"
    assert gateway.calls[-1][1:] == (
        "/a1/outcome",
        {"executed": False, "note": "another tool than the one that was called"},
    )


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (refused("unreconciled"), "unknown"),
        (refused("expired"), "expired"),
        (refused("claimed"), "used"),
        (refused("not_approved"), "denied"),
        (refused("forbidden"), "refused"),
        (refused("parameters", 422), "refused"),
    ],
)
async def test_a_refusal_is_told_for_what_it_is(error, status):
    held = await holding(Scripted(error)).ask(CALL, beat)
    assert isinstance(held, Held)
    assert held.status == status
    assert "not" in held.text


@pytest.mark.parametrize("state", ["denied", "expired", "cancelled", "executed", "unknown", "claimed"])
async def test_what_ended_otherwise_does_not_run(state):
    said = [{"words": "too early"}]
    held = await holding(Scripted(document(state, decisions=said))).ask(CALL, beat)
    assert isinstance(held, Held)
    assert "They say: too early" in held.text


async def test_a_client_that_cancels_takes_back_what_was_proposed_at_whatever_moment():
    proposing, waiting, claiming = asyncio.Event(), asyncio.Event(), asyncio.Event()
    for gate, script, steps in (
        (proposing, [proposing, document("in_review"), document("cancelled")], ["post ", "delete /a1"]),
        (waiting, [document("in_review"), waiting, document("cancelled")], ["post ", "get /a1", "delete /a1"]),
        (
            claiming,
            [document(), claiming, refused("claimed"), document("failed")],
            ["post ", "post /a1/claim", "delete /a1", "post /a1/outcome"],
        ),
    ):
        gateway = Scripted(*script)
        asking = asyncio.create_task(holding(gateway).ask(CALL, beat))
        async with asyncio.timeout(10):
            while len(gateway.calls) < len(steps) - (2 if gate is claiming else 1):
                await asyncio.sleep(0)
            asking.cancel()
            gate.set()
            with pytest.raises(asyncio.CancelledError):
                await asking
        assert gateway.steps == steps


async def test_a_call_that_was_left_is_taken_up_again_once_and_taken_back_at_the_end():
    gateway = Scripted(document("in_review"), document("in_review"), document("in_review"), document("cancelled"))
    one = holding(gateway, wait_s=0.0)
    for _ in range(2):
        held = await one.ask(CALL, beat)
        assert isinstance(held, Held)
        assert held.status == "pending"
    other = await one.ask(Call(name="refund", arguments={"amount": 6}), beat)
    assert isinstance(other, Held)
    assert gateway.steps == ["post ", "get /a1", "post "]
    gateway.script = [document("cancelled")] * 2
    await one.close()
    assert gateway.steps[3:] == ["delete /a1"] * 2


async def test_calls_that_are_the_same_come_one_after_another():
    one, order = holding(Scripted()), []

    async def run(number: int) -> None:
        async with one.one_at_a_time(Call(name="refund", arguments={"amount": 5})):
            order.append(("in", number))
            await asyncio.sleep(0)
            order.append(("out", number))

    await asyncio.gather(run(1), run(2), run(3))
    assert order == [(step, number) for number in (1, 2, 3) for step in ("in", "out")]
    assert one._locks == {}


async def test_an_outcome_that_can_not_be_told_is_no_error(monkeypatch):
    monkeypatch.setattr(bot.mcp.holding, "PATIENCE_S", -1.0)
    leave = Leave(approval="a1", code="K7QM2", call=CALL, changed=False)
    assert await holding(Scripted(document("executed"))).told(leave, executed=True, note="") is True
    assert await holding(Scripted(GONE)).told(leave, executed=True, note="") is False


async def test_a_tool_waits_through_a_restart_of_the_gateway():
    asked = {"id": "q1", "state": "open", "asked_at": "", "expires_at": ""}
    answered = {**asked, "state": "answered", "answer": {"answer": "yes"}, "answered_by": "ann", "way": "tap", "at": ""}
    gateway = Scripted(asked, asked, GONE, GONE, asked, answered)
    heard = []

    async def tell(_seconds: float, words: str) -> None:
        heard.append(words)

    told = await Tools(gateway).call("ask_human", {"question": "?", "wait_s": 10}, tell)  # type: ignore[arg-type]
    assert told is not None
    assert (told.failed, told.document["answer"]) == (False, {"answer": "yes"})
    assert len(heard) == 4
    gateway = Scripted(asked, asked, GONE, refused("unknown", 404))
    told = await Tools(gateway).call("ask_human", {"question": "?", "wait_s": 10}, tell)  # type: ignore[arg-type]
    assert told is not None
    assert (told.failed, told.document["error"]) == (True, "unknown")
