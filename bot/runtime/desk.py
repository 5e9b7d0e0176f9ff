"""What an agent may ask for while it works on one request (see :class:`bot.ports.agent.Desk`)."""

import asyncio
import hashlib
from collections import Counter
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import replace

from bot.approvals.room import ApprovalRoom
from bot.clarifications.room import Origin
from bot.commands.refusals import refusal
from bot.commands.room import CommandRoom
from bot.model.command import Call, Offered, Ran
from bot.model.errors import AskError, ChannelError
from bot.model.question import Asking, Conclusion, Question
from bot.model.request import Attachment, Remark, Request
from bot.ports.channel import Channel, Reply
from bot.ports.history import History
from bot.questions.room import QuestionRoom
from bot.runtime.loop import origin_of
from bot.runtime.proposing import Proposing
from bot.runtime.remarks import remarks_of
from bot.runtime.runs import Run
from policy.destination import Destination


class RequestDesk:
    """The files of one request, and questions and proposals about it."""

    def __init__(
        self,
        *,
        channel: Channel,
        request: Request,
        run: Run,
        to: Reply,
        agent: str,
        questions: QuestionRoom | None,
        limit_bytes: int,
        approvals: ApprovalRoom | None = None,
        history: History | None = None,
        commands: CommandRoom | None = None,
    ) -> None:
        """Make a desk.

        Args:
            channel: where the request came from.
            request: as the agent got it.
            run: rests while people are asked.
            to: where questions go.
            agent: its name.
            questions: None: nobody can be asked.
            limit_bytes: of a file.
            approvals: None: nothing can be proposed.
            history: None: nobody remembers what was said before.
            commands: that it may run; None: there are none.
        """
        self._channel = channel
        self._request = request
        self._run = run
        self._to = to
        self._agent = agent
        self._questions = questions
        self._history = history
        self._attachments: frozenset[Attachment] = frozenset(request.attachments)
        self._limit_bytes = limit_bytes
        self._proposing = Proposing(room=approvals, request=request, run=run, agent=agent)
        self.propose = self._proposing.propose
        self.proposed_before = self._proposing.before
        self.put_proposal = self._proposing.put
        self.claim = self._proposing.claim
        self.outcome = self._proposing.outcome
        self._commands = commands
        self._asked: Counter[str] = Counter()
        self._given: list[str] = []
        self._resting: dict[str, asyncio.Task[None]] = {}

    async def read(self, attachment: Attachment) -> bytes:
        """Fetch one file of this request."""
        if attachment not in self._attachments:
            raise ChannelError("the file does not belong to this request")
        if attachment.size is not None and attachment.size > self._limit_bytes:
            raise ChannelError("the file is too large")
        return await self._channel.fetch(attachment, limit_bytes=self._limit_bytes)

    @property
    def rested_s(self) -> float:
        """Seconds for which the run has rested so far."""
        return self._run.rested_s

    def timed(self, limit: asyncio.Timeout) -> AbstractContextManager[None]:
        """A limit that stands still while a person is asked."""
        return self._run.timed(limit)

    @property
    def destination(self) -> Destination:
        """Where the request was made."""
        return self._request.destination

    @property
    def person(self) -> str | None:
        """Id of whoever made it; None: nobody whom the policy knows."""
        return self._request.person

    def is_for(self, request_id: str, agent: str) -> bool:
        """Whether it is the desk of this agent for this request."""
        return (self._request.id, self._agent) == (request_id, agent)

    @property
    def origin(self) -> Origin:
        """The run, for what it asks in a clarification."""
        return origin_of(self._run.work, agent=self._agent, to=self._to, language=self._request.language)

    async def ask(self, asking: Asking) -> Conclusion:
        """Ask there where the request was made; a question without a key is known by its words in the run."""
        if self._questions is None:
            raise AskError("no_questions", "nobody can be asked here")
        question = await self._put(self._questions, asking)
        async with self._run.waiting_for_a_person():
            ended = await self._questions.ended(question.id)
        if ended is None:
            raise AskError("gone", "the question is not kept any more")
        self._given.append(ended.id)
        return self._questions.conclusion(ended)

    async def asked_before(self, key: str) -> Asking | None:
        """See :meth:`bot.ports.agent.Desk.asked_before`."""
        if self._questions is None:
            return None
        return await self._questions.asked_before(agent=self._agent, key=key, event_id=self._run.work.event_id)

    async def history(self, *, remarks: int, characters: int) -> Sequence[Remark]:
        """See :meth:`bot.ports.agent.Desk.history`; of this destination alone, whatever the agent would like."""
        if self._history is None:
            return ()
        work, here = self._run.work, self._request.destination
        past = await self._history.past(
            here,
            chat=self._channel.chat(here, work.place.chat),
            audience=self._request.audience,
            before=work.event_id,
            limit=remarks,
        )
        return remarks_of(self._channel, past, characters=characters)

    async def forget(self) -> None:
        """The end of the run is written: what was masked in its answers is needed no more (FORM-10).

        Not before: a run that is cut off by a crash asks again, and has to get the same answers (DUR-3).
        """
        for question_id in self._given:
            if self._questions is not None:
                await self._questions.wait(question_id)
        if self._commands is not None:
            await self._commands.forget(self._call("").root_id)

    # commands (CMD)

    def list_commands(self) -> tuple[Offered, ...]:
        """The commands that may be run in this run (CMD-1)."""
        return () if self._commands is None else self._commands.offered(self._call(""))

    async def run_command(self, name: str, object_id: str | None = None, *, words: str | None = None) -> Ran:
        """Run a command; if it opens a form, return with its answer."""
        ran = await self.start_command(name, object_id, words=words)
        if ran.question is None or self._questions is None:
            return ran
        async with self._run.waiting_for_a_person():
            ended = await self._questions.ended(ran.question)
        if ended is None:
            return ran
        self._given.append(ended.id)
        return replace(ran, answer=self._questions.conclusion(ended).answer)

    async def start_command(
        self, name: str, object_id: str | None = None, *, words: str | None = None, key: str | None = None
    ) -> Ran:
        """Run a command for an agent that waits for answers to forms elsewhere.

        Without a key it is known by what it is, and by how often that was run before in this run: a run that a crash
        has cut off runs it again under the same key, and it is not carried out twice (DUR-3).
        """
        if self._commands is None:
            raise refusal("unknown_command")
        if key is None:
            what = hashlib.sha256(repr((name, object_id, words)).encode(errors="replace")).hexdigest()[:32]
            self._asked[f"command:{what}"] += 1
            key = f"run:{self._request.id}:{what}:{self._asked[f'command:{what}']}"
        else:
            key = f"api:{key}"
        return await self._commands.run(self._call(name, object_id, words, key), self.put)

    def _call(self, name: str, object_id: str | None = None, words: str | None = None, key: str = "") -> Call:
        """For the person of this request, and for nobody else (CMD-3)."""
        work, request = self._run.work, self._request
        event, continuing = work.reading.event, request.continuing
        return Call(
            name=name,
            object_id=object_id,
            words=words,
            key=key,
            agent=self._agent,
            request_id=request.id,
            event_id=work.event_id,
            root_id=work.event_id if continuing is None else continuing.interaction.event_id,
            destination=event.destination,
            chat=event.chat,
            account=event.sender,
            message=self._to.message,
            audience=request.audience,
            language=request.language,
            asked=request.text,
        )

    async def put(self, asking: Asking) -> Question:
        """Ask for an agent that waits for the answer elsewhere; the run rests until the question has ended."""
        if self._questions is None:
            raise AskError("no_questions", "nobody can be asked here")
        question = await self._put(self._questions, asking)
        if question.state.pending and question.id not in self._resting:
            task = asyncio.create_task(self._rest(self._questions, question.id), name="question")
            self._resting[question.id] = task
            task.add_done_callback(lambda _: self._resting.pop(question.id, None))
        return question

    async def _rest(self, questions: QuestionRoom, question_id: str) -> None:
        async with self._run.waiting_for_a_person():
            await questions.ended(question_id)

    async def _put(self, questions: QuestionRoom, asking: Asking) -> Question:
        words = hashlib.sha256(repr((asking.text, asking.schema)).encode(errors="replace")).hexdigest()[:32]
        self._asked[words] += 1
        return await questions.ask(
            asking,
            agent=self._agent,
            key=asking.key or f"{self._request.id}:{words}:{self._asked[words]}",
            place=self._run.work.place,
            to=self._to,
            asker=self._run.work.reading.event.sender,
            event_id=self._run.work.event_id,
            audience=self._run.work.decision.audience,
            language=self._request.language,
        )

    def close(self) -> None:
        """The run is over."""
        self._proposing.close()
        for task in self._resting.values():
            task.cancel()
