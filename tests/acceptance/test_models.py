"""A model behind an OpenAI-compatible server, through a running gateway with an emulated Telegram (AGENT-3, AGENT-5)."""

import asyncio
import json
from contextlib import asynccontextmanager

import pytest

from bot.agents.openai import MAX_ROUNDS, OpenAIAgent
from bot.agents.toolbox import Tool
from bot.channels.telegram.limits import Limits
from bot.model.approval import ApprovalState
from bot.texts.codes import Failure, Notice
from bot.texts.words import Words
from tests.harness import ANN, BOB, GROUP, INTERNAL, POLICY, running
from tests.servers.models import call, calls, chunk, modelled, status, stream, words

rule = pytest.mark.rule
OPEN = Limits(chat=None, group=None, total=None)
SORRY = Words("en").say(Failure.UNAVAILABLE)
ALL = tuple(Tool)
PRICE = "A wedding for 40 costs 1,400 EUR."


@asynccontextmanager
async def talking(tmp_path, api, model, *, policy=POLICY, **options):
    """The gateway with the model as its agent."""

    async def pause(_):
        """No test waits for a provider."""

    given = {"tools": ALL, "total_s": 10.0, "wait_s": 10.0, "pause": pause, **options}
    agent = OpenAIAgent(name="main", base_url=f"{model.url}/v1", model="m", api_key="sk-1", **given)
    try:
        async with running(tmp_path, api=api, agent=agent, policy=policy, limits=OPEN) as gateway:
            yield gateway
    finally:
        await agent.close()


async def say(gateway, text="hello", *, sender=BOB, chat=GROUP):
    said = gateway.api.say(chat=chat, sender=sender, text=text if chat > 0 else f"@desk_bot {text}")
    await gateway.quiet()
    return said


def keys(message):
    rows = message.get("reply_markup", {}).get("inline_keyboard", [])
    return {key["text"]: key.get("callback_data") for row in rows for key in row}


async def tap_only(gateway, chat, label, *, sender):
    """Tap, as soon as there is something to tap."""
    api = gateway.api
    card = await api.wait_for(lambda: next((one for one in reversed(api.sent(chat)) if label in keys(one)), None))
    gateway.api.press(chat=chat, sender=sender, message_id=card["message_id"], data=keys(card)[label], force=True)


async def shown(api, text, chat=GROUP):
    """Wait until something is the last that was said; a run that has waited for a person goes on by itself."""
    await api.wait_for(lambda: (api.texts(chat) or [""])[-1] == text)


async def until(predicate):
    async with asyncio.timeout(10):
        while not await predicate():
            await asyncio.sleep(0.01)  # bounded above


async def tap(gateway, chat, label, *, sender):
    await tap_only(gateway, chat, label, sender=sender)
    await gateway.quiet()


# tools


@rule("AGENT-3")
async def test_a_model_asks_a_person_with_a_tool_whose_call_comes_in_pieces_and_goes_on_with_the_answer(api, tmp_path):
    asking = calls(call("ask_human", {"question": "Which size?", "choices": ["small", "large"]}))
    async with modelled(asking, words("One ", "large", " coming.")) as model, talking(tmp_path, api, model) as gateway:
        await say(gateway, "a coffee")
        assert "Which size?" in api.sent(GROUP)[-1]["text"]
        assert len(model.bodies) == 1, "the model waits for the person"
        await tap(gateway, GROUP, "large", sender=BOB)
        await shown(api, "One large coming.")
        assert model.told() == [
            {"untrusted": True, "state": "answered", "answer": {"answer": "large"}, "answered_by": "bob"}
        ]
        names = [one["function"]["name"] for one in model.bodies[0]["tools"]]
        assert names == ["ask_human", "request_approval", "report_outcome", "file_draft"]
        assert model.bodies[0]["messages"] == model.bodies[1]["messages"][:-2]


@rule("AGENT-3", "APPR-1")
async def test_a_model_proposes_an_action_and_gets_exactly_what_was_approved_once(api, tmp_path):
    proposing = calls(
        call("request_approval", {"action": "refund", "system": "shop", "parameters": {"order": 17}, "reason": "late"})
    )

    async def report(received, body):
        told = json.loads(body["messages"][-1]["content"])
        said = calls(call("report_outcome", {"approval": told["approval"], "outcome": "executed", "note": "done"}))
        return await stream(said)(received, body)

    async with (
        modelled(proposing, report, words("It is refunded.")) as model,
        talking(tmp_path, api, model) as gateway,
    ):
        await say(gateway, "my parcel was late")
        assert api.texts(GROUP) == []
        (approval,) = await gateway.daemon.crew.approvals.pending()
        assert approval.state is ApprovalState.IN_REVIEW
        await tap(gateway, INTERNAL, "Approve", sender=ANN)
        await shown(api, "It is refunded.")
        assert (await gateway.daemon.crew.approvals.look(approval.id)).state is ApprovalState.EXECUTED
        assert model.told(1)[0]["parameters"] == {"order": 17}
        assert model.told(1)[0]["state"] == "approved"


@rule("AGENT-3", "APPR-6")
async def test_a_model_that_never_tells_what_came_of_an_action_leaves_it_unknown_to_be_reconciled(api, tmp_path):
    proposing = calls(call("request_approval", {"action": "refund", "parameters": {"order": 17}, "reason": "late"}))
    async with modelled(proposing, words("Done!")) as model, talking(tmp_path, api, model) as gateway:
        await say(gateway)
        (approval,) = await gateway.daemon.crew.approvals.pending()
        await tap(gateway, INTERNAL, "Approve", sender=ANN)
        await shown(api, "Done!")

        async def unknown():
            return (await gateway.daemon.crew.approvals.look(approval.id)).state is ApprovalState.UNKNOWN

        await until(unknown)


@rule("AGENT-3", "APPR-4")
async def test_a_model_is_told_that_its_proposal_was_denied(api, tmp_path):
    proposing = calls(call("request_approval", {"action": "refund", "parameters": {"order": 17}, "reason": "late"}))
    async with modelled(proposing, words("That is not possible.")) as model, talking(tmp_path, api, model) as gateway:
        await say(gateway)
        await tap(gateway, INTERNAL, "Deny", sender=ANN)
        await shown(api, "That is not possible.")
        assert model.told()[0]["state"] == "denied"
        assert "parameters" not in model.told()[0]
        assert api.texts(GROUP) == ["That is not possible."]


@rule("AGENT-3", "AUTO-2", "OUT-8")
async def test_a_model_files_a_draft_and_nothing_of_it_is_said_before_an_operator_approves(api, tmp_path):
    text = "We guarantee delivery."
    filing = [chunk({"content": "I file a draft."}), *calls(call("file_draft", {"text": text, "class": "contract"}))]
    async with modelled(filing) as model, talking(tmp_path, api, model) as gateway:
        await say(gateway, "can you guarantee it?")
        assert api.texts(GROUP) == []
        assert len(model.bodies) == 1
        assert any(text in one for one in api.texts(INTERNAL))
        await tap(gateway, INTERNAL, "Approve", sender=ANN)
        await shown(api, text)
        assert api.texts(GROUP) == [text]


@rule("AGENT-3")
async def test_inside_there_is_no_draft_to_file_and_the_tool_is_not_offered(api, tmp_path):
    async with modelled(words("ok")) as model, talking(tmp_path, api, model) as gateway:
        await say(gateway, chat=INTERNAL, sender=ANN)
        assert "file_draft" not in [one["function"]["name"] for one in model.bodies[0]["tools"]]


@rule("AGENT-3", "DUR-3")
async def test_after_a_restart_a_question_of_the_model_is_found_again_whatever_it_would_ask_now(api, tmp_path):
    first = calls(call("ask_human", {"question": "Which size?", "choices": ["small", "large"]}))
    async with modelled(first) as model, talking(tmp_path, api, model) as gateway:
        await say(gateway, "a coffee")
    async with modelled(words("Large it is.")) as model, talking(tmp_path, api, model) as gateway:
        await gateway.quiet()
        assert model.bodies == [], "it is not asked before the person has answered"
        await tap(gateway, GROUP, "large", sender=BOB)
        await shown(api, "Large it is.")
        assert model.told()[0]["answer"] == {"answer": "large"}
    assert sum("size" in text for text in api.texts(GROUP)) == 1


@rule("AGENT-3", "DUR-3", "APPR-5")
@pytest.mark.parametrize("when", ["while people decide", "after they have"])
async def test_after_a_restart_a_proposal_of_the_model_is_found_again_and_used_once(api, tmp_path, when):
    proposing = {"action": "refund", "parameters": {"order": 17}, "reason": "late"}
    asking = calls(call("ask_human", {"question": "Which order?", "choices": ["17", "18"]}))
    async with (
        modelled(asking, calls(call("request_approval", proposing))) as model,
        talking(tmp_path, api, model) as gateway,
    ):
        await say(gateway, "my parcel was late")
        await tap(gateway, GROUP, "17", sender=BOB)
        await until(gateway.daemon.crew.approvals.pending)
        if when == "after they have":
            hanging = stream([], then=model.hang)
            model.plays = [hanging]
            await tap_only(gateway, INTERNAL, "Approve", sender=ANN)
            await asyncio.wait_for(model.hanging.wait(), 10)
    async with modelled(words("It is on its way.")) as model, talking(tmp_path, api, model) as gateway:
        if when == "while people decide":
            await gateway.quiet()
            assert model.bodies == [], "it is not asked before people have decided"
            await tap(gateway, INTERNAL, "Approve", sender=ANN)
        await shown(api, "It is on its way.")
        answered, decided = model.told()
        assert answered["answer"] == {"answer": "17"}
        if when == "while people decide":
            assert (decided["state"], decided["parameters"]) == ("approved", {"order": 17})
        else:
            assert decided["state"] == "unknown", "it may have run"
            assert "parameters" not in decided, "it is not given out again"
    assert sum("Action: refund" in text for text in api.texts(INTERNAL)) == 1, "one card"


@rule("AGENT-3", "CLAR-7")
async def test_a_model_asks_back_beside_its_other_tools_and_is_told_when_it_asks_wrongly(api, tmp_path):
    wrong = calls(call("ask_back", {"question": "Which one?"}))
    candidates = [{"id": "alpha", "name": "Alpha"}, {"id": "beta", "name": "Beta"}]
    right = calls(call("ask_back", {"slot": "menu", "question": "Which menu?", "candidates": candidates}))
    async with (
        modelled(wrong, right, words("Beta it is.")) as model,
        talking(tmp_path, api, model, asks_back=True) as gateway,
    ):
        await say(gateway, "a menu")
        assert "slot" in model.told(1)[0]["error"]
        assert len(model.bodies) == 2, "the run has ended with the question"
        await tap(gateway, GROUP, "Beta", sender=BOB)
        await shown(api, "Beta it is.")
        document = json.loads(model.bodies[2]["messages"][-1]["content"])
        assert document["answer"] == "Beta" or document["plan"]["tasks"]["menu"]["slots"]["menu"]


# misuse


@rule("AGENT-5")
async def test_a_model_that_calls_its_tools_in_a_wrong_way_is_told_plainly_and_can_do_better(api, tmp_path):
    wrong = calls(
        call("ask_human", '{"question": "Which', number=0),
        call("ask_human", ["no", "object"], number=1),
        call("ask_human", {"question": 7}, number=2),
        call("ask_human", {}, number=3),
        call("ask_human", {"question": "Which?", "who": "everybody"}, number=4),
        call("ask_human", {"question": "Which?", "schema": {"type": "array"}}, number=5),
        call("launch_missiles", {"at": "once"}, number=6),
        call("request_approval", {"action": "", "parameters": {}, "reason": "x"}, number=7),
    )
    secret = calls(
        call(
            "ask_human",
            {
                "question": "Your password?",
                "schema": {"type": "object", "properties": {"p": {"type": "string", "writeOnly": True}}},
            },
        ),
        call("report_outcome", {"approval": "nothing", "outcome": "executed"}, number=1),
        call("file_draft", {"text": "x", "class": "poetry"}, number=2),
    )
    async with modelled(wrong, secret, words("ok")) as model, talking(tmp_path, api, model) as gateway:
        await say(gateway)
        assert api.texts(GROUP) == ["ok"], "nobody was asked anything"
    errors = [one["error"] for one in model.told()]
    assert len(errors) == 11
    for error, told in zip(
        errors,
        [
            *("not JSON", "not a JSON object", "question is not a text", "question is missing", "who is none of", ""),
            *("there is no such tool", "a name has", "never asked", "no approval of this id", "class is none of"),
        ],
        strict=True,
    ):
        assert told in error
    assert model.told()[5]["problems"], "what is wrong with a schema is named"
    (echoed,) = [one["tool_calls"] for one in model.bodies[1]["messages"] if one.get("tool_calls")]
    assert [json.loads(one["function"]["arguments"]) for one in echoed][:2] == [{}, {}], "servers can read it back"


@rule("AGENT-5")
@pytest.mark.parametrize(
    "flood",
    [
        [chunk({"tool_calls": [{"index": number, "function": {"name": "x"}} for number in range(5_000)]})],
        [chunk({"tool_calls": [{"id": f"c{number}", "function": {"name": "x"}}]}) for number in range(1_000)],
        [chunk({"tool_calls": [{"index": 0, "function": {"name": "ask_human", "arguments": "x" * 60_000}}]})] * 40,
        [chunk({"tool_calls": [{"index": 0, "function": {"name": "n" * 60_000}}]})] * 40,
        [chunk({"tool_calls": [7, None, "x"]})],
        [chunk({"content": "x" * 60_000})] * 40,
    ],
    ids=["calls at once", "calls in turn", "arguments", "names", "no calls", "words"],
)
async def test_a_flood_of_calls_or_words_ends_the_run_with_one_plain_sentence(api, tmp_path, flood):
    async with (
        modelled([*flood, chunk(finish="tool_calls")]) as model,
        talking(tmp_path, api, model) as gateway,
    ):
        await say(gateway)
        assert api.texts(GROUP) in ([SORRY], [Words("en").say(Failure.TOO_LONG)])
        assert len(model.bodies) == 1


@rule("AGENT-5")
async def test_a_model_that_never_stops_calling_tools_is_stopped(api, tmp_path):
    again = calls(call("ask_human", "{"))
    async with modelled(again) as model, talking(tmp_path, api, model) as gateway:
        await say(gateway)
        assert api.texts(GROUP) == [SORRY]
        assert len(model.bodies) == MAX_ROUNDS + 1
        choices = [body["tool_choice"] for body in model.bodies]
        assert choices == ["auto"] * MAX_ROUNDS + ["none"]


@rule("AGENT-5")
async def test_a_model_without_tools_that_calls_one_is_an_error_and_is_offered_none(api, tmp_path):
    async with modelled(calls(call("ask_human", {}))) as model, talking(tmp_path, api, model, tools=()) as gateway:
        await say(gateway)
        assert api.texts(GROUP) == [SORRY]
        assert "tools" not in model.bodies[0]


# streaming


@rule("AGENT-3", "OUT-1")
async def test_an_answer_grows_through_the_door_and_ends_whole(api, tmp_path):
    policy = POLICY.replace("{audience: external}", "{audience: external, streaming: edit}")
    async with modelled(words("It", " is", " open.")) as model, talking(tmp_path, api, model, policy=policy) as gateway:
        await say(gateway)
        assert api.texts(GROUP) == ["It is open."]
        reached = [call.method for call in gateway.person_calls if call.method != "sendChatAction"]
        assert reached[0] == "sendMessage"
        assert set(reached[1:]) <= {"editMessageText"}


@rule("AGENT-3", "OUT-4", "AUTO-2")
async def test_what_grows_is_checked_like_what_is_whole_and_what_may_not_be_said_never_shows(api, tmp_path):
    policy = POLICY.replace("{audience: external}", "{audience: external, streaming: edit}")
    growing = words(PRICE, " Shall I book it?")
    async with modelled(growing) as model, talking(tmp_path, api, model, policy=policy) as gateway:
        await say(gateway)
        assert not any("1,400" in call.text for call in gateway.person_calls if call.chat_id == GROUP)
        assert any(PRICE in text for text in api.texts(INTERNAL))


@rule("AGENT-3")
async def test_what_a_model_says_beside_a_call_is_replaced_by_its_answer(api, tmp_path):
    policy = POLICY.replace("{audience: external}", "{audience: external, streaming: edit}")
    first = [chunk({"content": "Let me look."}), *calls(call("ask_human", "{"))]
    async with modelled(first, words("We are open.")) as model, talking(tmp_path, api, model, policy=policy) as gateway:
        await say(gateway)
        assert api.texts(GROUP) == ["We are open."]
        assert [one["content"] for one in model.bodies[1]["messages"] if one["role"] == "assistant"] == ["Let me look."]


# trouble


@rule("AGENT-5")
@pytest.mark.parametrize(
    "trouble",
    [[status(429, **{"Retry-After": "1"})], [status(503), status(500)], [stream([])], [stream([b": ping\n\n"])]],
    ids=["too many", "broken twice", "an empty stream", "nothing but a comment"],
)
async def test_a_provider_that_has_said_nothing_is_asked_again_and_people_notice_nothing(api, tmp_path, trouble):
    async with modelled(*trouble, words("Here.")) as model, talking(tmp_path, api, model) as gateway:
        await say(gateway)
        assert api.texts(GROUP) == ["Here."]
        assert len(model.bodies) == len(trouble) + 1


async def cut(response):
    """Break the connection in the middle of the stream."""
    assert response._req.transport is not None
    response._req.transport.abort()


@rule("AGENT-5")
async def test_a_provider_that_breaks_off_after_its_first_word_is_not_asked_again(api, tmp_path):
    broken = stream([chunk({"content": "It is"})], then=cut)
    async with modelled(broken, words("Again.")) as model, talking(tmp_path, api, model) as gateway:
        await say(gateway)
        assert api.texts(GROUP) == [SORRY]
        assert len(model.bodies) == 1
        assert api.texts(INTERNAL), "operators are told"


@rule("AGENT-5")
async def test_an_error_after_the_first_word_is_no_answer_and_is_not_shown(api, tmp_path):
    error = b'data: {"error": {"message": "SECRET"}}\n\n'
    async with modelled([chunk({"content": "It is"}), error]) as model, talking(tmp_path, api, model) as gateway:
        await say(gateway)
        assert api.texts(GROUP) == [SORRY]
        assert "SECRET" not in " ".join(one.text for one in gateway.person_calls)


@rule("AGENT-5")
async def test_a_stream_that_hangs_is_given_up_and_the_conversation_goes_on(api, tmp_path):
    async with modelled(words("unused")) as model:
        model.plays = [stream([chunk({"content": "It"})], then=model.hang), stream(words("Here."))]
        async with talking(tmp_path, api, model, wait_s=0.3) as gateway:
            await say(gateway, "first")
            assert api.texts(GROUP) == [Words("en").say(Failure.TIMEOUT)]
            await asyncio.wait_for(model.left.wait(), 10)
            await say(gateway, "second")
            assert api.texts(GROUP)[-1] == "Here."


@rule("AGENT-5", "PART-8")
async def test_stop_hangs_up_on_the_provider_and_nothing_more_is_said(api, tmp_path):
    async with modelled(words("unused")) as model:
        model.plays = [stream([chunk({"content": "It"})], then=model.hang)]
        async with talking(tmp_path, api, model) as gateway:
            api.say(chat=GROUP, sender=BOB, text="@desk_bot hello")
            await asyncio.wait_for(model.hanging.wait(), 10)
            command = [{"type": "bot_command", "offset": 0, "length": len("/stop@desk_bot")}]
            api.say(chat=GROUP, sender=BOB, text="/stop@desk_bot", entities=command)
            await asyncio.wait_for(model.left.wait(), 10)
            await gateway.quiet()
            assert api.texts(GROUP) == [Words("en").say(Notice.STOPPED)]


@rule("AGENT-5", "PART-8")
async def test_stop_takes_back_what_the_model_has_asked_and_the_model_hears_no_more_of_it(api, tmp_path):
    asking = calls(call("ask_human", {"question": "Which size?", "choices": ["small", "large"]}))
    async with modelled(asking, words("Late.")) as model, talking(tmp_path, api, model) as gateway:
        await say(gateway)
        command = [{"type": "bot_command", "offset": 0, "length": len("/stop@desk_bot")}]
        api.say(chat=GROUP, sender=BOB, text="/stop@desk_bot", entities=command)
        await gateway.quiet()
        assert len(model.bodies) == 1
        assert await gateway.daemon.crew.questions.pending() == []
        assert "Late." not in api.texts(GROUP)


# memory


def earlier(body):
    """What the model was told of the conversation: (role, words)."""
    found = []
    for message in body["messages"][:-1]:
        if message["role"] == "assistant":
            found.append(("assistant", message["content"]))
        elif message["role"] == "user":
            document = json.loads(message["content"])
            assert document["untrusted"] is True
            found += [("user", one["text"]) for one in document["earlier"]]
    return found


@rule("AGENT-3", "PROMPT-2", "PROMPT-3")
async def test_a_model_remembers_its_own_conversation_and_no_other_one(api, tmp_path):
    async with modelled(words("Yes.")) as model, talking(tmp_path, api, model, history=10) as gateway:
        await say(gateway, "are you open?")
        await say(gateway, "secret of the operators", chat=INTERNAL, sender=ANN)
        await say(gateway, "words in private", chat=BOB)
        await say(gateway, "and tomorrow?")
    assert earlier(model.bodies[0]) == earlier(model.bodies[1]) == earlier(model.bodies[2]) == []
    assert [(role, text.removeprefix("@desk_bot ")) for role, text in earlier(model.bodies[3])] == [
        ("user", "are you open?"),
        ("assistant", "Yes."),
    ]
    assert "secret" not in json.dumps(model.bodies[3])


@rule("AGENT-3", "DUR-3")
async def test_a_memory_survives_a_restart_and_without_the_option_there_is_none(api, tmp_path):
    async with modelled(words("Yes.")) as model:
        async with talking(tmp_path, api, model) as gateway:
            await say(gateway, "one")
            await say(gateway, "two")
        assert earlier(model.bodies[1]) == []
        async with talking(tmp_path, api, model, history=3) as gateway:
            await say(gateway, "three")
    assert len(earlier(model.bodies[2])) == 3
    assert earlier(model.bodies[2])[-1] == ("assistant", "Yes.")


@rule("AGENT-3")
async def test_a_memory_is_bounded_by_count_and_by_characters(api, tmp_path):
    async with modelled(words("Yes.")) as model:
        async with talking(tmp_path, api, model, history=2) as gateway:
            for number in range(4):
                await say(gateway, f"question {number}")
            assert [text.removeprefix("@desk_bot ") for _, text in earlier(model.bodies[3])] == ["question 2", "Yes."]
        async with talking(tmp_path, api, model, history=50, history_characters=27) as gateway:
            await say(gateway, "question 4")
            assert len(earlier(model.bodies[4])) == 2, "a remark is given whole or not at all"
            assert sum(len(text) for _, text in earlier(model.bodies[4])) <= 27


@rule("AGENT-3", "AUTO-2", "PART-9")
async def test_what_people_never_saw_or_took_back_is_not_remembered(api, tmp_path):
    plays = [words(PRICE), words("Fine."), words("Never mind."), words("ok")]
    async with modelled(*plays) as model, talking(tmp_path, api, model, history=50) as gateway:
        await say(gateway, "what does it cost?")  # becomes a draft that nobody has approved
        api.say(chat=GROUP, sender=BOB, text="not for the bot")
        await say(gateway, "thanks")
        wrong = await say(gateway, "my number is 5551234")
        api.edit(chat=GROUP, message_id=wrong["message_id"], text="my number is private")
        await gateway.quiet()
        await say(gateway, "go on")
    told = json.dumps(model.bodies[-1]["messages"][3:-1])
    assert "Fine." in told
    assert "1,400" not in told
    assert "not for the bot" not in told
    assert "5551234" not in told


@rule("AGENT-3", "OUT-5")
async def test_what_was_written_for_trusted_readers_is_not_remembered_when_others_read_along(api, tmp_path):
    inside = POLICY.replace("{audience: external}", "{audience: internal}")
    async with modelled(words("The margin is thin.")) as model:
        async with talking(tmp_path, api, model, policy=inside, history=50) as gateway:
            await say(gateway, "internal matter")
        async with talking(tmp_path, api, model, history=50) as gateway:
            await say(gateway, "hello")
    assert earlier(model.bodies[1]) == []


@rule("AGENT-3")
async def test_an_approved_draft_is_remembered_as_it_was_sent(api, tmp_path):
    async with modelled(words(PRICE), words("Yes.")) as model, talking(tmp_path, api, model, history=50) as gateway:
        await say(gateway, "what does it cost?")
        await tap(gateway, INTERNAL, "Approve", sender=ANN)
        await shown(api, PRICE)
        await say(gateway, "and for 50?")
    assert ("assistant", PRICE) in earlier(model.bodies[1])
