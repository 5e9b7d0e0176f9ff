"""`discreet grants` and `discreet deliveries`: beside a running daemon, and without one (OUT-6)."""

import asyncio
import json
import re
import socket
import time
import urllib.request

import pytest

from tests.acceptance.test_cli_running import GROUP, api, beside, folder, running

__all__ = ["api", "folder"]
rule = pytest.mark.rule
PLACE = f"telegram:7001:{GROUP}"
MAIN, NIGHTLY = "SYNTHETIC-key-of-the-main-agent", "SYNTHETIC-key-of-the-dispatcher"
GRANTED = ("--agent", "main", "--destination", PLACE, "--uses", "2", "--for", "8h", "--purpose", "weekly figures")


@pytest.fixture
def port(folder):
    """The folder's daemon serves its interface there."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        number = probe.getsockname()[1]
    config = folder / "config.yaml"
    listen = f'"127.0.0.1:{number}"'
    config.write_text(
        config.read_text()
        + f"api: {{enabled: true, listen: {listen}, keys_file: keys, dispatchers_file: dispatchers}}\n"
    )
    for name, text in (("keys", f"main {MAIN}\n"), ("dispatchers", f"nightly {NIGHTLY}\n")):
        (folder / name).write_text(text)
        (folder / name).chmod(0o600)
    return number


async def call(port, path, body, *, key=MAIN):
    """Post to the interface of the running daemon; its answer."""

    def posted():
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.status, json.load(answer)

    request = urllib.request.Request(
        f"http://127.0.0.1:{port}{path}",
        data=json.dumps(body).encode(),
        headers={"Authorization": f"Bearer {key}", "Idempotency-Key": f"{time.time_ns()}"},
    )
    return await asyncio.to_thread(posted)


@rule("OUT-6")
async def test_an_admin_grants_beside_the_running_daemon_and_the_delivery_arrives(folder, api, port):
    async with running(folder):
        await api.wait_for(lambda: api.calls_of("getUpdates"), timeout=30)
        done = await beside(folder, "grants", "add", *GRANTED)
        assert done.returncode == 0, done.stderr
        grant = done.stdout.strip()
        assert re.fullmatch("[a-z2-7]{8,20}", grant)
        status, delivery = await call(port, "/v1/deliveries", {"destination": PLACE, "text": "The figures are there."})
        assert status == 201
        await api.wait_sent(GROUP, timeout=30)
        assert api.texts(GROUP) == ["The figures are there."]
        status, other = await call(
            port,
            "/v1/grants",
            {"agent": "main", "destination": PLACE, "uses": 1, "for": "1h", "purpose": "nightly"},
            key=NIGHTLY,
        )
        assert status == 201
        done = await beside(folder, "grants", "list", "--json")
        rows = {row["id"]: row for row in map(json.loads, done.stdout.splitlines())}
        assert set(rows) == {grant, other["id"]}
        assert (rows[grant]["issuer"], rows[grant]["used"], rows[grant]["state"]) == ("admin:console", 1, "open")
        assert rows[other["id"]]["issuer"] == "dispatcher:nightly"
        done = await beside(folder, "deliveries", "list")
        assert delivery["id"][:8] in done.stdout
        assert "The figures" not in done.stdout
        done = await beside(folder, "grants", "revoke", grant)
        assert (done.returncode, done.stdout) == (0, "revoked\n")
        done = await beside(folder, "grants", "list")
        assert grant not in done.stdout
        assert (await beside(folder, "grants", "revoke", grant)).returncode == 2


@rule("OUT-6")
async def test_without_a_daemon_the_store_is_written(folder, api):
    done = await beside(folder, "grants", "add", *GRANTED)
    assert done.returncode == 0, done.stderr
    grant = done.stdout.strip()
    done = await beside(folder, "grants", "list")
    assert done.stdout.splitlines()[1].split()[:5] == [grant, "open", "main", PLACE, "0/2"]
    assert (await beside(folder, "grants", "revoke", grant.upper())).returncode == 0
    assert (await beside(folder, "grants", "list")).stdout.startswith("There are no grants")
    done = await beside(folder, "grants", "list", "--all")
    assert "revoked" in done.stdout
    done = await beside(folder, "deliveries", "list")
    assert done.stdout.startswith("No agent has asked")
    assert (await beside(folder, "journal", "verify")).returncode == 0


@rule("OUT-6", "IDENT-1")
@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"--destination": "here"}, "destination"),
        ({"--destination": "telegram:7001"}, "destination"),
        ({"--destination": "telegram:9999:-100"}, "telegram:7001"),
        ({"--agent": "nobody"}, "main"),
        ({"--for": "soon"}, "8h"),
        ({"--uses": "0"}, "1000"),
        ({"--purpose": " "}, "what it is for"),
    ],
)
async def test_what_can_not_be_granted_is_refused_with_the_mend(folder, api, changed, told):
    words = dict(zip(GRANTED[::2], GRANTED[1::2], strict=True)) | changed
    done = await beside(folder, "grants", "add", *(word for pair in words.items() for word in pair))
    assert (done.returncode, done.stdout) == (2, "")
    assert told in done.stderr
