"""The Telegram channel: Bot API in, Bot API out."""
