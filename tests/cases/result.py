"""How a case ends other than well."""


class Failed(Exception):  # noqa: N818 - an outcome
    """What was expected, and what happened instead."""


class NotRun(Exception):  # noqa: N818 - an outcome
    """The case speaks of something that can't be run; the text says why."""


def check(condition: object, expected: str, got: object = "") -> None:
    """Raise Failed unless ``condition`` holds."""
    if not condition:
        raise Failed(f"expected {expected}" + (f", got {got}" if got != "" else ""))
