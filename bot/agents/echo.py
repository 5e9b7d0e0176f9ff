"""An agent for trying things out: it says what it was told, and how large the files are."""

from collections.abc import AsyncGenerator

from bot.model.errors import ChannelError
from bot.model.output import Final, Output, SafeError, Silence
from bot.model.request import Request
from bot.ports.agent import Desk
from bot.texts.codes import Failure


class EchoAgent:
    """Says the request's text again; reads attachments, if there are any, and states name and size."""

    def __init__(self, *, name: str = "echo") -> None:
        self._name = name

    @property
    def name(self) -> str:
        """Its name in the configuration."""
        return self._name

    async def run(self, request: Request, desk: Desk) -> AsyncGenerator[Output, None]:
        """Answer with what was said; a file that can't be had is said in the catalogue's words (OUT-7)."""
        lines = [request.text] if request.text.strip() else []
        try:
            for attachment in request.attachments:
                content = await desk.read(attachment)
                lines.append(f"{_plain(attachment.name)}: {len(content)} bytes")
        except ChannelError:
            yield SafeError(failure=Failure.ATTACHMENT_UNREADABLE)
            return
        yield Final(text="\n".join(lines)) if lines else Silence()

    async def close(self) -> None:
        """There is nothing to let go of."""


def _plain(name: str) -> str:
    """A file's name as code, so that its characters format nothing."""
    words = " ".join(name.replace("`", "'").split())
    return f"`{words}`" if words else "file"
