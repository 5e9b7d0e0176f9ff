"""What everything that keeps the chat's invites and sessions must do (bot.ports.entrances)."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from bot.channels.web.memory import MemoryEntrances
from bot.storage.store import Store

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
LATER = NOW + timedelta(days=1)


class Memory:
    def __init__(self, folder):
        self.desks = {}

    async def open(self, desk="desk"):
        return self.desks.setdefault(desk, MemoryEntrances())

    async def close(self):
        pass


class Sqlite:
    """Opened again as a restart would."""

    def __init__(self, folder):
        self.path = folder / "store.sqlite"
        self.store = None

    async def open(self, desk="desk"):
        await self.close()
        self.store = await Store.open(self.path)
        return self.store.entrances(desk)

    async def close(self):
        if self.store is not None:
            await self.store.close()


@pytest.fixture(params=[Memory, Sqlite])
async def backend(request, tmp_path):
    one = request.param(tmp_path)
    yield one
    await one.close()


@pytest.fixture
async def entrances(backend):
    return await backend.open()


async def test_an_invite_opens_one_session_before_its_time_is_over(entrances):
    await entrances.invite("i1", "mara", expires_at=LATER)
    await entrances.invite("i2", "mara", expires_at=NOW)
    assert await entrances.redeem("i1", "s1", now=NOW, expires_at=LATER) == "mara"
    assert await entrances.redeem("i1", "s2", now=NOW, expires_at=LATER) is None
    assert await entrances.redeem("i2", "s3", now=NOW, expires_at=LATER) is None
    assert await entrances.redeem("i9", "s4", now=NOW, expires_at=LATER) is None
    assert await entrances.person("s1", now=NOW) == "mara"
    assert await entrances.person("s1", now=LATER - timedelta(microseconds=1)) == "mara"
    assert await entrances.person("s1", now=LATER) is None
    for session in ("s2", "s3", "s4", "i1"):
        assert await entrances.person(session, now=NOW) is None


async def test_of_two_who_use_an_invite_at_once_one_wins(entrances):
    await entrances.invite("i1", "mara", expires_at=LATER)
    tries = [entrances.redeem("i1", f"s{number}", now=NOW, expires_at=LATER) for number in range(10)]
    assert sorted(map(str, await asyncio.gather(*tries))) == ["None"] * 9 + ["mara"]
    people = [await entrances.person(f"s{number}", now=NOW) for number in range(10)]
    assert people.count("mara") == 1


async def test_invites_and_sessions_outlive_a_restart_and_what_is_used_up_stays_so(backend, entrances):
    await entrances.invite("i1", "mara", expires_at=LATER)
    await entrances.invite("i2", "olga", expires_at=LATER)
    await entrances.redeem("i1", "s1", now=NOW, expires_at=LATER)
    again = await backend.open()
    assert await again.person("s1", now=NOW) == "mara"
    assert await again.redeem("i1", "s2", now=NOW, expires_at=LATER) is None
    assert await again.redeem("i2", "s2", now=NOW, expires_at=LATER) == "olga"


async def test_who_leaves_has_to_come_in_anew(entrances):
    await entrances.invite("i1", "mara", expires_at=LATER)
    await entrances.redeem("i1", "s1", now=NOW, expires_at=LATER)
    await entrances.leave("s1")
    await entrances.leave("s1")
    assert await entrances.person("s1", now=NOW) is None


async def test_revoking_a_person_ends_their_invites_and_sessions_and_nobody_elses(entrances):
    for invite, person in (("i1", "mara"), ("i2", "mara"), ("i3", "olga")):
        await entrances.invite(invite, person, expires_at=LATER)
    await entrances.redeem("i1", "s1", now=NOW, expires_at=LATER)
    assert await entrances.revoke("mara") == 2
    assert await entrances.revoke("mara") == 0
    assert await entrances.person("s1", now=NOW) is None
    assert await entrances.redeem("i2", "s2", now=NOW, expires_at=LATER) is None
    assert await entrances.redeem("i3", "s3", now=NOW, expires_at=LATER) == "olga"


async def test_a_sweep_forgets_what_is_over_and_nothing_else(entrances):
    await entrances.invite("i1", "mara", expires_at=NOW)
    await entrances.invite("i2", "mara", expires_at=LATER)
    await entrances.invite("i3", "olga", expires_at=LATER)
    await entrances.redeem("i3", "s3", now=NOW, expires_at=NOW + timedelta(hours=1))
    assert await entrances.sweep(now=NOW) == 1
    assert await entrances.sweep(now=NOW + timedelta(hours=1)) == 1
    assert await entrances.redeem("i2", "s2", now=NOW, expires_at=LATER) == "mara"


async def test_two_desks_know_nothing_of_each_other(backend, entrances):
    await entrances.invite("i1", "mara", expires_at=LATER)
    await entrances.invite("i2", "mara", expires_at=LATER)
    await entrances.redeem("i1", "s1", now=NOW, expires_at=LATER)
    other = await backend.open("other")
    assert await other.person("s1", now=NOW) is None
    assert await other.redeem("i2", "s2", now=NOW, expires_at=LATER) is None
    assert await other.revoke("mara") == 0
    assert await other.sweep(now=LATER) == 0
    assert await (await backend.open()).person("s1", now=NOW) == "mara"
