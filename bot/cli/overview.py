"""``discreet channels``: what the bot has seen, and the policy lines for what is not listed yet."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bot.cli import terminal
from bot.cli.policies import load_policy
from bot.cli.reading import read
from bot.cli.serving import read_config
from bot.ports.store import SeenChannel
from policy.audience import audience_of
from policy.decision import Audience, Outcome
from policy.event import Chat
from policy.ruleset import Policy

_WORDS = {Outcome.RESPOND: "answered", Outcome.MUTE: "silent", Outcome.DEFER: "waiting"}


@dataclass(frozen=True, kw_only=True, slots=True)
class _Row:
    """One channel as the policy sees it; ``lines`` are for the policy file, empty where it is listed."""

    seen: SeenChannel
    audience: Audience
    listed: bool
    lines: tuple[str, ...]


def overview(path: Path, *, as_json: bool) -> None:
    """Print every channel that the bot has seen."""
    config = read_config(path)
    policy = load_policy(config.policy)
    names: dict[str, str] = {}  # for people who have none yet
    rows = [_row(policy, seen, names) for seen in read(config, lambda reader: reader.overview.channels())]
    if as_json:
        for row in rows:
            print(json.dumps(_facts(row), ensure_ascii=False))
        return
    if not rows:
        terminal.say("The bot has seen nothing yet. Write to it, or add it to a group and mention it.")
        return
    _table(rows)
    _paste(rows)


def _row(policy: Policy, seen: SeenChannel, names: dict[str, str]) -> _Row:
    chat = Chat(seen.chat)
    place = seen.destination
    person = seen.person if chat is Chat.DIRECT else None
    audience = audience_of(policy, place, chat=chat, person=person)
    lines: tuple[str, ...] = ()
    if chat is Chat.GROUP:
        listed = place in policy.channels or place.room in policy.channels
        lines = (
            ()
            if listed
            else (f"  {_key(str(place.room))}:", "    audience: external # or internal: only your own people")
        )
    elif chat is Chat.DIRECT and person is not None:
        listed = policy.person(person) is not None
        name = names.setdefault(person, f"somebody{len(names) + 1 if names else ''}") if not listed else ""
        lines = (
            ()
            if listed
            else (f"  {name}: # an id of your choice", f"    accounts: [{_key(person)}]", "    access: allow")
        )
    else:
        listed, lines = True, ()
    return _Row(seen=seen, audience=audience, listed=listed, lines=lines)


def _key(text: str) -> str:
    """A value as it stands in a policy; ids of Matrix hold characters that mean something to YAML."""
    return json.dumps(text, ensure_ascii=False) if text.startswith("matrix:") else text


def _facts(row: _Row) -> dict[str, object]:
    return {
        "destination": str(row.seen.destination),
        "chat": row.seen.chat,
        "decisions": dict(sorted(row.seen.decisions.items())),
        "last_at": row.seen.last_at.isoformat(),
        "audience": row.audience.value,
        "listed": row.listed,
        "policy": "\n".join(row.lines),
    }


def _table(rows: Sequence[_Row]) -> None:
    head = ("destination", "kind", "audience", *_WORDS.values(), "last")
    table = [
        (
            str(row.seen.destination),
            row.seen.chat,
            row.audience.value if row.listed else f"{row.audience.value} (not listed)",
            *(str(row.seen.decisions.get(outcome.value, 0)) for outcome in _WORDS),
            row.seen.last_at.strftime("%Y-%m-%d %H:%M"),
        )
        for row in rows
    ]
    widths = [max(len(line[column]) for line in (head, *table)) for column in range(len(head))]
    terminal.head(_padded(head, widths))
    for line in table:
        terminal.say(_padded(line, widths))


def _padded(line: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(word.ljust(width) for word, width in zip(line, widths, strict=True)).rstrip()


def _paste(rows: Sequence[_Row]) -> None:
    for section, chat in (("channels", Chat.GROUP.value), ("people", Chat.DIRECT.value)):
        lines = {row.lines for row in rows if row.seen.chat == chat and row.lines}
        if lines:
            terminal.head(f"\nNot listed yet. To change that, add to the policy file, under {section}:")
            for block in sorted(lines):
                for line in block:
                    terminal.say(line)
