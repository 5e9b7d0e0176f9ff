"""Kind ``reload_sequence``: the running daemon keeps its last good policy until there is a whole new one."""

import asyncio
import re
import signal
from pathlib import Path
from typing import Any

import aiohttp

from tests.cases.child import Brain, Child, Document, child, free_port, text_of
from tests.cases.result import NotRun, check
from tests.cases.script import PERSON
from tests.servers.botapi import BotApi

BOT_ID, GROUP, REPORTS = 7001, -1001900000001, -1009999999001
_SETTING = re.compile(r"(\w+):\s*(true|false)")


class Reloading:
    """The daemon, its file, and what is known to be in force."""

    def __init__(self, api: BotApi, daemon: Child, brain: Brain, port: int) -> None:
        self.api = api
        self.daemon = daemon
        self.brain = brain
        self.port = port
        self.file = ""
        self.in_force: dict[str, str] = {}
        self.broken = False
        self.asked = 0

    async def write(self, words: str) -> None:
        """Write a file: a valid one with the settings that are named, or exactly these words."""
        if words.lower().startswith("valid"):
            settings = dict(_SETTING.findall(words)) or _other(self.in_force)
            self.file, self.broken, following = valid(settings), False, settings
        else:
            self.file, self.broken, following = words, True, self.in_force
        self.daemon.write("policy.yaml", self.file)
        if not self.daemon.running:
            self.in_force = following
            await self.daemon.start()
            return
        self.in_force = following
        await self._noticed()

    async def _noticed(self) -> None:
        """The daemon has looked at the file: its health says what it found, and the operators' room was told."""
        told = self.reports
        self.daemon.tell(signal.SIGHUP)
        await self.api.wait_for(lambda: self.reports > told, timeout=20)
        check(await self.state() == ("degraded" if self.broken else "ok"), "the state of the policy in the health page")

    @property
    def reports(self) -> int:
        return len(self.api.sent(REPORTS))

    async def state(self) -> str:
        """The policy's state on the health page."""
        async with (
            aiohttp.ClientSession() as session,
            session.get(f"http://127.0.0.1:{self.port}/readyz") as response,
        ):
            components = (await response.json())["components"]
        return str(components.get("policy", {"state": "ok"})["state"])

    async def say(self, words: str) -> None:
        """A message in the group, and one in private behind it, whose answer says that both were judged."""
        mention = "with" in words and "without" not in words
        self.asked += 1
        text = f"hello {self.asked}"
        before = len(self.api.sent(GROUP))
        self.api.say(chat=GROUP, sender=PERSON, text=f"@{self.api.me['username']} {text}" if mention else text)
        self.api.say(chat=PERSON, sender=PERSON, text=f"marker {self.asked}")
        await self.api.wait_for(lambda: f"answer to marker {self.asked}" in self.api.texts(PERSON), timeout=20)
        if mention or self.in_force.get("require_mention") == "false":
            await self.api.wait_sent(GROUP, before + 1)
        else:
            await asyncio.sleep(0.2)
            check(len(self.api.sent(GROUP)) == before, "silence under the policy that stays in force")
            check(self.brain.times(text) == 0, "no agent asked")

    def unchanged(self) -> None:
        """The user's file is theirs."""
        check(
            (self.daemon.folder / "policy.yaml").read_text(encoding="utf-8") == self.file, "the file as it was written"
        )


def valid(settings: dict[str, str]) -> str:
    """A policy in which these settings hold in the group."""
    said = "".join(f", {name}: {value}" for name, value in settings.items())
    return (
        "version: 1\ndirect: {strangers: allow}\nchannels:\n"
        f'  "telegram:{BOT_ID}:{GROUP}": {{audience: internal{said}}}\n'
        f'  "telegram:{BOT_ID}:{REPORTS}": {{audience: internal, reports: true}}\n'
    )


def _other(settings: dict[str, str]) -> dict[str, str]:
    opposite = {"true": "false", "false": "true"}
    return {name: opposite[value] for name, value in settings.items()} or {"require_mention": "false"}


async def sequence(case: dict[str, Any], folder: Path) -> None:
    """Run one case."""

    async def answer(document: Document) -> Document:
        return {"kind": "final", "text": f"answer to {text_of(document)}"}

    brain = Brain(answer)
    port = free_port()
    async with BotApi(token=f"{BOT_ID}:{'A' * 35}", username="desk_bot") as api:
        for chat in (GROUP, REPORTS):
            api.chat(chat, type="supergroup", title="Room")
        async with child(folder, api, valid({}), brain, health=port) as daemon:
            scene = Reloading(api, daemon, brain, port)
            for step in case["input"]["steps"]:
                if "file" in step:
                    await scene.write(str(step["file"]))
                elif "signal" in step:
                    daemon.tell(signal.Signals[str(step["signal"]).upper()])
                elif "update" in step:
                    await scene.say(str(step["update"]))
                else:
                    raise NotRun(f"the step {step!r} is not understood")
                scene.unchanged()
                check(daemon.running, "the daemon to go on")
            await scene.say("message without mention")
            check(await daemon.stop() == 0, "an orderly end", daemon.code)
