"""What the gateway needs of an agent. It is untrusted: it can answer, not choose where the answer goes."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import AbstractContextManager
from typing import Protocol, runtime_checkable

from bot.model.approval import Approval, Proposal
from bot.model.command import Offered, Ran
from bot.model.interaction import Doubt, Verdict
from bot.model.output import Output
from bot.model.question import Asking, Conclusion
from bot.model.request import Attachment, Remark, Request


class Desk(Protocol):
    """What an agent may ask for while it works on one request."""

    async def read(self, attachment: Attachment) -> bytes:
        """The content of one attachment of this request; fetched when it is asked for, never before.

        Raises:
            ChannelError: it can't be had (gone, too large, the platform is away).
        """
        ...

    @property
    def rested_s(self) -> float:
        """Seconds for which the run has rested so far, because a person was asked."""
        ...

    def timed(self, limit: asyncio.Timeout) -> AbstractContextManager[None]:
        """A limit of the agent's own time; it stands still while a person is asked."""
        ...

    async def ask(self, asking: Asking) -> Conclusion:
        """Ask a person, there where the request was made; returns how the question ended, hours later perhaps.

        Asking again with the same key, or in the same place of the same run after a restart, finds the same question.

        Raises:
            AskError: it can't be asked; nobody has been asked anything.
        """
        ...

    async def asked_before(self, key: str) -> Asking | None:
        """What this request was asked about under a key in an attempt that was cut off; asked again, it is the same."""
        ...

    async def history(self, *, remarks: int, characters: int) -> Sequence[Remark]:
        """What was said in this conversation before this request, oldest first: only what its people may see.

        Args:
            remarks: how many at most, the latest ones.
            characters: of all of them at most; a remark is given whole or not at all.
        """
        ...

    async def propose(self, proposal: Proposal) -> Approval:
        """Propose an action; returns when it is decided, hours later perhaps, or needs nobody (APPR-1).

        Proposing again with the same key, or in the same place of the same run after a restart, finds the same one.

        Raises:
            ProposalError: it can't be proposed; nobody has seen it.
        """
        ...

    async def proposed_before(self, key: str) -> Approval | None:
        """What this request has proposed under a key in an attempt that was cut off; returns when it is decided."""
        ...

    async def claim(self, approval: Approval, *, target_present: bool | None) -> Approval:
        """Use an approval, once, directly before the action; what runs is ``action`` of what this returns (APPR-5).

        Args:
            approval: as it was returned.
            target_present: whether its target was found again; None: nobody has looked.

        Raises:
            ProposalError: it can't be used; the action must not run.
        """
        ...

    async def outcome(self, approval: Approval, *, executed: bool | None, note: str) -> Approval:
        """Tell what came of it; ``executed`` None: nobody knows (APPR-6).

        Raises:
            ProposalError: it was not claimed, or another outcome was told before.
        """
        ...

    def list_commands(self) -> tuple[Offered, ...]:
        """The commands that may be run in this run; everything else is refused (CMD-1)."""
        ...

    async def run_command(self, name: str, object_id: str | None = None, *, words: str | None = None) -> Ran:
        """Run a command on behalf of whoever made the request; if it opens a form, return with its answer.

        Args:
            name: of the command.
            object_id: the one object (CMD-2).
            words: the agent's own, for commands that take some.

        Raises:
            CommandError: the tool itself refuses; nothing was run (CMD-4).
        """
        ...


class Agent(Protocol):
    """Whatever writes the answers."""

    @property
    def name(self) -> str:
        """Its name in the configuration."""
        ...

    def run(self, request: Request, desk: Desk) -> AsyncGenerator[Output, None]:
        """Answer one request; closing the iterator stops the work.

        Raises:
            AgentError: no answer can be had.
        """
        ...

    async def close(self) -> None:
        """Let go of connections."""
        ...


@runtime_checkable
class Classifier(Protocol):
    """An agent that can tell what a message is while a clarification is open (CLAR-4); not every agent can."""

    async def classify(self, doubt: Doubt) -> Verdict:
        """What the person means. Whoever calls bounds the wait, and takes any error for "an answer".

        Raises:
            AgentError: it can't tell.
        """
        ...
