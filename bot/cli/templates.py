"""The files that ``discreet init`` writes, with a word on each key."""

import json
from typing import Final

PUBLIC_API: Final = "https://api.telegram.org"


def telegram_section(*, token_file: str, username: str, api_url: str) -> str:
    """The lines of a configuration for one bot on Telegram."""
    server = "" if api_url == PUBLIC_API else f'    api_url: "{api_url}"\n'
    return f"""\
telegram:
  - token_file: {token_file} # of @{username}; keep that file at mode 0600
{server}"""


def matrix_section(*, user_id: str, homeserver: str | None) -> str:
    """The lines of a configuration for one account on Matrix."""
    address = (
        "    # homeserver: https://matrix.example.org # only where the server's .well-known does not tell it\n"
        if homeserver is None
        else f"    homeserver: {_value(homeserver)}\n"
    )
    return f"""\
matrix:
  - user_id: {_value(user_id)} # `discreet matrix login` logs it in; its device is kept under data_dir
{address}\
    # password_file: matrix.password # then the gateway logs in by itself, at first and after a soft logout
"""


def config_text(*, policy_file: str, channel: str) -> str:
    """A configuration with an echo for an agent; ``channel`` has the lines of the bot's account."""
    return f"""\
# How this gateway runs. Who may speak to whom stands in {policy_file}.
# Paths are relative to this folder. ${{NAME}} in a value is taken from the environment.

policy: {policy_file}
data_dir: data # events, decisions and the journal; made with the first start, for its owner alone

{channel}
# Who writes the answers. The echo says what it hears: good for trying things out.
agents:
  main:
    kind: echo
  # An agent of yours behind a webhook (Standard Webhooks signatures):
  #   kind: webhook
  #   url: https://agent.example.org/discreet
  #   secret_file: agent.secret # whsec_...; a file with nothing else in it
  # A model behind an OpenAI-compatible server:
  #   kind: openai
  #   base_url: http://127.0.0.1:11434/v1
  #   model: a-model
  #   api_key_file: model.key

# The built-in chat; people enter by a link of `discreet chat invite`. Members are people of the policy who have an
# account such as web:ann there.
# chat:
#   enabled: true
#   listen: 127.0.0.1:8443
#   rooms:
#     support: {{title: Support, members: [ann]}}

# Questions that an agent asks people: pages with forms, and the interface where agents ask. See docs/questions.md.
# pages: {{enabled: true, public_url: "https://forms.example.org"}} # what listens on 127.0.0.1:8088, as people reach it
# api: {{enabled: true}} # `discreet keys add main` makes the key of the agent main

# contents_retention: 30d # the words of finished work are erased after it; decisions and digests stay
# metrics: {{enabled: true, listen: "127.0.0.1:9464"}} # also /healthz and /readyz
# log: {{level: info, format: json}}
"""


def telegram_policy(*, bot_id: str, operator: str | None, group: str | None) -> str:
    """A careful policy: with an operator and a group where they are known.

    Args:
        bot_id: the bot's number.
        operator: the number of a person.
        group: of a group.
    """
    asked = "written /help@name_of_the_bot. (/stop@... always does.)"
    explained = "Groups, by telegram:BOT:GROUP (and :TOPIC for one topic)"
    return "\n".join(
        (
            _head("Telegram", asked),
            _operators("telegram:510000001", "your user id", None if operator is None else f"telegram:{operator}"),
            _channels(
                explained, f"telegram:{bot_id}:-1001234567890", None if group is None else f"telegram:{bot_id}:{group}"
            ),
            _REST,
        )
    )


def matrix_policy(*, user_id: str, operator: str | None, room: str | None) -> str:
    """The same for Matrix.

    Args:
        user_id: of the bot.
        operator: user id of a person.
        room: id of a room.
    """
    asked = "written !help after a mention of the bot. (!stop always does.)"
    explained = "Rooms, by matrix:@bot:server:!room:server (and :$thread for one thread)"
    return "\n".join(
        (
            _head("Matrix", asked),
            _operators("matrix:@you:example.org", "your user id", None if operator is None else f"matrix:{operator}"),
            _channels(
                explained,
                f"matrix:{user_id}:!room:example.org",
                None if room is None else f"matrix:{user_id}:{room}",
            ),
            _INVITES,
            _REST,
        )
    )


def _head(platform: str, asked: str) -> str:
    return f"""\
# Who may start the agent, who reads along, and what may be said. Everything that is not allowed here stays silent.
# Ids only: names and @handles change hands. `discreet channels` shows the ids that the bot has seen.
# Check this file with `discreet policy check`; a running gateway takes it up by itself.

version: 1

defaults:
  language: en # of the gateway's own words where {platform} doesn't tell the person's: en, ru, es, bg, de

# Commands that count as a request in a group, {asked}
commands: [help]
"""


_INVITES: Final = """\
# The bot always joins where an operator invites it.
invites:
  by: [] # ids of further people whose invites it follows
  rooms: listed # anybody may invite it into the rooms that are listed above; none: nobody may
  otherwise: leave # any other invite is left alone; or: decline
"""

_REST: Final = """\
# One-to-one chats. Operators are always answered; strangers: allow answers everybody.
direct:
  strangers: unknown

unknown_channels:
  explicit_requests: mute # a mention in a group that is not listed; or: answer, as to outsiders
"""


def _operators(example: str, what: str, account: str | None) -> str:
    if account is None:
        return f"""\
# People who may approve, and who are trusted in their private chat with the bot. So far nobody:
operators: []
# operators: [me]
# people:
#   me:
#     accounts: [{_value(example)}] # {what}; `discreet channels` shows it after you have written to the bot
"""
    return f"""\
# People who may approve, and who are trusted in their private chat with the bot.
operators: [me]

people:
  me: # an id of your choice
    accounts: [{_value(account)}]
"""


def _channels(explained: str, example: str, place: str | None) -> str:
    comment = f"""\
# {explained}. audience: who reads along,
#   external: customers, partners, anybody from outside; the bot speaks only when it is spoken to
#   internal: your own people only; with `reports: true` the gateway's own reports come there
"""
    if place is None:
        return f"""\
{comment}# channels:
#   {_key(example)}:
#     audience: external
"""
    return f"""\
{comment}channels:
  {_key(place)}:
    audience: external
    require_mention: true
"""


def _key(text: str) -> str:
    """A key as YAML; ids of Telegram need no quotes, those of Matrix may hold anything."""
    return text if text.startswith("telegram:") else json.dumps(text)


def _value(text: str) -> str:
    """A value as YAML, in which nothing is taken from the environment."""
    return text if text.startswith("telegram:") else json.dumps(text).replace("${", "$${")
