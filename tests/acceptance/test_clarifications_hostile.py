"""What hostile agents, hostile customers and other people try with clarifications, on a running gateway (CLAR)."""

import asyncio
import io
import json

import pytest

from bot.clarifications import room
from bot.model.errors import InteractionError
from bot.model.interaction import Candidate, InteractionState, Workspace
from bot.model.output import Clarify, Final, WorkspaceChanged
from bot.model.plan import read_plan
from bot.model.question import Asking
from bot.texts.codes import Failure
from bot.texts.words import Words
from tests.acceptance.test_clarifications import OPEN, ask, card, looping, only, said, tap, until
from tests.acceptance.test_content import POLICY as GUARDED
from tests.acceptance.test_interactions_api import PLAN, interface
from tests.harness import BOB, GROUP, INTERNAL, MALLORY, CountingAgent, running
from tests.looping import PlanningAgent

rule = pytest.mark.rule
YES_NO = {"properties": {"sure": {"type": "boolean"}}, "required": ["sure"]}


def asking_back(*names, text="Which one?"):
    candidates = tuple(Candidate(id=f"c{place}", display_name=name) for place, name in enumerate(names))
    return Clarify(task="t", slot="s", text=text, candidates=candidates)


@rule("CLAR-3")
async def test_nobody_else_answers_corrects_cancels_or_stops_what_somebody_was_asked(api, tmp_path):
    agent = PlanningAgent()
    async with looping(tmp_path, api, agent) as gateway:
        ask(api, chat=GROUP)
        first = await card(api, "Which composition?", chat=GROUP)
        shown = first["message_id"]
        tap(api, first, "Beta", chat=GROUP, sender=MALLORY)
        for words in ("Beta", "cancel", "@desk_bot Beta", "the second one"):
            api.say(chat=GROUP, sender=MALLORY, text=words, reply_to=shown)
        api.say(chat=GROUP, sender=MALLORY, text="/stop@desk_bot")
        await gateway.settled()
        interaction, known = await only(gateway)
        assert (interaction.plan_version, [one.open for one in known]) == (1, [True])
        api.say(chat=GROUP, sender=BOB, text="Beta", reply_to=shown)
        second = await card(api, "Which format?", chat=GROUP)
        api.say(chat=GROUP, sender=MALLORY, text="Alpha", reply_to=shown)
        api.say(chat=GROUP, sender=MALLORY, text="Pdf", reply_to=second["message_id"])
        await gateway.settled()
        interaction, _ = await only(gateway)
    assert interaction.plan_version == 2
    assert interaction.plan.tasks["scope"].slots == {"composition": "beta"}
    assert interaction.plan.tasks["export"].slots == {"format": None}


@rule("CLAR-1")
async def test_a_request_that_waited_for_its_form_does_not_supersede_a_newer_one(api, tmp_path):
    class Waiting(PlanningAgent):
        async def run(self, request, desk):
            if request.text == "older" and request.continuing is None:
                self.requests.append(request)
                await desk.ask(Asking(text="Sure?", schema=YES_NO))
                yield asking_back("Alpha", text="An older question?")
                return
            async for output in super().run(request, desk):
                yield output

    agent = Waiting()
    async with looping(tmp_path, api, agent) as gateway:
        ask(api, text="older")
        form = await card(api, "Sure?")
        ask(api)
        newer = await card(api, "Which composition?")
        tap(api, form, "Yes")
        await gateway.settled()
        interaction, _ = await only(gateway)
        assert interaction.plan.tasks.keys() == {"scope", "export"}, "the newer one goes on"
        assert not any("An older question?" in text for text in api.texts(BOB))
        assert Words("en").say(Failure.UNAVAILABLE) not in api.texts(BOB)
        tap(api, newer, "Beta")
        await card(api, "Which format?")


@rule("CLAR-2")
@pytest.mark.parametrize(
    "name", ["\u3164", "\u2800\u2800", "  ", "a\u202eb", "a\u200bb", "a\nb", "\ud800", "x" * 101, "\ue000"]
)
async def test_names_that_hide_or_show_nothing_are_refused_and_nobody_is_asked(api, tmp_path, name):
    agent = CountingAgent(answer=lambda _: [asking_back(name, "Beta")])
    async with running(tmp_path, api=api, agent=agent, limits=OPEN) as gateway:
        ask(api)
        await gateway.settled()
        assert await gateway.store.interactions.actives() == []
    assert api.texts(BOB) == [Words("en").say(Failure.UNAVAILABLE)]


@rule("CLAR-2", "CLAR-6")
async def test_a_name_is_shown_as_it_is_written_and_is_never_markup(api, tmp_path):
    hostile = "*B* [here](https://evil.example) <b>x</b> {choice}"

    class Naming(PlanningAgent):
        async def run(self, request, desk):
            self.requests.append(request)
            one = asking_back(hostile, "Other")
            if request.continuing is None:
                yield Clarify(
                    task=one.task, slot=one.slot, text=one.text, candidates=one.candidates, workspace=self.workspace
                )
            elif request.continuing.patch.value == "c0":
                yield WorkspaceChanged(workspace=Workspace(sha256="2" * 64), existing=frozenset({"c1"}))
            else:
                yield Final(text="done")

    async with looping(tmp_path, api, Naming()) as gateway:
        ask(api)
        first = await card(api, "Which one?")
        tap(api, first, f"1. {hostile}")
        again = await card(api, "no longer available", after=first["message_id"])
        await gateway.settled()
    assert f"“{hostile}”" in again["text"]
    assert not [one for one in again.get("entities", []) if one["type"] in ("text_link", "bold", "italic")]


@rule("CLAR-2", "AUTO-5")
async def test_a_name_of_another_customer_among_the_candidates_reaches_nobody(api, tmp_path):
    agent = CountingAgent(answer=lambda _: [asking_back("Ours", "Red Fox")])
    async with running(tmp_path, api=api, agent=agent, policy=GUARDED, limits=OPEN) as gateway:
        ask(api, chat=GROUP)
        await gateway.settled()
        interactions = await gateway.store.interactions.actives()
        assert not [
            one for each in interactions for one in await gateway.store.interactions.clarifications(each.id) if one.open
        ]
    assert "Red Fox" not in json.dumps([*api.texts(GROUP), *api.texts(INTERNAL)])
    assert api.texts(INTERNAL), "operators hear that something was stopped"


@rule("CLAR-4", "AUTO-5")
async def test_what_may_not_be_asked_again_ends_and_says_so(api, tmp_path):
    agent = PlanningAgent()
    async with running(tmp_path, api=api, agent=agent, policy=GUARDED, limits=OPEN) as gateway:
        ask(api, chat=GROUP)
        await card(api, "Which composition?", chat=GROUP)
        (interaction,) = await gateway.store.interactions.actives()
        (tmp_path / "policy.yaml").write_text(GUARDED.replace("[Red Fox", "[Beta, Red Fox"))

        async def reloaded():
            gateway.daemon.crew.policy.poke()
            return "Beta" in gateway.daemon.crew.policy().counterparties["other"].protected_terms

        await until(reloaded)
        ask(api, chat=GROUP, text="hm, whatever")
        await said(api, "stopped working on this", chat=GROUP)
        await gateway.settled()
        assert await gateway.store.interactions.actives() == []
        ended = await gateway.store.interactions.get(interaction.id)
        assert ended.state is InteractionState.CANCELLED
        assert not gateway.daemon.crew.worker.waiting


@rule("CLAR-1", "CLAR-5")
async def test_of_many_plans_patches_and_answers_at_once_one_wins_and_the_others_hear_why(api, tmp_path):
    async with interface(tmp_path, api) as there:
        begun = await asyncio.gather(
            *(
                there.call(
                    "POST",
                    body={"plan": PLAN, "request": there.agent.requests[0].id},
                    **{"Idempotency-Key": f"k{number}"},
                )
                for number in range(8)
            )
        )
        assert {status for status, _ in begun} == {201}
        _, listed = await there.call("GET")
        (active,) = listed["interactions"]
        patches = [
            {"basePlanVersion": 1, "task": "scope", "slot": "composition", "value": f"v{number}"} for number in range(8)
        ]
        patched = await asyncio.gather(*(there.patch(active, **body) for body in patches))
        assert sorted(status for status, _ in patched) == [200, *[409] * 7]
        refused = next(document for status, document in patched if status == 409)
        assert (refused["error"], refused["problems"][0]["detail"]) == ("version_conflict", "2")
        assert (await there.look(active))["planVersion"] == 2


@rule("CLAR-1")
async def test_a_run_that_continues_an_interaction_begins_no_other(api, tmp_path):
    class Beginning(PlanningAgent):
        async def run(self, request, desk):
            if request.continuing is not None:
                with pytest.raises(InteractionError) as refused:
                    await self.rooms.start(desk.origin, plan=read_plan(PLAN), key="other", workspace=None)
                self.doubts.append(refused.value.code)
            async for output in super().run(request, desk):
                yield output

    agent = Beginning()
    async with looping(tmp_path, api, agent) as gateway:
        agent.rooms = gateway.daemon.crew.clarifications
        ask(api)
        tap(api, await card(api, "Which composition?"), "Beta")
        await card(api, "Which format?")
        await gateway.settled()
        interaction, _ = await only(gateway)
    assert (agent.doubts, interaction.plan_version) == (["continues"], 2)


@rule("CLAR-2")
async def test_an_agent_can_not_flood_a_person_with_questions_in_one_run(api, tmp_path, monkeypatch):
    monkeypatch.setattr(room, "MAX_ASKED", 3)
    async with interface(tmp_path, api) as there:
        statuses = []
        for number in range(5):
            begun = await there.start(key=f"k{number}")
            statuses.append((await there.ask(begun))[0])
        assert statuses == [201, 201, 201, 429, 429]
        there.agent.gate.set()
        await there.gateway.settled()
    assert len([text for text in api.texts(BOB) if "Which composition?" in text]) == 3


@rule("CLAR-5")
async def test_plans_that_are_too_large_too_deep_or_circular_are_refused_and_the_gateway_stays_up(api, tmp_path):
    def task(**more):
        return {"slots": {"a": None}, **more}

    chain = {f"t{n}": task(depends_on=[f"t{(n + 1) % 50}"]) for n in range(50)}
    plans = [
        {"tasks": chain},
        {"tasks": {f"t{n}": task() for n in range(51)}},
        {"tasks": {"t": {"slots": {f"s{n}": None for n in range(21)}}}},
        {"tasks": {"t": {"slots": {"a": "x" * 2001}}}},
        {"tasks": {f"t{n}": task(depends_on=[f"t{m}" for m in range(n)]) for n in range(50)}},
        {"tasks": {"t": task(depends_on=["t"])}},
        {"tasks": {"__proto__": task()}},
        {"tasks": {"t": task(state=[])}},
    ]
    async with interface(tmp_path, api) as there:
        for plan in plans:
            refused = await there.start(plan=plan, expect=422)
            assert refused["problems"][0]["path"].startswith("/plan/tasks"), refused
        headers = {"Authorization": "Bearer SYNTHETIC-key-of-the-main-agent", "Content-Type": "application/json"}
        for body in (b'{"plan":' * 20_000, b'{"request": "' + b"x" * (9 << 20) + b'"}'):
            async with there.http.post(
                f"{there.url}/v1/interactions", data=io.BytesIO(body), headers=headers
            ) as answer:
                assert answer.status in (400, 413), answer.status
        assert (await there.start())["planVersion"] == 1
