"""Slow, silent, half-closed, oversized and nosy clients of the interface for agents hurt nobody (AGENT-5)."""

import asyncio
import json
import socket
from contextlib import asynccontextmanager

import aiohttp
import pytest

from bot.api import listening
from bot.api.answering import MAX_BODY
from bot.api.approvals import ApprovalsApi
from bot.api.deliveries import DeliveriesApi
from bot.api.listening import Porter
from bot.api.questions import QuestionsApi
from bot.api.site import MAX_WAITING, serve
from bot.config.secret import Secret
from bot.model.approval import Action, Proposal
from bot.model.output import Final
from tests.acceptance.test_questions import CHANNEL
from tests.harness import BOB, GROUP, CountingAgent, running

rule = pytest.mark.rule
GOOD, BAD = "SYNTHETIC-key-of-good", "SYNTHETIC-key-of-bad"


class Interface:
    """The interface, and one good and one bad agent that hold its keys."""

    def __init__(self, gateway, port, http, porter, agents):
        self.gateway, self.port, self.http, self.porter, self.agents = gateway, port, http, porter, agents
        self.held = []

    async def call(self, method, path, *, key=GOOD, body=None, **headers):
        headers |= {} if key is None else {"Authorization": f"Bearer {key}"}
        url = f"http://127.0.0.1:{self.port}{path}"
        async with self.http.request(method, url, json=body, headers=headers) as answer:
            return answer.status, json.loads(await answer.read() or b"null")

    async def works(self):
        """A good agent asks, waits, and takes back, as if nobody else was there."""
        body = {"question": "Which channel?", "schema": CHANNEL, "request": self.agents[0].requests[0].id}
        status, question = await self.call("POST", "/v1/questions", body=body)
        assert status in (200, 201), question
        status, looked = await self.call("GET", f"/v1/questions/{question['id']}?wait=10ms")
        assert (status, looked["state"]) == (200, "open")
        assert (await self.call("DELETE", f"/v1/questions/{question['id']}"))[0] == 200

    async def open(self, raw=b""):
        """A connection on which something is said, and nothing more."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(raw)
        await writer.drain()
        self.held.append(writer)
        return reader, writer

    async def ask(self, key, agent):
        body = {"question": "Which channel?", "schema": CHANNEL, "request": agent.requests[0].id}
        status, question = await self.call("POST", "/v1/questions", key=key, body=body)
        assert status == 201, question
        return question


@asynccontextmanager
async def interface(tmp_path, api, **porter):
    good = CountingAgent(name="main", answer=lambda _: [Final(text="done")], gate=asyncio.Event())
    bad = CountingAgent(name="bad", answer=lambda _: [Final(text="late")], gate=asyncio.Event())
    from tests.harness import BOT_ID, INTERNAL, POLICY

    policy = POLICY.replace(f'"telegram:{BOT_ID}:{INTERNAL}": {{', f'"telegram:{BOT_ID}:{INTERNAL}": {{agent: bad, ')
    bound = asyncio.get_running_loop().create_future()
    keeper = Porter(**porter)
    async with running(tmp_path, api=api, agent=good, further=[bad], policy=policy) as gateway:
        crew = gateway.daemon.crew
        parts = (
            QuestionsApi(crew.worker, crew.questions, clock=crew.clock),
            ApprovalsApi(crew.worker, crew.approvals, clock=crew.clock),
            DeliveriesApi(crew.schedule),
        )
        service = asyncio.create_task(
            serve(
                parts,
                host="127.0.0.1",
                port=0,
                keys={"main": Secret(GOOD), "bad": Secret(BAD)},
                bound=bound.set_result,
                porter=keeper,
            ),
            name="api",
        )
        connector = aiohttp.TCPConnector(limit=0)
        timeout = aiohttp.ClientTimeout(total=60)
        there = None
        try:
            api.say(chat=GROUP, sender=BOB, text="@desk_bot hello")
            api.say(chat=INTERNAL, sender=BOB, text="@desk_bot hello")
            async with aiohttp.ClientSession(connector=connector, timeout=timeout) as http, asyncio.timeout(60):
                await good.started.wait()
                await bad.started.wait()
                there = Interface(gateway, await bound, http, keeper, (good, bad))
                yield there
        finally:
            for writer in there.held if there else ():
                writer.close()
            good.gate.set()
            bad.gate.set()
            service.cancel()
            await asyncio.gather(service, return_exceptions=True)


@rule("AGENT-5")
async def test_heads_that_never_end_are_shown_out_with_a_clear_error_while_others_work(api, tmp_path):
    async with interface(tmp_path, api, head_within_s=0.5) as there:
        slow = [await there.open(raw) for raw in (b"", b"G", b"GET /v1/questions HTTP/1.1\r\nHost: x\r\nX-Slow: ") * 10]
        await there.works()
        for reader, _ in slow:
            said = await asyncio.wait_for(reader.read(), 20)
            assert said.startswith(b"HTTP/1.1 408 ")
            assert json.loads(said.partition(b"\r\n\r\n")[2])["error"] == "too_slow"
        assert there.porter.silent == 0
        await there.works()


@rule("AGENT-5")
async def test_of_too_many_that_say_nothing_the_oldest_go_and_never_somebody_with_a_request(api, tmp_path):
    async with interface(tmp_path, api, most_silent=20, young_s=0.0) as there:
        silent = [await there.open() for _ in range(100)]
        await there.works()
        for reader, _ in silent[:75]:
            assert (await asyncio.wait_for(reader.read(), 20)).startswith(b"HTTP/1.1 408 ")
        assert there.porter.silent <= 20
        await there.works()


@rule("AGENT-5")
async def test_many_that_come_at_once_are_all_heard_and_a_flood_is_bounded_all_the_same(api, tmp_path):
    async with interface(tmp_path, api, most_silent=20, young_s=60.0) as there:
        answers = await asyncio.gather(*(there.call("GET", "/v1/questions") for _ in range(90)))
        assert {status for status, _ in answers} == {200}
        silent = [await there.open() for _ in range(150)]
        assert there.porter.silent <= 100
        assert (await asyncio.wait_for(silent[0][0].read(), 20)).startswith(b"HTTP/1.1 408 ")


@rule("AGENT-5")
async def test_bodies_that_do_not_come_are_given_up_and_cost_nobody_else_anything(api, tmp_path, monkeypatch):
    monkeypatch.setattr("bot.api.answering.READ_WITHIN_S", 0.5)
    head = (
        f"POST /v1/questions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {BAD}\r\nContent-Length: 1000\r\n\r\n{{"
    ).encode()
    async with interface(tmp_path, api) as there:
        slow = [await there.open(head) for _ in range(20)]
        await there.works()
        answers = [await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 20) for reader, _ in slow]
        assert all(answer.startswith(b"HTTP/1.1 400 ") for answer in answers)
        await there.works()


@rule("AGENT-5")
async def test_hundreds_of_long_polls_of_one_key_are_bounded_and_another_key_waits_as_ever(api, tmp_path):
    async with interface(tmp_path, api) as there:
        question = await there.ask(BAD, there.agents[1])
        path = f"/v1/questions/{question['id']}?wait=60s"
        polls = []

        async def poll():
            return await there.call("GET", path, key=BAD)

        for _ in range(3):
            polls += [asyncio.create_task(poll()) for _ in range(150)]
        async with asyncio.timeout(30):
            while sum(task.done() for task in polls) < len(polls) - MAX_WAITING:
                await asyncio.sleep(0.01)  # bounded above
        refused = [task.result() for task in polls if task.done()]
        assert {status for status, _ in refused} == {429}
        assert {answer["error"] for _, answer in refused} <= {"too_many_waiting", "too_fast"}
        await there.works()
        await there.gateway.daemon.crew.questions.cancel(question["id"])
        rest = await asyncio.wait_for(asyncio.gather(*polls), 30)
        assert sum(status == 200 for status, _ in rest) == len(polls) - len(refused)


@rule("AGENT-5")
@pytest.mark.parametrize("how", ["half", "gone"])
async def test_a_long_poll_whose_client_has_gone_gives_its_place_back(api, tmp_path, monkeypatch, how):
    monkeypatch.setattr(listening, "_LOOK_S", 0.05)
    monkeypatch.setattr("bot.api.site.MAX_WAITING", 3)
    async with interface(tmp_path, api) as there:
        question = await there.ask(BAD, there.agents[1])
        path = f"/v1/questions/{question['id']}?wait=60s"
        head = f"GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {BAD}\r\n\r\n".encode()
        for _ in range(3):
            _, writer = await there.open(head)
            if how == "half":
                writer.write_eof()
            else:
                writer.transport.abort()
        async with asyncio.timeout(20):
            while (await there.call("GET", f"/v1/questions/{question['id']}?wait=10ms", key=BAD))[0] != 200:
                await asyncio.sleep(0.05)  # bounded above
        await there.works()


@rule("AGENT-5")
async def test_wrong_keys_foreign_ids_and_bodies_that_are_too_large_get_clear_errors(api, tmp_path):
    async with interface(tmp_path, api) as there:
        question = await there.ask(GOOD, there.agents[0])
        mine = f"/v1/questions/{question['id']}"
        assert (await there.call("GET", mine, key="wrong"))[1]["error"] == "unauthorized"
        assert (await there.call("GET", mine, key=None))[0] == 401
        for method in ("GET", "DELETE"):
            status, answer = await there.call(method, mine, key=BAD)
            assert (status, answer["error"]) == (404, "unknown")
        body = {"question": "?", "schema": CHANNEL, "request": there.agents[0].requests[0].id}
        status, answer = await there.call("POST", "/v1/questions", key=BAD, body=body)
        assert (status, answer["error"]) == (403, "no_grant"), "the request of another agent is none of its own"
        proposal = {"action": "x", "parameters": {}, "request": there.agents[0].requests[0].id}
        assert (await there.call("POST", "/v1/approvals", key=BAD, body=proposal))[0] == 403
        large = {"question": "x" * MAX_BODY}
        status, answer = await there.call("POST", "/v1/questions", key=BAD, body=large)
        assert (status, answer["error"]) == (413, "too_large")
        reader, _ = await there.open(b"GET /v1/questions HTTP/1.1\r\nX-Long: " + b"x" * 60_000 + b"\r\n\r\n")
        assert b" 400 " in (await asyncio.wait_for(reader.read(), 20)).partition(b"\r\n")[0]
        reader, _ = await there.open(b"\x16\x03\x01\x02\x00nonsense\r\n\r\n")
        assert (await asyncio.wait_for(reader.read(), 20)).startswith(b"HTTP/1.")
        assert (await there.call("GET", mine))[1]["state"] == "open", "nothing of it has touched the question"


@rule("AGENT-5")
async def test_a_strangers_connection_is_not_kept(api, tmp_path):
    async with interface(tmp_path, api) as there:
        reader, _ = await there.open(b"GET /v1/questions HTTP/1.1\r\nHost: x\r\n\r\n")
        assert b" 401 " in await asyncio.wait_for(reader.read(), 20), "and then it is closed"


@rule("AGENT-5")
async def test_answers_that_nobody_reads_are_bounded_given_up_and_hold_up_nobody(api, tmp_path, monkeypatch):
    monkeypatch.setattr(listening, "READ_ANSWER_WITHIN_S", 2.0)
    monkeypatch.setattr(listening, "MOST_SENDING", 5 << 20)
    head = f"GET /v1/approvals HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {BAD}\r\n\r\n".encode()
    async with interface(tmp_path, api) as there:
        for number in range(90):
            action = Action(name="note", parameters={"text": "x" * 40_000, "number": number})
            await there.gateway.daemon.crew.approvals.propose(Proposal(action=action), agent="bad", origin=None)
        deaf = []
        loop = asyncio.get_running_loop()
        for _ in range(5):
            one = socket.socket()
            one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
            one.setblocking(False)
            await loop.sock_connect(one, ("127.0.0.1", there.port))
            await loop.sock_sendall(one, head)
            deaf.append(one)
        async with asyncio.timeout(30):
            while (await there.call("GET", "/v1/approvals", key=BAD))[1].get("error") != "too_much":
                await asyncio.sleep(0.01)  # bounded above: until the answers stand in the way of more
        await there.works()
        async with asyncio.timeout(30):
            while (await there.call("GET", "/v1/approvals", key=BAD))[0] != 200:
                await asyncio.sleep(0.05)  # bounded above: they are given up
        for one in deaf:
            one.close()
