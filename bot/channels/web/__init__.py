"""The built-in chat: rooms, people and one page, served by the gateway itself."""
