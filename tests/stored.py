"""Values for the tests of the store."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from bot.model.inbound import Arrival, Stored
from bot.model.output import OutFile
from bot.model.part import Action, ButtonToken, Part
from bot.ports.store import Inbox, NewPart, Outbox, Subject, Waiting
from policy.boundary import Basis, Speech
from policy.decision import Audience, Decision, Gate, Outcome, OutputClass
from policy.destination import Destination
from policy.reasons import Reason

ACCOUNT = "telegram:7001"
PLACE = Destination(platform="telegram", workspace="7001", channel="-100123")
TOPIC = Destination(platform="telegram", workspace="7001", channel="-100123", thread="42")
NOW = datetime(2026, 3, 1, 12, 0, 0, 123456, tzinfo=UTC)
HOUR = timedelta(hours=1)

RESPOND = Decision(
    outcome=Outcome.RESPOND,
    reason=Reason.EXPLICIT_MENTION,
    audience=Audience.EXTERNAL,
    output_class=OutputClass.BUSINESS,
)
MUTE = Decision(
    outcome=Outcome.MUTE,
    reason=Reason.NO_ADDRESS,
    audience=Audience.EXTERNAL,
    output_class=OutputClass.NONE,
    stopped_at=Gate.CONSENT,
)
DEFER = Decision(
    outcome=Outcome.DEFER,
    reason=Reason.ALBUM_PART,
    audience=Audience.EXTERNAL,
    output_class=OutputClass.NONE,
    stopped_at=Gate.BURST,
)


def arrival(key: object, words: str = "hello", *, lane: str = "lane") -> Arrival:
    return Arrival(key=str(key), lane=lane, raw=f'{{"text":"{words}"}}'.encode(), received_at=NOW)


def subject(message: object, *, destination: Destination = PLACE, kind: str = "message") -> Subject:
    return Subject(
        destination=destination,
        message=None if message is None else str(message),
        sender="telegram:510000001",
        sent_at=NOW,
        chat="group",
        kind=kind,
    )


def part(words: str = "an answer", *, destination: Destination = PLACE, action: Action = Action.SEND) -> Part:
    return Part(
        destination=destination,
        action=action,
        speech=Speech.FINAL,
        text=words,
        payload=f'{{"text":"{words}"}}'.encode(),
    )


def rich_part(words: str = "an answer", token: str = "t1") -> Part:
    return Part(
        destination=TOPIC,
        action=Action.FILES,
        speech=Speech.FINAL,
        text=words,
        payload=words.encode(),
        files=(
            OutFile(name="b.txt", media_type="text/plain", content=b"second letter"),
            OutFile(name="a.bin", media_type="application/octet-stream", content=bytes(range(256))),
        ),
        buttons=(
            ButtonToken(token=token, label="Yes", value="approve"),
            ButtonToken(token=f"{token}-", label="No", value="deny"),
        ),
    )


def new(what: Part | None = None, *, lane: str = "lane", event_id: int | None = None, unclear: str = "park") -> NewPart:
    return NewPart(
        lane=lane,
        part=what or part(),
        audience=Audience.EXTERNAL,
        basis=Basis.REQUEST,
        person=None,
        chat="group",
        event_id=event_id,
        unclear=unclear,
    )


async def arrived(inbox: Inbox, key: object, words: str = "hello") -> Stored:
    (stored,) = await inbox.put(ACCOUNT, [arrival(key, words)])
    return stored


async def decided(inbox: Inbox, key: object, decision: Decision, words: str = "hello", **more) -> Stored:
    """An event whose message has the same id as its key."""
    stored = await arrived(inbox, key, words)
    await inbox.decide(stored, more.pop("subject", subject(key)), decision, now=NOW, **more)
    return stored


async def answered(inbox: Inbox, key: object, *parts: Part, unclear: str = "park") -> list[Waiting]:
    stored = await decided(inbox, key, RESPOND)
    news = [new(one, event_id=stored.id, unclear=unclear) for one in parts or (part(),)]
    return await inbox.finish(stored.id, news, outcome="answered", now=NOW)


async def sending(outbox: Outbox, parts: Sequence[NewPart]) -> list[Waiting]:
    waiting = await outbox.put(parts, now=NOW)
    for one in waiting:
        await outbox.begin(one.id)
    return waiting
