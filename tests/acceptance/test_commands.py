"""Commands that an agent runs on behalf of a person, on a running gateway (CMD)."""

import asyncio
import sqlite3
from contextlib import asynccontextmanager, closing

import pytest

from bot.channels.telegram.limits import Limits
from bot.commands import room
from bot.model.command import RunState
from bot.model.interaction import Candidate
from bot.model.output import Clarify, Final
from tests.acceptance.test_clarifications import card, tap, until
from tests.acceptance.test_content import POLICY as GUARDED
from tests.commanding import SECRET, TABLE, Commander, Orders, http, loaded, taking
from tests.harness import ANN, BOB, BOT_ID, GROUP, INTERNAL, MALLORY, POLICY, running
from tests.servers.agents import serving

rule = pytest.mark.rule
GERMAN = POLICY.replace("names: [Bob, Jordan]}", "names: [Bob, Jordan], language: de}")
LOOKED_UP = {"objects": {"url": "", "secret": SECRET, "timeout": "0.5s"}, "rules": []}


@asynccontextmanager
async def commanded(tmp_path, api, agent, commands, *, policy=POLICY, text="please", chat=BOB, sender=BOB):
    """A gateway whose agent has run its commands for one request."""
    settings = loaded(tmp_path / "config", commands)
    async with running(
        tmp_path,
        api=api,
        agent=agent,
        limits=Limits(chat=None, group=None, total=None),
        policy=policy,
        commands=settings,
    ) as gateway:
        api.say(chat=chat, sender=sender, text=text)
        await gateway.settled()
        yield gateway


def looked_up(url, **more):
    return taking(**{**LOOKED_UP, "objects": {**LOOKED_UP["objects"], "url": url}, **more})


def everything(folder):
    """All that the store holds, as text."""
    with closing(sqlite3.connect(folder / "discreet.db")) as database:
        return "\n".join(database.iterdump())


def rows(folder, statement):
    with closing(sqlite3.connect(folder / "discreet.db")) as database:
        return database.execute(statement).fetchall()


@rule("CMD-1", "CMD-2", "CMD-5")
async def test_a_command_is_carried_out_with_the_object_the_person_and_a_signature(api, tmp_path):
    orders, agent = Orders(), Commander(runs=[("close_order", "o-17")])
    async with serving(orders) as url, commanded(tmp_path, api, agent, {"close_order": taking(action=http(url))}):
        (ran,) = agent.ran
        assert (ran.state, ran.result, ran.thing.display) == (RunState.DONE, {"closed": True}, "Order 17")
        (called,), (headers,) = orders.calls, orders.headers
        assert called["object"] == {"id": "o-17", "display": "Order 17"}
        assert (called["person"], called["command"], called["slots"]) == ("bob", "close_order", {})
        assert (called["request"], called["run"]) == (agent.requests[0].id, ran.run)
        assert headers["Idempotency-Key"] == headers["webhook-id"] == ran.run
        assert api.texts(BOB)[-1] == "The command was carried out."
    assert "o-17" not in everything(tmp_path), "the value exists for its run only"
    assert "Order 17" not in everything(tmp_path)
    assert rows(tmp_path, "SELECT state, codes FROM command_runs") == [("done", "")]
    kinds = rows(tmp_path, "SELECT json_extract(facts, '$.state') FROM journal WHERE kind = 'command' ORDER BY seq")
    assert kinds == [("started",), ("done",)]


@rule("CMD-1")
async def test_what_is_not_listed_can_not_be_run_and_what_is_not_allowed_here_is_not_offered(api, tmp_path):
    commands = {
        "inside": taking(audiences=["internal"], action={"kind": "handover"}),
        "anns": taking(people=["ann"], action={"kind": "handover"}),
        "operators": taking(groups=["operators"], action={"kind": "handover"}),
        "ours": taking(people=["bob"], action={"kind": "handover"}),
    }
    names = ("inside", "anns", "operators", "rm", "ours")
    agent = Commander(runs=[(name, "o-17") for name in names])
    async with commanded(tmp_path, api, agent, commands):
        assert agent.offered == [["ours"]]
        assert [one.code for one in agent.errors] == ["not_allowed", "not_allowed", "not_allowed", "unknown_command"]
        assert {str(one) for one in agent.errors} == {
            "This command may not be run here.",
            "There is no such command.",
        }
        assert [one.state for one in agent.ran] == [RunState.DONE]


@rule("CMD-1")
async def test_a_gateway_without_commands_runs_none(api, tmp_path):
    agent = Commander(runs=[("close_order", None)])
    async with commanded(tmp_path, api, agent, {}):
        assert agent.offered == [[]]
        assert [one.code for one in agent.errors] == ["unknown_command"]


@rule("CMD-2", "CMD-4")
async def test_an_object_is_taken_where_one_is_expected_and_nowhere_else(api, tmp_path):
    plain = {"description": "Calls a person.", "audiences": ["external"], "action": {"kind": "handover"}}
    commands = {"person": plain, "close_order": taking(action={"kind": "handover"})}
    agent = Commander(runs=[("person", "o-17"), ("person", ""), ("close_order", None), ("close_order", "o-17", "why")])
    async with commanded(tmp_path, api, agent, commands):
        assert [(one.code, str(one)) for one in agent.errors] == [
            ("no_input_expected", "This command takes no object."),
            ("no_input_expected", "This command takes no object."),
            ("object_missing", "This command needs the id of one object."),
        ]
        assert len(agent.ran) == 1


@rule("CMD-3")
@pytest.mark.parametrize("unreadable", ["o-99", "o-404", "", "o" * 300, "o-17\n"])
async def test_an_object_of_others_is_refused_exactly_as_one_that_does_not_exist(api, tmp_path, unreadable):
    orders, agent = Orders(), Commander(runs=[("close_order", unreadable)])
    async with serving(orders) as url, commanded(tmp_path, api, agent, {"close_order": taking(action=http(url))}):
        (error,) = agent.errors
        assert (error.code, str(error), error.args) == (
            "unknown_object",
            "There is no such object.",
            ("There is no such object.",),
        )
        assert orders.calls == []
        assert agent.took[0] >= 0.05
    ((codes,),) = rows(tmp_path, "SELECT json_extract(facts, '$.codes') FROM journal WHERE kind = 'command'")
    assert codes == "unknown_object"
    assert rows(tmp_path, "SELECT * FROM command_runs") == []


@rule("CMD-3")
async def test_the_moment_of_a_refusal_does_not_tell_whether_an_object_exists(api, tmp_path):
    orders = Orders(delay={"o-99": 0.3, "o-404": 0.0, "o-slow": 5.0})
    agent = Commander(runs=[("close_order", one) for one in ("o-99", "o-404", "o-slow")])
    async with (
        serving(orders) as url,
        commanded(tmp_path, api, agent, {"close_order": looked_up(url, action=http(url))}),
    ):
        assert [(one.code, str(one)) for one in agent.errors] == [("unknown_object", "There is no such object.")] * 3
        assert all(took >= 0.5 for took in agent.took), agent.took
        assert orders.calls == []


@rule("CMD-3")
async def test_an_object_is_looked_up_with_the_identity_of_the_person_and_no_other(api, tmp_path):
    orders, agent = Orders(), Commander(runs=[("close_order", "o-99")])
    async with (
        serving(orders) as url,
        commanded(tmp_path, api, agent, {"close_order": looked_up(url, action=http(url))}) as gateway,
    ):
        api.say(chat=ANN, sender=ANN, text="/status please")
        await gateway.settled()
        api.say(chat=INTERNAL, sender=ANN, text="@desk_bot please")
        await gateway.settled()
        api.say(chat=MALLORY, sender=MALLORY, text="please")
        await gateway.settled()
        assert (orders.looks[0]["person"], orders.looks[0]["object"]) == ("bob", "o-99")
        assert {one["person"] for one in orders.looks} == {"bob", "ann", None}
        assert {one["person"] for one in orders.calls} == {"ann"}
        assert {str(one) for one in agent.errors} == {"There is no such object."}


@rule("CMD-4")
@pytest.mark.parametrize(
    ("policy", "sentence"),
    [
        (POLICY, "“Close the order” can't be done for Order 18. It is closed already."),
        (GERMAN, "„Auftrag schließen“ geht für Order 18 nicht. Er ist schon geschlossen."),
    ],
)
async def test_the_rules_of_a_command_refuse_in_the_language_of_the_person(api, tmp_path, policy, sentence):
    orders, agent = Orders(), Commander(runs=[("close_order", "o-18")])
    commands = {"close_order": taking(action={"kind": "handover"})}
    async with serving(orders), commanded(tmp_path, api, agent, commands, policy=policy):
        (ran,) = agent.ran
        assert (ran.state, [code for code, _ in ran.reasons]) == (RunState.REFUSED, ["closed"])
        assert api.texts(BOB) == [sentence]
        assert api.texts(INTERNAL) == [], "nothing was done"
    assert rows(tmp_path, "SELECT state, codes FROM command_runs") == [("refused", "closed")]


@rule("CMD-4")
async def test_an_endpoint_refuses_by_its_own_rules_as_it_would_on_a_click(api, tmp_path):
    refused = {"refused": [{"code": "too_late", "reason": {"en": "It is too late.", "de": "Es ist zu spät."}}]}
    orders, agent = Orders(status=409, answer=refused), Commander(runs=[("close_order", "o-17"), ("call", None)])
    async with serving(orders) as url:
        commands = {
            "close_order": taking(action=http(url)),
            "call": {"description": "Calls.", "audiences": ["external"], "action": http(url)},
        }
        async with commanded(tmp_path, api, agent, commands, policy=GERMAN):
            assert [one.reasons for one in agent.ran] == [(("too_late", "Es ist zu spät."),)] * 2
            assert [one.text for one in agent.ran] == [
                "„Auftrag schließen“ geht für Order 17 nicht. Es ist zu spät.",
                "„call“ geht nicht. Es ist zu spät.",
            ], "the object is named only if one was given"


@rule("CMD-4")
@pytest.mark.parametrize(
    ("status", "answer", "state"),
    [
        (400, {"error": "no"}, RunState.FAILED),
        (422, {"refused": []}, RunState.FAILED),
        (409, {"refused": [{"code": "NOT A CODE", "reason": {"en": "x"}}]}, RunState.FAILED),
        (408, {}, RunState.UNKNOWN),
        (500, {"refused": [{"code": "x", "reason": {"en": "x"}}]}, RunState.UNKNOWN),
        (307, {}, RunState.UNKNOWN),
        (204, {}, RunState.DONE),
    ],
)
async def test_whatever_else_an_endpoint_answers_is_never_tried_again(api, tmp_path, status, answer, state):
    orders, agent = Orders(status=status, answer=answer), Commander(runs=[("close_order", "o-17")])
    async with serving(orders) as url, commanded(tmp_path, api, agent, {"close_order": taking(action=http(url))}):
        assert [one.state for one in agent.ran] == [state]
        assert len(orders.calls) == 1
        told = [text for text in api.texts(INTERNAL) if "Nobody can tell whether a command" in text]
        assert len(told) == (state is RunState.UNKNOWN), "operators hear of what nobody can tell"


async def test_an_endpoint_that_hangs_up_leaves_the_run_unknown(api, tmp_path):
    orders, agent = Orders(hang_up=True), Commander(runs=[("close_order", "o-17")])
    async with serving(orders) as url, commanded(tmp_path, api, agent, {"close_order": taking(action=http(url))}):
        assert [one.state for one in agent.ran] == [RunState.UNKNOWN]
        assert len(orders.calls) == 1


async def test_a_run_that_is_stopped_while_the_endpoint_works_is_unknown_and_operators_are_told(api, tmp_path):
    orders, agent = Orders(gate=asyncio.Event()), Commander(runs=[("close_order", "o-17")])
    async with serving(orders) as url:
        settings = loaded(tmp_path / "config", {"close_order": taking(action=http(url))})
        async with running(tmp_path, api=api, agent=agent, commands=settings) as gateway:
            api.say(chat=BOB, sender=BOB, text="please")

            async def called():
                return bool(orders.calls)

            await until(called)
            api.say(chat=BOB, sender=BOB, text="/stop")
            await gateway.settled()

            async def told():
                return any("Nobody can tell" in text for text in api.texts(INTERNAL))

            await until(told)
            orders.gate.set()
    assert rows(tmp_path, "SELECT state FROM command_runs") == [("unknown",)]


@rule("CMD-6", "CMD-5")
async def test_a_slot_carries_an_object_to_a_later_command_and_ends_with_the_interaction(api, tmp_path):
    orders = Orders()
    ask = Clarify(
        task="t", slot="s", text="Sure?", candidates=tuple(Candidate(id=one, display_name=one) for one in ("yes", "no"))
    )
    async with serving(orders) as url:
        commands = {
            "take_order": taking(keep_as="order", action={"kind": "keep"}),
            "ship": {
                "description": "Ships.",
                "audiences": ["external"],
                "reads": ["order"],
                "action": http(url),
            },
        }
        agent = Commander(runs=[("ship", None), ("take_order", "o-17"), ("ship", None)], outputs=[ask])
        async with commanded(tmp_path, api, agent, commands) as gateway:
            assert [one.code for one in agent.errors] == ["slot_empty"]
            assert orders.calls[0]["slots"] == {"order": {"id": "o-17", "display": "Order 17"}}
            assert "o-17" in everything(tmp_path), "it is kept while the interaction goes on"
            agent.runs, agent.outputs = [("ship", None)], []
            tap(api, await card(api, "Sure?"), "yes")
            await gateway.settled()
            assert len(orders.calls) == 2, "the run that continues the interaction reads it"
            assert rows(tmp_path, "SELECT * FROM command_slots") == [], "the interaction is complete"
            api.say(chat=BOB, sender=BOB, text="ship again")
            await gateway.settled()
            assert len(orders.calls) == 2
            assert [one.code for one in agent.errors] == ["slot_empty"] * 2
    assert "o-17" not in everything(tmp_path)


@rule("CMD-6")
async def test_a_slot_ends_with_a_request_of_which_nothing_goes_on(api, tmp_path):
    commands = {"take_order": taking(keep_as="order", action={"kind": "keep"})}
    agent = Commander(runs=[("take_order", "o-17")])
    async with commanded(tmp_path, api, agent, commands):
        assert [one.state for one in agent.ran] == [RunState.DONE]
        assert rows(tmp_path, "SELECT * FROM command_slots") == []


@rule("CMD-6", "CMD-3")
async def test_what_stands_in_a_slot_is_resolved_again_with_the_rights_of_the_person(api, tmp_path):
    orders = Orders()
    async with serving(orders) as url:
        commands = {
            "take_order": looked_up(url, keep_as="order", action={"kind": "keep"}),
            "ship": {"description": "Ships.", "audiences": ["external"], "reads": ["order"], "action": http(url)},
        }

        class Withdrawing(Commander):
            async def run(self, request, desk):
                self.ran.append(await desk.run_command("take_order", "o-17"))
                orders.objects["bob"].clear()
                async for output in super().run(request, desk):
                    yield output

        agent = Withdrawing(runs=[("ship", None)])
        async with commanded(tmp_path, api, agent, commands):
            assert [one.code for one in agent.errors] == ["slot_empty"]
            assert orders.calls == []


@rule("CMD-4")
async def test_one_command_runs_at_a_time_in_a_conversation(api, tmp_path):
    orders = Orders(gate=asyncio.Event())

    class Hasty(Commander):
        async def run(self, request, desk):
            first = asyncio.create_task(desk.run_command("close_order", "o-17"))

            async def called():
                return bool(orders.calls)

            await until(called)
            self.runs = [("close_order", "o-17"), ("close_order", "o-99")]
            async for _ in super().run(request, desk):
                pass
            orders.gate.set()
            self.ran.append(await first)
            yield Final(text="done")

    agent = Hasty()
    async with serving(orders) as url, commanded(tmp_path, api, agent, {"close_order": taking(action=http(url))}):
        assert [(one.code, str(one)) for one in agent.errors] == [
            ("busy", "A command is running in this conversation. Wait until it has ended.")
        ] * 2
        assert [one.state for one in agent.ran] == [RunState.DONE]
        assert len(orders.calls) == 1


async def test_a_form_is_opened_for_an_object_and_its_answer_goes_to_the_agent(api, tmp_path):
    schema = {"type": "object", "properties": {"sure": {"enum": ["yes", "no"]}}, "required": ["sure"]}
    action = {"kind": "form", "question": {"en": "Close {object}?", "de": "{object} schließen?"}, "schema": schema}
    agent = Commander(runs=[("close_order", "o-17")])
    settings = loaded(tmp_path / "config", {"close_order": taking(action=action)})
    async with running(tmp_path, api=api, agent=agent, commands=settings, policy=GERMAN) as gateway:
        api.say(chat=BOB, sender=BOB, text="please")
        shown = await card(api, "Order 17 schließen?")
        tap(api, shown, "yes")
        await gateway.settled()
        (ran,) = agent.ran
        assert (ran.state, ran.answer) == (RunState.DONE, {"sure": "yes"})


async def test_a_handover_tells_internal_channels_what_is_needed_and_the_agent_that_it_did(api, tmp_path):
    agent = Commander(runs=[("person", "o-17", "Bob wants *money* back")])
    async with commanded(
        tmp_path, api, agent, {"person": taking(action={"kind": "handover"})}, text="where is my [order](x)?"
    ):
        (told,) = api.texts(INTERNAL)
        for words in ("Who asks: Bob.", "Order 17", "where is my [order](x)?", "Bob wants *money* back", str(BOB)):
            assert words in told
        assert agent.requests[0].id[:8] in told
        assert [one.state for one in agent.ran] == [RunState.DONE]


@rule("CMD-4")
async def test_what_customers_and_agents_write_forges_no_line_of_a_handover_or_a_refusal(api, tmp_path):
    forged = "Order 17\n\nWho asks: Ann.\u202e\u2028**They said:**"
    orders = Orders(objects={"bob": {"o-17": forged, "o-18": "\u200b\u202e"}})
    agent = Commander(runs=[("person", "o-17", "hm\nWho asks: Ann.")])
    async with serving(orders) as url:
        person = looked_up(url, action={"kind": "handover"})
        async with commanded(tmp_path, api, agent, {"person": person}, text="x\nWhere: `here`."):
            (told,) = api.sent(INTERNAL)
    lines = told["text"].split("\n")
    assert "What it is about: Order 17 Who asks: Ann. **They said:**." in lines
    quoted = [one for one in told["entities"] if one["type"] in ("blockquote", "expandable_blockquote")]
    whole = told["text"].encode("utf-16-le")
    inside = "".join(whole[2 * q["offset"] : 2 * (q["offset"] + q["length"])].decode("utf-16-le") for q in quoted)
    assert lines.count("Who asks: Ann.") == inside.count("Who asks: Ann.") == 1
    assert "Where: `here`." in inside


@rule("OUT-8")
async def test_handovers_of_one_place_take_no_place_of_another(api, tmp_path):
    agent = Commander(runs=[("person", None, f"number {number}") for number in range(5)])
    person = {"description": "Calls.", "audiences": ["external"], "action": {"kind": "handover"}}
    async with commanded(tmp_path, api, agent, {"person": person}) as gateway:
        assert [one.state for one in agent.ran] == [RunState.DONE] * 3 + [RunState.FAILED] * 2
        agent.ran.clear()
        api.say(chat=MALLORY, sender=MALLORY, text="please")
        await gateway.settled()
        assert [one.state for one in agent.ran][:3] == [RunState.DONE] * 3
        assert len(api.texts(INTERNAL)) == 6


@rule("OUT-8")
async def test_a_handover_that_reaches_nobody_stays_with_the_agent(api, tmp_path):
    agent = Commander(runs=[("person", "o-17")])
    policy = POLICY.replace(", reports: true", "")
    async with commanded(tmp_path, api, agent, {"person": taking(action={"kind": "handover"})}, policy=policy):
        assert [one.state for one in agent.ran] == [RunState.FAILED]
        assert api.texts(INTERNAL) == []


async def test_a_private_chat_with_an_operator_is_not_quoted_to_others(api, tmp_path):
    agent = Commander(runs=[("person", "o-99")])
    async with commanded(
        tmp_path,
        api,
        agent,
        {"person": taking(action={"kind": "handover"})},
        chat=ANN,
        sender=ANN,
        text="a secret word",
    ):
        assert agent.requests, "the operator was heard"
        (told,) = api.texts(INTERNAL)
        assert "Who asks: Ann." in told
        assert "secret" not in told
        assert f":{ANN}" not in told


@rule("CMD-4")
async def test_an_agent_that_goes_round_in_circles_comes_to_an_end(api, tmp_path, monkeypatch):
    monkeypatch.setattr(room, "MAX_RUNS", 3)
    agent = Commander(runs=[("summary", None, "the same")] * 5)
    summary = {"description": "Sums up.", "audiences": ["external"], "action": {"kind": "summary"}}
    async with commanded(tmp_path, api, agent, {"summary": summary}):
        assert [one.code for one in agent.errors] == ["too_many"] * 2
        assert len([text for text in api.texts(BOB) if "the same" in text]) == 3


@rule("AUTO-5", "OUT-2")
async def test_a_summary_is_judged_whole_where_it_is_cut_into_several_messages(api, tmp_path):
    words = [f"{'😀' * (2020 + shift)} Red Fox{' and so on' * 10}" for shift in range(16)]
    agent = Commander(runs=[("summary", None, one) for one in words])
    summary = {"description": "Sums up.", "audiences": ["external"], "action": {"kind": "summary"}}
    async with commanded(
        tmp_path, api, agent, {"summary": summary}, policy=GUARDED, chat=GROUP, text="@desk_bot please"
    ):
        assert [one.state for one in agent.ran] == [RunState.FAILED] * 16
        assert not any("Fox" in text for text in api.texts(GROUP))


@rule("OUT-5")
async def test_a_summary_is_shown_in_a_room_of_the_same_audience_and_in_no_other(api, tmp_path):
    other, outside = -1001000000003, -1001000000004
    policy = f'{POLICY}  "telegram:{BOT_ID}:{other}": {{audience: internal}}\n'
    policy += f'  "telegram:{BOT_ID}:{outside}": {{audience: external}}\n'
    api.chat(other, type="supergroup", title="Others")
    api.chat(outside, type="supergroup", title="Outside")

    def summary(**more):
        return {
            "description": "Shows a summary.",
            "audiences": ["external", "internal"],
            "action": {"kind": "summary", **more},
        }

    commands = {
        "tell": summary(room=f"telegram:{BOT_ID}:{other}"),
        "tell_outside": summary(room=f"telegram:{BOT_ID}:{outside}"),
        "tell_here": summary(),
    }
    runs = [
        ("tell", None, "All is **well**."),
        ("tell_outside", None, "hm"),
        ("tell", None),
        ("tell_here", None, "So."),
    ]
    agent = Commander(runs=runs)
    async with commanded(
        tmp_path, api, agent, commands, policy=policy, chat=INTERNAL, sender=ANN, text="@desk_bot sum it up"
    ) as gateway:
        assert [one.state.value for one in agent.ran] == ["done", "failed", "done"]
        assert [one.code for one in agent.errors] == ["text_missing"]
        assert api.texts(other) == ["Summary of a conversation:\n\nAll is well."]
        assert "Summary of a conversation:\n\nSo." in api.texts(INTERNAL)
        agent.ran.clear()
        api.say(chat=GROUP, sender=BOB, text="@desk_bot sum it up")
        await gateway.settled()
        assert [one.state.value for one in agent.ran] == ["failed", "failed", "done"], (
            "an outsider's words stay outside"
        )
        assert len(api.texts(other)) == 1
        assert api.texts(outside) == []


async def test_the_same_call_after_a_restart_is_known_and_not_carried_out_again(api, tmp_path):
    orders = Orders()
    async with serving(orders) as url:
        commands = {"close_order": taking(action=http(url))}

        class Dying(Commander):
            async def run(self, request, desk):
                self.requests.append(request)
                self.ran.append(await desk.run_command("close_order", "o-17"))
                if len(self.ran) == 1:
                    await asyncio.Event().wait()
                yield Final(text=self.ran[-1].text)

        agent = Dying()
        settings = loaded(tmp_path / "config", commands)

        async def ran():
            return bool(agent.ran)

        async def again():
            return len(agent.ran) == 2

        async with running(tmp_path, api=api, agent=agent, commands=settings):
            api.say(chat=BOB, sender=BOB, text="please")
            await until(ran)
        async with running(tmp_path, api=api, agent=agent, commands=settings) as gateway:
            await until(again)
            await gateway.settled()
        assert [one.repeated for one in agent.ran] == [False, True]
        assert len({one.id for one in agent.requests}) == 1
        assert len(orders.calls) == 1


def test_the_table_of_these_tests_has_an_object_for_each_person():
    assert {one for thing in TABLE.values() for one in thing["people"]} == {"ann", "bob"}
