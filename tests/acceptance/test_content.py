"""What an answer says, at the door of a running gateway: what may not be said outside is not, and inside it is known."""

import json

import pytest

from bot.channels.telegram.limits import Limits
from bot.model.errors import AskError
from bot.model.output import Final, Fragment, OutFile
from bot.model.question import Asking
from bot.texts.codes import Failure, Notice, Stop
from bot.texts.words import Words
from forms.card import Button, Card
from tests.harness import ANN, BOB, BOT_ID, GROUP, INTERNAL, CountingAgent, running

rule = pytest.mark.rule
OPEN = Limits(chat=None, group=None, total=None)
STRANGER = 559
POLICY = f"""\
version: 1
operators: [ann]
people:
  ann: {{accounts: ["telegram:{ANN}"]}}
  bob: {{accounts: ["telegram:{BOB}"], counterparty: acme}}
counterparties:
  acme: {{name: Acme, protected_terms: [Blue Heron, Ada]}}
  other: {{name: Other, protected_terms: [Red Fox, X-77, Ivan Petrov]}}
direct: {{strangers: allow, streaming: draft}}
channels:
  "telegram:{BOT_ID}:{GROUP}": {{audience: external, counterparty: acme, streaming: edit}}
  "telegram:{BOT_ID}:{INTERNAL}": {{audience: internal, reports: true}}
"""
SORRY = Words("en").say(Failure.WITHHELD)
TRACE = 'Traceback (most recent call last):\n  File "agent.py", line 3, in run\nValueError: no such order'
DISCLOSURES = [
    TRACE,
    "    at Object.<anonymous> (/srv/app/index.js:10:15)",
    "I looked into /home/anna/orders.csv for you.",
    r"The plan is in C:\Users\anna\plan.docx.",
    "Use the key sk-ant-api03-a1B2c3D4e5a1B2c3D4e5a1B2c3D4e5.",
    "The dashboard is at http://10.0.0.5:3000.",
    "[here](http://wiki.corp/orders) it is",
    '{"error": {"type": "rate_limit_exceeded", "message": "slow down"}}',
    "<think>She is angry.</think> Good morning!",
    "Your answer is pending operator review.",
    "Черновик №12 ожидает одобрения оператора.",
]
LEAKS = [
    "Like Red Fox, you could do it.",
    "like r e d  f o x",
    "like Red-Fox",
    "like Rеd Fоx",
    "like ＲＥＤ ｆｏｘ",
    "like Re\u200bd F\u00adox",
    "like **Red** *Fox*",
    "like R~~e~~d Fox",
    "like [Red](https://example.com) Fox",
    "like `X-77`",
    "| Red | Fox |\n|---|---|\n| 1 | 2 |",
    "see https://example.com/red-fox/plan",
]


def saying(*outputs):
    return CountingAgent(answer=lambda _request: list(outputs))


def ask(api, *, chat=GROUP, sender=BOB, words="how is it?"):
    return api.say(chat=chat, sender=sender, text=words if chat > 0 else f"@desk_bot {words}")


async def answered(api, tmp_path, *outputs, chat=GROUP, sender=BOB, policy=POLICY):
    """Everything that people could read outside and inside after one request, as Telegram got it."""
    async with running(tmp_path, api=api, agent=saying(*outputs), policy=policy, limits=OPEN) as gateway:
        ask(api, chat=chat, sender=sender)
        await gateway.settled()
        calls = [call for call in gateway.person_calls if call.method not in ("sendChatAction", "sendMessageDraft")]
        shown = [call for call in gateway.person_calls if call.method != "sendChatAction"]
    here = [call for call in calls if str(call.params.get("chat_id")) == str(chat)]
    everything = json.dumps(
        [call.params for call in shown if str(call.params.get("chat_id")) == str(chat)], default=str
    )
    return here, everything, api.texts(INTERNAL)


def stopped(here, inside, code):
    """Outside a plain sentence, inside the code in words, and what was found is told to nobody."""
    assert [call.params.get("text") for call in here] == [SORRY]
    (report,) = inside
    assert f"`{code}`" in report or f"{code}" in report
    return report


@rule("OUT-4", "OUT-7")
@pytest.mark.parametrize("text", DISCLOSURES)
async def test_what_never_goes_outside_becomes_a_plain_sentence_and_a_report_inside(api, tmp_path, text):
    here, everything, inside = await answered(api, tmp_path, Final(text=text))
    report = stopped(here, inside, "disclosure")
    assert Words("en").stopped([Stop.DISCLOSURE]) in report
    assert "anna" not in everything + report
    assert "10.0.0.5" not in everything + report


@rule("OUT-4", "AUTO-5")
@pytest.mark.parametrize("text", [*DISCLOSURES, *LEAKS, "It costs 12,50 €."])
async def test_inside_everything_may_be_said(api, tmp_path, text):
    here, _, _ = await answered(api, tmp_path, Final(text=text), chat=INTERNAL, sender=ANN)
    assert [call.params["text"] for call in here] != []
    assert SORRY not in [call.params["text"] for call in here]


@rule("AUTO-5")
@pytest.mark.parametrize("text", LEAKS)
async def test_anothers_terms_stay_however_they_are_written(api, tmp_path, text):
    here, everything, inside = await answered(api, tmp_path, Final(text=text))
    report = stopped(here, inside, "leak")
    assert "Fox" not in everything + report
    assert "X-77" not in everything + report


@rule("AUTO-5")
@pytest.mark.parametrize("text", ["Blue Heron is on time.", "Ada says hello.", "Canada and a red foxglove"])
async def test_ones_own_terms_and_other_words_pass(api, tmp_path, text):
    here, _, inside = await answered(api, tmp_path, Final(text=text))
    assert [call.params["text"] for call in here] == [text]
    assert inside == []


@rule("AUTO-5")
@pytest.mark.parametrize(("sender", "passes"), [(BOB, True), (STRANGER, False)])
async def test_in_a_private_chat_the_terms_of_the_persons_own_organisation_pass(api, tmp_path, sender, passes):
    here, _, _ = await answered(api, tmp_path, Final(text="Blue Heron is on time."), chat=sender, sender=sender)
    assert [call.params["text"] for call in here] == ["Blue Heron is on time." if passes else SORRY]


CARRIED = {
    "a caption": Final(text="like Red Fox", files=(OutFile(name="a.bin", media_type="application/pdf", content=b"%PDF\0"),)),
    "a file name": Final(text="here", files=(OutFile(name="Red_Fox.pdf", media_type="application/pdf", content=b"%PDF\0"),)),
    "a text file": Final(text="here", files=(OutFile(name="a.txt", media_type="text/plain", content=b"for Red Fox"),)),
    "a mislabelled text file": Final(
        text="here", files=(OutFile(name="a", media_type="application/octet-stream", content=b"for Red Fox"),)
    ),
    "a text file in another script and another coding": Final(
        text="here",
        files=(
            OutFile(name="a", media_type="application/octet-stream", content="для Red Fox".encode()),
            OutFile(name="b", media_type="application/octet-stream", content="для Red Fox".encode("utf-16")),
        ),
    ),
    "a page with marks in the name": Final(
        text="here", files=(OutFile(name="a.html", media_type="text/html", content=b"<p>R&#101;d&nbsp;<b>F</b>ox</p>"),)
    ),
    "a file of JSON with escapes": Final(
        text="here", files=(OutFile(name="a.json", media_type="application/json", content=b'{"for": "\\u0052ed Fox"}'),)
    ),
    "a link with escapes": Final(text="look: https://example.com/?for=Red%20Fox"),
    "a link in the middle of the name": Final(text="like [Red](https://example.com/)Fox"),
    "entities of a page": Final(text="like Red&nbsp;F&#111;x"),
    "a name that is turned round": Final(text="like \u202exoF deR\u202c"),
    "a button": Final(text="choose", card=Card(buttons=(Button(label="Red Fox", value="1"),))),
    "the link of a button": Final(
        text="choose", card=Card(buttons=(Button(label="Go", url="https://example.com/red-fox"),))
    ),
    "the title of a card": Final(text="choose", card=Card(title="Red Fox", buttons=(Button(label="Go", value="1"),))),
    "a row of a card": Final(text="", card=Card(rows=(("Customer", "Red Fox"),))),
    "a name and a value of a card": Final(text="", card=Card(rows=(("Red", "Fox"),))),
    "two parts of one answer": Final(text="x " * 2040 + "about Red\n\nFox and others " + "y " * 300),
    "a caption and the name of its file": Final(
        text="here is Red", files=(OutFile(name="fox.pdf", media_type="application/pdf", content=b"%PDF\0"),)
    ),
}  # fmt: skip


@rule("AUTO-5", "OUT-2", "OUT-9")
@pytest.mark.parametrize("answer", CARRIED.values(), ids=CARRIED)
async def test_a_term_is_found_wherever_an_answer_carries_it_and_no_part_of_it_leaves(api, tmp_path, answer):
    here, everything, inside = await answered(api, tmp_path, answer)
    stopped(here, inside, "leak")
    assert "ox" not in everything.lower().replace("box", "")


@rule("AUTO-5", "OUT-4")
@pytest.mark.parametrize("text", ["like Red Fox", TRACE, "it costs 12,50 €", "I have transferred 500 EUR"])
@pytest.mark.parametrize("chat", [GROUP, STRANGER])
async def test_what_may_not_be_said_is_not_shown_while_an_answer_grows_either(api, tmp_path, text, chat):
    growing = [Fragment(text=f"Well, {text}"), Final(text="All is well.")]
    here, everything, _ = await answered(api, tmp_path, *growing, chat=chat, sender=BOB if chat == GROUP else STRANGER)
    assert [call.params["text"] for call in here] == ["All is well."]
    assert "Well," not in everything


@rule("AUTO-3")
@pytest.mark.parametrize("declared", ["", "routine", "prices"])
@pytest.mark.parametrize(
    "text",
    [
        "I have transferred 500 EUR to your account.",
        "I hereby sign the contract for Acme.",
        "Мы перевели деньги на ваш счёт.",
        "He iniciado sesión con su contraseña.",
        "Version 2 is out: I published 2.0 to PyPI.",
        "Ein anderer Kunde von uns zahlt weniger.",
    ],
)
async def test_a_hard_stop_never_leaves_whatever_its_agent_declares(api, tmp_path, text, declared):
    here, _, inside = await answered(api, tmp_path, Final(text=text, declared=declared))
    report = stopped(here, inside, "")
    assert Words("en").stopped([Stop.HARD_STOP]) in report


@rule("AUTO-3")
@pytest.mark.parametrize("chat", [GROUP, INTERNAL])
async def test_a_declared_hard_stop_is_one_for_any_reader(api, tmp_path, chat):
    answer = Final(text="It is done.", declared="moving_money")
    here, everything, _ = await answered(api, tmp_path, answer, chat=chat, sender=ANN if chat == INTERNAL else BOB)
    assert "It is done." not in everything
    assert SORRY in [call.params["text"] for call in here]


@rule("AUTO-2", "AUTO-4")
@pytest.mark.parametrize(
    ("text", "declared"),
    [
        ("It costs 12,50 €.", "routine"),
        ("Es kostet 1.200 EUR.", ""),
        ("Это стоит 500 руб.", ""),
        ("Will be fine.", "legal"),
        ("Will be fine.", "a class of my own"),
        ("Our special rate applies.", ""),
        ("That is offer 12.", ""),
    ],
)
async def test_detectors_raise_what_an_agent_declares_and_nothing_reaches_the_room(api, tmp_path, text, declared):
    policy = POLICY + "detectors:\n  prices: {words: [special rate], patterns: ['offer [0-9]+']}\n"
    _, everything, _ = await answered(api, tmp_path, Final(text=text, declared=declared), policy=policy)
    assert text not in everything


@rule("AUTO-4")
async def test_an_admin_can_switch_the_detectors_of_a_class_off_where_the_file_says_so(api, tmp_path):
    policy = POLICY + "detectors:\n  technical_figure: {package: false}\n"
    here, _, _ = await answered(api, tmp_path, Final(text="It takes 200 ms."), policy=policy)
    assert [call.params["text"] for call in here] == ["It takes 200 ms."]


@rule("OUT-4")
@pytest.mark.parametrize(
    "text", ["it runs on build01", "it runs on git.example.net", "see our Sprint Board", "DESK-12"]
)
async def test_an_admin_adds_what_never_goes_outside(api, tmp_path, text):
    policy = POLICY + (
        "disclosure: {hosts: [build01, '*.example.net'], words: [sprint board], patterns: ['desk-[0-9]+']}\n"
    )
    here, _, inside = await answered(api, tmp_path, Final(text=text), policy=policy)
    stopped(here, inside, "disclosure")


class Asker:
    """Asks once, and ends."""

    name = "main"

    def __init__(self, **asking):
        self.asking = Asking(**{"text": "Which one?", "schema": {}, **asking})
        self.errors, self.answers = [], []

    async def run(self, request, desk):
        try:
            self.answers.append(await desk.ask(self.asking))
        except AskError as error:
            self.errors.append(error)
        yield Final(text="Thank you.")

    async def close(self):
        pass


def schema(**field):
    return {"type": "object", "properties": {"x": {"type": "string", **field}}, "required": ["x"]}


HIDDEN = {
    "its text": {"text": "Shall we do as for Red Fox?"},
    "a title": {"schema": schema(title="Red Fox")},
    "a description": {"schema": schema(description="as for Red Fox")},
    "a choice": {"schema": schema(enum=["Red Fox", "none"])},
    "a titled choice": {"schema": schema(oneOf=[{"const": "r", "title": "Red Fox"}, {"const": "n", "title": "none"}])},
    "an example": {"schema": schema(examples=["Red Fox"])},
    "a default": {"schema": schema(default="Red Fox")},
    "a name": {"schema": {"type": "object", "properties": {"red_fox": {"type": "string"}}, "required": ["red_fox"]}},
    "a path": {"schema": schema(description="from /home/anna/list.csv")},
}


@rule("AUTO-5", "OUT-4", "FORM-6")
@pytest.mark.parametrize("asking", HIDDEN.values(), ids=HIDDEN)
async def test_a_question_shows_no_more_than_a_message_could_on_its_page_neither(api, tmp_path, asking):
    agent = Asker(**{"schema": schema(title="Choice"), **asking})
    async with running(tmp_path, api=api, agent=agent, policy=POLICY, limits=OPEN) as gateway:
        ask(api)
        await gateway.settled()
        assert [error.code for error in agent.errors] == ["withheld"]
        everything = json.dumps([call.params for call in gateway.person_calls], default=str)
        (report,) = api.texts(INTERNAL)
    assert "fox" not in everything.lower()
    assert "anna" not in everything
    assert "not asked" in report, "it is known inside, without what was found"


@rule("AUTO-5", "FORM-7")
@pytest.mark.parametrize("typed", ["500 EUR", "from Red Fox"])
async def test_what_a_person_types_in_their_own_room_never_keeps_their_question_open(api, tmp_path, typed):
    agent = Asker(schema=schema(title="Budget"))
    async with running(tmp_path, api=api, agent=agent, policy=POLICY, limits=OPEN) as gateway:
        ask(api)
        card = (await api.wait_sent(GROUP))[-1]
        api.say(chat=GROUP, sender=BOB, text=typed, reply_to_message=card)
        await gateway.settled()
        edited = [call.params for call in gateway.person_calls if call.method == "editMessageText"]
    assert [one.answer for one in agent.answers] == [{"x": typed}]
    assert edited, "the card is closed"
    assert ("Red Fox" in json.dumps(edited)) is False
    assert ("500 EUR" in json.dumps(edited)) is ("500 EUR" in typed)


async def test_the_report_says_why_and_never_what(api, tmp_path):
    _, _, inside = await answered(api, tmp_path, Final(text=f"{TRACE} for Red Fox"))
    (report,) = inside
    words = Words("en")
    why = words.stopped([Stop.LEAK])
    request = report.partition("request ")[2].partition(")")[0]
    assert report == words.say(Notice.WITHHELD_REPORT, request=request, why=why, codes="leak").replace("`", "")
