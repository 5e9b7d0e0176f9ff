"""How fast the bot may speak on its homeserver, on a clock that stands in a list."""

from bot.channels.matrix.limits import Limits, Pace, Rate


def test_a_room_gets_a_burst_and_then_one_a_second_and_rooms_do_not_wait_for_each_other():
    pace = Pace(Limits(total=None))
    assert [pace.book("!a", 100.0) for _ in range(7)] == [0.0] * 5 + [1.0, 2.0]
    assert pace.book("!b", 100.0) == 0.0


def test_the_account_has_a_limit_of_its_own():
    pace = Pace(Limits(room=None, total=Rate(per_s=5.0, burst=1)))
    assert [round(pace.book(f"!{room}", 100.0), 6) for room in range(3)] == [0.0, 0.2, 0.4]


def test_the_reactions_under_a_message_take_places_too():
    pace = Pace(Limits(total=None))
    assert pace.book("!a", 100.0, places=5) == 0.0
    assert pace.book("!a", 100.0) == 1.0


def test_a_silence_holds_in_all_rooms_and_ends():
    pace = Pace(Limits(room=None, total=None))
    pace.silence(100.0, seconds=30.0)
    assert pace.book("!a", 110.0) == 20.0
    assert pace.book_passing("!b", 110.0) == 20.0
    assert pace.silence_s(130.0) == 0.0


def test_fragments_leave_half_of_the_burst_to_messages():
    pace = Pace(Limits(room=Rate(per_s=1.0, burst=4), total=None))
    assert [pace.book_passing("!a", 100.0) for _ in range(3)] == [0.0, 0.0, 1.0]


def test_limits_can_be_switched_off():
    pace = Pace(Limits(room=None, total=None))
    assert [pace.book("!a", 100.0) for _ in range(100)] == [0.0] * 100
