"""Entry point of the core to a Nova cell next to the records.

The core loads this module where its configuration has the group ``[nova]``.
Light: everything else is imported when a cell is opened.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from oslo_config import cfg

from ironic_ownership.contracts import exceptions

if TYPE_CHECKING:
    from ironic_ownership.db.connection import Database
    from ironic_ownership_nova.cell.nova_tables import NovaTables

GROUP = 'nova'

OPTS = (
    cfg.StrOpt(
        'cell_schema',
        help='Name of the schema of the Nova cell whose nodes the services '
        'own, on the server of [database] connection: "nova" in many '
        'deployments, the name after the last slash in [database] '
        'connection of nova.conf; on PostgreSQL the schema of its tables, '
        '"public". With it, rows of the cell change in the same '
        'transactions as the records. All processes of a deployment use '
        'the same one. Unset: no cell. "ironic-ownership nova check" names '
        'missing permissions.',
    ),
    cfg.IntOpt(
        'service_down_time',
        default=60,
        min=1,
        help='Seconds after its last heartbeat in the cell in which a '
        'nova-compute without the driver counts as up: [DEFAULT] '
        'service_down_time of nova.conf.',
    ),
    cfg.StrOpt(
        'config_file',
        default='/etc/nova/nova.conf',
        help='Configuration file of nova-compute, which "ironic-ownership '
        'nova check" reads.',
    ),
)


def common_options(conf: cfg.ConfigOpts) -> list[str]:
    """Return the lines that all processes of a deployment need alike."""
    schema = conf[GROUP].cell_schema
    return [f'[{GROUP}] cell_schema = {schema}'] if schema else []


def open_companion(
    conf: cfg.ConfigOpts, database: Callable[[], Database]
) -> NovaTables | None:
    """Return the cell; ``None`` if none is configured.

    :raises ConfigurationError: if the records cannot be next to a cell.
    """
    from ironic_ownership.db import dialects
    from ironic_ownership_nova.cell import companion, nova_tables, port

    group = conf[GROUP]
    if not group.cell_schema:
        return None
    if dialects.is_file(conf.database.connection):
        raise exceptions.ConfigurationError(
            ['[nova] cell_schema is set, and the records are in SQLite'],
            hint='Set [database] connection to the server of the cell',
        )
    cell = companion.Cell(group.cell_schema, group.service_down_time)
    return nova_tables.NovaTables(port.SqlCell(database(), cell), cell)
