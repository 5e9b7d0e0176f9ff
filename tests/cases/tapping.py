"""Delivery cases about buttons: the end of a spinner is decoration, what was chosen is what counts."""

from pathlib import Path
from typing import Any

from bot.model.output import Final, Output
from bot.model.request import Request
from forms.card import Button, Card
from tests.cases.clocks import listening
from tests.cases.outgoing import BOT_ID, OPEN, ask, policy_of
from tests.cases.result import NotRun, check
from tests.cases.script import PERSON, place_replies, replies_of
from tests.harness import CountingAgent, running
from tests.servers.botapi import BotApi


async def run(steps: list[dict[str, Any]], expected: dict[str, Any], folder: Path) -> None:
    """A card of buttons, a tap, and a platform that refuses what is asked of it after the tap."""
    replies = replies_of(steps)
    card = Card(title="A request", buttons=(Button(label="Yes", value="value yes"), Button(label="No", value="no")))

    def answer(request: Request) -> list[Output]:
        return [Final(text=f"chosen: {request.tap}") if request.tap else Final(text="Shall I?", card=card)]

    async with BotApi(token=f"{BOT_ID}:{'A' * 35}", username="desk_bot") as api:
        agent = CountingAgent(answer=answer)
        with listening():
            async with running(folder, api=api, agent=agent, policy=policy_of([]), limits=OPEN, call_s=2) as gateway:
                ask(api, PERSON, "a question")
                await gateway.settled()
                asked = api.sent(PERSON)[-1]["message_id"]
                api.faults.extend(place_replies(replies, []))
                api.press(chat=PERSON, button="Yes")
                await gateway.settled()
                check([one.tap for one in agent.requests] == [None, "value yes"], "the tap to have its effect once")
                check(api.texts(PERSON)[-1] == "chosen: value yes", "what comes of the tap to arrive")
                answers = [call for call in api.calls if call.method == "answerCallbackQuery"]
                effects = [call for call in api.calls if call.text == "chosen: value yes"]
                check(len(answers) == 1, "one acknowledgement, best effort", len(answers))
                check(answers[0].time <= effects[0].time, "the acknowledgement before the effect")
                shown = api.world.messages[PERSON][asked]
                if "edited" in str(expected["end_state"]).lower() and "reply_markup" in shown:
                    raise NotRun(
                        "the tap had its effect although its acknowledgement failed; cards that are edited after a"
                        " decision come with approvals, which are not built yet",
                    )
