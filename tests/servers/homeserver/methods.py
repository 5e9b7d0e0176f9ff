"""The endpoints: what each call does."""

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

from tests.servers.homeserver.calls import Call, Json, RefusalError
from tests.servers.homeserver.world import Entry, Room, with_room

if TYPE_CHECKING:
    from tests.servers.homeserver.server import Homeserver

Method = Callable[["Homeserver", Call], Any]

_CLIENT = r"/_matrix/client/(?:v1|v3|r0)"
_OPEN: Final = frozenset({"versions", "login", "login_flows", "well_known"})
"""Names of calls that need no token."""
_ROUTES: list[tuple[str, re.Pattern[str], str, Method]] = []
EVENT_BYTES: Final = 65_536


class File:
    """A body of bytes instead of JSON."""

    def __init__(self, content: bytes, media_type: str, headers: dict[str, str] | None = None) -> None:
        self.content = content
        self.media_type = media_type
        self.headers = headers or {}


def _route(verb: str, path: str, name: str) -> Callable[[Method], Method]:
    pattern = re.compile((path if path.startswith("/") else f"{_CLIENT}/{path}").replace("{}", "([^/]*)"))

    def register(method: Method) -> Method:
        _ROUTES.append((verb, pattern, name, method))
        return method

    return register


def find(verb: str, raw_path: str) -> tuple[str, tuple[str, ...], Method | None]:
    """The name, the decoded parts and the method of a call."""
    for wanted, pattern, name, method in _ROUTES:
        if wanted == verb and (found := pattern.fullmatch(raw_path)):
            return name, tuple(unquote(part) for part in found.groups()), method
    return "unknown", (), None


def check_token(server: "Homeserver", call: Call) -> None:
    """Refuse a call without the right token.

    Raises:
        RefusalError: 401.
    """
    if call.name in _OPEN:
        return
    if call.token is None:
        raise RefusalError(401, "M_MISSING_TOKEN")
    if call.token not in server.tokens:
        raise RefusalError(401, "M_UNKNOWN_TOKEN", **({"soft_logout": True} if server.soft_logout else {}))


def _joined(server: "Homeserver", room_id: str) -> Room:
    room = server.world.rooms.get(room_id)
    if room is None or room.membership != "join":
        raise RefusalError(403, "M_FORBIDDEN", "not in the room")
    return room


# The account


@_route("GET", "/_matrix/client/versions", "versions")
def _versions(server: "Homeserver", call: Call) -> Json:
    return {"versions": ["v1.1", "v1.11", "v1.13"], "unstable_features": {}}


@_route("GET", "/.well-known/matrix/client", "well_known")
def _well_known(server: "Homeserver", call: Call) -> Json:
    if server.well_known is None:
        raise RefusalError(404, "M_NOT_FOUND")
    return server.well_known


@_route("GET", "login", "login_flows")
def _flows(server: "Homeserver", call: Call) -> Json:
    return {"flows": [{"type": name} for name in server.login_flows]}


@_route("POST", "login", "login")
def _login(server: "Homeserver", call: Call) -> Json:
    body = call.content
    user = body.get("identifier", {}).get("user", body.get("user"))
    if user not in (server.user_id, server.user_id[1:].partition(":")[0]) or body.get("password") != server.password:
        raise RefusalError(403, "M_FORBIDDEN", "Invalid username or password")
    device = body.get("device_id") or server.world.new_id("D").replace("made", "")
    token = server.add_token(device)
    return {"user_id": server.user_id, "device_id": device, "access_token": token, "home_server": server.world.server}


@_route("POST", "logout", "logout")
def _logout(server: "Homeserver", call: Call) -> Json:
    server.tokens.pop(call.token or "", None)
    return {}


@_route("GET", "account/whoami", "whoami")
def _whoami(server: "Homeserver", call: Call) -> Json:
    return {"user_id": server.user_id, "device_id": server.tokens[call.token or ""], "is_guest": False}


@_route("GET", "sync", "sync")
def _sync(server: "Homeserver", call: Call) -> Json:
    raise AssertionError("answered by the front, which can wait")


@_route("GET", "devices", "devices")
def _devices(server: "Homeserver", call: Call) -> Json:
    return {"devices": [{"device_id": device} for device in server.tokens.values()]}


@_route("GET", "profile/{}", "profile")
def _profile(server: "Homeserver", call: Call) -> Json:
    return {"displayname": server.display_names.get(call.parts[0], call.parts[0])}


@_route("POST", "user/{}/filter", "filter")
def _filter(server: "Homeserver", call: Call) -> Json:
    server.filters.append(call.content)
    return {"filter_id": str(len(server.filters) - 1)}


# Rooms: looking


@_route("GET", "joined_rooms", "joined_rooms")
def _joined_rooms(server: "Homeserver", call: Call) -> Json:
    return {"joined_rooms": [room.id for room in server.world.rooms.values() if room.membership == "join"]}


@_route("GET", "rooms/{}/messages", "messages")
def _messages(server: "Homeserver", call: Call) -> Json:
    return server.world.messages(_joined(server, call.parts[0]), dict(call.query))


@_route("GET", "rooms/{}/event/{}", "event")
def _event(server: "Homeserver", call: Call) -> Json:
    room_id, event_id = call.parts
    refusal = server.event_refusals.get(event_id)
    if refusal is not None:
        raise refusal
    known = server.world.known.get((room_id, event_id))
    found = known if known is not None else _joined(server, room_id).find(event_id)
    if found is None:
        raise RefusalError(404, "M_NOT_FOUND", "Event not found.")
    return with_room(found, room_id)


@_route("GET", "rooms/{}/state", "state")
def _state(server: "Homeserver", call: Call) -> list[Json]:
    room = _joined(server, call.parts[0])
    return [with_room(event, room.id) for event in room.state().values()]


@_route("GET", "rooms/{}/state/{}/{}", "state_event")
@_route("GET", "rooms/{}/state/{}", "state_event")
def _state_event(server: "Homeserver", call: Call) -> Json:
    room_id, kind, *key = call.parts
    event = _joined(server, room_id).state().get((kind, key[0] if key else ""))
    if event is None:
        raise RefusalError(404, "M_NOT_FOUND")
    return event["content"]


@_route("GET", "rooms/{}/joined_members", "joined_members")
def _joined_members(server: "Homeserver", call: Call) -> Json:
    return {"joined": {user: {} for user in _joined(server, call.parts[0]).members("join")}}


# Rooms: what people notice


@_route("PUT", "rooms/{}/send/{}/{}", "send")
def _send(server: "Homeserver", call: Call) -> Json:
    room_id, kind, _txn = call.parts
    key = (server.tokens[call.token or ""], call.path)
    if key in server.transactions:
        return {"event_id": server.transactions[key]}
    room = _joined(server, room_id)
    if not isinstance(call.body, dict):
        raise RefusalError(400, "M_NOT_JSON")
    if call.headers.get("Content-Length", "0").isdecimal() and int(call.headers["Content-Length"]) > EVENT_BYTES:
        raise RefusalError(413, "M_TOO_LARGE", "event too large")
    if kind == "m.reaction" and any(
        event.get("type") == kind and event.get("sender") == server.user_id and event.get("content") == call.body
        for event in (entry.event for entry in room.entries if isinstance(entry.event, dict))
    ):
        raise RefusalError(400, "M_DUPLICATE_ANNOTATION", "Can't send same reaction twice")
    event = server.event(kind, call.body, sender=server.user_id)
    event["unsigned"] = {"transaction_id": call.parts[2]}
    server.world.append(room, event)
    server.transactions[key] = event["event_id"]
    return {"event_id": event["event_id"]}


@_route("PUT", "rooms/{}/redact/{}/{}", "redact")
def _redact(server: "Homeserver", call: Call) -> Json:
    return {"event_id": server.redact(call.parts[0], call.parts[1], sender=server.user_id)}


@_route("PUT", "rooms/{}/state/{}/{}", "set_state")
@_route("PUT", "rooms/{}/state/{}", "set_state")
def _set_state(server: "Homeserver", call: Call) -> Json:
    room_id, kind, *key = call.parts
    event = server.event(kind, call.content, sender=server.user_id, state_key=key[0] if key else "")
    server.world.append(_joined(server, room_id), event)
    return {"event_id": event["event_id"]}


@_route("PUT", "rooms/{}/typing/{}", "typing")
@_route("POST", "rooms/{}/receipt/{}/{}", "receipt")
@_route("POST", "rooms/{}/read_markers", "read_markers")
def _sign(server: "Homeserver", call: Call) -> Json:
    _joined(server, call.parts[0])
    return {}


@_route("POST", "join/{}", "join")
@_route("POST", "rooms/{}/join", "join")
def _join(server: "Homeserver", call: Call) -> Json:
    room = server.world.rooms.get(call.parts[0])
    if room is None:
        raise RefusalError(404, "M_NOT_FOUND")
    if room.membership != "join":
        if room.membership != "invite" and not room.public:
            raise RefusalError(403, "M_FORBIDDEN", "You are not invited to this room.")
        server.member(room.id, server.user_id, "join")
    return {"room_id": room.id}


@_route("POST", "rooms/{}/leave", "leave")
def _leave(server: "Homeserver", call: Call) -> Json:
    room = server.world.rooms.get(call.parts[0])
    if room is None or room.membership not in ("join", "invite"):
        raise RefusalError(403, "M_FORBIDDEN")
    server.member(room.id, server.user_id, "leave")
    return {}


# Media


@_route("POST", "/_matrix/media/(?:v3|r0)/upload", "upload")
def _upload(server: "Homeserver", call: Call) -> Json:
    if len(call.body) > server.upload_bytes:
        raise RefusalError(413, "M_TOO_LARGE")
    mxc = f"mxc://{server.world.server}/{server.world.new_id('m')}"
    server.media[mxc] = (call.body, call.headers.get("Content-Type", "application/octet-stream"))
    return {"content_uri": mxc}


@_route("GET", "media/config", "media_config")
@_route("GET", "/_matrix/media/(?:v3|r0)/config", "media_config")
def _config(server: "Homeserver", call: Call) -> Json:
    return {"m.upload.size": server.upload_bytes}


@_route("GET", "media/download/{}/{}", "download")
@_route("GET", "media/download/{}/{}/{}", "download")
@_route("GET", "/_matrix/media/(?:v3|r0)/download/{}/{}", "download")
def _download(server: "Homeserver", call: Call) -> File:
    found = server.media.get(f"mxc://{call.parts[0]}/{call.parts[1]}")
    if found is None:
        raise RefusalError(404, "M_NOT_FOUND")
    return File(*found)


# Keys


@_route("POST", "keys/upload", "keys_upload")
def _keys_upload(server: "Homeserver", call: Call) -> Json:
    return server.keys.upload(server.user_id, server.tokens[call.token or ""], call.content)


@_route("POST", "keys/query", "keys_query")
def _keys_query(server: "Homeserver", call: Call) -> Json:
    return server.keys.query(call.content)


@_route("POST", "keys/claim", "keys_claim")
def _keys_claim(server: "Homeserver", call: Call) -> Json:
    return server.keys.claim(call.content)


@_route("GET", "keys/changes", "keys_changes")
def _keys_changes(server: "Homeserver", call: Call) -> Json:
    return {"changed": [], "left": []}


@_route("POST", "keys/device_signing/upload", "signing_upload")
def _signing(server: "Homeserver", call: Call) -> Json:
    auth = call.content.get("auth") or {}
    if server.asks_password_for_keys and auth.get("password") != server.password:
        flows = [{"stages": ["m.login.password"]}]
        raise RefusalError(401, "M_FORBIDDEN", session="uia1", flows=flows, params={}, completed=[])
    known = server.keys.crosssigning.setdefault(server.user_id, {})
    known.update(
        {
            kind: call.content[f"{kind}_key"]
            for kind in ("master", "self_signing", "user_signing")
            if f"{kind}_key" in call.content
        },
    )
    return {}


@_route("POST", "keys/signatures/upload", "signatures_upload")
def _signatures(server: "Homeserver", call: Call) -> Json:
    return server.keys.sign(call.content)


@_route("PUT", "sendToDevice/{}/{}", "to_device")
def _to_device(server: "Homeserver", call: Call) -> Json:
    kind = call.parts[0]
    own = server.tokens[call.token or ""]
    for user, devices in (call.content.get("messages") or {}).items():
        for device, content in devices.items():
            server.keys.sent.append((kind, user, device, content))
            if user == server.user_id and device in ("*", own):
                event = {"type": kind, "sender": server.user_id, "content": content}
                server.world.to_device.append(Entry(server.world.step(), event))
    server.world.wake()
    return {}
