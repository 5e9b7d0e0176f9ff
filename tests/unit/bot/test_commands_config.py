"""Commands in the configuration file: what can't hold is refused with its line and a mend (CMD-1)."""

import pytest

from bot.config import ConfigError, load_config
from bot.config.commands import Endpoint, FormAction, HttpAction, SummaryAction
from policy.decision import Audience

SECRET = "whsec_U1lOVEhFVElDIHNlY3JldCBvZiAzMiBieXRlcyAuLi4="
HEAD = "agents: {main: {kind: echo}}\nchat: {enabled: true, rooms: {r: {title: R, members: [ann]}}}\ncommands:\n"


def load(folder, text):
    path = folder / "config.yaml"
    path.write_text(HEAD + text, encoding="utf-8")
    path.chmod(0o600)
    return load_config(path, {"SECRET": SECRET})


def one(folder, keys):
    return load(folder, f"  go: {{description: Goes., audiences: [external], {keys}}}").commands["go"]


def test_the_smallest_command_has_careful_defaults(tmp_path):
    command = one(tmp_path, "action: {kind: handover}")
    assert (command.input_description, command.people, command.objects, command.reads) == (None, None, None, ())
    assert (command.title, command.audiences) == ({"en": "go"}, frozenset({Audience.EXTERNAL}))
    assert (command.takes_words, command.needs_words) == (True, False)


def test_without_commands_there_are_none(tmp_path):
    assert load(tmp_path, "  {}").commands == {}


def test_a_whole_command_becomes_settings(tmp_path):
    command = one(
        tmp_path,
        "input_description: one, title: {en: Go, de: Los}, people: [bob], groups: [operators], keep_as: s, reads: [s, s],"
        " objects: {url: 'https://o.example.org/', secret: '${SECRET}', timeout: 3s},"
        " rules: [{code: c, when: {state: [a, b]}, reason: {en: No.}}],"
        " action: {kind: http, url: 'https://o.example.org', secret: '${SECRET}', previous_secret: '${SECRET}'}",
    )
    assert isinstance(command.objects, Endpoint)
    assert (command.objects.url, command.objects.timeout_s) == ("https://o.example.org", 3.0)
    assert isinstance(command.action, HttpAction)
    assert (len(command.action.endpoint.secrets), command.action.endpoint.timeout_s) == (2, 10.0)
    assert (command.people, command.groups, command.reads) == (frozenset({"bob"}), frozenset({"operators"}), ("s",))
    assert command.rules[0].when == {"state": frozenset({"a", "b"})}
    assert SECRET not in repr(command)


def test_forms_and_summaries_become_settings(tmp_path):
    schema = "{type: object, properties: {a: {type: string}}}"
    form = one(tmp_path, f"action: {{kind: form, question: {{en: Which}}, schema: {schema}, who: operators, ttl: 5m}}")
    assert isinstance(form.action, FormAction)
    assert (form.action.who, form.action.ttl_s, form.takes_words) == ("operators", 300, False)
    summary = one(tmp_path, "action: {kind: summary, room: 'telegram:7001:-100123'}")
    assert isinstance(summary.action, SummaryAction)
    assert (str(summary.action.room), summary.needs_words) == ("telegram:7001:-100123", True)
    assert one(tmp_path, "action: {kind: summary}").action == SummaryAction()


URL = "url: 'https://o.example.org', secret: '${SECRET}'"
TAKES = "input_description: one"
TABLE = "objects: {table: {a: {display: A}}}"


@pytest.mark.parametrize(
    ("keys", "where", "words"),
    [
        ("action: {kind: run}", "commands.go.action.kind", "not known"),
        ("action: {kind: handover, url: 'https://x.example.org'}", "commands.go.action.url", "no url"),
        ("action: {kind: http}", "commands.go.action.url", "missing"),
        ("action: {kind: http, url: 'https://x.example.org'}", "commands.go.action.secret", "missing"),
        ("action: {kind: http, url: 'http://x.example.org', secret: '${SECRET}'}", "commands.go.action.url", "clear"),
        ("action: {kind: http, url: 'https://a:b@x.org', secret: '${SECRET}'}", "commands.go.action.url", "password"),
        ("action: {kind: http, url: 'https://x.org', secret: abc}", "commands.go.action.secret", "no secret"),
        (f"action: {{kind: http, {URL}, timeout: 2m}}", "commands.go.action.timeout", "within"),
        ("action: {kind: keep}", "commands.go.action", "nothing to keep"),
        ("action: {kind: summary, room: 'telegram:x'}", "commands.go.action.room", "no destination"),
        ("action: {kind: form, question: {en: Q}}", "commands.go.action.schema", "missing"),
        ("action: {kind: form, question: {en: Q}, schema: {type: string}}", "commands.go.action.schema", "asked"),
        (
            "action: {kind: form, question: {en: Q}, schema: {properties: {a: {type: string}}}, who: people}",
            "commands.go.action.who",
            "named",
        ),
        (
            "action: {kind: form, question: {en: Q}, schema: {type: object, properties: {a: {type: string}}}, ttl: 1s}",
            "commands.go.action.ttl",
            "30s",
        ),
        ("action: {kind: handover}, title: {de: Los}", "commands.go.title", "English"),
        ("action: {kind: handover}, title: {en: Go, '1': x}", "commands.go.title", "language"),
        ("action: {kind: handover}, title: {en: ' '}", "commands.go.title", "characters"),
        ("action: {kind: handover}, keep_as: s", "commands.go.keep_as", "no object"),
        (f"action: {{kind: handover}}, {TABLE}", "commands.go.objects", "no object"),
        (
            "action: {kind: handover}, rules: [{code: c, when: {a: [b]}, reason: {en: N}}]",
            "commands.go.rules",
            "no object",
        ),
        (f"action: {{kind: handover}}, {TAKES}", "commands.go.objects", "missing"),
        (f"action: {{kind: handover}}, {TAKES}, objects: {{}}", "commands.go.objects", "table or an endpoint"),
        (
            f"action: {{kind: handover}}, {TAKES}, objects: {{table: {{a: {{display: A}}}}, timeout: 1s}}",
            "commands.go.objects.timeout",
            "no timeout",
        ),
        (
            f"action: {{kind: handover}}, {TAKES}, objects: {{{URL}, timeout: 11s}}",
            "commands.go.objects.timeout",
            "within",
        ),
        (
            f"action: {{kind: handover}}, {TAKES}, {TABLE}, rules: [{{code: c, when: {{s: [b]}}, reason: {{en: N}}}}]",
            "commands.go.objects.table.a",
            "looks at s",
        ),
        (
            f"action: {{kind: handover}}, {TAKES}, {TABLE}, rules: [{{code: C, when: {{s: [b]}}, reason: {{en: N}}}}]",
            "commands.go.rules.0.code",
            "no code",
        ),
        (
            f"action: {{kind: handover}}, {TAKES}, objects: {{table: {{{'a' * 201}: {{display: A}}}}}}",
            "commands.go.objects.table",
            "id",
        ),
        ("action: {kind: handover}, reads: [s]", "commands.go.reads.0", "keeps"),
        ("action: {kind: handover}, run: x", "commands.go.run", "not known"),
    ],
)
def test_what_can_not_hold_is_refused_where_it_stands(tmp_path, keys, where, words):
    with pytest.raises(ConfigError) as caught:
        one(tmp_path, keys)
    problems = caught.value.problems
    found = [one for one in problems if one.path.startswith(where)]
    assert found, [(one.path, one.message) for one in problems]
    assert words in f"{found[0].message} {found[0].mend}"
    assert found[0].mark.line == 4
    assert SECRET not in str(caught.value)


def test_an_audience_has_to_be_named(tmp_path):
    for audiences in ("", "audiences: [], ", "audiences: [unknown], "):
        with pytest.raises(ConfigError):
            load(tmp_path, f"  go: {{description: Goes., {audiences}action: {{kind: handover}}}}")
