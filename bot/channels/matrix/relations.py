"""What an event says it is about: a thread, a reply, an edit, a reaction (PART-11, PART-15)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from bot.channels.matrix.identifiers import event_id, is_event_id

_THREADS: Final = ("m.thread", "io.element.thread")


@dataclass(frozen=True, kw_only=True, slots=True)
class Relation:
    """The relation of one event.

    Attributes:
        thread: root of the thread that the event stands in.
        replaces: the event that it edits.
        annotates: the event that it reacts to.
        key: of the reaction.
        reply: the event that it truly replies to.
        apparent: it has the look of a reply and is none.
        quotes: it is a reply of any sort, so that its body may begin with a copy of the other's words.
    """

    thread: str | None = None
    replaces: str | None = None
    annotates: str | None = None
    key: Any = None
    reply: str | None = None
    apparent: bool = False
    quotes: bool = False


NO_RELATION: Final = Relation()


def relation_of(content: Mapping[str, Any]) -> Relation:
    """Read the relation of a content.

    Raises:
        ShapeError: it says thread, edit or reaction, and not of what.
    """
    relates = content.get("m.relates_to")
    if not isinstance(relates, Mapping):
        return NO_RELATION
    kind = relates.get("rel_type")
    if kind == "m.replace":
        return Relation(replaces=event_id(relates.get("event_id")))
    if kind == "m.annotation":
        return Relation(annotates=event_id(relates.get("event_id")), key=relates.get("key"))
    thread = event_id(relates.get("event_id")) if kind in _THREADS else None
    if "m.in_reply_to" not in relates:
        return NO_RELATION if thread is None else Relation(thread=thread)
    target = relates["m.in_reply_to"]
    target = target.get("event_id") if isinstance(target, Mapping) else None
    # PART-15: in a thread the reply is only for old clients, unless the event says plainly that it is not
    falls_back = thread is not None and relates.get("is_falling_back", False) is not False
    if falls_back or not is_event_id(target):
        return Relation(thread=thread, apparent=True, quotes=True)
    return Relation(thread=thread, reply=target, quotes=True)
