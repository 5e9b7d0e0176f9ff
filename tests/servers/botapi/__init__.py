"""A strict emulator of the Telegram Bot API, for tests and benchmarks.

It speaks HTTP like the real one, judges texts with the real TDLib, and refuses what Telegram refuses. Tests hold it as
an object (``BotApi``); other processes run it with ``python -m tests.servers.botapi`` and steer it over ``/ctl``.
"""

from tests.servers.botapi.calls import Call, Violation
from tests.servers.botapi.emulator import BotApi
from tests.servers.botapi.errors import ApiError
from tests.servers.botapi.faults import Fault, FloodLimits
from tests.servers.botapi.stage import ANONYMOUS_ADMIN, LINKED_CHANNEL

__all__ = ["ANONYMOUS_ADMIN", "LINKED_CHANNEL", "ApiError", "BotApi", "Call", "Fault", "FloodLimits", "Violation"]
