"""What holds for all tests."""

import os

import pytest
from hypothesis import settings

settings.register_profile("here", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)  # a change is judged by the same examples each time
settings.load_profile("ci" if os.environ.get("CI") else "here")


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session, exitstatus):
    """Where nothing may be skipped (.ci/run says so), a skipped test is a failure."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if os.environ.get("DISCREET_NO_SKIP") == "1" and exitstatus == 0 and reporter.stats.get("skipped"):
        reporter.write_line(f"{len(reporter.stats['skipped'])} skipped, and DISCREET_NO_SKIP allows none", red=True)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
