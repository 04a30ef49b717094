"""Problems of a Nova cell: rows that do not agree with the records.

Pure.
"""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Iterator, Sequence

from ironic_ownership.contracts.model import canonical_host
from ironic_ownership.engine import suggestions
from ironic_ownership.engine.checks.problem import (
    Check,
    Facts,
    Kind,
    Problem,
    Severity,
)
from ironic_ownership.engine.queries.deployment_snapshot import Part
from ironic_ownership_nova.cell.model import CellNode, Drift

CODES = frozenset(
    ('row_drifted', 'row_drifted_deployed', 'uuid_differs', 'hidden_from_nova')
)
"""The codes of this module."""

_DELETED = (
    'Another row has the uuid of the node. While no instance of {row.host} is '
    'on the node: UPDATE compute_nodes SET deleted = id WHERE id = {row.id}, '
    "in the cell's database; and openstack resource provider delete {row.uuid}"
)
_RENAMED = (
    'Stop the nova-compute of {row.host}, then: UPDATE compute_nodes SET uuid '
    "= '{row.name}' WHERE id = {row.id}, in the cell's database; and UPDATE "
    "resource_providers SET uuid = '{row.name}' WHERE uuid = '{row.uuid}', in "
    'that of Placement. Allocations stay'
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
    def checks(self) -> Sequence[Check]:
        """The checks of a cell."""
        return (
            Check(
                'rows of the Nova cell',
                frozenset((Part.RECORDS, Part.MEMBERSHIP, Part.CELL)),
                self._rows,
                CODES,
            ),
            Check(
                'nodes that Nova does not choose',
                frozenset((Part.RECORDS, Part.CELL, Part.PLACEMENT)),
                lambda facts: hidden_from_nova(facts, self.hidden),
                ('hidden_from_nova',),
            ),
        )

    def _rows(self, facts: Facts) -> Iterator[Problem]:
        yield from row_drifted(facts, self.drift)
        yield from uuid_differs(self.strays)


def row_drifted(facts: Facts, drift: Sequence[Drift]) -> Iterator[Problem]:
    """Find nodes whose row names another host than the record."""
    groups: dict[tuple[str, str, bool], list[Drift]] = collections.defaultdict(
        list
    )
    for one in drift:
        groups[
            one.owner, one.host or 'no host', one.instance_uuid is not None
        ].append(one)
    for (owner, host, deployed), found in sorted(groups.items()):
        nodes = suggestions.counted(len(found), 'node')
        kind = 'with' if deployed else 'without'
        yield Problem(
            'row_drifted_deployed' if deployed else 'row_drifted',
            Severity.ERROR if deployed else Severity.WARNING,
            f'{nodes} {kind} an instance owned by {owner} on record; the rows '
            f'in the cell name {host}',
            Kind.NODE,
            tuple(one.uuid for one in found),
            (owner,),
            hint(facts, found[0]),
        )


def uuid_differs(strays: Sequence[CellNode]) -> Iterator[Problem]:
    """Find rows whose uuid is not that of their node."""
    for row in strays:
        yield Problem(
            'uuid_differs',
            Severity.ERROR,
            f'{row.host} cannot serve the node: its row in the cell has the '
            f'uuid {row.uuid}',
            Kind.NODE,
            (row.name,),
            (canonical_host(row.host),) if row.host else (),
            rename(row),
        )


def rename(row: CellNode) -> str:
    """Return the action for a row whose uuid is not that of its node.

    A resource provider of Placement has the uuid of the row. No command of
    OpenStack changes either.
    """
    text = _DELETED if row.replaced else _RENAMED
    return text.format(row=row)


def hint(facts: Facts, one: Drift) -> str:
    """Return the action that makes row and record agree again."""
    service = facts.services.get(one.owner)
    if service is not None and service.never_registered:
        return adopt_again(one)
    if one.instance_uuid is not None:
        return move_to_instance(one, 'UUID')
    if service is not None and service.host in facts.view.hosts:
        return repaired(one)
    return (
        f'Start {one.owner}: its first refresh corrects the rows. Or, if it '
        f'stays away, disable it and move the nodes: ironic-ownership compute '
        'node move UUID --service HOST'
    )


def repaired(one: Drift) -> str:
    """Return what happens by itself to the row of a free node."""
    return f'The next refresh of {one.owner} corrects the row'


def adopt_again(one: Drift) -> str:
    """Return the action for a node that stock Nova has moved."""
    return (
        f'{one.owner} is served by stock Nova, which moved it: ironic-'
        'ownership nova adopt'
    )


def move_to_instance(one: Drift, node: str) -> str:
    """Return the action for a node whose instance is on another host.

    :param node: its uuid, or a word that stands for several.
    """
    owner = one.owner
    return (
        f'Stop {owner} (ironic-ownership service set {owner} --down), then: '
        f'ironic-ownership compute node move {node} --service '
        f'{canonical_host(one.host or "")}; then bring it back: '
        f'ironic-ownership service set {owner} --up'
    )


def hidden_from_nova(
    facts: Facts, hidden: frozenset[str]
) -> Iterator[Problem]:
    """Find nodes whose provider lacks the trait that Nova requires."""
    found = sorted(hidden & facts.records.keys())
    if not found:
        return
    owners = {facts.records[uuid].host for uuid in found} - {None}
    yield Problem(
        'hidden_from_nova',
        Severity.WARNING,
        f'{suggestions.counted(len(found), "node")} without the trait '
        'OWNER_NOVA in Placement: Nova chooses none of them, once all of its '
        'services are of release 34 or later',
        Kind.NODE,
        tuple(found),
        tuple(sorted(str(owner) for owner in owners)),
        hint='The nova-compute that serves them sets it, from release 34 on: '
        'in its next pass, or with the driver of ironic-ownership after '
        '[ironic_ownership] full_update_interval. Upgrade an older one',
    )
