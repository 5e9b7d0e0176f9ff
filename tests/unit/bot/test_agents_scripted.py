import html
import re

import pytest

from bot.agents.script import load_script
from bot.agents.scripted import ScriptedAgent, ScriptedCrash, demo_script
from bot.channels.web.markdown import render
from bot.model.errors import AskError, ConfigError
from bot.model.output import Final, Fragment, Operational, OutFile, Progress, SafeError, Silence
from bot.model.question import Answerer, Conclusion, QuestionState, Who
from bot.model.request import Attachment
from bot.texts.codes import Failure
from forms.schema import read_form
from forms.validation import Judge
from policy.decision import Audience
from tests.servers.agents import outputs_of, request

ALL = """
version: 1
rules:
  - when: { words: [every kind] }
    say:
      - progress: working
      - wait: 1
      - operational: a fact
      - stream: { every: 0.5, parts: [one, " two", " three"] }
      - safe_error: busy
      - silence: true
      - final:
          text: bye
          files: [{ name: a.txt, media_type: text/plain, content: "ä" }]
          class: prices
          references: [list-2026]
          auto_after_s: 600
          card: { title: T, rows: [[a, b]], buttons: [{ label: Go, value: go, style: danger }] }
      - crash: boom
  - when: [{ words: ["c++"] }, { command: see }]
    say: [{ final: programming }]
  - when: { tap: "a:1", destinations: ["telegram:7001:-100123:42"], audiences: [external, unknown] }
    say: [{ final: tapped }]
  - when: { attachments: true }
    say: [{ final: file }]
otherwise:
  - final: help
"""


def agent(text=ALL, waited=None):
    async def pause(seconds):
        if waited is not None:
            waited.append(seconds)

    return ScriptedAgent(script=load_script(text, source="script.yaml"), pause=pause)


async def test_every_kind_of_step_is_played_in_order():
    waited, said = [], []

    async def play():
        async for output in agent(waited=waited).run(request("@desk  Every\nKIND, please"), None):
            said.append(output)  # noqa: PERF401 - what was said before the crash counts

    with pytest.raises(ScriptedCrash, match="boom"):
        await play()
    answer = said.pop()
    assert said == [
        Progress(text="working"),
        Operational(text="a fact"),
        Fragment(text="one"),
        Fragment(text="one two"),
        Final(text="one two three"),
        SafeError(failure=Failure.BUSY),
        Silence(),
    ]
    assert answer.files == (OutFile(name="a.txt", media_type="text/plain", content="ä".encode()),)
    assert answer.card.words == "T\na: b\nGo"
    assert waited == [1, 0.5, 0.5]


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        (request("I like C++!"), "programming"),
        (request("every kinds"), "help"),
        (request("", command="see"), "programming"),
        (request("", tap="a:1"), "tapped"),
        (request("", tap="a:2"), "help"),
        (request("", tap="a:1", audience=Audience.INTERNAL), "help"),
        (request("x", attachments=(Attachment(handle="h", name="n", media_type="text/plain"),)), "file"),
        (request("x"), "help"),
    ],
)
async def test_the_first_rule_that_fits_is_played(asked, answer):
    playing = agent()
    assert await outputs_of(playing, asked) == [Final(text=answer)]
    assert playing.name == "scripted"
    await playing.close()


@pytest.mark.parametrize(
    ("text", "where", "what"),
    [
        ("version: 2\notherwise: [{final: x}]", "s.yaml:1:10", "Input should be 1"),
        ("version: 1", "s.yaml:1:1", "otherwise: Field required"),
        ("version: 1\notherwise: [{finale: x}]", "s.yaml:2:", "finale"),
        ("version: 1\notherwise: [{final: x, wait: 1}]", "s.yaml:2:13", "exactly one of"),
        ("version: 1\notherwise: [{wait: 61}]", "s.yaml:2:20", "less than or equal to 60"),
        ("version: 1\notherwise: [{safe_error: no_such}]", "s.yaml:2:26", "'unavailable'"),
        ("version: 1\nrules: [{when: {}, say: [{final: x}]}]\notherwise: [{final: x}]", "s.yaml:2", ""),
        (
            "version: 1\nrules: [{when: {tap: 19:00}, say: [{final: x}]}]\notherwise: [{final: x}]",
            "s.yaml:2:22",
            "base 60",
        ),
        (
            "version: 1\notherwise: [{final: {card: {buttons: [{label: ' ', value: x}]}}}]",
            "s.yaml:2:28",
            "needs a label",
        ),
        ("version: 1\notherwise: [{final: {card: {buttons: [{label: a, value: x, stile: x}]}}}]", "s.yaml:2", "stile"),
        ("version: 1\notherwise: [{final: {text: x, class: price}}]", "s.yaml:2", "a class is one of: contract"),
        ("version: 1\notherwise: [{final: {text: x, auto_after_s: soon}}]", "s.yaml:2", "integer"),
        ("version: 1\nversion: 1\notherwise: [{final: x}]", "s.yaml:2:1", ""),
        ("a: [", "s.yaml:1", ""),
    ],
)
def test_a_script_that_cannot_be_played_is_refused_with_its_place(text, where, what):
    with pytest.raises(ConfigError) as caught:
        load_script(text, source="s.yaml")
    assert str(caught.value).startswith(where)
    assert what in str(caught.value)


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("@desk what are your opening hours?", [Final]),
        ("@desk book a table", [Final]),
        ("@desk status", [Progress, Operational, Final]),
        ("@desk price list", [Final]),
        ("@desk what does a wedding for 40 cost?", [Final]),
        ("@desk and a wedding for 60?", [Final]),
        ("@desk who celebrates with you?", [Final]),
        ("tell me about the menu", [*[Fragment] * 7, Final]),
        ("thank you!", [Silence]),
        ("what can you do?", [Final]),
    ],
)
async def test_the_demo_has_an_answer_to(text, kinds):
    async def pause(seconds):
        assert seconds < 1

    playing = ScriptedAgent(script=demo_script(), pause=pause)
    assert [type(output) for output in await outputs_of(playing, request(text))] == kinds


async def test_the_demo_confirms_each_button_of_its_card():
    playing = ScriptedAgent(script=demo_script())
    (offer,) = await outputs_of(playing, request("@desk book a table"))
    assert [button.label for button in offer.card.buttons] == ["19:00", "20:00", "Another day"]
    (help_text,) = await outputs_of(playing, request("?"))
    answers = [(await outputs_of(playing, request("", tap=button.value)))[0] for button in offer.card.buttons]
    assert help_text not in answers
    assert len({answer.text for answer in answers}) == 3


async def test_the_demo_breaks_on_request():
    async def pause(seconds):
        assert seconds < 1

    with pytest.raises(ScriptedCrash):
        await outputs_of(ScriptedAgent(script=demo_script(), pause=pause), request("@desk break"))


# questions

ASKS = """
version: 1
rules:
  - when: { words: [nested] }
    say:
      - ask:
          question: "Sure?"
          schema: { type: object, properties: {} }
          then:
            - progress: asking on
            - ask: { question: "How many?", schema: { type: object, properties: { m: { type: integer } } } }
      - final: "{answer.m} {answer}"
otherwise:
  - ask:
      question: "Who, and what?"
      schema:
        type: object
        properties:
          who: { type: string }
          pin: { type: string, format: password }
          sure: { type: boolean }
          note: { type: string }
        required: [who]
      who: { kind: people, people: [ann, bob] }
      important: true
      ttl_s: 60
      otherwise: [{ progress: nobody }]
  - final: "For **{answer.who}** {answer.pin} {answer.sure} {answer.note}: {answer} {other} {answer.}"
"""


class People:
    """A desk where the next answer is known already."""

    def __init__(self, *answers, state=QuestionState.ANSWERED) -> None:
        self.answers = list(answers)
        self.state = state
        self.asked = []

    async def ask(self, asking):
        self.asked.append(asking)
        answer = self.answers.pop(0) if self.state is QuestionState.ANSWERED else None
        return Conclusion(question_id="q", state=self.state, answer=answer)


async def test_an_answer_is_put_into_the_words_that_follow():
    people = People({"who": "Ann", "pin": "SYNTHETIC", "sure": True})
    (said,) = await outputs_of(agent(ASKS), request("x", language="en"), people)
    assert said.text.startswith("For **Ann** ••• Yes –: ")
    assert "SYNTHETIC" not in said.text
    assert said.text.endswith(" {other} {answer.}")
    (asking,) = people.asked
    assert asking.who == Who(kind=Answerer.PEOPLE, people=frozenset({"ann", "bob"}))
    assert (asking.important, asking.ttl_s, asking.key) == (True, 60, None)


@pytest.mark.parametrize(
    "hostile",
    [
        "**bold** _it_ `code` [x](mailto:a@example.org) <b>b</b> &lt;i&gt; ~~s~~ ||x||",
        "a\n# head\n- item\n1. one\n> quote\n\n    code\n```\nx\n```\n---\na | b\n--|--",
        "{answer.pin} {answer} {answer.who}",
        "\\*x\\*\\",
    ],
)
async def test_no_answer_formats_anything(hostile):
    (said,) = await outputs_of(agent(ASKS), request("x"), People({"who": hostile}))
    shown = render(said.text)
    words = html.unescape(re.sub(r"<[^>]+>", "", shown))
    assert set(re.findall(r"<(\w+)", shown)) == {"p", "strong"}
    assert " ".join(hostile.split()) in words


async def test_the_steps_of_then_come_before_the_rest():
    people = People({}, {"m": 3})
    said = await outputs_of(agent(ASKS), request("nested"), people)
    assert said == [Progress(text="asking on"), Final(text='3 \\{"m": 3\\}')]
    assert [asking.text for asking in people.asked] == ["Sure?", "How many?"]


@pytest.mark.parametrize("state", [QuestionState.EXPIRED, QuestionState.CANCELLED])
async def test_without_an_answer_the_rest_is_not_played(state):
    assert await outputs_of(agent(ASKS), request("x"), People(state=state)) == [Progress(text="nobody"), Silence()]
    assert await outputs_of(agent(ASKS), request("nested"), People(state=state)) == [Silence()]


async def test_a_question_that_can_not_be_asked_is_an_error_of_the_agent():
    class Nobody:
        async def ask(self, asking):
            raise AskError("no_questions", "nobody can be asked here")

    with pytest.raises(AskError):
        await outputs_of(agent(ASKS), request("x"), Nobody())


@pytest.mark.parametrize(
    ("ask", "what"),
    [
        ("{question: x}", "schema: Field required"),
        ("{question: '', schema: {type: object}}", "question"),
        ("{question: x, schema: {type: string}}", "not_an_object"),
        ("{question: x, schema: {type: object, properties: {a: {enum: []}}}}", "/properties/a/enum"),
        ("{question: x, schema: {type: object}, ttl_s: 5}", "ttl_s"),
        ("{question: x, schema: {type: object}, who: {kind: ann}}", "who.kind"),
        ("{question: x, schema: {type: object}, who: {kind: people}}", "people are named"),
        ("{question: x, schema: {type: object}, who: {kind: asker, people: [ann]}}", "people are named"),
        ("{question: x, schema: {type: object}, whom: {kind: asker}}", "whom"),
        ("{question: x, schema: {type: object}, then: [{finale: x}]}", "finale"),
    ],
)
def test_a_question_that_can_not_be_asked_is_refused_with_its_place(ask, what):
    with pytest.raises(ConfigError) as caught:
        load_script(f"version: 1\notherwise: [{{ask: {ask}}}]", source="s.yaml")
    assert str(caught.value).startswith("s.yaml:2:")
    assert what in str(caught.value)


def test_a_text_that_names_a_field_nobody_was_asked_for_is_refused():
    rule = "{when: {tap: x}, say: [{ask: {question: x, schema: {type: object, properties: {a: {}}}}}, {final: '{answer.b}'}]}"
    with pytest.raises(ConfigError, match=r"has the field of \{answer.b\}"):
        load_script(f"version: 1\nrules: [{rule}]\notherwise: [{{final: x}}]", source="s.yaml")


@pytest.mark.parametrize(
    ("words", "answer", "text"),
    [
        (
            "@desk release",
            {"channel": "beta", "version": "1.2.3", "window": ["2026-12-01", "2026-12-05"], "confirmed": False},
            "version **1\\.2\\.3** for **beta**",
        ),
        ("is there a dessert?", {"dessert": "Cheese"}, "**Cheese** is kept"),
        ("we close tonight", {"close": True}, "**Yes**"),
    ],
)
async def test_the_demo_asks(words, answer, text):
    people = People(answer)
    (said,) = await outputs_of(ScriptedAgent(script=demo_script()), request(words), people)
    assert text in said.text
    assert Judge(read_form(people.asked[0].schema)).errors(answer) == ()


async def test_the_demo_says_so_when_nobody_has_filled_in_its_form():
    said = await outputs_of(
        ScriptedAgent(script=demo_script()), request("release"), People(state=QuestionState.EXPIRED)
    )
    assert [type(output) for output in said] == [Final, Silence]
