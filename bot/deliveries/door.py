"""The one door (OUT-1 to 5, AUTO-2 to 5).

Whatever is to reach a person comes here last, with its final bytes; what may leave gets a clearance for that
destination, that content and that audience. The audience is resolved again at every call, by the policy in force at
that moment.

INVARIANT: this module alone holds the seal; a test walks the code to prove it.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from bot.model.clearance import SEAL, Clearance
from bot.model.part import Action, Part
from bot.observability.log import get_logger
from policy.audience import settings_of
from policy.boundary import Basis, Speech, Utterance, Withheld, release, release_together
from policy.decision import Audience
from policy.destination import Destination
from policy.event import Chat
from policy.quick import quick
from policy.ruleset import Access, ChannelPolicy, Policy
from policy.screening import screen_of

log = get_logger(__name__)

Chats = Callable[[Destination, Chat], Chat]
"""The kind of place that a destination is now, by what it was."""


@quick
@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """Where something is read: the destination, the kind of place and, in a one-to-one chat, the other side."""

    destination: Destination
    chat: Chat
    person: str | None

    @property
    def other_side(self) -> str | None:
        """The account of the other side, in a one-to-one chat only."""
        return self.person if self.chat is Chat.DIRECT else None


_ACCESSIBLE = frozenset({Basis.REQUEST, Basis.DRAFT, Basis.GRANT})


class Door:
    """Checks parts against the policy in force and mints clearances."""

    def __init__(
        self, policy: Callable[[], Policy], chats: Chats = lambda _, was: was, *, address: str | None = None
    ) -> None:
        """Make the door.

        Args:
            policy: gives the policy in force now.
            chats: tells what kind of place a destination is now.
            address: of the gateway's own pages, which discloses nothing wherever it is; None: there are none.
        """
        self._policy = policy
        self._chats = chats
        self._own = None if address is None else re.compile(rf"{re.escape(address)}(?:/[a-z]+/[A-Za-z0-9_-]{{43}})?")

    def settings(self, place: Place) -> ChannelPolicy:
        """The settings that hold at a place now, audience included."""
        place = self._now(place)
        return settings_of(self._policy(), place.destination, chat=place.chat, person=place.other_side)

    def verdict(self, part: Part, place: Place, basis: Basis, *, written_for: Audience) -> Withheld | None:
        """Whether a part may leave; None when it may."""
        return self._verdict(part, place, self.settings(place), basis, written_for)

    def verdict_together(self, parts: Sequence[Part], place: Place, basis: Basis) -> Withheld | None:
        """Whether parts that may leave one by one may do so one after another: a word may be cut between two."""
        policy = self._policy()
        try:
            return release_together(
                [self._utterance(part) for part in parts],
                settings=self.settings(place),
                basis=basis,
                screen=screen_of(policy),
            )
        except Exception as error:  # noqa: BLE001 - a rule that fails lets nothing out
            return _failed(error)

    def verdict_of_words(self, words: str, place: Place, basis: Basis, *, written_for: Audience) -> Withheld | None:
        """Whether words of the agent may be read by those at a place, by whatever way: a page shows no more (OUT-4)."""
        said = Part(destination=place.destination, action=Action.SEND, speech=Speech.FINAL, text=words, payload=b"")
        return self.verdict(said, place, basis, written_for=written_for)

    def clear(self, part: Part, place: Place, basis: Basis, *, written_for: Audience) -> Clearance | Withheld:
        """Clear a part, or say why it stays.

        Args:
            part: with its final bytes; its destination is the place's.
            place: where it would be read, as it was when it was asked for.
            basis: why anything may be said there.
            written_for: who was to read it when it was asked for; words for trusted readers stay with them.
        """
        settings = self.settings(place)
        withheld = self._verdict(part, place, settings, basis, written_for)
        return Clearance(SEAL, part, settings.audience) if withheld is None else withheld

    def _utterance(self, part: Part) -> Utterance:
        """A part as the rules see it: without the addresses of our own pages, whose tokens are chance."""
        said = part.utterance
        return said if self._own is None else replace(said, text=self._own.sub(" ", said.text))

    def _now(self, place: Place) -> Place:
        """PART-16: a direct chat that others have joined is none any more."""
        chat = self._chats(place.destination, place.chat)
        return place if chat is place.chat else replace(place, chat=chat)

    def _verdict(
        self, part: Part, place: Place, settings: ChannelPolicy, basis: Basis, written_for: Audience
    ) -> Withheld | None:
        joined = self._now(place).chat is not place.chat
        if basis in _ACCESSIBLE and part.action is not Action.LEAVE:
            # IDENT-5: access comes first, also where it was taken away after the request, the approval or the grant
            person = self._policy().person(place.other_side)
            if settings.access is Access.DENY or (person is not None and person.access is Access.DENY):
                return Withheld.NO_BASIS
            if joined and settings.access is not Access.ALLOW:  # nobody has asked anything in what it has become
                return Withheld.NO_BASIS
        try:
            return release(
                self._utterance(part),
                settings=settings,
                basis=basis,
                screen=screen_of(self._policy()),
                readers_changed=joined or (written_for.trusted and settings.audience is not written_for),
            )
        except Exception as error:  # noqa: BLE001 - a rule that fails lets nothing out
            return _failed(error)


def _failed(error: Exception) -> Withheld:
    log.error("rule_failed", error=type(error).__name__)
    return Withheld.RULE_FAILED
