"""What a delivery case on Matrix tells to do and what the homeserver is to answer, as values.

A ``do`` step becomes something that an agent says (a step that names a transaction id again, or says ``retry``, is what
the gateway does by itself); a ``reply`` becomes one answer of the homeserver. It belongs to the step that it stands in,
to what its ``api`` label names, or to the next message that is sent.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from tests.cases.result import NotRun
from tests.cases.script import MARKDOWN
from tests.servers.homeserver.calls import Call, Fault, RefusalError

Step = dict[str, Any]
ROOM: Final = "!lab:example.org"
MESSAGES: Final = frozenset({"m.room.message", "m.room.encrypted"})
_AGAIN: Final = re.compile(r"\b(re-?tr(y|ies)|re-?sends?|again)\b")
_SAYING: Final = re.compile(
    r"\b(send|edit|enqueue|upload|reply|answer)|\bPUT\b.*\b(send|m\.room\.message)", re.IGNORECASE
)
_FILES: Final = re.compile(r"file|image|photo|media|upload|attachment", re.IGNORECASE)
_ENDPOINTS: Final = (
    (r"sendtodevice|to_device|to-device", "to_device"),
    (r"keys/query", "keys_query"),
    (r"keys/claim", "keys_claim"),
    (r"keys/upload", "keys_upload"),
    (r"upload", "upload"),
    (r"typing", "typing"),
    (r"receipt", "receipt"),
    (r"whoami", "whoami"),
    (r"\bsync\b", "sync"),
    (r"send|m\.room\.message|\bPUT\b|message|part\s*\d|retry", "send"),
)


@dataclass(kw_only=True)
class Send:
    """One thing to say. ``text`` is what people are to read; for Markdown, what the agent writes.

    Attributes:
        number: of its step.
        held: the agent is asked, and answers only when the next daemon runs.
        txn: the case's own name of its transaction id.
    """

    index: int
    number: int
    room: str
    text: str
    do: str = "send"
    thread: str | None = None
    html: bool = False
    markdown: bool = False
    files: int = 0
    parts: int = 1
    held: bool = False
    txn: str | None = None

    @property
    def edited(self) -> bool:
        """Whether it grows by edits."""
        return "edit" in self.do

    @property
    def written(self) -> str:
        """What the agent writes, so that plain words stay as they are; with HTML every tenth word is bold."""
        if self.markdown:
            return self.text
        words = MARKDOWN.sub(r"\\\1", self.text)
        if not self.html:
            return words
        count = 0

        def bold(found: re.Match[str]) -> str:
            nonlocal count
            count += 1
            return f"**{found[0]}**" if count % 10 == 1 else found[0]

        return re.sub(r"\w+", bold, words)


@dataclass(kw_only=True)
class Reply:
    """One answer of the homeserver. ``fate``: ok, refused, timeout, reset or garbled; ``applied``: it has its effect."""

    number: int
    name: str
    fate: str
    send: Send | None = None
    part: int | None = None
    applied: bool = False
    status: int = 0
    errcode: str = ""
    more: Mapping[str, Any] = field(default_factory=dict)
    asked_s: float = 0.0
    headers: Mapping[str, str] = field(default_factory=dict)
    raw: bytes | None = None
    fault: "Scripted | None" = None

    @property
    def final(self) -> bool:
        """Whether it says that there is no point in trying again."""
        return self.fate == "refused" and 400 <= self.status < 500 and self.status not in (401, 408, 429)

    @property
    def call(self) -> Call | None:
        """The call that it answered."""
        return None if self.fault is None else self.fault.taken


Place = Callable[[Call], tuple[int, int] | None]
"""Which send a call belongs to, and which part of it, from 1."""


@dataclass(kw_only=True, eq=False)
class Scripted(Fault):
    """One answer, for the first call at its place that none of the answers before it was for."""

    reply: Reply
    place: Place
    before: "Scripted | None" = None
    taken: Call | None = None
    then: Callable[[], None] | None = None

    def applies(self, call: Call) -> bool:
        if self.taken is not None and self.times is not None:
            return False
        if self.before is not None and (self.before.taken is None or self.before.taken is call):
            return False
        if not self._holds(call):
            return False
        self.taken = self.taken or call
        if self.reply.fate == "ok":
            self.hit()
            return False
        if self.then is not None:
            self.then()
        return True

    def _holds(self, call: Call) -> bool:
        if call.name != self.reply.name:
            return False
        if call.name != "send":
            return True
        place = self.place(call)
        if place is None or (self.reply.send is not None and place[0] != self.reply.send.index):
            return False
        return self.reply.part is None or place[1] == self.reply.part


def sends_of(steps: list[Step]) -> list[Send]:
    """What is to be said, in order."""
    found: list[Send] = []
    for number, step in enumerate(steps):
        do = str(step.get("do", ""))
        words = next((str(step[name]) for name in ("update", "message", "request") if name in step), None)
        if words is not None:
            do = "update"
        elif not do or _AGAIN.search(do) or (_txn(do) and _txn(do) in {send.txn for send in found}):
            continue
        elif not _SAYING.search(do):
            raise NotRun(f"the step {do!r} is not understood")
        found.append(_send(step, do, number, len(found), words))
    if not found:
        raise NotRun("nothing is sent in it")
    return found


def _send(step: Step, do: str, number: int, index: int, words: str | None) -> Send:
    parts = int(step.get("parts", 1))
    spec = step.get("text_spec") or step.get("caption_spec") or step.get("body_spec")
    text = next((step[name] for name in ("text", "body", "caption") if step.get(name) is not None), None)
    if words is not None:
        text = f"answer to {words}"
    elif spec:
        text = str(spec["repeat"]) * int(spec["times"])
    elif text is None:
        text = f"message {index + 1}" if parts == 1 else in_parts(parts)
    status = str(step.get("status", "")).lower()
    relation = step.get("m.relates_to") or step.get("relates_to") or {}
    thread = step.get("thread") or step.get("thread_root") or step.get("thread_id")
    if relation.get("rel_type") == "m.thread":
        thread = relation.get("event_id")
    files = next((int(step[name]) for name in ("files", "photos", "images") if type(step.get(name)) is int), 0)
    return Send(
        index=index,
        number=number,
        do=do,
        room=_room(step.get("room_id") or step.get("room") or step.get("chat")),
        text=str(text),
        thread=None if thread is None else str(thread),
        html=bool(step.get("with_html")) or "html" in do or "formatted_body" in step,
        markdown="markdown" in do,
        files=files or int(bool(_FILES.search(do))),
        parts=parts,
        held=bool(re.search("progress|pending|queued|running", status)),
        txn=_txn(do) or step.get("txn") or step.get("txn_id"),
    )


def in_parts(count: int) -> str:
    """A text that fills so many events: paragraphs of three quarters of one piece."""
    return "\n\n".join(f"Part {number} " + f"word{number} " * 2200 for number in range(1, count + 1)).strip()


def _room(named: Any) -> str:
    if named is None:
        return ROOM
    return str(named) if str(named).startswith("!") else f"!{named}:example.org"


def _txn(words: str) -> str | None:
    found = re.search(r"txn(?:_?id)?\s*[=:]\s*(\S+?)(?=[),;]|\s|$)", words)
    return found[1] if found else None


def replies_of(steps: list[Step], sends: list[Send]) -> list[Reply]:
    """The homeserver's answers, in order."""
    return [_reply(step, number, sends) for number, step in enumerate(steps) if "reply" in step]


def _reply(step: Step, number: int, sends: list[Send]) -> Reply:
    do, label = str(step.get("do", "")), str(step.get("api", step.get("call", "")))
    send = None
    if do:
        earlier = [one for one in sends if one.number <= number]
        txn = _txn(do) or step.get("txn")
        send = next((one for one in earlier if txn is not None and one.txn == txn), earlier[-1] if earlier else None)
    bare = re.sub(r"\s*\(.*\)\s*$", "", label).strip()
    named = next((one for one in sends if bare and bare in (one.text, one.txn, _txn(bare))), None)
    if named is None and (txn := _txn(label)) is not None:
        named = next((one for one in sends if one.txn == txn), None)
    name = "send"
    if label and named is None:
        name = next((name for words, name in _ENDPOINTS if re.search(words, label, re.IGNORECASE)), "")
        if not name:
            raise NotRun(f"no call answers to {label!r}")
    elif do and _FILES.search(do) and not re.search("send", do):
        name = "upload"
    part = re.search(r"part\s*(\d+)", label, re.IGNORECASE)
    if part is not None and send is None and named is None:
        named = next((one for one in sends if one.parts > 1), sends[0])
    truth = str(step.get("server_truth", "accepted")).lower()
    applied = not re.search(r"\bnot\b|lost|never|dropped|nothing", truth)
    made = _answer(step["reply"])
    return Reply(
        number=number,
        name=name,
        send=(named or send) if name == "send" else None,
        part=int(part[1]) if part else None,
        applied=applied and made["fate"] in ("timeout", "reset", "garbled"),
        **made,
    )


def _answer(reply: Any) -> dict[str, Any]:
    if isinstance(reply, Mapping):
        return _document(reply)
    words = str(reply).lower().strip()
    if words in ("ok", "true", "200") or words.startswith("200 "):
        return {"fate": "ok"}
    if re.search(r"time|hang|no answer|no response", words):
        return {"fate": "timeout"}
    if re.search(r"reset|drop|disconnect|closed|eof|broken|refused|lost", words):
        return {"fate": "reset"}
    if found := re.match(r"(\d{3})\b", words):
        code = re.search(r"M_[A-Z_]+", str(reply))
        wait = re.search(r"retry_after_ms\D*(\d+)", words)
        more = {"retry_after_ms": int(wait[1])} if wait else {}
        return _document({"status": int(found[1]), "errcode": code[0] if code else None, **more})
    raise NotRun(f"the answer {reply!r} is not understood")


def _document(reply: Mapping[str, Any]) -> dict[str, Any]:
    named = next(
        (reply[name] for name in ("status", "http", "http_status", "code", "error_code") if name in reply), None
    )
    status = int(named) if named is not None else 200 if "errcode" not in reply else 400
    errcode = str(reply.get("errcode") or ("M_LIMIT_EXCEEDED" if status == 429 else "M_UNKNOWN"))
    if named is None and errcode == "M_LIMIT_EXCEEDED":
        status = 429
    raw = next((reply[name] for name in ("raw", "html", "text") if isinstance(reply.get(name), str)), None)
    if raw is None and isinstance(reply.get("body"), str):
        raw = reply["body"]
    if status < 400:
        if raw is not None:
            return {"fate": "garbled", "status": status, "raw": raw.encode()}
        return {"fate": "ok", "status": status}
    headers = {str(name): str(value) for name, value in (reply.get("headers") or {}).items()}
    wait_ms = reply.get("retry_after_ms")
    asked_s = float(wait_ms) / 1000 if type(wait_ms) in (int, float) and wait_ms > 0 else 0.0
    after = next((value for name, value in headers.items() if name.lower() == "retry-after"), "")
    if after.isdecimal():
        asked_s = max(asked_s, float(after))
    known = {"status", "http", "http_status", "code", "error_code", "errcode", "headers", "raw", "html", "text", "body"}
    return {
        "fate": "refused",
        "status": status,
        "errcode": errcode,
        "more": {name: value for name, value in reply.items() if name not in known},
        "asked_s": asked_s,
        "headers": headers,
        "raw": None if raw is None else raw.encode(),
    }


def place_replies(replies: list[Reply], place: Place) -> list[Scripted]:
    """The answers as trouble on order at the scripted homeserver."""
    last: dict[tuple[str, int | None, int | None], Scripted] = {}
    made = []
    for reply in replies:
        key = (reply.name, None if reply.send is None else reply.send.index, reply.part)
        kind = {"timeout": "hang", "reset": "drop", "garbled": "garble"}.get(reply.fate, "fail")
        refusal = None
        if reply.fate == "refused":
            more = dict(reply.more)
            refusal = RefusalError(reply.status, reply.errcode, str(more.pop("error", "")), **more)
        reply.fault = last[key] = Scripted(
            name=reply.name,
            kind=kind,  # type: ignore[arg-type]
            refusal=refusal,
            raw=reply.raw,
            deliver=reply.applied,
            times=None if reply.status == 403 else 1,  # what is closed stays closed
            reply=reply,
            place=place,
            before=last.get(key),
        )
        made.append(reply.fault)
    return made
