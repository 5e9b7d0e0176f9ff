"""Whether the agent may take part: the gates (PART-1 to 18, IDENT-5).

A gate vetoes or abstains; only the end of the chain grants. The order is fixed: identity, kind of event, origin,
access, consent, burst, rate. Consent is the one gate that must find something (a mention, a command, a reply, a
private chat, a policy that answers open questions); everything before it can only say no.

INVARIANT: a rule that fails is silence. :func:`admit` never raises.
"""

import re
from datetime import datetime
from functools import cache

from policy.audience import output_class_of, settings_of
from policy.decision import Audience, Decision, Gate, Outcome, OutputClass
from policy.event import Author, Chat, Event, Kind, Memory, Origin, Original, Target
from policy.invites import answer, direct_access
from policy.reasons import Reason
from policy.ruleset import Access, ChannelPolicy, Person, Policy

OPERATORS_COMMANDS = frozenset({"grant", "revoke", "status"})
"""What a listed operator alone may command, where insiders alone read along (OUT-6, OUT-8). Said by anybody else or
anywhere else they are words like any: unrecognised, or the agent's where the policy lists them among its commands."""
DECISIONS = frozenset({"approve", "deny", "return"})
"""In a group they are heard where insiders alone read along; among outsiders they are words like any (OUT-8)."""
CONTROL_COMMANDS = frozenset({"stop", "cancel", "approve", "deny", "return", "passkey"}) | OPERATORS_COMMANDS
"""Commands that the gateway carries out itself: they skip the burst gate and no other (PART-8)."""

_KINDS: dict[Kind, Reason] = {
    Kind.SERVICE: Reason.SERVICE,
    Kind.REACTION: Reason.REACTION,
    Kind.NOTICE: Reason.NOTICE,
    Kind.AUTOMATIC_FORWARD: Reason.AUTOMATIC_FORWARD,
    Kind.MALFORMED: Reason.MALFORMED,
    Kind.REDACTION: Reason.WITHDRAWN,
}
_EDITS: dict[Original, Reason] = {
    Original.TAKEN: Reason.EDIT_OF_SEEN_MESSAGE,  # PART-11: never a second run
    Original.FOREIGN: Reason.EDIT_BY_ANOTHER,
    Original.UNKNOWN: Reason.EDIT_OF_UNKNOWN,
}
_ORIGINS: dict[Origin, Reason] = {
    Origin.SELF: Reason.SELF_ORIGIN,
    Origin.SYNTHETIC: Reason.SYNTHETIC,
    Origin.UNKNOWN: Reason.MALFORMED,
}
_SALUTATION = re.compile(r"\s*@?(?P<name>[^\W\d_][\w'’.\-]*(?: [^\W\d_][\w'’.\-]*)?)\s*[,:،，：]")


def admit(policy: Policy, event: Event, memory: Memory, *, now: datetime, whole: bool = False) -> Decision:
    """Judge one event.

    Args:
        policy: in force.
        event: facts of the event.
        memory: what the gateway knows of the past.
        now: aware.
        whole: the event is a part of a batch that is complete, so there is nothing left to wait for (PART-8).

    Returns:
        The one decision (PART-13). An error inside a rule is a mute with ``rule_failed``.
    """
    try:
        return _admit(policy, event, memory, now, whole=whole)
    except Exception:  # noqa: BLE001 - fail closed: whatever a rule stumbles over, the answer is silence
        return Decision(
            outcome=Outcome.MUTE,
            reason=Reason.RULE_FAILED,
            audience=Audience.UNKNOWN,
            output_class=OutputClass.NONE,
            stopped_at=Gate.IDENTITY,
        )


def _admit(policy: Policy, event: Event, memory: Memory, now: datetime, *, whole: bool) -> Decision:
    person = policy.person(event.sender)
    settings = settings_of(policy, event.destination, chat=event.chat, person=event.sender)
    audience = Audience.UNKNOWN if event.chat in _NO_CONVERSATION else settings.audience

    def stop(gate: Gate, reason: Reason, outcome: Outcome = Outcome.MUTE, *, observe: bool = False) -> Decision:
        return _decision(outcome, reason, audience, OutputClass.NONE, gate, observe=observe)

    if not event.identity_known:  # PART-14: the gate is shut, not open
        return stop(Gate.IDENTITY, Reason.IDENTITY_UNKNOWN, Outcome.DEFER)
    if event.kind is Kind.INVITE:
        verdict = answer(policy, event, settings, person)
        trusted = person is not None and person.operator
        if (
            verdict is not Reason.INVITE_NOT_AUTHORISED
            and not trusted
            and memory.person_controls >= settings.rate.person
        ):
            return stop(Gate.RATE, Reason.RATE_LIMITED)
        outcome = Outcome.MUTE if verdict is Reason.INVITE_NOT_AUTHORISED else Outcome.RESPOND
        gate = Gate.ACCESS if outcome is Outcome.MUTE else None
        return _decision(outcome, verdict, audience, OutputClass.NONE, gate, control=gate is None)
    if veto := _kind(event, memory, settings, now):
        return stop(Gate.KIND, veto)
    if veto := _origin(policy, event, now):
        return stop(Gate.ORIGIN, veto)
    if veto := _access(policy, event, settings, person):
        return stop(Gate.ACCESS, veto)
    if event.kind is Kind.UNDECRYPTABLE:  # PART-17: decided when its key arrives, if it can come to anything at all
        return stop(Gate.KIND, Reason.UNDECRYPTABLE, Outcome.DEFER)
    granted, reason = _consent(policy, event, memory, settings, person)
    if not granted:
        if not whole and event.batch is not None and reason in _ALBUM_CAN_MEND:
            # PART-8: no part of an album can be judged before all its captions are there.
            return stop(Gate.BURST, Reason.ALBUM_PART, Outcome.DEFER)
        observe = settings.observation is not None and event.chat is Chat.GROUP and event.kind in _SPOKEN
        return stop(Gate.CONSENT, reason, observe=observe)
    control = reason in _CARRIED_OUT
    if not control and not whole and (hold := _hold(event)):
        return stop(Gate.BURST, hold, Outcome.DEFER)
    if _over_rate(settings, memory, reason):
        return stop(Gate.RATE, Reason.RATE_LIMITED)
    return _decision(Outcome.RESPOND, reason, audience, output_class_of(audience), None, control=control)


@cache
def _decision(
    outcome: Outcome,
    reason: Reason,
    audience: Audience,
    output_class: OutputClass,
    stopped_at: Gate | None,
    *,
    observe: bool = False,
    control: bool = False,
) -> Decision:
    """A decision is one of some hundred values; each is made once."""
    return Decision(
        outcome=outcome,
        reason=reason,
        audience=audience,
        output_class=output_class,
        stopped_at=stopped_at,
        observe=observe,
        control=control,
    )


_CARRIED_OUT = frozenset({Reason.CONTROL_COMMAND, Reason.ANSWER, Reason.CORRECTION})
"""What the gateway itself takes, beside the lane of the agents: it waits for no batch (PART-8)."""
_ANSWERS = 3
"""Answers to a request: leafing through a calendar takes more taps than a person makes requests."""
_NO_CONVERSATION = frozenset({Chat.BROADCAST, Chat.DELEGATED})
_SPOKEN = frozenset({Kind.MESSAGE, Kind.EDIT})
_ALBUM_CAN_MEND = frozenset({Reason.NO_ADDRESS, Reason.NO_SUBSTANCE})


def _kind(event: Event, memory: Memory, settings: ChannelPolicy, now: datetime) -> Reason | None:
    """Kinds that are never a request, whatever they say."""
    if event.chat is Chat.DELEGATED:
        return Reason.BUSINESS  # PART-16
    if event.chat is Chat.BROADCAST:
        return Reason.CHANNEL_POST
    if reason := _KINDS.get(event.kind):
        return reason
    if event.origin is Origin.SELF:
        return None  # the origin gate names it
    if memory.withdrawn:
        return Reason.WITHDRAWN  # PART-18
    if event.history or memory.first_start is None or event.sent_at < memory.first_start:
        return Reason.HISTORY  # PART-12
    if now - event.sent_at > settings.backlog:
        return Reason.BACKLOG
    if event.kind is not Kind.EDIT or (memory.corrects and memory.original is Original.TAKEN):
        return None
    return _EDITS.get(memory.original)


def _origin(policy: Policy, event: Event, now: datetime) -> Reason | None:
    """The bot's own messages, other bots, programs (PART-4, PART-5)."""
    if reason := _ORIGINS.get(event.origin):
        return reason
    if event.origin is Origin.BOT or event.sender in policy.bots:
        for request in policy.bot_requests:
            here = request.channel in (event.destination, event.destination.room)
            if here and request.bot == event.sender and now < request.until:
                return None
        return Reason.BOT_ORIGIN
    return None


def _access(policy: Policy, event: Event, settings: ChannelPolicy, person: Person | None) -> Reason | None:
    """IDENT-5: the channel's access, then the person's."""
    if person is not None and person.access is Access.DENY:
        return Reason.PERSON_DENIED
    if event.chat is Chat.DIRECT:
        access = direct_access(policy, settings, person)
        if access is Access.DENY:
            return Reason.PERSON_DENIED
        return None if access is Access.ALLOW else Reason.PERSON_UNKNOWN
    if settings.access is Access.DENY:
        return Reason.CHANNEL_DENIED
    if settings.access is Access.UNKNOWN:
        unread = event.kind is Kind.UNDECRYPTABLE  # it may turn out to be a request
        explicit = event.mentions_self or unread or _is_own_command(policy, event)
        if not (policy.answer_unknown and explicit):
            return Reason.UNKNOWN_CHANNEL
    if settings.listed_people_only and person is None:
        return Reason.PERSON_UNKNOWN
    return None


def _is_own_command(policy: Policy, event: Event) -> bool:
    command = event.command
    return command is not None and command.target is Target.SELF and _recognised(policy, command.name)


def _recognised(policy: Policy, name: str) -> bool:
    return name in policy.commands or name in CONTROL_COMMANDS - OPERATORS_COMMANDS


def _is_control(name: str, settings: ChannelPolicy, person: Person | None) -> bool:
    """Whether the gateway carries a command out itself, from this person at this place."""
    if name in OPERATORS_COMMANDS:
        return settings.audience.trusted and person is not None and person.operator
    return name in CONTROL_COMMANDS


def _consent(
    policy: Policy,
    event: Event,
    memory: Memory,
    settings: ChannelPolicy,
    person: Person | None,
) -> tuple[bool, Reason]:
    """Whether there is consent, and the reason either way."""
    if event.kind is Kind.TAP:
        if memory.question:
            return True, Reason.ANSWER
        return True, Reason.TAP  # the button stands under a message of ours; who may press it is the question's matter
    if _is_correction(event, memory):
        return True, Reason.CORRECTION  # it was consent when it was an answer, and starts no run of its own (PART-11)
    command = event.command
    if command is not None and command.target is Target.OTHER:
        return False, Reason.ADDRESSED_TO_OTHER  # on every path, the free-text one included
    if event.chat is Chat.DIRECT:
        return _direct_consent(event, memory, settings, person)
    # An explicit request comes first: it also overrides "directed at another person" (PART-2).
    if command is not None and command.target is Target.SELF:
        heard = settings.audience.trusted or command.name not in DECISIONS
        if heard and _is_control(command.name, settings, person):
            return True, Reason.CONTROL_COMMAND
        if command.name in policy.commands:
            return True, Reason.DIRECTED_COMMAND
    to_others = event.mentions_others or _salutation(policy, event.text, person)
    if memory.question and (event.mentions_self or not to_others):
        return True, Reason.ANSWER
    if event.mentions_self:
        return True, Reason.EXPLICIT_MENTION
    if command is not None and command.target is Target.SELF:
        return False, Reason.UNRECOGNISED_COMMAND
    if event.mentions_others:
        return False, Reason.ADDRESSED_TO_OTHER
    if _salutation(policy, event.text, person):
        return False, Reason.SALUTATION_OF_OTHER
    if event.reply is not None:
        if event.reply.author is Author.SELF:
            return True, Reason.DIRECT_REPLY
        other = event.reply.author is Author.OTHER
        return False, Reason.REPLY_TO_OTHER if other else Reason.REPLY_AUTHOR_UNKNOWN  # never assumed (PART-1)
    return _unaddressed(event, settings, person)


def _is_correction(event: Event, memory: Memory) -> bool:
    """An edit of an answer, unless it is now said to somebody else (PART-2)."""
    if event.kind is not Kind.EDIT or not memory.corrects or memory.original is not Original.TAKEN:
        return False
    return event.mentions_self or not event.mentions_others


def _direct_consent(
    event: Event, memory: Memory, settings: ChannelPolicy, person: Person | None
) -> tuple[bool, Reason]:
    """PART-4: a human, and something said or sent."""
    if event.origin not in (Origin.HUMAN, Origin.BOT):
        return False, Reason.NO_ADDRESS
    if event.command is not None and _is_control(event.command.name, settings, person):
        return True, Reason.CONTROL_COMMAND
    if memory.question and event.text.strip():
        return True, Reason.ANSWER
    if event.text.strip() or event.attachments:
        return True, Reason.DIRECT_CHAT
    return False, Reason.NO_SUBSTANCE


def _unaddressed(
    event: Event,
    settings: ChannelPolicy,
    person: Person | None,
) -> tuple[bool, Reason]:
    """Nobody was addressed: PART-6 and PART-7, in trusted channels whose policy says so."""
    substantive = bool(event.text.strip())  # PART-3: attachments alone never give consent in a group
    if settings.audience.trusted and event.origin is Origin.HUMAN:
        operator = person is not None and person.operator
        if operator and settings.answer_operators:
            return (True, Reason.OPERATOR_MESSAGE) if substantive else (False, Reason.NO_SUBSTANCE)
        if not settings.require_mention:
            return (True, Reason.OPEN_QUESTION) if substantive else (False, Reason.NO_SUBSTANCE)
    return False, Reason.NOT_A_REPLY if event.apparent_reply else Reason.NO_ADDRESS


def _salutation(policy: Policy, text: str, sender: Person | None) -> bool:
    """PART-2: "Jordan, can you confirm?" is directed at Jordan, if the policy knows a Jordan. A veto, never a grant."""
    found = _SALUTATION.match(text)
    if found is None:
        return False
    name = found["name"].casefold()
    called = policy.called.get(name) or policy.called.get(name.split(" ")[0]) or frozenset()
    return bool(called - {sender.id} if sender is not None else called)


def _hold(event: Event) -> Reason | None:
    """PART-8: an authorised request that may be the first part of a batch waits until the batch is quiet."""
    if event.batch is not None:
        return Reason.ALBUM_PART
    if event.attachments:
        return Reason.BURST_PART
    if event.truncated:
        return Reason.FRAGMENT
    return None


def _over_rate(settings: ChannelPolicy, memory: Memory, reason: Reason) -> bool:
    """What the gateway carries out is counted by itself: "stop" works where others have used up the channel's rate."""
    rate = settings.rate
    if reason in (Reason.ANSWER, Reason.CORRECTION):
        return memory.person_controls >= rate.person * _ANSWERS
    if reason is Reason.CONTROL_COMMAND:
        return memory.person_controls >= rate.person
    return memory.person_requests >= rate.person or memory.channel_requests >= rate.channel
