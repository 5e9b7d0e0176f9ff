"""Kind ``one_time_link``: a question's page behind its link, as people, robots and double clicks come to it.

The question is asked on an emulated Telegram by a running gateway; the link is read out of the message that it sent. The
pages' own server answers on this machine; what comes by the public address comes through a proxy that leaves its path on
or takes it off. The case's ``t`` (seconds) moves the clock.
"""

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import aiohttp

from bot.channels.matrix import presenting as matrix
from bot.channels.web.markdown import render
from bot.config.file import load_config
from bot.config.settings import Pages
from bot.model.output import Final as Answer
from bot.model.question import Question as Stored
from bot.model.question import QuestionState
from bot.pages.server import serve
from bot.ports.channel import Reply
from bot.questions.links import Links, digest
from forms.bounds import same
from forms.card import Button, Card
from forms.page import inputs
from forms.reading import Locale
from forms.wording import options_of
from policy.boundary import Speech
from policy.destination import Destination
from tests.cases.asked import AskingAgent, Question, Scene, scene
from tests.cases.clocks import Heard, Jumping, listening
from tests.cases.result import NotRun, check
from tests.cases.visits import Visit, Visitor, judge
from tests.servers.botapi import BotApi

BASE_URL: Final = "https://forms.example.org/relay"
AGENTS: Final = ("Mozilla/5.0 (iPhone)", "TelegramBot (like TwitterBot)", "Synapse (bot)", "Googlebot/2.1", "")
VALID: Final = {"reason": "Wolverhampton"}
SCHEMA: Final = {
    "type": "object",
    "properties": {"reason": {"type": "string", "maxLength": 40}},
    "required": ["reason"],
}
WARNS_WITHIN_S: Final = 5.0
_TYPES: Final = {bool: "boolean", int: "integer", float: "number", str: "string"}
_KEY: Final = b"k" * 32


async def one_time_link(case: dict[str, Any], folder: Path) -> None:
    """Play the requests, then judge."""
    given, expected = case["input"], case["expected"]
    pages = _pages(given.get("config"), folder)
    bodies = [one["body"] for one in given["requests"] if isinstance(one.get("body"), dict)]
    schema = given.get("schema") or (_schema(bodies) if bodies else SCHEMA)
    agent, clock = AskingAgent(), Jumping(datetime(2026, 7, 1, 10, tzinfo=UTC))
    ttl_s = next((given[name] for name in ("ttl_s", "expires_s", "timeout_s", "ttl") if name in given), 3600)
    question = agent.add(schema, text="Why **now**?", ttl_s=int(ttl_s), important=bool(given.get("important", False)))
    visits: list[Visit] = []
    started = clock()
    with listening() as heard:
        async with BotApi(token=f"7001:{'A' * 35}", username="desk_bot") as api:
            for stage_requests in _stages(given["requests"]):
                async with scene(folder, agent, api=api, clock=clock, links=Links(_KEY, pages.base_url)) as stage:
                    if not question.shown:
                        await stage.ask(question)
                        started = clock()
                    check(question.shown, "the question to be shown", question.error)
                    link = _link(stage, question, pages)
                    async with _served(stage, pages, clock, given.get("config")) as visitor:
                        for request in stage_requests:
                            wait = float(request.get("t", 0)) - (clock() - started).total_seconds()
                            clock.jump(stage.gateway, max(0.0, wait))
                            if "method" not in request:
                                await _happen(stage, question, str(request.get("event", request)))
                                continue
                            visits.append(await _visit(stage, visitor, link, request, schema))
                        await stage.gateway.settled()
                        await _promised(stage, visitor, question, link, pages)
                        for must in map(str, expected.get("must", [])):
                            if re.search(r"self-check|start-up warns|at start", must):
                                check(await _warned(heard), must, "nothing in the log")
            judge(visits, question, expected)
    check(not heard.errors, "no error in the log", heard.errors)


# The scene


def _pages(written: Mapping[str, Any] | None, folder: Path) -> Pages:
    """The configuration of the pages, read from a file of ours."""
    if written is None:
        return Pages(enabled=True, public_url=BASE_URL)
    names = {"public_base_url": "public_url", "base_url": "public_url", "public_url": "public_url", "listen": "listen"}
    unknown = written.keys() - names.keys() - {"behind_prefix"}
    if unknown:
        raise NotRun(f"the settings {sorted(unknown)} are not known here")
    lines = [f"  {names[name]}: {value}" for name, value in written.items() if name in names]
    token = folder / "telegram.token"
    token.write_text(f"7001:{'A' * 35}")
    token.chmod(0o600)
    path = folder / "config.yaml"
    given = ["telegram: [{token_file: telegram.token}]", "agents: {main: {kind: echo}}", "pages:", "  enabled: true"]
    path.write_text("\n".join([*given, *lines]) + "\n")
    return load_config(path, {}).pages


@asynccontextmanager
async def _served(
    stage: Scene, pages: Pages, clock: Jumping, written: Mapping[str, Any] | None
) -> AsyncIterator[Visitor]:
    """The pages' server on a free port of this machine."""
    port: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    serving = asyncio.create_task(
        serve(
            stage.room,
            host="127.0.0.1",
            port=0,
            public_url=pages.base_url,
            markup=render,
            clock=clock,
            bound=port.set_result,
        ),
        name="pages",
    )
    try:
        async with asyncio.timeout(10):
            await asyncio.wait([serving, port], return_when=asyncio.FIRST_COMPLETED)
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=20)) as http:
            prefix = str((written or {}).get("behind_prefix", urlsplit(pages.base_url).path)).rstrip("/")
            yield Visitor(http, port.result(), pages.base_url, prefix)
    finally:
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)


def _stages(requests: list[Mapping[str, Any]]) -> list[list[Mapping[str, Any]]]:
    """The requests between starts of the gateway."""
    stages: list[list[Mapping[str, Any]]] = [[]]
    for request in requests:
        if "restart" in str(request.get("event", "")).lower():
            stages.append([])
        else:
            stages[-1].append(request)
    return stages


def _link(stage: Scene, question: Question, pages: Pages) -> str:
    """The one link that was sent, made of the public address alone."""
    links = [button["url"] for button in question.buttons if "url" in button]
    check(len(links) == 1, "one link under the question", links)
    base = pages.base_url.rstrip("/")
    check(links[0].startswith(f"{base}/"), f"a link below {base}", links[0].removesuffix(links[0][-20:]))
    return str(links[0])


def _schema(bodies: list[Mapping[str, Any]]) -> dict[str, Any]:
    """What takes the bodies of a case that gives no schema."""
    properties: dict[str, Any] = {}
    for body in bodies:
        for name, value in body.items():
            if type(value) not in _TYPES:
                raise NotRun(f"no schema is given that takes {value!r}")
            properties.setdefault(name, {"type": _TYPES[type(value)]})
    required = [name for name in properties if all(name in body for body in bodies)]
    return {"type": "object", "properties": properties, "required": required}


async def _happen(stage: Scene, question: Question, event: str) -> None:
    """What happens beside the page."""
    stored = next(iter(await stage.room.pending()), None)
    if re.search(r"cancel|withdraw|taken back", event.lower()):
        check(stored is not None and await stage.room.cancel(stored.id), "the question to be cancelled")
    elif re.search(r"answered (in the chat|by reply|by a reply|elsewhere)", event.lower()):
        value = next(iter(VALID.values()))
        await stage.reply(question, value)
        check(question.conclusion is not None, "the reply to be the answer")
    elif not re.search(r"pass|expire", event.lower()):
        raise NotRun(f"the event {event!r} is not understood")
    await stage.gateway.settled()


async def _stored(stage: Scene, link: str) -> Stored:
    found = await stage.gateway.store.questions.by_token(digest(link.rpartition("/")[2]))
    assert found is not None
    return found


async def _visit(stage: Scene, visitor: Visitor, link: str, request: Mapping[str, Any], schema: Any) -> Visit:
    """One request; a POST fills in the page's own fields."""
    via = str(request.get("via", "public_base_url"))
    if via not in {"public_base_url", "public", "proxy", "listen"}:
        raise NotRun(f"a request via {via!r} is not understood")
    stored, method = await _stored(stage, link), str(request["method"]).upper()
    body = _values(request.get("body"), stored)
    agent = request.get("ua")
    visit = Visit(t=float(request.get("t", 0)), method=method, asked=request, body=body, before=stored)
    data = None if body is None else _controls(stored, body)
    if method == "POST" and stored.state is QuestionState.CONFIRMING and "confirm" in str(request.get("body")).lower():
        data = {"confirm": str(stored.version)}
    headers = {str(name): str(value) for name, value in (request.get("headers") or {}).items()}
    if "host" in request:
        headers["Host"] = str(request["host"])
    visit.status, visit.page = await visitor.go(link, method, agent=agent, data=data, off=via == "listen", **headers)
    visit.after = await _stored(stage, link)
    if method in {"GET", "HEAD"}:
        known = replace(visit.before, version=0) if visit.before else None
        late = visit.after.state is QuestionState.EXPIRED
        check(late or replace(visit.after, version=0) == known, f"{method} at t={visit.t} to change nothing")
        for off in (True, False):
            again = await visitor.go(link, method, agent=agent, off=off, **headers)
            check(again[0] == visit.status, "the same behind a proxy that takes the path off", again[0])
    return visit


def _values(body: Any, stored: Stored) -> Mapping[str, Any] | None:
    """What a request sends."""
    if body is None or isinstance(body, dict):
        return body
    words = str(body).lower()
    if "invalid" in words or "wrong" in words or "empty" in words:
        return dict.fromkeys((item.name for item in stored.form.fields), "")
    if "other" in words or "different" in words:
        return {next(iter(VALID)): "Another one"}
    if "valid" in words or "same" in words or "confirm" in words:
        return VALID
    raise NotRun(f"the body {body!r} is not understood")


def _controls(stored: Stored, values: Mapping[str, Any]) -> dict[str, str]:
    """The controls of the page, filled in with values."""
    today = stored.asked_at.date()
    sent: dict[str, str] = {}
    for control in inputs(stored.form, locale=Locale(language="en", timezone="UTC"), today=today):
        value = values.get(control.field.name)
        options = options_of(control.field)
        if value is None:
            continue
        if options:
            places = [place for place, option in enumerate(options) if same(option.value, value)]
            sent[control.name] = str(places[0]) if places else "99"
        elif isinstance(value, list):
            sent |= {entry.name: str(item) for entry, item in zip(control.entries, value, strict=False)}
        else:
            sent[control.entries[0].name] = str(value)
    return sent


# What always holds


async def _warned(heard: Heard) -> bool:
    """Whether the log tells that people don't get here by the public address, within a few seconds."""
    with suppress(TimeoutError):
        async with asyncio.timeout(WARNS_WITHIN_S):
            while not any("public" in event for level, event in heard.lines if level >= logging.WARNING):
                await asyncio.sleep(0.05)  # bounded above
            return True
    return False


async def _promised(
    stage: Scene,
    visitor: Visitor,
    question: Question,
    link: str,
    pages: Pages,
) -> None:
    """What holds in every case of this kind, whether it says so or not."""
    for call in stage.api.calls_of("sendMessage", "editMessageText"):
        if call.chat_id == question.chat:
            disabled = (call.params.get("link_preview_options") or {}).get("is_disabled")
            check(
                disabled is True, "messages on Telegram without link previews", call.params.get("link_preview_options")
            )
    place = Destination(platform="matrix", workspace="@desk:example.org", channel="!lab:example.org")
    card = Card(buttons=(Button(label="Fill in the form", url=link),))
    for part in matrix.present(Speech.FINAL, Answer(text="Why?", card=card), to=Reply(destination=place)):
        check(link in part.payload.decode(), "the link on Matrix too")
        check(not re.search(r"og:|linkpreview|url_preview", part.payload.decode()), "no preview on Matrix")
    stored = await _stored(stage, link)
    looked = {await visitor.go(link, "GET", agent=agent) for agent in AGENTS}
    check(len(looked) == 1, "the same page whoever says to look", [status for status, _ in looked])
    evil = {"X-Forwarded-Host": "evil.example", "Forwarded": "host=evil.example", "X-Forwarded-Proto": "http"}
    for status, page in (
        await visitor.go(link, "GET", agent=None, **evil),
        await visitor.go(link, "GET", agent=None, Host="evil.example", Origin="http://evil.example"),
    ):
        check(status == next(iter(looked))[0], "the same page by whatever name", status)
        check("evil.example" not in page, "nothing built from what a request says of itself")
    check(await _stored(stage, link) == stored, "looking to change nothing")
    wrong = link[:-1] + ("A" if link[-1] != "A" else "B")
    check((await visitor.go(wrong, "GET", agent=None))[0] == 404, "no question behind another link")
    everything = "\n".join(str(call.params) for call in stage.api.calls_of("sendMessage", "editMessageText"))
    check(str(pages.listen) not in everything, "the listening address to be sent to nobody")
