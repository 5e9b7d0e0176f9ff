"""The one door (OUT-1 to 3, OUT-5).

Whatever is to reach a person comes here last, with its final bytes; what may leave gets a clearance for that
destination, that content and that audience. The audience is resolved again at every call, by the policy in force at
that moment.

INVARIANT: this module alone holds the seal; a test walks the code to prove it.
"""

from collections.abc import Callable
from dataclasses import dataclass

from bot.model.clearance import SEAL, Clearance
from bot.model.part import Part
from policy.audience import settings_of
from policy.boundary import Basis, Withheld, release
from policy.destination import Destination
from policy.event import Chat
from policy.quick import quick
from policy.ruleset import Access, ChannelPolicy, Policy


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

    def __init__(self, policy: Callable[[], Policy]) -> None:
        """Args: policy: gives the policy in force now."""
        self._policy = policy

    def settings(self, place: Place) -> ChannelPolicy:
        """The settings that hold at a place now, audience included."""
        return settings_of(self._policy(), place.destination, chat=place.chat, person=place.other_side)

    def verdict(self, part: Part, place: Place, basis: Basis) -> Withheld | None:
        """Whether a part may leave; None when it may."""
        return self._verdict(part, place, self.settings(place), basis)

    def clear(self, part: Part, place: Place, basis: Basis) -> Clearance | Withheld:
        """Clear a part, or say why it stays.

        Args:
            part: with its final bytes; its destination is the place's.
            place: where it would be read.
            basis: why anything may be said there.
        """
        settings = self.settings(place)
        withheld = self._verdict(part, place, settings, basis)
        return Clearance(SEAL, part, settings.audience) if withheld is None else withheld

    def _verdict(self, part: Part, place: Place, settings: ChannelPolicy, basis: Basis) -> Withheld | None:
        if basis is Basis.REQUEST:  # IDENT-5: access comes first, also where it was taken away after the request
            person = self._policy().person(place.other_side)
            if settings.access is Access.DENY or (person is not None and person.access is Access.DENY):
                return Withheld.NO_BASIS
        return release(
            part.utterance,
            audience=settings.audience,
            basis=basis,
            progress=settings.progress,
            automatic=settings.autonomy.automatic,
        )
