"""Kinds ``config_table`` and ``config_load``: a file means what it looks like, or is refused where it does not.

A case speaks of keys that this project does not have. ``NAMES`` says what a person who brings such a file over would
write them as; values keep the form in which they are written (quotes, zeros, kinds of list). Each file is tried as it is
and brought over, and every value of it by itself at the places where texts, truth values and times belong. What is
loaded has to mean what is written; everything else has to be refused with its line and its mend.
"""

import json
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any

import yaml

from bot.config.errors import ConfigError
from bot.config.file import load_config
from bot.config.settings import Config
from bot.model.inbound import Arrival, Stored
from bot.wiring import reader_for
from policy.decision import Outcome
from policy.document import load
from policy.errors import PolicyError
from policy.event import Memory
from policy.participation import admit
from policy.ruleset import Policy
from tests.cases.result import Failed, check

BOT_ID = 7001
TOKEN = f"{BOT_ID}:{'A' * 35}"
STRANGER, STRANGE_CHAT = 519999999, -1009999999009
NAMES: dict[tuple[str, ...], tuple[str, ...]] = {
    ("allow_chats",): ("policy", "channels"),
    ("chats",): ("policy", "channels"),
    ("groups",): ("policy", "channels"),
    ("rooms",): ("policy", "channels"),
    ("allow_users",): ("policy", "people"),
    ("users",): ("policy", "people"),
    ("allow_from",): ("policy", "people"),
    ("admins",): ("policy", "operators"),
    ("operators",): ("policy", "operators"),
    ("language",): ("policy", "defaults", "language"),
    ("timezone",): ("policy", "defaults", "timezone"),
    ("version",): ("policy", "version"),
    ("timeout",): ("policy", "defaults", "backlog"),
    ("telegram", "allow_users"): ("policy", "people"),
    ("telegram", "allow_chats"): ("policy", "channels"),
    ("telegram", "token"): ("config", "telegram", "token"),
    ("telegram", "api_url"): ("config", "telegram", "api_url"),
}
_LOUD = re.compile(r"(?P<place>\S*:(?P<line>\d+):\d+: )[^\n]+[.:] [A-Z`]?[^\n]+")


async def table(case: dict[str, Any], folder: Path) -> None:
    """Each row works, or is refused loudly; what admits one named chat admits all of them."""
    given = case["input"]
    wanted = [int(number) for number in re.findall(r"-?\d{6,}", str(given.get("note", "")))]
    for row in given["rows"]:
        written, environment = str(row["yaml"]), row.get("env", {})
        _as_it_is(written, environment, folder)
        document = _composed(written)
        if document is None:
            continue
        listed = [number for number in wanted if str(number) in written]
        sections = document.value and isinstance(document.value[0][1], (yaml.SequenceNode, yaml.MappingNode))
        for form in Form:
            policy = _brought_over(document, environment, folder, form)
            if policy is None:
                needed = listed and sections and form is Form.BY_SIGN
                check(not needed, f"{written.splitlines()[0]!r}, written as ours, to be taken")
                continue
            for number in listed:
                check(_outcome(policy, number) is Outcome.RESPOND, f"{number} to be admitted by {written!r}")
            _closed(policy, listed)


async def single(case: dict[str, Any], folder: Path) -> None:
    """One file: as it is, brought over, and value by value."""
    given = case["input"]
    written, environment = str(given["file_text"]), given.get("env", {})
    end_state = str(case["expected"]["end_state"]).lower()
    _as_it_is(written, environment, folder)
    document = _composed(written)
    if document is None:
        return
    policy = _brought_over(document, environment, folder, Form.SECTIONS)
    if "refused" in end_state or re.match(r"(warning or )?error\b(?! or)", end_state):
        check(policy is None, "the file to be refused, brought over to our names")
    if policy is not None:
        _closed(policy, [int(number) for number in re.findall(r"-?\d{6,}", written)])
    for text in _each(document):
        _by_itself(text, environment, folder)
    _variables(written, environment, folder)
    _twins(document, folder)


# reading


def _refusal(text: str, name: str, environment: Mapping[str, str], folder: Path) -> tuple[Policy | Config | None, str]:
    """What one of our two files comes to, or the refusal, which has to say where and what to do."""
    path = folder / name
    path.write_text(text, encoding="utf-8", newline="")
    try:
        if name == "policy.yaml":
            return load(text, source=str(path), environment=environment), ""
        return load_config(path, environment), ""
    except (PolicyError, ConfigError) as error:
        said = str(error)
    except Exception as error:
        raise Failed(f"expected a refusal with its line, got {type(error).__name__} from {text!r}") from None
    for line in said.splitlines():
        check(_LOUD.search(line), "a refusal with line and mend", line.replace(str(folder), ""))
    return None, said


def _as_it_is(written: str, environment: Mapping[str, str], folder: Path) -> None:
    """Pasted into our files it is refused, or changes nothing for anybody."""
    config, _ = _refusal(written, "config.yaml", environment, folder)
    check(config is None, "a foreign configuration to be refused")
    policy, _ = _refusal(written, "policy.yaml", environment, folder)
    if isinstance(policy, Policy):
        _closed(policy, [])
    policy, _ = _refusal(f"version: 1\n{written.removeprefix(chr(0xFEFF))}", "policy.yaml", environment, folder)
    if isinstance(policy, Policy):
        _closed(policy, [])


def _brought_over(
    document: yaml.MappingNode, environment: Mapping[str, str], folder: Path, form: "Form"
) -> Policy | None:
    """Our files with the case's values; None: one of them is refused."""
    policy_text, config_text = _ours(document, form)
    policy, _ = _refusal(policy_text, "policy.yaml", environment, folder)
    refused = policy is None
    if config_text is not None:
        config, _ = _refusal(config_text, "config.yaml", environment, folder)
        refused = refused or config is None
    return policy if isinstance(policy, Policy) and not refused else None


def _composed(text: str) -> yaml.MappingNode | None:
    """The file as nodes, with all keys and all ways of writing; None where it is no section."""
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError:
        return None
    return node if isinstance(node, yaml.MappingNode) else None


# bringing over


class Form(StrEnum):
    """How a file is brought over: keys renamed only; lists as sections; persons in lists of chats among people too."""

    NAMES_ONLY = "names_only"
    SECTIONS = "sections"
    BY_SIGN = "by_sign"


def _ours(document: yaml.MappingNode, form: Form) -> tuple[str, str | None]:
    """The policy file and, where the case has something for it, the configuration file."""
    files: dict[str, list[Any]] = {"policy": [], "config": []}
    for path, key, value in _leaves(document):
        target = NAMES.get(path)
        if target is not None and target[-1] == "channels" and form is Form.BY_SIGN:
            value, persons = _by_sign(value)
            if persons is not None:
                _among_people(files["policy"], persons, "chatting")
        listed = isinstance(value, yaml.SequenceNode) and form is not Form.NAMES_ONLY
        if target is not None and target[-1] == "operators" and listed:
            value = _among_people(files["policy"], value, "operator")
        if target is None:
            files["config" if path[0] in ("telegram", "matrix", "gateway") else "policy"].append((key, value))
            continue
        if form is not Form.NAMES_ONLY and target[-1] in ("channels", "people"):
            value = _adapted(target[-1], value)
        files[target[0]].append((target[1:], value))
    policy = _text(files["policy"])
    if not re.search(r"^version:", policy, re.MULTILINE):
        policy = f"version: 1\n{policy}"
    if "direct:" not in policy:
        policy += "direct: {strangers: unknown}\n"
    config = _config(files["config"]) if files["config"] else None
    return policy, config


def _leaves(document: yaml.MappingNode) -> Iterator[tuple[tuple[str, ...], yaml.Node, yaml.Node]]:
    for key, value in document.value:
        inner = [(key.value, one.value) for one, _ in value.value] if isinstance(value, yaml.MappingNode) else []
        if any(path in NAMES for path in inner):
            for one, leaf in value.value:
                yield (key.value, one.value), one, leaf
        else:
            yield (key.value,), key, value


def _among_people(entries: list[tuple[Any, yaml.Node]], persons: yaml.SequenceNode, word: str) -> yaml.Node:
    """List persons under people; returns the list of their names there."""
    node = next((value for key, value in entries if key == ("people",)), None)
    if not isinstance(node, yaml.MappingNode):
        node = yaml.MappingNode("tag:yaml.org,2002:map", [])
        entries.append((("people",), node))
    listed = _adapted("people", persons)
    for number, (key, value) in enumerate(listed.value):
        key.value = f"{word}{number}"
        node.value.append((key, value))
    return yaml.SequenceNode(persons.tag, [key for key, _ in listed.value], flow_style=True)


def _by_sign(value: yaml.Node) -> tuple[yaml.Node, yaml.SequenceNode | None]:
    """A list of chats without the persons in it, and those; the sign of an id tells them apart."""
    if not isinstance(value, yaml.SequenceNode):
        return value, None
    persons = [item for item in value.value if str(item.value).isdecimal()]
    chats = [item for item in value.value if item not in persons]
    found = yaml.SequenceNode(value.tag, persons) if persons else None
    return yaml.SequenceNode(value.tag, chats, flow_style=True), found


def _text(entries: list[tuple[Any, yaml.Node]]) -> str:
    lines = []
    for key, value in entries:
        path = key if isinstance(key, tuple) else (_scalar(key),)
        written = yaml.serialize(value, allow_unicode=True, width=10_000).removesuffix("\n...\n").rstrip("\n")
        if isinstance(value, yaml.ScalarNode):
            written = _scalar(value)
        indent = "  " * len(path)
        head = "".join(
            "  " * depth + f"{step}:" + ("\n" if depth < len(path) - 1 else "") for depth, step in enumerate(path)
        )
        if isinstance(value, yaml.ScalarNode):
            lines.append(f"{head} {written}".rstrip())
        else:
            lines.append(head + "\n" + "\n".join(indent + line for line in written.splitlines()))
    return "\n".join(lines) + ("\n" if lines else "")


def _scalar(node: yaml.ScalarNode) -> str:
    """A scalar as it was written."""
    if node.style in ("'", '"'):
        return (
            json.dumps(node.value, ensure_ascii=False)
            if node.style == '"'
            else "'" + node.value.replace("'", "''") + "'"
        )
    return str(node.value)


def _config(entries: list[tuple[Any, yaml.Node]]) -> str:
    bot = {key[-1]: _scalar(value) for key, value in entries if isinstance(key, tuple) and key[0] == "telegram"}
    rest = _text([(key, value) for key, value in entries if not isinstance(key, tuple)])
    bot.setdefault("token", TOKEN)
    lines = [
        "telegram:",
        *(f"  {'- ' if n == 0 else '  '}{key}: {value}" for n, (key, value) in enumerate(bot.items())),
    ]
    head = "" if re.search(r"^telegram:", rest, re.MULTILINE) else "\n".join(lines) + "\n"
    return head + "agents: {main: {kind: echo}}\n" + rest


def _adapted(kind: str, value: yaml.Node) -> yaml.Node:
    """Lists of ids as the sections that we have; anything else stays as it is."""
    if isinstance(value, yaml.SequenceNode):
        pairs: list[tuple[yaml.Node, yaml.Node | None]] = [(item, None) for item in value.value]
    elif isinstance(value, yaml.MappingNode):
        pairs = list(value.value)
    else:
        return value
    return yaml.compose(
        "\n".join(_entry(kind, number, key, settings) for number, (key, settings) in enumerate(pairs)) or "{}",
        Loader=yaml.SafeLoader,
    )


def _entry(kind: str, number: int, key: yaml.Node, settings: yaml.Node | None) -> str:
    name = str(key.value)
    if kind == "people":
        return f'p{number}: {{accounts: ["telegram:{name}"], access: allow}}'
    said = {} if not isinstance(settings, yaml.MappingNode) else {k.value: _scalar(v) for k, v in settings.value}
    said.setdefault("audience", "internal" if said.get("require_mention") == "false" else "external")
    quote = key.style if isinstance(key, yaml.ScalarNode) and key.style else ""
    place = f"{quote}telegram:{BOT_ID}:{name}{quote}"
    return f"{place}: {{{', '.join(f'{k}: {v}' for k, v in said.items())}}}"


# what it means


def _closed(policy: Policy, listed: list[int]) -> None:
    """Whoever is not listed is not let in: nothing that is missing opens a door."""
    for number in (STRANGER, STRANGE_CHAT):
        if number not in listed:
            check(_outcome(policy, number) is Outcome.MUTE, "silence towards whom nobody listed")


def _outcome(policy: Policy, number: int) -> Outcome:
    now = datetime.now(UTC)
    who = {"id": number if number > 0 else STRANGER - 1, "is_bot": False, "first_name": "P"}
    chat = {"id": number, "type": "private"} if number > 0 else {"id": number, "type": "supergroup", "title": "T"}
    message = {"message_id": 5, "from": who, "chat": chat, "date": int(now.timestamp()), "text": "@desk_bot hello"}
    message["entities"] = [{"type": "mention", "offset": 0, "length": 9}]
    raw = json.dumps({"update_id": 1, "message": message}).encode()
    arrival = Arrival(key="1", lane="lane", raw=raw, received_at=now)
    reader = reader_for("telegram", {"id": BOT_ID, "username": "desk_bot"})
    event = reader.read(Stored(id=1, account=f"telegram:{BOT_ID}", arrival=arrival)).event
    return admit(policy, event, Memory(first_start=datetime(2020, 1, 1, tzinfo=UTC)), now=now).outcome


# value by value


def _each(node: yaml.Node) -> Iterator[yaml.ScalarNode]:
    """Every scalar that is a value."""
    if isinstance(node, yaml.ScalarNode):
        yield node
    elif isinstance(node, yaml.SequenceNode):
        for item in node.value:
            yield from _each(item)
    else:
        for _, value in node.value:
            yield from _each(value)


def _by_itself(node: yaml.ScalarNode, environment: Mapping[str, str], folder: Path) -> None:
    """A value at a place for texts is that very text, at one for truth values a truth value; else it is refused."""
    written = _scalar(node)
    if "${" in written or not written:
        return
    text = f'version: 1\npeople:\n  p:\n    accounts: ["telegram:1"]\n    names:\n      - {written}\n'
    policy, _ = _refusal(text, "policy.yaml", environment, folder)
    if isinstance(policy, Policy):
        names = {name for person in policy.people.values() for name in person.names}
        check({name.casefold() for name in names} == {node.value.casefold()}, f"the text {written}", names)
    policy, _ = _refusal(f"version: 1\ndefaults:\n  language: {written}\n", "policy.yaml", environment, folder)
    if isinstance(policy, Policy):
        check(policy.language == node.value, f"the language {written}", policy.language)
    place = f'"telegram:{BOT_ID}:{STRANGE_CHAT}"'
    text = f"version: 1\nchannels:\n  {place}:\n    audience: internal\n    progress: {written}\n"
    policy, _ = _refusal(text, "policy.yaml", environment, folder)
    if isinstance(policy, Policy):
        (channel,) = policy.channels.values()
        check(channel.progress is {"true": True, "false": False}.get(node.value), f"{written} as a truth value")


def _variables(written: str, environment: Mapping[str, str], folder: Path) -> None:
    """An unset variable is refused by its name; an empty one lets nobody in."""
    for name in set(re.findall(r"\$\{(\w+)\}", written)):
        for file, text in (
            ("policy.yaml", f'version: 1\npeople:\n  p:\n    accounts: ["${{{name}}}"]\n'),
            ("policy.yaml", f"version: 1\npeople: ${{{name}}}\n"),
            ("config.yaml", f"telegram:\n  - token: ${{{name}}}\nagents: {{main: {{kind: echo}}}}\n"),
        ):
            loaded, said = _refusal(text, file, environment, folder)
            if name not in environment:
                check(loaded is None and name in said, f"a refusal that names {name}")
                for empty in ("", " "):
                    loaded, _ = _refusal(text, file, {**environment, name: empty}, folder)
                    check(loaded is None, "an empty variable to be refused")


def _twins(document: yaml.MappingNode, folder: Path) -> None:
    """A key that is there twice is refused with both lines, also where the two are only written differently."""
    keys = [key.value for key, _ in document.value]
    if len(keys) != len(set(keys)):
        _, said = _refusal(_ours(document, Form.SECTIONS)[0], "policy.yaml", {}, folder)
        lines = {number for line in said.splitlines() if "twice" in line for number in re.findall(r"line (\d+)", line)}
        check(len(lines) >= 2, "both lines of a key that is there twice", sorted(lines))
    for number in {
        key.value for _, value in document.value if isinstance(value, yaml.MappingNode) for key, _ in value.value
    }:
        for first, second in (
            ((f"telegram:{BOT_ID}:{number}"), f'"telegram:{BOT_ID}:{number}"'),
            (number, f'"{number}"'),
        ):
            text = f"version: 1\nchannels:\n  {first}: {{audience: external}}\n  {second}: {{audience: internal}}\n"
            loaded, said = _refusal(text, "policy.yaml", {}, folder)
            check(loaded is None and "line 3" in said, "the same key in two ways of writing to be refused")


KINDS = {"config_table": table, "config_load": single}
