"""What a clearance allows, done on a homeserver, and what its answers mean."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from bot.channels.matrix import presenting
from bot.channels.matrix.client import Endpoint, MatrixApi
from bot.channels.matrix.keys.attachments import decrypt_file
from bot.channels.matrix.keys.encryption import Encryption
from bot.channels.matrix.limits import Limits, Rate
from bot.channels.matrix.payload import decode, final_edit
from bot.channels.matrix.sending import Sender
from bot.deliveries.pacing import Recovery
from bot.model.clearance import SEAL, Clearance
from bot.model.errors import ClearanceError
from bot.model.output import Final, OutFile
from bot.model.part import Action, Delivered, Part, Receipt, Rejected, TryLater, Unclear
from bot.ports.channel import Reply
from forms.card import Button, Card
from policy.boundary import Speech
from policy.decision import Audience
from policy.destination import Destination
from policy.ruleset import Streaming
from tests.servers.homeserver import Homeserver

ROOM = "!lab:example.org"
SEALED = "!sealed:example.org"
USER = "@relay:example.org"
PDF = OutFile(name="plan.pdf", media_type="application/pdf", content=b"the plan")
CARD = Card(title="Go?", buttons=tuple(Button(label=label, value=label) for label in ("Yes", "No", "Later")))
NO_LIMITS = Limits(room=None, total=None)


@dataclass
class Bench:
    server: Homeserver
    api: MatrixApi
    encryption: Encryption

    def sender(self, limits: Limits = NO_LIMITS, **more: Any) -> Sender:
        more.setdefault("recovery", Recovery(first_s=0.001, longest_s=0.002))
        return Sender(self.api, self.encryption, limits, **more)


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    async with Homeserver() as server:
        server.room(ROOM, joined=["@alice:example.org"])
        server.room(SEALED, joined=["@alice:example.org"], encrypted=True)
        api = MatrixApi(homeserver=server.url, token=server.token)
        encryption = Encryption.open(user_id=USER, device_id=server.device, folder=tmp_path / "keys")
        yield Bench(server, api, encryption)
        encryption.close()
        await api.close()


def place(room: str = ROOM) -> Reply:
    return Reply(destination=Destination(platform="matrix", workspace=USER, channel=room), message="$ask")


def words(text: str = "hello", room: str = ROOM, **more: Any) -> Part:
    [part] = presenting.present(Speech.FINAL, Final(text=text, **more), to=place(room))
    return part


async def deliver(sender: Sender, part: Part) -> Receipt:
    receipt = await sender.deliver(part, Clearance(SEAL, part, Audience.INTERNAL))
    await sender.idle()
    return receipt


async def recovered(sender: Sender, part: Part) -> Receipt:
    """The receipt that is not just a rest of the account."""
    async with asyncio.timeout(10):
        while True:
            receipt = await deliver(sender, part)
            if not isinstance(receipt, TryLater):
                return receipt
            await asyncio.sleep(receipt.after_s)


# messages


async def test_a_message_is_delivered_with_its_id(bench: Bench) -> None:
    part = words("hello **you**")
    receipt = await deliver(bench.sender(), part)
    [event] = bench.server.sent(ROOM)
    assert receipt == Delivered(messages=(event["event_id"],))
    assert event["type"] == "m.room.message"
    assert event["content"] == decode(part)["content"]


async def test_nothing_is_called_without_a_fitting_clearance(bench: Bench) -> None:
    part, other = words("hello"), words("other")
    sender = bench.sender()
    clearance = Clearance(SEAL, part, Audience.INTERNAL)
    with pytest.raises(ClearanceError):
        await sender.deliver(other, clearance)
    await sender.deliver(part, clearance)
    with pytest.raises(ClearanceError):
        await sender.deliver(part, clearance)
    assert len(bench.server.reaching) == 1


async def test_the_same_part_sent_twice_is_one_message(bench: Bench) -> None:
    part = words(card=CARD)
    receipts = [await deliver(bench.sender(), part) for _ in range(2)]
    assert receipts[0] == receipts[1]
    assert [event["type"] for event in bench.server.sent(ROOM)] == ["m.room.message", *["m.reaction"] * 3]


@pytest.mark.parametrize("kind", ["drop", "hang"])
async def test_an_answer_that_is_lost_is_later_and_the_repeat_is_no_second_message(bench: Bench, kind: str) -> None:
    sender = bench.sender(call_s=0.2)
    fault = getattr(bench.server, kind)("send", deliver=True, times=2)  # the HTTP client itself repeats a PUT once
    part = words()
    receipt = await deliver(sender, part)
    assert isinstance(receipt, TryLater)
    assert receipt.flood
    fault.release()
    assert len(bench.server.sent(ROOM)) == 1
    assert isinstance(await recovered(sender, part), Delivered)
    assert len(bench.server.sent(ROOM)) == 1


async def test_an_edit_is_known_by_the_message_that_it_edits(bench: Bench) -> None:
    sender = bench.sender()
    first = presenting.present_fragment("He", to=place(), streaming=Streaming.EDIT, stream="s", message=None)
    assert first is not None
    receipt = await deliver(sender, first)
    assert isinstance(receipt, Delivered)
    [growing] = receipt.messages
    [final] = final_edit((words("Hello", card=CARD),), growing)
    assert await deliver(sender, final) == Delivered(messages=(growing,))
    _, edit, *seeds = bench.server.sent(ROOM)
    assert edit["content"]["m.new_content"]["body"].startswith("Hello")
    assert {seed["content"]["m.relates_to"]["event_id"] for seed in seeds} == {growing}


async def test_an_answer_without_an_id_is_unclear(bench: Bench) -> None:
    bench.server.garble("send", b"{}")
    assert await deliver(bench.sender(), words()) == Unclear(code="not_understood")


async def test_an_answer_that_is_none_spends_an_attempt(bench: Bench) -> None:
    bench.server.garble("send", b"<html>")
    receipt = await deliver(bench.sender(), words())
    assert isinstance(receipt, TryLater)
    assert not receipt.flood


# encrypted rooms


async def learn_keys(bench: Bench) -> None:
    bench.encryption.take(await bench.api.call(Endpoint.SYNC, query={"timeout": "0"}))
    await bench.encryption.upkeep(bench.api)
    assert bench.encryption.encrypted(SEALED)
    assert not bench.encryption.encrypted(ROOM)


async def test_in_an_encrypted_room_words_go_encrypted_and_reactions_in_the_clear(bench: Bench) -> None:
    await learn_keys(bench)
    part = words("secret", SEALED, card=CARD)
    receipt = await deliver(bench.sender(), part)
    message, *seeds = bench.server.sent(SEALED)
    assert receipt == Delivered(messages=(message["event_id"],))
    assert message["type"] == "m.room.encrypted"
    assert "secret" not in str(message)
    assert message["content"]["m.relates_to"] == {"m.in_reply_to": {"event_id": "$ask"}}
    assert [seed["type"] for seed in seeds] == ["m.reaction"] * 3
    clear = bench.encryption.decrypt({**message, "room_id": SEALED})
    assert clear is not None
    assert clear["content"]["body"] == decode(part)["content"]["body"]


async def test_the_longest_message_fits_into_an_encrypted_event(bench: Bench) -> None:
    await learn_keys(bench)
    sender = bench.sender()
    for text in ("слово **x** " * 9_000, 'q"' * 30_000):
        parts = presenting.present(Speech.FINAL, Final(text=text), to=place(SEALED))
        for part in final_edit(parts, "$growing"):
            assert isinstance(await deliver(sender, part), Delivered)
    assert len(bench.server.sent(SEALED)) > 2


async def test_a_file_in_an_encrypted_room_can_not_be_read_on_the_server(bench: Bench) -> None:
    await learn_keys(bench)
    assert isinstance(await deliver(bench.sender(), words("Look", SEALED, files=(PDF,))), Delivered)
    [event] = bench.server.sent(SEALED)
    clear = bench.encryption.decrypt({**event, "room_id": SEALED})
    assert clear is not None
    file = clear["content"]["file"]
    assert "url" not in clear["content"]
    content, media_type = bench.server.media[file["url"]]
    assert (content != PDF.content, media_type) == (True, "application/octet-stream")
    assert decrypt_file(content, file) == PDF.content
    [upload] = bench.server.calls_of("upload")
    assert "plan" not in str(upload.query)


async def test_keys_that_can_not_be_had_now_are_later_and_nothing_goes_in_the_clear(bench: Bench) -> None:
    bench.encryption.take(await bench.api.call(Endpoint.SYNC, query={"timeout": "0"}))
    bench.server.fail("keys_query", 503, times=None)
    receipt = await deliver(bench.sender(), words("secret", SEALED))
    assert isinstance(receipt, TryLater)
    assert receipt.flood
    assert bench.server.calls_of("send") == []


async def test_a_room_that_can_not_be_encrypted_for_comes_to_an_end_and_gets_nothing_in_the_clear(bench: Bench) -> None:
    room = "!strange:example.org"
    bench.server.room(room, state=[{"type": "m.room.encryption", "content": {"algorithm": "m.strange"}}])
    bench.encryption.take(await bench.api.call(Endpoint.SYNC, query={"timeout": "0"}))
    sender = bench.sender()
    receipts = [await deliver(sender, words("secret", room)) for _ in range(3)]
    assert receipts == [TryLater(after_s=2.0), TryLater(after_s=4.0), TryLater(after_s=8.0)]
    assert bench.server.calls_of("send") == []


# files


async def test_a_file_is_uploaded_and_named_by_its_message(bench: Bench) -> None:
    assert isinstance(await deliver(bench.sender(), words("Look", files=(PDF,))), Delivered)
    [event] = bench.server.sent(ROOM)
    assert bench.server.media[event["content"]["url"]] == (b"the plan", "application/pdf")
    assert (event["content"]["body"], event["content"]["filename"]) == ("Look", "plan.pdf")


async def test_a_file_is_uploaded_once_however_often_its_message_is_tried(bench: Bench) -> None:
    sender = bench.sender()
    bench.server.fail("send", 503, times=2)
    assert isinstance(await recovered(sender, words(files=(PDF,))), Delivered)
    assert len(bench.server.calls_of("upload")) == 1


async def test_a_file_that_the_server_does_not_take_is_not_uploaded(bench: Bench) -> None:
    bench.server.upload_bytes = 3
    assert await deliver(bench.sender(), words(files=(PDF,))) == Rejected(code="too_long")
    assert bench.server.reaching == []


async def test_a_server_that_does_not_tell_its_limit_is_asked_no_more(bench: Bench) -> None:
    bench.server.fail("media_config", 404, "M_UNRECOGNIZED")
    sender = bench.sender()
    assert isinstance(await deliver(sender, words(files=(PDF,))), Delivered)
    assert isinstance(await deliver(sender, words(files=(PDF,))), Delivered)
    assert len(bench.server.calls_of("media_config")) == 1


async def test_an_upload_that_breaks_off_spends_attempts_for_it_may_be_the_file(bench: Bench) -> None:
    bench.server.drop("upload")
    receipt = await deliver(bench.sender(), words(files=(PDF,)))
    assert isinstance(receipt, TryLater)
    assert not receipt.flood


# reactions to tap


async def test_the_choices_are_put_under_the_message(bench: Bench) -> None:
    part = words(card=CARD)
    receipt = await deliver(bench.sender(), part)
    assert isinstance(receipt, Delivered)
    message, *seeds = bench.server.sent(ROOM)
    assert [seed["content"] for seed in seeds] == [
        {"m.relates_to": {"rel_type": "m.annotation", "event_id": message["event_id"], "key": key}}
        for key in ("1️⃣", "2️⃣", "3️⃣")
    ]
    txn = decode(part)["txn"]
    assert [call.parts[2] for call in bench.server.calls_of("send")] == [txn, f"{txn}-1", f"{txn}-2", f"{txn}-3"]


async def test_a_reaction_that_is_there_already_is_one_that_has_been_put(bench: Bench) -> None:
    part = words(card=CARD)
    assert isinstance(await deliver(bench.sender(), part), Delivered)
    bench.server.transactions = {
        key: event for key, event in bench.server.transactions.items() if not key[1].endswith("-2")
    }
    assert isinstance(await deliver(bench.sender(), part), Delivered)
    assert len(bench.server.sent(ROOM)) == 4


@pytest.mark.parametrize(("status", "errcode"), [(403, "M_FORBIDDEN"), (500, "M_UNKNOWN"), (400, "M_UNKNOWN")])
async def test_a_message_is_delivered_although_its_reactions_fail(bench: Bench, status: int, errcode: str) -> None:
    bench.server.fail("send", status, errcode, times=None, room="m.reaction")
    receipt = await deliver(bench.sender(), words(card=CARD))
    [event] = bench.server.sent(ROOM)
    assert receipt == Delivered(messages=(event["event_id"],))
    assert len(bench.server.calls_of("send")) == 2


async def test_a_busy_server_is_waited_for_with_the_reactions_but_not_for_long(bench: Bench) -> None:
    bench.server.fail("send", 429, "M_LIMIT_EXCEEDED", times=2, retry_after_ms=1, room="m.reaction")
    assert isinstance(await deliver(bench.sender(), words(card=CARD)), Delivered)
    assert len(bench.server.sent(ROOM)) == 4
    bench.server.fail("send", 429, "M_LIMIT_EXCEEDED", times=None, retry_after_ms=60_000, room="m.reaction")
    async with asyncio.timeout(5):
        assert isinstance(await deliver(bench.sender(), words(card=CARD)), Delivered)
    assert len(bench.server.sent(ROOM)) == 5


# refusals


@pytest.mark.parametrize(
    ("status", "errcode", "receipt"),
    [
        (403, "M_FORBIDDEN", Rejected(code="forbidden")),
        (404, "M_NOT_FOUND", Rejected(code="not_found")),
        (413, "M_TOO_LARGE", Rejected(code="too_long")),
        (400, "M_TOO_LARGE", Rejected(code="too_long")),
        (413, "M_UNKNOWN", Rejected(code="too_long")),
        (400, "M_BAD_JSON", Rejected(code="rejected")),
        (418, "M_WHATEVER", Rejected(code="rejected")),
    ],
)
async def test_a_refusal_has_a_bounded_code(bench: Bench, status: int, errcode: str, receipt: Receipt) -> None:
    bench.server.fail("send", status, errcode)
    assert await deliver(bench.sender(), words()) == receipt


@pytest.mark.parametrize(
    ("member", "said", "gone"),
    [
        (True, "You don't have permission to post that to the room. 0 < 50", False),
        (None, "You don't have permission to post that to the room. 0 < 50", False),
        (False, "whatever", True),
        (None, "User @relay:example.org not in room !lab:example.org", True),
    ],
)
async def test_a_room_is_gone_only_where_the_bot_is_not_in_it(
    bench: Bench, member: bool | None, said: str, gone: bool
) -> None:
    bench.server.fail("send", 403, "M_FORBIDDEN", error=said)
    receipt = await deliver(bench.sender(member=lambda _room: member), words())
    assert receipt == Rejected(code="forbidden", channel_gone=gone)


async def test_a_bot_that_was_kicked_knows_it_from_the_server(bench: Bench) -> None:
    bench.server.member(ROOM, USER, "leave", sender="@alice:example.org")
    receipt = await deliver(bench.sender(member=lambda _room: False), words())
    assert receipt == Rejected(code="forbidden", channel_gone=True)


@pytest.mark.parametrize(
    ("status", "errcode"),
    [(500, "M_UNKNOWN"), (502, ""), (503, "M_UNKNOWN"), (504, ""), (302, ""), (401, "M_UNKNOWN_TOKEN"), (408, "")],
)
async def test_a_server_that_is_not_well_is_waited_for_and_gets_each_message_once(
    bench: Bench, status: int, errcode: str
) -> None:
    sender = bench.sender()
    bench.server.fail("send", status, errcode, times=9)
    parts = [words(str(number)) for number in range(3)]
    receipts = await asyncio.gather(*(recovered(sender, part) for part in parts))
    assert all(isinstance(receipt, Delivered) for receipt in receipts)
    assert sorted(bench.server.texts(ROOM)) == ["0", "1", "2"]


@pytest.mark.parametrize("status", [502, 503, 401])
async def test_waiting_for_the_server_spends_no_attempt(bench: Bench, status: int) -> None:
    bench.server.fail("send", status)
    receipt = await deliver(bench.sender(), words())
    assert isinstance(receipt, TryLater)
    assert receipt.flood


async def test_a_message_at_which_a_well_server_fails_comes_to_an_end(bench: Bench) -> None:
    sender = bench.sender(recovery=Recovery(first_s=0.0, longest_s=0.0))
    bench.server.fail("send", 500, times=None, room=ROOM)
    spent = 0
    for _ in range(8):
        receipt = await deliver(sender, words())
        assert isinstance(receipt, TryLater)
        spent += not receipt.flood
        assert isinstance(await deliver(sender, words("other", SEALED)), Delivered)
    assert spent == 8


async def test_an_absent_server_meets_no_storm(bench: Bench) -> None:
    sender = bench.sender(recovery=Recovery(first_s=30.0))
    async with bench.server.outage():
        receipts = [await deliver(sender, words(room=f"!{number}:example.org")) for number in range(20)]
    assert all(isinstance(receipt, TryLater) and receipt.flood for receipt in receipts)
    assert all(0 < receipt.after_s <= 30 for receipt in receipts if isinstance(receipt, TryLater))
    early = await deliver(sender, words())
    assert isinstance(early, TryLater)
    assert bench.server.calls == []


async def test_a_busy_server_gets_the_silence_that_it_asks_for_in_all_rooms(bench: Bench) -> None:
    sender = bench.sender()
    bench.server.fail("send", 429, "M_LIMIT_EXCEEDED", retry_after_ms=7_000)
    assert await deliver(sender, words()) == TryLater(after_s=7.0, flood=True)
    waiting = await deliver(sender, words(room=SEALED))
    assert isinstance(waiting, TryLater)
    assert 6.0 < waiting.after_s <= 7.0
    assert 6.0 < sender.turn_s(words()) <= 7.0
    assert len(bench.server.calls) == 1


@pytest.mark.parametrize("retry_after_ms", [None, 10**18, -5])
async def test_a_silence_is_bounded_whatever_is_asked(bench: Bench, retry_after_ms: int | None) -> None:
    bench.server.fail("send", 429, "M_LIMIT_EXCEEDED", retry_after_ms=retry_after_ms)
    receipt = await deliver(bench.sender(), words())
    assert isinstance(receipt, TryLater)
    assert receipt.flood
    assert 0 < receipt.after_s <= 900


# signs and membership


async def test_signs_reach_the_room(bench: Bench) -> None:
    sender = bench.sender()
    mark = presenting.read_receipt(place())
    assert mark is not None
    for part in (presenting.typing(place(), on=True), presenting.typing(place(), on=False), mark):
        assert await deliver(sender, part) == Delivered()
    assert [(call.name, call.parts, call.body) for call in bench.server.reaching] == [
        ("typing", (ROOM, USER), {"typing": True, "timeout": 10_000}),
        ("typing", (ROOM, USER), {"typing": False}),
        ("receipt", (ROOM, "m.read", "$ask"), {}),
    ]


@pytest.mark.parametrize("name", ["typing", "receipt"])
async def test_a_sign_that_fails_is_called_once_and_loses_no_room(bench: Bench, name: str) -> None:
    bench.server.fail(name, 403, "M_FORBIDDEN")
    part = presenting.typing(place(), on=True) if name == "typing" else presenting.read_receipt(place())
    assert part is not None
    assert await deliver(bench.sender(member=lambda _room: False), part) == Rejected(code="forbidden")
    assert len(bench.server.calls) == 1


async def test_the_limit_of_a_sign_silences_no_message(bench: Bench) -> None:
    sender = bench.sender()
    bench.server.fail("typing", 429, "M_LIMIT_EXCEEDED", retry_after_ms=60_000)
    assert isinstance(await deliver(sender, presenting.typing(place(), on=True)), TryLater)
    assert isinstance(await deliver(sender, words()), Delivered)


async def test_an_invite_is_taken_or_declined(bench: Bench) -> None:
    sender = bench.sender()
    for room, accept, membership in (("!in:example.org", True, "join"), ("!out:example.org", False, "leave")):
        bench.server.invite(room)
        part = presenting.answer_invite(place(room), accept=accept)
        assert sender.turn_s(part) == 0.0
        assert await deliver(sender, part) == Delivered()
        assert bench.server.world.rooms[room].membership == membership


@pytest.mark.parametrize("accept", [True, False])
async def test_an_invite_that_is_no_more_is_refused(bench: Bench, accept: bool) -> None:
    receipt = await deliver(bench.sender(), presenting.answer_invite(place("!gone:example.org"), accept=accept))
    assert receipt == Rejected(code="not_found" if accept else "forbidden")


async def test_a_room_of_a_server_that_is_away_does_not_make_the_account_rest(bench: Bench) -> None:
    sender = bench.sender(recovery=Recovery(first_s=60.0))
    bench.server.fail("join", 502)
    receipt = await deliver(sender, presenting.answer_invite(place("!far:example.net"), accept=True))
    assert isinstance(receipt, TryLater)
    assert not receipt.flood
    assert isinstance(await deliver(sender, words()), Delivered)


# pace


async def test_messages_wait_for_their_turn_and_what_only_passes_goes_at_once_or_not_at_all(bench: Bench) -> None:
    sender = bench.sender(Limits(room=Rate(per_s=0.1, burst=2), total=None))
    fragment = presenting.present_fragment("He", to=place(), streaming=Streaming.EDIT, stream="s", message=None)
    assert fragment is not None
    assert fragment.action is Action.SEND
    assert sender.turn_s(fragment) == 0.0
    assert isinstance(await deliver(sender, fragment), Delivered)
    assert isinstance(await deliver(sender, fragment), TryLater)
    assert sender.turn_s(words()) == 0.0
    assert sender.turn_s(words()) > 5.0
    assert sender.turn_s(presenting.typing(place(), on=True)) == 0.0
    assert isinstance(await deliver(sender, presenting.typing(place(), on=True)), Delivered)


async def test_nothing_of_people_rooms_or_words_is_logged(
    bench: Bench, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    sender = bench.sender()
    bench.server.fail("send", 403, "M_FORBIDDEN", error="User @relay:example.org not in room !lab:example.org")
    await deliver(sender, words("secret"))
    bench.server.fail("send", 403, "M_FORBIDDEN", room="m.reaction")
    await deliver(sender, words("secret", card=CARD))
    said = capsys.readouterr()
    for text in (said.out, said.err, caplog.text):
        assert not any(word in text for word in ("secret", "!lab", "@relay", "$"))
