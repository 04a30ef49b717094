"""The gates that several records share: mass loss, and visibility of nodes.

A service evaluates them from its refresh. A command has to read all nodes of
the owner first, because one record tells nothing about a mass loss.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from ironic_ownership.contracts import exceptions, inventory, model
from ironic_ownership.engine.deletion import missing_nodes
from ironic_ownership.engine.deletion.gates import (
    NO_MASS_LOSS,
    SEES_ALL_NODES,
    expected,
    sees_all,
)

TRUST_OPTION = '[ownership] trust_credential'


@dataclasses.dataclass
class Batch:
    """The results that all records evaluated together share.

    A service that did not answer once is not asked again for the same batch:
    each request could take its whole time-out.

    :ivar details: by the gates that all records share.
    :ivar silent: the error of each service that does not answer, by name.
    """

    mass_loss: bool | None = None
    sees_all_nodes: bool | None = None
    details: dict[str, str] = dataclasses.field(default_factory=dict)
    silent: dict[str, str] = dataclasses.field(default_factory=dict)


def evaluate(
    source: inventory.Inventory,
    limits: missing_nodes.Limits,
    scope: model.Scope,
    owned: Sequence[model.ComputeNode],
) -> Batch:
    """Evaluate the gates that all records of one owner share.

    One list, and one request for each of the owner's nodes that is not in
    it. Law 4: with a shard in the scope only the shards of the records are
    listed.

    :param owned: every record of the owner.
    """
    batch = Batch()
    try:
        listed = _list(
            source, scope, owned, batch, trusted=limits.trusts_credential
        )
        missing = {record.uuid for record in owned} - listed
        gone, batch.mass_loss = _look_up(source, limits, missing, len(owned))
    except exceptions.IronicError as exc:
        for gate in (NO_MASS_LOSS, SEES_ALL_NODES):
            batch.details.setdefault(gate, str(exc))
        if isinstance(exc, exceptions.IronicUnavailableError):
            batch.silent['ironic'] = str(exc)
        return batch
    host = owned[0].host if owned else None
    more = ' at least' if batch.mass_loss else ''
    batch.details[NO_MASS_LOSS] = (
        f'{gone} of {len(owned)} nodes of {host or "no service"} are{more} '
        'missing from Ironic'
    )
    if batch.mass_loss:
        batch.details[NO_MASS_LOSS] += '; see [ownership] mass_loss_share'
    return batch


def compare_counts(
    source: inventory.Inventory,
    shard: str | None,
    listed: int,
    batch: Batch,
    *,
    trusted: bool = False,
) -> None:
    """Evaluate whether the credential sees every node.

    :param trusted: whether it counts as seen where Ironic cannot count: it is
        too old, or refuses this user. An outage stays unknown.
    :param listed: number of nodes listed there, without parts of other
        nodes; those are counted only if the number is too small.
    """
    try:
        counts = source.shard_counts()
        if not sees_all(counts, shard, listed):
            listed = source.count(model.Scope(shard=shard))
    except exceptions.IronicError as exc:
        outage = isinstance(exc, exceptions.IronicUnavailableError)
        batch.sees_all_nodes = True if trusted and not outage else None
        batch.details[SEES_ALL_NODES] = (
            f'not counted: {exc}; {TRUST_OPTION} is set'
            if batch.sees_all_nodes
            else str(exc)
        )
        return
    where = 'in all' if shard is None else f'in shard {shard}'
    batch.sees_all_nodes = sees_all(counts, shard, listed)
    batch.details[SEES_ALL_NODES] = (
        f'{listed} nodes listed, {expected(counts, shard)} counted {where}'
    )


def _list(
    source: inventory.Inventory,
    scope: model.Scope,
    owned: Sequence[model.ComputeNode],
    batch: Batch,
    *,
    trusted: bool,
) -> set[str]:
    shards: set[str | None] = {scope.shard}
    if scope.shard is not None:
        shards |= {record.shard for record in owned if record.shard}
    listed: set[str] = set()
    for shard in sorted(shards, key=str):
        nodes = source.scan(model.Scope(shard=shard))
        listed.update(node.uuid for node in nodes)
        if batch.sees_all_nodes is None or batch.sees_all_nodes:
            compare_counts(source, shard, len(nodes), batch, trusted=trusted)
            if batch.sees_all_nodes is None:
                break  # the counts are not available
    return listed


def _look_up(
    source: inventory.Inventory,
    limits: missing_nodes.Limits,
    missing: set[str],
    owned: int,
) -> tuple[int, bool]:
    """Ask for each node that was not listed, until a mass loss is certain."""
    memory = missing_nodes.MissingNodes(
        source, dataclasses.replace(limits, recheck_interval=float('inf'))
    )
    gone = 0
    while True:
        found = memory.examine(missing, owned)
        gone += len(found.gone)
        if not found.pending:
            return gone, found.mass_loss
