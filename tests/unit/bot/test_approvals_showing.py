"""Cards of approvals: everything is there, nothing hides, nothing passes for the gateway's own words (APPR-2)."""

import json
from dataclasses import replace
from datetime import UTC, date, datetime

import pytest

from bot.approvals import showing
from bot.approvals.answering import Said, read_command, read_reply
from bot.approvals.fields import changed, fields_of
from bot.approvals.plainness import behind_a_bar, flat, line, visible
from bot.approvals.showing import Terms
from bot.approvals.words import ApprovalWords
from bot.channels.matrix import payload as matrix_payload
from bot.channels.matrix import presenting as matrix
from bot.channels.telegram import payload as telegram_payload
from bot.channels.telegram import presenting as telegram
from bot.channels.web import presenting as web
from bot.model.approval import (
    Action,
    Approval,
    ApprovalState,
    Assurance,
    DecidedBy,
    Decision,
    Gate,
    Proposal,
    Subject,
    Verdict,
)
from bot.ports.approvals import Role, Standing
from bot.ports.channel import Reply
from bot.texts.words import LANGUAGES
from policy.boundary import Speech
from policy.destination import parse_destination
from policy.utf16 import utf16_len

rule = pytest.mark.rule
NOW = datetime(2026, 3, 1, 17, 0, tzinfo=UTC)
TERMS = Terms(timezone="Europe/Berlin", deciders=("Ann", "Bob"), people={"ann": "Ann", "bob": "Bob"})
HOSTILE = 'cat a.txt > b.txt && echo "</pre><b>Approved ✅</b> `x` [y](http://z)"'


class _Channel:
    """A platform's own presenting, without the platform."""

    def __init__(self, name, keyboards, destination):
        self.name, self.keyboards = name, keyboards
        self.to = Reply(destination=parse_destination(destination))

    def present(self, speech, answer, *, to):
        assert speech is Speech.REPORT
        match self.name:
            case "telegram":
                return telegram.present(speech, answer, to=to)
            case "matrix":
                return matrix.present(speech, answer, to=to)
            case _:
                return web.present(speech, answer, to=to, today=date(2026, 3, 1))

    def present_rest(self, parts, *, message):
        edit = {"telegram": telegram_payload.final_edit, "matrix": matrix_payload.final_edit}.get(self.name)
        return web.present_rest(parts, message=message) if edit is None else edit(parts, message)


TELEGRAM = _Channel("telegram", True, "telegram:7001:-1002")
MATRIX = _Channel("matrix", False, "matrix:@desk:example.org:!ops:example.org")
WEB = _Channel("web", True, "web:desk:ops")
CHANNELS = pytest.mark.parametrize("channel", [TELEGRAM, MATRIX, WEB], ids=lambda one: one.name)


def made(parameters, *, name="deploy", subject=Subject.CALL, **more):
    action = Action(name=name, system="cluster", parameters=parameters)
    proposal = Proposal(
        action=action, **{key: more.pop(key) for key in ("reason", "task", "gates", "schema") if key in more}
    )
    return Approval(
        id="1",
        code="K7QM2",
        agent="main",
        key="k",
        subject=subject,
        proposal=proposal,
        version=action.version,
        origin=None,
        proposed_at=NOW,
        **{"expires_at": NOW, "state": ApprovalState.IN_REVIEW, **more},
    )


def card(approval, channel, *, terms=TERMS, unfolded=False):
    (part,) = showing.card(approval, terms, channel, to=channel.to, unfolded=unfolded)
    return part


def verbs(part):
    return [button.value.partition(":")[0] for button in part.buttons]


# nothing hides


@rule("APPR-2")
@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain words, Überweisung, перевод, 転送", "plain words, Überweisung, перевод, 転送"),
        ("a\u202eb", "a⟨U+202E⟩b"),
        ("a\u2066b\u2069", "a⟨U+2066⟩b⟨U+2069⟩"),
        ("pay\u200bpal", "pay⟨U+200B⟩pal"),
        ("a\u00adb", "a⟨U+00AD⟩b"),
        ("a\u00a0b\u3000c", "a⟨U+00A0⟩b⟨U+3000⟩c"),
        ("a\u2028b\x85c", "a⟨U+2028⟩b⟨U+0085⟩c"),
        ("\ufeffa\x00\x1b[31m", "⟨U+FEFF⟩a⟨U+0000⟩⟨U+001B⟩[31m"),
        ("a\U000e0041", "a⟨U+E0041⟩"),
        ("a\ufe0fb\U000e0101", "a⟨U+FE0F⟩b⟨U+E0101⟩"),
        ("a\u3164b\u2800c\u034fd", "a⟨U+3164⟩b⟨U+2800⟩c⟨U+034F⟩d"),
        ("\ue000\U0010ffff", "⟨U+E000⟩⟨U+10FFFF⟩"),
        ("\ud800", "⟨U+D800⟩"),
        ("a\tb\r\nc", "a⇥   b␍\nc"),
        ("❤️ 👩‍💻 👍🏽 1️⃣", "❤️ 👩‍💻 👍🏽 1️⃣"),
        ("👩\u200dx", "👩⟨U+200D⟩x"),
        ("p\u0430ypal.com, g\u043e\u043egle", "p⟨U+0430⟩ypal.com, g⟨U+043E⟩⟨U+043E⟩gle"),
        ("\u0399gnore \U0001d429aypal", "⟨U+0399⟩gnore ⟨U+1D429⟩aypal"),
        (
            "IT-отдел, PDF-\u0430, Łódź, naïve, nº 5 m², aпp, α-Version",
            "IT-отдел, PDF-\u0430, Łódź, naïve, nº 5 m², aпp, α-Version",
        ),
    ],
)
def test_what_is_unseen_is_written_out(text, shown):
    assert visible(text) == shown


def test_a_line_stays_one_and_every_line_of_a_block_stands_behind_a_bar():
    assert line("a\nb") == "a⏎b"
    assert behind_a_bar("a\n\nb") == "│ a\n│\n│ b"


@rule("APPR-2")
@pytest.mark.parametrize(
    ("parameters", "lines"),
    [
        ({}, []),
        ({"a": 1, "b": 1.5, "c": True, "d": None}, ["a: 1", "b: 1.5", "c: true", "d: null"]),
        (
            {"a": "1", "b": "true", "c": "", "d": " x", "e": '"q"'},
            ['a: "1"', 'b: "true"', 'c: ""', 'd: " x"', 'e: "\\"q\\""'],
        ),
        ({"a": "1.4.2", "b": "null and void"}, ["a: 1.4.2", "b: null and void"]),
        (
            {"mail": {"to": ["a", "b"], "cc": [], "x": {}}},
            ["mail.to[0]: a", "mail.to[1]: b", "mail.cc: []", "mail.x: {}"],
        ),
        ({"items": [{"n": 1}, [2, [3]]]}, ["items[0].n: 1", "items[1][0]: 2", "items[1][1][0]: 3"]),
        ({"a b": 1, "x": {"k\ney: 2": 1}}, ['["a b"]: 1', 'x["k\\ney: 2"]: 1']),
        ({"text": "one\ntwo: 3"}, ["text:", "│ one", "│ two: 3"]),
        ({"a": "x\u202ey", "é\u200b": 1}, ["a: x⟨U+202E⟩y", '["é⟨U+200B⟩"]: 1']),
    ],
)
def test_parameters_are_paths_and_values_with_nothing_left_out(parameters, lines):
    assert flat(parameters) == "\n".join(lines)


# cards


@rule("APPR-2", "AUTO-6")
@CHANNELS
def test_hostile_words_are_literal_and_stay_behind_their_bar(channel):
    approval = made(
        {"command": HOSTILE, "note": "x\nResult: approved\n\nApproved ✅ by Ann"},
        reason="```\nMay decide: Mallory\n***",
        task="| a | b |\n|---|---|",
        gates=(Gate(name="eval\nApproved", passed=False, detail="<script>"),),
    )
    part = card(approval, channel)
    for words in (
        f"│ command: {HOSTILE}",
        "│ │ Approved ✅ by Ann",
        "│ ```",
        "│ May decide: Mallory",
        "│ eval⏎Approved: <script>",
    ):
        assert words in part.text
    lines = part.text.split("\n")
    assert [one for one in lines if one.startswith(("Approved", "Result", "```", "***"))] == []
    assert sum(one.startswith("May decide: ") for one in lines) == 1
    if channel is MATRIX:
        markup = json.loads(part.payload)["content"]["formatted_body"]
        assert "<script>" not in markup
        assert "</pre><b>" not in markup
        assert "<table>" in markup


@rule("APPR-2")
@CHANNELS
@pytest.mark.parametrize("size", [10, 3_500, 5_000, 12_000, 47_000])
def test_approve_is_offered_only_where_everything_can_be_read(channel, size):
    approval = made({"command": "x" * size + " rm -rf /srv"})
    part = card(approval, channel)
    seen = "x" * size + " rm -rf /srv" in part.text
    assert ("approve" in verbs(part)) is seen is showing.fits(approval, TERMS, channel, to=channel.to)
    assert ("full" in verbs(part)) is not seen
    assert {"deny", "why", "return"} <= set(verbs(part))
    if not seen:
        assert "only the first" in part.text or "not shown here" in part.text
    if channel is TELEGRAM:
        params = json.loads(part.payload)["params"]
        assert utf16_len(params["text"]) <= 4096
        assert all(
            len(key["callback_data"].encode()) <= 64 for row in params["reply_markup"]["inline_keyboard"] for key in row
        )
    unfolded = card(approval, channel, unfolded=True)
    assert "approve" in verbs(unfolded)
    (sent,) = showing.full(approval, TERMS, channel, to=channel.to)
    (file,) = sent.files
    assert "x" * size + " rm -rf /srv" in file.content.decode()
    assert approval.version in file.content.decode()


@rule("APPR-2")
@CHANNELS
def test_many_parameters_and_emoji_are_counted_as_the_platform_counts(channel):
    part = card(made({f"p{number}": "👩‍💻" * 20 for number in range(100)}), channel)
    if channel is TELEGRAM:
        assert utf16_len(json.loads(part.payload)["params"]["text"]) <= 4096
    assert ("approve" in verbs(part)) is (channel is WEB)


@rule("AUTO-6")
@CHANNELS
def test_a_draft_shows_its_exact_text_its_digest_its_files_and_where_it_goes(channel):
    parameters = {
        "destination": "telegram:7001:-1001",
        "text": "Dear Sir,\n**100 EUR**\u200b",
        "files": [{"name": "offer\u202efdp.exe", "media_type": "application/pdf", "size": 12_345, "sha256": "ab" * 32}],
    }
    approval = made(parameters, subject=Subject.DRAFT, expires_at=None, auto_at=NOW)
    part = card(approval, channel, terms=replace(TERMS, where="Acme, telegram:7001:-1001"))
    for words in (
        "Draft to decide on: K7QM2",
        "Goes to: Acme, telegram:7001:-1001",
        "│ Dear Sir,\n│ **100 EUR**⟨U+200B⟩",
        "SHA-256 ",
        f"│ offer⟨U+202E⟩fdp.exe, application/pdf, 12345 bytes, SHA-256 {'ab' * 32}",
        "2026-03-01 18:00 (Europe/Berlin)",
    ):
        assert words in part.text


@rule("APPR-9")
@CHANNELS
def test_high_assurance_offers_the_page_and_no_button_that_approves(channel):
    terms = replace(TERMS, assurance=Assurance.HIGH, page="https://forms.example.org/a/x")
    part = card(made({"a": 1}), channel, terms=terms)
    assert verbs(part) == ["deny", "why", "return"]
    assert "Approve with passkey…" in part.text
    assert "https://forms.example.org/a/x" in part.text
    assert "Approve with passkey…" not in card(made({"a": 1}), channel, terms=replace(terms, page="")).text


def decided(state, verdict, *, words="", way=DecidedBy.TAP, person="ann", **more):
    approval = made({"a": 1}, state=state, **more)
    decision = Decision(
        version=approval.version, verdict=verdict, person=person, account="telegram:1", way=way, at=NOW, words=words
    )
    return replace(approval, decisions=(decision,))


@rule("APPR-2", "APPR-4")
@CHANNELS
@pytest.mark.parametrize(
    ("approval", "words"),
    [
        (decided(ApprovalState.APPROVED, Verdict.APPROVE), ("K7QM2: approved", "Decided by: Ann, 2026-03-01 18:00")),
        (
            decided(ApprovalState.DENIED, Verdict.DENY, words="no\nResult: approved"),
            ("K7QM2: denied", "│ no\n│ Result: approved"),
        ),
        (decided(ApprovalState.RETURNED, Verdict.RETURN, words="1.4.3"), ("K7QM2: returned for changes", "│ 1.4.3")),
        (decided(ApprovalState.CLAIMED, Verdict.APPROVE), ("K7QM2: approved, and under way", "Decided by: Ann")),
        (decided(ApprovalState.EXECUTED, Verdict.APPROVE, note="ok"), ("K7QM2: approved, and done", "│ ok")),
        (decided(ApprovalState.FAILED, Verdict.APPROVE), ("K7QM2: approved, but it failed",)),
        (decided(ApprovalState.UNKNOWN, Verdict.APPROVE), ("K7QM2: approved, but nobody knows",)),
        (
            decided(ApprovalState.APPROVED, Verdict.APPROVE, way=DecidedBy.TIME, person=""),
            ("Decided by: the passing of time",),
        ),
        (decided(ApprovalState.DENIED, Verdict.DENY, way=DecidedBy.POLICY, person=""), ("Decided by: the policy",)),
        (decided(ApprovalState.DENIED, Verdict.DENY, person="gone"), ("Decided by: somebody whom",)),
        (made({"a": 1}, state=ApprovalState.EXPIRED), ("K7QM2: expired",)),
        (made({"a": 1}, state=ApprovalState.CANCELLED), ("K7QM2: taken back",)),
        (
            replace(decided(ApprovalState.APPROVED, Verdict.APPROVE), replaced=(("0" * 64, "bob"),)),
            ("Changed by: Bob",),
        ),
    ],
)
def test_a_closed_card_says_what_came_of_it_and_has_nothing_to_tap(channel, approval, words):
    standing = Standing(
        approval=approval, role=Role.CARD, version=approval.version, destination=channel.to.destination, message="5"
    )
    (part,) = showing.edit(approval, TERMS, channel, standing)
    assert part.buttons == ()
    for one in (*words, "│ a: 1"):
        assert one in part.text
    assert "May decide" not in part.text


@rule("APPR-3")
@CHANNELS
def test_the_card_of_an_earlier_version_is_replaced_whatever_became_of_the_newer(channel):
    approval = decided(ApprovalState.APPROVED, Verdict.APPROVE)
    standing = Standing(
        approval=approval, role=Role.CARD, version="0" * 64, destination=channel.to.destination, message="5"
    )
    (part,) = showing.edit(approval, TERMS, channel, standing)
    assert part.buttons == ()
    assert "K7QM2: replaced by a newer version" in part.text
    assert "│" not in part.text


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_card_can_be_made_in_every_language(language):
    terms = replace(TERMS, language=language, quorum=2, agreed=("Ann",))
    for approval in (
        made({"a": 1}, gates=(Gate(name="g", passed=False),)),
        made({"a": "x" * 9_000}),
        made({}, name="n" * 150),
    ):
        part = card(approval, TELEGRAM, terms=terms)
        assert "K7QM2" in part.text
        assert "{" not in part.text
    words = ApprovalWords(language)
    assert all(showing.result_of(made({}, state=state), words) for state in ApprovalState if not state.undecided)


# words of people


@rule("FORM-14")
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("yes", Said(verdict=Verdict.APPROVE)),
        ("ok", Said(verdict=Verdict.APPROVE, weak=True)),
        ("👍", Said(verdict=Verdict.APPROVE, weak=True)),
        ("Approve.", Said(verdict=Verdict.APPROVE)),
        ("approve k7qm2", Said(verdict=Verdict.APPROVE)),
        ("/approve@desk_bot K7QM2", Said(verdict=Verdict.APPROVE)),
        ("нет", Said(verdict=Verdict.DENY)),
        ("deny K7QM2: too early\nreally", Said(verdict=Verdict.DENY, words="too early\nreally")),
        ("deny too early", Said(verdict=Verdict.DENY, words="too early")),
        ("return", Said(verdict=Verdict.RETURN)),
        ("Return K7QM2 use 1.4.3", Said(verdict=Verdict.RETURN, words="use 1.4.3")),
        ("approve all but the last", None),
        ("approve ABCDE", None),
        ("approved by my boss", None),
        ("denying it would be wrong", None),
        ("returning soon", None),
        ("disallow", None),
        ("I cannot approve this yet", None),
        ("no preference, use us-east-1", None),
        ("", None),
    ],
)
def test_a_reply_decides_as_a_whole_or_not_at_all(text, said):  # D-018, D-020
    assert read_reply(text, "K7QM2") == said


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        ("/approve K7QM2", "K7QM2", ""),
        ("/deny@desk_bot k7qm2 too early", "K7QM2", "too early"),
        ("!return K7QM2\nuse 1.4.3", "K7QM2", "use 1.4.3"),
        ("@desk:example.org: !approve K7QM2", "K7QM2", ""),
        ("/approve", "", ""),
        ("/deny it now", "", "it now"),
    ],
)
def test_a_command_names_a_code_and_words_follow(text, code, words):
    read = read_command(text)
    assert (read.code, read.words) == (code, words)


# other values


@rule("APPR-3")
def test_values_become_fields_and_what_no_field_can_show_stays_as_it_is():
    approval = made(
        {
            "service": "api",
            "amount": 100,
            "rate": 1.5,
            "live": True,
            "none": None,
            "mail": {"to": ["a", "b"], "text": "one\ntwo"},
            "odd key": 1,
            "hidden": "a\u200bb",
            "huge": "x" * 9_000,
            "big": 2**53 - 1,
            "empty": [],
        }
    )
    fields = fields_of(approval)
    assert set(fields.steps) == {"service", "amount", "rate", "live", "mail.to[0]", "mail.to[1]", "mail.text", "big"}
    assert fields.rest == ("none", '["odd key"]', "hidden", "huge", "empty")
    action = changed(approval, {"amount": 90, "rate": 2, "mail.to[1]": "c", "mail.text": "three", "stranger": 1})
    assert action.parameters == {
        **approval.action.parameters,
        "amount": 90,
        "rate": 2.0,
        "mail": {"to": ["a", "c"], "text": "three"},
    }
    assert (action.name, action.system) == ("deploy", "cluster")
    assert changed(approval, {}).version == approval.version


@rule("APPR-3")
def test_the_agents_own_schema_is_used_where_it_holds():
    schema = {
        "type": "object",
        "properties": {
            "channel": {"type": "string", "enum": ["stable", "beta"], "title": "Channel"},
            "amount": {"type": "integer", "minimum": 1, "maximum": 500},
            "pin": {"type": "string", "writeOnly": True},
            "odd": {"$ref": "#/nowhere"},
            "wrong": {"enum": ["a"]},
        },
    }
    values = {"channel": "beta", "amount": 100, "pin": "1", "odd": "x", "wrong": "b"}
    fields = fields_of(made(values, schema=schema))
    properties = fields.schema["properties"]
    assert properties["channel"] == {
        "type": "string",
        "enum": ["stable", "beta"],
        "title": "Channel",
        "default": "beta",
    }
    assert properties["amount"]["maximum"] == 500
    assert properties["pin"] == {"type": "string", "default": "1"}
    assert properties["wrong"] == {"type": "string", "default": "b"}
    assert set(fields.steps) == set(values)


@rule("APPR-3")
def test_of_a_draft_the_words_alone_can_be_changed_and_there_are_at_most_twenty_fields():
    draft = made({"destination": "web:desk:a", "text": "Hello", "files": [], "filing": 2}, subject=Subject.DRAFT)
    assert set(fields_of(draft).steps) == {"text"}
    assert changed(draft, {"text": "Bye", "destination": "web:desk:b"}).parameters["destination"] == "web:desk:a"
    many = fields_of(made({f"p{number}": number for number in range(25)}))
    assert (len(many.steps), len(many.rest)) == (20, 5)
