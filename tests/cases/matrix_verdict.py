"""What must hold of everything that was sent on Matrix, whatever the case is called, and what its own words add."""

import html
import json
import re
from itertools import pairwise
from typing import Any, Final

from tests.cases.ledger import Row, result_of
from tests.cases.matrix_played import ELSEWHERE, Played, Sent
from tests.cases.matrix_script import Reply, Send
from tests.cases.result import Failed, NotRun, check
from tests.cases.verdict import _one_character

EVENT_BYTES: Final = 65_536
_NUMBERS: Final = {"one": 1, "two": 2, "three": 3, "four": 4, "both": 2}


def judge(played: Played, end_state: str, limits: dict[str, Any]) -> None:
    """Judge a case that was played."""
    most = min([EVENT_BYTES, *(value for name, value in limits.items() if "bytes" in name and type(value) is int)])
    for one in played.tape:
        size = wire_bytes(played, one)
        check(size <= most, f"an event of at most {most} bytes in all", size)
        check(one.stored or _growing(played, one), "the transaction id to stand in the outbox before the first attempt")
    _same(played)
    for send in played.sends:
        _copies(played, send)
        _attempts(played, send)
    _order(played)
    _waits(played)
    _states(played, end_state)
    _again(played)
    _probes(played)
    _end(played, end_state.lower())
    lost_login = any(call.status == 401 for call in played.server.calls)  # that is worth an error in the log
    if all(row.state == "delivered" for row in played.before) and not lost_login:
        check(not played.errors, "no error in the log of what was delivered", played.errors)


def _growing(played: Played, one: Sent) -> bool:
    """Whether it may be a passing form of an answer that grows, which is not kept."""
    return any(send.edited and send.room == one.call.parts[0] for send in played.sends)


def wire_bytes(played: Played, one: Sent) -> int:
    """Bytes of the whole event as servers pass it on: what is sent, and what a server puts around it."""
    event_id = "$" + "x" * 43
    event = {
        "auth_events": [event_id] * 4,
        "prev_events": [event_id] * 10,
        "content": one.call.content,
        "depth": 10**9,
        "hashes": {"sha256": "x" * 43},
        "origin_server_ts": 10**13,
        "room_id": one.call.parts[0],
        "sender": played.server.user_id,
        "signatures": {played.server.world.server: {"ed25519:a_ABCD": "x" * 86}},
        "type": one.call.parts[1],
        "unsigned": {"age_ts": 10**13, "transaction_id": one.txn},
    }
    return len(json.dumps(event, ensure_ascii=False, separators=(",", ":")).encode())


def _same(played: Played) -> None:
    """Each message has one transaction id and is sent from one device to one place, however often it is tried."""
    seen: dict[int, Sent] = {}
    for one in played.tape:
        if one.row is None:
            continue
        first = seen.setdefault(one.row, one)
        check(first.call.path == one.call.path, "the same transaction id for each try of a message")
        check(first.device == one.device or one.device is None, "the same device for each try of a message")
    for room, place in played.server.world.rooms.items():
        if any(event["type"] == "m.room.encryption" for event in place.base):
            clear = [one for one in played.server.sent(room) if one["type"] == "m.room.message"]
            check(not clear, "nothing in the clear in an encrypted room", len(clear))


def _messages(played: Played, send: Send) -> list[Any]:
    """What its room shows of one send, in order."""
    txns = {one.txn for one in played.tries(send)}
    if send.edited:  # its first form is not kept
        txns |= {one.txn for one in played.tape if not one.stored and one.call.parts[0] == send.room}
    return [message for message in played.shown(send.room) if message["txn"] in txns]


def _copies(played: Played, send: Send) -> None:
    """One visible copy of each part that was delivered, none of what was refused; the parts make up the text."""
    rows, messages = played.rows(send), _messages(played, send)
    growing = sum(row.state == "delivered" for row in rows)
    check(len({message["txn"] for message in messages}) == len(messages), "each part to be seen once", len(messages))
    if not send.edited:
        check(len(messages) <= len(rows), "no more messages than there are parts", len(messages))
    if rows and all(row.state in ("rejected", "skipped") for row in rows):
        check(not messages, "nothing to be seen of what was refused", len(messages))
    if not rows or growing < len(rows):
        return
    check(len(messages) == (1 if send.edited else growing), "one visible copy of each part", len(messages))
    words = [message for message in messages if message["content"].get("msgtype") in ("m.text", "m.notice")]
    files = [message for message in messages if message not in words]
    check(len(files) == send.files, f"{send.files} files", len(files))
    bodies = [message["content"].get("body", "") for message in words]
    bodies += [
        file["content"]["body"]
        for file in files
        if file["content"].get("filename") not in (None, file["content"]["body"])
    ]
    check(not re.search("[\ud800-\udfff]", "".join(bodies)), "no cut character")
    if not send.markdown and send.text.strip():
        between = " " if re.search(r"\s", send.text.strip()) else ""
        check(between.join(bodies).split() == send.text.split(), "the joined parts to equal the text, in order")
    for before, after in pairwise(bodies if not files else []):
        check(not _one_character(before, after), "no cut inside of what people read as one character")
    marked = [message["content"] for message in words if "formatted_body" in message["content"]]
    check(marked or not send.html, "a formatted body")
    for content in marked:
        plain = html.unescape(re.sub(r"<[^>]*>", " ", content["formatted_body"]))
        check(content["format"] == "org.matrix.custom.html", "the format of HTML to be named")
        if not send.markdown:
            same = "".join(plain.split()) == "".join(content["body"].split())
            check(same, "the same words in the plain and in the formatted body")
    if send.thread is not None:
        relations = [message["relation"] for message in messages]
        there = all(one.get("rel_type") == "m.thread" and one["event_id"] == send.thread for one in relations)
        check(there, f"all of it in the thread {send.thread}", relations)


def _attempts(played: Played, send: Send) -> None:
    tries = played.tries(send)
    for row in {one.row for one in tries}:
        mine = [one for one in tries if one.row == row]
        finals = [one for one in mine if (reply := _answered(played, one)) is not None and reply.final]
        if finals:
            check(mine.index(finals[0]) == len(mine) - 1, "one attempt of what is refused for good", len(mine))
    patient = [one for one in tries if (reply := _answered(played, one)) is not None and reply.status == 429]
    if patient:
        attempts = max((row.attempts for row in played.rows(send)), default=0)
        check(attempts <= len(tries) - len(patient), "a 429 to cost no attempt", attempts)


def _answered(played: Played, one: Sent) -> Reply | None:
    return next((reply for reply in played.replies if reply.call is one.call), None)


def _order(played: Played) -> None:
    for room in played.rooms:
        txns = [message["txn"] for message in played.shown(room)]
        rows = [next((one.row for one in played.tape if one.txn == txn), None) for txn in txns]
        known = [row for row in rows if row is not None]
        places = [next(one.place for one in played.tape if one.row == row) for row in known]
        cases = [place for place in places if place is not None]
        check(cases == sorted(cases), "the order of a room to be kept", cases)


def _waits(played: Played) -> None:
    for reply in played.replies:
        first = reply.call
        if not reply.asked_s or first is None:
            continue
        names = (reply.name,) if reply.name != "send" else ("send", "upload")
        later = [call for call in played.server.calls_of(*names) if call.time > first.time]
        for call in later[:1]:
            waited_s = played.moment(call) - played.moment(first)
            check(waited_s >= reply.asked_s, f"the next attempt after {reply.asked_s:g} s", f"{waited_s:.2f} s")


def _states(played: Played, end_state: str) -> None:
    unused = [reply for reply in played.replies if reply.fault is not None and not reply.fault.hits]
    for reply in unused:
        check(reply.fate == "ok", f"a try that is answered with {reply.status or reply.fate}", "none")
    if re.search(r"held|queue|kept|pending|wait", end_state.lower()):
        return
    states = {row.state for row in played.before}
    check(played.drained, "every part to have an end", states)
    if not re.search(r"uncertain|unknown", end_state.lower()):
        check("unknown" not in states, "nothing uncertain where the same transaction can be sent again", states)


def _again(played: Played) -> None:
    """Another start changes nothing and sends nothing a second time."""
    check(not played.again, "nothing to be sent after another start", len(played.again))
    if played.after:
        now = [(row.state, row.code) for row in played.after[: len(played.before)]]
        check(now == [(row.state, row.code) for row in played.before], "the states to survive another start", now)


def _probes(played: Played) -> None:
    for room, count in played.probes.items():
        if not _closed(played, room):
            where = "another room" if room == ELSEWHERE else "the room"
            check(count == 1, f"the next message in {where} to arrive once", count)


def _closed(played: Played, room: str) -> bool:
    return any(
        reply.status == 403 and reply.name == "send" and (reply.send is None or reply.send.room == room)
        for reply in played.replies
    )


def _end(played: Played, end_state: str) -> None:
    """The case's own words of the end: one of its alternatives holds."""
    problems = []
    for clause in re.split(r",?\s+or\s+(?!more|held)", end_state):
        try:
            _clause(played, clause)
        except Failed as failed:
            problems.append(str(failed))
        else:
            return
    raise Failed(problems[0])


def _clause(played: Played, clause: str) -> None:
    rows: list[Row] = [row for send in played.sends for row in played.rows(send)]
    states = [row.state for row in rows]
    seen = [message for send in played.sends for message in _messages(played, send)]
    understood = True
    if re.search(r"empty|skipped|nothing|no event|not sent|not delivered", clause):
        check(not seen, "nothing to be seen", len(seen))
    elif re.search(r"fail|reject|permanent|given up|dropped", clause):
        check("rejected" in states, "it to be failed", states)
    elif re.search(r"uncertain|unknown", clause):
        check("unknown" in states, "it to be uncertain", states)
    elif re.search(r"held|queue|kept|pending|waits", clause):
        check("ready" in states or "sending" in states, "it to wait", states)
    elif re.search(r"deliver|sent|arriv|handled|processed|answered|visible|event|message|once|order|edited", clause):
        results = [result_of(played.folder, key) for key in played.keys.values()]
        check(rows and set(states) == {"delivered"}, "all to be delivered", states or results)
    else:
        understood = False
    number = re.search(r"\b(\d+|one|two|three|four|both)\s+(?:visible\s+|single\s+)?(?:event|message|cop)", clause)
    if number is not None:
        count = int(number[1]) if number[1].isdecimal() else _NUMBERS[number[1]]
        check(len(seen) == count, number[0], len(seen))
    if least := re.search(r"(\d+) or more (?:parts|events|messages)", clause):
        check(len(rows) >= int(least[1]), least[0], len(rows))
    elif "in parts" in clause:
        check(len(rows) >= 2, "several parts", len(rows))
    for words in re.findall(r"order (?:in \S+ )?is ([^;.]+)", clause):
        wanted = [word.strip() for word in words.split(",")]
        bodies = [message["content"].get("body", "").strip().lower() for message in seen]
        check([body for body in bodies if body in wanted] == wanted, f"the order {words}", bodies)
    if not understood:
        raise NotRun(f"the end {clause!r} is not understood")
