"""What the page gets to see: values of the chat as JSON, cut down to what its reader may know."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bot.channels.web.people import Member, Register
from bot.ports.decisions import Ruling
from bot.ports.timeline import Entry
from policy.decision import GATES


@dataclass(frozen=True, kw_only=True, slots=True)
class Try:
    """One of the things to try on the demo page.

    Attributes:
        title: what it shows.
        hint: what will happen, and why.
        room: where.
        person: as whom.
        text: what goes into the composer.
        reply_to_bot: as a reply to the bot's latest message in the room.
    """

    title: str
    hint: str
    room: str
    person: str
    text: str = field(repr=False)
    reply_to_bot: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Viewer:
    """Who looks. ``member`` None: the demo page, which plays everybody and may see everything."""

    member: Member | None
    rooms: tuple[str, ...]

    @property
    def id(self) -> str | None:
        """Id of the person."""
        return None if self.member is None else self.member.id

    @property
    def sees_decisions(self) -> bool:
        """Decisions are for operators."""
        return self.member is None or self.member.operator


def view_of(entry: Entry, register: Register, viewer: Viewer) -> Mapping[str, Any]:
    """One message as the page shows it."""
    place = {"id": entry.id, "room": entry.room, "position": entry.position, "seq": entry.seq}
    document = entry.document
    if document is None:
        return {**place, "deleted": True}
    author = document["author"]
    member = register.members.get(author)
    shown = {
        **place,
        "at": document["at"],
        "author": {"id": author, "name": author if member is None else member.name, "bot": author == register.bot},
        "text": document["text"],
        "mentions": document.get("mentions", []),
        "reply": document["reply"],
        "files": [_file(entry.room, file) for file in document["files"]],
        "edited": document.get("edited", False),
    }
    for key in ("html", "card", "speech"):
        if document.get(key):
            shown[key] = document[key]
    if viewer.sees_decisions and document.get("decision"):
        shown["decision"] = document["decision"]
    return shown


def decision_of(ruling: Ruling) -> Mapping[str, Any]:
    """A decision as operators see it: codes only."""
    decision = ruling.decision
    return {
        "outcome": decision.outcome.value,
        "reason": decision.reason.value,
        "audience": decision.audience.value,
        "output_class": decision.output_class.value,
        "gates": [
            {
                "gate": gate.value,
                "state": _gate_state(gate in decision.gates_passed, stopped=gate is decision.stopped_at),
            }
            for gate in GATES
        ],
        "rules": list(decision.rules),
        "observe": decision.observe,
        "result": ruling.result,
        "notes": list(ruling.notes),
    }


def rooms_of(register: Register, viewer: Viewer) -> Sequence[Mapping[str, Any]]:
    """The rooms that a viewer is in."""
    return [
        {
            "id": room.id,
            "title": room.title,
            "audience": room.audience if viewer.sees_decisions else "",
            "direct": room.direct,
            "members": [
                {"id": member.id, "name": member.name, "operator": viewer.sees_decisions and member.operator}
                for member in (register.members[person] for person in room.members)
            ],
        }
        for room in (register.rooms[id_] for id_ in viewer.rooms)
    ]


def try_of(thing: Try) -> Mapping[str, Any]:
    """A thing to try."""
    return {
        "title": thing.title,
        "hint": thing.hint,
        "room": thing.room,
        "person": thing.person,
        "text": thing.text,
        "reply_to_bot": thing.reply_to_bot,
    }


def _gate_state(passed: bool, *, stopped: bool) -> str:
    if passed:
        return "passed"
    return "stopped" if stopped else "not_reached"


def _file(room: str, file: Mapping[str, Any]) -> Mapping[str, Any]:
    return {
        "url": f"/rooms/{room}/files/{file['handle']}",
        "name": file["name"],
        "media_type": file["media_type"],
        "size": file["size"],
    }
