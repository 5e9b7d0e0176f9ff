"""The daemon is killed between decision, claim and outcome: no decision is lost, nothing is used twice (APPR-5, APPR-6).

DISCREET_SEED repeats a run as far as processes can be repeated.
"""

import asyncio
import json
import random
import socket
from contextlib import asynccontextmanager

import aiohttp
import pytest

from tests.faults.process import ANN, BOT_ID, GROUP, REPORTS, Process
from tests.faults.test_kill import SEED
from tests.faults.test_question_kill import rows

rule = pytest.mark.rule
KEY = "SYNTHETIC-key-of-the-main-agent"
POLICY = f"""
version: 1
operators: [ann]
people: {{ann: {{accounts: ["telegram:{ANN}"]}}}}
channels:
  "telegram:{BOT_ID}:{GROUP}": {{audience: external}}
  "telegram:{BOT_ID}:{REPORTS}": {{audience: internal, reports: true}}
approvals: {{outcome_within: 2s, claim_within: 1h}}
"""


class Agent:
    """An agent that calls the interface, and a daemon that may be away."""

    def __init__(self, api, process: Process, port: int) -> None:
        self.api, self.process = api, process
        self.url = f"http://127.0.0.1:{port}/v1/approvals"
        self.headers = {"Authorization": f"Bearer {KEY}"}

    async def call(self, method, path="", body=None):
        """One call; ConnectionError where the daemon is away or dies over it."""
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=20)) as http:
            try:
                async with http.request(method, self.url + path, json=body, headers=self.headers) as answer:
                    return answer.status, await answer.json()
            except (aiohttp.ClientError, TimeoutError) as error:
                raise ConnectionError from error

    async def surely(self, method, path="", body=None):
        """The same until the daemon answers."""
        never = asyncio.Event()
        async with asyncio.timeout(40):
            while True:
                try:
                    return await self.call(method, path, body)
                except ConnectionError:
                    try:
                        await asyncio.wait_for(never.wait(), 0.05)
                    except TimeoutError:
                        continue

    async def propose(self, number=0):
        body = {"action": "refund", "parameters": {"order": number}, "key": f"order-{number}"}
        return (await self.surely("POST", "", body))[1]

    async def look(self, one, query=""):
        return (await self.surely("GET", f"/{one['id']}{query}"))[1]

    async def use(self, one, key="a"):
        return await self.surely("POST", f"/{one['id']}/claim", {"version": one["version"], "claim_key": key})

    async def card(self, one):
        """The card of an approval, once it has arrived."""
        found = []

        def there():
            found[:] = [card for card in self.api.sent(REPORTS) if f"decide: {one['code']}" in card.get("text", "")]
            return bool(found)

        await self.api.wait_for(there, timeout=20)
        return found[-1]

    def tap(self, card, label="Approve"):
        keys = [key for row in card["reply_markup"]["inline_keyboard"] for key in row]
        data = next(key["callback_data"] for key in keys if key["text"] == label)
        self.api.press(chat=REPORTS, sender=ANN, message_id=card["message_id"], data=data, force=True)


@asynccontextmanager
async def agent(tmp_path, api):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = Process(tmp_path, api, policy=POLICY, script=None)
    config = tmp_path / "config.yaml"
    config.write_text(config.read_text() + f'api: {{enabled: true, listen: "127.0.0.1:{port}"}}\n')
    (tmp_path / "api-keys").write_text(f"main {KEY}\n")
    (tmp_path / "api-keys").chmod(0o600)
    try:
        await process.start()
        yield Agent(api, process, port)
    finally:
        if process.running:
            await process.kill()


@rule("DUR-3", "APPR-5", "APPR-6")
async def test_a_kill_after_the_decision_loses_nothing_and_one_after_the_claim_leaves_it_unknown(api, tmp_path):
    async with agent(tmp_path, api) as there:
        one = await there.propose()
        card = await there.card(one)
        await there.process.kill()  # between the card and the tap
        there.tap(card)
        await there.process.start()
        decided = await there.look(one, "?wait=20s")
        assert decided["state"] == "approved"
        await there.process.kill()  # between the decision and the claim
        await there.process.start()
        assert (await there.look(one))["decisions"] == decided["decisions"]
        status, used = await there.use(one)
        assert (status, used["state"]) == (200, "claimed")
        await there.process.kill()  # between the claim and its outcome
        await there.process.start()
        assert (await there.use(one))[0] == 200  # the same claim
        assert (await there.use(one, key="another"))[1]["error"] == "claimed"
        lost = await there.look(one, f"?wait=20s&since={used['revision']}")
        assert lost["state"] == "unknown"
        again = await there.surely("POST", "", {"action": "refund", "parameters": {"order": 0}})
        assert (again[0], again[1]["error"]) == (409, "unreconciled")
        await there.process.kill()
        await there.process.start()
        assert (await there.look(one))["state"] == "unknown"
        listed = there.process.command("approvals", "list", "--config", "config.yaml")
        assert (listed.returncode, "unknown" in listed.stdout) == (0, True), listed.stderr
        done = there.process.command(
            *(
                "approvals",
                "reconcile",
                one["code"],
                "--failed",
                "--evidence",
                "no such refund",
                "--config",
                "config.yaml",
            )
        )
        assert done.returncode == 0, done.stderr
        shown = json.loads(there.process.command("approvals", "show", one["id"], "--config", "config.yaml").stdout)
        assert (shown["state"], shown["note"].endswith("no such refund")) == ("failed", True)
        assert len([card for card in there.api.sent(REPORTS) if "decide: " in card.get("text", "")]) == 1
        there.process.check_journal()


@rule("DUR-3", "APPR-5")
async def test_kills_at_random_moments_lose_no_decision_and_double_no_claim(api, tmp_path):
    dice = random.Random(SEED)
    async with agent(tmp_path, api) as there:
        made = [await there.propose(number) for number in range(12)]
        cards = [await there.card(one) for one in made]
        claims: dict[str, list[str]] = {}

        async def follow(number):
            """Wait for the decision, then claim with two keys at once, until the daemon has answered both."""
            one = made[number]
            there.tap(cards[number])
            while (await there.look(one, "?wait=5s"))["state"] not in ("approved", "claimed", "unknown"):
                pass
            answers = await asyncio.gather(there.use(one, "a"), there.use(one, "b"))
            claims[one["id"]] = [key for key, (status, _) in zip("ab", answers, strict=True) if status == 200]

        async def break_down():
            never = asyncio.Event()
            for _ in range(5):
                try:
                    await asyncio.wait_for(never.wait(), dice.uniform(0.05, 0.6))
                except TimeoutError:
                    await there.process.kill()
                await there.process.start()

        async with asyncio.timeout(120):
            await asyncio.gather(break_down(), *(follow(number) for number in range(len(made))))
        assert all(len(won) == 1 for won in claims.values()), claims
        assert len(claims) == len(made)
        counted = rows(
            there.process,
            "SELECT count(*) FROM approval_decisions GROUP BY approval_id",
        )
        assert [count for (count,) in counted] == [1] * len(made)
        assert len(there.api.sent(REPORTS)) >= len(made)
        there.process.check_journal()
