"""What the command line asks about approvals of a running daemon (APPR-6)."""

from typing import Final

from bot.approvals.proposing import read_code
from bot.approvals.room import ApprovalRoom
from bot.config.settings import Config
from bot.model.errors import ConfigError
from bot.wiring.records import CONTROL, Verb

RECONCILE: Final = "reconcile"
_EXECUTED: Final = "executed"


def approval_verbs(room: ApprovalRoom) -> dict[str, Verb]:
    """The verbs of the control socket; whoever may use it has the files of this installation."""

    async def reconcile(*, approval: str, outcome: str, evidence: str, by: str) -> str:
        found = await room.look(approval) or await room.by_code(read_code(approval))
        if found is None:
            raise ConfigError("there is no such approval that is open. discreet approvals list shows them")
        done = await room.reconcile(found.id, executed=outcome == _EXECUTED, evidence=evidence, by=by)
        return done.state.value

    return {RECONCILE: reconcile}


async def reconcile_approval(config: Config, approval: str, *, executed: bool, evidence: str, by: str) -> str:
    """Ask the running daemon to write down what became of an approval; returns its state.

    Raises:
        ConfigError: no daemon runs, or it refused; the text says the mend.
    """
    from bot.api.control import ask

    outcome = _EXECUTED if executed else "failed"
    return await ask(config.data_dir / CONTROL, RECONCILE, approval=approval, outcome=outcome, evidence=evidence, by=by)
