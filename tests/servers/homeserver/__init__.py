"""A scripted Matrix homeserver for one bot account, over real HTTP on 127.0.0.1.

It keeps rooms, positions, transactions, media and device keys like a real one, records every call, and makes trouble
on order. What it shows to the bot may be spoiled at will: it does not judge what a test pushes.
"""

from tests.servers.homeserver.calls import Call, Fault
from tests.servers.homeserver.server import Homeserver
from tests.servers.homeserver.world import Room

__all__ = ["Call", "Fault", "Homeserver", "Room"]
