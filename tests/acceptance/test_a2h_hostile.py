"""Over A2H an agent that sends too much, too slowly, too often or nonsense hurts nobody else (AGENT-1, AGENT-5)."""

import asyncio
import json
from urllib.parse import urlsplit

import pytest

import bot.api.answering
from bot.api.answering import MAX_BODY
from tests.a2h_desk import a2h_desk
from tests.harness import ANN, GROUP

rule = pytest.mark.rule


async def raw(here, head, body=b"", *, key=None, close=True):
    """Bytes on a connection of their own; status and document, or None where nothing came."""
    address = urlsplit(here.url)
    reader, writer = await asyncio.open_connection(address.hostname, address.port)
    key = here.client.key if key is None else key
    lines = ["POST /v1/intent HTTP/1.1", "Host: x", f"X-A2H-API-Key: {key}", *head]
    writer.write("\r\n".join([*lines, "", ""]).encode() + body)
    await writer.drain()
    if not close:
        return reader, writer
    return await answer_of(reader, writer)


async def answer_of(reader, writer):
    async with asyncio.timeout(20):
        status = int((await reader.readline()).split()[1])
        length = 0
        while (line := (await reader.readline()).strip()) != b"":
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        document = json.loads(await reader.readexactly(length))
    writer.close()
    return status, document


@rule("AGENT-1", "AGENT-5")
async def test_too_much_and_nonsense_are_refused_in_the_words_of_the_protocol(api, tmp_path):
    async with a2h_desk(tmp_path, api) as here:
        await here.meet()
        big = json.dumps(here.client.message("AUTHORIZE", "Pay?", more="x" * MAX_BODY)).encode()
        chunked = b"%x\r\n%b\r\n0\r\n\r\n" % (len(big), big)
        deep = b'{"a":' * 200 + b"1" + b"}" * 200
        for head, body, status in (
            ([f"Content-Length: {len(big)}"], big, 413),
            (["Transfer-Encoding: chunked"], chunked, 413),
            (["Content-Length: 3"], b"nop", 400),
            (["Content-Length: 2"], b"[]", 400),
            ([f"Content-Length: {len(deep)}"], deep, 400),
            (["Content-Length: 30"], b'{"type":"INFORM","type":"EVIL"}'[:30], 400),
            (["Content-Length: 2", "Content-Encoding: gzip"], b"{}", 400),
        ):
            found, refused = await raw(here, head, body)
            assert (found, refused["error"]) == (status, "ERR.INVALID_REQUEST"), (head, refused)
            assert refused["message"]
        status, refused = await here.client.send("AUTHORIZE", "Pay \ud83d?".encode("utf-8", "replace").decode())
        assert status == 200
        for words in ("\u0000", "x" * 4097):
            assert (await here.client.send("INFORM", words))[0] in (422, 503)
        assert len(here.cards()) == 1


@rule("AGENT-1", "AGENT-5")
async def test_slow_clients_hold_up_nobody_and_are_let_go(api, tmp_path, monkeypatch):
    monkeypatch.setattr(bot.api.answering, "READ_WITHIN_S", 0.5)
    async with a2h_desk(tmp_path, api) as here:
        await here.meet()
        slow = [await raw(here, ["Content-Length: 100"], b"{", close=False) for _ in range(20)]
        other = here.agent("idle")
        async with asyncio.timeout(20):
            assert (await here.client.call("GET", "/v1/nonce"))[0] == 200
            status, found = await other.send("AUTHORIZE", "Pay?")
            assert status == 200, found
            for reader, writer in slow:
                status, refused = await answer_of(reader, writer)
                assert (status, refused["message"]) == (400, "the body did not come")


@rule("AGENT-1", "AGENT-5")
async def test_an_agent_that_floods_is_slowed_down_alone_and_chats_do_not_notice(api, tmp_path):
    async with a2h_desk(tmp_path, api) as here:
        await here.meet()
        messages = [here.client.message("AUTHORIZE", f"Pay {number}?") for number in range(60)]
        answers = await asyncio.gather(*(here.client.call("POST", "/v1/intent", one) for one in messages))
        statuses = [status for status, _ in answers]
        assert set(statuses) == {200, 429}
        refused = next(document for status, document in answers if status == 429)
        assert refused["error"] == "ERR.RATE_LIMITED"
        assert refused["retry_after_sec"] >= 1
        assert (await here.agent("idle").send("AUTHORIZE", "Pay?"))[0] == 200
        api.say(chat=GROUP, sender=ANN, text="@desk_bot are you there?")
        async with asyncio.timeout(30):
            while not api.texts(GROUP):
                await asyncio.sleep(0.05)


@rule("AGENT-1", "OUT-5")
async def test_words_for_one_person_stay_with_them(api, tmp_path):
    async with a2h_desk(tmp_path, api) as here:
        await here.grant(await here.meet())
        _, sent = await here.client.send(
            "INFORM", "For Ann.", channel={"type": "telegram", "address": f"telegram:{GROUP}"}
        )
        await here.client.poll(sent["interaction_id"], "SENT")
        await here.reads("For Ann.")
        assert api.texts(GROUP) == []
