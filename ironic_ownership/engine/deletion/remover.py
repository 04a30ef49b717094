"""Deletion of one record and its provider, of a node that Ironic lost.

The gates are evaluated on fresh answers. Then the record is marked as being
deleted, which is refused if it can't be deleted; then the provider goes, and
at last the record. Nothing is retried here; the next attempt asks again.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Self

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.engine.deletion import gates
from ironic_ownership.engine.deletion.missing_nodes import Batch
from ironic_ownership.engine.gates import (
    Found,
    GateResult,
    Item,
    Outcome,
    Result,
    proposed,
)
from ironic_ownership.engine.ports import Ports

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

    def late(self, code: str, found: Found | str) -> Self:
        """Return it as refused by what was found after all gates."""
        (gate,) = (gate for gate in gates.GATES if gate.code == code)
        return self.refused_by(gate.result(self.record, found))


@dataclasses.dataclass(frozen=True)
class Remover:
    """Evaluates the gates of single records, and deletes them.

    Threading: one thread at a time.
    """

    ports: Ports

    def examine(
        self, seen: model.ComputeNode, batch: Batch
    ) -> tuple[GateResult, ...]:
        """Evaluate the gates of one record; Ironic is asked last.

        :param seen: the record to delete.
        :raises RecordsUnavailableError: if the record can't be read.
        """
        uuid, fact = seen.uuid, gates.fact
        found = dict(batch.found)
        found[gates.NO_ALLOCATION] = self._allocations(uuid, batch)
        stored = self.ports.records.compute_nodes_by_uuid([uuid])
        now = next(iter(stored), None)
        if now is None:
            found[gates.STILL_OWNER] = fact(False, 'the record is gone')
        else:
            is_same = now.host == seen.host
            who = 'the same' if is_same else f'now {now.host or "no service"}'
            found[gates.STILL_OWNER] = fact(
                is_same, f'the owner on record is {who}'
            )
        instance = (now or seen).instance_uuid
        what = f'instance {instance}' if instance else 'no instance'
        found[gates.NO_INSTANCE] = fact(
            instance is None, f'{what} is on record'
        )
        # Last, so that the 404 is the newest answer.
        found[gates.NODE_IS_GONE] = self._is_gone(uuid, batch)
        return gates.evaluate(seen, found)

    def remove(
        self,
        seen: model.ComputeNode,
        batch: Batch,
        *,
        begin: Callable[[], str | None],
        delete: Callable[[], bool],
    ) -> NodeDeletion:
        """Delete one record and its provider, if every gate is passed.

        :param begin: marks the record, before anything is deleted; returns
            why it can't be deleted. Raises if the caller has lost its right
            to write.
        :param delete: deletes the record if it still has the owner seen;
            ``False`` if it has not.
        :raises RecordsError: if the records can't be read or written; the
            next attempt finishes the deletion.
        """
        results = self.examine(seen, batch)
        item = NodeDeletion(
            record=seen,
            result=proposed(results, Result.DELETED),
            gates=results,
        )
        if item.refused:
            return item
        # Before the provider: after a crash, the next attempt finds the marked
        # record, but would never find a provider without a record.
        if objection := begin():
            return item.late(gates.STILL_OWNER, objection)
        placement = self.ports.placement
        try:
            deleted = placement is not None and placement.delete_provider(
                seen.uuid
            )
        except exceptions.PlacementError as exc:
            unknown = batch.unknown('placement', exc)
            return item.late(gates.NO_ALLOCATION, unknown)
        item = dataclasses.replace(item, provider_deleted=deleted)
        return item if delete() else item.late(gates.STILL_OWNER, CHANGED)

    def _allocations(self, uuid: str, batch: Batch) -> Found:
        placement = self.ports.placement
        if placement is None:
            return Found(
                Outcome.NOT_CONFIGURED,
                '[placement] is not configured: allocations are not checked',
            )

        def ask() -> Found:
            found = placement.consumers(uuid)
            if found is None:
                return gates.fact(True, 'Placement has no provider for it')
            consumers = ', '.join(sorted(found))
            has = (
                f'allocated to {consumers}'
                if found
                else 'it has no allocation'
            )
            return gates.fact(not found, has)

        return _answer('placement', batch, ask)

    def _is_gone(self, uuid: str, batch: Batch) -> Found:
        def ask() -> Found:
            if self.ports.ironic.get(uuid) is None:
                return gates.fact(True, 'Ironic answers 404 for its uuid')
            return gates.fact(False, 'Ironic has the node')

        return _answer('ironic', batch, ask)


def _answer(service: str, batch: Batch, ask: Callable[[], Found]) -> Found:
    """Ask a service, unless it did not answer for the batch before."""
    # Each request could take its whole time-out again.
    if service in batch.silent:
        return Found(Outcome.UNKNOWN, batch.silent[service])
    try:
        return ask()
    except (exceptions.IronicError, exceptions.PlacementError) as exc:
        return batch.unknown(service, exc)
