"""What the bot knows of its rooms."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.channels.matrix.rooms import Rooms

BOT = "@relay:example.org"
ALICE = "@alice:example.org"
BOB = "@bob:example.org"
LAB = "!lab:example.org"


def member(user: str, membership: Any, event_id: str = "$m", **more: Any) -> dict[str, Any]:
    unsigned = {"unsigned": {"prev_content": more.pop("before")}} if "before" in more else {}
    content = {"membership": membership, **more}
    return {
        "type": "m.room.member",
        "state_key": user,
        "event_id": event_id,
        "sender": user,
        "content": content,
    } | unsigned


def state(kind: str, content: Any, key: Any = "") -> dict[str, Any]:
    return {"type": kind, "state_key": key, "event_id": "$s", "sender": ALICE, "content": content}


def said(event_id: str, sender: str = ALICE) -> dict[str, Any]:
    return {"type": "m.room.message", "event_id": event_id, "sender": sender, "content": {"body": "x"}}


def joined(
    *timeline: Any, before: Any = (), room: str = LAB, limited: bool = False, start: Any = "t1"
) -> dict[str, Any]:
    block = {
        "timeline": {"events": [*timeline], "limited": limited, "prev_batch": start},
        "state": {"events": [*before]},
    }
    return {"rooms": {"join": {room: block}}}


def invited(*stripped: Any, room: str = LAB) -> dict[str, Any]:
    return {"rooms": {"invite": {room: {"invite_state": {"events": [*stripped]}}}}}


def left(*timeline: Any, room: str = LAB) -> dict[str, Any]:
    return {"rooms": {"leave": {room: {"timeline": {"events": [*timeline]}}}}}


def history(seen: Any) -> dict[str, bool]:
    return {one.event["event_id"]: one.history for one in seen}


@pytest.fixture
def rooms() -> Rooms:
    return Rooms(BOT)


def test_state_and_timeline_make_the_room(rooms: Rooms) -> None:
    create = {"room_version": "12", "predecessor": {"room_id": "!old"}}
    before = [
        state("m.room.create", create),
        state("m.room.name", {"name": "Lab"}),
        member(BOT, "join"),
        member(ALICE, "join"),
        member(BOB, "invite"),
    ]
    rooms.take(joined(state("m.room.encryption", {"algorithm": "x"}), member(BOB, "join"), before=before))
    room = rooms.get(LAB)
    assert room is not None
    assert (room.name, room.version, room.encrypted, room.predecessor) == ("Lab", "12", True, "!old")
    assert room.joined == {BOT, ALICE, BOB}
    assert room.members == 3
    assert room.membership == "join"
    assert [one.id for one in rooms] == [LAB]


def test_each_event_is_seen_with_the_members_of_its_moment(rooms: Rooms) -> None:
    seen = rooms.take(joined(said("$1"), member(BOB, "join", "$2"), said("$3"), before=[member(BOT, "join")]))
    assert [one.room.members for one in seen] == [1, 2, 2]


def test_encryption_is_never_taken_back(rooms: Rooms) -> None:
    rooms.take(joined(state("m.room.encryption", {"algorithm": "m.megolm.v1.aes-sha2"})))
    rooms.take(joined(state("m.room.encryption", {})))
    rooms.take(joined(before=[state("m.room.create", {})]))
    assert rooms.get(LAB).encrypted


def test_state_under_another_key_says_nothing(rooms: Rooms) -> None:
    rooms.take(
        joined(
            state("m.room.name", {"name": "Trap"}, key="x"),
            state("m.room.tombstone", {"replacement_room": "!n"}, key="y"),
        )
    )
    assert rooms.get(LAB).name is None
    assert rooms.get(LAB).replacement is None


def test_a_tombstone_names_the_replacement_only_with_an_id(rooms: Rooms) -> None:
    rooms.take(joined(state("m.room.tombstone", {"replacement_room": "!New12"})))
    assert rooms.get(LAB).replacement == "!New12"
    rooms.take(joined(state("m.room.tombstone", {"replacement_room": ["!x"]})))
    assert rooms.get(LAB).replacement is None


def test_the_timeline_of_a_first_sync_is_history(rooms: Rooms) -> None:
    seen = rooms.take(joined(member(BOT, "join", "$j"), said("$1"), before=[member(BOT, "join")]), first=True)
    assert history(seen) == {"$j": True, "$1": True}


def test_what_stands_before_the_own_join_is_history(rooms: Rooms) -> None:
    seen = rooms.take(joined(said("$old"), member(BOT, "join", "$j"), said("$new"), before=[member(BOT, "invite")]))
    assert history(seen) == {"$old": True, "$j": False, "$new": False}


def test_a_join_before_the_timeline_makes_all_of_it_present(rooms: Rooms) -> None:
    assert history(rooms.take(joined(said("$1"), before=[member(BOT, "join")]))) == {"$1": False}


def test_a_new_room_without_the_own_join_anywhere_is_history(rooms: Rooms) -> None:
    assert history(rooms.take(joined(said("$1"), before=[member(ALICE, "join")]))) == {"$1": True}


def test_a_changed_own_name_in_a_known_room_makes_no_history(rooms: Rooms) -> None:
    rooms.recall({f"joined:{LAB}": "1"})
    renamed = member(BOT, "join", "$n", displayname="New", before={"membership": "join"})
    assert history(rooms.take(joined(said("$1"), renamed, said("$2")))) == {"$1": False, "$n": False, "$2": False}


def test_what_was_said_between_leaving_and_coming_back_is_history(rooms: Rooms) -> None:
    rooms.recall({f"joined:{LAB}": "1"})
    seen = rooms.take(joined(said("$1"), member(BOT, "leave", "$l"), said("$2"), member(BOT, "join", "$j"), said("$3")))
    assert history(seen) == {"$1": False, "$l": True, "$2": True, "$j": False, "$3": False}


def test_a_gap_is_seen_before_the_timeline_and_its_state_counts(rooms: Rooms) -> None:
    rooms.take(joined(before=[member(BOT, "join"), member(ALICE, "join")]))
    gap = [said("$g"), member(BOB, "join", "$b")]
    seen = rooms.take(joined(said("$1"), before=[member(BOB, "join")], limited=True), gaps={LAB: gap})
    assert [(one.event["event_id"], one.via, one.room.members) for one in seen] == [
        ("$g", "gap", 2),
        ("$b", "gap", 3),
        ("$1", "sync", 3),
    ]


def test_a_gap_that_reaches_back_before_the_own_join_is_history_there(rooms: Rooms) -> None:
    rooms.recall({f"joined:{LAB}": "1"})
    renamed = member(BOT, "join", "$n", before={"membership": "join"})
    gap = [said("$1"), member(BOT, "join", "$j"), said("$2"), renamed, said("$3")]
    seen = rooms.take(joined(limited=True), gaps={LAB: gap})
    assert history(seen) == {"$1": True, "$j": False, "$2": False, "$n": False, "$3": False}


def test_gaps_are_those_of_rooms_that_the_bot_was_in(rooms: Rooms) -> None:
    rooms.recall({f"joined:{LAB}": "1"})
    assert [(gap.room, gap.start, gap.join) for gap in rooms.gaps(joined(limited=True))] == [(LAB, "t1", None)]
    assert rooms.gaps(joined(limited=False)) == []
    assert rooms.gaps(joined(limited=True, start=None)) == []
    new = "!new:example.org"
    assert rooms.gaps(joined(member(BOT, "join"), limited=True, room=new)) == []
    (gap,) = rooms.gaps(joined(before=[member(BOT, "join", "$j")], limited=True, room=new))
    assert gap.join == "$j"


def test_a_direct_chat_is_one_by_the_bots_own_invite_and_by_two_members(rooms: Rooms) -> None:
    rooms.take(invited(member(BOT, "invite", is_direct=True)))
    assert not rooms.get(LAB).is_direct
    rooms.take(joined(before=[member(BOT, "join"), member(ALICE, "join")]))
    assert rooms.get(LAB).is_direct
    rooms.take(joined(member(BOB, "invite")))
    assert not rooms.get(LAB).is_direct
    rooms.take(joined(member(BOB, "leave")))
    assert rooms.get(LAB).is_direct


@pytest.mark.parametrize("word", [None, "true", 1, False])
def test_nothing_but_true_makes_an_invite_direct(rooms: Rooms, word: Any) -> None:
    rooms.take(invited(member(BOT, "invite", is_direct=word)))
    assert not rooms.get(LAB).direct


def test_somebody_elses_invite_makes_nothing_direct(rooms: Rooms) -> None:
    rooms.take(invited(member(ALICE, "invite", is_direct=True)))
    assert not rooms.get(LAB).direct


def test_the_servers_word_on_what_the_own_join_replaced_counts(rooms: Rooms) -> None:
    asked = {"membership": "invite", "is_direct": True}
    rooms.take(joined(before=[member(BOT, "join", before=asked), member(ALICE, "join")]), first=True)
    assert rooms.get(LAB).is_direct
    rooms.take(joined(member(BOT, "leave"), member(BOT, "join", before={"membership": "invite"})))
    assert not rooms.get(LAB).is_direct


def test_leaving_forgets_that_it_was_direct(rooms: Rooms) -> None:
    rooms.recall({f"joined:{LAB}": "1", f"direct:{LAB}": "1"})
    seen = rooms.take(left(said("$1"), member(BOT, "ban", "$b")))
    assert history(seen) == {"$1": True, "$b": True}
    assert rooms.get(LAB).membership == "leave"
    assert rooms.kept(LAB) == {f"joined:{LAB}": None, f"direct:{LAB}": None}


def test_an_invite_that_is_taken_back_shows_no_events(rooms: Rooms) -> None:
    rooms.take(invited(member(BOT, "invite")))
    assert rooms.take(left(member(BOT, "leave"))) == []


def test_a_restored_snapshot_knows_nothing_of_what_came_after(rooms: Rooms) -> None:
    before = rooms.snapshot()
    rooms.take(joined(before=[member(BOT, "join")]))
    assert rooms.known
    rooms.restore(before)
    assert not rooms.known
    assert rooms.get(LAB) is None


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "type",
                    "state_key",
                    "content",
                    "events",
                    "membership",
                    "unsigned",
                    "prev_content",
                    "timeline",
                    "state",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)
_EVENT = _JSON | st.fixed_dictionaries(
    {"type": st.sampled_from(["m.room.member", "m.room.create", "m.room.name", "m.room.tombstone"]), "content": _JSON},
    optional={"state_key": st.sampled_from(["", BOT, ALICE]) | _JSON, "unsigned": _JSON, "event_id": _JSON},
)
_BLOCK = _JSON | st.fixed_dictionaries(
    {},
    optional={
        "timeline": _JSON | st.fixed_dictionaries({"events": _JSON | st.lists(_EVENT, max_size=3), "limited": _JSON}),
        "state": _JSON | st.fixed_dictionaries({"events": _JSON | st.lists(_EVENT, max_size=3)}),
        "invite_state": _JSON | st.fixed_dictionaries({"events": st.lists(_EVENT, max_size=3)}),
    },
)
_SECTION = _JSON | st.dictionaries(st.sampled_from([LAB, "!", "lab", "!\ud800", ""]), _BLOCK, max_size=3)
_SYNC = st.fixed_dictionaries(
    {"rooms": _JSON | st.dictionaries(st.sampled_from(["join", "leave", "invite", "knock"]), _SECTION, max_size=3)},
)


@given(st.lists(_SYNC, max_size=3))
def test_no_answer_can_stop_it(answers: list[Any]) -> None:
    rooms = Rooms(BOT)
    for answer in answers:
        rooms.gaps(answer)
        for one in rooms.take(answer):
            assert one.room.id == LAB
        rooms.kept(LAB)
