"""Hosted forms over HTTP, as browsers, robots and strangers come."""

import asyncio
import html
import io
import json
import re
import time

import aiohttp
import pytest

from bot.model.question import QuestionState, Way
from bot.pages.words import ENGLISH
from tests.browser.asked_pages import TOKEN, Kept, forms_served, launch_data

DAY = {"type": "object", "properties": {"day": {"type": "string", "format": "date"}}, "required": ["day"]}
FULL = {
    "type": "object",
    "required": ["name", "pin"],
    "properties": {
        "name": {"type": "string", "title": "Your name", "maxLength": 20},
        "guests": {"type": "integer", "minimum": 1},
        "pin": {"type": "string", "format": "password", "minLength": 4},
    },
}
GONE = (QuestionState.ANSWERED, QuestionState.EXPIRED, QuestionState.CANCELLED)


@pytest.fixture
async def forms():
    async with forms_served() as served:
        yield served


def says(page, key):
    return html.escape(ENGLISH[f"page.{key}"], quote=False).replace("'", "&#39;") in page


async def test_looking_uses_nothing_up_however_often(forms):
    forms.kept.ask(DAY)
    for method in ("HEAD", "GET", "GET"):
        status, page, _ = await forms.get(f"/f/{TOKEN}", method=method)
        assert status == 200
        assert (page == "") is (method == "HEAD")
    assert forms.kept.question().version == 1
    assert forms.kept.submitted == []
    assert "Which day suits you?" in page
    assert 'type="date"' in page


async def test_an_answer_reaches_the_questions_as_typed_values(forms):
    forms.kept.ask(FULL)
    status, page = await forms.post({"f0": "Ann", "f1": "3", "f2": "s3cret"})
    assert status == 200
    assert says(page, "taken.title")
    assert "Ann" in page
    assert "s3cret" not in page
    assert forms.kept.submitted == [
        {"values": {"name": "Ann", "guests": 3, "pin": "s3cret"}, "by": None, "way": Way.FORM, "confirmed": False}
    ]
    assert (await forms.get(f"/f/{TOKEN}"))[0] == 410


async def test_a_wrong_answer_comes_back_with_its_errors_and_what_was_typed_but_for_what_is_masked(forms):
    forms.kept.ask(FULL)
    status, page = await forms.post({"f0": "<b>Ann & co</b>", "f1": "0", "f2": "abc"})
    assert status == 422
    assert "&lt;b&gt;Ann &amp; co&lt;/b&gt;" in page
    assert "<b>Ann" not in page
    assert 'value="0"' in page
    assert "abc" not in page
    assert '<a href="#f1">' in page
    assert 'aria-describedby="f1-hint f1-error"' in page
    assert {error.code for error in forms.kept.refused[0]} == {"below_minimum", "too_short"}
    assert forms.kept.question().state is QuestionState.OPEN


async def test_what_can_not_be_read_is_told_together_with_what_does_not_hold_and_noted_for_the_agent(forms):
    forms.kept.ask(FULL)
    status, page = await forms.post({"f0": "A" * 30, "f1": "three", "f2": ""})
    assert status == 422
    codes = [(error.field, error.code) for error in forms.kept.refused[0]]
    assert codes == [("guests", "not_an_integer"), ("name", "too_long"), ("pin", "missing_required")]
    assert forms.kept.submitted == []
    assert page.count('class="error"') == 3


async def test_the_same_sent_twice_is_one_answer_and_another_one_is_told_so(forms):
    forms.kept.ask(DAY)
    first = await forms.post({"f0": "2026-07-03"})
    again = await forms.post({"f0": "2026-07-03"})
    assert first == again
    status, page = await forms.post({"f0": "2026-07-04"})
    assert status == 409
    assert says(page, "lost.title")
    assert forms.kept.question().answer == {"day": "2026-07-03"}


async def test_the_same_sent_twice_is_one_answer_across_a_restart_too():
    kept = Kept()
    kept.ask(DAY)
    async with forms_served(kept=kept) as forms:
        first = await forms.post({"f0": "2026-07-03"})
    async with forms_served(kept=kept) as forms:
        assert await forms.post({"f0": "2026-07-03"}) == first
        for other in ("2026-07-04", "nonsense", ""):
            status, page = await forms.post({"f0": other})
            assert status == 409
            assert says(page, "lost.title")
            assert "2026-07-03" not in page
        assert (await forms.get(f"/f/{TOKEN}"))[0] == 410


async def test_a_confirmation_sent_twice_across_a_restart_is_thanked_for_and_shows_nothing_again():
    kept = Kept()
    kept.ask(FULL, important=True)
    async with forms_served(kept=kept) as forms:
        _, page = await forms.post({"f0": "Ann", "f2": "s3cret"})
        version = re.search('name="confirm" value="([0-9]+)"', page)[1]
        assert (await forms.post({"confirm": version}))[0] == 200
    async with forms_served(kept=kept) as forms:
        status, page = await forms.post({"confirm": version})
        assert status == 200
        assert says(page, "taken.title")
        assert "Ann" not in page
        assert (await forms.post({"confirm": "1"}))[0] == 409


async def test_a_question_that_is_gone_between_two_looks_is_told_so(forms, monkeypatch):
    forms.kept.ask(DAY)
    forms.kept.change(state=QuestionState.ANSWERED, answer={"day": "2026-07-03"})

    async def closed(_):
        return None

    monkeypatch.setattr(forms.kept, "closed", closed)
    assert (await forms.post({"f0": "2026-07-03"}))[0] == 409


async def test_of_racing_answers_one_wins_and_the_other_is_told_so():
    kept = Kept(waits=asyncio.Barrier(3))
    async with forms_served(kept=kept) as forms:
        kept.ask(DAY)
        async with asyncio.timeout(10):
            answers = await asyncio.gather(*(forms.post({"f0": f"2026-07-0{day}"}) for day in (3, 4, 3)))
    won = kept.question().answer["day"]
    for (status, _), day in zip(answers, ("2026-07-03", "2026-07-04", "2026-07-03"), strict=True):
        assert status == (200 if day == won else 409)
    assert kept.question().version == 2


async def test_an_important_question_wants_a_second_confirmation_of_exactly_what_is_shown(forms):
    forms.kept.ask(FULL, important=True)
    status, page = await forms.post({"f0": "Ann", "f2": "s3cret"})
    assert status == 200
    assert says(page, "confirm.title")
    assert "Ann" in page
    assert "s3cret" not in page
    version = re.search('name="confirm" value="([0-9]+)"', page)[1]
    assert forms.kept.question().answer is None
    assert version in (await forms.get(f"/f/{TOKEN}"))[1]

    forms.kept.change(kept={"name": "Eve", "pin": "0000"})
    status, page = await forms.post({"confirm": version})
    assert status == 409
    assert says(page, "confirm.changed")
    assert "Eve" in page
    assert forms.kept.question().answer is None

    version = re.search('name="confirm" value="([0-9]+)"', page)[1]
    first = await forms.post({"confirm": version})
    assert first[0] == 200
    assert says(first[1], "taken.title")
    assert forms.kept.question().answer == {"name": "Eve", "pin": "0000"}
    assert await forms.post({"confirm": version}) == first
    assert forms.kept.submitted[-1]["confirmed"] is True


async def test_an_answer_that_waits_for_its_confirmation_can_be_changed(forms):
    forms.kept.ask(FULL, important=True)
    await forms.post({"f0": "Ann", "f2": "s3cret"})
    _, page, _ = await forms.get(f"/f/{TOKEN}?change")
    assert 'value="Ann"' in page
    assert "s3cret" not in page
    _, page = await forms.post({"f0": "Bea", "f2": "s3cret"}, path=f"/f/{TOKEN}?change")
    assert says(page, "confirm.title")
    assert "Bea" in page


async def test_a_confirmation_of_nothing_shows_the_form(forms):
    forms.kept.ask(FULL, important=True)
    status, page = await forms.post({"confirm": "1"})
    assert status == 200
    assert 'name="f0"' in page
    assert forms.kept.submitted == []


async def test_a_question_without_fields_is_a_confirmation(forms):
    forms.kept.ask({"type": "object", "properties": {}}, important=True)
    _, page, _ = await forms.get(f"/f/{TOKEN}")
    assert says(page, "confirm.button")
    _, page = await forms.post({})
    assert says(page, "confirm.nothing")
    version = re.search('name="confirm" value="([0-9]+)"', page)[1]
    assert (await forms.post({"confirm": version}))[0] == 200
    assert forms.kept.question().answer == {}


@pytest.mark.parametrize("state", GONE)
async def test_a_dead_link_says_so_politely(forms, state):
    forms.kept.ask(DAY)
    forms.kept.change(state=state, answer={"day": "2026-07-03"})
    status, page, _ = await forms.get(f"/f/{TOKEN}")
    assert status == 410
    assert says(page, f"{state.value}.title")
    status, page = await forms.post({"f0": "2026-07-09"})
    assert status == (409 if state is QuestionState.ANSWERED else 410)
    assert "2026-07-03" not in page
    assert "Which day" not in page


async def test_the_time_of_a_question_ends(forms):
    forms.kept.ask(DAY)
    forms.kept.now = forms.kept.question().expires_at
    status, page = await forms.post({"f0": "2026-07-03"})
    assert status == 410
    assert says(page, "expired.title")


async def test_every_wrong_link_gets_the_same_page(forms):
    forms.kept.ask(DAY)
    pages = {
        (await forms.get(path))[:2]
        for path in ("/f/x", f"/f/{TOKEN}x", "/f/" + "y" * 43, "/f/" + "z" * 3000, "/f/%00", "/f/..%2F..%2Fetc")
    }
    assert len(pages) == 1
    ((status, page),) = pages
    assert status == 404
    assert says(page, "unknown.title")
    for path in ("/", "/f", "/f/", f"/f/{TOKEN}/x", "/static/", "/static/../site.py", "/static/none.css"):
        status, page, _ = await forms.get(path)
        assert status == 404
        assert says(page, "unknown.title")


async def test_somebody_else_is_told_so(forms):
    forms.kept.ask(DAY)
    forms.kept.allowed = frozenset({"telegram:1"})
    status, page = await forms.post({"f0": "2026-07-03"})
    assert status == 403
    assert says(page, "not_yours.title")


async def test_browsers_are_told_what_to_refuse(forms):
    forms.kept.ask(DAY)
    for path in (f"/f/{TOKEN}", "/f/" + "y" * 43, "/nothing"):
        _, page, headers = await forms.get(path)
        assert headers["Content-Security-Policy"] == (
            "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; frame-ancestors 'none'; "
            "base-uri 'none'"
        )
        assert headers["Referrer-Policy"] == "no-referrer"
        assert headers["Cache-Control"] == "no-store"
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert "noindex" in headers["X-Robots-Tag"]
        assert "Server" not in headers
        assert "<script" not in page
        assert " style=" not in page
        assert not re.findall(r"(?:src|href)=\"(?:https?:)?//", page)


async def test_static_files_may_be_kept_and_pages_may_not(forms):
    for name, kind in (("form.css", "text/css"), ("mark.svg", "image/svg+xml"), ("miniapp.js", "text/javascript")):
        status, _, headers = await forms.get(f"/static/{name}")
        assert status == 200
        assert headers["Content-Type"].startswith(kind)
        assert "max-age" in headers["Cache-Control"]
        assert headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
async def test_a_page_elsewhere_can_not_send_by_the_link(forms, site):
    forms.kept.ask(DAY)
    status, _ = await forms.post({"f0": "2026-07-03"}, **{"Sec-Fetch-Site": site})
    assert status == 403
    assert forms.kept.submitted == []
    status, _ = await forms.post({"f0": "2026-07-03"}, **{"Sec-Fetch-Site": "same-origin", "Origin": "null"})
    assert status == 200


@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        (b'{"f0": "2026-07-03"}', {"Content-Type": "application/json"}, 415),
        (b"f0=2026-07-03", {"Content-Type": "text/plain"}, 415),
        (b"f0=2026-07-03", {"Content-Type": "application/x-www-form-urlencoded", "Content-Encoding": "gzip"}, 415),
        (b"f0=%FF", {"Content-Type": "application/x-www-form-urlencoded"}, 400),
        (b"\xff=1", {"Content-Type": "application/x-www-form-urlencoded"}, 400),
        (b"f0=1&" * 6000, {"Content-Type": "application/x-www-form-urlencoded"}, 400),
        (b"f0=" + b"x" * 2_000_000, {"Content-Type": "application/x-www-form-urlencoded"}, 413),
        (b"junk", {"Content-Type": "multipart/form-data"}, 400),
        (b"junk", {"Content-Type": "multipart/form-data; boundary=x"}, 400),
        (b"--x\r\n\r\nnameless\r\n--x--\r\n", {"Content-Type": "multipart/form-data; boundary=x"}, 400),
        (
            b'--x\r\nContent-Disposition: form-data; name="f0"; filename="a.txt"\r\n\r\nfile\r\n--x--\r\n',
            {"Content-Type": "multipart/form-data; boundary=x"},
            400,
        ),
        (
            b'--x\r\nContent-Disposition: form-data; name="f0"\r\n\r\n\xff\r\n--x--\r\n',
            {"Content-Type": "multipart/form-data; boundary=x"},
            400,
        ),
        (
            b"--x\r\nContent-Type: multipart/mixed; boundary=y\r\n\r\n--y\r\n\r\na\r\n--y--\r\n\r\n--x--\r\n",
            {"Content-Type": "multipart/form-data; boundary=x"},
            400,
        ),
    ],
)
async def test_what_is_no_form_is_refused_with_a_page(forms, body, headers, status):
    forms.kept.ask(DAY)
    found, page = await forms.post(io.BytesIO(body), **headers)
    assert found == status
    assert "<h1>" in page
    assert forms.kept.submitted == []


async def test_a_body_without_a_length_is_bounded_too(forms):
    forms.kept.ask(DAY)

    async def endless():
        for _ in range(64):
            yield b"f0=" + b"x" * 65536

    head = {"Content-Type": "application/x-www-form-urlencoded"}
    try:
        status, _ = await forms.post(endless(), **head)
    except aiohttp.ClientError:
        status = 413  # the connection was cut while it was still being sent
    assert status == 413
    parts = aiohttp.FormData(default_to_multipart=True)
    for _ in range(5):
        parts.add_field("f0", "x" * 300_000)
    assert (await forms.post(parts))[0] == 413


async def test_multipart_is_read_like_any_form(forms):
    forms.kept.ask(DAY)
    parts = aiohttp.FormData(default_to_multipart=True)
    parts.add_field("f0", "2026-07-03")
    assert (await forms.post(parts))[0] == 200
    assert forms.kept.question().answer == {"day": "2026-07-03"}


async def test_another_method_is_refused(forms):
    forms.kept.ask(DAY)
    status, page, headers = await forms.get(f"/f/{TOKEN}", method="DELETE")
    assert status == 405
    assert headers["Allow"] == "GET,HEAD,POST"
    assert says(page, "malformed.title")


async def test_a_link_can_be_tried_only_so_often(forms):
    forms.kept.ask(DAY)
    statuses = [(await forms.post({"f0": "never"}))[0] for _ in range(21)]
    assert statuses == [422] * 20 + [429]
    assert (await forms.get(f"/f/{TOKEN}"))[0] == 200


async def test_who_guesses_links_is_stopped_soon_and_others_are_not(forms):
    forms.kept.ask(DAY)
    here, there = {"X-Forwarded-For": "203.0.113.7"}, {"X-Forwarded-For": "203.0.113.8"}
    statuses = [(await forms.get("/f/" + f"{number:043}", **here))[0] for number in range(20)]
    assert statuses[0] == 404
    assert statuses[-1] == 429
    status, page, headers = await forms.get(f"/f/{TOKEN}", **here)
    assert status == 429
    assert int(headers["Retry-After"]) > 0
    assert says(page, "hasty.title")
    assert (await forms.get(f"/f/{TOKEN}", **there))[0] == 200


async def test_a_forwarded_address_is_believed_of_known_proxies_only():
    async with forms_served(proxies=["198.51.100.0/24"]) as forms:
        statuses = [
            (await forms.get("/f/" + f"{number:043}", **{"X-Forwarded-For": f"203.0.113.{number}"}))[0]
            for number in range(20)
        ]
    assert 429 in statuses


async def test_a_store_that_fails_costs_no_one_what_they_wrote(forms, caplog):
    forms.kept.ask(FULL)
    original = forms.kept.submit

    async def submit(*args, **facts):
        forms.kept.broken = True
        return await original(*args, **facts)

    forms.kept.submit = submit
    status, page = await forms.post({"f0": "Ann", "f2": "s3cret"})
    assert status == 503
    assert says(page, "unsent")
    assert 'value="Ann"' in page
    status, page, _ = await forms.get(f"/f/{TOKEN}")
    assert status == 503
    assert says(page, "unavailable.title")
    for word in ("secret", "Ann", TOKEN, "disk"):
        assert word not in caplog.text


async def test_logs_hold_no_tokens_and_no_answers(forms, caplog):
    forms.kept.ask(FULL)
    await forms.post({"f0": "Ann", "f1": "x", "f2": "s3cret"})
    await forms.get(f"/f/{TOKEN}")
    reader, writer = await asyncio.open_connection("127.0.0.1", int(forms.url.rpartition(":")[2]))
    writer.write(f"GET /f/{TOKEN} HTTP/9.9\r\nbroken {TOKEN}\r\n\r\n".encode())
    async with asyncio.timeout(10):
        answer = await reader.read()
    writer.close()
    assert b"400" in answer
    for word in (TOKEN, "Ann", "s3cret"):
        assert word not in caplog.text


@pytest.mark.parametrize("prefix", ["", "/ask", "/a/b"])
async def test_a_proxy_may_put_a_path_before_the_pages_and_leave_it_or_take_it_off(prefix):
    async with forms_served(prefix=prefix) as forms:
        forms.kept.ask(DAY)
        for path in dict.fromkeys((f"/f/{TOKEN}", f"{prefix}/f/{TOKEN}")):
            status, page, _ = await forms.get(path, Host="evil.example.org")
            assert status == 200
            assert "evil" not in page
            assert 'href="../static/form.css?' in page
        assert (await forms.get(f"{prefix}/static/form.css"))[0] == 200
        _, page, _ = await forms.get("/nowhere")
        assert f'href="{prefix}/static/form.css?' in page


@pytest.mark.parametrize(
    ("accepted", "language", "lang"),
    [
        ("de-AT,de;q=0.9,en;q=0.5", "en", "de"),
        ("fr;q=0.9, bg;q=0.8, en;q=0.1", "en", "bg"),
        ("fr", "ru", "ru"),
        ("", "es", "es"),
        ("*", "es", "es"),
        ("de;q=0, en", "es", "en"),
        (", ;;q=x,\x01", "es", "es"),
        ("x" * 5000, "es", "es"),
    ],
)
async def test_a_page_is_in_the_language_that_the_browser_asks_for_or_the_questions(forms, accepted, language, lang):
    forms.kept.ask(DAY, language=language)
    header = {"Accept-Language": accepted} if "\x01" not in accepted else {"Accept-Language": ", ;;q=x"}
    _, page, _ = await forms.get(f"/f/{TOKEN}", **header)
    assert f'<html lang="{lang}">' in page


async def test_the_question_is_shown_as_harmless_markup(forms):
    text = "# Big\n**bold** <script>alert(1)</script> [x](javascript:alert(1)) ![p](https://example.org/p.png)"
    schema = {"type": "object", "properties": {"x": {"type": "string", "title": "<img src=x>", "description": "<i>d"}}}
    forms.kept.ask(schema, text=text)
    _, page, _ = await forms.get(f"/f/{TOKEN}")
    assert "<h2>Big</h2>" in page
    assert "<strong>bold</strong>" in page
    for raw in ("<script", "<img src=x", 'href="javascript', "<i>d", 'p.png"><'):
        assert raw not in page
    assert page.count("<h1>") == 1


# Inside Telegram


async def test_inside_telegram_the_page_knows_who_fills_it_in(forms):
    forms.kept.ask(DAY)
    _, page, headers = await forms.get(f"/m/{TOKEN}")
    assert "script-src 'self'" in headers["Content-Security-Policy"]
    assert "frame-ancestors https://web.telegram.org;" in headers["Content-Security-Policy"]
    assert 'src="../static/miniapp.js?' in page
    status, page = await forms.post({"f0": "2026-07-03", "init_data": launch_data()}, path=f"/m/{TOKEN}")
    assert status == 200
    assert forms.kept.submitted == [
        {"values": {"day": "2026-07-03"}, "by": "telegram:42", "way": Way.MINI_APP, "confirmed": False}
    ]


async def test_without_launch_data_the_link_is_the_access(forms):
    forms.kept.ask(DAY)
    assert (await forms.post({"f0": "2026-07-03", "init_data": ""}, path=f"/m/{TOKEN}"))[0] == 200
    assert forms.kept.submitted[0]["by"] is None
    assert forms.kept.submitted[0]["way"] is Way.FORM


async def test_forged_launch_data_is_refused_and_changes_nothing(forms):
    forms.kept.ask(DAY)
    for data in (launch_data(token="7002:other"), launch_data() + "0", "hash=00", "x" * 9000):
        status, page = await forms.post({"f0": "2026-07-03", "init_data": data}, path=f"/m/{TOKEN}")
        assert status == 403
        assert says(page, "unproven.title")
    assert forms.kept.submitted == []


async def test_launch_data_counts_for_one_question_only(forms):
    forms.kept.ask(DAY)
    forms.kept.ask(DAY, token="u" * 43)
    data = launch_data()
    assert (await forms.post({"f0": "never", "init_data": data}, path=f"/m/{TOKEN}"))[0] == 422
    assert (await forms.post({"f0": "2026-07-03", "init_data": data}, path="/m/" + "u" * 43))[0] == 403
    assert (await forms.post({"f0": "2026-07-03", "init_data": data}, path=f"/m/{TOKEN}"))[0] == 200


async def test_launch_data_on_the_plain_page_is_nothing(forms):
    forms.kept.ask(DAY)
    await forms.post({"f0": "2026-07-03", "init_data": json.dumps({})})
    assert forms.kept.submitted[0]["by"] is None


async def test_without_a_bot_there_is_no_page_for_telegram():
    async with forms_served(telegram=[]) as forms:
        forms.kept.ask(DAY)
        assert (await forms.get(f"/m/{TOKEN}"))[0] == 404


async def test_a_page_is_quick(forms):
    schema = {"type": "object", "properties": {f"x{n}": {"enum": list("abcdefgh")} for n in range(20)}}
    forms.kept.ask(schema)
    await forms.get(f"/f/{TOKEN}")
    started = time.perf_counter()
    for _ in range(5):
        await forms.get(f"/f/{TOKEN}")
    assert time.perf_counter() - started < 2.0


async def test_parts_without_an_end_are_bounded_too(forms):
    forms.kept.ask(DAY)

    async def endless():
        for _ in range(64):
            yield b'--x\r\nContent-Disposition: form-data; name="f0"\r\n\r\n' + b"y" * 65536 + b"\r\n"

    try:
        status, _ = await forms.post(endless(), **{"Content-Type": "multipart/form-data; boundary=x"})
    except aiohttp.ClientError:
        status = 413
    assert status == 413
    assert forms.kept.submitted == []


@pytest.mark.parametrize(
    ("state", "status"),
    [(QuestionState.ANSWERED, 409), (QuestionState.CANCELLED, 410), (QuestionState.OPEN, 200)],
)
async def test_what_happens_between_an_answer_and_its_confirmation_is_told(forms, state, status):
    forms.kept.ask(DAY, important=True)
    original = forms.kept.submit

    async def submit(*args, **facts):
        outcome = await original(*args, **facts)
        forms.kept.change(state=state)
        return outcome

    forms.kept.submit = submit
    found, page = await forms.post({"f0": "2026-07-03"})
    assert found == status
    assert ('name="f0"' in page) is (state is QuestionState.OPEN)


async def test_a_question_that_is_taken_back_while_an_answer_is_under_way_says_so(forms):
    forms.kept.ask(DAY)
    original = forms.kept.submit

    async def submit(*args, **facts):
        forms.kept.change(state=QuestionState.CANCELLED)
        return await original(*args, **facts)

    forms.kept.submit = submit
    status, page = await forms.post({"f0": "2026-07-03"})
    assert status == 410
    assert says(page, "cancelled.title")


async def test_values_that_are_kept_are_filled_in_for_the_next_visit(forms):
    forms.kept.ask(FULL)
    forms.kept.change(kept={"name": "Ann", "pin": "s3cret"})
    _, page, _ = await forms.get(f"/f/{TOKEN}")
    assert 'value="Ann"' in page
    assert "s3cret" not in page
    assert says(page, "kept")
