"""What every store must do with drafts that end requests (bot.ports.approvals.Filings)."""

import asyncio
from dataclasses import replace

import pytest

from bot.model.approval import ITSELF, SAY, Action, Approval, ApprovalState, Origin, Proposal, Subject
from bot.model.errors import StoreError
from bot.model.output import OutFile
from bot.ports.approvals import Role, Shown
from bot.ports.store import Ending
from policy.event import Chat
from tests.contract.test_store import backend, store
from tests.stored import ACCOUNT, HOUR, NOW, PLACE, RESPOND, decided, new

__all__ = ["backend", "store"]

FILE = OutFile(name="a.txt", media_type="text/plain", content=b"words")


def draft(text="It costs 10 EUR.", *, name="one", event_id=None):
    action = Action(name=SAY, system=ITSELF, parameters={"destination": str(PLACE), "text": text, "files": []})
    return Approval(
        id=name,
        code=name.upper(),
        agent="main",
        key=name,
        subject=Subject.DRAFT,
        proposal=Proposal(action=action),
        version=action.version,
        origin=Origin(destination=PLACE, chat=Chat.GROUP, event_id=event_id),
        proposed_at=NOW,
        expires_at=None,
    )


def ending(stored, *parts):
    return Ending(event_id=stored.id, parts=tuple(parts), outcome="drafted")


def shown(approval):
    return [Shown(part=new(), role=Role.CARD, version=approval.version)]


async def file(store, approval, end, *, verb=None, files=()):
    return await store.filings.file(approval, verb=verb, shown=shown(approval), files=files, ending=end, now=NOW)


@pytest.mark.rule("DUR-3", "AUTO-6")
async def test_a_draft_and_the_end_of_its_request_are_written_together(backend, store):
    asked = await decided(store.inbox, 1, RESPOND)
    one = draft(event_id=asked.id)
    waiting = await file(store, one, ending(asked, new(event_id=asked.id)), files=(FILE,))
    assert len(waiting) == 2
    again = await backend.open()
    assert await again.inbox.unfinished(ACCOUNT) == []
    assert await again.approvals.draft_for(PLACE) == one
    assert await again.approvals.files(one.id, one.version) == (FILE,)
    assert await again.filings.asked_in(asked.id) == "1"


@pytest.mark.rule("DUR-3")
async def test_a_request_that_has_ended_leaves_no_draft(store):
    asked = await decided(store.inbox, 1, RESPOND)
    await store.inbox.finish(asked.id, [], outcome="stopped", now=NOW)
    with pytest.raises(StoreError):
        await file(store, draft(), ending(asked))
    assert await store.approvals.draft_for(PLACE) is None


@pytest.mark.rule("AUTO-6", "DUR-3")
async def test_of_two_drafts_for_one_destination_one_is_filed_and_the_request_of_the_other_has_not_ended(store):
    first, second = [await decided(store.inbox, key, RESPOND) for key in (1, 2)]
    results = await asyncio.gather(
        file(store, draft(), ending(first)), file(store, draft("another", name="two"), ending(second))
    )
    assert sorted(result is None for result in results) == [False, True]
    (left,) = await store.inbox.unfinished(ACCOUNT)
    assert left.stored.id == (second if results[1] is None else first).id


@pytest.mark.rule("AUTO-6", "DUR-3")
async def test_a_change_that_came_first_leaves_the_request_as_it_was(store):
    first, second = [await decided(store.inbox, key, RESPOND) for key in (1, 2)]
    one = draft()
    await file(store, one, ending(first))
    cancelled = replace(one, state=ApprovalState.CANCELLED, closed_at=NOW + HOUR)
    assert await store.approvals.change(cancelled, verb="cancel", now=NOW + HOUR) is not None
    other = draft("another")
    again = replace(one, proposal=other.proposal, version=other.version)
    assert await file(store, again, ending(second), verb="revise") is None
    (left,) = await store.inbox.unfinished(ACCOUNT)
    assert left.stored.id == second.id
    assert (await store.approvals.get(one.id)).state is ApprovalState.CANCELLED


async def test_a_request_that_was_deleted_is_not_replied_to(store):
    asked = await decided(store.inbox, 1, RESPOND)
    await file(store, draft(event_id=asked.id), ending(asked))
    await store.inbox.withdraw(PLACE, "1", now=NOW)
    assert await store.filings.asked_in(asked.id) is None
