"""How the bot's account is found, logged in and checked.

The device id is kept from one login to the next: a soft logout takes the token away and leaves the device, so the same
device logs in again and its keys stay good. What fails is told to an admin, with the mend.

ChannelError           it can't go on like this: a wrong token or password, no Matrix server
├── SoftLogoutError    the token has ended and the device has not: log in again with the same device
└── UnreachableError   the server can't be asked now; the same may succeed later as it is
"""

import contextlib
import re
from http import HTTPStatus
from typing import Any, Final

from yarl import URL

from bot.channels.matrix.client import (
    CallError,
    Endpoint,
    MatrixApi,
    NewSession,
    NoAnswerError,
    RefusedError,
    homeserver_url,
    look_up,
    new_session,
)
from bot.channels.matrix.credentials import Credentials
from bot.config.secret import Secret
from bot.model.errors import ChannelError
from bot.observability.redaction import register_secret

_PASSWORD: Final = "m.login.password"  # noqa: S105 - the name of a way to log in
_SERVER: Final = re.compile(r"(?P<host>\[[0-9A-Fa-f:.]{2,45}\]|[A-Za-z0-9.-]{1,230})(?P<port>:[0-9]{1,5})?")
_USER: Final = re.compile(rf"@[\x21-\x39\x3b-\x7e]{{1,254}}:{_SERVER.pattern}")
_DEVICE: Final = re.compile(r"[\x20-\x7e]{1,255}")
_PASSING: Final = frozenset((429, 500, 502, 503, 504))
_FAREWELL_S: Final = 5.0
_UNKNOWN_TOKEN: Final = frozenset({"M_UNKNOWN_TOKEN", "M_MISSING_TOKEN"})
_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})

_AGAIN: Final = "Run `discreet matrix login`"
_ANOTHER: Final = "Take another token"
_COMPATIBILITY: Final = (
    "Make a compatibility token for it (with Matrix Authentication Service: "
    "`mas-cli manage issue-compatibility-token USERNAME`) and log in with that token"
)


class SoftLogoutError(ChannelError):
    """The token has ended; the device and its keys stay good for a new login with the same device id."""


class UnreachableError(ChannelError):
    """The server can't be asked now: nobody there, a fault of its own, or too many tries."""


async def discover(server_or_user: str, *, session: NewSession = new_session) -> str:
    """The address of the homeserver that is meant.

    Args:
        server_or_user: the address itself (taken as it is), a server's name, or a user id.
        session: makes HTTP sessions.

    Raises:
        UnreachableError: nobody can be asked now.
        ChannelError: it can't be found; the text says the mend.
    """
    text = server_or_user.strip()
    if "://" in text:
        return homeserver_url(text)
    if text.startswith("@"):
        text = text.partition(":")[2]
    found = _SERVER.fullmatch(text)
    if found is None:
        raise ChannelError(
            "this is no name of a Matrix server. Write example.org, @desk:example.org or https://matrix.example.org"
        )
    unclear = (
        f"where the homeserver of {text} is can't be found out: https://{found['host']}/.well-known/matrix/client "
    )
    mend = (
        "Write the homeserver's address itself, such as https://matrix.example.org, "
        "with --homeserver, or as homeserver: in config.yaml"
    )
    problem, passing = None, False
    told: dict[str, Any] | None = None
    try:
        told = await look_up(f"https://{found['host']}/.well-known/matrix/client", session=session)
    except RefusedError as error:
        if error.status != HTTPStatus.NOT_FOUND:
            problem, passing = f"answers with {error.status}", error.status in _PASSING
    except NoAnswerError as error:
        if error.sent or found["port"] is None:
            passing = error.code != "not_understood"
            problem = "can't be reached" if passing else "gives nothing that can be read"
    if problem is not None:
        raise (UnreachableError if passing else ChannelError)(f"{unclear}{problem}. {mend}")
    if told is None:
        return homeserver_url(f"https://{text}")
    named = told.get("m.homeserver")
    address = named.get("base_url") if isinstance(named, dict) else None
    with contextlib.suppress(ChannelError):
        if isinstance(address, str) and address.strip().startswith("https://"):
            return homeserver_url(address)
    raise ChannelError(f"{unclear}names no address with https. {mend}")


def refuse_open_way(homeserver: str, *, allow_plain_http: bool) -> None:
    """Keep passwords, tokens and messages off a way on which others read along.

    Args:
        homeserver: its address.
        allow_plain_http: an admin knows the way to it and wants it so.

    Raises:
        ChannelError: it is plain http to another machine.
    """
    if not allow_plain_http and URL(homeserver).scheme == "http" and URL(homeserver).host not in _LOOPBACK:
        raise ChannelError(
            f"on the way to {homeserver} everybody could read along, passwords and tokens too. Take its https address, "
            "or allow it: allow_plain_http: true for this account in config.yaml (for one login --allow-plain-http)"
        )


async def look_for_server(homeserver: str, *, with_password: bool, session: NewSession = new_session) -> None:
    """Ask whether there is a Matrix server at all, before anybody is asked for a secret.

    Args:
        homeserver: its address.
        with_password: it has to take passwords.
        session: makes HTTP sessions.

    Raises:
        UnreachableError: the server can't be asked now.
        ChannelError: there is none, or it takes no passwords; the text says the mend.
    """
    api = MatrixApi(homeserver=homeserver, session=session)
    failure: CallError | None = None
    try:
        if with_password:
            await _expect_password_login(api)
        else:
            await api.call(Endpoint.VERSIONS)
    except CallError as error:
        failure = error
    finally:
        await api.close()
    if failure is not None:
        raise _explained(api, failure)


async def log_out(credentials: Credentials, *, session: NewSession = new_session) -> None:
    """End a login that nobody will use, and with it its device. That it can't be ended changes nothing."""
    api = MatrixApi(homeserver=credentials.homeserver, token=credentials.access_token.reveal(), session=session)
    try:
        with contextlib.suppress(CallError):
            await api.call(Endpoint.LOGOUT, timeout_s=_FAREWELL_S)
    finally:
        await api.close()


async def log_in(
    *,
    homeserver: str,
    user_id: str,
    password: str | None = None,
    token: str | None = None,
    device_id: str | None = None,
    device_name: str = "Discreet",
    allow_plain_http: bool = False,
    session: NewSession = new_session,
) -> Credentials:
    """Log in with a password, or take over the device of a token.

    Args:
        homeserver: its address.
        user_id: the full id.
        password: exactly one of this and ``token``.
        token: of a device that nobody else uses.
        device_id: the kept device; a token has to be of that device. None: the server makes a new one.
        device_name: what people see in the list of devices.
        allow_plain_http: also to another machine than this one.
        session: makes HTTP sessions.

    Raises:
        UnreachableError: the server can't be asked now.
        ChannelError: it can't be done; the text says the mend.
    """
    refuse_open_way(homeserver_url(homeserver), allow_plain_http=allow_plain_http)
    if _USER.fullmatch(user_id) is None:
        raise ChannelError("this is no full user id. Write it like @desk:example.org")
    if (password is None) == (token is None):
        raise ChannelError("give a password or an access token, one of the two")
    for secret in (password, token):
        if secret is not None:
            register_secret(secret)
    api = MatrixApi(homeserver=homeserver, token=token, session=session)
    try:
        if password is None:
            found = await _device_of(api, user_id, device_id)
        else:
            await _expect_password_login(api)
            found, token = await _with_password(api, user_id, password, device_id, device_name)
    finally:
        await api.close()
    return Credentials(homeserver=api.homeserver, user_id=user_id, device_id=found, access_token=Secret(token or ""))


async def check(api: MatrixApi, credentials: Credentials) -> None:
    """Ask the server whether the token is still the one of this account and device.

    Raises:
        SoftLogoutError: log in again with the same device.
        ChannelError: the token is of no use; the text says the mend.
        CallError: the server can't say now; the same may succeed later.
    """
    try:
        me = await api.call(Endpoint.WHOAMI)
    except RefusedError as error:
        refusal = error
    else:
        _expect(me, credentials.user_id, credentials.device_id)
        return
    raise verdict(refusal) or refusal


def verdict(refusal: RefusedError) -> ChannelError | None:
    """What a refusal says about the token; None: nothing."""
    match refusal.errcode:
        case "M_USER_LOCKED" | "M_USER_SUSPENDED":
            return ChannelError("the homeserver has locked this account. Ask its admin")
        case "M_USER_DEACTIVATED":
            return ChannelError("this account is deactivated. Make another one for the bot")
        case "M_UNKNOWN_TOKEN" if refusal.soft_logout:
            return SoftLogoutError(f"the homeserver has ended this login. {_AGAIN}: the device stays the same")
        case errcode if errcode in _UNKNOWN_TOKEN:
            return ChannelError(f"the homeserver does not know this access token (any more). {_AGAIN}")
    return None


def _expect(me: dict[str, Any], user_id: str, device_id: str | None) -> str:
    """The device of a whoami that is of the right account and device.

    Raises:
        ChannelError: it is not.
    """
    if me.get("user_id") != user_id:
        raise ChannelError(f"the access token is of another account than {user_id}. Take one of its own")
    found = me.get("device_id")
    if not isinstance(found, str) or _DEVICE.fullmatch(found) is None:
        raise ChannelError(
            "the access token belongs to no device, and without one nothing can be encrypted. "
            "Log in with a password, or make a token that has a device"
        )
    if device_id is not None and found != device_id:
        raise ChannelError(
            f"the access token is of another device than the kept one. {_AGAIN} to go on with its device, "
            "or take a token of the kept one"
        )
    return found


async def _device_of(api: MatrixApi, user_id: str, device_id: str | None) -> str:
    try:
        me = await api.call(Endpoint.WHOAMI)
    except CallError as error:
        failure = error
    else:
        return _expect(me, user_id, device_id)
    if isinstance(failure, RefusedError):
        if failure.errcode in _UNKNOWN_TOKEN:  # it has only just been given, so it is plainly wrong
            raise ChannelError(f"the homeserver does not know this access token (any more). {_ANOTHER}")
        found = verdict(failure)
        if found is not None:
            raise found
    raise _explained(api, failure)


async def _expect_password_login(api: MatrixApi) -> None:
    flows: Any = None
    failure: CallError | None = None
    try:
        flows = (await api.call(Endpoint.LOGIN_FLOWS)).get("flows")
    except CallError as error:
        failure = error
    if failure is not None:
        raise _explained(api, failure)
    if not isinstance(flows, list):
        raise ChannelError(_no_matrix(api))
    if not any(isinstance(flow, dict) and flow.get("type") == _PASSWORD for flow in flows):
        raise ChannelError(f"this homeserver has no login with a password. {_COMPATIBILITY}")


async def _with_password(
    api: MatrixApi, user_id: str, password: str, device_id: str | None, device_name: str
) -> tuple[str, str]:
    body: dict[str, Any] = {
        "type": _PASSWORD,
        "identifier": {"type": "m.id.user", "user": user_id},
        "password": password,
        "initial_device_display_name": device_name,
    }
    if device_id is not None:
        body["device_id"] = device_id
    try:
        answer = await api.call(Endpoint.LOGIN, body=body)
    except CallError as error:
        failure = error
    else:
        return await _accepted(api, answer, user_id, device_id)
    if isinstance(failure, RefusedError):
        found = verdict(failure)
        if found is not None:
            raise found
        if failure.status == HTTPStatus.FORBIDDEN:
            raise ChannelError(f"the homeserver does not accept this password for {user_id}. Check both and try again")
    raise _explained(api, failure)


async def _accepted(api: MatrixApi, answer: dict[str, Any], user_id: str, device_id: str | None) -> tuple[str, str]:
    token = answer.get("access_token")
    if not isinstance(token, str):
        raise ChannelError(_no_matrix(api))
    register_secret(token)
    api.use(token)
    try:
        return _expect(answer, user_id, device_id), token
    except ChannelError:
        # A login that nobody will use is ended; that it can't be changes nothing.
        with contextlib.suppress(CallError):
            await api.call(Endpoint.LOGOUT, timeout_s=_FAREWELL_S)
        raise


def _explained(api: MatrixApi, failure: CallError) -> ChannelError:
    """Say in an admin's words why a call did not succeed."""
    if isinstance(failure, RefusedError):
        if failure.status == HTTPStatus.TOO_MANY_REQUESTS:
            wait_s = failure.retry_after_s
            when = "later" if wait_s is None else f"in {max(1, round(wait_s))} seconds"
            return UnreachableError(f"the homeserver wants fewer tries. Try again {when}")
        if failure.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            return UnreachableError(f"{api.homeserver} has a fault of its own ({failure.status}). Try again later")
        if failure.errcode and failure.errcode != "M_UNRECOGNIZED":
            return ChannelError(f"{api.homeserver} refuses the login ({failure.status} {failure.errcode})")
        return ChannelError(_no_matrix(api))
    if isinstance(failure, NoAnswerError) and failure.code == "not_understood":
        return ChannelError(_no_matrix(api))
    return UnreachableError(f"{api.homeserver} can't be reached. Check the address, its certificate and the network")


def _no_matrix(api: MatrixApi) -> str:
    without, found, _ = api.homeserver.partition("/_matrix")
    if found:
        return f"there is no Matrix server at {api.homeserver}. Write the address without /_matrix: {without}"
    return (
        f"there is no Matrix server at {api.homeserver}. Write the address of its client API, "
        "or the server's name (example.org) to have it looked up"
    )
