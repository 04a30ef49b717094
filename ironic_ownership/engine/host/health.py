"""Health of a host process: whether it does its work, and why not.

What the process itself knows, without a request to any server, so that it
also answers while all of them are down.

For ``check`` to find, it stores the conditions of its loops in the records.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from oslo_log import log

from ironic_ownership.contracts import exceptions
from ironic_ownership.contracts.calls import PendingCalls
from ironic_ownership.contracts.conditions import Condition, Loop
from ironic_ownership.engine import conditions, plugin_guard
from ironic_ownership.engine.conditions import Conditions
from ironic_ownership.engine.host.operator_log import Key
from ironic_ownership.engine.host.refresh_result import Summary
from ironic_ownership.engine.membership.local_member import LocalMember
from ironic_ownership.engine.membership.registration import Role
from ironic_ownership.engine.worker import Scheduler, Worker

SLOW = 10.0
"""Seconds that all policies together may take for one refresh: a hundred
times what 100,000 nodes take."""


@contextlib.contextmanager
def policies_monitored(known: Conditions) -> Iterator[None]:
    """Report it if the policies that are called in this context are slow.

    Interrupts nothing: a slow policy delays the refresh, while heartbeats
    go on and no owner changes. Fence and records are checked again when the
    refresh writes.

    :raises PluginFaultError: if a policy fails.
    """

    def on_slow(call: str) -> None:
        known.report(
            'slow policies',
            f'{call} takes longer than {SLOW:g} s: no owner changes '
            'until it returns',
            code=exceptions.PluginFaultError.code,
        )

    with plugin_guard.watched(SLOW, on_slow) as slow:
        yield
    if not slow.is_set():
        known.clear('slow policies', 'policies return in time again')


_AT_WORK = (
    conditions.NODES_TAKEN,
    conditions.LOST_COMMITS,
    conditions.CLOCK_SKEW,
)
"""Codes of conditions with which a process does its work."""

_OF_STANDBYS = (Loop.HEARTBEAT, Loop.CREDENTIAL, Loop.ENFORCEMENT)

ROLES = (Role.STARTING, Role.ACTIVE, Role.STANDBY, Role.FORCED_DOWN)
"""Roles that a process shows. Heartbeats that fail are a fault, no role."""


@dataclasses.dataclass(frozen=True)
class Health:
    """The health of one process at one moment.

    :param role: one of :data:`ROLES`.
    :param fence_remaining: seconds for which it may still act without another
        heartbeat; 0 if it may not.
    :param now: time of the conditions' clock, in seconds.
    :param errors: failures since the start, by loop and code.
    :param changes: changes since the start, by kind and reason.
    :param summary: counts of the last refresh; ``None`` before the first.
    """

    host: str
    role: Role
    fence_remaining: float
    now: float
    loops: tuple[Condition, ...]
    errors: Mapping[Key, int]
    changes: Mapping[Key, int]
    summary: Summary | None

    @property
    def faults(self) -> list[str]:
        """Reasons why the process does not do its work; none if it does.

        A standby has nothing to do but to stay a member, with what it needs
        to serve, and one that an operator forces down nothing at all.
        """
        if self.role == Role.FORCED_DOWN:
            return []
        found = [
            f'{one.loop}: {one.error or "its thread has ended"}'
            for one in self.loops
            if one.fails
            and one.code not in _AT_WORK
            and (self.role != Role.STANDBY or one.loop in _OF_STANDBYS)
        ]
        if self.role == Role.STARTING and not found:
            found.append('not registered yet')
        if self.role == Role.ACTIVE and self.fence_remaining <= 0:
            found.append('no valid membership: nothing is acted on')
        return found


LOG = log.getLogger(__name__)

PATIENCE = 180.0
"""Seconds without a check of the loops after which the process stands still:
much longer than a write of conditions to a frozen database takes."""

LONGEST_STEP = 1.0
"""Seconds between two checks, at most: a stop waits that long."""


@dataclasses.dataclass(frozen=True)
class Watched:
    """A loop that may stand still.

    :param calls: what it is doing; none while it waits.
    :param limit: returns the seconds after which it stands still.
    """

    loop: Loop
    calls: PendingCalls
    limit: Callable[[], float]


@dataclasses.dataclass(eq=False)
class ConditionMonitor(Worker):
    """Stores the conditions of one process.

    A thread of its own, so that it also reports a heartbeat that hangs. It
    stores the conditions in the records when one of them changes, and
    otherwise once per refresh interval, so that a process that can no longer
    store them is found by the age of its report.

    :ivar may_store: false until the records have a schema that this release
        can use, and the process is not refused. One that is refused at its
        start writes nothing.

    Threading: any, but for :meth:`step`.

    :param scheduler: of these loops.
    :param interval: returns the seconds between two refreshes.
    :param loops: those that this process runs.
    :param changes: returns the counts of their changes.
    :param last: returns the counts of the last refresh.
    """

    member: LocalMember
    scheduler: Scheduler
    interval: Callable[[], float]
    loops: Collection[Loop]
    watched: Sequence[Watched]
    changes: Callable[[], Mapping[Key, int]] = dict
    last: Callable[[], Summary | None] = lambda: None

    def __post_init__(self) -> None:
        super().__post_init__()
        self.context = self.member.context
        self.conditions = self.context.conditions
        self.may_store = False
        self._stored: object = None
        self._stored_at = float('-inf')
        self._checked_at = self.conditions.clock()
        self.conditions.changed = self.wake

    def step(self) -> float:
        """Check and store."""
        self.check()
        self.store()
        return min(LONGEST_STEP, self.interval())

    def finish(self) -> None:
        """Store that this process reports no more."""
        if self._stored is not None:
            self._store((), self.conditions.clock(), 0.0)

    @property
    def is_running(self) -> bool:
        """False if the thread that finds standing loops stands itself."""
        return self.conditions.clock() - self._checked_at < PATIENCE

    def of_loops(self) -> tuple[Condition, ...]:
        """Return the condition of each loop. Any thread."""
        return self.conditions.of_loops(self.loops, self.scheduler.dead)

    def health(self) -> Health:
        """Return the health of this process, as it knows it. Any thread."""
        context, known = self.context, self.conditions
        return Health(
            context.host,
            self.member.state.role,
            max(0.0, context.fence.remaining),
            known.clock(),
            self.of_loops(),
            known.errors,
            self.changes(),
            self.last(),
        )

    def check(self) -> None:
        """Report loops that stand still, and those that go on again."""
        found = self.conditions
        self._checked_at = found.clock()
        for one in self.watched:
            busy = one.calls.longest()
            if busy is not None and busy[1] > one.limit():
                found.report(
                    conditions.hangs(one.loop),
                    f'the {one.loop} loop hangs: {busy[0]} has not '
                    f'returned for more than {one.limit():g} s',
                    code=conditions.HANGS,
                )
            elif busy is None:
                found.clear(
                    conditions.hangs(one.loop),
                    f'the {one.loop} loop continues',
                )
        for loop in self.scheduler.running_for(2 * self.interval()):
            found.clear(conditions.ended(loop), f'the {loop} loop runs again')

    def store(self) -> None:
        """Store the conditions if they changed, or a report is due."""
        if not self.may_store:
            return
        now = self.conditions.clock()
        found = self.of_loops()
        # What changes only when an operator has to know.
        essence = [
            (one.loop, one.code, one.error, one.since, one.ended, one.did)
            for one in found
        ]
        due = now - self._stored_at >= self.interval()
        is_standby = self.member.state.role is Role.STANDBY
        if is_standby or (essence == self._stored and not due):
            return
        if self._store(found, now, self.interval()):
            self._stored, self._stored_at = essence, now

    def _store(
        self, found: Sequence[Condition], now: float, interval: float
    ) -> bool:
        try:
            return self.context.ports.records.report_conditions(
                self.context.host,
                self.member.incarnation,
                found,
                interval=interval,
                at=now,
            )
        except exceptions.RecordsError as exc:
            # The age of the last report tells.
            LOG.debug('the conditions cannot be stored: %s', exc)
            return False
