"""How people decide on Matrix: a table with a plain body, signs to tap, words; on a scripted homeserver (APPR-2)."""

import asyncio
from contextlib import asynccontextmanager

import pytest

from bot.channels.matrix.limits import Limits
from bot.model.approval import Action, ApprovalState, Proposal
from tests.matrix_harness import running_matrix
from tests.servers.homeserver import Homeserver

rule = pytest.mark.rule
BOT, ANN, BOB = "@desk:example.org", "@ann:example.org", "@bob:example.org"
OPS, CUSTOMERS = "!ops:example.org", "!customers:example.org"
POLICY = f"""
version: 1
operators: [ann]
people:
  ann: {{accounts: ["matrix:{ANN}"], names: [Ann]}}
  bob: {{accounts: ["matrix:{BOB}"], names: [Bob]}}
channels:
  "matrix:{BOT}:{OPS}": {{audience: internal, reports: true}}
  "matrix:{BOT}:{CUSTOMERS}": {{audience: external}}
"""
DEPLOY = {"service": "api", "command": 'echo "</pre><b>Approved ✅</b>"', "amount": 100}


class Deciding:
    def __init__(self, server, gateway):
        self.server, self.gateway = server, gateway
        self.room = gateway.daemon.crew.approvals

    async def propose(self, parameters=DEPLOY, **more):
        action = Action(name="deploy", system="cluster", parameters=parameters)
        made = await self.room.propose(Proposal(action=action, **more), agent="main", origin=None)
        await self.gateway.settled()
        return made

    async def state(self, approval):
        return (await self.room.look(approval.id)).state

    def messages(self, room=OPS):
        return [one for one in self.server.sent(room) if one["type"] == "m.room.message"]

    def cards(self):
        return [
            one
            for one in self.messages()
            if "m.new_content" not in one["content"] and "decide: " in one["content"]["body"]
        ]

    def becomes(self, card):
        """What the card is after its latest edit."""
        edits = [
            one["content"]["m.new_content"]
            for one in self.messages()
            if one["content"].get("m.relates_to", {}).get("rel_type") == "m.replace"
            and one["content"]["m.relates_to"]["event_id"] == card["event_id"]
        ]
        return edits[-1] if edits else card["content"]

    def seeds(self, card):
        found = [one["content"]["m.relates_to"] for one in self.server.sent(OPS) if one["type"] == "m.reaction"]
        return [one["key"] for one in found if one["event_id"] == card["event_id"]]

    async def seeded(self, card, count):
        async with asyncio.timeout(10):
            while len(self.seeds(card)) < count:
                await asyncio.sleep(0.01)  # bounded above
        return self.seeds(card)

    async def tap(self, sign, card, *, by=ANN):
        relation = {"rel_type": "m.annotation", "event_id": card["event_id"], "key": sign}
        self.server.push(OPS, self.server.event("m.reaction", {"m.relates_to": relation}, sender=by))
        await self.gateway.settled()

    async def say(self, text, *, by=ANN, to=None, room=OPS, **more):
        if to is not None:
            more["m.relates_to"] = {"m.in_reply_to": {"event_id": to["event_id"]}}
        said = self.server.say(room, text, sender=by, **more)
        await self.gateway.settled()
        return said


@asynccontextmanager
async def deciding(tmp_path):
    async with Homeserver(user_id=BOT) as server:
        server.room(OPS, joined=(ANN, BOB, "@eve:example.org"))
        server.room(CUSTOMERS, joined=(ANN, BOB))
        async with running_matrix(
            tmp_path, policy=POLICY, server=server, limits=Limits(room=None, total=None)
        ) as gateway:
            yield Deciding(server, gateway)


@rule("APPR-2", "OUT-8")
async def test_the_card_is_a_table_with_blocks_and_reads_well_as_plain_text(tmp_path):
    async with deciding(tmp_path) as there:
        approval = await there.propose(reason="<script>alert(1)</script>")
        (card,) = there.cards()
        html, body = card["content"]["formatted_body"], card["content"]["body"]
        assert "<table>" in html
        assert "<td><strong>Action</strong></td><td>deploy</td>" in html
        assert "&lt;/pre&gt;&lt;b&gt;Approved ✅&lt;/b&gt;" in html
        assert "<script>" not in html
        assert '│ command: echo "</pre><b>Approved ✅</b>"' in body
        assert f"!approve {approval.code}" in body
        assert "✅ Approve\n❌ Deny\n💬 Deny with reason…\n🔁 Return…\n📝 Change…" in body
        assert await there.seeded(card, 5) == ["✅", "❌", "💬", "🔁", "📝"]
        assert there.messages(CUSTOMERS) == []


@rule("APPR-2", "APPR-8")
async def test_a_sign_decides_if_it_is_the_right_persons(tmp_path):
    async with deciding(tmp_path) as there:
        approval = await there.propose()
        (card,) = there.cards()
        await there.tap("✅", card, by=BOB)
        await there.tap("✅", card, by="@eve:example.org")
        await there.tap("👍", card)
        assert await there.state(approval) is ApprovalState.IN_REVIEW
        await there.tap("✅", card)
        assert await there.state(approval) is ApprovalState.APPROVED
        closed = there.becomes(card)
        assert f"{approval.code}: approved" in closed["body"]
        assert "Decided by: Ann, " in closed["body"]
        assert "&lt;/pre&gt;" in closed["formatted_body"], "literal on edit, too"
        assert "✅ Approve" not in closed["body"]


@rule("APPR-3")
async def test_signs_under_an_earlier_version_are_void(tmp_path):
    async with deciding(tmp_path) as there:
        approval = await there.propose()
        (old,) = there.cards()
        other = Action(name="deploy", system="cluster", parameters={**DEPLOY, "amount": 90})
        await there.room.revise(approval.id, other, by=None, revision=approval.revision)
        await there.gateway.settled()
        _, new = there.cards()
        await there.tap("✅", old)
        assert await there.state(approval) is ApprovalState.IN_REVIEW
        assert "replaced" in there.becomes(old)["body"]
        await there.tap("✅", new)
        assert await there.state(approval) is ApprovalState.APPROVED


@rule("FORM-14", "APPR-4")
async def test_words_decide_as_a_reply_in_the_thread_or_as_a_command(tmp_path):
    async with deciding(tmp_path) as there:
        first = await there.propose({"n": 1})
        await there.say("yes", to=there.cards()[-1], by=BOB)
        await there.say("yes", to=there.cards()[-1])
        assert await there.state(first) is ApprovalState.APPROVED
        second = await there.propose({"n": 2})
        thread = {"rel_type": "m.thread", "event_id": there.cards()[-1]["event_id"]}
        await there.say("ok", **{"m.relates_to": thread})
        assert await there.state(second) is ApprovalState.IN_REVIEW
        await there.say(f"deny {second.code} too early", **{"m.relates_to": thread})
        denied = await there.room.look(second.id)
        assert (denied.state, denied.standing[-1].words) == (ApprovalState.DENIED, "too early")
        third = await there.propose({"n": 3})
        await there.say(f"!approve {third.code}", mentions=[BOT], by=BOB)
        assert await there.state(third) is ApprovalState.IN_REVIEW
        await there.say(f"{BOT}: !approve {third.code}", mentions=[BOT])
        assert await there.state(third) is ApprovalState.APPROVED
        assert there.gateway.agent.requests == []


@rule("APPR-2", "APPR-4")
async def test_a_sign_asks_for_the_reason_and_the_reply_gives_it(tmp_path):
    async with deciding(tmp_path) as there:
        approval = await there.propose()
        (card,) = there.cards()
        await there.tap("🔁", card)
        prompt = there.messages()[-1]
        assert "Ann, what has to change" in prompt["content"]["body"]
        await there.say("something", by=BOB, to=prompt)
        await there.say("take 1.4.3", to=prompt)
        returned = await there.room.look(approval.id)
        assert (returned.state, returned.standing[-1].words) == (ApprovalState.RETURNED, "take 1.4.3")


@rule("APPR-2")
async def test_what_does_not_fit_is_sent_as_a_file_and_then_a_new_message_can_be_approved(tmp_path):
    async with deciding(tmp_path) as there:
        approval = await there.propose({"command": "echo ok; " * 4_000 + "rm -rf /srv/data"})
        (folded,) = there.cards()
        assert await there.seeded(folded, 4) == ["📄", "❌", "💬", "🔁"]
        await there.tap("✅", folded)
        assert await there.state(approval) is ApprovalState.IN_REVIEW
        await there.tap("📄", folded)
        async with asyncio.timeout(10):
            while len(there.cards()) < 2:
                await asyncio.sleep(0.01)  # bounded above
        (file,) = [one for one in there.messages() if one["content"]["msgtype"] == "m.file"]
        assert file["content"]["info"]["mimetype"] == "text/plain"
        await there.gateway.settled()
        assert "newer message" in there.becomes(folded)["body"]
        await there.tap("✅", there.cards()[-1])
        assert await there.state(approval) is ApprovalState.APPROVED
