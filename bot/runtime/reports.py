"""What operators are told (OUT-8).

On verified internal channels that the policy marks with ``reports``, nowhere else.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from bot.deliveries.dispatcher import Dispatcher
from bot.deliveries.door import Door, Place
from bot.model.output import Final
from bot.observability.log import get_logger
from bot.ports.channel import Channel, Reply
from bot.ports.store import NewPart, Outbox
from bot.runtime.rates import Rates
from bot.runtime.stops import stops_of
from bot.texts.codes import Notice
from bot.texts.words import Words
from policy.boundary import Basis, Speech
from policy.event import Chat
from policy.ruleset import Policy, Resend

log = get_logger(__name__)

MOST_A_MINUTE = 10
"""Reports of one kind, where outsiders can bring them about; the log has all of them."""
MOST_OF_A_PLACE = 3
"""Of these in a minute, where a place brings them about: none takes the place of another."""
_BROUGHT_ABOUT = frozenset(
    {Notice.RUN_FAILED, Notice.WITHHELD_REPORT, Notice.QUESTION_WITHHELD, Notice.POISON, Notice.DELIVERY_MUTED}
)


class Reports:
    """Sends notices to the internal channels of the policy in force."""

    def __init__(
        self,
        *,
        policy: Callable[[], Policy],
        channels: Mapping[str, Channel],
        outbox: Outbox,
        dispatcher: Dispatcher,
        door: Door,
        clock: Callable[[], datetime],
    ) -> None:
        """Args: channels: by account."""
        self._policy = policy
        self._channels = channels
        self._outbox = outbox
        self._dispatcher = dispatcher
        self._door = door
        self._clock = clock
        self._rates = Rates()

    async def tell(self, notice: Notice, *, stops: Sequence[str] = (), **values: str | int) -> int:
        """Tell every channel of reports; returns how many were told. Where none is, the log has it.

        Args:
            notice: what is told.
            stops: bounded codes of why something was stopped, never what was in it.
            values: for the names in the sentence.
        """
        now = self._clock()
        if notice in _BROUGHT_ABOUT:
            if self._rates.count(notice.value, None, now=now) >= MOST_A_MINUTE:
                log.warning("report_held_back", notice=notice.value)
                return 0
            self._rates.note(notice.value, None, now=now)

        def words(of: str | None) -> str:
            language = Words(of)
            if not stops:
                return language.say(notice, **values)
            why = language.stopped(stops_of(stops))
            return language.say(notice, **values, why=why, codes=", ".join(stops))

        return await self._send(words, notice.value)

    async def say(self, words: Callable[[str], str], *, about: str, place: str | None = None) -> int:
        """Tell the same channels in the words of another room, by language.

        Args:
            words: the words in a language.
            about: what kind of report it is; bounded.
            place: whose people or agents have brought it about; None: nobody can bring about many.
        """
        if place is not None:
            now, most = self._clock(), MOST_OF_A_PLACE * MOST_A_MINUTE
            of_all, of_place = (self._rates.count(about, key, now=now) for key in (None, place))
            if of_all >= most or of_place >= MOST_OF_A_PLACE:
                log.warning("report_held_back", notice=about)
                return 0
            self._rates.note(about, place, now=now)
        return await self._send(words, about)

    async def _send(self, say: Callable[[str], str], name: str) -> int:
        told = 0
        for destination, settings in self._policy().channels.items():
            channel = self._channels.get(destination.account)
            if channel is None or not settings.reports or not settings.audience.trusted:
                continue
            words = say(settings.language)
            place = Place(destination=destination, chat=Chat.GROUP, person=None)
            parts = [
                NewPart(
                    lane=channel.lane(destination),
                    part=part,
                    audience=settings.audience,
                    basis=Basis.REPORT,
                    person=None,
                    chat=Chat.GROUP.value,
                    event_id=None,
                    unclear=Resend.RESEND.value if channel.repeatable else settings.unclear_sends.value,
                )
                for part in channel.present(Speech.REPORT, Final(text=words), to=Reply(destination=destination))
                if self._door.verdict(part, place, Basis.REPORT, written_for=settings.audience) is None
            ]
            self._dispatcher.enqueue(await self._outbox.put(parts, now=self._clock()))
            told += bool(parts)
        if not told:
            log.info("report_without_channel", notice=name)
        return told
