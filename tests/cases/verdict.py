"""What must hold of everything that was sent, whatever the case is called, and what its own words of the end add."""

import re
import unicodedata
from collections import Counter
from itertools import pairwise

from tests.cases.ledger import Row, result_of
from tests.cases.outgoing import ELSEWHERE, Played
from tests.cases.result import Failed, check
from tests.cases.script import Reply, Send
from tests.servers.botapi.calls import Call

TEXT_UNITS, CAPTION_UNITS = 4096, 1024
_JOINS = {"Mn", "Mc", "Me"}


def judge(played: Played, end_state: str, limits: dict[str, int]) -> None:
    """Judge a case that was played."""
    for call in played.calls:
        _fits(call, limits)
    for send in played.sends:
        _words(played, send)
        _copies(played, send)
        _attempts(played, send)
    _order(played)
    _waits(played)
    _doubt(played)
    _again(played)
    _probes(played)
    _end(played, end_state.lower())
    if all(row.state == "delivered" for row in played.before):
        check(not played.heard.errors, "no error in the log of what was delivered", played.heard.errors)


def units(text: str) -> int:
    """UTF-16 code units."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _fits(call: Call, limits: dict[str, int]) -> None:
    text, caption = call.arguments.text("text"), call.arguments.text("caption")
    captions = [caption, *(str(item.get("caption", "")) for item in call.params.get("media") or [])]
    most = min(limits.get("telegram_text_utf16", TEXT_UNITS), TEXT_UNITS)
    check(units(text) <= most, f"every part <= {most} UTF-16 units", units(text))
    most = min(limits.get("telegram_caption_utf16", CAPTION_UNITS), CAPTION_UNITS)
    check(max(map(units, captions)) <= most, f"a caption <= {most} UTF-16 units", max(map(units, captions)))
    for said in (text, *captions):
        check(not re.search("[\ud800-\udfff]", said), "no cut surrogate pair")


def said_by(call: Call) -> str:
    """The words of a call, whether they stand in a message or under files."""
    if call.text:
        return call.text
    media = call.params.get("media") or []
    return str(media[0].get("caption", "")) if media else ""


def _texts(calls: list[Call]) -> list[str]:
    """The words of the parts of one send; what was refused is not a further part."""
    return [said for call in calls if call.error is None and (said := said_by(call))]


def _words(played: Played, send: Send) -> None:
    calls = played.calls_of(send)
    texts = _texts(calls)
    states = {row.state for row in played.rows(send)}
    if not texts or not states <= {"delivered", "unknown"} or send.do == "edit":
        return
    for before, after in pairwise(texts):
        check(not _one_character(before, after), "no cut inside of what people read as one character")
    joined = "".join(texts)
    if send.markdown:
        _markdown(send.text, calls)
        return
    joined = joined.removesuffix("⬇️") if "⬇️" not in send.text else joined
    check(joined.split() == send.text.split(), "the joined parts to equal the text")
    if send.text == " ".join(send.text.split()):
        check(joined == send.text, "the joined parts to equal the text, sign by sign")
    if len(texts) > 1 and any(map(str.isspace, send.text[:CAPTION_UNITS])):
        cuts = [f"{before[-1:]}{after[:1]}" for before, after in pairwise(texts)]
        check(all(re.search(r"\s", cut) for cut in cuts), "cuts at a boundary of words", cuts)


def _one_character(before: str, after: str) -> bool:
    """Whether a cut between two texts parts a grapheme cluster."""
    last, first = before[-1], after[0]
    if unicodedata.category(first) in _JOINS or first in "\u200d\ufe0f" or last == "\u200d":
        return True
    if "\U0001f3fb" <= first <= "\U0001f3ff":
        return True
    flags = re.search("[\U0001f1e6-\U0001f1ff]*$", before)
    return "\U0001f1e6" <= first <= "\U0001f1ff" and flags is not None and len(flags[0]) % 2 == 1


def _markdown(source: str, calls: list[Call]) -> None:
    texts = [said_by(call) for call in calls]
    shown = "\n".join(dict.fromkeys(texts))
    for line in re.findall(r"^\|(.+)\|\s*$", source, re.MULTILINE):
        cells = [cell.strip() for cell in line.split("|")]
        if all(re.fullmatch(r":?-{2,}:?", cell) for cell in cells):
            continue
        row = ".*?".join(re.escape(cell) for cell in cells)
        check(re.search(row, shown), "each row of a table on one line", cells)
    check(not re.search(r"\|\s*:?-{2,}:?\s*\||\\\|", shown), "no raw marks of a table")
    if re.search(r"^\|", source, re.MULTILINE):
        _aligned(calls)
    code = re.findall(r"^```[^\n]*\n(.*?)^```", source, re.MULTILINE | re.DOTALL)
    for lines in (block.splitlines() for block in code):
        found = [line for call in calls for line in _covered(call)]
        check([line for line in found if line in set(lines)] == lines, "all lines of code, in order, shown as code")
    for call in calls:
        check("```" not in said_by(call), "no raw fence")


def _aligned(calls: list[Call]) -> None:
    """A table in monospace has columns: its lines are of one width."""
    for call in calls:
        lines = [line for line in _covered(call) if line.strip()]
        if lines and all("|" in line or "│" in line for line in lines):
            check(len({len(line) for line in lines}) == 1, "columns that stand under each other")


def _covered(call: Call) -> list[str]:
    """The lines of a call that are shown as code."""
    raw = said_by(call).encode("utf-16-le")
    entities = call.params.get("entities") or call.params.get("caption_entities") or []
    lines: list[str] = []
    for entity in entities:
        if entity["type"] in ("pre", "code"):
            start, end = 2 * entity["offset"], 2 * (entity["offset"] + entity["length"])
            lines += raw[start:end].decode("utf-16-le").splitlines()
    return lines


def shown(played: Played, text: str) -> int:
    """How often a text can be seen, in all chats of the case."""
    texts = [said for chat in played.homes for said in played.api.texts(chat)]
    return sum(said.strip() == text.strip() for said in texts)


def _copies(played: Played, send: Send) -> None:
    """Exactly one visible copy of what was delivered, at most one of what is unclear, none of what was refused."""
    rows = played.rows(send)
    texts = _texts(played.calls_of(send))
    if send.do == "edit":
        check(shown(played, send.text) == 1, "one visible message", shown(played, send.text))
        check(sum(len(played.api.texts(chat)) for chat in {send.chat}) >= 1, "the message to stay")
        return
    made = Counter(text for one in played.sends for text in _texts(played.calls_of(one)))
    check(len(texts) <= len(rows), "no more parts to be sent than there are", len(texts))
    for text in texts:
        check(shown(played, text) <= made[text], "at most one visible copy of a part", shown(played, text))
    if rows and all(row.state == "delivered" for row in rows):
        for text in texts:
            check(shown(played, text) == made[text], "one visible copy of each part", shown(played, text))
    if rows and all(row.state in ("rejected", "skipped") for row in rows):
        check(not texts, "nothing of what was refused to be sent in another way")


def _attempts(played: Played, send: Send) -> None:
    calls = played.calls_of(send)
    mine = [reply for reply in played.replies if _hit(reply, calls)]
    for text in dict.fromkeys(said_by(call) for call in calls):
        tries = [call for call in calls if said_by(call) == text]
        refused = sum(call.error is not None for call in tries)
        if any(reply.final for reply in mine) and refused:
            check(len(tries) <= 2 and (len(tries) == 1 or refused == 1), "one attempt, or one more", len(tries))
    for call in calls:
        if call.error is None and call.fate in ("hanging", "cut") and send.text.count(said_by(call)) == 1:
            after = calls[calls.index(call) + 1 :]
            check(all(said_by(one) != said_by(call) for one in after), "no second try of what may have arrived")
    for reply in mine:
        if reply.says("not modified"):
            later = calls[next(n for n, call in enumerate(calls) if call.error is not None) + 1 :]
            check(not later, "nothing sent after the platform had it already", [call.method for call in later])
        if reply.says("entit"):
            _plain(played, calls)
    patient = sum(reply.code == 429 for reply in mine)
    rows = played.rows(send)
    if patient and rows:
        tries = max(row.attempts for row in rows)
        check(tries <= len(calls) - patient, "a 429 to cost no attempt", tries)


def _hit(reply: Reply, calls: list[Call]) -> bool:
    return reply.fault is not None and any(call.arguments is reply.fault.taken for call in calls)


def _plain(played: Played, calls: list[Call]) -> None:
    """The one part that was refused for its formatting goes out once more without it, and the log says so."""
    refused = next(call for call in calls if call.error is not None)
    again = [call for call in calls if said_by(call) == said_by(refused)]
    check(len(again) == 2, "one more try of the refused part", len(again))
    bare = "entities" not in again[1].arguments and "parse_mode" not in again[1].arguments
    check(bare, "no formatting in the second try")
    others = [said_by(call) for call in calls if call not in again]
    check(len(others) == len(set(others)), "only the refused part to be sent again")
    check(any("format" in event for _, event in played.heard.lines), "a line in the log that formatting was dropped")


def _order(played: Played) -> None:
    for chat in played.homes:
        texts = [text.strip() for text in played.api.texts(chat)]
        wanted = [send.text.strip() for send in played.sends if send.text.strip() in texts]
        places = [texts.index(text) for text in dict.fromkeys(wanted)]
        check(places == sorted(places), "the order of a chat to be kept", texts)


def _waits(played: Played) -> None:
    for reply in played.replies:
        if not reply.asked_s or reply.fault is None or reply.fault.taken is None:
            continue
        first = next(call for call in played.calls if call.arguments is reply.fault.taken)
        later = [call for call in played.calls if call.chat_id == first.chat_id and call.time > first.time]
        for call in later[:1]:
            waited_s = played.clock.moment(call.time) - played.clock.moment(first.time)
            check(waited_s >= reply.asked_s, f"the next attempt after {reply.asked_s:g} s", f"{waited_s:.1f} s")


def _doubt(played: Played) -> None:
    """What nobody knows is marked so, told to operators, and stays so."""
    unknown = [row for row in played.before if row.state == "unknown"]
    doubtful = [r for r in played.replies if not r.certain and r.fault is not None and r.fault.hits]
    check(bool(unknown) == bool(doubtful), f"{len(doubtful)} parts of which nobody knows", len(unknown))
    if unknown:
        check(played.reports >= len(unknown), "operators to be told", played.reports)
    states = {row.state for row in played.before}
    check(states <= {"delivered", "rejected", "unknown", "skipped"}, "every part to have an end", states)


def _again(played: Played) -> None:
    """Another start changes nothing and sends nothing a second time."""
    check(not played.again, "no call after another start", [call.method for call in played.again])
    count = len(played.before)
    now = [(row.state, row.code) for row in played.after[:count]]
    check(now == [(row.state, row.code) for row in played.before], "the states to survive another start", now)


def _probes(played: Played) -> None:
    closed = {send.chat for send in played.sends if _closed(played.rows(send))}
    for chat, texts in played.probes.items():
        if chat in closed:
            continue
        moved = [reply.moved_to for reply in played.replies if reply.moved_to] if chat != ELSEWHERE else []
        if not moved:
            check(len(texts) == 1, "the next message to arrive", f"{len(texts)} in one of the chats")
    for chat in closed:
        tries = [call for call in played.api.calls if call.chat_id == chat and call.text.startswith("probe")]
        check(len(tries) <= 1, "later messages to fail fast", len(tries))


def _closed(rows: list[Row]) -> bool:
    return any(row.state == "rejected" and row.code in ("forbidden", "not_found") for row in rows)


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
    rows = played.before
    states = [row.state for row in rows]
    visible = [message for chat in played.homes for message in played.api.sent(chat)]
    visible = [one for one in visible if not str(one.get("text", "")).startswith("probe")]
    if "empty" in clause or "skipped" in clause:
        blank = [send for send in played.sends if not played.rows(send)]
        results = {result_of(played.folder, played.keys[send.index]) for send in blank}
        check(results <= {("done", "silent")}, "it to be recorded as skipped", results)
        check("skipped" in states or blank, "something to be skipped")
        check(not visible, "nothing to be seen", len(visible))
    elif "failed" in clause:
        check("rejected" in states, "it to be failed", states)
    elif "uncertain" in clause or "unknown" in clause:
        check("unknown" in states, "it to be uncertain", states)
        for number in re.findall(r"part\s*(\d+) uncertain", clause):
            check(states[int(number) - 1] == "unknown", f"part {number} to be uncertain", states)
        for first, last in re.findall(r"parts\s*(\d+)-(\d+) sent", clause):
            between = states[int(first) - 1 : int(last)]
            check(set(between) == {"delivered"}, f"parts {first} to {last} to be sent", between)
    elif "delivered" in clause or "sent" in clause:
        check(set(states) == {"delivered"}, "all to be delivered", states or result_of(played.folder, played.keys[0]))
    if least := re.search(r"(\d+) or more parts", clause):
        check(len(rows) >= int(least[1]), f"{least[0]}", len(rows))
    elif "in parts" in clause:
        check(len(rows) >= 2, "several parts", len(rows))
    if "plain" in clause:
        check(not any(one.get("entities") for one in visible), "plain text")
    if "album" in clause:
        check(any("media_group_id" in one for one in visible), "an album")
    if "follow-up" in clause:
        check("text" in visible[-1], "a text that follows")
    for chat in re.findall(r"-\d{6,}", clause):
        seen = [text.strip() for text in played.api.texts(int(chat))]
        for send in played.sends:
            check(seen.count(send.text.strip()) == 1, f"each message once in {chat}", seen)
    for chat, words in re.findall(r"order in chat (-?\d+) is ([^;.]+)", clause):
        wanted = [word.strip() for word in words.split(",")]
        seen = [text.lower() for text in played.api.texts(int(chat)) if text.lower() in wanted]
        check(seen == wanted, f"{words} in chat {chat}", seen)
    for word in re.findall(r"(\S+) is not delayed", clause):
        _undelayed(played, word)


def _undelayed(played: Played, word: str) -> None:
    """A message of another chat does not wait for one that is tried again."""
    times: dict[str, list[float]] = {}
    for call in played.calls:
        times.setdefault(call.text.lower(), []).append(call.time)
    retried = [moments[1] for moments in times.values() if len(moments) > 1]
    check(word.lower() in times and retried, f"{word} to be sent")
    check(times[word.lower()][0] < min(retried), f"{word} before what is tried again")
