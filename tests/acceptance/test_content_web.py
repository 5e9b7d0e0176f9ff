"""What an answer says, in the built-in chat: the same door, seen over HTTP."""

import asyncio
import json
from collections.abc import Sequence

import pytest

from bot.model.output import Final, Fragment, OutFile
from bot.texts.codes import Failure
from bot.texts.words import Words
from bot.wiring import demo, run_demo
from forms.card import Button, Card
from tests.acceptance.test_web_chat import Running, answer_to, said_in, settled
from tests.browser.visitor import visit

rule = pytest.mark.rule
SORRY = Words("en").say(Failure.WITHHELD)
STOPPED = {
    "a trace": [Final(text='Traceback (most recent call last):\n  File "x.py", line 3')],
    "a path": [Final(text="It lies in /srv/agent/orders.csv.")],
    "a key": [Final(text="Use ghp_a1B2c3D4e5a1B2c3D4e5a1B2c3D4e5a1B2c3.")],
    "reasoning": [Final(text="<think>They want it cheap.</think>Hello.")],
    "a link inside": [Final(text="[here](http://wiki.corp/x)")],
    "a term": [Final(text="on the S e a  T e r r a c e")],
    "a term in a caption": [
        Final(text="the Sea-Terrace", files=(OutFile(name="a.pdf", media_type="application/pdf", content=b"%PDF\0"),))
    ],
    "a term in the name of a file": [
        Final(text="here", files=(OutFile(name="sea_terrace.pdf", media_type="application/pdf", content=b"%PDF\0"),))
    ],
    "a term in a button": [Final(text="choose", card=Card(buttons=(Button(label="Sеa Tеrracе", value="1"),)))],
    "a term in a row": [Final(text="", card=Card(rows=(("Place", "Sea Terrace"),)))],
    "a term in what grows": [Fragment(text="the Sea Terrace"), Final(text="the Sea Terrace is taken")],
    "a hard stop": [Final(text="I have transferred 500 EUR to you.", declared="routine")],
}  # fmt: skip


class Saying:
    """Says what the request names."""

    name = "main"

    async def run(self, request, desk):
        for output in self.outputs(request.text):
            yield output

    def outputs(self, text: str) -> Sequence[object]:
        return next(said for name, said in STOPPED.items() if text.endswith(f"({name})"))

    async def close(self):
        pass


@pytest.fixture
async def page(monkeypatch):
    monkeypatch.setattr(demo, "agent", lambda _name, _settings: Saying())
    address = asyncio.get_running_loop().create_future()
    daemon = asyncio.create_task(run_demo(port=0, announce=address.set_result), name="demo")
    async with asyncio.timeout(30):
        await asyncio.wait([daemon, address], return_when=asyncio.FIRST_COMPLETED)
        assert address.done(), daemon
    async with visit(Running(url=address.result())) as visitor:
        yield visitor
    daemon.cancel()
    await asyncio.gather(daemon, return_exceptions=True)


@rule("OUT-4", "AUTO-3", "AUTO-5")
async def test_outside_each_is_one_plain_sentence_and_inside_it_is_read_as_it_is(page):
    for name in STOPPED:
        asked = await page.say("customer", f"@desk please ({name})", who="carla")
        assert (await settled(page, asked))["result"] == "withheld", name
        assert (await answer_to(page, asked))["text"] == SORRY, name
    assert set(await said_in(page, "customer")) == {SORRY}
    state = json.dumps((await page.state())["messages"])
    assert "errac" not in state.replace("caption", "")
    assert "ghp_" not in state
    for name in ("a trace", "a term", "a term in a button"):
        asked = await page.say("operators", f"@desk please ({name})", who="olga")
        assert (await settled(page, asked))["result"] == "answered", name
