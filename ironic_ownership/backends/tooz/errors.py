"""Errors of the drivers of tooz, in words that hold no secret."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ironic_ownership.contracts import exceptions

if TYPE_CHECKING:
    from ironic_ownership.backends.tooz.driver import Driver

_REFUSED = re.compile(
    'NoAuth|AuthFailed|WRONGPASS|NOAUTH|NOPERM|NoPermission|Authentication'
    '|invalid user ID or password|user name is empty|permission denied'
    '|invalid username-password'
)
_TLS = re.compile('SSL|certificate|HTTP request to an HTTPS server')


@contextlib.contextmanager
def translated(driver: Driver) -> Iterator[None]:
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
            hint=_hint(message),
        ) from exc


def not_a_member() -> exceptions.NotMemberError:
    """Return the error of a process that the store does not have."""
    return exceptions.NotMemberError(
        'backend tooz: this process is not a member (any more)'
    )


def _described(exc: BaseException) -> str:
    name = type(exc).__name__
    cause = exc.__cause__
    text = _answer_in(exc) or (cause and _answer_in(cause)) or str(exc)
    if not text and cause is not None:
        return f'{name}: {_described(cause)}'
    return f'{name}: {text}' if text else name


def _answer_in(exc: BaseException) -> str:
    """Return the answer of etcd, which the texts of its client lack."""
    return str(getattr(exc, 'detail_text', None) or '').strip()


def _hint(message: str) -> str:
    if _REFUSED.search(message):
        return (
            'Check user and password in [backend_tooz] backend_url, and the '
            'rights of that user in the store'
        )
    if _TLS.search(message):
        return (
            'Check the options for TLS in [backend_tooz] backend_url: the '
            'authority, the certificate and its key'
        )
    return 'Check that the service runs and can be reached'
