"""Planned hand-over: free nodes leave a service that continues to serve.

A service acts on a node under a permission that it confirms at least once in
a heartbeat interval. So a node is released first, then a heartbeat interval
passes, and only then may another service own it. What happened in Ironic
meanwhile is read before that: a node that is no longer free goes back.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Collection, Sequence

from oslo_log import log

from ironic_ownership.contracts import exceptions
from ironic_ownership.contracts.moves import HandOver, NodeMove
from ironic_ownership.engine.moves.gates import operation_on
from ironic_ownership.engine.moves.selection import read_nodes
from ironic_ownership.engine.ports import Moves, Ports

LOG = log.getLogger(__name__)

LONGEST = 120.0
"""Seconds for which nodes are held: time to wait, and to list many nodes. If
the process ends meanwhile, the policies decide about the nodes after that."""


@dataclasses.dataclass(frozen=True)
class Releaser:
    """Releases free nodes of live services.

    Threading: one thread. Blocking: for the length of a permission.

    :param sharded: whether every list of nodes has to name a shard: law 4.
    :param permission: seconds for which a permission that is not confirmed
        may last, of any service.
    :param pause: waits for some seconds.
    """

    ports: Ports
    moves: Moves
    _: dataclasses.KW_ONLY
    sharded: bool
    permission: float
    pause: Callable[[float], None] = time.sleep

    def release(
        self,
        nodes: Sequence[NodeMove],
        *,
        request_id: str,
        actor: str,
        reason: str | None = None,
    ) -> dict[str, str]:
        """Release nodes, and wait until no service can act on them.

        Those that are released stay held for this request.

        :param nodes: as they were when their gates were evaluated.
        :returns: why a node is not released, by uuid.
        :raises RecordsError: if the records do not answer.
        :raises IronicError: if Ironic does not answer; then the policies
            decide about the nodes again.
        """
        refused = dict(
            self.moves.release(
                nodes, HandOver(request_id, actor, LONGEST, reason)
            )
        )
        uuids = [node.uuid for node in nodes if node.uuid not in refused]
        if not uuids:
            return refused
        LOG.info(
            '%s: released %s nodes, waiting %.1f s for the end of permissions',
            request_id,
            len(uuids),
            self.permission,
        )
        # From the return of the transaction on: its commit may have waited.
        self.pause(self.permission)
        try:
            occupied = self._occupied(uuids)
        except exceptions.IronicError:
            self.moves.end_release(request_id, uuids)
            raise
        if occupied:
            self.moves.end_release(request_id, occupied)
        return refused | occupied

    def _occupied(self, uuids: Collection[str]) -> dict[str, str]:
        """Return why nodes are no longer free in Ironic."""
        records = self.ports.records.compute_nodes_by_uuid(uuids)
        shards = {record.shard for record in records}
        nodes = read_nodes(
            self.ports.source, uuids, shards, self.sharded, summary=True
        )
        found = {}
        for uuid, node in nodes.items():
            if node is None:
                found[uuid] = 'node_exists: Ironic answers 404 for its uuid'
            elif node.instance_uuid is not None:
                found[uuid] = (
                    'instance_changed: it got the instance '
                    f'{node.instance_uuid} while it was released'
                )
            elif operation := operation_on(node):
                found[uuid] = f'no_operation_in_progress: {operation}'
        return found
