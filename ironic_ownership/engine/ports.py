"""Access to everything that the use cases read from and write to."""

from __future__ import annotations

import dataclasses

from ironic_ownership.contracts import inventory
from ironic_ownership.contracts.backend import MembershipBackend
from ironic_ownership.contracts.cell import Cell
from ironic_ownership.contracts.placement import Placement
from ironic_ownership.contracts.records import Records
from ironic_ownership.engine.decision import policy_set


@dataclasses.dataclass(frozen=True)
class Ports:
    """Records, Ironic, membership, Placement and a cell of Nova.

    :param placement: ``None`` where the deployment does not use it.
    :param cell: likewise.
    """

    records: Records
    source: inventory.Inventory
    backend: MembershipBackend
    interpret: policy_set.Interpreter
    placement: Placement | None = None
    cell: Cell | None = None
