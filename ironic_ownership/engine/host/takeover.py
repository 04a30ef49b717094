"""Take over the free nodes of the dead at once, before any list of nodes.

A refresh lists all nodes first, which takes as long as there are nodes. Of
the nodes of a dead service it only has to be known afresh whether they have
an instance by now; everything else is as it was in the last list. A refresh
follows in any case, and makes up for whatever was not possible here.
"""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable, Collection

from oslo_log import log

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.engine.conditions import Conditions
from ironic_ownership.engine.decision import decide
from ironic_ownership.engine.decision.peer_groups import PeerGroups
from ironic_ownership.engine.host import (
    reconcile_plan,
    refresh_result,
    snapshot,
)
from ironic_ownership.engine.host.writer import Writer
from ironic_ownership.engine.membership import failure_detector
from ironic_ownership.engine.membership.fence import Clock, Fence, monotonic
from ironic_ownership.engine.ports import Ports

LOG = log.getLogger(__name__)

_NOTHING = model.Scope(nothing=True)


class TakeOver:
    """Claims for one service what the dead leave behind.

    Threading: :meth:`members_changed`, :meth:`stop` from any thread, the
    rest from a thread of its own, which is not that of the refreshes: a
    refresh that lists nodes at this moment is not waited for.

    :param ports: with an inventory that no other thread uses.
    :param last_scan: gives what the last refresh listed.
    :param judge: tells who is dead.
    :param wake: set when a refresh is to follow.
    :ivar longest_age: seconds after which a list of nodes is too old.
    :ivar handover_limit: nodes claimed in one round.
    """

    def __init__(
        self,
        host: str,
        ports: Ports,
        last_scan: Callable[[], refresh_result.Scan | None],
        judge: Callable[[], failure_detector.Judgement],
        fence: Fence,
        writer: Writer,
        conditions: Conditions,
        wake: threading.Event,
        *,
        longest_age: float,
        handover_limit: int,
        clock: Clock = monotonic,
    ) -> None:
        self._host = host
        self._ports = ports
        self._last_scan = last_scan
        self._judge = judge
        self._fence = fence
        self._writer = writer
        self._conditions = conditions
        self._wake = wake
        self._clock = clock
        self._lock = threading.Lock()
        self._pending: set[str] = set()
        self._wanted = threading.Event()
        self._stopping = threading.Event()
        self.longest_age = longest_age
        self.handover_limit = handover_limit

    def members_changed(self, died: frozenset[str]) -> None:
        """Have a refresh made, and first a take-over if somebody died."""
        if not died:
            self._wake.set()
            return
        with self._lock:
            self._pending |= died
        self._wanted.set()

    def stop(self) -> None:
        """Make :meth:`run` return soon."""
        self._stopping.set()
        self._wanted.set()

    def run(self) -> None:
        """Take over from whoever dies, until :meth:`stop` is called."""
        while True:
            self._wanted.wait()
            self._wanted.clear()
            if self._stopping.is_set():
                return
            self._attempt()
            self._wake.set()

    def _attempt(self) -> None:
        with self._lock:
            hosts, self._pending = self._pending, set()
        LOG.info('dead: %s', ', '.join(sorted(hosts)))
        try:
            while self.take_over(hosts):
                LOG.debug('the limit was reached, there is more to take over')
        except exceptions.FencedError as exc:
            LOG.debug('no take-over: %s', exc)
        except exceptions.OwnershipError as exc:
            self._conditions.report(
                'take-over', f'no take-over before the next refresh: {exc}'
            )
        except Exception:  # the next death must find this thread alive
            LOG.exception('take-over failed in a way nobody foresaw')
        else:
            self._conditions.clear('take-over', 'take-overs succeed again')

    def take_over(self, hosts: Collection[str]) -> bool:
        """Claim free nodes of dead services, as many as one round may.

        The order of reading is that of a refresh.

        :returns: whether there are more.
        :raises FencedError: if this service may not act, or no longer.
        :raises OwnershipError: if something can't be read or written.
        """
        self._fence.epoch()
        scan = self._last_scan()
        if scan is None or self._clock() - scan.began > self.longest_age:
            return False
        services = {row.host: row for row in self._ports.records.services()}
        own = services.get(self._host)
        records = self._left_by(hosts)
        nodes = [node for node in scan.nodes if node.uuid in records]
        if not nodes or own is None or own.forced_down:
            return False
        instances = self._ports.source.instances(scan.scope)
        known, view = snapshot.look_around(
            services, self._ports.records, self._ports.backend
        )
        found = PeerGroups.of(view, known.values(), self._ports.interpret)
        group = found.group_of.get(self._host)
        if group is None or not group.rebalancing:
            return False
        assigner = group.policies.assigner
        if assigner is None or not assigner.node_by_node:
            nodes = list(scan.nodes)
        fresh = [_with_instance(n, instances.get(n.uuid)) for n in nodes]
        made = reconcile_plan.plan(
            self._host,
            [node for node in fresh if node.uuid in records],
            decide.decide(fresh, records, found),
            records,
            known,
            found,
            self._judge(),
        )
        return self._claim(made)

    def _left_by(self, hosts: Collection[str]) -> dict[str, model.ComputeNode]:
        return {
            record.uuid: record
            for host in sorted(hosts)
            for record in self._ports.records.compute_nodes_near(
                host, _NOTHING
            )
            if record.host == host
        }

    def _claim(self, made: reconcile_plan.Plan) -> bool:
        now = reconcile_plan.limited(made.changes, self.handover_limit)
        written = self._writer.write(now)
        return len(now) < len(made.changes) and not written.refused


def _with_instance(node: model.Node, instance: str | None) -> model.Node:
    if node.instance_uuid == instance:
        return node
    return dataclasses.replace(node, instance_uuid=instance)


def fresh_enough(refresh_interval: float) -> float:
    """Return the age in seconds up to which a list of nodes is used."""
    return 2 * refresh_interval + 60
