"""Times in the database: microseconds since 1970, UTC."""

from datetime import UTC, datetime


def to_us(at: datetime) -> int:
    """An aware time as the database holds it."""
    return round(at.timestamp() * 1_000_000)


def from_us(at_us: int) -> datetime:
    """The aware time (UTC) that the database holds."""
    return datetime.fromtimestamp(at_us / 1_000_000, UTC)
