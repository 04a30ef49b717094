"""Reader of the fleet: what changed since the last read, or the whole list.

A steady read costs two requests, regardless of the number of nodes. Anything
that does not add up makes it a whole list, and so does time.
"""

from __future__ import annotations

import dataclasses
import zlib

from oslo_log import log

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.contracts.compact import CompactMap
from ironic_ownership.contracts.inventory import Inventory, LatestChanges
from ironic_ownership.engine.deletion import gates
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
    :param is_whole: whether Ironic just listed all of them. Only then a node
        that is not among them may count as missing.
    """

    nodes: CompactMap[model.Node]
    is_whole: bool = True


class _WholeListError(Exception):
    """A reason to read the whole list."""


@dataclasses.dataclass(eq=False)
class FleetReader:
    """Reads the nodes of one service.

    Threading: the refresh thread only.

    :param host: the service; whole lists of different ones are spread.
    :ivar interval: seconds after which the whole list is read again at the
        latest; zero reads it every time.
    """

    source: Inventory
    host: str
    interval: float = 0.0
    clock: fence.Clock = fence.monotonic

    def __post_init__(self) -> None:
        self._baseline: incremental.Baseline | None = None
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
            except (_WholeListError, exceptions.IronicError) as reason:
                LOG.info('all nodes are listed again: %s', reason)
        self._baseline = None
        return self._read_all(scope)

    def _read_changes(self, baseline: incremental.Baseline) -> Fleet:
        page, clock = self._page(baseline)
        objection = incremental.objection(baseline, page, clock)
        if objection is not None:
            raise _WholeListError(objection)
        counted = self._count(baseline.scope)
        merged = incremental.merge(baseline, page)
        more = incremental.unexplained(baseline, merged, counted)
        if 0 < more <= MOST_CREATED and baseline.counts_exactly:
            scope = incremental.scope_to_read(baseline.scope)
            created = self.source.newest(scope, more + _MORE)
            merged = incremental.merge(baseline, page, created)
            more = incremental.unexplained(baseline, merged, counted)
        if more:
            raise _WholeListError(
                f'Ironic counts {more:+} nodes that no change explains'
            )
        self._baseline = incremental.follow(
            baseline, merged, page, clock, counted
        )
        LOG.debug(
            'read %s nodes that changed, %s of them differ',
            len(page.nodes),
            len(merged.changed) + len(merged.left),
        )
        return Fleet(merged.nodes, is_whole=False)

    def _page(
        self, baseline: incremental.Baseline
    ) -> tuple[LatestChanges, float]:
        scope = incremental.scope_to_read(baseline.scope)
        read = 0
        for limit in incremental.LIMITS:
            if limit < self._limit:
                continue
            page = self.source.latest_changes(scope, limit)
            clock = self.clock()
            if page is None:
                raise _WholeListError('Ironic does not list the changes')
            if incremental.reaches_back(page, baseline.since):
                self._limit = incremental.sufficient_limit(
                    page, baseline.since
                )
                return page, clock
            read = len(page.nodes)
        self._limit = incremental.LIMITS[0]
        raise _WholeListError(f'more than {read} nodes changed')

    def _read_all(self, scope: model.Scope) -> Fleet:
        began = self.clock()
        before = self._before_all(scope)
        clock = self.clock()
        nodes = self.source.fleet(scope)
        if before is not None and before[1] == self._count(scope):
            self._baseline = incremental.begin(scope, nodes, *before, clock)
            self._due_at = began + self.interval * _share(self.host)
        return Fleet(nodes)

    def _before_all(
        self, scope: model.Scope
    ) -> tuple[LatestChanges, int] | None:
        if self.interval <= 0 or scope.nothing:
            return None
        try:
            page = self.source.latest_changes(
                incremental.scope_to_read(scope), incremental.LIMITS[0]
            )
            return (page, self._count(scope)) if page else None
        except exceptions.IronicUnavailableError:
            raise
        except exceptions.IronicError as exc:
            LOG.debug('changes of nodes cannot be read: %s', exc)
            return None

    def _count(self, scope: model.Scope) -> int:
        return gates.expected(self.source.shard_counts(), scope.shard)


def _share(host: str) -> float:
    """Return the share of the interval after which a service lists all.

    Between a half and one, so that services that start together do not list
    all nodes together again.
    """
    return 0.5 + zlib.crc32(host.encode()) % 1000 / 2000
