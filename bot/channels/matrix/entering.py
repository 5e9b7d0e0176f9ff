"""From a password or a token to a device that people's clients trust; the daemon and the command line share it."""

import asyncio
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bot.channels.matrix.client import CallError, MatrixApi, NewSession, RefusedError, new_session
from bot.channels.matrix.credentials import (
    Credentials,
    read_credentials,
    read_private,
    write_credentials,
    write_private,
)
from bot.channels.matrix.keys.crosssigning import CrossSigning, Device, Signed, Unsigned, Why
from bot.channels.matrix.keys.encryption import Encryption
from bot.channels.matrix.keys.publishing import LOST, KeysLostError
from bot.channels.matrix.login import discover, log_in, log_out
from bot.model.errors import ChannelError
from bot.observability.log import get_logger

log = get_logger(__name__)

_DEVICE: Final = "device.json"


async def log_in_and_keep(
    folder: Path,
    *,
    user_id: str,
    homeserver: str | None,
    password: str | None,
    token: str | None,
    device_id: str | None,
    device_name: str = "Discreet",
    allow_plain_http: bool = False,
    session: NewSession = new_session,
) -> Credentials:
    """Log in and keep the login in the account's folder; never the password.

    Args:
        folder: of the account.
        user_id: the full id.
        homeserver: its address; None: the server of the user id tells it.
        password: exactly one of this and ``token``.
        token: of a device that nobody else uses.
        device_id: the kept device; None: a new one.
        device_name: what people see in the list of devices.
        allow_plain_http: also to another machine than this one.
        session: makes HTTP sessions.

    Raises:
        ChannelError: it can't be done; the text says the mend.
    """
    address = await discover(user_id if homeserver is None else homeserver, session=session)
    credentials = await log_in(
        homeserver=address,
        user_id=user_id,
        password=password,
        token=token,
        device_id=device_id,
        device_name=device_name,
        allow_plain_http=allow_plain_http,
        session=session,
    )
    await asyncio.to_thread(write_credentials, folder, credentials)
    return credentials


async def take_device(
    folder: Path,
    *,
    user_id: str,
    homeserver: str | None,
    password: str | None,
    token: str | None,
    device_id: str | None,
    device_name: str = "Discreet",
    allow_plain_http: bool = False,
    reset: bool = False,
    session: NewSession = new_session,
) -> tuple[Credentials, Signed | Unsigned]:
    """Log in as the kept device; as a new one where the kept one's keys are lost here.

    The cross-signing keys stay: they are the account's, and what people have verified.

    Args:
        folder: of the account.
        user_id: the full id.
        homeserver: its address; None: the server of the user id tells it.
        password: exactly one of this and ``token``.
        token: of a device that nobody else uses.
        device_id: the kept device; None: a new one.
        device_name: what people see in the list of devices.
        allow_plain_http: also to another machine than this one.
        reset: replace cross-signing keys that are not ours.
        session: makes HTTP sessions.

    Raises:
        ChannelError: it can't be done; the text says the mend.
    """

    async def enter(device: str | None) -> tuple[Credentials, Signed | Unsigned]:
        credentials = await log_in_and_keep(
            folder,
            user_id=user_id,
            homeserver=homeserver,
            password=password,
            token=token,
            device_id=device,
            device_name=device_name,
            allow_plain_http=allow_plain_http,
            session=session,
        )
        return credentials, await _sign(credentials, folder, password=password, reset=reset, session=session)

    try:
        return await enter(device_id)
    except KeysLostError:
        if token is not None:
            raise ChannelError(
                "the homeserver has keys for the device of this token that are not here. Take a token of a new device"
            ) from None
        if device_id is None:
            raise
    lost = await asyncio.to_thread(read_credentials, folder)
    log.warning("device_replaced", detail="its keys are lost here")
    entered = await enter(None)
    if lost is not None:
        await log_out(lost, session=session)
    return entered


async def _sign(
    credentials: Credentials, folder: Path, *, password: str | None, reset: bool, session: NewSession
) -> Signed | Unsigned:
    api = MatrixApi(homeserver=credentials.homeserver, token=credentials.access_token.reveal(), session=session)
    try:
        encryption = await asyncio.to_thread(
            lambda: Encryption.open(user_id=credentials.user_id, device_id=credentials.device_id, folder=folder)
        )
        try:
            signed = await sign_device(api, encryption, folder, password=password, reset=reset)
        finally:
            encryption.close()
    finally:
        await api.close()
    if isinstance(signed, Unsigned) and signed.why is Why.DEVICE_DIFFERS:
        raise KeysLostError(str(signed))
    return signed


async def sign_device(
    api: MatrixApi, encryption: Encryption, folder: Path, *, password: str | None, reset: bool = False
) -> Signed | Unsigned:
    """Upload the device's keys and have it signed by its account.

    Args:
        api: logged in as the device.
        encryption: the device.
        folder: of the account.
        password: for a server that wants it for new cross-signing keys.
        reset: replace cross-signing keys that are not ours.

    Raises:
        KeysLostError: the device had other keys than these.
        ChannelError: the keys can't be uploaded or signed; the text says the mend.
    """
    await asyncio.to_thread(refuse_lost, folder, encryption)
    await asyncio.to_thread(write_device, folder, encryption)
    try:
        await encryption.upkeep(api)
        signed = await CrossSigning.ensure(api, encryption, folder, password=password, reset=reset)
    except CallError as error:
        code = error.status if isinstance(error, RefusedError) else None
        raise ChannelError(
            f"the homeserver did not take the device's keys ({code or 'no answer'}). Try again"
        ) from None
    if isinstance(signed, Unsigned):
        log.warning("device_not_signed", reason=signed.why.value)
    return signed


@dataclass(frozen=True, kw_only=True, slots=True)
class KnownDevice:
    """The public side of the device, to look how it stands while the daemon has its keys open."""

    user_id: str
    device_id: str
    fingerprint: str

    def sign(self, message: bytes) -> str:
        """Not with the public side alone."""
        raise ChannelError("the device's keys are not open")


def refuse_lost(folder: Path, device: Device) -> None:
    """Let no device go on with other keys than it began with: whoever has seen them takes nothing from it any more.

    Raises:
        KeysLostError: it had other keys.
        ChannelError: the folder can't be read; the text says the mend.
    """
    known = read_device(folder)
    if known is not None and known.device_id == device.device_id and known.fingerprint != device.fingerprint:
        raise KeysLostError(LOST)


def write_device(folder: Path, device: Device) -> None:
    """Keep the public side of the device."""
    public = {"user_id": device.user_id, "device_id": device.device_id, "fingerprint": device.fingerprint}
    write_private(folder / _DEVICE, json.dumps(public).encode())


def read_device(folder: Path) -> KnownDevice | None:
    """The public side of the device; None where it has not been kept.

    Raises:
        ChannelError: it can't be read.
    """
    content = read_private(folder / _DEVICE)
    if content is None:
        return None
    try:
        return KnownDevice(**json.loads(content))
    except (ValueError, TypeError, RecursionError):
        return None
