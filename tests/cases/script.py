"""What a delivery case tells to do and what the platform is to answer, as values.

A ``do`` step becomes something that an agent says; an ``api`` step becomes one answer of the platform, placed by its
label: the name of a method, the words of a message, or the number of a part.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.cases.result import NotRun
from tests.servers.botapi.arguments import Arguments
from tests.servers.botapi.errors import ApiError
from tests.servers.botapi.faults import Fault

PERSON = 510000001
MARKDOWN = re.compile(r"([\\`*_{}\[\]()#+\-.!|<>~=&:@/])")
_METHOD = re.compile(r"(?:send|edit|answer|delete|copy|forward|set)[A-Z]\w*")
_PART = re.compile(r"part\s*(\d+)", re.IGNORECASE)
_SENTENCES = {
    400: "Bad Request",
    403: "Forbidden: bot was blocked by the user",
    404: "Not Found",
    429: "Too Many Requests",
    500: "Internal Server Error",
    502: "Bad Gateway",
    503: "Service Unavailable",
    504: "Gateway Timeout",
}


@dataclass(kw_only=True)
class Send:
    """One thing to say. ``text`` is what people are to read; for Markdown, what the agent writes."""

    index: int
    do: str
    chat: int
    thread: int | None
    text: str
    photos: int = 0
    parts: int = 1
    seen: list[str] = field(default_factory=list)  # texts of its calls, each once, in order

    @property
    def markdown(self) -> bool:
        return "markdown" in self.do

    @property
    def written(self) -> str:
        """What the agent writes, so that plain words stay as they are."""
        return self.text if self.markdown else MARKDOWN.sub(r"\\\1", self.text)

    def part(self, text: str) -> int:
        """The number of the part with this text, from 1, in the order in which parts came."""
        if text not in self.seen:
            self.seen.append(text)
        return self.seen.index(text) + 1


@dataclass(kw_only=True)
class Reply:
    """One answer of the platform. ``fate``: ok, refused, timeout or reset; ``applied``: whether it has its effect."""

    label: str
    fate: str
    applied: bool = False
    code: int = 0
    description: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    fault: "Scripted | None" = None

    @property
    def certain(self) -> bool:
        """Whether the platform said what it did."""
        return self.fate in ("ok", "refused") and self.code != 504

    @property
    def asked_s(self) -> float:
        """Seconds that the platform asks to wait."""
        return float(self.parameters.get("retry_after", 0))

    @property
    def moved_to(self) -> int | None:
        found = self.parameters.get("migrate_to_chat_id")
        return None if found is None else int(found)

    def says(self, *words: str) -> bool:
        """Whether it is a refusal with one of these words."""
        return self.fate == "refused" and any(word in self.description.lower() for word in words)

    @property
    def final(self) -> bool:
        """Whether a refusal says that there is no point in trying again."""
        if self.fate != "refused" or self.moved_to is not None or self.code in (429, 504) or self.code >= 500:
            return False
        return not self.says("entit", "not modified")


@dataclass(kw_only=True, eq=False)
class Scripted(Fault):
    """One answer, for the first call at its place that none of the answers before it was for."""

    place: "Place"
    passes: bool = False
    before: "Scripted | None" = None
    taken: Arguments | None = None
    call: tuple[str, Arguments] | None = None

    def applies(self, method: str, arguments: Arguments) -> bool:
        again = self.taken is not None and self.times is None
        if (self.taken is not None and not again) or not self.place.holds(method, arguments):
            return False
        if self.before is not None and (self.before.taken is None or self.before.taken is arguments):
            return False
        self.taken = arguments
        if self.passes:
            self.hit()
        return not self.passes


@dataclass(kw_only=True)
class Place:
    """Where an answer belongs: the calls of a method, of one message, or of one part of it."""

    sends: list[Send]
    method: str | None = None
    send: Send | None = None
    part: int | None = None
    formatted: bool = False
    threaded: bool = False

    def holds(self, method: str, arguments: Arguments) -> bool:
        text = arguments.text("text") or arguments.text("caption") or arguments.text("media")
        chat = arguments.text("chat_id")
        if method in ("getupdates", "getme", "sendchataction", "sendmessagedraft") or text.startswith("probe"):
            return False
        if self.formatted and "entities" not in arguments and "caption_entities" not in arguments:
            return False
        if self.threaded and "message_thread_id" not in arguments:
            return False
        if self.send is None:
            ours = not chat or chat in {str(send.chat) for send in self.sends}
            return ours and method == (self.method or "sendmessage")
        if chat != str(self.send.chat):
            return False
        if self.part is not None:
            return self.send.part(text) == self.part
        return text == self.send.text or len([send for send in self.sends if send.chat == self.send.chat]) == 1


def sends_of(steps: list[dict[str, Any]]) -> list[Send]:
    """What is to be said, in order."""
    found = []
    for step in steps:
        do = str(step.get("do", ""))
        if not re.fullmatch(r"send(_\w+)?|edit|enqueue", do):
            continue
        parts = int(step.get("parts", 1))
        spec = step.get("text_spec") or step.get("caption_spec")
        text = step.get("text") or step.get("caption")
        if spec:
            text = str(spec["repeat"]) * int(spec["times"])
        elif text is None:
            text = f"message {len(found) + 1}" if parts == 1 else in_parts(parts)
        photos = int(step.get("photos", 0))
        chat = step.get("chat_id", step.get("chat", PERSON))
        send = Send(
            index=len(found),
            do=do,
            chat=int(chat),
            thread=step.get("message_thread_id"),
            text=str(text),
            photos=photos,
            parts=parts,
        )
        found.append(send)
    return found


def in_parts(count: int) -> str:
    """A text that fills so many messages: paragraphs of three quarters of one."""
    return "\n\n".join(f"Part {number} " + f"word{number} " * 430 for number in range(1, count + 1)).strip()


def replies_of(steps: list[dict[str, Any]]) -> list[Reply]:
    """The platform's answers, in order."""
    return [_reply(step) for step in steps if "api" in step]


def _reply(step: Mapping[str, Any]) -> Reply:
    label, reply = str(step["api"]), step.get("reply")
    truth = str(step.get("server_truth", "delivered")).lower()
    applied = not re.search(r"\bnot\b|lost|never|dropped", truth)
    if isinstance(reply, Mapping):
        if reply.get("ok", "error_code" not in reply):
            return Reply(label=label, fate="ok")
        code = int(reply.get("error_code", 500))
        return Reply(
            label=label,
            fate="refused",
            code=code,
            description=str(reply.get("description", _SENTENCES.get(code, "Error"))),
            parameters=reply.get("parameters") or {},
        )
    words = str(reply).lower()
    if "time" in words:
        return Reply(label=label, fate="timeout", applied=applied)
    if re.search(r"reset|drop|disconnect|closed|eof|broken", words):
        return Reply(label=label, fate="reset", applied=applied)
    if words in ("ok", "true"):
        return Reply(label=label, fate="ok")
    if words.isdecimal():
        return Reply(label=label, fate="refused", code=int(words), description=_SENTENCES.get(int(words), "Error"))
    raise NotRun(f"the answer {reply!r} is not understood")


def place_replies(replies: list[Reply], sends: list[Send]) -> list[Scripted]:
    """The answers as trouble on order at the emulated platform."""
    last: dict[tuple[str | None, int | None, int | None], Scripted] = {}
    for reply in replies:
        place = _place(reply, sends)
        key = (place.method, None if place.send is None else place.send.index, place.part)
        kind = {"refused": "fail", "timeout": "hang", "reset": "drop"}.get(reply.fate, "fail")
        reply.fault = last[key] = Scripted(
            method="",
            kind=kind,  # type: ignore[arg-type]
            error=ApiError(reply.code, reply.description, dict(reply.parameters)),
            deliver=reply.applied,
            times=None if reply.code == 403 or place.threaded else 1,  # what is closed stays closed
            passes=reply.fate == "ok",
            place=place,
            before=last.get(key),
        )
    return [reply.fault for reply in replies if reply.fault is not None]


def _place(reply: Reply, sends: list[Send]) -> Place:
    label = re.sub(r"\s*\(.*\)\s*$", "", reply.label).strip()
    formatted = reply.says("entit")  # only what has entities can be refused for them
    threaded = reply.says("thread not found", "topic")
    if method := _METHOD.match(label):
        return Place(sends=sends, method=method[0].lower(), formatted=formatted, threaded=threaded)
    for send in sends:
        if send.text == label:
            return Place(sends=sends, send=send, formatted=formatted, threaded=threaded)
    number = _PART.fullmatch(label)
    if number and sends:
        return Place(sends=sends, send=next((s for s in sends if s.parts > 1), sends[0]), part=int(number[1]))
    raise NotRun(f"no call answers to {reply.label!r}")
