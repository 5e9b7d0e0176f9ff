"""What servers ask their users, as questions: consent first, words as they are, answers as the protocol wants them."""

import asyncio
from typing import Any

import pytest

from bot.mcp.eliciting import ElicitationError, Eliciting
from bot.mcp.gateway import GatewayError

FORM = {"type": "object", "properties": {"size": {"type": "string"}, "note": {"type": "string"}}, "required": ["size"]}


class Asked:
    """A gateway whose people answer in turn; None: nobody does."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.questions: list[dict[str, Any]] = []
        self.taken_back: list[str] = []

    async def post(self, path: str, body: Any, *, key: str) -> dict[str, Any]:
        assert path == "/v1/questions"
        self.questions.append(body)
        if isinstance(self.answers[0], GatewayError):
            raise self.answers.pop(0)
        return {"id": f"q{len(self.questions)}", "state": "open"}

    async def get(self, path: str, *, wait_s: float) -> dict[str, Any]:
        if self.answers[0] is ...:
            await asyncio.Event().wait()
        if isinstance(self.answers[0], GatewayError):
            raise self.answers.pop(0)
        answer = self.answers.pop(0)
        return {"state": "expired", "answer": None} if answer is None else {"state": "answered", "answer": answer}

    async def delete(self, path: str) -> dict[str, Any]:
        self.taken_back.append(path)
        return {"state": "cancelled"}


def eliciting(gateway: Asked, *people: str) -> Eliciting:
    return Eliciting(gateway, system="sh*op", people=people)  # type: ignore[arg-type]


async def test_values_are_asked_for_once_somebody_wants_to_answer():
    gateway = Asked({"answer": True}, {"size": "l", "note": None})
    result = await eliciting(gateway, "ann").answer({"message": "Size? <b>*now*</b>", "requestedSchema": FORM})
    assert result == {"action": "accept", "content": {"size": "l"}}
    consent, form = gateway.questions
    assert consent["who"] == {"kind": "people", "people": ["ann"]}
    assert form["schema"]["properties"].keys() == {"size", "note"}
    assert "sh\\*op" in consent["question"]
    assert "\\<b\\>\\*now\\*" in consent["question"], "words of a server are no markup"


@pytest.mark.parametrize(
    ("answers", "action"),
    [
        ([{"answer": False}], "decline"),
        ([None], "cancel"),
        ([{"answer": True}, None], "cancel"),
        ([GatewayError(404, {})], "refused"),
    ],
)
async def test_a_no_and_nobody_are_told_apart(answers, action):
    gateway = Asked(*answers)
    asking = eliciting(gateway).answer({"message": "?", "requestedSchema": FORM})
    if action == "refused":
        with pytest.raises(ElicitationError):
            await asking
    else:
        assert await asking == {"action": action}
    assert gateway.questions[0]["who"] == {"kind": "operators"}


async def test_a_gateway_that_loses_a_question_is_nobody():
    class Losing(Asked):
        async def get(self, path: str, *, wait_s: float) -> dict[str, Any]:
            raise GatewayError(404, {"error": "unknown", "message": "gone"})

    assert await eliciting(Losing(1)).answer({"message": "?", "requestedSchema": FORM}) == {"action": "cancel"}


async def test_without_fields_the_consent_is_the_answer():
    gateway = Asked({"answer": True})
    result = await eliciting(gateway).answer({"message": "?", "requestedSchema": {"type": "object", "properties": {}}})
    assert (result, len(gateway.questions)) == ({"action": "accept", "content": {}}, 1)


async def test_an_address_is_shown_in_full_with_its_host_and_opened_by_people():
    for answer, action in (({"open": True}, "accept"), ({"open": False}, "decline"), (None, "cancel")):
        gateway = Asked(answer)
        params = {"mode": "url", "message": "Log in", "url": "https://shop.example.org/x?a=1", "elicitationId": "e"}
        assert await eliciting(gateway).answer(params) == {"action": action}
        (question,) = gateway.questions
        assert "shop\\.example\\.org" in question["question"]
        assert "<https://shop.example.org/x?a=1>" in question["question"]


@pytest.mark.parametrize(
    "url",
    [
        None,
        1,
        "",
        "http://x.org",
        "javascript:alert(1)",
        "https://a b",
        "https://x.org/<b>",
        "https://me@x.org/",
        "https://",
        "https://[x",
    ],
)
async def test_other_addresses_are_refused_and_nobody_is_asked(url):
    gateway = Asked()
    with pytest.raises(ElicitationError):
        await eliciting(gateway).answer({"mode": "url", "message": "?", "url": url})
    with pytest.raises(ElicitationError):
        await eliciting(gateway).answer({"requestedSchema": FORM})
    assert gateway.questions == []


async def test_a_question_that_nobody_waits_for_is_taken_back():
    gateway = Asked(...)
    asking = asyncio.create_task(eliciting(gateway).answer({"message": "?", "requestedSchema": FORM}))
    async with asyncio.timeout(10):
        while not gateway.questions:
            await asyncio.sleep(0)
        await asyncio.sleep(0)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
    assert gateway.taken_back == ["/v1/questions/q1"]
