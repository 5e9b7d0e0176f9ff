"""The same control over HTTP, for tests in other processes and for benchmarks: ``POST /ctl/<name>``, JSON in and out.

Every public verb of the emulator goes by its own name with its own arguments. Besides them there are ``state``,
``sent``, ``calls``, ``wait``, ``reset``, ``me``, and ``release`` and ``cut`` with the ``fault`` number that ``fail``,
``hang`` and ``drop`` gave.
"""

import base64
from typing import TYPE_CHECKING, Any, Final

from tests.servers.botapi.faults import Fault, FloodLimits

if TYPE_CHECKING:
    from tests.servers.botapi.emulator import BotApi

_VERBS: Final = frozenset(
    {
        "age",
        "album",
        "block",
        "calm",
        "chat",
        "drop",
        "drop_topic",
        "edit",
        "fail",
        "hang",
        "member",
        "migrate",
        "press",
        "react",
        "restart_update_ids",
        "say",
        "stop_generation",
        "topic",
        "unblock",
        "user",
    },
)


async def steer(api: "BotApi", name: str, options: dict[str, Any]) -> Any:
    """Run one control request.

    Raises:
        ValueError: there is no such verb.
    """
    if name in _VERBS:
        verb = getattr(api, name)
        if "items" in options and name != "album":
            return [_plain(api, verb(**item)) for item in options["items"]]
        return _plain(api, verb(**options))
    match name:
        case "push":
            updates = options["items"] if "items" in options else [options.get("update", options)]
            return {"update_ids": [api.push(update) for update in updates]}
        case "file":
            content = base64.b64decode(options.pop("base64")) if "base64" in options else options.pop("content", b"")
            return {"file_id": api.file(content, **options)}
        case "me":
            api.me.update(options)
            return api.me
        case "flood":
            api.flood = FloodLimits(**options) if options else None
            return {}
        case "release" | "cut" | "cancel":
            getattr(api.faults[int(options["fault"])], name)()
            return {}
        case "sent":
            return api.sent(int(options["chat"]))
        case "calls":
            return _calls(api, options)
        case "wait":
            return await _wait(api, options)
        case "reset":
            await api.reset()
            return {}
        case "state":
            return _state(api)
        case _:
            raise ValueError(f"no verb {name!r}")


def _plain(api: "BotApi", value: Any) -> Any:
    if isinstance(value, Fault):
        return {"fault": api.faults.index(value)}
    return value if isinstance(value, dict | list) else {"value": value}


def _calls(api: "BotApi", options: dict[str, Any]) -> dict[str, Any]:
    answer: dict[str, Any] = {"totals": api.totals}
    if options.get("full"):
        calls = api.calls_of(options["method"]) if "method" in options else api.calls_except("getUpdates")
        answer["calls"] = [
            {
                "method": call.method,
                "params": call.params,
                "time": call.time,
                "fate": call.fate,
                "error": call.error.description if call.error else None,
            }
            for call in calls
        ]
    return answer


async def _wait(api: "BotApi", options: dict[str, Any]) -> dict[str, Any]:
    """Wait for a number of calls of a method (``method``, ``count``), of messages in a chat (``chat``, ``count``), or
    for all updates to be acknowledged (``drained``); ``timeout`` in seconds.
    """
    count = int(options.get("count", 1))

    def done() -> bool:
        if "method" in options and api.totals.get(options["method"], 0) < count:
            return False
        if "chat" in options and len(api.sent(int(options["chat"]))) < count:
            return False
        return not (options.get("drained") and api.pending)

    await api.wait_for(done, float(options.get("timeout", 30)))
    return {"totals": api.totals, "pending": len(api.pending)}


def _state(api: "BotApi") -> dict[str, Any]:
    return {
        "pending": api.pending,
        "next_update_id": api.account.updates.next_id,
        "totals": api.totals,
        "lint": [f"{violation.method}: {violation.problem}" for violation in api.lint],
        "unanswered": api.unanswered,
        "webhook": api.account.webhook.info,
        "faults": [{"method": fault.method, "kind": fault.kind, "hits": fault.hits} for fault in api.faults],
        "messages": sum(len(messages) for messages in api.world.messages.values()),
    }
