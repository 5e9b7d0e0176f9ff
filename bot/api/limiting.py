"""The limits of a key (AGENT-1): to whom, and where, it may be used. They narrow what else holds and permit nothing."""

from collections.abc import Awaitable, Callable

from aiohttp import web

from bot.api.answering import RefusedError
from bot.api.site import CREDENTIAL
from bot.model.question import Answerer, Who
from policy.destination import Destination, MalformedDestinationError, parse_destination


def within_request(request: web.Request, place: tuple[Destination, str | None] | None, who: Who | None = None) -> None:
    """See that a key may be used where a request was made, and for those who are asked.

    Args:
        request: with the key.
        place: where, and by whom; None: there is no such request, which others say.
        who: is asked; None: nobody.

    Raises:
        RefusedError: it may not.
    """
    credential = request[CREDENTIAL]
    if place is None:
        return
    destination, person = place
    if not credential.covers(destination):
        raise _beyond("it is limited to other places")
    if credential.principals is None:
        return
    named = who is not None and who.kind is Answerer.PEOPLE
    asked = who.people if who is not None and named else {person}
    everybody = who is not None and who.kind in (Answerer.ANYONE, Answerer.OPERATORS)
    if everybody or not all(credential.reaches(one) for one in asked):
        raise _beyond("it is limited to other people")


async def within_place(
    request: web.Request,
    written: str,
    other_side: Callable[[Destination], Awaitable[str | None]],
    people: Callable[[str], str | None],
) -> None:
    """See that a key may be used to write to a place; one that is limited to people reaches their private chats alone.

    Args:
        request: with the key.
        written: the destination as it was posted; whether it is one, others say.
        other_side: of a one-to-one chat.
        people: ids in the policy, by account.

    Raises:
        RefusedError: it may not.
    """
    place = within_destination(request, written)
    if place is None or request[CREDENTIAL].principals is None:
        return
    account = await other_side(place)
    if not request[CREDENTIAL].reaches(None if account is None else people(account)):
        raise _beyond("it is limited to other people")


def within_destination(request: web.Request, written: str) -> Destination | None:
    """See that a key may be used at a place; None: what was written is none.

    Raises:
        RefusedError: it may not.
    """
    try:
        place = parse_destination(written)
    except MalformedDestinationError:
        return None
    if not request[CREDENTIAL].covers(place):
        raise _beyond("it is limited to other places")
    return place


def _beyond(why: str) -> RefusedError:
    return RefusedError(403, "beyond_key", f"your key is not for this: {why}")
