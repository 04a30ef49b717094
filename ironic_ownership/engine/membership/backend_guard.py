"""Guard of calls to a membership backend: name the package that fails.

Any error that is not of the contract, a wrong answer, and even an exit are an
outage of that backend: nothing is known about the members. A call cannot be
interrupted; :attr:`GuardedBackend.calls` shows one that does not return, and
nothing waits longer than :data:`GRACE` for a view or a close.
"""

from __future__ import annotations

import contextlib
import logging
import math
import time
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from ironic_ownership.contracts import exceptions, model, texts
from ironic_ownership.contracts.backend import MembershipBackend
from ironic_ownership.contracts.calls import (
    Call,
    PendingCalls,
    exit_refused,
    is_interrupt,
    pending,
)

# Not oslo.log, which no command needs to import.
LOG = logging.getLogger(__name__)

GRACE = 5.0
"""Seconds that a close may take, and a view beyond the bound of every call."""

T = TypeVar('T')

_HINT = 'Repair that package, or choose another [ownership] backend'


class GuardedBackend(MembershipBackend):
    """A backend whose errors are all of the contract.

    Threading: as the contract of backends.

    :param backend: the one to call.
    :param origin: its name and package, for messages.
    :ivar calls: those under way, but for watches.
    """

    contract_version = model.CONTRACT_VERSION

    def __init__(
        self,
        backend: MembershipBackend,
        origin: str,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(
            backend.settings,
            member_ttl=backend.member_ttl,
            call_timeout=backend.call_timeout,
        )
        self.guarded = backend
        self.capabilities = backend.capabilities  # type: ignore[misc]
        self._origin = origin
        self.calls = PendingCalls(clock)
        self._stuck: dict[str, Call[Any]] = {}

    def join(
        self, host: str, incarnation: str, settings: model.MemberSettings
    ) -> None:
        """Become a member."""
        with self._call('join'):
            self.guarded.join(host, incarnation, settings)

    def beat(self) -> None:
        """Renew the membership."""
        with self._call('beat'):
            self.guarded.beat()

    def advertise(self, settings: model.MemberSettings) -> None:
        """Replace the advertised settings."""
        with self._call('advertise'):
            self.guarded.advertise(settings)

    def leave(self) -> None:
        """Stop being a member."""
        with self._call('leave'):
            self.guarded.leave()

    def view(self) -> model.View:
        """Return the members; a wrong answer is a fault."""
        return self._bounded(
            'view', lambda: _checked(self.guarded.view()), self.call_timeout
        )

    def watch(self, timeout: float) -> bool:
        """Wait until the members may have changed."""
        # Not counted as busy: it is there to wait.
        with self._translated('watch'):
            return bool(self.guarded.watch(timeout))

    def close(self) -> None:
        """Free what the backend holds."""
        try:
            self._bounded('close', self.guarded.close, 0.0)
        except exceptions.MembershipError as exc:
            LOG.warning('the membership backend is not closed: %s', exc)

    def _bounded(
        self, method: str, work: Callable[[], T], seconds: float
    ) -> T:
        """Return the result of a call that any thread may make.

        :param seconds: that it may take besides :data:`GRACE`.
        :raises BackendFaultError: if it takes too long; at once while an
            earlier one has not ended.
        """

        def guarded() -> T:
            with self._call(method):
                return work()

        stuck, limit = self._stuck.get(method), seconds + GRACE
        # No second thread for a call that hangs, or they would pile up.
        if stuck is None or stuck.ended(0):
            call = Call(guarded, f'{self._origin}: {method}()')
            if call.ended(limit):
                return call.result()
            self._stuck[method] = call
        raise exceptions.BackendFaultError(
            f'{self._origin}: {method}() has not ended after {limit:g} s',
            hint=_HINT,
        )

    @contextlib.contextmanager
    def _call(self, method: str) -> Iterator[None]:
        with (
            self.calls.to(f'{self._origin}: {method}()'),
            pending.to(f'the membership, {self._origin}'),
            self._translated(method),
        ):
            yield

    @contextlib.contextmanager
    def _translated(self, method: str) -> Iterator[None]:
        try:
            with exit_refused():
                yield
        except exceptions.OwnershipError:
            raise
        # An exit would end the heartbeat for good.
        except BaseException as exc:
            if is_interrupt(exc):
                raise
            raise exceptions.BackendFaultError(
                f'{self._origin}: {method}() failed: {texts.described(exc)}',
                hint=_HINT,
            ) from exc


def _checked(found: object) -> model.View:
    """Return a view; refuse what is none, before it is compared with others.

    :raises TypeError: naming the first fault.
    """
    if not isinstance(found, model.View):
        raise TypeError(f'it returned a {type(found).__name__}, not a View')
    for member in (*found.members, *found.standbys):
        if not (
            isinstance(member, model.Member)
            and isinstance(member.host, str)
            and isinstance(member.incarnation, str)
            and isinstance(member.settings, model.MemberSettings)
            and _is_number(member.joined_at)
        ):
            raise TypeError(f'it returned a view with {member!r:.200}')
    if found.expires_in is not None and not _is_number(found.expires_in):
        raise TypeError(
            f'it returned a view that expires in {found.expires_in!r:.200}'
        )
    return found


def _is_number(value: object) -> bool:
    return (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and not math.isnan(value)
    )
