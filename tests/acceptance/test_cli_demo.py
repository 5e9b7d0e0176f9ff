"""`discreet demo` needs nothing: it prints one address, serves the page there, and leaves nothing behind."""

import asyncio
import re
import signal
import sys

import aiohttp

from tests.acceptance.commands import environment


async def test_the_demo_prints_its_address_serves_the_page_and_leaves_nothing(tmp_path):
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "bot", "demo", "--port", "0"),
        cwd=tmp_path,
        env=environment(tmp_path, TMPDIR=str(tmp_path)),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(60):
            found = None
            while found is None:
                line = await process.stdout.readline()
                assert line, (await process.stderr.read()).decode()
                found = re.fullmatch(r"\s+(http://127\.0\.0\.1:\d+\S*)\s+", line.decode())
            async with aiohttp.ClientSession() as session, session.get(found[1]) as page:
                assert page.status == 200
                assert page.content_type == "text/html"
            process.send_signal(signal.SIGINT)
            _, err = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode == 0
    assert err == b""
    assert list(tmp_path.iterdir()) == []
