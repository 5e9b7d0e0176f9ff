"""Delivery cases about buttons: the end of a spinner is decoration, what was chosen is what counts."""

import re
from pathlib import Path
from typing import Any

from bot.model.output import Final, Output
from bot.model.request import Request
from forms.card import Button, Card
from tests.cases.asked import AskingAgent, scene
from tests.cases.clocks import listening
from tests.cases.outgoing import BOT_ID, OPEN, ask, policy_of
from tests.cases.result import check
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
                api.faults.extend(place_replies(replies, []))
                api.press(chat=PERSON, button="Yes")
                await gateway.settled()
                check([one.tap for one in agent.requests] == [None, "value yes"], "the tap to have its effect once")
                check(api.texts(PERSON)[-1] == "chosen: value yes", "what comes of the tap to arrive")
                answers = [call for call in api.calls if call.method == "answerCallbackQuery"]
                effects = [call for call in api.calls if call.text == "chosen: value yes"]
                check(len(answers) == 1, "one acknowledgement, best effort", len(answers))
                check(answers[0].time <= effects[0].time, "the acknowledgement before the effect")
    if re.search("edit|remove|decision", str(expected["end_state"]).lower()):
        await _decided(steps, folder / "decided")


async def _decided(steps: list[dict[str, Any]], folder: Path) -> None:
    """The same with a question: when it is decided its card says so and has no buttons any more."""
    words = " ".join(str(step.get("update", "")) for step in steps).lower()
    chosen = "deny" if re.search(r"\b(deny|reject|no)\b", words) else "approve"
    folder.mkdir()
    replies = replies_of(steps)
    agent = AskingAgent()
    schema = {"type": "object", "properties": {"decision": {"enum": ["approve", "deny"]}}, "required": ["decision"]}
    question = agent.add(schema)
    with listening():
        async with scene(folder, agent) as desk:
            await desk.ask(question)
            (button,) = [one for one in question.taps if one["text"] == chosen]
            card = question.shown[-1]["message_id"]
            desk.api.faults.extend(place_replies(replies, []))
            desk.gateway.channel._sender._call_s = 2.0
            since = len(desk.api.calls)
            await desk.tap(question, button["callback_data"])
            check(all(one.fault is not None and one.fault.taken is not None for one in replies), "what is refused")
            check(question.answer == {"decision": chosen}, "the decision to have its effect", question.answer)
            answers = [call for call in desk.api.calls[since:] if call.method == "answerCallbackQuery"]
            check(len(answers) == 1, "one acknowledgement, best effort", len(answers))
            shown = desk.api.world.messages[question.chat][card]
            check("reply_markup" not in shown, "the buttons to be removed")
            text = str(shown.get("text", ""))
            check(chosen in text and text != question.shown[-1]["text"], "the card to show the decision")
            check("that is all" in desk.api.texts(question.chat), "the agent to go on")
