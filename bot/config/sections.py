"""The configuration file as it is written: its sections and keys, and mends for keys in a wrong place.

Keys are described in config.example.yaml, and what they become in :mod:`bot.config.settings`.
"""

from datetime import timedelta
from typing import Annotated, Any, Final, Literal

from pydantic import Field

from bot.config.command_sections import CommandSection
from bot.config.settings import Listen
from bot.config.words import Address, PasswordText, SecretText, Url, UrlPath, UserId, Word
from policy.document_shape import Duration, Identifier, Shape
from policy.document_shape import Path as KeyPath

Speed = Annotated[float, Field(gt=0, le=10_000)]


class WebhookSection(Shape):
    """``telegram[].webhook``."""

    public_url: Url
    secret: SecretText | None = None
    secret_file: Word | None = None
    listen: Address = Listen(host="127.0.0.1", port=8080)
    path: UrlPath = "/telegram"


class LimitsSection(Shape):
    """``telegram[].limits``."""

    per_chat_per_s: Speed = 1.0
    per_group_per_min: Speed = 20.0
    total_per_s: Speed = 30.0


class TelegramSection(Shape):
    """An entry of ``telegram``."""

    token: SecretText | None = None
    token_file: Word | None = None
    api_url: Url = "https://api.telegram.org"
    mode: Literal["polling", "webhook"] = "polling"
    webhook: WebhookSection | None = None
    limits: LimitsSection = LimitsSection()
    max_file_mb: Annotated[int, Field(ge=1, le=2000)] = 20


class MatrixLimitsSection(Shape):
    """``matrix[].limits``."""

    per_room_per_s: Speed = 1.0
    total_per_s: Speed = 5.0


class MatrixSection(Shape):
    """An entry of ``matrix``."""

    user_id: UserId
    homeserver: Url | None = None
    password: PasswordText | None = None
    password_file: Word | None = None
    access_token: SecretText | None = None
    access_token_file: Word | None = None
    allow_plain_http: bool = False
    limits: MatrixLimitsSection = MatrixLimitsSection()
    max_file_mb: Annotated[int, Field(ge=1, le=2000)] = 20


class AgentSection(Shape):
    """An entry of ``agents``; which keys it may have depends on its kind."""

    kind: Literal["echo", "scripted", "webhook", "openai"]
    script: Word | None = None
    url: Url | None = None
    secret: SecretText | None = None
    secret_file: Word | None = None
    previous_secret: SecretText | None = None
    headers: dict[str, SecretText] | None = None
    files: Literal["metadata", "inline"] | None = None
    base_url: Url | None = None
    model: Word | None = None
    api_key: SecretText | None = None
    api_key_file: Word | None = None
    options: dict[str, Any] | None = None
    stream: bool | None = None
    images: bool | None = None
    tools: list[Literal["ask_human", "request_approval", "file_draft"]] | None = None
    history: Annotated[int, Field(ge=0, le=100)] | None = None
    history_characters: Annotated[int, Field(ge=1, le=100_000)] | None = None
    asks_back: bool | None = None
    timeout: Duration | None = None
    wait: Duration | None = None
    allow_plain_http: bool | None = None


class RoomSection(Shape):
    """An entry of ``chat.rooms``."""

    title: Word
    members: list[Identifier] = Field(min_length=1)
    direct: bool = False


class ChatSection(Shape):
    """``chat``."""

    enabled: bool = False
    desk: Identifier = "desk"
    bot_name: Identifier = "desk"
    rooms: dict[Identifier, RoomSection] = Field(default_factory=dict)
    listen: Address = Listen(host="127.0.0.1", port=8443)
    public_url: Url | None = None


class PagesSection(Shape):
    """``pages``."""

    enabled: bool = False
    listen: Address = Listen(host="127.0.0.1", port=8088)
    public_url: Url | None = None


class CallbackSection(Shape):
    """An entry of ``api.callbacks``."""

    to: Url
    secret: SecretText | None = None
    secret_file: Word | None = None
    previous_secret: SecretText | None = None
    agents: list[Identifier] = Field(default_factory=list)
    allow_private: bool = False
    allow_plain_http: bool = False


class A2hSection(Shape):
    """``api.a2h``."""

    agent_ids: dict[Identifier, list[Word]] = Field(default_factory=dict)
    chat_for: list[Word] = Field(default_factory=list)
    keyless_agent: Identifier | None = None
    may_lack: list[Literal["agent_id", "message_id"]] = Field(default_factory=list)
    profiles: list[Word] = Field(default_factory=list)
    published_keys: list[Word] = Field(default_factory=list)


class ApiSection(Shape):
    """``api``."""

    enabled: bool = False
    listen: Address = Listen(host="127.0.0.1", port=8090)
    keys_file: Word | None = None
    dispatchers_file: Word | None = None
    callbacks: list[CallbackSection] = Field(default_factory=list)
    public_url: Url | None = None
    a2h: A2hSection = A2hSection()


class ProposalsSection(Shape):
    """``proposals``."""

    most_open: Annotated[int, Field(ge=1, le=10_000)] = 100
    cards_at_once: Annotated[int, Field(ge=1, le=1_000)] = 20
    cards_per_min: Speed = 10.0


class RecordSection(Shape):
    """An entry of ``record``: a file or an address."""

    file: Word | None = None
    url: Url | None = None
    headers: dict[str, SecretText] | None = None
    token: SecretText | None = None
    token_file: Word | None = None
    refresh: Duration | None = None
    keep: Duration | None = None
    timeout: Duration | None = None
    allow_private: bool | None = None
    allow_plain_http: bool | None = None


class LogSection(Shape):
    """``log``."""

    level: Literal["debug", "info", "warning", "error"] = "info"
    format: Literal["json", "console"] = "json"


class MetricsSection(Shape):
    """``metrics``."""

    enabled: bool = True
    listen: Address = Listen(host="127.0.0.1", port=9464)


class Document(Shape):
    """The whole file."""

    data_dir: Word = "data"
    policy: Word = "policy.yaml"
    telegram: list[TelegramSection] = Field(default_factory=list)
    matrix: list[MatrixSection] = Field(default_factory=list)
    agents: dict[Identifier, AgentSection]
    default_agent: Identifier | None = None
    chat: ChatSection = ChatSection()
    pages: PagesSection = PagesSection()
    api: ApiSection = ApiSection()
    proposals: ProposalsSection = ProposalsSection()
    record: list[RecordSection] = Field(default_factory=list)
    commands: dict[Identifier, CommandSection] = Field(default_factory=dict)
    contents_retention: Duration = timedelta(days=30)
    log: LogSection = LogSection()
    metrics: MetricsSection = MetricsSection()


HINTS: Final[dict[KeyPath, str]] = {
    ("token",): "a token stands under telegram, in a list: telegram: then a line with - token: ${TELEGRAM_BOT_TOKEN}",
    ("user_id",): 'a user id stands under matrix, in a list: matrix: then a line with - user_id: "@name:server"',
    ("channels",): "channels stand in the policy file",
    ("people",): "people stand in the policy file",
    ("operators",): "operators stand in the policy file",
    ("telegram", "*", "webhook", "port"): "write listen: and host:port",
    ("matrix", "*", "token"): "write access_token: or access_token_file:",
    ("matrix", "*", "device_id"): "leave it out: the first login makes the device, and it is kept under data_dir",
    ("api", "dispatchers"): "keys stand in a file of their own: write dispatchers_file: and its path",
    ("api", "keys"): "keys stand in a file of their own: write keys_file: and its path",
    ("agents", "*", "timeout_s"): "write timeout: and a duration such as 90s",
}
