from dataclasses import replace

import pytest

from bot.channels.web.channel import WebChat
from bot.channels.web.guard import Guard
from bot.channels.web.memory import MemoryEntrances, MemoryTimeline
from bot.channels.web.people import Member, Register, Room
from bot.channels.web.words import ENGLISH
from bot.model.errors import ChannelError
from bot.runtime.rulings import Rulings
from policy.decision import GATES
from policy.reasons import Reason
from tests.browser.brain import MEMBERS, ROOMS, Clock


@pytest.mark.parametrize(
    ("rooms", "members", "says"),
    [
        (ROOMS, (*MEMBERS, MEMBERS[0]), "same id"),
        ((*ROOMS, ROOMS[0]), MEMBERS, "same id"),
        (ROOMS, (*MEMBERS, Member(id="desk", name="Desk")), "bot's id"),
        (ROOMS, (*MEMBERS, Member(id="A b", name="A")), "small letters"),
        (ROOMS, (*MEMBERS, Member(id="a", name=" ")), "name"),
        ((Room(id="x", title="X", members=("nobody",)),), MEMBERS, "no members"),
        ((Room(id="x", title="X", members=("mara", "olga"), direct=True),), MEMBERS, "exactly one"),
    ],
)
def test_a_register_that_can_not_hold_is_refused_with_the_mend(rooms, members, says):
    with pytest.raises(ChannelError, match=says):
        Register(desk="demo", bot_name="desk", rooms=rooms, members=members)


def chat(**settings):
    return WebChat(
        desk="demo",
        bot_name="desk",
        rooms=ROOMS,
        members=MEMBERS,
        timeline=MemoryTimeline(),
        entrances=MemoryEntrances(),
        feed=Rulings(),
        clock=Clock(),
        **settings,
    )


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.1", "example.org", "::"])
def test_the_demo_binds_loopback_only(host):
    with pytest.raises(ChannelError, match="loopback only"):
        chat(demo=True, host=host)


def test_the_demo_has_no_public_address():
    with pytest.raises(ChannelError, match="loopback only"):
        chat(demo=True, public_url="https://chat.example.org")


def test_a_chat_that_others_can_reach_needs_its_public_address():
    with pytest.raises(ChannelError, match="public_url"):
        chat(host="0.0.0.0")


@pytest.mark.parametrize("url", ["http://chat.example.org", "https://a.example/path", "ftp://a.example", "https://"])
def test_a_public_address_is_https_and_nothing_but_the_host(url):
    with pytest.raises(ChannelError, match="public_url"):
        chat(public_url=url)


@pytest.mark.parametrize("url", ["https://chat.example.org", "https://chat.example.org:8443/", "http://127.0.0.1:9000"])
def test_a_good_public_address_is_taken(url):
    assert Guard(host="0.0.0.0", public_url=url, demo=False).bound(1) == url.rstrip("/")


async def test_an_invite_for_a_stranger_is_refused():
    with pytest.raises(ChannelError, match="no member"):
        await chat().invite("nobody")


def test_every_reason_and_gate_has_its_words():
    assert {f"reason.{reason.value}" for reason in Reason} <= set(ENGLISH)
    assert {f"gate.{gate.value}" for gate in GATES} <= set(ENGLISH)


def test_names_of_people_stay_out_of_what_is_printed():
    assert "Lindqvist" not in repr(MEMBERS[0]) + repr(ROOMS[0])
    assert replace(MEMBERS[0], name="x") != MEMBERS[0]
