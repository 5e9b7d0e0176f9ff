"""What needs the room of questions: the built-in chat, the pages behind links, and the interface for agents."""

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

from bot.config.settings import Config
from bot.questions.room import QuestionRoom
from bot.runtime.worker import Worker

if TYPE_CHECKING:
    from bot.channels.web.channel import WebChat

Service = Callable[[], Coroutine[Any, Any, None]]
Asks = Callable[[QuestionRoom, Worker], Service | None]


def answers_in(chat: "WebChat") -> Asks:
    """Cards of the built-in chat can be answered there."""

    def take(room: QuestionRoom, _worker: Worker) -> None:
        chat.take(room)

    return take


def pages(config: Config) -> list[Asks]:
    """The pages behind one-time links, where they are switched on."""
    if not config.pages.enabled:
        return []

    def serving(room: QuestionRoom, _worker: Worker) -> Service:
        from bot.channels.web.markdown import render
        from bot.pages.server import serve
        from bot.wiring.clock import utc_now

        settings = config.pages
        return lambda: serve(
            room,
            host=settings.listen.host,
            port=settings.listen.port,
            public_url=settings.base_url,
            markup=render,
            clock=utc_now,
            telegram=[bot.token for bot in config.telegram],
        )

    return [serving]


def interface(config: Config) -> list[Asks]:
    """``/v1/questions``, where it is switched on."""
    if not config.api.enabled:
        return []

    def serving(room: QuestionRoom, worker: Worker) -> Service:
        from bot.api.questions import serve
        from bot.wiring.clock import utc_now

        settings = config.api
        return lambda: serve(
            worker,
            room,
            host=settings.listen.host,
            port=settings.listen.port,
            keys=settings.keys,
            clock=utc_now,
        )

    return [serving]
