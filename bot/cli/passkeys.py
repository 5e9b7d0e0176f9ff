"""``discreet passkeys`` and ``discreet approvals verify`` (APPR-9)."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from bot.cli import terminal
from bot.cli.failing import NOT_IN_ORDER, OK
from bot.cli.reading import read
from bot.cli.serving import read_config
from bot.config.errors import ConfigError
from bot.model.approval import Approval
from bot.ports.approvals import Passkey

if TYPE_CHECKING:
    from bot.approvals.verifying import Testimony
    from bot.journal.chain import Break

_MOST: Final = 1_000_000
_FAULTS: Final[Mapping[str, str]] = {
    "no_proof": "it was approved without a passkey, or its proof is gone",
    "unreadable": "what is stored is no proof",
    "other_approval": "the proof is of another approval",
    "other_version": "the proof is of another version",
    "other_words": "the proof is of another justification",
    "gone": "the journal knows of an approval by passkey that the store does not have any more",
    "not_recorded": "the journal knows of no such approval: nobody has given it",
    "not_in_journal": "the journal knows no such key of this passkey",
    "unknown_passkey": "no passkey of this id was ever enrolled",
    "other_key": "its key is not the one that was enrolled",
    "other_person": "the passkey belongs to somebody else",
    "not_valid_then": "the passkey was not enrolled yet, or revoked already",
    "signature": "the signature does not hold",
}


def print_passkey_invite(path: Path, person: str) -> None:
    """Print the one-time link under which an operator adds a passkey."""
    config = read_config(path)

    from bot.wiring.passkeys import invite_passkey

    print(asyncio.run(invite_passkey(config, person)))  # a secret that is meant for the terminal
    terminal.note(f"This link lets {person} add one passkey, within 15 minutes. Send it to nobody else.")


def list_passkeys(path: Path, *, as_json: bool) -> None:
    """Print every passkey, those that were revoked included."""
    from bot.approvals.passkeys import short

    passkeys = _passkeys(path)
    if as_json:
        for one in passkeys:
            print(json.dumps({"passkey": short(one.id), **_facts(one)}, ensure_ascii=False))
        return
    if not passkeys:
        terminal.say("There are no passkeys. An operator gets one by writing /passkey to the bot, or by a link:")
        terminal.say("discreet passkeys invite PERSON")
        return
    for one in passkeys:
        state = "" if one.revoked_at is None else f"  revoked {one.revoked_at:%Y-%m-%d %H:%M}"
        label = f"  {terminal.clean(one.label)}" if one.label else ""
        terminal.say(f"{short(one.id)}  {one.person}  added {one.added_at:%Y-%m-%d %H:%M}{state}{label}")


def revoke(path: Path, beginning: str) -> None:
    """Take a passkey away."""
    config = read_config(path)

    from bot.approvals.passkeys import short
    from bot.wiring.passkeys import revoke_passkey, which

    found = which(_passkeys(path), beginning)
    if found.revoked_at is not None or not asyncio.run(revoke_passkey(config, found.id)):
        raise ConfigError("this passkey was revoked before")
    terminal.good(f"revoked: {short(found.id)} of {found.person}")


def verify_proofs(path: Path, asked: str | None) -> int:
    """Look at stored proofs again, from the store and its journal alone; returns the exit code.

    Args:
        path: of the configuration.
        asked: id or code of one approval; None: all.

    Raises:
        ConfigError: there is no such approval.
    """
    from bot.approvals.verifying import look_at

    stored = read(read_config(path), lambda reader: _stored(reader, asked))
    cut = stored.cut
    looked_at = 0
    broken = cut is not None
    if cut is not None:
        terminal.complain(f"journal: broken at record {cut.seq}: {cut.why}")
    found = look_at(stored.approvals, stored.passkeys, stored.testimony, later=stored.later, alone=asked is not None)
    for one in found:
        looked_at += 1
        broken = broken or bool(one.faults)
        name = f"-  {one.tag}" if one.approval is None else f"{one.approval.code}  {one.approval.id}"
        if one.decision is not None:
            name += f"  {one.decision.person or '-'}  {one.decision.at:%Y-%m-%d %H:%M}"
        if one.faults:
            terminal.say(f"fail  {name}  {'; '.join(_FAULTS[code] for code in one.faults)}")
        else:
            terminal.good(f"pass  {name}")
    if not looked_at:
        terminal.say("There is no approval by passkey" + (" in the store." if asked is None else " of this one."))
    return NOT_IN_ORDER if broken else OK


@dataclass(frozen=True, kw_only=True, slots=True)
class _Stored:
    """Everything that is looked at; a gateway that runs may write meanwhile."""

    testimony: "Testimony"
    approvals: list[Approval]
    passkeys: list[Passkey]
    later: "Testimony"
    cut: "Break | None"


async def _stored(reader: Any, asked: str | None) -> _Stored:
    testimony = await reader.evidence.testimony()
    approvals = await _asked(reader, asked)
    passkeys = await reader.passkeys.all()
    later = await reader.evidence.testimony()
    cut = await reader.journal.verify()
    return _Stored(testimony=testimony, approvals=approvals, passkeys=passkeys, later=later, cut=cut)


async def _asked(reader: Any, asked: str | None) -> list[Approval]:
    if asked is None:
        return list(reversed(await reader.approvals.recent(_MOST)))
    found = await reader.approvals.get(asked) or await reader.approvals.by_code(asked.upper())
    if found is None:
        raise ConfigError(f"there is no approval {asked!r}. Give its id, or the code of one that is open")
    return [found]


def _passkeys(path: Path) -> Sequence[Passkey]:
    passkeys: Sequence[Passkey] = read(read_config(path), lambda reader: reader.passkeys.all())
    return passkeys


def _facts(one: Passkey) -> dict[str, object]:
    return {
        "id": one.id,
        "person": one.person,
        "label": one.label,
        "added_at": one.added_at.isoformat(),
        "revoked_at": None if one.revoked_at is None else one.revoked_at.isoformat(),
        "sign_count": one.sign_count,
    }
