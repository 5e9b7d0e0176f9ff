"""Drafts on Matrix: approved by a sign, sent byte for byte as plain text, and repeatable without a second message."""

import asyncio
from contextlib import asynccontextmanager

import pytest

from bot.channels.matrix.limits import Limits
from tests.acceptance.test_approvals_matrix import ANN, BOB, BOT, CUSTOMERS, OPS, POLICY, Deciding
from tests.acceptance.test_drafts import says
from tests.matrix_harness import running_matrix
from tests.servers.homeserver import Homeserver

rule = pytest.mark.rule
TEXT = "> For 40: 5*3*2 EUR, **not** 4__7__9.\n\n    1. _as is_"


@asynccontextmanager
async def drafting(tmp_path, agent):
    async with Homeserver(user_id=BOT) as server:
        server.room(OPS, joined=(ANN, BOB))
        server.room(CUSTOMERS, joined=(ANN, BOB))
        limits = Limits(room=None, total=None)
        async with running_matrix(tmp_path, policy=POLICY, server=server, limits=limits, agent=agent) as gateway:
            yield Deciding(server, gateway)


async def price(there):
    """Somebody asks for a price; the id of their message."""
    asked = await there.say("what does a wedding cost?", by=BOB, room=CUSTOMERS, mentions=[BOT])
    async with asyncio.timeout(10):
        while not there.cards():
            await asyncio.sleep(0.01)
    return asked


@rule("AUTO-2", "AUTO-6", "OUT-8")
async def test_a_draft_is_approved_by_a_sign_and_sent_as_it_stands(tmp_path):
    async with drafting(tmp_path, says(TEXT)) as there:
        asked = await price(there)
        assert there.messages(CUSTOMERS) == []
        (card,) = there.cards()
        await there.seeded(card, 2)
        await there.tap("✅", card, by=BOB)
        assert there.messages(CUSTOMERS) == []
        await there.tap("✅", card)
        await there.gateway.settled()
        (sent,) = there.messages(CUSTOMERS)
        assert sent["content"]["body"].removeprefix("\n") == TEXT
        assert "<em>" not in sent["content"].get("formatted_body", "")
        assert sent["content"]["m.relates_to"]["m.in_reply_to"]["event_id"] == asked
        assert "approved, and done" in there.becomes(card)["body"]


@rule("AUTO-6", "DUR-2")
async def test_a_send_that_broke_off_is_made_again_under_its_transaction_id_and_there_is_one_message(tmp_path):
    async with drafting(tmp_path, says(TEXT)) as there:
        await price(there)
        (card,) = there.cards()
        there.server.drop("send", room=CUSTOMERS, deliver=True)
        await there.tap("✅", card)
        await there.gateway.settled()
        assert len(there.messages(CUSTOMERS)) == 1
        assert "approved, and done" in there.becomes(card)["body"]
