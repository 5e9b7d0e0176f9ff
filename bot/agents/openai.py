"""A model behind an OpenAI-compatible ``/chat/completions``, with streaming (AGENT-3).

It gets the strict prompt and one document of untrusted data (PROMPT-1 to 3); where the configuration says so, what was
said in the conversation before, and tools. It is asked again only where it has not said a word yet. The key goes into
one header and nowhere else; what the provider says about an error stays there.
"""

import asyncio
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import aclosing
from typing import Any, Final

from bot.agents.completion import Completion, ToolCall
from bot.agents.connection import AbsentAgentError, Answer, BrokenAgentError, Connection, Patience
from bot.agents.prompt import ReadAttachment, messages, strict_prompt
from bot.agents.sse import EventStream
from bot.agents.toolbox import MAX_ARGUMENTS, Tool, Toolbox, offered
from bot.agents.wire import encode_json, parse_json
from bot.model import output as out
from bot.model.errors import AgentError, ChannelError, ConfigError
from bot.model.request import Attachment, Request
from bot.ports.agent import Desk
from bot.texts.codes import Failure

MAX_ANSWER: Final = 2 << 20
"""Bytes of an answer in one piece, and of one event."""
MAX_STREAM: Final = 32 << 20
"""Bytes of a whole stream; an event is some hundred bytes for a few letters."""
RETRIES: Final = 2
MAX_ROUNDS: Final = 8
"""Completions that end with calls of tools; then the model has to answer."""
MAX_RETRY_AFTER_S: Final = 20.0

_IMAGES: Final = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_TEXTS: Final = frozenset({"application/json", "application/xml", "application/yaml", "application/x-yaml"})
_OURS: Final = frozenset({"model", "messages", "stream", "n"})
_TOOLS: Final = frozenset({"tools", "tool_choice", "functions", "function_call"})
_PLAIN_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")


class OpenAIAgent:
    """Asks a model for chat completions.

    Args:
        name: in the configuration.
        base_url: up to and without ``/chat/completions``, for example ``https://api.example.com/v1``.
        model: as the server calls it.
        api_key: sent as a bearer token; None where the server wants none.
        options: further fields of the request, such as ``temperature`` or ``max_tokens``.
        stream: ask for a stream; an answer in one piece is understood either way.
        images: images go to the model.
        asks_back: the model has a tool to ask back with.
        tools: that the model has beside it; not every server takes any.
        history: how many earlier remarks of the conversation go along, the latest ones; 0: none.
        history_characters: of all of them.
        max_image_bytes: of all images of a request.
        max_text_bytes: of all text files of a request.
        total_s: seconds of waiting for one answer, tries and pauses included.
        wait_s: seconds of waiting for its head, and for each further piece.
        allow_plain_http: to another machine too.
        pause: waits for some seconds before another try.

    Raises:
        ConfigError: the address or an option can't be used, or the packaged prompt has been changed.
    """

    def __init__(
        self,
        *,
        name: str,
        base_url: str,
        model: str,
        api_key: str | None = None,
        options: Mapping[str, Any] | None = None,
        stream: bool = True,
        images: bool = False,
        asks_back: bool = False,
        tools: Collection[Tool] = (),
        history: int = 0,
        history_characters: int = 8_000,
        max_image_bytes: int = 5 << 20,
        max_text_bytes: int = 100 << 10,
        total_s: float = 180.0,
        wait_s: float = 60.0,
        allow_plain_http: bool = False,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        if taken := (_OURS | _TOOLS if tools or asks_back else _OURS) & set(options or {}):
            raise ConfigError(f"{', '.join(sorted(taken))}: set by the gateway; take it out of the agent's options")
        if api_key is not None and not (api_key.isascii() and api_key.isprintable() and api_key.strip()):
            raise ConfigError("the agent's api key is empty or holds characters that no key has")
        strict_prompt()  # a changed prompt is found at the start and not at the first request
        self._name = name
        self._fields = {**(options or {}), "model": model, "stream": stream}
        self._images = images
        self._asks_back = asks_back
        self._tools = tuple(tool for tool in Tool if tool in tools)
        self._history = history
        self._history_characters = history_characters
        self._max_image_bytes = max_image_bytes
        self._max_text_bytes = max_text_bytes
        self._total_s = total_s
        self._wait_s = wait_s
        self._pause = pause
        self._connection = Connection(
            url=f"{base_url.rstrip('/')}/chat/completions",
            headers={"Accept": "text/event-stream, application/json"}
            | ({} if api_key is None else {"Authorization": f"Bearer {api_key}"}),
            stream_limit=MAX_STREAM,
            allow_plain_http=allow_plain_http,
        )

    @property
    def name(self) -> str:
        """Its name in the configuration."""
        return self._name

    async def run(self, request: Request, desk: Desk) -> AsyncGenerator[out.Output, None]:
        """Ask the model; give its answer while it grows, then whole.

        Raises:
            AgentError: too slow, not there, too much, or not understood.
        """
        read = await self._read(request, desk)
        if isinstance(read, Failure):
            yield out.SafeError(failure=read)
            return
        patience = Patience(total_s=self._total_s, wait_s=self._wait_s, desk=desk)
        earlier = (
            await desk.history(remarks=self._history, characters=self._history_characters) if self._history else ()
        )
        toolbox = Toolbox(request=request, desk=desk, offered=offered(self._tools, request, asks_back=self._asks_back))
        told = messages(request, read, earlier=earlier, tools=bool(toolbox.offered))
        try:
            told += [one for exchange in await toolbox.before() for one in _exchange("", [exchange])]
            for left in reversed(range(MAX_ROUNDS + 1)):
                completion = Completion(sources=bool(request.record))
                async with aclosing(self._complete(told, toolbox, completion, patience, may_call=left > 0)) as growing:
                    async for fragment in growing:
                        yield fragment
                if not (completion.calls and toolbox.offered):
                    yield completion.outcome()
                    return
                if completion.growing:
                    yield out.Fragment(text="")  # what stands beside a call is no answer
                results: list[tuple[ToolCall, str]] = []
                for call in completion.calls if left else ():
                    used = await toolbox.use(call)
                    if isinstance(used, out.Final | out.Clarify):
                        yield used
                        return
                    results.append((call, used))
                told += _exchange(completion.said, results)
        finally:
            await toolbox.close()
        raise AgentError("the model goes on calling tools")

    async def close(self) -> None:
        """Let go of connections."""
        await self._connection.close()

    async def _complete(
        self,
        told: Sequence[Mapping[str, Any]],
        toolbox: Toolbox,
        completion: Completion,
        patience: Patience,
        *,
        may_call: bool,
    ) -> AsyncGenerator[out.Fragment, None]:
        """Ask for one completion and hear it to its end; what may be shown of it is given while it grows.

        Raises:
            AgentError: too slow, not there, too much, or not understood.
        """
        fields = {**self._fields, "messages": told}
        if toolbox.offered:
            fields |= {"tools": toolbox.documents, "tool_choice": "auto" if may_call else "none"}
        body, tries = encode_json(fields), _Tries(patience, self._pause)
        while True:
            answer = await self._ask(body, patience, tries)
            try:
                async with aclosing(_heard(answer, completion)) as growing:
                    async for fragment in growing:
                        yield fragment
            except (AbsentAgentError, BrokenAgentError):
                if completion.begun or not tries.left:
                    raise
                await tries.rest(0.0)
            else:
                if completion.begun or not tries.left:
                    return
                await tries.rest(0.0)
            finally:
                answer.close()

    async def _ask(self, body: bytes, patience: Patience, tries: "_Tries") -> Answer:
        """Post the request; try again while nobody has said a word.

        Raises:
            AgentError: also after the last try.
        """
        while True:
            asked_s = 0.0
            try:
                answer = await self._connection.post(body, patience)
            except AbsentAgentError:
                if not tries.left:
                    raise
            else:
                if answer.status == 200:
                    return answer
                answer.close()
                asked_s = _retry_after_s(answer.retry_after)
                again = answer.status == 429 or answer.status >= 500
                if not again or not tries.left or asked_s > min(MAX_RETRY_AFTER_S, patience.left_s):
                    raise AgentError(f"the provider answered with status {answer.status}")
            await tries.rest(asked_s)

    async def _read(self, request: Request, desk: Desk) -> list[ReadAttachment] | Failure:
        """Read what the model can see; the first file that it can't see ends the run in plain words (OUT-7)."""
        left = {"image": self._max_image_bytes, "text": self._max_text_bytes}
        read: list[ReadAttachment] = []
        for attachment in request.attachments:
            kind = self._kind(attachment)
            if kind is None:
                return Failure.ATTACHMENT_UNREADABLE
            if (attachment.size or 0) > left[kind]:
                return Failure.ATTACHMENT_TOO_LARGE
            try:
                content = await desk.read(attachment)
                text = content.decode("utf-8-sig") if kind == "text" else None
            except (ChannelError, UnicodeDecodeError):
                return Failure.ATTACHMENT_UNREADABLE
            left[kind] -= len(content)
            if left[kind] < 0:
                return Failure.ATTACHMENT_TOO_LARGE
            image = content if kind == "image" else None
            read.append(ReadAttachment(attachment=attachment, text=text, image=image))
        return read

    def _kind(self, attachment: Attachment) -> str | None:
        media_type = attachment.media_type.partition(";")[0].strip().lower()
        if media_type in _IMAGES:
            return "image" if self._images else None
        return "text" if media_type.startswith("text/") or media_type in _TEXTS else None


class _Tries:
    """How often one completion is asked for again, and after which pause."""

    def __init__(self, patience: Patience, pause: Callable[[float], Awaitable[None]]) -> None:
        self._patience = patience
        self._pause = pause
        self._made = 0

    @property
    def left(self) -> int:
        """How often it may be asked for again."""
        return RETRIES - self._made

    async def rest(self, asked_s: float) -> None:
        """Wait before the next try, at least as long as the provider wants."""
        pause_s = max(0.5 * 2**self._made, asked_s)
        self._made += 1
        self._patience.left_s -= pause_s
        await self._pause(pause_s)


async def _heard(answer: Answer, completion: Completion) -> AsyncGenerator[out.Fragment, None]:
    """Read one answer into a completion.

    Raises:
        AgentError: too slow, too much, or not understood.
    """
    if answer.media_type == "application/json":
        completion.take_whole(await answer.read_whole(limit=MAX_ANSWER))
        return
    if answer.media_type != "text/event-stream":
        raise AgentError("the provider answered with a content type that is not understood")
    events = EventStream(longest=MAX_ANSWER)
    shown = ""
    while chunk := await answer.read():
        _take(completion, events, chunk)
        if completion.ended:
            return
        if (text := completion.growing) != shown:
            yield out.Fragment(text=text)
            shown = text
    if (rest := events.finish()) is not None:
        completion.add(rest)


def _exchange(said: str, results: Sequence[tuple[ToolCall, str]]) -> list[dict[str, Any]]:
    """What the model called, in a form that every server takes back, and what came of it."""
    calls = [
        {"id": call.id, "type": "function", "function": {"name": _name(call), "arguments": _arguments(call)}}
        for call, _ in results
    ]
    return [
        {"role": "assistant", "content": said or None, "tool_calls": calls},
        *({"role": "tool", "tool_call_id": call.id, "content": result} for call, result in results),
    ]


def _name(call: ToolCall) -> str:
    return call.name if _PLAIN_NAME.fullmatch(call.name) else "unknown"


def _arguments(call: ToolCall) -> str:
    """As they were, if they are an object: templates of some servers read them, and fail on anything else."""
    try:
        fits = len(call.arguments) <= MAX_ARGUMENTS and isinstance(parse_json(call.arguments), dict)
    except AgentError:
        fits = False
    return call.arguments if fits else "{}"


def _take(completion: Completion, events: EventStream, chunk: bytes) -> None:
    for data in events.feed(chunk):
        completion.add(data)
        if completion.ended:
            return


def _retry_after_s(header: str) -> float:
    """Seconds that the provider asks for; a date or nonsense counts as none."""
    return float(header) if header.strip().isdecimal() and len(header) < 10 else 0.0
