"""Kind ``schedule``: days on which clocks are changed, and how often something happens on them.

A delivery is scheduled on a running gateway, its clock goes through the whole day, and what the chat received is counted.
After each time the clock is set back by an hour, as a correction of it may do: that brings nothing back. Quiet hours are
those of a policy: whatever the clocks do, it is quiet exactly while the wall clock stands between the two times.
"""

import re
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from bot.channels.telegram.limits import Limits
from bot.deliveries.schedule import Order, Schedule
from policy.grants import Issuer, IssuerKind
from tests.cases.result import Failed, NotRun, check
from tests.harness import BOT_ID, GROUP, POLICY, Clock, fixed, running
from tests.servers.botapi import BotApi

_DAILY = re.compile(r"(\d{1,2}):(\d{2}) daily")
_EVERY = re.compile(r"every (\d+) min")
_QUIET = re.compile(r"quiet (\d{2}:\d{2})-(\d{2}:\d{2})")
_TIME = re.compile(r"(\d{2}):(\d{2})")
_PLACE = f"telegram:{BOT_ID}:{GROUP}"
_BACK = timedelta(hours=1)
_MINUTE = timedelta(minutes=1)


async def schedule(case: dict[str, Any], folder: Path) -> None:
    """Every row; all that fail are named."""
    given = case["input"]
    days = [date.fromisoformat(row["date"]) for row in given["rows"] if "date" in row]
    failed: list[str] = []
    for number, row in enumerate(given["rows"]):
        try:
            quiet = _QUIET.fullmatch(row["spec"])
            if quiet is not None:
                _quiet(quiet[1], quiet[2], given["tz"], days)
            else:
                await _fires(row, given["tz"], folder / str(number))
        except Failed as wrong:
            failed.append(f"{row['spec']} {row.get('date', '')}: {wrong}")
    check(not failed, "every row as written", "; ".join(failed))


def _cron(spec: str) -> str:
    if found := _DAILY.fullmatch(spec):
        return f"{int(found[2])} {int(found[1])} * * *"
    if found := _EVERY.fullmatch(spec):
        return f"*/{int(found[1])} * * * *"
    raise NotRun(f"the timetable {spec!r} is none that is known here")


async def _fires(row: dict[str, Any], zone: str, folder: Path) -> None:
    folder.mkdir()
    where, day = ZoneInfo(zone), date.fromisoformat(row["date"])
    begin, end = (datetime.combine(one, time(), where).astimezone(UTC) for one in (day, day + timedelta(days=1)))
    clock = Clock(begin - timedelta(seconds=30))
    cron = _cron(row["spec"])
    async with BotApi(token=f"{BOT_ID}:{'A' * 35}", username="desk_bot") as api:
        api.chat(GROUP, type="supergroup", title="Customer")
        limits = Limits(chat=None, group=None, total=None)
        async with running(folder, api=api, clock=clock, limits=limits) as gateway:
            crew = gateway.daemon.crew
            await crew.grants.issue(
                issuer=Issuer(kind=IssuerKind.OPERATOR, id="ann"),
                agent="main",
                destination=_PLACE,
                uses=1000,
                lasts=timedelta(days=3),
                purpose="a day",
            )
            order = Order(destination=_PLACE, text="it is time", cron=cron, timezone=zone)
            made = await crew.schedule.post(order, agent="main", key="day")
            times = [at async for at in _through(crew.schedule, made.id, clock, end)]
            await gateway.settled()
            kept = await crew.schedule.look(made.id)
            check(kept is not None and kept.timezone == zone, "the name of the zone to be kept")
            sent = api.texts(GROUP)
    shown = ", ".join(at.astimezone(where).strftime("%H:%M%z") for at in times[:4])
    check(len(sent) == row["fires"], f"{row['fires']} times", f"{len(sent)} ({shown})")
    if wanted := _TIME.search(str(row.get("at", ""))):
        local = times[0].astimezone(where).time()
        check(local >= time(int(wanted[1]), int(wanted[2])), f"at {wanted[0]} or later", local)
        check(local <= time(int(wanted[1]), int(wanted[2]) + 1), f"at the next minute after {wanted[0]}", local)


async def _through(schedule: Schedule, delivery_id: str, clock: Clock, end: datetime) -> AsyncIterator[datetime]:
    """Let a day pass, and give each time at which something was due."""
    while True:
        delivery = await schedule.look(delivery_id)
        if delivery is None or delivery.next_at is None or delivery.next_at >= end:
            return
        at, fired = delivery.next_at, delivery.fired
        clock.offset += at - clock() + timedelta(seconds=1)
        await schedule.look_round()
        yield at
        clock.offset -= _BACK
        await schedule.look_round()
        again = await schedule.look(delivery_id)
        check(again is not None and again.fired == fired + 1, f"one more after {at}", again and again.fired)


def _quiet(since: str, until: str, zone: str, days: list[date]) -> None:
    hours = f'{{from: "{since}", to: "{until}", timezone: {zone}}}'
    quiet = fixed(f"{POLICY}approvals: {{quiet_hours: {hours}}}\n").approvals.quiet
    check(quiet is not None, "quiet hours")
    where = ZoneInfo(zone)
    begins, ends = time.fromisoformat(since), time.fromisoformat(until)
    for day in days or [date(2026, 3, 29)]:
        for at in _minutes(datetime.combine(day - timedelta(days=1), time(12), where).astimezone(UTC), 24):
            local = at.astimezone(where).time()
            inside = begins <= local < ends if begins < ends else local >= begins or local < ends
            check(quiet is not None and quiet.holds(at) is inside, f"quiet to be {inside} at {local} of {day}")


def _minutes(at: datetime, hours: int) -> Iterator[datetime]:
    for number in range(hours * 60):
        yield at + number * _MINUTE


KINDS = {"schedule": schedule}
