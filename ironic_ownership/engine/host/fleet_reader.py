"""Reader of the fleet: what changed since the last read, or the whole list.

A steady read costs two requests, regardless of the number of nodes. Anything
that does not add up makes it a whole list, and so does time.
"""

from __future__ import annotations

import dataclasses
import zlib
from collections.abc import Mapping

from oslo_log import log

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.contracts.bare_metal import (
    NO_NODES,
    BareMetal,
    LatestChanges,
)
from ironic_ownership.engine import suggestions
from ironic_ownership.engine.deletion.missing_nodes import expected
from ironic_ownership.engine.host import incremental
from ironic_ownership.engine.membership import fence

LOG = log.getLogger(__name__)

MOST_CREATED = 1000
"""New nodes that are listed; for more, the whole list is read."""

_MORE = 5
"""Nodes that are listed in addition to as many as Ironic counts more: if some
of them are new as well, as many others were deleted."""


@dataclasses.dataclass(frozen=True)
class Fleet:
    """The nodes of a scope.

    :param nodes: by uuid; the same object if nothing has changed.
    :param changed: uuids of those that may differ from what was read before,
        as new or gone; ``None`` if Ironic just listed all of them. Only then
        a node that is not among them may count as missing.
    :param baseline: from which later changes can be read; ``None`` if this
        Ironic cannot list them.
    """

    nodes: Mapping[str, model.Node]
    changed: frozenset[str] | None = None
    baseline: incremental.Baseline | None = None


class WholeListError(Exception):
    """A reason to read the whole list."""


@dataclasses.dataclass(eq=False)
class FleetReader:
    """Reads the nodes of one service.

    Threading: the refresh thread only.

    :param host: the service; whole lists of different ones are spread.
    :ivar interval: seconds after which the whole list is read again at the
        latest; zero reads it every time.
    """

    ironic: BareMetal
    host: str
    interval: float = 0.0
    clock: fence.Clock = fence.monotonic

    def __post_init__(self) -> None:
        self._baseline: incremental.Baseline | None = None
        self._nodes = NO_NODES
        self._due_at = 0.0
        self._limit = incremental.LIMITS[0]

    def require_whole(self) -> None:
        """Read the whole list the next time."""
        self._baseline = None

    def read(self, scope: model.Scope) -> Fleet:
        """Read the nodes in a scope.

        :raises IronicError: if Ironic does not answer.
        """
        baseline = self._baseline
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
        self._baseline, self._limit = None, incremental.LIMITS[0]
        return self._read_all(scope)

    def _read_changes(self, baseline: incremental.Baseline) -> Fleet:
        page, clock = read_page(self.ironic, baseline, self.clock, self._limit)
        self._limit = incremental.sufficient_limit(page, baseline.since)
        counted = self._count(baseline.scope)
        merged = incremental.merge(baseline, page)
        more = incremental.unexplained(baseline, merged, counted)
        if 0 < more <= MOST_CREATED and baseline.counts_exactly:
            scope = incremental.scope_to_read(baseline.scope)
            created = self.ironic.newest(scope, more + _MORE)
            merged = incremental.merge(baseline, page, created)
            more = incremental.unexplained(baseline, merged, counted)
        if more:
            raise WholeListError(
                f'Ironic reports {suggestions.counted(abs(more), "node")} '
                f'{"more" if more > 0 else "fewer"} than expected'
            )
        self._baseline = incremental.begin(
            baseline.scope, merged.nodes, page, counted, clock
        )
        LOG.debug(
            'read %s nodes that changed, %s of them differ',
            len(page.nodes),
            len(merged.changed),
        )
        self._nodes = merged.nodes
        return Fleet(merged.nodes, merged.changed, self._baseline)

    def _read_all(self, scope: model.Scope) -> Fleet:
        began = self.clock()
        # Before the list: a change in the middle of it is read again next
        # time.
        before = self._before_all(scope)
        clock = self.clock()
        nodes = self._nodes = self.ironic.fleet(scope, self._nodes)
        # With another count, a node came or went while the list was read.
        if before is not None and before[1] == self._count(scope):
            self._baseline = incremental.begin(scope, nodes, *before, clock)
            self._due_at = began + self.interval * _share(self.host)
        return Fleet(nodes, baseline=self._baseline)

    def _before_all(
        self, scope: model.Scope
    ) -> tuple[LatestChanges, int] | None:
        if self.interval <= 0 or scope.nothing:
            return None
        try:
            page = self.ironic.latest_changes(
                incremental.scope_to_read(scope), incremental.LIMITS[0]
            )
            return (page, self._count(scope)) if page else None
        except exceptions.IronicUnavailableError:
            raise
        except exceptions.IronicError as exc:
            LOG.debug('changes of nodes cannot be read: %s', exc)
            return None

    def _count(self, scope: model.Scope) -> int:
        return expected(self.ironic.shard_counts(), scope.shard)


def read_page(
    ironic: BareMetal,
    baseline: incremental.Baseline,
    clock: fence.Clock,
    least: int = incremental.LIMITS[0],
) -> tuple[LatestChanges, float]:
    """Read all changes since a baseline, on one page.

    :param least: number of nodes on the first page that is tried.
    :returns: the page, and the own monotonic time when it had been read.
    :raises WholeListError: if no page can tell.
    :raises IronicError: if Ironic does not answer.
    """
    scope = incremental.scope_to_read(baseline.scope)
    read = 0
    for limit in incremental.LIMITS:
        if limit < least:
            continue
        page = ironic.latest_changes(scope, limit)
        now = clock()
        if page is None:
            raise WholeListError('Ironic does not list the changes')
        if incremental.reaches_back(page, baseline.since):
            objection = incremental.objection(baseline, page, now)
            if objection is not None:
                raise WholeListError(objection)
            return page, now
        read = len(page.nodes)
    raise WholeListError(f'more than {read} nodes changed')


def _share(host: str) -> float:
    """Return the share of the interval after which a service lists all."""
    # Between a half and one, so that services that start together do not list
    # all nodes together again.
    return 0.5 + zlib.crc32(host.encode()) % 1000 / 2000
