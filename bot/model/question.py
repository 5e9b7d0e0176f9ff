"""A question to a person (FORM): what an agent asks, and what becomes of it.

The states are a table (:mod:`bot.questions.states`); a question is stored before anybody sees it, and one submission
wins by its version.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

from forms.schema import Form
from policy.destination import Destination
from policy.event import Chat

TTL_LEAST_S: Final = 30
TTL_LONGEST_S: Final = 7 * 86_400
OURS: Final = "discreet:gateway"
"""Instead of an agent's name (none has a colon): the gateway itself asks, on the inside, and one person alone."""
MAX_TEXT: Final = 4_000
"""Characters of the question itself."""


class Way(StrEnum):
    """How a question was answered (FORM-11)."""

    TAP = "tap"
    REPLY = "reply"  # `field: value`, as a reply or in the question's thread
    FORM = "form"  # the page behind the link
    MINI_APP = "mini_app"
    CARD = "card"  # in the built-in chat


class Answerer(StrEnum):
    """Who may answer (FORM-9)."""

    ASKER = "asker"  # whoever made the request that the question belongs to
    PEOPLE = "people"
    OPERATORS = "operators"
    ANYONE = "anyone"  # in the channel


@dataclass(frozen=True, kw_only=True, slots=True)
class Who:
    """Who may answer; ``people`` are ids of principals, with ``PEOPLE`` alone."""

    kind: Answerer = Answerer.ASKER
    people: frozenset[str] = frozenset()


class QuestionState(StrEnum):
    """Where a question stands."""

    OPEN = "open"
    CONFIRMING = "confirming"  # an important one has an answer that waits to be confirmed (FORM-12)
    ANSWERED = "answered"
    EXPIRED = "expired"
    CANCELLED = "cancelled"

    @property
    def pending(self) -> bool:
        """Whether it still takes an answer."""
        return self in (QuestionState.OPEN, QuestionState.CONFIRMING)


@dataclass(frozen=True, kw_only=True, slots=True)
class Asking:
    """What an agent asks.

    Attributes:
        text: the question, Markdown.
        schema: JSON Schema of the answer (FORM-1).
        who: may answer.
        ttl_s: seconds until it expires.
        important: a second confirmation is wanted (FORM-12).
        key: the same question asked again is the same question; None: by its words, and how often they were asked.
    """

    text: str = field(repr=False)
    schema: Mapping[str, Any] = field(repr=False)
    who: Who = field(default_factory=Who)
    ttl_s: int = 3600
    important: bool = False
    key: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """A question as it is stored.

    Attributes:
        id: opaque.
        agent: name of the agent that asks.
        key: unique within the agent; asking again with it finds this question.
        destination: where it is shown.
        chat: kind of place.
        person: in a direct chat the account of the other side.
        asker: account of whoever made the request.
        event_id: the inbox row of that request.
        schema: as the agent wrote it.
        form: the typed fields that were read out of it.
        text: the question.
        who: may answer.
        important: FORM-12.
        language: of the gateway's words around it.
        timezone: IANA name of the zone in which local times are meant.
        state: where it stands.
        version: rises with each change; a change names the version that it changes.
        kept: valid values so far: of a partly wrong answer, of toggles; while it is being confirmed, the answer.
        view: what the buttons show now (see :mod:`forms.presentation`).
        refused: (field, code) of what was wrong in the latest attempt (FORM-2); no values.
        answer: the one JSON document (FORM-11), once it is answered.
        answered_by: account, or None where nobody can tell.
        way: how it was answered.
        said: the message that answered it, where one did (CLAR-5).
        closed_at: when it ended.
    """

    id: str
    agent: str
    key: str
    destination: Destination
    chat: Chat
    person: str | None
    asker: str | None
    event_id: int | None
    schema: Mapping[str, Any] = field(repr=False)
    form: Form = field(repr=False)
    text: str = field(repr=False)
    who: Who
    important: bool = False
    language: str = "en"
    timezone: str = "UTC"
    state: QuestionState = QuestionState.OPEN
    version: int = 1
    asked_at: datetime
    expires_at: datetime
    kept: Mapping[str, object] = field(default_factory=dict, repr=False)
    view: str = ""
    refused: tuple[tuple[str, str], ...] = ()
    answer: Mapping[str, object] | None = field(default=None, repr=False)
    answered_by: str | None = None
    way: Way | None = None
    said: str | None = None
    closed_at: datetime | None = None

    @property
    def inside(self) -> bool:
        """It is asked by the gateway itself: never by link, which anybody could open (APPR-3)."""
        return self.agent == OURS


@dataclass(frozen=True, kw_only=True, slots=True)
class Conclusion:
    """How a question ended, for its agent.

    Attributes:
        question_id: opaque.
        state: ``ANSWERED``, ``EXPIRED`` or ``CANCELLED``.
        answer: one JSON document, where it was answered.
        answered_by: id of the principal, or the account of somebody whom the policy does not know.
        way: how.
        at: when it ended.
    """

    question_id: str
    state: QuestionState
    answer: Mapping[str, object] | None = field(default=None, repr=False)
    answered_by: str | None = None
    way: Way | None = None
    at: datetime | None = None
