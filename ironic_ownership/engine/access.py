"""Access to all that the use cases read from and write to."""

from __future__ import annotations

import dataclasses

from ironic_ownership.contracts import backend, inventory, placement
from ironic_ownership.contracts import records as records_
from ironic_ownership.engine.deciding import policy_set


@dataclasses.dataclass(frozen=True)
class Ports:
    """Records, Ironic, membership, Placement.

    :param placement: ``None`` where the deployment does not use it.
    """

    records: records_.Records
    source: inventory.Inventory
    backend: backend.MembershipBackend
    interpret: policy_set.Interpreter
    placement: placement.Placement | None = None
