"""The policy document: YAML text in, the policy in force out (IDENT-2, OPS-1).

The file is checked whole: first as YAML without surprises (:mod:`policy.strictyaml`), then value by value
(:mod:`policy.document_model`), then together (:mod:`policy.document_checks`). Only a file that holds becomes a policy.
"""

import hashlib
from collections.abc import Mapping
from typing import Any

from policy import ruleset
from policy.decision import Audience
from policy.destination import Destination
from policy.document_checks import burst_times, check, effective
from policy.document_content import detectors_of, disclosure_of
from policy.document_model import HINTS, Autonomy, Channel, Document, Rate, Settings
from policy.document_record import record_of
from policy.document_rules import approvals_of, check_approvals
from policy.document_shape import fit
from policy.ruleset import Access, ChannelPolicy, ContentClass, Policy, Resend, Streaming
from policy.tree import DocumentError

__all__ = ["DocumentError", "load", "schema"]

_STREAMING = {"none": Streaming.OFF, "draft": Streaming.DRAFT, "edit": Streaming.EDIT}


def load(text: str, *, source: str, environment: Mapping[str, str]) -> Policy:
    """Make a policy from its file.

    Args:
        text: of the file.
        source: its name, for problems.
        environment: what ``${NAME}`` in it stands for.

    Returns:
        The policy, with defaults applied.

    Raises:
        DocumentError: it can't hold; with every problem that was found.
    """
    document, report = fit(Document, text, source=source, environment=environment, hints=HINTS)
    if document is not None:
        check(document, report)
        check_approvals(document, report)
    if document is None or report.problems:
        raise DocumentError(report.problems)
    return _policy(document, digest=hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest())


def schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of the file, for editors that complete and check while one writes."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **_plain(Document.model_json_schema()),
    }


def _plain(part: Any) -> Any:
    """A key is written or left out, and null is no value of this file; ids are as strict as keys."""
    if isinstance(part, list):
        return [_plain(item) for item in part]
    if not isinstance(part, dict):
        return part
    kept = {key: _plain(value) for key, value in part.items() if not (key == "default" and value is None)}
    options = kept.get("anyOf")
    if options is not None:
        del kept["anyOf"]
        kept |= next(option for option in options if option != {"type": "null"})
    if "patternProperties" in kept:
        kept["additionalProperties"] = False
    return kept


def _policy(document: Document, *, digest: str) -> Policy:
    defaults = document.defaults
    operators = tuple(document.operators)
    people: dict[str, ruleset.Person] = {}
    called: dict[str, set[str]] = {}
    for name, person in document.people.items():
        principal = ruleset.Person(
            id=name,
            accounts=frozenset(person.accounts),
            operator=name in operators,
            access=Access(person.access or Access.UNKNOWN),
            counterparty=person.counterparty,
            language=person.language,
            display=person.names[0] if person.names else "",
            principals=frozenset(person.principals),
        )
        people.update(dict.fromkeys(person.accounts, principal))
        for call in person.names:
            called.setdefault(call.casefold(), set()).add(name)
            called.setdefault(call.split()[0].casefold(), set()).add(name)
    return Policy(
        channels={place: _channel(document, place) for place in document.channels},
        people=people,
        direct=ChannelPolicy(
            audience=Audience.EXTERNAL,
            access=Access.ALLOW,
            streaming=_STREAMING[document.direct.streaming or defaults.streaming or "none"],
            autonomy=_autonomy(document, None, None),
            **_common(document.direct, defaults),
        ),
        unknown=ChannelPolicy(
            audience=Audience.UNKNOWN,
            access=Access.UNKNOWN,
            autonomy=_autonomy(document, None, None),
            **_common(defaults, defaults),
        ),
        strangers=Access(document.direct.strangers or Access.UNKNOWN),
        answer_unknown=document.unknown_channels.explicit_requests == "answer",
        bot_requests=tuple(
            ruleset.BotRequest(
                bot=request.bot,
                channel=request.channel,
                requested_by=request.requested_by,
                until=request.until,
            )
            for request in document.bot_requests
        ),
        bots=frozenset(document.bots),
        invites=ruleset.Invites(
            inviters=frozenset(document.invites.by),
            listed_rooms=document.invites.rooms != "none",
            decline=document.invites.otherwise == "decline",
        ),
        called={call: frozenset(ids) for call, ids in called.items()},
        commands=frozenset(document.commands),
        counterparties={
            name: ruleset.Counterparty(
                id=name,
                name=counterparty.name,
                tier=counterparty.tier,
                protected_terms=tuple(counterparty.protected_terms),
            )
            for name, counterparty in document.counterparties.items()
        },
        digest=digest,
        operators=operators,
        timezone=defaults.timezone or "UTC",
        language=defaults.language or "en",
        agent=defaults.agent,
        approvers={name: frozenset(members) for name, members in document.approvers.groups.items()},
        tiers=_tiers(document),
        record=record_of(document.record),
        needs_reference=frozenset(map(ContentClass, document.autonomy.needs_reference)),
        detectors=detectors_of(document.detectors),
        disclosure=disclosure_of(document.disclosure),
        approvals=approvals_of(document),
    )


def _channel(document: Document, destination: Destination) -> ChannelPolicy:
    channel = effective(document, destination)
    defaults = document.defaults
    internal = channel.audience == "internal"
    acknowledges = channel.never_silent_ack if channel.never_silent_ack is not None else defaults.never_silent_ack
    streaming = _STREAMING[channel.streaming or defaults.streaming or "none"]
    return ChannelPolicy(
        audience=Audience(channel.audience or Audience.EXTERNAL),
        access=Access(channel.access or Access.ALLOW),
        counterparty=channel.counterparty,
        require_mention=channel.require_mention is not False,
        listed_people_only=channel.people == "listed",
        answer_operators=bool(channel.answer_operators),
        observation=_observation(channel),
        never_silent_ack=bool(acknowledges) and internal,
        streaming=Streaming.OFF if streaming is Streaming.DRAFT else streaming,  # drafts are for one-to-one chats
        progress=bool(channel.progress),
        reports=bool(channel.reports),
        autonomy=_autonomy(document, channel.autonomy, channel.counterparty),
        **_common(channel, defaults),
    )


def _common(settings: Settings, defaults: Settings) -> dict[str, Any]:
    """What every kind of place can say: its own word, else the defaults', else the package's."""
    return {
        "unclear_sends": Resend(settings.unclear_sends or defaults.unclear_sends or Resend.PARK),
        "agent": settings.agent or defaults.agent,
        "language": settings.language or defaults.language or "en",
        "backlog": next((own for own in (settings.backlog, defaults.backlog) if own is not None), _BACKLOG),
        "burst": burst_times(settings.burst, defaults.burst),
        "rate": _rate(settings.rate, defaults.rate),
    }


_BACKLOG = ChannelPolicy(audience=Audience.UNKNOWN, access=Access.UNKNOWN).backlog


def _rate(own: Rate | None, general: Rate | None) -> ruleset.Rate:
    rate = ruleset.Rate()
    for layer in (general, own):
        if layer is not None:
            rate = ruleset.Rate(person=layer.person or rate.person, channel=layer.channel or rate.channel)
    return rate


def _observation(channel: Channel) -> ruleset.Observation | None:
    if channel.observation is None or not channel.observe_unmentioned_group_messages:
        return None
    return ruleset.Observation(
        retention=channel.observation.retention,
        readers=frozenset(channel.observation.readers),
    )


def _tiers(document: Document) -> dict[int, frozenset[ContentClass]]:
    return {int(tier): frozenset(map(ContentClass, classes)) for tier, classes in document.autonomy.tiers.items()}


def _autonomy(document: Document, own: Autonomy | None, counterparty: str | None) -> ruleset.Autonomy:
    """Layers can make more draft-only, never less (AUTO-2)."""
    general = document.autonomy
    layers = [general] if own is None else [general, own]
    classes = {ContentClass(name) for layer in layers for name in layer.draft_only or ()}
    tier = document.counterparties[counterparty].tier if counterparty is not None else None
    if tier is not None:
        classes |= _tiers(document).get(tier, frozenset())
    automatic = general.default != "draft"
    if own is not None and own.default is not None:
        automatic = own.default == "auto"
    return ruleset.Autonomy(
        automatic=automatic,
        draft_only=ruleset.DRAFT_ONLY | classes,
        auto_after=bool(general.auto_after if own is None or own.auto_after is None else own.auto_after),
        holding_words=bool(general.holding_words if own is None or own.holding_words is None else own.holding_words),
    )
