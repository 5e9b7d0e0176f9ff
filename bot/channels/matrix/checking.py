"""What an admin wants to know of an account's rooms: who reads along, by the policy, and what becomes of invites."""

import json
from datetime import UTC, datetime
from typing import Any, Final

from bot.channels.matrix.client import CallError, Endpoint, MatrixApi
from bot.channels.matrix.rooms import STATE_TYPES, Room, Rooms
from bot.model.errors import ChannelError
from bot.model.setup import MatrixCheck
from policy.audience import settings_of
from policy.destination import destination_of
from policy.event import Chat, Event, Kind, Origin
from policy.invites import answer
from policy.reasons import Reason
from policy.ruleset import Access, ChannelPolicy, Person, Policy

_FILTER: Final = {
    "room": {
        "timeline": {"limit": 1, "types": ["m.room.member"]},
        "state": {"types": list(STATE_TYPES), "lazy_load_members": False},
        "ephemeral": {"types": []},
        "account_data": {"types": []},
        "include_leave": False,
    },
    "presence": {"types": []},
    "account_data": {"types": []},
}
_NEVER: Final = datetime(2000, 1, 1, tzinfo=UTC)
_ANSWERS: Final = {
    Reason.INVITE_ACCEPTED: "it will be accepted",
    Reason.INVITE_DECLINED: "it will be declined, as the policy says",
    Reason.INVITE_NOT_AUTHORISED: "it is left alone, as the policy says",
}


async def look_at_rooms(api: MatrixApi, user_id: str, policy: Policy) -> list[MatrixCheck]:
    """The joined rooms with their audience, and the pending invites with what the policy says to them.

    Args:
        api: logged in.
        user_id: of the account.
        policy: of the file.

    Raises:
        ChannelError: the server can't be asked.
    """
    try:
        sync = await api.call(Endpoint.SYNC, query={"timeout": "0", "filter": json.dumps(_FILTER)}, timeout_s=60.0)
    except CallError:
        raise ChannelError(f"{api.homeserver} does not show the rooms now. Try again later") from None
    rooms = Rooms(user_id)
    invites = [seen for seen in rooms.take(sync, first=True) if seen.via == "invite"]
    checks = [_room(room, user_id, policy) for room in rooms if room.membership == "join"]
    return checks + [_invite(seen.room, seen.event, user_id, policy) for seen in invites]


def _room(room: Room, user_id: str, policy: Policy) -> MatrixCheck:
    place = destination_of("matrix", user_id, room.id, None)
    kind = "encrypted" if room.encrypted else "not encrypted"
    about = f"{room.id} ({room.name or 'no name'}), {kind}, {room.members} members"
    if room.replacement is not None:
        mend = f"list its successor in the policy: matrix:{user_id}:{room.replacement} (IDENT-4)"
        return MatrixCheck(name="room", ok=False, detail=f"{about}: it was replaced", mend=mend)
    if room.direct and room.members == 2:
        (other,) = (room.joined | room.invited) - {user_id} or ("",)
        audience = settings_of(policy, place, chat=Chat.DIRECT, person=f"matrix:{other}").audience
        return MatrixCheck(name="room", ok=True, detail=f"{about}: direct chat with {other}, {audience.value}")
    settings = policy.channel(place)
    if settings.access is Access.UNKNOWN:
        mend = f'list it in the policy: "{place}": {{audience: external}}'
        return MatrixCheck(name="room", ok=False, detail=f"{about}: unknown, so the bot is silent there", mend=mend)
    if settings.access is Access.DENY:
        return MatrixCheck(name="room", ok=True, detail=f"{about}: denied")
    return MatrixCheck(name="room", ok=True, detail=f"{about}: {settings.audience.value}")


def _invite(room: Room, event: Any, user_id: str, policy: Policy) -> MatrixCheck:
    sender = event.get("sender") if isinstance(event, dict) else None
    inviter = sender if isinstance(sender, str) else ""
    place = destination_of("matrix", user_id, room.id, None)
    chat = Chat.DIRECT if room.direct else Chat.GROUP
    account = f"matrix:{inviter}"
    settings = settings_of(policy, place, chat=chat, person=account)
    invite = Event(
        key="invite",
        destination=place,
        chat=chat,
        kind=Kind.INVITE,
        origin=Origin.HUMAN,
        sender=account,
        sent_at=_NEVER,
    )
    verdict = answer(policy, invite, settings, policy.person(account))
    detail = f"{room.id} ({room.name or 'no name'}) by {inviter or 'nobody'}: {_ANSWERS[verdict]}"
    if verdict is Reason.INVITE_ACCEPTED:
        return MatrixCheck(name="invite", ok=True, detail=detail)
    mend = _way_in(policy, settings, policy.person(account), account, chat)
    return MatrixCheck(name="invite", ok=True, detail=detail, mend=mend, told=True)


def _way_in(policy: Policy, settings: ChannelPolicy, person: Person | None, account: str, chat: Chat) -> str | None:
    """What would have the bot follow such an invite; None where the file says that it must not."""
    denied = settings.access is Access.DENY or (person is not None and person.access is Access.DENY)
    if denied or account in policy.bots:
        return None
    if chat is Chat.DIRECT:
        who = f"people, with accounts: [{json.dumps(account)}]" if person is None else f"people.{person.id}"
        return (
            f"if it is to follow, write access: allow under {who}, or direct: {{strangers: allow}}; then invite again"
        )
    who = "the person to operators or invites.by" if person is None else f"{person.id} to operators or invites.by"
    listing = settings.access is Access.UNKNOWN and policy.invites.listed_rooms
    return f"if it is to follow, add {who}{', or the room to channels' if listing else ''}; then invite again"
