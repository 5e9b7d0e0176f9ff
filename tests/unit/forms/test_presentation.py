"""What is shown of a question, and what taps mean."""

from datetime import date, timedelta
from decimal import Decimal

import pytest

from forms import months
from forms.card import MAX_BUTTONS, MAX_LABEL, Button, Card, FieldRow, Style
from forms.field import Field, FieldKind, Form, Option
from forms.presentation import CONFIRM, Cancelled, Changed, Complete, Shown, Unknown, filled, show, tapped
from forms.schema import read_form
from forms.validation import Judge
from forms.wording import WORDS, hint, say, spelt

TODAY = date(2026, 11, 18)


def asks(required: bool = True, **properties: object) -> Form:
    return read_form({"type": "object", "properties": properties, "required": list(properties) if required else []})


def shown(form: Form, kept: dict | None = None, view: str = "", today: date = TODAY) -> Shown:
    made = show(form, kept or {}, view, today=today)
    taps = [tap for row in made.taps for tap in row]
    card = Card(  # whatever is shown fits on a card
        fields=made.rows,
        columns=made.columns,
        buttons=tuple(Button(label=tap.label, value=tap.value, style=tap.style) for tap in taps),
        widths=tuple(map(len, made.taps)),
        stepwise=made.stepwise,
    )
    assert len(card.buttons) <= MAX_BUTTONS
    for tap in taps:  # and no button is without a meaning
        assert tapped(form, kept or {}, view, tap.value) != Unknown(), tap
    return made


def labels(made: Shown) -> list[list[str]]:
    return [[tap.label for tap in row] for row in made.taps]


def press(form: Form, label: str, kept: dict | None = None, view: str = "") -> object:
    [value] = [tap.value for row in shown(form, kept, view).taps for tap in row if tap.label == label]
    return tapped(form, kept or {}, view, value)


def answers(form: Form, label: str, kept: dict | None = None, view: str = "") -> dict:
    step = press(form, label, kept, view)
    assert isinstance(step, Complete)
    assert Judge(form).errors(dict(step.values)) == ()
    return dict(step.values)


# one choice


def test_yes_or_no_is_answered_by_one_tap():
    form = asks(go={"type": "boolean"})
    assert labels(shown(form)) == [["Yes", "No"]]
    assert answers(form, "Yes") == {"go": True}
    assert answers(form, "No") == {"go": False}
    assert not shown(form).stepwise


def test_truth_with_titles_shows_its_titles_in_the_order_of_the_schema():
    form = asks(go={"oneOf": [{"const": False, "title": "Keep"}, {"const": True, "title": "Delete"}]})
    assert labels(shown(form)) == [["Keep", "Delete"]]
    assert answers(form, "Delete") == {"go": True}


def test_a_choice_is_answered_by_one_tap_with_the_very_value():
    form = asks(size={"enum": ["s", 1, 1.5, True, None]})
    assert labels(shown(form)) == [["s", "1", "1.5", "true"], ["None"]]
    assert [answers(form, label)["size"] for label in ("s", "1", "1.5", "true", "None")] == ["s", 1, 1.5, True, None]


def test_the_default_stands_out_and_words_are_the_callers():
    form = asks(go={"type": "boolean", "default": False})
    made = show(form, {}, "", today=TODAY, words={"yes": "Ja", "no": "Nein"})
    assert [(tap.label, tap.style) for tap in made.taps[0]] == [("Ja", Style.NEUTRAL), ("Nein", Style.PRIMARY)]


@pytest.mark.parametrize(
    ("titles", "widths"),
    [
        (["a", "b", "c", "d", "e"], [4, 1]),
        (["Tomorrow", "Today", "Never"], [2, 1]),
        (["Tomorrow in the afternoon", "b"], [1, 1]),
    ],
)
def test_short_labels_share_a_row(titles, widths):
    assert [len(row) for row in shown(asks(when={"enum": titles})).taps] == widths


def test_twelve_options_are_tapped_and_thirteen_are_not():
    assert sum(map(len, shown(asks(n={"enum": [f"v{n}" for n in range(12)]})).taps)) == 12
    form = asks(n={"enum": [f"v{n}" for n in range(13)]})
    made = shown(form)
    assert (made.taps, made.free_text) == ((), True)
    assert tapped(form, {}, "", "=1") == Unknown()


@pytest.mark.parametrize(
    ("titles", "expected"),
    [
        (["x" * 32, "y"], ["x" * 32, "y"]),
        (["x" * 33, "y"], [f"1. {'x' * 33}", "2. y"]),
        (["x" * 65, "x" * 65 + "y"], [f"1. {'x' * 60}…", f"2. {'x' * 60}…"]),
        (["\u200b", "y"], ["1. \u200b", "2. y"]),
        (["a\n b", "a b"], ["1. a b", "2. a b"]),
    ],
)
def test_labels_fit_and_can_be_told_apart(titles, expected):
    form = asks(n={"enum": titles})
    assert [label for row in labels(shown(form)) for label in row] == expected
    assert all(len(label) <= MAX_LABEL for label in expected)
    assert answers(form, expected[1]) == {"n": titles[1]}


def test_what_buttons_tell_by_number_stands_in_full_in_a_numbered_list():
    long = "Keep the current provider and do nothing until the end of March"
    made = shown(asks(plan={"enum": [long, "Wait"], "default": "Wait", "description": "Which?"}))
    assert made.numbered
    assert made.rows[0].hint == f"Which?\none of:\n1. {long}\n2. Wait\n{say(WORDS, 'default', value='Wait')}"
    ticked = shown(asks(plans={"type": "array", "items": {"enum": [long, long + "!"]}}))
    assert ticked.numbered
    assert f"\n1. {long}\n2. {long}!" in ticked.rows[0].hint
    assert not shown(asks(plan={"enum": ["Go", "Wait"]})).numbered
    assert not shown(asks(plan={"enum": [long, "Wait"]}), {"plan": "Wait"}, CONFIRM).numbered
    assert not shown(asks(plan={"enum": [long, "Wait"]}, name={"type": "string"})).numbered
    assert not shown(asks(plan={"enum": [f"{n} {long}" for n in range(13)]})).numbered


def test_words_may_go_on_after_a_numbered_list():
    asked = asks(plan={"enum": ["a" * 40, "b"]}).fields[0]
    assert hint(asked, {"format_choice": "{options} (eines)"}) == f"1. {'a' * 40}\n2. b\n(eines)"


def test_a_fixed_value_is_shown_and_not_its_fields_title():
    for part, words in (({"const": "2026-01"}, "2026-01"), ({"const": True}, "Yes"), ({"type": "null"}, "None")):
        fixed = asks(terms={"title": "Terms", **part}).fields[0]
        assert (fixed.title, spelt(fixed, fixed.default, WORDS)) == ("Terms", words)


def test_what_may_be_left_out_can_be_skipped():
    form = asks(required=False, go={"type": "boolean"})
    assert labels(shown(form))[-1] == ["Skip"]
    assert answers(form, "Skip") == {}
    nullable = asks(go={"type": ["boolean", "null"]})
    assert answers(nullable, "Skip") == {"go": None}
    named = asks(required=False, size={"enum": ["s", None]})
    assert labels(shown(named)) == [["s", "None"]]
    assert tapped(named, {}, "", "skip") == Unknown()
    assert tapped(asks(go={"type": "boolean"}), {}, "", "skip") == Unknown()


def test_fixed_fields_are_filled_in_and_not_asked():
    form = asks(kind={"const": "refund"}, go={"type": "boolean"})
    made = shown(form)
    assert [row.title for row in made.rows] == ["go"]
    assert answers(form, "Yes") == {"kind": "refund", "go": True}
    assert filled(form, {}) == {"kind": "refund"}


def test_a_form_with_nothing_to_ask_is_confirmed_or_cancelled():
    for form, answer in ((asks(), {}), (asks(kind={"const": "refund"}), {"kind": "refund"})):
        made = shown(form)
        assert labels(made) == [["Confirm", "Cancel"]]
        assert (made.rows, made.stepwise, made.free_text) == ((), False, True)
        assert answers(form, "Confirm") == answer
        assert press(form, "Cancel") == Cancelled()
        assert tapped(form, {}, "", "=0") == Unknown()


@pytest.mark.parametrize(
    "form",
    [
        asks(name={"type": "string"}),
        asks(at={"type": "string", "format": "date-time"}),
        asks(go={"type": "boolean"}, name={"type": "string"}),
        asks(go={"type": "boolean", "writeOnly": True}),
    ],
)
def test_any_other_form_has_no_taps(form):
    assert shown(form).taps == ()
    for value in ("=0", "skip", "done", "go", "d2026-11-18", "~", ""):
        assert tapped(form, {}, "", value) == Unknown()


def test_what_is_masked_is_not_answered_in_words_and_never_shown():
    form = asks(name={"type": "string"}, key={"type": "string", "format": "password", "description": "Of the safe."})
    made = shown(form, {"name": "x", "key": "hunter2"})
    assert not made.free_text
    assert [row.value for row in made.rows] == ["x", "•••"]
    assert made.rows[1].hint == "Of the safe.\nsecret, in the form only"
    assert "hunter2" not in str(shown(form, {"name": "x", "key": "hunter2"}, CONFIRM).rows)


# several choices


FRUIT = {"type": "array", "items": {"enum": ["apple", "pear", "fig"]}, "uniqueItems": True}


def test_several_choices_are_ticked_and_then_done():
    form = asks(fruit=FRUIT)
    assert labels(shown(form)) == [["☐ apple"], ["☐ pear"], ["☐ fig"], ["Done"]]
    assert shown(form).stepwise
    step = press(form, "☐ fig")
    assert step == Changed(kept={"fruit": ["fig"]}, view="")
    step = press(form, "☐ apple", step.kept)
    assert step == Changed(kept={"fruit": ["apple", "fig"]}, view="")
    made = shown(form, step.kept)
    assert labels(made) == [["☑ apple"], ["☐ pear"], ["☑ fig"], ["Done"]]
    assert made.rows[0].value == "apple, fig"
    assert answers(form, "Done", step.kept) == {"fruit": ["apple", "fig"]}
    assert press(form, "☑ apple", step.kept) == Changed(kept={"fruit": ["fig"]}, view="")


def test_the_same_tick_twice_is_one_tick():
    form = asks(fruit=FRUIT)
    assert tapped(form, {"fruit": ["apple"]}, "", "+0") == Changed(kept={"fruit": ["apple"]}, view="")
    assert tapped(form, {"fruit": []}, "", "-0") == Changed(kept={"fruit": []}, view="")


def test_done_waits_for_as_many_as_are_wanted():
    form = asks(fruit={**FRUIT, "minItems": 1, "maxItems": 2})
    for kept in ({}, {"fruit": ["apple", "pear", "fig"]}):
        assert labels(shown(form, kept))[-1] == ["Choose 1 to 2"]
        assert press(form, "Choose 1 to 2", kept) == Changed(kept=kept, view="")
        assert tapped(form, kept, "", "done") == Unknown()
    assert answers(form, "Done", {"fruit": ["pear"]}) == {"fruit": ["pear"]}


def test_where_one_is_wanted_another_takes_its_place():
    form = asks(fruit={**FRUIT, "maxItems": 1})
    assert press(form, "☐ fig", {"fruit": ["apple"]}) == Changed(kept={"fruit": ["fig"]}, view="")


def test_the_default_is_ticked_until_it_is_unticked():
    form = asks(required=False, fruit={**FRUIT, "default": ["pear"]})
    assert labels(shown(form)) == [["☐ apple"], ["☑ pear"], ["☐ fig"], ["Done"]]
    assert answers(form, "Done") == {"fruit": ["pear"]}
    step = press(form, "☑ pear")
    assert step == Changed(kept={"fruit": []}, view="")
    assert answers(form, "Done", step.kept) == {"fruit": []}


def test_choices_that_may_be_left_out_are_skipped_while_none_is_ticked():
    form = asks(required=False, fruit={**FRUIT, "minItems": 1})
    assert labels(shown(form))[-1] == ["Skip"]
    assert answers(form, "Skip") == {}
    assert labels(shown(form, {"fruit": ["fig"]}))[-1] == ["Done"]
    assert tapped(form, {"fruit": ["fig"]}, "", "skip") == Unknown()


@pytest.mark.parametrize("value", ["", "+", "+3", "+-1", "+99999999999", "*0", "=0", "+٣", "d2026-01-01", "sure=0"])
def test_what_is_no_tap_of_this_form_is_unknown(value):
    assert tapped(asks(fruit=FRUIT), {}, "", value) == Unknown()
    assert tapped(asks(fruit=FRUIT), {"fruit": "no list"}, "", value) == Unknown()


# dates


DAY = {"type": "string", "format": "date"}
STAY = {"type": "array", "items": DAY, "minItems": 2, "maxItems": 2}


def test_a_date_is_picked_in_a_calendar_whose_weeks_start_on_monday():
    form = asks(day=DAY)
    made = shown(form)
    assert labels(made) == [
        ["«", "‹", "November 2026", "›", "»"],
        ["Mo", "Tu", "We", "Th", "Fr", "Sa", "Su"],
        ["·", "·", "·", "·", "·", "·", "1"],
        ["2", "3", "4", "5", "6", "7", "8"],
        ["9", "10", "11", "12", "13", "14", "15"],
        ["16", "17", "18", "19", "20", "21", "22"],
        ["23", "24", "25", "26", "27", "28", "29"],
        ["30", "·", "·", "·", "·", "·", "·"],
    ]
    assert made.stepwise
    assert [tap.label for row in made.taps for tap in row if tap.style is Style.PRIMARY] == ["18"]
    assert answers(form, "30") == {"day": "2026-11-30"}
    assert press(form, "November 2026") == Changed(kept={}, view="")


@pytest.mark.parametrize(("label", "view"), [("«", "2025-11"), ("‹", "2026-10"), ("›", "2026-12"), ("»", "2027-11")])
def test_a_calendar_has_pages(label, view):
    form = asks(day=DAY)
    step = press(form, label)
    assert step == Changed(kept={}, view=view)
    assert labels(shown(form, {}, view))[0][2] == f"{WORDS[f'month_{int(view[-2:])}']} {view[:4]}"


def test_a_calendar_ends_a_hundred_years_away():
    form = asks(day=DAY)
    assert labels(shown(form, {}, "2126-11"))[0] == ["«", "‹", "November 2126", "·", "·"]
    assert labels(shown(form, {}, "9999-12"))[0][2] == "November 2126"
    assert labels(shown(form, {}, "0001-01"))[0] == ["·", "·", "November 1926", "›", "»"]
    assert labels(shown(form, today=date.min))[0] == ["·", "·", "January 1", "›", "»"]
    assert labels(shown(form, today=date.max))[0] == ["«", "‹", "December 9999", "·", "·"]


def test_a_calendar_opens_where_a_day_is_filled_in():
    form = asks(required=False, day={**DAY, "default": "2027-02-03"})
    assert labels(shown(form))[0][2] == "February 2027"
    made = shown(form, {"day": "2027-03-04"})
    assert labels(made)[0][2] == "March 2027"
    assert [tap.label for row in made.taps for tap in row if tap.style is Style.SUCCESS] == ["4"]
    assert labels(made)[-1] == ["Skip"]
    assert answers(form, "Skip") == {}
    assert labels(shown(form, {"day": "nonsense"}))[0][2] == "November 2026"


def test_a_range_is_two_picks_and_does_not_end_before_it_starts():
    form = asks(stay=STAY)
    step = press(form, "18")
    assert step == Changed(kept={}, view="2026-11/2026-11-18")
    made = shown(form, {}, step.view)
    assert labels(made)[0] == ["·", "·", "November 2026", "›", "»"]
    assert labels(made)[5] == ["·", "·", "18", "19", "20", "21", "22"]
    assert labels(made)[-1] == ["from 2026-11-18", "Back"]
    assert answers(form, "18", {}, step.view) == {"stay": ["2026-11-18", "2026-11-18"]}
    assert press(form, "Back", {}, step.view) == Changed(kept={}, view="2026-11")
    step = press(form, "›", {}, step.view)
    assert step == Changed(kept={}, view="2026-12/2026-11-18")
    assert answers(form, "5", {}, step.view) == {"stay": ["2026-11-18", "2026-12-05"]}


def test_a_first_pick_on_an_older_keyboard_starts_the_range_anew():
    form = asks(stay=STAY)
    assert tapped(form, {}, "2026-12/2026-11-18", "d2026-11-02") == Changed(kept={}, view="2026-12/2026-11-02")
    assert tapped(form, {}, "2026-12", "d2026-11-02") == Changed(kept={}, view="2026-12/2026-11-02")


def test_the_longest_month_with_everything_fits_on_a_card():
    form = asks(required=False, stay=STAY)
    made = shown(form, {}, "2026-08/2026-08-01")
    assert sum(map(len, made.taps)) == 5 + 7 + 6 * 7 + 2 + 1


@pytest.mark.parametrize(
    "value",
    [
        *("d", "d2026-02-30", "d2026-11-18/", "d2026-11-18/2026-11-17", "d2026-11-18/2026-11-19/2026-11-20"),
        *("v", "v2026-13", "v0000-01", "v2026-1", "v2026-11/", "v2026-11/x", "e2026-11-18", "+0", "done", "=0"),
    ],
)
def test_what_is_no_day_is_unknown(value):
    assert tapped(asks(stay=STAY), {}, "", value) == Unknown()
    assert tapped(asks(day=DAY), {}, "", value) == Unknown()


def test_one_day_is_no_range():
    assert tapped(asks(day=DAY), {}, "", "d2026-11-18/2026-11-19") == Unknown()
    assert tapped(asks(day=DAY), {}, "", "v2026-11/2026-11-18") == Unknown()
    assert labels(shown(asks(day=DAY), {}, "2026-12/2026-11-18"))[0][2] == "November 2026"


def test_days_outside_the_bounds_are_blank():
    first, last = date(2026, 2, 3), date(2026, 2, 26)
    days = [day for week in months.weeks(date(2026, 2, 1), earliest=first, latest=last) for day in week]
    assert [day for day in days if day] == [first + timedelta(days=n) for n in range(24)]
    assert len(days) == 35


def test_months_at_the_ends_of_time():
    assert months.turned(date(1, 1, 1), -1) is None
    assert months.turned(date(9999, 12, 1), 1) is None
    assert months.turned(date(2026, 12, 1), 1) == date(2027, 1, 1)
    assert months.weeks(date(9999, 12, 1))[-1][4] == date(9999, 12, 31)


# confirmation


def test_an_important_answer_is_confirmed_by_a_tap_on_that_answer_alone():
    form = asks(go={"type": "boolean"})
    made = shown(form, {"go": True}, CONFIRM)
    assert labels(made) == [["Confirm", "Change"]]
    assert made.rows == (FieldRow(title="go", value="Yes"),)
    assert not made.stepwise
    assert press(form, "Confirm", {"go": True}, CONFIRM) == Complete(values={"go": True})
    assert press(form, "Change", {"go": True}, CONFIRM) == Changed(kept={"go": True}, view="")
    [confirm, _] = made.taps[0]
    assert tapped(form, {"go": False}, CONFIRM, confirm.value) == Unknown()
    assert tapped(form, {"go": True}, "", confirm.value) == Unknown()
    for value in ("=0", "skip", "go", "~", "sure="):
        assert tapped(form, {"go": True}, CONFIRM, value) == Unknown()


def test_the_tap_that_confirms_an_empty_form_does_not_confirm_it_twice():
    form = asks()
    assert tapped(form, {}, "", "go") == Complete(values={})
    assert tapped(form, {}, CONFIRM, "go") == Unknown()
    assert press(form, "Confirm", {}, CONFIRM) == Complete(values={})


# words


def field(kind: FieldKind, **more: object) -> Field:
    return Field(name="f", title="F", kind=kind, **more)


@pytest.mark.parametrize(
    ("one", "said"),
    [
        (field(FieldKind.TEXT), "text"),
        (field(FieldKind.TEXT, min_length=2, max_length=5), "text, 2 to 5 characters"),
        (field(FieldKind.TEXT, min_length=0, max_length=5), "text, at most 5 characters"),
        (field(FieldKind.TEXT, min_length=3), "text, at least 3 characters"),
        (field(FieldKind.TEXT, min_length=3, max_length=3), "text, 3 characters"),
        (field(FieldKind.TEXT, pattern="^[A-Z]+$"), "text, in the form ^[A-Z]+$"),
        (field(FieldKind.TEXT, examples=("Ann",)), "text, for example Ann"),
        (field(FieldKind.TEXT, has_default=True, default="Ann", examples=("Bob",)), "text, if left out: Ann"),
        (field(FieldKind.TEXT, has_default=True, default=""), "text"),
        (field(FieldKind.TEXT, description=" Who?\n"), "Who?\ntext"),
        (field(FieldKind.INTEGER, minimum=Decimal(1), maximum=Decimal(20)), "whole number, 1 to 20"),
        (field(FieldKind.INTEGER, multiple_of=Decimal(1)), "whole number"),
        (field(FieldKind.INTEGER, multiple_of=Decimal(5)), "whole number, a multiple of 5"),
        (field(FieldKind.NUMBER, exclusive_minimum=Decimal("0.50")), "number, more than 0.5"),
        (field(FieldKind.NUMBER, exclusive_maximum=Decimal("1e300")), "number, less than 1E+300"),
        (field(FieldKind.NUMBER, minimum=Decimal("1e3"), multiple_of=Decimal("0.01")), "number, at least 1000, a multiple of 0.01"),
        (field(FieldKind.NUMBER, maximum=Decimal("1e-30")), "number, at most 1E-30"),
        (field(FieldKind.BOOLEAN), "yes or no"),
        (field(FieldKind.CHOICE, options=(Option(value=None, title=""), Option(value=1, title="One"))), "one of: None | One"),
        (
            field(FieldKind.CHOICES, options=tuple(Option(value=n, title=f"T{n}") for n in range(32)), min_items=2, max_items=2),
            f"one or several of: {' | '.join(f'T{n}' for n in range(30))} | … 2 more, choose 2",
        ),
        (field(FieldKind.CHOICES, options=(Option(value=1, title="a"),), max_items=5), "one or several of: a"),
        (field(FieldKind.CHOICES, options=(Option(value=1, title="a"), Option(value=2, title="b")), min_items=2, max_items=2), "one or several of: a | b, choose 2"),
        (field(FieldKind.CHOICES, options=(Option(value=1, title="a"), Option(value=2, title="b")), min_items=1), "one or several of: a | b, choose at least 1"),
        (field(FieldKind.DATE_RANGE, min_items=2, max_items=2), "two dates, like 2026-03-01 – 2026-03-05"),
    ],
)  # fmt: skip
def test_a_hint_says_what_a_field_takes(one, said):
    assert hint(one, WORDS) == said


@pytest.mark.parametrize(
    ("one", "value", "said"),
    [
        (field(FieldKind.TEXT), "a\nb", "a\nb"),
        (field(FieldKind.TEXT), "10:00:00Z", "10:00:00Z"),
        (field(FieldKind.TEXT), None, "None"),
        (field(FieldKind.TEXT), {"a": 1}, '{"a": 1}'),
        (field(FieldKind.INTEGER), 5.0, "5"),
        (field(FieldKind.INTEGER), True, "true"),
        (field(FieldKind.NUMBER), 19.99, "19.99"),
        (field(FieldKind.NUMBER), 1e30, "1E+30"),
        (field(FieldKind.BOOLEAN), False, "No"),
        (field(FieldKind.CHOICE, options=(Option(value=True, title="On"), Option(value=1, title="One"))), 1, "One"),
        (field(FieldKind.CHOICES, options=(Option(value="a", title="A"),)), ["a"], "A"),
        (field(FieldKind.CHOICES, options=(Option(value="a", title="A"),)), [], "None"),
        (field(FieldKind.TIME), "10:00:00+01:00", "10:00 UTC+01:00"),
        (field(FieldKind.TIME), "10:00:05.5z", "10:00:05.5 UTC"),
        (field(FieldKind.DATETIME), "2026-03-01T10:00:00Z", "2026-03-01 10:00 UTC"),
        (field(FieldKind.DATE_RANGE), ["2026-03-01", "2026-03-05"], "2026-03-01 – 2026-03-05"),
        (field(FieldKind.TEXT, masked=True), "x", "•••"),
    ],
)
def test_a_value_is_read_as_people_say_it(one, value, said):
    assert spelt(one, value, WORDS) == said


def test_a_row_says_whether_a_field_is_required_and_what_is_filled_in():
    form = read_form(
        {
            "type": "object",
            "properties": {"name": {"title": " Your\n name "}, "age": {"type": "integer"}},
            "required": ["age"],
        }
    )
    made = shown(form, {"name": "Ann"})
    assert made.rows == (
        FieldRow(title="Your name", hint="text", value="Ann"),
        FieldRow(title="age", hint="whole number", required="required"),
    )
    assert made.columns == ("Field", "Format", "Required", "Answer")


def test_every_kind_of_field_has_words():
    assert all(f"format_{kind}" in WORDS for kind in FieldKind)
    assert say({"yes": ""}, "yes") == "Yes"
