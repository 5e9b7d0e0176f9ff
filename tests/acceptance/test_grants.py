"""Grants by operators, on a running gateway: who can make one, where, and that nobody else can (OUT-6)."""

import re
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest

from bot.channels.telegram.limits import Limits
from bot.deliveries.words import SENTENCES, GrantWords
from policy.grants import Issuer, IssuerKind
from tests.harness import ANN, BOB, BOT_ID, GROUP, INTERNAL, MALLORY, POLICY, CountingAgent, running

rule = pytest.mark.rule
OPEN = Limits(chat=None, group=None, total=None)
PLACE = f"telegram:{BOT_ID}:{GROUP}"
ISSUED = re.compile(r"Granted: (?P<id>[a-z2-7]+)\.")


@asynccontextmanager
async def serving(tmp_path, api, **more):
    async with running(tmp_path, api=api, limits=OPEN, **more) as gateway:
        yield gateway


async def say(gateway, text, *, chat=INTERNAL, sender=ANN, **more):
    """Somebody writes, and everything that comes of it has come; what the chat sees since."""
    before = len(gateway.api.texts(chat))
    gateway.api.say(chat=chat, sender=sender, text=text, **more)
    await gateway.settled()
    return gateway.api.texts(chat)[before:]


@rule("OUT-6")
@pytest.mark.parametrize(("chat", "command"), [(INTERNAL, "/grant@desk_bot"), (ANN, "/grant")])
async def test_an_operator_grants_where_insiders_alone_read_along(api, tmp_path, chat, command):
    async with serving(tmp_path, api) as gateway:
        [said] = await say(gateway, f"{command} main {PLACE}:42 3 8h weekly figures", chat=chat)
        found = ISSUED.match(said)
        assert found, said
        grant = await gateway.store.grants.get(found["id"])
        assert (grant.issuer, grant.agent) == (Issuer(kind=IssuerKind.OPERATOR, id="ann"), "main")
        assert (str(grant.destination), grant.purpose) == (f"{PLACE}:42", "weekly figures")
        assert (grant.uses, grant.used, grant.expires_at - grant.issued_at) == (3, 0, timedelta(hours=8))
        assert gateway.agent.requests == [], "no model is called"
        assert [record.kind for record in await gateway.store.journal.tail(9)].count("grant") == 1


@rule("OUT-6")
@pytest.mark.parametrize(
    ("chat", "sender", "reason"),
    [
        (GROUP, ANN, "unrecognised_command"),
        (GROUP, BOB, "unrecognised_command"),
        (INTERNAL, BOB, "unrecognised_command"),
        (INTERNAL, MALLORY, "unrecognised_command"),
    ],
)
async def test_a_grant_that_is_not_an_operators_or_not_inside_is_a_word_like_any(api, tmp_path, chat, sender, reason):
    async with serving(tmp_path, api) as gateway:
        for command in (f"/grant@desk_bot main {PLACE} 3 8h figures", "/revoke@desk_bot abc"):
            said = await say(gateway, command, chat=chat, sender=sender)
            assert said == []
            assert gateway.rulings[-1].decision.reason.value == reason
        assert await gateway.store.grants.all() == []
        assert gateway.agent.requests == []


@rule("OUT-6")
async def test_no_text_to_the_agent_makes_a_grant(api, tmp_path):
    agent = CountingAgent(answer=lambda request: [])
    async with serving(tmp_path, api, agent=agent) as gateway:
        for chat, sender in ((GROUP, BOB), (INTERNAL, BOB)):
            await say(gateway, f"@desk_bot /grant main {PLACE} 3 8h figures", chat=chat, sender=sender)
            await say(gateway, f"@desk_bot please do: /grant main {PLACE} 3 8h x", chat=chat, sender=sender)
        await say(gateway, f"/grant main {PLACE} 3 8h figures", chat=BOB, sender=BOB)
        await say(gateway, f"ok @desk_bot /grant@desk_bot main {PLACE} 3 8h x", chat=INTERNAL, sender=ANN)
        assert len(agent.requests) >= 5, "it is said to the agent, which can't make one either"
        assert await gateway.store.grants.all() == []


@rule("OUT-6", "PART-14")
@pytest.mark.parametrize(
    "told",
    [
        {"forward_origin": {"type": "user", "sender_user": {"id": BOB, "is_bot": False, "first_name": "B"}, "date": 1}},
        {"via_bot": {"id": 7099, "is_bot": True, "first_name": "Other"}},
    ],
    ids=["forwarded", "through an inline bot"],
)
async def test_an_operator_who_passes_on_the_words_of_somebody_else_grants_nothing(api, tmp_path, told):
    async with serving(tmp_path, api) as gateway:
        await say(gateway, f"/grant main {PLACE} 3 8h figures", chat=ANN, **told)
        await say(gateway, f"/grant@desk_bot main {PLACE} 3 8h figures", **told)
        assert await gateway.store.grants.all() == []


@rule("OUT-6", "IDENT-1")
@pytest.mark.parametrize(
    ("words", "key"),
    [
        ("", "help"),
        ("main", "help"),
        (f"main {PLACE} 3 8h", "help"),
        ("main here 3 8h figures", "destination"),
        ("main telegram:7001 3 8h figures", "destination"),
        ("main -1001000000001 3 8h figures", "destination"),
        ("main telegram:9999:-1001 3 8h figures", "account"),
        (f"nobody {PLACE} 3 8h figures", "agent"),
        (f"main {PLACE} 0 8h figures", "uses"),
        (f"main {PLACE} many 8h figures", "uses"),
        (f"main {PLACE} 3 soon figures", "duration"),
        (f"main {PLACE} 3 400d figures", "duration"),
        (f"main {PLACE} 3 8h {'x' * 300}", "purpose"),
    ],
)
async def test_what_is_missing_is_told_and_never_guessed(api, tmp_path, words, key):
    async with serving(tmp_path, api) as gateway:
        [said] = await say(gateway, f"/grant@desk_bot {words}".rstrip())
        start = SENTENCES[key].partition("{")[0].partition("`")[0].partition(". Write")[0]
        assert said.startswith(start), said
        assert await gateway.store.grants.all() == []


@rule("OUT-6")
async def test_a_grant_can_be_taken_back_once(api, tmp_path):
    async with serving(tmp_path, api) as gateway:
        [said] = await say(gateway, f"/grant@desk_bot main {PLACE} 3 8h figures")
        grant = ISSUED.match(said)["id"]
        assert await say(gateway, f"/revoke@desk_bot {grant.upper()}") == [f"Grant {grant} is taken back."]
        assert (await gateway.store.grants.get(grant)).revoked_at is not None
        assert await say(gateway, f"/revoke {grant}", chat=ANN) == [
            f"There is no grant {grant} that could be taken back."
        ]
        [taught] = await say(gateway, "/revoke@desk_bot")
        assert taught.startswith("Write /revoke and the id")


@rule("DUR-3", "OUT-6")
async def test_a_command_that_is_carried_out_again_after_a_crash_makes_no_second_grant(api, tmp_path):
    async with serving(tmp_path, api) as gateway:
        api.say(chat=ANN, sender=ANN, text=f"/grant main {PLACE} 3 8h figures")
        await gateway.settled()
        [grant] = await gateway.store.grants.all()
        again = await gateway.daemon.crew.grants.issue(
            issuer=grant.issuer,
            agent="main",
            destination=PLACE,
            uses=3,
            lasts=timedelta(hours=8),
            purpose="figures",
            new_id=grant.id,
        )
        assert again == grant
        assert len(await gateway.store.grants.all()) == 1


@rule("OUT-8")
async def test_status_says_what_stands_open_inside_and_is_the_agents_command_elsewhere(api, tmp_path):
    async with serving(tmp_path, api) as gateway:
        await say(gateway, f"/grant@desk_bot main {PLACE} 3 8h figures")
        [said] = await say(gateway, "/status@desk_bot")
        assert "Grants that can be used: 1" in said
        assert "Scheduled deliveries: 0" in said
        assert gateway.agent.requests == []
        assert await say(gateway, "/status@desk_bot", chat=GROUP) == ["ok"]
        assert await say(gateway, "/status@desk_bot", sender=BOB) == ["ok"]
        assert len(gateway.agent.requests) == 2, "the policy of this test lists it among the agent's commands"


@rule("OUT-8")
async def test_status_is_unknown_outside_where_the_agent_has_no_such_command(api, tmp_path):
    policy = POLICY.replace("commands: [status, help]", "commands: [help]")
    async with serving(tmp_path, api, policy=policy) as gateway:
        assert await say(gateway, "/status@desk_bot", chat=GROUP) == []
        assert gateway.rulings[-1].decision.reason.value == "unrecognised_command"
        assert len(await say(gateway, "/status", chat=ANN)) == 1


@rule("OPS-5")
@pytest.mark.parametrize("language", ["en", "ru", "es", "bg", "de"])
def test_every_sentence_about_grants_is_there_in_every_language(language):
    values = dict.fromkeys(
        ("agent", "agents", "accounts", "destination", "grant", "until", "uses", "most", "count"), "x"
    )
    said = {key: GrantWords(language).say(key, **values) for key in SENTENCES}
    assert all("{" not in sentence for sentence in said.values())
    if language != "en":
        assert all(said[key] != GrantWords("en").say(key, **values) for key in SENTENCES)
