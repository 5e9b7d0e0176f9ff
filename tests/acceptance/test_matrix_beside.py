"""One daemon with a bot on Telegram, one on Matrix and the built-in chat: where one of them is away the others go on."""

import pytest

from tests.acceptance.test_chat_run import answer_to, daemon, entered
from tests.browser.visitor import visit
from tests.harness import BOB, BOT_ID, GROUP
from tests.servers.synapse import until

CONFIG = """\
telegram:
  - {{token_file: telegram.token, api_url: "{telegram}"}}
matrix:
  - {{user_id: "{bot}", homeserver: "{matrix}", password_file: matrix.password}}
agents:
  main: {{kind: echo}}
chat:
  enabled: true
  listen: "127.0.0.1:0"
  rooms:
    customers: {{title: Customers, members: [ann]}}
metrics: {{enabled: false}}
log: {{level: info, format: json}}
"""
POLICY = """\
version: 1
people:
  ann: {{accounts: ["web:annie"]}}
channels:
  "web:desk:customers": {{audience: external}}
  "telegram:{telegram}:{group}": {{audience: external}}
  "{room}": {{audience: external}}
"""


@pytest.mark.rule("DUR-1")
async def test_while_matrix_is_away_telegram_and_the_built_in_chat_go_on_and_it_comes_back_by_itself(
    desk, way, api, tmp_path
):
    room = await desk.room(desk.ann, desk.bob, encrypted=True)
    folder = tmp_path / "daemon"
    folder.mkdir()
    files = {
        "config.yaml": CONFIG.format(telegram=api.url, bot=desk.bot, matrix=way.url),
        "policy.yaml": POLICY.format(telegram=BOT_ID, group=GROUP, room=desk.place(room)),
        "telegram.token": api.token,
        "matrix.password": desk.password,
    }
    for name, text in files.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o600)

    async def others_answer(visitor, count):
        said = await visitor.say("customers", f"@desk chat {count}")
        assert (await answer_to(visitor, said))["text"].endswith(f"chat {count}")
        api.say(chat=GROUP, sender=BOB, text=f"@desk_bot telegram {count}")
        await api.wait_sent(GROUP, count)
        assert api.texts(GROUP)[-1].endswith(f"telegram {count}")

    await way.shut()  # from the very beginning
    async with daemon(folder) as one, visit(one) as ann:
        await entered(ann, one, "ann")
        await others_answer(ann, 1)
        await way.open()
        await until(lambda: desk.synapse.syncs(desk.bot))  # what was there before is history
        await desk.ready(room, desk.bob)
        await desk.bob.say(room, "matrix 1", mentions=[desk.bot])
        await desk.bob.hears(room, desk.bot)
        await way.shut()
        await desk.bob.say(room, "matrix 2", mentions=[desk.bot])
        await others_answer(ann, 2)
        assert desk.bob.texts(room, desk.bot) == ["matrix 1"]
        await way.open()
        await desk.bob.hears(room, desk.bot, 2, within_s=60)
        assert desk.bob.texts(room, desk.bot) == ["matrix 1", "matrix 2"]
