"""Kind ``telegram_updates``: updates at the emulated platform, decisions in the store, calls at the platform.

The case's small policy becomes a policy file of ours. ``require_mention: false`` is a word for open questions, which the
contract answers only in a trusted channel (PART-6), so such a group is internal here.

Where a case has a ``final``, its decisions are those that stand before the batch is quiet; otherwise the settled ones.
"""

import sqlite3
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tests.cases.result import Failed, check
from tests.harness import Clock, CountingAgent, Running, running
from tests.servers.botapi import BotApi

WORDS = {"answer": "respond", "silence": "mute", "defer": "defer"}
SAYS = {word: name for name, word in WORDS.items()}
_OWN = ("getUpdates", "getMe", "deleteWebhook")


def policy_text(bot_id: int, policy: dict[str, Any], chats: set[int]) -> str:
    """The case's policy in our own form."""
    listed = policy.get("allow_chats")
    groups = sorted(chat for chat in chats if chat < 0 and (listed is None or chat in listed))
    open_questions = policy.get("require_mention") is False
    audience = (
        "internal, require_mention: false" if open_questions or not policy.get("external_group", True) else "external"
    )
    if audience.startswith("internal") and not open_questions:
        audience = "internal"
    lines = [
        "version: 1",
        f"commands: [{', '.join(policy.get('commands', []))}]",
        "direct: {strangers: allow}",
        "defaults: {burst: {quiet: 1s, longest: 10s}}",
    ]
    people = [user for user in policy.get("allow_users", []) if isinstance(user, int)]
    if people:
        lines.append("people:")
        lines += [f'  person{n}: {{accounts: ["telegram:{user}"], access: allow}}' for n, user in enumerate(people)]
        lines[2] = "direct: {strangers: deny}"
    if groups:
        lines.append("channels:")
        lines += [f'  "telegram:{bot_id}:{chat}": {{audience: {audience}}}' for chat in groups]
    return "\n".join(lines) + "\n"


async def updates(case: dict[str, Any], folder: Path) -> None:
    """Run one case."""
    given, expected = case["input"], case["expected"]
    bot = given["bot"]
    native = given["updates"]
    identities = given.get("get_me", [])
    known = not any("error" in one for one in identities)
    dates = [date for update in native for date in _dates(update)] or [int(datetime.now(UTC).timestamp())]
    start = datetime.fromtimestamp(min(dates), UTC)
    async with BotApi(token=f"{bot['id']}:{'A' * 35}", username=bot["username"], parse="none") as api:
        api.me.update(bot)
        _files(api, native)
        if not known:
            api.fail("getMe", 500, times=None)
        text = policy_text(bot["id"], given.get("policy", {}), {chat for update in native for chat in _chats(update)})
        async with running(
            folder,
            api=api,
            policy=text,
            agent=CountingAgent(),
            clock=Clock(start + timedelta(seconds=1)),
            first_start=start - timedelta(days=1),
            identified=known,
            identity_refresh_s=0.05 if identities[1:] else 600.0,
        ) as gateway:
            api.account.updates.allow(None)
            for later in identities[1:]:  # the timer has passed since the start
                api.me.update({key: value for key, value in later.items() if key in ("username", "id", "first_name")})
                await api.wait_call("getMe", api.totals["getMe"] + 2)  # the answer before the last one is understood
            for update in native:
                api.push(update)
            await gateway.settled()
            first = _decisions(gateway)
            await gateway.quiet()
            _judge(expected, first, _decisions(gateway), native)
            _count(expected, gateway)


def _judge(
    expected: dict[str, Any],
    first: dict[str, str],
    settled: dict[str, str],
    native: list[dict[str, Any]],
) -> None:
    final = expected.get("final")
    for wanted in expected["decisions"]:
        key = str(wanted["ref"])
        got = SAYS.get((first if final else settled).get(key, ""), "no decision")
        check(got in wanted.get("accept", [wanted["decision"]]), f"{key}: {wanted['decision']}", got)
    if final is not None:
        parts = [str(update["update_id"]) for update in native if _batch(update) == final["media_group_id"]]
        got_all = {SAYS.get(settled.get(key, ""), "no decision") for key in parts}
        accepted = set(final.get("accept", [final["decision"]]))
        check(got_all <= accepted, f"the batch: {final['decision']}", ", ".join(sorted(got_all)))
    missing = [str(update["update_id"]) for update in native if str(update["update_id"]) not in settled]
    check(not missing, "exactly one decision for every update", f"none for {', '.join(missing)}")


def _count(expected: dict[str, Any], gateway: Running) -> None:
    runs = len(gateway.agent.requests)
    check(runs <= expected.get("model_calls_max", runs), f"at most {expected.get('model_calls_max')} model calls", runs)
    fetches = len(gateway.api.calls_of("getFile"))
    most = expected.get("media_fetches_max", fetches)
    check(fetches <= most, f"at most {most} fetches", fetches)
    check(not gateway.api.pending, "the offset advances past every update", gateway.api.pending)
    if all(wanted["decision"] != "answer" for wanted in expected["decisions"]) and runs == 0:
        calls = [call.method for call in gateway.api.calls_except(*_OWN)]
        check(not calls, "no call but getUpdates", ", ".join(calls))
    called = {call.method for call in gateway.api.calls}
    for never in expected.get("must_not", []):
        check(never not in called, f"never {never}", "it was called")
    for call in gateway.api.calls_of("sendMessage"):
        if call.error is not None:
            raise Failed(f"expected sends that the platform takes, got: {call.error.description}")


def _decisions(gateway: Running) -> dict[str, str]:
    """Outcomes by update id, as they stand in the store now."""
    with sqlite3.connect(f"file:{gateway.folder / 'discreet.db'}?mode=ro", uri=True) as store:
        rows = store.execute("select inbox.key, outcome from decisions join inbox on inbox.id = event_id").fetchall()
    store.close()
    return dict(rows)


def _bodies(update: dict[str, Any]) -> list[dict[str, Any]]:
    return [value for value in update.values() if isinstance(value, dict)]


def _dates(update: dict[str, Any]) -> list[int]:
    return [body["date"] for body in _bodies(update) if isinstance(body.get("date"), int)]


def _chats(update: dict[str, Any]) -> list[int]:
    places = [body.get("chat") or body.get("message", {}).get("chat") or {} for body in _bodies(update)]
    return [place["id"] for place in places if isinstance(place.get("id"), int)]


def _batch(update: dict[str, Any]) -> str | None:
    return next((body["media_group_id"] for body in _bodies(update) if "media_group_id" in body), None)


def _files(api: BotApi, value: Any) -> None:
    """Every file that an update speaks of can be fetched."""
    if isinstance(value, list):
        for item in value:
            _files(api, item)
    elif isinstance(value, dict):
        if isinstance(value.get("file_id"), str):
            api.file(b"content", file_id=value["file_id"])
        for item in value.values():
            _files(api, item)
