"""OUT-1: there is one door. This walks the code to prove it, as the types alone can't."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.model.clearance import Clearance
from bot.model.errors import ClearanceError

TREE = Path(__file__).parents[2] / "bot"
MODULES = {path.relative_to(TREE.parent).as_posix(): ast.parse(path.read_text()) for path in sorted(TREE.rglob("*.py"))}

# Methods of the Bot API that reach nobody: they may be called without a clearance.
SILENT = {"getUpdates", "getMe", "getFile", "setWebhook", "deleteWebhook", "getWebhookInfo"}


def calls(tree: ast.AST, name: str) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == name:
            yield node


def modules_where(found) -> set[str]:
    return {name for name, tree in MODULES.items() if any(found(node) for node in ast.walk(tree))}


@pytest.mark.rule("OUT-1")
def test_only_the_door_holds_the_seal():
    def imports_seal(node):
        return isinstance(node, ast.ImportFrom) and any(alias.name == "SEAL" for alias in node.names)

    assert modules_where(imports_seal) == {"bot/deliveries/door.py"}

    def names_seal(node):
        return (isinstance(node, ast.Name) and node.id == "SEAL") or (
            isinstance(node, ast.Attribute) and node.attr == "SEAL"
        )

    assert modules_where(names_seal) == {"bot/deliveries/door.py", "bot/model/clearance.py"}


@pytest.mark.rule("OUT-1")
def test_only_the_dispatcher_asks_a_channel_to_deliver():
    asking = {name for name, tree in MODULES.items() if any(calls(tree, "deliver"))}
    handing_on = {"bot/channels/telegram/channel.py", "bot/channels/matrix/channel.py"}
    assert asking - handing_on == {"bot/deliveries/dispatcher.py"}
    for name in handing_on:
        inner = [ast.unparse(call.func) for call in calls(MODULES[name], "deliver")]
        assert inner == ["self._sender.deliver"], "a channel hands part and clearance on, and calls no other"


@pytest.mark.rule("OUT-1")
def test_every_delivery_spends_its_clearance_before_anything_else():
    found = []
    for name, tree in MODULES.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.AsyncFunctionDef) and node.name == "deliver" and name != "bot/ports/channel.py":
                first = next(line for line in node.body if not isinstance(line, ast.Expr) or not _is_text(line))
                found.append((name, ast.unparse(first)))
    hand_on, spend = "return await self._sender.deliver(part, clearance)", "clearance.spend(part)"
    assert sorted(found) == [
        ("bot/channels/matrix/channel.py", spend),  # while there is no login: later
        ("bot/channels/matrix/channel.py", hand_on),
        ("bot/channels/matrix/sending.py", spend),
        ("bot/channels/telegram/channel.py", hand_on),
        ("bot/channels/telegram/sending.py", spend),
        ("bot/channels/web/channel.py", spend),
    ]


def _is_text(line: ast.Expr) -> bool:
    return isinstance(line.value, ast.Constant) and isinstance(line.value.value, str)


@pytest.mark.rule("OUT-1")
def test_the_bot_api_is_called_by_name_only_for_what_reaches_nobody():
    for name, tree in MODULES.items():
        if not name.startswith("bot/channels/telegram/"):
            continue
        for call in calls(tree, "call"):
            method = call.args[0]
            if isinstance(method, ast.Constant):
                assert method.value in SILENT, f"{name} calls {method.value} past the door"
            else:
                assert name == "bot/channels/telegram/sending.py", f"{name} calls a method that can't be read off"


@pytest.mark.rule("OUT-1")
def test_what_reaches_people_on_matrix_is_called_by_the_sender_alone():
    """Uploads and calls of the endpoints that people notice; client.py only says what they are."""
    named = {
        (name, node.attr)
        for name, tree in MODULES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and ast.unparse(node.value).endswith("Endpoint") and node.attr in REACHING
    }
    assert {name for name, _ in named} == {"bot/channels/matrix/sending.py", "bot/channels/matrix/client.py"}
    assert {attr for name, attr in named if name.endswith("client.py")} == {"UPLOAD"}, "inside upload() itself"
    assert {name for name, tree in MODULES.items() if any(calls(tree, "upload"))} == {"bot/channels/matrix/sending.py"}
    for name, tree in MODULES.items():  # which endpoint is called can be read off everywhere
        if name.startswith("bot/channels/matrix/"):
            for call in calls(tree, "call"):
                first = ast.unparse(call.args[0])
                assert first.startswith("Endpoint.") or (name.endswith("sending.py") and first == "endpoint"), name


REACHING = {"SEND", "TYPING", "RECEIPT", "JOIN", "LEAVE", "UPLOAD"}


@pytest.mark.rule("OUT-1")
def test_no_other_module_opens_a_connection_to_a_platform():
    """HTTP clients stand in a platform's client, in the agents' connection, and where facts are fetched, which only gets."""

    def opens(node):
        return isinstance(node, ast.Attribute) and node.attr == "ClientSession"

    assert modules_where(opens) <= {
        "bot/channels/telegram/client.py",
        "bot/channels/telegram/channel.py",
        "bot/channels/matrix/client.py",
        "bot/channels/matrix/channel.py",
        "bot/agents/connection.py",
        "bot/record/fetching.py",
        "bot/callbacks/posting.py",  # tells agents, at addresses that the admin lists
    }
    (fetching,) = (tree for name, tree in MODULES.items() if name == "bot/record/fetching.py")
    assert not [verb for verb in ("post", "put", "patch", "delete", "request") if any(calls(fetching, verb))]
    importing = modules_where(
        lambda node: (
            (isinstance(node, ast.Import) and any(a.name.split(".")[0] in CLIENTS for a in node.names))
            or (isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in CLIENTS)
        ),
    )
    assert importing == {"bot/channels/matrix/keys/olm.py"}, (
        "nio's channels between devices are used, its connections not"
    )
    taken = {
        alias.name
        for node in ast.walk(MODULES["bot/channels/matrix/keys/olm.py"])
        if isinstance(node, ast.Import | ast.ImportFrom) and "nio" in ast.unparse(node)
        for alias in node.names
    }
    assert not any("Client" in name for name in taken), taken


CLIENTS = {"aiogram", "nio", "requests", "httpx", "telegram"}


def test_nobody_else_can_make_a_clearance():
    with pytest.raises(ClearanceError):
        Clearance(object(), None, None)
