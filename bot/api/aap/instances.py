"""Instances: what an agent provisions for a receiver of its own, and the credential that goes with it.

The agent's key provisions. An instance's credential acts as that agent, under ``/aap`` and nowhere else; it is made of
the instance's id and the agent's key, so it is not stored, and it is void as soon as the key is changed.
"""

import asyncio
import base64
import hashlib
import hmac
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

import orjson

from bot.api.aap.wire import Delivery, Provisioning, message, stamp
from bot.api.answering import RefusedError
from bot.api.site import Callers
from bot.config.credentials import Credential
from bot.config.secret import Secret
from bot.model.errors import CallbackError
from bot.ports.callbacks import Callbacks
from bot.ports.store import State

MOST: Final = 20
"""Instances of one agent; the oldest is void when another one is made."""
_BEGINS: Final = "aap_"


@dataclass(frozen=True, kw_only=True, slots=True)
class Instance:
    """One of an agent's.

    Attributes:
        id: a UUID.
        agent: whose.
        name: as it was given, or made up.
        made_at: when.
        key: of the call that made it.
        asked: digest of what that call asked for.
        delivery: where it is told; None: nowhere.
    """

    id: str
    agent: str
    name: str
    made_at: str
    key: str = field(repr=False)
    asked: str
    delivery: Delivery | None = None


class Instances:
    """Kept with the store's small things; all of them are in memory, too."""

    def __init__(self, state: State, callbacks: Callbacks, *, clock: Callable[[], datetime]) -> None:
        self._state = state
        self._callbacks = callbacks
        self._clock = clock
        self._known: dict[str, Instance] | None = None
        self._making = asyncio.Lock()

    async def load(self) -> Mapping[str, Instance]:
        """All of them, by id."""
        if self._known is None:
            kept = await self._state.read(_ACCOUNT)
            self._known = {name: _instance(name, orjson.loads(value)) for name, value in kept.items()}
        return self._known

    async def provision(self, callers: Callers, agent: str, key: str, asked: Provisioning) -> tuple[Instance, bool]:
        """Make one, or find the one that was made with this key; whether it is new.

        Raises:
            RefusedError: its receiver may not be called, or does not answer as it has to.
        """
        digest = hashlib.sha256(repr((asked.name, _written(asked.delivery))).encode()).hexdigest()
        async with self._making:
            known = await self.load()
            mine = [one for one in known.values() if one.agent == agent]
            for one in mine:
                if one.key == key:
                    if one.asked != digest:
                        raise RefusedError(409, "idempotency_conflict", "this key was used for another instance")
                    return one, False
            made = str(uuid.uuid4())
            if asked.delivery is not None:
                await self._verify(agent, made, asked.delivery)
            instance = Instance(
                id=made,
                agent=agent,
                name=asked.name or f"{agent}-{made[:8]}",
                made_at=stamp(self._clock()),
                key=key,
                asked=digest,
                delivery=asked.delivery,
            )
            oldest = sorted(mine, key=lambda one: one.made_at)[: max(0, len(mine) + 1 - MOST)]
            kept: dict[str, str | None] = {one.id: None for one in oldest}
            kept[made] = orjson.dumps(_document(instance)).decode()
            await self._state.write(_ACCOUNT, kept)
            self._known = {name: one for name, one in known.items() if name not in kept} | {made: instance}
        return instance, True

    def token(self, key: Credential, instance: Instance) -> str:
        """The credential of an instance: it comes from the key with which it was made, and goes with it."""
        mac = hmac.digest(key.digest, f"aap:{instance.id}".encode(), hashlib.sha256)
        return f"{_BEGINS}{instance.id}.{base64.urlsafe_b64encode(mac).decode().rstrip('=')}"

    def of_token(self, callers: Callers, token: str) -> tuple[Instance, Credential] | None:
        """The instance whose credential it is, and the key from which it comes."""
        name = token.removeprefix(_BEGINS).partition(".")[0]
        instance = (self._known or {}).get(name) if token.startswith(_BEGINS) else None
        if instance is None or instance.agent not in callers.names:
            return None
        found = None
        for key in callers.credentials(instance.agent):
            if hmac.compare_digest(self.token(key, instance).encode(), token.encode("utf-8", "surrogateescape")):
                found = key
        return None if found is None else (instance, found)

    async def _verify(self, agent: str, made: str, delivery: Delivery) -> None:
        """Post a challenge that only the receiver of this registration gives back."""
        sent, challenge = str(uuid.uuid4()), str(uuid.uuid4())
        body = {
            "id": sent,
            "type": "webhook.verification",
            "registration_id": delivery.registration,
            "instance_id": made,
            "created_at": stamp(self._clock()),
            "challenge": challenge,
        }
        try:
            answer = await self._callbacks.ask(
                delivery.url, message(body), message=sent, agent=agent, secret=Secret(delivery.secret)
            )
        except CallbackError as error:
            raise RefusedError(422, "webhook_not_allowed", str(error)) from None
        try:
            given = None if answer is None else orjson.loads(answer)
        except orjson.JSONDecodeError:
            given = None
        if given != {"challenge": challenge}:
            raise RefusedError(422, "webhook_verification_failed", "the receiver did not give the challenge back")


_ACCOUNT: Final = "aap:instances"


def _written(delivery: Delivery | None) -> dict[str, str] | None:
    if delivery is None:
        return None
    return {"url": delivery.url, "registration": delivery.registration, "secret": delivery.secret}


def _document(instance: Instance) -> dict[str, Any]:
    return {
        "agent": instance.agent,
        "name": instance.name,
        "made_at": instance.made_at,
        "key": instance.key,
        "asked": instance.asked,
        "delivery": _written(instance.delivery),
    }


def _instance(name: str, written: dict[str, Any]) -> Instance:
    delivery = written.pop("delivery")
    return Instance(id=name, delivery=None if delivery is None else Delivery(**delivery), **written)
