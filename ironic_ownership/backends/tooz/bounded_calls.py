"""Calls to a store that end in time, with errors that hold no secret."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeVar

from ironic_ownership.backends import deadline
from ironic_ownership.contracts import exceptions

if TYPE_CHECKING:
    from ironic_ownership.backends.tooz.driver import Driver

T = TypeVar('T')


class BoundedCalls:
    """Calls to one store, of which a limited number can be under way."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._calls = deadline.Calls()

    def within(self, seconds: float, work: Callable[[], T]) -> T:
        with translated_errors(self._driver):
            return self._calls.within(seconds, work)


@contextlib.contextmanager
def translated_errors(driver: Driver) -> Iterator[None]:
    """Translate a driver's errors to :class:`BackendUnavailableError`."""
    try:
        yield
    except exceptions.OwnershipError:
        raise
    # The drivers' libraries have no common base: they raise their own
    # errors, those of requests and sockets, KeyError for an odd answer.
    except Exception as exc:
        message = driver.store_url.masked(_described(exc))
        raise exceptions.BackendUnavailableError(
            f'backend tooz: {driver.name} at {driver.store_url}: {message}',
            hint='Check that the service runs and can be reached',
        ) from exc


def _described(exc: BaseException) -> str:
    name = type(exc).__name__
    text = str(exc) or str(getattr(exc, 'detail_text', None) or '')
    cause = exc.__cause__
    if not text and cause is not None:
        return f'{name}: {_described(cause)}'
    return f'{name}: {text}' if text else name
