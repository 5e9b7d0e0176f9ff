"""The pages that want a passkey, over HTTP, as browsers, robots and strangers come (APPR-9)."""

import gzip
import html
import json
import re
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from bot.approvals.passkeys import INVITE_LASTS
from bot.approvals.proofs import encoded
from bot.model.approval import Action, ApprovalState, Gate
from bot.pages.words import ENGLISH
from tests.authenticator import Authenticator
from tests.browser.asked_pages import forms_served
from tests.passkeys import BASE, ORIGIN, approval, bench, gated

HOSTILE = Action(
    name="send <b>now</b>",
    system="mail",
    parameters={
        "to": ["ann@example.org", "eve\u202e@example.org"],
        "text": "Hello,\n\n  <script>alert(1)</script> {{ 7 * 7 }}",
        "order": {"lines": [{"sku": "A-1", "count": 3}], "paid": True, "note": None},
        "reference": "12",
        "empty": "",
        "none": [],
        "ke\u200by": 1,
    },
)
OTHER = Action(name="transfer", system="bank", parameters={"amount": 1})


@asynccontextmanager
async def served(tmp_path, *, prefix="/relay"):
    async with (
        bench(tmp_path) as desk,
        forms_served(passkeys=desk.passkeys, public_url=ORIGIN, prefix=prefix) as forms,
    ):
        yield desk, forms


@pytest.fixture
async def opened(tmp_path):
    async with served(tmp_path) as both:
        yield both


async def sent(forms, path, body, **headers):
    """(status, JSON) of what our script sends."""
    headers = {"Origin": ORIGIN, "Sec-Fetch-Site": "same-origin", "Content-Type": "application/json", **headers}
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    async with forms.http.post(forms.url + path, data=data, headers=headers) as answer:
        assert "script-src 'self'" in answer.headers["Content-Security-Policy"]
        return answer.status, await answer.json()


def titled(answer, name):
    return (answer["title"], answer["sentence"]) == (ENGLISH[f"page.{name}.title"], ENGLISH[f"page.{name}.sentence"])


def rows(page):
    found = re.findall(r"<dt[^>]*>(.*?)</dt><dd[^>]*>(.*?)</dd>", page, re.DOTALL)
    return {html.unescape(name): html.unescape(value) for name, value in found}


async def test_the_page_shows_all_of_the_action_and_nothing_of_it_is_markup_or_hides(opened):
    desk, forms = opened
    one = desk.room.put(approval(HOSTILE, gates=(Gate(name="evaluation", passed=False, detail="not ready"),)))
    status, page, headers = await forms.get(f"/a/{desk.token(one)}")
    assert status == 200
    assert "<script>alert" not in page
    assert "<b>" not in page
    assert "{{ 7 * 7 }}" in page
    shown = rows(page)
    assert shown["to[0]"] == "ann@example.org"
    assert shown["to[1]"] == "eve⟨U+202E⟩@example.org"
    assert shown["text"] == HOSTILE.parameters["text"]
    assert (shown["order.lines[0].sku"], shown["order.lines[0].count"], shown["order.paid"]) == ("A-1", "3", "true")
    assert (shown["order.note"], shown["reference"], shown["empty"], shown["none"]) == ("null", '"12"', '""', "[]")
    assert shown['["ke⟨U+200B⟩y"]'] == "1"
    assert (shown["Action"], shown["System"], shown["Asked by"], shown["Code"]) == (
        "send <b>now</b>",
        "mail",
        "planner",
        "K7QM2",
    )
    assert shown["Reason given"] == "The invoice is due."
    assert shown["evaluation"] == "not met: not ready"
    assert one.version in page
    assert "\u202e" not in page
    assert "\u200b" not in page
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self'; connect-src 'self'" in policy
    assert "unsafe" not in policy
    assert headers["X-Frame-Options"] == "DENY"
    assert headers["Cache-Control"] == "no-store"
    assert re.findall(r"<script[^>]*>[^<]", page) == []
    assert re.findall(r" on\w+=", page) == []


async def test_looking_decides_nothing_however_often(opened):
    desk, forms = opened
    await desk.enrolled(Authenticator())
    one = desk.room.put(approval())
    invite = await desk.invited("eve")
    for path in (f"/a/{desk.token(one)}", f"/relay/a/{desk.token(one)}", f"/k/{invite}"):
        for method in ("HEAD", "GET", "GET"):
            assert (await forms.get(path, method=method))[0] == 200
    assert desk.room.decisions == []
    assert await desk.passkeys.invited(invite) is not None


async def test_a_passkey_approves_on_the_page(opened):
    desk, forms = opened
    device = await desk.enrolled(Authenticator())
    one = desk.room.put(approval())
    path = f"/relay/a/{desk.token(one)}"
    status, answer = await sent(forms, f"{path}/options", {"words": ""})
    assert status == 200
    assert answer["options"]["userVerification"] == "required"
    status, answer = await sent(forms, path, {"credential": device.get(answer["options"], origin=ORIGIN)})
    assert (status, answer["ends"]) == (200, True)
    assert titled(answer, "approved")
    assert desk.room.approvals["ap1"].state is ApprovalState.APPROVED
    status, page, _ = await forms.get(path)
    assert status == 410
    assert "1200.5" not in page


async def test_one_voice_of_two_is_told_so(opened):
    desk, forms = opened
    desk.room.quorum = 2
    device = await desk.enrolled(Authenticator())
    path = f"/a/{desk.token(desk.room.put(approval()))}"
    _, answer = await sent(forms, f"{path}/options", {"words": ""})
    status, answer = await sent(forms, path, {"credential": device.get(answer["options"], origin=ORIGIN)})
    assert status == 200
    assert titled(answer, "counted")


async def test_a_version_that_changed_meanwhile_is_not_approved_and_the_page_says_so(opened):
    desk, forms = opened
    device = await desk.enrolled(Authenticator())
    path = f"/a/{desk.token(desk.room.put(approval()))}"
    _, answer = await sent(forms, f"{path}/options", {"words": ""})
    desk.room.revise(OTHER)
    status, answer = await sent(forms, path, {"credential": device.get(answer["options"], origin=ORIGIN)})
    assert (status, answer["ends"]) == (409, True)
    assert titled(answer, "stale")
    assert (await forms.get(path))[0] == 409
    status, answer = await sent(forms, f"{path}/options", {"words": ""})
    assert titled(answer, "stale")
    assert desk.room.approvals["ap1"].state is ApprovalState.IN_REVIEW


async def test_words_are_asked_for_where_a_gate_is_not_passed(opened):
    desk, forms = opened
    device = await desk.enrolled(Authenticator())
    path = f"/a/{desk.token(desk.room.put(gated()))}"
    _, page, _ = await forms.get(path)
    assert re.search(r'<textarea[^>]*name="text"[^>]* required', page)
    status, answer = await sent(forms, f"{path}/options", {"words": " "})
    assert (status, answer["ends"]) == (422, False)
    assert titled(answer, "words_wanted")
    _, answer = await sent(forms, f"{path}/options", {"words": "Tested by hand."})
    status, answer = await sent(forms, path, {"credential": device.get(answer["options"], origin=ORIGIN)})
    assert titled(answer, "approved")
    assert desk.room.decisions[0]["words"] == "Tested by hand."


async def test_each_refusal_has_its_words(opened):
    desk, forms = opened
    path = f"/a/{desk.token(desk.room.put(approval()))}"
    _, page, _ = await forms.get(path)
    assert ENGLISH["page.approve.nobody"] in page
    assert "<form" not in page
    status, answer = await sent(forms, f"{path}/options", {"words": ""})
    assert titled(answer, "nobody")
    device, eve = await desk.enrolled(Authenticator()), await desk.enrolled(Authenticator(), "eve")

    async def approved(by, **more):
        _, asked = await sent(forms, f"{path}/options", {"words": ""})
        return await sent(forms, path, {"credential": by.get(asked["options"], **{"origin": ORIGIN, **more})})

    status, answer = await approved(device, origin="https://evil.example.org")
    assert (status, answer["ends"], titled(answer, "passkey_refused")) == (403, False, True)
    status, answer = await approved(eve)
    assert (status, answer["ends"], titled(answer, "not_entitled")) == (403, False, True)
    status, answer = await sent(forms, path, {"credential": {}})
    assert (status, answer["ends"], titled(answer, "too_slow")) == (409, False, True)
    await approved(device)
    desk.room.put(approval())
    device.count = 0
    status, answer = await approved(device)
    assert (status, answer["ends"], titled(answer, "passkey_copied")) == (403, True, True)


async def test_a_passkey_is_added_on_the_page_once(opened):
    desk, forms = opened
    token = await desk.invited()
    _, page, _ = await forms.get(f"/k/{token}")
    assert rows(page) == {"It will belong to": "Ann Example"}
    device = Authenticator()
    _, answer = await sent(forms, f"/k/{token}/options", {})
    made = device.create(answer["options"], origin=ORIGIN)
    status, answer = await sent(forms, f"/k/{token}", {"credential": made, "label": "Phone"})
    assert (status, answer["ends"], titled(answer, "enrolled")) == (200, True, True)
    (passkey,) = await desk.store.passkeys.all()
    assert (passkey.id, passkey.label) == (encoded(device.id), "Phone")
    status, page, _ = await forms.get(f"/k/{token}")
    assert status == 410
    assert ENGLISH["page.enrol_gone.sentence"] in page
    status, answer = await sent(forms, f"/k/{token}/options", {})
    assert (status, titled(answer, "enrol_gone")) == (410, True)
    _, page, _ = await forms.get(f"/k/{await desk.invited()}")
    assert rows(page)["Passkeys so far"] == "1"


async def test_an_invite_that_is_too_old_says_so_politely(opened):
    desk, forms = opened
    token = await desk.invited()
    desk.room.now += INVITE_LASTS
    status, page, _ = await forms.get(f"/k/{token}", **{"Accept-Language": "de"})
    assert status == 410
    assert "Dieser Link ist verbraucht" in page


async def test_what_comes_from_elsewhere_or_is_no_json_of_ours_is_refused(opened):
    desk, forms = opened
    await desk.enrolled(Authenticator())
    path = f"/a/{desk.token(desk.room.put(approval()))}"
    options = f"{path}/options"
    for headers in ({"Origin": "https://evil.example.org"}, {"Sec-Fetch-Site": "cross-site"}):
        status, answer = await sent(forms, options, {"words": ""}, **headers)
        assert (status, titled(answer, "malformed")) == (403, True)
    for body, headers, refused in (
        (b"words=", {"Content-Type": "application/x-www-form-urlencoded"}, 415),
        (gzip.compress(b"{}"), {"Content-Encoding": "gzip"}, 415),
        (b"{", {}, 400),
        (b"[]", {}, 400),
        (b"[" * 9_000, {}, 400),
        (b'{"words": 5}', {}, 400),
        (b" " * 70_000, {}, 413),
    ):
        status, answer = await sent(forms, options, body, **headers)
        assert status == refused, body[:9]
    for body in ({}, {"credential": 5}, {"credential": {}, "label": 5}):
        assert (await sent(forms, f"/k/{await desk.invited()}", body))[0] == 400
    assert (await sent(forms, path, {"credential": None}))[0] == 400
    assert desk.room.decisions == []


async def test_addresses_that_lead_nowhere_cost_whoever_tries_them(opened):
    desk, forms = opened
    token = desk.token(desk.room.put(approval()))
    statuses = [(await forms.get(f"/a/ap1.{n:016x}.{token[-43:]}"))[0] for n in range(20)]
    assert statuses[0] == 404
    assert statuses[-1] == 429


async def test_what_is_sent_too_often_waits(opened):
    desk, forms = opened
    path = f"/a/{desk.token(desk.room.put(approval()))}/options"
    statuses = [(await sent(forms, path, {"words": ""}))[0] for _ in range(22)]
    assert statuses[0] == 409
    assert statuses[-1] == 429


async def test_forms_alone_have_no_pages_for_passkeys(tmp_path):
    async with bench(tmp_path) as desk, forms_served() as forms:
        assert (await forms.get(f"/a/{desk.token(desk.room.put(approval()))}"))[0] == 404


async def test_a_store_that_fails_is_told_as_such(opened, monkeypatch):
    desk, forms = opened
    token = await desk.invited()
    _, answer = await sent(forms, f"/k/{token}/options", {})
    made = Authenticator().create(answer["options"], origin=ORIGIN)
    await desk.store.close()
    status, answer = await sent(forms, f"/k/{token}", {"credential": made, "label": ""})
    assert (status, answer["ends"], titled(answer, "unavailable")) == (503, False, True)


async def test_the_address_leads_through_a_proxy_that_keeps_its_path(opened):
    desk, forms = opened
    one = desk.room.put(replace(approval(), expires_at=None))
    address = desk.addresses.approval(one.id, one.version)
    assert address.startswith(f"{BASE}/a/")
    status, page, _ = await forms.get(address.removeprefix(ORIGIN))
    assert status == 200
    assert 'src="../static/passkey.js' in page
    assert "It can be decided until" not in page
