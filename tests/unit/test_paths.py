"""OUT-9: every path to a person is listed from the code, and has tests. tests/paths.py reads the code."""

import ast

import pytest

from tests import paths

rule = pytest.mark.rule


@rule("OUT-9")
def test_every_path_that_the_code_has_stands_in_the_document_and_no_other_one():
    known, there = set(paths.written()), set(paths.paths())
    assert there - known == set(), "write them into docs/paths.md, with their tests"
    assert known - there == set(), "take them out of docs/paths.md"


@rule("OUT-9")
def test_each_path_has_a_test_of_a_final_and_of_a_failed_output():
    assert paths.untested() == []


@rule("OUT-9")
def test_a_path_without_a_test_is_reported_as_untested(monkeypatch):
    known = paths.written()
    path, (final, _) = next(iter(known.items()))
    monkeypatch.setattr(
        paths, "written", lambda: {**known, path: (final, "acceptance/test_paths.py::test_that_is_gone")}
    )
    assert paths.untested() == [f"{path}: failed output"]
    monkeypatch.setattr(paths, "written", lambda: {one: tests for one, tests in known.items() if one != path})
    assert paths.untested() == [f"{path}: final output", f"{path}: failed output"]


@rule("OUT-9")
@pytest.mark.parametrize(
    ("where", "code", "found"),
    [
        ("channels/telegram/new.py", "part = Part(action=Action.REACTION)", "telegram reaction"),
        ("runtime/new.py", "self._dispatcher.enqueue(parts)", "from bot/runtime/new.py"),
        ("cli/new.py", "await dispatcher.show(part, place)", "from bot/cli/new.py"),
        (
            "pages/new.py",
            "async def _new(self, request: web.Request) -> web.StreamResponse: ...",
            "page pages/new.py _new",
        ),
        (
            "wiring/new.py",
            "def verbs() -> dict[str, Verb]:\n    async def say(): ...\n    return {'say': say}",
            "command line new.say",
        ),
    ],
)
def test_a_new_path_is_found(tmp_path, monkeypatch, where, code, found):
    for folder in ("channels", "pages", "wiring", "runtime", "cli"):
        (tmp_path / "bot" / folder).mkdir(parents=True)
    (tmp_path / "bot" / "wiring" / "gateway.py").write_text("Crew(services=(*services, questions.run))")
    (tmp_path / "bot" / "channels" / "telegram").mkdir()
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    monkeypatch.setattr(paths, "BOT", tmp_path / "bot")
    assert found not in paths.paths()
    (tmp_path / "bot" / where).write_text(code)
    assert found in paths.paths()


@rule("OUT-1", "OUT-9")
def test_nothing_is_handed_over_under_a_name_that_the_list_would_miss():
    """The dispatcher has three ways in; where they are called, its name can be read off."""
    ways = {
        node.name
        for node in ast.walk(ast.parse((paths.BOT / "deliveries" / "dispatcher.py").read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith("_")
    }
    assert ways == {"recover", "enqueue", "show", "waiting", "open_lanes", "idle", "close"}
    for path in sorted(paths.BOT.rglob("*.py")):
        text = path.read_text()
        for node in ast.walk(ast.parse(text)) if "enqueue" in text else ():
            if isinstance(node, ast.Attribute) and node.attr == "enqueue" and path.name != "dispatcher.py":
                assert ast.unparse(node.value).endswith("dispatcher"), f"{path}: {ast.unparse(node)}"
