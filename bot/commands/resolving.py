"""From the id of an object to the object, with the rights of the person (CMD-3).

What a person can't read is refused exactly as what is not there: same code, same words, same moment. How long a look
takes can tell the two apart: a table may find one sooner, an endpoint may answer "no such row" before it has checked
any right. So nothing that happens meanwhile moves the moment of a refusal: it comes when the patience of the look is
over, counted from its beginning. The endpoint gets no longer than that, and what it has not answered by then is
unreadable. An object that can be read goes on at once; that it can be read is no secret from its reader.

INVARIANT: an endpoint is asked with the id of the person, and an agent has no say in that.
"""

import asyncio
from collections.abc import Callable
from typing import Final

from bot.commands.deciding import OnBehalfOf, readable
from bot.commands.wire import look_document, read_thing
from bot.config.commands import MAX_OBJECT_ID, Command, Endpoint, ObjectTable
from bot.model.command import Call, Thing
from bot.model.errors import AgentError
from bot.ports.commands import Endpoints

TABLE_S: Final = 0.05
"""After which a table refuses: longer than any look into one, and than cutting an endpoint off."""


class Resolving:
    """Looks objects up."""

    def __init__(self, endpoints: Endpoints, message_id: Callable[[], str]) -> None:
        """Args: endpoints: the way to them. message_id: makes ids for requests that only look."""
        self._endpoints = endpoints
        self._message_id = message_id

    async def look(self, command: Command, object_id: str, call: Call, whom: OnBehalfOf) -> Thing | None:
        """The object, at once; or None, when the patience of this look is over."""
        clock = asyncio.get_running_loop().time
        over = clock() + patience_s(command)
        found = await self._found(command, object_id, call, whom)
        if found is None:
            await asyncio.sleep(over - clock())
        return found

    async def _found(self, command: Command, object_id: str, call: Call, whom: OnBehalfOf) -> Thing | None:
        if not (0 < len(object_id) <= MAX_OBJECT_ID and object_id.isprintable()):
            return None
        match command.objects:
            case ObjectTable():
                return readable(command.objects, object_id, whom)
            case Endpoint() as endpoint:
                person = None if whom.person is None else whom.person.id
                try:
                    async with asyncio.timeout(endpoint.timeout_s):
                        answered = await self._endpoints.call(
                            endpoint,
                            self._message_id(),
                            look_document(command, object_id, call, person),
                            timeout_s=endpoint.timeout_s,
                        )
                except (AgentError, TimeoutError):
                    return None
                return read_thing(object_id, answered)
            case None:
                return None


def patience_s(command: Command) -> float:
    """After how long an object that can't be read is refused; an endpoint that is too slow has been cut off by then."""
    return TABLE_S + (command.objects.timeout_s if isinstance(command.objects, Endpoint) else 0.0)
