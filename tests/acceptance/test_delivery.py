"""What leaves, on a running gateway: in order, once, through the one door, and nothing that its readers may not see."""

import asyncio
from contextlib import asynccontextmanager

import pytest

from bot.channels.telegram.limits import Limits
from bot.model.output import Final, Fragment, Operational, OutFile, Progress
from bot.texts.codes import Failure, Notice
from bot.texts.words import Words
from forms.card import Button, Card
from tests.cases import ledger
from tests.harness import ANN, BOB, BOT_ID, GROUP, INTERNAL, POLICY, CountingAgent, running

rule = pytest.mark.rule
OPEN = Limits(chat=None, group=None, total=None)
SHOWING = POLICY.replace("audience: internal, reports: true", "audience: internal, reports: true, progress: true")
HANS = {"id": 777001, "is_bot": False, "first_name": "Hans", "language_code": "de"}


def saying(*outputs, **more):
    """An agent that always answers with these outputs."""
    return CountingAgent(answer=lambda _request: list(outputs), **more)


def echo(request):
    """The number at the end of a question."""
    return [Final(text=f"answer {request.text.split()[-1]}")]


@asynccontextmanager
async def serving(tmp_path, api, agent=None, **more):
    async with running(tmp_path, api=api, agent=agent or saying(Final(text="ok")), limits=OPEN, **more) as gateway:
        yield gateway


def ask(api, words, *, chat=GROUP, sender=BOB, **more):
    return api.say(chat=chat, sender=sender, text=words if chat > 0 else f"@desk_bot {words}", **more)


def states(folder):
    return [row.state for row in ledger.parts(folder)]


async def until(condition):
    """Wait for what the store will say; bounded."""
    async with asyncio.timeout(10):
        while not condition():
            await asyncio.sleep(0.01)


@rule("DUR-1")
async def test_answers_of_a_chat_leave_in_order_and_other_chats_do_not_wait_for_them(api, tmp_path):
    fault = api.fail("sendMessage", 502, "Bad Gateway", times=None, chat_id=GROUP)
    async with serving(tmp_path, api, CountingAgent(answer=echo)) as gateway:
        for number in range(3):
            ask(api, f"question {number}")
        ask(api, "question 9", chat=BOB)
        await api.wait_sent(BOB)
        assert api.texts(GROUP) == []
        fault.cancel()
        await gateway.settled()
    assert api.texts(GROUP) == ["answer 0", "answer 1", "answer 2"]
    assert api.texts(BOB) == ["answer 9"]


@rule("DUR-1")
async def test_an_update_that_comes_twice_is_answered_once_also_after_another_start(api, tmp_path):
    message = ask(api, "hello")
    update = {"update_id": api.pending[0], "message": message}
    agent = saying(Final(text="ok"))
    async with serving(tmp_path, api, agent) as gateway:
        await gateway.settled()
        api.push(update, again=True)
        await gateway.settled()
    async with serving(tmp_path, api, agent) as gateway:
        api.push(update, again=True)
        await gateway.settled()
    assert len(agent.requests) == 1
    assert api.texts(GROUP) == ["ok"]


@rule("DUR-2")
@pytest.mark.parametrize("delivered", [True, False], ids=["and arrived", "and was lost"])
async def test_a_send_without_an_answer_is_parked_told_inside_and_never_repeated_by_itself(api, tmp_path, delivered):
    fault = api.hang("sendMessage", deliver=delivered, chat_id=GROUP)
    async with serving(tmp_path, api, CountingAgent(answer=echo), call_s=0.4) as gateway:
        ask(api, "question 0")
        await fault.reached()
        await gateway.settled()
        assert states(tmp_path)[0] == "unknown"
        (report,) = api.texts(INTERNAL)
        assert report == Words("en").say(Notice.UNCLEAR_SEND, part=1)
        fault.cut()
        ask(api, "question 1")
        await gateway.settled()
    async with serving(tmp_path, api) as gateway:
        await gateway.settled()
    assert states(tmp_path)[0] == "unknown"
    assert api.texts(GROUP) == (["answer 0", "answer 1"] if delivered else ["answer 1"])
    assert len([call for call in api.calls if call.text == "answer 0"]) == 1


@rule("DUR-2")
async def test_a_send_that_was_under_way_at_the_end_of_the_process_is_parked_and_told_at_the_next_start(api, tmp_path):
    fault = api.hang("sendMessage", deliver=True, chat_id=GROUP)
    async with serving(tmp_path, api, CountingAgent(answer=echo)) as gateway:
        ask(api, "question 0")
        ask(api, "question 1")
        await fault.reached()
        await until(lambda: len(states(tmp_path)) == 2)
        await gateway.daemon.close(grace_s=0.1)
    fault.cut()
    async with serving(tmp_path, api) as gateway:
        await gateway.settled()
    assert api.texts(GROUP) == ["answer 0", "answer 1"]
    assert states(tmp_path)[:2] == ["unknown", "delivered"]
    assert len(api.texts(INTERNAL)) == 1


@rule("DUR-2")
async def test_where_the_policy_says_so_an_unclear_send_is_sent_again(api, tmp_path):
    policy = POLICY.replace("audience: external}", "audience: external, unclear_sends: resend}")
    api.drop("sendMessage", deliver=True, chat_id=GROUP)
    async with serving(tmp_path, api, policy=policy) as gateway:
        ask(api, "hello")
        await gateway.settled()
    assert api.texts(GROUP) == ["ok", "ok"]
    assert states(tmp_path) == ["delivered"]


@rule("DUR-1")
async def test_what_waits_for_a_group_that_moved_goes_to_its_new_id_in_order(api, tmp_path):
    old, new = -41000001, -1001000000077
    api.chat(old, type="group", title="Small")
    policy = POLICY + f'  "telegram:{BOT_ID}:{old}": {{audience: external}}\n'
    fault = api.hang("sendMessage", deliver=False, chat_id=old)
    async with serving(tmp_path, api, CountingAgent(answer=echo), policy=policy) as gateway:
        ask(api, "question 0", chat=old)
        await fault.reached()
        for number in range(1, 4):
            ask(api, f"question {number}", chat=old)
        await until(lambda: len(states(tmp_path)) == 4)
        api.migrate(old, new)
        fault.release()
        await gateway.settled()
        assert api.texts(new) == [f"answer {number}" for number in range(4)]


@rule("OUT-3")
async def test_outsiders_get_the_answer_and_never_what_is_said_on_the_way(api, tmp_path):
    agent = saying(Progress(text="looking"), Operational(text="cache is cold"), Final(text="done"))
    async with serving(tmp_path, api, agent, policy=SHOWING) as gateway:
        ask(api, "hello")
        ask(api, "hello", chat=BOB)
        await gateway.settled()
        assert api.texts(GROUP) == ["done"]
        assert api.texts(BOB) == ["done"]
        ask(api, "hello", chat=INTERNAL)
        ask(api, "hello", chat=ANN, sender=ANN)
        await gateway.settled()
        assert api.texts(INTERNAL) == ["looking", "cache is cold", "done"]
        assert api.texts(ANN) == ["looking", "cache is cold", "done"]


@rule("OUT-3")
async def test_an_internal_channel_gets_progress_only_where_the_policy_shows_it(api, tmp_path):
    agent = saying(Progress(text="looking"), Operational(text="cache is cold"), Final(text="done"))
    async with serving(tmp_path, api, agent) as gateway:
        ask(api, "hello", chat=INTERNAL)
        await gateway.settled()
    assert api.texts(INTERNAL) == ["cache is cold", "done"]


@rule("OUT-7", "OUT-8")
async def test_an_agent_that_breaks_down_yields_one_plain_sentence_in_the_persons_language_and_a_report_inside(
    api, tmp_path
):
    agent = saying(RuntimeError("no route to /srv/agent, key sk-1234567890abcdef"))
    async with serving(tmp_path, api, agent) as gateway:
        ask(api, "hallo", sender=HANS)
        await gateway.settled()
    assert api.texts(GROUP) == [Words("de").say(Failure.UNAVAILABLE)]
    assert len(api.texts(INTERNAL)) == 1
    said = " ".join(call.text for call in api.calls)
    assert "route" not in said
    assert "sk-" not in said


@rule("OUT-7")
async def test_an_attachment_that_can_not_be_had_is_answered_with_the_smallest_useful_request(api, tmp_path):
    api.fail("getFile", 400, "Bad Request: wrong file_id", times=None)
    async with serving(tmp_path, api) as gateway:
        ask(api, "read this", document=api.file(b"words", name="a.txt"))
        await gateway.quiet()
    assert api.texts(GROUP) == [Words("en").say(Failure.ATTACHMENT_UNREADABLE)]


@rule("OUT-8")
async def test_without_a_verified_internal_channel_a_report_goes_nowhere(api, tmp_path):
    policy = POLICY.replace(", reports: true", "")
    async with serving(tmp_path, api, saying(RuntimeError("broken")), policy=policy) as gateway:
        ask(api, "hello")
        await gateway.settled()
    assert [call.chat_id for call in gateway.person_calls] == [GROUP]
    assert api.texts(GROUP) == [Words("en").say(Failure.UNAVAILABLE)]


@rule("OUT-1", "OUT-2", "OUT-5")
async def test_the_door_looks_again_before_each_send_by_the_policy_of_that_moment(api, tmp_path):
    inside = "audience: internal, reports: true"
    policy = POLICY.replace("{audience: external}", "{audience: internal}")
    fault = api.hang("sendMessage", deliver=True, chat_id=GROUP, match_text="first")
    agent = saying(Operational(text="first fact"), Operational(text="second fact"), Final(text="done"))
    async with serving(tmp_path, api, agent, policy=policy) as gateway:
        ask(api, "hello")
        await fault.reached()
        await until(lambda: len(states(tmp_path)) == 3)
        assert inside in policy
        (tmp_path / "policy.yaml").write_text(POLICY)
        gateway.daemon.crew.policy.poke()
        await api.wait_sent(INTERNAL)
        fault.release()
        await gateway.settled()
    assert api.texts(GROUP) == ["first fact"], "the answer was written for trusted readers, and others read along now"
    parts = [(row.state, row.code) for row in ledger.parts(tmp_path) if row.channel == str(GROUP)]
    assert parts == [("delivered", "delivered"), ("skipped", "audience"), ("skipped", "readers_changed")]


@rule("OUT-1")
async def test_every_call_that_reaches_a_person_has_spent_a_clearance_of_its_own(api, tmp_path, monkeypatch):
    api.chat(GROUP, is_forum=True)
    policy = POLICY.replace("{audience: external}", "{audience: external, streaming: edit}")
    picture = OutFile(name="a.txt", media_type="text/plain", content=b"words")
    card = Card(buttons=(Button(label="Yes", value="yes"),))
    agent = saying(Fragment(text="gr"), Final(text="grown " * 900, files=(picture,), card=card))
    async with serving(tmp_path, api, agent, policy=policy) as gateway:
        spent = []
        deliver = gateway.channel.deliver

        async def watched(part, clearance, *turn):
            spent.append((part.digest, id(clearance)))
            return await deliver(part, clearance, *turn)

        monkeypatch.setattr(gateway.channel, "deliver", watched)
        ask(api, "hello")
        await gateway.settled()
        api.press(chat=GROUP, sender=BOB, button="Yes")
        agent.gate = asyncio.Event()
        await api.wait_call("sendChatAction")
        agent.gate.set()
        await gateway.settled()
        reached = [call.method for call in gateway.person_calls]
    assert {"sendMessage", "editMessageText", "sendDocument", "answerCallbackQuery", "sendChatAction"} <= set(reached)
    assert len(spent) == len(reached)


async def test_an_answer_in_which_nothing_can_be_seen_is_skipped_and_blocks_nothing(api, tmp_path):
    agent = CountingAgent(answer=lambda request: [Final(text="\u200b\u2063 " if "0" in request.text else "seen")])
    async with serving(tmp_path, api, agent) as gateway:
        ask(api, "question 0")
        ask(api, "question 1")
        await gateway.settled()
    assert api.texts(GROUP) == ["seen"]
    assert [result for _, result in ledger.select(tmp_path, "SELECT id, result FROM inbox ORDER BY id")] == [
        "silent",
        "answered",
    ]
    assert api.texts(INTERNAL) == []


async def test_files_are_fetched_for_the_agent_and_its_own_files_are_sent_with_their_words(api, tmp_path):
    files = (
        OutFile(name="one.png", media_type="image/png", content=b"picture one"),
        OutFile(name="two.png", media_type="image/png", content=b"picture two"),
        OutFile(name="plan.pdf", media_type="application/pdf", content=b"%PDF plan"),
    )
    agent = saying(Final(text="here they are", files=files))
    async with serving(tmp_path, api, agent) as gateway:
        ask(api, "compare", document=api.file(b"the old plan", name="old.pdf", mime="application/pdf"))
        await gateway.quiet()
    assert agent.files == [b"the old plan"]
    assert [call.method for call in api.calls if call.method.startswith("send")] == ["sendMediaGroup", "sendDocument"]
    assert api.texts(GROUP)[0] == "here they are"
    sent = [upload.content for call in api.calls for upload in call.files.values()]
    assert sent == [file.content for file in files]


async def test_in_a_private_chat_an_answer_grows_as_a_draft_and_ends_as_one_message(api, tmp_path):
    policy = POLICY.replace("direct: {strangers: allow}", "direct: {strangers: allow, streaming: draft}")
    agent = saying(Fragment(text="It is"), Final(text="It is noon."))
    async with serving(tmp_path, api, agent, policy=policy) as gateway:
        ask(api, "what time is it?", chat=BOB)
        await gateway.settled()
    assert [(call.method, call.text) for call in gateway.person_calls] == [
        ("sendMessageDraft", "It is"),
        ("sendMessage", "It is noon."),
    ]
    assert api.texts(BOB) == ["It is noon."]


async def test_in_a_group_an_answer_grows_by_edits_of_one_message(api, tmp_path):
    policy = POLICY.replace("{audience: external}", "{audience: external, streaming: edit}")
    agent = saying(Fragment(text="It is"), Final(text="It is noon."))
    async with serving(tmp_path, api, agent, policy=policy) as gateway:
        ask(api, "what time is it?")
        await gateway.settled()
    assert [(call.method, call.text) for call in gateway.person_calls] == [
        ("sendMessage", "It is"),
        ("editMessageText", "It is noon."),
    ]
    assert api.texts(GROUP) == ["It is noon."]


@rule("OUT-3")
async def test_typing_shows_only_after_consent_and_only_where_the_agent_takes_its_time(api, tmp_path):
    agent = saying(Final(text="ok"), gate=asyncio.Event())
    async with serving(tmp_path, api, agent) as gateway:
        api.say(chat=GROUP, sender=BOB, text="good morning")
        await gateway.settled()
        assert gateway.person_calls == []
        ask(api, "hello", chat=BOB)
        sign = await api.wait_call("sendChatAction")
        assert sign.chat_id == BOB
        agent.gate.set()
        await gateway.settled()
        ask(api, "and now?", chat=BOB)
        await gateway.settled()
    assert len(api.calls_of("sendChatAction")) == 1
    assert api.texts(BOB) == ["ok", "ok"]


@rule("OUT-1")
async def test_a_tap_brings_the_agent_what_its_button_stands_for_and_a_forged_one_is_told_so_privately(api, tmp_path):
    card = Card(title="A table", buttons=(Button(label="19:00", value="table:19:00"), Button(label="20:00", value="x")))
    agent = CountingAgent(
        answer=lambda request: [Final(text=f"chosen {request.tap}") if request.tap else Final(text="When?", card=card)]
    )
    async with serving(tmp_path, api, agent) as gateway:
        ask(api, "a table please")
        await gateway.settled()
        message = api.sent(GROUP)[0]
        assert "table:19:00" not in str(message), "what a button stands for never leaves"
        forged = api.press(chat=GROUP, sender=BOB, message_id=message["message_id"], data="table:19:00", force=True)
        await gateway.settled()
        assert len(agent.requests) == 1
        assert api.toasts[forged]["text"] == Words("en").say(Notice.TAP_STALE)
        honest = api.press(chat=GROUP, sender=BOB, button="19:00")
        await gateway.settled()
    assert [request.tap for request in agent.requests] == [None, "table:19:00"]
    assert api.texts(GROUP)[1:] == ["chosen table:19:00"]
    assert not api.toasts[honest].get("text")
    assert api.unanswered == []


@rule("OUT-5")
async def test_an_answer_stands_in_the_topic_of_its_request_and_as_a_reply_to_it(api, tmp_path):
    api.chat(GROUP, is_forum=True)
    topic = api.topic(GROUP, "Deploys", creator=ANN)
    async with serving(tmp_path, api) as gateway:
        inside = ask(api, "hello", thread=topic)
        outside = ask(api, "hello")
        await gateway.settled()
    calls = api.calls_of("sendMessage")
    assert [call.params.get("message_thread_id") for call in calls] == [topic, None]
    assert [call.params["reply_parameters"]["message_id"] for call in calls] == [
        inside["message_id"],
        outside["message_id"],
    ]
    assert [message["text"] for message in api.sent(GROUP, thread=topic)] == ["ok"]


@rule("OUT-2")
async def test_a_long_answer_leaves_in_parts_that_fit_and_join_to_what_was_said(api, tmp_path):
    words = " ".join(f"word{number}😀" for number in range(1500))
    async with serving(tmp_path, api, saying(Final(text=words))) as gateway:
        ask(api, "tell me everything")
        await gateway.settled()
    parts = [call.text for call in api.calls_of("sendMessage")]
    assert len(parts) > 2
    assert all(len(part.encode("utf-16-le")) <= 2 * 4096 for part in parts)
    assert "".join(parts) == words
    assert set(states(tmp_path)) == {"delivered"}
