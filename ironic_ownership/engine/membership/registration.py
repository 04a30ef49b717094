"""Registration of this process as the active one of its host.

The records may be slow or down while the membership works, and the other way
round. So requests to the records run in the background, and their results are
taken when they are there. The heartbeat never waits for them.

The state and the fence change together, under one lock: the fence is open
only while the role is active.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import threading
import uuid
from collections.abc import Callable
from concurrent import futures

from oslo_log import log

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.engine.membership.fence import Refusal, forced_down
from ironic_ownership.engine.membership.service_context import ServiceContext

LOG = log.getLogger(__name__)

Runner = Callable[[Callable[[], None]], None]
"""Runs a function, now or in another thread."""


class Role(enum.StrEnum):
    """The role of a process for its host, as far as it knows."""

    STARTING = 'starting'
    """It waits for database, Ironic or membership, or for its epoch."""
    ACTIVE = 'active'
    """It holds the place of its host, and may act."""
    SUSPENDED = 'suspended'
    """It holds the place, and may not act: its heartbeats fail."""
    STANDBY = 'standby'
    """Another process of the host holds the place."""
    FORCED_DOWN = 'forced_down'
    """An operator keeps all processes of the host from acting."""
    STOPPED = 'stopped'
    """It was stopped."""
    FAILED = 'failed'
    """It cannot go on: an error has ended it."""


@dataclasses.dataclass(frozen=True, eq=False)
class State:
    """The role of this process on record, or none yet: it requests an epoch.

    :param role: starting, active, standby or forced down.
    :param epoch: its own, or that of the service when it was refused.
    :param settings: those on record, of the active process.
    :param active: incarnation of the process for which this one stands by,
        which is perhaps alive.
    """

    role: Role = Role.STARTING
    epoch: int = 0
    settings: model.MemberSettings | None = None
    active: str = ''


_Result = State | None
"""The next state; ``None`` to stay in this one."""


class Registration:
    """The role of this process for its host.

    Threading: the heartbeat's thread, except where a method says otherwise.

    :ivar incarnation: id of this process, for as long as it runs.
    :ivar settings: registered by the next request. Any thread.
    :ivar on_row: called with the own row each time :meth:`check` reads it.
    :ivar wants_predecessor: whether a program needs the epoch below, which
        costs a query.
    :ivar predecessor: epoch of the service when this process requested its
        own, or last found another process active; 0 without a row.
    """

    def __init__(
        self, context: ServiceContext, settings: model.MemberSettings
    ) -> None:
        self.incarnation = uuid.uuid4().hex
        self.settings = settings
        self.on_row: Callable[[model.Service], None] = lambda row: None
        self.wants_predecessor, self.predecessor = False, 0
        self.run_in_background: Runner = lambda work: work()
        self._host = context.host
        self._records = context.ports.records
        self._fence = context.fence
        self._conditions = context.conditions
        self._lock = threading.Lock()
        self._state = State()
        self._beat_started = float('-inf')
        self._request: tuple[futures.Future[_Result], State] | None = None

    @property
    def state(self) -> State:
        """The state of this moment. Any thread."""
        return self._state

    @property
    def is_pending(self) -> bool:
        """True while a request to the records is under way."""
        return self._request is not None

    def beat_accepted(self, started: float) -> None:
        """Extend the right to act, if there is one."""
        with self._lock:
            self._beat_started = started
            self._fence.extend(started)

    def membership_lost(self) -> None:
        """Drop the epoch, and ignore the result of a pending request."""
        with self._lock:
            self._fence.drop()
            if self._state.role in (Role.ACTIVE, Role.STARTING):
                self._state = State()
            else:
                # A new object: the answer to a request sent before is ignored.
                self._state = dataclasses.replace(self._state)

    def update(
        self, siblings: frozenset[str] | None
    ) -> None:  # Model: Requests
        """Send the next request if one is needed; apply a result.

        :param siblings: other incarnations of the host that may be alive;
            ``None`` if each may be.
        :raises RecordsError: if the records do not answer.
        """
        if self._request is None:
            state = self._state
            work = self._next_request(state, siblings)
            if work is None:
                return
            future: futures.Future[_Result] = futures.Future()
            self.run_in_background(functools.partial(_answer, future, work))
            # Afterwards: a thread that cannot be started gives no answer.
            self._request = future, state
        answer, state = self._request
        if answer.done():
            self._request = None
            found = answer.result()
            if found is not None:
                self._become(found, instead_of=state)

    def check(self) -> bool:  # Model: CheckEpoch
        """Read the own service row, and follow it. Any thread. One query.

        A right that has ended is dropped at once, without waiting for the
        heartbeat's thread.

        :returns: whether the state changed.
        :raises RecordsError: if the records do not answer.
        """
        state = self._state
        if state.role not in (Role.ACTIVE, Role.FORCED_DOWN):
            return False  # the next registration reads the row
        row = self._records.service(self._host)
        if row is not None:
            self.on_row(row)
        if row is not None and row.forced_down:
            if state.role is Role.FORCED_DOWN:
                return False
            return self._become(State(Role.FORCED_DOWN), instead_of=state)
        if state.role is Role.FORCED_DOWN:
            return self._become(State(), instead_of=state)
        loss = _loss(row, state.epoch, self.incarnation)
        if row is None or loss is not None:
            return self._become(State(), instead_of=state, loss=loss)
        # They were stored without an answer, or a backup was restored.
        return row.settings != state.settings and self._become(
            dataclasses.replace(state, settings=row.settings),
            instead_of=state,
        )

    def retire(self, grace: float) -> None:
        """Give up the active role, if this process has it.

        Also one of which :meth:`update` has not taken the answer.

        :param grace: seconds for which the service is expected back.
        :raises RecordsError: if that could not be written.
        """
        with self._lock:
            state, self._state = self._state, State()
            self._fence.drop()
        answer = self._request[0] if self._request else None
        if answer is not None and answer.done() and not answer.exception():
            state = answer.result() or state
        if state.role is Role.ACTIVE:
            self._records.retire(self._host, state.epoch, grace=grace)

    def _next_request(
        self, state: State, siblings: frozenset[str] | None
    ) -> Callable[[], _Result] | None:
        settings = self.settings
        if state.role in (Role.STARTING, Role.STANDBY):
            # Read before the members: what came later is not in the view.
            seen = state.epoch
            return functools.partial(self._register, settings, siblings, seen)
        if state.role is Role.ACTIVE and state.settings != settings:
            return functools.partial(self._advertise, state.epoch, settings)
        return None

    def _register(
        self,
        settings: model.MemberSettings,
        siblings: frozenset[str] | None,
        seen_epoch: int,
    ) -> State:
        if self.wants_predecessor and not seen_epoch:
            row = self._records.service(self._host)
            self.predecessor = row.epoch if row else 0
        try:
            epoch = self._records.register(
                self._host,
                settings,
                incarnation=self.incarnation,
                alive=siblings,
                seen_epoch=seen_epoch,
            )
        except exceptions.StandbyError as exc:
            self.predecessor = exc.epoch
            return State(Role.STANDBY, exc.epoch, active=exc.active)
        except exceptions.FencedError:
            # The records fence a registration only while it is forced down.
            return State(Role.FORCED_DOWN)
        return State(Role.ACTIVE, epoch, settings)

    def _advertise(
        self, epoch: int, settings: model.MemberSettings
    ) -> _Result:
        try:
            self._records.advertise(self._host, epoch, settings)
        except exceptions.FencedError:
            self.check()
            return None
        return State(Role.ACTIVE, epoch, settings)

    def _become(  # Model: Registered
        self, new: State, *, instead_of: State, loss: str | None = None
    ) -> bool:
        with self._lock:
            # The state has changed since the request was sent.
            if self._state is not instead_of:
                return False
            self._state = new
            if new.role is Role.ACTIVE:
                self._fence.open(self._beat_started, new.epoch)
            else:
                self._fence.drop(_reason(self._host, new, loss))
        self._report(instead_of, new, loss)
        return True

    def _report(self, old: State, new: State, loss: str | None) -> None:
        host, conditions = self._host, self._conditions
        if new.role is Role.FORCED_DOWN:
            conditions.report(
                'forced_down',
                f'service {host} is forced down: it changes nothing until an '
                f'operator runs "ironic-ownership service set {host} --up"',
            )
            return
        conditions.clear(
            'forced_down', f'service {host} is no longer forced down'
        )
        if new.role is Role.STANDBY:
            conditions.report(
                'standby', f'{host} stands by for incarnation {new.active}'
            )
        elif new.role is Role.ACTIVE:
            conditions.clear('standby', f'{host} is active now')
            if old.role is not Role.ACTIVE:
                LOG.info('%s registered, epoch %s', host, new.epoch)
        elif loss:
            LOG.warning('%s may not act under its epoch: %s', host, loss)


def _answer(
    answer: futures.Future[_Result], work: Callable[[], _Result]
) -> None:
    try:
        answer.set_result(work())
    except Exception as exc:  # noqa: BLE001 - raised by update
        answer.set_exception(exc)


def _loss(
    row: model.Service | None, epoch: int, incarnation: str
) -> str | None:
    """Return why the row ends the right of an epoch, if it does."""
    if row is None:
        return 'its service was deleted'
    if row.epoch == epoch and not row.fenced:
        return None
    if row.incarnation not in (None, incarnation):
        return f'its role was given to incarnation {row.incarnation}'
    if row.fenced:
        return 'another service or an operator has fenced it'
    return f'its epoch was {epoch}, the current one is {row.epoch}'


def _reason(host: str, state: State, loss: str | None) -> Refusal | None:
    """Return why a fence is closed."""
    if state.role is Role.FORCED_DOWN:
        return functools.partial(forced_down, host)
    if state.role is Role.STANDBY:
        hint = 'It acts when that process ends, or hands over: '
        return functools.partial(
            exceptions.FencedError,
            f'this process stands by for incarnation {state.active} of {host}',
            hint=f'{hint}ironic-ownership service failover {host}',
            lasting=True,
        )
    if loss:
        return functools.partial(
            exceptions.FencedError,
            f'{host} may not act: {loss}',
            hint='It acts again after it has registered again',
        )
    return None
