"""An agent with MCP: it asks people, proposes a refund, carries out exactly what was approved, and tells the outcome.

    DISCREET_URL=http://127.0.0.1:8090 DISCREET_KEY=... python examples/mcp_agent.py

With a model it is the model that calls these tools; here each step stands in its place.
"""

import asyncio
import os

from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client


def refund(order, amount):
    """The action itself; it is run by the agent, not by the gateway."""
    print(f"paid {amount} back for order {order}")


async def main():
    url, key = os.environ["DISCREET_URL"], os.environ["DISCREET_KEY"]
    async with (
        create_mcp_http_client(headers={"Authorization": f"Bearer {key}"}) as http,
        Client(streamable_http_client(f"{url}/mcp", http_client=http)) as client,
    ):

        async def call(name, **arguments):
            """A tool; people take their time, so what is pending is asked for again."""
            result = await client.call_tool(name, arguments)
            answer = result.structured_content
            if result.is_error:
                raise SystemExit(f"{name}: {answer['message']}")
            while answer["status"] == "pending":
                print(f"waiting for people: {answer['id']}")
                answer = (await client.call_tool("get_answer", {"id": answer["id"]})).structured_content
            return answer

        question = {"type": "object", "properties": {"lost": {"type": "boolean"}}, "required": ["lost"]}
        asked = await call("ask_human", question="Was the parcel of order 17 lost?", schema=question)
        if asked["status"] != "answered" or not asked["answer"]["lost"]:
            raise SystemExit("nothing to refund")
        parameters = {"order": 17, "amount": 120}
        decided = await call("request_approval", action="refund", parameters=parameters, reason="The parcel was lost.")
        if decided["status"] != "approved":
            raise SystemExit(f"not approved: {decided['status']}")
        leave = await call("use_approval", id=decided["id"], version=decided["version"])
        try:
            refund(**leave["parameters"])  # people may have changed them
        except Exception:
            await call("human_send_result", responds_to=decided["id"], status="unknown")
            raise
        told = await call("human_send_result", responds_to=decided["id"], status="success", note="refund 99")
        print(f"the approval is {told['status']}")


asyncio.run(main())
