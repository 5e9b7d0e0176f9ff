"""Commands over HTTP, for agents on this machine (CMD).

    GET /v1/commands?request=ID     what may be run in the run of that request
    POST /v1/commands/{name}        {"request": ID, "object": ID, "text": TEXT}; 200 says what came of it,
                                    an error that the tool itself has refused and nothing was run

An agent runs commands in the run of a request alone, and on behalf of the person who made it: that is no parameter.
"""

from collections.abc import Mapping
from typing import Final

from aiohttp import web

from bot.api.answering import MAX_KEY, Reading, RefusedError, body_of, header_key, json_answer, read_object
from bot.api.limiting import within_request
from bot.api.site import Callers
from bot.commands.documents import offered_document, ran_document
from bot.config.credentials import Scope
from bot.deliveries.pacing import Rate
from bot.model.errors import AskError, CommandError
from bot.ports.commands import CommandDesk, DesksFor

RUNS: Final = Rate(per_s=2.0, burst=20)
_FIELDS: Final = frozenset({"request", "object", "text", "key"})
_STATUS: Final[Mapping[str, int]] = {
    "unknown_command": 404,
    "unknown_object": 404,
    "not_allowed": 403,
    "question": 403,
    "slot_empty": 409,
    "busy": 409,
    "too_many": 429,
    "key_used": 409,
}


class CommandsApi:
    """Routes and their answers."""

    def __init__(self, runs: DesksFor) -> None:
        """Args: runs: on which agents work."""
        self._runs = runs

    def add_to(self, router: web.UrlDispatcher, callers: Callers) -> None:
        """See :class:`bot.api.site.ApiPart`."""
        router.add_get("/v1/commands", callers.only(self._list, scope=Scope.PROPOSE), allow_head=False)
        router.add_post("/v1/commands/{name}", callers.only(self._run, callers.paces(RUNS), scope=Scope.PROPOSE))

    async def _list(self, request: web.Request, agent: str) -> web.StreamResponse:
        desk = self._desk(request, request.query.get("request", ""), agent)
        return json_answer({"commands": [offered_document(one) for one in desk.list_commands()]})

    async def _run(self, request: web.Request, agent: str) -> web.StreamResponse:
        reading = Reading(read_object(await body_of(request)), _FIELDS)
        reading.required("request")
        request_id = reading.text("request", longest=MAX_KEY)
        object_id = reading.text("object", blank=True) if reading.document.get("object") is not None else None
        words = reading.text("text", blank=True) if reading.document.get("text") is not None else None
        key = reading.key(header_key(request))
        reading.done()
        desk = self._desk(request, request_id, agent)
        try:
            ran = await desk.start_command(request.match_info["name"][:64], object_id, words=words, key=key)
        except CommandError as error:
            raise RefusedError(_STATUS.get(error.code, 422), error.code, str(error)) from None
        return json_answer(ran_document(ran))

    def _desk(self, request: web.Request, request_id: str, agent: str) -> CommandDesk:
        within_request(request, self._runs.place_of(request_id, agent))
        try:
            return self._runs.desk_for(request_id, agent)
        except AskError:
            raise RefusedError(403, "no_request", "you are not working on this request") from None
