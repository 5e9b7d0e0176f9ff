"""Passkeys: what they prove, and what proves nothing (APPR-9). The signatures are real, the authenticator is software."""

import json
from dataclasses import replace
from datetime import timedelta

import pytest

from bot.approvals.addresses import PageAddresses, relying_party
from bot.approvals.challenges import CHALLENGE_LASTS
from bot.approvals.passkeys import INVITE_LASTS, NoLink, Refusal, Signed, short
from bot.approvals.proofs import CeremonyError, decoded, encoded, read_proof
from bot.approvals.verifying import faults
from bot.model.approval import Action, ApprovalState, DecidedBy
from bot.model.errors import ConfigError
from bot.ports.approvals import Already, Decided, NotEntitled, Stale
from tests.authenticator import Authenticator
from tests.passkeys import BASE, KEY, NOW, ORIGIN, approval, bench, gated

OTHER = Action(name="transfer", system="bank", parameters={"amount": 9200.5, "to": "Lindqvist Foods"})


@pytest.fixture
async def desk(tmp_path):
    async with bench(tmp_path) as opened:
        yield opened


@pytest.fixture
async def device(desk):
    return await desk.enrolled(Authenticator())


async def approve(desk, device, one, *, words="", options=None, **more):
    options = options or await desk.asked(one, words=words)
    return await desk.passkeys.approve(desk.token(one), device.get(options, **{"origin": ORIGIN, **more}))


async def keys(desk):
    return {passkey.id: passkey for passkey in await desk.store.passkeys.all()}


# approving


async def test_what_a_passkey_signs_approves_exactly_the_version_that_was_shown(desk, device):
    one = desk.room.put(approval())
    came = await approve(desk, device, one)
    assert isinstance(came, Signed)
    assert isinstance(came.outcome, Decided)
    (decision,) = desk.room.approvals["ap1"].decisions
    assert (decision.version, decision.person, decision.account) == (one.version, "ann", "telegram:501")
    assert (decision.way, desk.room.decisions[0]["at"]) == (DecidedBy.PASSKEY, None)
    assert faults("ap1", decision, await keys(desk)) == ()


async def test_a_proof_carries_all_that_is_needed_to_look_at_it_again(desk, device):
    await approve(desk, device, desk.room.put(gated()), words=" It was tested by hand. ")
    (decision,) = desk.room.approvals["ap1"].decisions
    assert decision.words == "It was tested by hand."
    proof = json.loads(decision.proof)
    assert proof["party"] == "desk.example.org"
    assert proof["origin"] == ORIGIN
    assert proof["challenge"]["version"] == decision.version
    assert read_proof(decision.proof).written() == decision.proof
    assert faults("ap1", decision, await keys(desk)) == ()
    assert faults("ap1", replace(decision, words=""), await keys(desk)) == (), "words have a retention"


async def test_a_change_between_asking_and_signing_makes_the_signature_stale(desk, device):
    one = desk.room.put(approval())
    options = await desk.asked(one)
    desk.room.revise(OTHER)
    came = await approve(desk, device, one, options=options)
    assert isinstance(came, Signed)
    assert isinstance(came.outcome, Stale)
    assert desk.room.approvals["ap1"].state is ApprovalState.IN_REVIEW


async def test_what_was_signed_for_one_version_is_nothing_on_the_page_of_another(desk, device):
    one = desk.room.put(approval())
    options = await desk.asked(one)
    other = desk.room.revise(OTHER)
    credential = device.get(options, origin=ORIGIN)
    assert await desk.passkeys.approve(desk.token(other), credential) is Refusal.UNKNOWN
    assert desk.room.decisions == []


@pytest.mark.parametrize(
    "wrong",
    [
        {"origin": "https://evil.example.org"},
        {"origin": "http://desk.example.org"},
        {"origin": f"{ORIGIN}:8443"},
        {"party": "evil.example.org"},
        {"type": "webauthn.create"},
        {"crossOrigin": True},
        {"topOrigin": "https://evil.example.org"},
    ],
)
async def test_what_was_signed_elsewhere_or_for_something_else_proves_nothing(desk, device, wrong):
    one = desk.room.put(approval())
    assert await approve(desk, device, one, **wrong) is Refusal.REFUSED
    assert desk.room.decisions == []


async def test_a_challenge_that_was_not_asked_for_proves_nothing(desk, device):
    one = desk.room.put(approval())
    options = {**await desk.asked(one), "challenge": encoded(b"x" * 32)}
    assert await approve(desk, device, one, options=options) is Refusal.LATE
    assert desk.room.decisions == []


async def test_an_assertion_is_taken_once(desk, device):
    one = desk.room.put(approval())
    credential = device.get(await desk.asked(one), origin=ORIGIN)
    assert isinstance(await desk.passkeys.approve(desk.token(one), credential), Signed)
    desk.room.put(approval())
    assert await desk.passkeys.approve(desk.token(one), credential) is Refusal.LATE
    assert len(desk.room.decisions) == 1


async def test_a_challenge_ends_by_itself(desk, device):
    one = desk.room.put(approval())
    options = await desk.asked(one)
    desk.room.now += CHALLENGE_LASTS
    assert await approve(desk, device, one, options=options) is Refusal.LATE


async def test_a_wrong_try_uses_its_challenge_up(desk, device):
    one = desk.room.put(approval())
    options = await desk.asked(one)
    assert await approve(desk, device, one, options=options, origin="https://evil.example.org") is Refusal.REFUSED
    assert await approve(desk, device, one, options=options) is Refusal.LATE


async def test_the_person_has_to_be_verified_not_only_there(desk, device):
    device.verifies = False
    assert await approve(desk, device, desk.room.put(approval())) is Refusal.REFUSED


async def test_a_counter_that_does_not_rise_is_refused_and_told(desk, device):
    one = desk.room.put(approval())
    await approve(desk, device, one)
    desk.room.put(approval())
    device.count = 0  # a copy that was made before
    assert await approve(desk, device, one) is Refusal.COPIED
    assert len(desk.room.decisions) == 1
    assert desk.told[-1] == ("passkey_doubted", {"person": "ann", "passkey": short(encoded(device.id))})


async def test_an_authenticator_that_counts_nothing_is_no_copy(desk):
    device = await desk.enrolled(Authenticator(counts=False))
    one = desk.room.put(approval())
    for _ in range(2):
        desk.room.put(approval())
        assert isinstance(await approve(desk, device, one), Signed)


async def test_a_revoked_passkey_approves_nothing_and_what_it_approved_before_stays_proven(desk, device):
    one = desk.room.put(approval())
    options = await desk.asked(one)
    await approve(desk, device, one)
    (decision,) = desk.room.approvals["ap1"].decisions
    desk.room.put(approval())
    later = await desk.asked(one)
    desk.room.now += timedelta(minutes=1)
    assert await desk.passkeys.revoke(encoded(device.id))
    assert not await desk.passkeys.revoke(encoded(device.id))
    assert await approve(desk, device, one, options=later) is Refusal.REFUSED
    assert await desk.passkeys.request(desk.token(one), words="") is Refusal.NOBODY
    assert faults("ap1", decision, await keys(desk)) == ()
    assert faults("ap1", replace(decision, at=desk.room.now + timedelta(minutes=1)), await keys(desk)) == (
        "not_valid_then",
    )
    assert options != later


async def test_a_key_of_somebody_else_signs_nothing(desk, device):
    one = desk.room.put(approval())
    stranger = Authenticator(id=device.id)  # says that it is Ann's
    assert await approve(desk, stranger, one) is Refusal.REFUSED
    assert await approve(desk, Authenticator(), one) is Refusal.REFUSED, "never enrolled"
    assert desk.room.decisions == []


async def test_a_passkey_that_says_it_is_somebody_elses_is_refused(desk, device):
    device.handle = b"somebody else"
    assert await approve(desk, device, desk.room.put(approval())) is Refusal.REFUSED


async def test_an_operator_who_may_not_decide_this_does_not_by_a_passkey_either(desk, device):
    eve = await desk.enrolled(Authenticator(), "eve")
    one = desk.room.put(approval())
    options = await desk.asked(one)
    assert [allowed["id"] for allowed in options["allowCredentials"]] == [encoded(device.id)]
    came = await approve(desk, eve, one, options=options)
    assert isinstance(came, Signed)
    assert came.outcome == NotEntitled(why="not_named")
    assert desk.room.approvals["ap1"].decisions == ()


async def test_nobody_is_asked_for_a_passkey_that_nobody_has(desk):
    one = desk.room.put(approval())
    assert not await desk.passkeys.anybody(one)
    assert await desk.passkeys.request(desk.token(one), words="") is Refusal.NOBODY


async def test_a_gate_that_is_not_passed_wants_words_before_the_passkey(desk, device):
    one = desk.room.put(gated())
    assert await desk.passkeys.request(desk.token(one), words="  ") is Refusal.WORDS
    assert await desk.passkeys.request(desk.token(one), words="x" * 3_000) is Refusal.WORDS
    assert isinstance(await approve(desk, device, one, words="It is."), Signed)


async def test_what_is_decided_meanwhile_is_told_so(desk, device):
    one = desk.room.put(approval())
    options = await desk.asked(one)
    desk.room.put(approval(state=ApprovalState.DENIED))
    came = await approve(desk, device, one, options=options)
    assert isinstance(came, Signed)
    assert isinstance(came.outcome, Already)
    assert await desk.passkeys.request(desk.token(one), words="") is Refusal.DECIDED


async def test_what_has_expired_is_shown_no_more_also_before_anybody_has_noted_it(desk, device):
    one = desk.room.put(approval())
    desk.room.now = one.expires_at
    assert await desk.passkeys.shown(desk.token(one)) is Refusal.DECIDED


async def test_an_address_holds_for_the_whole_version_and_not_for_its_first_digits(desk, device):
    """An agent can make two versions whose first digits are the same; the page shows one, and could sign the other."""
    one = desk.room.put(approval())
    token = desk.token(one)
    twin = one.version[:32] + OTHER.version[32:]
    desk.room.put(replace(one, version=twin))
    assert await desk.passkeys.shown(token) is Refusal.STALE
    assert await desk.passkeys.request(token, words="") is Refusal.STALE


async def test_a_page_is_had_by_its_address_alone(desk):
    one = desk.room.put(approval())
    token = desk.token(one)
    assert await desk.passkeys.shown(token) is one
    for wrong in (token[:-1] + "!", token.replace("ap1", "ap2"), "ap1", "", "a.b.c", f"{token}.x", "ü.ü.ü"):
        assert await desk.passkeys.shown(wrong) is Refusal.UNKNOWN
    old = token
    desk.room.revise(OTHER)
    assert await desk.passkeys.shown(old) is Refusal.STALE
    assert await desk.passkeys.request(old, words="") is Refusal.STALE


@pytest.mark.parametrize(
    "sent",
    [
        {},
        {"response": None},
        {"response": {"clientDataJSON": 5}},
        {"response": {"clientDataJSON": ""}},
        {"response": {"clientDataJSON": encoded(b"[]")}},
        {"response": {"clientDataJSON": encoded(b"{")}},
        {"response": {"clientDataJSON": encoded(b'{"challenge": 5}')}},
        {"id": 5, "response": {"clientDataJSON": encoded(b'{"challenge": "AAAA"}')}},
    ],
)
async def test_nonsense_is_late_and_no_fault(desk, device, sent):
    token = desk.token(desk.room.put(approval()))
    assert await desk.passkeys.approve(token, sent) is Refusal.LATE
    assert await desk.passkeys.enrol(token, sent, label="") is Refusal.LATE


async def test_damaged_pieces_of_an_assertion_are_refused(desk, device):
    one = desk.room.put(approval())
    for name in ("authenticatorData", "signature", "clientDataJSON", "userHandle"):
        for value in ("", "AAAA", "%%%", None, 5):
            credential = device.get(await desk.asked(one), origin=ORIGIN)
            if name == "userHandle" and not value:
                continue
            credential["response"][name] = value
            assert await desk.passkeys.approve(desk.token(one), credential) in (Refusal.REFUSED, Refusal.LATE)
    assert desk.room.decisions == []


# looking again


async def test_each_kind_of_fault_in_a_stored_proof_is_found(desk, device):
    await approve(desk, device, desk.room.put(gated()), words="It is.")
    (decision,) = desk.room.approvals["ap1"].decisions
    known = await keys(desk)
    (passkey,) = known.values()
    proof = json.loads(decision.proof)

    def found(changed=None, *, stored=known, approval_id="ap1", **facts):
        written = decision.proof if changed is None else json.dumps(changed).encode()
        return faults(approval_id, replace(decision, proof=written, **facts), stored)

    assert found() == ()
    assert found(approval_id="ap2") == ("other_approval",)
    assert found(version=OTHER.version) == ("other_version",)
    assert found(words="It is not.") == ("other_words",)
    assert found(stored={}) == ("unknown_passkey",)
    assert found(stored={passkey.id: replace(passkey, person="eve")}) == ("other_person",)
    assert found(stored={passkey.id: replace(passkey, public_key=Authenticator().public_key)}) == ("other_key",)
    assert found(at=NOW - timedelta(days=1)) == ("not_valid_then",)
    assert found(way=DecidedBy.TAP) == ("no_proof",)
    assert faults("ap1", replace(decision, proof=None), known) == ("no_proof",)
    forged = {**proof, "public_key": encoded(Authenticator().public_key)}
    assert found(forged) == ("other_key", "signature")
    assert found({**proof, "challenge": {**proof["challenge"], "version": OTHER.version}}, version=OTHER.version) == (
        "signature",
    )
    assert found({**proof, "origin": "https://evil.example.org"}) == ("signature",)
    assert found({**proof, "party": "evil.example.org"}) == ("signature",)
    assert found({**proof, "signature": encoded(decoded(proof["signature"])[:-1] + b"\0")}) == ("signature",)
    for nonsense in ({}, [], {**proof, "form": 2}, {**proof, "credential": 5}, {**proof, "signature": "%"}):
        assert found(nonsense) == ("unreadable",)
    with pytest.raises(CeremonyError):
        read_proof(b"\xff")


# coming in


async def test_an_invite_is_for_one_passkey_of_one_operator(desk):
    token = await desk.invited()
    invited = await desk.passkeys.invited(token)
    assert (invited.person, invited.name, invited.known) == ("ann", "Ann Example", 0)
    options = await desk.passkeys.creation(token)
    again = await desk.passkeys.creation(token)
    assert options["rp"] == {"id": "desk.example.org", "name": "Discreet"}
    assert options["authenticatorSelection"]["userVerification"] == "required"
    first = Authenticator()
    assert await desk.passkeys.enrol(token, first.create(options, origin=ORIGIN), label="  Work\n phone " * 9) is None
    assert await desk.passkeys.enrol(token, Authenticator().create(again, origin=ORIGIN), label="") is Refusal.GONE
    assert await desk.passkeys.invited(token) is None
    assert await desk.passkeys.creation(token) is Refusal.GONE
    (passkey,) = await desk.store.passkeys.of("ann")
    assert passkey.label.startswith("Work phone Work phone")
    assert len(passkey.label) == 40
    assert passkey.public_key == first.public_key


async def test_an_invite_ends_after_a_quarter_of_an_hour_and_with_the_next_one(desk):
    first = await desk.invited()
    second = await desk.invited()
    assert await desk.passkeys.invited(first) is None
    desk.room.now += INVITE_LASTS - timedelta(seconds=1)
    assert await desk.passkeys.invited(second) is not None
    options = await desk.passkeys.creation(second)
    desk.room.now += timedelta(seconds=1)
    assert await desk.passkeys.invited(second) is None
    created = Authenticator().create(options, origin=ORIGIN)
    assert await desk.passkeys.enrol(second, created, label="") is Refusal.GONE
    assert await desk.store.passkeys.all() == []


async def test_the_store_knows_no_token_of_an_invite(desk, tmp_path):
    token = await desk.invited()
    await desk.store.close()
    assert token.encode() not in b"".join(path.read_bytes() for path in tmp_path.glob("discreet.db*"))


async def test_a_further_passkey_is_told_and_its_device_does_not_make_a_second_one(desk, device):
    assert desk.told == [("passkey_added", {"person": "ann", "passkey": short(encoded(device.id)), "count": 1})]
    token = await desk.invited()
    options = await desk.passkeys.creation(token)
    assert [known["id"] for known in options["excludeCredentials"]] == [encoded(device.id)]
    assert await desk.passkeys.enrol(token, device.create(options, origin=ORIGIN), label="") is Refusal.REFUSED
    await desk.enrolled(Authenticator())
    assert desk.told[-1][1]["count"] == 2


async def test_who_has_taken_over_a_chat_account_adds_no_passkey_to_the_one_that_is_there(desk, device):
    eve = await desk.enrolled(Authenticator(), "eve")
    thief = Authenticator()
    token = (await desk.passkeys.link_for("telegram:501")).rpartition("/")[2]
    assert (await desk.passkeys.invited(token)).first
    for other in (thief, Authenticator(id=device.id, handle=device.handle), eve):
        asked = await desk.passkeys.creation(token)
        assert "user" not in asked, "it is not asked for a new one"
        assert [one["id"] for one in asked["allowCredentials"]] == [encoded(device.id)]
        assert await desk.passkeys.creation(token, other.get(asked, origin=ORIGIN)) is Refusal.REFUSED
    asked = await desk.passkeys.creation(token)
    signed = device.get(asked, origin=ORIGIN)
    theirs = (await desk.passkeys.link_for("telegram:503")).rpartition("/")[2]
    assert await desk.passkeys.creation(theirs, signed) is Refusal.LATE, "another link"
    assert await desk.passkeys.creation(token, signed) is Refusal.LATE, "a challenge is taken once"
    made = {"challenge": asked["challenge"], "user": {"id": encoded(b"x")}, "rp": {"id": "desk.example.org"}}
    assert await desk.passkeys.enrol(token, thief.create(made, origin=ORIGIN), label="") is Refusal.LATE
    one = desk.room.put(approval())
    asked = await desk.passkeys.creation(token)
    assert await desk.passkeys.approve(desk.token(one), device.get(asked, origin=ORIGIN)) is Refusal.LATE
    assert len(await desk.store.passkeys.all()) == 2


async def test_what_was_signed_to_approve_adds_no_passkey(desk, device):
    token = (await desk.passkeys.link_for("telegram:501")).rpartition("/")[2]
    signed = device.get(await desk.asked(desk.room.put(approval())), origin=ORIGIN)
    assert await desk.passkeys.creation(token, signed) is Refusal.LATE


async def test_a_further_passkey_comes_in_by_one_that_is_there_or_by_the_admin(desk, device):
    token = (await desk.passkeys.link_for("telegram:501")).rpartition("/")[2]
    asked = await desk.passkeys.creation(token)
    options = await desk.passkeys.creation(token, device.get(asked, origin=ORIGIN))
    assert await desk.passkeys.enrol(token, Authenticator().create(options, origin=ORIGIN), label="") is None
    await desk.enrolled(Authenticator())  # the admin's link
    assert len(await desk.store.passkeys.of("ann")) == 3


async def test_where_the_last_passkey_was_revoked_the_admin_alone_lets_another_one_in(desk, device):
    before = (await desk.passkeys.link_for("telegram:501")).rpartition("/")[2]
    asked = await desk.passkeys.creation(before)
    options = await desk.passkeys.creation(before, device.get(asked, origin=ORIGIN))
    (known,) = await desk.store.passkeys.of("ann")
    assert await desk.passkeys.revoke(known.id)
    assert await desk.passkeys.link_for("telegram:501") is NoLink.REVOKED
    assert await desk.passkeys.invited(before) is None
    created = Authenticator().create(options, origin=ORIGIN)
    assert await desk.passkeys.enrol(before, created, label="") is Refusal.GONE
    await desk.enrolled(Authenticator())  # the admin's link
    assert len(await desk.store.passkeys.of("ann")) == 1


async def test_a_copy_that_is_used_for_another_passkey_is_told(desk, device):
    token = (await desk.passkeys.link_for("telegram:501")).rpartition("/")[2]
    await approve(desk, device, desk.room.put(approval()))
    device.count = 0
    asked = await desk.passkeys.creation(token)
    assert await desk.passkeys.creation(token, device.get(asked, origin=ORIGIN)) is Refusal.COPIED
    assert desk.told[-1][0] == "passkey_doubted"


async def test_a_passkey_of_one_person_can_not_become_anothers(desk, device):
    token = await desk.invited("eve")
    options = await desk.passkeys.creation(token)
    assert await desk.passkeys.enrol(token, device.create(options, origin=ORIGIN), label="") is Refusal.REFUSED
    (passkey,) = await desk.store.passkeys.all()
    assert passkey.person == "ann"


@pytest.mark.parametrize(
    "wrong",
    [
        {"origin": "https://evil.example.org"},
        {"origin": ORIGIN, "type": "webauthn.get"},
        {"origin": ORIGIN, "crossOrigin": True},
    ],
)
async def test_a_passkey_that_was_made_elsewhere_is_not_taken(desk, wrong):
    token = await desk.invited()
    options = await desk.passkeys.creation(token)
    assert await desk.passkeys.enrol(token, Authenticator().create(options, **wrong), label="") is Refusal.REFUSED
    assert await desk.store.passkeys.all() == []


async def test_a_passkey_without_verification_of_the_person_is_not_taken(desk):
    token = await desk.invited()
    created = Authenticator(verifies=False).create(await desk.passkeys.creation(token), origin=ORIGIN)
    assert await desk.passkeys.enrol(token, created, label="") is Refusal.REFUSED


async def test_what_was_asked_for_one_invite_is_nothing_for_another(desk):
    mine, theirs = await desk.invited(), await desk.invited("eve")
    created = Authenticator().create(await desk.passkeys.creation(theirs), origin=ORIGIN)
    assert await desk.passkeys.enrol(mine, created, label="") is Refusal.GONE


async def test_only_operators_get_a_link(desk):
    for nobody in ("bob", "nobody", ""):
        with pytest.raises(ConfigError, match="no operator"):
            await desk.passkeys.invite(nobody)
    assert await desk.passkeys.link_for("telegram:502") is NoLink.NO_PAGES
    assert await desk.passkeys.link_for(None) is NoLink.NO_PAGES
    assert (await desk.passkeys.link_for("telegram:501")).startswith(f"{BASE}/k/")


async def test_without_pages_there_is_no_link(tmp_path):
    async with bench(tmp_path, base_url="http://desk.example.org") as desk:
        assert await desk.passkeys.link_for("telegram:501") is NoLink.NO_PAGES
        with pytest.raises(ConfigError, match="https"):
            await desk.passkeys.invite("ann")
        assert desk.addresses.approval("ap1", "0" * 64) is None


# whose passkeys


@pytest.mark.parametrize(
    ("base_url", "party", "origin", "page"),
    [
        ("https://desk.example.org", "desk.example.org", "https://desk.example.org", "https://desk.example.org/a/"),
        (
            "https://Desk.Example.org:443/x/",
            "desk.example.org",
            "https://desk.example.org",
            "https://desk.example.org/x/a/",
        ),
        ("https://desk.example.org:8443", "desk.example.org", "https://desk.example.org:8443", None),
        ("http://127.0.0.1:8088", "localhost", "http://localhost:8088", "http://localhost:8088/a/"),
        ("http://[::1]:8088", "localhost", "http://localhost:8088", None),
        ("http://localhost:8088/ask", "localhost", "http://localhost:8088", "http://localhost:8088/ask/a/"),
        ("http://desk.localhost", "desk.localhost", "http://desk.localhost", None),
        ("https://bücher.example", "xn--bcher-kva.example", "https://xn--bcher-kva.example", None),
    ],
)
def test_the_relying_party_is_the_host_of_the_public_address(base_url, party, origin, page):
    found = relying_party(base_url)
    assert (found.id, found.origin) == (party, origin)
    if page is not None:
        assert PageAddresses(KEY, found).approval("ap1", "0" * 64).startswith(page)


@pytest.mark.parametrize(
    "base_url",
    [
        "http://desk.example.org",
        "https://192.0.2.7",
        "http://0.0.0.0:8088",
        "https://",
        "ftp://localhost",
        "localhost:8088",
        "https://desk.example.org:99999",
        "https://a..b",
    ],
)
def test_where_browsers_know_no_passkeys_there_is_none(base_url):
    assert relying_party(base_url) is None
