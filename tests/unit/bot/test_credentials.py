"""The file of keys: what is in it, who could have written it, and what it limits."""

import json
import os
import stat
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bot.config.credentials import MOST, OF_AGENTS, Credentials, KeyRing, Scope, digest_of
from bot.config.errors import ConfigError
from bot.config.secret import Secret
from policy.destination import parse_destination

NOW = datetime(2026, 6, 1, tzinfo=UTC)
ROOM, TOPIC, ELSEWHERE = (
    parse_destination(f"telegram:7001:{tail}") for tail in ("-1001000000001", "-1001000000001:42", "-1001000000002")
)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "keys.json"


def made(path, name="main", *, scopes=OF_AGENTS, principals=None, destinations=None):
    return Credentials(path).add(name, scopes=scopes, principals=principals, destinations=destinations, now=NOW)


def test_a_key_is_kept_as_a_digest_that_only_its_owner_can_read(path):
    one, key = made(path, principals=["ann"], destinations=[str(ROOM)])

    assert key.reveal() not in path.read_text()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert Credentials(path).check() == (one,)
    assert one.digest == digest_of(key.reveal())
    assert len(key.reveal()) >= 43
    assert key.reveal() not in repr(one)
    assert one.digest.hex() not in repr(one)


def test_a_key_holds_from_the_moment_it_is_made_until_it_is_taken_away(path):
    ring = KeyRing(agents={}, dispatchers={}, known=["main"], credentials=Credentials(path))
    assert ring.all() == ()

    one, key = made(path)
    _, second = made(path)
    assert ring.find(digest_of(key.reveal())) == one
    assert ring.find(digest_of("dsk_another")) is None

    assert Credentials(path).revoke(one.id) == one
    assert ring.find(digest_of(key.reveal())) is None
    assert ring.find(digest_of(second.reveal())) is not None
    assert Credentials(path).revoke(one.id) is None
    path.unlink()
    assert ring.all() == ()


def test_the_key_of_an_agent_that_is_gone_does_not_hold(path):
    _, key = made(path, "former")
    ring = KeyRing(agents={}, dispatchers={}, known=["main"], credentials=Credentials(path))

    assert ring.find(digest_of(key.reveal())) is None


def test_keys_of_the_configuration_are_good_for_all_that_agents_may_do_and_for_no_granting(path):
    ring = KeyRing(agents={"main": Secret("SYNTHETIC-1")}, dispatchers={"nightly": Secret("SYNTHETIC-2")})

    assert ring.find(digest_of("SYNTHETIC-1")).scopes == OF_AGENTS
    assert Scope.DISPATCH not in OF_AGENTS
    assert ring.find(digest_of("SYNTHETIC-2")).scopes == {Scope.DISPATCH}
    assert ring.agents == ("main",)


def test_who_has_no_dispatcher_key_any_more_is_no_dispatcher(path):
    ring = KeyRing(agents={}, dispatchers={"fixed": Secret("SYNTHETIC")}, known=["main"], credentials=Credentials(path))
    one, _ = made(path, "nightly", scopes=[Scope.DISPATCH])
    made(path)

    assert sorted(ring.dispatchers) == ["fixed", "nightly"]
    assert len(ring.dispatchers) == 2
    Credentials(path).revoke(one.id)
    assert "nightly" not in ring.dispatchers
    assert "main" not in ring.dispatchers


def test_a_limit_to_a_channel_holds_for_its_threads_and_one_to_a_thread_for_it_alone(path):
    wide, _ = made(path, destinations=[str(ROOM)], principals=["ann"])
    narrow, _ = made(path, destinations=[str(TOPIC)])
    free, _ = made(path)

    assert [wide.covers(place) for place in (ROOM, TOPIC, ELSEWHERE)] == [True, True, False]
    assert [narrow.covers(place) for place in (ROOM, TOPIC, ELSEWHERE)] == [False, True, False]
    assert [free.covers(place) for place in (ROOM, TOPIC, ELSEWHERE)] == [True, True, True]
    assert [wide.reaches(who) for who in ("ann", "bob", None)] == [True, False, False]
    assert free.reaches(None)


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_a_file_that_others_can_write_holds_no_key(path, mode):
    _, key = made(path)
    path.chmod(mode)
    credentials = Credentials(path)

    assert KeyRing(agents={}, dispatchers={}, known=["main"], credentials=credentials).all() == ()
    assert credentials.broken
    with pytest.raises(ConfigError, match="chmod"):
        made(path)
    path.chmod(0o600)
    assert KeyRing(agents={}, dispatchers={}, known=["main"], credentials=credentials).find(digest_of(key.reveal()))
    assert not credentials.broken


ONE = {
    "id": "1f0c9a3e",
    "name": "main",
    "sha256": "00" * 32,
    "scopes": ["ask"],
    "principals": None,
    "destinations": None,
    "made_at": None,
}


@pytest.mark.parametrize(
    "document",
    [
        "{",
        "[]",
        "[" * 100_000,
        {"version": 2, "keys": []},
        {"version": 1},
        {"version": 1, "keys": [[]]},
        {"version": 1, "keys": [{**ONE, "more": 1}]},
        {"version": 1, "keys": [{**ONE, "sha256": "00"}]},
        {"version": 1, "keys": [{**ONE, "sha256": "no"}]},
        {"version": 1, "keys": [{**ONE, "scopes": ["decide"]}]},
        {"version": 1, "keys": [{**ONE, "scopes": []}]},
        {"version": 1, "keys": [{**ONE, "scopes": ["ask", "dispatch"]}]},
        {"version": 1, "keys": [{**ONE, "principals": "ann"}]},
        {"version": 1, "keys": [{**ONE, "destinations": [1]}]},
        {"version": 1, "keys": [{**ONE, "name": None}]},
        {"version": 1, "keys": [ONE] * (MOST + 1)},
    ],
)
def test_a_file_that_can_not_be_taken_holds_no_key_at_all(path, document):
    path.write_text(document if isinstance(document, str) else json.dumps(document))
    path.chmod(0o600)

    assert Credentials(path).all() == ()
    with pytest.raises(ConfigError, match="anew"):
        Credentials(path).check()
    with pytest.raises(ConfigError):
        made(path)


def test_a_file_of_ours_can_be_read_again(path):
    path.write_text(json.dumps({"version": 1, "keys": [ONE]}))
    path.chmod(0o600)

    assert Credentials(path).check()[0].name == "main"


def test_two_commands_at_once_keep_both_keys(path):
    with ThreadPoolExecutor(8) as pool:
        ids = {one.id for one, _ in pool.map(lambda _: made(path), range(24))}

    assert {one.id for one in Credentials(path).check()} == ids
    assert len(ids) == 24


def test_there_are_only_so_many_keys(path):
    path.write_text(json.dumps({"version": 1, "keys": [ONE] * MOST}))
    path.chmod(0o600)

    with pytest.raises(ConfigError, match="revoke"):
        made(path)


def test_a_folder_that_is_not_there_is_told(tmp_path):
    with pytest.raises(ConfigError, match="can't be written"):
        made(tmp_path / "nowhere" / "keys.json")


def test_a_key_that_root_makes_belongs_to_whoever_owns_the_folder(tmp_path, monkeypatch):
    given, look = [], Path.stat

    def owned(path, **more):
        status = look(path, **more)
        return os.stat_result((*status[:4], 1234, 56, *status[6:10])) if path == tmp_path else status

    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(os, "fchown", lambda _number, *whose: given.append(whose))
    monkeypatch.setattr(Path, "stat", owned)

    made(tmp_path / "keys.json")

    assert set(given) == {(1234, 56)}
