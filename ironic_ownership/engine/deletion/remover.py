"""Delete the provider and the record of a node that Ironic has no more.

The gates are judged on fresh answers, Ironic's 404 last. Then the provider
goes first and the record after it: a crash between them leaves a record whose
node is gone, which the next attempt finishes, while a provider without a
record would never be found again. Nothing here retries: what is not known
now is asked for by the next attempt.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from ironic_ownership.contracts import exceptions, inventory, model
from ironic_ownership.contracts.placement import Placement
from ironic_ownership.contracts.records import Records
from ironic_ownership.engine.deletion import gates


@dataclasses.dataclass
class Batch:
    """What is the same for all records that are judged together.

    A service that did not answer once is not asked again in the same round:
    each request could take its whole time-out.

    :ivar details: of the gates that are judged for all of them.
    :ivar silent: what was said of each service that does not answer.
    """

    mass_loss: bool | None = None
    sees_all_nodes: bool | None = None
    details: dict[gates.Gate, str] = dataclasses.field(default_factory=dict)
    silent: dict[str, str] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What became of one record.

    :param judgements: every gate, as last judged.
    :param provider_deleted: whether Placement had a provider, and has none
        any more.
    """

    judgements: tuple[gates.Judgement, ...]
    deleted: bool = False
    provider_deleted: bool = False

    @property
    def failed(self) -> list[gates.Judgement]:
        """The gates that stopped the deletion."""
        return [j for j in self.judgements if not j.passed]


class Remover:
    """Judges and deletes single records.

    Threading: one thread at a time.

    :param placement_: ``None`` where the deployment does not use Placement.
    """

    def __init__(
        self,
        records: Records,
        source: inventory.Inventory,
        placement: Placement | None,
    ) -> None:
        self._records = records
        self._source = source
        self._placement = placement

    def examine(self, seen: model.ComputeNode, batch: Batch) -> gates.Evidence:
        """Gather the evidence about one record; Ironic is asked last.

        :param seen: the record that is to be deleted.
        :raises RecordsUnavailableError: if the record can't be read.
        """
        details = dict(batch.details)
        consumers = self._consumers(seen.uuid, batch, details)
        now = self._records.compute_nodes_by_uuid([seen.uuid])
        owner = now[0].host if now else None
        if not now:
            details[gates.Gate.STILL_OWNER] = 'the record is gone'
        elif owner != seen.host:
            details[gates.Gate.STILL_OWNER] = (
                f'the owner on record is now {owner or "nobody"}'
            )
        return gates.Evidence(
            node_is_gone=self._is_gone(seen.uuid, batch, details),
            instance_uuid=(now[0] if now else seen).instance_uuid,
            uses_placement=self._placement is not None,
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
        may_act: Callable[[], object],
        forget: Callable[[], bool],
    ) -> Outcome:
        """Delete one record and its provider, if every gate is passed.

        :param may_act: called before anything is deleted; raises if whoever
            deletes has lost the right to.
        :param forget: deletes the record, if it still has the owner seen,
            and tells whether it had.
        :raises RecordsError: if the records can't be read or written; the
            next attempt finishes what was begun.
        """
        evidence = self.examine(seen, batch)
        if gates.failed_gates(evidence):
            return Outcome(gates.judge(evidence))
        may_act()
        try:
            provider_deleted = (
                self._placement is not None
                and self._placement.delete_provider(seen.uuid)
            )
        except exceptions.PlacementError as exc:
            return self._refused_by_placement(evidence, batch, exc)
        deleted = forget()
        if not deleted:
            evidence = _with(
                evidence,
                gates.Gate.STILL_OWNER,
                'the record changed in the last moment',
                still_owner=False,
            )
        return Outcome(gates.judge(evidence), deleted, provider_deleted)

    def _refused_by_placement(
        self,
        evidence: gates.Evidence,
        batch: Batch,
        exc: exceptions.PlacementError,
    ) -> Outcome:
        if isinstance(exc, exceptions.PlacementUnavailableError):
            batch.silent['placement'] = str(exc)
        return Outcome(
            gates.judge(
                _with(
                    evidence,
                    gates.Gate.NO_ALLOCATION,
                    str(exc),
                    consumers=None,
                )
            )
        )

    def _consumers(
        self, uuid: str, batch: Batch, details: dict[gates.Gate, str]
    ) -> frozenset[str] | None:
        if self._placement is None:
            return None
        silent = batch.silent.get('placement')
        if silent is None:
            try:
                found = self._placement.consumers(uuid)
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
                return self._source.get(uuid) is None
            except exceptions.IronicUnavailableError as exc:
                silent = batch.silent['ironic'] = str(exc)
            except exceptions.IronicError as exc:
                silent = str(exc)
        details[gates.Gate.NODE_IS_GONE] = silent
        return None


def count_all(
    source: inventory.Inventory,
    shard: str | None,
    listed: int,
    batch: Batch,
) -> None:
    """Judge whether the credential sees every node, for a whole round.

    :param shard: the shard that was listed; ``None`` for all nodes.
    :param listed: number of nodes that it lists there, parts of other nodes
        left out; only if they are too few are those counted as well.
    """
    gate = gates.Gate.SEES_ALL_NODES
    try:
        counts = source.shard_counts()
        if not gates.sees_all(counts, shard, listed):
            listed = source.count(model.Scope(shard=shard))
    except exceptions.IronicError as exc:
        batch.sees_all_nodes = None
        batch.details[gate] = str(exc)
        return
    where = 'in all' if shard is None else f'in shard {shard}'
    expected = sum(counts.values()) if shard is None else counts.get(shard, 0)
    batch.sees_all_nodes = gates.sees_all(counts, shard, listed)
    batch.details[gate] = f'{listed} nodes listed, {expected} counted {where}'


def _with(
    evidence: gates.Evidence,
    gate: gates.Gate,
    detail: str,
    **values: bool | None,
) -> gates.Evidence:
    return dataclasses.replace(
        evidence,
        details={**evidence.details, gate: detail},
        **values,  # type: ignore[arg-type]
    )
