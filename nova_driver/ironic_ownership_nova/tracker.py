"""Nova's resource tracker, as far as the driver reaches it.

It rewrites the row of a node that it does not know, without a question. So it
has to know each node that it is given, and to forget each one that is lost.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from nova import exception, objects, utils
from nova.compute import provider_tree
from nova.compute.resource_tracker import COMPUTE_RESOURCE_SEMAPHORE
from nova.context import get_admin_context
from nova.objects import base as objects_base
from oslo_log import log

from ironic_ownership.embedding import NodeView
from ironic_ownership_nova import compatibility
from ironic_ownership_nova.reported import ReportedNodes

LOG = log.getLogger(__name__)


@dataclasses.dataclass(frozen=True)
class Report:
    """The state of a node that Nova is sending to cell and Placement.

    :param tree: the providers as they shall be; Nova completes it later.
    """

    digest: str
    tree: Any


class Tracker:
    """Offers nodes to the resource tracker, and knows what it reported.

    Threading: any thread.

    :param host: name of the service in the cell.
    :param follows_records: the rows of the cell change with the records.
    """

    def __init__(
        self,
        host: str,
        reported: ReportedNodes,
        *,
        shortcuts: compatibility.Shortcuts,
        follows_records: bool,
    ) -> None:
        self._host = host
        self._follows_records = follows_records
        self._reported = reported
        # Of Nova; ``None`` for what is not to be used.
        self._nova = shortcuts.tracker
        self._read_tree: Any = shortcuts.read_tree
        self._sent: dict[str, Report] = {}
        self._epochs: dict[str, int] = {}
        self._own_rows: frozenset[str] = frozenset()
        self._new: frozenset[str] = frozenset()
        self._withheld: frozenset[str] = frozenset()

    @property
    def _known(self) -> Collection[str]:
        if self._nova is None:
            return self._own_rows
        return self._nova.compute_nodes.keys()

    def offer(self, owned: Mapping[str, NodeView]) -> frozenset[str]:
        """Return which owned nodes Nova may have, and make them known to it.

        Those whose row in the cell names this service, or which have none.
        One call for all that are not known yet.
        """
        known = () if self._nova is None else self._known
        unknown = [uuid for uuid in owned if uuid not in known]
        rows = self._rows(unknown)
        withheld = frozenset(
            row.uuid for row in rows if not self._is_ours(row, owned)
        )
        self._reported.compare({row.uuid: _written(row) for row in rows})
        self._seed(row for row in rows if row.uuid not in withheld)
        self._own_rows = frozenset(row.uuid for row in rows) - withheld
        self._new = frozenset(unknown) - {row.uuid for row in rows}
        self._note_epochs(owned)
        self._log_withheld(withheld)
        return frozenset(owned) - withheld

    def _note_epochs(self, nodes: Mapping[str, NodeView]) -> None:
        """Note under which epochs nodes are owned.

        Under another one than before, another service may have had a node.
        """
        epochs = {uuid: view.epoch for uuid, view in nodes.items()}
        self._reported.discard(
            [u for u, e in epochs.items() if self._epochs.get(u, e) != e]
        )
        self._reported.epoch = max(epochs.values(), default=0)
        self._epochs.update(epochs)

    def require(self, uuid: str) -> None:
        """Check that Nova would not take a row from another service.

        A node that was moved away since it was offered is not known any more.

        :raises ComputeHostNotFound: which makes Nova skip the node.
        """
        if uuid not in self._known and uuid not in self._new:
            raise exception.ComputeHostNotFound(host=uuid)

    def can_skip(self, uuid: str, digest: str) -> bool:
        """Tell whether a pass has nothing to do for a node."""
        return (
            self._read_tree is not None
            and uuid in self._known
            and self._reported.is_current(uuid, digest)
            and not self._has_build_result(uuid)
        )

    def _has_build_result(self, uuid: str) -> bool:
        """Tell whether Nova counts failed builds that its row does not have.

        It stores them with the next update of the row.
        """
        row = self._nova.compute_nodes.get(uuid)
        if row is None:
            return False
        stored = row.stats if 'stats' in row else None
        return _failed(stored) != _failed(self._nova.stats.get(uuid))

    def sent(self, uuid: str, report: Report | None) -> None:
        """Note that Nova is about to report a node.

        :param report: ``None`` if it is not known which state.
        """
        self._reported.discard((uuid,))
        if report is None:
            self._sent.pop(uuid, None)
        elif self._read_tree is not None:
            self._sent[uuid] = report

    def confirm(self) -> None:
        """Check what was sent since the last pass, and note what arrived."""
        for uuid in list(self._sent):
            self.confirm_node(uuid)
        self._reported.store()

    def confirm_node(self, uuid: str) -> None:
        """Check what was sent of a node, and note whether it arrived."""
        report = self._sent.pop(uuid, None)
        if report is not None and self._arrived(uuid, report):
            row = self._nova.compute_nodes.get(uuid)
            self._reported.add(uuid, report.digest, _written(row))

    def gained(self, nodes: Mapping[str, NodeView]) -> None:
        """Make gained nodes known to Nova at once."""
        self._reported.discard(
            # Under the epoch of before no other service has had them.
            [u for u, v in nodes.items() if v.epoch != self._epochs.get(u)]
        )
        nova = self._nova
        if nova is None or nova.service_ref is None:
            return
        rows = self._rows(
            [uuid for uuid in nodes if uuid not in nova.compute_nodes]
        )
        self._seed(row for row in rows if self._is_ours(row, nodes))

    def lost(self, uuids: Iterable[str]) -> None:
        """Make Nova forget nodes, so that it takes no request for them."""
        gone = list(uuids)
        self._reported.discard(gone)
        self._new -= frozenset(gone)
        self._own_rows -= frozenset(gone)
        for uuid in gone:
            self._sent.pop(uuid, None)
            self._epochs.pop(uuid, None)
        nova = self._nova
        if nova is None or not gone:
            return
        _remove(nova, gone)

    def _rows(self, uuids: list[str]) -> list[Any]:
        if not uuids:
            return []
        context = get_admin_context()
        return list(objects.ComputeNodeList.get_all_by_uuids(context, uuids))

    def _is_ours(self, row: Any, owned: Mapping[str, NodeView]) -> bool:
        if row.host == self._host:
            return True
        # Without a common transaction Nova moves the row, as it always did.
        return (
            not self._follows_records
            and owned[row.uuid].node.instance_uuid is None
        )

    def _seed(self, rows: Iterable[Any]) -> None:
        nova = self._nova
        if nova is None:
            return
        if nova.provider_tree is None:
            # Nova sets it with its first report and needs it for every claim
            # of an instance. A start that skips all nodes has no report.
            nova.provider_tree = provider_tree.ProviderTree()
        for row in rows:
            if row.host == self._host:
                nova.compute_nodes.setdefault(row.hypervisor_hostname, row)

    def _log_withheld(self, withheld: frozenset[str]) -> None:
        if withheld - self._withheld:
            LOG.warning(
                'nodes that this service owns have a row of another one in '
                'the cell, and are not used: %s. Run "ironic-ownership check"',
                ', '.join(sorted(withheld)[:10]),
            )
        self._withheld = withheld

    def _arrived(self, uuid: str, report: Report) -> bool:
        row = self._nova.compute_nodes.get(uuid)
        stored = self._nova.old_resources.get(uuid)
        if row is None or stored is None:
            return False
        # Nova restores the old values if the row could not be stored.
        if not objects_base.obj_equal_prims(row, stored, ['updated_at']):
            return False
        try:
            tree = _read(self._read_tree, uuid)
            found, wanted = tree.data(uuid), report.tree.data(uuid)
        except Exception as exc:  # noqa: BLE001 - then it is sent again
            LOG.debug('Placement has not confirmed %s: %s', uuid, exc)
            return False
        return bool(
            found.inventory == wanted.inventory
            and found.traits == wanted.traits
        )


@utils.synchronized(COMPUTE_RESOURCE_SEMAPHORE, fair=True)
def _remove(nova: Any, uuids: Iterable[str]) -> None:
    # Under the lock of Nova, so that no claim is in between. Once for all:
    # the lock is fair, and an update of another node would come before each.
    for uuid in uuids:
        nova.remove_node(uuid)
        nova.reportclient.invalidate_resource_provider(uuid)


@utils.synchronized(COMPUTE_RESOURCE_SEMAPHORE, fair=True)
def _read(read_tree: Any, uuid: str) -> Any:
    # From the cache of the client, as long as that is valid. Under the lock
    # of Nova: its release 33 deletes what the cache has and a claim's earlier
    # copy of it lacks.
    return read_tree(get_admin_context(), uuid, name=uuid)


def _written(row: Any) -> float | None:
    """Return when a row was last changed; ``None`` if that is not known."""
    at = row.updated_at if row is not None and 'updated_at' in row else None
    return at and at.timestamp()


def _failed(stats: Mapping[str, Any] | None) -> int:
    return int((stats or {}).get('failed_builds') or 0)
