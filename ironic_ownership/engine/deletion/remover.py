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
from typing import Any

from ironic_ownership.contracts import exceptions, inventory, model
from ironic_ownership.contracts.placement import Placement
from ironic_ownership.contracts.records import Records
from ironic_ownership.engine.deletion import gates
from ironic_ownership.engine.deletion.mass_loss import Batch
from ironic_ownership.engine.gates import GateResult, refusals

CHANGED = 'the record changed in the last moment'
"""Objection to a deletion: the record is not as it was seen."""


@dataclasses.dataclass(frozen=True)
class Removal:
    """The result for one record.

    :param gates: every gate, as last evaluated.
    """

    gates: tuple[GateResult, ...]
    deleted: bool = False
    provider_deleted: bool = False

    @property
    def refused(self) -> list[GateResult]:
        """The gates that stopped the deletion."""
        return refusals(self.gates)


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
            details[gates.Gate.STILL_OWNER] = 'the record is gone'
        elif owner != seen.host:
            details[gates.Gate.STILL_OWNER] = (
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
    ) -> Removal:
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
        if refusals(results):
            return Removal(results)
        if objection := begin():
            return _changed(evidence, objection)
        try:
            provider_deleted = (
                self.placement is not None
                and self.placement.delete_provider(seen.uuid)
            )
        except exceptions.PlacementError as exc:
            if isinstance(exc, exceptions.PlacementUnavailableError):
                batch.silent['placement'] = str(exc)
            detail = {gates.Gate.NO_ALLOCATION: str(exc)}
            return Removal(_evaluate_again(evidence, detail, consumers=None))
        if forget():
            return Removal(results, True, provider_deleted)
        return _changed(evidence, CHANGED, provider_deleted)

    def _consumers(
        self, uuid: str, batch: Batch, details: dict[gates.Gate, str]
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
                    details[gates.Gate.NO_ALLOCATION] = (
                        'Placement has no provider for it'
                    )
                return found or frozenset()
        details[gates.Gate.NO_ALLOCATION] = silent
        return None

    def _is_gone(
        self, uuid: str, batch: Batch, details: dict[gates.Gate, str]
    ) -> bool | None:
        silent = batch.silent.get('ironic')
        if silent is None:
            try:
                return self.source.get(uuid) is None
            except exceptions.IronicUnavailableError as exc:
                silent = batch.silent['ironic'] = str(exc)
            except exceptions.IronicError as exc:
                silent = str(exc)
        details[gates.Gate.NODE_IS_GONE] = silent
        return None


def _changed(
    evidence: gates.Evidence, objection: str, provider_deleted: bool = False
) -> Removal:
    detail = {gates.Gate.STILL_OWNER: objection}
    results = _evaluate_again(evidence, detail, still_owner=False)
    return Removal(results, False, provider_deleted)


def _evaluate_again(
    evidence: gates.Evidence, detail: dict[gates.Gate, str], **changed: Any
) -> tuple[GateResult, ...]:
    details = {**evidence.details, **detail}
    return gates.evaluate(
        dataclasses.replace(evidence, details=details, **changed)
    )
