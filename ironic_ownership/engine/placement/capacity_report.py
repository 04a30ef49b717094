"""Report of a service's capacity to Placement, while free nodes are unowned.

Under an assigner that leaves free nodes unowned, any service may get any node.
So each service has its own provider with the sums of the nodes that it
admits, and single nodes are not reported.

Source: multiple-compute-hosts, "Proposed change" and "Alternatives".
"""

from __future__ import annotations

import dataclasses

from oslo_log import log

from ironic_ownership.contracts import availability, exceptions, model
from ironic_ownership.contracts.placement import FIRST_GENERATION, Placement
from ironic_ownership.engine.availability import evaluation
from ironic_ownership.engine.conditions import Conditions
from ironic_ownership.engine.host import refresh_result
from ironic_ownership.engine.membership.fence import Fence
from ironic_ownership.engine.placement import inventory_diff, loop
from ironic_ownership.engine.ports import Records

LOG = log.getLogger(__name__)

_REFUSALS = (
    exceptions.ProviderInUseError,
    exceptions.PlacementRefusedError,
)


@dataclasses.dataclass
class CapacityReport:
    """Reports the sums of one service.

    Threading: one thread.

    :param placement: a client that no other thread uses.
    """

    host: str
    records: Records
    placement: Placement
    fence: Fence
    conditions: Conditions
    counts: loop.Counts = dataclasses.field(
        default_factory=loop.Counts, init=False
    )

    def __post_init__(self) -> None:
        self._uuid = inventory_diff.service_uuid(self.host)
        self._reported: inventory_diff.Resources | None = None

    def report(self, seen: refresh_result.RefreshResult) -> None:
        """Report the sums, if they have changed.

        :raises FencedError: if this service may not act.
        :raises PlacementError: if Placement does not answer any request.
        :raises RecordsError: if the records can't be read.
        :raises PluginFaultError: if a policy fails.
        """
        # Also checks the fence in the records, which may be newer.
        self.records.apply(self.host, self.fence.epoch(), ())
        wanted = self._totals(seen)
        if wanted == self._reported:
            return
        self.counts.pending = 1
        try:
            self._write(wanted)
        except _REFUSALS as exc:
            self.counts.refused = 1
            self.conditions.report(
                'placement refuses',
                f'Placement refuses the capacity of {self.host}: {exc}',
            )
            return
        self.conditions.clear(
            'placement refuses', 'Placement accepts all reports again'
        )
        self._reported = wanted
        self.counts.refused = self.counts.pending = 0
        self.counts.written += 1
        LOG.info(
            'Placement: capacity reported, %s',
            ', '.join(
                f'{name}: {r.total}, {r.reserved} reserved'
                for name, r in wanted.items()
            )
            or 'none',
        )

    def delete(self) -> None:
        """Delete the provider, if there is one.

        :raises PlacementError: if Placement does not answer, or the provider
            is in use.
        """
        self._reported = None
        if self.placement.has_provider(self._uuid):
            self.fence.epoch()
            self.placement.delete_provider(self._uuid)

    def _write(self, wanted: inventory_diff.Resources) -> None:
        confirm = self.fence.epoch
        generation: int | None = None
        if self._reported is None and self.placement.put_provider(
            self._uuid, self.host, confirm=confirm
        ):
            generation = FIRST_GENERATION
        try:
            self.placement.put_inventory(
                self._uuid, wanted, generation=generation, confirm=confirm
            )
        except exceptions.NoProviderError:
            # Deleted by another client: the retry creates it again.
            self._reported = None
            raise

    def _totals(
        self, seen: refresh_result.RefreshResult
    ) -> inventory_diff.Resources:
        records = {
            record.uuid: record
            for record in self.records.compute_nodes_near(
                self.host, seen.policies.scope
            )
        }
        admitted = [*filter(seen.policies.admits, seen.nodes.values())]
        return inventory_diff.totals(
            self.host,
            admitted,
            {uuid: record.host for uuid, record in records.items()},
            {
                node.uuid: _why(node, records.get(node.uuid), seen.fleet)
                for node in admitted
            },
        )


def delete_provider(placement: Placement, host: str) -> None:
    """Delete the provider of a service that is about to be deleted.

    :raises ProviderInUseError: if it is in use; it stays.
    :raises PlacementError: if Placement does not answer.
    """
    placement.delete_provider(inventory_diff.service_uuid(host))


def _why(
    node: model.Node,
    record: model.ComputeNode | None,
    fleet: evaluation.Fleet | None,
) -> str | None:
    if record is not None and record.host is not None:
        if record.unavailable:
            return record.unavailable
        if record.instance_uuid:
            # Its service has not evaluated it since it reserved it.
            return availability.Unavailable.RESERVED.value
    code = evaluation.evaluate(node, fleet).code
    return None if code is None else code.value
