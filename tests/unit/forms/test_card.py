"""Cards that every channel can show."""

import pytest

from forms.card import Button, Card, CardError, FieldRow


def test_the_words_of_a_card_are_everything_that_a_person_can_read():
    card = Card(title="Table", rows=(("When", "19:00"),), buttons=(Button(label="Book", value="b"),))
    assert card.words == "Table\nWhen: 19:00\nBook"
    assert Card().words == ""
    assert Card(blocks=(("Parameters", "a: 1\nb: 2"),)).words == "Parameters\na: 1\nb: 2"


def test_what_is_asked_and_where_links_lead_can_be_read_too():
    card = Card(
        fields=(FieldRow(title="Guests", hint="whole number", required="required", value="4"), FieldRow(title="Wish")),
        columns=("Field", "Format", "Required", "Answer"),
        example="guests: 4",
        note="Times are in UTC.",
        buttons=(Button(label="Fill in", url="https://example.org/q/x"), Button(label="No", value="n")),
    )
    assert card.words.split("\n") == [
        *("Field", "Format", "Required", "Answer"),
        *("Guests", "whole number", "required", "4", "Wish"),
        *("guests: 4", "Times are in UTC.", "Fill in", "https://example.org/q/x", "No"),
    ]
    assert Card(columns=("Field", "Format", "Required", "Answer")).words == ""
    assert Card(fields=(FieldRow(title="Guests"),)).words == "Guests"
    assert "example.org" not in repr(card)


def test_buttons_stand_in_rows():
    three = tuple(Button(label=value, value=value) for value in "abc")
    assert Card(buttons=three).keyboard == tuple((button,) for button in three)
    assert Card(buttons=three, widths=(2, 1)).keyboard == (three[:2], three[2:])
    assert Card().keyboard == ()


@pytest.mark.parametrize("url", ["http://127.0.0.1:8080/q/x", "https://example.org", "https://[::1]/a?b=c#d"])
def test_a_button_can_be_a_link(url):
    assert Button(label="Go", url=url, web_app=True).url == url
    two = Card(buttons=(Button(label="a", url=url), Button(label="b", url=url)))
    assert len(two.buttons) == 2


@pytest.mark.parametrize(
    "make",
    [
        lambda: Button(label=" ", value="x"),
        lambda: Button(label="x" * 65, value="x"),
        lambda: Button(label="x", value="x" * 257),
        lambda: Card(buttons=tuple(Button(label=str(n), value=str(n)) for n in range(61))),
        lambda: Card(fields=tuple(FieldRow(title=str(n)) for n in range(21))),
        lambda: Card(rows=tuple((str(n), "x") for n in range(21))),
        lambda: Card(blocks=tuple((str(n), "x") for n in range(21))),
        lambda: Card(buttons=(Button(label="a", value="x"),), widths=(2,)),
        lambda: Card(buttons=(Button(label="a", value="x"),), widths=(1, 0)),
        lambda: Card(buttons=tuple(Button(label=str(n), value=str(n)) for n in range(9)), widths=(9,)),
        lambda: Button(label="x", value="x", url="https://example.org"),
        lambda: Button(label="x", url="javascript:alert(1)"),
        lambda: Button(label="x", url="https://"),
        lambda: Button(label="x", url="https:///path"),
        lambda: Button(label="x", url="https://example.org/a b"),
        lambda: Button(label="x", url='https://example.org/"'),
        lambda: Button(label="x", url="https://example.org/\n"),
        lambda: Button(label="x", url=f"https://example.org/{'x' * 2048}"),
        lambda: Button(label="x", value="x", web_app=True),
        lambda: Card(buttons=(Button(label="a", value="x"), Button(label="b", value="x"))),
    ],
)
def test_a_card_that_no_channel_could_show_is_refused(make):
    with pytest.raises(CardError):
        make()
