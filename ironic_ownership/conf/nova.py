"""Options for records that live next to a cell of Nova."""

from __future__ import annotations

from oslo_config import cfg

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
