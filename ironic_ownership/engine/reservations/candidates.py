"""Find candidates for a request: look at Ironic, then at the records."""

from __future__ import annotations

from collections.abc import Collection

from ironic_ownership.contracts import exceptions, model, reservation_request
from ironic_ownership.contracts.records import Records
from ironic_ownership.engine.availability import evaluation
from ironic_ownership.engine.reservations import (
    eligibility,
    free_node_cache,
    selection,
)


class CandidateFinder:
    """Chooses among free nodes that nobody owns.

    Threading: any thread.
    """

    def __init__(
        self, records: Records, nodes: free_node_cache.FreeNodeCache
    ) -> None:
        self._records = records
        self._nodes = nodes

    def choose(
        self,
        request: reservation_request.Request,
        fit: eligibility.Fit,
        tried: Collection[str] = (),
    ) -> selection.Choice:
        """Return the candidates, or why there are none.

        The last word, that no node fits, is spoken about all nodes of the
        scope as they are now.

        :param tried: uuids of nodes that could not be had.
        :raises OwnershipError: if Ironic or the records do not answer.
        """
        scope = fit.policies.scope
        look = self._nodes.some(scope, request.resource_class)
        choice = self._sift(request, fit, look, tried)
        if choice.candidates:
            return choice
        look = self._nodes.all(scope)
        # What could not be had has its reasons, which can be seen by now.
        choice = self._sift(request, fit, look, ())
        if choice.candidates and tried:
            choice = self._sift(request, fit, look, tried)
        return choice

    def _sift(
        self,
        request: reservation_request.Request,
        fit: eligibility.Fit,
        look: free_node_cache.Look,
        tried: Collection[str],
    ) -> selection.Choice:
        def choose(owned: Collection[str]) -> selection.Choice:
            return selection.choose(
                request,
                look.nodes,
                lambda node: evaluation.evaluate(node, look.fleet).code,
                owned=owned,
                admits=fit.policies.admits,
            )

        taken = frozenset(tried)
        choice = choose(taken)
        some = [node.uuid for node in choice.candidates]
        if not _owned(self._records.compute_nodes_by_uuid(some), fit.host):
            return choice
        # Rare: a free node that some other policy gave to somebody.
        everyone = self._records.compute_nodes()
        return choose(taken | _owned(everyone, fit.host))


def _owned(
    records: Collection[model.ComputeNode], host: str
) -> frozenset[str]:
    return frozenset(
        record.uuid
        for record in records
        if record.host not in (None, host) or record.instance_uuid
    )


def no_match(choice: selection.Choice) -> exceptions.NoMatchError:
    """Return the error that says why no node fits."""
    return exceptions.NoMatchError(
        choice.examined,
        choice.removed,
        hint='Ask for less, or free a node; "ironic-ownership compute node '
        'list" shows the nodes and why nothing can be scheduled to them',
    )
