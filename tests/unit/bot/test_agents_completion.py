import json

import pytest

from bot.agents.completion import Completion, spoken
from bot.agents.wire import MAX_TEXT
from bot.model.errors import AgentError
from bot.model.output import Final, SafeError, Silence
from bot.texts.codes import Failure


def chunk(content=None, finish=None, **more):
    return json.dumps({"choices": [{"index": 0, "delta": {"content": content, **more}, "finish_reason": finish}]})


def completed(*data):
    completion = Completion()
    for one in data:
        completion.add(one)
    return completion.outcome()


@pytest.mark.parametrize(
    ("data", "outcome"),
    [
        ([chunk("Hel"), chunk("lo"), chunk(finish="stop")], Final(text="Hello")),
        ([chunk("Hello"), '{"choices":[],"usage":{}}', " [DONE] "], Final(text="Hello")),
        ([chunk([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "stop")], Final(text="ab")),
        ([chunk(None, "stop", refusal="I'd rather not.")], Final(text="I'd rather not.")),
        ([chunk("Hello", "stop", reasoning_content="they want")], Final(text="Hello")),
        ([chunk("<think>they want", None), chunk("</think>\nHello", "stop")], Final(text="Hello")),
        ([chunk("they want</think>Hello", "stop")], Final(text="Hello")),
        ([chunk("<thinking>they want", "stop")], Silence()),
        ([chunk("", "stop")], Silence()),
        ([chunk("  \n", "stop")], Silence()),
        ([chunk("<silence/>", "stop")], Silence()),
        ([chunk(" `<silence/>`\n", "stop")], Silence()),
        ([chunk("<silence/> nothing was asked", "stop")], Silence()),
        ([chunk("Write <silence/> to be silent", "stop")], Final(text="Write <silence/> to be silent")),
        ([chunk("half", "length")], SafeError(failure=Failure.TOO_LONG)),
        ([chunk("half", "content_filter")], SafeError(failure=Failure.WITHHELD)),
        ([chunk("x" * MAX_TEXT), chunk("x")], SafeError(failure=Failure.TOO_LONG)),
    ],
)
def test_a_completion_comes_to(data, outcome):
    assert completed(*data) == outcome


@pytest.mark.parametrize(
    "data",
    [
        [chunk("half")],
        [chunk(None, "tool_calls")],
        ['{"error":{"message":"SECRET"}}'],
        ["[]"],
        ["{}"],
        ['{"choices":[7]}'],
        [chunk(7)],
        ['{"choices":'],
    ],
)
def test_what_is_no_completion_is_refused_and_not_repeated(data):
    with pytest.raises(AgentError) as caught:
        completed(*data)
    assert "SECRET" not in str(caught.value)


def test_a_whole_completion_is_taken():
    completion = Completion()
    completion.take_whole(b'{"choices":[{"message":{"role":"assistant","content":"Hi"},"finish_reason":null}]}')
    assert completion.outcome() == Final(text="Hi")
    with pytest.raises(AgentError, match="no choice"):
        Completion().take_whole(b'{"choices":[]}')


def test_nothing_is_shown_while_it_may_still_be_a_thought_or_silence():
    completion, shown = Completion(), []
    for letter in "<think>no</think> <sil":
        completion.add(chunk(letter))
        shown.append(completion.growing)
    assert set(shown) == {""}
    completion.add(chunk("ly> you"))
    assert completion.growing == "<silly> you"


def test_an_answer_that_only_begins_like_a_thought_is_shown():
    assert spoken("<thin", whole=False) == ""
    assert spoken("<thin", whole=True) == "<thin"
    assert spoken("<b>x", whole=False) == "<b>x"


@pytest.mark.parametrize(
    ("text", "said", "references"),
    [
        ("We are open.", "We are open.", ()),
        ("We are open.\n<sources>hours</sources>", "We are open.", ("hours",)),
        ("We are open.\n\n`<sources>hours, seats/2026 ; hours</sources>`\n", "We are open.", ("hours", "seats/2026")),
        ("We are open. <sources>a</sources>\n<sources>b</sources>", "We are open.", ("b", "a")),
        ("We <sources>a</sources> are open.", "We <sources>a</sources> are open.", ()),
        ("We are open.\n<sources></sources>", "We are open.", ()),
        ("```\n9 to 18\n```\n<sources>hours</sources>", "```\n9 to 18\n```", ("hours",)),
        ("```\n9 to 18\n```\n```<sources>hours</sources>```", "```\n9 to 18\n```", ("hours",)),
    ],
)
def test_sources_that_the_model_names_at_the_end_are_taken_off(text, said, references):
    completion = Completion(sources=True)
    completion.add(chunk(text, finish="stop"))
    assert completion.outcome() == Final(text=said, references=references)


def test_an_answer_of_sources_alone_is_silence():
    completion = Completion(sources=True)
    completion.add(chunk("<sources>hours</sources>", finish="stop"))
    assert completion.outcome() == Silence()


def test_nothing_of_the_sources_is_shown_while_an_answer_grows():
    whole = "We are 3 < 4.\n`<sources>hours</sources>`"
    shown = set()
    completion = Completion(sources=True)
    for character in whole:
        completion.add(chunk(character))
        shown.add(completion.growing)
    assert not [text for text in shown if "<s" in text or "hours" in text]
    assert "We are 3 < 4." in shown


def test_where_no_fact_was_given_the_words_stay_as_they_are():
    completion = Completion()
    completion.add(chunk("<sources>x</sources>", finish="stop"))
    assert completion.outcome() == Final(text="<sources>x</sources>")


def test_more_sources_than_an_answer_can_have_are_no_answer():
    completion = Completion(sources=True)
    completion.add(chunk(f"yes <sources>{' '.join(f'e{n}' for n in range(51))}</sources>", finish="stop"))
    with pytest.raises(AgentError):
        completion.outcome()
