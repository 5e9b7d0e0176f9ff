"""A LangChain agent whose tool waits for a person. Stop it while it waits and start it again: the card is the same.

    DISCREET_URL=http://127.0.0.1:8090 DISCREET_KEY=... python examples/langgraph_refund.py

The model here is scripted; put yours in its place. A checkpointer that outlives the process (SQLite, PostgreSQL) is
what makes a thread go on after a restart; the one here is a few files.
"""

import os
import sys
import threading
from pathlib import Path

from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver, PersistentDict

from bot.clients.gateway import Gateway
from bot.clients.langgraph import run
from bot.clients.people import People


class Scripted(GenericFakeChatModel):
    """Says what stands in its script."""

    def bind_tools(self, tools, **kwargs):
        return self


@tool
def refund(order: int, amount: int) -> str:
    """Pay money back."""
    with Path("refunds.txt").open("a") as paid:
        paid.write(f"{order} {amount}\n")
    return f"refunded {amount} for order {order}"


class FileSaver(InMemorySaver):
    """Keeps checkpoints in files; good enough for an example."""

    def __init__(self) -> None:
        self.files: list[PersistentDict] = []
        self.saving = threading.Lock()
        super().__init__(factory=self._file)

    def _file(self, *given):
        kept = PersistentDict(*given, filename=f"checkpoints-{len(self.files)}.pickle")
        self.files.append(kept)
        if Path(kept.filename).exists():
            kept.load()
        return kept

    def put(self, *given):
        done = super().put(*given)
        self.save()
        return done

    def put_writes(self, *given):
        super().put_writes(*given)
        self.save()

    def save(self):
        with self.saving:
            for kept in self.files:
                kept.sync()


def main() -> None:
    """Ask the agent once."""
    gateway = Gateway(os.environ["DISCREET_URL"], os.environ["DISCREET_KEY"])
    people = People(gateway=gateway, system="shop", task="ticket 4711")
    config = {"configurable": {"thread_id": "ticket-4711"}}
    checkpoints = FileSaver()
    call = {"name": "refund", "args": {"order": 17, "amount": 120}, "id": "call-1", "type": "tool_call"}
    began = checkpoints.get(config) is not None  # the scripted model has made its call already
    script = (
        [AIMessage(content="Done.")]
        if began
        else [AIMessage(content="", tool_calls=[call]), AIMessage(content="Done.")]
    )
    agent = create_agent(
        Scripted(messages=iter(script)),
        tools=[refund],
        middleware=[HumanInTheLoopMiddleware(interrupt_on={"refund": True})],
        checkpointer=checkpoints,
    )
    asked = {"messages": [{"role": "user", "content": "Order 17 was never delivered."}]}
    values = run(agent, asked, config, people=people)
    for message in values["messages"]:
        sys.stdout.write(f"{message.type}: {message.content}\n")


if __name__ == "__main__":
    main()
