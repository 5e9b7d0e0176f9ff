"""What was said before, as an agent is given it: the words alone, within its bounds."""

from collections.abc import Sequence

from bot.model.request import Remark
from bot.observability.log import get_logger
from bot.ports.channel import Channel
from bot.ports.history import Past

log = get_logger(__name__)


def remarks_of(channel: Channel, past: Sequence[Past], *, characters: int) -> tuple[Remark, ...]:
    """The latest remarks that fit, oldest first; what came in parts or in a burst of one side is one remark each."""
    found: list[Remark] = []
    left = characters
    for one in reversed(past):
        text = _words(channel, one)
        if not text.strip():
            continue
        left -= len(text)
        if left < 0:
            break
        found.append(Remark(text=text, sender=one.sender, at=one.at))
    return tuple(reversed(found))


def _words(channel: Channel, past: Past) -> str:
    if past.event is None:
        return past.text
    try:
        return channel.material(channel.read(past.event)).text
    except Exception as error:  # noqa: BLE001 - an old event must not cost the answer to a new one
        log.warning("past_not_read", error=type(error).__name__)
        return ""
