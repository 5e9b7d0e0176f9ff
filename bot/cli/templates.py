"""The files that ``discreet init`` writes, with a word on each key."""

from typing import Final

PUBLIC_API: Final = "https://api.telegram.org"


def config_text(*, token_file: str, policy_file: str, username: str, api_url: str) -> str:
    """A configuration for one bot on Telegram, with an echo for an agent."""
    server = "" if api_url == PUBLIC_API else f'    api_url: "{api_url}"\n'
    return f"""\
# How this gateway runs. Who may speak to whom stands in {policy_file}.
# Paths are relative to this folder. ${{NAME}} in a value is taken from the environment.

policy: {policy_file}
data_dir: data # events, decisions and the journal; made with the first start, for its owner alone

telegram:
  - token_file: {token_file} # of @{username}; keep that file at mode 0600
{server}
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

# contents_retention: 30d # the words of finished work are erased after it; decisions and digests stay
# metrics: {{enabled: true, listen: "127.0.0.1:9464"}} # also /healthz and /readyz
# log: {{level: info, format: json}}
"""


def policy_text(*, bot_id: str, operator: str | None, group: str | None) -> str:
    """A careful policy: with an operator and a group where they are known."""
    return "\n".join((_HEAD, _operators(operator), _channels(bot_id, group), _REST))


_HEAD: Final = """\
# Who may start the agent, who reads along, and what may be said. Everything that is not allowed here stays silent.
# Ids only: names and @handles change hands. `discreet channels` shows the ids that the bot has seen.
# Check this file with `discreet policy check`; a running gateway takes it up by itself.

version: 1

defaults:
  language: en # of the gateway's own words where Telegram doesn't tell the person's: en, ru, es, bg, de

# Commands that count as a request in a group, written /help@name_of_the_bot. (/stop@... always does.)
commands: [help]
"""

_REST: Final = """\
# One-to-one chats. Operators are always answered; strangers: allow answers everybody.
direct:
  strangers: unknown

unknown_channels:
  explicit_requests: mute # a mention in a group that is not listed; or: answer, as to outsiders
"""


def _operators(operator: str | None) -> str:
    if operator is None:
        return """\
# People who may approve, and who are trusted in their private chat with the bot. So far nobody:
operators: []
# operators: [me]
# people:
#   me:
#     accounts: [telegram:510000001] # your user id; `discreet channels` shows it after you have written to the bot
"""
    return f"""\
# People who may approve, and who are trusted in their private chat with the bot.
operators: [me]

people:
  me: # an id of your choice
    accounts: [telegram:{operator}]
"""


def _channels(bot_id: str, group: str | None) -> str:
    explained = """\
# Groups, by telegram:BOT:GROUP (and :TOPIC for one topic). audience: who reads along,
#   external: customers, partners, anybody from outside; the bot speaks only when it is spoken to
#   internal: your own people only; with `reports: true` the gateway's own reports come there
"""
    if group is None:
        return f"""\
{explained}# channels:
#   telegram:{bot_id}:-1001234567890:
#     audience: external
"""
    return f"""\
{explained}channels:
  telegram:{bot_id}:{group}:
    audience: external
    require_mention: true
"""
