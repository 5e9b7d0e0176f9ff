"""Questions over HTTP: what an agent that works on a request meets at the gateway's own interface."""

import asyncio
import json
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from bot.api.answering import MAX_BODY
from bot.api.questions import QuestionsApi
from bot.api.site import serve
from bot.channels.telegram.limits import Limits
from bot.config.secret import Secret
from bot.model.output import Final
from bot.model.question import Way
from bot.questions.links import Links
from tests.acceptance.test_chat_run import POLICY as CHAT_POLICY
from tests.acceptance.test_chat_run import answer_to, daemon, entered
from tests.acceptance.test_questions import CHANNEL, RELEASE, request, tap, until
from tests.browser.visitor import visit
from tests.harness import BOB, GROUP, POLICY, CountingAgent, running
from tests.servers.agents import serving

rule = pytest.mark.rule
OPEN = Limits(chat=None, group=None, total=None)
KEY = "SYNTHETIC-key-of-the-main-agent"
OTHER_KEY = "SYNTHETIC-key-of-another-agent"
SECRET = {
    "type": "object",
    "properties": {"pin": {"type": "string", "format": "password"}, "note": {"type": "string"}},
    "required": ["pin"],
}


class Working(CountingAgent):
    """Works on a request until the test lets it answer."""

    def __init__(self, name="main") -> None:
        super().__init__(name=name, answer=lambda _: [Final(text="done")], gate=asyncio.Event())


@dataclass
class Api:
    """The interface, and the gateway behind it."""

    url: str
    http: aiohttp.ClientSession
    agent: Working
    gateway: Any

    async def call(self, method, path="/v1/questions", *, key=KEY, body=None, data=None, **headers):
        if key is not None:
            headers["Authorization"] = f"Bearer {key}"
        async with self.http.request(method, f"{self.url}{path}", json=body, data=data, headers=headers) as answer:
            return answer.status, await answer.json(), answer.headers

    async def ask(self, *, bearer=KEY, **body):
        """Ask for the first request of the agent."""
        given = {"question": "Which channel?", "schema": CHANNEL, "request": self.agent.requests[0].id, **body}
        status, document, _ = await self.call("POST", body=given, key=bearer)
        return status, document

    async def look(self, question, *, wait="20s", key=KEY):
        status, document, _ = await self.call("GET", f"/v1/questions/{question['id']}?wait={wait}", key=key)
        assert status == 200, document
        return document


PAGES = Links(bytes(32), "https://forms.example.org")


@asynccontextmanager
async def interface(tmp_path, api, *, ask=True):
    """A gateway with the interface on a free port; Bob has asked for something, and the agent works on it."""
    agent, idle = Working(), Working(name="idle")
    port = asyncio.get_running_loop().create_future()
    async with running(
        tmp_path, api=api, agent=agent, further=[idle], limits=OPEN, policy=POLICY, links=PAGES
    ) as gateway:
        worker = gateway.daemon.crew.worker
        service = asyncio.create_task(
            serve(
                [QuestionsApi(worker, gateway.daemon.crew.questions, clock=gateway.daemon.crew.clock)],
                host="127.0.0.1",
                port=0,
                keys={"main": Secret(KEY), "idle": Secret(OTHER_KEY)},
                bound=port.set_result,
            ),
            name="api",
        )
        try:
            if ask:
                request(api)
                await until(lambda: agent.requests)
            timeout = aiohttp.ClientTimeout(total=30)
            async with aiohttp.ClientSession(timeout=timeout) as http:
                yield Api(url=f"http://127.0.0.1:{await port}", http=http, agent=agent, gateway=gateway)
        finally:
            agent.gate.set()
            service.cancel()
            await asyncio.gather(service, return_exceptions=True)


async def shown(api):
    """The card of the question."""
    await until(lambda: api.texts(GROUP))
    return api.sent(GROUP)[-1]


@rule("FORM-1", "FORM-11")
async def test_a_question_that_is_asked_over_http_is_shown_answered_and_fetched(api, tmp_path):
    async with interface(tmp_path, api) as agent:
        status, question = await agent.ask(ttl_s=600)
        assert (status, question["state"], set(question)) == (201, "open", {"id", "state", "asked_at", "expires_at"})
        card = await shown(api)
        waiting = asyncio.create_task(agent.look(question))
        _, listed, _ = await agent.call("GET")
        assert [one["id"] for one in listed["questions"]] == [question["id"]]
        tap(api, card, "beta", sender=BOB)
        answered = await waiting
        assert (answered["state"], answered["answer"]) == ("answered", {"channel": "beta"})
        assert (answered["answered_by"], answered["way"], answered["errors"]) == ("bob", Way.TAP.value, [])
        assert answered["at"] is not None
        assert await agent.look(question) == answered, "an answer without secrets can be fetched again"
        _, listed, _ = await agent.call("GET")
        assert listed == {"questions": []}
        agent.agent.gate.set()
        await until(lambda: api.texts(GROUP)[-1] == "done")


@rule("FORM-2")
async def test_a_refused_attempt_is_shown_to_the_agent_as_fields_and_codes(api, tmp_path):
    async with interface(tmp_path, api) as agent:
        _, question = await agent.ask(schema=RELEASE, question="Release?")
        card = await shown(api)
        words = "Channel: beta\nVersion: 1.2\nWindow: 2026-12-01 - 2026-12-05\nConfirmed: yes"
        api.say(chat=GROUP, sender=BOB, text=words, reply_to=card["message_id"])
        await agent.gateway.settled()
        seen = await agent.look(question, wait="0s")
        assert seen["state"] == "open"
        assert seen["answer"] is None
        assert seen["errors"] == [{"field": "version", "code": "too_short"}]


@rule("FORM-10")
async def test_a_masked_value_is_given_once(api, tmp_path):
    async with interface(tmp_path, api) as agent:
        _, question = await agent.ask(schema=SECRET, question="PIN?")
        room = agent.gateway.daemon.crew.questions
        values = {"pin": "SYNTHETIC-pin", "note": "n"}
        await room.submit(room._links.token(question["id"]), values, by=None, way=Way.FORM)
        assert (await agent.look(question))["answer"] == values
        assert (await agent.look(question))["answer"] == {"pin": None, "note": "n"}


@rule("FORM-10", "DUR-3")
async def test_an_agent_that_goes_away_before_it_has_the_masked_answer_gets_it_later(api, tmp_path):
    async with interface(tmp_path, api) as agent:
        _, question = await agent.ask(schema=SECRET, question="PIN?")
        gone = asyncio.create_task(agent.look(question))
        room = agent.gateway.daemon.crew.questions
        await until(lambda: len(room._waiting.get(question["id"], ())) == 2)  # the run rests, and a call waits
        gone.cancel()
        await asyncio.gather(gone, return_exceptions=True)
        values = {"pin": "SYNTHETIC-pin"}
        await room.submit(room._links.token(question["id"]), values, by=None, way=Way.FORM)
        assert (await agent.look(question))["answer"] == values


async def test_the_run_rests_while_the_question_is_open_and_ends_after_it(api, tmp_path):
    async with interface(tmp_path, api) as agent:
        await agent.ask()
        card = await shown(api)
        request(api)
        await until(lambda: len(agent.agent.requests) == 2)  # the conversation goes on beside the question
        tap(api, card, "beta", sender=BOB)
        agent.agent.gate.set()
        await until(lambda: api.texts(GROUP).count("done") == 2)


@rule("FORM-7")
async def test_the_same_question_with_the_same_key_is_asked_once(api, tmp_path):
    async with interface(tmp_path, api) as agent:
        body = {"question": "Deploy?", "schema": CHANNEL, "request": agent.agent.requests[0].id}
        status, made, _ = await agent.call("POST", body={**body, "key": "deploy-1"})
        assert status == 201
        status, found = await agent.ask(question="Deploy?", key="deploy-1")
        assert (status, found) == (200, made)
        status, found, _ = await agent.call("POST", body=body, **{"Idempotency-Key": "deploy-1"})
        assert (status, found) == (200, made)
        for change in ({"question": "Other?"}, {"schema": RELEASE}, {"important": True}, {"who": {"kind": "anyone"}}):
            status, refused = await agent.ask(**{**body, "key": "deploy-1", **change})
            assert (status, refused["error"]) == (409, "key_used"), change
        status, refused, _ = await agent.call("POST", body={**body, "key": "a"}, **{"Idempotency-Key": "b"})
        assert (status, refused["problems"][0]["path"]) == (422, "/key")
        await agent.gateway.settled()
        assert sum("Deploy?" in text for text in api.texts(GROUP)) == 1


@rule("FORM-7")
async def test_two_calls_at_once_with_one_key_make_one_question(api, tmp_path):
    async with interface(tmp_path, api) as agent:
        made = await asyncio.gather(*(agent.ask(key="one") for _ in range(5)))
        assert sorted(status for status, _ in made) == [200, 200, 200, 200, 201]
        assert len({question["id"] for _, question in made}) == 1


async def test_an_agent_takes_its_question_back_once(api, tmp_path):
    async with interface(tmp_path, api) as agent:
        _, question = await agent.ask()
        waiting = asyncio.create_task(agent.look(question))
        for _ in range(2):
            status, ended, _ = await agent.call("DELETE", f"/v1/questions/{question['id']}")
            assert (status, ended["state"]) == (200, "cancelled")
        assert (await waiting)["state"] == "cancelled"
        _, question = await agent.ask(question="Again?")
        await until(lambda: any("Again?" in text for text in api.texts(GROUP)))
        tap(api, api.sent(GROUP)[-1], "beta", sender=BOB)
        assert (await agent.look(question))["state"] == "answered"
        status, refused, _ = await agent.call("DELETE", f"/v1/questions/{question['id']}")
        assert (status, refused["error"]) == (409, "ended")


async def test_a_question_that_nobody_answers_ends_as_expired(api, tmp_path):
    async with interface(tmp_path, api) as agent:
        _, question = await agent.ask(ttl_s=30)
        agent.gateway.daemon.crew.clock.offset += timedelta(seconds=31)
        expired = await agent.look(question)
        assert (expired["state"], expired["answer"], expired["answered_by"]) == ("expired", None, None)


async def test_a_long_poll_ends_after_its_time_and_the_question_stays(api, tmp_path):
    async with interface(tmp_path, api) as agent:
        _, question = await agent.ask()
        assert (await agent.look(question, wait="20ms"))["state"] == "open"
        status, refused, _ = await agent.call("GET", f"/v1/questions/{question['id']}?wait=soon")
        assert (status, refused["error"]) == (400, "malformed")


@rule("OUT-5")
async def test_the_questions_of_one_agent_do_not_exist_for_another(api, tmp_path):
    async with interface(tmp_path, api) as agent:
        _, question = await agent.ask()
        for method in ("GET", "DELETE"):
            status, refused, _ = await agent.call(method, f"/v1/questions/{question['id']}", key=OTHER_KEY)
            assert (status, refused["error"]) == (404, "unknown")
        _, listed, _ = await agent.call("GET", key=OTHER_KEY)
        assert listed == {"questions": []}
        assert (await agent.look(question, wait="0"))["state"] == "open"


@rule("OUT-6")
async def test_a_question_without_a_request_of_that_agent_goes_nowhere(api, tmp_path):
    async with interface(tmp_path, api) as agent:
        for wrong in ({"request": "0" * 32}, {"request": agent.agent.requests[0].id, "bearer": OTHER_KEY}):
            status, refused = await agent.ask(**wrong)
            assert (status, refused["error"]) == (403, "no_grant")
        agent.agent.gate.set()
        await until(lambda: "done" in api.texts(GROUP))
        await agent.gateway.settled()
        status, refused = await agent.ask()
        assert (status, refused["error"]) == (403, "no_grant"), "the request is over"
        assert api.texts(GROUP) == ["done"]


async def test_without_the_right_key_nothing_is_told(api, tmp_path, capfd):
    async with interface(tmp_path, api, ask=False) as agent:
        for key in (None, "", "wrong", KEY[:-1], f"{KEY}x", "\u00e9" * 30):
            for method, path in (("GET", "/v1/questions"), ("POST", "/v1/questions"), ("GET", "/v1/questions/x")):
                status, refused, headers = await agent.call(method, path, key=key)
                assert (status, refused["error"], headers["WWW-Authenticate"]) == (401, "unauthorized", "Bearer")
        status, _, _ = await agent.call("GET", key=None, Authorization=f"Basic {KEY}")
        assert status == 401
    assert "SYNTHETIC" not in "".join(capfd.readouterr())


@rule("FORM-13", "FORM-1")
@pytest.mark.parametrize(
    ("body", "path", "code"),
    [
        ({"schema": {"type": "object", "properties": {"x": {"enum": []}}}}, "/properties/x/enum", None),
        ({"schema": {"type": "object", "properties": {"x": {"$ref": "https://example.org/x"}}}}, None, None),
        ({"schema": [1]}, "/schema", "wrong_type"),
        ({"question": 5}, "/question", "wrong_type"),
        ({"question": ""}, "/question", "wrong_length"),
        ({"ttl_s": True}, "/ttl_s", "wrong_type"),
        ({"ttl_s": "1h"}, "/ttl_s", "wrong_type"),
        ({"important": 1}, "/important", "wrong_type"),
        ({"key": 7}, "/key", "wrong_type"),
        ({"key": "k" * 201}, "/key", "wrong_length"),
        ({"who": "ann"}, "/who", "wrong_type"),
        ({"who": {"kind": "everybody"}}, "/who/kind", "not_known"),
        ({"who": {"kind": "people"}}, "/who/people", "who"),
        ({"who": {"kind": "asker", "people": ["ann"]}}, "/who/people", "who"),
        ({"who": {"kind": "people", "people": "ann"}}, "/who/people", "wrong_type"),
        ({"who": {"kind": "operators", "role": "x"}}, "/who/role", "unknown_field"),
        ({"destination": "telegram:7001:-1"}, "/destination", "unknown_field"),
        ({"a/b~": 1}, "/a~1b~0", "unknown_field"),
    ],
)
async def test_what_can_not_be_asked_is_refused_with_its_place(api, tmp_path, body, path, code):
    async with interface(tmp_path, api) as agent:
        status, refused = await agent.ask(**body)
        assert status == 422
        assert isinstance(refused["message"], str)
        (problem,) = refused["problems"]
        assert set(problem) == {"path", "code", "detail"}
        assert path is None or problem["path"] == path
        assert code is None or problem["code"] == code
        agent.agent.gate.set()
        await agent.gateway.settled()
        assert api.texts(GROUP) == ["done"], "nobody is asked half a question"


@pytest.mark.parametrize(
    ("body", "code"), [({"ttl_s": 1}, "ttl"), ({"question": "x" * 4001}, "text"), ({"question": "  "}, "text")]
)
async def test_bounds_of_a_question_are_told(api, tmp_path, body, code):
    async with interface(tmp_path, api) as agent:
        status, refused = await agent.ask(**body)
        assert (status, refused["error"]) == (422, code)


@rule("AGENT-5")
async def test_hostile_bodies_are_refused_and_the_interface_stays_up(api, tmp_path, capfd):
    nested = b'{"question": ' + b"[" * 30_000 + b"]" * 30_000 + b"}"
    deep = json.dumps({"schema": {"a": json.loads("[" * 70 + "]" * 70)}}).encode()
    async with interface(tmp_path, api) as agent:
        for data in (
            b"",
            b"{",
            b"[]",
            b"null",
            b"NaN",
            b'"SYNTHETIC"',
            b"\xff\xfe",
            nested,
            deep,
            b'{"question": "\\ud800"}',
        ):
            status, refused, _ = await agent.call("POST", data=data)
            assert (status, refused["error"]) == (400, "malformed"), data[:40]
        status, refused, _ = await agent.call("POST", data=b" " * (MAX_BODY + 1))
        assert (status, refused["error"]) == (413, "too_large")

        async def pieces():
            for _ in range(MAX_BODY // 1024 + 2):
                yield b" " * 1024

        status, refused, _ = await agent.call("POST", data=pieces())
        assert (status, refused["error"]) == (413, "too_large")
        status, refused, _ = await agent.call("POST", data=b"{}", **{"Content-Encoding": "x-unknown"})
        assert status == 400
        for method, path, wanted in (
            ("PUT", "/v1/questions", 405),
            ("GET", "/", 404),
            ("GET", "/v1/questions/%00", 404),
        ):
            status, refused, _ = await agent.call(method, path)
            assert (status, set(refused)) == (wanted, {"error", "message"})
        status, question = await agent.ask()
        assert status == 201
        async with agent.http.head(
            f"{agent.url}/v1/questions/{question['id']}", headers={"Authorization": f"Bearer {KEY}"}
        ) as answer:
            assert answer.status == 405, "HEAD would take an answer and give it to nobody"
    assert "SYNTHETIC" not in "".join(capfd.readouterr())


@rule("AGENT-5")
async def test_an_agent_that_asks_too_fast_is_told_when_to_come_again(api, tmp_path):
    async with interface(tmp_path, api, ask=False) as agent:
        answers = [await agent.call("POST", body={}) for _ in range(40)]
        assert {status for status, _, _ in answers} == {422, 429}
        _, refused, headers = answers[-1]
        assert (refused["error"], int(headers["Retry-After"]) >= 1) == ("too_fast", True)
        status, _, _ = await agent.call("POST", body={}, key=OTHER_KEY)
        assert status == 422, "another agent does not notice"


@rule("FORM-1")
async def test_the_questions_of_the_handbook_can_be_asked(api, tmp_path):
    handbook = (Path(__file__).parents[2] / "docs" / "questions.md").read_text(encoding="utf-8")
    blocks = [block.partition("```")[0] for block in handbook.split("```json\n")[1:]]
    (schema,) = [json.loads(block) for block in blocks if '"properties": {\n' in block]
    shell = next(block.partition("```")[0] for block in handbook.split("```sh\n")[1:])
    async with interface(tmp_path, api) as agent:
        posted = shell.partition("-d '")[2].rpartition("'")[0].replace("'\"$REQUEST_ID\"'", agent.agent.requests[0].id)
        status, _, _ = await agent.call("POST", data=posted.encode())
        assert status == 201
        status, _ = await agent.ask(schema=schema)
        assert status == 201


RUN = """\
agents:
  main: {{kind: webhook, url: "{url}", secret: whsec_c3ludGhldGljLXN5bnRoZXRpYy1zeW50aGV0aWM=, timeout: 1m}}
chat:
  enabled: true
  listen: "127.0.0.1:0"
  rooms:
    customers: {{title: Customers, members: [ann, bob]}}
api: {{enabled: true, listen: "127.0.0.1:0"}}
metrics: {{enabled: false}}
"""


@rule("AGENT-3", "FORM-1", "FORM-3")
async def test_a_webhook_agent_asks_while_it_works_on_a_request(tmp_path):
    at = asyncio.get_running_loop().create_future()
    bearer = {"Authorization": f"Bearer {KEY}"}

    async def works(received):
        asked = await received.json()
        async with aiohttp.ClientSession(headers=bearer) as http:
            body = {"request": asked["id"], "key": "k", "question": "Which channel?", "schema": CHANNEL}
            async with http.post(f"{await at}/v1/questions", json=body) as answer:
                assert answer.status == 201
                question = await answer.json()
            async with http.get(f"{await at}/v1/questions/{question['id']}?wait=20s") as answer:
                seen = await answer.json()
        return web.json_response({"kind": "final", "text": f"{seen['answered_by']}: {seen['answer']['channel']}"})

    async with serving(works) as url:
        files = {"config.yaml": RUN.format(url=url), "policy.yaml": CHAT_POLICY, "api-keys": f"main {KEY}\n"}
        for name, text in files.items():
            (tmp_path / name).write_text(text)
            (tmp_path / name).chmod(0o600)
        async with daemon(tmp_path) as one, visit(one) as page:
            at.set_result(f"http://127.0.0.1:{(await one.logged('api'))['port']}")
            await entered(page, one, "ann")
            asked = await page.say("customers", "@desk release it")
            card = await answer_to(page, asked)
            token = next(button["token"] for button in card["card"]["buttons"] if button["label"] == "beta")
            assert (await page.post(f"/api/rooms/customers/messages/{card['id']}/tap", {"token": token}))[0] == 200
            async with asyncio.timeout(20), page.stream() as stream:
                while (await stream.until("message", room="customers"))["text"] != "ann: beta":
                    pass
