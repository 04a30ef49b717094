"""Release free nodes of services that continue to serve others.

For a move, or so that the policies decide about their owner again: without an
operator, the record of a node that left the scope of its service keeps its
owner.

A service acts on a node under a permission that it confirms at least once in
a heartbeat interval. So a node is released first, then a heartbeat interval
passes, and only then may another service own it. What happened in Ironic
meanwhile is read before that: a node that is no longer free goes back.
"""

from __future__ import annotations

import contextlib
import dataclasses
import time
from collections.abc import Callable, Collection, Mapping, Sequence

from oslo_log import log

from ironic_ownership.contracts import exceptions
from ironic_ownership.contracts.moves import HandOver, Move, NodeMove
from ironic_ownership.engine.changes import gates
from ironic_ownership.engine.changes.case import Case, OwnerChange
from ironic_ownership.engine.changes.selection import (
    Selection,
    SnapshotReader,
    shard_of,
)
from ironic_ownership.engine.gates import GateResult, Item, Result, proposed

LOG = log.getLogger(__name__)


@dataclasses.dataclass(frozen=True)
class Releaser(SnapshotReader):
    """Releases free nodes of live services.

    Threading: one thread. Blocking: for the length of a permission.

    :param permission_lifetime: seconds for which a permission may last that
        is not confirmed, by the configuration of this process. That of an
        owner may be longer.
    :param pause: waits for some seconds.
    """

    _: dataclasses.KW_ONLY
    permission_lifetime: float
    pause: Callable[[float], None] = time.sleep

    def release(
        self, nodes: Sequence[NodeMove], request: HandOver
    ) -> dict[str, str]:
        """Release nodes, and wait until no service can act on them.

        Those that are released stay held for this request.

        :param nodes: as they were when their gates were evaluated.
        :returns: why a node is not released, by uuid.
        :raises RecordsError: if the records do not answer.
        :raises IronicError: if Ironic does not answer; then the policies
            decide about the nodes again.
        """
        # Also while permissions last: until the nodes were read after that.
        lifetime = self._lifetime({node.source for node in nodes})
        held = request.longest + lifetime
        request = dataclasses.replace(request, longest=held)
        refused = dict(self.moves.release(nodes, request))
        left = [node for node in nodes if node.uuid not in refused]
        # One that may have an instance has to get an owner: it stays held.
        uuids = [] if request.deployed else [node.uuid for node in left]
        if not left:
            return refused
        LOG.info(
            '%s: released %s nodes, waiting %.1f s for the end of permissions',
            request.request_id,
            len(left),
            lifetime,
        )
        # From the return of the transaction on: its commit may have waited.
        self.pause(lifetime)
        try:
            # After the wait: until then, the owner may have acted on the
            # nodes.
            occupied = self.occupied(dict.fromkeys(uuids))
        except exceptions.IronicError:
            self.moves.end_release(request.request_id, uuids)
            raise
        if occupied:
            self.moves.end_release(request.request_id, occupied)
        return refused | occupied

    def _lifetime(self, owners: Collection[str | None]) -> float:
        """Return the longest lifetime of a permission of these services."""
        advertised = [
            row.settings.permission_lifetime or 0.0
            for row in self.ports.records.services()
            if row.host in owners
        ]
        return max([self.permission_lifetime, *advertised])

    def set_shards(self, shards: Mapping[str, str | None]) -> dict[str, str]:
        """Set the shards of nodes that get one; return why some stay."""
        return {
            uuid: objection
            for uuid, shard in shards.items()
            if shard is not None
            and (objection := self.ports.ironic.set_shard(uuid, shard))
            is not None
        }

    def set_scope(
        self, order: Move, owners: Mapping[str, str | None]
    ) -> dict[str, str]:
        """Give nodes the shards of services, if the move sets shards.

        :param owners: the service by the node's uuid.
        :returns: why that is not possible for a node, by uuid.
        :raises PluginFaultError: if the policies of such a service fail.
        """
        if order.shard is None:
            return {}
        shards = {
            service.host: shard_of(policies.scope if policies else None)
            for service in self.ports.records.services()
            if service.host in owners.values()
            for policies in [self.ports.interpret(service.settings)]
        }
        return self.set_shards(
            {uuid: shards.get(owner or '') for uuid, owner in owners.items()}
        )

    def occupied(self, instances: Mapping[str, str | None]) -> dict[str, str]:
        """Return why nodes cannot change owner, as Ironic has them now.

        :param instances: that each node has to have, by the node's uuid.
        """
        if not instances:
            return {}
        uuids = list(instances)
        records = self.ports.records.compute_nodes_by_uuid(uuids)
        shards = {record.shard for record in records}
        nodes = self.read_nodes(uuids, shards, summary=True)
        found = {}
        for uuid, node in nodes.items():
            if node is None:
                found[uuid] = 'node_exists: Ironic answers 404 for its uuid'
            elif node.instance_uuid != instances[uuid]:
                instance = node.instance_uuid
                what = (
                    f'the instance {instance}' if instance else 'no instance'
                )
                found[uuid] = f'instance_changed: Ironic has {what} on it'
            elif operation := gates.operation_on(node):
                found[uuid] = f'no_operation_in_progress: {operation}'
        return found


@dataclasses.dataclass(frozen=True, kw_only=True)
class NodeRelease(Item):
    """One node to release, with the result of every gate.

    :param node: as it was seen; its source is the owner.
    :param next_owner: the service that claims it, as far as that is known.
    """

    node: NodeMove
    name: str | None = None
    next_owner: str | None = None
    case: Case


@dataclasses.dataclass(frozen=True)
class ReleaseNodes(Releaser):
    """The operation *release*. Threading: one thread."""

    def propose(self, uuids: Sequence[str]) -> list[NodeRelease]:
        """Evaluate every gate of every node; write nothing.

        :raises OwnershipError: if the records do not answer.
        """
        chosen = Selection(list(dict.fromkeys(uuids)))
        uuids, snapshot = self.read(chosen, None)
        change = OwnerChange(None, snapshot, self.ports.interpret)
        return [_proposed(Case(change, uuid)) for uuid in uuids]

    def execute(
        self, proposed: Sequence[NodeRelease], request: HandOver
    ) -> list[NodeRelease]:
        """Release those that no gate refuses, as one transaction.

        Returns when other services may claim them.

        :raises OwnershipError: if records or Ironic do not answer; then the
            policies decide about released nodes again, now or a little later.
        """
        leaving = [
            one.node for one in proposed if one.result is Result.WOULD_RELEASE
        ]
        refused = self.release(leaving, request)
        released = [n.uuid for n in leaving if n.uuid not in refused]
        self.moves.end_release(request.request_id, released)
        for node in leaving:
            LOG.info(
                '%s: node %s of %s: %s',
                request.request_id,
                node.uuid,
                node.source,
                refused.get(node.uuid, 'released'),
            )
        return [
            _done(one, refused.get(one.node.uuid))
            if one.result is Result.WOULD_RELEASE
            else one
            for one in proposed
        ]


def _proposed(case: Case) -> NodeRelease:
    results: tuple[GateResult, ...] = ()
    taker = None
    if case.record is None:
        missing = gates.RECORD_EXISTS
        results = (missing.result(case, missing.check(case)),)
    else:
        with contextlib.suppress(exceptions.OwnershipError):
            taker = gates.next_owner(case)
        if case.source:
            results = gates.evaluate(case)
    return NodeRelease(
        result=proposed(results, Result.WOULD_RELEASE)
        if results
        else Result.UNCHANGED,
        gates=results,
        node=NodeMove(case.uuid, case.source, case.epoch),
        name=case.record.name if case.record else None,
        next_owner=taker,
        case=case,
    )


_LATE = {gate.code: gate for gate in gates.RELEASE} | {
    'owner_changed': gates.RECORD_EXISTS,
    'instance_changed': gates.NO_INSTANCE,
    'cell_instance': gates.NO_INSTANCE,
    'released': gates.NO_OPERATION,
}
"""Gates by the codes of what was found after they were evaluated."""


def _done(one: NodeRelease, objection: str | None) -> NodeRelease:
    if objection is None:
        return dataclasses.replace(one, result=Result.RELEASED)
    gate = _LATE[objection.partition(':')[0]]
    return one.refused_by(gate.result(one.case, objection))
