"""From the configuration file as it is written to the settings: what becomes of its sections and keys.

It is read by the same strict YAML as the policy: unknown and duplicate keys, surprises and unset variables are
refused with their line and mend. Pydantic is imported here, so this module is imported late.
"""

import ipaddress
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from pydantic_core import PydanticCustomError

from bot.config.command_sections import CommandReader
from bot.config.credentials import FILE
from bot.config.errors import ConfigError
from bot.config.file import exposed
from bot.config.keys import KeysError, read_keys
from bot.config.secret import Secret
from bot.config.sections import (
    HINTS,
    AgentSection,
    ApiSection,
    CallbackSection,
    ChatSection,
    Document,
    MatrixSection,
    PagesSection,
    RecordSection,
    TelegramSection,
    WebhookSection,
)
from bot.config.settings import (
    AgentSettings,
    Api,
    CallbackAddress,
    Chat,
    ChatRoom,
    Config,
    EchoAgent,
    Limits,
    Log,
    LogFormat,
    LogLevel,
    MatrixBot,
    MatrixLimits,
    Metrics,
    Mode,
    OpenAIAgent,
    Pages,
    Proposals,
    RecordAddress,
    RecordFile,
    ScriptedAgent,
    TelegramBot,
    Webhook,
    WebhookAgent,
)
from bot.config.words import bot_id, password_text, secret_text
from policy.document_shape import Path as KeyPath
from policy.document_shape import Report, fit, nearest
from policy.tree import DocumentError, Scalar

KEYS_FILE: Final = "api-keys"
"""Where keys of agents are looked for, if no file is named."""
SECRET_FILE_LIMIT: Final = 64 << 10  # bytes
_LOOPBACK: Final = ("127.0.0.1", "::1", "localhost")
_WAITING: Final = frozenset({"timeout", "wait", "allow_plain_http"})
_KINDS: Final[dict[str, frozenset[str]]] = {
    "echo": frozenset(),
    "scripted": frozenset({"script"}),
    "webhook": _WAITING | {"url", "secret", "secret_file", "previous_secret", "headers", "files"},
    "openai": _WAITING
    | {
        "base_url",
        "model",
        "api_key",
        "api_key_file",
        "options",
        "stream",
        "images",
        "asks_back",
        "tools",
        "history",
        "history_characters",
    },
}
_NEEDED: Final[dict[str, tuple[str, ...]]] = {
    "echo": (),
    "scripted": (),
    "webhook": ("url",),
    "openai": ("base_url", "model"),
}


def build(text: str, *, path: Path, environment: Mapping[str, str], idle: bool = False) -> Config:
    """Make the configuration from its text.

    Args:
        text: of the file.
        path: of the file; files that it names are relative to its folder.
        environment: what ``${NAME}`` stands for.
        idle: it may name nothing to serve, as before the first login of an account.

    Raises:
        ConfigError: it can't hold.
    """
    document, report = fit(Document, text, source=str(path), environment=environment, hints=HINTS)
    config = None if document is None else _Builder(path, report).config(document, idle=idle)
    if config is None or report.problems:
        error = DocumentError(report.problems)
        raise ConfigError(str(error), problems=error.problems)
    return config


class _Builder:
    """Turns the written sections into settings, reads secret files on the way and reports what can't hold."""

    def __init__(self, path: Path, report: Report) -> None:
        self._path = path
        self._report = report
        self._warnings: list[str] = []
        self._secret_written_out = False

    def config(self, document: Document, *, idle: bool) -> Config | None:
        """The configuration; None where a part can't be made, which is reported then."""
        bots = [self._bot(("telegram", number), written) for number, written in enumerate(document.telegram)]
        agents = {name: self._agent(("agents", name), written) for name, written in document.agents.items()}
        telegram = tuple(bot for bot in bots if bot is not None)
        for number, bot in enumerate(bots):
            if bot is not None and bot.bot_id in [other.bot_id for other in bots[:number] if other is not None]:
                self._report(("telegram", number), "this bot is listed twice", "one bot has one receiver; remove one")
        matrix = tuple(self._matrix(("matrix", number), written) for number, written in enumerate(document.matrix))
        for number, account in enumerate(matrix):
            if account.user_id in [other.user_id for other in matrix[:number]]:
                self._report(("matrix", number), "this bot is listed twice", "one bot has one receiver; remove one")
        if not (idle or document.telegram or document.matrix or document.chat.enabled):
            self._report(
                ("telegram",),
                "there is nothing to serve",
                "list a bot under telegram or matrix, or write chat: {enabled: true}",
            )
        if document.chat.enabled and document.chat.public_url is None and document.chat.listen.host not in _LOOPBACK:
            self._report(
                ("chat", "public_url"), "public_url is missing", "say how people reach the chat from outside", key=True
            )
        self._check_rooms(document.chat)
        pages, api = self._pages(document.pages), self._api(document.api, list(document.agents), document.data_dir)
        record = [self._record(("record", number), written) for number, written in enumerate(document.record)]
        commands = CommandReader(self._report, self._secret).commands(document.commands)
        default = self._default_agent(document)
        if self._secret_written_out:
            self._warn(exposed(self._path, self._path.stat().st_mode))
        if default is None or len(telegram) < len(bots):
            return None
        return Config(
            data_dir=self._file(document.data_dir),
            policy=self._file(document.policy),
            telegram=telegram,
            matrix=matrix,
            agents={name: agent for name, agent in agents.items() if agent is not None},
            default_agent=default,
            chat=Chat(
                enabled=document.chat.enabled,
                listen=document.chat.listen,
                public_url=document.chat.public_url,
                desk=document.chat.desk,
                bot_name=document.chat.bot_name,
                rooms=tuple(
                    ChatRoom(id=name, title=room.title, members=tuple(room.members), direct=room.direct)
                    for name, room in document.chat.rooms.items()
                ),
            ),
            pages=pages,
            api=api,
            proposals=Proposals(
                most_open=document.proposals.most_open,
                cards_at_once=document.proposals.cards_at_once,
                cards_per_min=document.proposals.cards_per_min,
            ),
            record=tuple(one for one in record if one is not None),
            commands=commands,
            contents_retention=document.contents_retention,
            log=Log(level=LogLevel(document.log.level), format=LogFormat(document.log.format)),
            metrics=Metrics(enabled=document.metrics.enabled, listen=document.metrics.listen),
            warnings=tuple(self._warnings),
            source=self._path,
        )

    def _check_rooms(self, chat: ChatSection) -> None:
        if chat.enabled and not chat.rooms:
            self._report(("chat", "rooms"), "the chat has no room", "list one, with a title and members", key=True)
        for name, room in chat.rooms.items():
            if room.direct and len(room.members) != 1:
                mend = "a direct room is one person's chat with the bot: name one member, or leave direct out"
                self._report(("chat", "rooms", name, "members"), "this is no direct room", mend)

    def _pages(self, written: PagesSection) -> Pages:
        place: KeyPath = ("pages", "public_url")
        if written.public_url is not None:
            address = urlsplit(written.public_url)
            if address.scheme != "https" and address.hostname not in _LOOPBACK:
                self._report(place, "this is no https address", "links are the access to questions: write https://")
        elif written.enabled and written.listen.host not in _LOOPBACK:
            self._report(place, "public_url is missing", "say how people reach the pages from outside", key=True)
        if written.enabled and written.public_url is None and written.listen.port == 0:
            self._report(("pages", "listen"), "any free port", "name one: links hold it, and outlive a restart")
        return Pages(enabled=written.enabled, listen=written.listen, public_url=written.public_url)

    def _api(self, written: ApiSection, agents: list[str], data_dir: str) -> Api:
        """Keys are read only where the interface is on: a file that is not needed need not be there.

        Those that ``discreet keys`` has made are read when they are used.
        """
        if not written.enabled:
            return Api(listen=written.listen)
        if written.listen.host not in _LOOPBACK:
            mend = "write 127.0.0.1 and let a web server with TLS in front of it pass requests on"
            self._report(("api", "listen"), "keys would travel in the clear", mend)
        keys: dict[str, Secret] = {}
        if written.keys_file is not None or self._file(KEYS_FILE).exists():
            keys = self._keys(("api", "keys_file"), written.keys_file or KEYS_FILE, agents)
        elif not (self._file(data_dir) / FILE).exists():
            self._warn("no agent has a key yet. Mend it: discreet keys add AGENT")
        dispatchers: dict[str, Secret] = {}
        if written.dispatchers_file is not None:
            place: KeyPath = ("api", "dispatchers_file")
            dispatchers = self._keys(place, written.dispatchers_file, None)
            if set(dispatchers.values()) & set(keys.values()):
                mend = "give the dispatcher a key of its own: an agent that could make grants would need none"
                self._report(place, "a key in it is an agent's key too", mend)
        callbacks = [
            self._callback(("api", "callbacks", number), one, agents) for number, one in enumerate(written.callbacks)
        ]
        for name in written.a2h.agent_ids:
            if name not in agents:
                self._report(("api", "a2h", "agent_ids", name), "this agent is not listed", nearest(name, agents))
        keyless = written.a2h.keyless_agent
        if keyless is not None and keyless not in agents:
            self._report(("api", "a2h", "keyless_agent"), "this agent is not listed", nearest(keyless, agents))
        elif keyless is None and written.a2h.published_keys:
            self._report(("api", "a2h", "published_keys"), "these are as good as none", "name a keyless_agent, too")
        elif keyless is not None:
            self._warn(f"whoever is on this machine may speak for {keyless} over A2H. Mend it: take keyless_agent out")
        for number, factor in enumerate(written.a2h.chat_for):
            if factor.startswith("passkey."):
                mend = "take it out: a chat is never taken for a passkey"
                self._report(("api", "a2h", "chat_for", number), "this is a passkey", mend)
        return Api(
            enabled=True,
            listen=written.listen,
            keys=keys,
            dispatchers=dispatchers,
            callbacks=tuple(callbacks),
            public_url=None if written.public_url is None else written.public_url.rstrip("/"),
            agent_ids={name: frozenset(ids) for name, ids in written.a2h.agent_ids.items()},
            profiles=frozenset(written.a2h.profiles),
            chat_for=frozenset(written.a2h.chat_for),
            may_lack=frozenset(written.a2h.may_lack),
            keyless_agent=keyless,
            published_keys=frozenset(written.a2h.published_keys),
        )

    def _callback(self, path: KeyPath, written: CallbackSection, agents: list[str]) -> CallbackAddress:
        """Where agents may have something told; an entry must not become a way into the network behind it unnoticed."""
        address = urlsplit(written.to)
        host = address.hostname or ""
        here = host in _LOOPBACK or host.endswith(".localhost")
        private = here or _is_private(host)
        if address.scheme != "https" and not (here or written.allow_plain_http):
            self._report((*path, "to"), "this is no https address", "write https://, or allow_plain_http: true")
        if private and not written.allow_private:
            text = "this address is on this machine or in a private network"
            self._report((*path, "to"), text, "write allow_private: true if it is meant")
        for number, name in enumerate(written.agents):
            if name not in agents:
                self._report((*path, "agents", number), "this agent is not listed", nearest(name, agents))
        secret = self._secret(path, "secret", written.secret, written.secret_file, needed=False)
        secrets = tuple(one for one in (secret, written.previous_secret) if one is not None)
        if any(not one.reveal().startswith("whsec_") for one in secrets):
            self._report(
                (*path, "secret"), "this is no secret of a webhook", "it starts with whsec_, then base64", key=True
            )
        return CallbackAddress(
            to=written.to,
            secrets=secrets,
            agents=frozenset(written.agents),
            allow_private=written.allow_private,
        )

    def _keys(self, place: KeyPath, written: str, names: list[str] | None) -> dict[str, Secret]:
        """The keys of a file by name; ``names`` None: whoever wrote the file chose them."""
        name = self._file(written)
        try:
            with name.open("rb") as opened:
                content, mode = opened.read(SECRET_FILE_LIMIT + 1), name.stat().st_mode
            keys = read_keys(content, names)
        except OSError as error:
            whose = "agent" if names is not None else "dispatcher"
            mend = f"make it, readable by the daemon alone, with a line for each {whose}: its name, a space, its key"
            self._report(place, f"{name.name} can't be read: {error.strerror}", mend)
        except KeysError as error:
            self._report(place, f"{name.name}, {error}", error.mend)
        else:
            self._warn(exposed(name, mode))
            return keys
        return {}

    def _record(self, path: KeyPath, written: RecordSection) -> RecordFile | RecordAddress | None:
        """A source of the record: a file, or an address."""
        if (written.file is None) == (written.url is None):
            self._report(path, "this is no source of the record", "write file: and a path, or url: and an address")
            return None
        if written.file is not None:
            for key in sorted(written.model_fields_set - {"file"}):
                self._report((*path, key), f"a file has no {key}", "remove it", key=True)
            return RecordFile(path=self._file(written.file))
        token = self._secret(path, "token", written.token, written.token_file, needed=False)
        headers = dict(written.headers or {})
        if token is not None and any(name.casefold() == "authorization" for name in headers):
            self._report((*path, "headers"), "a token and its header both stand here", "keep one", key=True)
        elif token is not None:
            headers["Authorization"] = Secret(f"Bearer {token.reveal()}")
        for key, time, least_s in (("refresh", written.refresh, 5), ("timeout", written.timeout, 1)):
            if time is not None and time.total_seconds() < least_s:
                self._report((*path, key), "this is too short", f"write {least_s}s or more")
        found = RecordAddress(url=written.url or "", headers=headers)
        found = replace(
            found,
            refresh_s=found.refresh_s if written.refresh is None else written.refresh.total_seconds(),
            keep=found.keep if written.keep is None else written.keep,
            timeout_s=found.timeout_s if written.timeout is None else written.timeout.total_seconds(),
            allow_private=bool(written.allow_private),
            allow_plain_http=bool(written.allow_plain_http),
        )
        if found.keep.total_seconds() < found.refresh_s:
            key = "keep" if written.keep is not None else "refresh"
            self._report((*path, key), "between two looks nothing would be kept", "write keep: longer than refresh:")
        return found

    def _default_agent(self, document: Document) -> str | None:
        known = list(document.agents)
        if document.default_agent in document.agents:
            return document.default_agent
        if document.default_agent is not None:
            self._report(("default_agent",), "this agent is not listed", nearest(document.default_agent, known))
        elif len(known) == 1:
            return known[0]
        elif known:
            self._report(("default_agent",), "default_agent is missing", f"name one of {', '.join(known)}")
        else:
            self._report(("agents",), "there is no agent", "add one, such as main: {kind: echo}", key=True)
        return None

    def _bot(self, path: KeyPath, written: TelegramSection) -> TelegramBot | None:
        token = self._secret(path, "token", written.token, written.token_file, needed=True)
        if token is None:
            return None
        number = bot_id(token)
        if number is None:
            key = "token" if written.token is not None else "token_file"
            self._report((*path, key), "this is no token of a bot", "copy it whole from BotFather: digits:letters")
            return None
        webhook = None
        if written.mode == "webhook" and written.webhook is None:
            self._report((*path, "mode"), "webhook is missing", "add webhook: {public_url: ..., secret: ...}")
        elif written.mode == "polling" and written.webhook is not None:
            self._report((*path, "webhook"), "this has no effect with polling", "write mode: webhook", key=True)
        elif written.webhook is not None:
            webhook = self._webhook((*path, "webhook"), written.webhook)
        return TelegramBot(
            bot_id=number,
            token=token,
            api_url=written.api_url,
            mode=Mode(written.mode),
            webhook=webhook,
            limits=Limits(
                per_chat_per_s=written.limits.per_chat_per_s,
                per_group_per_min=written.limits.per_group_per_min,
                total_per_s=written.limits.total_per_s,
            ),
            max_file_bytes=written.max_file_mb << 20,
        )

    def _webhook(self, path: KeyPath, written: WebhookSection) -> Webhook | None:
        secret = self._secret(path, "secret", written.secret, written.secret_file, needed=True)
        if secret is None:
            return None
        if not secret.reveal().replace("-", "").replace("_", "").isalnum() or len(secret.reveal()) > 256:
            self._report(
                (*path, "secret"), "Telegram takes no such secret", "take up to 256 letters, digits, - and _", key=True
            )
        return Webhook(public_url=written.public_url, secret=secret, listen=written.listen, path=written.path)

    def _matrix(self, path: KeyPath, written: MatrixSection) -> MatrixBot:
        """An account; without password and token, ``discreet matrix login`` has logged it in or will."""
        given = written.model_fields_set
        if given & {"password", "password_file"} and given & {"access_token", "access_token_file"}:
            key = "access_token" if "access_token" in given else "access_token_file"
            self._report(
                (*path, key),
                "a password and a token both stand here",
                "keep one: the password, unless the server has no login by password",
                key=True,
            )
        password = self._secret(
            path, "password", written.password, written.password_file, needed=False, check=password_text
        )
        token = self._secret(path, "access_token", written.access_token, written.access_token_file, needed=False)
        return MatrixBot(
            user_id=written.user_id,
            homeserver=written.homeserver,
            password=password,
            access_token=token,
            allow_plain_http=written.allow_plain_http,
            limits=MatrixLimits(per_room_per_s=written.limits.per_room_per_s, total_per_s=written.limits.total_per_s),
            max_file_bytes=written.max_file_mb << 20,
        )

    def _agent(self, path: KeyPath, written: AgentSection) -> AgentSettings | None:
        kind = written.kind
        for key in sorted(written.model_fields_set - _KINDS[kind] - {"kind"}):
            self._report((*path, key), f"an agent of kind {kind} has no {key}", "remove it, or change kind", key=True)
        missing = [key for key in _NEEDED[kind] if getattr(written, key) is None]
        for key in missing:
            self._report((*path, key), f"{key} is missing", f"add {key}: an agent of kind {kind} needs it")
        if kind == "echo":
            return EchoAgent()
        if kind == "scripted":
            return ScriptedAgent(script=None if written.script is None else self._file(written.script))
        waiting: dict[str, Any] = {
            "total_s": None if written.timeout is None else written.timeout.total_seconds(),
            "wait_s": None if written.wait is None else written.wait.total_seconds(),
            "allow_plain_http": bool(written.allow_plain_http),
        }
        if kind == "webhook":
            secret = self._secret(path, "secret", written.secret, written.secret_file, needed=True)
            secrets = [one for one in (secret, written.previous_secret) if one is not None]
            if any(not one.reveal().startswith("whsec_") for one in secrets):
                self._report(
                    (*path, "secret"), "this is no secret of a webhook", "it starts with whsec_, then base64", key=True
                )
            return WebhookAgent(
                url=written.url or "",
                secrets=tuple(secrets),
                headers=written.headers or {},
                inline_files=written.files == "inline",
                **waiting,
            )
        return OpenAIAgent(
            base_url=written.base_url or "",
            model=written.model or "",
            api_key=self._secret(path, "api_key", written.api_key, written.api_key_file, needed=False),
            options=written.options or {},
            stream=written.stream is not False,
            images=bool(written.images),
            tools=tuple(written.tools or ()),
            history=written.history or 0,
            history_characters=written.history_characters or 8_000,
            asks_back=bool(written.asks_back),
            **waiting,
        )

    def _secret(
        self,
        path: KeyPath,
        key: str,
        given: Secret | None,
        file: str | None,
        *,
        needed: bool,
        check: Callable[[str], str] = lambda text: secret_text(text.strip()),
    ) -> Secret | None:
        """A secret from the file or from one of its own, which is then checked."""
        if given is not None and file is not None:
            self._report((*path, f"{key}_file"), f"{key} and {key}_file both stand here", "keep one", key=True)
        if given is not None:
            node = self._report.node((*path, key))
            self._secret_written_out |= isinstance(node, Scalar) and "${" not in node.written
            return given
        if file is None:
            if needed:
                self._report((*path, key), f"{key} is missing", f"add {key}: ${{NAME}} or {key}_file: a path", key=True)
            return None
        place = (*path, f"{key}_file")
        name = self._file(file)
        try:
            with name.open("rb") as opened:
                content = opened.read(SECRET_FILE_LIMIT)
            mode = name.stat().st_mode
            secret = Secret(check(content.decode().rstrip("\r\n")))
        except OSError as error:
            self._report(place, f"this file can't be read: {error.strerror}", "name a file that the daemon can read")
            return None
        except (UnicodeDecodeError, PydanticCustomError):
            self._report(place, "this file holds no single secret", "put the secret into it, alone on one line")
            return None
        self._warn(exposed(name, mode))
        return secret

    def _warn(self, warning: str | None) -> None:
        if warning is not None:
            self._warnings.append(warning)

    def _file(self, name: str) -> Path:
        try:
            return self._path.parent / Path(name).expanduser()
        except RuntimeError:
            raise ConfigError(f"{self._path}: a path starts with ~ and there is no such home. Write it whole") from None


def _is_private(host: str) -> bool:
    """Whether it is an IP address that is not on the open internet."""
    try:
        return not ipaddress.ip_address(host).is_global
    except ValueError:
        return False
