"""What people see of the bot in a Matrix web client (Hydrogen), with a real homeserver behind it."""

import os
import shutil
from pathlib import Path

import pytest
from playwright.async_api import expect

from bot.model.output import Final
from forms.card import Button, Card
from tests.browser.conftest import CHROMIUM
from tests.browser.matrix.client import web_client
from tests.harness import CountingAgent
from tests.matrix_harness import running_matrix
from tests.servers import synapse as servers

synapse = servers.synapse

ANSWER = """\
Two berths are **free** on Friday, see [the plan](https://harbour.example.org/plan?day=5&view=full):

| Berth | Length | Depth |
|:------|-------:|------:|
| 7     |   90 m |  7.5 m |
| 12    |  120 m |  9.2 m |

1. Book with `BERTH-7`
2. Tell the pilot
   - by phone
   - or on *channel 12*

```python
if draught < 6.5:
    book("<b>7</b>")
```

> The tide is low at 14:20.
"""
CARD = Card(
    title="Book a berth?",
    rows=(("Ship", "Aurora"), ("Day", "Friday, 4 December"), ("Note", "<i>crane & pilot</i>")),
    buttons=(
        Button(label="Berth 7", value="7"),
        Button(label="Berth 12", value="12"),
        Button(label="None of them", value="none"),
    ),
)


@pytest.fixture
def pictures(tmp_path):
    if not Path(CHROMIUM).exists() and shutil.which("chromium") is None:
        reason = "Chromium is missing; on Debian: apt-get install chromium"
        if os.environ.get("DISCREET_NO_SKIP") == "1":
            pytest.fail(reason)
        pytest.skip(reason)
    return Path(os.environ.get("DISCREET_SCREENSHOTS") or tmp_path)


def policy(bot: str, room: str) -> str:
    return f"""
version: 1
operators: []
channels:
  "matrix:{bot}:{room}": {{audience: external}}
"""


@pytest.mark.rule("PART-14")
async def test_an_answer_and_a_card_look_as_they_should(synapse, pictures, tmp_path):
    bot, password = await synapse.register(synapse.fresh("desk"))
    ann, _ = await synapse.register(synapse.fresh("ann"))
    made = await synapse.act(
        ann, "POST", "createRoom", {"name": "Harbour Freight", "preset": "private_chat", "invite": [bot]}
    )
    answers = iter([[Final(text=ANSWER)], [Final(text="One more thing.", card=CARD)]])
    agent = CountingAgent(answer=lambda _: next(answers))
    login = {"user_id": bot, "password": password, "server_url": synapse.url}
    async with (
        running_matrix(tmp_path, **login, policy=policy(bot, made["room_id"]), agent=agent),
        web_client(tmp_path, homeserver=synapse.url) as client,
    ):
        await client.enter(ann.removeprefix("@").partition(":")[0], password)
        await client.open("Harbour Freight")
        await (
            client.page.locator(".AnnouncementView", has_text=f"{bot} joined")
            .or_(client.page.locator(".AnnouncementView", has_text=f"{bot[1:].partition(':')[0]} joined"))
            .first.wait_for()
        )
        # This client knows no m.mentions, so the full user id in the text is what addresses the bot.
        await client.say(f"{bot} which berths are free?")
        answer = client.message("berths are free on Friday")
        await expect(answer).to_have_count(1)
        body = answer.locator("> .Timeline_messageBody")
        await expect(body.locator("strong", has_text="free")).to_have_count(1)
        await expect(body.locator("table tbody tr")).to_have_count(2)
        await expect(body.locator("table th")).to_have_text(["Berth", "Length", "Depth"])
        await expect(body.locator("table tbody tr").nth(1).locator("td")).to_have_text(["12", "120 m", "9.2 m"])
        await expect(body.locator("ol > li")).to_have_count(2)
        await expect(body.locator("ol ul > li")).to_have_text(["by phone", "or on channel 12"])
        await expect(body.locator("pre code")).to_have_text('if draught < 6.5:\n    book("<b>7</b>")\n')
        await expect(body.locator("p a")).to_have_attribute("href", "https://harbour.example.org/plan?day=5&view=full")
        await expect(body.locator("blockquote").last).to_contain_text("The tide is low")

        await client.say(f"{bot} book one")
        card = client.message("Book a berth?")
        await expect(card).to_have_count(1)
        await expect(card.locator(".Timeline_messageReactions button")).to_have_count(len(CARD.buttons))
        await client.picture(pictures / "matrix-web-client.png")
        shown = await card.locator("> .Timeline_messageBody").inner_text()
        for words in ("Ship", "Aurora", "Day", "Friday, 4 December", "<i>crane & pilot</i>", "Berth 7", "None of them"):
            assert words in shown
        shown = (await body.inner_text()) + shown
    for raw in ("<p>", "<table", "<li>", "<strong>", "</", "**", "&lt;", "&amp;"):
        assert raw not in shown.replace("<b>7</b>", "").replace("<i>crane & pilot</i>", "")
    assert [request.text for request in agent.requests] == [f"{bot} which berths are free?", f"{bot} book one"]
