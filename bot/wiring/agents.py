"""The agents of a configuration."""

from typing import assert_never

from bot.config.settings import AgentSettings, EchoAgent, OpenAIAgent, ScriptedAgent, WebhookAgent
from bot.ports.agent import Agent


def agent(name: str, settings: AgentSettings) -> Agent:
    """One agent; what it needs is imported only if it is configured."""
    match settings:
        case EchoAgent():
            from bot.agents.echo import EchoAgent as Echo

            return Echo(name=name)
        case ScriptedAgent(script=path):
            from bot.agents.script import load_script
            from bot.agents.scripted import ScriptedAgent as Scripted
            from bot.agents.scripted import demo_script

            script = demo_script() if path is None else load_script(path.read_text("utf-8"), source=str(path))
            return Scripted(name=name, script=script)
        case WebhookAgent():
            from bot.agents.webhook import FilesMode
            from bot.agents.webhook import WebhookAgent as Hook

            return Hook(
                name=name,
                url=settings.url,
                secrets=[secret.reveal() for secret in settings.secrets],
                headers={key: value.reveal() for key, value in settings.headers.items()},
                files=FilesMode.INLINE if settings.inline_files else FilesMode.METADATA,
                allow_plain_http=settings.allow_plain_http,
                total_s=120.0 if settings.total_s is None else settings.total_s,
                wait_s=60.0 if settings.wait_s is None else settings.wait_s,
            )
        case OpenAIAgent():
            from bot.agents.openai import OpenAIAgent as Model
            from bot.agents.toolbox import Tool

            return Model(
                name=name,
                base_url=settings.base_url,
                model=settings.model,
                api_key=None if settings.api_key is None else settings.api_key.reveal(),
                options=settings.options,
                stream=settings.stream,
                images=settings.images,
                tools=[Tool(name) for name in settings.tools],
                history=settings.history,
                history_characters=settings.history_characters,
                asks_back=settings.asks_back,
                allow_plain_http=settings.allow_plain_http,
                total_s=180.0 if settings.total_s is None else settings.total_s,
                wait_s=60.0 if settings.wait_s is None else settings.wait_s,
            )
        case _:
            assert_never(settings)
