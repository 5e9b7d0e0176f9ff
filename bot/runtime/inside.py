"""Questions of agents that work on no request of ours: to operators alone, where approvals are shown (APPR-1, OUT-8).

They go to the first place of the policy's that can be reached, on the inside or in an operator's own chat, and nowhere
else: where there is none, nothing is asked, and the agent is told.
"""

import uuid
from collections.abc import Callable, Mapping

from bot.deliveries.door import Door, Place
from bot.model.errors import AskError
from bot.model.question import Answerer, Asking, Question
from bot.ports.channel import Channel, Reply
from bot.questions.room import QuestionRoom
from policy.approvals import Window, windows
from policy.destination import Destination
from policy.event import Chat
from policy.ruleset import Policy


class Inside:
    """Asks operators."""

    def __init__(
        self,
        questions: QuestionRoom | None,
        *,
        policy: Callable[[], Policy],
        channels: Mapping[str, Channel],
        door: Door,
    ) -> None:
        """Args: questions: None: nobody can be asked. policy: in force now. channels: by account."""
        self._questions = questions
        self._policy = policy
        self._channels = channels
        self._door = door

    def destination(self) -> Destination | None:
        """Where a question would go now; None: nowhere."""
        window = self._window()
        return None if window is None else window.destination

    async def put(self, asking: Asking, *, agent: str) -> Question:
        """Ask; the same key finds the same question.

        Raises:
            AskError: it is not for operators, no place can be reached, or it can't be asked.
        """
        if self._questions is None:
            raise AskError("no_questions", "nobody can be asked here")
        operators = frozenset(self._policy().operators)
        if asking.who.kind not in (Answerer.OPERATORS, Answerer.PEOPLE) or not asking.who.people <= operators:
            raise AskError("who", "a question that belongs to no request is for operators, or for some of them by name")
        window = self._window()
        if window is None:
            raise AskError("no_place", "the policy names no place on the inside that can be reached now")
        place = Place(
            destination=window.destination,
            chat=Chat.GROUP if window.person is None else Chat.DIRECT,
            person=window.person,
        )
        settings = self._door.settings(place)
        return await self._questions.ask(
            asking,
            agent=agent,
            key=asking.key or uuid.uuid4().hex,
            place=place,
            to=Reply(destination=window.destination),
            asker=None,
            event_id=None,
            audience=settings.audience,
            language=settings.language,
        )

    def _window(self) -> Window | None:
        policy = self._policy()
        reachable = (
            window
            for window in windows(policy, policy.approvals.default)
            if window.destination.account in self._channels
        )
        return next(reachable, None)
