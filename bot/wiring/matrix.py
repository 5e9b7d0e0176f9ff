"""``discreet matrix``: an account logged in, asked who it is, and looked at."""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from bot.api.control import answers
from bot.config.settings import Config, MatrixBot
from bot.model.errors import ChannelError, ConfigError
from bot.model.setup import MatrixCheck, MatrixLogin
from bot.wiring.records import CONTROL
from policy.document import load
from policy.errors import PolicyError
from policy.ruleset import Policy

if TYPE_CHECKING:
    from bot.channels.matrix.client import MatrixApi
    from bot.channels.matrix.credentials import Credentials
    from bot.channels.matrix.entering import KnownDevice
    from bot.channels.matrix.keys.crosssigning import Signed, Unsigned


async def matrix_server(
    config: Config, user_id: str, *, homeserver: str | None, with_password: bool, allow_plain_http: bool
) -> str:
    """The address of the homeserver of a login to come; looked for before anybody is asked for a secret.

    Args:
        config: says where things are kept.
        user_id: the full id.
        homeserver: address or name of the server; None: that of an earlier login, else the server of the user id
            tells it.
        with_password: the login will be by password.
        allow_plain_http: also to another machine than this one.

    Raises:
        ConfigError: the daemon runs, which uses the same device.
        ChannelError: there is no such server, or not now; the text says the mend.
    """
    from bot.channels.matrix.credentials import account_folder, read_credentials
    from bot.channels.matrix.login import discover, look_for_server, refuse_open_way

    if await answers(config.data_dir / CONTROL) and user_id in [bot.user_id for bot in config.matrix]:
        raise ConfigError("the daemon runs and uses this device. Stop it, log in, and start it again")
    known = await asyncio.to_thread(read_credentials, account_folder(config.data_dir, user_id))
    if homeserver is None and known is not None:
        homeserver = known.homeserver
    address = await discover(user_id if homeserver is None else homeserver)
    refuse_open_way(address, allow_plain_http=allow_plain_http)
    await look_for_server(address, with_password=with_password)
    return address


async def matrix_login(
    config: Config,
    user_id: str,
    *,
    homeserver: str,
    password: str | None,
    token: str | None,
    device_name: str,
    reset_cross_signing: bool,
    allow_plain_http: bool,
) -> MatrixLogin:
    """Log an account in, keep the login and have its device signed. The device of an earlier login is kept.

    Args:
        config: says where things are kept.
        user_id: the full id.
        homeserver: its address.
        password: exactly one of this and ``token``.
        token: of a device that nobody else uses.
        device_name: what people see in the list of devices.
        reset_cross_signing: replace cross-signing keys that another client has made.
        allow_plain_http: also to another machine than this one.

    Raises:
        ChannelError: it can't be done; the text says the mend.
    """
    from bot.channels.matrix.credentials import account_folder, read_credentials
    from bot.channels.matrix.entering import take_device

    folder = account_folder(config.data_dir, user_id)
    known = await asyncio.to_thread(read_credentials, folder)
    credentials, signed = await take_device(
        folder,
        user_id=user_id,
        homeserver=homeserver,
        password=password,
        token=token,
        device_id=None if known is None or token is not None else known.device_id,
        device_name=device_name,
        reset=reset_cross_signing,
        allow_plain_http=allow_plain_http,
    )
    return _login(credentials, signed)


async def matrix_whoami(config: Config, user_id: str | None) -> MatrixLogin:
    """Ask the server who the kept login is.

    Raises:
        ChannelError: nobody is logged in, or the server says no or can't be reached; the text says the mend.
    """
    async with _account(config, user_id) as (api, credentials, bot):
        _, signed = await _standing(api, credentials, config, bot)
        return _login(credentials, signed)


async def matrix_setup(config: Config, user_id: str | None) -> Sequence[MatrixCheck]:
    """Look at everything that an account needs (OPS-2): device, keys, cross-signing, rooms and who reads them.

    Raises:
        ChannelError: nobody is logged in, or the server says no or can't be reached; the text says the mend.
    """
    from bot.channels.matrix.checking import look_at_rooms
    from bot.channels.matrix.keys.crosssigning import Unsigned, Why

    checks: list[MatrixCheck] = []
    async with _account(config, user_id) as (api, credentials, bot):
        checks.append(MatrixCheck(name="login", ok=True, detail=f"device {credentials.device_id}"))
        device, signed = await _standing(api, credentials, config, bot)
        lost = (
            signed if isinstance(signed, Unsigned) and signed.why in (Why.DEVICE_MISSING, Why.DEVICE_DIFFERS) else None
        )
        detail = f"fingerprint {device.fingerprint}" if lost is None else lost.cause
        checks.append(
            MatrixCheck(name="keys", ok=lost is None, detail=detail, mend=None if lost is None else lost.mend)
        )
        if lost is not None:
            untold = "nobody can tell before the keys are in order"
            checks.append(MatrixCheck(name="cross-signing", ok=False, detail=untold))
        elif isinstance(signed, Unsigned):
            checks.append(MatrixCheck(name="cross-signing", ok=False, detail=signed.cause, mend=signed.mend))
        else:
            checks.append(MatrixCheck(name="cross-signing", ok=True, detail="the device is signed by its account"))
        policy = _policy(config)
        if policy is None:
            mend = "look at it with: discreet policy check"
            checks.append(MatrixCheck(name="policy", ok=False, detail="it can't be read", mend=mend))
            return checks
        checks += await look_at_rooms(api, credentials.user_id, policy)
    return checks


def _policy(config: Config) -> Policy | None:
    with contextlib.suppress(OSError, UnicodeDecodeError, PolicyError):
        return load(config.policy.read_text("utf-8"), source=str(config.policy), environment=os.environ)
    return None


def _login(credentials: "Credentials", signed: "Signed | Unsigned") -> MatrixLogin:
    from bot.channels.matrix.keys.crosssigning import Unsigned

    return MatrixLogin(
        user_id=credentials.user_id,
        device_id=credentials.device_id,
        homeserver=credentials.homeserver,
        signed=not isinstance(signed, Unsigned),
        note=str(signed) if isinstance(signed, Unsigned) else None,
    )


@asynccontextmanager
async def _account(config: Config, user_id: str | None) -> AsyncIterator[tuple["MatrixApi", "Credentials", str]]:
    """A kept login, confirmed by its server."""
    from bot.channels.matrix.client import CallError, MatrixApi
    from bot.channels.matrix.credentials import account_folder, read_credentials
    from bot.channels.matrix.login import check, refuse_open_way

    user_id = user_id or _only(config.matrix)
    credentials = await asyncio.to_thread(read_credentials, account_folder(config.data_dir, user_id))
    if credentials is None:
        raise ChannelError(f"{user_id} is not logged in. Log it in with: discreet matrix login")
    allowed = any(bot.allow_plain_http for bot in config.matrix if bot.user_id == user_id)
    refuse_open_way(credentials.homeserver, allow_plain_http=allowed)
    api = MatrixApi(homeserver=credentials.homeserver, token=credentials.access_token.reveal())
    try:
        try:
            await check(api, credentials)
        except CallError:
            raise ChannelError(f"{credentials.homeserver} can't be asked now. Try again later") from None
        yield api, credentials, user_id
    finally:
        await api.close()


async def _standing(
    api: "MatrixApi", credentials: "Credentials", config: Config, user_id: str
) -> "tuple[KnownDevice, Signed | Unsigned]":
    """The device and how it stands; its keys stay shut, for the daemon may have them open."""
    from bot.channels.matrix.client import CallError
    from bot.channels.matrix.credentials import account_folder
    from bot.channels.matrix.entering import read_device
    from bot.channels.matrix.keys.crosssigning import CrossSigning

    folder = account_folder(config.data_dir, user_id)
    device = await asyncio.to_thread(read_device, folder)
    if device is None or device.device_id != credentials.device_id:
        raise ChannelError(f"the keys of {user_id} have never been made. Run: discreet matrix login")
    try:
        return device, await CrossSigning.verify(api, device, folder)
    except CallError:
        raise ChannelError(f"{credentials.homeserver} can't be asked now. Try again later") from None


def _only(bots: Sequence[MatrixBot]) -> str:
    if len(bots) != 1:
        raise ConfigError("say which account: --user @desk:example.org")
    return bots[0].user_id
