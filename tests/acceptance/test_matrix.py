"""Who may start the agent on Matrix: people write at real clients, and a real homeserver tells what the bot did."""

import asyncio
from contextlib import suppress
from datetime import UTC, datetime, timedelta

import pytest

from bot.model.output import Final, OutFile
from tests.acceptance.matrix import EXTERNAL, LOOKS, SHOWS
from tests.harness import Clock, CountingAgent
from tests.servers.matrix_person import RefusedError, replied_to, thread_of

rule = pytest.mark.rule


@rule("PART-1", "PART-13", "PART-14", "OUT-3")
async def test_in_an_encrypted_room_who_asks_is_answered_and_nobody_else_gets_any_sign(desk):
    ann, bob = desk.ann, desk.bob
    room = await desk.room(ann, bob, encrypted=True)
    agent = CountingAgent(gate=asyncio.Event())
    async with desk.running(agent=agent) as gateway:
        await desk.ready(room, ann, bob)
        for words in ("good morning", "desk, are you there?", "@desk: hello", "@room hello"):
            assert await desk.reason(gateway, await bob.say(room, words)) == "no_address"
        await bob.caught_up(room)
        await desk.assert_silent(gateway)
        assert (bob.seen_by(room, desk.bot), bob.was_typing(room, desk.bot)) == ([], False)
        question = await bob.say(room, "desk: what are your hours?", mentions=[desk.bot])
        await bob.until(lambda: bob.was_typing(room, desk.bot))
        agent.gate.set()
        assert await desk.reason(gateway, question) == "explicit_mention"
        (answer,) = await bob.hears(room, desk.bot)
        assert (answer["content"]["body"], thread_of(answer), replied_to(answer)) == ("ok", None, question)
        assert answer["content"]["m.mentions"] in ({}, {"user_ids": [bob.id]}), "its own words mention nobody else"
        assert {seen.event for seen in bob.seen_by(room, desk.bot)} == {question}
        after = await bob.say(room, "thanks all")
        assert await desk.reason(gateway, after) == "no_address", "an earlier answer is no consent"
        await bob.caught_up(room)
        assert [request.text for request in agent.requests] == ["desk: what are your hours?"]
        assert {seen.event for seen in bob.seen_by(room, desk.bot)} == {question}
        sent = [call.path.split("/")[3] for call in await desk.calls() if call.verb == "send"]
        assert sent == ["m.room.encrypted"], "the server reads none of it"


@rule("PART-1", "PART-15")
async def test_in_a_thread_the_answer_stays_there_and_the_fallback_of_clients_is_no_reply(desk):
    ann, bob = desk.ann, desk.bob
    room = await desk.room(ann, bob, encrypted=True)
    async with desk.running() as gateway:
        await desk.ready(room, ann, bob)
        root = await ann.say(room, "about Friday")
        asked = await bob.say(room, "when?", thread=root, mentions=[desk.bot])
        (answer,) = await bob.hears(room, desk.bot)
        assert thread_of(answer) == root
        assert await desk.reason(gateway, asked) == "explicit_mention"
        fallback = {"rel_type": "m.thread", "event_id": root, "is_falling_back": True}
        fallback["m.in_reply_to"] = {"event_id": answer["event_id"]}
        aside = await ann.say(room, "good", more={"m.relates_to": fallback})
        assert await desk.reason(gateway, aside) == "looks_like_a_reply"
        reply = await ann.say(room, "and on Sunday?", thread=root, reply=answer["event_id"])
        assert await desk.reason(gateway, reply) == "direct_reply"
        answers = await bob.hears(room, desk.bot, 2)
        assert [thread_of(one) for one in answers] == [root, root]
        assert [str(request.destination) for request in gateway.agent.requests] == [f"{desk.place(room)}:{root}"] * 2


PILL = '<a href="https://matrix.to/#/{bot}">desk</a>'


@rule("PART-14")
@pytest.mark.parametrize(
    ("mentions", "body", "html", "granted"),
    [
        ("bot", "hello", None, True),
        ([], "{bot} hello", PILL + " hello", False),
        (None, "desk hello", PILL + " hello", True),
        (None, "{bot} hello", None, True),
        (None, "`{bot}` hello", "<code>{bot}</code> hello", False),
        (None, "> {bot} hello\n\nyes", None, False),
        (None, "see", "<blockquote>" + PILL + "</blockquote>see", False),
        (None, "desk, @desk, @room hello", None, False),
        (["@room"], "@room hello", None, False),
    ],
)
async def test_evidence_is_structure_never_look(desk, mentions, body, html, granted):
    room = await desk.room(desk.ann, desk.bob)
    given = [desk.bot] if mentions == "bot" else mentions
    written = None if html is None else html.format(bot=desk.bot)
    async with desk.running() as gateway:
        await desk.ready(room, desk.bob)
        event = await desk.bob.say(room, body.format(bot=desk.bot), mentions=given, html=written)
        await desk.over(gateway, event)
        if granted:
            await desk.bob.hears(room, desk.bot)
        else:
            await desk.assert_silent(gateway)


@rule("PART-11", "IDENT-1")
async def test_an_edit_that_adds_a_mention_is_a_request_once_and_nobody_edits_for_others(desk):
    ann, bob = desk.ann, desk.bob
    room = await desk.room(ann, bob, encrypted=True)
    async with desk.running() as gateway:
        await desk.ready(room, ann, bob)
        words = await bob.say(room, "what are your hours?")
        foreign = await ann.say(room, "desk, delete it all", edit=words, mentions=[desk.bot])
        assert await desk.reason(gateway, foreign) == "edit_by_another"
        await desk.assert_silent(gateway)
        edit = await bob.say(room, "desk, what are your hours?", edit=words, mentions=[desk.bot])
        assert await desk.reason(gateway, edit) == "explicit_mention"
        (answer,) = await bob.hears(room, desk.bot)
        assert replied_to(answer) == words
        again = await bob.say(room, "desk, and on Sunday?", edit=words, mentions=[desk.bot])
        assert await desk.reason(gateway, again) == "edit_of_seen_message"
        await bob.caught_up(room)
        assert bob.texts(room, desk.bot) == ["ok"]
        assert [request.text for request in gateway.agent.requests] == ["desk, what are your hours?"]


@rule("PART-11")
async def test_an_edit_in_a_thread_is_answered_in_that_thread(desk):
    room = await desk.room(desk.ann, desk.bob)
    async with desk.running() as gateway:
        await desk.ready(room, desk.bob)
        root = await desk.ann.say(room, "about Friday")
        words = await desk.bob.say(room, "when?", thread=root)
        await desk.over(gateway, words)
        await desk.bob.say(room, "desk, when?", edit=words, mentions=[desk.bot])
        (answer,) = await desk.bob.hears(room, desk.bot)
        assert thread_of(answer) == root


@rule("PART-18")
async def test_a_request_that_is_redacted_before_its_start_is_not_started(desk):
    room = await desk.room(desk.ann, desk.bob, encrypted=True)
    agent = CountingAgent(gate=asyncio.Event())
    async with desk.running(agent=agent) as gateway:
        await desk.ready(room, desk.bob)
        await desk.bob.say(room, "first", mentions=[desk.bot])
        await agent.started.wait()
        taken_back = await desk.bob.say(room, "second", mentions=[desk.bot])
        third = await desk.bob.say(room, "third", mentions=[desk.bot])
        await desk.judged(third)
        redaction = await desk.bob.redact(room, taken_back)
        await desk.judged(redaction)
        agent.gate.set()
        await desk.over(gateway, third)
        await desk.over(gateway, taken_back)
        assert [request.text for request in agent.requests] == ["first", "third"]
        await desk.bob.caught_up(room)
        answers = desk.bob.said(room, desk.bot)
        assert taken_back not in [replied_to(answer) for answer in answers]


@rule("PART-1", "PART-2")
async def test_a_reply_to_the_bot_is_a_request_and_a_reply_to_or_a_mention_of_somebody_else_is_theirs(desk):
    ann, bob = desk.ann, desk.bob
    room = await desk.room(ann, bob, encrypted=True)
    async with desk.running() as gateway:
        await desk.ready(room, ann, bob)
        await bob.say(room, "hello", mentions=[desk.bot])
        (answer,) = await bob.hears(room, desk.bot)
        theirs = await ann.say(room, "the cache is stale")
        for words, options, reason in (
            ("agreed", {"reply": theirs}, "reply_to_other"),
            ("can you look?", {"reply": answer["event_id"], "mentions": [ann.id]}, "addressed_to_other"),
            ("Ann, can you confirm?", {"reply": answer["event_id"]}, "salutation_of_other"),
            ("and then?", {"reply": answer["event_id"]}, "direct_reply"),
            ("compare notes", {"mentions": [ann.id, desk.bot]}, "explicit_mention"),
        ):
            assert await desk.reason(gateway, await bob.say(room, words, **options)) == reason
        assert [request.text for request in gateway.agent.requests] == ["hello", "and then?", "compare notes"]


@rule("PART-1")
async def test_who_wrote_a_message_that_we_do_not_know_is_asked_of_the_server_by_its_id_and_nothing_more(desk):
    room = await desk.room(desk.ann, desk.bob)
    body = {"msgtype": "m.text", "body": "from before the store"}
    ours = (await desk.synapse.act(desk.bot, "PUT", f"rooms/{room}/send/m.room.message/1", body))["event_id"]
    theirs = await desk.ann.say(room, "also from before")
    for number in range(101):  # then both are too far back for a first sync
        await desk.ann.say(room, f"chatter {number}")
    async with desk.running() as gateway:
        await desk.ready(room, desk.bob)
        assert await desk.reason(gateway, await desk.bob.say(room, "agreed", reply=theirs)) == "reply_to_other"
        looked = [call.path for call in await desk.calls()]
        assert looked == [f"rooms/{room}/event/{theirs}"]
        assert await desk.reason(gateway, await desk.bob.say(room, "and then?", reply=ours)) == "direct_reply"
        lost = await desk.bob.say(room, "what?", reply="$nothing-of-the-kind")
        assert await desk.reason(gateway, lost) == "reply_author_unknown"


@rule("PART-3", "PART-8")
async def test_files_go_both_ways_in_an_encrypted_room_and_a_file_alone_is_not_even_fetched(desk):
    ann, bob = desk.ann, desk.bob
    room = await desk.room(ann, bob, encrypted=True)
    report = OutFile(name="report.csv", media_type="text/csv", content=b"a;b\n1;2\n" * 2000)
    agent = CountingAgent(answer=lambda _request: [Final(text="here", files=(report,))])
    async with desk.running(agent=agent) as gateway:
        await desk.ready(room, ann, bob)
        await desk.over(gateway, await ann.send_file(room, b"for the people here"))
        await gateway.quiet()
        await desk.assert_silent(gateway)
        await bob.send_file(room, b"first", name="1.txt", caption="desk, add these", mentions=[desk.bot])
        second = await bob.send_file(room, b"second", name="2.txt")
        await desk.judged(second)
        await gateway.quiet()
        assert (len(agent.requests), sorted(agent.files)) == (1, [b"first", b"second"])
        assert agent.requests[0].text == "desk, add these"
        sent = await bob.sees(room, lambda event: event["sender"] == desk.bot and "file" in event["content"])
        assert await bob.fetch(sent) == report.content
        stored = await bob.client.download(sent["content"]["file"]["url"])
        assert report.content[:20] not in stored.body
        assert sum(call.verb in LOOKS for call in await desk.calls()) == 2


@rule("PART-5")
async def test_notices_other_bots_and_the_bots_own_words_start_nothing(desk):
    robot = await desk.people("robot")
    room = await desk.room(desk.ann, desk.bob, robot)
    desk.further = f'bots: ["matrix:{robot.id}"]'
    async with desk.running() as gateway:
        await desk.ready(room, desk.bob, robot)
        notice = await desk.bob.say(room, "build is green", kind="m.notice", mentions=[desk.bot])
        assert await desk.reason(gateway, notice) == "notice"
        assert await desk.reason(gateway, await robot.say(room, "hello", mentions=[desk.bot])) == "bot_origin"
        body = {"msgtype": "m.text", "body": "hello", "m.mentions": {"user_ids": [desk.bot]}}
        own = await desk.synapse.act(desk.bot, "PUT", f"rooms/{room}/send/m.room.message/1", body)
        assert await desk.reason(gateway, own["event_id"]) == "self_origin"
        reaction = await desk.bob.react(room, notice, "👍")
        assert await desk.reason(gateway, reaction) == "reaction"
        await desk.assert_silent(gateway)


@rule("PART-9")
async def test_observed_words_are_context_until_they_are_redacted(desk):
    observed = (
        "{audience: external, observe_unmentioned_group_messages: true, observation: {retention: 1h, readers: [main]}}"
    )
    room = await desk.room(desk.ann, desk.bob, encrypted=True, policy=observed)
    async with desk.running() as gateway:
        await desk.ready(room, desk.bob)
        await desk.over(gateway, await desk.bob.say(room, "the meeting moved to noon"))
        secret = await desk.bob.say(room, "the password is walrus")
        await desk.over(gateway, secret)
        await desk.assert_silent(gateway)
        await desk.over(gateway, await desk.bob.redact(room, secret))
        await desk.over(gateway, await desk.ann.say(room, "when is the meeting?", mentions=[desk.bot]))
        (request,) = gateway.agent.requests
        assert [item.text for item in request.context if item.kind == "observed"] == ["the meeting moved to noon"]


@rule("PART-12")
async def test_nothing_from_before_the_bot_came_into_a_room_is_answered(desk):
    room = await desk.room(desk.ann, desk.bob, bot=False)
    async with desk.running() as gateway:
        early = await desk.bob.say(room, "hello?", mentions=[desk.bot])
        await desk.ann.invite(room, desk.bot)
        await desk.ready(room, desk.bob)
        late = await desk.bob.say(room, "hello again", mentions=[desk.bot])
        await desk.over(gateway, late)
        assert [request.text for request in gateway.agent.requests] == ["hello again"]
        seen = desk.entry(early)
        assert seen is None or (seen.outcome, seen.reason) == ("mute", "before_first_start")


@rule("PART-12")
async def test_nothing_from_before_the_very_first_start_is_answered(desk):
    room = await desk.room(desk.ann, desk.bob)
    early = await desk.bob.say(room, "hello?", mentions=[desk.bot])
    async with desk.running() as gateway:
        late = await desk.bob.say(room, "hello again", mentions=[desk.bot])
        await desk.over(gateway, late)
        assert [request.text for request in gateway.agent.requests] == ["hello again"]
        assert await desk.reason(gateway, early) == "before_first_start"


@rule("PART-12", "DUR-1")
async def test_what_came_while_the_bot_was_stopped_is_answered_in_order_if_it_is_young_enough(desk):
    room = await desk.room(desk.ann, desk.bob, encrypted=True)
    async with desk.running() as gateway:
        await desk.ready(room, desk.ann, desk.bob)
        await desk.over(gateway, await desk.bob.say(room, "0", mentions=[desk.bot]))
    for number in range(1, 16):  # more than one sync brings
        await desk.bob.say(room, f"{number}", mentions=[desk.bot] if number % 3 == 0 else ())
    async with desk.running(agent=CountingAgent(answer=lambda request: [Final(text=f"to {request.text}")])) as gateway:
        await desk.bob.hears(room, desk.bot, 6)
        await gateway.settled()
        assert desk.bob.texts(room, desk.bot) == ["ok", *(f"to {number}" for number in (3, 6, 9, 12, 15))]
    old = await desk.bob.say(room, "too late", mentions=[desk.bot])
    async with desk.running(clock=Clock(datetime.now(UTC) + timedelta(hours=2))) as gateway:
        assert await desk.reason(gateway, old) == "older_than_backlog"
        assert gateway.agent.requests == []


@rule("PART-17")
async def test_what_can_not_be_decrypted_yet_waits_for_its_key_and_holds_up_nobody(desk):
    ann, bob = desk.ann, desk.bob
    room, other = await desk.room(ann, bob, encrypted=True), await desk.room(ann, bob, encrypted=True)
    async with desk.running() as gateway:
        await desk.ready(room, ann, bob)
        await desk.ready(other, ann, bob)
        share = await bob.keep_key(room)
        sealed = await bob.say(room, "when?", mentions=[desk.bot])
        entry = await desk.judged(sealed)
        assert (entry.outcome, entry.reason) == ("defer", "undecryptable")
        await desk.over(gateway, await ann.say(other, "and here?", mentions=[desk.bot]))
        await desk.over(gateway, await ann.say(room, "hello", mentions=[desk.bot]))
        assert [request.text for request in gateway.agent.requests] == ["and here?", "hello"]
        await share()
        assert await desk.reason(gateway, sealed) == "explicit_mention"
        assert gateway.agent.requests[-1].text == "when?"


@rule("PART-17")
async def test_poisonous_events_are_set_aside_and_block_nothing(desk):
    room = await desk.room(desk.ann, desk.bob)
    async with desk.running() as gateway:
        await desk.ready(room, desk.bob)
        poison = [
            {"msgtype": "m.text", "body": 5, "m.mentions": {"user_ids": [desk.bot]}},
            {"msgtype": "m.text", "m.mentions": {"user_ids": 7}},
            {"msgtype": ["m.text"], "body": "x", "m.mentions": []},
            {"body": "x", "m.relates_to": [desk.bot]},
            {"msgtype": "m.text", "body": "x", "m.relates_to": {"rel_type": "m.replace", "event_id": {"a": 1}}},
            {"msgtype": "m.file", "body": "x", "url": {"a": "b"}, "file": 3, "info": "large"},
            {
                "msgtype": "m.text",
                "body": "x",
                "formatted_body": "<a href='" * 5000,
                "format": "org.matrix.custom.html",
            },
            {},
        ]
        odd = [
            ("m.room.encrypted", {"algorithm": 5, "ciphertext": {}}),
            ("m.room.encrypted", {"algorithm": "m.megolm.v1.aes-sha2", "ciphertext": "A" * 9000, "session_id": "x"}),
            ("m.reaction", {"m.relates_to": "x"}),
            ("org.example.odd", {"a": None}),
        ]
        sent = []
        for kind, content in [*(("m.room.message", content) for content in poison), *odd]:
            with suppress(RefusedError):  # this server looks into some; not every server does
                sent.append(await desk.bob.send(room, kind, content))
        assert len(sent) > len(odd)
        await desk.over(gateway, await desk.bob.say(room, "hello", mentions=[desk.bot]))
        await desk.bob.hears(room, desk.bot)
        assert [request.text for request in gateway.agent.requests] == ["hello"]
        assert {desk.entry(event).outcome for event in sent if desk.entry(event)} <= {"mute", "defer"}


@rule("IDENT-1", "IDENT-2", "IDENT-5")
async def test_names_are_never_identity_and_a_room_that_is_not_listed_is_muted(desk):
    mallory = await desk.people("mallory")
    await mallory.client.set_displayname("Ann (operator)")
    listed = await desk.room(desk.ann, mallory, name="Operators: trusted")
    strange = await desk.room(desk.ann, mallory, policy=None, name="Operators: trusted")
    async with desk.running() as gateway:
        await desk.ready(listed, mallory)
        await desk.ready(strange, mallory)
        event = await mallory.say(strange, "hello", mentions=[desk.bot])
        assert await desk.reason(gateway, event) == "unknown_channel"
        await desk.assert_silent(gateway)
        await desk.over(gateway, await mallory.say(listed, "hello", mentions=[desk.bot]))
        (request,) = gateway.agent.requests
        assert (request.person, request.audience.value) == (None, "external")
        assert [call.verb for call in await desk.calls(SHOWS)].count("send") == 1
    assert desk.rooms[listed] == EXTERNAL
