"""The authorised record (AUTO-8): what an agent is given of it, and what its answers may rest on."""

import asyncio
import json
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest
from aiohttp import web
from standardwebhooks import Webhook

from bot.agents.openai import OpenAIAgent
from bot.agents.webhook import WebhookAgent
from bot.channels.telegram.limits import Limits
from bot.model.output import Final
from bot.record.fetching import Fetcher
from bot.record.room import Record
from bot.record.sources import FileSource, HttpSource
from bot.texts.codes import Failure, Notice
from bot.texts.words import Words
from tests.acceptance.commands import run
from tests.acceptance.test_agents import SECRET
from tests.harness import ANN, BOB, BOT_ID, GROUP, INTERNAL, MALLORY, POLICY, Clock, CountingAgent, fixed, running
from tests.servers.agents import serving

rule = pytest.mark.rule

OTHER = -1001000000003
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
FACTS = """
counterparties:
  acme: {name: Acme}
  zeta: {name: Zeta}
autonomy: {needs_reference: [routine]}
record:
  hours: {text: "Mo to Fr, 9 to 18"}
  acme-seats: {text: "Acme has 12 seats", counterparties: [acme]}
  zeta-seats: {text: "Zeta has 70 seats", counterparties: [zeta]}
  old-hours: {text: "Mo to Sa", expires_at: 2026-02-01T00:00:00Z}
  soon-over: {text: "open on Sunday", expires_at: 2026-03-01T13:00:00Z}
"""
TWO = (
    POLICY.replace(
        f'"telegram:{BOT_ID}:{GROUP}": {{audience: external}}',
        f'"telegram:{BOT_ID}:{GROUP}": {{audience: external, counterparty: acme}}\n'
        f'  "telegram:{BOT_ID}:{OTHER}": {{audience: external, counterparty: zeta}}',
    )
    + FACTS
)
on_telegram = partial(running, limits=Limits(chat=None, group=None, total=None))
WITHHELD = Words("en").say(Failure.WITHHELD)


def resting_on(*references, text="We are open."):
    return CountingAgent(answer=lambda _: [Final(text=text, references=references)])


def told(notice, **values):
    """As people read it on Telegram: what is code has no marks around it."""
    return Words("en").say(notice, **values).replace("`", "")


async def ask(gateway, chat=GROUP, sender=BOB):
    gateway.api.say(chat=chat, sender=sender, text="@desk_bot when are you open?")
    await gateway.settled()


async def drafts(gateway):
    return [one for one in await gateway.store.approvals.pending() if one.subject.value == "draft"]


@rule("AUTO-8", "AUTO-1")
async def test_an_answer_that_rests_on_a_fact_is_sent(api, tmp_path):
    for references in (("hours",), ("acme-seats",), ("hours", "acme-seats", "soon-over")):
        agent = resting_on(*references)
        folder = tmp_path / "-".join(references)
        folder.mkdir()
        async with on_telegram(folder, api=api, policy=TWO, agent=agent, clock=Clock(NOW)) as gateway:
            await ask(gateway)
            assert api.texts(GROUP)[-1] == "We are open."
            assert await drafts(gateway) == []


@rule("AUTO-8")
@pytest.mark.parametrize("reference", ["never-heard-of", "old-hours", "zeta-seats"])
async def test_an_unknown_an_expired_and_a_foreign_fact_block_the_answer(api, tmp_path, reference):
    agent = resting_on("hours", reference, text="As it stands on record.")
    async with on_telegram(tmp_path, api=api, policy=TWO, agent=agent, clock=Clock(NOW)) as gateway:
        await ask(gateway)
        assert api.texts(GROUP) == [WITHHELD]
        assert await drafts(gateway) == [], "an approval would not change it"
        (report,) = api.texts(INTERNAL)
        assert reference not in report
        assert "on record" not in report


@rule("AUTO-8", "AUTO-2")
async def test_a_class_that_needs_a_fact_and_names_none_becomes_a_draft(api, tmp_path):
    async with on_telegram(tmp_path, api=api, policy=TWO, agent=resting_on(), clock=Clock(NOW)) as gateway:
        await ask(gateway)
        assert api.texts(GROUP) == []
        (draft,) = await drafts(gateway)
        assert draft.action.parameters["text"] == "We are open."


@rule("AUTO-8", "AUTO-2")
async def test_a_fact_for_another_class_is_none_for_this_one(api, tmp_path):
    policy = TWO.replace('hours: {text: "Mo to Fr, 9 to 18"}', 'hours: {text: "Mo to Fr", classes: [prices]}')
    async with on_telegram(tmp_path, api=api, policy=policy, agent=resting_on("hours"), clock=Clock(NOW)) as gateway:
        await ask(gateway)
        assert api.texts(GROUP) == []
        assert len(await drafts(gateway)) == 1


@rule("AUTO-8")
async def test_a_fact_that_expires_while_the_agent_works_blocks(api, tmp_path):
    clock = Clock(NOW)
    agent = resting_on("soon-over")
    agent.gate = asyncio.Event()
    async with on_telegram(tmp_path, api=api, policy=TWO, agent=agent, clock=clock) as gateway:
        api.say(chat=GROUP, sender=BOB, text="@desk_bot when are you open?")
        async with asyncio.timeout(10):
            await agent.started.wait()
        clock.offset += timedelta(hours=2)
        agent.gate.set()
        await gateway.settled()
        assert api.texts(GROUP) == [WITHHELD]


# What the agent is given


@rule("AUTO-8", "PROMPT-3", "OUT-5")
async def test_an_agent_gets_the_facts_that_its_reader_may_see_and_no_others(api, tmp_path):
    policy = TWO.replace("names: [Bob, Jordan]", "names: [Bob, Jordan], counterparty: zeta")
    async with on_telegram(tmp_path, api=api, policy=policy, agent=resting_on("hours"), clock=Clock(NOW)) as gateway:
        for chat, sender in ((GROUP, MALLORY), (OTHER, MALLORY), (INTERNAL, ANN), (BOB, BOB), (MALLORY, MALLORY)):
            await ask(gateway, chat=chat, sender=sender)
        given = [{entry.id for entry in request.record} for request in gateway.agent.requests]
    everybodys = {"hours", "soon-over"}
    assert given == [
        everybodys | {"acme-seats"},
        everybodys | {"zeta-seats"},
        everybodys,
        everybodys | {"zeta-seats"},
        everybodys,
    ]


@rule("AUTO-8", "PROMPT-2")
async def test_facts_arrive_as_data_apart_from_what_outsiders_wrote(api, tmp_path):
    seen = []

    async def answer(received):
        seen.append(Webhook(SECRET).verify(await received.read(), dict(received.headers)))
        return web.json_response({"kind": "final", "text": "We are open.", "references": ["hours"]})

    async with serving(answer) as url:
        agent = WebhookAgent(name="main", url=url, secrets=[SECRET], total_s=5, wait_s=5)
        async with on_telegram(tmp_path, api=api, policy=TWO, agent=agent, clock=Clock(NOW)) as gateway:
            await ask(gateway)
            assert api.texts(GROUP) == ["We are open."]
    (asked,) = seen
    assert asked["record"][0] == {"id": "hours", "text": "Mo to Fr, 9 to 18", "classes": [], "expires_at": None}
    assert [entry["id"] for entry in asked["record"]] == ["hours", "acme-seats", "soon-over"]
    assert "Mo to Fr" not in json.dumps(asked["untrusted"])


@rule("AUTO-8", "PROMPT-1")
@pytest.mark.parametrize(
    ("named", "shown"), [("<sources>hours</sources>", "We are open."), ("<sources>zeta-seats</sources>", WITHHELD)]
)
async def test_a_model_names_what_it_used_in_a_line_that_nobody_reads(api, tmp_path, named, shown):
    asked = []

    async def answer(received):
        asked.append(await received.json())
        message = {"role": "assistant", "content": f"We are open.\n{named}"}
        return web.json_response({"choices": [{"message": message, "finish_reason": "stop"}]})

    async with serving(answer) as url:
        agent = OpenAIAgent(name="main", base_url=url, model="m", total_s=5, wait_s=5)
        async with on_telegram(tmp_path, api=api, policy=TWO, agent=agent, clock=Clock(NOW)) as gateway:
            await ask(gateway)
            assert api.texts(GROUP) == [shown]
    _, _, record, user = asked[0]["messages"]
    assert "Mo to Fr" in record["content"]
    assert "Zeta has" not in json.dumps(asked)
    assert "Mo to Fr" not in json.dumps(user)


# Files


async def test_a_file_is_followed_and_one_that_breaks_changes_nothing_and_operators_are_told(api, tmp_path):
    path = tmp_path / "facts.yaml"
    path.write_text("version: 1\nrecord:\n  prices: {text: see the list}\n")
    policy = TWO.replace("  hours:", "  unused:")
    facts = Record(dict, [FileSource(path, environment={}, every_s=0.02)])
    agent = resting_on("prices")

    async def until(condition):
        async with asyncio.timeout(10):
            while not condition():
                await asyncio.sleep(0.01)  # a file's own change is what is waited for; bounded above

    async with on_telegram(tmp_path, api=api, policy=policy, agent=agent, clock=Clock(NOW), facts=facts) as gateway:
        await until(lambda: "prices" in facts.entries())
        await ask(gateway)
        assert api.texts(GROUP) == ["We are open."]
        path.write_text("version: 1\nrecord:\n  prices: {txt: secret}\n")
        await api.wait_sent(INTERNAL)
        assert api.texts(INTERNAL) == [told(Notice.RECORD_BROKEN)]
        await ask(gateway)
        assert api.texts(GROUP)[-1] == "We are open."
        path.write_text("version: 1\nrecord:\n  other: {text: see the list}\n")
        await until(lambda: "prices" not in facts.entries())
        await ask(gateway)
        assert api.texts(GROUP)[-1] == WITHHELD


# Addresses


class Source:
    """An HTTP source that can go away."""

    def __init__(self):
        self.entries = {"prices": {"text": "see the list"}}
        self.away = False
        self.asked = 0

    async def answer(self, _):
        self.asked += 1
        return web.Response(status=503) if self.away else web.json_response({"version": 1, "record": self.entries})


async def listening(source):
    application = web.Application()
    application.router.add_get("/facts", source.answer)
    runner = web.AppRunner(application, shutdown_timeout=1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    return runner, f"http://127.0.0.1:{runner.addresses[0][1]}/facts"


@rule("AUTO-8")
async def test_what_an_http_source_said_stays_for_a_while_when_it_is_away_and_is_unknown_then(api, tmp_path):
    clock, source = Clock(NOW), Source()
    runner, url = await listening(source)
    keep = timedelta(hours=1)
    following = HttpSource(url, Fetcher(url=url, allow_private=True), every_s=0.02, keep=keep, clock=clock)
    facts = Record(dict, [following])
    agent = resting_on("prices")
    async with on_telegram(tmp_path, api=api, policy=TWO, agent=agent, clock=clock, facts=facts) as gateway:
        async with asyncio.timeout(10):
            while not facts.entries():
                await asyncio.sleep(0.01)  # the first look is what is waited for; bounded above
        await ask(gateway)
        assert api.texts(GROUP) == ["We are open."]
        source.away = True
        await api.wait_sent(INTERNAL)
        assert api.texts(INTERNAL) == [told(Notice.RECORD_AWAY)]
        await ask(gateway)
        assert api.texts(GROUP)[-1] == "We are open."
        clock.offset += timedelta(hours=1, seconds=1)
        await ask(gateway)
        assert api.texts(GROUP)[-1] == WITHHELD
        source.away = False
        async with asyncio.timeout(10):
            while not facts.entries():
                await asyncio.sleep(0.01)  # its coming back; bounded above
        await ask(gateway)
        assert api.texts(GROUP)[-1] == "We are open."
    await facts.close()
    await runner.cleanup()


@rule("AUTO-8")
async def test_an_id_that_stands_in_two_sources_counts_as_unknown_and_operators_are_told(api, tmp_path):
    path = tmp_path / "facts.yaml"
    path.write_text("version: 1\nrecord:\n  hours: {text: always}\n")
    facts = Record(lambda: fixed(TWO).record, [FileSource(path, environment={}, every_s=0.02)])
    async with on_telegram(
        tmp_path, api=api, policy=TWO, agent=resting_on("hours"), clock=Clock(NOW), facts=facts
    ) as gateway:
        await api.wait_sent(INTERNAL)
        assert api.texts(INTERNAL) == [told(Notice.RECORD_TWICE, count=1)]
        await ask(gateway)
        assert api.texts(GROUP) == [WITHHELD]


# The command line


def configured(folder, record, policy="version: 1\n"):
    (folder / "policy.yaml").write_text(policy)
    (folder / "config.yaml").write_text(
        f"agents: {{main: {{kind: echo}}}}\ndata_dir: data\npolicy: policy.yaml\nrecord: {record}\n"
    )


async def test_the_command_line_lists_entries_and_their_texts_only_on_demand(tmp_path):
    source = Source()
    runner, url = await listening(source)
    configured(
        tmp_path,
        f'[{{file: facts.yaml}}, {{url: "{url}", allow_private: true}}]',
        "version: 1\nrecord: {hours: {text: Mo to Fr}}\ncounterparties: {acme: {name: Acme}}\n",
    )
    (tmp_path / "facts.yaml").write_text(
        "version: 1\nrecord:\n  seats: {text: twelve seats, counterparties: [acme], expires_at: 2020-01-01T00:00:00Z}\n"
    )
    done = await asyncio.to_thread(run, tmp_path, "record", "list")
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines()]
    assert [line[0] for line in lines] == ["hours", "seats", "prices"]
    assert lines[1][1:4] == ["acme", "expired", "2020-01-01T00:00Z"]
    assert "twelve" not in done.stdout
    assert "Mo to Fr" not in done.stdout
    shown = await asyncio.to_thread(run, tmp_path, "record", "list", "--values")
    assert "twelve seats" in shown.stdout
    assert "see the list" in shown.stdout
    checked = await asyncio.to_thread(run, tmp_path, "record", "check")
    assert checked.returncode == 0
    assert "seats has expired" in checked.stderr
    source.away = True
    away = await asyncio.to_thread(run, tmp_path, "record", "check")
    assert away.returncode == 1
    assert "503" in away.stderr
    await runner.cleanup()


def test_the_command_line_finds_what_is_wrong_with_line_and_mend(tmp_path):
    configured(tmp_path, "[{file: facts.yaml}]", "version: 1\nrecord: {hours: {text: Mo to Fr}}\n")
    (tmp_path / "facts.yaml").write_text("version: 1\nrecord:\n  hours: {txt: secret words}\n")
    done = run(tmp_path, "record", "check")
    assert done.returncode == 1
    assert "facts.yaml:3:" in done.stderr
    assert "did you mean text?" in done.stderr
    assert "secret words" not in done.stdout + done.stderr
    (tmp_path / "facts.yaml").write_text("version: 1\nrecord:\n  hours: {text: always, counterparties: [acme]}\n")
    done = run(tmp_path, "record", "check")
    assert done.returncode == 1
    assert "hours stands in policy and" in done.stderr
    assert "acme, no counterparty" in done.stderr


@pytest.mark.parametrize(
    ("record", "wrong"),
    [
        ("[{}]", "no source of the record"),
        ("[{file: a.yaml, url: https://facts.example.org}]", "no source of the record"),
        ("[{file: a.yaml, refresh: 5m}]", "a file has no refresh"),
        ("[{url: https://facts.example.org, refresh: 1s}]", "too short"),
        ("[{url: https://facts.example.org, refresh: 5m, keep: 1m}]", "nothing would be kept"),
        ("[{url: https://facts.example.org, token: abc, headers: {authorization: x}}]", "both stand here"),
        ("[{url: https://10.0.0.1/facts}]", "private network"),
        ("[{url: http://facts.example.org}]", "must be https"),
    ],
)
def test_a_source_that_cannot_be_is_refused_with_the_mend(tmp_path, record, wrong):
    configured(tmp_path, record)
    done = run(tmp_path, "record", "check")
    assert done.returncode == 2
    assert wrong in done.stderr
    assert "mend:" in done.stderr


def test_the_daemon_does_not_start_with_a_file_that_cannot_hold(tmp_path):
    configured(tmp_path, "[{file: facts.yaml}]")
    (tmp_path / "config.yaml").write_text(
        (tmp_path / "config.yaml").read_text()
        + "chat: {enabled: true, listen: '127.0.0.1:0', rooms: {front: {title: Front, members: [ann]}}}\n"
    )
    (tmp_path / "policy.yaml").write_text('version: 1\npeople: {ann: {accounts: ["web:ann"]}}\n')
    done = run(tmp_path, "run")
    assert done.returncode == 2
    assert "facts.yaml can't be read" in done.stderr
    (tmp_path / "facts.yaml").write_text("version: 1\nrecord: {a: {}}\n")
    done = run(tmp_path, "run")
    assert done.returncode == 2
    assert "facts.yaml:2:" in done.stderr
