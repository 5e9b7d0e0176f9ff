"""Kind ``log_scan``: a token is in none of the places into which it could fall, whatever goes wrong."""

import asyncio
import os
import signal
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import quote

from tests.acceptance.commands import environment
from tests.cases.child import Brain, Child, Document, child, text_of
from tests.cases.result import NotRun, check
from tests.cases.script import PERSON
from tests.servers.botapi import BotApi

TRIGGERS = ("timeout", "time-out", "400", "file download", "dns", "debug", "unhandled exception", "connection")
OTHER_SECRETS = {
    "a Matrix token": "syt_ZGlzY3JlZXQ_aBcDeFgHiJkLmNoPqRsT_0aBcDe",
    "a one-time link": "https://forms.example.org/f?token=tOpSeCrEtToKeN0123456789",
    "a proxy's password": "http://proxyuser:pr0xyPassw0rd@proxy.example.org:3128",
}
_SEEN = {"a one-time link": "tOpSeCrEtToKeN0123456789", "a proxy's password": "pr0xyPassw0rd"}
FAULTS = """
import asyncio, logging, os, sys
from bot.channels.telegram.channel import TelegramChannel
from bot.channels.telegram.client import BotApi, CallError
from bot.cli.serving import finish
from bot.observability.log import configure, get_logger
from bot.observability.redaction import register_secret

token, url, nowhere = os.environ["FAULTS_TOKEN"], os.environ["FAULTS_URL"], os.environ["FAULTS_NOWHERE"]
register_secret(token)
configure(level="debug", json_lines=os.environ["FAULTS_FORM"] == "json")
log = get_logger("faults")

async def explode():
    raise RuntimeError(f"cannot open {url}/bot{token}/getMe")

async def faults():
    for base, timeout_s in ((url, 0.3), (nowhere, 2.0)):
        api = BotApi(token=token, api_url=base)
        for method in ("getUpdates", "sendMessage"):
            try:
                await api.call(method, {"text": "x"}, timeout_s=timeout_s)
            except CallError as error:
                log.warning("call failed", error=str(error), shown=repr(error), api=repr(api))
                logging.getLogger("third.party").exception("it failed")
        await api.close()
    address = f"{url}/bot{token}/sendMessage"
    logging.getLogger("httpx").info("HTTP Request: POST %s", address)
    logging.getLogger("aiohttp.client").debug("GET " + address)
    for word in filter(None, os.environ["FAULTS_OTHER"].split("\\n")):
        logging.getLogger("other").warning("using %s", word)
        log.info("using", value=word)
    task = asyncio.create_task(explode(), name=address)
    await asyncio.sleep(0.05)
    del task
    import gc; gc.collect()
    asyncio.get_running_loop().call_exception_handler({"message": address, "exception": OSError(address)})
    await asyncio.sleep(0.05)
    asyncio.get_running_loop().call_soon(lambda: 1 / len(address[:0]))
    await asyncio.sleep(0.05)

finish(faults)
"""


async def scan(case: dict[str, Any], folder: Path) -> None:
    """Run one case: the daemon with all that can go wrong, a scan of what it printed, wrote and said."""
    given = case["input"]
    for trigger in given.get("trigger", []):
        if not any(word in str(trigger).lower() for word in TRIGGERS):
            raise NotRun(f"{trigger!r} can't be brought about here")
    written = str(given["token"])
    token = _usable(written)
    secrets = {token, token.partition(":")[2], written, written.partition(":")[2], quote(token, safe="")}
    printed = ""
    if token != written:
        printed += await _refused(folder / "refused", written)
    async with BotApi(token=token, username="desk_bot") as api:
        served = folder / "served"
        served.mkdir(mode=0o700)
        printed += "".join(
            await asyncio.gather(
                _served(api, served), _faults(api, folder), _unreachable(folder / "unreachable", token)
            )
        )
        said = [call.text for call in api.calls] + [str(toast) for toast in api.toasts.values()]
    places = {"what was printed": printed.encode(), "what people read": "\n".join(said).encode()}
    for path in folder.rglob("*"):
        if path.is_file() and path.name != "telegram.token":
            places[f"the file {path.name}"] = path.read_bytes()
    for place, content in places.items():
        for secret in secrets:
            check(secret.encode() not in content, f"no token in {place}")
    for name, secret in OTHER_SECRETS.items():
        check(_SEEN.get(name, secret) not in printed, f"{name} to be hidden")
    check("getUpdates" in printed or "intake_interrupted" in printed, "the faults to be seen in the log")


def _usable(token: str) -> str:
    """The case's token, with a number that a bot can have."""
    number, _, secret = token.partition(":")
    return f"{number.lstrip('0') or '7000000001'}:{secret}"


async def _refused(folder: Path, token: str) -> str:
    """A token of a form that no bot has is refused, and not shown."""
    folder.mkdir(mode=0o700)
    (folder / "config.yaml").write_text(f"telegram: [{{token: '{token}'}}]\nagents: {{main: {{kind: echo}}}}\n")
    (folder / "policy.yaml").write_text("version: 1\n")
    out, code = await _process(folder, "-m", "bot", "run")
    check(code != 0, "a token of this form to be refused")
    (folder / "config.yaml").unlink()
    return out


async def _served(api: BotApi, folder: Path) -> str:
    """The daemon at debug level: cut polls, a refused message, a file that comes and one that does not."""

    async def answer(document: Document) -> Document:
        files = ", ".join(str(file.get("content", "nothing"))[:20] for file in document["untrusted"]["attachments"])
        return {"kind": "final", "text": f"answer to {text_of(document)} with {files}"}

    for _ in range(2):
        api.drop("getUpdates")
    api.fail("getUpdates", 504, "Gateway Timeout")
    brain = Brain(answer)
    async with child(folder, api, "version: 1\ndirect: {strangers: allow}\n", brain) as daemon:
        await daemon.start(debug=True)
        file = api.file(b"content", name="note.txt")
        api.say(chat=PERSON, sender=PERSON, text="first", document=file)
        await brain.heard("first")
        api.fail("getFile", 400, f"Bad Request: {api.url}/file/bot{api.token}/documents is gone")
        api.say(chat=PERSON, sender=PERSON, text="second", document=file)
        await brain.heard("second")
        api.fail("sendMessage", 400, f"Bad Request: refused /bot{api.token}/sendMessage")
        api.say(chat=PERSON, sender=PERSON, text="third")
        await brain.heard("third")
        api.hang("sendMessage", deliver=False)
        hanging = api.faults[-1]
        api.say(chat=PERSON, sender=PERSON, text="fourth")
        await hanging.reached()
        hanging.cut()
        api.say(chat=PERSON, sender=PERSON, text="fifth")
        await api.wait_for(lambda: any("fifth" in text for text in api.texts(PERSON)), timeout=20)
        check(await daemon.stop() == 0, "an orderly end", daemon.code)
        return daemon.out


async def _faults(api: BotApi, folder: Path) -> str:
    """What the daemon logs with, in a program that does everything wrong, in both forms of the log."""
    printed = ""
    silent = await asyncio.start_server(_say_nothing, "127.0.0.1", 0)
    async with silent:
        url = f"http://127.0.0.1:{silent.sockets[0].getsockname()[1]}"
        for form in ("json", "console"):
            variables = {
                "FAULTS_TOKEN": api.token,
                "FAULTS_URL": url,
                "FAULTS_NOWHERE": "http://no-such-host.invalid",
                "FAULTS_FORM": form,
                "FAULTS_OTHER": "\n".join(OTHER_SECRETS.values()),
            }
            out, _ = await _process(folder, "-X", "dev", "-c", FAULTS, **variables)
            check("call failed" in out, "the faults to be logged", out[-400:].replace(api.token, "[token]"))
            printed += out
    return printed


async def _say_nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read()
    writer.close()


async def _unreachable(folder: Path, token: str) -> str:
    """A server that no name leads to."""
    folder.mkdir(mode=0o700)

    nowhere = SimpleNamespace(url="http://no-such-host.invalid", token=token, totals={})
    daemon = Child(folder, nowhere)  # type: ignore[arg-type]
    await daemon.prepare("version: 1\n", "http://127.0.0.1:9/agent")
    await daemon.start(ready=False, debug=True)
    async with asyncio.timeout(30):
        while not (folder / "data" / "control.sock").exists():
            await asyncio.sleep(0.05)  # another process makes it; the bound is above
    await asyncio.sleep(1.0)  # long enough to have failed more than once
    check(await daemon.stop(signal.SIGTERM) == 0, "an orderly end although nothing can be reached", daemon.code)
    return daemon.out


async def _process(folder: Path, *arguments: str, **variables: str) -> tuple[str, int]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *arguments,
        cwd=folder,
        env=environment(folder, PYTHONWARNINGS="default", **variables),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        async with asyncio.timeout(40):
            out, _ = await process.communicate()
    finally:
        if process.returncode is None:
            os.kill(process.pid, signal.SIGKILL)
            await process.wait()
    return out.decode(), int(process.returncode or 0)
