"""A bot and people of their own for each test, on the run's homeserver."""

from dataclasses import dataclass

import pytest

from tests.servers import synapse as servers

synapse = servers.synapse


@dataclass(frozen=True, kw_only=True)
class Accounts:
    """User ids, and the password of them all."""

    bot: str
    ann: str
    eve: str
    password: str


@pytest.fixture
async def accounts(synapse: servers.Synapse) -> Accounts:
    (bot, password), (ann, _), (eve, _) = [
        await synapse.register(synapse.fresh(name)) for name in ("desk", "ann", "eve")
    ]
    return Accounts(bot=bot, ann=ann, eve=eve, password=password)
