"""``python -m bot`` is ``discreet``."""

from bot.cli import main

if __name__ == "__main__":
    main()
