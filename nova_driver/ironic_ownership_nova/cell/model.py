"""Contents of a Nova cell, and the results of changes."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Sequence


@dataclasses.dataclass(frozen=True, slots=True)
class CellService:
    """A nova-compute service of the cell.

    :param host: in the spelling of the cell.
    :param is_up: whether Nova counts it as up, by its last heartbeat.
    :param forced_down: as an operator has set it.
    """

    id: int
    host: str
    is_up: bool = False
    forced_down: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class CellNode:
    """A node of Ironic in the cell, which Nova did not delete.

    :param name: ``hypervisor_hostname``, which is the uuid of Ironic's node.
    :param replaced: whether another row, also one that Nova deleted, has the
        uuid of the node.
    """

    id: int
    uuid: str | None
    name: str
    host: str | None
    service_id: int | None
    replaced: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class CellInstance:
    """A running instance of the cell, on a node of Ironic.

    :param node: ``hypervisor_hostname`` of its node.
    :param is_settled: whether Nova neither builds nor changes it.
    """

    uuid: str
    node: str
    host: str
    is_settled: bool = True


@dataclasses.dataclass(frozen=True)
class CellSnapshot:
    """Contents of a cell, read in one transaction."""

    services: Sequence[CellService]
    nodes: Sequence[CellNode]
    instances: Sequence[CellInstance]


@dataclasses.dataclass(frozen=True, slots=True)
class MissingGrant:
    """A permission that the user of the database lacks.

    :param what: privilege, table and column.
    :param statement: gives it; for an administrator of the database.
    """

    what: str
    statement: str


class State(enum.StrEnum):
    """The result of one node of an adoption, or of one service of a return."""

    ADOPTED = 'adopted'
    """The node has a record now that names the host of its row."""

    RETURNED = 'returned'
    """The service counts as one that has never registered."""

    UNCHANGED = 'unchanged'
    """It was so already."""

    REFUSED = 'refused'
    """Row, instance and record do not agree, or the service is alive."""


@dataclasses.dataclass(frozen=True, slots=True)
class Result:
    """One node of an adoption, or one service of a return.

    :param uuid: of the node; ``None`` for a service.
    :param detail: the reason of a refusal, which begins with a code.
    """

    uuid: str | None
    host: str | None
    state: State
    detail: str | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Drift:
    """A row of the cell that names another host than the record.

    :param owner: on record.
    :param host: of the row, in its spelling.
    :param instance_uuid: the running instance on the node, if any.
    """

    uuid: str
    owner: str
    host: str | None
    instance_uuid: str | None = None
