"""Access to everything that the use cases read from and write to.

The ports to the database, to Ironic and to Placement have one implementation
each, in ``db`` and ``clients``, where their methods are described. Here are
their names, for annotations: at run time the engine imports none of them.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from ironic_ownership.contracts.backend import MembershipBackend
from ironic_ownership.contracts.records import Companion
from ironic_ownership.engine.decision import policy_set

if TYPE_CHECKING:
    from ironic_ownership.clients.ironic.allocations import (
        IronicAllocations as Allocations,
    )
    from ironic_ownership.clients.ironic.client import (
        IronicClient as BareMetal,
    )
    from ironic_ownership.clients.placement.client import (
        PlacementClient as Placement,
    )
    from ironic_ownership.db.moves import SqlMoves as Moves
    from ironic_ownership.db.outbox import SqlOutbox as Outbox
    from ironic_ownership.db.records import SqlRecords as Records
    from ironic_ownership.db.reservations import (
        SqlReservations as Reservations,
    )
else:
    Allocations = BareMetal = Placement = object
    Moves = Outbox = Records = Reservations = object

__all__ = [
    'Allocations',
    'BareMetal',
    'Moves',
    'Outbox',
    'Placement',
    'Ports',
    'Records',
    'Reservations',
]


@dataclasses.dataclass(frozen=True)
class Ports:
    """Records, Ironic, membership, Placement and a companion.

    :param placement: ``None`` where the deployment does not use it.
    :param companion: likewise.
    """

    records: Records
    ironic: BareMetal
    backend: MembershipBackend
    interpret: policy_set.Interpreter
    placement: Placement | None = None
    companion: Companion | None = None
