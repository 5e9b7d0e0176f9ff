"""Which parameters each method has, by aiogram's models, which are generated from Telegram's documentation."""

import functools
from collections.abc import Mapping


@functools.cache
def known_parameters() -> Mapping[str, frozenset[str]]:
    """Parameters by method name in lower case. The import behind it takes seconds: a strict emulator does it before it listens."""
    from aiogram import methods

    known: dict[str, frozenset[str]] = {}
    for name in methods.__all__:
        model = getattr(methods, name)
        method = getattr(model, "__api_method__", None)
        if isinstance(method, str):
            known[method.lower()] = frozenset(field.alias or key for key, field in model.model_fields.items())
    return known
