"""Delete a service that owns nothing and does not run."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.contracts.backend import MembershipBackend
from ironic_ownership.contracts.placement import Placement
from ironic_ownership.contracts.records import Records
from ironic_ownership.engine import suggestions
from ironic_ownership.engine.deletion import service_gates
from ironic_ownership.engine.gates import GateResult, refusals
from ironic_ownership.engine.placement import capacity_report


@dataclasses.dataclass(frozen=True)
class Deletion:
    """A service to delete; ``warnings`` name what could not be read."""

    host: str
    gates: tuple[GateResult, ...]
    warnings: tuple[str, ...] = ()

    @property
    def refused(self) -> list[GateResult]:
        """The gates that forbid the deletion."""
        return refusals(self.gates)


@dataclasses.dataclass(frozen=True)
class DeleteService:
    """Delete a service, and the provider of its capacity in Placement.

    :param open_placement: returns a client, or ``None`` where services do
        not report to Placement; called on execution only.
    """

    records: Records
    backend: MembershipBackend
    open_placement: Callable[[], Placement | None]

    def propose(self, host: str) -> Deletion:
        """Evaluate every gate.

        :param host: name of the service; case does not count.
        :raises NotFoundError: with the nearest names.
        """
        hosts = [row.host for row in self.records.services()]
        host = suggestions.known_service(host, hosts)
        view, warnings = None, []
        try:
            view = self.backend.view()
        except exceptions.MembershipError as exc:
            warnings.append(f'liveness is unknown: {exc}')
        near = self.records.compute_nodes_near(host, model.Scope(nothing=True))
        owned = [record for record in near if record.host == host]
        return Deletion(
            host,
            tuple(service_gates.evaluate(host, owned, view)),
            tuple(warnings),
        )

    def execute(
        self, proposed: Deletion, *, actor: str, request_id: str | None = None
    ) -> bool:
        """Delete the service, unless a gate forbids it.

        :returns: whether it was deleted.
        :raises ServiceInUseError: if it was given a node or an instance
            after the gates were evaluated.
        :raises ProviderInUseError: if its provider has an allocation.
        :raises PlacementError: if Placement does not answer.
        """
        if proposed.refused:
            return False
        # First: while the service exists, the operation can be repeated.
        placement = self.open_placement()
        if placement is not None:
            capacity_report.delete_provider(placement, proposed.host)
        self.records.delete_service(
            proposed.host, actor=actor, request_id=request_id
        )
        return True
