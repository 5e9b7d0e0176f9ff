"""The root of the gateway's errors, and what is wrong with an admin's files.

It stands in the lowest layer, so that every room can build on it; :mod:`bot.model.errors` draws the whole tree.
"""

from policy.tree import Problem


class DiscreetError(Exception):
    """Root of what the gateway raises on purpose; its text may be shown to an admin and holds no secret."""


class ConfigError(DiscreetError):
    """The configuration can't hold; the text says where and the mend.

    Attributes:
        problems: each with its place, where the file itself is wrong; in the order of the file.
    """

    def __init__(self, message: str, *, problems: tuple[Problem, ...] = ()) -> None:
        super().__init__(message)
        self.problems = problems
