"""An approval as people see it: to be decided, folded, replaced, decided, done; as their channel can show it (APPR-2).

A card is one message. Whatever an agent or a stranger wrote stands in it as lines behind a bar, in blocks of their own
(:mod:`bot.approvals.plainness`); every other line is the gateway's.

INVARIANT: a card offers "Approve" only where everything of this version was shown. What does not fit into one message
is folded, says how much is missing, and offers to send everything instead.
"""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final
from zoneinfo import ZoneInfo

from bot.approvals.answering import code_of
from bot.approvals.plainness import behind_a_bar, flat, line, visible
from bot.approvals.words import ApprovalWords
from bot.model.approval import Approval, ApprovalState, Assurance, DecidedBy, Decision, Subject, Verdict
from bot.model.output import Final as Answer
from bot.model.output import OutFile
from bot.model.part import Part
from bot.ports.approvals import Standing
from bot.ports.channel import Channel, Reply
from forms.card import Button, Card, Style
from policy.boundary import Speech

SHORT: Final = 16
"""Hexadecimal digits of a version: in a button's value, and as people read it."""
_LONGEST_LINE: Final = 120
"""Characters of a row; what is longer stands in a block."""
_MOST_NAMES: Final = 15
_ROOMS: Final = (2_000, 1_000, 500, 200, 0)
"""Characters of each block in a folded card, the first with which it fits."""
_VERDICTS: Final = {
    ApprovalState.APPROVED: Verdict.APPROVE,
    ApprovalState.DENIED: Verdict.DENY,
    ApprovalState.RETURNED: Verdict.RETURN,
}
_OPEN_ROWS: Final = ("row.deciders", "row.agreed", "row.until", "row.assurance")
"""Rows that say nothing any more once it is decided."""
_PAST: Final = frozenset({ApprovalState.CLAIMED, ApprovalState.EXECUTED, ApprovalState.FAILED, ApprovalState.UNKNOWN})
"""Approved before they came about."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Terms:
    """What a card says beside the approval itself, by the policy in force.

    Attributes:
        language: of the place.
        timezone: IANA name of the zone in which times are told.
        deciders: who may decide, as people call them.
        quorum: how many of them have to agree.
        agreed: who has agreed to this version.
        assurance: that is wanted.
        where: of a draft: where it goes, in words of the policy.
        page: address of the page where a passkey decides; empty: there is none.
        people: what people are called, by their ids in the policy.
    """

    language: str = "en"
    timezone: str = "UTC"
    deciders: tuple[str, ...] = ()
    quorum: int = 1
    agreed: tuple[str, ...] = ()
    assurance: Assurance = Assurance.NORMAL
    where: str = field(default="", repr=False)
    page: str = field(default="", repr=False)
    people: Mapping[str, str] = field(default_factory=dict, repr=False)


def card(approval: Approval, terms: Terms, channel: Channel, *, to: Reply, unfolded: bool) -> tuple[Part, ...]:
    """The card of an approval that is to be decided; one part.

    Args:
        approval: as it stands.
        terms: of its place.
        channel: of its place.
        to: where.
        unfolded: everything of this version was shown there.
    """
    whole = _asking(approval, terms, channel, to=to, folded=False)
    parts = _parts(whole, channel, to)
    if len(parts) == 1:
        return parts
    for room in _ROOMS:
        folded = _asking(approval, terms, channel, to=to, folded=not unfolded)
        parts = _parts(_cut(folded, whole, terms, room), channel, to)
        if len(parts) == 1:
            return parts
    return parts[-1:]  # with the buttons; unreachable as long as the gateway's own lines fit


def fits(approval: Approval, terms: Terms, channel: Channel, *, to: Reply) -> bool:
    """Whether everything of it can be read in the card itself."""
    return len(_parts(_asking(approval, terms, channel, to=to, folded=False), channel, to)) == 1


def edit(approval: Approval, terms: Terms, channel: Channel, standing: Standing) -> tuple[Part, ...]:
    """What brings a card up to date: replaced by a newer version, decided, done, or as it was."""
    to = Reply(destination=standing.destination)
    if standing.version != approval.version:
        shown = _parts(_replaced(approval, terms), channel, to)
    elif not approval.state.undecided:
        shown = _fitting(_decided(approval, terms), terms, channel, to)
    else:
        unfolded = str(standing.destination) in approval.unfolded
        shown = card(approval, terms, channel, to=to, unfolded=unfolded)
    return channel.present_rest(shown, message=standing.message)


def moved(approval: Approval, terms: Terms, channel: Channel, standing: Standing) -> tuple[Part, ...]:
    """An earlier card where the signs under a message can't change: a newer message has them."""
    words = ApprovalWords(terms.language)
    shown = Card(title=_title(approval, words), note=words.say("moved"))
    parts = _parts(shown, channel, Reply(destination=standing.destination))
    return channel.present_rest(parts, message=standing.message)


def full(approval: Approval, terms: Terms, channel: Channel, *, to: Reply) -> tuple[Part, ...]:
    """Everything of it, as a text file."""
    words = ApprovalWords(terms.language)
    lines = [_title(approval, words), ""]
    lines += [f"{name}: {value}" for name, value in _rows(approval, terms, words)]
    lines.append(f"{words.say('row.version')}: {approval.version}")
    for name, block in _blocks(approval, words):
        lines += ["", f"{name}:", block]
    file = OutFile(
        name=f"{approval.code}-{approval.version[:8]}.txt",
        media_type="text/plain",
        content="\n".join([*lines, ""]).encode("utf-8", "replace"),
    )
    caption = words.say("full", code=approval.code)
    return channel.present(Speech.REPORT, Answer(text=caption, files=(file,)), to=to)


def words_wanted(
    approval: Approval, verdict: Verdict, terms: Terms, channel: Channel, *, to: Reply, person: str
) -> tuple[Part, ...]:
    """Asks a person for the words of a decision; a reply to it gives them."""
    words = ApprovalWords(terms.language)
    asked = words.say(f"prompt.{verdict.value}", person=line(person), code=approval.code)
    gates = [block for block in _blocks(approval, words) if block[0] == words.say("block.gates")]
    shown = Card(title=asked, blocks=tuple(gates if verdict is Verdict.APPROVE else ()))
    return _fitting(shown, terms, channel, to)


def reminder(approval: Approval, terms: Terms, channel: Channel, *, to: Reply) -> tuple[Part, ...]:
    """A word that it still waits, in reply to its card."""
    words = ApprovalWords(terms.language)
    return channel.present(Speech.REPORT, Answer(text=words.say("waits", code=approval.code)), to=to)


def result_of(approval: Approval, words: ApprovalWords) -> str:
    """How it stands, in a few words."""
    return words.say(f"result.{approval.state.value}")


def decider_of(approval: Approval, words: ApprovalWords, people: Mapping[str, str]) -> str:
    """Who decided it; empty where nobody did."""
    decision = _deciding(approval)
    return "" if decision is None else _who(decision, words, people)


def value_of(verb: str, approval: Approval) -> str:
    """What a button under a card stands for: the verb, and the version that it shows (APPR-3)."""
    return f"{verb}:{approval.version[:SHORT]}"


# cards


def _asking(approval: Approval, terms: Terms, channel: Channel, *, to: Reply, folded: bool) -> Card:
    words = ApprovalWords(terms.language)
    high = terms.assurance is Assurance.HIGH
    sign = "!" if to.destination.platform == "matrix" else "/"  # clients there keep "/" for themselves
    how = "how_folded" if folded else "how_high" if high else "how"
    keyboard = list(_keyboard(approval, terms, words, folded=folded))
    if to.destination.platform == "web":  # where there is room for three beside each other
        keyboard = [keyboard[0], [button for row in keyboard[1:] for button in row]]
    return Card(
        title=_title(approval, words),
        rows=(*_rows(approval, terms, words), (words.say("row.version"), approval.version[:SHORT])),
        blocks=tuple(_blocks(approval, words)),
        note=words.say(how, sign=sign, code=approval.code, named=code_of(approval)),
        buttons=tuple(button for row in keyboard for button in row),
        widths=tuple(len(row) for row in keyboard) if channel.keyboards else (),
    )


def _keyboard(approval: Approval, terms: Terms, words: ApprovalWords, *, folded: bool) -> Iterator[list[Button]]:
    def button(verb: str, key: str, sign: str, style: Style = Style.NEUTRAL) -> Button:
        return Button(label=words.say(f"button.{key}"), value=value_of(verb, approval), style=style, sign=sign)

    deny = button("deny", "deny", "❌", Style.DANGER)
    if folded:
        yield [button("full", "full", "📄", Style.PRIMARY), deny]
    elif terms.assurance is not Assurance.HIGH:
        yield [button("approve", "approve", "✅", Style.SUCCESS), deny]
    elif terms.page:
        yield [Button(label=words.say("button.passkey"), url=terms.page, style=Style.SUCCESS), deny]
    else:
        yield [deny]
    yield [button("why", "why", "💬", Style.DANGER), button("return", "return", "🔁")]
    if not folded and terms.assurance is not Assurance.HIGH and not approval.proposal.as_is:
        yield [button("change", "change", "📝")]


def _replaced(approval: Approval, terms: Terms) -> Card:
    words = ApprovalWords(terms.language)
    return Card(title=_closed(approval, words, words.say("result.replaced")))


def _decided(approval: Approval, terms: Terms) -> Card:
    """What was decided stays to be read, with how, by whom and when (and what came of it)."""
    words = ApprovalWords(terms.language)
    rows: list[tuple[str, str]] = []
    decision = _deciding(approval)
    blocks = list(_blocks(approval, words))
    for number, voice in enumerate(_voices(approval)):
        name = words.say("row.by") if number == 0 else "…"
        time, person = _time(voice.at, terms), _who(voice, words, terms.people)
        rows.append((name, words.say("person_at", person=person, time=time, zone=terms.timezone)))
    if approval.replaced and approval.replaced[-1][1]:
        rows.append((words.say("row.changed_by"), _called(approval.replaced[-1][1], words, terms.people)))
    if decision is not None and decision.words.strip():
        blocks.insert(0, (words.say("block.words"), behind_a_bar(visible(decision.words.strip()))))
    if approval.note.strip():
        blocks.insert(0, (words.say("block.note"), behind_a_bar(visible(approval.note.strip()))))
    over = {words.say(key) for key in _OPEN_ROWS}
    shown = [row for row in _rows(approval, terms, words) if row[0] not in over]
    return Card(
        title=_closed(approval, words, result_of(approval, words)),
        rows=(*rows[:12], *shown, (words.say("row.version"), approval.version[:SHORT])),
        blocks=tuple(blocks),
    )


def _title(approval: Approval, words: ApprovalWords) -> str:
    return words.say(f"title.{approval.subject.value}", code=approval.code)


def _closed(approval: Approval, words: ApprovalWords, result: str) -> str:
    """What has become of it is the first thing that is read."""
    return words.say(f"title.{approval.subject.value}.over", code=approval.code, result=result)


def _rows(approval: Approval, terms: Terms, words: ApprovalWords) -> Iterator[tuple[str, str]]:
    action = approval.action
    if approval.subject is Subject.DRAFT:
        yield words.say("row.where"), line(terms.where or str(action.parameters.get("destination", "")))
    else:
        for key, value in (("row.action", action.name), ("row.system", action.system)):
            if value and len(value) <= _LONGEST_LINE:
                yield words.say(key), line(value)
    yield words.say("row.agent"), line(approval.agent)
    yield words.say("row.deciders"), _deciders(terms, words)
    if terms.agreed:
        yield words.say("row.agreed"), ", ".join(map(line, terms.agreed))
    if approval.expires_at is not None:
        when = words.say("time", time=_time(approval.expires_at, terms), zone=terms.timezone)
        yield words.say("row.until"), when
    if approval.auto_at is not None:
        when = words.say("by_itself", time=_time(approval.auto_at, terms), zone=terms.timezone)
        yield words.say("row.until"), when
    if terms.assurance is Assurance.HIGH:
        yield words.say("row.assurance"), words.say("passkey")


def _deciders(terms: Terms, words: ApprovalWords) -> str:
    if not terms.deciders:
        return words.say("deciders_nobody")
    people = ", ".join(map(line, terms.deciders[:_MOST_NAMES]))
    if len(terms.deciders) > _MOST_NAMES:
        people = f"{people}, … ({len(terms.deciders)})"
    return words.say("deciders_many", count=terms.quorum, people=people) if terms.quorum > 1 else people


def _blocks(approval: Approval, words: ApprovalWords) -> Iterator[tuple[str, str]]:
    """Whatever the agent wrote: names of blocks are the gateway's, their lines stand behind a bar."""
    proposal, action = approval.proposal, approval.action
    if approval.subject is Subject.DRAFT:
        yield from _draft(action.parameters, words)
    else:
        for key, value in (("row.action", action.name), ("row.system", action.system)):
            if len(value) > _LONGEST_LINE:
                yield words.say(key), behind_a_bar(visible(value))
        written = flat(action.parameters)
        yield words.say("block.parameters"), behind_a_bar(written) if written else words.say("none")
    gates = [gate for gate in proposal.gates if not gate.passed]
    if gates:
        said = "\n".join(line(f"{gate.name}: {gate.detail}" if gate.detail else gate.name) for gate in gates)
        yield words.say("block.gates"), behind_a_bar(said)
    for key, value in (("block.reason", proposal.reason), ("block.task", proposal.task)):
        if value.strip():
            yield words.say(key), behind_a_bar(visible(value.strip()))


def _draft(parameters: Mapping[str, Any], words: ApprovalWords) -> Iterator[tuple[str, str]]:
    """AUTO-6: the exact text, and the first digits of its SHA-256; then whatever else decides the effect."""
    text = str(parameters.get("text", ""))
    digest = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:SHORT]
    yield words.say("block.text", digest=digest), behind_a_bar(visible(text)) if text else words.say("none")
    rest = {name: value for name, value in parameters.items() if name not in ("destination", "text", "files")}
    files = parameters.get("files") or ()
    if files:
        said = "\n".join(_file(one, words) for one in files)
        yield words.say("block.files"), behind_a_bar(said)
    if rest:
        yield words.say("block.parameters"), behind_a_bar(flat(rest))


def _file(document: Mapping[str, Any], words: ApprovalWords) -> str:
    size = words.say("bytes", count=document.get("size", "?"))
    name, kind = line(str(document.get("name", ""))), line(str(document.get("media_type", "")))
    return f"{name}, {kind}, {size}, SHA-256 {line(str(document.get('sha256', '')))}"


# what fits


def _fitting(shown: Card, terms: Terms, channel: Channel, to: Reply) -> tuple[Part, ...]:
    """A card that decides nothing: long blocks are cut, and say so."""
    parts = _parts(shown, channel, to)
    for room in _ROOMS:
        if len(parts) == 1:
            break
        parts = _parts(_cut(shown, shown, terms, room), channel, to)
    return parts


def _cut(shown: Card, whole: Card, terms: Terms, room: int) -> Card:
    """The card with at most ``room`` characters of each block; the names of those that are cut say so."""
    words = ApprovalWords(terms.language)
    blocks = []
    for name, block in whole.blocks:
        total = len(block)
        if total <= room:
            blocks.append((name, block))
        elif room:
            told = words.say("block.part", name=name, shown=room, total=total)
            blocks.append((told, block[:room].rstrip(" ")))
        else:
            blocks.append((words.say("block.folded", name=name, total=total), "…"))
    return replace(shown, blocks=tuple(blocks))


def _parts(shown: Card, channel: Channel, to: Reply) -> tuple[Part, ...]:
    return channel.present(Speech.REPORT, Answer(text="", card=shown), to=to)


# who and when


def _voices(approval: Approval) -> list[Decision]:
    """Those whose decision it was."""
    verdict = Verdict.APPROVE if approval.state in _PAST else _VERDICTS.get(approval.state)
    return [one for one in approval.standing if one.verdict is verdict]


def _deciding(approval: Approval) -> Decision | None:
    voices = _voices(approval)
    return voices[-1] if voices else None


def _who(decision: Decision, words: ApprovalWords, people: Mapping[str, str]) -> str:
    match decision.way:
        case DecidedBy.TIME:
            return words.say("the_time")
        case DecidedBy.POLICY:
            return words.say("the_policy")
        case _:
            return _called(decision.person, words, people)


def _called(person: str, words: ApprovalWords, people: Mapping[str, str]) -> str:
    return line(people.get(person, "")) or words.say("somebody")


def _time(at: datetime, terms: Terms) -> str:
    return at.astimezone(ZoneInfo(terms.timezone)).strftime("%Y-%m-%d %H:%M")
