"""The one door (OUT-1 to 3, OUT-5).

Whatever is to reach a person comes here last, with its final bytes; what may leave gets a clearance for that
destination, that content and that audience. The audience is resolved again at every call, by the policy in force at
that moment.

INVARIANT: this module alone holds the seal; a test walks the code to prove it.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from bot.model.clearance import SEAL, Clearance
from bot.model.part import Action, Part
from policy.audience import settings_of
from policy.boundary import Basis, Withheld, release
from policy.decision import Audience
from policy.destination import Destination
from policy.event import Chat
from policy.quick import quick
from policy.ruleset import Access, ChannelPolicy, Policy

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


class Door:
    """Checks parts against the policy in force and mints clearances."""

    def __init__(self, policy: Callable[[], Policy], chats: Chats = lambda _, was: was) -> None:
        """Args: policy: gives the policy in force now. chats: tells what kind of place a destination is now."""
        self._policy = policy
        self._chats = chats

    def settings(self, place: Place) -> ChannelPolicy:
        """The settings that hold at a place now, audience included."""
        place = self._now(place)
        return settings_of(self._policy(), place.destination, chat=place.chat, person=place.other_side)

    def verdict(self, part: Part, place: Place, basis: Basis, *, written_for: Audience) -> Withheld | None:
        """Whether a part may leave; None when it may."""
        return self._verdict(part, place, self.settings(place), basis, written_for)

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

    def _now(self, place: Place) -> Place:
        """PART-16: a direct chat that others have joined is none any more."""
        chat = self._chats(place.destination, place.chat)
        return place if chat is place.chat else replace(place, chat=chat)

    def _verdict(
        self, part: Part, place: Place, settings: ChannelPolicy, basis: Basis, written_for: Audience
    ) -> Withheld | None:
        joined = self._now(place).chat is not place.chat
        if basis is Basis.REQUEST and part.action is not Action.LEAVE:
            # IDENT-5: access comes first, also where it was taken away after the request
            person = self._policy().person(place.other_side)
            if settings.access is Access.DENY or (person is not None and person.access is Access.DENY):
                return Withheld.NO_BASIS
            if joined and settings.access is not Access.ALLOW:  # nobody has asked anything in what it has become
                return Withheld.NO_BASIS
        return release(
            part.utterance,
            audience=settings.audience,
            basis=basis,
            progress=settings.progress,
            automatic=settings.autonomy.automatic,
            readers_changed=joined or (written_for.trusted and settings.audience is not written_for),
        )
