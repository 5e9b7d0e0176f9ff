"""Short ways to make policies and events for tests of the pure core."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from policy.decision import Audience
from policy.destination import parse_destination
from policy.event import Author, Chat, Command, Event, Kind, Memory, Origin, Reply, Target
from policy.ruleset import Access, ChannelPolicy, Person, Policy

NOW = datetime(2026, 9, 21, 12, 0, tzinfo=UTC)
LONG_AGO = NOW - timedelta(days=30)
GROUP = parse_destination("telegram:7001:-100123")
TOPIC = parse_destination("telegram:7001:-100123:42")
INTERNAL = parse_destination("telegram:7001:-100777")
STRANGE = parse_destination("telegram:7001:-100999")
DIRECT = parse_destination("telegram:7001:501")
ANN, BOB, STRANGER, ROBOT = "telegram:501", "telegram:502", "telegram:599", "telegram:7002"
MEMORY = Memory(first_start=LONG_AGO)


def policy(**changes) -> Policy:
    external = ChannelPolicy(audience=Audience.EXTERNAL, access=Access.ALLOW)
    base = Policy(
        channels={GROUP: external, INTERNAL: ChannelPolicy(audience=Audience.INTERNAL, access=Access.ALLOW)},
        people={
            ANN: Person(id="ann", accounts=frozenset({ANN}), operator=True),
            BOB: Person(id="bob", accounts=frozenset({BOB})),
        },
        direct=ChannelPolicy(audience=Audience.EXTERNAL, access=Access.ALLOW),
        unknown=ChannelPolicy(audience=Audience.UNKNOWN, access=Access.UNKNOWN),
        strangers=Access.ALLOW,
        called={"ann": frozenset({"ann"}), "jordan": frozenset({"bob"})},
        commands=frozenset({"status"}),
    )
    return replace(base, **changes)


def with_channel(destination, **changes) -> Policy:
    base = policy()
    return replace(base, channels={**base.channels, destination: replace(base.channel(destination), **changes)})


def event(text="hello all", **changes) -> Event:
    base = Event(
        key="1",
        destination=GROUP,
        chat=Chat.GROUP,
        kind=Kind.MESSAGE,
        origin=Origin.HUMAN,
        sender=BOB,
        sent_at=NOW - timedelta(seconds=5),
        message="10",
        text=text,
    )
    return replace(base, **changes)


def direct(text="hello", **changes) -> Event:
    return event(text, **{"destination": DIRECT, "chat": Chat.DIRECT, "sender": STRANGER, **changes})


def command(name, target=Target.SELF) -> Command:
    return Command(name=name, target=target)


def reply(author) -> Reply:
    return Reply(message="9", author=author)


TO_SELF, TO_OTHER, TO_UNKNOWN = reply(Author.SELF), reply(Author.OTHER), reply(Author.UNKNOWN)
