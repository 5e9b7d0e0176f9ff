"""Drafts on a running gateway: filed, shown inside, approved, sent byte for byte, settled (AUTO-1, 2, 6, 7, OUT-8)."""

import asyncio
import hashlib
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest
from aiohttp import web

from bot.agents.webhook import WebhookAgent
from bot.approvals import saying
from bot.channels.telegram.limits import Limits
from bot.model.approval import ApprovalState
from bot.model.output import Final, Fragment, OutFile
from forms.card import Button, Card
from tests.acceptance.test_approvals_telegram import CARD
from tests.harness import ANN, BOB, GROUP, INTERNAL, POLICY, Clock, CountingAgent, running
from tests.servers.agents import serving

rule = pytest.mark.rule
OPEN = Limits(chat=None, group=None, total=None)
MOVED = -1001000009999
PRICE = "A wedding for 40 costs 1,400 EUR."


def says(*texts, declared="prices", **more):
    """An agent that writes these, one after another, and then the last of them again."""
    left = list(texts)

    def answer(_request):
        return [Final(text=left.pop(0) if len(left) > 1 else left[0], declared=declared, **more)]

    return CountingAgent(answer=answer)


@asynccontextmanager
async def drafting(tmp_path, api, agent, *, policy=POLICY, **more):
    async with running(tmp_path, api=api, agent=agent, limits=OPEN, policy=policy, **more) as gateway:
        yield gateway


async def ask(gateway, text="what does a wedding for 40 cost?", *, sender=BOB):
    message = gateway.api.say(chat=GROUP, sender=sender, text=f"@desk_bot {text}")
    await gateway.quiet()
    return message["message_id"]


async def draft(gateway):
    """The one draft that is open."""
    (found,) = await gateway.daemon.crew.approvals.pending()
    return found


def cards(api):
    """The cards of drafts in the operators' room, as they stand."""
    return [one for one in api.sent(INTERNAL) if CARD.match(one.get("text", ""))]


def buttons(card):
    rows = card.get("reply_markup", {}).get("inline_keyboard", [])
    return {one["text"]: one.get("callback_data") for row in rows for one in row}


async def tap(gateway, card, label, *, sender=ANN, data=None):
    gateway.api.press(
        chat=INTERNAL, sender=sender, message_id=card["message_id"], data=data or buttons(card)[label], force=True
    )
    await gateway.settled()


async def until(true):
    """Wait until something is so; time is what is waited for here, and the bound is short."""
    async with asyncio.timeout(10):
        while not await true():
            await asyncio.sleep(0.02)


@rule("AUTO-2", "AUTO-6", "OUT-8")
async def test_a_price_goes_to_the_operators_as_a_draft_and_nothing_to_the_customer(api, tmp_path):
    async with drafting(tmp_path, api, says(PRICE)) as gateway:
        asked = await ask(gateway)
        assert api.texts(GROUP) == []
        (card,) = cards(api)
        assert PRICE in card["text"]
        assert hashlib.sha256(PRICE.encode()).hexdigest()[:16] in card["text"]
        assert "what does a wedding for 40 cost?" in card["text"]
        assert (gateway.rulings[-1].message, gateway.rulings[-1].result) == (str(asked), "drafted")


@rule("AUTO-6", "DUR-2")
async def test_what_is_approved_is_what_is_sent_byte_for_byte_and_the_receipt_is_told_inside(api, tmp_path):
    text = "Price: 5*3*2 EUR, **not** 4__7__9.\n\n    1. _as is_\n1) `as is`  <b>&amp;</b>"
    async with drafting(tmp_path, api, says(text)) as gateway:
        asked = await ask(gateway)
        (card,) = cards(api)
        await tap(gateway, card, "Approve")
        (sent,) = api.sent(GROUP)
        assert sent["text"] == text
        assert "entities" not in sent
        assert sent["reply_to_message"]["message_id"] == asked
        assert await gateway.daemon.crew.approvals.pending() == []
        (card,) = cards(api)
        assert "approved, and done" in card["text"]
        assert buttons(card) == {}
        code = card["text"].removeprefix("Draft ").partition(":")[0]
        assert f"Draft {code} was sent as it was approved." in api.texts(INTERNAL)


@rule("AUTO-6")
async def test_filing_again_replaces_the_text_and_every_earlier_button_is_void(api, tmp_path):
    async with drafting(tmp_path, api, says("It costs 1,400 EUR.", "It costs 1,500 EUR.")) as gateway:
        await ask(gateway)
        (first,) = cards(api)
        old = buttons(first)["Approve"]
        before = await draft(gateway)
        await ask(gateway, "and with a band?")
        after = await draft(gateway)
        assert (after.id, after.code) == (before.id, before.code)
        assert after.version != before.version
        replaced, card = cards(api)
        assert "It costs 1,400 EUR." not in replaced["text"]
        assert buttons(replaced) == {}
        await tap(gateway, first, "Approve", data=old)
        assert api.texts(GROUP) == []
        assert (await draft(gateway)).state is ApprovalState.IN_REVIEW
        await tap(gateway, card, "Approve")
        assert api.texts(GROUP) == ["It costs 1,500 EUR."]
        await tap(gateway, card, "Approve", data=buttons(card).get("Approve") or old)
        assert api.texts(GROUP) == ["It costs 1,500 EUR."]


@rule("AUTO-6")
async def test_the_same_text_filed_again_is_a_new_version_too(api, tmp_path):
    async with drafting(tmp_path, api, says(PRICE)) as gateway:
        await ask(gateway)
        (first,) = cards(api)
        await ask(gateway)
        await tap(gateway, first, "Approve")
        assert api.texts(GROUP) == []
        assert (await draft(gateway)).state is ApprovalState.IN_REVIEW


@rule("AUTO-6")
async def test_a_denied_draft_is_never_sent_and_the_next_one_is_a_new_obligation(api, tmp_path):
    async with drafting(tmp_path, api, says(PRICE)) as gateway:
        await ask(gateway)
        denied = await draft(gateway)
        (card,) = cards(api)
        approve = buttons(card)["Approve"]
        await tap(gateway, card, "Deny")
        await tap(gateway, card, "Approve", data=approve)
        assert api.texts(GROUP) == []
        await ask(gateway)
        assert (await draft(gateway)).id != denied.id


@rule("AUTO-6")
async def test_a_stranger_can_not_approve_a_draft(api, tmp_path):
    async with drafting(tmp_path, api, says(PRICE)) as gateway:
        await ask(gateway)
        (card,) = cards(api)
        await tap(gateway, card, "Approve", sender=BOB)
        assert api.texts(GROUP) == []
        assert (await draft(gateway)).state is ApprovalState.IN_REVIEW


@rule("AUTO-1")
async def test_routine_content_is_sent_without_asking_and_nobody_is_written_to_unasked(api, tmp_path):
    async with drafting(tmp_path, api, says("We open at nine.", declared="")) as gateway:
        api.say(chat=GROUP, sender=BOB, text="when do they open?")
        await gateway.quiet()
        assert gateway.person_calls == []
        await ask(gateway, "when do you open?")
        assert api.texts(GROUP) == ["We open at nine."]
        assert await gateway.daemon.crew.approvals.pending() == []


@rule("AUTO-1")
async def test_where_drafts_are_the_rule_every_answer_is_filed_and_nothing_of_it_is_shown_before(api, tmp_path):
    policy = POLICY + "autonomy: {default: draft}\n"
    async with drafting(tmp_path, api, says("We open at nine.", declared=""), policy=policy) as gateway:
        await ask(gateway, "when do you open?")
        assert api.texts(GROUP) == []
        (card,) = cards(api)
        await tap(gateway, card, "Approve")
        assert api.texts(GROUP) == ["We open at nine."]


@rule("AUTO-2")
async def test_everything_that_is_written_to_a_tier_one_client_is_a_draft(api, tmp_path):
    policy = POLICY.replace("{audience: external}", "{audience: external, counterparty: acme}")
    policy += "counterparties: {acme: {name: Acme, tier: 1}}\nautonomy: {tiers: {1: [routine]}}\n"
    async with drafting(tmp_path, api, says("We open at nine.", declared=""), policy=policy) as gateway:
        await ask(gateway, "when do you open?")
        assert api.texts(GROUP) == []
        assert "Acme" in cards(api)[0]["text"]


@rule("AUTO-1", "AUTO-2")
@pytest.mark.parametrize("autonomy", ["{default: draft}", "{draft_only: [routine]}"])
async def test_where_drafts_are_the_rule_no_fragment_of_an_answer_is_shown(api, tmp_path, autonomy):
    policy = POLICY.replace("{audience: external}", "{audience: external, streaming: edit}")
    agent = CountingAgent(answer=lambda _: [Fragment(text="We open"), Final(text="We open at nine.")])
    async with drafting(tmp_path, api, agent, policy=f"{policy}autonomy: {autonomy}\n") as gateway:
        await ask(gateway)
        assert api.texts(GROUP) == []
        assert {call.params["chat_id"] for call in api.calls_of("sendMessage", "editMessageText")} == {INTERNAL}
        assert len(cards(api)) == 1


@rule("AUTO-2", "AUTO-4")
async def test_a_price_is_not_shown_while_the_answer_grows_either(api, tmp_path):
    policy = POLICY.replace("{audience: external}", "{audience: external, streaming: edit}")
    agent = CountingAgent(answer=lambda _: [Fragment(text="It is 1,400 EUR and"), Final(text=PRICE)])
    async with drafting(tmp_path, api, agent, policy=policy) as gateway:
        await ask(gateway)
        assert api.texts(GROUP) == []
        assert "1,400" not in "".join(str(call.params) for call in api.calls if call.params.get("chat_id") == GROUP)
        assert len(cards(api)) == 1


@rule("AUTO-3")
async def test_a_hard_stop_is_never_filed_and_is_told_inside(api, tmp_path):
    async with drafting(tmp_path, api, says("I have signed it.", declared="signing")) as gateway:
        await ask(gateway)
        assert await gateway.daemon.crew.approvals.pending() == []
        assert cards(api) == []
        assert "signed" not in "".join(api.texts(GROUP) + api.texts(INTERNAL))
        assert len(api.texts(INTERNAL)) == 1


@rule("OUT-8")
async def test_without_a_verified_internal_channel_a_draft_is_shown_nowhere_and_stays_in_the_interface(api, tmp_path):
    policy = POLICY.replace(", reports: true", "")
    async with drafting(tmp_path, api, says(PRICE), policy=policy) as gateway:
        await ask(gateway)
        assert (api.texts(GROUP), api.texts(INTERNAL)) == ([], [])
        waiting = await draft(gateway)
        assert (waiting.state, waiting.action.parameters["text"]) == (ApprovalState.PROPOSED, PRICE)


@rule("OUT-8")
async def test_the_words_that_hold_a_place_say_nothing_of_a_draft(api, tmp_path):
    policy = POLICY + "autonomy: {holding_words: true}\n"
    async with drafting(tmp_path, api, says(PRICE), policy=policy) as gateway:
        await ask(gateway)
        assert api.texts(GROUP) == ["Thank you for asking. You will hear from us."]
        (card,) = cards(api)
        await tap(gateway, card, "Approve")
        assert api.texts(GROUP)[1:] == [PRICE]


AUTO_AFTER = POLICY + "autonomy: {auto_after: true}\n"


@pytest.fixture(autouse=True)
def _heard_at_once(monkeypatch):
    monkeypatch.setattr(saying, "HEARD_FOR_S", 0.0)


@rule("AUTO-7")
async def test_time_approves_a_draft_where_the_policy_lets_it(api, tmp_path):
    clock = Clock()
    agent = says(PRICE, auto_after_s=3600)
    async with drafting(tmp_path, api, agent, policy=AUTO_AFTER, clock=clock) as gateway:
        await ask(gateway)
        assert "Approved by itself" in cards(api)[0]["text"]
        clock.offset += timedelta(seconds=3500)
        await gateway.daemon.crew.saying.idle()
        assert api.texts(GROUP) == []
        clock.offset += timedelta(seconds=200)
        await until(lambda: sent_to(api))
        await gateway.settled()
        assert api.texts(GROUP) == [PRICE]
        assert "the passing of time" in cards(api)[0]["text"]


async def sent_to(api):
    return api.sent(GROUP)


@rule("AUTO-7")
async def test_time_approves_nothing_where_the_policy_does_not_say_so_and_a_draft_waits_for_ever(api, tmp_path):
    clock = Clock()
    async with drafting(tmp_path, api, says(PRICE, auto_after_s=60), clock=clock) as gateway:
        await ask(gateway)
        waiting = await draft(gateway)
        assert (waiting.auto_at, waiting.expires_at) == (None, None)
        clock.offset += timedelta(days=60)
        await look(gateway)
        assert api.texts(GROUP) == []
        (card,) = cards(api)
        await tap(gateway, card, "Approve")
        assert api.texts(GROUP) == [PRICE]


async def look(gateway):
    """Every clock of the gateway has looked once."""
    await gateway.daemon.crew.saying.look()
    await gateway.settled()


@rule("AUTO-7")
async def test_the_action_of_an_operator_wins_over_the_deadline(api, tmp_path):
    clock = Clock()
    agent = says(PRICE, auto_after_s=3600)
    async with drafting(tmp_path, api, agent, policy=AUTO_AFTER, clock=clock) as gateway:
        await ask(gateway)
        (card,) = cards(api)
        await tap(gateway, card, "Deny")
        clock.offset += timedelta(hours=2)
        await look(gateway)
        assert api.texts(GROUP) == []


@rule("AUTO-7")
@pytest.mark.parametrize("label", ["Deny with reason…", "Return…", "Change…"])
async def test_an_operator_who_has_begun_to_act_is_not_overtaken_by_the_deadline(api, tmp_path, label):
    clock = Clock()
    agent = says(PRICE, auto_after_s=3600)
    async with drafting(tmp_path, api, agent, policy=AUTO_AFTER, clock=clock) as gateway:
        await ask(gateway)
        (card,) = cards(api)
        await tap(gateway, card, label, sender=BOB)
        assert (await draft(gateway)).auto_at is not None, "he is no operator"
        await tap(gateway, card, label)
        assert "Approved by itself" not in cards(api)[0]["text"]
        clock.offset += timedelta(hours=2)
        await look(gateway)
        assert api.texts(GROUP) == []


@rule("AUTO-7", "DUR-3")
async def test_what_was_tapped_while_the_gateway_was_down_comes_before_a_deadline_that_passed_meanwhile(
    api, tmp_path, monkeypatch
):
    monkeypatch.setattr(saying, "HEARD_FOR_S", 60.0)
    clock = Clock()
    agent = says(PRICE, auto_after_s=3600)
    async with drafting(tmp_path, api, agent, policy=AUTO_AFTER, clock=clock) as gateway:
        await ask(gateway)
    (card,) = cards(api)
    api.press(chat=INTERNAL, sender=ANN, message_id=card["message_id"], data=buttons(card)["Deny"])
    clock.offset += timedelta(hours=2)
    async with drafting(tmp_path, api, agent, policy=AUTO_AFTER, clock=clock) as gateway:
        await gateway.settled()
        await look(gateway)
        assert api.texts(GROUP) == []
        assert "denied" in api.sent(INTERNAL)[0]["text"]


@rule("AUTO-7")
async def test_filing_again_moves_the_deadline_and_without_one_clears_it(api, tmp_path):
    clock = Clock()
    deadlines = iter([600, 1200, None])
    agent = CountingAgent(answer=lambda _: [Final(text=PRICE, declared="prices", auto_after_s=next(deadlines))])
    async with drafting(tmp_path, api, agent, policy=AUTO_AFTER, clock=clock) as gateway:
        await ask(gateway)
        first = (await draft(gateway)).auto_at
        await ask(gateway)
        moved = (await draft(gateway)).auto_at
        assert timedelta(seconds=600) <= moved - first <= timedelta(seconds=630)
        clock.offset += timedelta(seconds=700)
        await look(gateway)
        assert api.texts(GROUP) == []
        await ask(gateway)
        assert (await draft(gateway)).auto_at is None
        clock.offset += timedelta(days=1)
        await look(gateway)
        assert api.texts(GROUP) == []


@rule("AUTO-7", "OUT-8")
async def test_what_nobody_could_see_is_not_approved_by_time(api, tmp_path):
    clock = Clock()
    policy = AUTO_AFTER.replace(", reports: true", "")
    agent = says(PRICE, auto_after_s=60)
    async with drafting(tmp_path, api, agent, policy=policy, clock=clock) as gateway:
        await ask(gateway)
        clock.offset += timedelta(days=1)
        await look(gateway)
        assert api.texts(GROUP) == []


@rule("AUTO-7", "APPR-8", "APPR-9")
@pytest.mark.parametrize("wanted", ["assurance: high", "quorum: 2"])
async def test_what_wants_a_passkey_or_two_people_is_not_approved_by_time(api, tmp_path, wanted):
    clock = Clock()
    high = f"{AUTO_AFTER}approvals: {{rules: [{{name: sure, then: ask, systems: [discreet], {wanted}}}]}}\n"
    high = high.replace("operators: [ann]", "operators: [ann, eve]")
    high = high.replace("people:\n", 'people:\n  eve: {accounts: ["telegram:503"]}\n')
    async with drafting(tmp_path, api, says(PRICE, auto_after_s=60), policy=high, clock=clock) as gateway:
        await ask(gateway)
        assert (await draft(gateway)).rule == "sure"
        assert "Approved by itself" not in cards(api)[0]["text"]
        clock.offset += timedelta(days=1)
        await look(gateway)
        assert api.texts(GROUP) == []


@rule("APPR-1", "AUTO-2")
async def test_a_rule_that_forbids_what_is_said_has_it_withheld_and_not_filed(api, tmp_path):
    rules = "approvals: {rules: [{name: never, then: forbid, systems: [discreet], when: [\"contains(text, 'EUR')\"]}]}"
    async with drafting(tmp_path, api, says(PRICE), policy=f"{POLICY}{rules}\n") as gateway:
        await ask(gateway)
        assert await gateway.daemon.crew.approvals.pending() == []
        assert gateway.rulings[-1].result == "withheld"


@rule("AUTO-7", "DUR-3")
async def test_a_deadline_survives_a_restart(api, tmp_path):
    clock = Clock()
    agent = says(PRICE, auto_after_s=3600)
    async with drafting(tmp_path, api, agent, policy=AUTO_AFTER, clock=clock) as gateway:
        await ask(gateway)
    clock.offset += timedelta(hours=2)
    async with drafting(tmp_path, api, agent, policy=AUTO_AFTER, clock=clock) as gateway:
        await until(lambda: sent_to(api))
        await gateway.settled()
        assert api.texts(GROUP) == [PRICE]


@rule("AUTO-6", "APPR-4")
async def test_a_comment_of_an_operator_reaches_the_agent_with_the_next_request_there(api, tmp_path):
    agent = says(PRICE, "It costs 1,600 EUR.")
    async with drafting(tmp_path, api, agent) as gateway:
        await ask(gateway)
        (card,) = cards(api)
        code = (await draft(gateway)).code
        api.say(chat=INTERNAL, sender=ANN, text=f"return {code} with the band, please", reply_to=card["message_id"])
        await gateway.quiet()
        assert (await draft(gateway)).state is ApprovalState.RETURNED
        await ask(gateway, "and now?")
        told = {item.kind: item for item in agent.requests[-1].context}
        assert told["draft"].text == PRICE
        assert (told["returned"].text, told["returned"].sender) == ("with the band, please", "ann")
        card = cards(api)[-1]
        await tap(gateway, card, "Approve")
        assert api.texts(GROUP) == ["It costs 1,600 EUR."]


@rule("AUTO-6")
async def test_files_go_with_the_draft_as_they_were_shown(api, tmp_path):
    file = OutFile(name="prices.csv", media_type="text/csv", content=b"dish,price in EUR\nSoup,6.50\n")
    async with drafting(tmp_path, api, says("Here it is.", files=(file,))) as gateway:
        await ask(gateway)
        assert api.sent(GROUP) == []
        (card,) = cards(api)
        assert hashlib.sha256(file.content).hexdigest() in card["text"]
        await tap(gateway, card, "Approve")
        (sent,) = api.sent(GROUP)
        assert (sent["document"]["file_name"], sent["caption"]) == ("prices.csv", "Here it is.")


@rule("AUTO-4")
async def test_a_price_in_a_file_makes_a_draft_whatever_the_file_is_called(api, tmp_path):
    file = OutFile(
        name="a", media_type="application/octet-stream", content='{"говорю": "Our price is 90 EUR."}'.encode()
    )
    async with drafting(tmp_path, api, says("Here it is.", files=(file,))) as gateway:
        await ask(gateway)
        assert api.sent(GROUP) == []
        assert len(cards(api)) == 1


@rule("APPR-3", "AUTO-6")
async def test_an_operator_changes_the_words_and_nothing_else_and_what_they_have_written_is_sent(api, tmp_path):
    file = OutFile(name="prices.csv", media_type="text/csv", content=b"Soup,6.50\n")
    async with drafting(tmp_path, api, says("Here it is.", files=(file,))) as gateway:
        await ask(gateway)
        (card,) = cards(api)
        await tap(gateway, card, "Change…")
        form = api.sent(INTERNAL)[-1]
        for words in ("text: Here you are, 5% off.", "yes"):  # what is changed is confirmed once more
            api.say(chat=INTERNAL, sender=ANN, text=words, reply_to=form["message_id"])
            await gateway.quiet()
        await until(lambda: sent_to(api))
        await gateway.settled()
        (sent,) = api.sent(GROUP)
        assert (sent["document"]["file_name"], sent["caption"]) == ("prices.csv", "Here you are, 5% off.")


@rule("AUTO-4", "AUTO-2")
async def test_what_an_agent_calls_routine_is_a_draft_where_it_speaks_of_money(api, tmp_path):
    async with drafting(tmp_path, api, says(PRICE, declared="routine")) as gateway:
        await ask(gateway)
        assert api.texts(GROUP) == []
        assert gateway.rulings[-1].notes == ("prices",)
        assert (await draft(gateway)).action.parameters["text"] == PRICE


@rule("AUTO-6")
async def test_a_card_with_buttons_becomes_lines_that_an_operator_can_read(api, tmp_path):
    card = Card(title="The offer", rows=(("Seats", "40"),), buttons=(Button(label="I take it", value="take"),))
    async with drafting(tmp_path, api, says("For you:", card=card)) as gateway:
        await ask(gateway)
        (shown,) = cards(api)
        await tap(gateway, shown, "Approve")
        (sent,) = api.sent(GROUP)
        assert sent["text"] == "For you:\nThe offer\nSeats: 40\n- I take it"
        assert "reply_markup" not in sent


@rule("AUTO-5", "AUTO-6")
async def test_what_became_somebody_elses_secret_after_the_approval_was_asked_for_is_stopped_at_the_door(api, tmp_path):
    async with drafting(tmp_path, api, says("Blue Heron costs 1,400 EUR.")) as gateway:
        await ask(gateway)
        (card,) = cards(api)
        terms = POLICY + "counterparties: {x: {name: X, protected_terms: [Blue Heron]}}\n"
        await reload(gateway, terms, lambda policy: policy.counterparties)
        await tap(gateway, card, "Approve")
        assert api.texts(GROUP) == []
        assert await gateway.daemon.crew.approvals.pending() == []
        assert any("stopped at the door" in text for text in api.texts(INTERNAL))


@rule("AUTO-5")
async def test_a_leak_is_never_filed_and_is_told_inside(api, tmp_path):
    policy = POLICY + "counterparties: {x: {name: X, protected_terms: [Blue Heron]}}\n"
    async with drafting(tmp_path, api, says("Blue Heron pays 1,400 EUR."), policy=policy) as gateway:
        await ask(gateway)
        assert await gateway.daemon.crew.approvals.pending() == []
        assert len(api.texts(GROUP)) == 1
        assert "Heron" not in "".join(api.texts(GROUP) + api.texts(INTERNAL))
        assert len(api.texts(INTERNAL)) == 1


@rule("AUTO-6", "OUT-3")
async def test_what_has_grown_before_it_became_a_draft_is_replaced_by_words_that_say_nothing(api, tmp_path):
    policy = POLICY.replace("{audience: external}", "{audience: external, streaming: edit}")
    agent = CountingAgent(
        answer=lambda _: [Fragment(text="For a wedding"), Final(text=PRICE, declared="prices")],
    )
    async with drafting(tmp_path, api, agent, policy=policy) as gateway:
        await ask(gateway)
        assert api.texts(GROUP) == ["Thank you for asking. You will hear from us."]
        (card,) = cards(api)
        await tap(gateway, card, "Approve")
        assert api.texts(GROUP)[1:] == [PRICE]


@rule("AUTO-6", "OUT-3")
async def test_what_grew_as_a_draft_of_the_platform_ends_with_words_that_say_nothing(api, tmp_path):
    policy = POLICY.replace("direct: {strangers: allow}", "direct: {strangers: allow, streaming: draft}")
    agent = CountingAgent(answer=lambda _: [Fragment(text="For a wedding"), Final(text=PRICE, declared="prices")])
    async with drafting(tmp_path, api, agent, policy=policy) as gateway:
        api.say(chat=BOB, sender=BOB, text="what does a wedding cost?")
        await gateway.quiet()
        assert api.texts(BOB) == ["Thank you for asking. You will hear from us."]
        (card,) = cards(api)
        assert "Bob" in card["text"]
        await tap(gateway, card, "Approve")
        assert api.texts(BOB)[1:] == [PRICE]


async def reload(gateway, policy, true):
    """Another policy comes into force while the gateway runs."""
    (gateway.folder / "policy.yaml").write_text(policy)
    gateway.daemon.crew.policy.poke()

    async def holds():
        return true(gateway.daemon.crew.policy())

    await until(holds)


async def offered(api):
    return "Approve" in buttons(cards(api)[0])


@rule("AUTO-6", "APPR-2")
async def test_a_draft_of_several_messages_is_shown_in_full_first_and_sent_without_losing_a_sign(api, tmp_path):
    text = "\n".join(f"{number}. For {number} guests it is {number * 35} EUR." for number in range(1, 200))
    async with drafting(tmp_path, api, says(text)) as gateway:
        await ask(gateway)
        (card,) = cards(api)
        assert "Approve" not in buttons(card)
        await tap(gateway, card, "Show in full")
        await until(lambda: offered(api))
        await tap(gateway, cards(api)[0], "Approve")
        said = api.texts(GROUP)
        assert len(said) > 1
        assert "\n".join(said) == text
        assert await gateway.daemon.crew.approvals.pending() == []


@rule("IDENT-5", "AUTO-6")
async def test_a_draft_for_a_place_that_is_shut_by_now_is_not_sent(api, tmp_path):
    async with drafting(tmp_path, api, says(PRICE)) as gateway:
        await ask(gateway)
        shut = POLICY.replace("{audience: external}", "{audience: external, access: deny}")
        await reload(gateway, shut, lambda policy: access_of_group(policy) == "deny")
        await tap(gateway, cards(api)[0], "Approve")
        assert api.texts(GROUP) == []
        assert any("stopped at the door" in text for text in api.texts(INTERNAL))


@rule("OUT-5", "AUTO-6")
async def test_a_draft_that_was_written_for_the_inside_is_not_sent_where_outsiders_read_along_by_now(api, tmp_path):
    inside = POLICY.replace("{audience: external}", "{audience: internal, autonomy: {default: draft}}")
    async with drafting(tmp_path, api, says("The margin is thin.", declared=""), policy=inside) as gateway:
        await ask(gateway)
        await reload(gateway, POLICY, lambda policy: audience_of_group(policy) == "external")
        await tap(gateway, cards(api)[0], "Approve")
        assert api.texts(GROUP) == []


def audience_of_group(policy):
    return next(one.audience.value for place, one in policy.channels.items() if place.channel == str(GROUP))


def access_of_group(policy):
    return next(one.access.value for place, one in policy.channels.items() if place.channel == str(GROUP))


@rule("DUR-2", "AUTO-6")
async def test_a_draft_of_which_nobody_knows_whether_it_arrived_is_unknown_and_is_not_sent_again(api, tmp_path):
    policy = POLICY.replace("{audience: external}", "{audience: external, unclear_sends: resend}")
    async with drafting(tmp_path, api, says(PRICE), policy=policy) as gateway:
        await ask(gateway)
        (card,) = cards(api)
        api.drop("sendMessage", chat_id=GROUP, deliver=True)
        await tap(gateway, card, "Approve")
        assert (await draft(gateway)).state is ApprovalState.UNKNOWN
        assert api.texts(GROUP) == [PRICE]
        assert "nobody knows whether it was done" in cards(api)[0]["text"]


@rule("AUTO-6")
async def test_a_draft_that_the_platform_refuses_has_failed_and_operators_are_told(api, tmp_path):
    async with drafting(tmp_path, api, says(PRICE)) as gateway:
        await ask(gateway)
        (card,) = cards(api)
        api.fail("sendMessage", 403, "Forbidden: bot was kicked from the supergroup chat", chat_id=GROUP)
        await tap(gateway, card, "Approve")
        assert await gateway.daemon.crew.approvals.pending() == []
        assert api.texts(GROUP) == []
        assert any("did not take it" in text for text in api.texts(INTERNAL))


@rule("APPR-6", "AUTO-6")
async def test_an_unknown_draft_blocks_a_repeat_until_somebody_has_found_out(api, tmp_path):
    async with drafting(tmp_path, api, says(PRICE)) as gateway:
        await ask(gateway)
        api.drop("sendMessage", chat_id=GROUP)
        await tap(gateway, cards(api)[0], "Approve")
        unknown = await draft(gateway)
        await ask(gateway)
        await tap(gateway, cards(api)[-1], "Approve")
        assert api.texts(GROUP) == []
        assert await draft(gateway) == unknown
        room = gateway.daemon.crew.approvals
        await room.reconcile(unknown.id, executed=False, evidence="nobody has seen it", by="ann")
        await ask(gateway)
        await tap(gateway, cards(api)[-1], "Approve")
        assert api.texts(GROUP) == [PRICE]


@rule("IDENT-4", "OUT-5")
async def test_a_draft_does_not_follow_a_chat_that_goes_on_under_another_id(api, tmp_path):
    async with drafting(tmp_path, api, says(PRICE)) as gateway:
        await ask(gateway)
        api.migrate(GROUP, MOVED)
        await tap(gateway, cards(api)[0], "Approve")
        assert (api.texts(GROUP), api.texts(MOVED)) == ([], [])
        assert any("did not take it" in text for text in api.texts(INTERNAL))


@rule("AUTO-4", "AUTO-7")
async def test_a_webhook_agent_says_what_its_answer_is_about_and_how_long_it_may_wait(api, tmp_path):
    asked = []

    async def answer(received):
        asked.append(await received.json())
        output = {"kind": "final", "text": "We would sign that.", "class": "contract", "auto_after_s": 600}
        return web.json_response(output)

    async with serving(answer) as url:
        agent = WebhookAgent(name="main", url=f"{url}/", secrets=["whsec_" + "c" * 32], total_s=5, wait_s=5)
        async with drafting(tmp_path, api, agent, policy=AUTO_AFTER) as gateway:
            await ask(gateway)
            waiting = await draft(gateway)
            assert waiting.action.parameters["text"] == "We would sign that."
            assert waiting.auto_at is not None
            assert "contract" in gateway.rulings[-1].notes
            await ask(gateway)
            context = {item["kind"]: item["text"] for item in asked[-1]["untrusted"]["context"]}
            assert context["draft"] == "We would sign that."
        await agent.close()
