"""The one place where concrete things are made and put together. Everything else meets through Protocols."""

from bot.wiring.demo import run_demo
from bot.wiring.explaining import reader_for
from bot.wiring.gateway import assemble, run_gateway
from bot.wiring.matrix import matrix_login, matrix_server, matrix_setup, matrix_whoami
from bot.wiring.record import open_record
from bot.wiring.records import create_invite, open_reader

__all__ = [
    "assemble",
    "create_invite",
    "matrix_login",
    "matrix_server",
    "matrix_setup",
    "matrix_whoami",
    "open_reader",
    "open_record",
    "reader_for",
    "run_demo",
    "run_gateway",
]
