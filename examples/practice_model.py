"""A model for practice behind an OpenAI-compatible interface: it knows nothing, and shows what a model can do here.

    python examples/practice_model.py --port 8099

It streams, asks a person when somebody orders coffee, files a draft when prices are asked for, and counts what it
remembers of the conversation. Put the address of a real server into ``base_url`` and the rest stays as it is.
"""

import argparse
import asyncio
import json

from aiohttp import web


def decide(messages, tools):
    """What it says, or the tool that it calls with which arguments."""
    last = messages[-1]
    if last["role"] == "tool":  # somebody has answered
        result = json.loads(last["content"])
        size = result.get("answer", {}).get("answer")
        return f"One {size} coffee, coming." if size else "Then no coffee.", None
    asked = json.loads(last["content"])["text"].lower()
    if "coffee" in asked and "ask_human" in tools:
        return "", ("ask_human", {"question": "Which size shall it be?", "choices": ["small", "large"]})
    if "price" in asked and "file_draft" in tools:
        return "", ("file_draft", {"text": "A coffee is 3 EUR.", "class": "prices"})
    earlier = sum(one["role"] == "assistant" for one in messages)
    return f"I am for practice. Try coffee, or a price. I remember {earlier} answers of mine.", None


def events(text, call):
    """A completion as servers stream it, in pieces."""

    def event(delta, finish=None):
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return f"data: {json.dumps({'object': 'chat.completion.chunk', 'choices': [choice]})}\n\n"

    if call is not None:
        name, arguments = call[0], json.dumps(call[1])
        yield event({"tool_calls": [{"index": 0, "id": "call-1", "function": {"name": name, "arguments": ""}}]})
        for at in range(0, len(arguments), 20):
            yield event({"tool_calls": [{"index": 0, "function": {"arguments": arguments[at : at + 20]}}]})
        yield event({}, "tool_calls")
    else:
        for word in text.split(" "):
            yield event({"content": f"{word} "})
        yield event({}, "stop")
    yield "data: [DONE]\n\n"


async def complete(request):
    body = await request.json()
    tools = {one["function"]["name"] for one in body.get("tools", [])}
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await response.prepare(request)
    for event in events(*decide(body["messages"], tools)):
        await response.write(event.encode())
    return response


async def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=8099)
    application = web.Application(client_max_size=16 << 20)
    application.router.add_post("/v1/chat/completions", complete)
    runner = web.AppRunner(application)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", parser.parse_args().port).start()
    host, port = runner.addresses[0]
    print(f"base_url: http://{host}:{port}/v1", flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
