"""What an answer says, on Matrix: the same door, seen by a person on a real homeserver."""

import json
import re

import pytest

from bot.model.output import Final, Fragment, OutFile
from bot.texts.codes import Failure
from bot.texts.words import Words
from forms.card import Button, Card
from tests.acceptance.matrix import INTERNAL
from tests.harness import CountingAgent

rule = pytest.mark.rule
SORRY = Words("en").say(Failure.WITHHELD)
PDF = OutFile(name="red_fox.pdf", media_type="application/pdf", content=b"%PDF\0")
STOPPED = {
    "a trace": [Final(text='Traceback (most recent call last):\n  File "x.py", line 3')],
    "a link": [Final(text="[here](http://wiki.corp/red)")],
    "a term in markup": [Final(text="the **R**ed _Fox_")],
    "a term in a table": [Final(text="| Red | Fox |\n|---|---|\n| 1 | 2 |")],
    "a name of a file": [Final(text="here", files=(PDF,))],
    "a button": [Final(text="choose", card=Card(buttons=(Button(label="Red Fox", value="1"),)))],
    "what grows": [Fragment(text="like Red Fox"), Final(text="like Red Fox, we can")],
    "a hard stop": [Final(text="I hereby sign it.", declared="routine")],
}


def answers(request):
    return next(said for name, said in STOPPED.items() if f"({name})" in request.text)


@rule("OUT-4", "AUTO-3", "AUTO-5", "OUT-9")
async def test_outside_each_is_one_plain_sentence_and_inside_it_is_read(desk):
    desk.further = "counterparties: {other: {name: Other, protected_terms: [Red Fox]}}\n"
    outside = await desk.room(desk.ann, desk.bob, policy="{audience: external, streaming: edit}")
    inside = await desk.room(desk.ann, policy=INTERNAL)
    async with desk.running(agent=CountingAgent(answer=answers)) as gateway:
        await desk.ready(outside, desk.bob)
        for number, name in enumerate(STOPPED, 1):
            await desk.bob.say(outside, f"please ({name})", mentions=[desk.bot])
            await desk.bob.hears(outside, desk.bot, number, within_s=30)
        await gateway.settled()
        assert desk.bob.texts(outside, desk.bot) == [SORRY] * len(STOPPED)
        everything = json.dumps([event.get("content") for event in desk.bob.said(outside, desk.bot)]).lower()
        assert not re.search(r"\bfox\b", everything)  # ids of events are letters at random
        await desk.ann.say(inside, "please (a term in markup)", mentions=[desk.bot])
        await desk.ann.hears(inside, desk.bot, within_s=30)
        await gateway.settled()
        assert any("Fox" in text for text in desk.ann.texts(inside, desk.bot))
