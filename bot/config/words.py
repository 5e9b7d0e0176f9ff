"""What a single value of the configuration may be: addresses, tokens, secrets.

INVARIANT: no problem quotes the value that it is about.
"""

import re
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, PlainValidator

from bot.config.secret import Secret
from bot.config.settings import Listen
from policy.destination import MalformedAccountError, parse_account
from policy.document_shape import flaw

_TOKEN = re.compile(r"(?P<id>[1-9][0-9]{0,18}):[A-Za-z0-9_-]+")
_LISTEN = re.compile(r"(?P<host>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9.-]+):(?P<port>[0-9]{1,5})")


def _url(value: str) -> str:
    try:
        parts = urlsplit(value)
        fine = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        parts, fine = urlsplit(""), False
    if not fine:
        raise flaw("this is no web address", "write it whole, such as https://example.org")
    if parts.username is not None:
        raise flaw("a web address with a name or a password in it", "take them out")
    if parts.query or parts.fragment:
        raise flaw("a web address with a ? or a # in it", "write it without them")
    return value.rstrip("/")


def _listen(value: object) -> Listen:
    found = _LISTEN.fullmatch(value) if isinstance(value, str) else None
    if found is None or int(found["port"]) > 65535:
        raise flaw("this is no host and port", 'write both, such as 127.0.0.1:8443 or "[::1]:8443"')
    return Listen(host=found["host"].strip("[]"), port=int(found["port"]))


def _secret(value: object) -> Secret:
    if not isinstance(value, str):
        raise flaw("a secret is a text", "put it in quotes, or better take it from the environment: ${NAME}")
    return Secret(secret_text(value))


def _password(value: object) -> Secret:
    if not isinstance(value, str):
        raise flaw("a password is a text", "put it in quotes, or better take it from the environment: ${NAME}")
    return Secret(password_text(value))


def _user_id(value: str) -> str:
    try:
        parse_account(f"matrix:{value}")
    except MalformedAccountError:
        raise flaw("this is no Matrix user id", 'write it whole and in quotes: "@name:server"') from None
    return value


def _path_of_url(value: str) -> str:
    if not re.fullmatch(r"/[A-Za-z0-9._~/-]*", value):
        raise flaw("this is no path of a web address", "start it with / and take letters, digits, - and _")
    return value


def _word(value: str) -> str:
    if not value.strip():
        raise flaw("an empty text", "write something, or leave the key out")
    return value


def secret_text(value: str) -> str:
    """Check a secret, from the file or from one of its own.

    Raises:
        PydanticCustomError: it is empty or holds spaces or characters that no secret has.
    """
    if not (value.isascii() and value.isprintable() and value and " " not in value):
        raise flaw("a secret that is empty or has spaces or other than ASCII characters", "copy it again, whole")
    return value


def password_text(value: str) -> str:
    """Check a password, which unlike other secrets people make up: spaces and any script are theirs to choose.

    Raises:
        PydanticCustomError: it is empty or holds what nobody types, such as the end of a line.
    """
    if not (value.strip() and value.isprintable()):
        raise flaw("a password that is empty or has more than one line", "write it on one line, in quotes")
    return value


def bot_id(token: Secret) -> str | None:
    """The bot's number, which is the start of its token; None: this is no token."""
    found = _TOKEN.fullmatch(token.reveal())
    return None if found is None else found["id"]


Url = Annotated[str, AfterValidator(_url)]
Address = Annotated[Listen, PlainValidator(_listen)]
SecretText = Annotated[Secret, PlainValidator(_secret)]
PasswordText = Annotated[Secret, PlainValidator(_password)]
UserId = Annotated[str, AfterValidator(_user_id)]
UrlPath = Annotated[str, AfterValidator(_path_of_url)]
Word = Annotated[str, AfterValidator(_word)]
