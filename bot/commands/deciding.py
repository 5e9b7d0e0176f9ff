"""The decisions around a command, pure: who may run it, on what, and whether its own rules refuse (CMD-1 to 4).

A check vetoes; only the end of the chain lets a command run. What a rule needs and does not find is a veto.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from bot.commands.refusals import refusal
from bot.config.commands import Command, CommandRule, ObjectTable, Readers, TableObject
from bot.model.command import Call, Grounds, Offered, Thing
from policy.decision import Audience
from policy.ruleset import Access, Person, Policy

MAX_WORDS: Final = 4_000
"""Characters of an agent's own words."""
_NOBODY: Final = TableObject(display="", readers=Readers())


@dataclass(frozen=True, kw_only=True, slots=True)
class OnBehalfOf:
    """The person for whom an agent acts, and who reads along there now (CMD-3)."""

    person: Person | None
    audience: Audience
    policy: Policy


def offered(commands: Mapping[str, Command], whom: OnBehalfOf) -> tuple[Offered, ...]:
    """The commands that may be run there, for that person (CMD-1)."""
    return tuple(
        Offered(
            name=one.name,
            description=one.description,
            input_description=one.input_description,
            reads=one.reads,
            keep_as=one.keep_as,
            words=one.takes_words,
        )
        for one in commands.values()
        if allowed(one, whom)
    )


def allowed(command: Command, whom: OnBehalfOf) -> bool:
    """Whether a command may be run there, for that person. Unknown readers are outsiders."""
    audience = Audience.EXTERNAL if whom.audience is Audience.UNKNOWN else whom.audience
    if audience not in command.audiences:
        return False
    if whom.person is not None and whom.person.access is Access.DENY:
        return False
    if command.people is None and not command.groups:
        return True
    return belongs(whom, people=command.people or frozenset(), groups=command.groups)


def belongs(
    whom: OnBehalfOf,
    *,
    people: frozenset[str],
    groups: frozenset[str],
    counterparties: frozenset[str] = frozenset(),
) -> bool:
    """Whether the person is one of these; a stranger never is. All of it is looked at, whatever fits first."""
    person = Person(id="", accounts=frozenset()) if whom.person is None else whom.person
    known = whom.person is not None
    named = person.id in people
    grouped = [
        person.operator if group == "operators" else person.id in whom.policy.approvers.get(group, frozenset())
        for group in sorted(groups)
    ]
    theirs = person.counterparty is not None and person.counterparty in counterparties
    return known and bool(named + sum(grouped) + theirs)


def check_input(command: Command, call: Call) -> None:
    """An object and words are given where they are expected, and nowhere else (CMD-2).

    Raises:
        CommandError: they are not.
    """
    if command.input_description is None and call.object_id is not None:
        raise refusal("no_input_expected")
    if command.input_description is not None and call.object_id is None:
        raise refusal("object_missing")
    if call.words is not None and not command.takes_words:
        raise refusal("no_text_expected")
    if command.needs_words and not (call.words or "").strip():
        raise refusal("text_missing")
    if len(call.words or "") > MAX_WORDS:
        raise refusal("text_too_long")


def readable(table: ObjectTable, object_id: str, whom: OnBehalfOf) -> Thing | None:
    """The object of a table, if the person may read it (CMD-3).

    The same is done for an id that is not there as for one that is, with an object that nobody may read.
    """
    found = table.objects.get(object_id, _NOBODY)
    readers = found.readers
    may = belongs(whom, people=readers.people, groups=readers.groups, counterparties=readers.counterparties)
    return Thing(id=object_id, display=found.display, fields=found.fields) if may else None


def judged(rules: Sequence[CommandRule], thing: Thing | None) -> tuple[Grounds, ...]:
    """Why a command's own rules refuse this object; nothing: they don't (CMD-4)."""
    if thing is None:
        return ()
    return tuple(Grounds(code=rule.code, texts=rule.reason) for rule in rules if _fits(rule, thing))


def _fits(rule: CommandRule, thing: Thing) -> bool:
    """An object without a field that the rule looks at is refused: nobody can tell that it would not be."""
    if any(field not in thing.fields for field in rule.when):
        return True
    return all(thing.fields[field] in values for field, values in rule.when.items())


def in_language(texts: Mapping[str, str], language: str) -> str:
    """The text for a person: in their language, in its main form, else in English; empty where there is none."""
    tags = {tag.casefold(): text for tag, text in texts.items()}
    wanted = language.replace("_", "-").casefold()
    for tag in (wanted, wanted.partition("-")[0], "en"):
        if tag in tags:
            return tags[tag]
    return next(iter(texts.values()), "")
