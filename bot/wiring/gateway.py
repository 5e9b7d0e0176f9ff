"""A gateway out of its pieces, and its life from the configuration to the end."""

import asyncio
import gc
import os
import secrets
import signal
from collections.abc import Callable, Collection, Coroutine, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from bot.approvals.addresses import PageAddresses, relying_party
from bot.approvals.drafts import Drafts
from bot.approvals.enrolling import PasskeyHearing
from bot.approvals.passkeys import Passkeys
from bot.approvals.room import ApprovalRoom
from bot.approvals.saying import Saying
from bot.callbacks.posting import Poster
from bot.callbacks.room import CallbackRoom
from bot.clarifications.hearing import ClarificationHearing
from bot.clarifications.room import ClarificationRoom
from bot.commands.room import CommandRoom
from bot.commands.telling import Telling
from bot.config.commands import Command
from bot.config.file import make_data_dir
from bot.config.settings import CallbackAddress, Config, Proposals
from bot.deliveries.dispatcher import Dispatcher
from bot.deliveries.door import Door
from bot.model.errors import ConfigError
from bot.observability.health import Health
from bot.ports.agent import Agent
from bot.ports.channel import Channel
from bot.ports.commands import Endpoints
from bot.ports.hearing import Hearer
from bot.ports.store import OutboxState, Waiting
from bot.questions.hearing import Hearing
from bot.questions.links import Links, link_key
from bot.questions.room import QuestionRoom
from bot.record.room import Record
from bot.runtime.daemon import Crew, Daemon, Sweeper
from bot.runtime.facts import RecordNews
from bot.runtime.gateway import Gateway
from bot.runtime.inforce import PolicyInForce
from bot.runtime.loop import Loop
from bot.runtime.reports import Reports
from bot.runtime.rulings import Rulings
from bot.runtime.worker import Worker
from bot.storage.store import Store
from bot.texts.codes import Notice
from bot.wiring.agents import agent
from bot.wiring.approvals import approval_verbs
from bot.wiring.channels import built_in_chat, matrix, telegram, web_ids
from bot.wiring.clock import utc_now
from bot.wiring.deciding import deciding
from bot.wiring.deliveries import grant_verbs, unasked
from bot.wiring.keys import key_ring
from bot.wiring.passkeys import passkey_verbs
from bot.wiring.questions import Asks, Rooms, answers_in, interface, pages
from bot.wiring.record import first_look, open_record
from bot.wiring.records import CONTROL, LINK_KEY, STORE, Verb, control_socket
from policy.boundary import Basis
from policy.destination import Destination
from policy.document import load
from policy.errors import PolicyError
from policy.event import Chat
from policy.ruleset import Policy

Clock = Callable[[], datetime]
Service = Callable[[], Coroutine[Any, Any, None]]


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
    links: Links | None = None,
    asking: Sequence[Asks] = (),
    dispatchers: Collection[str] = (),
    facts: Record | None = None,
    addresses: PageAddresses | None = None,
    callbacks: Sequence[CallbackAddress] = (),
    proposals: Proposals | None = None,
    commands: Mapping[str, Command] | None = None,
    endpoints: Endpoints | None = None,
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
        links: of the pages of questions; None: questions have no pages.
        asking: are given the rooms, and give services that need them.
        facts: the authorised record; None: what the policy says of it, and no further sources.
        dispatchers: names of the keys with which grants are made.
        addresses: of the pages that want a passkey; None: there are none.
        callbacks: addresses that agents may have told how something ended.
        proposals: how much one agent may propose; None: as the configuration has it by default.
        commands: that agents may run, by name.
        endpoints: the way to those of commands; None: they are called over HTTP.
    """
    by_account = {channel.account: channel for channel in channels}

    def sent(waiting: Waiting, state: OutboxState, code: str) -> None:
        daemon.sent(waiting, state, code)
        rooms.schedule.ended(waiting.new)
        if state is OutboxState.DELIVERED:
            questions.delivered(waiting.id)
            approvals.delivered(waiting.id)
            decided.unfolding.delivered(waiting.id)
        if waiting.new.basis is Basis.DRAFT:
            saying.ended(waiting.id)

    rulings = Rulings() if rulings is None else rulings

    def chat_now(place: Destination, was: Chat) -> Chat:
        """What kind of place it is; of a bot that is not there, or no more, nobody knows better than was noted."""
        channel = by_account.get(place.account)
        return was if channel is None else channel.chat(place, was)

    door = Door(
        policy,
        chat_now,
        address=None if links is None else links.base_url,
    )
    dispatcher = Dispatcher(
        outbox=store.outbox,
        channels=by_account,
        door=door,
        clock=clock,
        observer=sent,
    )
    questions = QuestionRoom(
        store=store.questions,
        policy=policy,
        channels=by_account,
        dispatcher=dispatcher,
        door=door,
        links=Links(secrets.token_bytes(32), None) if links is None else links,
        clock=clock,
        stopped=lambda codes: reports.tell(Notice.QUESTION_WITHHELD, stops=codes),
    )
    addresses = PageAddresses(secrets.token_bytes(32), None) if addresses is None else addresses
    approvals = ApprovalRoom(
        store=store.approvals,
        policy=policy,
        channels=by_account,
        dispatcher=dispatcher,
        door=door,
        clock=clock,
        page=addresses.approval,
        holds=store.passkeys.holds,
        limits=proposals,
    )
    decided = deciding(
        approvals, questions, store=store.approvals, policy=policy, door=door, dispatcher=dispatcher, clock=clock
    )
    facts = Record(lambda: policy().record) if facts is None else facts
    health = Health() if health is None else health
    clarifications = ClarificationRoom(store=store.interactions, questions=questions, policy=policy, clock=clock)
    clarifying = ClarificationHearing(clarifications, questions, policy=policy)
    hearers: list[Hearer] = [clarifying, Hearing(questions, clock=clock), decided.hearing]
    reports = Reports(
        policy=policy,
        channels=by_account,
        outbox=store.outbox,
        dispatcher=dispatcher,
        door=door,
        clock=clock,
    )
    rooms = unasked(
        store,
        policy=policy,
        entries=facts.entries,
        channels=by_account,
        dispatcher=dispatcher,
        door=door,
        reports=reports,
        agents=agents,
        dispatchers=dispatchers,
        clock=clock,
    )
    hearers.append(rooms.granting)
    passkeys = Passkeys(
        store=store.passkeys,
        approvals=approvals,
        policy=policy,
        may_approve=approvals.may_approve,
        addresses=addresses,
        tell=reports.tell,
        clock=clock,
    )
    hearers.append(PasskeyHearing(passkeys, door))
    drafts = Drafts(
        book=approvals.book,
        filings=store.filings,
        channels=by_account,
        dispatcher=dispatcher,
        door=door,
    )
    saying = Saying(room=approvals, filings=store.filings, channels=by_account, door=door, tell=reports.tell)
    approvals.take(saying)
    if endpoints is None:
        from bot.agents.endpoint import SignedEndpoints

        endpoints = signed = SignedEndpoints()
        services = (*services, signed.run)
    room = CommandRoom(
        commands or {},
        store=store.commands,
        endpoints=endpoints,
        telling=Telling(
            channels=by_account,
            outbox=store.outbox,
            dispatcher=dispatcher,
            door=door,
            tell=reports.say,
            clock=clock,
        ),
        door=door,
        policy=policy,
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
        questions=questions,
        approvals=approvals,
        hearers=hearers,
        record=facts,
        drafts=drafts,
        history=store.history,
        loop=Loop(clarifications, clarifying),
        commands=room,
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
        hearers=hearers,
        clarifications=clarifications,
        clarifying=clarifying,
    )
    called_back = CallbackRoom(store=store.callbacks, addresses=callbacks, poster=Poster(), clock=clock)
    of_people = Rooms(
        questions=questions,
        clarifications=clarifications,
        approvals=approvals,
        passkeys=passkeys,
        grants=rooms.grants,
        schedule=rooms.schedule,
        callbacks=called_back,
        worker=worker,
        policy=policy,
        intents=store.intents,
        state=store.state,
    )
    daemon = Daemon(
        Crew(
            policy=policy,
            overview=store.overview,
            sweepers=(
                *sweepers,
                store.inbox.sweep,
                store.questions.sweep,
                store.interactions.sweep,
                store.deliveries.sweep,
                store.approvals.sweep,
                store.callbacks.sweep,
                store.intents.sweep,
                store.commands.sweep,
            ),
            channels=by_account,
            agents=tuple(agents.values()),
            gateway=gateway,
            worker=worker,
            questions=questions,
            approvals=approvals,
            passkeys=passkeys,
            saying=saying,
            grants=rooms.grants,
            schedule=rooms.schedule,
            clarifications=clarifications,
            dispatcher=dispatcher,
            reports=reports,
            health=health,
            clock=clock,
            contents_retention=contents_retention,
            services=(
                *services,
                questions.run,
                rooms.schedule.run,
                partial(facts.watch, RecordNews(facts, reports, health).tell),
                approvals.run,
                decided.editing.run,
                saying.run,
                called_back.run,
                clarifications.run,
                room.recover,
                *(one for ask in asking if (one := ask(of_people)) is not None),
            ),
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
    facts = open_record(config, lambda: policy().record)
    await asyncio.to_thread(first_look, facts)
    store = await Store.open(config.data_dir / STORE)
    try:
        rulings, health = Rulings(), Health()
        channels: list[Channel] = [telegram(bot, utc_now) for bot in config.telegram]
        services: list[Service] = []
        chat = built_in_chat(config, policy(), store, rulings, utc_now) if config.chat.enabled else None
        channels += [matrix(bot, config.data_dir, store.state, utc_now) for bot in config.matrix]
        if chat is not None:
            channels.append(chat)
        if not channels:
            raise ConfigError("no channel is configured: name a bot under telegram: or matrix:, or switch the chat on")
        if config.metrics.enabled:
            services.append(health_page(health, config.metrics.listen.host, config.metrics.listen.port))
        verbs: dict[str, Verb] = {}
        services.append(control_socket(config.data_dir / CONTROL, chat, web_ids(policy()), verbs))
        services.append(restarts(config, policy))
        asking = [*([] if chat is None else [answers_in(chat)]), *pages(config), *interface(config)]
        key = await asyncio.to_thread(link_key, config.data_dir / LINK_KEY)
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
            links=Links(key, config.pages.base_url if config.pages.enabled else None),
            addresses=PageAddresses(key, relying_party(config.pages.base_url) if config.pages.enabled else None),
            asking=asking,
            dispatchers=key_ring(config).dispatchers,
            callbacks=config.api.callbacks,
            facts=facts,
            proposals=config.proposals,
            commands=config.commands,
        )
        verbs.update(grant_verbs(daemon.crew.grants))
        verbs.update(approval_verbs(daemon.crew.approvals))
        verbs.update(passkey_verbs(daemon.crew.passkeys))
        await until_told(daemon, policy)
    finally:
        await facts.close()
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


def health_page(health: Health, host: str, port: int) -> Service:
    """``/healthz``, ``/readyz`` and ``/metrics``."""
    from bot.api.health import serve

    return lambda: serve(health, host, port)
