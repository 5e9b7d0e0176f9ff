"""``discreet grants`` and ``discreet deliveries`` (OUT-6)."""

import asyncio
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from bot.cli import terminal
from bot.cli.reading import read
from bot.cli.serving import read_config
from bot.config.errors import ConfigError
from bot.model.delivery import Delivery
from policy.grants import Grant

_SHOWN: Final = 8
"""Characters of a delivery's id, which operators are told too."""


def add(path: Path, *, agent: str, destination: str, uses: int, lasts: str, purpose: str) -> None:
    """Make a grant and print its id."""
    config = read_config(path)

    from bot.wiring.deliveries import add_grant

    made = add_grant(config, agent=agent, destination=destination, uses=uses, lasts=lasts, purpose=purpose)
    print(asyncio.run(made))
    terminal.note(f"The agent {agent} may write to {destination} unasked. discreet grants revoke ID takes it back.")


def revoke(path: Path, grant: str) -> None:
    """Take a grant back.

    Raises:
        ConfigError: there is none that could be.
    """
    config = read_config(path)

    from bot.wiring.deliveries import revoke_grant

    if not asyncio.run(revoke_grant(config, grant.lower())):
        raise ConfigError(f"there is no grant {terminal.clean(grant)!r} to take back. discreet grants list shows them")
    terminal.good("revoked")


def list_grants(path: Path, *, everything: bool, as_json: bool) -> None:
    """Print grants, those that can't be used any more only where they are asked for."""
    now = datetime.now(UTC)
    grants: list[Grant] = read(read_config(path), lambda reader: reader.grants.all())
    shown = [grant for grant in grants if everything or grant.is_open(now)]
    if as_json:
        for grant in shown:
            print(json.dumps(_grant_facts(grant, now), ensure_ascii=False))
        return
    if not shown:
        terminal.say("There are no grants that can be used. An operator makes one by writing to the bot, inside:")
        terminal.say("/grant AGENT DESTINATION USES TIME PURPOSE")
        return
    head = ("id", "state", "agent", "destination", "used", "until (UTC)", "issuer", "purpose")
    rows = [
        (
            grant.id,
            _state(grant, now),
            grant.agent,
            str(grant.destination),
            f"{grant.used}/{grant.uses}",
            f"{grant.expires_at:%Y-%m-%d %H:%M}",
            str(grant.issuer),
            grant.purpose,
        )
        for grant in shown
    ]
    terminal.table(head, rows)


def list_deliveries(path: Path, *, as_json: bool) -> None:
    """Print deliveries, the latest first, without their words."""

    async def look(reader: Any) -> list[tuple[Delivery, Mapping[str, int]]]:
        return [(one, await reader.deliveries.receipts(one.id)) for one in await reader.deliveries.all()]

    found = read(read_config(path), look)
    if as_json:
        for delivery, receipts in found:
            print(json.dumps(_delivery_facts(delivery, receipts), ensure_ascii=False))
        return
    if not found:
        terminal.say("No agent has asked for a delivery. They do it by POST /v1/deliveries, with a grant.")
        return
    head = ("id", "state", "agent", "destination", "when", "next (UTC)", "fired", "code")
    rows = [
        (
            delivery.id[:_SHOWN],
            delivery.state.value,
            delivery.agent,
            str(delivery.destination),
            "once" if delivery.cron is None else f"{delivery.cron} {delivery.timezone}",
            "-" if delivery.next_at is None else f"{delivery.next_at:%Y-%m-%d %H:%M}",
            str(delivery.fired),
            delivery.code or "-",
        )
        for delivery, _ in found
    ]
    terminal.table(head, rows)


def _state(grant: Grant, now: datetime) -> str:
    if grant.revoked_at is not None:
        return "revoked"
    if now >= grant.expires_at:
        return "expired"
    return "open" if grant.is_open(now) else "used up"


def _grant_facts(grant: Grant, now: datetime) -> dict[str, object]:
    return {
        "id": grant.id,
        "state": _state(grant, now),
        "issuer": str(grant.issuer),
        "agent": grant.agent,
        "destination": str(grant.destination),
        "purpose": grant.purpose,
        "uses": grant.uses,
        "used": grant.used,
        "issued_at": grant.issued_at.isoformat(),
        "expires_at": grant.expires_at.isoformat(),
        "revoked_at": None if grant.revoked_at is None else grant.revoked_at.isoformat(),
    }


def _delivery_facts(delivery: Delivery, receipts: Mapping[str, int]) -> dict[str, object]:
    return {
        "id": delivery.id,
        "state": delivery.state.value,
        "code": delivery.code,
        "agent": delivery.agent,
        "destination": str(delivery.destination),
        "grant": delivery.grant,
        "at": None if delivery.at is None else delivery.at.isoformat(),
        "cron": delivery.cron,
        "timezone": delivery.timezone,
        "next_at": None if delivery.next_at is None else delivery.next_at.isoformat(),
        "fired": delivery.fired,
        "receipts": dict(receipts),
    }
