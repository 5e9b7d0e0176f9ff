"""An agent that asks a person before it acts, over A2H 1.0. It needs Python alone.

    A2H_GATEWAY=http://127.0.0.1:8090 A2H_KEY=... python examples/a2h_agent.py main ann

The arguments: the agent's name at the gateway, and the person who is asked (an id of the policy).
"""

import json
import os
import sys
import time
import urllib.request
import uuid
from datetime import UTC, datetime

GATEWAY, KEY = os.environ["A2H_GATEWAY"], os.environ["A2H_KEY"]
ENDS = ("ANSWERED", "EXPIRED", "CANCELLED", "FAILED")


def call(method: str, path: str, body: dict[str, object] | None = None) -> dict[str, object]:
    """One call of the gateway."""
    request = urllib.request.Request(  # noqa: S310 - the address is the user's own
        GATEWAY + path,
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={"X-A2H-API-Key": KEY, "Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310 - likewise
        return json.load(answer)


def message(agent: str, person: str, kind: str, body: str, **more: object) -> dict[str, object]:
    """A message of A2H. Sent again with the same message_id it is the same."""
    return {
        "a2h_version": "1.0",
        "type": kind,
        "message_id": str(uuid.uuid4()),
        "agent_id": agent,
        "principal_id": person,
        "created_at": datetime.now(UTC).isoformat(),
        "render": {"body": body},
        **more,
    }


def main(agent: str, person: str) -> int:
    """Ask, wait, act, tell."""
    asked = message(
        agent,
        person,
        "AUTHORIZE",
        "Restart the print server?",
        params={"action": "restart", "host": "print-1"},
        explanation_bundle={"why": "three jobs are stuck"},
        ttl_sec=600,
    )
    stands = call("POST", "/v1/intent", asked)
    print("asked:", stands["interaction_id"], flush=True)
    while stands["state"] not in ENDS:
        time.sleep(1)
        stands = call("GET", f"/v1/status/{stands['interaction_id']}")
    print(stands["state"], stands.get("decision"), flush=True)
    if stands.get("decision") != "APPROVE":
        return 1
    print("restarting print-1 ...", flush=True)  # the action itself
    told = call(
        "POST",
        "/v1/intent",
        message(
            agent,
            person,
            "RESULT",
            "The print server is back.",
            responds_to=asked["message_id"],
            params={"status": "EXECUTED"},
        ),
    )
    print("told:", told["state"], flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
