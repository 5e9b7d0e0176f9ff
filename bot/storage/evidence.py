"""What the journal says of approvals, step by step, for judges from outside (see :mod:`bot.approvals.trace`).

The steps come from the journal alone. The store only lends the names of actions that it still knows, so that a reader
can tell one from another.
"""

import asyncio
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime

import orjson

from bot.approvals.trace import Step
from bot.approvals.verifying import Testimony, Voice
from bot.journal.chain import Record
from bot.model.approval import DecidedBy, Verdict
from bot.storage import statements as sql
from bot.storage.approval_statements import NAMES
from bot.storage.database import SALT
from bot.storage.digests import content_digest
from bot.storage.ledger import JournalReader
from bot.storage.reader import Reader
from bot.storage.times import from_us

_KINDS = frozenset({"proposed", "approval"})
_SETTLED = {"approved": "approve", "denied": "deny", "in_review": "show"}
"""What went together with a proposal or a revision, by the state that came of it."""


class EvidenceReader:
    """Looks at approvals through the journal, also while the daemon writes it."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._journal = JournalReader(reader)

    async def steps(self, *, since: datetime | None = None) -> list[Step]:
        """All steps of all approvals, in their order.

        Args:
            since: only approvals that were proposed then or later; None: all.
        """
        return await asyncio.to_thread(lambda: list(self._steps(since)))

    async def names(self) -> dict[str, tuple[str, str]]:
        """(action, system) by the version as the journal writes it, of approvals whose words are not erased."""
        return await asyncio.to_thread(self._names)

    async def testimony(self) -> Testimony:
        """What it says of passkeys: which were enrolled, and what they have approved (APPR-9)."""
        return await asyncio.to_thread(self._testimony)

    def _testimony(self) -> Testimony:
        salt = self._salt()
        keys: dict[str, str] = {}
        approved: Counter[Voice] = Counter()
        high: Counter[Voice] = Counter()
        for record in self._journal.walk():
            if record.kind == "passkey":
                facts = orjson.loads(record.facts)
                if facts["verb"] == "added":
                    keys[facts["passkey"]] = facts["key"]
            elif record.kind in _KINDS:
                facts = orjson.loads(record.facts)
                if facts.get("verdict") == Verdict.APPROVE.value:
                    voice = Voice(facts["approval"], facts["version"], facts["by"] or "", DecidedBy(facts["way"]))
                    approved[voice] += 1
                    high[voice] += facts["high"]
        return Testimony(
            keys=keys,
            approved=approved,
            high=high,
            tag=lambda text: content_digest(salt, text.encode("utf-8", "replace")).hex()[:32],
            digest=lambda content: content_digest(salt, content).hex(),
        )

    def _salt(self) -> bytes:
        return bytes.fromhex(self._reader.read(sql.READ_META, (SALT,))[0][0])

    def _steps(self, since: datetime | None) -> Iterator[Step]:
        wanted: set[str] = set()
        for record in self._journal.walk():
            if record.kind not in _KINDS:
                continue
            facts = orjson.loads(record.facts)
            if record.kind == "proposed" and (since is None or from_us(record.at_us) >= since):
                wanted.add(facts["approval"])
            if facts["approval"] in wanted:
                yield from _read(record, facts)

    def _names(self) -> dict[str, tuple[str, str]]:
        salt = self._salt()
        found = {}
        for version, document in self._reader.read(NAMES):
            written = orjson.loads(document)
            tag = content_digest(salt, version.encode()).hex()[:32]
            found[tag] = (str(written.get("action", "")), str(written.get("system", "")))
        return found


def _read(record: Record, facts: dict[str, str | int | None]) -> Iterator[Step]:
    """A record as steps; one that was judged or shown at once is two."""
    expires = facts.get("expires")

    def step(verb: str, *, by_policy: bool) -> Step:
        return Step(
            at=from_us(record.at_us),
            approval=str(facts["approval"]),
            version=str(facts["version"]),
            verb=verb,
            by_policy=by_policy,
            expires_at=datetime.fromtimestamp(expires, UTC) if isinstance(expires, int) else None,
        )

    verb = str(facts["verb"])
    by_policy = facts.get("way") == DecidedBy.POLICY.value
    if verb not in ("propose", "revise"):
        yield step(verb, by_policy=by_policy)
        return
    yield step(verb, by_policy=False)
    at_once = _SETTLED.get(str(facts["state"]))
    if at_once is not None:
        yield step(at_once, by_policy=by_policy)
