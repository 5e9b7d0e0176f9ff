"""What holds for all tests."""

import os
import re
from functools import cache
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("here", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)  # a change is judged by the same examples each time
settings.load_profile("ci" if os.environ.get("CI") else "here")


_ROOT = Path(__file__).parents[1]


@cache
def _on_the_homeserver(path):
    """Whether the tests of a file run on the real homeserver, as its text tells: who shares the work out has no more."""
    return re.search(r"synapse|tests\.acceptance\.matrix\b", (_ROOT / path).read_text()) is not None


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Tests run in several processes; those on the real homeserver in one of them, which starts it once."""
    from xdist.scheduler import LoadScopeScheduling

    class Scheduling(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            return "homeserver" if _on_the_homeserver(nodeid.partition("::")[0]) else nodeid

    return Scheduling(config, log)


def pytest_collection_modifyitems(items):
    """See that none escapes that rule."""
    lost = {path for item in items if "synapse" in item.fixturenames if not _on_the_homeserver(path := _file(item))}
    if lost:
        raise pytest.UsageError(f"these run on the homeserver, and their text does not tell: {sorted(lost)}")


def _file(item):
    return item.nodeid.partition("::")[0]


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session, exitstatus):
    """Where nothing may be skipped (.ci/run says so), a skipped test is a failure."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if os.environ.get("DISCREET_NO_SKIP") == "1" and exitstatus == 0 and reporter.stats.get("skipped"):
        reporter.write_line(f"{len(reporter.stats['skipped'])} skipped, and DISCREET_NO_SKIP allows none", red=True)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
