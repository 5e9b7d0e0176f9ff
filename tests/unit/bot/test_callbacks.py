"""The room of callbacks: which addresses may be called, how it is signed, when it is tried again, when it ends."""

import asyncio
import hashlib
import hmac
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta

import pytest
from agentapprovalprotocol.receiver import verify
from standardwebhooks import Webhook

from bot.callbacks.addresses import allowed
from bot.callbacks.posting import Poster
from bot.callbacks.room import AT_ONCE, CallbackRoom
from bot.callbacks.signing import STANDARD, SecretError, sign_a2h, sign_standard
from bot.config.secret import Secret
from bot.config.settings import CallbackAddress
from bot.model.callback import CallbackState
from bot.model.errors import CallbackError
from bot.ports.callbacks import GoneError
from bot.storage.store import Store
from tests.agents_desk import SECRET, receiving
from tests.harness import Clock

OTHER = "whsec_" + "QUFB" * 8
FLOWS = CallbackAddress(to="https://flows.example.org/resume", secrets=(Secret(SECRET),))
WHOLE = CallbackAddress(to="https://open.example.org", secrets=(Secret(SECRET),), agents=frozenset({"main"}))
INNER = CallbackAddress(to="https://10.0.0.7:8443", secrets=(Secret(SECRET),))
HERE = CallbackAddress(to="http://127.0.0.1:5678", secrets=(Secret(SECRET),), allow_private=True)
ALL = (FLOWS, WHOLE, INNER, HERE)


@pytest.mark.parametrize(
    "url",
    [
        "https://flows.example.org/resume",
        "https://flows.example.org/resume/17?signature=ab%3D%3D&x=1",
        "https://flows.example.org:443/resume/17/",
        "https://open.example.org/anything",
        "http://127.0.0.1:5678/webhook-waiting/17?signature=0f",
    ],
)
def test_addresses_that_continue_an_entry_may_be_called_with_their_query(url):
    found, _ = allowed(url, ALL, agent="main")
    assert str(found) == url.replace(":443", "")


@pytest.mark.parametrize(
    "url",
    [
        "http://flows.example.org/resume/17",  # another scheme
        "https://flows.example.org:8443/resume/17",
        "https://flows.example.org/resumes",
        "https://flows.example.org/",
        "https://flows.example.org/resume/../admin",
        "https://flows.example.org/resume/%2e%2e/admin",
        "https://flows.example.org/resume/..%2fadmin",
        "https://flows.example.org/resume/..\\admin",
        "https://flows.example.org/resume//admin",
        "https://flows.example.org/resume/..",
        "https://flows.example.org/resume/17#a",
        "https://me:too@flows.example.org/resume/17",
        "https://flows.example.org@127.0.0.1/resume/17",
        "https://flows.example.org.evil.test/resume/17",
        "https://127.0.0.1/resume/17",
        "https://10.0.0.7:8443/inside",  # listed, but private, and that was not said
        "http://localhost:5678/webhook-waiting/17",
        "http://[::1]:5678/webhook-waiting/17",
        "http://2130706433:5678/webhook-waiting/17",
        "https://flows.example.org:99999/resume",
        "https://flows.example.org/resume/\n17",
        "https://flows.example.org/resume/ä",
        "file:///etc/passwd",
        "https:///resume",
        "",
        "https://flows.example.org/resume/" + "a" * 2_000,
    ],
)
def test_every_other_address_is_refused_and_not_repeated(url):
    with pytest.raises(CallbackError) as error:
        allowed(url, ALL, agent="main")
    assert not url or url not in str(error.value)


def test_an_entry_may_be_for_some_agents_alone():
    allowed("https://open.example.org/a", ALL, agent="main")
    with pytest.raises(CallbackError):
        allowed("https://open.example.org/a", ALL, agent="other")


def test_a_signature_is_that_of_standard_webhooks_with_each_secret():
    body = b'{"id": "m1"}'
    at = int(Clock()().timestamp())
    headers = sign_standard("m1", at, body, [Secret(SECRET), Secret(OTHER)])
    for secret in (SECRET, OTHER):
        assert Webhook(secret).verify(body, headers) == {"id": "m1"}
        assert verify(secret, headers, body) == {"id": "m1"}
    with pytest.raises(ValueError, match="signature"):
        verify(SECRET, headers, body + b" ")


def test_a_signature_is_that_of_a2h():
    headers = sign_a2h("m1", 1_700_000_000, b"{}", [Secret("shared")])
    assert headers["X-A2H-Delivery-ID"] == "m1"
    digest = hmac.new(b"shared", b"1700000000.{}", hashlib.sha256).hexdigest()
    assert headers["X-A2H-Signature"] == f"t=1700000000,v1={digest}"


@pytest.mark.parametrize("secret", ["plain", "whsec_", "whsec_AAAA", "whsec_!!!!", "whsec_" + "A" * 400])
def test_a_secret_that_is_none_can_not_sign_and_is_not_repeated(secret):
    with pytest.raises(SecretError) as error:
        sign_standard("m", 1, b"", [Secret(secret)])
    assert len(secret) < 7 or secret not in str(error.value)


# the room


class Subjects:
    """What ends, by id."""

    def __init__(self):
        self.ended = {}

    async def tell(self, callback):
        if callback.subject == "gone":
            raise GoneError
        if callback.subject == "broken":
            raise ValueError("SYNTHETIC")
        return self.ended.get(callback.subject)


@asynccontextmanager
async def room_on(folder, *entries, clock=None, scheme=STANDARD):
    store = await Store.open(folder / "store.db")
    subjects, poster = Subjects(), Poster()
    room = CallbackRoom(
        store=store.callbacks,
        addresses=entries,
        poster=poster,
        clock=Clock() if clock is None else clock,
        schemes={"standard": scheme},
    )
    room.take("thing", subjects.tell)
    try:
        yield room, subjects, store
    finally:
        for task in room._sending:
            task.cancel()
        await asyncio.gather(*room._sending, return_exceptions=True)
        await poster.close()
        await store.close()


async def looked(room):
    await room.look()  # what has ended becomes due in the same look
    await asyncio.wait_for(room.idle(), 20)


def entry(receiver, **more):
    return CallbackAddress(to=receiver.url, secrets=(Secret(SECRET),), allow_private=True, **more)


async def test_what_has_ended_is_told_once_signed_and_under_one_id(tmp_path):
    async with receiving() as receiver, room_on(tmp_path, entry(receiver)) as (room, subjects, _):
        armed = await room.arm(agent="main", kind="thing", subject="a", url=f"{receiver.url}/r/1?s=2")
        again = await room.arm(agent="main", kind="thing", subject="a", url=f"{receiver.url}/r/1?s=2")
        assert again == armed
        await looked(room)
        assert receiver.came == []
        subjects.ended["a"] = b'{"type":"x"}'
        await looked(room)
        await looked(room)
        ((path, headers, body),) = receiver.came
        assert path == "/r/1?s=2"
        assert headers["webhook-id"] == armed.id
        assert Webhook(SECRET).verify(body, headers) == {"type": "x"}
        told = await room.of("thing", "a")
        assert (told.state, told.body, told.attempts) == (CallbackState.DELIVERED, None, 1)


async def test_a_receiver_that_fails_is_tried_again_after_longer_and_longer_pauses_and_then_given_up(tmp_path):
    clock = Clock()
    async with receiving() as receiver, room_on(tmp_path, entry(receiver), clock=clock) as (room, subjects, _):
        receiver.answers = [500, 302, 404, 503]
        await room.arm(agent="main", kind="thing", subject="a", url=f"{receiver.url}/x")
        subjects.ended["a"] = b"{}"
        await looked(room)
        for pause in STANDARD.again_after_s:
            made = len(receiver.came)
            clock.offset += timedelta(seconds=pause - 3)
            await looked(room)
            assert len(receiver.came) == made
            clock.offset += timedelta(seconds=6)
            await looked(room)
            assert len(receiver.came) == made + 1
        assert len({headers["webhook-id"] for _, headers, _ in receiver.came}) == 1
        assert {path for path, _, _ in receiver.came} == {"/x"}  # a redirect is not followed
        assert (await room.of("thing", "a")).state is CallbackState.FAILED
        clock.offset += timedelta(days=2)
        await looked(room)
        assert len(receiver.came) == 1 + len(STANDARD.again_after_s)


async def test_gone_ends_it_at_once_and_so_does_an_address_that_is_not_allowed_any_more(tmp_path):
    async with receiving() as receiver, room_on(tmp_path, entry(receiver)) as (room, subjects, _):
        receiver.answers = [410]
        for subject in ("a", "b"):
            await room.arm(agent="main", kind="thing", subject=subject, url=f"{receiver.url}/{subject}")
        subjects.ended["a"] = b"{}"
        await looked(room)
        assert (await room.of("thing", "a")).state is CallbackState.FAILED
        subjects.ended["b"] = b"{}"
        room._addresses = ()
        await looked(room)
        assert (await room.of("thing", "b")).state is CallbackState.FAILED
        assert len(receiver.came) == 1


async def test_another_address_for_the_same_subject_takes_the_place_of_the_one_before(tmp_path):
    async with receiving() as receiver, room_on(tmp_path, entry(receiver)) as (room, subjects, _):
        await room.arm(agent="main", kind="thing", subject="a", url=f"{receiver.url}/1")
        subjects.ended["a"] = b"{}"
        await looked(room)
        await room.arm(agent="main", kind="thing", subject="a", url=f"{receiver.url}/2")
        await looked(room)
        assert [path for path, _, _ in receiver.came] == ["/1", "/2"]


async def test_what_a_crash_cut_off_is_told_again_under_its_id(tmp_path):
    clock = Clock()
    async with receiving() as receiver:
        async with room_on(tmp_path, entry(receiver), clock=clock) as (room, subjects, _):
            receiver.hang = asyncio.Event()
            armed = await room.arm(agent="main", kind="thing", subject="a", url=f"{receiver.url}/1")
            await room.arm(agent="main", kind="thing", subject="b", url=f"{receiver.url}/2")
            subjects.ended["a"] = b"{}"
            await room.look()
            await receiver.wait()
        receiver.hang = None
        async with room_on(tmp_path, entry(receiver), clock=clock) as (room, subjects, _):
            subjects.ended["b"] = b"{}"  # it ended while nobody was there
            clock.offset += timedelta(seconds=60)
            await looked(room)
            assert [headers["webhook-id"] for path, headers, _ in receiver.came if path == "/1"] == [armed.id] * 2
            assert receiver.came[-1][0] in ("/1", "/2")
            assert len(receiver.came) == 3


async def test_a_receiver_that_hangs_holds_up_its_own_agent_alone(tmp_path):
    async with (
        receiving() as slow,
        receiving() as quick,
        room_on(tmp_path, entry(slow), entry(quick)) as (room, subjects, _),
    ):
        slow.hang = asyncio.Event()
        for number in range(AT_ONCE * 3):
            await room.arm(agent="slow", kind="thing", subject=f"s{number}", url=f"{slow.url}/{number}")
            subjects.ended[f"s{number}"] = b"{}"
        await room.look()
        await slow.wait(AT_ONCE)
        await room.arm(agent="quick", kind="thing", subject="q", url=f"{quick.url}/q")
        subjects.ended["q"] = b"{}"
        await room.look()
        await quick.wait()
        assert len(slow.came) == AT_ONCE
        slow.hang.set()


async def test_one_that_can_not_be_made_holds_up_no_other_and_one_whose_subject_is_gone_is_void(tmp_path, capsys):
    async with receiving() as receiver, room_on(tmp_path, entry(receiver)) as (room, subjects, _):
        for subject in ("broken", "gone", "a"):
            await room.arm(agent="main", kind="thing", subject=subject, url=f"{receiver.url}/{subject}")
        subjects.ended["a"] = b"{}"
        await looked(room)
        assert [path for path, _, _ in receiver.came] == ["/a"]
        assert (await room.of("thing", "gone")).state is CallbackState.VOID
        assert (await room.of("thing", "broken")).state is CallbackState.WAITING
    assert "SYNTHETIC" not in capsys.readouterr().out


async def test_a_name_that_leads_to_this_machine_is_called_only_where_the_entry_says_so(tmp_path):
    async with receiving() as receiver:
        url = receiver.url.replace("127.0.0.1", "localhost")
        closed = CallbackAddress(to=url, secrets=(Secret(SECRET),))
        for number, one in enumerate((closed, replace(closed, allow_private=True))):
            async with room_on(tmp_path, one) as (room, subjects, _):
                await room.arm(agent="main", kind="thing", subject=f"a{number}", url=f"{url}/x")
                subjects.ended[f"a{number}"] = b"{}"
                await looked(room)
                assert len(receiver.came) == number


async def test_an_agents_own_secret_signs_and_is_gone_when_it_is_over(tmp_path):
    async with (
        receiving() as receiver,
        room_on(tmp_path, CallbackAddress(to=receiver.url, allow_private=True)) as (room, subjects, store),
    ):
        with pytest.raises(CallbackError, match="no secret"):
            room.check(f"{receiver.url}/a", agent="main")
        await room.arm(agent="main", kind="thing", subject="a", url=f"{receiver.url}/a", secret=Secret(OTHER))
        subjects.ended["a"] = b"{}"
        await looked(room)
        assert Webhook(OTHER).verify(receiver.came[0][2], receiver.came[0][1]) == {}
        assert (await room.of("thing", "a")).secret is None
        now = Clock()() + timedelta(days=1)
        assert await store.callbacks.sweep(now=now, contents_before=now) == 1
        assert await room.of("thing", "a") is None
