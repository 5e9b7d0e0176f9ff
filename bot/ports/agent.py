"""What the gateway needs of an agent. It is untrusted: it can answer, not choose where the answer goes."""

from collections.abc import AsyncGenerator
from typing import Protocol

from bot.model.output import Output
from bot.model.request import Attachment, Request


class Files(Protocol):
    """The files of one request; they are fetched when an agent asks for them, never before."""

    async def read(self, attachment: Attachment) -> bytes:
        """The content of one attachment of this request.

        Raises:
            ChannelError: it can't be had (gone, too large, the platform is away).
        """
        ...


class Agent(Protocol):
    """Whatever writes the answers."""

    @property
    def name(self) -> str:
        """Its name in the configuration."""
        ...

    def run(self, request: Request, files: Files) -> AsyncGenerator[Output, None]:
        """Answer one request; closing the iterator stops the work.

        Raises:
            AgentError: no answer can be had.
        """
        ...

    async def close(self) -> None:
        """Let go of connections."""
        ...
