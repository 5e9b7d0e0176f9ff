"""What the parts of a policy must hold together. Everything here is refused at load, with the line and the mend.

INVARIANT: what would open more than the file's reader expects is an error, never a warning: an open question outside,
an unlisted operator, an account of two people, an observation without an end.
"""

from policy.destination import Destination
from policy.document_model import Burst, Channel, Document
from policy.document_shape import Path, Report, nearest
from policy.ruleset import Burst as BurstTimes

_TRUSTED_ONLY = (
    ("require_mention", False, "open questions are answered only in internal channels (PART-6)"),
    ("answer_operators", True, "operators are answered unasked only in internal channels (PART-7)"),
    ("never_silent_ack", True, "an acknowledgement in place of silence exists only in internal channels (PART-10)"),
    ("progress", True, "progress is shown only in internal channels (OUT-3)"),
    ("reports", True, "reports go only to internal channels (OUT-8)"),
)


def check(document: Document, report: Report) -> None:
    """Report what can't hold together.

    Args:
        document: each value of which is fine by itself.
        report: takes the problems.
    """
    _people(document, report)
    _operators(document, report)
    for destination, channel in document.channels.items():
        _channel(document, destination, channel, report)
    for number, request in enumerate(document.bot_requests):
        path: Path = ("bot_requests", number)
        if request.requested_by not in document.operators:
            report((*path, "requested_by"), "only an operator can ask for this (PART-5)", an_operator(document))
        if request.channel not in document.channels and request.channel.room not in document.channels:
            report((*path, "channel"), "this channel is not listed", "list it under channels first")
        if request.bot.partition(":")[0] != request.channel.platform:
            report(
                (*path, "bot"), "the bot and the channel are on different platforms", "write the bot's account there"
            )
        if request.bot == request.channel.account:
            report(
                (*path, "bot"), "this is the gateway's own bot, whose messages are never events", "remove the request"
            )
    for number, name in enumerate(document.invites.by):
        if name not in document.people:
            report(("invites", "by", number), "this person is not listed under people", nearest(name, document.people))
    for number, bot in enumerate(document.bots):
        owner = next((name for name, person in document.people.items() if bot in person.accounts), None)
        if owner is not None:
            report(("bots", number), f"this account is {owner}'s, and a bot is no person", "keep it in one place")
    for group, members in document.approvers.groups.items():
        for number, member in enumerate(members):
            if member not in document.operators:
                report(("approvers", "groups", group, number), "an approver is an operator", an_operator(document))
    for name, entry in document.record.items():
        for number, counterparty in enumerate(entry.counterparties or ()):
            if counterparty not in document.counterparties:
                mend = nearest(counterparty, document.counterparties)
                report(("record", name, "counterparties", number), "this counterparty is not listed", mend)
    for path, burst in _bursts(document):
        _burst(path, burst, document.defaults.burst, report)


def effective(document: Document, destination: Destination) -> Channel:
    """What a channel's entry says; a thread takes from its channel what it doesn't say itself."""
    channel = document.channels[destination]
    room = document.channels.get(destination.room)
    if room is None or destination.thread is None:
        return channel
    said = {name: getattr(channel, name) for name in channel.model_fields_set}
    return room.model_copy(update={"reports": None, **said})


def _people(document: Document, report: Report) -> None:
    owners: dict[str, Path] = {}
    named: dict[str, Path] = {}
    for name, person in document.people.items():
        for number, account in enumerate(person.accounts):
            path: Path = ("people", name, "accounts", number)
            first = owners.setdefault(account, path)
            if first != path:
                line = report.mark(first).line
                report(path, f"this account is already listed in line {line}", "one account belongs to one person")
        for number, principal in enumerate(person.principals):
            place: Path = ("people", name, "principals", number)
            if principal in document.people or named.setdefault(principal, place) != place:
                report(place, "this names somebody already", "an id names one person, once; take another one")
        if person.counterparty is not None and person.counterparty not in document.counterparties:
            mend = nearest(person.counterparty, document.counterparties)
            report(("people", name, "counterparty"), "this counterparty is not listed", mend)


def _operators(document: Document, report: Report) -> None:
    for number, name in enumerate(document.operators):
        path: Path = ("operators", number)
        person = document.people.get(name)
        if person is None:
            report(path, "this operator is not listed under people", nearest(name, document.people))
        elif name in document.operators[:number]:
            report(path, "this operator is listed twice", "remove one")
        elif person.access == "deny":
            report(
                ("people", name, "access"), "an operator can't be denied", "remove them from operators, or this line"
            )
        elif person.counterparty is not None:
            report(
                ("people", name, "counterparty"),
                "an operator is trusted and belongs to no counterparty",
                "remove them from operators, or this line",
            )


def _channel(document: Document, destination: Destination, channel: Channel, report: Report) -> None:
    path: Path = ("channels", str(destination))
    whole = effective(document, destination)
    if channel.counterparty is not None and channel.counterparty not in document.counterparties:
        mend = nearest(channel.counterparty, document.counterparties)
        report((*path, "counterparty"), "this counterparty is not listed", mend)
    if whole.audience == "internal" and channel.counterparty is not None:
        report(
            (*path, "counterparty"),
            "a channel of a counterparty is not internal: outsiders read along",
            "write audience: external, or remove the counterparty",
        )
    if channel.streaming == "draft":
        report((*path, "streaming"), "drafts show in one-to-one chats only", "write edit or none")
    if channel.observe_unmentioned_group_messages and whole.observation is None:
        report(
            (*path, "observe_unmentioned_group_messages"),
            "nothing is kept without a retention and readers (PART-9)",
            "add observation: {retention: 1h, readers: [main]}",
            key=True,
        )
    if channel.observation is not None and whole.observe_unmentioned_group_messages is None:
        report(
            (*path, "observation"),
            "this has no effect by itself (PART-9)",
            "add observe_unmentioned_group_messages: true, or remove it",
            key=True,
        )
    if whole.audience is None:
        if whole.access != "deny":
            report(path, "audience is missing", "add audience: external, or internal", key=True)
        return
    _thread(document, destination, channel, report)
    if whole.audience != "internal":
        for key, value, message in _TRUSTED_ONLY:
            if getattr(channel, key) is value:
                report((*path, key), message, "remove it, or write audience: internal if no outsider reads along")


def _thread(document: Document, destination: Destination, channel: Channel, report: Report) -> None:
    """A thread is read by the people of its channel, so both have one audience and one counterparty."""
    room = document.channels.get(destination.room)
    if room is None or destination.thread is None:
        return
    for key in ("audience", "counterparty"):
        if key in channel.model_fields_set and getattr(channel, key) != getattr(room, key):
            line = report.mark(("channels", str(destination.room)), key=True).line
            report(
                ("channels", str(destination), key),
                f"its channel, listed in line {line}, has another {key}, and the same people read both",
                "remove it here",
            )


def _bursts(document: Document) -> list[tuple[Path, Burst]]:
    places: list[tuple[Path, Burst | None]] = [
        (("defaults", "burst"), document.defaults.burst),
        (("direct", "burst"), document.direct.burst),
        *((("channels", str(place), "burst"), channel.burst) for place, channel in document.channels.items()),
    ]
    return [(path, burst) for path, burst in places if burst is not None]


def _burst(path: Path, burst: Burst, general: Burst | None, report: Report) -> None:
    times = burst_times(burst, general)
    if times.longest < times.quiet:
        report(path, "longest is shorter than quiet", "make longest the longer one", key=True)


def burst_times(burst: Burst | None, general: Burst | None) -> BurstTimes:
    """The times of a burst: what it says, else the defaults, else those of the package."""
    times = BurstTimes()
    for layer in (general, burst):
        if layer is not None:
            quiet = times.quiet if layer.quiet is None else layer.quiet
            times = BurstTimes(quiet=quiet, longest=times.longest if layer.longest is None else layer.longest)
    return times


def an_operator(document: Document) -> str:
    """The mend where somebody is named who is no operator."""
    known = ", ".join(document.operators)
    return f"name one of {known}" if known else "list somebody under operators first"
