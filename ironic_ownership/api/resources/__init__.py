"""The operations by kind of resource, one module each."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence

from ironic_ownership.api.operation import Operation

MODULES: Mapping[str, Sequence[str]] = {
    'compute_node': (
        'compute_nodes',
        'explanation',
        'compute_node_records',
        'node_changes',
        'node_imports',
    ),
    'compute_node_record': ('compute_node_records',),
    'instance': ('node_changes',),
    'service': ('services', 'service_changes', 'drain'),
    'member': ('services',),
    'move': ('moves',),
    'shard': ('shards',),
    'event': ('events',),
    'pause': ('pauses',),
    'reservation': ('reservations',),
    'overview': ('overview',),
    'check': ('check',),
    'ring': ('rings', 'what_if'),
    'policy': ('what_if',),
    'node': ('check',),
}
"""The modules of each noun, in the order of the documentation."""


def find(name: str) -> Operation:
    """Return an operation; imports no module after the one that has it.

    :param name: ``noun:verb``.
    :raises KeyError: if there is none.
    """
    for module in MODULES[name.partition(':')[0]]:
        for one in _operations(module):
            if one.name == name:
                return one
    raise KeyError(name)


def operations() -> list[Operation]:
    """Return all of them, in the order of the documentation."""
    return [
        one
        for noun, modules in MODULES.items()
        for module in modules
        for one in _operations(module)
        if one.name.startswith(f'{noun}:')
    ]


def _operations(module: str) -> Sequence[Operation]:
    loaded = importlib.import_module(f'{__name__}.{module}')
    found: Sequence[Operation] = loaded.OPERATIONS
    return found
