"""``discreet demo``: everything in one process, and nothing kept unless a folder is named."""

import asyncio
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from bot.config.file import make_data_dir
from bot.config.settings import ScriptedAgent
from bot.runtime.rulings import Rulings
from bot.storage.store import Store
from bot.wiring.agents import agent
from bot.wiring.channels import chat_words
from bot.wiring.clock import utc_now
from bot.wiring.demo_commands import COMMANDS
from bot.wiring.gateway import assemble, in_force, listen_for_the_end, until_told
from bot.wiring.questions import answers_in
from bot.wiring.records import STORE


async def run_demo(*, port: int, announce: Callable[[str], None], keep: Path | None = None) -> None:
    """``discreet demo``: the whole gateway with the built-in chat and a scripted agent.

    Args:
        port: of the page, on loopback; 0: any that is free.
        announce: is told the page's address when it serves.
        keep: folder in which all of it stays, also when the process is killed; None: it is kept nowhere.

    Raises:
        ConfigError: the folder can't be had.
        PolicyError: the policy that was kept there can't hold.
        StoreError: the store can't be opened.
    """
    from bot.channels.web import demo
    from bot.channels.web.channel import WebChat
    from bot.channels.web.memory import MemoryEntrances, MemoryTimeline

    told = listen_for_the_end()
    with ExitStack() as stack:
        if keep is None:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="discreet-demo-")))
        else:
            folder = keep
            make_data_dir(folder)
        if not (folder / "policy.yaml").exists():
            (folder / "policy.yaml").write_text(demo.policy_text(), encoding="utf-8")
        policy = in_force(folder / "policy.yaml", {"main"})
        store = await Store.open(folder / STORE)
        try:
            rulings = Rulings()
            page = WebChat(
                desk=demo.DESK,
                bot_name=demo.BOT_NAME,
                rooms=demo.ROOMS,
                members=demo.MEMBERS,
                things_to_try=demo.THINGS_TO_TRY,
                timeline=MemoryTimeline() if keep is None else store.timeline(demo.DESK),
                entrances=MemoryEntrances(),
                files=None if keep is None else folder / "files",
                feed=rulings,
                clock=utc_now,
                port=port,
                demo=True,
                words=chat_words,
            )
            daemon = assemble(
                policy=policy,
                store=store,
                channels=[page],
                agents={"main": agent("main", ScriptedAgent())},
                default_agent="main",
                rulings=rulings,
                stop=told,
                sweepers=(page.sweep,),
                asking=[answers_in(page)],
                commands=COMMANDS,
            )

            async def tell() -> None:
                await page.ready.wait()
                announce(page.url)

            telling = asyncio.create_task(tell(), name="announce")
            try:
                await until_told(daemon, policy)
            finally:
                telling.cancel()
        finally:
            await store.close()
