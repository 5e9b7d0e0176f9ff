"""An echo bot on aiogram: python -m bench.peers.aiogram_echo URL TOKEN."""

import asyncio
import sys

from aiogram import Bot, Dispatcher
from aiogram.client.session.aiohttp import AiohttpSession
from aiogram.client.telegram import TelegramAPIServer
from aiogram.types import Message


async def main() -> None:
    """Poll and echo."""
    session = AiohttpSession(api=TelegramAPIServer.from_base(sys.argv[1]))
    bot = Bot(sys.argv[2], session=session)
    dispatcher = Dispatcher()

    @dispatcher.message()
    async def echo(message: Message) -> None:
        await message.reply(message.text or "")

    await dispatcher.start_polling(bot, handle_signals=False)


asyncio.run(main())
