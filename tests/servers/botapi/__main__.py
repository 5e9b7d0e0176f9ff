"""Run the emulator alone: it prints its address when it listens, and stops on SIGINT or SIGTERM."""

import argparse
import asyncio
import signal

from tests.servers.botapi.emulator import BotApi


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.servers.botapi", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--token", default="42:TOKEN", help="the bot's token; its number is the bot's id")
    parser.add_argument("--username", default="agent_bot", help="the bot's handle, without @")
    parser.add_argument("--first-update-id", type=int, default=1000, help="where the numbering of updates begins")
    parser.add_argument("--strict", action="store_true", help="compare parameters with aiogram's models")
    parser.add_argument("--parse", choices=("tdlib", "none"), default="tdlib", help="none: faster sends")
    parser.add_argument("--no-record", action="store_true", help="count calls without keeping them")
    parser.add_argument("--uvloop", action="store_true", help="run on uvloop")
    return parser.parse_args()


async def _serve(options: argparse.Namespace) -> None:
    done = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, done.set)
    emulator = BotApi(
        token=options.token,
        username=options.username,
        port=options.port,
        first_update_id=options.first_update_id,
        strict=options.strict,
        parse=options.parse,
        record=not options.no_record,
    )
    async with emulator as api:
        print(f"READY {api.url}", flush=True)
        await done.wait()


def main() -> None:
    """Parse the options and serve."""
    options = _options()
    if options.uvloop:
        import uvloop

        uvloop.run(_serve(options))
    else:
        asyncio.run(_serve(options))


if __name__ == "__main__":
    main()
