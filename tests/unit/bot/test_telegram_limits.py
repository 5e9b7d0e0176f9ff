"""How fast the bot may speak, on a clock that stands in a list."""

from bot.channels.telegram.limits import Bucket, Limits, Pace, Rate

NONE = Limits(chat=None, group=None, total=None)


def test_a_burst_passes_and_then_one_at_a_time() -> None:
    pace = Pace(Limits(chat=Rate(per_s=1.0, burst=3), group=None, total=None))
    waits = [round(pace.book(7, 100.0), 6) for _ in range(6)]
    assert waits == [0.0, 0.0, 0.0, 1.0, 2.0, 3.0]


def test_chats_do_not_wait_for_each_other() -> None:
    pace = Pace(Limits(chat=Rate(per_s=1.0, burst=1), group=None, total=None))
    assert pace.book(7, 100.0) == 0.0
    assert pace.book(7, 100.0) == 1.0
    assert pace.book(8, 100.0) == 0.0


def test_a_group_gets_at_most_twenty_in_any_minute() -> None:
    pace = Pace(Limits(chat=None, total=None))
    now, sent = 100.0, []
    while len(sent) < 60:
        now += pace.book(-7, now)
        sent.append(now)
    assert max(sum(start <= moment < start + 60.0 - 1e-6 for moment in sent) for start in sent) <= 20


def test_a_private_chat_has_no_group_limit() -> None:
    pace = Pace(Limits(chat=None, total=None))
    assert [pace.book(7, 100.0) for _ in range(50)] == [0.0] * 50


def test_at_most_thirty_in_any_second_in_all() -> None:
    pace = Pace(Limits(chat=None, group=None))
    moments = [100.0 + pace.book(chat, 100.0) for chat in range(1, 100)]
    assert max(sum(start <= moment < start + 1.0 - 1e-6 for moment in moments) for start in moments) <= 30


def test_limits_can_be_switched_off() -> None:
    pace = Pace(NONE)
    assert [pace.book(-7, 100.0) for _ in range(100)] == [0.0] * 100


def test_what_only_passes_leaves_room_for_messages_and_takes_nothing_when_it_may_not_go() -> None:
    pace = Pace(Limits(chat=Rate(per_s=1.0, burst=4), group=None, total=None))
    assert [pace.book_passing(7, 100.0) for _ in range(2)] == [0.0, 0.0]
    assert pace.book_passing(7, 100.0) == 1.0
    assert [pace.book(7, 100.0) for _ in range(2)] == [0.0, 0.0]


def test_a_silence_that_the_platform_asked_for_holds_for_its_chat_and_ends() -> None:
    pace = Pace(NONE)
    pace.silence(7, 100.0, seconds=30.0)
    assert pace.book(7, 110.0) == 20.0
    assert pace.book_passing(7, 110.0) == 20.0
    assert pace.book(8, 110.0) == 0.0
    assert pace.silence_s(7, 130.0) == 0.0


def test_what_is_empty_again_is_forgotten() -> None:
    bucket = Bucket(Rate(per_s=1.0, burst=1))
    bucket.take(100.0)
    assert not bucket.idle(100.5)
    assert bucket.idle(101.0)
    pace = Pace(Limits(chat=Rate(per_s=1.0, burst=1), group=None, total=None))
    for chat in range(1, 2 * Pace._SWEEP_AT):
        pace.book(chat, float(chat))
    assert len(pace._chats) <= Pace._SWEEP_AT
