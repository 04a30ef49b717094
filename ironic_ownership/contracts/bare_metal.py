"""Answers of Ironic about nodes, and the fields that a policy can request."""

from __future__ import annotations

import dataclasses
import enum
import re
import types
from collections.abc import Mapping, Sequence

from ironic_ownership.contracts import model

NO_NODES: Mapping[str, model.Node] = types.MappingProxyType({})

SUMMARY = (
    'uuid',
    'shard',
    'conductor_group',
    'instance_uuid',
    'provision_state',
    'target_provision_state',
    'target_power_state',
    'reservation',
)
"""The fields of a node in a summary: where it belongs, and whether it is in
use."""


@dataclasses.dataclass(frozen=True, slots=True)
class ChangedNode:
    """A node with the time at which Ironic last changed it.

    :param updated_at: seconds since the epoch, by the clock of the process
        of Ironic that wrote it; ``None`` for a node that was created and
        never changed.
    """

    node: model.Node
    updated_at: float | None


@dataclasses.dataclass(frozen=True)
class LatestChanges:
    """The nodes that changed last, the latest first.

    Nodes without a time come first or last: databases differ.

    :param read_at: time before which they were read, in seconds since the
        epoch, by the clock of the server that answered.
    :param complete: whether these are all nodes of the scope.
    """

    nodes: Sequence[ChangedNode]
    read_at: float
    complete: bool


class Enforcement(enum.Enum):
    """State of the middleware in Ironic, as a request shows it."""

    ENFORCED = 'enforced'
    ABSENT = 'absent'
    OTHER_KEY = 'other_key'
    NO_RECORDS = 'no_records'


def same(node: model.Node, known: Mapping[str, model.Node]) -> model.Node:
    """Return the equal node among those that are known; itself if none is."""
    before = known.get(node.uuid, node)
    return before if before == node else node


_ALWAYS = 1
DETAIL = frozenset(
    {
        'allocation_uuid',
        'chassis_uuid',
        'conductor',
        'created_at',
        'updated_at',
    }
)
"""Fields that Ironic gives with all the others only, which costs it two to
five times the time of a list."""

# All fields of the API but those that every node value has anyway, links and
# secrets. The number is the minor version of the API that has the field.
NODE_FIELDS: Mapping[str, int] = {
    'allocation_uuid': 52,
    'automated_clean': 47,
    'bios_interface': 40,
    'boot_interface': 31,
    'boot_mode': 75,
    'chassis_uuid': _ALWAYS,
    'clean_step': 7,
    'conductor': 49,
    'console_enabled': _ALWAYS,
    'console_interface': 31,
    'created_at': _ALWAYS,
    'deploy_interface': 31,
    'deploy_step': 44,
    'description': 51,
    'disable_power_off': 95,
    'driver_info': _ALWAYS,
    'driver_internal_info': 3,
    'fault': 42,
    'firmware_interface': 86,
    'inspect_interface': 31,
    'inspection_finished_at': 6,
    'inspection_started_at': 6,
    'instance_info': _ALWAYS,
    'instance_name': 104,
    'last_error': _ALWAYS,
    'lessee': 65,
    'maintenance_reason': _ALWAYS,
    'management_interface': 31,
    'network_data': 66,
    'network_interface': 20,
    'owner': 50,
    'parent_node': 83,
    'power_interface': 31,
    'protected': 48,
    'protected_reason': 48,
    'provision_updated_at': _ALWAYS,
    'raid_config': 12,
    'raid_interface': 31,
    'rescue_interface': 38,
    'retired_reason': 61,
    'secure_boot': 75,
    'service_step': 87,
    'storage_interface': 33,
    'target_raid_config': 12,
    'updated_at': _ALWAYS,
    'vendor_interface': 31,
}

KEYED = frozenset({'driver_info', 'driver_internal_info', 'instance_info'})
"""Mappings that may hold secrets: requested by key, never as a whole."""

_SECRET = re.compile(
    'password|passphrase|secret|token|credential|private|configdrive|'
    '(^|_)(key|pass|priv|auth)(_|$)',
    re.IGNORECASE,
)


def field_fault(name: object) -> str | None:
    """Return why a field cannot be requested; ``None`` if it can."""
    if not isinstance(name, str):
        return f'{name!r} is not the name of a field'
    field, _, key = name.partition('.')
    if name == 'extra':
        return None
    if field not in NODE_FIELDS:
        return f'{field!r} is not a field that can be requested'
    if field in KEYED and not key:
        return f'{field!r} may hold secrets: request {field}.KEY'
    if key and field not in KEYED:
        return f'{name!r}: request {field!r}'
    if key and _SECRET.search(key):
        return f'{name!r} looks like a secret'
    return None


def field_since(name: str) -> int:
    """Return the minor version of the API that has a field."""
    return NODE_FIELDS.get(name.partition('.')[0], _ALWAYS)
