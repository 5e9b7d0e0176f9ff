"""The one place where concrete things are made and put together. Everything else meets through Protocols."""

import asyncio
import gc
import os
import signal
import tempfile
from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, assert_never

from bot.config.file import make_data_dir
from bot.config.settings import (
    AgentSettings,
    Config,
    EchoAgent,
    Mode,
    OpenAIAgent,
    ScriptedAgent,
    TelegramBot,
    WebhookAgent,
)
from bot.deliveries.dispatcher import Dispatcher
from bot.deliveries.door import Door
from bot.model.errors import ConfigError
from bot.model.inbound import Reading, Stored
from bot.observability.health import Health
from bot.observability.log import get_logger
from bot.ports.agent import Agent
from bot.ports.channel import Channel
from bot.runtime.daemon import Crew, Daemon, Sweeper
from bot.runtime.gateway import Gateway
from bot.runtime.inforce import PolicyInForce
from bot.runtime.reports import Reports
from bot.runtime.rulings import Rulings
from bot.runtime.worker import Worker
from bot.storage.store import Store, StoreReader
from policy.document import load
from policy.errors import PolicyError
from policy.ruleset import Policy

if TYPE_CHECKING:
    from bot.channels.web.channel import WebChat

log = get_logger(__name__)

STORE = "discreet.db"
CONTROL = "control.sock"
Clock = Callable[[], datetime]
Service = Callable[[], Coroutine[Any, Any, None]]


def utc_now() -> datetime:
    """The clock of the daemon."""
    return datetime.now(UTC)


def assemble(
    *,
    policy: PolicyInForce,
    store: Store,
    channels: Iterable[Channel],
    agents: Mapping[str, Agent],
    default_agent: str,
    rulings: Rulings | None = None,
    health: Health | None = None,
    clock: Clock = utc_now,
    contents_retention: timedelta = timedelta(days=30),
    sweepers: Sequence[Sweeper] = (),
    services: Sequence[Service] = (),
    stop: asyncio.Event | None = None,
) -> Daemon:
    """Put a daemon together.

    Args:
        policy: in force, checked.
        store: open.
        channels: one an account.
        agents: by name.
        default_agent: answers where the policy names no other.
        rulings: where decisions are published; channels may have subscribed already.
        health: shared with a health page.
        clock: gives aware times.
        contents_retention: how long the words of finished work are kept.
        sweepers: what else erases contents that have been kept long enough.
        services: further things that run as long as the daemon does.
        stop: ends the daemon when it is set.
    """
    by_account = {channel.account: channel for channel in channels}
    rulings = Rulings() if rulings is None else rulings
    door = Door(policy)
    dispatcher = Dispatcher(
        outbox=store.outbox,
        channels=by_account,
        door=door,
        clock=clock,
        observer=lambda waiting, state, code: daemon.sent(waiting, state, code),  # noqa: PLW0108 - the daemon comes later
    )
    reports = Reports(
        policy=policy,
        channels=by_account,
        outbox=store.outbox,
        dispatcher=dispatcher,
        door=door,
        clock=clock,
    )
    worker = Worker(
        policy=policy,
        agents=agents,
        default_agent=default_agent,
        channels=by_account,
        inbox=store.inbox,
        outbox=store.outbox,
        dispatcher=dispatcher,
        door=door,
        reports=reports,
        rulings=rulings,
        clock=clock,
    )
    gateway = Gateway(
        policy=policy,
        inbox=store.inbox,
        outbox=store.outbox,
        channels=by_account,
        worker=worker,
        reports=reports,
        rulings=rulings,
        clock=clock,
    )
    daemon = Daemon(
        Crew(
            policy=policy,
            overview=store.overview,
            sweepers=(*sweepers, store.inbox.sweep),
            channels=by_account,
            agents=tuple(agents.values()),
            gateway=gateway,
            worker=worker,
            dispatcher=dispatcher,
            reports=reports,
            health=Health() if health is None else health,
            clock=clock,
            contents_retention=contents_retention,
            services=services,
        ),
        stop=stop,
    )
    return daemon


async def run_gateway(config: Config) -> None:
    """``discreet run``: everything that the configuration names, until SIGTERM or SIGINT.

    Raises:
        ConfigError: the configuration can't hold.
        PolicyError: the policy can't hold; nothing has started.
        StoreError: the store can't be opened.
        ChannelError: no channel could go on.
    """
    told = listen_for_the_end()
    make_data_dir(config.data_dir)
    policy = in_force(config.policy, config.agents)
    store = await Store.open(config.data_dir / STORE)
    try:
        rulings, health = Rulings(), Health()
        channels: list[Channel] = [telegram(bot, utc_now) for bot in config.telegram]
        services: list[Service] = []
        chat = built_in_chat(config, policy(), store, rulings) if config.chat.enabled else None
        if chat is not None:
            channels.append(chat)
        if not channels:
            raise ConfigError("no channel is configured: name a Telegram bot under telegram:, or switch the chat on")
        if config.metrics.enabled:
            services.append(health_page(health, config.metrics.listen.host, config.metrics.listen.port))
        services.append(control_socket(config.data_dir / CONTROL, chat, web_ids(policy())))
        services.append(restarts(config, policy))
        daemon = assemble(
            policy=policy,
            store=store,
            channels=channels,
            agents={name: agent(name, settings) for name, settings in config.agents.items()},
            default_agent=config.default_agent,
            rulings=rulings,
            health=health,
            contents_retention=config.contents_retention,
            sweepers=() if chat is None else (chat.sweep,),
            services=services,
            stop=told,
        )
        await until_told(daemon, policy)
    finally:
        await store.close()


def restarts(config: Config, policy: PolicyInForce) -> Service:
    """Tells when something has changed that is read at start only."""
    from bot.runtime.restarts import fingerprint, watch

    needs: dict[str, Callable[[], object]] = {}
    if config.source is not None:
        needs["the configuration"] = partial(fingerprint, config.source)
    if config.chat.enabled:
        needs["people of the chat"] = lambda: web_ids(policy())
    return lambda: watch(needs)


def listen_for_the_end() -> asyncio.Event:
    """An event that SIGTERM and SIGINT set; from the first moment on, so that the end is always in order."""
    told = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, told.set)
    return told


async def until_told(daemon: Daemon, policy: PolicyInForce) -> None:
    """Run until the end is told; SIGHUP looks at the policy file."""
    asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, policy.poke)
    gc.collect()
    gc.freeze()  # what is loaded by now stays; walking it again and again costs a tenth of the CPU
    gc.set_threshold(20_000, 20, 20)
    await daemon.run()


def in_force(path: Path, agents: Collection[str]) -> PolicyInForce:
    """The policy of a file, checked and watched.

    Args:
        path: of the file.
        agents: names that it may use.

    Raises:
        ConfigError: there is no such file, or it can't be read.
        PolicyError: it can't hold.
    """

    def read(text: str) -> Policy:
        policy = load(text, source=str(path), environment=os.environ)
        check_agents(policy, agents)
        return policy

    try:
        return PolicyInForce(path, read)
    except FileNotFoundError:
        raise ConfigError(f"there is no policy at {path}. Make one with: discreet init") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"the policy {path} can't be read ({type(error).__name__})") from None


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
        limits=Limits(
            chat=Rate(per_s=limits.per_chat_per_s, burst=max(3, int(limits.per_chat_per_s))),
            # a burst and a rate that together stay under the minute's limit
            group=Rate(per_s=limits.per_group_per_min * 0.75 / 60, burst=max(1, int(limits.per_group_per_min * 0.25))),
            total=Rate(per_s=limits.total_per_s * 0.8, burst=max(1, int(limits.total_per_s * 0.2))),
        ),
    )


def agent(name: str, settings: AgentSettings) -> Agent:
    """One agent; what it needs is imported only if it is configured."""
    match settings:
        case EchoAgent():
            from bot.agents.echo import EchoAgent as Echo

            return Echo(name=name)
        case ScriptedAgent(script=path):
            from bot.agents.script import load_script
            from bot.agents.scripted import ScriptedAgent as Scripted
            from bot.agents.scripted import demo_script

            script = demo_script() if path is None else load_script(path.read_text("utf-8"), source=str(path))
            return Scripted(name=name, script=script)
        case WebhookAgent():
            from bot.agents.webhook import FilesMode
            from bot.agents.webhook import WebhookAgent as Hook

            return Hook(
                name=name,
                url=settings.url,
                secrets=[secret.reveal() for secret in settings.secrets],
                headers={key: value.reveal() for key, value in settings.headers.items()},
                files=FilesMode.INLINE if settings.inline_files else FilesMode.METADATA,
                allow_plain_http=settings.allow_plain_http,
                total_s=120.0 if settings.total_s is None else settings.total_s,
                wait_s=60.0 if settings.wait_s is None else settings.wait_s,
            )
        case OpenAIAgent():
            from bot.agents.openai import OpenAIAgent as Model

            return Model(
                name=name,
                base_url=settings.base_url,
                model=settings.model,
                api_key=None if settings.api_key is None else settings.api_key.reveal(),
                options=settings.options,
                stream=settings.stream,
                images=settings.images,
                allow_plain_http=settings.allow_plain_http,
                total_s=180.0 if settings.total_s is None else settings.total_s,
                wait_s=60.0 if settings.wait_s is None else settings.wait_s,
            )
        case _:
            assert_never(settings)


def check_agents(policy: Policy, agents: Collection[str]) -> None:
    """Every agent that the policy names is configured.

    Raises:
        UnknownAgentError: one is not.
    """
    everywhere = (*policy.channels.values(), policy.direct, policy.unknown)
    named = {settings.agent for settings in everywhere} - {None}
    for settings in everywhere:
        named |= settings.observation.readers if settings.observation is not None else frozenset()
    missing = sorted(str(name) for name in named - set(agents))
    if missing:
        raise UnknownAgentError(f"the policy names {missing[0]!r}, no agent of config.yaml. Add it under agents")


class UnknownAgentError(PolicyError):
    """The policy names an agent that the configuration does not have."""


def web_ids(policy: Policy) -> dict[str, str]:
    """Ids in the built-in chat of the people who have an account there, by their ids in the policy."""
    return {
        person.id: account.partition(":")[2] for account, person in policy.people.items() if account.startswith("web:")
    }


def built_in_chat(config: Config, policy: Policy, store: Store, rulings: Rulings) -> "WebChat":
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
        clock=utc_now,
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


async def run_demo(*, port: int, announce: Callable[[str], None]) -> None:
    """``discreet demo``: the whole gateway with the built-in chat and a scripted agent, kept nowhere.

    Args:
        port: of the page, on loopback; 0: any that is free.
        announce: is told the page's address when it serves.
    """
    from bot.channels.web import demo
    from bot.channels.web.channel import WebChat
    from bot.channels.web.memory import MemoryEntrances, MemoryTimeline

    told = listen_for_the_end()
    with tempfile.TemporaryDirectory(prefix="discreet-demo-") as name:
        folder = Path(name)
        (folder / "policy.yaml").write_text(demo.policy_text(), encoding="utf-8")
        policy = in_force(folder / "policy.yaml", {"main"})
        store = await Store.open(folder / STORE)
        try:
            rulings = Rulings()
            page = WebChat(
                desk=demo.DESK,
                bot_name=demo.BOT_NAME,
                rooms=demo.ROOMS,
                members=demo.MEMBERS,
                things_to_try=demo.THINGS_TO_TRY,
                timeline=MemoryTimeline(),
                entrances=MemoryEntrances(),
                feed=rulings,
                clock=utc_now,
                port=port,
                demo=True,
                words=chat_words,
            )
            daemon = assemble(
                policy=policy,
                store=store,
                channels=[page],
                agents={"main": agent("main", ScriptedAgent())},
                default_agent="main",
                rulings=rulings,
                stop=told,
                sweepers=(page.sweep,),
            )

            async def tell() -> None:
                await page.ready.wait()
                announce(page.url)

            telling = asyncio.create_task(tell(), name="announce")
            try:
                await until_told(daemon, policy)
            finally:
                telling.cancel()
        finally:
            await store.close()


def reader_for(platform: str, bot: Mapping[str, Any]) -> "NativeReader":
    """What reads the facts out of native events for ``discreet policy explain``.

    Args:
        platform: of the events.
        bot: what the platform says of the bot itself (Telegram: getMe).

    Raises:
        ConfigError: the platform is not known.
    """
    if platform != "telegram":
        raise ConfigError(f"events of {platform!r} can't be explained")
    return NativeReader(bot)


class NativeReader:
    """Reads Telegram updates without any connection."""

    def __init__(self, bot: Mapping[str, Any]) -> None:
        from bot.channels.telegram.identity import identity_of

        self._bot_id = int(bot["id"])
        username = bot.get("username")
        self._identity = identity_of(self._bot_id, username) if isinstance(username, str) else None

    def read(self, stored: Stored) -> Reading:
        """The facts of one update."""
        from bot.channels.telegram import facts
        from bot.channels.telegram.client import decode_json

        return facts.read(
            decode_json(stored.arrival.raw),
            key=stored.arrival.key,
            received_at=stored.arrival.received_at,
            bot_id=self._bot_id,
            identity=self._identity,
        )


def open_reader(config: Config) -> Awaitable[StoreReader]:
    """Open the store of a configuration to look at it, also while its daemon runs."""
    return Store.open_reader(config.data_dir / STORE)


async def create_invite(config: Config, person: str) -> str:
    """Ask the running daemon for a one-time link into the built-in chat.

    Raises:
        ConfigError: the chat is off, no daemon runs, or it refused; the text says the mend.
    """
    from bot.api.control import ask

    if not config.chat.enabled:
        raise ConfigError("the built-in chat is off. Switch it on in config.yaml (chat: {enabled: true}) and restart")
    return await ask(config.data_dir / CONTROL, "invite", person=person)


def control_socket(path: Path, chat: "WebChat | None", members: Mapping[str, str]) -> Service:
    """What the command line asks of a running daemon.

    Args:
        path: of the socket.
        chat: None: people can't be invited.
        members: ids in the chat by ids in the policy.
    """
    from bot.api.control import Verb, serve

    async def invite(person: str) -> str:
        if chat is None or person not in members:
            raise ConfigError(
                f"{person!r} has no account in the chat. Add web:NAME to their accounts in the policy, and restart"
            )
        return await chat.invite(members[person])

    verbs: dict[str, Verb] = {} if chat is None else {"invite": invite}
    return lambda: serve(path, verbs)


def health_page(health: Health, host: str, port: int) -> Service:
    """``/healthz``, ``/readyz`` and ``/metrics``."""
    from bot.api.health import serve

    return lambda: serve(health, host, port)
