"""From a call to its answer: record, lint, trouble on order, method."""

import asyncio
from typing import Any, Final

import orjson

from tests.servers.botapi import attachments, chats, editing, sending  # these register their methods
from tests.servers.botapi.account import METHODS, NAMES, Account, method
from tests.servers.botapi.arguments import Arguments
from tests.servers.botapi.calls import Call, Violation
from tests.servers.botapi.errors import ApiError, bad_request, conflict
from tests.servers.botapi.faults import CutError, Fault
from tests.servers.botapi.schema import known_parameters
from tests.servers.botapi.watch import Watch

MODULES: Final = (attachments, chats, editing, sending)


@method("getWebhookInfo")
def get_webhook_info(account: Account, _: Arguments) -> dict[str, Any]:
    """Where updates are pushed to."""
    return account.webhook.info


class RawAnswer(Exception):  # noqa: N818 - no error of ours: the body that a broken proxy answers
    """A body that is no JSON, with its status."""

    def __init__(self, status: int, body: str) -> None:
        super().__init__(status, body)
        self.status = status
        self.body = body


class Dispatch:
    """Runs calls on an account.

    Attributes:
        account: the bot.
        faults: trouble on order; the first rule that applies to a call decides.
        calls: all calls, oldest first.
        total: how many calls came, also while they are not kept.
        lint: what was wrong without being refused.
        record: whether calls are kept.
        strict: whether parameters are compared with aiogram's models.
    """

    def __init__(self, account: Account, watch: Watch, *, strict: bool, record: bool) -> None:
        self.account = account
        self.watch = watch
        self.strict = strict
        self.record = record
        self.faults: list[Fault] = []
        self.calls: list[Call] = []
        self.total: dict[str, int] = {}
        self.lint: list[Violation] = []

    async def run(self, name: str, arguments: Arguments) -> bytes:
        """Run a call and return the JSON text of its result.

        Raises:
            ApiError: it is refused.
            RawAnswer: it is answered with something that is no JSON.
            CutError: it is not answered.
        """
        key = name.lower()
        canonical = NAMES.get(key, name)
        call = Call(canonical, arguments, asyncio.get_running_loop().time())
        self.total[canonical] = self.total.get(canonical, 0) + 1
        if self.record:
            self.calls.append(call)
        if self.strict:
            self._check_parameters(key, call)
        try:
            fault = (
                next((fault for fault in self.faults if fault.applies(key, arguments)), None) if self.faults else None
            )
            if fault is None:
                raw = await self._result(key, call)
            else:
                raw = await self._spoiled(fault, key, call)
        except ApiError as error:
            call.error, call.fate = error, "refused"
            raise
        except RawAnswer:
            call.fate = "refused"
            raise
        except (CutError, asyncio.CancelledError):
            call.fate = "cut"
            raise
        else:
            call.fate = "answered"
            return raw
        finally:
            self.watch.changed()

    async def _result(self, key: str, call: Call) -> bytes:
        function = METHODS.get(key)
        if function is not None:
            call.result = function(self.account, call.arguments)
            return orjson.dumps(call.result)
        match key:
            case "getupdates":
                return await self._get_updates(call.arguments)
            case "setwebhook":
                return await self._set_webhook(call.arguments, call.arguments.text("url"))
            case "deletewebhook":
                return await self._set_webhook(call.arguments, "")
            case _:
                self.lint.append(Violation(call.method, "no such method here"))
                raise ApiError(404, "Not Found: method not found")

    async def _spoiled(self, fault: Fault, key: str, call: Call) -> bytes:
        raw = await self._result(key, call) if fault.deliver else b"null"
        fault.hit()
        match fault.kind:
            case "drop":
                raise CutError
            case "hang":
                call.fate = "hanging"
                self.watch.changed()
                await fault.hold()
                return raw if fault.deliver else await self._result(key, call)
            case "fail":
                if fault.raw is not None:
                    raise RawAnswer(fault.error.code if fault.error else 502, fault.raw)
                raise fault.error or ApiError(500, "Internal Server Error")

    async def _get_updates(self, arguments: Arguments) -> bytes:
        if self.account.webhook.url:
            raise conflict(
                "can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first",
            )
        self.account.updates.allow(_kinds(arguments))
        self.account.updates.on_poll = self.watch.changed  # once the offset has acknowledged what it acknowledges
        return await self.account.updates.poll(
            offset=arguments.integer("offset"),
            limit=arguments.integer("limit", 100),
            timeout_s=arguments.integer("timeout"),
        )

    async def _set_webhook(self, arguments: Arguments, url: str) -> bytes:
        updates = self.account.updates
        updates.allow(_kinds(arguments))
        if arguments.flag("drop_pending_updates"):
            updates.clear()
        max_connections = arguments.integer("max_connections", 40)
        await self.account.webhook.set(url, arguments.text("secret_token"), max_connections)
        if url:
            updates.end_poll(conflict("terminated by setWebhook request"))
        return b"true"

    def _check_parameters(self, key: str, call: Call) -> None:
        known = known_parameters().get(key)
        if known is None:
            self.lint.append(Violation(call.method, "Telegram has no such method"))
            return
        attached = str(call.arguments.values)
        uploads = {name for name in call.files if f"attach://{name}" not in attached}
        for name in sorted((call.arguments.values.keys() | uploads) - known):
            self.lint.append(Violation(call.method, f"unknown parameter {name}"))
        if _clash(call.arguments):
            self.lint.append(Violation(call.method, "parse_mode makes Telegram ignore the entities"))


def _clash(arguments: Arguments) -> bool:
    return "parse_mode" in arguments and ("entities" in arguments or "caption_entities" in arguments)


def _kinds(arguments: Arguments) -> list[str] | None:
    kinds = arguments.structure("allowed_updates")
    if kinds is None:
        return None
    if not isinstance(kinds, list):
        raise bad_request("can't parse allowed updates JSON object")
    return [str(kind) for kind in kinds]
