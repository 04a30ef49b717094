"""Take over free nodes of dead services, without a scan of all nodes.

A scan takes as long as there are nodes. The last one is still true of all
nodes that did not change since, and one page of the latest changes has those.
Where no page can tell, the instances of all nodes are read again. A refresh
follows in any case, and completes what was not possible here.
"""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Collection, Iterable, Mapping

from oslo_log import log

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.contracts.conditions import Loop
from ironic_ownership.contracts.records import NodeFilter
from ironic_ownership.engine.host import fleet_reader
from ironic_ownership.engine.host.reconciler import Written
from ironic_ownership.engine.host.refresh_loop import RefreshLoop
from ironic_ownership.engine.host.refresh_result import Scan
from ironic_ownership.engine.host.snapshot import read_members
from ironic_ownership.engine.ports import BareMetal
from ironic_ownership.engine.worker import LONGEST_PAUSE, Worker, back_off

LOG = log.getLogger(__name__)


@dataclasses.dataclass(eq=False)
class TakeOver(Worker):
    """Claims the nodes that dead services leave behind.

    Threading: :meth:`members_changed` from any. It does not wait for a refresh
    that is listing nodes.

    :param refresh_loop: whose last scan is used; woken to follow.
    :param ironic: a client that no other thread uses.
    """

    refresh_loop: RefreshLoop
    ironic: BareMetal

    first_due = None
    condition = 'take-over'
    fails = 'take-over failed'
    works = 'take-over succeeded again'

    def __post_init__(self) -> None:
        super().__post_init__()
        self._refresher = self.refresh_loop.refresher
        self._reconciler = self._refresher.reconciler
        self.context = self._refresher.context.with_ironic(self.ironic)
        self.conditions = self.context.conditions
        self._lock = threading.Lock()
        self._pending: set[str] = set()

    def members_changed(self, died: frozenset[str]) -> None:
        """Request a refresh, after a take-over if services died."""
        if not died:
            if self._pending:
                self.wake()  # this process may have the right to act now
            self.refresh_loop.wake()
            return
        liveness = self._refresher.liveness()
        for host in sorted(died):
            cause = liveness.cause_of_death(host)
            LOG.info(
                '%s died: %s, seen missing by %s',
                host,
                cause,
                self.context.host,
            )
        with self._lock:
            self._pending |= died
        self.wake()

    def step(self) -> None:
        """Take over from the services that died; a refresh follows."""
        with self._lock:
            hosts, self._pending = self._pending, set()
        try:
            self._record_deaths(hosts)
            while self.take_over(hosts):
                LOG.debug('handover limit reached, the take-over continues')
        except (
            exceptions.FencedError,
            exceptions.MembershipError,
            exceptions.RecordsUnavailableError,
        ):
            # No refresh records a death.
            with self._lock:
                self._pending |= hosts
            raise
        finally:
            # After an error too: the refresh does what is left.
            self.refresh_loop.wake()
        self.conditions.succeeded(Loop.TAKE_OVER)

    def failed(self, error: Exception) -> float | None:
        """Report the error: the refresh that follows does the rest."""
        if isinstance(error, exceptions.FencedError):
            LOG.debug('take-over skipped: %s', error)
            # One that is not active is notified when it is.
            if self.refresh_loop.member.epoch is not None:
                return back_off(self.failures, LONGEST_PAUSE)
        elif isinstance(error, exceptions.OwnershipError):
            self.conditions.report(
                'take-over',
                f'take-over failed, left to the next refresh: {error}',
                error,
            )
            if self._pending:
                return back_off(self.failures, LONGEST_PAUSE)
        else:
            super().failed(error)
        return None

    def _record_deaths(self, hosts: Collection[str]) -> None:
        context, liveness = self.context, self._refresher.liveness()
        records = context.ports.records
        # Some may have been back since, if this is another attempt.
        causes = {
            host: liveness.cause_of_death(host)
            for host in sorted(hosts)
            if liveness.is_dead(host)
        }
        if not causes:
            return
        context.fence.epoch()  # a standby reads nothing
        rows = {row.host: row for row in records.services()}
        # Again, after the rows: one that is back has a later epoch or is here.
        _, view = read_members(rows, context.ports)
        for host in sorted(causes.keys() & rows.keys() - view.hosts):
            epoch, seen = context.fence.epoch(), rows[host].epoch
            records.record_death(context.host, epoch, host, seen, causes[host])

    def take_over(self, hosts: Collection[str]) -> bool:
        """Claim free nodes of dead services, up to the handover limit.

        Reads in the order of a refresh.

        :returns: whether nodes remain for another round.
        :raises FencedError: if this service lost its write lease.
        :raises OwnershipError: if something can't be read or written.
        """
        context, ports = self.context, self.context.ports
        context.fence.epoch()
        scan = self._refresher.last_scan
        if scan is None:
            return False
        # First, as in a snapshot: an owner that comes back has a later epoch.
        rows = {row.host: row for row in ports.records.services()}
        records = {
            record.uuid: record
            for host in sorted(hosts)
            for record in ports.records.compute_nodes(NodeFilter(host=host))
        }
        if not any(uuid in scan.nodes for uuid in records):
            return False
        found = self._nodes_now(scan)
        if found is None:
            return False
        listed, instances = found
        services, view = read_members(rows, ports)
        peer_groups = self._reconciler.peer_groups(services, view)
        group = peer_groups.group_of.get(context.host)
        if group is None or not group.rebalancing:
            return False
        only: Iterable[str] = records
        if not group.policies.node_by_node:
            only = listed
        known: Mapping[str, model.ComputeNode] = records
        if group.policies.reads_owners:
            near = ports.records.in_reach(context.host, scan.scope)
            known = {**{one.uuid: one for one in near}, **records}
        plan = self._reconciler.plan(
            # A list may lack rows: what had an instance is freed by a refresh.
            [
                dataclasses.replace(node, instance_uuid=instances[node.uuid])
                if node.uuid in instances
                else node
                for node in [listed[uuid] for uuid in only if uuid in listed]
            ],
            known,
            services,
            peer_groups,
            self._refresher.liveness(),
            only=records,
        )
        written = Written()
        try:
            self._reconciler.write(plan.changes, written=written)
        finally:
            self._reconciler.operator_log.took_over(written.taken_over)
        # What is left would be again until a refresh.
        return written.limited and not written.left

    def _nodes_now(
        self, scan: Scan
    ) -> tuple[Mapping[str, model.Node], Mapping[str, str]] | None:
        """Return the nodes of a scan, with the changes since then if possible.

        :returns: the nodes, and otherwise the instances that they have now;
            ``None`` if the scan is too old for that.
        """
        ironic, clock = self.context.ports.ironic, self.context.clock
        if scan.baseline is not None:
            try:
                page, _ = fleet_reader.read_page(ironic, scan.baseline, clock)
                return fleet_reader.merge(scan.baseline, page).nodes, {}
            except fleet_reader.WholeListError as reason:
                LOG.info('the instances of all nodes are listed: %s', reason)
        longest_age = 2 * self.refresh_loop.intervals.refresh + 60
        if clock() - scan.ended > longest_age:
            return None
        return scan.nodes, ironic.instances(scan.scope)
