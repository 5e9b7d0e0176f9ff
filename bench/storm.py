"""One room sends 90 % of the traffic: how long do the others wait?"""

import asyncio
import statistics

from bench.contenders import GROUPS, contender, discreet, push
from tests.servers.botapi import BotApi

CHATS = 50
PER_S = 300
SECONDS = 5


async def measure(rounds: int = 3) -> tuple[float, float]:
    """p99 in seconds of the rooms 1 to 49: in calm, and while room 0 storms; medians of the rounds."""
    calm, stormy = [], []
    for _ in range(rounds):
        async with contender(discreet, chats=CHATS) as (api, _, _):
            calm.append(await _p99(api, lambda n: n % CHATS))
            stormy.append(await _p99(api, lambda n: 0 if n % 10 else 1 + (n // 10) % (CHATS - 1)))
    return statistics.median(calm), statistics.median(stormy)


async def _p99(api: BotApi, room_of) -> float:
    loop = asyncio.get_running_loop()
    sent: dict[str, float] = {}
    quiet: set[str] = set()
    target = api.totals.get("sendMessage", 0) + PER_S * SECONDS
    seen = len(api.calls)
    begun = loop.time()
    base = target
    for n in range(PER_S * SECONDS):
        await asyncio.sleep(max(0.0, begun + n / PER_S - loop.time()))
        room, name = room_of(n), base + n
        push(api, room, name)
        words = f"message {name}"
        sent[words] = loop.time()
        if room:
            quiet.add(words)
    await api.wait_for(lambda: api.totals.get("sendMessage", 0) >= target, timeout=120)
    waits = []
    for call in api.calls[seen:]:
        words = "message " + call.text.rpartition("message ")[2]
        if call.method == "sendMessage" and words in quiet and call.chat_id != GROUPS:
            waits.append(call.time - sent[words])
    return statistics.quantiles(waits, n=100)[98]
