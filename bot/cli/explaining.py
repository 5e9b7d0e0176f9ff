"""``discreet policy explain``: what would be decided for native events, and why (OPS-1).

Events are judged one after the other as the gateway would: an edit knows what became of its message earlier in the
file, a reply who wrote the one that it answers, and parts of a batch are collected and judged once it is quiet. Nothing
else is remembered; what a line needs of the past it says itself in its ``memory``. The clock is each event's own time,
or the one that ``--now`` gives.
"""

import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Protocol

from bot.cli import terminal
from bot.cli.failing import OK, USAGE
from bot.cli.policies import load_policy
from bot.config.errors import ConfigError
from bot.model.inbound import Arrival, Reading, Stored
from bot.texts.words import explain
from policy.audience import settings_of
from policy.bursts import Batch, extend, joins, open_batch, settle, waits
from policy.decision import Decision, Outcome
from policy.destination import Destination, MalformedAccountError, parse_account
from policy.event import Author, Event, Kind, Memory, Original
from policy.participation import admit
from policy.reasons import Reason
from policy.ruleset import Policy

LONG_AGO: Final = datetime(1970, 1, 1, tzinfo=UTC)
_FACTS: Final = frozenset({"first_start", "original", "withdrawn", "person_requests", "channel_requests"})
_ENVELOPE: Final = ("room", "event", "reply", "history", "via")
"""What the reader of Matrix events takes as one: the event with what only its room, or somebody else, can say of it."""
_MENDABLE: Final = (Reason.NO_ADDRESS, Reason.NO_SUBSTANCE)


class Reader(Protocol):
    """Reads the facts out of one native event; see :meth:`bot.ports.channel.Channel.read`."""

    def read(self, stored: Stored) -> Reading:
        """The facts."""
        ...


class LineError(Exception):
    """A line of the input can't be taken: what is wrong, and the mend."""

    def __init__(self, message: str, mend: str) -> None:
        super().__init__(message)
        self.mend = mend


@dataclass(kw_only=True, slots=True)
class _Open:
    """A batch that is open, with its parts."""

    batch: Batch
    parts: list[tuple[Event, Memory]] = field(default_factory=list)


def explain_events(policy_path: Path, source: str, *, now: str | None) -> int:
    """Print one JSON line for each event, and one for each settled batch; returns the exit code.

    Raises:
        PolicyError: the policy file can't hold.
        ConfigError: the input can't be read, or ``now`` is no time.
    """
    policy = load_policy(policy_path)
    at = None if now is None else _moment(now)
    if at is None and now is not None:
        raise ConfigError(f"--now {now}: this is no time with its offset. Write it such as 2026-12-31T18:00:00Z")
    explaining = Explaining(policy, now=at)
    refused = 0
    for number, line in enumerate(_lines(source), start=1):
        if not line.strip():
            continue
        try:
            answers = list(explaining.line(line))
        except LineError as error:
            refused += 1
            answers = [{"line": number, "error": str(error), "mend": error.mend}]
        for answer in answers:
            _print(answer)
    for answer in explaining.rest():
        _print(answer)
    if refused:
        terminal.complain(f"{refused} of the lines could not be taken")
        terminal.mend(
            "each line is one object: platform, bot (what getMe says) and update; "
            "for Matrix platform, bot, room and event"
        )
        return USAGE
    return OK


class Explaining:
    """Judges events in their order."""

    def __init__(self, policy: Policy, *, now: datetime | None) -> None:
        """Args: now: at which all are judged; None: each at its own time."""
        self._policy = policy
        self._now = now
        self._readers: dict[str, Reader] = {}
        self._originals: dict[tuple[str, str], Original] = {}
        self._written: dict[tuple[str, str], tuple[str | None, Destination]] = {}
        self._open: dict[str, _Open] = {}
        self._number = 0

    def line(self, line: str) -> Iterator[dict[str, object]]:
        """Judge one line.

        Raises:
            LineError: it can't be taken.
        """
        native = _object(line)
        reading = self._read(native)
        event = self._placed(reading)
        memory = self._memory(event, native.get("memory"))
        now = self._now or event.sent_at
        yield from self._due(now)
        decision = admit(self._policy, event, memory, now=now)
        if decision.reason is Reason.REPLY_AUTHOR_UNKNOWN and event.reply is not None:
            author = self._author(event, event.reply.message, native.get("reply"))
            event = replace(event, reply=replace(event.reply, author=author))
            decision = admit(self._policy, event, memory, now=now)
        elif reading.loose and event.kind is Kind.EDIT and decision.outcome is not Outcome.MUTE:
            memory = self._with_author(event, memory, native.get("memory"))
            decision = admit(self._policy, event, memory, now=now)
        open_one = self._batch_of(event)
        if open_one is not None and decision.outcome is Outcome.MUTE and decision.reason in _MENDABLE:
            decision = replace(decision, outcome=Outcome.DEFER, reason=Reason.BURST_PART, observe=False)
        if waits(decision):
            self._collect(open_one, event, memory, now)
        self._note(event, decision)
        yield {"key": event.key, **_said(decision)}

    def rest(self) -> Iterator[dict[str, object]]:
        """Settle what is still open at the end: nothing more comes."""
        yield from self._due(None)

    def _read(self, native: Mapping[str, Any]) -> Reading:
        platform, bot = native.get("platform"), native.get("bot")
        if not isinstance(platform, str):
            raise LineError("platform is missing", 'write "platform": "telegram" or "matrix"')
        own = ("user_id", '{"user_id": "@desk:example.org"}') if platform == "matrix" else ("id", "and what getMe says")
        if not isinstance(bot, dict):
            raise LineError("bot is missing", f'write "bot": {own[1]} of the bot')
        raw, key, sent_at = _envelope(native) if platform == "matrix" else _update(native)
        reader = self._reader(platform, bot)
        self._number += 1
        stored = Stored(
            id=self._number,
            account=f"{platform}:{bot.get(own[0], '')}",
            arrival=Arrival(
                key=str(self._number if key is None else key),
                lane="",
                raw=json.dumps(raw, ensure_ascii=False).encode("utf-8", errors="surrogatepass"),
                received_at=self._now or sent_at or datetime.now(UTC),
            ),
        )
        return reader.read(stored)

    def _reader(self, platform: str, bot: dict[str, Any]) -> Reader:
        identity = json.dumps([platform, bot], sort_keys=True)
        if identity not in self._readers:
            from bot.wiring import reader_for

            try:
                if platform == "matrix":
                    parse_account(f"matrix:{bot['user_id']}")
                self._readers[identity] = reader_for(platform, bot)
            except (ConfigError, MalformedAccountError, KeyError, TypeError, ValueError):
                raise LineError(
                    "this bot can't be understood",
                    "write a platform that is known, and the bot's id and username as getMe gives them; "
                    "for Matrix, its user_id",
                ) from None
        return self._readers[identity]

    def _placed(self, reading: Reading) -> Event:
        """An event that is about a message and doesn't say where that stands goes to the message's thread."""
        event = reading.event
        found = self._written.get(_place(event)) if reading.loose else None
        return event if found is None else replace(event, destination=found[1])

    def _author(self, event: Event, message: str, told: object) -> Author:
        """Who wrote a message: as an earlier line shows, else as the line itself says."""
        sender: str | None = None
        found = self._written.get((str(event.destination.room), message))
        if found is not None:
            sender = found[0]
        elif isinstance(told, dict) and isinstance(told.get("sender"), str):
            sender = f"{event.destination.platform}:{told['sender']}"
        if sender is None:
            return Author.UNKNOWN
        return Author.SELF if sender == event.destination.account else Author.OTHER

    def _with_author(self, event: Event, memory: Memory, written: object) -> Memory:
        """An edit changes its own author's words only (PART-11); what the line says of the original counts."""
        if isinstance(written, dict) and "original" in written:
            return memory
        found = self._written.get(_place(event))
        if found is None:
            return replace(memory, original=Original.UNKNOWN)
        return memory if found[0] == event.sender else replace(memory, original=Original.FOREIGN)

    def _memory(self, event: Event, written: object) -> Memory:
        original = self._originals.get(_place(event), Original.UNSEEN) if event.kind is Kind.EDIT else Original.UNSEEN
        if written is None:
            return Memory(first_start=LONG_AGO, original=original)
        if not isinstance(written, dict) or not written.keys() <= _FACTS:
            raise LineError("memory holds something unknown", f"known are {', '.join(sorted(_FACTS))}")
        start = written.get("first_start", LONG_AGO.isoformat())
        first_start = None if start is None else _moment(start)
        if first_start is None and start is not None:
            raise LineError("memory.first_start is no time with its offset", "write it such as 2026-12-31T18:00:00Z")
        known = {state.value: state for state in Original}
        said = written.get("original", original.value)
        if said not in known:
            raise LineError("memory.original is not known", f"write one of {', '.join(known)}")
        return Memory(
            first_start=first_start,
            original=known[said],
            withdrawn=written.get("withdrawn", False) is True,
            person_requests=_count(written, "person_requests"),
            channel_requests=_count(written, "channel_requests"),
        )

    def _batch_of(self, event: Event) -> _Open | None:
        return next((one for one in self._open.values() if joins(one.batch, event)), None)

    def _collect(self, open_one: _Open | None, event: Event, memory: Memory, now: datetime) -> None:
        if open_one is None:
            batch = open_batch(event, now=now)
            open_one = self._open.setdefault(batch.key, _Open(batch=batch))
        if open_one.parts:
            open_one.batch = extend(open_one.batch, event, now=now)
        open_one.parts.append((event, memory))

    def _due(self, now: datetime | None) -> Iterator[dict[str, object]]:
        """Settle the batches that are quiet at a time; None: all of them."""
        for key, one in list(self._open.items()):
            first = one.parts[0][0]
            burst = settings_of(self._policy, first.destination, chat=first.chat, person=first.sender).burst
            if now is not None and one.batch.due_at(burst) > now:
                continue
            del self._open[key]
            at = self._now or one.batch.due_at(burst)
            decision = settle(self._policy, one.parts, now=at)
            for event, _ in one.parts:
                self._note(event, decision)
            yield {"key": first.key, "batch": [event.key for event, _ in one.parts], **_said(decision)}

    def _note(self, event: Event, decision: Decision) -> None:
        if event.message is not None and event.kind in (Kind.MESSAGE, Kind.EDIT):
            taken = decision.outcome is not Outcome.MUTE or decision.reason is Reason.EDIT_OF_SEEN_MESSAGE
            self._originals[_place(event)] = Original.TAKEN if taken else Original.MUTED
            if event.kind is Kind.MESSAGE:
                self._written.setdefault(_place(event), (event.sender, event.destination))


def _said(decision: Decision) -> dict[str, object]:
    return {
        "decision": decision.outcome.value,
        "reason": decision.reason.value,
        "audience": decision.audience.value,
        "output_class": decision.output_class.value,
        "gates_passed": [gate.value for gate in decision.gates_passed],
        "stopped_at": None if decision.stopped_at is None else decision.stopped_at.value,
        "rules": list(decision.rules),
        "observe": decision.observe,
        "why": explain(decision.reason),
    }


def _lines(source: str) -> Iterable[str]:
    try:
        if source == "-":
            yield from sys.stdin
            return
        with Path(source).open(encoding="utf-8") as stream:
            yield from stream
    except FileNotFoundError:
        raise ConfigError(f"there is no {source}. Name a file of events, or - for the standard input") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{source}: this is no UTF-8. Save the events as UTF-8") from None


def _object(line: str) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        raise LineError("this is no JSON", "write one JSON object a line") from None
    if not isinstance(found, dict):
        raise LineError("this is no object", 'write {"platform": ..., "bot": ..., "update": ...}')
    return found


def _update(native: Mapping[str, Any]) -> tuple[dict[str, Any], object, datetime | None]:
    """An update of Telegram, and its key; its time is in it."""
    update = native.get("update", native.get("event"))
    if not isinstance(update, dict):
        raise LineError("update is missing", 'write "update": and one update as getUpdates gives it')
    return update, update.get("update_id"), None


def _envelope(native: Mapping[str, Any]) -> tuple[dict[str, Any], object, datetime | None]:
    """An event of Matrix with its room, its key, and its time: it came when it was sent, so that none lies ahead."""
    event, room = native.get("event"), native.get("room")
    if not isinstance(event, dict):
        raise LineError("event is missing", 'write "event": and one event as /sync gives it')
    if not isinstance(room, dict):
        raise LineError("room is missing", 'write "room": {"room_id": "!...", "joined_members": ["@...", "@..."]}')
    sent_at = None
    with suppress(TypeError, ValueError, OverflowError, OSError):
        sent_at = datetime.fromtimestamp(event.get("origin_server_ts", "") / 1000, UTC)
    return {name: native[name] for name in _ENVELOPE if name in native}, event.get("event_id"), sent_at


def _moment(written: object) -> datetime | None:
    """A time with its offset; None where it is none."""
    try:
        moment = datetime.fromisoformat(str(written))
    except ValueError:
        return None
    return None if moment.tzinfo is None else moment


def _count(written: Mapping[str, Any], name: str) -> int:
    count = written.get(name, 0)
    if type(count) is not int or count < 0:
        raise LineError(f"memory.{name} is no count", "write a whole number from 0")
    return count


def _place(event: Event) -> tuple[str, str]:
    return str(event.destination.room), event.message or ""


def _print(answer: Mapping[str, object]) -> None:
    print(json.dumps(answer, ensure_ascii=False))
