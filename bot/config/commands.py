"""Commands that agents may run, as the daemon uses them: complete and checked (CMD-1)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from bot.config.secret import Secret
from policy.decision import Audience
from policy.destination import Destination

MAX_OBJECT_ID: Final = 200
"""Characters of the id of an object."""
Texts = Mapping[str, str]
"""A text by language (BCP 47); English is always there."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Readers:
    """Who may read an object. Attributes: groups: of approvers in the policy, or ``operators``."""

    people: frozenset[str] = frozenset()
    groups: frozenset[str] = frozenset()
    counterparties: frozenset[str] = frozenset()


@dataclass(frozen=True, kw_only=True, slots=True)
class TableObject:
    """An object of a table. Attributes: fields: what rules look at."""

    display: str = field(repr=False)
    readers: Readers
    fields: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class ObjectTable:
    """Objects that stand in the configuration, by id."""

    objects: Mapping[str, TableObject] = field(repr=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class Endpoint:
    """An address that is called with a signature (Standard Webhooks). Attributes: timeout_s: for the whole answer."""

    url: str = field(repr=False)
    secrets: tuple[Secret, ...]
    timeout_s: float
    allow_plain_http: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class CommandRule:
    """A reason to refuse (CMD-4).

    Attributes:
        code: stable.
        when: the object has one of these values in each of these fields. An object without the field is refused too.
        reason: what people read.
    """

    code: str
    when: Mapping[str, frozenset[str]]
    reason: Texts


@dataclass(frozen=True, kw_only=True, slots=True)
class HttpAction:
    """Calls an endpoint."""

    endpoint: Endpoint


@dataclass(frozen=True, kw_only=True, slots=True)
class FormAction:
    """Asks a question. Attributes: question: ``{object}`` in it stands for the object. who: ``asker`` and so on."""

    question: Texts = field(repr=False)
    schema: Mapping[str, Any] = field(repr=False)
    who: str = "asker"
    people: frozenset[str] = frozenset()
    important: bool = False
    ttl_s: int = 3600


@dataclass(frozen=True, kw_only=True, slots=True)
class SummaryAction:
    """Shows the agent's summary in a room of the same audience; None: there where it was asked."""

    room: Destination | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class HandoverAction:
    """Tells a person on a verified internal channel."""


@dataclass(frozen=True, kw_only=True, slots=True)
class KeepAction:
    """Nothing more than keeping the object in its slot (CMD-6)."""


CommandAction = HttpAction | FormAction | SummaryAction | HandoverAction | KeepAction


@dataclass(frozen=True, kw_only=True, slots=True)
class Command:
    """One command.

    Attributes:
        name: by which agents run it.
        description: in English, for the model.
        input_description: the same for its object; None: it takes none (CMD-2).
        title: how people read of it.
        audiences: where it may be run.
        people: who may have it run, by ids of the policy; None with no groups: whoever is there.
        groups: as in :class:`Readers`.
        objects: where its object is looked up.
        rules: its own reasons to refuse.
        keep_as: slot in which its object is kept once it is done (CMD-6).
        reads: slots that it reads.
        action: what it does.
    """

    name: str
    description: str
    input_description: str | None = None
    title: Texts
    audiences: frozenset[Audience]
    people: frozenset[str] | None = None
    groups: frozenset[str] = frozenset()
    objects: ObjectTable | Endpoint | None = None
    rules: tuple[CommandRule, ...] = ()
    keep_as: str | None = None
    reads: tuple[str, ...] = ()
    action: CommandAction

    @property
    def takes_words(self) -> bool:
        """Whether the agent may give words of its own with it."""
        return isinstance(self.action, SummaryAction | HandoverAction)

    @property
    def needs_words(self) -> bool:
        """Whether there is nothing to do without them."""
        return isinstance(self.action, SummaryAction)
