"""Waiting for something to be true, woken by events instead of by a clock."""

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


class Watch:
    """Predicates that somebody waits for; each is tried again whenever something has changed."""

    def __init__(self) -> None:
        self._waiting: list[tuple[Callable[[], Any], asyncio.Future[Any]]] = []

    def changed(self) -> None:
        """Try the predicates."""
        if not self._waiting:
            return
        for predicate, future in self._waiting:
            _try(predicate, future)
        self._waiting = [pair for pair in self._waiting if not pair[1].done()]

    async def wait_for(self, predicate: Callable[[], T], timeout_s: float, describe: Callable[[], str]) -> T:
        """Wait until ``predicate`` is true and return its value.

        Args:
            predicate: what it raises goes to the one who waits.
            timeout_s: the longest wait.
            describe: the state, for the message of a failure.

        Raises:
            TimeoutError: it did not become true in time.
        """
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        _try(predicate, future)
        if not future.done():
            self._waiting.append((predicate, future))
        try:
            async with asyncio.timeout(timeout_s):
                result: T = await future
                return result
        except TimeoutError:
            raise TimeoutError(f"not true within {timeout_s} s; {describe()}") from None
        finally:
            self._waiting = [pair for pair in self._waiting if pair[1] is not future]


def _try(predicate: Callable[[], Any], future: asyncio.Future[Any]) -> None:
    if future.done():
        return
    try:
        value = predicate()
    except Exception as error:
        future.set_exception(error)
    else:
        if value:
            future.set_result(value)
