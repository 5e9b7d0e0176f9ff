"""The Matrix channel: client-server API in, client-server API out."""
