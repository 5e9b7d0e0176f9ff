"""What may leave for whom."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.blank import is_blank
from policy.boundary import Basis, Speech, Utterance, Withheld, release
from policy.decision import Audience

OUTSIDE = (Audience.EXTERNAL, Audience.UNKNOWN)


def said(speech, *, audience, text="words", basis=Basis.REQUEST, progress=True, automatic=True, changed=False, **more):
    return release(
        Utterance(speech=speech, text=text, **more),
        audience=audience,
        basis=basis,
        progress=progress,
        automatic=automatic,
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
