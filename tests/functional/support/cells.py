"""A Nova cell without Nova: its tables, and rows like its own."""

from __future__ import annotations

import itertools
import pathlib
from collections.abc import Collection, Mapping
from typing import Any

import sqlalchemy as sa

from lab import mariadb

_DEFINITIONS = pathlib.Path(mariadb.__file__).parent
_numbers = itertools.count(1)

SIZES = (
    'vcpus, memory_mb, local_gb, vcpus_used, memory_mb_used, local_gb_used, '
    'hypervisor_version, cpu_info'
)


TABLES = ('instances', 'compute_nodes', 'services')


class NovaCell:
    """The tables of one cell in a schema of their own, on MariaDB."""

    def __init__(self, server: mariadb.MariaDB) -> None:
        self.server = server
        self.schema = f'nova_cell_{next(_numbers)}'
        server.query(f'CREATE DATABASE {self.schema} CHARACTER SET utf8mb3')
        text = (_DEFINITIONS / 'nova_cell.sql').read_text()
        for statement in text[text.index('CREATE') :].split(';\n'):
            if statement.strip():
                self.query(
                    statement.strip().replace(
                        'CREATE TABLE `', f'CREATE TABLE `{self.schema}`.`', 1
                    )
                )

    def query(self, statement: str) -> list[tuple[Any, ...]]:
        return self.server.query(statement)

    def clear(self) -> None:
        for table in TABLES:
            self.query(f'DELETE FROM {self.schema}.{table}')

    def add_services(self, *hosts: str) -> None:
        values = ', '.join(
            f"('{host}', 'nova-compute', 'compute', 1, FALSE, 0, FALSE, 70, "
            'UTC_TIMESTAMP(), UUID())'
            for host in hosts
        )
        self.query(
            f'INSERT INTO {self.schema}.services (host, `binary`, topic, '
            'report_count, disabled, deleted, forced_down, version, '
            f'last_seen_up, uuid) VALUES {values}'
        )

    def add_nodes(self, host: str, uuids: Collection[str]) -> None:
        values = ', '.join(
            f"('{u}', '{u}', '{host}', (SELECT id FROM {self.schema}.services "
            f"s WHERE s.host = '{host}' AND s.deleted = 0), 'ironic', 0, 1, "
            "1, 1, 1, 0, 0, 0, 1, '')"
            for u in uuids
        )
        self.query(
            f'INSERT INTO {self.schema}.compute_nodes (uuid, '
            'hypervisor_hostname, host, service_id, hypervisor_type, deleted, '
            f'mapped, {SIZES}) VALUES {values}'
        )

    def add_instances(self, host: str, on: Mapping[str, str]) -> None:
        """Add instances; ``on`` has the instance's uuid by the node's."""
        values = ', '.join(
            f"('{uuid}', '{node}', '{host}', 'active', 0)"
            for node, uuid in on.items()
        )
        self.query(
            f'INSERT INTO {self.schema}.instances (uuid, node, host, vm_state,'
            f' deleted) VALUES {values}'
        )

    def owners(self) -> dict[str, str]:
        return dict(
            self.query(
                f'SELECT c.uuid, c.host FROM {self.schema}.compute_nodes c '
                f'JOIN {self.schema}.services s ON s.id = c.service_id AND '
                's.host = c.host WHERE c.deleted = 0'
            )
        )

    def hosts_of_instances(self) -> dict[str, str]:
        """Return the host of each running instance, by its node."""
        return dict(
            self.query(
                f'SELECT node, host FROM {self.schema}.instances '
                'WHERE deleted = 0'
            )
        )

    def separated(self) -> list[tuple[Any, ...]]:
        """Return the instances whose node names another host."""
        return self.query(
            f'SELECT i.uuid, i.host, c.host FROM {self.schema}.instances i '
            f'JOIN {self.schema}.compute_nodes c ON '
            'c.hypervisor_hostname = i.node WHERE i.deleted = 0 AND '
            'c.deleted = 0 AND i.host <> c.host'
        )

    def set_service(self, host: str, **values: object) -> None:
        """Write the row of a service, as Nova's API does."""
        columns = ', '.join(f'{name} = {v!r}' for name, v in values.items())
        self.query(
            f'UPDATE {self.schema}.services SET {columns} '
            f"WHERE LOWER(host) = '{host.lower()}' AND deleted = 0"
        )


class PostgreSQLCell(NovaCell):
    """The same in a schema of the database of the records.

    PostgreSQL has no statement over several databases.

    :param url: of that database.
    """

    def __init__(self, url: str) -> None:
        self.schema = 'nova'
        # Each statement is a transaction, without a connection that stays.
        self._engine = sa.create_engine(
            url, isolation_level='AUTOCOMMIT', poolclass=sa.NullPool
        )
        text = (_DEFINITIONS / 'nova_cell_postgresql.sql').read_text()
        with self._engine.connect() as opened:
            opened.exec_driver_sql(f'CREATE SCHEMA {self.schema}')
            opened.exec_driver_sql(f'SET search_path TO {self.schema}')
            opened.exec_driver_sql(text)

    def query(self, statement: str) -> list[tuple[Any, ...]]:
        for theirs, ours in (
            ('`', '"'),
            ('UTC_TIMESTAMP()', 'NOW()'),
            ('UUID()', 'gen_random_uuid()'),
        ):
            statement = statement.replace(theirs, ours)
        with self._engine.connect() as opened:
            result = opened.exec_driver_sql(statement)
            if not result.returns_rows:
                return []
            return [tuple(row) for row in result]
