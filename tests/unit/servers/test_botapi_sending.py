"""What Telegram refuses, and what people see."""

import asyncio
import sys
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.servers.botapi import ANONYMOUS_ADMIN, BotApi, FloodLimits
from tests.unit.servers.conftest import Client

GROUP = -1001900000001


def keyboard(**button: Any) -> dict[str, Any]:
    return {"inline_keyboard": [[{"text": "Go", **button}]]}


@pytest.mark.parametrize(
    ("params", "description"),
    [
        ({"text": ""}, "message text is empty"),
        ({"text": " \n\u200b\u2063\ufeff "}, "text must be non-empty"),
        ({"text": "x" * 4097}, "message is too long"),
        ({"text": "😀" * 2049}, "message is too long"),
        ({"text": "ш" * 20_000}, "text is too long"),
        ({"text": "a<br>", "parse_mode": "HTML"}, "can't parse entities: Unsupported start tag"),
        ({"text": "snake_case", "parse_mode": "MarkdownV2"}, "can't parse entities: Can't find end of Italic"),
        ({"text": "x", "parse_mode": "Wiki"}, "unsupported parse_mode"),
        (
            {"text": "a😀", "entities": [{"type": "bold", "offset": 0, "length": 2}]},
            "entity beginning at UTF-16 offset 0 ends in a middle of a UTF-16 symbol",
        ),
        (
            {"text": "a", "entities": [{"type": "text_link", "offset": 0, "length": 1, "url": "javascript:x(1)"}]},
            "entity URL",
        ),
        ({"text": "x", "reply_markup": keyboard(callback_data="ш" * 33)}, "BUTTON_DATA_INVALID"),
        ({"text": "x", "reply_markup": keyboard(callback_data="")}, "BUTTON_DATA_INVALID"),
        ({"text": "x", "reply_markup": keyboard()}, "can't parse inline keyboard button: text buttons are unallowed"),
        ({"text": "x", "reply_markup": keyboard(callback_data="a", style="red")}, "can't parse inline keyboard button"),
        ({"text": "x", "reply_markup": keyboard(url="http://localhost/x")}, "inline keyboard button URL"),
        ({"text": "x", "reply_markup": keyboard(web_app={"url": "https://a.example"})}, "BUTTON_TYPE_INVALID"),
        ({"text": "x", "message_thread_id": 1}, "message thread not found"),
        ({"text": "x", "message_thread_id": 77}, "message thread not found"),
        ({"text": "x", "reply_parameters": {"message_id": 5}}, "message to be replied not found"),
        ({"text": "x", "chat_id": 0}, "chat not found"),
        ({"text": "x", "chat_id": "@nobody"}, "chat not found"),
    ],
)
async def test_a_message_is_refused(client: Client, params: dict[str, Any], description: str) -> None:
    code, said = await client.refused("sendMessage", **{"chat_id": GROUP, **params})
    assert code == 400
    assert said.startswith(f"Bad Request: {description}")


@pytest.mark.parametrize(
    "params",
    [
        {"text": "😀" * 2048},
        {"text": "x", "reply_parameters": {"message_id": 5, "allow_sending_without_reply": True}},
        {"text": "x", "reply_markup": keyboard(callback_data="ш" * 32, style="danger")},
        {"text": "x", "reply_markup": keyboard(disabled={})},
        {"text": "x", "chat_id": 7, "reply_markup": keyboard(web_app={"url": "https://a.example"})},
        {"text": "a & b", "parse_mode": "HTML"},
        {"text": "x", "chat_id": 7, "message_thread_id": 77},
    ],
)
async def test_a_message_is_accepted(client: Client, params: dict[str, Any]) -> None:
    await client.ok("sendMessage", **{"chat_id": GROUP, **params})


async def test_white_space_is_cut_and_entities_move_with_it(client: Client) -> None:
    bold = {"type": "bold", "offset": 3, "length": 2}
    message = await client.ok("sendMessage", chat_id=7, text="  hi bot\n", entities=[bold])
    assert message["text"] == "hi bot"
    assert message["entities"] == [{"type": "bold", "offset": 1, "length": 2}]


async def test_a_topic_shows_its_root_and_a_deleted_one_is_not_found(api: BotApi, client: Client) -> None:
    thread = api.topic(GROUP, "Deploys")
    asked = api.say(chat=GROUP, sender=7, text="@agent_bot?", thread=thread)
    assert asked["reply_to_message"]["message_id"] == thread == asked["message_thread_id"]
    await client.ok("sendMessage", chat_id=GROUP, message_thread_id=thread, text="yes")
    await client.ok("sendMessage", chat_id=GROUP, text="re", reply_parameters={"message_id": asked["message_id"]})
    assert api.texts(GROUP, thread=thread) == ["yes", "re"]
    api.drop_topic(GROUP, thread)
    assert (await client.refused("sendMessage", chat_id=GROUP, message_thread_id=thread, text="x"))[0] == 400


async def test_the_general_topic_is_written_to_without_a_thread(api: BotApi, client: Client) -> None:
    api.chat(GROUP, is_forum=True)
    message = await client.ok("sendMessage", chat_id=GROUP, text="general")
    assert "is_topic_message" not in message


async def test_an_upgraded_group_tells_its_new_address_and_both_service_messages_come(
    api: BotApi,
    client: Client,
) -> None:
    api.say(chat=-41, sender=7, text="hello")
    api.migrate(-41, GROUP)
    updates = await client.ok("getUpdates", offset=1001)
    assert [update["message"]["chat"]["id"] for update in updates] == [-41, GROUP]
    assert updates[0]["message"]["migrate_to_chat_id"] == GROUP
    assert updates[1]["message"]["migrate_from_chat_id"] == -41
    answer = await client.call("sendMessage", chat_id=-41, text="x")
    assert answer["description"] == "Bad Request: group chat was upgraded to a supergroup chat"
    assert answer["parameters"] == {"migrate_to_chat_id": GROUP}
    await client.ok("sendMessage", chat_id=GROUP, text="x")


async def test_a_chat_that_closed_itself_answers_403_until_it_opens_again(api: BotApi, client: Client) -> None:
    api.block(7)
    api.block(GROUP, notify=True)
    assert await client.refused("sendMessage", chat_id=7, text="x") == (403, "Forbidden: bot was blocked by the user")
    assert (await client.refused("sendMessage", chat_id=GROUP, text="x"))[1] == (
        "Forbidden: bot was kicked from the supergroup chat"
    )
    (update,) = await client.ok("getUpdates")
    assert update["my_chat_member"]["new_chat_member"]["status"] == "kicked"
    api.unblock(7)
    await client.ok("sendMessage", chat_id=7, text="x")


async def test_an_edit_that_changes_nothing_is_refused_and_a_real_one_is_seen(api: BotApi, client: Client) -> None:
    first = await client.ok("sendMessage", chat_id=7, text="draft", reply_markup=keyboard(callback_data="a"))
    place = {"chat_id": 7, "message_id": first["message_id"]}
    same = {"text": "draft", "reply_markup": keyboard(callback_data="a")}
    assert "message is not modified" in (await client.refused("editMessageText", **place, **same))[1]
    await client.ok("editMessageText", **place, text="final")
    (seen,) = api.sent(7)
    assert (seen["text"], "reply_markup" in seen) == ("final", False)
    assert "not found" in (await client.refused("editMessageText", chat_id=7, message_id=99, text="x"))[1]


async def test_a_bot_cannot_edit_what_others_wrote(api: BotApi, client: Client) -> None:
    theirs = api.say(chat=7, text="mine")
    said = await client.refused("editMessageText", chat_id=7, message_id=theirs["message_id"], text="x")
    assert said == (400, "Bad Request: message can't be edited")


async def test_a_deleted_message_is_not_seen_any_more(api: BotApi, client: Client) -> None:
    sent = await client.ok("sendMessage", chat_id=7, text="oops")
    await client.ok("deleteMessage", chat_id=7, message_id=sent["message_id"])
    assert api.sent(7) == []
    assert (await client.refused("deleteMessage", chat_id=7, message_id=sent["message_id"]))[0] == 400


async def test_a_tap_is_answered_once_and_not_too_late(api: BotApi, client: Client) -> None:
    await client.ok("sendMessage", chat_id=7, text="sure?", reply_markup=keyboard(callback_data="t0k"))
    query = api.press(chat=7, button="Go")
    assert api.unanswered == [query]
    long = await client.refused("answerCallbackQuery", callback_query_id=query, text="x" * 201)
    assert long == (400, "Bad Request: MESSAGE_TOO_LONG")
    await client.ok("answerCallbackQuery", callback_query_id=query, text="Done")
    assert api.toasts[query]["text"] == "Done"
    assert "too old" in (await client.refused("answerCallbackQuery", callback_query_id=query))[1]
    late = api.press(chat=7, data="t0k")
    api.age(16 * 60)
    assert "too old" in (await client.refused("answerCallbackQuery", callback_query_id=late))[1]


async def test_only_a_button_that_is_shown_can_be_tapped(api: BotApi) -> None:
    with pytest.raises(LookupError, match="no button 'Go'"):
        api.press(chat=7, button="Go")


async def test_drafts_are_for_private_chats_and_end_with_the_message(api: BotApi, client: Client) -> None:
    assert (await client.refused("sendMessageDraft", chat_id=GROUP, draft_id=1, text="x"))[0] == 400
    await client.ok("sendMessageDraft", chat_id=7, draft_id=1, text="so fa")
    assert [draft["text"] for draft in api.drafts(7)] == ["so fa"]
    await client.ok("sendMessage", chat_id=7, text="so far")
    assert api.drafts(7) == []


async def test_an_album_has_two_to_ten_items_and_captions_have_their_own_limit(api: BotApi, client: Client) -> None:
    picture = api.file(b"jpeg", name="a.jpg")
    items = [{"type": "photo", "media": picture, "caption": "ш" * 1025}, {"type": "photo", "media": picture}]
    assert "caption is too long" in (await client.refused("sendMediaGroup", chat_id=7, media=items))[1]
    items[0]["caption"] = "ш" * 1024
    messages = await client.ok("sendMediaGroup", chat_id=7, media=items)
    assert len({message["media_group_id"] for message in messages}) == 1
    assert (await client.refused("sendMediaGroup", chat_id=7, media=items[:1]))[0] == 400
    assert (await client.refused("sendMediaGroup", chat_id=7, media=items * 6))[0] == 400
    mixed = [items[1], {"type": "document", "media": picture}]
    assert "can't be mixed" in (await client.refused("sendMediaGroup", chat_id=7, media=mixed))[1]


async def test_files_over_20_megabytes_cannot_be_fetched(api: BotApi, client: Client) -> None:
    assert await client.refused("getFile", file_id=api.file((20 << 20) + 1)) == (400, "Bad Request: file is too big")
    assert (await client.refused("getFile", file_id="none"))[0] == 400
    path = (await client.ok("getFile", file_id=api.file("words")))["file_path"]
    async with client.session.get(f"{api.url}/file/bot{api.token}/{path}") as response:
        assert await response.text() == "words"


async def test_a_wrong_token_is_unauthorized_and_an_unknown_method_not_found(api: BotApi, client: Client) -> None:
    async with client.session.get(f"{api.url}/bot1:WRONG/getMe") as response:
        assert (response.status, (await response.json())["description"]) == (401, "Unauthorized")
    assert await client.refused("sendTelepathy") == (404, "Not Found: method not found")


async def test_query_form_and_json_arguments_mean_the_same(api: BotApi, client: Client) -> None:
    address = f"{api.url}/bot{api.token}/SENDMESSAGE"
    form = {"chat_id": "7", "text": "x", "entities": '[{"type":"bold","offset":0,"length":1}]'}
    for arguments in ({"params": form}, {"data": form}, {"json": {**form, "chat_id": 7}}):
        async with client.session.post(address, **arguments) as response:
            assert (await response.json())["result"]["entities"][0]["type"] == "bold"
    assert {str(call.params) for call in api.calls_of("sendMessage")} == {str(api.calls[0].params)}
    assert api.calls[0].params["chat_id"] == 7


async def test_refusals_on_order_hit_only_the_calls_they_are_meant_for(api: BotApi, client: Client) -> None:
    fault = api.fail("sendMessage", retry_after=30, chat_id=7, match_text="busy")
    await client.ok("sendMessage", chat_id=8, text="busy")
    await client.ok("sendMessage", chat_id=7, text="idle")
    answer = await client.call("sendMessage", chat_id=7, text="very busy")
    assert (answer["error_code"], answer["parameters"]) == (429, {"retry_after": 30})
    await client.ok("sendMessage", chat_id=7, text="very busy")
    assert fault.hits == 1


async def test_a_proxy_page_instead_of_json_can_be_ordered(api: BotApi, client: Client) -> None:
    api.fail("getMe", 502, raw="<html>Bad Gateway</html>")
    async with client.session.get(f"{api.url}/bot{api.token}/getMe") as response:
        assert (response.status, await response.text()) == (502, "<html>Bad Gateway</html>")


@pytest.mark.parametrize("deliver", [True, False])
async def test_a_call_whose_connection_is_cut_may_have_had_its_effect_or_not(
    api: BotApi,
    client: Client,
    deliver: bool,
) -> None:
    fault = api.hang("sendMessage", deliver=deliver)
    sending = asyncio.create_task(client.call("sendMessage", chat_id=7, text="unclear"))
    await fault.reached()
    assert api.calls[-1].fate == "hanging"
    fault.cut()
    with pytest.raises(aiohttp.ClientError):
        await sending
    assert api.texts(7) == (["unclear"] if deliver else [])
    assert api.calls[-1].fate == "cut"


async def test_a_call_that_hangs_is_answered_when_it_is_released(api: BotApi, client: Client) -> None:
    fault = api.hang("sendMessage", deliver=False)
    sending = asyncio.create_task(client.ok("sendMessage", chat_id=7, text="slow"))
    await fault.reached()
    assert api.texts(7) == []
    fault.release()
    assert (await sending)["text"] == "slow"


async def test_a_dropped_connection_is_reset(api: BotApi, client: Client) -> None:
    api.drop("sendMessage", deliver=True)
    with pytest.raises(aiohttp.ClientError):
        await client.call("sendMessage", chat_id=7, text="there")
    assert api.texts(7) == ["there"]


async def test_flood_limits_count_per_chat_and_per_group_and_in_all(api: BotApi, client: Client) -> None:
    api.flood = FloodLimits()
    await client.ok("sendMessage", chat_id=7, text="1")
    answer = await client.call("sendMessage", chat_id=7, text="2")
    assert (answer["error_code"], answer["parameters"]) == (429, {"retry_after": 1})
    await client.ok("sendMessage", chat_id=8, text="another chat")
    api.age(1.01)
    await client.ok("sendMessage", chat_id=7, text="2")
    api.flood = FloodLimits(per_chat_per_s=None, per_group_per_min=2, total_per_s=None)
    for _ in range(2):
        await client.ok("sendMessage", chat_id=GROUP, text="x")
    answer = await client.call("sendMessage", chat_id=GROUP, text="x")
    assert answer["parameters"]["retry_after"] == 60


async def test_a_stopped_emulator_comes_back_at_its_address_with_its_memory(api: BotApi, client: Client) -> None:
    api.say(chat=7, text="hello")
    poll = asyncio.create_task(client.updates(1001, timeout=30))
    await api.wait_for(lambda: api.totals.get("getUpdates"))
    port = api.port
    await api.stop()
    with pytest.raises(aiohttp.ClientError):
        await poll
    with pytest.raises(aiohttp.ClientError):
        await client.call("getMe")
    api.say(chat=7, text="while it was away")
    await api.start()
    assert api.port == port
    assert await client.updates() == [1001]


async def test_a_wait_that_is_not_met_tells_what_was_called(api: BotApi, client: Client) -> None:
    await client.ok("sendMessage", chat_id=7, text="only this")
    with pytest.raises(TimeoutError, match="only this"):
        await api.wait_sent(7, 2, timeout=0.01)


async def test_a_hand_written_update_makes_its_chat_people_and_messages_known(api: BotApi, client: Client) -> None:
    bot_message = {
        "message_id": 40,
        "from": {"id": 42, "is_bot": True, "first_name": "Agent"},
        "chat": {"id": GROUP, "type": "supergroup", "title": "Lab"},
        "date": 1790000000,
        "text": "earlier",
    }
    reply = {
        "message_id": 41,
        "from": ANONYMOUS_ADMIN,
        "sender_chat": {"id": GROUP, "type": "supergroup", "title": "Lab"},
        "chat": {"id": GROUP, "type": "supergroup", "title": "Lab"},
        "date": 1790000001,
        "message_thread_id": 9,
        "is_topic_message": True,
        "reply_to_message": bot_message,
        "text": "later",
    }
    api.push({"update_id": 5, "message": reply})
    await client.ok("sendMessage", chat_id=GROUP, message_thread_id=9, text="x", reply_parameters={"message_id": 40})
    assert [message["message_id"] for message in api.sent(GROUP)] == [40, 42]
    assert (await client.ok("getChat", chat_id=GROUP))["title"] == "Lab"
    assert (await client.ok("getChatMember", chat_id=GROUP, user_id=1087968824))["status"] == "member"


async def test_getme_can_change_and_fail(api: BotApi, client: Client) -> None:
    api.me["username"] = "renamed_bot"
    api.fail("getMe", 401, "Unauthorized")
    assert await client.refused("getMe") == (401, "Unauthorized")
    assert (await client.ok("getMe"))["username"] == "renamed_bot"


async def test_reactions_of_the_bot_must_be_known_and_have_a_message(api: BotApi, client: Client) -> None:
    message = api.say(chat=7, text="hello")
    place = {"chat_id": 7, "message_id": message["message_id"]}
    await client.ok("setMessageReaction", **place, reaction=[{"type": "emoji", "emoji": "👀"}])
    assert api.account.reactions[7, message["message_id"]] == [{"type": "emoji", "emoji": "👀"}]
    bad = await client.refused("setMessageReaction", **place, reaction=[{"type": "emoji", "emoji": "🧪"}])
    assert bad == (400, "Bad Request: REACTION_INVALID")
    assert (await client.refused("setMessageReaction", chat_id=7, message_id=99, reaction=[]))[0] == 400


async def test_it_runs_alone_and_stops_on_sigterm() -> None:
    root = Path(__file__).resolve().parents[3]
    command = (sys.executable, "-m", "tests.servers.botapi", "--token", "77:T", "--parse", "none")
    process = await asyncio.create_subprocess_exec(*command, cwd=root, stdout=asyncio.subprocess.PIPE)
    async with asyncio.timeout(30):
        assert process.stdout is not None
        ready, address = (await process.stdout.readline()).decode().split()
        assert ready == "READY"
        async with aiohttp.ClientSession() as session, session.get(f"{address}/bot77:T/getMe") as response:
            assert (await response.json())["result"]["id"] == 77
        process.terminate()
        await process.communicate()
    assert process.returncode == 0


async def test_other_processes_steer_it_over_http(api: BotApi, client: Client) -> None:
    async def steer(verb: str, body: Any) -> Any:
        async with client.session.post(f"{api.url}/ctl/{verb}", json=body) as response:
            return await response.json()

    said = await steer("say", {"chat": 7, "text": "@agent_bot hi"})
    assert said["entities"][0]["type"] == "mention"
    pushed = await steer("push", [{"update_id": 2000, "x": {}}, {"y": {}}])
    assert pushed == {"update_ids": [2000, 2001]}
    fault = await steer("fail", {"method": "sendMessage", "retry_after": 2})
    assert fault == {"fault": 0}
    assert (await client.refused("sendMessage", chat_id=7, text="x"))[0] == 429
    await client.ok("sendMessage", chat_id=7, text="x")
    assert (await steer("wait", {"chat": 7, "count": 1}))["totals"]["sendMessage"] == 2
    assert [message["text"] for message in await steer("sent", {"chat": 7})] == ["x"]
    assert (await steer("calls", {"full": True}))["calls"][0]["error"].startswith("Too Many Requests")
    assert (await steer("state", {}))["pending"] == [1000, 2000, 2001]
    assert "error" in await steer("levitate", {})
    await steer("reset", {})
    assert (api.pending, api.calls, api.sent(7)) == ([], [], [])


async def test_a_hand_written_tap_makes_its_message_editable(api: BotApi, client: Client) -> None:
    tapped = {
        "message_id": 40,
        "from": {"id": 42, "is_bot": True, "first_name": "Agent"},
        "chat": {"id": 7, "type": "private", "first_name": "Ann"},
        "date": 1790000000,
        "text": "sure?",
    }
    person = {"id": 7, "is_bot": False, "first_name": "Ann"}
    api.push({"callback_query": {"id": "q1", "from": person, "chat_instance": "1", "data": "x", "message": tapped}})
    await client.ok("answerCallbackQuery", callback_query_id="q1")
    await client.ok("editMessageText", chat_id=7, message_id=40, text="done")
    assert api.texts(7) == ["done"]


async def test_an_undeclared_chat_is_not_found_in_a_closed_world() -> None:
    async with BotApi(open_world=False) as api, aiohttp.ClientSession() as session:
        client = Client(session, api)
        assert await client.refused("sendMessage", chat_id=8, text="x") == (400, "Bad Request: chat not found")
        api.say(chat=8, text="hello")
        await client.ok("sendMessage", chat_id=8, text="x")
