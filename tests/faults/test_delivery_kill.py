"""The daemon is killed at random moments while deliveries come due: each is sent at most once, and none is forgotten.

DISCREET_SEED repeats a run as far as processes can be repeated, DISCREET_KILLS sets the number of kills.
"""

import random
from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest

from bot.model.delivery import Delivery, DeliveryState
from bot.storage.store import Store
from policy.destination import parse_destination
from policy.grants import Grant, Issuer, IssuerKind
from tests.faults.process import BOT_ID, GROUP, POLICY, REPORTS, daemon
from tests.faults.test_kill import KILLS, SEED, kill_at_a_random_moment

PLACE = parse_destination(f"telegram:{BOT_ID}:{GROUP}")
COUNT, USES = 120, 100
SPREAD_S = 12.0


async def put(folder, dice):
    """Deliveries that come due while the daemon is killed and started, and a grant that is not enough for all of them."""
    folder.mkdir(mode=0o700)
    store = await Store.open(folder / "discreet.db")
    now = datetime.now(UTC)
    try:
        await store.grants.add(
            Grant(
                id="grant",
                issuer=Issuer(kind=IssuerKind.ADMIN, id="console"),
                agent="main",
                destination=PLACE,
                purpose="kills",
                issued_at=now,
                expires_at=now + timedelta(hours=8),
                uses=USES,
            )
        )
        for number in range(COUNT):
            at = now + timedelta(seconds=dice.uniform(0, SPREAD_S))
            await store.deliveries.put(
                Delivery(
                    id=f"delivery-{number}",
                    agent="main",
                    key=str(number),
                    destination=PLACE,
                    text=f"delivery {number}",
                    grant=None,
                    at=at,
                    cron=None,
                    timezone="UTC",
                    state=DeliveryState.SCHEDULED,
                    next_at=at,
                    made_at=now,
                )
            )
    finally:
        await store.close()


@pytest.mark.rule("OUT-6", "DUR-2", "DUR-3")
async def test_no_delivery_is_sent_twice_and_none_forgotten_however_often_the_daemon_is_killed(api, tmp_path):
    kills = max(4, KILLS // 5)
    print(f"DISCREET_SEED={SEED} kills={kills}")
    dice = random.Random(SEED)
    async with daemon(tmp_path, api, policy=POLICY) as process:
        await put(tmp_path / "data", dice)
        for _ in range(kills):
            await kill_at_a_random_moment(process, api, dice)
        await process.start()
        scheduled = "SELECT count(*) FROM deliveries WHERE closed_at IS NULL"
        await process.until(lambda books: books.count(scheduled) == 0, within_s=60)
        assert await process.stop() == 0
        process.check_journal()
        assert process.complaints() == []
    store = await Store.open(tmp_path / "data" / "discreet.db")
    try:
        found = await store.deliveries.all()
        grant = await store.grants.get("grant")
        parts = [(one, await store.deliveries.receipts(one.id)) for one in found]
    finally:
        await store.close()
    seen = Counter(api.texts(GROUP))
    states = Counter(one.state.value for one in found)
    print(dict(states))
    assert max(seen.values()) == 1, "nothing is sent twice"
    assert len(found) == COUNT
    assert set(states) <= {"delivered", "unknown", "muted"}
    assert (grant.used, states["muted"]) == (USES, COUNT - USES), "each time used the grant once, and no time more"
    for delivery, receipts in parts:
        if delivery.state is DeliveryState.MUTED:
            assert (delivery.code, delivery.fired, receipts) == ("used_up", 0, {})
            assert seen[delivery.text] == 0
        else:
            assert (delivery.fired, sum(receipts.values())) == (1, 1)
            assert delivery.state is not DeliveryState.DELIVERED or seen[delivery.text] == 1
    assert bool(states["unknown"]) <= bool(api.sent(REPORTS))
