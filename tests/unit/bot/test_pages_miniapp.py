"""Who fills in a form inside Telegram: launch data is believed when it is signed, fresh, and not used elsewhere."""

import hashlib
import hmac
import json
from datetime import UTC, datetime, timedelta
from urllib.parse import urlencode

import pytest
from aiogram.utils.web_app import check_webapp_signature, safe_parse_webapp_init_data
from hypothesis import given
from hypothesis import strategies as st

from bot.config.secret import Secret
from bot.pages.miniapp import MAX_AGE, Doubt, Known, MiniApp

TOKEN = "7001:AbCdEfGhIjKlMnOpQrStUvWxYz0123456"
NOW = datetime(2026, 7, 1, 10, 0, tzinfo=UTC)
USER = {"id": 42, "first_name": "Ann & Bo", "username": "ann", "photo_url": "https://t.me/i/a.svg?x=1&y=2"}


def signed(*, token=TOKEN, at=NOW, **more):
    fields = {"user": json.dumps(USER), "auth_date": str(int(at.timestamp())), "query_id": "AAE", "signature": "x_y"}
    fields = {name: value for name, value in {**fields, **more}.items() if value is not None}
    key = hmac.digest(b"WebAppData", token.encode(), hashlib.sha256)
    text = "\n".join(f"{name}={value}" for name, value in sorted(fields.items()))
    return urlencode({**fields, "hash": hmac.digest(key, text.encode(), hashlib.sha256).hex()})


@pytest.fixture
def app():
    return MiniApp([Secret("7002:another"), Secret(TOKEN)], clock=lambda: NOW)


def test_signed_data_names_the_person(app):
    assert app.check(signed(), link="a") == Known(account="telegram:42")


def test_another_implementation_agrees_about_what_is_signed(app):
    for data in (signed(), signed(start_param="a=b&c"), signed(signature=None), signed(query_id="Ä\nö")):
        assert check_webapp_signature(TOKEN, data)
        parsed = safe_parse_webapp_init_data(TOKEN, data)
        assert app.check(data, link=data) == Known(account=f"telegram:{parsed.user.id}")
    for data in (signed(token="7001:other"), signed()[:-1] + "x"):
        assert not check_webapp_signature(TOKEN, data)
        assert app.check(data, link="a") is Doubt.FORGED


@pytest.mark.parametrize(
    "data",
    [
        "",
        "x",
        "hash=",
        "user=%FF&hash=00",
        "hash=ä",
        "a=1&a=2&hash=00",
        "&".join(f"a{n}=1" for n in range(100)),
        "x" * 100_000,
        signed(user=None),
        signed(user="[]"),
        signed(user="[" * 3000),
        signed(user='{"id": "42"}'),
        signed(user='{"id": true}'),
        signed(user='{"id": -5}'),
        signed(user='{"id": 42, "is_bot": true}'),
        signed(auth_date=None),
        signed(auth_date="²"),
        signed(auth_date="9" * 30),
        signed(auth_date="-1"),
    ],
)
def test_what_is_malformed_is_nobody(app, data):
    assert app.check(data, link="a") in {Doubt.MALFORMED, Doubt.FORGED}


@pytest.mark.parametrize("at", [NOW - MAX_AGE - timedelta(seconds=1), NOW + timedelta(minutes=6)])
def test_data_of_another_time_is_refused(app, at):
    assert app.check(signed(at=at), link="a") is Doubt.OLD


def test_data_counts_for_the_link_with_which_it_came_first_and_for_no_other(app):
    data = signed()
    assert [app.check(data, link=link) for link in "aba"] == [
        Known(account="telegram:42"),
        Doubt.REPLAYED,
        Known(account="telegram:42"),
    ]


def test_forged_data_is_not_remembered(app):
    for number in range(100):
        app.check(signed(token=f"7001:{number}"), link="a")
    assert app._seen == {}


def test_what_is_too_old_to_count_is_forgotten():
    now = NOW
    app = MiniApp([Secret(TOKEN)], clock=lambda: now)
    app.check(signed(), link="a")
    now += MAX_AGE + timedelta(minutes=6)
    app.check(signed(at=now), link="a")
    assert len(app._seen) == 1


@given(st.text(max_size=300))
def test_nothing_raises(data):
    assert isinstance(MiniApp([Secret(TOKEN)], clock=lambda: NOW).check(data, link="a"), Doubt)
