"""High assurance on Telegram, on a running gateway: the tap decides nothing, a passkey bound to the version does."""

import asyncio
import json
import re
import sqlite3
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass

import pytest

from bot.approvals.addresses import PageAddresses, relying_party
from bot.cli.passkeys import list_passkeys, verify_proofs
from bot.model.approval import Action, ApprovalState, Assurance, DecidedBy, Gate, Proposal, Verdict
from bot.model.errors import ConfigError, ProposalError
from bot.pages.words import ENGLISH
from bot.ports.approvals import PasskeyWanted
from tests.authenticator import Authenticator, written
from tests.browser.asked_pages import Forms, Kept, forms_served
from tests.harness import ANN, BOB, GROUP, INTERNAL, MALLORY, POLICY, Running, running

rule = pytest.mark.rule
ORIGIN = "https://desk.example.org"
EVE = 503
PEOPLE = POLICY.replace("operators: [ann]", "operators: [ann, eve]").replace(
    "people:\n", f'people:\n  eve: {{accounts: ["telegram:{EVE}"], names: [Eve]}}\n'
)
TRANSFER = Action(name="transfer", system="bank", parameters={"amount": 1200, "to": "Lindqvist Foods"})
OTHER = Action(name="transfer", system="bank", parameters={"amount": 9200, "to": "Lindqvist Foods"})


@dataclass
class Desk:
    gateway: Running
    forms: Forms

    @property
    def room(self):
        return self.gateway.daemon.crew.approvals

    async def says(self, sender, text, *, chat=None):
        """Somebody writes to the bot; returns what stands in the chat then."""
        api = self.gateway.api
        chat = sender if chat is None else chat
        before = len(api.texts(chat))
        api.say(chat=chat, sender=sender, text=text)
        await self.gateway.settled()
        return api.texts(chat)[before:]

    async def posts(self, path, body):
        headers = {"Origin": ORIGIN, "Content-Type": "application/json"}
        async with self.forms.http.post(
            self.forms.url + path, data=json.dumps(body).encode(), headers=headers
        ) as answer:
            return answer.status, await answer.json()

    async def enrols(self, sender=ANN, device=None, *, known=None):
        """An operator asks for the link in their private chat, and adds a passkey; ``known``: one that they have."""
        device = device or Authenticator()
        (said,) = await self.says(sender, "/passkey")
        path = link_in(said)
        assert (await self.forms.get(path))[0] == 200
        _, asked = await self.posts(f"{path}/options", {})
        if known is not None:
            credential = known.get(asked["options"], origin=ORIGIN)
            _, asked = await self.posts(f"{path}/options", {"credential": credential})
        status, answer = await self.posts(path, {"credential": device.create(asked["options"], origin=ORIGIN)})
        assert (status, answer["title"]) == (200, ENGLISH["page.enrolled.title"])
        await self.gateway.settled()
        return device

    async def proposes(self, action=TRANSFER, *, assurance=Assurance.HIGH, **more):
        """An agent asks for high assurance; returns the approval and the card's buttons by their labels."""
        proposal = Proposal(action=action, reason="The invoice is due.", assurance=assurance, **more)
        approval = await self.room.propose(proposal, agent="main", origin=None)
        return approval, await self.buttons()

    async def buttons(self):
        await self.gateway.settled()
        card = self.gateway.api.sent(INTERNAL)[-1]
        return {one["text"]: one for row in card["reply_markup"]["inline_keyboard"] for one in row}

    async def approves(self, path, device, *, words=""):
        status, asked = await self.posts(f"{path}/options", {"words": words})
        if status != 200:
            return status, asked
        return await self.posts(path, {"credential": device.get(asked["options"], origin=ORIGIN)})

    async def state(self, approval):
        return (await self.room.look(approval.id)).state


def link_in(text):
    found = re.search(rf"{ORIGIN}(/[ak]/[\w.-]+)", text)
    assert found, text
    return found[1]


def page_of(buttons):
    (url,) = [one["url"] for one in buttons.values() if "url" in one]
    return link_in(url)


@asynccontextmanager
async def opened(tmp_path, api, *, policy=PEOPLE):
    addresses = PageAddresses(b"k" * 32, relying_party(ORIGIN))
    async with running(tmp_path, api=api, policy=policy, addresses=addresses) as gateway:
        crew = gateway.daemon.crew
        async with forms_served(kept=Kept(now=crew.clock()), public_url=ORIGIN, passkeys=crew.passkeys) as forms:
            yield Desk(gateway=gateway, forms=forms)


@pytest.fixture
async def desk(tmp_path, api):
    async with opened(tmp_path, api) as one:
        yield one


@rule("APPR-9")
async def test_the_tap_opens_a_page_and_the_passkey_approves_what_it_shows(desk, tmp_path):
    device = await desk.enrols()
    approval, buttons = await desk.proposes()
    assert all("callback_data" not in one for label, one in buttons.items() if "url" in one)
    path = page_of(buttons)
    status, page, _ = await desk.forms.get(path)
    assert status == 200
    assert "Lindqvist Foods" in page
    assert approval.version in page
    assert await desk.state(approval) is ApprovalState.IN_REVIEW, "looking decides nothing"
    status, answer = await desk.approves(path, device)
    assert (status, answer["title"]) == (200, ENGLISH["page.approved.title"])
    decided = await desk.room.look(approval.id)
    assert decided.state is ApprovalState.APPROVED
    (decision,) = decided.decisions
    assert (decision.way, decision.person, decision.version) == (DecidedBy.PASSKEY, "ann", approval.version)
    claimed = await desk.room.claim(approval.id, version=approval.version, key="c1", target_present=None)
    assert claimed.state is ApprovalState.CLAIMED
    await desk.gateway.settled()
    card = desk.gateway.api.sent(INTERNAL)[-1]
    assert "url" not in json.dumps(card.get("reply_markup", {}))
    assert (await desk.forms.get(path))[0] == 410
    (tmp_path / "config.yaml").write_text(CONFIG)
    (tmp_path / "config.yaml").chmod(0o600)
    assert await asyncio.to_thread(verify_proofs, tmp_path / "config.yaml", approval.id) == 0
    assert await asyncio.to_thread(verify_proofs, tmp_path / "config.yaml", None) == 0
    await asyncio.to_thread(list_passkeys, tmp_path / "config.yaml", as_json=True)


@rule("APPR-9")
async def test_a_proof_that_was_changed_in_the_store_is_found(tmp_path, api, capsys):
    async with opened(tmp_path, api) as desk:
        device = await desk.enrols()
        approval, buttons = await desk.proposes()
        assert (await desk.approves(page_of(buttons), device))[0] == 200
    config = tmp_path / "config.yaml"
    config.write_text(CONFIG)
    config.chmod(0o600)

    async def verified(changed):
        with closing(sqlite3.connect(tmp_path / "discreet.db")) as store:
            store.execute(f"UPDATE {changed}")
            store.commit()
        code = await asyncio.to_thread(verify_proofs, config, approval.id)
        return code, capsys.readouterr().out

    assert (await verified("passkeys SET label = 'x'"))[0] == 0
    code, said = await verified("approval_decisions SET proof = NULL, way = 'tap'")
    assert (code, said.startswith("fail"), "without a passkey" in said) == (1, True, True)
    code, said = await verified("approval_decisions SET proof = '{}', way = 'passkey'")
    assert (code, "what is stored is no proof" in said) == (1, True)
    with pytest.raises(ConfigError, match="no approval"):
        await asyncio.to_thread(verify_proofs, config, "nothing")


TAMPERED = {
    "the proof is taken out and a tap put in its place": (
        ["UPDATE approval_decisions SET proof = NULL, way = 'tap'"],
        "without a passkey",
    ),
    "the words are erased, too, as the retention does": (
        ["UPDATE approval_decisions SET proof = NULL, way = 'tap'", "UPDATE approvals SET document = NULL"],
        "without a passkey",
    ),
    "it is to have been the policy": (
        ["UPDATE approval_decisions SET proof = NULL, way = 'policy', person = '', account = NULL"],
        "does not have any more",
    ),
    "the decision is gone": (["DELETE FROM approval_decisions"], "does not have any more"),
    "it is to have been a denial": (
        ["UPDATE approval_decisions SET verdict = 'deny', way = 'tap', proof = NULL"],
        "does not have any more",
    ),
    "another key stands with the passkey": (
        ["UPDATE passkeys SET public_key = x'01'", "UPDATE approval_decisions SET words = NULL"],
        "the journal knows no such key",
    ),
    "the journal forgets it": (
        ["DROP TRIGGER journal_loses_no_record", "DELETE FROM journal WHERE kind = 'approval'"],
        "journal: broken",
    ),
}


@rule("APPR-9", "DUR-4")
@pytest.mark.parametrize("tampered", TAMPERED, ids=lambda name: name.replace(" ", "-"))
async def test_what_the_policy_alone_wanted_a_passkey_for_is_found_when_its_proof_is_gone(
    tmp_path, api, capsys, tampered
):
    policy = f"{PEOPLE}\napprovals:\n  rules:\n    - {{name: money, tools: [transfer], then: ask, assurance: high}}\n"
    async with opened(tmp_path, api, policy=policy) as desk:
        device = await desk.enrols()
        approval, buttons = await desk.proposes(assurance=Assurance.NORMAL)
        assert (await desk.approves(page_of(buttons), device))[0] == 200
        other, buttons = await desk.proposes(action=OTHER, assurance=Assurance.NORMAL)
        assert (await desk.approves(page_of(buttons), device))[0] == 200
    config = tmp_path / "config.yaml"
    config.write_text(CONFIG)
    config.chmod(0o600)
    assert await asyncio.to_thread(verify_proofs, config, None) == 0
    capsys.readouterr()
    statements, sentence = TAMPERED[tampered]
    with closing(sqlite3.connect(tmp_path / "discreet.db")) as store:
        for statement in statements:
            store.execute(statement)
        store.commit()
    for asked in (None, approval.id, other.id):
        assert await asyncio.to_thread(verify_proofs, config, asked) == 1
        said = capsys.readouterr()
        assert sentence in said.out + said.err


FORGED = {
    "a tap": "'tap', 'ann', 'telegram:501'",
    "a passkey": "'passkey', 'ann', 'telegram:501'",
    "the policy": "'policy', '', NULL",
    "the time": "'time', '', NULL",
}


@rule("APPR-9", "DUR-4")
@pytest.mark.parametrize("way", FORGED)
@pytest.mark.parametrize(
    "rules", ["", "approvals: {rules: [{name: m, tools: [transfer], then: ask, assurance: high}]}"]
)
async def test_an_approval_that_nobody_has_given_is_found(tmp_path, api, capsys, way, rules):
    async with opened(tmp_path, api, policy=f"{PEOPLE}\n{rules}\n") as desk:
        approval, _ = await desk.proposes(assurance=Assurance.NORMAL)
    config = tmp_path / "config.yaml"
    config.write_text(CONFIG)
    config.chmod(0o600)
    assert await asyncio.to_thread(verify_proofs, config, None) == 0
    capsys.readouterr()
    with closing(sqlite3.connect(tmp_path / "discreet.db")) as store:
        store.execute("UPDATE approvals SET state = 'approved'")
        store.execute(
            "INSERT INTO approval_decisions (approval_id, version, verdict, at, words, way, person, account)"
            f" SELECT id, version, 'approve', proposed_at, '', {FORGED[way]} FROM approvals"
        )
        store.commit()
    for asked in (None, approval.id):
        assert await asyncio.to_thread(verify_proofs, config, asked) == 1
        assert "nobody has given it" in capsys.readouterr().out


@rule("APPR-9")
async def test_an_approval_by_tap_needs_no_proof(desk, tmp_path, capsys):
    approval, _ = await desk.proposes(assurance=Assurance.NORMAL)
    by = {"by": f"telegram:{ANN}", "way": DecidedBy.TAP, "at": None}
    await desk.room.decide(approval.id, approval.version, Verdict.APPROVE, **by)
    (tmp_path / "config.yaml").write_text(CONFIG)
    (tmp_path / "config.yaml").chmod(0o600)
    assert await asyncio.to_thread(verify_proofs, tmp_path / "config.yaml", None) == 0
    assert "There is no approval by passkey" in capsys.readouterr().out


CONFIG = """
data_dir: .
agents:
  main: {kind: echo}
chat: {enabled: true, rooms: {desk: {title: Desk, members: [ann]}}}
"""


@rule("APPR-9", "APPR-3")
async def test_a_version_that_changed_between_opening_and_approving_is_not_approved(desk):
    device = await desk.enrols()
    approval, buttons = await desk.proposes()
    path = page_of(buttons)
    _, asked = await desk.posts(f"{path}/options", {"words": ""})
    await desk.room.revise(approval.id, OTHER, by=None, revision=approval.revision)
    status, answer = await desk.posts(path, {"credential": device.get(asked["options"], origin=ORIGIN)})
    assert (status, answer["title"]) == (409, ENGLISH["page.stale.title"])
    changed = await desk.room.look(approval.id)
    assert (changed.state, changed.decisions) == (ApprovalState.IN_REVIEW, ())
    assert (await desk.forms.get(path))[0] == 409
    new = page_of(await desk.buttons())
    assert new != path
    assert (await desk.approves(new, device))[0] == 200
    with pytest.raises(ProposalError):
        await desk.room.claim(approval.id, version=approval.version, key="c1", target_present=None)


@rule("APPR-9")
async def test_no_other_way_approves_what_wants_a_passkey(desk):
    await desk.enrols()
    approval, _ = await desk.proposes()
    outcome = await desk.room.decide(
        approval.id, approval.version, Verdict.APPROVE, by=f"telegram:{ANN}", way=DecidedBy.TAP, at=None
    )
    assert isinstance(outcome, PasskeyWanted)
    assert await desk.state(approval) is ApprovalState.IN_REVIEW
    outcome = await desk.room.decide(
        approval.id, approval.version, Verdict.DENY, by=f"telegram:{ANN}", way=DecidedBy.TAP, at=None
    )
    assert await desk.state(approval) is ApprovalState.DENIED, "who denies needs no passkey"


@rule("APPR-9", "APPR-5")
async def test_a_revoked_passkey_takes_with_it_what_it_approved_and_nobody_has_used(desk):
    lost = await desk.enrols()
    approval, buttons = await desk.proposes()
    assert (await desk.approves(page_of(buttons), lost))[0] == 200
    assert await desk.gateway.daemon.crew.passkeys.revoke(written(lost.id))
    with pytest.raises(ProposalError) as refused:
        await desk.room.claim(approval.id, version=approval.version, key="c1", target_present=None)
    assert refused.value.code == "not_approved"
    assert await desk.state(approval) is not ApprovalState.CLAIMED


@rule("APPR-9", "APPR-8")
async def test_a_passkey_of_an_operator_who_may_not_decide_decides_nothing(tmp_path, api):
    policy = f"{PEOPLE}\napprovals:\n  rules:\n    - {{name: money, tools: [transfer], then: ask, assurance: high, who: {{people: [ann]}}}}\n"
    async with opened(tmp_path, api, policy=policy) as desk:
        await desk.enrols(ANN)
        eve = await desk.enrols(EVE)
        approval, buttons = await desk.proposes(assurance=Assurance.NORMAL)  # the policy asks for it
        status, answer = await desk.approves(page_of(buttons), eve)
        assert (status, answer["title"]) == (403, ENGLISH["page.not_entitled.title"])
        assert await desk.state(approval) is ApprovalState.IN_REVIEW


@rule("APPR-9", "APPR-8")
async def test_two_have_to_agree_each_with_a_passkey_of_their_own(tmp_path, api):
    policy = f"{PEOPLE}\napprovals:\n  rules:\n    - {{name: money, tools: [transfer], then: ask, assurance: high, quorum: 2}}\n"
    async with opened(tmp_path, api, policy=policy) as desk:
        ann, eve = await desk.enrols(ANN), await desk.enrols(EVE)
        approval, buttons = await desk.proposes()
        path = page_of(buttons)
        status, answer = await desk.approves(path, ann)
        assert (status, answer["title"]) == (200, ENGLISH["page.counted.title"])
        assert await desk.state(approval) is ApprovalState.IN_REVIEW
        status, answer = await desk.approves(path, ann)
        assert status == 403
        status, answer = await desk.approves(path, eve)
        assert (status, answer["title"]) == (200, ENGLISH["page.approved.title"])
        assert await desk.state(approval) is ApprovalState.APPROVED


@rule("APPR-9", "APPR-7")
async def test_a_gate_that_is_not_passed_wants_a_justification_on_the_page(desk):
    device = await desk.enrols()
    approval, buttons = await desk.proposes(gates=(Gate(name="evaluation", passed=False, detail="not ready"),))
    path = page_of(buttons)
    assert (await desk.approves(path, device))[0] == 422
    assert await desk.state(approval) is ApprovalState.IN_REVIEW
    assert (await desk.approves(path, device, words="Tested by hand."))[0] == 200
    (decision,) = (await desk.room.look(approval.id)).decisions
    assert decision.words == "Tested by hand."


@rule("APPR-9")
async def test_the_link_for_a_passkey_is_given_to_operators_in_their_own_private_chat_alone(desk):
    assert not any("/k/" in text for text in await desk.says(BOB, "/passkey"))
    assert not any("/k/" in text for text in await desk.says(MALLORY, "/passkey"))
    for chat in (GROUP, INTERNAL):
        said = await desk.says(ANN, "/passkey@desk_bot", chat=chat)
        assert said == ["That command does not work here."]
    (said,) = await desk.says(ANN, "/passkey")
    assert "15 minutes" in said
    assert link_in(said).startswith("/k/")
    assert desk.gateway.agent.requests == []


@rule("APPR-9")
async def test_whoever_takes_over_the_chat_account_of_an_operator_with_a_passkey_adds_none(desk):
    await desk.enrols()
    (said,) = await desk.says(ANN, "/passkey")  # the thief
    path, thief = link_in(said), Authenticator()
    status, page, _ = await desk.forms.get(path)
    assert (status, "a passkey that you have already" in page) == (200, True)
    status, asked = await desk.posts(f"{path}/options", {})
    assert (status, "user" in asked["options"]) == (200, False)
    for credential in (thief.get(asked["options"], origin=ORIGIN), None, {}, [], "x"):
        _, answer = await desk.posts(f"{path}/options", {"credential": credential})
        assert "user" not in answer.get("options", {})
    made = {**asked["options"], "user": {"id": written(b"ann")}, "rp": {"id": asked["options"]["rpId"]}}
    status, answer = await desk.posts(path, {"credential": thief.create(made, origin=ORIGIN)})
    assert status == 409
    assert len(await desk.gateway.daemon.crew.passkeys._store.of("ann")) == 1


@rule("APPR-9")
async def test_a_chat_account_that_was_stolen_with_the_device_brings_no_passkey_in_once_that_one_was_revoked(desk):
    await desk.enrols()
    passkeys = desk.gateway.daemon.crew.passkeys
    (known,) = await passkeys._store.of("ann")
    assert await passkeys.revoke(known.id)
    (said,) = await desk.says(ANN, "/passkey")
    assert "discreet passkeys invite" in said
    assert ORIGIN not in said


@rule("APPR-9")
async def test_operators_are_told_of_each_new_passkey(desk):
    first = await desk.enrols()
    await desk.enrols(known=first)
    told = [text for text in desk.gateway.api.texts(INTERNAL) if "A passkey was added" in text]
    assert [re.search(r"now: (\d)", text)[1] for text in told] == ["1", "2"]


async def test_without_pages_an_operator_is_told_so_and_nothing_can_be_approved(tmp_path, api):
    async with running(tmp_path, api=api, policy=PEOPLE) as gateway:
        desk = Desk(gateway=gateway, forms=None)
        (said,) = await desk.says(ANN, "/passkey")
        assert said.startswith("Passkeys need the pages of this gateway")
        _, buttons = await desk.proposes()
        assert not any("url" in one for one in buttons.values())
        assert not any("pprove" in label for label in buttons)
