"""One decision: from the stored bytes' decoded update to the verdict, against json.loads of the same update."""

import json
import timeit
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from bot.channels.telegram.facts import read
from bot.channels.telegram.identity import identity_of
from policy.document import load
from policy.event import Memory
from policy.participation import admit

UPDATE = {
    "update_id": 900001,
    "message": {
        "message_id": 5001,
        "from": {"id": 510000001, "is_bot": False, "first_name": "Alice", "username": "alice_t", "language_code": "en"},
        "chat": {"id": -1001900000001, "type": "supergroup", "title": "Lab Group", "username": "lab_group"},
        "date": 1790000000,
        "text": "@desk_bot what are your opening hours on Saturday, and do you take cards?",
        "entities": [{"type": "mention", "offset": 0, "length": 9}],
    },
}


@dataclass(frozen=True)
class Result:
    """Microseconds, the best of several repeats (both alike)."""

    decision_us: float
    loads_us: float

    @property
    def ratio(self) -> float:
        """How many json.loads one decision costs."""
        return self.decision_us / self.loads_us


def measure(number: int = 5000, repeat: int = 15) -> Result:
    """Measure both, in turn."""
    policy = load(
        'version: 1\nchannels: {"telegram:7001:-1001900000001": {audience: external}}\n', source="bench", environment={}
    )
    text = json.dumps(UPDATE)
    now = datetime.fromtimestamp(1790000005, UTC)
    memory = Memory(first_start=now - timedelta(days=1))
    identity = identity_of(7001, "desk_bot")

    def decide() -> None:
        admit(policy, read(UPDATE, key="900001", received_at=now, bot_id=7001, identity=identity).event, memory, now=now)

    def loads() -> None:
        json.loads(text)

    return Result(
        decision_us=min(timeit.repeat(decide, number=number, repeat=repeat)) / number * 1e6,
        loads_us=min(timeit.repeat(loads, number=number, repeat=repeat)) / number * 1e6,
    )
