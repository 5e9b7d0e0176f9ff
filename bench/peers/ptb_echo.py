"""An echo bot on python-telegram-bot: python -m bench.peers.ptb_echo URL TOKEN."""

import sys

from telegram import Update
from telegram.ext import Application, ContextTypes, MessageHandler, filters


async def echo(update: Update, _: ContextTypes.DEFAULT_TYPE) -> None:
    """Reply with the same words."""
    if update.message is not None:
        await update.message.reply_text(update.message.text or "", do_quote=True)


application = (
    Application.builder()
    .token(sys.argv[2])
    .base_url(f"{sys.argv[1]}/bot")
    .connection_pool_size(64)
    .pool_timeout(60)
    .concurrent_updates(64)
    .build()
)
application.add_handler(MessageHandler(filters.TEXT, echo))
application.run_polling()
