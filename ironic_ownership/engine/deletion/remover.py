"""Deletion of one record and its provider, of a node that Ironic lost.

The gates are evaluated on fresh answers, Ironic's 404 last. Then the record is
marked as being deleted, which is refused if it can't be deleted; then the
provider goes, and at last the record. A crash between two steps leaves a
marked record, which the next attempt finishes, while a provider without a
record would never be found again. Nothing is retried here; the next attempt
asks again.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from ironic_ownership.contracts import exceptions, inventory, model
from ironic_ownership.contracts.placement import Placement
from ironic_ownership.engine.deletion import gates
from ironic_ownership.engine.deletion.mass_loss import Batch
from ironic_ownership.engine.gates import (
    Found,
    GateResult,
    Item,
    Outcome,
    Result,
    proposed,
)
from ironic_ownership.engine.ports import Records

CHANGED = 'the record changed in the last moment'
"""Objection to a deletion: the record is not as it was seen."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class NodeDeletion(Item):
    """One compute node to delete, or whose instance is to be forgotten.

    :param record: as it was seen.
    """

    record: model.ComputeNode
    provider_deleted: bool = False

    @property
    def deleted(self) -> bool:
        """True if the record is deleted."""
        return self.result is Result.DELETED


@dataclasses.dataclass(frozen=True)
class Remover:
    """Evaluates the gates of single records, and deletes them.

    Threading: one thread at a time.

    :param placement: ``None`` where the deployment does not use Placement.
    """

    records: Records
    source: inventory.Inventory
    placement: Placement | None

    def examine(self, seen: model.ComputeNode, batch: Batch) -> gates.Evidence:
        """Gather the evidence about one record; Ironic is asked last.

        :param seen: the record to delete.
        :raises RecordsUnavailableError: if the record can't be read.
        """
        details = dict(batch.details)
        consumers = self._consumers(seen.uuid, batch, details)
        now = self.records.compute_nodes_by_uuid([seen.uuid])
        owner = now[0].host if now else None
        if not now:
            details[gates.STILL_OWNER] = 'the record is gone'
        elif owner != seen.host:
            details[gates.STILL_OWNER] = (
                f'the owner on record is now {owner or "no service"}'
            )
        return gates.Evidence(
            uuid=seen.uuid,
            node_is_gone=self._is_gone(seen.uuid, batch, details),
            instance_uuid=(now[0] if now else seen).instance_uuid,
            uses_placement=self.placement is not None,
            consumers=consumers,
            still_owner=bool(now) and owner == seen.host,
            mass_loss=batch.mass_loss,
            sees_all_nodes=batch.sees_all_nodes,
            details=details,
        )

    def remove(
        self,
        seen: model.ComputeNode,
        batch: Batch,
        *,
        begin: Callable[[], str | None],
        forget: Callable[[], bool],
    ) -> NodeDeletion:
        """Delete one record and its provider, if every gate is passed.

        :param begin: marks the record, before anything is deleted; returns
            why it can't be deleted. Raises if the caller has lost its right
            to write.
        :param forget: deletes the record if it still has the owner seen;
            ``False`` if it has not.
        :raises RecordsError: if the records can't be read or written; the
            next attempt finishes the deletion.
        """
        evidence = self.examine(seen, batch)
        results = gates.evaluate(evidence)
        item = NodeDeletion(
            record=seen,
            result=proposed(results, Result.DELETED),
            gates=results,
        )
        if item.refused:
            return item
        if objection := begin():
            return item.refused_by(_late(evidence, objection))
        try:
            deleted = (
                self.placement is not None
                and self.placement.delete_provider(seen.uuid)
            )
        except exceptions.PlacementError as exc:
            if isinstance(exc, exceptions.PlacementUnavailableError):
                batch.silent['placement'] = str(exc)
            unknown = Found(Outcome.UNKNOWN, str(exc))
            return item.refused_by(
                gates.late(evidence, gates.NO_ALLOCATION, unknown)
            )
        item = dataclasses.replace(item, provider_deleted=deleted)
        return item if forget() else item.refused_by(_late(evidence, CHANGED))

    def _consumers(
        self, uuid: str, batch: Batch, details: dict[str, str]
    ) -> frozenset[str] | None:
        if self.placement is None:
            return None
        silent = batch.silent.get('placement')
        if silent is None:
            try:
                found = self.placement.consumers(uuid)
            except exceptions.PlacementUnavailableError as exc:
                silent = batch.silent['placement'] = str(exc)
            except exceptions.PlacementError as exc:
                silent = str(exc)
            else:
                if found is None:
                    details[gates.NO_ALLOCATION] = (
                        'Placement has no provider for it'
                    )
                return found or frozenset()
        details[gates.NO_ALLOCATION] = silent
        return None

    def _is_gone(
        self, uuid: str, batch: Batch, details: dict[str, str]
    ) -> bool | None:
        silent = batch.silent.get('ironic')
        if silent is None:
            try:
                return self.source.get(uuid) is None
            except exceptions.IronicUnavailableError as exc:
                silent = batch.silent['ironic'] = str(exc)
            except exceptions.IronicError as exc:
                silent = str(exc)
        details[gates.NODE_IS_GONE] = silent
        return None


def _late(evidence: gates.Evidence, objection: str) -> GateResult:
    return gates.late(evidence, gates.STILL_OWNER, objection)
