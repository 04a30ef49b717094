"""The port to a Nova cell: what it has, and the adoption of its nodes.

The records live on the cell's database server. The cell's tables are read and
written by SQL; Nova is not asked.
"""

from __future__ import annotations

import abc
import dataclasses
import enum
from collections.abc import Mapping, Sequence

from ironic_ownership.contracts import model


@dataclasses.dataclass(frozen=True, slots=True)
class CellService:
    """A nova-compute service of the cell.

    :param host: in the spelling of the cell.
    """

    id: int
    host: str
    disabled: bool = False
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
    """

    uuid: str
    node: str
    host: str


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


class AdoptionState(enum.StrEnum):
    """The result of one node of an adoption."""

    ADOPTED = 'adopted'
    """It has a record now that names the host of its row."""

    UNCHANGED = 'unchanged'
    """Its record named that host already."""

    REFUSED = 'refused'
    """Row, instance and record do not agree."""


@dataclasses.dataclass(frozen=True, slots=True)
class AdoptedNode:
    """One node of an adoption.

    :param detail: the reason of a refusal, which begins with a code.
    """

    uuid: str
    host: str | None
    state: AdoptionState
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


class Cell(abc.ABC):
    """One cell.

    Threading: any thread. Blocking: up to the database's time-outs. Failure:
    :class:`RecordsUnavailableError` when the database does not answer, and
    :class:`RecordsError` for a missing table or permission.
    """

    @abc.abstractmethod
    def missing_grants(self) -> Sequence[MissingGrant]:
        """Return all permissions that are missing, one by one.

        Each is tried with a statement that changes no row.
        """

    @abc.abstractmethod
    def read(self) -> CellSnapshot:
        """Return the services, and Ironic's nodes and instances."""

    @abc.abstractmethod
    def adopt(
        self,
        nodes: Mapping[str, model.Node | None],
        actor: str,
        request_id: str | None = None,
    ) -> Sequence[AdoptedNode]:
        """Make the hosts of some rows owners on record, as one transaction.

        Services without a record get one with epoch 0, which never
        registered. A record whose owner has registered is not changed.
        A record of any other owner follows the row: stock Nova moves free
        nodes by itself. Repeated, it changes nothing.

        :param nodes: as Ironic has them, by uuid; ``None`` for one that
            Ironic does not have: it is adopted, and its owner deletes it.
        :param actor: user and place, for the events.
        :param request_id: of the operator's request, for the events.
        """

    @abc.abstractmethod
    def drift(self, host: str | None = None) -> Sequence[Drift]:
        """Return the nodes whose row names another host than the record.

        One query.

        :param host: only those of this owner on record.
        """

    @abc.abstractmethod
    def stray_rows(self) -> Sequence[CellNode]:
        """Return the rows whose uuid is not that of their node. One query.

        Nova finds the row of a node by the node's uuid, and so does not use
        them; but it can create no other row on the same host.
        """

    @abc.abstractmethod
    def return_service(
        self, host: str, actor: str, request_id: str | None = None
    ) -> bool:
        """Treat a service like one that was adopted and never registered.

        Its records stay, and no other service takes them. A process that
        holds its place may not write any more. Repeated, it changes nothing.

        :param actor: user and place, for the events.
        :returns: whether it was registered.
        :raises NotFoundError: if the service is not on record.
        """

    @abc.abstractmethod
    def follow_settings(self, actor: str) -> Sequence[str]:
        """Write the settings of services in the cell into the records.

        They count already, but only the row of the records ends the right to
        write of a service that Nova's API has forced down. One query, and a
        transaction for each service whose settings differ.

        :param actor: for the events.
        :returns: the hosts whose settings have changed.
        """

    @abc.abstractmethod
    def repair(
        self, host: str, epoch: int, uuids: Sequence[str]
    ) -> Sequence[str]:
        """Write the owner on record into the rows of free nodes.

        :param host: the owner, which has the right to write.
        :returns: the uuids of those that were free and its own.
        :raises FencedError: if the epoch is no longer the current one.
        """
