"""Passkeys in a real store: durable, with their journal records, and an invite is used up by one of two."""

import asyncio
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from bot.ports.approvals import Invite, Passkey
from bot.storage.store import Store

NOW = datetime(2026, 7, 1, 10, 0, tzinfo=UTC)
ANN = Passkey(id="k1", person="ann", public_key=b"\x01", sign_count=5, added_at=NOW, label="Phone")


@pytest.fixture
async def store(tmp_path):
    opened = await Store.open(tmp_path / "discreet.db")
    yield opened
    await opened.close()


async def invite(store, token="t1", person="ann", *, now=NOW, vouched=True):
    invited = Invite(person=person, vouched=vouched)
    await store.passkeys.invite(invited, token=token, expires_at=now + timedelta(minutes=15), now=now)


async def add(store, passkey=ANN, token="t1", *, now=NOW, by=None):
    return await store.passkeys.add(passkey, token=token, now=now, by=by)


async def records(store):
    return [json.loads(one.facts) for one in await store.journal.tail(100) if one.kind == "passkey"]


async def test_a_passkey_is_read_as_it_was_added_also_from_beside_and_after_a_restart(store, tmp_path):
    await invite(store)
    assert await add(store)
    assert await store.passkeys.get("k1") == ANN
    assert await store.passkeys.of("ann") == [ANN]
    reader = await Store.open_reader(tmp_path / "discreet.db")
    assert await reader.passkeys.all() == [ANN]
    await reader.close()
    await store.close()
    again = await Store.open(tmp_path / "discreet.db")
    assert await again.passkeys.of("ann") == [ANN]
    await again.close()


async def test_of_two_passkeys_for_one_invite_one_is_kept(store):
    await invite(store)
    kept = await asyncio.gather(add(store), add(store, replace(ANN, id="k2")))
    assert sorted(kept) == [False, True]
    assert len(await store.passkeys.all()) == 1


async def test_an_invite_is_for_its_person_its_time_and_one_passkey(store):
    assert not await add(store), "nobody was invited"
    await invite(store)
    assert not await add(store, replace(ANN, person="eve"))
    assert not await add(store, now=NOW + timedelta(minutes=15))
    assert await store.passkeys.invited("t1", now=NOW) == Invite(person="ann", vouched=True)
    assert await add(store)
    assert await store.passkeys.invited("t1", now=NOW) is None


async def test_somebody_who_has_a_passkey_needs_it_for_another_unless_the_admin_vouches(store):
    await invite(store, vouched=False)
    assert await add(store), "the first one"
    await invite(store, "t2", vouched=False)
    await invite(store, "t3", "eve")
    assert await add(store, replace(ANN, id="k9", person="eve"), "t3")
    for by in (None, "", "k2", "k9"):
        assert not await add(store, replace(ANN, id="k2"), "t2", by=by)
    assert await add(store, replace(ANN, id="k2"), "t2", by="k1")
    await store.passkeys.revoke("k1", now=NOW)
    await invite(store, "t4", vouched=False)
    assert not await add(store, replace(ANN, id="k3"), "t4", by="k1"), "it was revoked meanwhile"
    await invite(store, "t5")
    assert await add(store, replace(ANN, id="k3"), "t5")
    for one in ("k2", "k3"):
        await store.passkeys.revoke(one, now=NOW)
    await invite(store, "t6", vouched=False)
    assert not await add(store, replace(ANN, id="k4"), "t6"), "who has none any more may have lost the chat, too"
    await invite(store, "t7")
    assert await add(store, replace(ANN, id="k4"), "t7")


async def test_a_later_invite_makes_the_earlier_one_void_and_old_ones_go(store):
    await invite(store)
    await invite(store, "t2")
    await invite(store, "t3", "eve")
    found = [await store.passkeys.invited(token, now=NOW) for token in ("t1", "t2", "t3")]
    assert [one and one.person for one in found] == [None, "ann", "eve"]
    await invite(store, "t4", "eve", now=NOW + timedelta(days=3))
    assert await store.passkeys.invited("t2", now=NOW) is None


async def test_a_passkey_that_is_there_already_does_not_change_its_owner_nor_use_the_invite_up(store):
    await invite(store)
    await add(store)
    await invite(store, "t2", "eve")
    assert not await add(store, replace(ANN, person="eve", public_key=b"\x02"), "t2")
    assert await store.passkeys.get("k1") == ANN
    assert await store.passkeys.invited("t2", now=NOW) == Invite(person="eve", vouched=True)


@pytest.mark.parametrize(
    ("stored", "came", "fine"), [(0, 0, True), (0, 1, True), (5, 6, True), (5, 5, False), (5, 4, False), (5, 0, False)]
)
async def test_the_counter_rises_or_stays_at_nothing(store, stored, came, fine):
    await invite(store)
    await add(store, replace(ANN, sign_count=stored))
    assert await store.passkeys.used("k1", sign_count=came, now=NOW) is fine
    assert (await store.passkeys.get("k1")).sign_count == (came if fine else stored)


async def test_of_two_uses_with_one_counter_one_is_fine(store):
    await invite(store)
    await add(store)
    fine = await asyncio.gather(*(store.passkeys.used("k1", sign_count=6, now=NOW) for _ in range(2)))
    assert sorted(fine) == [False, True]


async def test_a_revoked_passkey_is_used_no_more_and_stays_to_be_looked_at(store):
    await invite(store)
    await add(store)
    assert await store.passkeys.revoke("k1", now=NOW)
    assert not await store.passkeys.revoke("k1", now=NOW + timedelta(days=1))
    assert await store.passkeys.get("k1") is None
    assert await store.passkeys.of("ann") == []
    assert not await store.passkeys.used("k1", sign_count=9, now=NOW)
    assert await store.passkeys.all() == [replace(ANN, revoked_at=NOW)]


async def test_each_change_is_in_the_journal_by_digests_alone(store):
    await invite(store)
    await add(store)
    await store.passkeys.used("k1", sign_count=6, now=NOW)
    await store.passkeys.used("k1", sign_count=6, now=NOW)
    await store.passkeys.revoke("k1", now=NOW)
    found = await records(store)
    assert [one["verb"] for one in found] == ["invited", "added", "used", "doubted", "revoked"]
    assert "ann" not in json.dumps(found)
    assert "k1" not in json.dumps(found)
    assert len({one["passkey"] for one in found[1:]}) == 1
    assert await store.journal.verify() is None
