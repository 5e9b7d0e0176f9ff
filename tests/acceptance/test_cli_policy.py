"""An admin checks a policy file and asks what it would decide (OPS-1)."""

import json

import pytest

from tests.acceptance.commands import TREE, run

BOT = {"id": 7001, "is_bot": True, "first_name": "Desk", "username": "desk_bot"}
GROUP = {"id": -1001900000001, "type": "supergroup", "title": "Customer"}
BOB = {"id": 510000002, "is_bot": False, "first_name": "Bob"}
POLICY = """\
version: 1
operators: [ann]
people:
  ann:
    accounts: [telegram:510000001]
channels:
  telegram:7001:-1001900000001:
    audience: external
"""
BROKEN = """\
version: 1
channels:
  telegram:7001:-1001900000001:
    audiance: external
    audience: external
operators: no
"""
BODY = "the merger closes on Friday"


def message(number, text="", *, kind="message", at=1790000000, chat=GROUP, **more):
    body = {"message_id": number, "date": at, "chat": chat, "from": BOB, **({"text": text} if text else {}), **more}
    if text.startswith("@desk_bot"):
        body["entities"] = [{"type": "mention", "offset": 0, "length": 9}]
    return {"platform": "telegram", "bot": BOT, "update": {"update_id": 100 + number, kind: body}}


def photo(number, *, caption="", at=1790000000):
    file = {"file_id": "f", "file_unique_id": "u", "width": 1, "height": 1, "file_size": 10}
    words = {"caption": caption} if caption else {}
    if caption.startswith("@desk_bot"):
        words["caption_entities"] = [{"type": "mention", "offset": 0, "length": 9}]
    return message(number, at=at, photo=[file], media_group_id="album", **words)


@pytest.fixture
def policy(tmp_path):
    (tmp_path / "policy.yaml").write_text(POLICY)
    return tmp_path / "policy.yaml"


def explain(folder, *lines, arguments=(), code=0):
    text = "".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines)
    done = run(folder, "policy", "explain", "--policy", "policy.yaml", *arguments, "-", stdin=text)
    assert done.returncode == code, done.stderr
    assert BODY not in done.stdout + done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_a_good_file_is_in_order(tmp_path, policy):
    done = run(tmp_path, "policy", "check", "policy.yaml", str(TREE / "policy" / "example.yaml"))
    assert done.returncode == 0
    assert done.stdout.startswith("policy.yaml: in order")
    assert done.stderr == ""


def test_each_problem_has_its_place_and_its_mend(tmp_path, policy):
    (tmp_path / "broken.yaml").write_text(BROKEN)
    done = run(tmp_path, "policy", "check", "broken.yaml", "policy.yaml")
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    assert lines[0].startswith("broken.yaml:4:5: error: ")
    assert "audiance" in lines[0]
    assert lines[1].strip() == "mend: did you mean audience?"
    assert lines[2].startswith("broken.yaml:6:12: error: operators")
    assert lines[3].strip().startswith("mend: ")
    assert lines[-1].startswith("policy.yaml: in order")


@pytest.mark.parametrize(
    ("content", "word"),
    [(None, "there is no"), (b"\xff\xfe", "UTF-8")],
)
def test_a_file_that_cannot_be_read_is_a_wrong_usage(tmp_path, content, word):
    if content is not None:
        (tmp_path / "policy.yaml").write_bytes(content)
    done = run(tmp_path, "policy", "check", "policy.yaml")
    assert done.returncode == 2
    error, mend = done.stderr.splitlines()
    assert error.startswith("error: ")
    assert word in error
    assert mend.startswith("mend: ")


def test_the_schema_is_a_json_schema_that_knows_every_section(tmp_path):
    done = run(tmp_path, "policy", "schema")
    schema = json.loads(done.stdout)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert {"version", "channels", "people", "operators"} <= schema["properties"].keys()
    assert schema["additionalProperties"] is False
    for _, target in references(schema):
        assert target.startswith("#/$defs/")
        assert target.removeprefix("#/$defs/") in schema["$defs"]


def references(node):
    if isinstance(node, dict):
        yield from ((key, value) for key, value in node.items() if key == "$ref")
        for value in node.values():
            yield from references(value)
    elif isinstance(node, list):
        for value in node:
            yield from references(value)


def test_an_event_is_explained_with_decision_reason_audience_gates_and_rules(tmp_path, policy):
    silent, answered = explain(tmp_path, message(1, BODY), message(2, f"@desk_bot {BODY}"))
    assert silent == {
        "key": "101",
        "decision": "mute",
        "reason": "no_address",
        "audience": "external",
        "output_class": "none",
        "gates_passed": ["identity", "kind", "origin", "access"],
        "stopped_at": "consent",
        "rules": ["PART-1"],
        "observe": False,
        "why": "Nobody addressed the bot, so it keeps out of the conversation.",
    }
    assert (answered["decision"], answered["output_class"]) == ("respond", "business")
    assert answered["gates_passed"] == ["identity", "kind", "origin", "access", "consent", "burst", "rate"]


def test_a_batch_gets_its_settled_decision_when_it_is_quiet(tmp_path, policy):
    lines = explain(
        tmp_path,
        photo(1),
        photo(2, caption=f"@desk_bot {BODY}"),
        message(3, BODY, at=1790000060),
    )
    assert [(line["key"], line["decision"]) for line in lines] == [
        ("101", "defer"),
        ("102", "defer"),
        ("101", "respond"),
        ("103", "mute"),
    ]
    assert lines[2]["batch"] == ["101", "102"]


def test_a_batch_that_is_open_at_the_end_is_settled_there(tmp_path, policy):
    *_, last = explain(tmp_path, photo(1), photo(2))
    assert (last["decision"], last["batch"]) == ("mute", ["101", "102"])


def test_an_edit_knows_what_became_of_its_message_in_the_same_file(tmp_path, policy):
    lines = explain(
        tmp_path,
        message(1, "hello"),
        message(1, "@desk_bot hello", kind="edited_message", edit_date=1790000005),
        message(1, "@desk_bot hello there", kind="edited_message", edit_date=1790000009),
    )
    assert [line["decision"] for line in lines] == ["mute", "respond", "mute"]
    assert lines[2]["reason"] == "edit_of_seen_message"


def test_a_line_can_say_what_the_gateway_would_remember(tmp_path, policy):
    asked = message(1, "@desk_bot hello")
    lines = explain(
        tmp_path,
        {**asked, "memory": {"first_start": "2027-01-01T00:00:00Z"}},
        {**asked, "memory": {"withdrawn": True}},
        {**asked, "memory": {"person_requests": 1000}},
        {**asked, "memory": {}},
    )
    assert [line["reason"] for line in lines] == [
        "before_first_start",
        "withdrawn",
        "rate_limited",
        "explicit_mention",
    ]


def test_now_is_the_time_of_the_event_unless_it_is_given(tmp_path, policy):
    (line,) = explain(tmp_path, message(1, "@desk_bot hello"), arguments=["--now", "2030-01-01T00:00:00Z"])
    assert line["reason"] == "older_than_backlog"
    done = run(tmp_path, "policy", "explain", "--policy", "policy.yaml", "--now", "tomorrow", "-")
    assert done.returncode == 2
    assert "mend: Write it such as" in done.stderr


def test_lines_that_cannot_be_taken_are_named_and_do_not_stop_the_others(tmp_path, policy):
    good = message(9, "@desk_bot hello")
    lines = explain(
        tmp_path,
        "{",
        "[]",
        {**good, "platform": "carrier-pigeon"},
        {**good, "bot": 1},
        {**good, "update": None},
        {**good, "memory": {"mood": "good"}},
        {**good, "memory": {"original": "lost"}},
        {**good, "memory": {"person_requests": -1}},
        {**good, "memory": {"first_start": "once"}},
        "",
        good,
        code=2,
    )
    assert [line.get("line") for line in lines] == [1, 2, 3, 4, 5, 6, 7, 8, 9, None]
    assert all(line["error"] and line["mend"] for line in lines[:-1])
    assert lines[-1]["decision"] == "respond"


def test_a_bot_whose_name_is_not_known_keeps_the_gate_shut(tmp_path, policy):
    event = message(1, "@desk_bot hello")
    (line,) = explain(tmp_path, {**event, "bot": {"id": 7001, "is_bot": True}})
    assert (line["decision"], line["reason"]) == ("defer", "identity_unknown")


def test_an_update_without_a_shape_is_set_aside(tmp_path, policy):
    (line,) = explain(
        tmp_path, {"platform": "telegram", "bot": BOT, "update": {"update_id": 5, "message": {"chat": 7}}}
    )
    assert (line["decision"], line["reason"]) == ("mute", "malformed")


def test_a_broken_policy_explains_nothing(tmp_path):
    (tmp_path / "policy.yaml").write_text(BROKEN)
    done = run(tmp_path, "policy", "explain", "--policy", "policy.yaml", "-")
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("policy.yaml:4:5: error: ")
    done = run(tmp_path, "policy", "explain", "--policy", "policy.yaml", "nothing.jsonl")
    assert done.returncode == 2


def test_an_admin_reads_the_detectors_in_force_and_can_put_them_into_a_file_of_their_own(tmp_path):
    file = tmp_path / "policy.yaml"
    file.write_text(POLICY + "detectors: {technical_figure: {package: false}, prices: {words: [Sondertarif]}}\n")
    shown = run(tmp_path, "policy", "detectors", "--policy", str(file))
    assert shown.returncode == 0
    assert "Sondertarif" in shown.stdout
    assert "technical_figure" not in shown.stdout
    file.write_text(POLICY + shown.stdout)
    assert run(tmp_path, "policy", "check", str(file)).returncode == 0


@pytest.mark.parametrize(
    ("text", "code", "found"),
    [
        ("We are open.", 0, {"leak": False, "disclosure": [], "topics": []}),
        ("It costs 12,50 €, see /home/ann/x", 1, {"leak": False, "disclosure": ["host_path"], "topics": ["prices"]}),
        ("about B l u e Heron", 1, {"leak": True, "disclosure": [], "topics": []}),
    ],
)
def test_an_admin_tries_what_would_be_found_in_a_text(tmp_path, text, code, found):
    file = tmp_path / "policy.yaml"
    file.write_text(POLICY + "counterparties: {acme: {name: Acme, protected_terms: [Blue Heron]}}\n")
    command = ("policy", "detectors", "-p", str(file))
    for tried in (run(tmp_path, *command, text), run(tmp_path, *command, "-", stdin=text)):
        assert tried.returncode == code
        assert json.loads(tried.stdout) == found
    own = run(tmp_path, *command, "--counterparty", "acme", "about Blue Heron")
    assert own.returncode == 0
