"""Parts of a piece of work on their way into the outbox: which may leave, and why others may not."""

from collections.abc import Mapping, Sequence

from bot.deliveries.door import Door
from bot.model.part import Part
from bot.observability.metrics import part_withheld
from bot.ports.channel import Channel
from bot.ports.store import NewPart
from bot.runtime.work import Work
from policy.boundary import Basis, Withheld
from policy.ruleset import Resend


class Clearing:
    """Asks the door; it looks again before each part is sent."""

    def __init__(self, door: Door, channels: Mapping[str, Channel]) -> None:
        """Args: channels: by account."""
        self._door = door
        self._channels = channels

    def checked(self, work: Work, parts: Sequence[Part]) -> tuple[list[NewPart], set[Withheld]]:
        """The parts that may leave as things stand, and why others may not."""
        place = work.place
        settings = self._door.settings(place)
        channel = self._channels[place.destination.account]
        new: list[NewPart] = []
        kept: set[Withheld] = set()
        for part in parts:
            withheld = self._door.verdict(part, place, Basis.REQUEST, written_for=work.decision.audience)
            if withheld is not None:
                part_withheld(withheld.value)
                kept.add(withheld)
                continue
            new.append(
                NewPart(
                    lane=channel.lane(part.destination),
                    part=part,
                    audience=work.decision.audience,
                    basis=Basis.REQUEST,
                    person=place.other_side,
                    chat=place.chat.value,
                    event_id=work.event_id,
                    unclear=Resend.RESEND.value if channel.repeatable else settings.unclear_sends.value,
                ),
            )
        together = self._door.verdict_together([one.part for one in new], place, Basis.REQUEST)
        if together is not None:  # none may leave: a part alone would say half of it
            part_withheld(together.value)
            return [], kept | {together}
        return new, kept
