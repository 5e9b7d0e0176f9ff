"""From a request to its answer.

Asks the agent, brings what it says to the door, and finishes the work (AGENT-5, OUT-7).

One request of a conversation at a time, in order; conversations side by side. The final answer enters the outbox in
the same transaction that finishes the work, so a restart either asks the agent again or finds the answer waiting
(DUR-3).
"""

import asyncio
import contextlib
import uuid
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import assert_never

from bot.approvals.drafts import Drafts
from bot.approvals.room import ApprovalRoom
from bot.clarifications.room import Origin
from bot.commands.room import CommandRoom
from bot.deliveries.dispatcher import Dispatcher
from bot.deliveries.door import Door, Place
from bot.model.approval import Approval, Proposal
from bot.model.errors import AgentError, AskError, ChannelError, ProposalError
from bot.model.inbound import Material
from bot.model.interaction import Continuing
from bot.model.output import (
    Clarify,
    Final,
    Fragment,
    Operational,
    Progress,
    SafeError,
    Silence,
    WorkspaceChanged,
)
from bot.model.question import Asking, Question
from bot.model.request import ContextItem, Request
from bot.observability.log import get_logger
from bot.observability.metrics import agent_run, part_withheld
from bot.ports.agent import Agent
from bot.ports.channel import Channel, Reply
from bot.ports.hearing import Hearer
from bot.ports.history import History
from bot.ports.record import AuthorisedRecord
from bot.ports.store import Inbox, Outbox
from bot.questions.room import QuestionRoom
from bot.runtime.clearing import Clearing
from bot.runtime.controls import Controls
from bot.runtime.desk import RequestDesk
from bot.runtime.endings import Endings, Said
from bot.runtime.inside import Inside
from bot.runtime.lanes import Lanes
from bot.runtime.loop import End, Loop, Opening
from bot.runtime.reports import Reports
from bot.runtime.rulings import Rulings
from bot.runtime.runs import Run
from bot.runtime.signs import Attention, Signs, Stream
from bot.runtime.work import Work, reply_to, tapped_button
from bot.texts.codes import Failure
from policy.boundary import Speech, Withheld
from policy.destination import Destination
from policy.event import Kind
from policy.record import Entry, visible
from policy.ruleset import ChannelPolicy, Policy

log = get_logger(__name__)

NAMESPACE = uuid.UUID("5b0c6a0e-8f5e-5d0c-9a57-0d15c4ee7000")
OBSERVED_LIMIT = 50
_UNAVAILABLE = SafeError(failure=Failure.UNAVAILABLE)


class Worker:
    """Runs agents for admitted requests."""

    def __init__(
        self,
        *,
        policy: Callable[[], Policy],
        agents: Mapping[str, Agent],
        default_agent: str,
        channels: Mapping[str, Channel],
        inbox: Inbox,
        outbox: Outbox,
        dispatcher: Dispatcher,
        door: Door,
        reports: Reports,
        rulings: Rulings,
        clock: Callable[[], datetime],
        at_once: int = 64,
        longest_s: float = 300.0,
        file_limit_bytes: int = 2000 << 20,
        questions: QuestionRoom | None = None,
        approvals: ApprovalRoom | None = None,
        hearers: Sequence[Hearer] = (),
        record: AuthorisedRecord | None = None,
        drafts: Drafts | None = None,
        history: History | None = None,
        loop: Loop | None = None,
        commands: CommandRoom | None = None,
    ) -> None:
        """Make a worker.

        Args:
            policy: gives the policy in force now.
            agents: by name.
            default_agent: answers where the policy names no other.
            channels: by account.
            inbox: where requests stand.
            outbox: where what is said on the way stands.
            dispatcher: carries parts out.
            door: clears them.
            reports: tells operators.
            rulings: hears what came of requests.
            clock: gives aware times.
            at_once: runs of one agent side by side.
            longest_s: no run takes longer, whatever its agent says.
            file_limit_bytes: of any file; each channel has a narrower limit of its own.
            questions: where people are asked; None: nobody is.
            approvals: where actions are proposed; None: none are.
            hearers: hear what people say to what waits for them, in this order.
            record: facts that answers may rest on; None: the policy's.
            drafts: where drafts are filed; None: what would be one is withheld.
            history: what agents may know again of a conversation; None: nothing.
            loop: of clarifications; None: there are none.
            commands: that agents may run; None: none.
        """
        self._policy = policy
        self._record = record
        self._drafts = drafts
        self._agents = agents
        self._default_agent = default_agent
        self._channels = channels
        self._inbox = inbox
        self._outbox = outbox
        self._dispatcher = dispatcher
        self._door = door
        self._clock = clock
        self._at_once = at_once
        self._places: dict[str, asyncio.Semaphore] = {}
        self._longest_s = longest_s
        self._file_limit_bytes = file_limit_bytes
        self._lanes: Lanes[Work] = Lanes("work", self._run)
        self._questions = questions
        self._approvals = approvals
        self._inside = Inside(questions, policy=policy, channels=channels, door=door)
        self._history = history
        self._loop = loop
        self._commands = commands
        self._clearing = Clearing(door, channels)
        self._endings = Endings(
            policy=policy,
            entries=self._entries,
            channels=channels,
            inbox=inbox,
            dispatcher=dispatcher,
            door=door,
            clearing=self._clearing,
            drafts=drafts,
            reports=reports,
            rulings=rulings,
            clock=clock,
            steps=None if loop is None else loop.room.notes,
        )
        controls = Controls(
            channels=channels,
            inbox=inbox,
            outbox=outbox,
            dispatcher=dispatcher,
            door=door,
            clearing=self._clearing,
            hearers=hearers,
            clarifying=None if loop is None else loop.hearing,
            language=lambda work, material: self._language(work, material, door.settings(work.place)),
            stop=self._stop,
            go_on=self._go_on,
            done=self._endings.publish,
            clock=clock,
        )
        self._control: Lanes[Work] = Lanes("control", controls.carry_out)
        self._running: dict[str, Run] = {}
        self._parked: set[Run] = set()
        self._ending: set[asyncio.Task[None]] = set()
        self._closing = False
        self._taps: dict[int, str] = {}

    def submit(self, work: Work) -> None:
        """A request that has passed every gate and whose decision is recorded."""
        conversation = str(work.place.destination)
        if not work.continues and (work.decision.control or work.reading.event.kind is Kind.TAP):
            self._control.push(conversation, work)  # never queued behind an agent (PART-8)
        else:
            self._lanes.push(conversation, work)

    async def withdraw(self, place: Place, message: str, rows: Sequence[int]) -> None:
        """The request was deleted before its agent started: it does not start (PART-18)."""
        conversation = str(place.destination)

        def is_it(work: Work) -> bool:
            return any(reading.event.message == message for _, reading in work.parts)

        run = self._running.get(conversation)
        if run is not None and not run.asked and is_it(run.work):  # it waits for a place
            run.cut = "withdrawn"
            run.task.cancel()
        for work in self._lanes.drop(conversation, is_it):
            await self._inbox.finish(work.event_id, [], outcome="withdrawn", now=self._clock())
        for row in rows:
            await self._inbox.finish(row, [], outcome="withdrawn", now=self._clock())

    async def ask_for(self, request_id: str | None, agent: str, asking: Asking) -> Question:
        """Ask for an agent that speaks to us from outside: where the request was made on which it works.

        Args:
            request_id: of the request; None: it works on none, and asks operators on the inside.
            agent: its name.
            asking: what it wants to know.

        Raises:
            AskError: it works on no such request, or the question can't be asked.
        """
        if request_id is None:
            return await self._inside.put(asking, agent=agent)
        desk = self._desk(request_id, agent)
        if desk is None:
            raise AskError("no_request", "this agent is not working on such a request")
        return await desk.put(asking)

    async def propose_for(self, request_id: str, agent: str, proposal: Proposal) -> Approval:
        """Propose for an agent that is working on a request and speaks to us from outside.

        Raises:
            ProposalError: it works on no such request, or it can't be proposed.
        """
        desk = self._desk(request_id, agent)
        if desk is None:
            raise ProposalError("no_request", "this agent is not working on such a request")
        return await desk.put_proposal(proposal)

    def place_of(self, request_id: str | None, agent: str) -> tuple[Destination, str | None] | None:
        """Where a request was made on which an agent works, and by whom (an id of the policy); None: there is none."""
        if request_id is None:  # operators are asked on the inside
            inside = self._inside.destination()
            return None if inside is None else (inside, None)
        desk = self._desk(request_id, agent)
        return None if desk is None else (desk.destination, desk.person)

    def _desk(self, request_id: str, agent: str) -> RequestDesk | None:
        runs = [*self._running.values(), *self._parked]
        run = next((run for run in runs if run.desk is not None and run.desk.is_for(request_id, agent)), None)
        return None if run is None or run.over else run.desk

    def desk_for(self, request_id: str, agent: str) -> RequestDesk:
        """The desk of an agent that works on a request and speaks to us from outside.

        Raises:
            AskError: it works on no such request.
        """
        desk = self._desk(request_id, agent)
        if desk is None:
            raise AskError("no_request", "this agent is not working on such a request")
        return desk

    def origin_for(self, request_id: str, agent: str) -> Origin:
        """The run of an agent that works on a request and speaks to us from outside (CLAR).

        Raises:
            AskError: it works on no such request.
        """
        return self.desk_for(request_id, agent).origin

    async def idle(self) -> None:
        """Return when no request is waiting or running."""
        await self._lanes.idle()
        await self._control.idle()

    @property
    def open_lanes(self) -> int:
        """How many conversations have a request that runs or waits."""
        return len(self._lanes)

    @property
    def waiting(self) -> int:
        """How many requests have not begun; one that waits for a free place has not."""
        held = sum(not run.asked for run in self._running.values())
        return self._lanes.waiting + held + self._control.waiting

    async def close(self, *, grace_s: float) -> None:
        """Let running agents end for ``grace_s`` seconds; the rest is asked again by the next process."""
        self._closing = True
        for run in self._parked:  # people take their time; the question waits for them in the store
            run.task.cancel()
        await asyncio.gather(*(run.task for run in self._parked), return_exceptions=True)
        closing = asyncio.gather(self._lanes.close(), self._control.close(), *self._ending)
        try:
            await asyncio.wait_for(closing, grace_s)
        except TimeoutError:
            await self._lanes.cancel()
            await self._control.cancel()

    # an agent's run

    async def _run(self, work: Work) -> None:
        """Run an agent until it ends, or waits for a person: then the conversation goes on without it."""
        conversation = str(work.place.destination)
        name = self._door.settings(work.place).agent or self._default_agent
        place = self._places.setdefault(name, asyncio.Semaphore(self._at_once))
        run = self._running[conversation] = Run(work=work, place=place)
        run.task = asyncio.create_task(self._in_turn(run), name="answer")
        parked = asyncio.create_task(run.parked.wait(), name="parked")
        try:
            await asyncio.wait((run.task, parked), return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:  # the daemon ends
            run.task.cancel()
            await asyncio.gather(run.task, return_exceptions=True)
            raise
        finally:
            parked.cancel()
            if self._running.get(conversation) is run:
                del self._running[conversation]
        if run.task.done():
            await self._ended(run)
        else:
            self._parked.add(run)
            run.task.add_done_callback(lambda _: self._unpark(run))

    def _unpark(self, run: Run) -> None:
        self._parked.discard(run)
        if not self._closing:
            task = asyncio.create_task(self._ended(run), name="end")
            self._ending.add(task)
            task.add_done_callback(self._ending.discard)

    async def _ended(self, run: Run) -> None:
        """What was stopped or withdrawn is written down as that."""
        if run.task.cancelled():
            if self._questions is not None:
                await self._questions.cancel_of(run.work.event_id)
            if self._approvals is not None:
                await self._approvals.cancel_of(run.work.event_id)
            await self._inbox.finish(run.work.event_id, [], outcome=run.cut, now=self._clock())
        elif (error := run.task.exception()) is not None:
            log.error("run_failed", error=type(error).__name__)
            return
        if run.desk is not None:
            await run.desk.forget()

    async def _in_turn(self, run: Run) -> None:
        """Answer as soon as there is a place. Each agent has its own: one that hangs takes none of another's."""
        await run.take_place()
        try:
            await self._answer(run)
        finally:
            if run.desk is not None:
                run.desk.close()
            run.leave_place()

    async def _stop(self, place: Place, by: str | None) -> bool:
        """Stop what runs and what waits in this conversation: people their own requests, operators all of them."""
        conversation = str(place.destination)
        person = self._policy().person(by)

        def may(work: Work) -> bool:
            if person is not None and person.operator:
                return True
            return by is not None and work.reading.event.sender == by

        dropped = self._lanes.drop(conversation, may)
        for work in dropped:
            await self._inbox.finish(work.event_id, [], outcome="stopped", now=self._clock())
        running = self._running.get(conversation)
        parked = [run for run in self._parked if str(run.work.place.destination) == conversation]
        stopped = [run for run in (running, *parked) if run is not None and not run.over and may(run.work)]
        for run in stopped:
            run.task.cancel()
        operator = person is not None and person.operator
        ended = self._loop is not None and await self._loop.room.stop(place.destination, by, everybody=operator)
        return bool(dropped or stopped or ended)

    def _go_on(self, work: Work, value: str) -> None:
        """A button of the agent's own: its value goes to the agent."""
        self._taps[work.event_id] = value
        self._lanes.push(str(work.place.destination), work)

    async def _answer(self, run: Run) -> None:
        work, place = run.work, run.work.place
        channel = self._channels[place.destination.account]
        settings = self._door.settings(place)
        material = _merged(channel, work)
        to = reply_to(work)
        agent = self._agents.get(settings.agent or self._default_agent)
        language = self._language(work, material, settings)
        if agent is None:
            log.error("no_such_agent", agent=settings.agent or self._default_agent, request=_request_id(work)[:8])
            said = Said(work=work, request=_request_id(work), to=to, language=language, result=_UNAVAILABLE)
            await self._end(run, said)
            return
        opening = Opening()
        if self._loop is not None:
            tap = work.event_id in self._taps
            opening = await self._loop.open(work, material, agent, tap=tap, language=language)
            if opening.over is not None:
                said = Said(work=work, request=_request_id(work), to=to, language=language, result=opening.over)
                await self._end(run, said)
                return
        request = await self._request(work, material, settings, agent.name, language, opening.continuing)
        desk = run.desk = RequestDesk(
            channel=channel,
            request=request,
            run=run,
            to=to,
            agent=agent.name,
            questions=self._questions,
            approvals=self._approvals,
            history=self._history,
            limit_bytes=self._file_limit_bytes,
            commands=self._commands,
        )
        run.asked = True
        signs = Signs(channel, self._dispatcher, place, to, work.decision.audience)
        stream = Stream(signs, settings.streaming, key=request.id)
        async with Attention(signs) as run.attention:
            result = await self._listen(agent, request, desk, stream, run, to)
        if isinstance(result, Silence) and stream.text:
            result = Final(text=stream.text)  # it was said already, fragment by fragment
        said = Said(
            work=work,
            request=request.id,
            agent=agent.name,
            asked=request.text,
            result=await self._closed(result, desk.origin, opening),
            to=to,
            language=language,
            streamed=stream.message,
            grown=stream.shown,
        )
        await self._end(run, said)

    async def _end(self, run: Run, said: Said) -> None:
        run.over = True  # too late to stop it: the end is being written
        self._running.pop(str(run.work.place.destination), None)
        outcome = await self._endings.write(said)
        if self._loop is not None:
            await self._loop.ended(run.work, outcome)

    async def _closed(
        self, result: Final | SafeError | Silence | Clarify | WorkspaceChanged, origin: Origin, opening: Opening
    ) -> End:
        """What the end of a run is, with what it has asked (CLAR-7)."""
        if self._loop is not None:
            return await self._loop.close(result, origin, opening)
        return _UNAVAILABLE if isinstance(result, Clarify | WorkspaceChanged) else result

    async def _listen(
        self,
        agent: Agent,
        request: Request,
        desk: RequestDesk,
        stream: Stream,
        run: Run,
        to: Reply,
    ) -> Final | SafeError | Silence | Clarify | WorkspaceChanged:
        """Hear the agent out, until it ends or its time is over."""
        try:
            async with asyncio.timeout(self._longest_s) as limit:
                with run.timed(limit):
                    async with contextlib.aclosing(agent.run(request, desk)) as outputs:
                        async for output in outputs:
                            match output:
                                case Fragment(text=text):
                                    await stream.grow(text)
                                case Progress(text=text):
                                    await self._say(Speech.PROGRESS, text, run.work, to)
                                case Operational(text=text):
                                    await self._say(Speech.OPERATIONAL, text, run.work, to)
                                case Final() | SafeError() | Silence() | Clarify() | WorkspaceChanged():
                                    agent_run(agent.name, type(output).__name__.lower())
                                    return output
                                case _:
                                    assert_never(output)
        except TimeoutError:
            agent_run(agent.name, "timeout")
            return SafeError(failure=Failure.TIMEOUT)
        except ChannelError:
            agent_run(agent.name, "attachment")
            return SafeError(failure=Failure.ATTACHMENT_UNREADABLE)
        except AgentError as error:
            agent_run(agent.name, "error")
            log.warning("agent_failed", agent=agent.name, request=request.id[:8], cause=str(error))
            return _UNAVAILABLE
        except Exception as error:  # noqa: BLE001 - an agent may be wrong in any way (AGENT-5)
            agent_run(agent.name, "crash")
            log.error("agent_crashed", agent=agent.name, request=request.id[:8], error=type(error).__name__)
            return _UNAVAILABLE
        finally:
            run.attention = None
        return Silence()

    async def _request(
        self,
        work: Work,
        material: Material,
        settings: ChannelPolicy,
        agent: str,
        language: str,
        continuing: Continuing | None,
    ) -> Request:
        event = work.reading.event
        person = self._policy().person(event.sender)
        context = [
            ContextItem(kind=kind, text=text)
            for kind, text in (
                ("sender_name", material.sender_name),
                ("channel_title", material.channel_title),
                ("quoted", material.quoted),
            )
            if text
        ]
        if event.reply is not None and not material.quoted:
            quoted = await self._channels[event.destination.account].quoted(work.reading)
            context += [] if quoted is None else [quoted]
        if settings.observation is not None and agent in settings.observation.readers:  # PART-9: readers only
            kept = await self._inbox.observed(event.destination, limit=OBSERVED_LIMIT, now=self._clock())
            context += [ContextItem(kind="observed", text=one.text, sender=one.sender, at=one.at) for one in kept]
        if self._drafts is not None:
            context += await self._drafts.context(event.destination, agent)
        return Request(
            id=_request_id(work),
            attempt=await self._inbox.attempt(work.event_id),
            destination=event.destination,
            audience=settings.audience if work.decision.audience.trusted else work.decision.audience,
            asked_at=event.sent_at,
            person=None if person is None else person.id,
            language=language,
            text=material.text,
            command=None if event.command is None else event.command.name,
            tap=await self._tapped(work, material),
            attachments=material.attachments,
            context=tuple(context),
            record=visible(self._entries().values(), settings.counterparty, self._clock()),
            continuing=continuing,
        )

    def _entries(self) -> Mapping[str, Entry]:
        return self._policy().record if self._record is None else self._record.entries()

    async def _tapped(self, work: Work, material: Material) -> str | None:
        """The value of the agent's own button, also where its request is carried on (CLAR-7)."""
        known = self._taps.pop(work.event_id, None)
        if known is not None or not work.continues or work.reading.event.kind is not Kind.TAP:
            return known
        tapped = await tapped_button(self._outbox, work.reading, material.tap_token)
        return None if tapped is None else tapped.value

    def _language(self, work: Work, material: Material, settings: ChannelPolicy) -> str:
        person = self._policy().person(work.reading.event.sender)
        if person is not None and person.language is not None:
            return person.language
        return material.language or settings.language

    # what comes of it

    async def _say(self, speech: Speech, text: str, work: Work, to: Reply) -> None:
        """A note on the way; it is dropped where the audience may not have it (OUT-3)."""
        channel = self._channels[to.destination.account]
        settings = self._door.settings(work.place)
        if not settings.audience.trusted:  # the door would say the same of each part
            part_withheld(Withheld.AUDIENCE.value)
            return
        parts, _ = self._clearing.checked(work, await self._endings.present(channel, speech, Final(text=text), to))
        if parts:
            self._dispatcher.enqueue(await self._outbox.put(parts, now=self._clock()))


def _request_id(work: Work) -> str:
    """The same at every attempt, in every process."""
    stored = work.parts[0][0]
    return uuid.uuid5(NAMESPACE, f"{stored.account}\0{stored.arrival.key}").hex


def _merged(channel: Channel, work: Work) -> Material:
    """A batch as one request: all words and files, in the order of the messages (PART-8)."""
    materials = [channel.material(reading) for _, reading in work.parts]
    first = materials[0]
    if len(materials) == 1:
        return first
    return Material(
        text="\n".join(material.text for material in materials if material.text),
        attachments=tuple(attachment for material in materials for attachment in material.attachments),
        sender_name=first.sender_name,
        channel_title=first.channel_title,
        quoted=first.quoted,
        language=first.language,
    )
