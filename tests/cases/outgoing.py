"""Delivery cases that send: people ask, an agent answers, the platform does what the case says.

    request -> agent -> present -> door -> outbox -> dispatcher -> emulated platform

Each case is played to its end, then two further messages are sent (into the same chat and into another one), then the
gateway is started again on the same store. What must hold is judged in :mod:`tests.cases.verdict`.
"""

import asyncio
import contextlib
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bot.channels.telegram.limits import Limits
from bot.model.output import Final, Fragment, OutFile, Output
from bot.model.request import Request
from forms.card import Button, Card
from tests.cases import ledger
from tests.cases.clocks import Heard, Jumping, listening
from tests.cases.script import Reply, Send, place_replies, replies_of, sends_of
from tests.harness import CountingAgent, Running, running
from tests.servers.botapi import BotApi
from tests.servers.botapi.calls import Call

BOT_ID = 7001
REPORTS, ELSEWHERE = -1009999999001, 519999999
OPEN = Limits(chat=None, group=None, total=None)
PNG = bytes.fromhex("89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489")
TIMELY_S, PATIENT_S = 0.6, 30.0


@dataclass(kw_only=True)
class Played:
    """What came of a case.

    Attributes:
        keys: of the requests, in the order of the sends.
        before: the outbox when the case was over; after: after the probes and another start.
        again: calls that the other start made for what the case had sent.
    """

    sends: list[Send]
    replies: list[Reply]
    api: BotApi
    folder: Path
    clock: Jumping
    heard: Heard
    keys: list[str] = field(default_factory=list)
    before: list[ledger.Row] = field(default_factory=list)
    after: list[ledger.Row] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    again: list[Call] = field(default_factory=list)
    reports: int = 0
    probes: dict[int, list[str]] = field(default_factory=dict)

    def rows(self, send: Send) -> list[ledger.Row]:
        """The parts of one send as they were when the case was over."""
        return [row for row in self.before if row.key == self.keys[send.index]]

    def calls_of(self, send: Send) -> list[Call]:
        """Its calls; which chat they went to tells sends of different chats apart, their words the others."""
        alone = len([one for one in self.sends if one.chat == send.chat]) == 1
        chats = {send.chat, *(reply.moved_to for reply in self.replies)}
        return [
            call
            for call in self.calls
            if call.chat_id in chats and (alone or call.text == send.text or call.text in send.seen)
        ]

    @property
    def homes(self) -> set[int]:
        """The chats in which something of the case can be seen."""
        return {send.chat for send in self.sends} | {reply.moved_to for reply in self.replies if reply.moved_to}


def policy_of(sends: list[Send]) -> str:
    """Everybody may ask in the chats of the case."""
    streaming = "edit" if any(send.do == "edit" for send in sends) else "none"
    lines = ["version: 1", "defaults: {rate: {person: 6000, channel: 6000}}", "channels:"]
    groups = sorted({send.chat for send in sends if send.chat < 0})
    lines += [f'  "telegram:{BOT_ID}:{chat}": {{audience: external, streaming: {streaming}}}' for chat in groups]
    lines.append(f'  "telegram:{BOT_ID}:{REPORTS}": {{audience: internal, reports: true}}')
    lines.append(f"direct: {{strangers: allow, streaming: {streaming}}}")
    return "\n".join(lines) + "\n"


def voice(sends: list[Send], replies: list[Reply], *, buttons: bool) -> Callable[[Request], list[Output]]:
    """The agent: what it is asked for by number, it says."""

    def answer(request: Request) -> list[Output]:
        found = re.search(r"(request|probe) (\d+)", request.text)
        if found is None or found[1] == "probe":
            return [Final(text=f"probe {found[2] if found else ''}")]
        send = sends[int(found[2])]
        if send.do == "edit":
            same = any(reply.says("not modified") for reply in replies)
            return [Fragment(text=send.written if same else "One moment"), Final(text=send.written)]
        photos = tuple(OutFile(name=f"{n}.png", media_type="image/png", content=PNG) for n in range(send.photos))
        card = Card(buttons=(Button(label="Yes", value="yes"),)) if buttons else None
        return [Final(text=send.written, files=photos, card=card)]

    return answer


async def play(steps: list[dict[str, Any]], folder: Path, judge: Callable[[Played], None], *, buttons: bool) -> None:
    """Play a case's steps and have what came of it judged."""
    sends, replies = sends_of(steps), replies_of(steps)
    clock = Jumping(datetime.now(UTC))
    doubtful = any(reply.fate == "timeout" for reply in replies)
    started: dict[str, Any] = {
        "policy": policy_of(sends),
        "clock": clock,
        "limits": OPEN,
        "call_s": TIMELY_S if doubtful else PATIENT_S,
    }
    folder.mkdir(exist_ok=True)
    async with BotApi(token=f"{BOT_ID}:{'A' * 35}", username="desk_bot") as api:
        with listening() as heard:
            api.faults.extend(place_replies(replies, sends))
            played = Played(sends=sends, replies=replies, api=api, folder=folder, clock=clock, heard=heard)
            agent = CountingAgent(answer=voice(sends, replies, buttons=buttons))
            async with running(folder, api=api, agent=agent, **started) as gateway:
                prepare(api, sends, replies)
                for send in sends:
                    played.keys.append(ask(api, send.chat, f"request {send.index}", thread=send.thread))
                await drain(gateway, clock)
                played.calls = calls(api)
                played.before = ledger.parts(folder)
                played.reports = len(api.sent(REPORTS))
                for number, chat in enumerate([*dict.fromkeys(send.chat for send in sends), ELSEWHERE]):
                    ask(api, chat, f"probe {number}")
                    await drain(gateway, clock)
                    played.probes[chat] = [text for text in api.texts(chat) if text == f"probe {number}"]
            made = len(api.calls)
            agent = CountingAgent(answer=voice(sends, replies, buttons=buttons))
            async with running(folder, api=api, agent=agent, **started) as gateway:
                await drain(gateway, clock)
            played.again = [call for call in calls(api, made) if call.chat_id in played.homes]
            played.after = ledger.parts(folder)
            judge(played)


def calls(api: BotApi, start: int = 0) -> list[Call]:
    """Calls that reach people, reports and probes apart."""
    own = ("getUpdates", "getMe", "deleteWebhook", "sendChatAction", "sendMessageDraft")
    return [
        call
        for call in api.calls[start:]
        if call.method not in own and call.chat_id != REPORTS and not call.text.startswith("probe")
    ]


def prepare(api: BotApi, sends: list[Send], replies: list[Reply]) -> None:
    """The chats of the case, and where they move to."""
    api.chat(REPORTS, type="supergroup", title="Operators")
    for send in sends:
        if send.chat < 0:
            api.chat(send.chat, type="supergroup" if send.chat < -1_000_000_000_000 else "group", title="Room")
        if send.thread is not None and send.thread not in api.world.topics[send.chat]:
            api.topic(send.chat, thread=send.thread)
    for reply in replies:
        if reply.moved_to is not None and sends:
            api.chat(reply.moved_to, type="supergroup", title="Room")
            api.world.migrations[sends[0].chat] = reply.moved_to


def ask(api: BotApi, chat: int, words: str, *, thread: int | None = None) -> str:
    """A person asks; returns the key of the event."""
    key = str(api.account.updates.next_id)
    sender = chat if chat > 0 else 518888888
    text = words if chat > 0 else f"@{api.me['username']} {words}"
    api.say(chat=chat, sender=sender, text=text, thread=thread)
    return key


async def drain(gateway: Running, clock: Jumping) -> None:
    """Wait until all is answered and sent; long waits are let pass, but for their last second."""
    async with asyncio.timeout(60):
        settled = asyncio.create_task(gateway.settled())
        try:
            while not settled.done():
                await asyncio.wait({settled}, timeout=0.2)
                rest_s = _shortest_wait_s(gateway, clock)
                if rest_s > 2.5:
                    clock.jump(gateway, rest_s - 1.2)
            await settled
        finally:
            settled.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await settled


def _shortest_wait_s(gateway: Running, clock: Jumping) -> float:
    now = clock().timestamp()
    waiting = [
        row.not_before / 1e6 - now
        for row in ledger.parts(gateway.folder)
        if row.state == "ready" and row.not_before is not None
    ]
    return min(waiting, default=0.0)


async def interrupt(sends: list[Send], number: int, folder: Path) -> tuple[list[str], list[ledger.Row]]:
    """Stop the gateway while part ``number`` of the first send is on its way, and start it again.

    Returns: the texts that can be seen in the end, and the outbox.
    """
    folder.mkdir(exist_ok=True)
    started: dict[str, Any] = {"policy": policy_of(sends), "limits": OPEN}
    for send in sends:
        send.seen.clear()
    reply = Reply(label=f"part {number}", fate="timeout", applied=True)
    async with BotApi(token=f"{BOT_ID}:{'A' * 35}", username="desk_bot") as api:
        with listening():
            (fault,) = place_replies([reply], sends)
            api.faults.append(fault)
            agent = CountingAgent(answer=voice(sends, [], buttons=False))
            async with running(folder, api=api, agent=agent, **started) as gateway:
                prepare(api, sends, [])
                ask(api, sends[0].chat, "request 0", thread=sends[0].thread)
                await fault.reached()
                await gateway.daemon.close(grace_s=0.2)
            fault.cut()
            begun = time.monotonic()
            async with running(folder, api=api, agent=agent, **started) as gateway:
                await gateway.settled()
            assert time.monotonic() - begun < 20
            return api.texts(sends[0].chat), ledger.parts(folder)
