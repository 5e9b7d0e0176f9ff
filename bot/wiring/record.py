"""The authorised record out of its sources (AUTO-8)."""

import os
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, assert_never

from bot.config.settings import Config, RecordAddress, RecordFile
from bot.model.errors import ConfigError
from bot.wiring.clock import utc_now
from policy.record import Entry

if TYPE_CHECKING:
    from bot.record.room import Record
    from bot.record.sources import Source


def open_record(
    config: Config, policy: Callable[[], Mapping[str, Entry]], *, clock: Callable[[], datetime] = utc_now
) -> "Record":
    """The record of a configuration; nothing is read yet.

    Args:
        config: names its sources.
        policy: gives the entries of the policy in force.
        clock: gives aware times.

    Raises:
        ConfigError: requests may not go to one of its addresses.
    """
    from bot.record.room import Record

    return Record(policy, [_source(settings, clock) for settings in config.record])


def first_look(found: "Record") -> None:
    """Read the files of the record, as far as it has any.

    Raises:
        ConfigError: one can't hold or can't be read; the text says where and the mend.
    """
    from bot.record.sources import FileSource, Refused

    for source in found.sources:
        if isinstance(source, FileSource) and isinstance(change := source.read(), Refused):
            raise ConfigError(change.problems, problems=change.marked)


def _source(settings: RecordFile | RecordAddress, clock: Callable[[], datetime]) -> "Source":
    from bot.record.sources import FileSource, HttpSource

    match settings:
        case RecordFile(path=path):
            return FileSource(path, environment=os.environ)
        case RecordAddress():
            from bot.record.fetching import Fetcher

            fetcher = Fetcher(
                url=settings.url,
                headers={name: value.reveal() for name, value in settings.headers.items()},
                timeout_s=settings.timeout_s,
                allow_private=settings.allow_private,
                allow_plain_http=settings.allow_plain_http,
            )
            return HttpSource(settings.url, fetcher, every_s=settings.refresh_s, keep=settings.keep, clock=clock)
        case _:
            assert_never(settings)
