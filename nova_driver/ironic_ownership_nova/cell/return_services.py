"""Return services to stock Nova: nothing is taken from them any more."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Sequence

from ironic_ownership.contracts import model
from ironic_ownership.contracts.backend import MembershipBackend
from ironic_ownership.engine import suggestions
from ironic_ownership.engine.ports import Records
from ironic_ownership_nova.cell.port import SqlCell


class ReturnState(enum.StrEnum):
    """The result of one service."""

    RETURNED = 'returned'
    """It counts as one that has never registered."""

    UNCHANGED = 'unchanged'
    """It did so already."""

    REFUSED = 'refused'
    """A process of it is alive, and would register again."""


@dataclasses.dataclass(frozen=True, slots=True)
class ReturnedService:
    """One service of a return.

    :param detail: the reason of a refusal, which begins with a code.
    """

    host: str
    state: ReturnState
    detail: str | None = None


@dataclasses.dataclass(frozen=True)
class ReturnServices:
    """Return services whose nova-compute has Nova's own driver again.

    Their records stay as they are: no peer takes a node of them, and another
    adoption follows what stock Nova does.
    """

    cell: SqlCell
    records: Records
    backend: MembershipBackend

    def propose(self, hosts: Sequence[str]) -> list[ReturnedService]:
        """Return what would become of these services. Writes nothing.

        :param hosts: names of services; case does not count.
        :raises NotFoundError: with the nearest names.
        :raises OwnershipError: if records or members can't be read.
        """
        rows = {row.host: row for row in self.records.services()}
        names = {suggestions.known_service(host, rows) for host in hosts}
        alive = self.backend.view().hosts
        return [_proposed(rows[name], alive) for name in sorted(names)]

    def execute(
        self,
        proposed: Sequence[ReturnedService],
        actor: str,
        request_id: str | None = None,
    ) -> list[ReturnedService]:
        """Return the proposed services, each in one transaction.

        :raises OwnershipError: if the database fails; the services before
            stay returned.
        """
        for one in proposed:
            if one.state is ReturnState.RETURNED:
                self.cell.return_service(one.host, actor, request_id)
        return list(proposed)


def _proposed(row: model.Service, alive: frozenset[str]) -> ReturnedService:
    if row.host in alive:
        return ReturnedService(
            row.host,
            ReturnState.REFUSED,
            'alive: a process of it is a member; stop its nova-compute first',
        )
    if row.never_registered:
        return ReturnedService(row.host, ReturnState.UNCHANGED)
    return ReturnedService(row.host, ReturnState.RETURNED)
