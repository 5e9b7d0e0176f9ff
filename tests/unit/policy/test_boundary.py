"""What may leave for whom."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.blank import is_blank
from policy.boundary import Basis, Speech, Utterance, Withheld, release, release_together
from policy.content import DRAFT_ONLY, Detector
from policy.decision import Audience
from policy.detectors import PACKAGE
from policy.ruleset import Access, Autonomy, ChannelPolicy, ContentClass, Counterparty
from policy.screening import Screen, screen_of
from tests.unit.policy.builders import policy

OUTSIDE = (Audience.EXTERNAL, Audience.UNKNOWN)


SCREEN = Screen(
    policy(
        detectors=PACKAGE,
        counterparties={
            "acme": Counterparty(id="acme", protected_terms=("Blue Heron",)),
            "other": Counterparty(id="other", protected_terms=("Red Fox",)),
        },
    )
)
NOTHING = Screen(policy())


def place(audience, *, progress=True, automatic=True, counterparty=None, draft_only=DRAFT_ONLY):
    return ChannelPolicy(
        audience=audience,
        access=Access.ALLOW,
        progress=progress,
        counterparty=counterparty,
        autonomy=Autonomy(automatic=automatic, draft_only=draft_only),
    )


def said(
    speech,
    *,
    audience=Audience.EXTERNAL,
    text="words",
    basis=Basis.REQUEST,
    changed=False,
    counterparty=None,
    screen=SCREEN,
    progress=True,
    automatic=True,
    draft_only=DRAFT_ONLY,
    **more,
):
    return release(
        Utterance(speech=speech, text=text, **more),
        settings=place(
            audience, progress=progress, automatic=automatic, counterparty=counterparty, draft_only=draft_only
        ),
        basis=basis,
        screen=screen,
        readers_changed=changed,
    )


@pytest.mark.parametrize("audience", list(Audience))
@pytest.mark.parametrize("speech", [Speech.FINAL, Speech.SAFE_ERROR, Speech.FRAGMENT, Speech.SIGN])
def test_answers_safe_errors_and_signs_may_reach_everybody_who_asked(audience, speech):
    assert said(speech, audience=audience) is None


@pytest.mark.parametrize("audience", OUTSIDE)
@pytest.mark.parametrize("speech", [Speech.PROGRESS, Speech.OPERATIONAL, Speech.REPORT, Speech.ACKNOWLEDGEMENT])
def test_nothing_operational_reaches_an_outside_audience_whatever_its_label(audience, speech):
    assert said(speech, audience=audience) is Withheld.AUDIENCE


@pytest.mark.parametrize("audience", [Audience.INTERNAL, Audience.OPERATOR])
def test_operational_facts_reach_trusted_audiences(audience):
    assert said(Speech.OPERATIONAL, audience=audience) is None
    assert said(Speech.REPORT, audience=audience, basis=Basis.REPORT) is None


def test_an_acknowledgement_is_for_internal_channels_only():
    assert said(Speech.ACKNOWLEDGEMENT, audience=Audience.INTERNAL) is None
    assert said(Speech.ACKNOWLEDGEMENT, audience=Audience.OPERATOR) is Withheld.AUDIENCE


def test_progress_needs_the_policys_word():
    assert said(Speech.PROGRESS, audience=Audience.INTERNAL, progress=False) is Withheld.NOT_ALLOWED_HERE
    assert said(Speech.PROGRESS, audience=Audience.INTERNAL, progress=True) is None


@pytest.mark.parametrize("audience", list(Audience))
def test_without_a_basis_nothing_leaves(audience):
    assert said(Speech.FINAL, audience=audience, basis=Basis.NONE) is Withheld.NO_BASIS


@pytest.mark.parametrize("audience", OUTSIDE)
def test_a_report_has_no_fallback_to_the_outside(audience):
    assert said(Speech.FINAL, audience=audience, basis=Basis.REPORT) is Withheld.AUDIENCE


def test_an_empty_message_is_withheld_and_a_wordless_file_or_removal_is_not():
    assert said(Speech.FINAL, audience=Audience.EXTERNAL, text=" \u200b") is Withheld.EMPTY
    assert said(Speech.FINAL, audience=Audience.EXTERNAL, text="", files=1) is None
    assert said(Speech.FINAL, audience=Audience.EXTERNAL, text="", removes=True) is None


@pytest.mark.parametrize("text", ["", "   ", "\u200b\u2063\ufeff  \u200d", "\u2800\u3164", "\u202e\u00ad\n\t"])
def test_invisible_text_is_blank(text):
    assert is_blank(text)


@given(
    st.text(min_size=1),
    st.characters(categories=["L", "N", "P", "S"], exclude_characters="\u115f\u1160\u3164\uffa0\u2800"),
)
def test_a_text_with_one_visible_character_is_not_blank(text, visible):
    assert not is_blank(text + visible)


@pytest.mark.parametrize("speech", [Speech.FINAL, Speech.FRAGMENT, Speech.PROGRESS, Speech.OPERATIONAL])
def test_where_nothing_may_be_said_unasked_the_agents_words_stay(speech):
    assert said(speech, audience=Audience.INTERNAL, automatic=False) is Withheld.DRAFT_ONLY
    assert said(Speech.SAFE_ERROR, audience=Audience.EXTERNAL, automatic=False) is None


@pytest.mark.parametrize("speech", [Speech.FINAL, Speech.FRAGMENT, Speech.OPERATIONAL])
def test_words_for_some_readers_stay_when_others_have_come(speech):
    assert said(speech, audience=Audience.INTERNAL, changed=True) is Withheld.READERS_CHANGED


@pytest.mark.parametrize("speech", [Speech.SAFE_ERROR, Speech.SIGN])
def test_the_gateways_own_sentences_are_for_any_reader(speech):
    assert said(speech, audience=Audience.UNKNOWN, changed=True) is None


TRACE = 'Traceback (most recent call last):\n  File "x.py", line 3'
PRICE = "It is 12,50 € a month."
STOP = "I have transferred 500 EUR to them."
OF_THE_AGENT = (Speech.FINAL, Speech.FRAGMENT)
ALL_WORDS = (*OF_THE_AGENT, Speech.ECHO, Speech.SAFE_ERROR)


@pytest.mark.parametrize("audience", OUTSIDE)
@pytest.mark.parametrize("speech", ALL_WORDS)
@pytest.mark.parametrize("basis", [Basis.REQUEST, Basis.DRAFT, Basis.GRANT])
def test_no_words_of_any_kind_disclose_or_leak_outside_approved_or_not(audience, speech, basis):
    assert said(speech, audience=audience, text=TRACE, basis=basis) is Withheld.DISCLOSURE
    assert said(speech, audience=audience, text="about Blue-Heron", basis=basis) is Withheld.LEAK
    assert said(speech, audience=audience, contents=("about Blue-Heron",), files=1, basis=basis) is Withheld.LEAK


@pytest.mark.parametrize("text", [TRACE, "about Blue Heron", PRICE, STOP])
@pytest.mark.parametrize("audience", [Audience.INTERNAL, Audience.OPERATOR])
def test_inside_everything_may_be_said(audience, text):
    assert said(Speech.FINAL, audience=audience, text=text) is None
    assert said(Speech.REPORT, audience=audience, text=text, basis=Basis.REPORT) is None


def test_ones_own_terms_are_fine_in_ones_own_channel_and_foreign_ones_are_not():
    assert said(Speech.FINAL, text="about Blue Heron", counterparty="acme") is None
    assert said(Speech.FINAL, text="about Red Fox", counterparty="acme") is Withheld.LEAK


@pytest.mark.parametrize("basis", [Basis.REQUEST, Basis.GRANT])
@pytest.mark.parametrize("speech", OF_THE_AGENT)
def test_a_price_is_for_an_operator_first_and_an_approved_one_leaves(basis, speech):
    assert said(speech, text=PRICE, basis=basis) is Withheld.DRAFT_ONLY
    assert said(speech, text=PRICE, basis=Basis.DRAFT) is None


@pytest.mark.parametrize("basis", [Basis.REQUEST, Basis.DRAFT, Basis.GRANT])
def test_a_hard_stop_stays_approved_or_not(basis):
    assert said(Speech.FINAL, text=STOP, basis=basis) is Withheld.HARD_STOP


@pytest.mark.parametrize("text", [PRICE, STOP])
def test_what_people_have_typed_is_no_offer_and_no_act_of_the_agents(text):
    assert said(Speech.ECHO, text=text) is None
    assert said(Speech.SAFE_ERROR, text=text) is None


def test_where_even_routine_words_are_drafts_nothing_leaves_unasked_and_approved_words_do():
    everything = DRAFT_ONLY | {ContentClass.ROUTINE}
    assert said(Speech.FINAL, draft_only=everything) is Withheld.DRAFT_ONLY
    assert said(Speech.FINAL, draft_only=everything, basis=Basis.DRAFT) is None
    assert said(Speech.FINAL, automatic=False, basis=Basis.DRAFT) is None


def together(*texts, audience=Audience.EXTERNAL):
    utterances = [Utterance(speech=Speech.FINAL, text=text) for text in texts]
    return release_together(utterances, settings=place(audience), basis=Basis.REQUEST, screen=SCREEN)


def test_what_is_cut_between_two_parts_of_one_answer_is_found():
    assert together("we know Blue", "Heron well") is Withheld.LEAK
    assert together("we know Blue He", "ron well") is Withheld.LEAK
    assert together("token ghp_0123456789", "abcdefghij0123456789") is Withheld.DISCLOSURE
    assert together("it is 12", ",50 € a month") is Withheld.DRAFT_ONLY
    assert together("one", "two") is None
    assert together("about Blue Heron") is None, "one part alone has been looked at already"
    assert together("we know Blue", "Heron well", audience=Audience.INTERNAL) is None


def test_a_policy_without_terms_and_detectors_still_discloses_nothing():
    assert said(Speech.FINAL, text=TRACE, screen=NOTHING) is Withheld.DISCLOSURE
    assert said(Speech.FINAL, text=PRICE, screen=NOTHING) is None


def test_a_screen_belongs_to_one_policy_value_and_the_latest_are_kept():
    first, second = policy(), policy()
    assert screen_of(first) is screen_of(first)
    assert screen_of(first) is not screen_of(second)
    for _ in range(5):
        screen_of(policy())
    again = screen_of(first)
    again.make_ready()
    assert again.policy is first


def test_a_screen_remembers_so_many_texts_and_long_ones_by_their_digest():
    screen = Screen(policy(detectors=(Detector(raises=ContentClass.PRICES, words=("rebate",)),)))
    long = "a rebate " * 2000
    for text in [*(f"text {number}" for number in range(600)), long, long, "rebate", "rebate"]:
        found = screen.all(text, None)
    assert found == (False, frozenset(), {ContentClass.PRICES})
    assert len(screen._seen) == 512
    assert all(len(text) <= 2048 for _, text, _ in screen._seen)
    assert screen.all(long + "x", None) == (False, frozenset(), {ContentClass.PRICES})
    assert screen.all("half of a pair: \ud800" * 200, None)[2] == frozenset()
