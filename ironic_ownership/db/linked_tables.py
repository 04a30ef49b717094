"""Seam for tables of another program that change together with the records.

They take part in the transactions of owners: claims, moves, deletions
and settings of services. These base classes are those of a deployment without
any: they run no statement, and nothing stands in the way.

Locks: after the services and the compute nodes of the records, the nodes of
the linked tables by uuid, then their instances.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping, Sequence

import sqlalchemy as sa

from ironic_ownership.db import rows


@dataclasses.dataclass(frozen=True, slots=True)
class Flags:
    """Settings of a service by operators, in the other tables."""

    disabled: bool
    disabled_reason: str | None
    forced_down: bool


class LockedNodes:
    """Nodes of linked tables that a transaction holds locked. None here.

    Objections are one line each, that begins with a code; ``None`` means that
    the change is possible.
    """

    def running(self, uuid: str) -> Sequence[str]:
        """Return the uuids of the instances that run on a node."""
        return ()

    def against_claim(self, uuid: str, host: str) -> str | None:
        """Return why a service cannot become the owner without an operator."""
        return None

    def against_release(self, uuid: str) -> str | None:
        """Return why a node cannot become unowned."""
        return None

    def against_deletion(self, uuid: str, host: str | None) -> str | None:
        """Return why the record of a node cannot be deleted."""
        return None

    def against_move(
        self,
        uuid: str,
        source: str | None,
        destination: str,
        instance: str | None,
    ) -> str | None:
        """Return why an operator cannot move a node with its instance."""
        return None

    def assign(self, uuids: Collection[str], host: str) -> None:
        """Write the new owner of nodes and of their instances."""

    def delete(self, uuids: Collection[str]) -> None:
        """Mark nodes as deleted."""


NOTHING = LockedNodes()


class LinkedTables:
    """A deployment without other tables.

    :cvar services: where services are read, with the settings that count.
    """

    services: rows.ServiceSource = rows.SERVICES

    def lock(self, conn: sa.Connection, uuids: Collection[str]) -> LockedNodes:
        """Lock nodes and their instances until the transaction ends."""
        return NOTHING

    def flags(
        self, conn: sa.Connection, hosts: Collection[str]
    ) -> Mapping[str, Flags]:
        """Return the settings of those services that these tables know."""
        return {}

    def set_flags(self, conn: sa.Connection, host: str, flags: Flags) -> None:
        """Write the settings of a service, whose row is locked."""

    def usage(self, conn: sa.Connection, host: str) -> tuple[int, int]:
        """Count the nodes and the instances that name a service."""
        return 0, 0

    def instances(
        self, conn: sa.Connection, uuids: Collection[str]
    ) -> Mapping[str, Sequence[str]]:
        """Return the uuids of running instances, by their node's uuid."""
        return {}

    def against_moves(
        self, conn: sa.Connection, destinations: Mapping[str, str]
    ) -> Mapping[str, str]:
        """Return objections that an operator can see before a move, by uuid.

        :param destinations: hosts by the uuid of a node.
        """
        return {}
