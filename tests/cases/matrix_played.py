"""What came of a delivery case on Matrix, as values: what was tried, what the store holds, what people see."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.cases import ledger
from tests.cases.matrix_gateways import Gateway
from tests.cases.matrix_reader import Reader
from tests.cases.matrix_script import Reply, Send
from tests.cases.result import check
from tests.servers.homeserver import Call, Homeserver

Json = dict[str, Any]
ELSEWHERE = "!elsewhere:example.org"


@dataclass(kw_only=True)
class Sent:
    """A message that the bot tried to send.

    Attributes:
        place: the send that it belongs to, and its part, from 1.
        row: of the outbox.
        document: what the outbox holds for it.
        stored: whether the outbox held it, with its transaction id, when the call came.
        device: of the access token.
    """

    call: Call
    place: tuple[int, int] | None
    row: int | None
    document: Json
    device: str | None

    @property
    def stored(self) -> bool:
        return self.row is not None

    @property
    def txn(self) -> str:
        return self.call.parts[2]


@dataclass(kw_only=True)
class Played:
    """What came of a case.

    Attributes:
        keys: of the requests, in the order of the sends.
        tape: all messages that it tried to send, reports apart.
        before: the outbox when the case was over; after: after the probes and another start.
        again: messages of the case that the other start tried to send.
        drained: whether everything came to its end.
    """

    sends: list[Send]
    replies: list[Reply]
    server: Homeserver
    reader: Reader | None
    folder: Path
    keys: dict[int, str] = field(default_factory=dict)
    tape: list[Sent] = field(default_factory=list)
    before: list[ledger.Row] = field(default_factory=list)
    after: list[ledger.Row] = field(default_factory=list)
    again: list[Sent] = field(default_factory=list)
    probes: dict[str, int] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)
    drained: bool = True
    gateway: Gateway | None = None

    def rows(self, send: Send) -> list[ledger.Row]:
        """The parts of one send as they were when the case was over."""
        return [row for row in self.before if row.key == self.keys.get(send.index)]

    def tries(self, send: Send) -> list[Sent]:
        return [one for one in self.tape if one.place is not None and one.place[0] == send.index]

    @property
    def rooms(self) -> list[str]:
        return list(dict.fromkeys(send.room for send in self.sends))

    def moment(self, call: Call) -> float:
        """When a call was, in seconds of the gateway's own time."""
        assert self.gateway is not None
        return self.gateway.clock.moment(call.time)

    def shown(self, room: str) -> list[Json]:
        """The messages that the room shows, in order, as their last edits made them, each with all its transactions."""
        messages: dict[str, Json] = {}
        for event in self.server.sent(room):
            clear = event
            if event["type"] == "m.room.encrypted":
                opened = None if self.reader is None else self.reader.open(event)
                check(opened is not None, "what is encrypted to be readable by who is in the room")
                clear = {**event, **(opened or {})}
            if clear["type"] != "m.room.message":
                continue
            content = clear["content"]
            relation = content.get("m.relates_to") or {}
            if relation.get("rel_type") == "m.replace":
                if relation["event_id"] in messages:
                    messages[relation["event_id"]]["content"] = content["m.new_content"]
                continue
            txn = event.get("unsigned", {}).get("transaction_id")
            messages[event["event_id"]] = {"content": content, "relation": relation, "txn": txn}
        return list(messages.values())
