"""Secrets that can't be shown by accident."""

import hmac
from typing import Never


class Secret:
    """A secret text. Only :meth:`reveal` gives it out; printing, logging and comparing don't."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """The secret itself, for the one place that needs it."""
        return self._value

    def __repr__(self) -> str:
        return "***"

    def __format__(self, format_spec: str) -> str:
        return "***"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and hmac.compare_digest(self._value.encode(), other._value.encode())

    def __hash__(self) -> int:
        return hash((Secret, self._value))

    def __reduce__(self) -> Never:
        raise TypeError("a secret is not written anywhere")
