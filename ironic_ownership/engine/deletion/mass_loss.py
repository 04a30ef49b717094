"""How many nodes of one owner are missing, as an operator's command sees it.

A service knows that from its refreshes; a command has to look for itself, and
at all of the owner's nodes, because one record says nothing about a mass loss.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from ironic_ownership.contracts import exceptions, inventory, model
from ironic_ownership.engine.deletion import gates, missing_nodes, remover


def judge(
    source: inventory.Inventory,
    limits: missing_nodes.Limits,
    scope: model.Scope,
    owned: Sequence[model.ComputeNode],
) -> remover.Batch:
    """Judge the gates that all records of one owner have in common.

    One list, and one request for each of the owner's nodes that is not in
    it. Law 4: with a shard in the scope only nodes of shards are listed, the
    owner's being those on record.

    :param scope: the one configured here.
    :param owned: every record of the owner.
    """
    batch = remover.Batch()
    try:
        listed = _list(source, scope, owned, batch)
        missing = {record.uuid for record in owned} - listed
        gone, batch.mass_loss = _look_up(source, limits, missing, len(owned))
    except exceptions.IronicError as exc:
        for gate in (gates.Gate.NO_MASS_LOSS, gates.Gate.SEES_ALL_NODES):
            batch.details.setdefault(gate, str(exc))
        if isinstance(exc, exceptions.IronicUnavailableError):
            batch.silent['ironic'] = str(exc)
        return batch
    host = owned[0].host if owned else None
    more = ' at least' if batch.mass_loss else ''
    batch.details[gates.Gate.NO_MASS_LOSS] = (
        f'{gone} of {len(owned)} nodes of {host or "nobody"} are{more} '
        'missing from Ironic'
    )
    if batch.mass_loss:
        batch.details[gates.Gate.NO_MASS_LOSS] += (
            '; see [ownership] mass_loss_share'
        )
    return batch


def _list(
    source: inventory.Inventory,
    scope: model.Scope,
    owned: Sequence[model.ComputeNode],
    batch: remover.Batch,
) -> set[str]:
    """List the nodes among which the owner's are, and count them all."""
    shards: set[str | None] = {scope.shard}
    if scope.shard is not None:
        shards |= {record.shard for record in owned if record.shard}
    listed: set[str] = set()
    for shard in sorted(shards, key=str):
        nodes = source.scan(model.Scope(shard=shard))
        listed.update(node.uuid for node in nodes)
        if batch.sees_all_nodes is None or batch.sees_all_nodes:
            remover.count_all(source, shard, len(nodes), batch)
            if batch.sees_all_nodes is None:
                break  # not to be judged at all
    return listed


def _look_up(
    source: inventory.Inventory,
    limits: missing_nodes.Limits,
    missing: set[str],
    owned: int,
) -> tuple[int, bool]:
    """Ask about each node that was not listed, until the loss is clear."""
    memory = missing_nodes.MissingNodes(
        source, dataclasses.replace(limits, recheck_interval=float('inf'))
    )
    gone = 0
    while True:
        found = memory.examine(missing, owned)
        gone += len(found.gone)
        if not found.pending:
            return gone, found.mass_loss
