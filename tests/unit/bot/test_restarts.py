"""What is read at start only is told when it changes."""

import asyncio
import contextlib

from structlog.testing import capture_logs

from bot.runtime.restarts import fingerprint, watch


async def test_a_changed_file_is_told_once_for_each_change(tmp_path):
    path = tmp_path / "config.yaml"
    path.write_text("a")
    looked = asyncio.Event()
    looks = 0

    def read():
        nonlocal looks
        looks += 1
        if looks == 2:
            path.write_text("b")
        if looks == 6:
            looked.set()
        return fingerprint(path)

    with capture_logs() as lines:
        task = asyncio.create_task(watch({"the configuration": read}, every_s=0.001))
        async with asyncio.timeout(5):
            await looked.wait()
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
    told = [line for line in lines if line["event"] == "restart_needed"]
    assert [line["what"] for line in told] == ["the configuration"]


def test_a_file_that_is_gone_has_an_empty_fingerprint(tmp_path):
    assert fingerprint(tmp_path / "none") == ""
