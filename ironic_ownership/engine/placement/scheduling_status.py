"""Nodes that can't be managed are not offered to the scheduler.

The trait ``COMPUTE_STATUS_DISABLED``, which Nova's scheduler avoids, marks the
providers of all nodes of a service that is dead, disabled or forced down. A
living service writes it, and their owner takes it back: the same service after
its return, or the one that gets the nodes. Where no inventory is reported, the
owner marks its nodes that are out of service as well.

Placement is asked only if a service, or a record of one, has changed.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from oslo_log import log

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.contracts.reasons import Unavailable
from ironic_ownership.contracts.records import NodeFilter
from ironic_ownership.engine.membership.failure_detector import Liveness
from ironic_ownership.engine.membership.service_context import ServiceContext
from ironic_ownership.engine.placement import inventory_diff
from ironic_ownership.engine.ports import Placement

LOG = log.getLogger(__name__)

_REFUSALS = (exceptions.NoProviderError, exceptions.PlacementRefusedError)


@dataclasses.dataclass(frozen=True)
class _Moment:
    """Services of one moment.

    :param serving: hosts whose nodes are offered.
    :param writers: hosts that may write for others.
    :param stopped: hosts whose nodes are not; all others are undecided.
    :param earlier: live hosts of release 1.0, which writes nothing.
    """

    rows: Mapping[str, model.Service]
    serving: set[str]
    stopped: set[str]
    writers: set[str]
    earlier: set[str]


@dataclasses.dataclass(eq=False)
class SchedulingStatus:
    """Writes the status of nodes for one service.

    Threading: one thread.

    :param placement: a client that no other thread uses.
    :param liveness: returns which services are dead.
    :ivar covers_conductors: whether own nodes that are out of service are
        marked, too.
    """

    context: ServiceContext
    placement: Placement
    liveness: Callable[[], Liveness]
    covers_conductors: bool = False

    def __post_init__(self) -> None:
        self._done: object = None
        self._busy = False
        self.placement.confirm = self.context.fence.epoch

    def report(self, interrupted: Callable[[], bool]) -> None:
        """Bring the trait of all nodes up to date, if something has changed.

        :raises FencedError: if this service may not act.
        :raises PlacementError: if Placement does not answer any request.
        :raises RecordsError: if the records can't be read.
        :raises MembershipError: if the members can't be read.
        """
        host, fence = self.context.host, self.context.fence
        # Also checks the fence in the records, which may be newer.
        self.context.ports.records.apply(host, fence.epoch(), ())
        now = self._moment()
        mine = {h for h in now.stopped if _writer(h, now) == host}
        served = {
            h
            for h in now.serving
            if h == host or (h in now.earlier and _writer(h, now) == host)
        }
        out = self._out_of_service()
        seen = _described(now.rows, {host, *mine, *served}), served, out
        if seen == self._done:
            return
        self._done, self._busy = None, False
        marked = self.placement.disabled()
        written = {
            stopped: self._write(self._providers(stopped) - marked, True)
            for stopped in sorted(mine)
        }
        for one in sorted(served):
            self._write((self._providers(one) & marked) - out, False)
        if host in served:
            self._write(out - marked, True)
        self._take_back(written)
        # Other clients changed a provider meanwhile: the next report retries.
        if not (interrupted() or self._busy):
            self._done = seen

    def _take_back(self, written: Mapping[str, Collection[str]]) -> None:
        """Undo what was written for services that returned meanwhile."""
        if any(written.values()):
            serving = self._moment().serving
            for host in sorted(written.keys() & serving):
                self._write(written[host], False)

    def _moment(self) -> _Moment:
        ports = self.context.ports
        rows = {row.host: row for row in ports.records.services()}
        present = ports.backend.view().serving(rows.values()).hosts
        liveness = self.liveness()
        serving, stopped = set(), set()
        for host, row in rows.items():
            if row.forced_down or row.disabled:
                stopped.add(host)
            elif host in present or row.away:
                serving.add(host)
            elif not row.never_registered and liveness.is_dead(host):
                stopped.add(host)
        # Without any other, those that are only disabled write.
        alive = {h for h in present & rows.keys() if not rows[h].forced_down}
        earlier = {h for h in alive if rows[h].settings.process is None}
        writers = (serving & present) - earlier or alive - earlier
        return _Moment(rows, serving, stopped, writers, earlier)

    def _owned(self, host: str) -> Sequence[model.ComputeNode]:
        return self.context.ports.records.compute_nodes(NodeFilter(host=host))

    def _providers(self, host: str) -> set[str]:
        own = {record.uuid for record in self._owned(host)}
        return {*own, inventory_diff.service_uuid(host)}

    def _out_of_service(self) -> frozenset[str]:
        if not self.covers_conductors:
            return frozenset()
        return frozenset(
            record.uuid
            for record in self._owned(self.context.host)
            if record.unavailable == Unavailable.OUT_OF_SERVICE
        )

    def _write(self, uuids: Iterable[str], disabled: bool) -> list[str]:
        written = []
        for uuid in sorted(uuids):
            try:
                if self.placement.put_disabled(uuid, disabled):
                    written.append(uuid)
            except (*_REFUSALS, exceptions.ProviderBusyError) as exc:
                self._busy |= isinstance(exc, exceptions.ProviderBusyError)
                LOG.debug('status of %s in Placement: %s', uuid, exc)
        if written:
            LOG.info(
                'Placement: %s providers are %s to the scheduler',
                len(written),
                'not offered' if disabled else 'offered again',
            )
        return written


def _writer(stopped: str, now: _Moment) -> str | None:
    """Return the service that writes for one that does not serve.

    Every process gets the same result, and each service has its share.
    """
    return min(
        now.writers,
        key=lambda host: hashlib.sha256(f'{host} {stopped}'.encode()).digest(),
        default=None,
    )


def _described(
    rows: Mapping[str, model.Service], hosts: Collection[str]
) -> frozenset[tuple[str, int, int]]:
    return frozenset(
        (host, rows[host].epoch, rows[host].revision)
        for host in hosts
        if host in rows
    )
