"""What reads native events without any connection, for ``discreet policy explain``."""

from collections.abc import Mapping
from typing import Any, Protocol

from bot.model.errors import ConfigError
from bot.model.inbound import Reading, Stored


class NativeReader(Protocol):
    """Reads native events of one platform."""

    def read(self, stored: Stored) -> Reading:
        """The facts of one event."""
        ...


def reader_for(platform: str, bot: Mapping[str, Any]) -> NativeReader:
    """What reads the facts out of native events.

    Args:
        platform: of the events.
        bot: what the platform says of the bot itself (Telegram: getMe; Matrix: whoami).

    Raises:
        ConfigError: the platform is not known, or the bot is not described.
    """
    match platform:
        case "telegram":
            return TelegramReader(bot)
        case "matrix":
            return MatrixReader(bot)
        case _:
            raise ConfigError(f"events of {platform!r} can't be explained")


class MatrixReader:
    """Reads Matrix events with the facts of their rooms."""

    def __init__(self, bot: Mapping[str, Any]) -> None:
        user_id = bot.get("user_id")
        if not isinstance(user_id, str):
            raise ConfigError("say who the bot is: bot: {user_id: @desk:example.org}")
        self._user_id = user_id

    def read(self, stored: Stored) -> Reading:
        """The facts of one event."""
        from bot.channels.decoding import decode_json
        from bot.channels.matrix import facts

        return facts.read(
            decode_json(stored.arrival.raw),
            key=stored.arrival.key,
            received_at=stored.arrival.received_at,
            user_id=self._user_id,
        )


class TelegramReader:
    """Reads Telegram updates without any connection."""

    def __init__(self, bot: Mapping[str, Any]) -> None:
        from bot.channels.telegram.identity import identity_of

        self._bot_id = int(bot["id"])
        username = bot.get("username")
        self._identity = identity_of(self._bot_id, username) if isinstance(username, str) else None

    def read(self, stored: Stored) -> Reading:
        """The facts of one update."""
        from bot.channels.decoding import decode_json
        from bot.channels.telegram import facts

        return facts.read(
            decode_json(stored.arrival.raw),
            key=stored.arrival.key,
            received_at=stored.arrival.received_at,
            bot_id=self._bot_id,
            identity=self._identity,
        )
