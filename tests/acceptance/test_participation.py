"""Who may start the agent, on a running gateway: updates go in at the platform, and the platform tells what came out."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from bot.model.output import Final, Progress, Silence
from tests.harness import ANN, BOB, BOT_ID, GROUP, INTERNAL, MALLORY, POLICY, Clock, CountingAgent, running

rule = pytest.mark.rule
STRANGE = -1001000000009
ROBOT = {"id": 7002, "is_bot": True, "first_name": "Other", "username": "other_bot"}


def assert_silent(gateway):
    """Nothing but intake reached the platform, nothing ran, nothing was fetched."""
    assert gateway.person_calls == []
    assert gateway.agent.requests == []
    assert gateway.agent.files == []


async def say(gateway, **words):
    message = gateway.api.say(**words)
    await gateway.settled()
    return message


@rule("PART-1", "PART-13", "PART-14")
async def test_a_mention_a_directed_command_and_a_reply_are_answered_and_nothing_else_is(gateway):
    api = gateway.api
    await say(gateway, chat=GROUP, sender=BOB, text="good morning")
    await say(gateway, chat=GROUP, sender=BOB, text="desk_bot, are you there?")
    await say(gateway, chat=GROUP, sender=BOB, text="/status")
    assert_silent(gateway)
    await say(gateway, chat=GROUP, sender=BOB, text="@desk_bot what are your hours?")
    await say(gateway, chat=GROUP, sender=BOB, text="/status@desk_bot")
    answer = api.sent(GROUP)[0]
    await say(gateway, chat=GROUP, sender=BOB, text="and on Sunday?", reply_to=answer["message_id"])
    assert api.texts(GROUP) == ["ok", "ok", "ok"]
    await say(gateway, chat=GROUP, sender=BOB, text="thanks all")
    assert len(gateway.agent.requests) == 3, "an earlier answer is no consent"


@rule("PART-2")
async def test_what_is_directed_at_another_person_is_theirs(gateway):
    api = gateway.api
    await say(gateway, chat=GROUP, sender=BOB, text="@desk_bot hello")
    ours = api.sent(GROUP)[0]["message_id"]
    theirs = await say(gateway, chat=GROUP, sender=ANN, text="the cache is stale")
    await say(gateway, chat=GROUP, sender=BOB, text="agreed", reply_to=theirs["message_id"])
    await say(gateway, chat=GROUP, sender=BOB, text="@maria can you look?", reply_to=ours)
    await say(gateway, chat=GROUP, sender=MALLORY, text="Jordan, can you confirm?", reply_to=ours)
    assert len(gateway.agent.requests) == 1
    await say(gateway, chat=GROUP, sender=BOB, text="@maria and @desk_bot: compare notes")
    assert len(gateway.agent.requests) == 2


@rule("PART-3")
async def test_files_alone_give_no_consent_in_a_group_and_are_not_fetched(gateway):
    pictures = [gateway.api.file(b"picture", name=f"{n}.jpg", mime="image/jpeg") for n in range(2)]
    gateway.api.album(chat=GROUP, sender=BOB, items=pictures)
    photo = gateway.api.file(b"picture", name="a.pdf", mime="application/pdf")
    await say(gateway, chat=GROUP, sender=BOB, document=photo)
    await gateway.quiet()
    assert_silent(gateway)


@rule("PART-4", "IDENT-3")
async def test_a_direct_chat_with_a_person_is_a_request_and_with_a_bot_is_none(gateway):
    await say(gateway, chat=MALLORY, sender=MALLORY, text="hello there")
    assert gateway.agent.requests[0].audience.value == "external"
    await say(gateway, chat=ANN, sender=ANN, text="hello")
    assert gateway.agent.requests[1].audience.value == "operator"
    await say(gateway, chat=ROBOT["id"], sender=ROBOT, text="ping")
    assert len(gateway.agent.requests) == 2


@rule("PART-5")
async def test_another_bot_is_heard_only_where_and_as_long_as_an_operator_asked_for_it(api, tmp_path):
    until = (datetime.now(UTC) + timedelta(hours=1)).isoformat(timespec="seconds")
    request = f'bot_requests:\n  - {{bot: "telegram:7002", channel: "telegram:{BOT_ID}:{GROUP}", requested_by: ann, until: "{until}"}}\n'
    async with running(tmp_path, api=api, policy=POLICY + request) as gateway:
        await say(gateway, chat=INTERNAL, sender=ROBOT, text="@desk_bot disk is full")
        await say(gateway, chat=GROUP, sender=ROBOT, text="disk is full")
        assert_silent(gateway)
        await say(gateway, chat=GROUP, sender=ROBOT, text="@desk_bot disk is full")
        assert len(gateway.agent.requests) == 1
        gateway.api.push({"message": gateway.api.sent(GROUP)[0] | {"text": "@desk_bot ok"}})
        await gateway.settled()
        assert len(gateway.agent.requests) == 1, "the bot's own messages are no events"


@rule("PART-6", "PART-7")
async def test_open_questions_and_operators_are_answered_only_where_a_trusted_channel_says_so(api, tmp_path):
    extra = POLICY.replace("audience: internal, reports: true", "audience: internal, answer_operators: true")
    async with running(tmp_path, api=api, policy=extra) as gateway:
        await say(gateway, chat=INTERNAL, sender=BOB, text="how is the build?")
        await say(gateway, chat=GROUP, sender=ANN, text="how is the build?")
        assert_silent(gateway)
        await say(gateway, chat=INTERNAL, sender=ANN, text="how is the build?")
        assert [request.person for request in gateway.agent.requests] == ["ann"]
    open_policy = POLICY.replace("audience: internal, reports: true", "audience: internal, require_mention: false")
    async with running(tmp_path, api=api, policy=open_policy) as gateway:
        await say(gateway, chat=INTERNAL, sender=BOB, text="how is the build?")
        await say(gateway, chat=GROUP, sender=BOB, text="how is the build?")
        assert [str(request.destination) for request in gateway.agent.requests] == [f"telegram:{BOT_ID}:{INTERNAL}"]


@rule("PART-8")
async def test_an_album_is_one_request_with_all_its_files_after_it_is_quiet(gateway):
    api = gateway.api
    one, two, three = (api.file(b"picture %d" % n, name=f"{n}.jpg", mime="image/jpeg") for n in range(3))
    after = "after, @desk_bot compare"
    api.album(chat=GROUP, sender=BOB, items=[one, {"photo": two, "text": "before"}, {"photo": three, "text": after}])
    await gateway.settled()
    assert gateway.agent.requests == [], "a part is never judged alone"
    await gateway.quiet()
    (request,) = gateway.agent.requests
    assert request.text == "before\nafter, @desk_bot compare"
    assert len(gateway.agent.files) == 3
    assert api.texts(GROUP) == ["ok"]


@rule("PART-8")
async def test_stop_needs_no_model_and_is_not_queued_behind_it(api, tmp_path):
    agent = CountingAgent(gate=asyncio.Event())
    async with running(tmp_path, api=api, agent=agent) as gateway:
        api.say(chat=GROUP, sender=BOB, text="@desk_bot long work")
        async with asyncio.timeout(10):
            await agent.started.wait()
        api.say(chat=GROUP, sender=BOB, text="/stop@desk_bot")
        await gateway.settled()
        assert len(agent.requests) == 1
        assert len(api.sent(GROUP)) == 1
        assert "ok" not in api.texts(GROUP)


OBSERVED = POLICY.replace(
    "{audience: external}",
    "{audience: external, observe_unmentioned_group_messages: true, observation: {retention: 1h, readers: [main]}}",
)


@rule("PART-9")
async def test_observed_words_are_context_for_their_readers_and_trigger_nothing(api, tmp_path):
    async with running(tmp_path, api=api, policy=OBSERVED) as gateway:
        await say(gateway, chat=GROUP, sender=BOB, text="the meeting moved to noon")
        assert_silent(gateway)
        await say(gateway, chat=GROUP, sender=ANN, text="@desk_bot when is the meeting?")
        observed = [item for item in gateway.agent.requests[0].context if item.kind == "observed"]
        assert [item.text for item in observed] == ["the meeting moved to noon"]
        await say(gateway, chat=INTERNAL, sender=ANN, text="@desk_bot when is the meeting?")
        assert [item for item in gateway.agent.requests[1].context if item.kind == "observed"] == []


@rule("PART-9")
async def test_words_that_were_edited_away_are_no_context_any_more(api, tmp_path):
    async with running(tmp_path, api=api, policy=OBSERVED) as gateway:
        for edited in ("nothing", "@desk_bot see below"):
            message = await say(gateway, chat=GROUP, sender=BOB, text="the password is walrus")
            api.edit(chat=GROUP, message_id=message["message_id"], text=edited)
            await gateway.settled()
        await say(gateway, chat=GROUP, sender=ANN, text="@desk_bot what was said?")
        context = " ".join(item.text for request in gateway.agent.requests for item in request.context)
        assert "nothing" in context
        assert "walrus" not in context


@rule("PART-9", "DUR-5")
async def test_the_words_of_a_muted_message_are_gone_from_the_store_with_its_decision(api, tmp_path):
    async with running(tmp_path, api=api) as gateway:
        await say(gateway, chat=GROUP, sender=BOB, text="a secret about walruses")
        await say(gateway, chat=GROUP, sender=BOB, text="@desk_bot hello, penguins")
    kept = b"".join(path.read_bytes() for path in tmp_path.glob("discreet.db*"))
    assert b"walruses" not in kept
    assert b"penguins" in kept, "the words of a request are kept for a time"


@rule("PART-10")
async def test_a_wordless_run_is_acknowledged_in_an_internal_channel_only(api, tmp_path):
    policy = POLICY.replace("audience: internal, reports: true", "audience: internal, never_silent_ack: true")
    agent = CountingAgent(answer=lambda _request: [Silence()])
    async with running(tmp_path, api=api, policy=policy, agent=agent) as gateway:
        await say(gateway, chat=GROUP, sender=BOB, text="@desk_bot noted?")
        assert api.sent(GROUP) == []
        await say(gateway, chat=INTERNAL, sender=BOB, text="@desk_bot noted?")
        assert len(api.sent(INTERNAL)) == 1


@rule("PART-11")
async def test_an_edit_that_adds_a_mention_is_a_request_and_an_edit_of_an_answered_one_is_none(gateway):
    api = gateway.api
    message = await say(gateway, chat=GROUP, sender=BOB, text="what are your hours?")
    api.edit(chat=GROUP, message_id=message["message_id"], text="@desk_bot what are your hours?")
    await gateway.settled()
    assert len(gateway.agent.requests) == 1
    api.edit(chat=GROUP, message_id=message["message_id"], text="@desk_bot what are your hours on Sunday?")
    api.edit(chat=GROUP, message_id=message["message_id"])
    await gateway.settled()
    assert len(gateway.agent.requests) == 1
    assert gateway.reasons(message["message_id"])[-1] == "edit_of_seen_message"


@rule("PART-12")
async def test_what_came_while_the_daemon_was_down_is_answered_if_it_is_young_enough(api, tmp_path):
    now = datetime.now(UTC)
    before, old, young = (
        int((now - timedelta(**ago)).timestamp()) for ago in ({"days": 3}, {"hours": 2}, {"minutes": 5})
    )
    for date, text in ((before, "@desk_bot first"), (old, "@desk_bot second"), (young, "@desk_bot third")):
        api.say(chat=GROUP, sender=BOB, text=text, date=date)
    async with running(tmp_path, api=api, first_start=now - timedelta(days=1)) as gateway:
        await gateway.settled()
        assert [request.text for request in gateway.agent.requests] == ["@desk_bot third"]


@rule("PART-12")
async def test_nothing_from_before_the_very_first_start_is_answered(api, tmp_path):
    api.say(chat=GROUP, sender=BOB, text="@desk_bot hello", date=int(datetime.now(UTC).timestamp()) - 60)
    async with running(tmp_path, api=api, first_start=datetime.now(UTC)) as gateway:
        await gateway.settled()
        assert_silent(gateway)


@rule("PART-14")
async def test_while_the_bot_does_not_know_its_own_name_the_gate_is_shut_and_opens_later(api, tmp_path):
    fault = api.fail("getMe", 500, times=None)
    async with running(tmp_path, api=api, identified=False) as gateway:
        message = await say(gateway, chat=GROUP, sender=BOB, text="@desk_bot hello")
        assert_silent(gateway)
        assert gateway.reasons(message["message_id"]) == ["identity_unknown"]
        fault.cancel()
        await api.wait_sent(GROUP)
        await gateway.settled()
        assert gateway.reasons(message["message_id"]) == ["identity_unknown", "explicit_mention"]


@rule("PART-15")
async def test_what_only_looks_like_a_reply_is_none(gateway):
    api = gateway.api
    api.chat(GROUP, is_forum=True)
    topic = api.topic(GROUP, "Deploys", creator=BOT_ID)
    await say(gateway, chat=GROUP, sender=BOB, text="shipping at noon", thread=topic)
    own = {"id": BOT_ID, "is_bot": True, "first_name": "Agent", "username": "desk_bot"}
    origin = {"type": "user", "date": 1789999100, "sender_user": own}
    await say(
        gateway, chat=GROUP, sender=BOB, text="what is this?", external_reply={"origin": origin, "message_id": 88}
    )
    channel = {"id": -1001000000777, "type": "channel", "title": "News"}
    await say(gateway, chat=GROUP, sender=777000, text="ask @desk_bot", sender_chat=channel, is_automatic_forward=True)
    assert_silent(gateway)


@rule("PART-16")
async def test_what_only_looks_like_a_private_chat_is_none_and_an_anonymous_admin_is_no_operator(gateway):
    api = gateway.api
    user = {"id": MALLORY, "is_bot": False, "first_name": "Mallory"}
    chat = {"id": MALLORY, "type": "private", "first_name": "Mallory"}
    now = int(datetime.now(UTC).timestamp())
    business = {"message_id": 1, "from": user, "chat": chat, "date": now, "text": "hi", "business_connection_id": "b"}
    api.account.updates.allow(["business_message", "channel_post", "message"])
    api.push({"business_message": business})
    news = {"id": -1001000000777, "type": "channel", "title": "News"}
    api.push(
        {"channel_post": {"message_id": 1, "chat": news, "sender_chat": news, "date": now, "text": "@desk_bot hi"}}
    )
    await gateway.settled()
    assert_silent(gateway)
    anonymous = {"id": 1087968824, "is_bot": True, "first_name": "Group", "username": "GroupAnonymousBot"}
    group = {"id": GROUP, "type": "supergroup", "title": "Customer"}
    await say(gateway, chat=GROUP, sender=anonymous, text="@desk_bot lock the chat", sender_chat=group)
    (request,) = gateway.agent.requests
    assert (request.person, request.audience.value) == (None, "external")


@rule("PART-17")
async def test_a_poisonous_update_is_set_aside_and_blocks_nothing(gateway):
    api = gateway.api
    api.push({"message": {"message_id": "x", "chat": {"id": GROUP}}})
    api.push({"message": 5})
    api.push({"something_new": {"a": 1}})
    await say(gateway, chat=GROUP, sender=BOB, text="@desk_bot hello")
    assert api.texts(GROUP) == ["ok"]
    assert api.pending == []


@rule("IDENT-1")
async def test_names_and_titles_are_never_identity(gateway):
    gateway.api.chat(GROUP, title="desk_bot admins (trusted, no mention needed)")
    liar = {"id": MALLORY, "is_bot": False, "first_name": "Ann ✅ operator", "username": "ann"}
    await say(gateway, chat=GROUP, sender=liar, text="restart now")
    assert_silent(gateway)
    await say(gateway, chat=MALLORY, sender=liar, text="restart now")
    assert gateway.agent.requests[0].audience.value == "external"


@rule("IDENT-2", "IDENT-5")
async def test_a_channel_that_is_not_listed_is_muted_even_when_it_mentions_the_bot(api, tmp_path):
    async with running(tmp_path, api=api) as gateway:
        await say(gateway, chat=STRANGE, sender=ANN, text="@desk_bot hello")
        assert_silent(gateway)
    answering = POLICY + "unknown_channels: {explicit_requests: answer}\n"
    agent = CountingAgent(answer=lambda _request: [Progress(text="working"), Final(text="ok")])
    async with running(tmp_path, api=api, policy=answering, agent=agent) as gateway:
        await say(gateway, chat=STRANGE, sender=ANN, text="hello")
        assert_silent(gateway)
        await say(gateway, chat=STRANGE, sender=ANN, text="@desk_bot hello")
        assert api.texts(STRANGE) == ["ok"], "external limits: no progress"


@rule("IDENT-5")
async def test_a_denied_person_is_muted_in_a_group_and_in_a_direct_chat(api, tmp_path):
    policy = POLICY.replace("names: [Bob, Jordan]", "names: [Bob, Jordan], access: deny")
    async with running(tmp_path, api=api, policy=policy) as gateway:
        await say(gateway, chat=GROUP, sender=BOB, text="@desk_bot hello")
        await say(gateway, chat=BOB, sender=BOB, text="hello")
        assert_silent(gateway)


@rule("IDENT-4")
async def test_a_group_that_becomes_a_supergroup_is_unknown_until_an_operator_lists_the_new_id(api, tmp_path):
    old, new = -41000001, -1001000000077
    api.chat(old, type="group", title="Small")
    policy = POLICY + f'  "telegram:{BOT_ID}:{old}": {{audience: internal}}\n'
    async with running(tmp_path, api=api, policy=policy) as gateway:
        await say(gateway, chat=old, sender=BOB, text="@desk_bot hello")
        assert api.texts(old) == ["ok"]
        api.migrate(old, new)
        await say(gateway, chat=new, sender=BOB, text="@desk_bot still here?")
        assert len(gateway.agent.requests) == 1
        assert api.sent(new) == []
        assert len(api.sent(INTERNAL)) == 1, "operators are told"
        (gateway.folder / "policy.yaml").write_text(policy.replace(str(old), str(new)))
        gateway.daemon.crew.policy.poke()
        await api.wait_sent(INTERNAL, 2)
        await say(gateway, chat=new, sender=BOB, text="@desk_bot and now?")
        assert gateway.agent.requests[-1].audience.value == "internal"


@rule("PART-1")
async def test_too_many_requests_a_minute_are_muted(api, tmp_path):
    policy = POLICY.replace("defaults:", "defaults:\n  rate: {person: 2, channel: 60}")
    async with running(tmp_path, api=api, policy=policy) as gateway:
        for _ in range(4):
            await say(gateway, chat=GROUP, sender=BOB, text="@desk_bot hello")
        assert len(gateway.agent.requests) == 2


@rule("PART-12")
async def test_the_clock_of_the_platform_may_be_ahead(api, tmp_path):
    async with running(tmp_path, api=api, clock=Clock(datetime.now(UTC) - timedelta(minutes=2))) as gateway:
        await say(gateway, chat=GROUP, sender=BOB, text="@desk_bot hello")
        assert api.texts(GROUP) == ["ok"]
