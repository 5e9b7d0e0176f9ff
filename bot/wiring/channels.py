"""The channels of a configuration."""

from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from bot.config.settings import Config, MatrixBot, Mode, TelegramBot
from bot.model.errors import ConfigError
from bot.ports.channel import Channel
from bot.ports.store import State
from bot.runtime.rulings import Rulings
from bot.storage.store import Store
from policy.ruleset import Policy

if TYPE_CHECKING:
    from bot.channels.web.channel import WebChat

Clock = Callable[[], datetime]


def matrix(bot: MatrixBot, data_dir: Path, state: State, clock: Clock) -> Channel:
    """One Matrix account."""
    from bot.channels.matrix.channel import MatrixChannel
    from bot.channels.matrix.credentials import account_folder
    from bot.channels.matrix.limits import Limits
    from bot.deliveries.pacing import Rate

    limits = bot.limits
    return MatrixChannel(
        user_id=bot.user_id,
        folder=account_folder(data_dir, bot.user_id),
        state=state,
        clock=clock,
        max_file_bytes=bot.max_file_bytes,
        homeserver=bot.homeserver,
        password=None if bot.password is None else bot.password.reveal(),
        token=None if bot.access_token is None else bot.access_token.reveal(),
        allow_plain_http=bot.allow_plain_http,
        limits=Limits(
            room=Rate(per_s=limits.per_room_per_s, burst=max(5, int(limits.per_room_per_s))),
            total=Rate(per_s=limits.total_per_s, burst=max(10, int(limits.total_per_s))),
        ),
    )


def telegram(bot: TelegramBot, clock: Clock) -> Channel:
    """One Telegram account."""
    from bot.channels.telegram.channel import TelegramChannel
    from bot.channels.telegram.limits import Limits, Rate
    from bot.channels.telegram.webhook import Webhook

    limits = bot.limits
    mode = None
    if bot.mode is Mode.WEBHOOK and bot.webhook is not None:
        mode = Webhook(
            url=bot.webhook.public_url,
            secret=bot.webhook.secret.reveal(),
            host=bot.webhook.listen.host,
            port=bot.webhook.listen.port,
            path=bot.webhook.path,
        )
    return TelegramChannel(
        token=bot.token.reveal(),
        api_url=bot.api_url,
        clock=clock,
        mode=mode,
        max_file_bytes=bot.max_file_bytes,
        limits=Limits(
            chat=Rate(per_s=limits.per_chat_per_s, burst=max(3, int(limits.per_chat_per_s))),
            # a burst and a rate that together stay under the minute's limit
            group=Rate(per_s=limits.per_group_per_min * 0.75 / 60, burst=max(1, int(limits.per_group_per_min * 0.25))),
            total=Rate(per_s=limits.total_per_s * 0.8, burst=max(1, int(limits.total_per_s * 0.2))),
        ),
    )


def web_ids(policy: Policy) -> dict[str, str]:
    """Ids in the built-in chat of the people who have an account there, by their ids in the policy."""
    return {
        person.id: account.partition(":")[2] for account, person in policy.people.items() if account.startswith("web:")
    }


def built_in_chat(config: Config, policy: Policy, store: Store, rulings: Rulings, clock: Clock) -> "WebChat":
    """The built-in chat of a configuration; its people are those of the policy who have an account there."""
    from bot.channels.web.channel import WebChat
    from bot.channels.web.people import MAX_NAME, Member, Room

    people = {
        account.partition(":")[2]: Member(
            id=account.partition(":")[2],
            name=(person.display or person.id)[:MAX_NAME],
            language=person.language or policy.language,
            operator=person.operator,
        )
        for account, person in policy.people.items()
        if account.startswith("web:")
    }
    by_person = web_ids(policy)
    chat = config.chat
    for room in chat.rooms:
        for member in room.members:
            if member not in by_person:
                raise ConfigError(
                    f"chat: {member!r} of room {room.id!r} has no account. Add web:NAME to theirs in the policy",
                )
    return WebChat(
        desk=chat.desk,
        bot_name=chat.bot_name,
        rooms=[
            Room(
                id=room.id,
                title=room.title,
                members=tuple(by_person[member] for member in room.members),
                direct=room.direct,
            )
            for room in chat.rooms
        ],
        members=list(people.values()),
        timeline=store.timeline(chat.desk),
        entrances=store.entrances(chat.desk),
        feed=rulings,
        clock=clock,
        host=chat.listen.host,
        port=chat.listen.port,
        public_url=chat.public_url,
        words=chat_words,
        files=config.data_dir / "files",
    )


def chat_words(language: str | None) -> Mapping[str, str]:
    """The words of the chat's page in the nearest language."""
    from bot.channels.web.words import english
    from bot.texts.words import page_words

    return page_words(language, english(None))
