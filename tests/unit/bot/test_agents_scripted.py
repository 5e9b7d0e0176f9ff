import pytest

from bot.agents.script import load_script
from bot.agents.scripted import ScriptedAgent, ScriptedCrash, demo_script
from bot.model.errors import ConfigError
from bot.model.output import Final, Fragment, Operational, OutFile, Progress, SafeError, Silence
from bot.model.request import Attachment
from bot.texts.codes import Failure
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
