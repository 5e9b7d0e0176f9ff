import json
from dataclasses import replace

import pytest

from bot.model.errors import StoreError
from bot.model.question import QuestionState, Way
from policy.destination import Destination
from tests.browser.brain import open_desk
from tests.browser.visitor import visit

CUSTOMERS = Destination(platform="web", workspace="demo", channel="customers")
CALL = {"f0": ["2026-12-01T10:00"]}


@pytest.fixture
async def desk():
    async with open_desk(demo=False) as opened:
        yield opened


async def answer(visitor, message, room="customers", **body):
    return await visitor.post(f"/api/rooms/{room}/messages/{message}/answer", body)


async def ask(desk, name, asker="web:mara", room=CUSTOMERS):
    return await desk.brain.ask(name, room, asker=asker)


async def test_a_time_is_meant_in_the_zone_of_the_question(desk):
    message = await ask(desk, "call")
    async with visit(desk, enters_as="mara") as mara:
        assert await answer(mara, message, fields=CALL) == (200, {"outcome": "taken"})
    question = desk.asked.questions[message]
    assert question.answer == {"at": "2026-12-01T10:00:00+01:00"}
    assert (question.answered_by, question.way) == ("web:mara", Way.CARD)


async def test_a_number_is_read_as_the_person_writes_it(desk):
    message = await ask(desk, "transfer", asker="web:jordan")
    async with visit(desk, enters_as="jordan") as jordan:
        fields = {"f0": ["1.234,5"], "f1": ["x"]}
        _, said = await answer(jordan, message, fields=fields)
    assert said["rows"] == [["Amount", "1234.5"], ["PIN", None]]


async def test_a_post_that_is_repeated_is_taken_again_and_another_one_is_late(desk):
    message = await ask(desk, "secret")
    fields = {"f0": ["mara"], "f1": ["7319"]}
    async with visit(desk, enters_as="mara") as mara:
        for _ in range(2):
            assert (await answer(mara, message, fields=fields, nonce="n" * 16))[1] == {"outcome": "taken"}
        fields = {"f0": ["mara"], "f1": ["1111"]}
        assert (await answer(mara, message, fields=fields))[1] == {"outcome": "lost"}
    assert desk.asked.questions[message].answer == {"user": "mara", "pin": "7319"}


async def test_of_two_windows_one_wins(desk):
    message = await ask(desk, "call", asker=None)
    async with visit(desk, enters_as="mara") as mara, visit(desk, enters_as="jordan") as jordan:
        first = await answer(mara, message, fields=CALL)
        second = await answer(jordan, message, fields={"f0": ["2027-01-01T10:00"]})
    assert [first[1]["outcome"], second[1]["outcome"]] == ["taken", "lost"]
    assert desk.asked.questions[message].answered_by == "web:mara"


@pytest.mark.parametrize("fields", [CALL, {"f0": ["nonsense"]}, {}])
async def test_somebody_else_learns_for_whom_it_is_and_no_more(desk, fields):
    message = await ask(desk, "call")
    async with visit(desk, enters_as="jordan") as jordan:
        _, said = await answer(jordan, message, fields=fields)
    assert said == {"outcome": "not_yours", "person": "Mara Lindqvist"}
    assert desk.asked.attempts == []


async def test_errors_name_fields_and_limits_and_nothing_that_was_typed(desk):
    message = await ask(desk, "delivery")
    async with visit(desk, enters_as="mara") as mara:
        fields = {"f0": ["x" * 41], "f1": ["many-typed"], "f4": ["2026-12-24"], "f7": ["99"], "f10": ["a@example.org"]}
        _, said = await answer(mara, message, fields=fields)
    assert said == {
        "outcome": "refused",
        "doubts": [],
        "errors": [
            {"field": "f1", "code": "not_an_integer", "limit": None},
            {"field": "f7", "code": "not_a_choice", "limit": None},
            {"field": "f0", "code": "too_long", "limit": "40"},
        ],
    }
    assert desk.asked.attempts == [["name: too_long", "boxes: not_an_integer", "speed: not_a_choice"]]


async def test_a_place_that_no_option_has_is_never_taken_for_a_value(desk):
    message = await ask(desk, "delivery")
    needed = {"f0": ["x"], "f1": ["1"], "f4": ["2026-12-24"], "f10": ["a@example.org"]}
    async with visit(desk, enters_as="mara") as mara:
        _, said = await answer(mara, message, fields={**needed, "f7": ["2"]})  # 2 is a value there, and no place
    assert [(error["field"], error["code"]) for error in said["errors"]] == [("f7", "not_a_choice")]


async def test_what_is_confirmed_is_what_was_shown(desk):
    message = await ask(desk, "transfer")
    async with visit(desk, enters_as="mara") as mara:
        _, shown = await answer(mara, message, fields={"f0": ["1"], "f1": ["x"]})
        assert (shown["outcome"], shown["rows"]) == ("confirm", [["Amount", "1"], ["PIN", None]])
        _, newer = await answer(mara, message, fields={"f0": ["2"], "f1": ["x"]})
        assert (await answer(mara, message, confirmed=True, version=shown["version"]))[1] == {"outcome": "changed"}
        assert (await answer(mara, message, confirmed=True))[1] == {"outcome": "changed"}
        assert desk.asked.questions[message].state is QuestionState.CONFIRMING
        assert (await answer(mara, message, confirmed=True, version=newer["version"]))[1] == {"outcome": "taken"}
    assert desk.asked.questions[message].answer == {"amount": 2, "pin": "x"}


async def test_nothing_can_be_confirmed_that_nobody_has_answered(desk):
    message = await ask(desk, "transfer")
    async with visit(desk, enters_as="mara") as mara:
        assert (await answer(mara, message, confirmed=True, version=1))[1] == {"outcome": "changed"}


@pytest.mark.parametrize("state", [QuestionState.EXPIRED, QuestionState.CANCELLED])
async def test_a_question_that_is_over_takes_no_answer(desk, state):
    message = await ask(desk, "call")
    await desk.asked.end(message, state)
    async with visit(desk, enters_as="mara") as mara:
        assert (await answer(mara, message, fields=CALL))[1] == {"outcome": state.value}


async def test_an_answer_to_what_is_no_question_of_this_room_does_nothing(desk):
    message = await ask(desk, "call", room=replace(CUSTOMERS, channel="private"))
    async with visit(desk, enters_as="mara") as mara, visit(desk, enters_as="jordan") as jordan:
        own = await mara.say("customers", "hello")
        for place in (own["id"], "b0", message):
            assert await answer(mara, place, fields=CALL) == (404, {"error": "error.gone"})
        assert await answer(jordan, message, room="private", fields=CALL) == (404, {"error": "error.gone"})
    assert desk.asked.questions[message].state is QuestionState.OPEN


async def test_without_a_session_nothing_is_answered(desk):
    message = await ask(desk, "call", asker=None)
    async with visit(desk) as stranger:
        assert (await answer(stranger, message, fields=CALL))[0] == 401


@pytest.mark.parametrize(
    "body",
    [
        {"fields": {"name": ["x"]}},
        {"fields": {"f0": "x"}},
        {"fields": {"f0": [1]}},
        {"fields": {"f0": ["x" * 40_000]}},
        {"fields": {"f0": ["x"] * 1_001}},
        {"fields": {f"f{number}": [] for number in range(100)} | {f"f{n}-as": [] for n in range(100)}},
        {"fields": {}, "confirmed": "yes"},
        {"fields": {}, "values": {"at": "x"}},
        {"fields": {}, "version": "1"},
        {"fields": None},
    ],
)
async def test_what_is_no_answer_of_the_page_is_refused(desk, body):
    message = await ask(desk, "call")
    async with visit(desk, enters_as="mara") as mara:
        assert await answer(mara, message, **body) == (400, {"error": "error.malformed"})


@pytest.mark.parametrize("text", ["\ud800".encode("utf-8", "surrogatepass").decode("latin-1"), "\0", "9" * 30_000, "٣"])
async def test_hostile_text_is_an_error_and_never_a_crash(desk, text):
    for name in ("call", "delivery", "colour", "ticks"):
        message = await ask(desk, name)
        async with visit(desk, enters_as="mara") as mara:
            fields = {f"f{place}{end}": [text] for place in range(14) for end in ("", "-from", "-to", "-as")}
            status, said = await answer(mara, message, fields=fields)
            assert (status, said["outcome"]) == (200, "refused")


async def test_a_store_that_rests_is_said_plainly(desk, monkeypatch):
    async def rests(*_, **__):
        raise StoreError("disk at /secret/path is full")

    message = await ask(desk, "call")
    monkeypatch.setattr(desk.asked, "shown_by", rests)
    async with visit(desk, enters_as="mara") as mara:
        assert await answer(mara, message, fields=CALL) == (503, {"error": "error.unavailable"})


async def test_a_question_that_has_an_unknown_zone_reads_no_local_time(desk):
    message = await ask(desk, "call")
    desk.asked.questions[message] = replace(desk.asked.questions[message], timezone="Nowhere/Atlantis")
    async with visit(desk, enters_as="mara") as mara:
        _, said = await answer(mara, message, fields=CALL)
    assert said["outcome"] == "refused"


@pytest.mark.rule("FORM-10")
async def test_a_masked_value_reaches_the_room_of_questions_and_no_other_place(desk, caplog):
    message = await ask(desk, "secret")
    async with visit(desk, enters_as="mara") as mara:
        refused = await answer(mara, message, fields={"f0": ["x"], "f1": ["7319"]})
        taken = await answer(mara, message, fields={"f0": ["mara"], "f1": ["7319"]})
        state = await mara.state()
    assert (refused[1]["outcome"], taken[1]["outcome"]) == ("refused", "taken")
    documents = [entry.document for entry in desk.timeline._entries.values()]
    for seen in (json.dumps([refused, taken, state, documents]), repr(desk.brain.arrivals), caplog.text):
        assert "7319" not in seen
