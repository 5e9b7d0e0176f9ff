"""A tool call behind the Agent Approval Protocol's own client: it waits for a person, and runs once.

DISCREET_URL=http://127.0.0.1:8090 DISCREET_KEY=... python examples/aap_gate.py
"""

import os

from agentapprovalprotocol import Call, Client, Gate

gate = Gate(Client(f"{os.environ['DISCREET_URL']}/aap", os.environ["DISCREET_KEY"]))
call = Call(key="ticket-4711:call-1", tool="refund", server="shop", arguments={"order": 17, "amount": 120})
with gate.guard(call) as verdict:
    print("refunded" if verdict else verdict.reason)
