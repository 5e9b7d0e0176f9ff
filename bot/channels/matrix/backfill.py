"""What is missing before a timeline that the server has cut short (DUR-1).

It is fetched from the back: from where the timeline begins towards the last token. It is bounded, and what reaches
further back than the bound is given up, loudly: the policy's backlog is shorter than so many events.
"""

from typing import Any, Final

from bot.channels.matrix.client import Endpoint, MatrixApi, RefusedError
from bot.channels.matrix.rooms import Gap
from bot.observability.log import get_logger

log = get_logger(__name__)

_PAGE_EVENTS: Final = 100
_PAGES: Final = 20
_TRIES: Final = 3
_ANSWER_S: Final = 30.0
_PASSING: Final = (401, 408, 429)


class Backfill:
    """Fills gaps for one account."""

    def __init__(self, api: MatrixApi) -> None:
        """Args: api: of the account."""
        self._api = api
        self._refused: dict[tuple[str, str], int] = {}  # times in a row, by gap

    def done(self) -> None:
        """The gaps so far are behind us."""
        self._refused.clear()

    async def fill(self, gap: Gap, *, to: str) -> list[Any]:
        """Fetch what is missing.

        Args:
            gap: where.
            to: the token of the last answer that was taken in.

        Returns:
            Events, oldest first; anything at all may be among them.

        Raises:
            CallError: it can't be had now.
        """
        found: list[Any] = []
        start = gap.start
        for _ in range(_PAGES):
            query = {"dir": "b", "from": start, "to": to, "limit": str(_PAGE_EVENTS)}
            try:
                page = await self._api.call(Endpoint.MESSAGES, gap.room, query=query, timeout_s=_ANSWER_S)
            except RefusedError as error:
                if not self._given_up(gap, error):
                    raise
                break
            chunk, end = page.get("chunk"), page.get("end")
            events = chunk if isinstance(chunk, list) else []
            found += events
            joined = gap.join is not None and any(
                isinstance(event, dict) and event.get("event_id") == gap.join for event in events
            )
            if joined or not isinstance(end, str) or end in ("", start, to):
                break
            start = end
        else:
            log.error("gap_too_long", events=len(found))
        found.reverse()
        return found

    def _given_up(self, gap: Gap, error: RefusedError) -> bool:
        """Whether a server that says no each time means it: one room must not keep all others from being heard."""
        if error.status in _PASSING or error.status >= 500:
            return False
        place = (gap.room, gap.start)
        self._refused[place] = times = self._refused.get(place, 0) + 1
        if times < _TRIES:
            return False
        log.error("gap_lost", code=error.status)
        return True
