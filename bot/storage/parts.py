"""Parts between their value and their row."""

from collections.abc import Callable
from typing import Any

from bot.model.output import OutFile
from bot.model.part import Action, ButtonToken, Part
from bot.ports.store import NewPart, OutboxState, Waiting
from bot.storage.digests import content_digest
from bot.storage.statements import (
    ADD_BUTTON,
    BUTTONS_OF,
    FILE_ROWS,
    FILES_OF,
    OUTBOX_ROWS,
)
from bot.storage.times import from_us
from bot.storage.writer import Transaction
from policy.boundary import Basis, Speech
from policy.decision import Audience
from policy.destination import Destination

_READY = OutboxState.READY.value

Execute = Callable[..., Any]
"""``execute`` of a connection or a transaction."""


def destination_of(account: str, channel: str, thread: str | None) -> Destination:
    """The destination of a row."""
    platform, _, workspace = account.partition(":")
    return Destination(platform=platform, workspace=workspace, channel=channel, thread=thread)


def part_digest(salt: bytes, part: Part) -> bytes:
    """Salted digest of a part's final bytes."""
    return content_digest(salt, part.digest.encode())


def store_parts(tx: Transaction, parts: list[tuple[NewPart, int, bytes]]) -> list[Waiting]:
    """Write parts, in order.

    Args:
        tx: the transaction.
        parts: each with the time at which it was made (microseconds) and its salted digest.
    """
    rows = []
    for new, made_at, digest in parts:
        part = new.part
        destination = part.destination
        rows.append(
            (
                destination.account,
                new.lane,
                destination.channel,
                destination.thread,
                part.action.value,
                part.speech.value,
                new.audience.value,
                new.basis.value,
                new.person,
                new.chat,
                new.event_id,
                new.unclear,
                digest,
                made_at,
                _READY,
                part.text,
                part.payload,
            ),
        )
    ids = tx.insert(OUTBOX_ROWS, rows)
    for part_id, (new, made_at, _) in zip(ids, parts, strict=True):
        part = new.part
        if part.files or part.buttons:
            store_extras(tx, part_id, part, event_id=new.event_id, made_at=made_at)
    return [Waiting(id=part_id, new=one[0]) for part_id, one in zip(ids, parts, strict=True)]


def store_extras(tx: Transaction, part_id: int, part: Part, *, event_id: int | None, made_at: int) -> None:
    """Write a part's files and buttons."""
    if part.files:
        tx.insert(
            FILE_ROWS,
            [(part_id, number, file.name, file.media_type, file.content) for number, file in enumerate(part.files)],
        )
    account, channel, thread = part.destination.account, part.destination.channel, part.destination.thread
    for button in part.buttons:
        tx.execute(
            ADD_BUTTON,
            (
                *(account, button.token, part_id, channel, thread, event_id, made_at),
                *(button.label, button.value, button.key),
            ),
        )


def read_part(execute: Execute, row: tuple[Any, ...]) -> Waiting:
    """A part from its row (the columns of :data:`bot.storage.statements.PART_COLUMNS`), its files and buttons."""
    (part_id, attempts, not_before, account, lane, channel, thread, action, speech, audience, basis) = row[:11]
    (person, chat, event_id, unclear, text, payload) = row[11:]
    part = Part(
        destination=destination_of(account, channel, thread),
        action=Action(action),
        speech=Speech(speech),
        text=text or "",
        payload=payload or b"",
        files=tuple(
            OutFile(name=name, media_type=media_type, content=content)
            for name, media_type, content in execute(FILES_OF, (part_id,))
        ),
        buttons=tuple(
            ButtonToken(token=token, label=label, value=value, key=key)
            for token, label, value, key in execute(BUTTONS_OF, (part_id,))
        ),
    )
    new = NewPart(
        lane=lane,
        part=part,
        audience=Audience(audience),
        basis=Basis(basis),
        person=person,
        chat=chat,
        event_id=event_id,
        unclear=unclear,
    )
    return Waiting(
        id=part_id,
        new=new,
        attempts=attempts,
        not_before=None if not_before is None else from_us(not_before),
    )
