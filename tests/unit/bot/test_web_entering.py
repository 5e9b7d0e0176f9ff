import json
from datetime import timedelta

import aiohttp
import pytest

from bot.channels.web.entering import digest
from bot.channels.web.guard import HEADERS, Budget
from tests.browser.brain import ROOMS, Clock, open_desk
from tests.browser.visitor import visit


@pytest.fixture
async def desk():
    async with open_desk(demo=False) as opened:
        yield opened


async def enter(desk, link, http=None):
    headers = {"Origin": desk.url, "Content-Type": "application/json"}
    async with aiohttp.ClientSession() as own, (http or own).post(link, data="{}", headers=headers) as answer:
        return answer.status, answer.headers.get("Set-Cookie", "")


async def test_opening_a_link_uses_nothing_up_and_pressing_the_button_does(desk):
    link = await desk.chat.invite("mara")
    async with visit(desk) as robot:
        for _ in range(3):
            status, body = await robot.get(link.removeprefix(desk.url))
            assert (status, b"<button" in body) == (200, True)
    assert (await enter(desk, link))[0] == 200
    assert (await enter(desk, link))[0] == 410


async def test_a_link_that_is_too_old_opens_nothing(desk):
    link = await desk.chat.invite("mara")
    desk.clock.ahead = timedelta(days=3)
    assert await enter(desk, link) == (410, "")


async def test_a_guessed_link_opens_nothing(desk):
    assert (await enter(desk, f"{desk.url}/enter/{'A' * 43}"))[0] == 410


async def test_only_digests_are_kept(desk):
    link = await desk.chat.invite("mara")
    token = link.rpartition("/")[2]
    assert digest(token) in desk.entrances._invites
    assert token not in repr(vars(desk.entrances))


async def test_the_session_is_a_cookie_that_scripts_and_other_sites_can_not_use(desk):
    _, cookie = await enter(desk, await desk.chat.invite("mara"))
    parts = {part.strip().lower() for part in cookie.split(";")}
    assert {"httponly", "samesite=strict", "path=/"} <= parts
    assert "secure" not in parts  # loopback


async def test_behind_a_public_address_the_cookie_is_secure_and_bound_to_the_host():
    async with open_desk(demo=False, public_url="https://chat.example.org") as desk:
        link = await desk.chat.invite("mara")
        assert link.startswith("https://chat.example.org/enter/")
        port = desk.chat.address[1]
        headers = {
            "Host": "chat.example.org",
            "Origin": "https://chat.example.org",
            "Content-Type": "application/json",
        }
        path = link.removeprefix("https://chat.example.org")
        async with (
            aiohttp.ClientSession() as http,
            http.post(f"http://127.0.0.1:{port}{path}", data="{}", headers=headers) as answer,
        ):
            cookie = answer.headers["Set-Cookie"]
            assert cookie.startswith("__Host-discreet-demo=")
            assert "; Secure" in cookie


async def test_without_a_session_there_is_nothing_to_see(desk):
    async with visit(desk) as stranger:
        status, body = await stranger.get("/")
        assert (status, b"You need a link" in body) == (403, True)
        for path in ("/api/state", "/api/stream", "/api/rooms/customers/messages", "/rooms/customers/files/x"):
            assert await stranger.get(path) == (401, {"error": "error.session"})
        status, _ = await stranger.post("/api/rooms/customers/messages", {"text": "x", "as": "mara"})
        assert status == 401


async def test_people_are_only_ever_themselves(desk):
    async with visit(desk, enters_as="mara") as mara:
        message = await mara.say("customers", "hello", who="olga")
        assert message["author"]["id"] == "mara"
    await desk.brain.idle()
    assert desk.brain.readings[-1].event.sender == "web:mara"


async def test_people_see_only_rooms_that_they_are_in(desk):
    async with visit(desk, enters_as="jordan") as jordan, visit(desk, enters_as="mara") as mara:
        secret = await mara.say("private", "secret", files=[{"name": "s.txt", "content": "c2VjcmV0"}])
        await desk.brain.idle()
        state = await jordan.state()
        assert [room["id"] for room in state["rooms"]] == ["customers"]
        assert "secret" not in json.dumps(state)
        status, answer = await jordan.get(secret["files"][0]["url"])
        assert (status, answer) == (404, {"error": "error.gone"})
        stolen = secret["files"][0]["url"].replace("/rooms/private/", "/rooms/customers/")
        assert (await jordan.get(stolen))[0] == 404
        assert (await jordan.get("/api/rooms/private/messages"))[0] == 404
        assert await jordan.post("/api/rooms/private/messages", {"text": "x"}) == (404, {"error": "error.gone"})
        assert await jordan.post("/api/rooms/nowhere/messages", {"text": "x"}) == (404, {"error": "error.gone"})
        async with jordan.stream() as stream:
            await mara.say("private", "secret again")
            await mara.say("customers", "for all")
            assert (await stream.next())[2]["text"] == "for all"


async def test_decisions_are_for_operators(desk):
    async with visit(desk, enters_as="mara") as mara, visit(desk, enters_as="olga") as olga:
        await mara.say("customers", "hello")
        await desk.brain.idle()
        async with olga.stream() as stream:
            seen = await stream.until("message", text="hello")
            while "decision" not in seen:
                seen = await stream.until("message", text="hello")
        assert seen["decision"]["reason"] == "no_address"
        assert "decision" not in json.dumps((await mara.state())["messages"])
        assert "audience" not in json.dumps((await mara.state())["rooms"]).replace('"audience": ""', "")
        assert [(await who.state())["decisions"] for who in (mara, olga)] == [False, True]


async def test_a_person_who_leaves_is_gone_and_open_pages_end(desk):
    async with visit(desk, enters_as="mara") as mara:
        async with mara.stream() as stream:
            await mara.say("customers", "one")
            await stream.until("message", text="one")
            await desk.entrances.revoke("mara")
            desk.chat._live.changed("customers")
            with pytest.raises(EOFError):
                await stream.until("nothing")
        assert (await mara.get("/api/state"))[0] == 401


async def test_leaving_ends_the_session(desk):
    async with visit(desk, enters_as="mara") as mara:
        cookies = {cookie.key: cookie.value for cookie in mara.http.cookie_jar}
        assert (await mara.post("/api/leave", {}))[0] == 200
        async with aiohttp.ClientSession(cookies=cookies) as kept, kept.get(f"{desk.url}/api/state") as answer:
            assert answer.status == 401


async def test_a_person_who_is_no_member_any_more_has_no_session():
    async with open_desk(demo=False) as desk, visit(desk, enters_as="mara") as mara:
        cookies = {cookie.key: cookie.value for cookie in mara.http.cookie_jar}
        members = tuple(m for m in desk.chat._register.members.values() if m.id != "mara")
        rooms = tuple(room for room in ROOMS if room.id == "operators")
        async with (
            open_desk(demo=False, entrances=desk.entrances, members=members, rooms=rooms) as later,
            aiohttp.ClientSession(cookies=cookies) as kept,
            kept.get(f"{later.url}/api/state") as answer,
        ):
            assert answer.status == 401


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": ""},
        {"Content-Type": "text/plain"},
        {"Content-Type": "application/x-www-form-urlencoded"},
        {"Host": "evil.example"},
        {"Host": "127.0.0.1"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
async def test_a_post_from_elsewhere_is_refused(desk, headers):
    async with visit(desk, enters_as="mara") as mara:
        status, _ = await mara.post("/api/rooms/customers/messages", {"text": "x"}, headers=headers)
        assert status in (403, 415, 421)
    assert desk.brain.arrivals == []


async def test_no_page_is_given_under_another_name(desk):
    async with visit(desk) as rebound:
        for path in ("/", "/api/state", "/static/app.js", "/enter/x"):
            assert (await rebound.get(path, Host="evil.example"))[0] == 421


async def test_another_site_can_not_read_the_interface(desk):
    async with visit(desk, enters_as="mara") as mara:
        assert (await mara.get("/api/state", **{"Sec-Fetch-Site": "cross-site"}))[0] == 403


async def test_every_answer_carries_the_security_headers(desk):
    async with visit(desk, enters_as="mara") as mara:
        for path in ("/", "/api/state", "/api/stream", "/static/app.js", "/static/none", "/enter/x", "/none"):
            async with mara.http.get(desk.url + path) as answer:
                for name, value in HEADERS.items():
                    assert answer.headers[name] == value, path


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"text": "x" * 8001}, 400),
        ({"text": ""}, 422),
        ({"text": " \n"}, 422),
        ({"text": 3}, 400),
        ({"text": "x", "more": 1}, 400),
        ({"text": "x", "nonce": "short"}, 400),
        ({"text": "x", "nonce": "../../../etc"}, 400),
        ({"text": "x", "mentions": ["desk"] * 51}, 400),
        ({"text": "x", "mentions": ["A B"]}, 400),
        ({"text": "x", "reply": "../x"}, 400),
        ({"text": "x", "files": [{"name": "a", "content": "!!!"}]}, 400),
        ({"text": "x", "files": [{"name": "a" * 401, "content": ""}]}, 400),
        ({"text": "x", "files": [{"name": "a", "content": ""}] * 11}, 400),
        ({"text": "x", "files": [{"name": "a", "content": "A" * 14_000_000}]}, 413),
    ],
)
async def test_what_is_too_much_or_nonsense_is_refused(desk, body, status):
    async with visit(desk, enters_as="mara") as mara:
        found, answer = await mara.post("/api/rooms/customers/messages", body)
        assert found == status, answer
        assert answer["error"].startswith("error.")
    assert desk.brain.arrivals == []


async def test_a_body_without_an_end_is_refused(desk):
    async with visit(desk, enters_as="mara") as mara:
        body = {"text": "x", "files": [{"name": "a", "content": "A" * 15_000_000}]}
        assert (await mara.post("/api/rooms/customers/messages", body))[0] == 413


async def test_control_characters_are_taken_out(desk):
    async with visit(desk, enters_as="mara") as mara:
        assert (await mara.say("customers", "a\x00b\r\nc\x1b[0m"))["text"] == "ab\nc[0m"


async def test_somebody_who_posts_too_fast_has_to_wait():
    clock = Clock()
    budget = Budget(clock, burst=3, seconds_each=10)
    assert [budget.spend("mara") for _ in range(4)] == [True, True, True, False]
    assert budget.spend("olga")
    clock.ahead = timedelta(seconds=11)
    assert [budget.spend("mara"), budget.spend("mara")] == [True, False]


async def test_a_flood_is_refused_over_http(desk):
    async with visit(desk, enters_as="mara") as mara:
        statuses = [(await mara.post("/api/rooms/customers/messages", {"text": "x"}))[0] for _ in range(60)]
    assert statuses[0] == 200
    assert 429 in statuses


async def test_the_number_of_open_pages_is_bounded(desk, monkeypatch):
    monkeypatch.setattr("bot.channels.web.site.MAX_STREAMS", 1)
    async with visit(desk, enters_as="mara") as mara, mara.stream() as one, mara.stream() as two:
        assert (one.status, two.status) == (200, 429)


async def test_names_of_people_can_not_break_the_page():
    from bot.channels.web.people import Member, Room

    hostile = "<script>alert(1)</script>"
    members = (Member(id="mara", name=hostile, operator=True),)
    rooms = (Room(id="customers", title=hostile, members=("mara",)),)
    async with open_desk(demo=False, members=members, rooms=rooms) as desk, visit(desk, enters_as="mara") as mara:
        _, page = await mara.get("/")
        assert hostile.encode() not in page
        assert (await mara.state())["rooms"][0]["title"] == hostile  # as JSON, for textContent
