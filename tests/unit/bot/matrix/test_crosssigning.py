"""Cross-signing: the own device is signed, nothing else is, and nobody else's keys are replaced unasked."""

import copy
import json
import stat
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from vodozemac import Account, Ed25519PublicKey, Ed25519Signature

from bot.channels.matrix.client import MatrixApi, RefusedError
from bot.channels.matrix.keys.crosssigning import CrossSigning, Signed, Unsigned, Why
from bot.model.errors import ChannelError

USER = "@desk:example.org"
PASSWORD = "the-password-of-the-desk"
PASSWORD_FLOW = [{"stages": ["m.login.password"]}]


def canonical(record: dict[str, Any]) -> bytes:
    bare = {name: value for name, value in record.items() if name not in ("signatures", "unsigned")}
    return json.dumps(bare, ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode()


def assert_signed(record: dict[str, Any], public: str, key_id: str) -> None:
    """The oracle: vodozemac, as clients have it."""
    signature = record["signatures"][USER][f"ed25519:{key_id}"]
    Ed25519PublicKey.from_base64(public).verify_signature(canonical(record), Ed25519Signature.from_base64(signature))


class Device:
    """A device with a real account."""

    def __init__(self, device_id: str) -> None:
        self.user_id = USER
        self.device_id = device_id
        self._account = Account()
        self.fingerprint = self._account.ed25519_key.to_base64()

    def sign(self, message: bytes) -> str:
        return self._account.sign(message).to_base64()

    def record(self) -> dict[str, Any]:
        record: dict[str, Any] = {
            "user_id": USER,
            "device_id": self.device_id,
            "algorithms": ["m.olm.v1.curve25519-aes-sha2", "m.megolm.v1.aes-sha2"],
            "keys": {
                f"ed25519:{self.device_id}": self.fingerprint,
                f"curve25519:{self.device_id}": self._account.curve25519_key.to_base64(),
            },
        }
        record["signatures"] = {USER: {f"ed25519:{self.device_id}": self.sign(canonical(record))}}
        return record | {"unsigned": {"device_display_name": "Desk"}}


class Homeserver:
    """Keeps the keys of one account, as Synapse does: the first ones are free, others need what ``flows`` says."""

    def __init__(self, *devices: Device) -> None:
        self.devices: dict[str, Any] = {device.device_id: device.record() for device in devices}
        self.keys: dict[str, Any] = {}
        self.flows: Any = PASSWORD_FLOW
        self.free = True
        self.wrong_password = 401
        self.deaf = False
        self.uploads: list[dict[str, Any]] = []
        self.signatures: list[dict[str, Any]] = []
        self.api: MatrixApi

    async def __call__(self, request: web.BaseRequest) -> web.Response:
        body = json.loads(await request.read())
        match request.path.removeprefix("/_matrix/client/v3/keys/"):
            case "query":
                wanted = body["device_keys"][USER]
                devices = {name: record for name, record in self.devices.items() if name in wanted}
                return web.json_response(
                    {"device_keys": {USER: devices}}
                    | {
                        f"{usage}_keys": {USER: self.keys[f"{usage}_key"]}
                        for usage in ("master", "self_signing")
                        if self.keys
                    }
                )
            case "device_signing/upload":
                return self._upload(body)
            case "signatures/upload":
                self.signatures.append(body)
                if not self.deaf:
                    for name, record in body[USER].items():
                        self.devices[name]["signatures"][USER] |= record["signatures"][USER]
                return web.json_response({"failures": {}})
        return web.json_response({"errcode": "M_UNRECOGNIZED"}, status=404)

    def _upload(self, body: dict[str, Any]) -> web.Response:
        auth = body.pop("auth", None)
        if not (self.free and not self.keys):
            wanted = {"type": "m.login.password", "identifier": {"type": "m.id.user", "user": USER}}
            if auth is None:
                return web.json_response({"flows": self.flows, "params": {}, "session": "s1"}, status=401)
            if auth != wanted | {"password": PASSWORD, "session": "s1"}:
                said = {"errcode": "M_FORBIDDEN", "flows": self.flows, "session": "s1"}
                return web.json_response(said, status=self.wrong_password)
        self.uploads.append(body)
        self.keys = body
        return web.json_response({})


@asynccontextmanager
async def serving(*devices: Device) -> AsyncIterator[Homeserver]:
    server = Homeserver(*devices)
    runner = web.ServerRunner(web.Server(server, access_log=None), shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    server.api = MatrixApi(homeserver=f"http://127.0.0.1:{runner.addresses[0][1]}", token="token")
    try:
        yield server
    finally:
        await server.api.close()
        await runner.cleanup()


async def test_a_new_account_gets_keys_and_its_device_is_signed(tmp_path: Path) -> None:
    device = Device("DEVICE")
    async with serving(device) as server:
        assert await CrossSigning.ensure(server.api, device, tmp_path / "a") == Signed(ours=True, new=True)
        master, signing, user_signing = (
            server.keys[f"{usage}_key"] for usage in ("master", "self_signing", "user_signing")
        )
        (master_public,), (signing_public,) = master["keys"].values(), signing["keys"].values()
        assert_signed(master, device.fingerprint, "DEVICE")
        assert_signed(signing, master_public, master_public)
        assert_signed(user_signing, master_public, master_public)
        assert_signed(server.devices["DEVICE"], signing_public, signing_public)
        assert [key["usage"] for key in (master, signing, user_signing)] == [
            ["master"],
            ["self_signing"],
            ["user_signing"],
        ]
    kept = tmp_path / "a" / "cross-signing.json"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert stat.S_IMODE(kept.parent.stat().st_mode) == 0o700


async def test_a_signed_device_is_left_alone(tmp_path: Path) -> None:
    device = Device("DEVICE")
    async with serving(device) as server:
        await CrossSigning.ensure(server.api, device, tmp_path)
        assert await CrossSigning.ensure(server.api, device, tmp_path, reset=True) == Signed(ours=True)
        assert await CrossSigning.verify(server.api, device, tmp_path) == Signed(ours=True)
        assert await CrossSigning.verify(server.api, device) == Signed(ours=False)
        assert (len(server.uploads), len(server.signatures)) == (1, 1)


async def test_a_later_device_is_signed_with_the_kept_keys(tmp_path: Path) -> None:
    first, second = Device("FIRST"), Device("SECOND")
    async with serving(first, second) as server:
        await CrossSigning.ensure(server.api, first, tmp_path)
        assert await CrossSigning.verify(server.api, second, tmp_path) == Unsigned(why=Why.NOT_SIGNED)
        assert await CrossSigning.ensure(server.api, second, tmp_path) == Signed(ours=True, new=True)
        assert len(server.uploads) == 1


async def test_keys_that_others_made_are_not_replaced_unasked(tmp_path: Path) -> None:
    theirs, ours = Device("THEIRS"), Device("OURS")
    async with serving(theirs, ours) as server:
        await CrossSigning.ensure(server.api, theirs, tmp_path / "theirs")
        before = copy.deepcopy(server.keys)
        outcome = await CrossSigning.ensure(server.api, ours, tmp_path / "ours", password=PASSWORD)
        assert outcome == Unsigned(why=Why.FOREIGN_KEYS)
        assert "discreet matrix login --reset-cross-signing" in outcome.mend
        assert server.keys == before
        assert not (tmp_path / "ours").exists()

        await CrossSigning.ensure(server.api, ours, tmp_path / "theirs")  # as if it were verified from there
        assert await CrossSigning.ensure(server.api, ours, tmp_path / "ours") == Signed(ours=False)
        assert server.keys == before


async def test_keys_that_others_made_are_replaced_when_asked(tmp_path: Path) -> None:
    theirs, ours = Device("THEIRS"), Device("OURS")
    async with serving(theirs, ours) as server:
        await CrossSigning.ensure(server.api, theirs, tmp_path / "theirs")
        reset = {"reset": True, "password": PASSWORD}
        assert await CrossSigning.ensure(server.api, ours, tmp_path / "ours", **reset) == Signed(ours=True, new=True)
        assert await CrossSigning.verify(server.api, ours, tmp_path / "ours") == Signed(ours=True)
        assert await CrossSigning.verify(server.api, theirs, tmp_path / "theirs") == Unsigned(why=Why.FOREIGN_KEYS)


@pytest.mark.parametrize(
    ("flows", "password", "why"),
    [
        (PASSWORD_FLOW, None, Why.PASSWORD_NEEDED),
        (PASSWORD_FLOW, "wrong", Why.PASSWORD_WRONG),
        ([{"stages": ["org.matrix.cross_signing_reset"]}], PASSWORD, Why.ELSEWHERE),
        ([], PASSWORD, Why.ELSEWHERE),
        ([5, {"stages": 5}], PASSWORD, Why.ELSEWHERE),
    ],
)
@pytest.mark.parametrize("wrong_password", [401, 403])
async def test_what_a_server_wants_for_new_keys_is_said(
    tmp_path: Path, flows: Any, password: str | None, why: Why, wrong_password: int
) -> None:
    device = Device("DEVICE")
    async with serving(device) as server:
        server.free, server.flows, server.wrong_password = False, flows, wrong_password
        outcome = await CrossSigning.ensure(server.api, device, tmp_path, password=password)
        assert outcome == Unsigned(why=why)
        assert "discreet matrix login" in outcome.mend
        kept = (tmp_path / "cross-signing.json").read_bytes()
        server.flows = PASSWORD_FLOW
        assert await CrossSigning.ensure(server.api, device, tmp_path, password=PASSWORD) == Signed(ours=True, new=True)
        assert (tmp_path / "cross-signing.json").read_bytes() == kept, "a try that failed costs no keys"


async def test_an_end_after_the_keys_were_uploaded_is_mended_by_the_next_start(tmp_path: Path) -> None:
    device = Device("DEVICE")
    async with serving(device) as server:
        server.deaf = True
        assert await CrossSigning.ensure(server.api, device, tmp_path) == Unsigned(why=Why.NOT_SIGNED)
        server.deaf = False
        assert await CrossSigning.ensure(server.api, device, tmp_path) == Signed(ours=True, new=True)
        assert len(server.uploads) == 1


async def test_own_keys_that_came_apart_are_published_again(tmp_path: Path) -> None:
    device = Device("DEVICE")
    async with serving(device) as server:
        await CrossSigning.ensure(server.api, device, tmp_path)
        del server.keys["self_signing_key"]["signatures"]
        assert await CrossSigning.verify(server.api, device, tmp_path) == Unsigned(why=Why.BROKEN_KEYS)
        outcome = await CrossSigning.ensure(server.api, device, tmp_path, password=PASSWORD)
        assert isinstance(outcome, Signed)
        assert await CrossSigning.verify(server.api, device, tmp_path) == Signed(ours=True)


async def test_a_device_that_the_server_does_not_know_is_not_signed(tmp_path: Path) -> None:
    async with serving() as server:
        outcome = await CrossSigning.ensure(server.api, Device("DEVICE"), tmp_path)
        assert outcome == Unsigned(why=Why.DEVICE_MISSING)
        assert outcome.mend
        assert server.uploads == []


def other_keys(record: dict[str, Any]) -> None:
    record["keys"] = Device("DEVICE").record()["keys"]


def another_identity_key(record: dict[str, Any]) -> None:
    record["keys"]["curve25519:DEVICE"] = Device("DEVICE").record()["keys"]["curve25519:DEVICE"]


def no_signature(record: dict[str, Any]) -> None:
    record["signatures"] = {USER: {"ed25519:DEVICE": "AAAA"}}


def another_user(record: dict[str, Any]) -> None:
    record["user_id"] = "@other:example.org"


def a_lone_surrogate(record: dict[str, Any]) -> None:
    record["x"] = "\ud83d"


def nonsense(record: dict[str, Any]) -> None:
    record["keys"] = record["signatures"] = 5


@pytest.mark.parametrize(
    "change", [other_keys, another_identity_key, no_signature, another_user, a_lone_surrogate, nonsense]
)
async def test_a_server_cannot_have_another_device_signed(tmp_path: Path, change: Any) -> None:
    device = Device("DEVICE")
    async with serving(device) as server:
        change(server.devices["DEVICE"])
        outcome = await CrossSigning.ensure(server.api, device, tmp_path)
        assert outcome == Unsigned(why=Why.DEVICE_DIFFERS)
        assert outcome.mend
        assert (server.uploads, server.signatures) == ([], [])


@pytest.mark.parametrize(
    "master",
    [
        {"keys": {}},
        {"keys": {"ed25519:a": "a"}},
        {"keys": 5},
        {"user_id": "@other:example.org", "usage": ["master"], "keys": {}},
    ],
)
async def test_a_master_key_that_cannot_be_read_is_not_ours_to_replace(tmp_path: Path, master: Any) -> None:
    device = Device("DEVICE")
    async with serving(device) as server:
        server.keys = {"master_key": master, "self_signing_key": "x"}
        outcome = await CrossSigning.ensure(server.api, device, tmp_path, password=PASSWORD)
        assert outcome == Unsigned(why=Why.BROKEN_KEYS)
        assert "discreet matrix login" in outcome.mend
        assert server.uploads == []
        outcome = await CrossSigning.ensure(server.api, device, tmp_path, password=PASSWORD, reset=True)
        assert outcome == Signed(ours=True, new=True)


async def test_a_signature_of_somebody_else_is_none(tmp_path: Path) -> None:
    device = Device("DEVICE")
    async with serving(device) as server:
        await CrossSigning.ensure(server.api, device, tmp_path)
        (public,) = server.keys["self_signing_key"]["keys"].values()
        server.devices["DEVICE"]["signatures"][USER][f"ed25519:{public}"] = Device("X").sign(b"x")
        assert await CrossSigning.verify(server.api, device, tmp_path) == Unsigned(why=Why.NOT_SIGNED)


async def test_another_refusal_is_the_callers(tmp_path: Path) -> None:
    device = Device("DEVICE")
    async with serving(device) as server:
        server.free, server.flows = False, None
        with pytest.raises(RefusedError) as caught:
            await CrossSigning.ensure(server.api, device, tmp_path, password=PASSWORD)
    assert PASSWORD not in repr(caught.value)


@pytest.mark.parametrize("content", ["", "[]", '{"user_id":"@desk:example.org"}', '{"master":5}', "[" * 60_000])
async def test_damaged_keys_are_an_error_with_its_mend(tmp_path: Path, content: str) -> None:
    device = Device("DEVICE")
    (tmp_path / "cross-signing.json").write_text(content)
    async with serving(device) as server:
        with pytest.raises(ChannelError, match="discreet matrix login --reset-cross-signing"):
            await CrossSigning.ensure(server.api, device, tmp_path)
        assert server.uploads == []


async def test_keys_of_another_account_are_not_used(tmp_path: Path) -> None:
    CrossSigning.make(tmp_path, "@other:example.org")
    with pytest.raises(ChannelError):
        CrossSigning.read(tmp_path, USER)
