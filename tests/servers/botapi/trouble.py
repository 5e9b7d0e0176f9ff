"""Trouble on order, as tests ask for it."""

from tests.servers.botapi.account import Account
from tests.servers.botapi.errors import ApiError
from tests.servers.botapi.faults import Fault, FloodLimits
from tests.servers.botapi.world import Tree


class Trouble:
    """Refusals, hanging calls, cut connections, flood limits, passing time."""

    account: Account

    @property
    def faults(self) -> list[Fault]:
        """Trouble on order; the first rule that applies to a call decides."""
        raise NotImplementedError

    def fail(
        self,
        method: str,
        code: int = 500,
        description: str = "Internal Server Error",
        parameters: Tree | None = None,
        *,
        times: int | None = 1,
        chat_id: int | None = None,
        match_text: str | None = None,
        retry_after: int | None = None,
        raw: str | None = None,
        deliver: bool = False,
    ) -> Fault:
        """Refuse calls.

        Args:
            method: whose; ``*`` for all but getUpdates.
            code: the HTTP status.
            description: Telegram's sentence.
            parameters: of the answer.
            times: how many calls, None for all.
            chat_id: only calls to this chat.
            match_text: only calls whose text or caption holds this.
            retry_after: makes it a 429 with this time (s).
            raw: answer with this body, which is no JSON, such as a proxy's page.
            deliver: the message appears all the same.
        """
        if retry_after is not None:
            code, description = 429, f"Too Many Requests: retry after {retry_after}"
            parameters = {"retry_after": retry_after}
        error = ApiError(code, description, parameters)
        return self._add(
            Fault(
                method=method,
                kind="fail",
                error=error,
                raw=raw,
                deliver=deliver,
                times=times,
                chat_id=chat_id,
                match_text=match_text,
            ),
        )

    def hang(
        self,
        method: str,
        *,
        deliver: bool = True,
        times: int | None = 1,
        chat_id: int | None = None,
        match_text: str | None = None,
    ) -> Fault:
        """Take calls and don't answer until ``release()`` or ``cut()`` of the fault, or the end.

        With ``deliver`` the effect comes before the hanging; without it, it comes when the call is released, and never
        when it is cut. ``await fault.reached()`` tells that a call has come.
        """
        return self._add(
            Fault(method=method, kind="hang", deliver=deliver, times=times, chat_id=chat_id, match_text=match_text),
        )

    def drop(
        self,
        method: str,
        *,
        deliver: bool = False,
        times: int | None = 1,
        chat_id: int | None = None,
        match_text: str | None = None,
    ) -> Fault:
        """Reset the connection instead of answering; with ``deliver`` after the effect."""
        return self._add(
            Fault(method=method, kind="drop", deliver=deliver, times=times, chat_id=chat_id, match_text=match_text),
        )

    def calm(self) -> None:
        """Take back all trouble on order; calls that hang are cut."""
        for fault in self.faults:
            fault.cut()
        self.faults.clear()

    @property
    def flood(self) -> FloodLimits | None:
        """Flood limits; None, the default, means none."""
        return self.account.limits

    @flood.setter
    def flood(self, limits: FloodLimits | None) -> None:
        self.account.limits = limits

    def age(self, seconds: float) -> None:
        """Let time pass on the emulator: updates expire, taps become too old, flood windows move."""
        self.account.world.skew_s += seconds

    def restart_update_ids(self, at: int) -> None:
        """Go on numbering updates from another number, as after a quiet week."""
        self.account.updates.restart_ids(at)

    def _add(self, fault: Fault) -> Fault:
        self.faults.append(fault)
        return fault
