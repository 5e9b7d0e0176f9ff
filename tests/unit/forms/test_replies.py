"""A whole reply under a question: which lines answer which field, and what is asked again."""

import json
from time import process_time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forms.replies import Reply, ReplyError, read_reply
from forms.schema import Form
from forms.selection import is_weak
from forms.validation import Judge
from tests.unit.forms.replying import (
    BOOLEAN,
    INTEGER,
    NUMBER,
    TEXT,
    TODAY,
    berlin,
    form,
    formatted,
    outcome,
    ranged,
    read,
    several,
)

PERSON = form("name", "age", name=TEXT | {"title": "Full name"}, age=INTEGER | {"title": "Возраст"})
ANN = {"name": "Ann", "age": 31}
ONE = form("code", code=TEXT)


@pytest.mark.parametrize(
    "text",
    [
        "name: Ann\nage: 31",
        "NAME : Ann\nＡＧＥ：３１",
        "Full Name: Ann\nвозраст: 31",
        "full_name: Ann\nВОЗРАСТ: 31",
        "name=Ann\nage = 31",
        "name → Ann\nage -> 31",
        "name - Ann\nage — 31",
        "\ufeffname\u00a0: Ann\r\nage\u202f: 31",
        "- name: Ann\n• age: 31",
        "1. name: Ann\n2) age: 31",
        "* **name**: Ann\n* **age:** 31",
        "__name__: Ann\n`age`: 31",
        "### name: Ann\n### age: 31",
        '"name": Ann\n“age”: 31',
        '"name: Ann"\n"age: 31"',
        '"name": "Ann",\n"age": 31',
        "```\nname: Ann\nage: 31\n```",
        "~~~yaml\nname: Ann\nage: 31\n~~~",
        "Here you are:\n\n```\nname: Ann\nage: 31\n```\nThanks!",
        "age: 31\n```\nname: Ann\n```",
        "Hi!\nname: Ann\n\n\nage: 31\nThank you!",
        "name:\nAnn\nage:\n31",
        "age: 31 name: Ann",
        "name: Ann, age: 31",
        "name: Ann; age: 31",
        "name:Ann,age:31",
        "age: 31;name: Ann",
        "> name: Eve\n> age: 7\n\nname: Ann\nage: 31",
        "> <@bot:example.org> name, age?\n\nname: Ann\nage: 31",
        '{"name": "Ann", "age": 31}',
        '{"NAME": "Ann", "Возраст": "31"}',
        '```json\n{"name": "Ann", "age": 31}\n```',
        'Sure:\n```json\n{"name": "Ann",\n"age": 31}\n```\nthanks',
        "{“name”: “Ann”, “age”: 31}",
        "{'name': 'Ann', 'age': 31,}",
        "{«name»：„Ann“，\u00a0“age”: 31}",
    ],
)
def test_fields_are_found_by_name_or_title_whatever_is_around_them(text: str) -> None:
    assert outcome(PERSON, text) == ANN


@pytest.mark.parametrize(
    ("text", "outcome_"),
    [
        ("name: Ann\nagee: 31", ["missing_required:age", "unknown_field:agee"]),
        ("nmae: Ann\nage: 31", ["missing_required:name", "unknown_field:nmae"]),
        ("name: Ann\nage: 31\nfoo: bar\nmore of it", ["unknown_field:foo"]),
        ("name: Ann\nage: 31\nand then some\nwords", ["unparseable"]),
        ("some words\nname: Ann\nage: 31", ["unparseable"]),
        ("name: Ann\nname: Eve\nage: 31", ["duplicate_field:name"]),
        ("name: Ann\nage: x\nage: 31", ["duplicate_field:age"]),
        ("name: Ann\nage:\nage: 31", ["duplicate_field:age"]),
        ("name: Ann\nage: abc", ["not_an_integer:age"]),
        ("name: Ann\nage:", ["missing_required:age"]),
        ("name: Ann", ["missing_required:age"]),
        ("age: 31", ["missing_required:name"]),
        ("name: Ann age: 31", ["ambiguous_field:name", "missing_required:age"]),
        ("name: Ann, age 31", ["ambiguous_field:name", "missing_required:age"]),
        ("Ann", ["missing_required:name", "missing_required:age", "unparseable"]),
        ("", ["missing_required:name", "missing_required:age"]),
        ("> name: Ann\n> age: 31", ["missing_required:name", "missing_required:age"]),
        ('{"name": "Ann", "age": 31, "age": 32}', ["duplicate_field:age"]),
        ('{"name": "Ann", "age": 31, "AGE": 32}', ["duplicate_field:age"]),
        ('{"name": "Ann", "age": NaN}', ["not_an_integer:age"]),
        ('{"name": "Ann", "age": 1e999}', ["not_an_integer:age"]),
        ('{"name": [NaN], "age": 31}', ["wrong_type:name"]),
        ('{"name": {"x": 1}, "age": 31}', ["wrong_type:name"]),
        ('{"name": "Ann", "age": true}', ["not_an_integer:age"]),
        ('{"name": "Ann", "age": ""}', ["missing_required:age"]),
        ('{"name": "Ann", "age": 31, "ag": 32}', ["unknown_field:ag"]),
        ('{"name": "Ann"', ["missing_required:name", "missing_required:age", "unparseable"]),
        ('{"name": "Ann"} {"age": 31}', ["missing_required:name", "missing_required:age", "unparseable"]),
        ("{name: Ann, age: 31}", ["missing_required:name", "missing_required:age", "unparseable"]),
        ("{“name", ["missing_required:name", "missing_required:age", "unparseable"]),
        ("{“name”: “A\\”}", ["missing_required:name", "missing_required:age", "unparseable"]),
        ('{"age": ' + "9" * 5000 + "}", ["missing_required:name", "missing_required:age", "unparseable"]),
        ('{"age": ' + "[" * 90_000 + "}", ["missing_required:name", "missing_required:age", "unparseable"]),
        ('{"age": "' + "9" * 200_000 + '"}', ["missing_required:name", "missing_required:age", "unparseable"]),
    ],
)
def test_what_fits_no_field_or_is_missing_is_named(text: str, outcome_: list[str]) -> None:
    got = outcome(PERSON, text)

    assert sorted(got) == sorted(outcome_)


def test_an_error_says_the_line_the_nearest_name_and_the_readings() -> None:
    asked = form("due", due=formatted("date"), total=NUMBER)

    got = read(asked, "duee: x\n???\ntotal: 03/04\ndue: 03/04/2026")

    assert got == Reply(
        values={},
        errors=(
            ReplyError(field="due", code="ambiguous_date", readings=("2026-04-03", "2026-03-04")),
            ReplyError(field="total", code="not_a_number"),
            ReplyError(field="duee", code="unknown_field", nearest="due", line=1),
        ),
    )


def test_a_name_that_is_turned_round_is_near_and_another_word_is_not() -> None:
    got = read(PERSON, "age: 31\naeg: 32\nstatus: x\nage of dog")

    assert [(error.code, error.nearest) for error in got.errors if isinstance(error, ReplyError) and error.line] == [
        ("unknown_field", "age"),
        ("unknown_field", ""),
    ]


def test_right_fields_of_a_partly_wrong_reply_are_kept_and_only_the_others_asked() -> None:
    first = read(PERSON, "name: Ann\nage: abc")
    second = read(PERSON, "31", kept=first.values)
    third = read(PERSON, "age: 32\nname: Eve", kept=first.values)
    again = read(PERSON, "age: x", kept={**second.values, "gone": 1})

    assert (dict(first.values), dict(second.values), dict(third.values)) == (
        {"name": "Ann"},
        ANN,
        {"name": "Eve", "age": 32},
    )
    assert dict(again.values) == {"name": "Ann"}


def test_a_kept_value_can_be_taken_back() -> None:
    asked = form("name", name=TEXT, note=TEXT)

    assert outcome(asked, "note:", kept={"name": "Ann", "note": "x"}) == {"name": "Ann"}


def test_a_bare_value_is_for_the_one_field_that_is_still_open() -> None:
    asked = form("name", "age", name=TEXT, age=INTEGER, note=TEXT)

    assert outcome(asked, "31", kept={"name": "Ann"}) == ANN
    assert outcome(asked, "late", kept=ANN) == {**ANN, "note": "late"}
    assert outcome(asked, "31", kept={"note": "x"}) == [
        "missing_required:name",
        "missing_required:age",
        "unparseable",
    ]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("wrong version: 1.4.3", "wrong version: 1.4.3"),
        ("code: wrong version", "wrong version"),
        ("Code：x", "x"),
        ("code = x", "x"),
        ("Code - late", "Code - late"),
        ("code: https://example.org:8443/a?b=c:d", "https://example.org:8443/a?b=c:d"),
        ("hello\ncode: b", "hello\ncode: b"),
        ("- a\n- b", "- a\n- b"),
        ("> question\nmine\n> more", "mine"),
        ("```\nBerlin\n```", "Berlin"),
        ("```\na\n```\n\n```\nb\n```", "```\na\n```\n\n```\nb\n```"),
        ("```\na", "```\na"),
        ("a\n```", "a\n```"),
        ("code:\n```py\nx: 1\ncode: 2\n\n> 3\n```\nend", "```py\nx: 1\ncode: 2\n\n> 3\n```\nend"),
        ("{foo}", "{foo}"),
        ('{"other": "x"}', '{"other": "x"}'),
        ('{"code": "x"}', "x"),
        ('{"code": "a\nb \\" c"}', 'a\nb " c'),
        ("{‘code’: ‘it’s\\' fine’}", "it’s' fine"),
        ("“x”", "“x”"),
        ('"x": y', '"x": y'),
        ("code: // x", "// x"),
        ("code://x", "code://x"),
    ],
)
def test_where_one_field_is_asked_its_name_is_optional_and_a_colon_in_prose_is_no_name(text: str, value: str) -> None:
    assert outcome(ONE, text) == {"code": value}


def test_a_name_said_twice_is_asked_even_where_one_field_is_asked() -> None:
    assert outcome(ONE, "code: a\ncode: b") == ["duplicate_field:code"]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("- 5", ["ambiguous_number:x"]),
        ("-5", {"x": -5}),
        ("* 5", {"x": 5}),
        ("• 5", {"x": 5}),
        ("- x", ["not_a_number:x"]),
    ],
)
def test_a_bullet_before_a_bare_number_may_be_its_sign(text: str, value: Any) -> None:
    assert outcome(form("x", x=NUMBER), text) == value


def test_bullets_before_other_bare_values_are_bullets() -> None:
    asked = form("x", x={"enum": ["red", "- x", "x"]})

    assert outcome(asked, "- red") == {"x": "red"}
    assert outcome(asked, "x: - x") == {"x": "- x"}
    assert outcome(asked, "- x") == ["ambiguous_choice:x"]
    assert outcome(form("x", x={"enum": ["red", "- x"]}), "- x") == {"x": "- x"}
    assert outcome(form("x", x=NUMBER), "- 12,345", "") == ["ambiguous_number:x"]
    assert outcome(form("x", x=several("red", "green")), "- red\n- green") == {"x": ["red", "green"]}
    assert outcome(form("x", x=formatted("date")), "- 3/4/2026") == ["ambiguous_date:x"]


def test_a_dash_is_a_separator_where_the_value_is_no_free_text() -> None:
    assert outcome(form("due", due=formatted("date")), "Due - 3 April 2026") == {"due": "2026-04-03"}
    assert outcome(form("due", due=formatted("date")), "hm\ndue: 3 April 2026") == ["unparseable"]


NOTES = form("title", "body", title=TEXT, body=TEXT)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (
            "title: Release\nbody: first line\n\nsecond paragraph\nstatus: still part of the body",
            {"title": "Release", "body": "first line\n\nsecond paragraph\nstatus: still part of the body"},
        ),
        ("body: a\n b\ntitle: T", {"title": "T", "body": "a\n b"}),
        (
            "title: T\nbody: see http://x, time 12:30\nhttps://y: z",
            {"title": "T", "body": "see http://x, time 12:30\nhttps://y: z"},
        ),
        ("title: T\nbody:\n```\ntitle: code\n```\nend", {"title": "T", "body": "```\ntitle: code\n```\nend"}),
        ("title: T\nbody: see\n```\nx = 1\n```", {"title": "T", "body": "see\n```\nx = 1\n```"}),
        ("body: see\n```\ntitle: T\n```", {"title": "T", "body": "see"}),
        ("title: T\nbody: a\n```", {"title": "T", "body": "a"}),
        ("title: T\nbody: http://x/?a,title:b", {"title": "T", "body": "http://x/?a,title:b"}),
        ('title: "a, body: b", body: c', {"title": '"a, body: b"', "body": "c"}),
        ('title: "a, body: b', {"title": '"a', "body": "b"}),
        ("title: Smith, Ann\nbody: x", {"title": "Smith, Ann", "body": "x"}),
        ("title: T\nbody: titel: slip of a given name", {"title": "T", "body": "titel: slip of a given name"}),
        ("title: T\nbody: a\ntitel: slip", {"title": "T", "body": "a\ntitel: slip"}),
        ("title: T\nboddy: a\nbody: b", {"title": "T\nboddy: a", "body": "b"}),
    ],
)
def test_only_names_of_the_form_start_a_field_and_other_words_stay_text(text: str, value: dict[str, str]) -> None:
    assert outcome(NOTES, text) == value


def test_a_closed_form_asks_about_a_word_and_colon_right_under_a_line_but_not_in_a_long_text() -> None:
    closed = form("name", strict=True, name=TEXT, note=TEXT)

    assert outcome(closed, "name: Ann\ncolour: red") == ["unknown_field:colour"]
    assert outcome(closed, "name: Ann\nmore to say: red") == {"name": "Ann\nmore to say: red"}
    assert outcome(closed, "name: Ann\nnote: one\ntwo\nthree: x") == {"name": "Ann", "note": "one\ntwo\nthree: x"}
    assert outcome(form("name", strict=True, name=TEXT), "name: Ann\ncolour: red") == {"name": "Ann\ncolour: red"}


def test_lists_and_ranges_go_over_several_lines() -> None:
    asked = form(period=ranged("date"), tags=several("red", "a: b"), due=formatted("date"))

    assert outcome(asked, "tags:\n- red\n- A: b\nperiod:\nfrom: 2026-03-01\nto: 2026-03-05") == {
        "period": ["2026-03-01", "2026-03-05"],
        "tags": ["red", "a: b"],
    }
    assert outcome(asked, "tags: red\nc: d") == ["unknown_field:c"]
    assert outcome(asked, "period: 2026-03-01 to 2026-03-05\nfoo: d") == ["unknown_field:foo"]
    assert outcome(asked, "due:\nfoo: d") == ["unknown_field:foo"]
    assert outcome(asked, "due: 2026-03-01 " + "x" * 300) == ["invalid_date:due"]


def test_at_most_so_many_unknown_names_are_listed() -> None:
    got = read(form(age=INTEGER), "age: 31\n" + "\n".join(f"x{'y' * n}: 1" for n in range(200)))

    assert len(got.errors) == 20


def test_a_text_of_a_hundred_other_words_is_not_searched_for_slips_any_more() -> None:
    minutes = "\n".join(f"w{n}x{n}: said" for n in range(150))

    assert outcome(NOTES, f"title: T\nbody: {minutes}") == {"title": "T", "body": minutes}


def test_names_that_differ_by_accents_alone_are_told_apart_by_them() -> None:
    asked = form(Отчёт=TEXT, мой=TEXT, мои=TEXT, résumé=TEXT, resume=TEXT)

    assert outcome(asked, "отчет: 1\nМои\u0306: 2\nмои: 3\nRÉSUMÉ: 4\nresume: 5") == {
        "Отчёт": "1",
        "мой": "2",
        "мои": "3",
        "résumé": "4",
        "resume": "5",
    }
    assert outcome(asked, "resumé: 1") == ["unknown_field:resumé"]
    assert outcome(form(ID=TEXT, id=TEXT), '{"ID": "a", "id": "b"}') == {"ID": "a", "id": "b"}


def test_titles_may_be_questions_and_may_have_remarks_in_brackets() -> None:
    asked = form(
        ready=BOOLEAN | {"title": "Ready to go?"},
        weight=INTEGER | {"title": "Weight (kg)"},
        mail=TEXT | {"title": "E-mail *"},
        odd=TEXT | {"title": "?", "description": "(x)"},
    )
    whole = {"ready": True, "weight": 5, "mail": "a"}

    assert outcome(asked, "Ready to go? yes\nWeight: 5\nE-mail: a") == whole
    assert outcome(asked, "Ready to go?: yes\nweight (kg): 5\nemail*: a") == whole
    assert outcome(asked, "Ready to go: yes, Weight (required): 5 e-mail: a") == whole
    assert outcome(asked, "E-mail: a\nweight? 5\n?: x") == {"mail": "a\nweight? 5\n?: x"}
    assert outcome(asked, "weight: at 5: sharp") == ["not_an_integer:weight"]
    assert outcome(asked, "weight? 5") == ["unparseable"]
    assert outcome(asked, '{"' + "w" * 500 + '": 5}') == ["unknown_field:" + "w" * 48]


def test_titles_that_only_a_remark_tells_apart_need_it() -> None:
    asked = form(a=INTEGER | {"title": "Weight (kg)"}, b=INTEGER | {"title": "Weight (lb)"})

    assert outcome(asked, "weight (kg): 5\nweight (LB): 11") == {"a": 5, "b": 11}
    assert outcome(asked, "weight: 5") == ["unknown_field:weight"]


def test_a_default_that_was_shown_is_an_answer_once_the_rest_is_sent() -> None:
    asked = form("channel", channel={"enum": ["stable", "beta"], "default": "stable"}, note=TEXT)

    assert outcome(asked, "note: go") == {"channel": "stable", "note": "go"}
    assert outcome(asked, "channel: beta") == {"channel": "beta"}
    assert outcome(asked, "channel:") == {"channel": "stable"}
    assert outcome(asked, "channel: gamma\nnote: go") == ["not_a_choice:channel"]
    assert outcome(form(mode={"enum": ["a", "b"], "default": "a"}), "") == ["unparseable"]


def test_null_answers_what_is_required_and_left_empty() -> None:
    asked = form("n", n={"type": ["integer", "null"]}, c={"enum": ["x", None]})

    assert outcome(asked, "n:\nc: none") == {"n": None, "c": None}
    assert outcome(asked, "c: x") == {"n": None, "c": "x"}


def test_what_is_fixed_is_filled_in_without_asking() -> None:
    asked = form("v", "name", v={"const": "fixed"}, name=TEXT)

    assert outcome(asked, "Ann") == {"v": "fixed", "name": "Ann"}
    assert outcome(asked, "v: other\nname: Ann") == ["not_a_choice:v"]


@pytest.mark.parametrize(("text", "value"), [("yes", {}), ("{}", {}), ("no", ["declined"]), ("", ["unparseable"])])
def test_a_form_without_fields_is_confirmed_or_declined(text: str, value: Any) -> None:
    assert outcome(form(), text) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [("deny", ["declined"]), ("Nein, danke", ["declined"]), ("maybe", ["unparseable"]), ("да", {"v": "fixed"})],
)
def test_where_everything_is_fixed_a_yes_and_a_no_are_understood(text: str, value: Any) -> None:
    assert outcome(form("v", v={"const": "fixed"}), text) == value


def test_every_value_goes_through_the_judge() -> None:
    asked = form(n=INTEGER | {"minimum": 3}, t=TEXT | {"maxLength": 3}, r=ranged("date"))

    assert outcome(asked, "n: 2\nt: long text\nr: 2026-03-05 to 2026-03-01") == [
        "below_minimum:n",
        "too_long:t",
        "wrong_order:r",
    ]
    assert outcome(asked, "n: 3", judge=Judge(asked)) == {"n": 3}


def test_errors_hold_no_values_and_of_masked_fields_no_readings() -> None:
    asked = form("user", "pin", user=TEXT, pin=INTEGER | {"writeOnly": True})

    got = read_reply(asked, "hunter2: hunter3\npinn: 7\npin: 12,345", locale=berlin(""), today=TODAY)
    near = read(asked, '{"usr": 1}')

    assert "hunter" not in repr(got)
    assert "12" not in repr(got)
    assert ReplyError(field="pin", code="ambiguous_number") in got.errors
    assert [error.field for error in near.errors if error.code == "unknown_field"] == ["usr"]


EVERYTHING = form(
    "name",
    name=TEXT | {"title": "Full name"},
    age=INTEGER,
    price=NUMBER | {"description": "in €"},
    sure=BOOLEAN,
    colour={"enum": ["red", 2, None, "dark, blue"]},
    tags=several("a", "b, c", 3),
    day=formatted("date"),
    hour=formatted("time"),
    at=formatted("date-time"),
    days=ranged("date"),
    hours=ranged("time"),
    shift=ranged("date-time"),
    mail=formatted("email"),
    link=formatted("uri"),
)
PIECES = st.sampled_from(
    [
        *(
            "name",
            "Full name",
            "age",
            "price",
            "sure",
            "colour",
            "tags",
            "day",
            "hour",
            "at",
            "days",
            "hours",
            "shift",
            "mail",
        ),
        *(
            ": ",
            "：",
            " = ",
            " - ",
            ", ",
            "; ",
            "\n",
            "\n\n",
            "> ",
            "```",
            "~~~",
            "- ",
            "1. ",
            "**",
            "`",
            '"',
            "“",
            "”",
            "{",
            "}",
        ),
        *(
            "[",
            "]",
            "\\",
            "\r",
            "\t",
            "\u00a0",
            "\ufeff",
            "\u200b",
            "\x00",
            "\ud800",
            "²",
            "٣",
            "½",
            "12,345",
            "1e999",
            "NaN",
        ),
        *(
            "2026-03-01",
            "03/04/2026",
            "31.02.2026",
            "3 April",
            "tomorrow",
            "9",
            "9:30",
            "25:61",
            "+99:99",
            "Europe/Moscow",
        ),
        *(
            " to ",
            " bis ",
            "–",
            "from",
            "yes",
            "нет",
            "red",
            "and",
            "#2",
            "2️⃣",
            "all",
            "none",
            "€",
            "(",
            ")",
            "/",
            "@",
            "<",
            "x",
        ),
    ]
)
TYPED = st.one_of(st.text(max_size=200), st.lists(PIECES, max_size=40).map("".join))
LANGUAGES = st.sampled_from(["", "en", "en-US", "de", "ru", "x-y-z", "-", "\ud800"])
ZONES = st.sampled_from(["", "Europe/Berlin", "Asia/Kathmandu", "..", "/etc", "Europe", "\x00"])


@settings(max_examples=250, deadline=None)
@given(text=TYPED, language=LANGUAGES, zone=ZONES, one=st.sampled_from(EVERYTHING.fields))
def test_no_text_raises_and_what_is_accepted_is_valid(text: str, language: str, zone: str, one: Any) -> None:
    from forms.canonical import schema_of
    from forms.reading import Locale

    alone = Form(fields=(one,), schema=schema_of([one], strict=True), strict=True)
    for asked in (EVERYTHING, alone):
        judge = Judge(asked)
        got = read_reply(asked, text, locale=Locale(language=language, timezone=zone), today=TODAY, judge=judge)
        errors = judge.errors(dict(got.values))

        assert got.errors or not errors
        assert {error.code for error in errors} <= {"missing_required"}
        json.dumps(dict(got.values), allow_nan=False)


@pytest.mark.parametrize(
    "unit",
    [
        *(
            "x",
            " ",
            "\n",
            ",",
            ":",
            "a:",
            "a: ",
            ", a:",
            ",a:",
            "name: x, ",
            "name: x\n",
            "xx: y\n",
            "```\n",
            "```py\n",
            "> x\n",
        ),
        *(
            "- ",
            "1. ",
            "**",
            '"',
            "“",
            "{",
            "}",
            "[",
            "{“",
            "\\",
            "- - ",
            "1",
            "1,",
            "1 ",
            "a and ",
            "— ",
            "3 April ",
            "\u200b",
        ),
        *("from ", "9:", "/", "x\u0301", "𝒳", "\n:\n", ";age:", " age:", "age: 3 ", "tags: a\n", "tags: a, ", "а-б_"),
    ],
)
def test_long_texts_take_time_in_proportion(unit: str) -> None:
    judge = Judge(EVERYTHING)
    for start in ("", "name: ", "tags: ", "{"):
        text = start + unit * (100_000 // len(unit))
        began = process_time()

        read_reply(EVERYTHING, text, locale=berlin(""), today=TODAY, judge=judge)

        assert process_time() - began < 2


@pytest.mark.parametrize(
    ("text", "weak"),
    [("ok", True), ("👍", True), ("yes", False), ("no", False), ("maybe", False), ("x" * 300, False)],
)
def test_what_people_also_say_to_each_other_is_a_weak_decision(text, weak):
    assert is_weak(text) is weak
