"""Laws of the records, evaluated on the order in which rows were committed.

An independent reading: it replays rows of a binary log, and shares no code
with the package. Clients that want their epoch evaluated as well write
``HOST@EPOCH`` as the name of the nodes that they claim.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from lab import binary_log, galera

Row = dict[str, Any]

OPERATOR = 'operator'
"""Actor who is no service, and so has no fence."""

_KEYS = {'services': 'host', 'compute_nodes': 'uuid', 'instances': 'id'}
_FROM_OWNER = {
    'owner_changed',
    'node_moved',
    'node_handed_over',
    'node_released',
    'node_forgotten',
    'instance_forgotten',
}
_BY_OWNER = {
    'owner_changed',
    'node_forgotten',
    'instance_opened',
    'instance_closed',
    'availability_changed',
    'service_died',
}


@dataclasses.dataclass
class Report:
    """Result of a replay: transactions in all, and violations as text."""

    transactions: int = 0
    violations: list[str] = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class _Change:
    table: str
    before: Row
    after: Row


class Replay:
    """State of the records after each committed transaction.

    :param columns: names of the columns of each table, in their order.
    """

    def __init__(self, columns: Mapping[str, Sequence[str]]) -> None:
        self._columns = columns
        self._services: dict[str, Row] = {}
        self._nodes: dict[str, Row] = {}
        self._tables: dict[str, dict[Any, Row]] = {
            'services': self._services,
            'compute_nodes': self._nodes,
            'instances': {},
        }
        self._open_instances: dict[str, Row] = {}
        self.report = Report()

    def feed(self, found: binary_log.Transaction) -> None:
        """Apply one transaction, and evaluate the laws."""
        self.report.transactions += 1
        changes = [
            _Change(
                change.table,
                self._row(change.table, change.before),
                self._row(change.table, change.after),
            )
            for change in found.changes
            if change.table in self._columns
        ]
        faults = [
            *self._writers(changes),
            *self._claims(changes),
            *self._hand_overs(changes),
            *self._seen_owners(changes),
            *self._apply(changes),
            *self._instances(changes),
            *self._deletions(changes),
        ]
        where = f'{found.gtid} from server {found.server}'
        self.report.violations += [f'{where}: {fault}' for fault in faults]

    def _row(self, table: str, values: binary_log.Columns | None) -> Row:
        names = self._columns[table]
        return {names[at - 1]: v for at, v in (values or {}).items()}

    def _writers(self, changes: Sequence[_Change]) -> Iterator[str]:
        """Find writers that are not registered, or fenced."""
        for event in _events(changes, _BY_OWNER):
            actor = event['actor']
            service = self._services.get(actor)
            if actor == OPERATOR:
                continue
            if service is None:
                yield f'{actor} writes {event["kind"]}, and is deleted'
            elif service['fenced']:
                yield f'{actor} writes {event["kind"]} after its fence'

    def _claims(self, changes: Sequence[_Change]) -> Iterator[str]:
        """Find owners that do not exist, or claim under an old epoch."""
        moved = {e['node_uuid'] for e in _events(changes, {'node_moved'})}
        for change in _of(changes, 'compute_nodes'):
            node, owner = change.after, change.after.get('host')
            if owner is None or change.before.get('host') == owner:
                continue
            service = self._services.get(owner)
            host, _, epoch = str(node['name']).partition('@')
            if service is None:
                yield f'{owner} gets {node["uuid"]}, and is deleted'
            elif node['uuid'] in moved or host != owner:
                # A move does not describe the node again.
                continue
            elif int(epoch) != service['epoch']:
                yield (
                    f'{owner} claims {node["uuid"]} under epoch {epoch}, '
                    f'the current one is {service["epoch"]}'
                )

    def _hand_overs(self, changes: Sequence[_Change]) -> Iterator[str]:
        """Find nodes that get an owner while a request hands them over.

        Without the end of its time: the log shows no time exactly. Clients
        let no hand-over expire.
        """
        moved = {
            e['node_uuid']: e['request_id']
            for e in _events(changes, {'node_moved'})
        }
        for change in _of(changes, 'compute_nodes'):
            before, after = change.before, change.after
            request = before.get('held_by')
            if (
                request is not None
                and before['host'] is None
                and after.get('host') is not None
                and moved.get(before['uuid']) != request
            ):
                yield (
                    f'{after["host"]} gets {after["uuid"]}, which {request} '
                    'hands over'
                )

    def _seen_owners(self, changes: Sequence[_Change]) -> Iterator[str]:
        """Compare the owner that a change names with the one on record."""
        for event in _events(changes, _FROM_OWNER):
            node = self._nodes.get(event['node_uuid'])
            owner = node['host'] if node else None
            if owner != event['from_host']:
                yield (
                    f'{event["node_uuid"]} is taken from '
                    f'{event["from_host"]}, its owner is {owner}'
                )

    def _apply(self, changes: Sequence[_Change]) -> Iterator[str]:
        for change in changes:
            rows = self._tables.get(change.table)
            if rows is None:
                continue
            key = _KEYS[change.table]
            if change.before:
                if rows.pop(change.before[key], None) != change.before:
                    yield f'{change.table} {change.before[key]} is not as seen'
                self._open_instances.pop(
                    change.before.get('open_node_uuid') or '', None
                )
            if change.after:
                rows[change.after[key]] = change.after
                if uuid := change.after.get('open_node_uuid'):
                    self._open_instances[uuid] = change.after

    def _instances(self, changes: Sequence[_Change]) -> Iterator[str]:
        """Compare the owners of nodes and of their instances."""
        touched = {
            row.get('node_uuid') or row['uuid']
            for table in ('compute_nodes', 'instances')
            for change in _of(changes, table)
            for row in [change.after or change.before]
        }
        for uuid in sorted(touched):
            node = self._nodes.get(uuid)
            instance = self._open_instances.get(uuid)
            if instance is None:
                continue
            if node is None or node['deleted_at'] is not None:
                yield f'{uuid} is deleted and has an instance'
            elif node['host'] != instance['host']:
                yield (
                    f'{uuid} is of {node["host"]}, its instance of '
                    f'{instance["host"]}'
                )

    def _deletions(self, changes: Sequence[_Change]) -> Iterator[str]:
        """Find nodes of services that are deleted."""
        for change in _of(changes, 'services'):
            if change.after:
                continue
            host = change.before['host']
            for node in self._nodes.values():
                if node['host'] == host and node['deleted_at'] is None:
                    yield f'{host} is deleted and owns {node["uuid"]}'


def _of(changes: Sequence[_Change], table: str) -> Iterator[_Change]:
    return (change for change in changes if change.table == table)


def _events(changes: Sequence[_Change], kinds: set[str]) -> Iterator[Row]:
    for change in _of(changes, 'events'):
        if change.after and change.after['kind'] in kinds:
            yield change.after


def evaluate(node: galera.Node, database: str) -> Report:
    """Replay the binary log of a node, for one database."""
    replay = Replay(_columns(node, database))
    for found in _transactions(node, database):
        replay.feed(found)
    return replay.report


def event_ids(node: galera.Node, database: str) -> list[int]:
    """Return the ids of the events, in the order of their commits."""
    return [int(row['id']) for row in events(node, database)]


def events(node: galera.Node, database: str) -> list[Row]:
    """Return the rows of the events, in the order of their commits."""
    names = _columns(node, database)['events']
    return [
        {names[at - 1]: value for at, value in change.after.items()}
        for found in _transactions(node, database)
        for change in found.changes
        if change.table == 'events' and change.after and not change.before
    ]


def _columns(node: galera.Node, database: str) -> dict[str, list[str]]:
    columns: dict[str, list[str]] = {}
    for table, name in node.query(
        'SELECT table_name, column_name FROM information_schema.columns '
        f"WHERE table_schema = '{database}' "
        'ORDER BY table_name, ordinal_position'
    ):
        columns.setdefault(table, []).append(name)
    return columns


def _transactions(
    node: galera.Node, database: str
) -> Iterator[binary_log.Transaction]:
    for found in binary_log.transactions(node.binary_log().splitlines()):
        found.changes = [c for c in found.changes if c.database == database]
        if found.changes:
            yield found
