"""A2H 1.0 over HTTP (AGENT-1).

    GET /.well-known/a2h                 what this gateway can do; without a key
    GET /.well-known/jwks.json           the keys with which answers are signed; without a key
    GET /v1/nonce                        a nonce, used once
    POST /v1/intent                      INFORM, COLLECT, AUTHORIZE, ESCALATE or RESULT
    GET /v1/status/{interaction_id}      how it stands
    POST /v1/cancel/{interaction_id}     takes it back while it waits for a person

The key stands in ``X-A2H-API-Key`` or ``Authorization: Bearer``. Errors are those of the protocol.
"""

from collections.abc import Awaitable, Callable, Collection
from typing import Any, Final

from aiohttp import web

from bot.api.a2h import translating as to
from bot.api.a2h.admitting import TOLERANCE
from bot.api.a2h.desk import WINDOW_S, IntentDesk
from bot.api.a2h.reading import TTL_LONGEST_S, VERSION
from bot.api.a2h.refusing import refused_document
from bot.api.a2h.signing import Signer
from bot.api.a2h.standing import document_of
from bot.api.answering import RefusedError, body_of, json_answer
from bot.api.site import CREDENTIAL, Callers, Handler
from bot.config.credentials import OF_AGENTS, Credential
from bot.deliveries.pacing import Rate
from bot.texts.words import LANGUAGES
from policy.ruleset import Policy

POSTS: Final = Rate(per_s=1.0, burst=30)
KEY_HEADER: Final = "X-A2H-API-Key"
_HERE: Final = ("127.0.0.1", "localhost", "::1")
RETRIES: Final = 3
TIMEOUT_S: Final = 30


class A2hApi:
    """Routes and their answers."""

    def __init__(
        self,
        desk: IntentDesk,
        signer: Signer,
        *,
        policy: Callable[[], Policy],
        platforms: Collection[str],
        public_url: str | None = None,
        webhooks: bool = True,
        keyless_agent: str | None = None,
        published_keys: Collection[str] = (),
    ) -> None:
        """Make it.

        Args:
            desk: of the interactions.
            signer: signs answers.
            policy: gives the policy in force now.
            platforms: on which there are bots.
            public_url: how agents reach the interface; None: as they have come.
            webhooks: whether any address may be called back.
            keyless_agent: whose calls those without a key are, from this machine alone; None: they are nobody's.
            published_keys: that everybody knows: as good as none.
        """
        self._as_none = frozenset(f"Bearer {key}" for key in published_keys)
        self._webhooks = webhooks
        self._keyless = None
        if keyless_agent is not None:
            self._keyless = Credential(id="", name=keyless_agent, digest=b"", scopes=OF_AGENTS)
        self._desk = desk
        self._signer = signer
        self._policy = policy
        self._platforms = platforms
        self._public_url = public_url

    def add_to(self, router: web.UrlDispatcher, callers: Callers) -> None:
        """See :class:`bot.api.site.ApiPart`."""

        def only(handler: Handler, *, posts: bool = False) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
            paces = callers.paces(POSTS) if posts else None
            keyed = callers.only(handler, paces, header=KEY_HEADER)
            keyless = callers.only(handler, paces, known=lambda _: self._keyless)

            async def either(request: web.Request) -> web.StreamResponse:
                return await (keyless if self._keyless is not None and _is_here(request, self._as_none) else keyed)(
                    request
                )

            return _in_its_words(either)

        router.add_get("/.well-known/a2h", self._discover, allow_head=False)
        router.add_get("/.well-known/jwks.json", self._jwks, allow_head=False)
        router.add_get("/v1/nonce", only(self._nonce), allow_head=False)
        router.add_post("/v1/intent", only(self._post, posts=True))
        router.add_get("/v1/status/{interaction_id}", only(self._look), allow_head=False)
        router.add_post("/v1/cancel/{interaction_id}", only(self._cancel))

    async def _discover(self, request: web.Request) -> web.StreamResponse:
        quiet = self._policy().approvals.quiet
        names = self._desk.names
        chats = [to.factor_of(platform) for platform in to.PLATFORMS if platform in self._platforms]
        base = str(request.url.origin()) if self._public_url is None else self._public_url
        document: dict[str, Any] = {
            "a2h_supported": [VERSION],
            "channels": [platform for platform in to.PLATFORMS if platform in self._platforms],
            "factors": [*([to.PASSKEY] if names.passkeys else []), *chats, to.LINK],
            "profiles": sorted(names.profiles),
            "max_ttl_sec": TTL_LONGEST_S,
            "locales": list(LANGUAGES),
            "jwks_uri": f"{base}/.well-known/jwks.json",
            "auth": {"methods": ["api_key"]},
            "replay_protection": {
                "idempotency_window_sec": WINDOW_S,
                "timestamp_tolerance_sec": int(TOLERANCE.total_seconds()),
                "nonce_endpoint": "/v1/nonce",
            },
            "webhooks": {"supported": self._webhooks, "retry_attempts": RETRIES, "timeout_sec": TIMEOUT_S},
        }
        if quiet is not None:
            start, end = (f"{moment:%H:%M}" for moment in (quiet.since, quiet.until))
            document["quiet_hours"] = {"start": start, "end": end, "tz": quiet.timezone}
        return json_answer(document)

    async def _jwks(self, _request: web.Request) -> web.StreamResponse:
        return json_answer(self._signer.jwks())

    async def _nonce(self, _request: web.Request, _agent: str) -> web.StreamResponse:
        nonce, until = self._desk.nonces.new()
        return json_answer({"nonce": nonce, "expires_at": until.isoformat()})

    async def _post(self, request: web.Request, _agent: str) -> web.StreamResponse:
        standing, known = await self._desk.post(await body_of(request), request[CREDENTIAL])
        document = document_of(standing, None)
        return json_answer({**document, "duplicate": True} if known else document)

    async def _look(self, request: web.Request, agent: str) -> web.StreamResponse:
        interaction = await self._desk.find(agent, request.match_info["interaction_id"])
        standing = await self._desk.look(interaction)
        return json_answer(document_of(standing, await self._desk.webhook(interaction)))

    async def _cancel(self, request: web.Request, agent: str) -> web.StreamResponse:
        standing = await self._desk.cancel(await self._desk.find(agent, request.match_info["interaction_id"]))
        return json_answer({"success": True, "message": "it is taken back", "state": standing.state})


def _is_here(request: web.Request, as_none: Collection[str]) -> bool:
    """Whether a program of this machine calls without a key: not passed on by a proxy, nor a page in a browser."""
    elsewhere = ("Forwarded", "X-Forwarded-For", "X-Real-Ip", "Via", "Origin", KEY_HEADER)
    written = request.method == "GET" or request.content_type == "application/json"
    keyless = all(said in as_none for said in request.headers.getall("Authorization", []))
    return keyless and written and request.url.host in _HERE and not any(name in request.headers for name in elsewhere)


def _in_its_words(
    handler: Callable[[web.Request], Awaitable[web.StreamResponse]],
) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    """Refusals as A2H writes them."""

    async def handle(request: web.Request) -> web.StreamResponse:
        try:
            return await handler(request)
        except RefusedError as refused:
            response = json_answer(refused_document(refused), status=refused.status)
            if refused.after_s > 0:
                response.headers["Retry-After"] = str(int(refused.after_s) + 1)
            if refused.status == 401:
                response.headers["WWW-Authenticate"] = "Bearer"
            return response

    return handle
