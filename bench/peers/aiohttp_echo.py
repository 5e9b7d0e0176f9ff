"""The bare loop: raw getUpdates and 16 sends in flight, nothing kept: python -m bench.peers.aiohttp_echo URL TOKEN."""

import asyncio
import sys

import aiohttp
import orjson

BASE = f"{sys.argv[1]}/bot{sys.argv[2]}/"


async def main() -> None:
    """Poll and echo."""
    places = asyncio.Semaphore(16)
    running: set[asyncio.Task[None]] = set()
    async with aiohttp.ClientSession() as session:

        async def reply(message: dict) -> None:
            async with places:
                body = {
                    "chat_id": message["chat"]["id"],
                    "text": message["text"],
                    "reply_parameters": {"message_id": message["message_id"]},
                }
                async with session.post(f"{BASE}sendMessage", json=body) as answer:
                    await answer.read()

        offset = 0
        while True:
            body = {"timeout": 30, "offset": offset}
            async with session.post(f"{BASE}getUpdates", json=body) as answer:
                updates = orjson.loads(await answer.read())["result"]
            for update in updates:
                offset = update["update_id"] + 1
                task = asyncio.create_task(reply(update["message"]))
                running.add(task)
                task.add_done_callback(running.discard)


asyncio.run(main())
