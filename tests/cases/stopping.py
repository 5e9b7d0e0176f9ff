"""Kind ``shutdown``: the daemon is told to stop in the middle of everything, and loses nothing by it."""

import asyncio
import re
import signal
from pathlib import Path
from typing import Any

from tests.cases import ledger
from tests.cases.child import Brain, Child, Document, child, text_of
from tests.cases.result import check
from tests.cases.script import PERSON
from tests.servers.botapi import BotApi

BOT_ID, GROUP, ASKED, REPORTS = 7001, -1001900000001, 510000003, -1009999999001
POLICY = f"""\
version: 1
direct: {{strangers: allow}}
defaults: {{burst: {{quiet: 3s, longest: 60s}}}}
channels:
  "telegram:{BOT_ID}:{GROUP}": {{audience: external}}
  "telegram:{BOT_ID}:{REPORTS}": {{audience: internal, reports: true}}
"""


async def shutdown(case: dict[str, Any], folder: Path) -> None:
    """Once with a send that ends in time, once with one that does not and a second signal."""
    steps = case["input"]["steps"]
    state = next(str(step["state"]) for step in steps if "state" in step)
    within_s = next((float(step["timeout_s"]) for step in steps if "timeout_s" in step), 10.0)
    number = next((signal.Signals[str(step["signal"]).upper()] for step in steps if "signal" in step), signal.SIGTERM)
    scenes = []
    for patient in (True, False):
        place = folder / ("ends" if patient else "hangs")
        place.mkdir(mode=0o700)
        scenes.append(Stopping(place, state, within_s, number, patient=patient).play())
    await asyncio.gather(*scenes)


class Stopping:
    """One scene: what is under way, the stop, and the next start."""

    def __init__(self, folder: Path, state: str, within_s: float, number: int, *, patient: bool) -> None:
        self.folder = folder
        self.within_s = within_s
        self.number = number
        self.patient = patient
        self.sending = _count(state, r"sends? in flight")
        self.queued = _count(state, r"queued")
        self.questions = _count(state, r"(?:open )?questions?")
        self.albums = _count(state, r"albums?")
        self.brain = Brain(self._answer)

    async def _answer(self, document: Document) -> Document:
        words = text_of(document)
        if document["tap"]:
            return {"kind": "final", "text": f"chosen {document['tap']}"}
        if "question" in words:
            buttons = [{"label": word, "value": f"value of {word}"} for word in ("Yes", "No")]
            return {"kind": "final", "text": f"{words}: Shall I?", "card": {"buttons": buttons}}
        return {"kind": "final", "text": f"answer to {words} ({len(document['untrusted']['attachments'])} files)"}

    async def play(self) -> None:
        """Play it to its end."""
        async with BotApi(token=f"{BOT_ID}:{'A' * 35}", username="desk_bot") as api:
            for chat in (GROUP, REPORTS):
                api.chat(chat, type="supergroup", title="Room")
            async with child(self.folder, api, POLICY, self.brain) as daemon:
                await daemon.start()
                await self._prepare(api)
                await self._stop(api, daemon)
                self._stored(daemon)
                api.calm()
                await daemon.start()
                await self._goes_on(api)
                check(await daemon.stop() == 0, "an orderly end", daemon.code)
            check(ledger.integrity(next(self.folder.rglob(ledger.DATABASE))) == "ok", "a sound database")

    async def _prepare(self, api: BotApi) -> None:
        for number in range(self.questions):
            api.say(chat=ASKED, sender=ASKED, text=f"question {number}")
        await api.wait_sent(ASKED, self.questions)
        for number in range(self.sending):  # each in a chat of its own
            fault = api.hang("sendMessage", chat_id=PERSON + 10 * number, deliver=True)
            for following in range(1 + (self.queued if number == 0 else 0)):
                api.say(chat=PERSON + 10 * number, text=f"send {number}.{following}.")
            await fault.reached()
        await self.brain.heard("send 0.", 1 + self.queued if self.sending else 0)
        for number in range(self.albums):
            pictures = [api.file(b"picture", name=f"{n}.jpg", mime="image/jpeg") for n in range(3)]
            items = [{"photo": pictures[0], "text": f"@desk_bot album {number}."}, *pictures[1:]]
            api.album(chat=GROUP, sender=PERSON, items=items)
        await api.wait_drained()
        await self._in_outbox(self.sending + self.queued + self.questions)

    async def _in_outbox(self, count: int) -> None:
        async with asyncio.timeout(10):
            while len(ledger.parts(self.folder)) < count:
                await asyncio.sleep(0.02)  # another process writes it; the bound is above

    async def _stop(self, api: BotApi, daemon: Child) -> None:
        daemon.tell(self.number)
        await asyncio.sleep(0.3)
        api.say(chat=ASKED, sender=ASKED, text="too late")
        if self.patient:
            for fault in api.faults:
                fault.release()
        else:
            daemon.tell(self.number)
        code = await daemon.over(within_s=self.within_s)
        check(code == 0, "exit code 0", code)
        check(self.brain.times("too late") == 0, "no update to be taken any more")
        check(api.pending, "what came too late to stay with the platform")

    def _stored(self, daemon: Child) -> None:
        rows = [row for row in ledger.parts(self.folder) if row.key is not None]
        states = [row.state for row in rows]
        wanted = {"delivered"} if self.patient else {"unknown", "sending"}
        first = {row.channel: row.state for row in reversed(rows)}
        in_flight = {first[str(PERSON + 10 * number)] for number in range(self.sending)}
        check(in_flight <= wanted, "the send in flight to be finished or marked", states)
        check(states.count("ready") + states.count("delivered") >= self.queued, "the queue to be durable", states)
        kept = ledger.select(
            self.folder,
            "SELECT count(*) FROM inbox i JOIN inbox_contents c ON c.event_id = i.id WHERE i.state IN ('new', 'deferred')",
        )
        check(kept[0][0] == 3 * self.albums, "the parts of an album to be durable", kept[0][0])
        buttons = ledger.select(self.folder, "SELECT count(*) FROM buttons")[0][0]
        check(buttons == 2 * self.questions, "open questions to be durable", buttons)

    async def _goes_on(self, api: BotApi) -> None:
        for number in range(self.sending):
            chat = PERSON + 10 * number
            count = 1 + (self.queued if number == 0 else 0)
            await api.wait_sent(chat, count)
            wanted = [f"answer to send {number}.{following}. (0 files)" for following in range(count)]
            check(api.texts(chat) == wanted, "each message once, in order", api.texts(chat))
        if not self.patient and self.sending:
            states = [row.state for row in ledger.parts(self.folder)]
            check(states.count("unknown") == self.sending, "what was cut off to be uncertain", states)
        for number in range(self.questions):
            api.press(chat=ASKED, button="Yes", message_id=api.sent(ASKED)[number]["message_id"])
        await api.wait_for(lambda: api.texts(ASKED).count("chosen value of Yes") == self.questions, timeout=20)
        await api.wait_sent(GROUP, self.albums, timeout=20)
        albums = [text for text in api.texts(GROUP) if "(3 files)" in text]
        check(len(albums) == self.albums == len(api.texts(GROUP)), "an album as one request with all its files")
        await api.wait_for(lambda: any("too late" in text for text in api.texts(ASKED)), timeout=20)


def _count(state: str, what: str) -> int:
    found = re.search(rf"(\d+)\s+{what}", state)
    return 0 if found is None else int(found[1])
