"""One question to Telegram: is this token right, and what may the bot do? Before anything is written."""

import json
import urllib.error
import urllib.request
from dataclasses import dataclass
from typing import Any, Final

from bot.config.errors import ConfigError
from bot.config.secret import Secret
from bot.model.errors import ChannelError

TIMEOUT_S: Final = 15.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Bot:
    """What getMe says.

    Attributes:
        id: the bot's number.
        username: without @.
        reads_everything: privacy mode is off.
        joins_groups: it can be added to groups.
    """

    id: str
    username: str
    reads_everything: bool
    joins_groups: bool


def probe(token: Secret, api_url: str) -> Bot:
    """Ask who the bot is.

    Raises:
        ConfigError: the address is none, or Telegram does not know the token.
        ChannelError: Telegram can't be reached, or it is not Telegram that answers.
    """
    if not api_url.startswith(("https://", "http://")):
        raise ConfigError("--api-url is no web address. Write it whole, such as https://api.telegram.org")
    answer = _call(f"{api_url}/bot{token.reveal()}/getMe", api_url)
    result = answer.get("result")
    if answer.get("ok") is not True or not isinstance(result, dict):
        raise ChannelError(f"{api_url} does not answer like a Bot API server. Check --api-url")
    number, username = result.get("id"), result.get("username")
    if type(number) is not int or not isinstance(username, str):
        raise ChannelError(f"{api_url} does not say who the bot is. Check --api-url")
    return Bot(
        id=str(number),
        username=username,
        reads_everything=result.get("can_read_all_group_messages") is True,
        joins_groups=result.get("can_join_groups") is not False,
    )


def _call(url: str, api_url: str) -> dict[str, Any]:
    # The daemon goes to Telegram directly too: a proxy that only this question took would hide that.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(url, timeout=TIMEOUT_S) as response:
            answer = json.load(response)
    except urllib.error.HTTPError as error:
        error.close()
        if error.code in (401, 403, 404):
            raise ConfigError("Telegram does not know this token. Copy it again, whole, from @BotFather") from None
        raise ChannelError(f"{api_url} answers with {error.code}. Try again in a minute") from None
    except (OSError, ValueError) as error:  # the text of either may hold the URL, and so the token
        why = _why(error)
        raise ChannelError(f"{api_url} can't be reached{why}. Check the network and --api-url") from None
    if not isinstance(answer, dict):
        raise ChannelError(f"{api_url} does not answer like a Bot API server. Check --api-url")
    return answer


def _why(error: Exception) -> str:
    reason = error.reason if isinstance(error, urllib.error.URLError) else error
    if isinstance(reason, TimeoutError):
        return f" within {TIMEOUT_S:.0f} s"
    if isinstance(reason, OSError) and reason.strerror:
        return f" ({reason.strerror})"
    return ""
