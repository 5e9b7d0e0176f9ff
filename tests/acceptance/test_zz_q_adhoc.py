from tests.acceptance.conftest import *
from tests.acceptance.test_questions_matrix import *
from tests.acceptance import test_questions_telegram_more as t
from tests.harness import *
TEXT={"type":"object","properties":{"who":{"type":"string"}},"required":["who"]}

async def test_q_text(desk, room):
    agent = AskingAgent(schema=TEXT, text="Who?")
    async with desk.running(agent=agent) as gateway:
        there = await ask(desk, gateway, room)
        await there.reply("@alice:example.org", mentions=[desk.bot])
        print(await there.texts())
        assert (await ended(agent)).answer == {"who": "@alice:example.org"}

async def test_q_address(desk, room):
    agent = AskingAgent()
    async with desk.running(agent=agent) as gateway:
        there = await ask(desk, gateway, room)
        print(await there.reply(f"{desk.bot}: beta", mentions=[desk.bot]))
        print(await there.texts())
        assert (await ended(agent)).answer == {"channel": "beta"}

async def test_q_address_name(desk, room):
    agent = AskingAgent()
    async with desk.running(agent=agent) as gateway:
        there = await ask(desk, gateway, room)
        print(await there.reply(f"desk: beta", mentions=[desk.bot], html=f'<a href="https://matrix.to/#/{desk.bot}">desk</a>: beta'))
        print(await there.texts())
        assert (await ended(agent)).answer == {"channel": "beta"}

async def test_q_note(desk, room):
    agent = AskingAgent(text="Release?", schema=RELEASE)
    async with desk.running(agent=agent) as gateway:
        there = await ask(desk, gateway, room)
        await there.reply(ALL.replace("1.2.3", "1.2"))
        told = desk.bob.said(room, desk.bot)[-1]
        e = await desk.judged(await desk.bob.say(room, "Version: 1.2.3", reply=told["event_id"]))
        assert e.reason == "answer"

async def test_q_tg_edit(api, tmp_path):
    agent = AskingAgent(text="Release?", schema=RELEASE)
    async with t.asking(tmp_path, api, agent) as gateway:
        card = await t.asked(api, gateway)
        m = api.say(chat=GROUP, sender=BOB, text="Channel: beta\nVersion: 1.2", reply_to=card["message_id"])
        await gateway.settled()
        api.edit(chat=GROUP, message_id=m["message_id"], text=ALL)
        await gateway.settled()
        print(gateway.reasons(m["message_id"]), api.texts(GROUP))
        assert not agent.conclusions

async def test_q_tg_pages(api, tmp_path):
    agent = AskingAgent(text="Which day?", schema=t.DATE)
    async with t.asking(tmp_path, api, agent) as gateway:
        card = await t.asked(api, gateway)
        seen = set()
        for n in range(30):
            q = api.press(chat=GROUP, sender=BOB, message_id=card["message_id"], button="›")
            await gateway.settled()
            seen.add(t.labels(api, card)[0][2])
        print(len(seen), seen)
        assert len(seen) == 30

async def test_q_tg_restart_confirming(api, tmp_path):
    agent = AskingAgent(important=True)
    async with t.asking(tmp_path, api, agent) as gateway:
        card = await t.asked(api, gateway)
        await t.press(api, gateway, card, "beta")
    async with t.asking(tmp_path, api, agent) as gateway:
        await t.until(lambda: agent.asked == 2)
        await gateway.settled()
        await t.press(api, gateway, card, "Confirm")
        await t.until(lambda: agent.conclusions)
