"""The contract and the tests tell the same story."""

import ast
import re
from pathlib import Path

TREE = Path(__file__).parents[2]
TEXT = (TREE / "docs" / "contract.md").read_text()
RULES = set(re.findall(r"^- ([A-Z]+-\d+) ", TEXT, re.MULTILINE))
NOT_BUILT = set(re.findall(r"[A-Z]+-\d+", TEXT.partition("## Not built yet")[2]))


def named() -> dict[str, set[str]]:
    """Rule ids by the test that names them."""
    found: dict[str, set[str]] = {}
    for path in sorted((TREE / "tests").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in {"pytest.mark.rule", "rule"}:
                for argument in node.args:
                    if isinstance(argument, ast.Constant):
                        found.setdefault(str(argument.value), set()).add(path.name)
    return found


def test_every_rule_has_a_test_or_stands_among_those_that_are_not_built_yet():
    assert RULES - set(named()) - NOT_BUILT == set()


def test_tests_name_only_rules_of_the_contract():
    assert set(named()) - RULES == set()
    assert set() == NOT_BUILT - RULES
