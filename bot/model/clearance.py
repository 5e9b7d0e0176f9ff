"""The clearance: without one no platform client moves (OUT-1)."""

from typing import Final

from bot.model.errors import ClearanceError
from bot.model.part import Part
from policy.decision import Audience

SEAL: Final = object()
"""Held by the door alone; a test walks the code to prove it."""


class Clearance:
    """Leave for one part: bound to its destination, content and audience, good for one use."""

    __slots__ = ("_digest", "_spent", "audience")

    def __init__(self, seal: object, part: Part, audience: Audience) -> None:
        if seal is not SEAL:
            raise ClearanceError("a clearance is made by the door alone")
        self._digest = part.digest
        self._spent = False
        self.audience = audience

    def spend(self, part: Part) -> None:
        """Use it for exactly this part.

        Raises:
            ClearanceError: used before, or made for something else.
        """
        if self._spent:
            raise ClearanceError("a clearance is good for one use")
        if part.digest != self._digest:
            raise ClearanceError("the part is not the one that was cleared")
        self._spent = True
