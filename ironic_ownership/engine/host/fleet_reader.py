"""Reader of the fleet: what changed since the last read, or the whole list.

A steady read costs two requests, regardless of the number of nodes. A page of
the latest changes proves every change since an earlier time if it reaches back
to before that time. Everything else must agree: the counts of nodes, the nodes
that the last read had, the clocks of the servers. Anything that does not add
up makes it a whole list, and so does time. Nothing is missing because a
page lacks it: a node only leaves the fleet when the page has it in another
conductor group.
"""

from __future__ import annotations

import dataclasses
import math
import zlib
from collections.abc import Mapping, Sequence
from typing import TypeVar

from oslo_log import log

from ironic_ownership.contracts import exceptions, model, texts
from ironic_ownership.contracts.bare_metal import (
    NO_NODES,
    ChangedNode,
    LatestChanges,
)
from ironic_ownership.contracts.calls import Clock, monotonic
from ironic_ownership.engine.deletion.missing_nodes import expected
from ironic_ownership.engine.ports import BareMetal

T = TypeVar('T')

OVERLAP = 60.0
"""Seconds of changes that are read again. A change may become visible late,
with an earlier time: the clocks of the processes of Ironic differ, and a
transaction takes a while. Together this must be less."""

LONGEST_CLOCK_STEP = OVERLAP / 2
"""Seconds by which the clocks of two servers that answer may differ."""

LIMITS = (5, 20, 100, 300, 1000)
"""Numbers of nodes on a page, one after the other until it reaches back. Five
cost Ironic 40 ms of processor time, a thousand 600 ms."""


@dataclasses.dataclass(frozen=True)
class Baseline:
    """The fleet as the last read left it, and what the next one must match.

    :param scope: in which the nodes were listed.
    :param nodes: by uuid.
    :param page: the last one; before a whole list, it was read first.
    :param counted: number of nodes that Ironic counts there.
    :param clock: own monotonic time when the page had been read, in seconds.
    """

    scope: model.Scope
    nodes: Mapping[str, model.Node]
    page: LatestChanges
    counted: int
    clock: float

    @property
    def since(self) -> float:
        """Server time since which changes have to be read."""
        return self.page.read_at - OVERLAP

    @property
    def recent(self) -> dict[str, float | None]:
        """Times of the nodes on the last page, by uuid."""
        return {row.node.uuid: row.updated_at for row in self.page.nodes}

    @property
    def counts_exactly(self) -> bool:
        """True if Ironic counts the nodes of this scope, without a group."""
        return self.scope.conductor_group is None


@dataclasses.dataclass(frozen=True)
class Fleet:
    """The nodes of a scope.

    :param nodes: by uuid; the same object if nothing has changed.
    :param changed: uuids of those that may differ from what was read before,
        as new or gone; ``None`` if Ironic just listed all of them. Only then
        a node that is not among them may count as missing.
    """

    nodes: Mapping[str, model.Node]
    changed: frozenset[str] | None = None


def scope_to_read(scope: model.Scope) -> model.Scope:
    """Return the scope in which changes are listed and nodes are counted."""
    # A node that has left the conductor group would not be in a list of it.
    return model.Scope(shard=scope.shard, nothing=scope.nothing)


def _changes(page: LatestChanges, since: float) -> int | None:
    """Return how many nodes precede the first that is too old to matter.

    Nodes without a time are the first or the last of a list.
    """
    timed = False
    for number, row in enumerate(page.nodes):
        if row.updated_at is None:
            if timed:
                return number
        elif row.updated_at < since:
            return number
        else:
            timed = True
    return None


def objection(
    baseline: Baseline, page: LatestChanges, clock: float
) -> str | None:
    """Return why a page cannot be the successor of a baseline.

    :param page: one that reaches back.
    :param clock: own monotonic time when it had been read.
    """
    if not _is_ordered([row.updated_at for row in page.nodes]):
        return 'the latest changes are in no order of time'
    step = (page.read_at - baseline.page.read_at) - (clock - baseline.clock)
    if abs(step) > LONGEST_CLOCK_STEP:
        return f'the time of the server differs by {step:+.0f} s'
    times = {row.node.uuid: row.updated_at for row in page.nodes}
    if len(times) < len(page.nodes):
        return 'a node came twice'
    oldest = min(
        (time for time in times.values() if time is not None), default=None
    )
    for uuid, before in baseline.recent.items():
        if uuid not in times:
            if page.complete or (
                before is not None and oldest is not None and before > oldest
            ):
                return f'node {uuid} is no longer among the latest changes'
        elif before is not None and (times[uuid] or 0.0) < before:
            return f'the last change of node {uuid} is older than before'
    if page.complete and any(uuid not in times for uuid in baseline.nodes):
        return 'nodes are no longer listed'
    return None


def merge(
    baseline: Baseline, page: LatestChanges, created: Sequence[model.Node] = ()
) -> Fleet:
    """Put the nodes of a page into the fleet.

    :param created: nodes that were created last, if they were read.
    """
    changed: dict[str, model.Node | None] = {}
    listed = {node.uuid: node for node in created}
    listed |= {row.node.uuid: row.node for row in page.nodes}
    for uuid, node in listed.items():
        before = baseline.nodes.get(uuid)
        inside = baseline.scope.matches(node.shard, node.conductor_group)
        # Outside of the scope, only a node that was in it has changed.
        if before == node if inside else before is None:
            continue
        changed[uuid] = node if inside else None
    if not changed:
        return Fleet(baseline.nodes, frozenset())
    return Fleet(with_changes(baseline.nodes, changed), frozenset(changed))


def with_changes(
    before: Mapping[str, T], changed: Mapping[str, T | None]
) -> dict[str, T]:
    """Return a copy with these changes, of which ``None`` is a removal."""
    # A copy, because the earlier mapping may still be read.
    after = dict(before)
    for uuid, found in changed.items():
        if found is None:
            del after[uuid]
        else:
            after[uuid] = found
    return after


def unexplained(baseline: Baseline, merged: Fleet, counted: int) -> int:
    """Return how many nodes Ironic counts more than the fleet explains.

    Negative: nodes were deleted, or left the shard. Zero is no proof if one
    node was created and another one deleted, until the new one is changed.

    :param counted: number of nodes that Ironic counts now.
    """
    found = counted - baseline.counted
    if baseline.counts_exactly:
        found -= len(merged.nodes) - len(baseline.nodes)
    return found


def _is_ordered(times: Sequence[float | None]) -> bool:
    known = [time for time in times if time is not None]
    first = times.index(known[0]) if known else 0
    # None of the others in between.
    return times[first : first + len(known)] == sorted(known, reverse=True)


LOG = log.getLogger(__name__)

MOST_CREATED = 1000
"""New nodes that are listed; for more, the whole list is read."""

_MORE = 5
"""Nodes that are listed in addition to as many as Ironic counts more: if some
of them are new as well, as many others were deleted."""


class WholeListError(Exception):
    """A reason to read the whole list."""


@dataclasses.dataclass(eq=False)
class FleetReader:
    """Reads the nodes of one service.

    Threading: the refresh thread only.

    :param host: the service; whole lists of different ones are spread.
    :ivar interval: seconds after which the whole list is read again at the
        latest; zero reads it every time.
    :ivar baseline: from which later changes can be read; ``None`` if the
        whole list is read next.
    """

    ironic: BareMetal
    host: str
    interval: float = 0.0
    clock: Clock = monotonic

    def __post_init__(self) -> None:
        self.baseline: Baseline | None = None
        self._nodes = NO_NODES
        self._due_at = 0.0
        self._limit = LIMITS[0]

    def require_whole(self) -> None:
        """Read the whole list the next time."""
        self.baseline = None

    def read(self, scope: model.Scope) -> Fleet:
        """Read the nodes in a scope.

        :raises IronicError: if Ironic does not answer.
        """
        baseline = self.baseline
        if (
            baseline is not None
            and baseline.scope == scope
            and self.interval > 0
            and self.clock() < self._due_at
        ):
            try:
                return self._read_changes(baseline)
            except exceptions.IronicUnavailableError:
                raise  # the next read covers this time as well
            except (WholeListError, exceptions.IronicError) as reason:
                LOG.info('relisting all nodes: %s', reason)
        self.baseline, self._limit = None, LIMITS[0]
        return self._read_all(scope)

    def _read_changes(self, baseline: Baseline) -> Fleet:
        page, clock = read_page(self.ironic, baseline, self.clock, self._limit)
        # The smallest with which the page would have reached back.
        found = _changes(page, baseline.since)
        needed = len(page.nodes) if found is None else found
        self._limit = next((n for n in LIMITS if n > needed), LIMITS[-1])
        counted = self._count(baseline.scope)
        merged = merge(baseline, page)
        more = unexplained(baseline, merged, counted)
        if 0 < more <= MOST_CREATED and baseline.counts_exactly:
            scope = scope_to_read(baseline.scope)
            created = self.ironic.newest(scope, more + _MORE)
            merged = merge(baseline, page, created)
            more = unexplained(baseline, merged, counted)
        if more:
            raise WholeListError(
                f'Ironic reports {texts.counted(abs(more), "node")} '
                f'{"more" if more > 0 else "fewer"} than expected'
            )
        self.baseline = Baseline(
            baseline.scope, merged.nodes, page, counted, clock
        )
        LOG.debug(
            'read %s nodes that changed, %s of them differ',
            len(page.nodes),
            len(merged.changed or ()),
        )
        self._nodes = merged.nodes
        return merged

    def _read_all(self, scope: model.Scope) -> Fleet:
        began = self.clock()
        # Before the list: a change in the middle of it is read again next
        # time.
        before = self._before_all(scope)
        clock = self.clock()
        nodes = self._nodes = self.ironic.fleet(scope, self._nodes)
        # With another count, a node came or went while the list was read.
        if before is not None and before[1] == self._count(scope):
            self.baseline = Baseline(scope, nodes, *before, clock)
            # After a half to a whole interval, so that services that start
            # together do not list all nodes together again.
            share = 0.5 + zlib.crc32(self.host.encode()) % 1000 / 2000
            self._due_at = began + self.interval * share
        return Fleet(nodes)

    def _before_all(
        self, scope: model.Scope
    ) -> tuple[LatestChanges, int] | None:
        if self.interval <= 0 or scope.nothing:
            return None
        try:
            page = self.ironic.latest_changes(scope_to_read(scope), LIMITS[0])
            return (page, self._count(scope)) if page else None
        except exceptions.IronicUnavailableError:
            raise
        except exceptions.IronicError as exc:
            LOG.debug('changes of nodes cannot be read: %s', exc)
            return None

    def _count(self, scope: model.Scope) -> int:
        return expected(self.ironic.shard_counts(), scope.shard)


def read_page(
    ironic: BareMetal, baseline: Baseline, clock: Clock, least: int = LIMITS[0]
) -> tuple[LatestChanges, float]:
    """Read all changes since a baseline.

    :param least: number of nodes on the first page that is tried.
    :returns: the page, and the own monotonic time when it had been read.
    :raises WholeListError: if no page can tell.
    :raises IronicError: if Ironic does not answer.
    """
    scope = scope_to_read(baseline.scope)
    for limit in [limit for limit in LIMITS if limit >= least]:
        found = ironic.latest_changes(scope, limit)
        now = clock()
        if found is None:
            raise WholeListError('Ironic does not list the changes')
        page = found
        if page.complete or _changes(page, baseline.since) is not None:
            break  # it has every node that was changed since then
    else:
        page = dataclasses.replace(page, nodes=_catch_up(ironic, baseline))
    if reason := objection(baseline, page, now):
        raise WholeListError(reason)
    return page, now


def _catch_up(ironic: BareMetal, baseline: Baseline) -> list[ChangedNode]:
    """Read more changes than are on one page, from an old one on."""
    recent, since = baseline.recent.items(), baseline.since
    old = {time: uuid for uuid, time in recent if time and time <= since}
    times = sorted(old)[-LIMITS[0] :]
    # A row costs half as much again as one of the whole list.
    scope, most = scope_to_read(baseline.scope), len(baseline.nodes) // 4
    found = times and ironic.changed_after(scope, old[times[0]], most)
    if not found:
        raise WholeListError(f'more than {LIMITS[-1]} nodes changed')
    # Only if the node itself has not changed, an old one is the first.
    if (found[0].updated_at or math.inf) > since:
        raise WholeListError('an old change is no longer the same')
    return [*reversed(found)]
