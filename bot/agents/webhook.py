"""An agent behind a webhook: the request is posted as signed JSON, the answer is JSON or a stream of it (AGENT-3).

The signature is that of Standard Webhooks. ``webhook-id`` is the request's id and stays the same at each attempt, so
that the agent can recognise a repeat; during a change of secrets the request carries a signature of each.
"""

import base64
import binascii
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final

from standardwebhooks import Webhook

from bot.agents.connection import Answer, Connection, Patience, Restless
from bot.agents.loopwire import doubt_document
from bot.agents.sse import EventStream, Lines
from bot.agents.wire import (
    VERSION,
    encode_json,
    parse_answer,
    parse_json,
    parse_output,
    parse_verdict,
    request_document,
)
from bot.model import output as out
from bot.model.errors import AgentError, ChannelError, ConfigError
from bot.model.interaction import Doubt, Verdict
from bot.model.request import Request
from bot.ports.agent import Desk

MAX_ANSWER: Final = 1 << 20
"""Bytes of an answer in one piece, and of one output in a stream."""
MAX_STREAM: Final = 16 << 20
"""Bytes of a whole stream: fragments repeat what was said before."""
MAX_NOTES: Final = 100
"""Progress notes and operational facts in one answer."""

_ENDS: Final = (out.Final, out.SafeError, out.Silence, out.Clarify, out.WorkspaceChanged)
_LINES: Final = frozenset({"application/x-ndjson", "application/jsonl", "application/json-lines"})


class FilesMode(StrEnum):
    """What the agent gets of attachments."""

    METADATA = "metadata"
    INLINE = "inline"


class WebhookAgent:
    """Posts requests to one address.

    Args:
        name: in the configuration.
        url: where to; see :func:`bot.agents.connection.checked_url`.
        secrets: ``whsec_...``, the current one first; each signs, so that they can be changed one after the other.
        headers: sent along, for example an authorization.
        files: whether contents of attachments go along.
        max_files_bytes: how much of them at most, in all, before base64.
        total_s: seconds of waiting for one answer.
        wait_s: seconds of waiting for its head, and for each further piece.
        allow_plain_http: to another machine too.
        clock: now, in UTC.

    Raises:
        ConfigError: the address or a secret can't be used.
    """

    def __init__(
        self,
        *,
        name: str,
        url: str,
        secrets: Sequence[str],
        headers: Mapping[str, str] | None = None,
        files: FilesMode = FilesMode.METADATA,
        max_files_bytes: int = 5 << 20,
        total_s: float = 120.0,
        wait_s: float = 60.0,
        allow_plain_http: bool = False,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        if not secrets:
            raise ConfigError("a webhook agent needs a secret to sign with")
        self._name = name
        self._signers = tuple(Webhook(signing_key(secret)) for secret in secrets)
        self._files_mode = files
        self._max_files_bytes = max_files_bytes
        self._total_s = total_s
        self._wait_s = wait_s
        self._clock = clock
        self._connection = Connection(
            url=url, headers=headers, stream_limit=MAX_STREAM, allow_plain_http=allow_plain_http
        )

    @property
    def name(self) -> str:
        """Its name in the configuration."""
        return self._name

    async def run(self, request: Request, desk: Desk) -> AsyncGenerator[out.Output, None]:
        """Post the request; give the outputs up to the first final, safe error or silence.

        Raises:
            AgentError: too slow, not there, too much, or not understood.
        """
        contents = await self._contents(request, desk) if self._files_mode is FilesMode.INLINE else ()
        body = encode_json(request_document(request, contents))
        patience = Patience(total_s=self._total_s, wait_s=self._wait_s, desk=desk)
        answer = await self._connection.post(body, patience, headers=self._signature(request.id, body))
        try:
            notes = 0
            outputs = _outputs(answer)
            try:
                async for output in outputs:
                    yield output
                    if isinstance(output, _ENDS):
                        return
                    notes += not isinstance(output, out.Fragment)
                    if notes > MAX_NOTES:
                        raise AgentError("the agent sent too many notes and no answer")
            finally:
                await outputs.aclose()
        finally:
            answer.close()
        raise AgentError("the agent's answer ended before its final output")

    async def classify(self, doubt: Doubt) -> Verdict:
        """Ask what a message is while a clarification is open; see :class:`bot.ports.agent.Classifier`.

        Raises:
            AgentError: not there, or no verdict.
        """
        body = encode_json(doubt_document(doubt, version=VERSION))
        patience = Patience(total_s=self._wait_s, wait_s=self._wait_s, desk=Restless())
        answer = await self._connection.post(body, patience, headers=self._signature(doubt.id, body))
        try:
            if answer.status != 200 or answer.media_type != "application/json":
                raise AgentError("the agent gave no verdict")
            return parse_verdict(parse_json(await answer.read_whole(limit=MAX_ANSWER)))
        finally:
            answer.close()

    async def close(self) -> None:
        """Let go of connections."""
        await self._connection.close()

    def _signature(self, request_id: str, body: bytes) -> dict[str, str]:
        now = self._clock().astimezone(UTC)
        text = body.decode()
        return {
            "Accept": "application/json, application/x-ndjson, text/event-stream",
            "User-Agent": VERSION,
            "webhook-id": request_id,
            "webhook-timestamp": str(int(now.timestamp())),
            "webhook-signature": " ".join(signer.sign(request_id, now, text) for signer in self._signers),
        }

    async def _contents(self, request: Request, desk: Desk) -> tuple[bytes | str, ...]:
        left = self._max_files_bytes
        contents: list[bytes | str] = []
        for attachment in request.attachments:
            if (attachment.size or 0) > left:
                contents.append("too_large")
                continue
            try:
                content = await desk.read(attachment)
            except ChannelError:
                contents.append("unreadable")
                continue
            if len(content) > left:
                contents.append("too_large")
                continue
            left -= len(content)
            contents.append(content)
        return tuple(contents)


async def _outputs(answer: Answer) -> AsyncGenerator[out.Output, None]:
    """The outputs of an answer as they come.

    Raises:
        AgentError: it is none.
    """
    if answer.status == 204:
        yield out.Silence()
        return
    if answer.status != 200:
        raise AgentError(f"the agent answered with status {answer.status}")
    if answer.media_type == "text/event-stream":
        events = EventStream(longest=MAX_ANSWER)
        while chunk := await answer.read():
            for data in events.feed(chunk):
                yield parse_output(parse_json(data))
        if (data_left := events.finish()) is not None:
            yield parse_output(parse_json(data_left))
    elif answer.media_type in _LINES:
        lines = Lines(longest=MAX_ANSWER, bare_cr=False)
        while chunk := await answer.read():
            for line in lines.feed(chunk):
                if line.strip():
                    yield parse_output(parse_json(line))
        if (line_left := lines.finish()) is not None and line_left.strip():
            yield parse_output(parse_json(line_left))
    elif answer.media_type == "application/json":
        for output in parse_answer(parse_json(await answer.read_whole(limit=MAX_ANSWER))):
            yield output
    else:
        raise AgentError("the agent answered with a content type that is not understood")


def signing_key(secret: str) -> bytes:
    """The bytes of a written secret.

    Raises:
        ConfigError: it is not ``whsec_`` and base64 of 24 to 64 bytes. The text does not repeat it.
    """
    encoded = secret.removeprefix("whsec_")
    try:
        key = base64.b64decode(encoded + "=" * (-len(encoded) % 4), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if not 24 <= len(key) <= 64:
        raise ConfigError("a webhook secret is whsec_ and the base64 of 24 to 64 random bytes")
    return key
