"""The clock of the daemon."""

from datetime import UTC, datetime


def utc_now() -> datetime:
    """Now, aware."""
    return datetime.now(UTC)
