"""Interactions (AGENT-1): an agent's message becomes a question, an approval or a delivery, and what that says is told.

    post -> who, where -> question | approval | delivery -> its state, as A2H names it -> the signed answer, once

There is no state here but which message has become what. To the person only their private chats with our bots lead, and
only such as the policy's accounts open; what nobody has asked for needs a grant there (OUT-6). An APPROVE is told when
the approval is claimed, and not before: told is used (APPR-5).
"""

import asyncio
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from bot.api.a2h import translating as to
from bot.api.a2h.admitting import Admission, Names
from bot.api.a2h.nonces import Nonces
from bot.api.a2h.reading import Envelope, read_envelope
from bot.api.a2h.refusing import (
    CONFLICT,
    INVALID,
    LIMITED,
    PRINCIPAL,
    REPLAY,
    UNAVAILABLE,
    A2hError,
)
from bot.api.a2h.standing import KIND, Signs, Standing, Standings
from bot.config.credentials import Credential
from bot.config.secret import Secret
from bot.deliveries.door import Place
from bot.deliveries.schedule import Order, Schedule
from bot.model.approval import ApprovalState
from bot.model.callback import Callback
from bot.model.delivery import DeliveryState
from bot.model.errors import AskError, CallbackError, DeliveryError, ProposalError, StoreError
from bot.model.intent import Intent, IntentType
from bot.model.question import Answerer, Asking, Who
from bot.observability.log import get_logger
from bot.ports.approvals import Approvals
from bot.ports.callbacks import Callbacks, GoneError, Teller
from bot.ports.channel import Reply
from bot.ports.intents import IntentStore
from bot.questions.room import QuestionRoom
from forms.components import ComponentError, schema_of
from forms.schema import SchemaError, read_form
from policy.approvals import Window
from policy.boundary import Withheld
from policy.destination import Destination
from policy.grants import Grant
from policy.ruleset import Policy

log = get_logger(__name__)

SCHEME: Final = "a2h"
MAX_OPEN: Final = 100
"""Interactions of one agent that have not ended."""
WINDOW_S: Final = 3600
"""For at least this time the same message_id is the same interaction; it is for as long as it is kept."""
LOOK_EVERY_S: Final = 1.0
_MAKING_S: Final = 10.0
_URGENT: Final = ("alert", "exception")
_OUTCOMES: Final[Mapping[str, bool]] = {
    **dict.fromkeys(("EXECUTED", "COMPLETED", "SUCCEEDED", "SUCCESS", "OK"), True),
    **dict.fromkeys(("FAILED", "ERROR", "ABORTED", "NOT_EXECUTED"), False),
}
_CONTENT: Final = frozenset(one.value for one in Withheld)


class IntentDesk:
    """Takes messages and tells what became of them."""

    def __init__(
        self,
        *,
        store: IntentStore,
        questions: QuestionRoom,
        approvals: Approvals,
        schedule: Schedule,
        policy: Callable[[], Policy],
        callbacks: Callbacks,
        signer: Signs,
        names: Names,
        clock: Callable[[], datetime],
    ) -> None:
        """Make it; nothing is read before a call."""
        self._store = store
        self._questions = questions
        self._approvals = approvals
        self._schedule = schedule
        self._policy = policy
        self._callbacks = callbacks
        self.names = names
        self._clock = clock
        self._standings = Standings(
            store=store, questions=questions, approvals=approvals, schedule=schedule, signer=signer, clock=clock
        )
        self.nonces = Nonces(clock)
        self._admission = Admission(schedule=schedule, policy=policy, names=names, nonces=self.nonces, clock=clock)
        self._posting: dict[str, asyncio.Lock] = {}

    # posting

    async def post(self, body: bytes, credential: Credential) -> tuple[Standing, bool]:
        """Take a message, or find the interaction that it has become; whether it was there before.

        Raises:
            RefusedError: nothing was asked of anybody.
        """
        unsaid = {"agent_id": credential.name, "message_id": f"unnamed-{uuid.uuid4()}"}
        envelope = read_envelope(body, {name: unsaid[name] for name in self.names.may_lack})
        self._admission.check_sender(envelope, credential)
        async with self._posting.setdefault(credential.name, asyncio.Lock()):
            known = await self._store.by_message(credential.name, envelope.message)
            if known is not None:
                await self._arm(known, envelope)
                return await self._standings.look(known), True
            self._admission.check_time(envelope)
            person = self._admission.person(envelope, credential)
            self._admission.check_assurance(envelope)
            routes = await self._admission.routes(envelope, person, credential)
            if not routes and envelope.type not in (IntentType.AUTHORIZE, IntentType.ESCALATE):
                raise A2hError(503, UNAVAILABLE, "no channel leads to this person", reason="no_channel")
            self._admission.check_quiet(envelope)
            self._check_callback(envelope, credential.name)
            if await self._store.count(credential.name) >= MAX_OPEN:
                raise A2hError(429, LIMITED, f"{MAX_OPEN} interactions of yours are open", after_s=60.0)
            wanted = Intent(
                id=uuid.uuid4().hex,
                agent=credential.name,
                message=envelope.message,
                nonce=envelope.nonce,
                type=envelope.type,
                principal=person.id,
                ttl_s=envelope.ttl_s,
                made_at=self._clock(),
                sent={name: value for name, value in envelope.document.items() if name != "callback"},
                routes=tuple(place.destination for place in routes),
            )
            kept = await self._store.put(wanted)
            if kept is None:
                raise A2hError(422, REPLAY, "this nonce was used")
            if kept.id != wanted.id:
                return await self._standings.look(kept), True
            made = await self._make(kept, envelope, routes)
            await self._arm(made, envelope)
            return await self._standings.look(made), False

    def _check_callback(self, envelope: Envelope, agent: str) -> None:
        if envelope.callback is None:
            return
        url, secret = envelope.callback
        if not url.startswith("https://") and not url.startswith("http://"):
            raise A2hError(422, INVALID, "a callback is an https address", reason="callback")
        try:
            self._callbacks.check(url, agent=agent, secret=Secret(secret), scheme=SCHEME)
        except CallbackError as error:
            raise A2hError(422, INVALID, str(error), reason=error.code) from None

    async def _arm(self, interaction: Intent, envelope: Envelope) -> None:
        if envelope.callback is None or not interaction.type.answered:
            return
        url, secret = envelope.callback
        try:
            await self._callbacks.arm(
                agent=interaction.agent,
                kind=KIND,
                subject=interaction.id,
                url=url,
                secret=Secret(secret),
                scheme=SCHEME,
            )
        except CallbackError as error:
            raise A2hError(429, LIMITED, str(error), after_s=60.0) from None

    # what it becomes

    async def _make(self, interaction: Intent, envelope: Envelope, routes: Sequence[Place]) -> Intent:
        """Put it to the person by the first way that takes it.

        Raises:
            A2hError: none does; nothing is kept.
        """
        try:
            if interaction.type is IntentType.RESULT:
                await self._tell_outcome(interaction, envelope)
            if interaction.type in (IntentType.AUTHORIZE, IntentType.ESCALATE):
                return await self._propose(interaction, envelope, routes)
            return await self._put(interaction, envelope, routes)
        except A2hError:
            await self._store.forget(interaction.id)
            raise

    async def _put(self, interaction: Intent, envelope: Envelope, routes: Sequence[Place]) -> Intent:
        refused = A2hError(503, UNAVAILABLE, "no channel leads to this person", reason="no_channel")
        for attempt in range(interaction.attempt, len(routes)):
            key = f"{KIND}:{interaction.id}:{attempt}"
            try:
                if interaction.type is IntentType.COLLECT:
                    subject = await self._ask(interaction, envelope, routes[attempt], key=key)
                else:
                    subject = await self._deliver(interaction, envelope, routes[attempt], key=key)
            except A2hError as error:
                refused = error
                continue
            aimed = replace(interaction, subject=subject, attempt=attempt)
            await self._store.aim(aimed)
            return aimed
        raise refused

    async def _deliver(self, interaction: Intent, envelope: Envelope, place: Place, *, key: str) -> str:
        now = self._clock()
        urgent = interaction.type is IntentType.INFORM and envelope.params.get("topic") in _URGENT
        at = now if urgent else self._admission.loud(now)
        order = Order(destination=str(place.destination), text=to.words_of(envelope), at=None if at == now else at)
        try:
            delivery = await self._schedule.post(order, agent=interaction.agent, key=key)
        except DeliveryError as error:
            raise A2hError(422, INVALID, str(error), reason=error.code) from None
        if delivery.state is DeliveryState.MUTED:
            raise _withheld(delivery.code or "muted")
        return delivery.id

    async def _ask(self, interaction: Intent, envelope: Envelope, place: Place, *, key: str) -> str:
        try:
            schema = schema_of(envelope.components)
            read_form(schema)
        except ComponentError as error:
            raise A2hError(422, INVALID, str(error)) from None
        except SchemaError as error:
            problems = [{"path": one.path, "code": one.code, "detail": one.detail} for one in error.problems]
            raise A2hError(422, INVALID, "these components can't be asked", problems=problems) from None
        if await self._questions.known(interaction.agent, key) is None:
            grant = await self._schedule.admission(interaction.agent, place)
            if not isinstance(grant, Grant):
                raise _withheld(grant.value)
            if not await self._schedule.use(grant):
                raise _withheld("used_up")
        settings = self._schedule.settings(place)
        person = self._policy().named(interaction.principal)
        try:
            question = await self._questions.ask(
                Asking(
                    text=to.words_of(envelope)[:4_000],
                    schema=schema,
                    who=Who(kind=Answerer.PEOPLE, people=frozenset({interaction.principal})),
                    ttl_s=interaction.ttl_s,
                ),
                agent=interaction.agent,
                key=key,
                place=place,
                to=Reply(destination=place.destination),
                asker=place.other_side,
                event_id=None,
                audience=settings.audience,
                language=(None if person is None else person.language) or settings.language,
            )
        except AskError as error:
            raise (
                _withheld(error.code)
                if error.code == "withheld"
                else A2hError(422, INVALID, str(error), reason=error.code)
            ) from None
        return question.id

    async def _propose(self, interaction: Intent, envelope: Envelope, routes: Sequence[Place]) -> Intent:
        proposal = to.proposal_of(envelope, interaction, _windows(routes[:1]), key=f"{KIND}:{interaction.id}")
        try:
            approval = await self._approvals.propose(
                proposal, agent=interaction.agent, origin=None, new_id=interaction.id
            )
            if approval.state is ApprovalState.PROPOSED and not self._approvals.can_be_shown(approval):
                await self._approvals.cancel(approval.id)
                raise A2hError(503, UNAVAILABLE, "it can be shown to nobody", reason="no_channel")
        except ProposalError as error:
            if error.code == "not_entitled":
                raise A2hError(422, PRINCIPAL, "the policy lets others decide about this") from None
            if error.code == "too_many_open":
                raise A2hError(429, LIMITED, str(error), after_s=60.0) from None
            status, code = (409, CONFLICT) if error.code in ("unreconciled", "key_used") else (422, INVALID)
            raise A2hError(status, code, str(error), reason=error.code) from None
        aimed = replace(interaction, subject=approval.id)
        await self._store.aim(aimed)
        return aimed

    async def _tell_outcome(self, interaction: Intent, envelope: Envelope) -> None:
        """A RESULT says what came of what was authorized (APPR-4)."""
        about = await self._store.by_message(interaction.agent, envelope.responds_to or "")
        if about is None or about.subject is None or not about.type.answered:
            raise A2hError(
                422, INVALID, "responds_to is no message of yours that a person answers", reason="responds_to"
            )
        executed = _OUTCOMES.get(str(envelope.params.get("status", "")).upper())
        if about.type is not IntentType.AUTHORIZE or executed is None:
            return
        try:
            await self._approvals.outcome(about.subject, executed=executed, note=envelope.body[:2_000])
        except ProposalError as error:
            raise A2hError(409, CONFLICT, str(error), reason=error.code) from None

    # how it stands

    async def look(self, interaction: Intent) -> Standing:
        """How it stands; it is told to the agent."""
        return await self._standings.look(interaction)

    async def find(self, agent: str, interaction_id: str) -> Intent:
        """One of this agent.

        Raises:
            A2hError: there is none.
        """
        try:
            found = await self._store.get_of(agent, uuid.UUID(interaction_id[:64]).hex)
        except ValueError:
            found = None
        if found is None:
            raise A2hError(404, INVALID, "there is no such interaction of yours", reason="unknown")
        return found

    async def webhook(self, interaction: Intent) -> Callback | None:
        """The callback of an interaction."""
        return await self._callbacks.of(KIND, interaction.id)

    # taking back

    async def cancel(self, interaction: Intent) -> Standing:
        """Take it back while it waits for a person.

        Raises:
            A2hError: it does not.
        """
        standing = await self._standings.look(interaction, use=False)
        if standing.state != to.WAITING or interaction.subject is None:
            raise A2hError(409, CONFLICT, f"it is {standing.state}", state=standing.state)
        if interaction.type is IntentType.COLLECT:
            await self._questions.cancel(interaction.subject)
        else:
            try:
                await self._approvals.cancel(interaction.subject)
            except ProposalError as error:
                raise A2hError(409, CONFLICT, str(error), reason=error.code) from None
        standing = await self._standings.look(interaction, use=False)
        if standing.state != to.CANCELLED:
            raise A2hError(409, CONFLICT, f"it is {standing.state}", state=standing.state)
        return standing

    # going on

    def teller(self) -> Teller:
        """Tells an address how it ended."""
        import orjson

        async def tell(callback: Callback) -> bytes | None:
            interaction = await self._store.get(callback.subject)
            if interaction is None:
                raise GoneError
            standing = await self._standings.look(interaction)
            answer = standing.interaction.answer
            return None if answer is None else orjson.dumps(answer["message"])

        return tell

    async def run(self) -> None:
        """See to what has no reader: further ways, and ends; until cancelled."""
        failing = False
        while True:
            try:
                await self.look_round()
                failing = False
            except StoreError as error:
                if not failing:
                    log.error("interactions_not_looked_at", error=type(error).__name__)
                failing = True
            await asyncio.sleep(LOOK_EVERY_S)

    async def look_round(self) -> None:
        """Once. A fault with one of them is not to hold up the others."""
        for interaction in await self._store.open():
            try:
                await self._see(interaction)
            except StoreError:
                raise
            except Exception as error:  # noqa: BLE001 - told, and looked at again
                log.error("interaction_not_looked_at", error=type(error).__name__)

    async def _see(self, interaction: Intent) -> None:
        unmade = interaction.subject is None
        if unmade and (self._clock() - interaction.made_at).total_seconds() < _MAKING_S:
            return  # it is being made right now
        if not unmade and not await self._standings.has_failed(interaction):
            await self._standings.look(interaction, use=False)
            return
        if not unmade and interaction.attempt + 1 >= len(interaction.routes):
            await self._standings.look(interaction, use=False)
            return
        await self._go_on(interaction if unmade else replace(interaction, attempt=interaction.attempt + 1))

    async def _go_on(self, interaction: Intent) -> None:
        """Make what a crash has left unmade, or try the next way."""
        import orjson

        envelope = read_envelope(orjson.dumps(interaction.sent, default=dict))
        person = self._policy().named(interaction.principal)
        reachable = await self._schedule.reachable(frozenset() if person is None else person.accounts)
        by_place: dict[Destination, Place] = {place.destination: place for place in reachable}
        routes = [by_place[one] for one in interaction.routes if one in by_place]
        if interaction.type is IntentType.AUTHORIZE and interaction.subject is not None:
            await self._approvals.show_at(interaction.subject, _windows(routes[: interaction.attempt + 1]))
            await self._store.aim(interaction)  # after it is shown there: until then the other way is still to come
            return
        try:
            if interaction.type.answered and interaction.type is not IntentType.COLLECT:
                await self._propose(interaction, envelope, routes)
            else:
                await self._put(interaction, envelope, routes)
                if interaction.type is IntentType.COLLECT and interaction.subject is not None:
                    await self._questions.cancel(interaction.subject)  # the one that nobody could see
        except A2hError as error:
            log.info("interaction_failed", code=error.code)
            await self._standings.give_up(interaction)


def _windows(places: Sequence[Place]) -> tuple[Window, ...]:
    return tuple(Window(destination=place.destination, person=place.other_side) for place in places)


def _withheld(code: str) -> A2hError:
    if code in _CONTENT:
        return A2hError(422, INVALID, "what it says may not be said there", reason=code)
    return A2hError(503, UNAVAILABLE, "nothing may be put to this person unasked; that needs a grant", reason=code)
