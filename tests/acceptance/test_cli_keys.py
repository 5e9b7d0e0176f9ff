"""`discreet keys`: made, listed and taken away, beside a running daemon (AGENT-1)."""

import asyncio
import json
import urllib.request

import pytest

from tests.acceptance.test_cli_grants import PLACE, call, port
from tests.acceptance.test_cli_running import api, beside, folder, running

__all__ = ["api", "folder", "port"]
rule = pytest.mark.rule


@rule("AGENT-1")
async def test_keys_are_made_listed_and_revoked_beside_a_running_daemon(folder, api, port):
    async with running(folder):
        await api.wait_for(lambda: api.calls_of("getUpdates"), timeout=30)
        done = await beside(folder, "keys", "add", "main", "--scope", "deliver", "--destination", PLACE)
        assert done.returncode == 0, done.stderr
        key = done.stdout.strip()
        assert key.startswith("dsk_")
        assert key not in done.stderr
        done = await beside(
            folder, "grants", "add", "--agent", "main", "--destination", PLACE, "--for", "8h", "-p", "x"
        )
        assert done.returncode == 0, done.stderr
        status, _ = await call(port, "/v1/deliveries", {"destination": PLACE, "text": "Open until six."}, key=key)
        assert status == 201
        done = await beside(folder, "keys", "list", "--json")
        (row,) = map(json.loads, done.stdout.splitlines())
        assert (row["name"], row["scopes"], row["destinations"]) == ("main", ["deliver"], [PLACE])
        assert key not in done.stdout
        shown = (await beside(folder, "keys", "list")).stdout
        assert row["id"] in shown
        assert key not in shown
        kid = (await beside(folder, "keys", "rotate")).stdout.strip()
        known = await asyncio.to_thread(urllib.request.urlopen, f"http://127.0.0.1:{port}/.well-known/jwks.json")
        assert json.load(known)["keys"][0]["kid"] == kid
        done = await beside(folder, "keys", "revoke", row["id"])
        assert (done.returncode, done.stdout) == (0, "revoked\n")
        with pytest.raises(OSError, match="401"):
            await call(port, "/v1/deliveries", {"destination": PLACE, "text": "Open."}, key=key)
        assert (await beside(folder, "keys", "revoke", row["id"])).returncode == 2


@rule("AGENT-1")
@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("add", "nobody"), "main"),
        (("add", "main", "--scope", "dispatch", "--scope", "ask"), "two keys"),
        (("add", "nightly", "--scope", "dispatch", "--principal", "ann"), "destinations"),
        (("add", "main", "--principal", "nobody"), "nobody's id"),
        (("add", "main", "--destination", "here"), "not complete"),
        (("add", "main", "--scope", "decide"), "decide"),
    ],
)
async def test_a_key_that_can_not_be_made_is_refused_with_the_mend(folder, words, told):
    done = await beside(folder, "keys", *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert told in done.stderr
    assert not (folder / "data" / "keys.json").exists()
