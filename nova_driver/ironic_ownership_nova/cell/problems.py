"""Problems of a Nova cell: rows that do not agree with the records.

Pure.
"""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Collection, Iterator, Mapping, Sequence

from ironic_ownership.contracts import texts
from ironic_ownership.contracts.model import Service, canonical_host
from ironic_ownership.engine.checks.problem import (
    Check,
    Kind,
    Problem,
    Severity,
)
from ironic_ownership.engine.queries.deployment import Deployment, Part
from ironic_ownership_nova.cell.model import CellNode, Drift

_ROWS = ('row_drifted', 'row_drifted_deployed', 'uuid_differs')
_REPLACED = 'Another row has the uuid of the node. '
_UNUSED = 'While no instance of {row.host} is on the node: '
_DELETED = (
    'UPDATE compute_nodes SET deleted = id WHERE id = {row.id}, in the '
    "cell's database"
)
_DELETED_PROVIDER = '; and openstack resource provider delete {row.uuid}'
_STOPPED = 'Stop the nova-compute of {row.host}, then: '
_RENAMED = (
    "UPDATE compute_nodes SET uuid = '{row.name}' WHERE id = {row.id}, in the "
    "cell's database"
)
_RENAMED_PROVIDER = (
    "; and UPDATE resource_providers SET uuid = '{row.name}' WHERE uuid = "
    "'{row.uuid}', in that of Placement. Allocations stay"
)


@dataclasses.dataclass(frozen=True)
class CellRows:
    """Rows of a cell that do not agree, and the checks that evaluate them.

    :param drift: rows that name another host than the record.
    :param strays: rows whose uuid is not that of their node.
    :param hidden: providers in Placement that Nova does not choose, because
        they lack its trait.
    """

    drift: Sequence[Drift] = ()
    strays: Sequence[CellNode] = ()
    hidden: frozenset[str] = frozenset()

    @property
    def drifted(self) -> frozenset[str]:
        """Nodes whose row does not name the owner on record."""
        return frozenset(one.uuid for one in self.drift)

    @property
    def twice(self) -> frozenset[str]:
        """Nodes that another service than the owner on record serves too."""
        served = {one.uuid for one in self.drift if one.host is not None}
        return frozenset(
            served | {row.name for row in self.strays if row.host}
        )

    @property
    def checks(self) -> Sequence[Check]:
        """The checks of a cell."""
        return (
            Check(
                'rows of the Nova cell',
                frozenset((Part.RECORDS, Part.MEMBERSHIP, Part.CELL)),
                Severity.WARNING,
                Kind.NODE,
                _ROWS,
                self._rows,
            ),
            Check(
                'nodes that Nova does not choose',
                frozenset((Part.RECORDS, Part.CELL, Part.PLACEMENT)),
                Severity.WARNING,
                Kind.NODE,
                ('hidden_from_nova',),
                self._hidden,
            ),
        )

    def _rows(self, seen: Deployment, problem: Check) -> Iterator[Problem]:
        """Find rows that name another host, or have another uuid."""
        groups: dict[tuple[str, str, bool], list[Drift]] = (
            collections.defaultdict(list)
        )
        for one in self.drift:
            deployed = one.instance_uuid is not None
            groups[one.owner, one.host or 'no host', deployed].append(one)
        for (owner, host, deployed), found in sorted(groups.items()):
            nodes = texts.counted(len(found), 'node')
            yield problem(
                f'{nodes} {"with" if deployed else "without"} an instance '
                f'owned by {owner} on record; the rows in the cell name '
                f'{host}',
                [one.uuid for one in found],
                hint(found[0], seen.services, seen.view.hosts),
                (owner,),
                code='row_drifted_deployed' if deployed else 'row_drifted',
                severity=Severity.ERROR if deployed else Severity.WARNING,
            )
        for row in self.strays:
            server = f'{row.host} cannot serve the node: ' if row.host else ''
            yield problem(
                f'{server}its row in the cell has {uuid_of(row)}',
                (row.name,),
                rename(row),
                (canonical_host(row.host),) if row.host else (),
                code='uuid_differs',
                severity=Severity.ERROR,
            )

    def _hidden(self, seen: Deployment, problem: Check) -> Iterator[Problem]:
        """Find nodes whose provider lacks the trait that Nova requires."""
        found = self.hidden & seen.records.keys()
        owners = {seen.records[uuid].host for uuid in found} - {None}
        if found:
            yield problem(
                f'{texts.counted(len(found), "node")} without the trait '
                'OWNER_NOVA in Placement: Nova chooses none of them, once all '
                'of its services are of release 34 or later',
                found,
                'The nova-compute that serves them sets it, from release 34 '
                'on: in its next pass, or with the driver of ironic-ownership '
                'after [ironic_ownership] full_update_interval. Upgrade an '
                'older one',
                sorted(str(owner) for owner in owners),
            )


def rename(row: CellNode) -> str:
    """Return the action for a row whose uuid is not that of its node.

    A resource provider of Placement has the uuid of the row. No command of
    OpenStack changes either.
    """
    text = _REPLACED if row.replaced else ''
    if row.host:
        text += _UNUSED if row.replaced else _STOPPED
    text += _DELETED if row.replaced else _RENAMED
    if row.uuid:
        text += _DELETED_PROVIDER if row.replaced else _RENAMED_PROVIDER
    return text.format(row=row)


def uuid_of(row: CellNode) -> str:
    """Return the uuid of a row for people."""
    return f'the uuid {row.uuid}' if row.uuid else 'no uuid'


def hint(
    one: Drift,
    services: Mapping[str, Service],
    alive: Collection[str],
    node: str = 'UUID',
) -> str:
    """Return the action that makes row and record agree again.

    :param alive: the hosts of live services.
    :param node: its uuid, or a word that stands for several.
    """
    owner = one.owner
    service = services.get(owner)
    if service is not None and service.never_registered:
        return 'Stock Nova moved it: ironic-ownership nova adopt'
    if one.instance_uuid is not None:
        return (
            f'Stop {owner} (ironic-ownership service set {owner} --down), '
            f'then: ironic-ownership compute node move {node} --to '
            f'{canonical_host(one.host or "")}; then bring it back: '
            f'ironic-ownership service set {owner} --up'
        )
    if service is not None and owner in alive:
        return f'The next refresh of {owner} corrects the row'
    return (
        f'Start {owner}: its first refresh corrects the row. Or, if it stays '
        'away, disable it and move the node: ironic-ownership compute node '
        f'move {node} --to HOST'
    )
