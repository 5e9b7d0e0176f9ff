"""High assurance on Matrix: the link in the operator's direct chat, and the card's page in the operators' room."""

import re

import pytest

from bot.approvals.addresses import PageAddresses, relying_party
from bot.model.approval import Action, Assurance, Proposal

rule = pytest.mark.rule
ORIGIN = "https://desk.example.org"
TRANSFER = Action(name="transfer", system="bank", parameters={"amount": 1200, "to": "Lindqvist Foods"})
PAGES = PageAddresses(b"k" * 32, relying_party(ORIGIN))


@rule("APPR-9")
async def test_an_operator_gets_the_link_in_their_direct_chat_and_the_card_leads_to_the_page(desk):
    direct = await desk.ann.room(desk.bot, direct=True, encrypted=True)
    theirs = await desk.bob.room(desk.bot, direct=True, encrypted=True)
    inside = await desk.room(desk.ann, desk.bob, policy="{audience: internal, reports: true}")
    async with desk.running(addresses=PAGES) as gateway:
        await desk.ready(direct, desk.ann)
        await desk.ready(theirs, desk.bob)
        assert await desk.reason(gateway, await desk.ann.say(direct, "!passkey")) == "control_command"
        (said,) = await desk.ann.hears(direct, desk.bot)
        assert re.search(rf"{ORIGIN}/k/[\w-]{{43}}", said["content"]["body"])
        await desk.over(gateway, await desk.bob.say(theirs, "!passkey"))
        (said,) = await desk.bob.hears(theirs, desk.bot)
        assert "/k/" not in said["content"]["body"]

        proposal = Proposal(action=TRANSFER, assurance=Assurance.HIGH)
        approval = await gateway.daemon.crew.approvals.propose(proposal, agent="main", origin=None)
        await gateway.settled()
        (card,) = await desk.ann.hears(inside, desk.bot)
        assert PAGES.approval(approval.id, approval.version) in card["content"]["body"]
        assert gateway.agent.requests == []
