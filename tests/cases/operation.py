"""Further kinds of cases about running the daemon: modes of files, polling, routes; the longer ones have their own files."""

import asyncio
import os
import re
import stat
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bot.channels.telegram.intake import Polling
from bot.model.output import Final
from bot.observability.health import Level
from tests.acceptance.commands import environment
from tests.cases import contention, leaking, reloading, stopping
from tests.cases.child import Brain, Document, child
from tests.cases.clocks import listening
from tests.cases.outgoing import OPEN, ask
from tests.cases.result import NotRun, check
from tests.cases.script import PERSON
from tests.harness import CountingAgent, Running, running
from tests.servers.botapi import BotApi
from tests.servers.botapi.faults import Fault

BOT_ID, STRANGE_CHAT = 7001, -1009999999009
CONFLICT = "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running"


async def file_modes(case: dict[str, Any], folder: Path) -> None:
    """Whatever the umask is, others can't look into what the daemon and ``init`` make."""
    given = case["input"]
    umask = int(str(given.get("umask", "022")), 8)
    found = re.search(r"\b0?([0-7]{3})\b", str(case["expected"]["end_state"]))
    most = int(found[1], 8) if found else 0o600

    async def answer(document: Document) -> Document:
        return {"kind": "final", "text": "fine"}

    async with BotApi(token=f"{BOT_ID}:{'A' * 35}", username="desk_bot") as api:
        async with child(folder, api, "version: 1\ndirect: {strangers: allow}\n", Brain(answer), umask=umask) as daemon:
            for path in (folder / "data").iterdir():
                path.unlink()
            (folder / "data").rmdir()  # the daemon makes it
            (folder / "telegram.token").chmod(0o644)
            await daemon.start()
            api.say(chat=PERSON, text="hello", date=int(datetime.now(UTC).timestamp()) + 1)
            await api.wait_sent(PERSON)
            made = {path: os.lstat(path).st_mode for path in [folder / "data", *(folder / "data").rglob("*")]}
            check(await daemon.stop() == 0, "an orderly end", daemon.code)
            check("telegram.token" in daemon.out and "warning" in daemon.out.lower(), "a warning about the open secret")
        await _init(folder / "new", api, umask)
    names = {path.name for path in made}
    check({"discreet.db", "discreet.db-wal", "discreet.db-shm"} <= names, "the database and its side files", names)
    check(any(stat.S_ISSOCK(mode) for mode in made.values()), "the control socket")
    made |= {path: os.lstat(path).st_mode for path in (folder / "new").iterdir()}
    for path, mode in made.items():
        allowed = 0o700 if stat.S_ISDIR(mode) else most
        bits = stat.S_IMODE(mode)
        check(bits & ~allowed == 0, f"{path.name} with at most {allowed:04o}", f"{bits:04o}")


async def _init(folder: Path, api: BotApi, umask: int) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "bot", "init", folder.name, "--token", api.token, "--api-url", api.url, "--yes"),
        cwd=folder.parent,
        env=environment(folder.parent),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        umask=umask,
    )
    async with asyncio.timeout(30):
        _, err = await process.communicate()
    check(process.returncode == 0, "init to make its files", err.decode()[-200:])


async def poll_sequence(case: dict[str, Any], folder: Path) -> None:
    """What the platform answers to getUpdates, call by call; a minute of ours is a second here."""
    for number, one in enumerate(case["input"]["cases"]):
        place = folder / str(number)
        place.mkdir()
        await _polled([str(response).lower() for response in one["responses"]], float(one.get("within_s", 300)), place)


async def _polled(responses: list[str], within_s: float, folder: Path) -> None:
    polling = Polling(wait_s=1, conflict_s=3.0, back_off_first_s=0.02, back_off_longest_s=0.25)
    recovers = responses[-1] == "ok"
    async with BotApi(token=f"{BOT_ID}:{'A' * 35}", username="desk_bot") as api:
        faults = [_response(api, response) for response in responses if response != "ok"]
        if not recovers:
            faults[-1].times = None
        with listening():
            policy = "version: 1\ndirect: {strangers: allow}\n"
            async with running(folder, api=api, policy=policy, mode=polling, limits=OPEN, identified=False) as gateway:
                cutting = asyncio.create_task(_cut(faults), name="cut")
                try:
                    async with asyncio.timeout(max(10.0, within_s / 60)):
                        if recovers:
                            ask(api, PERSON, "hello")
                            await api.wait_sent(PERSON, timeout=within_s)
                            check(all(fault.hits for fault in faults), "every answer to be met")
                        else:
                            await _unhealthy(gateway)
                except TimeoutError:
                    check(not recovers, "it to recover by itself")
                    check(False, "an end or an unhealthy state", "a process that is alive and deaf")
                finally:
                    cutting.cancel()


def _response(api: BotApi, response: str) -> Fault:
    if response.isdecimal():
        code = int(response)
        return api.fail("getUpdates", code, CONFLICT if code == 409 else f"Error {code}")
    if "time" in response:
        return api.hang("getUpdates", deliver=False)
    if re.search(r"reset|drop|disconnect|eof", response):
        return api.drop("getUpdates")
    raise NotRun(f"the answer {response!r} is not understood")


async def _cut(faults: list[Fault]) -> None:
    """Calls that hang end without an answer."""
    for fault in faults:
        if fault.kind == "hang":
            await fault.reached()
            await asyncio.sleep(0.2)
            fault.cut()


async def _unhealthy(gateway: Running) -> None:
    """Return when the health page would call for a restart."""
    health = gateway.daemon.crew.health
    while health.alive:
        await asyncio.sleep(0.05)  # a timer of the intake is waited for; the bound is the caller's
    failed = [state.words for state in health.states().values() if state.level is Level.FAILED]
    check(failed and all(failed), "words for the admin", failed)


async def routing(case: dict[str, Any], folder: Path) -> None:
    """What a route says no to is answered by nobody; what it says yes to, by its own agent."""
    given = case["input"]
    end_state = str(case["expected"]["end_state"]).lower()
    routes, default = given["routes"], str(given.get("default_agent", "main"))
    names = list(dict.fromkeys([default, *(str(route.get("agent", default)) for route in routes)]))
    agents = {name: CountingAgent(name=name, answer=lambda _, name=name: [Final(text=f"by {name}")]) for name in names}
    lines = ["version: 1", "channels:"]
    for route in routes:
        mention = bool(route.get("require_mention", True))
        audience = "external" if mention else "internal, require_mention: false"
        lines.append(
            f'  "telegram:{BOT_ID}:{route["chat"]}": {{audience: {audience}, agent: {route.get("agent", default)}}}',
        )
    async with BotApi(token=f"{BOT_ID}:{'A' * 35}", username="desk_bot") as api:
        further = [agents[name] for name in names[1:]]
        with listening():
            async with running(
                folder,
                api=api,
                policy="\n".join(lines) + "\n",
                agent=agents[default],
                further=further,
                limits=OPEN,
            ) as gateway:
                for chat in [*(route["chat"] for route in routes), STRANGE_CHAT]:
                    api.chat(chat, type="supergroup", title="Room")
                chat = given.get("chat", routes[0]["chat"])
                api.say(chat=chat, sender=PERSON, text=str(given["update_text"]))
                await gateway.settled()
                asked = [name for name in names if agents[name].requests]
                if "silence" in end_state:
                    check(not asked, "silence", f"an answer by {asked}")
                    check(not gateway.person_calls, "nothing to reach the platform")
                else:
                    wanted = [name for name in names if re.search(rf"\b{name}\b", end_state)]
                    check(asked == wanted, f"an answer by {wanted}", asked)
                for route in routes:  # the same words to the agent itself are for the agent of the route
                    before = {name: len(agent.requests) for name, agent in agents.items()}
                    api.say(chat=route["chat"], sender=PERSON, text="@desk_bot hello")
                    await gateway.settled()
                    grown = [name for name, agent in agents.items() if len(agent.requests) > before[name]]
                    check(grown == [str(route.get("agent", default))], "the agent of the route alone", grown)
                before = {name: len(agent.requests) for name, agent in agents.items()}
                api.say(chat=STRANGE_CHAT, sender=PERSON, text="@desk_bot hello")
                await gateway.settled()
                now = {name: len(agent.requests) for name, agent in agents.items()}
                check(now == before, "silence where no route leads")


async def schedule(case: dict[str, Any], folder: Path) -> None:
    """Nothing is scheduled yet."""
    raise NotRun("nothing is scheduled yet")


KINDS = {
    "db_contention": contention.contention,
    "file_modes": file_modes,
    "log_scan": leaking.scan,
    "poll_sequence": poll_sequence,
    "reload_sequence": reloading.sequence,
    "routing": routing,
    "schedule": schedule,
    "shutdown": stopping.shutdown,
}
