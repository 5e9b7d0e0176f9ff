"""The pieces of encryption, without a server: what is believed, what is kept, and what is dropped."""

import ast
import base64
import logging
import stat
import subprocess
import sys
from pathlib import Path

import pytest
import vodozemac
from hypothesis import given
from hypothesis import strategies as st
from nio.crypto import decrypt_attachment, encrypt_attachment

from bot.channels.matrix.keys.attachments import decrypt_file, encrypt_file
from bot.channels.matrix.keys.devices import Devices, canonical, signed_by
from bot.channels.matrix.keys.encryption import Encryption
from bot.channels.matrix.keys.keyfile import KeyFile
from bot.channels.matrix.keys.keyring import Keyring
from bot.channels.matrix.keys.memberships import Memberships
from bot.model.errors import ChannelError, StoreError

MEGOLM = "m.megolm.v1.aes-sha2"
ROOM, ANN, BOB, EVE = "!r:x", "@ann:x", "@bob:x", "@eve:x"
CHANNELS = Path(__file__).parents[4] / "bot" / "channels"

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@pytest.fixture
def file(tmp_path):
    file = KeyFile(tmp_path / "account")
    yield file
    file.close()


@pytest.fixture
def encryption(tmp_path):
    encryption = Encryption.open(user_id=ANN, device_id="A", folder=tmp_path / "account")
    yield encryption
    encryption.close()


# files


def test_a_file_comes_back_as_it_was():
    for content in (b"", b"x", bytes(range(256)) * 1000):
        sealed, file = encrypt_file(content)
        assert decrypt_file(sealed, file) == content
        assert len(sealed) == len(content)


def test_another_implementation_opens_our_files_and_we_open_theirs():
    content = b"some words" * 1000
    sealed, file = encrypt_file(content)
    assert decrypt_attachment(sealed, file["key"]["k"], file["hashes"]["sha256"], file["iv"]) == content
    theirs, described = encrypt_attachment(content)
    assert decrypt_file(theirs, described) == content


def test_each_file_has_a_key_of_its_own():
    (one, first), (two, second) = encrypt_file(b"same"), encrypt_file(b"same")
    assert one != two
    assert first["key"]["k"] != second["key"]["k"]
    assert first["iv"] != second["iv"]


def test_a_file_that_was_changed_is_refused():
    sealed, file = encrypt_file(b"content")
    with pytest.raises(ChannelError, match="not the file"):
        decrypt_file(sealed[:-1] + b"x", file)


@given(
    st.sampled_from([("v",), ("key",), ("iv",), ("hashes",), ("key", "k"), ("key", "alg"), ("hashes", "sha256")]),
    JSON | st.text("ABC+/-_=", max_size=70),
)
def test_a_malformed_description_is_a_channel_error_and_nothing_else(place, value):
    sealed, file = encrypt_file(b"content")
    inner = file if len(place) == 1 else file[place[0]]
    before = inner[place[-1]]
    inner[place[-1]] = value
    if value != before:
        with pytest.raises(ChannelError):
            decrypt_file(sealed, file)


def test_a_counter_at_its_end_goes_on_as_it_does_elsewhere():
    sealed, file = encrypt_file(b"x" * 100)
    file["iv"] = base64.b64encode(b"\xff" * 16).decode().rstrip("=")
    theirs = decrypt_attachment(sealed, file["key"]["k"], file["hashes"]["sha256"], file["iv"])
    assert decrypt_file(sealed, file) == theirs


# the file of keys


def test_the_keys_are_private_to_their_owner(tmp_path):
    folder = tmp_path / "deep" / "account"
    encryption = Encryption.open(user_id=ANN, device_id="A", folder=folder)
    encryption.take({"to_device": {"events": [{"type": "x"}]}})
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    files = {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}
    assert set(files) >= {"crypto.db", "crypto.lock"}
    assert set(files.values()) == {0o600}
    encryption.close()


def test_a_folder_that_was_open_to_others_is_closed(tmp_path):
    (tmp_path / "crypto.db").touch(0o644)
    tmp_path.chmod(0o755)
    Encryption.open(user_id=ANN, device_id="A", folder=tmp_path).close()
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "crypto.db").stat().st_mode) == 0o600


def test_a_second_process_is_held_off_with_clear_words(encryption, tmp_path):
    with pytest.raises(ChannelError, match="stop it first"):
        Encryption.open(user_id=ANN, device_id="A", folder=tmp_path / "account")
    encryption.close()
    encryption.close()
    Encryption.open(user_id=ANN, device_id="A", folder=tmp_path / "account").close()


@pytest.mark.parametrize(
    "spoil",
    [
        lambda folder: (folder / "crypto.db").write_bytes(b"this is no database" * 100),
        lambda folder: (folder / "crypto.db").unlink() or (folder / "crypto.db").mkdir(),
        lambda folder: (folder / "crypto.db").unlink() or (folder / "crypto.db").symlink_to("/etc/hostname"),
    ],
)
def test_a_file_that_cant_be_read_is_a_channel_error_without_paths(tmp_path, spoil):
    Encryption.open(user_id=ANN, device_id="A", folder=tmp_path).close()
    for path in tmp_path.glob("crypto.db-*"):
        path.unlink()
    spoil(tmp_path)
    with pytest.raises(ChannelError, match="discreet matrix login") as told:
        Encryption.open(user_id=ANN, device_id="A", folder=tmp_path)
    assert str(tmp_path) not in str(told.value)
    assert told.value.__cause__ is None
    assert told.value.__context__ is None


def test_a_spoiled_key_or_a_later_version_is_a_channel_error(tmp_path):
    encryption = Encryption.open(user_id=ANN, device_id="A", folder=tmp_path)
    encryption._file.execute("UPDATE accounts SET pickle = 'xxxx'")
    encryption.close()
    with pytest.raises(ChannelError, match="can't be read"):
        Encryption.open(user_id=ANN, device_id="A", folder=tmp_path)
    file = KeyFile(tmp_path)
    file.execute("PRAGMA user_version = 99")
    file.close()
    with pytest.raises(ChannelError, match="can't be read"):
        KeyFile(tmp_path)


def test_a_new_login_gets_new_keys_and_reads_what_the_old_one_could(tmp_path):
    writer = vodozemac.GroupSession()
    first = Encryption.open(user_id=ANN, device_id="A", folder=tmp_path)
    give(first, writer, BOB)
    event = sealed(writer, {"body": "old"})
    fingerprint = first.fingerprint
    first.close()
    second = Encryption.open(user_id=ANN, device_id="B", folder=tmp_path)
    assert second.fingerprint != fingerprint
    assert second.decrypt(event)["content"] == {"body": "old"}
    second.close()
    first = Encryption.open(user_id=ANN, device_id="A", folder=tmp_path)
    assert first.fingerprint == fingerprint
    first.close()


def test_a_transaction_is_all_or_nothing(file):
    told = []
    file.execute("CREATE TABLE t (x)")
    file.rolled_back.append(lambda: told.append("back"))

    def write(number, then):
        with file.transaction():
            file.execute("INSERT INTO t VALUES (?)", (number,))
            with file.transaction():
                then()

    with pytest.raises(StoreError) as error:
        write(1, lambda: file.execute("INSERT INTO nowhere VALUES (1)"))
    assert error.value.passing
    assert error.value.__suppress_context__
    with pytest.raises(KeyError):
        write(2, lambda: {}["x"])
    assert told == ["back", "back"]
    with file.transaction():
        file.execute("INSERT INTO t VALUES (3)")
    assert file.execute("SELECT x FROM t").fetchall() == [(3,)]


# room keys


def give(to, writer, user, *, sender_key="C", room=ROOM, fingerprint="F"):
    keyring = to._keyring if isinstance(to, Encryption) else to
    return keyring.add(
        room_id=room,
        key_id=writer.session_id,
        secret=writer.session_key.to_base64(),
        user_id=user,
        sender_key=sender_key,
        fingerprint=fingerprint,
    )


def sealed(writer, content, *, room=ROOM, sender=BOB, event_id="$1", kind="m.room.message", inner=None):
    clear = {"type": kind, "content": content, "room_id": room} if inner is None else inner
    return {
        "type": "m.room.encrypted",
        "room_id": room,
        "sender": sender,
        "event_id": event_id,
        "origin_server_ts": 5,
        "content": {
            "algorithm": MEGOLM,
            "session_id": writer.session_id,
            "ciphertext": writer.encrypt(canonical(clear)).to_base64(),
        },
    }


def test_a_key_reads_what_its_sender_wrote_for_its_room_and_nothing_else(encryption):
    writer = vodozemac.GroupSession()
    give(encryption, writer, BOB)
    event = sealed(writer, {"body": "x"})
    assert encryption.decrypt(event) == {
        "type": "m.room.message",
        "content": {"body": "x"},
        "event_id": "$1",
        "sender": BOB,
        "origin_server_ts": 5,
        "room_id": ROOM,
    }
    assert encryption.decrypt({**event, "sender": EVE}) is None
    assert encryption.decrypt({**event, "room_id": "!other:x"}) is None
    assert encryption.decrypt({**event, "state_key": ""}) is None
    assert encryption.decrypt({**event, "type": "m.room.message"}) is None
    assert encryption.decrypt({name: value for name, value in event.items() if name != "room_id"}) is None


@pytest.mark.parametrize(
    "inner",
    [
        {"type": "m.room.message", "content": {"body": "x"}},
        {"type": "m.room.message", "content": {"body": "x"}, "room_id": "!other:x"},
        {"type": "m.room.message", "content": "x", "room_id": ROOM},
        {"type": 3, "content": {}, "room_id": ROOM},
        {"type": "m.room.redaction", "content": {"redacts": "$0"}, "room_id": ROOM},
        {"type": "m.room.encrypted", "content": {"algorithm": MEGOLM}, "room_id": ROOM},
        {},
    ],
)
def test_what_is_no_message_of_this_room_inside_is_not_read(encryption, inner):
    writer = vodozemac.GroupSession()
    give(encryption, writer, BOB)
    assert encryption.decrypt(sealed(writer, {}, inner=inner)) is None


def test_a_key_of_another_persons_device_is_not_believed(encryption):
    writer = vodozemac.GroupSession()
    give(encryption, writer, BOB, sender_key="C", fingerprint="F")
    event = sealed(writer, {"body": "x"})
    assert encryption.decrypt(event), "whose device it is, is not known"
    own(encryption._devices, EVE, curve="C")
    assert encryption.decrypt(event) is None, "it is known to be another person's"
    own(encryption._devices, BOB, curve="C", fingerprint="G")
    assert encryption.decrypt(event) is None, "of this person, but it signs with another key"
    own(encryption._devices, BOB, curve="C", fingerprint="F", device="B2")
    assert encryption.decrypt(event)


def own(devices, user, *, curve, fingerprint="F", device="B"):
    devices._file.execute(
        "INSERT OR REPLACE INTO known_devices VALUES (?, ?, ?, ?, 0)", (user, device, curve, fingerprint)
    )
    devices.reload()


def test_somebody_elses_copy_of_a_key_neither_replaces_nor_blocks_the_true_one(encryption):
    writer = vodozemac.GroupSession()
    give(encryption, writer, EVE, sender_key="E")
    event = sealed(writer, {"body": "x"})
    assert encryption.decrypt(event) is None
    writer_now = vodozemac.GroupSession()
    assert not encryption._keyring.add(
        room_id=ROOM,
        key_id=writer.session_id,
        secret=writer_now.session_key.to_base64(),
        user_id=BOB,
        sender_key="C",
        fingerprint="F",
    ), "it is not the key of this id"
    give(encryption, writer, BOB)
    assert encryption.decrypt(event) is None, "this copy begins after the message"
    second = sealed(writer, {"body": "y"}, event_id="$2")
    assert encryption.decrypt(second)["content"] == {"body": "y"}


def test_a_copy_that_begins_earlier_replaces_and_one_that_begins_later_does_not(file):
    keyring = Keyring(file)
    writer = vodozemac.GroupSession()
    early = writer.session_key.to_base64()
    writer.encrypt(b"x")
    values = {"room_id": ROOM, "key_id": writer.session_id, "user_id": BOB, "sender_key": "C", "fingerprint": "F"}
    assert keyring.add(secret=writer.session_key.to_base64(), **values)
    [key] = keyring.find(ROOM, writer.session_id, BOB)
    assert key.reader.first_known_index == 1
    assert keyring.add(secret=early, **values)
    assert not keyring.add(secret=writer.session_key.to_base64(), **values)
    assert not keyring.add(secret=early, **values)
    for ring in (keyring, Keyring(file)):
        [key] = ring.find(ROOM, writer.session_id, BOB)
        assert key.reader.first_known_index == 0


def test_a_place_in_the_count_of_a_key_belongs_to_one_event_also_after_a_restart(file):
    keyring = Keyring(file)
    writer = vodozemac.GroupSession()
    give(keyring, writer, BOB)
    [key] = keyring.find(ROOM, writer.session_id, BOB)
    assert keyring.claim(key, 0, "$1")
    assert keyring.claim(key, 0, "$1")
    assert not keyring.claim(key, 0, "$2")
    keyring.write_down()
    assert keyring.unwritten == 0
    again = Keyring(file)
    assert again.claim(key, 0, "$1")
    assert not again.claim(key, 0, "$2")
    assert again.claim(key, 1, "$2")


def test_what_was_read_is_written_down_in_time(encryption):
    writer = vodozemac.GroupSession()
    give(encryption, writer, BOB)
    for number in range(200):
        assert encryption.decrypt(sealed(writer, {}, event_id=f"${number}"))
    assert encryption._keyring.unwritten < 64
    encryption.take({})
    assert encryption._keyring.unwritten == 0


@given(st.dictionaries(st.sampled_from(["algorithm", "session_id", "ciphertext", "m.relates_to"]), JSON), JSON)
def test_no_event_makes_reading_raise(content, odd):
    encryption = _shared()
    for event in (
        {"content": content},
        {**_EVENT, "content": content},
        {**_EVENT, "content": {**_EVENT["content"], **content}},
        *({**_EVENT, name: odd} for name in ("room_id", "sender", "event_id", "content", "type")),
    ):
        encryption.decrypt(event)
    encryption.take({"rooms": odd, "to_device": odd, "device_lists": odd, "device_one_time_keys_count": odd})
    encryption.take({"rooms": {"join": {ROOM: {"state": {"events": [odd]}, "timeline": {"events": [content]}}}}})
    encryption.take({"to_device": {"events": [odd, {"type": "m.room.encrypted", "sender": BOB, "content": content}]}})


_WRITER = vodozemac.GroupSession()
_EVENT = sealed(_WRITER, {"body": "x"})
_opened: list[Encryption] = []


def _shared() -> Encryption:
    return _opened[0]


@pytest.fixture(scope="module", autouse=True)
def shared(tmp_path_factory):
    _opened.append(Encryption.open(user_id=ANN, device_id="A", folder=tmp_path_factory.mktemp("keys")))
    give(_opened[0], _WRITER, BOB)
    yield
    _opened.pop().close()


# devices


def described(user=BOB, device="B", account=None, **changes):
    account = account or vodozemac.Account()
    keys = {
        f"curve25519:{device}": account.curve25519_key.to_base64(),
        f"ed25519:{device}": account.ed25519_key.to_base64(),
    }
    told = {"user_id": user, "device_id": device, "algorithms": [MEGOLM], "keys": keys, **changes}
    signature = account.sign(canonical(told)).to_base64()
    return {**told, "signatures": {user: {f"ed25519:{device}": signature}}, "unsigned": {"device_display_name": "x"}}


def test_a_device_counts_if_it_signed_its_own_description(file):
    devices = Devices(file)
    devices.learn(BOB, {"B": described(), "B2": described(), "B3": described(device="B3", user=EVE)})
    assert [device.device_id for device in devices.of([BOB])] == ["B"]
    changed = {**described(device="B4"), "algorithms": []}
    devices.learn(BOB, {"B4": changed})
    assert devices.of([BOB]) == []


def test_a_device_that_changes_its_signing_key_is_dropped_and_one_that_was_missing_may_come_back(file):
    devices = Devices(file)
    account = vodozemac.Account()
    devices.learn(BOB, {"B": described(account=account)})
    [first] = devices.of([BOB])
    devices.learn(BOB, {"B": described()})
    assert devices.of([BOB]) == []
    assert devices.disowned(EVE, first.curve25519, first.ed25519), "what it sent stays its owner's"
    assert not devices.disowned(BOB, first.curve25519, first.ed25519)
    for later in (devices, Devices(file)):
        assert later.of([BOB]) == []
        later.learn(BOB, {"B": described(account=account)})
        assert later.of([BOB]) == [first]
        later.learn(BOB, {})


@pytest.mark.parametrize("size", [0, 1, 31, 33, 64])
def test_a_key_of_a_wrong_length_is_no_key(file, size):
    """One of 33 bytes makes the library panic, which no ``except Exception`` would catch."""
    key = base64.b64encode(bytes(range(size))).decode().rstrip("=")
    devices = Devices(file)
    for kind in ("ed25519", "curve25519"):
        told = described()
        told["keys"][f"{kind}:B"] = key
        devices.learn(BOB, {"B": told})
    assert devices.of([BOB]) == []
    assert not signed_by(described(), BOB, "B", key)


@given(JSON, JSON, JSON)
def test_no_description_makes_learning_raise(odd, keys, signatures):
    devices = _shared()._devices
    told = described()
    for description in (odd, {**told, "keys": keys}, {**told, "signatures": signatures}, {**told, "more": odd}):
        devices.learn(BOB, {"B": description})


def test_watched_users_are_asked_about_once_and_again_when_something_changed(file):
    now = [0.0]
    devices = Devices(file, clock=lambda: now[0])
    devices.watch(frozenset({ANN, BOB}))
    assert devices.stale() == [ANN, BOB]
    assert devices.stale([BOB, EVE]) == [BOB]
    devices.asking([ANN, BOB])
    assert devices.stale() == []
    devices.doubt(BOB)
    devices.doubt(EVE)
    assert devices.stale() == [BOB], "a change during the question is asked about again"
    devices.asking([BOB])
    devices.unanswered([BOB], soon=False)
    assert devices.stale() == []
    now[0] = 601.0
    assert devices.stale() == [BOB]
    devices.watch(frozenset({ANN}))
    assert devices.stale() == []
    devices.watch(frozenset({ANN, BOB}))
    assert devices.stale() == [BOB]


# members


def told(*events, section="state", room=ROOM):
    return {"rooms": {"join": {room: {section: {"events": list(events)}}}}}


def member(user, membership):
    return {"type": "m.room.member", "state_key": user, "content": {"membership": membership}}


def encryption_event(**content):
    return {"type": "m.room.encryption", "state_key": "", "content": content}


def test_readers_are_who_joined_and_who_may_read_as_invited():
    rooms = Memberships()
    assert rooms.readers(ROOM) is None
    rooms.take(told(member(ANN, "join"), member(BOB, "invite"), member(EVE, "join")))
    assert rooms.readers(ROOM) == {ANN, BOB, EVE}
    visibility = {"type": "m.room.history_visibility", "state_key": "", "content": {"history_visibility": "joined"}}
    rooms.take(told(visibility))
    assert rooms.readers(ROOM) == {ANN, EVE}
    for gone in ("leave", "ban", "knock", None, 3):
        rooms.take(told(member(EVE, "join"), section="timeline"))
        assert EVE in rooms.readers(ROOM)
        rooms.take(told(member(EVE, gone), section="timeline"))
        assert rooms.readers(ROOM) == {ANN}
    rooms.take({"rooms": {"leave": {ROOM: {}}}})
    assert rooms.readers(ROOM) is None


def test_the_timeline_has_the_last_word_over_the_state_before_it():
    rooms = Memberships()
    sync = told(member(ANN, "join"), member(EVE, "join"))
    sync["rooms"]["join"][ROOM]["timeline"] = {"events": [member(EVE, "leave")]}
    rooms.take(sync)
    assert rooms.readers(ROOM) == {ANN}


@pytest.mark.parametrize("content", [{"algorithm": MEGOLM}, {}, {"algorithm": None}, {"algorithm": "m.other"}])
def test_a_room_that_was_encrypted_stays_so(content):
    rooms = Memberships()
    rooms.take(told(encryption_event(**content), member(ANN, "join")))
    assert rooms.encrypted(ROOM)
    assert rooms.foreign(ROOM) is (content.get("algorithm") == "m.other")
    rooms.take(told({"type": "m.room.encryption", "state_key": "", "content": None}))
    rooms.take({"rooms": {"leave": {ROOM: {}}}})
    assert rooms.encrypted(ROOM)
    assert rooms.watched() == frozenset()
    assert not rooms.encrypted("!other:x")


def test_the_first_algorithm_of_a_room_holds():
    rooms = Memberships()
    rooms.take(told(encryption_event(algorithm=MEGOLM), encryption_event(algorithm="m.other")))
    assert not rooms.foreign(ROOM)


def test_an_encryption_event_of_a_person_or_without_state_key_says_nothing():
    rooms = Memberships()
    rooms.take(told({"type": "m.room.encryption", "content": {}}, {**encryption_event(), "state_key": ANN}))
    assert not rooms.encrypted(ROOM)


def test_rotation_is_what_the_room_wants_within_reason():
    rooms = Memberships()
    assert rooms.rotation(ROOM) == (100, 604_800.0)
    for wanted, got in ((5, 5), (0, 1), (-3, 1), (10**9, 10_000), ("7", 100), (True, 100), (None, 100)):
        rooms.take(told(encryption_event(algorithm=MEGOLM, rotation_period_msgs=wanted, rotation_period_ms=1)))
        assert rooms.rotation(ROOM) == (got, 3600.0)


# what stands around it


def test_nio_is_imported_in_one_module_and_says_nothing():
    importing = {
        path.name
        for path in CHANNELS.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if (isinstance(node, ast.Import) and any(alias.name.split(".")[0] == "nio" for alias in node.names))
        or (isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "nio")
    }
    assert importing == {"olm.py"}
    for name in ("nio", "nio.crypto.log", "nio.store.log"):
        assert not logging.getLogger(name).isEnabledFor(logging.CRITICAL)


def test_files_are_encrypted_without_loading_the_rest():
    code = "import sys, bot.channels.matrix.keys.attachments; print('nio' in sys.modules, 'vodozemac' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.split() == ["False", "False"]


def test_signatures_are_of_the_device(encryption):
    key = vodozemac.Ed25519PublicKey.from_base64(encryption.fingerprint)
    key.verify_signature(b"words", vodozemac.Ed25519Signature.from_base64(encryption.sign(b"words")))
    assert "=" not in encryption.fingerprint + encryption.sign(b"words")
    assert (encryption.user_id, encryption.device_id) == (ANN, "A")
    assert encryption.fingerprint not in repr(encryption)
