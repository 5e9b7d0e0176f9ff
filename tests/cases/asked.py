"""Questions that a running gateway asks on an emulated Telegram: each in a group of its own, by an agent of ours."""

import re
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bot.channels.telegram.limits import Limits
from bot.model.errors import AskError
from bot.model.output import Final
from bot.model.question import Asking, Conclusion
from bot.questions.links import Links
from bot.questions.room import QuestionRoom
from tests.cases.clocks import Jumping
from tests.cases.script import PERSON
from tests.harness import Running, running
from tests.servers.botapi import BotApi
from tests.servers.botapi.keyboards import buttons

BOT_ID, HOME, ELSEWHERE = 7001, -1001000100000, -1001000199999
OPEN = Limits(chat=None, group=None, total=None)
WITHIN_S = 20.0
Message = dict[str, Any]


@dataclass(kw_only=True)
class Question:
    """One question and what became of it.

    Attributes:
        chat: the group in which it is asked.
        shown: messages that showed it, as they were sent; the last has the buttons.
        error: why it could not be asked.
        crash: what should never happen.
        took_s: from the request until it was shown or refused.
    """

    asking: Asking
    chat: int
    shown: list[Message] = field(default_factory=list)
    error: AskError | None = None
    crash: Exception | None = None
    conclusion: Conclusion | None = None
    took_s: float = 0.0

    @property
    def text(self) -> str:
        """Everything that a person read of it."""
        return "\n".join(message.get("text", "") for message in self.shown)

    @property
    def buttons(self) -> list[Message]:
        """The buttons under it."""
        return [button for message in self.shown for button in buttons(message)]

    @property
    def taps(self) -> list[Message]:
        """The buttons that are no links."""
        return [button for button in self.buttons if "callback_data" in button]

    @property
    def answer(self) -> Mapping[str, object] | None:
        """The one JSON document that the agent got."""
        return None if self.conclusion is None else self.conclusion.answer


class AskingAgent:
    """Asks what it is told by number, and answers everything else at once."""

    name = "main"

    def __init__(self) -> None:
        self.questions: list[Question] = []
        self.runs: list[str] = []

    def add(self, schema: Any, **asking: Any) -> Question:
        """A question that can be asked then."""
        number = len(self.questions)
        given: dict[str, Any] = {"text": f"What about number {number}?", "schema": schema, **asking}
        self.questions.append(Question(asking=Asking(**given), chat=HOME - number))
        return self.questions[-1]

    async def run(self, request: Any, desk: Any) -> AsyncIterator[Final]:
        self.runs.append(request.text)
        found = re.search(r"ask number (\d+)", request.text)
        if found is None:
            yield Final(text="served")
            return
        question = self.questions[int(found[1])]
        try:
            question.conclusion = await desk.ask(question.asking)
        except AskError as error:
            question.error = error
        except Exception as error:
            question.crash = error
        yield Final(text="that is all")

    async def close(self) -> None:
        pass


@dataclass
class Scene:
    """A gateway, its agent, and one person who asks and answers."""

    api: BotApi
    agent: AskingAgent
    gateway: Running
    person: int = PERSON

    @property
    def room(self) -> QuestionRoom:
        """Where the questions are."""
        room = self.gateway.daemon.crew.questions
        assert room is not None
        return room

    async def ask(self, question: Question) -> None:
        """Have it asked; returns when it is shown or refused."""
        number, since = self.agent.questions.index(question), time.monotonic()
        self.api.say(chat=question.chat, sender=self.person, text=f"@desk_bot ask number {number}")
        sent = await self.api.wait_sent(question.chat, timeout=WITHIN_S)
        question.took_s = time.monotonic() - since
        await self.gateway.settled()
        if question.error is None and question.crash is None:
            sent = self.api.sent(question.chat)
            question.shown = [dict(message) for message in sent if message.get("text") != "that is all"]

    async def reply(self, question: Question, text: str) -> list[str]:
        """A reply to what shows it; returns what the person was told then, and lets it have its effect."""
        before = len(self.api.sent(question.chat))
        at = question.shown[-1]["message_id"]
        self.api.say(chat=question.chat, sender=self.person, text=text, reply_to=at)
        await self.gateway.settled()
        return self.api.texts(question.chat)[before:]

    async def tap(self, question: Question, data: str) -> None:
        """A tap on a button by what it sends."""
        self.api.press(
            chat=question.chat,
            sender=self.person,
            message_id=question.shown[-1]["message_id"],
            data=data,
            force=True,
        )
        await self.gateway.settled()

    async def serves_others(self) -> float:
        """Ask in another group meanwhile; seconds until the answer stands there."""
        since, before = time.monotonic(), len(self.api.sent(ELSEWHERE))
        self.api.say(chat=ELSEWHERE, sender=self.person + 1, text="@desk_bot are you there?")
        await self.api.wait_sent(ELSEWHERE, before + 1, timeout=WITHIN_S)
        return time.monotonic() - since


@asynccontextmanager
async def scene(
    folder: Path,
    agent: AskingAgent,
    *,
    api: BotApi | None = None,
    clock: Jumping | None = None,
    links: Links | None = None,
) -> AsyncIterator[Scene]:
    """Run a gateway for the agent's questions; ``api``: one that has been there before."""
    if api is None:
        async with (
            BotApi(token=f"{BOT_ID}:{'A' * 35}", username="desk_bot") as made,
            scene(folder, agent, api=made, clock=clock, links=links) as one,
        ):
            yield one
        return
    chats = [question.chat for question in agent.questions] + [ELSEWHERE]
    for chat in chats:
        api.chat(chat, type="supergroup", title="Customers")
    lines = ["version: 1", "defaults: {rate: {person: 6000, channel: 6000}}", "channels:"]
    lines += [f'  "telegram:{BOT_ID}:{chat}": {{audience: external}}' for chat in chats]
    policy = "\n".join(lines) + "\n"
    async with running(folder, api=api, agent=agent, policy=policy, limits=OPEN, clock=clock, links=links) as gateway:
        yield Scene(api=api, agent=agent, gateway=gateway)
