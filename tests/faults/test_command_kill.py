"""The daemon is killed while an endpoint works on a command: nobody can tell, and it is not called again (CMD, DUR-3)."""

import asyncio

import pytest

from tests.commanding import Orders, http, loaded, taking
from tests.faults.process import BOB, GROUP, HANDLE, REPORTS, daemon
from tests.servers.agents import serving

SCRIPT = """
version: 1
rules:
  - when: {words: [close]}
    say:
      - command: {name: close_order, object: o-17, otherwise: [{final: "{command.outcome}"}]}
      - final: "closed ({command.outcome})"
otherwise: [{silence: true}]
"""
POLICY = f"""
version: 1
defaults: {{burst: {{quiet: 1s, longest: 10s}}}}
people:
  bob: {{accounts: ["telegram:{BOB}"]}}
channels:
  "telegram:7001:{GROUP}": {{audience: external}}
  "telegram:7001:{REPORTS}": {{audience: internal, reports: true}}
"""


async def called(orders, times):
    async with asyncio.timeout(20):
        while len(orders.calls) < times:
            await asyncio.sleep(0.02)  # the endpoint is in this process, the daemon in another


@pytest.mark.rule("CMD-5", "DUR-3")
@pytest.mark.parametrize("works", [False, True])
async def test_a_kill_while_the_endpoint_works_leaves_the_run_unknown_and_it_is_not_repeated(api, tmp_path, works):
    orders = Orders(gate=asyncio.Event())
    if not works:
        orders.gate.set()
    async with serving(orders) as url, daemon(tmp_path, api, policy=POLICY, script=SCRIPT) as process:
        loaded(tmp_path / "checked", {"close_order": taking(action=http(url))})
        written = (tmp_path / "checked" / "config.yaml").read_text()
        commands = written.partition('"commands": ')[2].removesuffix("}")
        path = tmp_path / "config.yaml"
        path.write_text(f"{path.read_text()}\ncommands: {commands}\n")
        await process.start()
        api.say(chat=GROUP, sender=BOB, text=f"{HANDLE} close it")
        await called(orders, 1)
        if works:
            await process.kill()
            orders.gate.set()
            await process.start()
            await api.wait_sent(GROUP)
        await api.wait_sent(GROUP)
        await process.settled()
        assert await process.stop() == 0
        process.check_journal()
        assert process.complaints() == []
    assert len(orders.calls) == 1
    assert api.texts(GROUP) == ["unknown" if works else "closed (done)"]
    told = [text for text in api.texts(REPORTS) if "Nobody can tell whether a command was carried out" in text]
    assert len(told) == works
