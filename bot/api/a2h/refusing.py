"""How A2H says no: ``{error: ERR.CODE, message, details?}`` (AGENT-1)."""

from collections.abc import Mapping
from typing import Any, Final

from bot.api.answering import RefusedError

EXPIRED: Final = "ERR.EXPIRED"
INVALID: Final = "ERR.INVALID_REQUEST"
PRINCIPAL: Final = "ERR.INVALID_PRINCIPAL"
UNAVAILABLE: Final = "ERR.CHANNEL_UNAVAILABLE"
CONFLICT: Final = "ERR.CONFLICT"
REPLAY: Final = "ERR.REPLAY_REJECTED"
LIMITED: Final = "ERR.RATE_LIMITED"
DELIVERY: Final = "ERR.DELIVERY_FAILED"
QUIET: Final = "ERR.QUIET_HOURS"
CODES: Final = (EXPIRED, INVALID, PRINCIPAL, UNAVAILABLE, CONFLICT, REPLAY, LIMITED, DELIVERY, QUIET)

_BY_STATUS: Final[Mapping[int, str]] = {409: CONFLICT, 429: LIMITED, 503: UNAVAILABLE}


class A2hError(RefusedError):
    """A refusal with its code and what more there is to say."""

    def __init__(self, status: int, code: str, text: str, *, after_s: float = 0.0, **details: Any) -> None:
        super().__init__(status, code, text, after_s=after_s)
        self.details = details


def refused_document(refused: RefusedError) -> dict[str, Any]:
    """A refusal as it is sent."""
    if isinstance(refused, A2hError):
        code, details = refused.code, dict(refused.details)
    else:
        code, details = _BY_STATUS.get(refused.status, INVALID), {"reason": refused.code}
    if refused.problems:
        details["problems"] = [
            {"path": path, "code": problem, "detail": detail} for path, problem, detail in refused.problems
        ]
    document: dict[str, Any] = {"error": code, "message": refused.text}
    if details:
        document["details"] = details
    if refused.after_s > 0:
        document["retry_after_sec"] = int(refused.after_s) + 1
    return document
