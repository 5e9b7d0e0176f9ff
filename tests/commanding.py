"""Commands for tests: a configuration as an admin writes it, and an endpoint that plays an order system."""

import asyncio
import base64
import json
from dataclasses import dataclass, field

from aiohttp import web
from standardwebhooks import Webhook

from bot.config.file import load_config
from bot.model.errors import CommandError
from bot.model.output import Final, Silence

SECRET = "whsec_" + base64.b64encode(b"SYNTHETIC secret of 32 bytes ...").decode()
CLOSED = {"en": "It is closed already.", "de": "Er ist schon geschlossen.", "ru": "Он уже закрыт."}
TABLE = {
    "o-17": {"display": "Order 17", "people": ["bob"], "fields": {"state": "open"}},
    "o-18": {"display": "Order 18", "people": ["bob"], "fields": {"state": "closed"}},
    "o-99": {"display": "Order 99", "people": ["ann"], "fields": {"state": "open"}},
}
RULES = [{"code": "closed", "when": {"state": ["closed"]}, "reason": CLOSED}]


def taking(**more):
    """A command that takes an order of the table."""
    return {
        "description": "Closes one order.",
        "title": {"en": "Close the order", "de": "Auftrag schließen"},
        "input_description": "The id of one order, such as o-17.",
        "audiences": ["external", "internal", "operator"],
        "objects": {"table": TABLE},
        "rules": RULES,
        **more,
    }


def loaded(folder, commands):
    """The settings of commands, through the file that holds them."""
    folder.mkdir(exist_ok=True, parents=True)
    path = folder / "config.yaml"
    path.write_text(
        json.dumps(  # which is YAML, without anchors
            {
                "chat": {"enabled": True, "rooms": {"r": {"title": "R", "members": ["ann"]}}},
                "agents": {"main": {"kind": "echo"}},
                "commands": commands,
            },
            ensure_ascii=False,
        ),
        encoding="utf-8",
    )
    path.chmod(0o600)
    return load_config(path, {}).commands


@dataclass
class Orders:
    """An order system. ``answer``: what it says to a command; ``delay``: before it answers to look-ups, by object."""

    status: int = 200
    answer: object = field(default_factory=lambda: {"closed": True})
    objects: dict = field(default_factory=lambda: {"bob": {"o-17": "Order 17"}, "ann": {"o-99": "Order 99"}})
    delay: dict = field(default_factory=dict)
    looks: list = field(default_factory=list)
    calls: list = field(default_factory=list)
    headers: list = field(default_factory=list)
    gate: asyncio.Event | None = None
    hang_up: bool = False

    async def __call__(self, request):
        body = await request.read()
        asked = Webhook(SECRET).verify(body.decode(), dict(request.headers))
        assert asked == json.loads(body)
        if asked["kind"] == "object":
            self.looks.append(asked)
            await asyncio.sleep(self.delay.get(asked["object"], 0.0))
            display = self.objects.get(asked["person"], {}).get(asked["object"])
            if display is None:
                return web.json_response({}, status=404 if asked["object"] == "o-404" else 403)
            return web.json_response({"display": display, "fields": {"state": "open"}})
        self.calls.append(asked)
        self.headers.append(dict(request.headers))
        if self.gate is not None:
            await self.gate.wait()
        if self.hang_up:
            request.transport.close()
        return web.json_response(self.answer, status=self.status)


def http(url, **more):
    return {"kind": "http", "url": url, "secret": SECRET, **more}


@dataclass
class Commander:
    """An agent that runs commands, in order, and notes what came of each."""

    runs: list = field(default_factory=list)
    name: str = "main"
    ran: list = field(default_factory=list)
    errors: list = field(default_factory=list)
    offered: list = field(default_factory=list)
    requests: list = field(default_factory=list)
    took: list = field(default_factory=list)
    outputs: list = field(default_factory=list)

    async def run(self, request, desk):
        self.requests.append(request)
        self.offered.append([one.name for one in desk.list_commands()])
        clock = asyncio.get_running_loop().time
        for name, object_id, *words in self.runs:
            began = clock()
            try:
                self.ran.append(await desk.run_command(name, object_id, words=words[0] if words else None))
            except CommandError as error:
                self.errors.append(error)
            self.took.append(clock() - began)
        for output in self.outputs:
            yield output
        yield Final(text=self.ran[-1].text) if self.ran else Silence()

    async def close(self) -> None:
        pass
