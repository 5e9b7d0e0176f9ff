"""The errors of the gateway. Each says whose fault it is; what an admin reads says the mend.

DiscreetError
├── ConfigError          the admin's file or environment           (config)
├── StoreError           the disk or the database                  (storage)
├── ChannelError         a platform: refused, unreachable          (channels)
├── AgentError           an agent: slow, absent, wrong             (agents)
│   ├── AskError         a question that can't be asked            (questions)
│   ├── CommandError     a command that may not be run, or not so (commands)
│   ├── ProposalError    an action that can't be proposed or used  (approvals)
│   ├── DeliveryError    a delivery that can't be scheduled        (deliveries)
│   ├── CallbackError    an address that may not be called         (callbacks)
│   └── InteractionError a plan or a clarification that can't be   (clarifications)
├── GrantError           a grant that can't be made                (deliveries)
└── ClearanceError       our own code: a way round the door        (model.clearance)

The first two stand in :mod:`bot.config.errors`, the lowest layer, and are had from here.
"""

from bot.config.errors import ConfigError, DiscreetError

__all__ = [
    "AgentError",
    "AskError",
    "CallbackError",
    "ChannelError",
    "ClearanceError",
    "CommandError",
    "ConfigError",
    "DeliveryError",
    "DiscreetError",
    "GrantError",
    "InteractionError",
    "ProposalError",
    "StoreError",
]


class StoreError(DiscreetError):
    """The store can't be opened, read or written.

    Attributes:
        passing: the same may succeed later as it is: the disk was full, or somebody held the database.
    """

    def __init__(self, text: str, *, passing: bool = False) -> None:
        super().__init__(text)
        self.passing = passing


class ChannelError(DiscreetError):
    """A platform refused the bot or can't be reached."""


class AgentError(DiscreetError):
    """An agent failed to answer: too slow, not there, or nonsense (AGENT-5)."""


class AskError(AgentError):
    """An agent's question can't be asked; nobody has been asked anything (FORM-1).

    Attributes:
        code: bounded, such as ``schema``, ``text``, ``ttl``, ``withheld`` or ``key_used``.
        problems: with the schema: (JSON pointer, code, detail) of each.
    """

    def __init__(self, code: str, text: str, *, problems: tuple[tuple[str, str, str], ...] = ()) -> None:
        super().__init__(text)
        self.code = code
        self.problems = problems


class CommandError(AgentError):
    """An agent's command is refused by the tool itself, in plain English (CMD-4); nothing was run.

    Attributes:
        code: bounded, one of :data:`bot.commands.refusals.TEXTS`.
    """

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code = code


class ProposalError(AgentError):
    """An action can't be proposed, changed, claimed or told the end of (APPR-4 to 6); nothing has changed.

    Attributes:
        code: bounded, such as ``parameters``, ``key_used``, ``forbidden``, ``unreconciled``, ``version``, ``claimed``,
            ``not_approved``, ``expired``, ``target`` or ``state``.
    """

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code = code


class DeliveryError(AgentError):
    """A delivery can't be scheduled; nothing was kept (OUT-6).

    Attributes:
        code: bounded, such as ``text``, ``at``, ``cron``, ``timezone``, ``key_used``, ``too_many_open`` or a code of
            :class:`policy.grants.Muted`.
    """

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code = code


class CallbackError(AgentError):
    """Nobody can be told at this address how something ends; nothing was kept, and the text does not repeat it.

    Attributes:
        code: ``callback`` or ``too_many_open``.
    """

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code = code


class GrantError(DiscreetError):
    """A grant can't be made; nothing has changed (OUT-6).

    Attributes:
        code: bounded: ``agent``, ``destination``, ``account``, ``uses``, ``duration``, ``purpose`` or ``key_used``.
    """

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code = code


class InteractionError(AgentError):
    """An interaction can't be started, changed or asked about as an agent wants (CLAR); nothing has changed.

    Attributes:
        code: bounded, such as ``plan``, ``slot``, ``candidate``, ``version_conflict``, ``ended`` or ``unknown``.
        problems: (JSON pointer, code, detail) of each.
        plan_version: the current one, where it is the matter.
    """

    def __init__(
        self, code: str, text: str, *, problems: tuple[tuple[str, str, str], ...] = (), plan_version: int | None = None
    ) -> None:
        super().__init__(text)
        self.code = code
        self.problems = problems
        self.plan_version = plan_version


class ClearanceError(DiscreetError):
    """Something was to leave without a fitting clearance (OUT-1). Always a fault of ours."""
