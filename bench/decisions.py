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

ALICE = {
    "id": 510000001,
    "is_bot": False,
    "first_name": "Alice",
    "last_name": "Example",
    "username": "alice_t",
    "language_code": "en",
}
BOB = {"id": 510000002, "is_bot": False, "first_name": "Bob", "username": "bob_t", "language_code": "de"}
BOT = {"id": 7001, "is_bot": True, "first_name": "Desk", "username": "desk_bot"}
CHAT = {"id": -1001900000001, "type": "supergroup", "title": "Lab Group", "is_forum": True}
MENTION = [{"type": "mention", "offset": 0, "length": 9}]


def _message(number: int, **fields: object) -> dict:
    return {
        "update_id": 900000 + number,
        "message": {"message_id": 5000 + number, "from": ALICE, "chat": CHAT, "date": 1790000000, **fields},
    }


UPDATES = {  # the shapes that a group sends, as the platform writes them
    "talk": _message(
        1, text="Shall we meet at noon? The place by the river is nice, and it is not far from the office."
    ),
    "mention": _message(
        2, text="@desk_bot what are your opening hours on Saturday, and do you take cards?", entities=MENTION
    ),
    "talk in a topic": _message(
        3,
        text="shipping at noon",
        message_thread_id=77,
        is_topic_message=True,
        reply_to_message={
            "message_id": 77,
            "from": BOB,
            "chat": CHAT,
            "date": 1789990000,
            "message_thread_id": 77,
            "is_topic_message": True,
            "forum_topic_created": {"name": "Deploys", "icon_color": 7322096},
        },
    ),
    "reply to the bot": _message(
        4,
        text="and on Sunday?",
        reply_to_message={
            "message_id": 4100,
            "from": BOT,
            "chat": CHAT,
            "date": 1789990000,
            "text": "On Saturday from ten to six; we take cards.",
        },
    ),
    "photo": _message(
        5,
        photo=[
            {
                "file_id": f"AgACAgIAAxkBAAI{n:04d}" + "x" * 60,
                "file_unique_id": f"AQAD{n:04d}abcd",
                "file_size": n * 9000,
                "width": 90 * n,
                "height": 60 * n,
            }
            for n in (1, 4, 9, 14)
        ],
        caption="before and after",
    ),
}


@dataclass(frozen=True)
class Result:
    """Microseconds, the best of several repeats (both alike), the mean over the shapes of updates."""

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
    now = datetime.fromtimestamp(1790000005, UTC)
    memory = Memory(first_start=now - timedelta(days=1))
    identity = identity_of(7001, "desk_bot")
    decision_us, loads_us = 0.0, 0.0
    for update in UPDATES.values():
        text = json.dumps(update)

        def decide(update: dict = update) -> None:
            event = read(update, key="900001", received_at=now, bot_id=7001, identity=identity).event
            admit(policy, event, memory, now=now)

        def loads(text: str = text) -> None:
            json.loads(text)

        decision_us += min(timeit.repeat(decide, number=number, repeat=repeat)) / number * 1e6
        loads_us += min(timeit.repeat(loads, number=number, repeat=repeat)) / number * 1e6
    return Result(decision_us=decision_us / len(UPDATES), loads_us=loads_us / len(UPDATES))
