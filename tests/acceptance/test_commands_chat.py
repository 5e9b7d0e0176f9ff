"""Commands in the built-in chat of `discreet run`: configured, looked up, carried out, refused (CMD)."""

import pytest

from tests.acceptance.test_chat_run import CONFIG, POLICY, answer_to, daemon, entered, visit
from tests.commanding import Orders, http, loaded, taking
from tests.servers.agents import serving

rule = pytest.mark.rule
SCRIPT = """
version: 1
rules:
  - when: {words: [bobs]}
    say:
      - command: {name: close_order, object: o-19, otherwise: [{final: "{command.outcome}: {command.text}"}]}
      - final: closed
  - when: {words: [nothing]}
    say:
      - command: {name: close_order, object: o-404, otherwise: [{final: "{command.outcome}: {command.text}"}]}
      - final: closed
  - when: {words: [late]}
    say:
      - command: {name: close_order, object: o-18, otherwise: [{final: "{command.text}"}]}
      - final: closed
  - when: {words: [other]}
    say:
      - command: {name: inside, otherwise: [{final: "{command.outcome}"}]}
      - final: inside
  - when: {words: [which]}
    say:
      - clarify: {task: t, slot: order, question: "Which order?", candidates: [{id: o-17, name: o-17}]}
      - command: {name: close_order, object: "{slot.order}", otherwise: [{final: "{command.text}"}]}
      - final: "closed {slot.order} ({command.outcome})"
otherwise:
  - command: {name: close_order, object: o-17}
  - final: "closed ({command.outcome})"
"""
OBJECTS = {
    "table": {
        "o-17": {"display": "Order 17", "people": ["ann"], "fields": {"state": "open"}},
        "o-18": {"display": "Order 18", "people": ["ann"], "fields": {"state": "closed"}},
        "o-19": {"display": "Order 19", "people": ["bob"], "fields": {"state": "open"}},
    }
}


@pytest.fixture
async def orders():
    orders = Orders()
    async with serving(orders) as orders.url:
        yield orders


@pytest.fixture
def folder(tmp_path, orders):
    inside = {"description": "Calls.", "audiences": ["internal"], "action": http(orders.url)}
    commands = {"close_order": taking(objects=OBJECTS, action=http(orders.url)), "inside": inside}
    loaded(tmp_path / "checked", commands)
    written = (tmp_path / "checked" / "config.yaml").read_text().partition('"commands": ')[2].removesuffix("}")
    config = CONFIG.replace("{kind: echo}", "{kind: scripted, script: script.yaml}")
    policy = POLICY.replace('["web:annie"]', '["web:annie"], language: ru')
    for name, text in (
        ("config.yaml", f"{config}\ncommands: {written}\n"),
        ("policy.yaml", policy),
        ("script.yaml", SCRIPT),
    ):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o600)
    return tmp_path


@rule("CMD-1", "CMD-2", "CMD-3", "CMD-4", "CMD-5")
async def test_a_command_is_run_in_the_built_in_chat_with_the_rights_of_whoever_asks(folder, orders):
    async with daemon(folder) as one, visit(one) as ann, visit(one) as bob:
        for visitor, person in ((ann, "ann"), (bob, "bob")):
            await entered(visitor, one, person)

        async def says(visitor, words):
            return (await answer_to(visitor, await visitor.say("customers", f"@desk {words}")))["text"]

        assert await says(ann, "close it") == "closed (done)"
        assert [(call["object"]["id"], call["person"]) for call in orders.calls] == [("o-17", "ann")]
        foreign = await says(ann, "close bobs")
        assert foreign == await says(ann, "close nothing") == "unknown_object: There is no such object."
        assert await says(bob, "close bobs") == "closed"
        assert await says(ann, "late") == "«Close the order» нельзя выполнить для Order 18. Он уже закрыт."
        assert await says(ann, "other") == "not_allowed"
        asked = await ann.say("customers", "@desk which")
        card = await answer_to(ann, asked)
        token = next(button["token"] for button in card["card"]["buttons"] if button["label"] == "o-17")
        status, _ = await ann.post(f"/api/rooms/customers/messages/{card['id']}/tap", {"token": token})
        assert status == 200
        async with ann.stream() as stream:
            while "closed o-17 (done)" not in (await stream.until("message", room="customers"))["text"]:
                pass
    assert [(call["object"]["id"], call["person"]) for call in orders.calls] == [
        ("o-17", "ann"),
        ("o-19", "bob"),
        ("o-17", "ann"),
    ]
