"""Encryption on a real homeserver: between two devices of ours, and with matrix-nio's own client at the other end."""

import copy
import itertools
import json
import secrets
import sqlite3
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from bot.channels.matrix.client import CallError, Endpoint, MatrixApi, RefusedError
from bot.channels.matrix.keys.encryption import Encryption, decrypt_file, encrypt_file
from bot.model.errors import ChannelError, StoreError
from tests.servers.matrix_person import people_on

MEGOLM = "m.megolm.v1.aes-sha2"
ENCRYPTED = {"type": "m.room.encryption", "state_key": "", "content": {"algorithm": MEGOLM}}


@dataclass
class Device:
    """One login, with what it keeps in its folder and the answers to its syncs."""

    user: str
    password: str
    folder: Path
    api: MatrixApi
    device: str = ""
    since: str = ""
    keys: Encryption = None  # type: ignore[assignment]
    events: list[dict[str, Any]] = field(default_factory=list)

    async def log_in(self, device: str | None = None) -> None:
        who = {"type": "m.id.user", "user": self.user}
        body = {"type": "m.login.password", "identifier": who, "password": self.password}
        answer = await self.api.call(Endpoint.LOGIN, body=body | ({"device_id": device} if device else {}))
        self.api.use(answer["access_token"])
        self.device = answer["device_id"]
        self.open()

    def open(self) -> None:
        self.keys = Encryption.open(user_id=self.user, device_id=self.device, folder=self.folder)

    def restart(self) -> None:
        self.keys.close()
        self.open()
        self.since_restart = True

    since_restart: bool = True

    async def fetch(self) -> dict[str, Any]:
        query = {"timeout": "0"} | ({"since": self.since} if self.since else {})
        if self.since_restart:
            query["full_state"] = "true"
        return await self.api.call(Endpoint.SYNC, query=query)

    async def take(self, *, upkeep: bool = True) -> None:
        answer = await self.fetch()
        self.keys.take(answer)
        self.since, self.since_restart = answer["next_batch"], False
        for room, joined in answer.get("rooms", {}).get("join", {}).items():
            self.events += [{**event, "room_id": room} for event in joined["timeline"]["events"]]
        if upkeep:
            await self.keys.upkeep(self.api)

    async def room(self, *invite: "Device | str") -> str:
        ids = [one if isinstance(one, str) else one.user for one in invite]
        body = {"preset": "private_chat", "invite": ids, "initial_state": [ENCRYPTED]}
        room = (await self.ask("POST", "createRoom", body))["room_id"]
        for one in invite:
            if isinstance(one, Device):
                await one.api.call(Endpoint.JOIN, room)
                await one.take()
        await self.take()
        return room

    async def ask(self, method: str, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """A call that the channel never makes."""
        session = self.api._open()
        url = f"{self.api.homeserver}/_matrix/client/v3/{path}"
        async with session.request(method, url, json=body, headers=self.api._authorization) as answer:
            assert answer.status == 200, await answer.text()
            return await answer.json()

    async def say(self, room: str, text: str, **more: Any) -> str:
        return await self.send(room, {"msgtype": "m.text", "body": text, **more})

    async def send(self, room: str, content: dict[str, Any]) -> str:
        kind, sealed = await self.keys.encrypt(self.api, room, "m.room.message", content)
        assert kind == "m.room.encrypted"
        return (await self.api.call(Endpoint.SEND, room, kind, secrets.token_hex(8), body=sealed))["event_id"]

    def event(self, event_id: str) -> dict[str, Any]:
        return next(event for event in self.events if event["event_id"] == event_id)

    def read(self, event_id: str) -> str | None:
        clear = self.keys.decrypt(self.event(event_id))
        return None if clear is None else clear["content"]["body"]

    def key_of(self, event_id: str) -> str:
        return self.event(event_id)["content"]["session_id"]


@pytest.fixture
async def device(synapse, tmp_path):
    """Makes a login: of a new account, or a further one of an account."""
    numbers = itertools.count()
    opened = []

    async def make(name: str = "", *, of: Device | None = None) -> Device:
        user, password = (of.user, of.password) if of else await synapse.register(synapse.fresh(name))
        folder = tmp_path / f"keys-{next(numbers)}"
        made = Device(user=user, password=password, folder=folder, api=MatrixApi(homeserver=synapse.url))
        opened.append(made)
        await made.log_in()
        await made.take()
        return made

    yield make
    for one in opened:
        one.keys.close()
        await one.api.close()


@pytest.fixture
async def people(synapse, tmp_path):
    async with people_on(synapse, tmp_path) as people:
        yield people


async def test_two_devices_read_each_other_and_each_reads_itself(device):
    ann, bob = await device("ann"), await device("bob")
    room = await ann.room(bob)
    assert ann.keys.encrypted(room)
    assert bob.keys.encrypted(room)
    assert not bob.keys.encrypted("!other:localhost")
    first = await ann.say(room, "one")
    await bob.take()
    assert bob.keys.new_keys() == {room}
    assert bob.keys.new_keys() == frozenset()
    second = await bob.say(room, "two")
    third = await ann.say(room, "three")
    await ann.take()
    await bob.take()
    for who in (ann, bob):
        assert [who.read(event) for event in (first, second, third)] == ["one", "two", "three"]
    assert bob.keys.decrypt(bob.event(first)) == {
        "type": "m.room.message",
        "content": {"msgtype": "m.text", "body": "one"},
        "event_id": first,
        "sender": ann.user,
        "origin_server_ts": bob.event(first)["origin_server_ts"],
        "room_id": room,
    }


async def test_the_server_sees_no_word_and_the_relation_alone(device):
    ann, bob = await device("ann"), await device("bob")
    room = await ann.room(bob)
    first = await ann.say(room, "the price is 12")
    relation = {"rel_type": "m.replace", "event_id": first}
    edit = await ann.say(
        room,
        "* the price is 13",
        **{"m.new_content": {"msgtype": "m.text", "body": "the price is 13"}, "m.relates_to": relation},
    )
    await bob.take()
    raw = bob.event(edit)
    assert set(raw["content"]) == {"algorithm", "sender_key", "device_id", "session_id", "ciphertext", "m.relates_to"}
    assert raw["content"]["m.relates_to"] == relation
    clear = bob.keys.decrypt(raw)
    assert clear["content"]["m.new_content"]["body"] == "the price is 13"
    assert clear["content"]["m.relates_to"] == relation


async def test_the_relation_of_the_envelope_counts_where_the_message_names_none(device):
    ann, bob = await device("ann"), await device("bob")
    room = await ann.room(bob)
    root = await ann.say(room, "root")
    kind, sealed = await ann.keys.encrypt(ann.api, room, "m.room.message", {"msgtype": "m.text", "body": "x"})
    thread = {"rel_type": "m.thread", "event_id": root}
    sealed["m.relates_to"] = thread
    sent = (await ann.api.call(Endpoint.SEND, room, kind, "t", body=sealed))["event_id"]
    await bob.take()
    assert bob.keys.decrypt(bob.event(sent))["content"]["m.relates_to"] == thread


async def test_an_event_can_be_read_again_and_its_repetition_under_another_id_can_not(device):
    ann, bob = await device("ann"), await device("bob")
    room = await ann.room(bob)
    said = await ann.say(room, "approve")
    await bob.take()
    assert [bob.read(said), bob.read(said)] == ["approve", "approve"]
    again = {**bob.event(said), "event_id": "$again"}
    assert bob.keys.decrypt(again) is None
    bob.restart()
    assert bob.keys.decrypt(again) is None, "a restart forgets nothing"
    assert bob.read(said) == "approve"


async def test_what_was_kept_is_read_after_a_restart_and_writing_goes_on_before_the_first_sync(device):
    ann, bob = await device("ann"), await device("bob")
    room = await ann.room(bob)
    said = await ann.say(room, "before")
    await bob.take()
    fingerprint = bob.keys.fingerprint
    bob.restart()
    assert bob.keys.fingerprint == fingerprint
    assert bob.read(said) == "before"
    assert bob.keys.encrypted(room), "a server can't make it forget that a room is encrypted"
    answer = await bob.say(room, "after")
    await ann.take()
    assert ann.read(answer) == "after"
    later = await ann.say(room, "again")
    await bob.take()
    assert bob.read(later) == "again"


async def test_a_key_that_comes_later_opens_what_came_before_it(device):
    ann, bob = await device("ann"), await device("bob")
    room = await ann.room(bob)
    said = await ann.say(room, "hello")
    answer = await bob.fetch()
    messages = answer.pop("to_device")
    bob.keys.take(answer)
    bob.events += [{**e, "room_id": room} for e in answer["rooms"]["join"][room]["timeline"]["events"]]
    assert bob.read(said) is None
    assert bob.keys.new_keys() == frozenset()
    bob.keys.take({"to_device": messages})
    assert bob.keys.new_keys() == {room}
    assert bob.read(said) == "hello"


async def test_a_sync_that_is_taken_twice_does_no_harm_even_over_a_restart(device):
    ann, bob = await device("ann"), await device("bob")
    room = await ann.room(bob)
    first = await ann.say(room, "one")
    answer = await bob.fetch()
    bob.keys.take(answer)
    bob.keys.take(copy.deepcopy(answer))
    bob.restart()
    bob.keys.take(copy.deepcopy(answer))
    await bob.keys.upkeep(bob.api)
    assert not bob.keys._broken
    await bob.take()
    second = await ann.say(room, "two")
    await bob.take()
    assert [bob.read(first), bob.read(second)] == ["one", "two"]


async def test_a_full_disk_loses_no_key_the_same_sync_is_taken_once_there_is_room(device):
    ann, bob = await device("ann"), await device("bob")
    room = await ann.room(bob)
    said = await ann.say(room, "hello")
    answer = await bob.fetch()
    file = bob.keys._file
    (pages,) = file.execute("PRAGMA page_count").fetchone()
    file.execute("CREATE TABLE ballast (content BLOB)")
    file.execute(f"PRAGMA max_page_count = {pages + 40}")
    fill_up(file)
    messages = answer["to_device"]["events"]
    answer["to_device"]["events"] = [*messages, *({"type": "m.dummy", "number": n} for n in range(400))]
    with pytest.raises(StoreError, match="can't be written"):
        bob.keys.take(answer)
    bob.events += [{**e, "room_id": room} for e in answer["rooms"]["join"][room]["timeline"]["events"]]
    assert bob.read(said) is None
    file.execute("PRAGMA max_page_count = 1000000")
    bob.keys.take(answer)
    assert bob.read(said) == "hello"
    bob.restart()
    assert bob.read(said) == "hello"


def fill_up(file) -> None:
    """Leave no room for as much as a key."""
    for size in (1000, 100, 10):
        try:
            while True:
                file.execute("INSERT INTO ballast VALUES (?)", (b"x" * size,))
        except sqlite3.OperationalError:
            continue


async def test_malformed_pieces_stop_nothing_that_stands_beside_them(device):
    ann, bob = await device("ann"), await device("bob")
    room = await ann.room(bob)
    said = await ann.say(room, "hello")
    answer = await bob.fetch()
    (true,) = answer["to_device"]["events"]

    def changed(**content):
        return {**true, "content": {**true["content"], **content}}

    own = next(iter(true["content"]["ciphertext"]))
    garbage = [
        None,
        7,
        [],
        {},
        {"type": "m.room.encrypted"},
        {"type": "m.room.encrypted", "sender": 3, "content": []},
        {"type": "m.room_key", "sender": ann.user, "content": {"room_id": room}},
        {"type": "m.room_key_request", "sender": ann.user, "content": {"action": "request", "body": None}},
        {"type": "m.key.verification.start", "sender": ann.user, "content": {"method": 1}},
        {**true, "sender": "\ud800"},
        changed(ciphertext=None),
        changed(ciphertext={own: None}),
        changed(ciphertext={own: {"type": 0, "body": "AAAA"}}),
        changed(ciphertext={own: {"type": 1, "body": "not base64 ~~~"}}),
        changed(ciphertext={own: {"type": True, "body": "AAAA"}}),
        changed(ciphertext={own: {"type": 10**30, "body": "AAAA"}}),
        changed(sender_key="AAAA"),
        changed(sender_key="A" * 44),
        changed(sender_key=None),
    ]
    answer["to_device"]["events"] = [*garbage, true, {**true, "sender": "@mallory:localhost"}, *garbage]
    answer["device_lists"] = {"changed": [None, 3, ann.user, ["x"], "\ud800"], "left": "everybody"}
    answer["device_one_time_keys_count"] = {"signed_curve25519": "many"}
    joined = answer["rooms"]["join"]
    joined["!x:localhost"] = 3
    joined[room]["state"] = {"events": [None, {"type": "m.room.member"}, {"type": "m.room.member", "state_key": 4}, 7]}
    joined[room]["timeline"]["events"] += [{"type": "m.room.encryption", "state_key": "", "content": 3}, "x"]
    bob.keys.take(answer)
    bob.events += [
        {**e, "room_id": room} for e in joined[room]["timeline"]["events"] if isinstance(e, dict) and "event_id" in e
    ]
    assert bob.read(said) == "hello"
    for odd in ({}, {"rooms": []}, {"to_device": {"events": {}}}, {"rooms": {"join": {room: {"state": 3}}}}):
        bob.keys.take(odd)
    await bob.keys.upkeep(bob.api)
    back = await bob.say(room, "back")
    await ann.take()
    assert ann.read(back) == "back"


async def test_who_leaves_can_read_nothing_that_is_written_later(device):
    ann, bob, eve = await device("ann"), await device("bob"), await device("eve")
    room = await ann.room(bob, eve)
    await ann.take()
    both = await ann.say(room, "for both")
    await eve.take()
    assert eve.read(both) == "for both"
    await eve.api.call(Endpoint.LEAVE, room)
    await ann.take()
    after = await ann.say(room, "for bob")
    await bob.take()
    await eve.take()
    assert bob.read(after) == "for bob"
    assert bob.key_of(both) != bob.key_of(after)
    assert eve.keys.decrypt(bob.event(after)) is None
    assert eve.keys.new_keys() == {room}, "nothing but the first key came to her"


async def test_who_joins_reads_from_there_on_and_nothing_earlier(device):
    ann, bob, eve = await device("ann"), await device("bob"), await device("eve")
    room = await ann.room(bob)
    before = await ann.say(room, "before")
    await ann.ask("POST", f"rooms/{room}/invite", {"user_id": eve.user})
    await eve.api.call(Endpoint.JOIN, room)
    await ann.take()
    after = await ann.say(room, "after")
    await eve.take()
    await bob.take()
    assert [bob.read(before), bob.read(after)] == ["before", "after"]
    assert eve.read(after) == "after"
    assert eve.keys.decrypt(bob.event(before)) is None


async def test_a_new_device_gets_the_key_and_one_that_is_gone_the_next_one_no_more(device):
    ann, bob = await device("ann"), await device("bob")
    room = await ann.room(bob)
    await ann.say(room, "to one")
    phone = await device(of=bob)
    await ann.take()
    second = await ann.say(room, "to two")
    await phone.take()
    await bob.take()
    assert [phone.read(second), bob.read(second)] == ["to two", "to two"]
    await phone.api.call(Endpoint.LOGOUT)
    await ann.take()
    third = await ann.say(room, "to one again")
    await bob.take()
    assert bob.read(third) == "to one again"
    assert bob.key_of(third) != bob.key_of(second)


async def test_somebody_who_is_put_out_while_the_key_is_being_shared_gets_no_message_with_it(device, monkeypatch):
    ann, bob, eve = await device("ann"), await device("bob"), await device("eve")
    room = await ann.room(bob, eve)
    await ann.take()
    call = ann.api.call
    put_out = False

    async def meanwhile(endpoint, *parts, **more):
        nonlocal put_out
        answer = await call(endpoint, *parts, **more)
        if endpoint is Endpoint.TO_DEVICE and not put_out:
            put_out = True
            await eve.api.call(Endpoint.LEAVE, room)
            await ann.take(upkeep=False)
        return answer

    monkeypatch.setattr(ann.api, "call", meanwhile)
    said = await ann.say(room, "secret")
    await bob.take()
    await eve.take()
    assert put_out
    assert bob.read(said) == "secret"
    assert eve.keys.decrypt(bob.event(said)) is None


async def test_a_key_that_perhaps_arrived_is_not_used_after_its_owner_left(device, monkeypatch):
    ann, bob, eve = await device("ann"), await device("bob"), await device("eve")
    room = await ann.room(bob, eve)
    await ann.take()
    call = ann.api.call

    async def unheard(endpoint, *parts, **more):
        answer = await call(endpoint, *parts, **more)
        if endpoint is Endpoint.TO_DEVICE:
            raise RefusedError("TO_DEVICE", 502)
        return answer

    with monkeypatch.context() as patch:
        patch.setattr(ann.api, "call", unheard)
        with pytest.raises(CallError):
            await ann.say(room, "lost")
    await eve.api.call(Endpoint.LEAVE, room)
    await ann.take()
    said = await ann.say(room, "secret")
    await bob.take()
    await eve.take()
    assert bob.read(said) == "secret"
    assert eve.keys.new_keys() == {room}, "the first key did arrive"
    assert eve.keys.decrypt(bob.event(said)) is None


async def test_a_key_is_replaced_after_as_many_messages_as_the_room_wants(device):
    ann, bob = await device("ann"), await device("bob")
    room = await ann.room(bob)
    await ann.ask(
        "PUT",
        f"rooms/{room}/state/m.room.encryption/",
        {"algorithm": MEGOLM, "rotation_period_msgs": 2},
    )
    await ann.take()
    said = [await ann.say(room, str(number)) for number in range(5)]
    await bob.take()
    assert [bob.read(one) for one in said] == list("01234")
    assert len({bob.key_of(one) for one in said}) == 3


async def test_a_member_can_neither_pass_off_a_message_as_theirs_nor_block_its_key(device):
    ann, bob, eve = await device("ann"), await device("bob"), await device("eve")
    room = await ann.room(bob, eve)
    await ann.take()
    said = await ann.say(room, "approve 7")
    await eve.take()
    await eve.take()
    # Eve has the key; she passes it to Bob as hers, before the true one reaches him, and repeats the message as hers.
    [key] = eve.keys._keyring._keys(room, eve.key_of(said))
    exported = eve.keys._file.execute("SELECT pickle FROM room_keys").fetchone()
    assert exported is not None
    assert key.user_id == ann.user
    shared = ann.keys._sharing._shares[room].writer.session_key.to_base64()
    content = {"algorithm": MEGOLM, "room_id": room, "session_id": eve.key_of(said), "session_key": shared}
    await eve.keys._calls.ask(eve.api, eve.keys._own)
    [target] = eve.keys._devices.of([bob.user])
    await eve.keys._calls.claim(eve.api, [target])
    sealed = eve.keys._channels.seal(target, "m.room_key", content)
    bob_sync = await bob.fetch()
    false = {"type": "m.room.encrypted", "sender": eve.user, "content": sealed}
    bob.keys.take({"to_device": {"events": [false]}})
    bob.keys.take(bob_sync)
    bob.events += [{**e, "room_id": room} for e in bob_sync["rooms"]["join"][room]["timeline"]["events"]]
    event = bob.event(said)
    assert bob.keys.decrypt({**event, "sender": eve.user, "event_id": "$hers"}) is None
    assert bob.read(said) == "approve 7"
    assert bob.keys.decrypt({**event, "room_id": "!other:localhost"}) is None


async def test_who_can_be_reached_by_no_one_time_key_holds_nobody_up_and_gets_the_key_later(device, monkeypatch):
    ann, bob, eve = await device("ann"), await device("bob"), await device("eve")
    room = await ann.room(bob, eve)
    await ann.take()
    await ann.ask("POST", "keys/claim", {"one_time_keys": {}})
    for _ in range(50):  # all that Eve has put on the server
        body = {"one_time_keys": {eve.user: {eve.device: "signed_curve25519"}}}
        await ann.api.call(Endpoint.KEYS_CLAIM, body=body)
    first = await ann.say(room, "one")
    await bob.take()
    assert bob.read(first) == "one"
    await eve.take()
    assert eve.read(first) is None
    ann.keys._calls._later.clear()  # ten minutes later
    second = await ann.say(room, "two")
    await eve.take()
    assert eve.read(second) == "two"


async def test_a_broken_channel_is_mended(device):
    ann, bob = await device("ann"), await device("bob")
    room = await ann.room(bob)
    await ann.say(room, "one")
    await bob.take()
    bob.keys._file.execute("DELETE FROM channels")  # what Ann sends through it can't be read any more
    bob.keys._channels.reload()
    await bob.take()
    ann.keys._sharing._shares.clear()
    lost = await ann.say(room, "lost")
    await bob.take()
    assert bob.read(lost) is None
    await ann.take()  # the empty message through a new channel
    ann.keys._sharing._shares.clear()
    again = await ann.say(room, "again")
    await bob.take()
    assert bob.read(again) == "again"


async def test_one_time_keys_are_replenished(device):
    ann, bob = await device("ann"), await device("bob")
    for _ in range(30):
        body = {"one_time_keys": {bob.user: {bob.device: "signed_curve25519"}}}
        await ann.api.call(Endpoint.KEYS_CLAIM, body=body)
    await bob.take()
    answer = await bob.fetch()
    assert answer["device_one_time_keys_count"]["signed_curve25519"] == 50


async def test_an_upload_whose_answer_was_lost_is_made_again_with_the_same_keys(device, synapse, tmp_path, monkeypatch):
    user, password = await synapse.register(synapse.fresh("cut"))
    cut = Device(user=user, password=password, folder=tmp_path / "cut", api=MatrixApi(homeserver=synapse.url))
    await cut.log_in()
    call = cut.api.call

    async def unheard(endpoint, *parts, **more):
        answer = await call(endpoint, *parts, **more)
        if endpoint is Endpoint.KEYS_UPLOAD:
            raise RefusedError("KEYS_UPLOAD", 502)
        return answer

    with monkeypatch.context() as patch:
        patch.setattr(cut.api, "call", unheard)
        with pytest.raises(RefusedError):
            await cut.take()
    cut.restart()
    await cut.take()
    ann = await device("ann")
    room = await ann.room(cut)
    said = await ann.say(room, "hello")
    await cut.take()
    assert cut.read(said) == "hello"
    cut.keys.close()
    await cut.api.close()


async def test_a_lost_store_with_the_old_device_is_refused_and_the_mend_is_said(device):
    ann = await device("ann")
    ann.keys.close()
    ann.folder = ann.folder.with_name("empty")
    ann.open()
    with pytest.raises(ChannelError, match="discreet matrix login"):
        await ann.take()
    kept = await ann.api.call(Endpoint.KEYS_QUERY, body={"device_keys": {ann.user: [ann.device]}})
    keys = kept["device_keys"][ann.user][ann.device]["keys"]
    assert keys[f"ed25519:{ann.device}"] != ann.keys.fingerprint, "the device on the server is as it was"


async def test_an_old_copy_of_the_store_is_refused_and_the_mend_is_said(device, tmp_path):
    ann, bob = await device("ann"), await device("bob")
    ann.keys.close()
    old = (ann.folder / "crypto.db").read_bytes()
    ann.open()

    async def use_up() -> None:
        for _ in range(40):
            body = {"one_time_keys": {ann.user: {ann.device: "signed_curve25519"}}}
            await bob.api.call(Endpoint.KEYS_CLAIM, body=body)

    await use_up()
    await ann.take()
    ann.keys.close()
    (ann.folder / "crypto.db").write_bytes(old)
    ann.open()
    for _ in range(30):
        body = {"one_time_keys": {ann.user: {ann.device: "signed_curve25519"}}}
        await bob.api.call(Endpoint.KEYS_CLAIM, body=body)
    with pytest.raises(ChannelError, match="discreet matrix login"):
        await ann.take()


async def test_a_file_reaches_the_room_encrypted_and_is_read_back(device):
    ann, bob = await device("ann"), await device("bob")
    room = await ann.room(bob)
    content = secrets.token_bytes(100_000)
    sealed, described = encrypt_file(content)
    place = await ann.api.upload(sealed, media_type="application/octet-stream", name=None)
    said = await ann.send(room, {"msgtype": "m.file", "body": "a.bin", "file": {**described, "url": place}})
    await bob.take()
    file = bob.keys.decrypt(bob.event(said))["content"]["file"]
    stored = await bob.api.download(file["url"], limit_bytes=1_000_000)
    assert content not in stored
    assert decrypt_file(stored, file) == content


async def test_a_client_with_another_implementation_reads_us_and_we_read_it(device, people):
    nia = await people("nia")
    bot = await device("bot")
    room = await nia.room(bot.user, encrypted=True)
    await bot.api.call(Endpoint.JOIN, room)
    await bot.take()
    await nia.member(room, bot.user)
    first = await nia.say(room, "hello")
    edit = await nia.say(room, "hello again", edit=first)
    thread = await nia.say(room, "in a thread", thread=first)
    content = b"some text"
    sent = await nia.send_file(room, content)
    await nia.caught_up(room)
    await bot.take()
    assert bot.read(first) == "hello"
    assert bot.keys.decrypt(bot.event(edit))["content"]["m.new_content"]["body"] == "hello again"
    assert bot.keys.decrypt(bot.event(thread))["content"]["m.relates_to"]["rel_type"] == "m.thread"
    file = bot.keys.decrypt(bot.event(sent))["content"]["file"]
    assert decrypt_file(await bot.api.download(file["url"], limit_bytes=1000), file) == content

    mine = await bot.say(room, "good day")
    relation = {"rel_type": "m.replace", "event_id": mine}
    new = {"msgtype": "m.text", "body": "good evening"}
    await bot.say(room, "* good evening", **{"m.new_content": new, "m.relates_to": relation})
    sealed, described = encrypt_file(b"a file of ours")
    place = await bot.api.upload(sealed, media_type="application/octet-stream", name=None)
    await bot.send(room, {"msgtype": "m.file", "body": "b.txt", "file": {**described, "url": place}})
    heard = await nia.hears(room, bot.user, 3)
    assert [event["content"]["body"] for event in heard] == ["good day", "* good evening", "b.txt"]
    assert heard[1]["content"]["m.relates_to"] == relation
    assert await nia.fetch(heard[2]) == b"a file of ours"


async def test_a_key_that_another_implementation_sends_late_opens_its_message(device, people):
    nia = await people("nia")
    bot = await device("bot")
    room = await nia.room(bot.user, encrypted=True)
    await bot.api.call(Endpoint.JOIN, room)
    await bot.take()
    await nia.member(room, bot.user)
    share = await nia.keep_key(room)
    said = await nia.say(room, "early")
    await bot.take()
    assert bot.read(said) is None
    await share()
    await bot.take()
    assert bot.keys.new_keys() == {room}
    assert bot.read(said) == "early"


async def test_a_member_of_another_implementation_who_leaves_gets_no_later_key(device, people):
    nia, ole = await people("nia"), await people("ole")
    bot = await device("bot")
    room = await nia.room(bot.user, ole.id, encrypted=True)
    await bot.api.call(Endpoint.JOIN, room)
    await ole.join(room)
    await bot.take()
    await bot.say(room, "to both")
    await nia.hears(room, bot.user)
    await ole.hears(room, bot.user)
    await nia.kick(room, ole.id)
    await bot.take()
    await bot.say(room, "to one")
    heard = await nia.hears(room, bot.user, 2)
    assert [event["content"]["body"] for event in heard] == ["to both", "to one"]
    keys = list(ole.client.olm.inbound_group_store._entries[room].values())
    assert sum(len(by_id) for by_id in keys) == 1, "the first key and no other"


async def test_the_server_is_told_nothing_that_gives_a_key_away(device, synapse):
    """What leaves: no key in the clear, and no answer to whoever asks for one."""
    ann, bob = await device("ann"), await device("bob")
    room = await ann.room(bob)
    said = await ann.say(room, "hello")
    await bob.take()
    request = {
        "action": "request",
        "request_id": "1",
        "requesting_device_id": bob.device,
        "body": {"algorithm": MEGOLM, "room_id": room, "session_id": bob.key_of(said), "sender_key": "x"},
    }
    messages = {"messages": {ann.user: {"*": request}}}
    await bob.api.call(Endpoint.TO_DEVICE, "m.room_key_request", "1", body=messages)
    await ann.take()
    answer = await bob.fetch()
    assert "to_device" not in answer or not answer["to_device"]["events"]


async def test_nothing_is_encrypted_for_a_room_that_is_not_known_to_be_encrypted(device):
    ann = await device("ann")
    with pytest.raises(ChannelError, match="not known"):
        await ann.keys.encrypt(ann.api, "!nowhere:localhost", "m.room.message", {})


async def test_content_that_is_no_json_is_refused_and_uses_up_no_key(device):
    ann, bob = await device("ann"), await device("bob")
    room = await ann.room(bob)
    for content in ({"body": "\ud800"}, {"body": float("nan")}, {"body": {1, 2}}):
        with pytest.raises(ChannelError) as told:
            await ann.keys.encrypt(ann.api, room, "m.room.message", content)
        assert "ud800" not in str(told.value)
    assert json.dumps(await ann.fetch())
    assert not ann.keys._sharing._shares
