"""Candidates for a request: free nodes in Ironic without an owner."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection

from ironic_ownership.contracts import (
    model,
    refusals,
)
from ironic_ownership.contracts.reservations import Request
from ironic_ownership.engine.availability import evaluation
from ironic_ownership.engine.ports import Records
from ironic_ownership.engine.reservations import (
    eligibility,
    free_node_cache,
    selection,
)


@dataclasses.dataclass(frozen=True)
class CandidateFinder:
    """Chooses among free, unowned nodes.

    Threading: any thread.
    """

    records: Records
    nodes: free_node_cache.FreeNodeCache

    def choose(
        self,
        request: Request,
        service: eligibility.EligibleService,
        tried: Collection[str] = (),
    ) -> selection.Choice:
        """Return the candidates, or why there are none.

        That no node fits is concluded only from a new read of all nodes of
        the scope.

        :param tried: uuids of nodes that could not be reserved.
        :raises OwnershipError: if Ironic or the records do not answer.
        """
        scope = service.policies.scope
        snapshot = self.nodes.some(scope, request.resource_class)
        choice = self._select(request, service, snapshot, tried)
        if choice.candidates:
            return choice
        snapshot = self.nodes.all(scope)
        # Nodes that could not be reserved may be counted with a reason now.
        choice = self._select(request, service, snapshot, ())
        if choice.candidates and tried:
            choice = self._select(request, service, snapshot, tried)
        return choice

    def _select(
        self,
        request: Request,
        service: eligibility.EligibleService,
        snapshot: free_node_cache.Snapshot,
        tried: Collection[str],
    ) -> selection.Choice:
        def choose(owned: Collection[str]) -> selection.Choice:
            return selection.choose(
                request,
                snapshot.nodes,
                lambda node: evaluation.evaluate(node, snapshot.fleet).code,
                owned=owned,
                admits=service.policies.admits,
            )

        taken = frozenset(tried)
        choice = choose(taken)
        uuids = [node.uuid for node in choice.candidates]
        if not _owned(self.records.compute_nodes_by_uuid(uuids), service.host):
            return choice
        # Rare: a free node that a service with another policy owns.
        records = self.records.compute_nodes()
        return choose(taken | _owned(records, service.host))


def _owned(
    records: Collection[model.ComputeNode], host: str
) -> frozenset[str]:
    return frozenset(
        record.uuid
        for record in records
        if record.host not in (None, host) or record.instance_uuid
    )


def no_match(choice: selection.Choice) -> refusals.NoMatchError:
    """Return the error for a request without candidates."""
    return refusals.NoMatchError(
        choice.examined,
        choice.removed,
        hint='Request less, or free a node; "ironic-ownership compute node '
        'list" shows why nodes are unavailable',
    )
