"""Cards that every channel can show."""

import pytest

from forms.card import Button, Card, CardError


def test_the_words_of_a_card_are_everything_that_a_person_can_read():
    card = Card(title="Table", rows=(("When", "19:00"),), buttons=(Button(label="Book", value="b"),))
    assert card.words == "Table\nWhen: 19:00\nBook"
    assert Card().words == ""


@pytest.mark.parametrize(
    "make",
    [
        lambda: Button(label=" ", value="x"),
        lambda: Button(label="x" * 65, value="x"),
        lambda: Button(label="x", value="x" * 257),
        lambda: Card(buttons=tuple(Button(label=str(n), value=str(n)) for n in range(13))),
        lambda: Card(rows=tuple((str(n), "x") for n in range(21))),
        lambda: Card(buttons=(Button(label="a", value="x"), Button(label="b", value="x"))),
    ],
)
def test_a_card_that_no_channel_could_show_is_refused(make):
    with pytest.raises(CardError):
        make()
