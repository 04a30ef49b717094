"""Asking a store: in time, and with errors of ours that hold no secret."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeVar

from ironic_ownership.backends import deadline
from ironic_ownership.contracts import exceptions

if TYPE_CHECKING:
    from ironic_ownership.backends.tooz.driver import Store

T = TypeVar('T')


class Asking:
    """Calls to one store, of which only some can be under way."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._calls = deadline.Calls()

    def within(self, seconds: float, work: Callable[[], T]) -> T:
        """Return what ``work`` returns, in time.

        :param seconds: how long to wait; what takes longer goes on without
            its caller.
        :raises BackendUnavailableError: if there is no answer, or none that
            can be understood.
        """
        with answers(self._store):
            return self._calls.within(seconds, work)


@contextlib.contextmanager
def answers(store: Store) -> Iterator[None]:
    """Turn whatever a store's driver raises into an error of ours.

    :raises BackendUnavailableError: saying what is wrong.
    """
    try:
        yield
    except exceptions.OwnershipError:
        raise
    # The drivers' libraries raise what they like: their own errors, those
    # of requests and sockets, KeyError for an unforeseen answer.
    except Exception as exc:
        told = store.address.masked(_described(exc))
        raise exceptions.BackendUnavailableError(
            f'backend tooz: {store.name} at {store.address}: {told}',
            hint='Check that the service runs and can be reached',
        ) from exc


def _described(exc: BaseException) -> str:
    """Return what is wrong; many errors of the libraries say it elsewhere."""
    name = type(exc).__name__
    text = str(exc) or str(getattr(exc, 'detail_text', None) or '')
    cause = exc.__cause__
    if not text and cause is not None:
        return f'{name}: {_described(cause)}'
    return f'{name}: {text}' if text else name
