"""What all platforms share of pace and rest, on a clock that stands in a list."""

from bot.deliveries import pacing
from bot.deliveries.pacing import Bucket, Buckets, Rate, Recovery, Silences, book, book_passing


def test_a_burst_passes_and_then_one_at_a_time():
    bucket = Bucket(Rate(per_s=1.0, burst=3))
    assert [round(book([bucket], 100.0), 6) for _ in range(5)] == [0.0, 0.0, 0.0, 1.0, 2.0]


def test_places_that_are_taken_together_let_the_first_go_at_once_and_the_next_wait_for_all():
    bucket = Bucket(Rate(per_s=1.0, burst=5))
    assert book([bucket], 100.0, places=4) == 0.0
    assert book([bucket], 100.0, places=4) == 0.0
    assert book([bucket], 100.0) == 4.0


def test_the_slowest_of_several_limits_decides():
    fast, slow = Bucket(Rate(per_s=10.0, burst=1)), Bucket(Rate(per_s=0.5, burst=1))
    book([fast, slow], 100.0)
    assert book([fast, slow], 100.0) == 2.0


def test_what_only_passes_takes_nothing_when_it_may_not_go():
    bucket = Bucket(Rate(per_s=1.0, burst=4))
    assert [book_passing([bucket], 100.0) for _ in range(3)] == [0.0, 0.0, 1.0]
    assert [book([bucket], 100.0) for _ in range(3)] == [0.0, 0.0, 1.0]
    assert book_passing([], 100.0, silence_s=3.0) == 3.0


def test_chats_without_a_memory_are_forgotten():
    buckets = Buckets[str](Rate(per_s=1.0, burst=1))
    for number in range(2 * pacing.SWEEP_AT):
        buckets.of(str(number), float(number)).take(float(number))
    assert len(buckets) <= pacing.SWEEP_AT


def test_a_silence_ends():
    silences = Silences[str]()
    silences.keep("a", 100.0, seconds=5.0)
    assert silences.left_s("a", 101.0) == 4.0
    assert silences.left_s("b", 101.0) == 0.0
    assert silences.left_s("a", 105.0) == 0.0


def test_a_server_that_stays_away_is_asked_less_and_less():
    recovery, now, rests = Recovery(jitter=lambda: 0.0), 100.0, []
    for _ in range(9):
        rests.append(recovery.fault(now))
        now += rests[-1]
    assert rests == [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0, 60.0]
    assert not recovery.well


def test_calls_that_fail_together_are_one_failure():
    recovery = Recovery(jitter=lambda: 0.0)
    assert [recovery.fault(100.0) for _ in range(50)] == [1.0] * 50
    assert recovery.left_s(100.5) == 0.5
    assert recovery.fault(101.0) == 2.0


def test_after_a_success_the_next_rest_is_short_again():
    recovery = Recovery(jitter=lambda: 0.0)
    for now in (100.0, 200.0, 300.0):
        recovery.fault(now)
    recovery.over()
    assert recovery.well
    assert recovery.left_s(300.0) == 0.0
    assert recovery.fault(301.0) == 1.0


def test_rests_are_left_to_chance_by_half_at_most():
    assert Recovery(jitter=lambda: 1.0).fault(100.0) == 0.5
    assert all(0.5 <= Recovery().fault(100.0) <= 1.0 for _ in range(100))
