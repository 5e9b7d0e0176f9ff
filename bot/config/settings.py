"""The configuration as the daemon uses it: complete, checked, with files read and defaults applied."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from pathlib import Path

from bot.config.commands import Command
from bot.config.secret import Secret


@dataclass(frozen=True, kw_only=True, slots=True)
class Listen:
    """Where a server of ours listens."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class Mode(StrEnum):
    """How Telegram's updates come in."""

    POLLING = "polling"
    WEBHOOK = "webhook"


@dataclass(frozen=True, kw_only=True, slots=True)
class Webhook:
    """Where Telegram posts updates: its own view (``public_url``) and ours (``listen`` and ``path``)."""

    public_url: str
    secret: Secret
    listen: Listen
    path: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """How fast messages may leave."""

    per_chat_per_s: float = 1.0
    per_group_per_min: float = 20.0
    total_per_s: float = 30.0


@dataclass(frozen=True, kw_only=True, slots=True)
class TelegramBot:
    """One bot account on Telegram.

    Attributes:
        bot_id: the number before the colon of the token.
        token: of the Bot API.
        api_url: of the Bot API server, without a slash at the end.
        mode: how updates come in.
        webhook: only with ``Mode.WEBHOOK``.
        limits: how fast messages may leave.
        max_file_bytes: larger files are not fetched.
    """

    bot_id: str
    token: Secret
    api_url: str = "https://api.telegram.org"
    mode: Mode = Mode.POLLING
    webhook: Webhook | None = None
    limits: Limits = field(default_factory=Limits)
    max_file_bytes: int = 20 << 20

    @property
    def account(self) -> str:
        """``telegram:`` and the bot's number."""
        return f"telegram:{self.bot_id}"


@dataclass(frozen=True, kw_only=True, slots=True)
class MatrixLimits:
    """How fast messages may leave."""

    per_room_per_s: float = 1.0
    total_per_s: float = 5.0


@dataclass(frozen=True, kw_only=True, slots=True)
class MatrixBot:
    """One bot account on Matrix.

    Attributes:
        user_id: ``@localpart:server``.
        homeserver: its address, without a slash at the end; None: the server named in the id tells it.
        password: the daemon logs in by itself, and again after a soft logout; None: ``discreet matrix login`` does.
        access_token: a device that somebody else has logged in, for servers without a login by password.
        allow_plain_http: also to another machine.
        limits: how fast messages may leave.
        max_file_bytes: larger files are not fetched.
    """

    user_id: str
    homeserver: str | None = None
    password: Secret | None = None
    access_token: Secret | None = None
    allow_plain_http: bool = False
    limits: MatrixLimits = field(default_factory=MatrixLimits)
    max_file_bytes: int = 20 << 20

    @property
    def account(self) -> str:
        """``matrix:`` and the bot's user id."""
        return f"matrix:{self.user_id}"


@dataclass(frozen=True, kw_only=True, slots=True)
class EchoAgent:
    """Says what it hears."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ScriptedAgent:
    """Follows a script; None: the one of the demo."""

    script: Path | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class WebhookAgent:
    """Posts signed requests.

    Attributes:
        url: where to.
        secrets: ``whsec_...``, the current one first.
        headers: sent along.
        inline_files: contents of attachments go along.
        total_s: of waiting for one answer; None: the agent's own default.
        wait_s: of waiting for its head, and for each further piece; None: the agent's own default.
        allow_plain_http: to another machine too.
    """

    url: str
    secrets: tuple[Secret, ...]
    headers: Mapping[str, Secret] = field(default_factory=dict)
    inline_files: bool = False
    total_s: float | None = None
    wait_s: float | None = None
    allow_plain_http: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class OpenAIAgent:
    """A model behind an OpenAI-compatible server; attributes as with :class:`WebhookAgent`.

    Attributes:
        base_url: up to and without ``/chat/completions``.
        model: as the server calls it.
        api_key: None where the server wants none.
        options: further fields of its requests.
        stream: ask for a stream.
        images: images go to the model.
        tools: names of those that the model has.
        history: how many earlier remarks of the conversation go along; 0: none.
        history_characters: of all of them.
        asks_back: the model has a tool to ask back with (docs/clarifications.md).
    """

    base_url: str
    model: str
    api_key: Secret | None = None
    options: Mapping[str, object] = field(default_factory=dict)
    stream: bool = True
    images: bool = False
    tools: tuple[str, ...] = ()
    history: int = 0
    history_characters: int = 8_000
    asks_back: bool = False
    total_s: float | None = None
    wait_s: float | None = None
    allow_plain_http: bool = False


AgentSettings = EchoAgent | ScriptedAgent | WebhookAgent | OpenAIAgent


@dataclass(frozen=True, kw_only=True, slots=True)
class ChatRoom:
    """A room of the built-in chat; members are ids of people in the policy who have a ``web:`` account."""

    id: str
    title: str = field(repr=False)
    members: tuple[str, ...]
    direct: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Chat:
    """The built-in chat.

    Attributes:
        enabled: whether it is served.
        listen: where.
        public_url: how people reach it; None: as it listens.
        desk: the workspace of its destinations, ``web:<desk>:<room>``.
        bot_name: how people mention the bot there.
        rooms: its rooms.
    """

    enabled: bool = False
    listen: Listen = field(default_factory=lambda: Listen(host="127.0.0.1", port=8443))
    public_url: str | None = None
    desk: str = "desk"
    bot_name: str = "desk"
    rooms: tuple[ChatRoom, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Pages:
    """The pages of questions, behind one-time links.

    Attributes:
        enabled: whether they are served.
        listen: where.
        public_url: how people reach them, without a slash at the end; a path in it is the prefix behind a proxy.
            None: as they listen, which is on this machine.
    """

    enabled: bool = False
    listen: Listen = field(default_factory=lambda: Listen(host="127.0.0.1", port=8088))
    public_url: str | None = None

    @property
    def base_url(self) -> str:
        """The address from which links are made."""
        return f"http://{self.listen}" if self.public_url is None else self.public_url


@dataclass(frozen=True, kw_only=True, slots=True)
class CallbackAddress:
    """Where agents may have the end of what they asked for told to.

    Attributes:
        to: http(s); addresses that continue its path are allowed with it.
        secrets: ``whsec_...``, the current one first; each signs. None at all: agents bring their own.
        agents: who may; empty: all.
        allow_private: it may be on this machine or in a private network.
    """

    to: str
    secrets: tuple[Secret, ...] = ()
    agents: frozenset[str] = frozenset()
    allow_private: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Api:
    """The interface for agents, on this machine.

    Attributes:
        enabled: whether it is served.
        listen: where; loopback.
        keys: by name of the agent.
        dispatchers: keys with which grants are made, by name (OUT-6).
        callbacks: addresses that may be told how something ended.
        public_url: how agents reach it; None: as it listens.
        agent_ids: by which agents call themselves over A2H, beside their names.
        profiles: of A2H that are known.
        chat_for: factors of A2H in whose place a private chat is taken.
        may_lack: fields of A2H that may be left out, though the protocol wants them.
        keyless_agent: whose calls of A2H those without a key are, from this machine alone; to try things out.
        published_keys: that everybody knows, such as those of demos: as good as none.
    """

    enabled: bool = False
    listen: Listen = field(default_factory=lambda: Listen(host="127.0.0.1", port=8090))
    keys: Mapping[str, Secret] = field(default_factory=dict)
    dispatchers: Mapping[str, Secret] = field(default_factory=dict)
    callbacks: tuple[CallbackAddress, ...] = ()
    public_url: str | None = None
    agent_ids: Mapping[str, frozenset[str]] = field(default_factory=dict)
    profiles: frozenset[str] = frozenset()
    chat_for: frozenset[str] = frozenset()
    may_lack: frozenset[str] = frozenset()
    keyless_agent: str | None = None
    published_keys: frozenset[str] = frozenset()


@dataclass(frozen=True, kw_only=True, slots=True)
class RecordFile:
    """A file with entries of the authorised record (AUTO-8)."""

    path: Path


@dataclass(frozen=True, kw_only=True, slots=True)
class RecordAddress:
    """An address that answers with entries of the authorised record.

    Attributes:
        url: http(s).
        headers: sent along.
        refresh_s: seconds between two looks.
        keep: how long what it said stays after it was last heard.
        timeout_s: for one answer.
        allow_private: it may be on this machine or in a private network.
        allow_plain_http: it may be http, also to another machine.
    """

    url: str
    headers: Mapping[str, Secret] = field(default_factory=dict)
    refresh_s: float = 300.0
    keep: timedelta = timedelta(hours=1)
    timeout_s: float = 10.0
    allow_private: bool = False
    allow_plain_http: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Proposals:
    """What one agent may have open, and how many cards it may put before people; others are not touched by it.

    Attributes:
        most_open: calls of one agent that are not closed: undecided, not used yet, under way, or of unknown outcome.
        cards_at_once: new cards of one agent.
        cards_per_min: those that may follow; the others wait their turn.
    """

    most_open: int = 100
    cards_at_once: int = 20
    cards_per_min: float = 10.0


class LogLevel(StrEnum):
    """The least important kind of line that is written."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class LogFormat(StrEnum):
    """How lines are written."""

    JSON = "json"
    CONSOLE = "console"


@dataclass(frozen=True, kw_only=True, slots=True)
class Log:
    """The log."""

    level: LogLevel = LogLevel.INFO
    format: LogFormat = LogFormat.JSON


@dataclass(frozen=True, kw_only=True, slots=True)
class Metrics:
    """Metrics, health and readiness."""

    enabled: bool = True
    listen: Listen = field(default_factory=lambda: Listen(host="127.0.0.1", port=9464))


@dataclass(frozen=True, kw_only=True, slots=True)
class Config:
    """The whole configuration.

    Attributes:
        data_dir: store and files; :func:`bot.config.file.make_data_dir` makes it.
        policy: the policy file.
        telegram: bot accounts, each once.
        matrix: bot accounts, each once.
        agents: by name.
        default_agent: name of the one that answers where the policy names none.
        chat: the built-in chat.
        pages: of questions.
        api: for agents.
        proposals: how much one agent may propose.
        record: further sources of the authorised record, beside the policy.
        commands: that agents may run, by name (CMD-1).
        contents_retention: contents of messages are erased after it; digests and decisions stay.
        log: the log.
        metrics: metrics, health and readiness.
        warnings: what an admin should mend although it works.
        source: the file itself, to tell when it has changed since.
    """

    data_dir: Path
    policy: Path
    agents: Mapping[str, AgentSettings]
    default_agent: str
    telegram: tuple[TelegramBot, ...] = ()
    matrix: tuple[MatrixBot, ...] = ()
    chat: Chat = field(default_factory=Chat)
    pages: Pages = field(default_factory=Pages)
    api: Api = field(default_factory=Api)
    proposals: Proposals = field(default_factory=Proposals)
    record: tuple[RecordFile | RecordAddress, ...] = ()
    commands: Mapping[str, Command] = field(default_factory=dict)
    contents_retention: timedelta = timedelta(days=30)
    log: Log = field(default_factory=Log)
    metrics: Metrics = field(default_factory=Metrics)
    warnings: tuple[str, ...] = ()
    source: Path | None = None
