"""The command line. Whatever is heavy is imported inside the command that needs it, so that help is there at once."""

import sys


def main() -> None:
    """Run ``discreet`` and end the process with its exit code (see :mod:`bot.cli.failing`)."""
    from bot.cli.failing import guarded
    from bot.cli.tree.main import app

    sys.exit(guarded(lambda: app(prog_name="discreet")))
