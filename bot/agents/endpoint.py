"""The way to endpoints of commands: one signed request (Standard Webhooks), bounded, never repeated (CMD-1).

The same guards hold as for agents: see :mod:`bot.agents.connection`.
"""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final

from standardwebhooks import Webhook

from bot.agents.connection import Connection, Patience, Restless
from bot.agents.webhook import signing_key
from bot.config.commands import Endpoint
from bot.ports.commands import Answered

VERSION: Final = "discreet/1"
MAX_ANSWER: Final = 64 << 10
"""Bytes."""


class SignedEndpoints:
    """See :class:`bot.ports.commands.Endpoints`."""

    def __init__(self, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        """Args: clock: of the signatures."""
        self._clock = clock
        self._connections: dict[Endpoint, Connection] = {}

    async def call(self, endpoint: Endpoint, message_id: str, body: bytes, *, timeout_s: float) -> Answered:
        """See :meth:`bot.ports.commands.Endpoints.call`."""
        connection = self._connections.get(endpoint)
        if connection is None:
            connection = self._connections[endpoint] = Connection(
                url=endpoint.url, stream_limit=MAX_ANSWER, allow_plain_http=endpoint.allow_plain_http
            )
        patience = Patience(total_s=timeout_s, wait_s=timeout_s, desk=Restless())
        now, text = self._clock().astimezone(UTC), body.decode()
        signers = [Webhook(signing_key(secret.reveal())) for secret in endpoint.secrets]
        headers = {
            "Accept": "application/json",
            "User-Agent": VERSION,
            "Idempotency-Key": message_id,
            "webhook-id": message_id,
            "webhook-timestamp": str(int(now.timestamp())),
            "webhook-signature": " ".join(signer.sign(message_id, now, text) for signer in signers),
        }
        answer = await connection.post(body, patience, headers=headers)
        try:
            return Answered(status=answer.status, body=await answer.read_whole(limit=MAX_ANSWER))
        finally:
            answer.close()

    async def run(self) -> None:
        """Hold the connections until cancelled."""
        try:
            await asyncio.Event().wait()
        finally:
            for connection in self._connections.values():
                await connection.close()
