"""Kind ``matrix_events``: events at a scripted homeserver, decisions in the store, calls at the homeserver.

The case's small policy becomes a policy file of ours. ``require_mention: false`` is a word for open questions, which the
contract answers only in a trusted channel (PART-6), so such a room is internal here. A room that the bot is only invited
to is listed only where the case says so (``allow_rooms``).

Encryption is real: an event whose key comes ``later`` is encrypted by a device of its sender, and the key comes as that
device sends it. What the bot was to do with a direct chat's invite is told by what its join replaced.
"""

import json
import re
import sqlite3
from collections.abc import Iterable
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from tests.cases.result import Failed, NotRun, check
from tests.cases.trouble import Trouble
from tests.harness import Clock, CountingAgent
from tests.matrix_harness import RunningMatrix, running_matrix
from tests.servers.homeserver import Homeserver
from tests.servers.homeserver.calls import RefusalError
from tests.servers.homeserver.person import Person

Json = dict[str, Any]
SAYS: Final = {"respond": "answer", "mute": "silence", "defer": "defer", "control": "answer"}
_SECOND: Final = timedelta(seconds=1)
_LEAP: Final = timedelta(minutes=1)
_NOTHING: Final = "no decision"


def policy_text(bot: str, given: Json, rooms: list[Json]) -> str:
    """The case's policy in our own form."""
    policy = given.get("policy", {})
    open_questions = policy.get("require_mention") is False
    if open_questions:
        audience = "internal, require_mention: false"
    else:
        audience = "external" if policy.get("external_group", True) else "internal"
    people = [user for user in policy.get("allow_users", []) if isinstance(user, str)]
    named = [f"person{number}" for number in range(len(people))]
    lines = [
        "version: 1",
        f"commands: {json.dumps(policy.get('commands', []))}",
        f"direct: {{strangers: {'deny' if people else 'allow'}}}",
        "defaults: {burst: {quiet: 1s, longest: 10s}}",
    ]
    if people:
        lines += ["people:"]
        lines += [
            f"  {name}: {{accounts: [{json.dumps(f'matrix:{user}')}], access: allow}}"
            for name, user in zip(named, people, strict=True)
        ]
        lines += [f"invites: {{by: [{', '.join(named)}]}}"]
    if bots := [user for user in policy.get("bots", given.get("bots", [])) if isinstance(user, str)]:
        lines += [f"bots: {json.dumps([f'matrix:{user}' for user in bots])}"]
    listed = policy.get("allow_rooms")
    if listed is None:
        listed = [room["room_id"] for room in rooms if room.get("membership", "join") == "join" and not _direct(room)]
    if listed:
        lines += ["channels:"]
        lines += [f"  {json.dumps(f'matrix:{bot}:{room}')}: {{audience: {audience}}}" for room in dict.fromkeys(listed)]
    return "\n".join(lines) + "\n"


async def events(case: Json, folder: Path) -> None:
    """Run one case."""
    given, expected = case["input"], case["expected"]
    bot = given["bot"]["user_id"]
    native = list(given["events"])
    later = _listed(given.get("later"))
    sync = given.get("sync") or {}
    rooms = _rooms(given, [*native, *(event for one in later for event in _pushed(one))])
    async with Homeserver(user_id=bot) as server:
        server.display_names[bot] = given["bot"].get("display_name", bot)
        for room in rooms:
            _open(server, given, room)
        _know(server, given, native)
        shut = _whoami(server, given.get("whoami", []))
        native, keys = _encrypt(server, native, later)
        text = policy_text(bot, given, rooms)
        start = _start(given, native)
        clock = Clock(start)
        agent = CountingAgent()
        old = _old(sync, native)
        for event in old:
            _happen(server, event)
        with Trouble() as trouble:
            if "sync" in given and sync.get("since") is not None:
                first = Clock(min([start, *(_date(event) or start for event in native)]) - _SECOND)
                async with _gateway(folder, server, text, agent, first):
                    pass
            async with _gateway(folder, server, text, agent, clock, entered=not shut, first=bool(old)) as gateway:
                await _play(gateway, server, clock, native[len(old) :], sync)
                await (_refused(server, gateway) if shut else gateway.settled())
                before = _decisions(gateway)
                for one in later:
                    await _later(gateway, server, clock, one, keys)
                if not shut:
                    await gateway.quiet()
                    await _final(gateway, expected)
                settled = _decisions(gateway)
            if any(_is_invite(event, bot) for event in native) and not shut:
                server.world.repeat_invites = True  # still pending at the next start
                async with _gateway(folder, server, text, agent, clock) as gateway:
                    await gateway.quiet()
                    again = _decisions(gateway)
                check(len(again) == len(settled), "no new decision on what was known before a restart", len(again))
        _judge(expected, before if later else settled, settled, native, bot, shut=shut)
        _count(expected, server, agent, native)
        _promised(expected, server, agent, trouble)


def _gateway(
    folder: Path,
    server: Homeserver,
    policy: str,
    agent: CountingAgent,
    clock: Clock,
    *,
    entered: bool = True,
    first: bool = False,
) -> Any:
    """``first``: the bot has never run before; otherwise for a day."""
    start = clock() if first else clock() - timedelta(days=1)
    return running_matrix(
        folder, server=server, policy=policy, agent=agent, clock=clock, first_start=start, entered=entered, wait_s=5
    )


# What there is before


def _rooms(given: Json, native: list[Json]) -> list[Json]:
    """The rooms of a case; one that is only spoken of has the members of the first."""
    declared = [*_listed(given.get("room")), *_listed(given.get("rooms"))]
    found = {room["room_id"]: room for room in declared}
    for event in native:
        room_id = event.get("room_id") if isinstance(event, dict) else None
        if isinstance(room_id, str) and room_id not in found:
            like = declared[0] if declared else {}
            new = {"room_id": room_id} | {key: like[key] for key in ("joined_members", "room_version") if key in like}
            if isinstance(create := given.get("new_room_create"), dict):
                new["room_version"] = create.get("content", {}).get("room_version", new.get("room_version"))
                new["state"] = [{"state_key": "", **create}]
            if _is_invite(event, given["bot"]["user_id"]):
                new["membership"] = "invite"
            found[room_id] = new
    return list(found.values())


def _open(server: Homeserver, given: Json, room: Json) -> None:
    bot = given["bot"]["user_id"]
    names = {bot: given["bot"].get("display_name", bot), **room.get("member_names", {})}
    server.display_names.update(names)
    membership = room.get("membership", "join")
    server.room(
        room["room_id"],
        joined=room.get("joined_members", []),
        invited=room.get("invited_members", []),
        left=room.get("left_members", []),
        name=room.get("name"),
        version=room.get("room_version"),
        encrypted=room.get("encrypted") is True,
        membership="none" if membership == "invite" else membership,
        names=names,
        state=[event for event in room.get("state", []) if isinstance(event, dict) and "type" in event],
    )
    if room.get("bot_invite_is_direct") is True:
        invite = {"membership": "invite", "is_direct": True}
        for event in server.world.rooms[room["room_id"]].base:
            if event["type"] == "m.room.member" and event["state_key"] == bot:
                event["unsigned"] = {"prev_content": invite}
    if room.get("m_direct"):
        content = {user: [room["room_id"]] for user in room.get("joined_members", []) if user != bot}
        said = {"account_data": {"events": [{"type": "m.direct", "content": content}]}}
        server.patch_sync(lambda answer: {**answer, **said})


def _know(server: Homeserver, given: Json, native: list[Json]) -> None:
    """Events that can be fetched, those that can't, and the files that events speak of."""
    for event in given.get("known_events", []):
        server.know(event)
    for event_id, answer in (given.get("fetch_event") or {}).items():
        if isinstance(answer, dict) and "type" in answer:
            server.know({"room_id": next(iter(server.world.rooms)), "event_id": event_id, **answer})
        elif (refusal := _refusal(answer)) is None:
            server.drop("event", times=None, room=event_id)
        else:
            server.event_refusals[event_id] = refusal
    for mxc in re.findall(r"mxc://[^\s\"\\]+", json.dumps(native)):
        server.media[mxc] = (b"content", "application/octet-stream")


def _whoami(server: Homeserver, answers: list[Json]) -> bool:
    """Trouble with the bot's own name; True: it never gets to know it."""
    errors = [answer for answer in answers if isinstance(answer, dict) and "error" in answer]
    for number, answer in enumerate(errors):
        times = None if len(errors) == len(answers) and number == len(errors) - 1 else 1
        refusal = _refusal(answer["error"])
        if refusal is None:
            server.drop("whoami", times=times)
        else:
            server.fail("whoami", refusal.status, refusal.body["errcode"], times=times)
    return bool(errors) and len(errors) == len(answers)


def _refusal(answer: Any) -> RefusalError | None:
    """``404 M_NOT_FOUND``, ``502``; None: there is no answer at all."""
    found = re.match(r"\s*(\d{3})\b\s*(M_[A-Z_]+)?", str(answer))
    return RefusalError(int(found[1]), found[2] or "M_UNKNOWN") if found else None


def _encrypt(server: Homeserver, native: list[Json], later: list[Json]) -> tuple[list[Json], dict[str, Any]]:
    """Encrypt what a key comes for later; returns the events, and by session who has its key, where."""
    clear = {one["room_key_for"]: one.get("plaintext") for one in later if "room_key_for" in one}
    keys: dict[str, Any] = {}
    found = []
    for event in native:
        content = event.get("content") if isinstance(event, dict) else None
        session = content.get("session_id") if isinstance(content, dict) else None
        if isinstance(session, str) and session in clear and event.get("type") == "m.room.encrypted":
            if session not in keys:
                person = Person(server.keys, event["sender"], f"DEVICE{len(keys)}")
                keys[session] = (person, event["room_id"])
            plaintext = clear[session]
            if not isinstance(plaintext, dict):
                raise NotRun("a key comes for an event whose plaintext the case does not tell")
            inner = plaintext.get("content") if "type" in plaintext else plaintext
            kind = plaintext.get("type", "m.room.message")
            real = keys[session][0].encrypt(event["room_id"], kind, inner, session=session)
            outside = {name: value for name, value in content.items() if name.startswith("m.")}
            event = {**event, "content": {**real, **outside}}
        found.append(event)
    return found, keys


def _start(given: Json, native: list[Json]) -> datetime:
    """When the gateway starts: as the case says, else before the first event."""
    stamp = (given.get("sync") or {}).get("process_start_ts")
    if type(stamp) is int:
        return datetime.fromtimestamp(stamp / 1000, UTC)
    dates = [date for event in native if (date := _date(event)) is not None]
    return (min(dates) if dates else datetime.now(UTC)) - _SECOND


def _old(sync: Json, native: list[Json]) -> list[Json]:
    """The events that are there before the very first start."""
    if not sync or sync.get("since", "") is not None or "since" not in sync:
        return []
    stamp = sync.get("process_start_ts")
    if type(stamp) is not int:
        return native
    old = 0
    while old < len(native) and (_date(native[old]) is None or (native[old]["origin_server_ts"] <= stamp)):
        old += 1
    return native[:old]


# What happens


async def _play(gateway: RunningMatrix, server: Homeserver, clock: Clock, native: list[Json], sync: Json) -> None:
    """Let events happen, each at its own time; with ``limited`` the server shows the last one and a gap."""
    limited = sync.get("limited") is True
    if limited:
        for room in server.world.rooms.values():
            room.timeline_limit = 1
    async with server.outage() if limited else nullcontext():
        for event in native:
            date = _date(event)
            if date is not None and date + _SECOND > clock():
                if date > clock() + _LEAP and not limited:
                    await server.wait_drained()
                clock.offset += date + _SECOND - clock()
            _happen(server, event)


def _happen(server: Homeserver, event: Any) -> None:
    """One event takes place."""
    if not isinstance(event, dict) or not isinstance(event.get("room_id"), str):
        server.push(next(iter(server.world.rooms)), event)
        return
    room = server.world.rooms[event["room_id"]]
    if _is_invite(event, server.user_id) and room.membership in ("none", "invite"):
        stripped = {key: value for key, value in event.items() if key not in ("event_id", "room_id")}
        server.invite(room.id, sender=event["sender"], event=stripped)
        return
    server.push(room.id, event)
    if event.get("type") == "m.room.redaction":
        content = event.get("content")
        target = event.get("redacts", content.get("redacts") if isinstance(content, dict) else None)
        if isinstance(target, str):
            server.world.redact(room, target)


async def _later(gateway: RunningMatrix, server: Homeserver, clock: Clock, one: Json, keys: dict[str, Any]) -> None:
    """What comes after a while: a key, or further events. The while passes on the gateway's clock."""
    clock.offset += timedelta(seconds=float(one.get("after_s", 0)))
    if "room_key_for" in one and one["room_key_for"] in keys:
        person, room_id = keys[one["room_key_for"]]
        device = await server.wait_for(lambda: _device(server))
        server.to_device(person.room_key(room_id, server.user_id, device, session=one["room_key_for"]))
    for event in _pushed(one):
        _happen(server, event)
    await gateway.settled()


def _device(server: Homeserver) -> str | None:
    """The bot's device, once it has published keys."""
    for (user, device), one_time_keys in server.keys.one_time.items():
        if user == server.user_id and one_time_keys and device in server.keys.devices.get(user, {}):
            return device
    return None


def _pushed(one: Json) -> list[Json]:
    return [*_listed(one.get("event")), *_listed(one.get("events"))]


async def _refused(server: Homeserver, gateway: RunningMatrix) -> None:
    """The bot has asked for its own name more than once and got no answer."""
    await server.wait_call("whoami", 2)
    await gateway.daemon.settled()


async def _final(gateway: RunningMatrix, expected: Json) -> None:
    """Where a decision is still to come, wait for it; that it never does is for the judge."""
    final = expected.get("final")
    if final is None or final.get("decision") == "defer" or "defer" in final.get("accept", []):
        return
    try:
        await gateway.ruled(str(final["event_id"]))
    except TimeoutError:
        return
    await gateway.quiet()


# Judging


def _judge(expected: Json, first: Json, settled: Json, native: list[Json], bot: str, *, shut: bool) -> None:
    for wanted in expected.get("decisions", []):
        accepted = wanted.get("accept", [wanted["decision"]])
        got = _outcome(first, wanted["ref"], native, bot)
        if got == _NOTHING and shut:  # nothing is taken in, so nothing is said; it is decided when it is
            got = next((word for word in ("defer", "silence") if word in accepted), got)
        check(got in accepted, f"{wanted['ref']}: {wanted['decision']}", got)
    if (final := expected.get("final")) is not None:
        got = _outcome(settled, final["event_id"], native, bot)
        check(got in final.get("accept", [final["decision"]]), f"{final['event_id']} at last: {final['decision']}", got)
    if not shut:
        refs = [
            event["event_id"] for event in native if isinstance(event, dict) and isinstance(event.get("event_id"), str)
        ]
        missing = [ref for ref in refs if _outcome(settled, ref, native, bot) == _NOTHING]
        check(not missing, "exactly one decision for every event", f"none for {', '.join(missing)}")


def _outcome(decisions: Json, ref: str, native: list[Json], bot: str) -> str:
    """The outcome of an event; an invite has no id on its way here, so it goes by its room."""
    if ref in decisions:
        return SAYS.get(decisions[ref], decisions[ref])
    rooms = [event["room_id"] for event in native if _is_invite(event, bot) and event.get("event_id") == ref]
    for room in rooms:
        for key, outcome in decisions.items():
            if key.startswith(f"invite:{room}:"):
                return SAYS.get(outcome, outcome)
    return _NOTHING


def _count(expected: Json, server: Homeserver, agent: CountingAgent, native: list[Json]) -> None:
    runs = len(agent.requests)
    check(runs <= expected.get("model_calls_max", runs), f"at most {expected.get('model_calls_max')} model calls", runs)
    fetches = len(server.calls_of("download"))
    most = expected.get("media_fetches_max", fetches)
    check(fetches <= most, f"at most {most} fetches", fetches)
    if runs == 0 and all(wanted["decision"] != "answer" for wanted in expected.get("decisions", [])):
        noticed = [call.name for call in server.reaching]
        check(not noticed, "nothing that people could notice", ", ".join(noticed))
    for call in server.calls_of("send"):
        if call.status is not None and call.status >= 400:
            raise Failed(f"expected sends that the server takes, got: {call.status}")


_NEVER: Final = {
    "join": "join",
    "leave": "leave",
    "typing": "typing",
    "receipt": "receipt",
    "send": "send",
    "reply": "send",
    "upload": "upload",
    "react": "send",
}


def _promised(expected: Json, server: Homeserver, agent: CountingAgent, trouble: Trouble) -> None:
    """What else must be and must not be; words that say nothing to check here are passed over."""
    for never in expected.get("must_not", []):
        for mxc in re.findall(r"mxc://(\S+)", never):
            called = ["/".join(call.parts[:2]) for call in server.calls_of("download")]
            check(mxc not in called, f"never {never}", "it was fetched")
        for word, name in _NEVER.items():
            if re.search(rf"\b{word}", never):
                check(not server.calls_of(name), f"never {never}", f"{name} was called")
    promised = any("no exception" in must for must in expected.get("must", []))
    failures = trouble.failures if promised else trouble.crashes
    check(not failures, "no exception", ", ".join(failures))
    for must in expected.get("must", []):
        if (author := re.search(r"reply_to_author=(@[^\s,;]+)", must)) is not None:
            senders = [
                item.sender or "" for request in agent.requests for item in request.context if item.kind == "quoted"
            ]
            check(
                any(_same(sender, author[1]) for sender in senders), must, f"quoted: {', '.join(senders) or 'nobody'}"
            )
        if (words := re.search(r"text '([^']*)' only", must)) is not None:
            texts = [request.text for request in agent.requests]
            check(texts == [words[1]], must, texts)


def _same(account: str, user: str) -> bool:
    return account in (user, f"matrix:{user}")


def _decisions(gateway: RunningMatrix) -> dict[str, str]:
    """Outcomes by key, as they stand in the store now."""
    with sqlite3.connect(f"file:{gateway.folder / 'discreet.db'}?mode=ro", uri=True) as store:
        rows = store.execute("select inbox.key, outcome from decisions join inbox on inbox.id = event_id").fetchall()
    store.close()
    return dict(rows)


# Small questions


def _listed(value: Any) -> list[Any]:
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def _date(event: Any) -> datetime | None:
    stamp = event.get("origin_server_ts") if isinstance(event, dict) else None
    if type(stamp) is not int or not 0 < stamp < 4_102_444_800_000:  # no event is from after the year 2100
        return None
    return datetime.fromtimestamp(stamp / 1000, UTC)


def _direct(room: Json) -> bool:
    """Whether it is a direct chat, which a policy doesn't list; one that others have joined is a room like any other."""
    people: Iterable[str] = [*room.get("joined_members", []), *room.get("invited_members", [])]
    return room.get("bot_invite_is_direct") is True and len(set(people)) <= 2


def _is_invite(event: Any, bot: str) -> bool:
    if not isinstance(event, dict) or event.get("type") != "m.room.member" or event.get("state_key") != bot:
        return False
    content = event.get("content")
    return isinstance(content, dict) and content.get("membership") == "invite"
