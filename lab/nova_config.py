"""The configuration files of Nova's processes."""

from __future__ import annotations

import pathlib
from collections.abc import Mapping

from lab import ironic_api, nova_schema
from lab.mariadb import MariaDB
from lab.nova_neighbours import Neighbours
from lab.placement import Placement
from lab.rabbitmq import RabbitMQ

Sections = Mapping[str, Mapping[str, object]]

FAST: Sections = {
    'DEFAULT': {
        'update_resources_interval': 4,
        'report_interval': 2,
        'service_down_time': 10,
        'periodic_fuzzy_delay': 0,
    },
}
"""Shorter intervals, for tests that do not measure."""


def common(
    directory: pathlib.Path,
    database: MariaDB,
    bus: RabbitMQ,
    ironic: ironic_api.IronicAPI,
    placement: Placement,
    neighbours: Neighbours,
) -> Sections:
    """Return what all processes of one Nova have."""
    return {
        'DEFAULT': {
            'state_path': directory,
            'my_ip': '127.0.0.1',
            'host': 'controller',
            'transport_url': bus.url,
            'compute_driver': 'ironic.IronicDriver',
            # The lab waits for a line that only this module logs.
            'default_log_levels': 'nova.service=DEBUG,'
            'oslo_service=INFO,keystoneauth=WARN,urllib3=WARN',
            # Neither is there a network, nor does the power state change.
            'heal_instance_info_cache_interval': -1,
            'sync_power_state_interval': -1,
        },
        'api': {'auth_strategy': 'keystone'},
        'database': {
            'connection': f'{database.url(nova_schema.CELL1)}?charset=utf8mb4'
        },
        'api_database': {
            'connection': f'{database.url(nova_schema.API)}?charset=utf8mb4'
        },
        'oslo_concurrency': {'lock_path': directory / 'lock'},
        'oslo_messaging_notifications': {'driver': 'noop'},
        'ironic': {
            'auth_type': 'none',
            'endpoint_override': ironic.endpoint,
            'api_retry_interval': 1,
        },
        'placement': placement.options(),
        'neutron': {
            'auth_type': 'none',
            'endpoint_override': neighbours.url,
        },
        'glance': {'api_servers': neighbours.url},
        'conductor': {'workers': 1},
        'scheduler': {'workers': 1},
    }


def write(path: pathlib.Path, *layers: Sections) -> None:
    """Write a file; options of later layers replace those of earlier ones."""
    merged: dict[str, dict[str, object]] = {}
    for layer in layers:
        for section, options in layer.items():
            merged.setdefault(section, {}).update(options)
    lines = []
    for section, options in merged.items():
        lines.append(f'[{section}]')
        lines.extend(f'{name} = {value}' for name, value in options.items())
    path.write_text('\n'.join([*lines, '']))
