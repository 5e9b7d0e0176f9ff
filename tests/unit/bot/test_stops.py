"""Codes of stopped answers as words for operators."""

import pytest

from bot.runtime.stops import stops_of
from bot.texts.codes import Stop
from policy.boundary import Withheld
from policy.content import ContentClass, HardStop
from policy.record import ReferenceFlaw


@pytest.mark.parametrize("code", [*ContentClass, *HardStop, *ReferenceFlaw, *Withheld])
def test_every_code_that_can_stop_an_answer_has_words(code):
    (stop,) = stops_of([code.value])
    assert (stop is Stop.FAULT) is (code in (Withheld.EMPTY, Withheld.RULE_FAILED))


def test_that_an_operator_would_see_it_first_is_told_where_nothing_weighs_more():
    assert stops_of(["prices", "draft_only"]) == [Stop.DRAFT, Stop.DRAFT]
    assert stops_of(["prices", "leak"]) == [Stop.LEAK]
    assert stops_of(["whatever"]) == [Stop.FAULT]
    assert stops_of([]) == [Stop.FAULT]
