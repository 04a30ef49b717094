"""The operations by kind of resource, one module each."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence

from ironic_ownership.api.operation import Operation

MODULES: Mapping[str, str] = {
    'compute_node': 'compute_nodes',
    'service': 'services',
    'member': 'members',
    'move': 'moves',
    'reservation': 'reservations',
    'check': 'check',
}
"""The module of each noun, in the order of the documentation."""


def find(name: str) -> Operation:
    """Return an operation; only the module that has it is imported.

    :param name: ``noun:verb``.
    :raises KeyError: if there is none.
    """
    noun = name.partition(':')[0]
    return {one.name: one for one in _operations(MODULES[noun])}[name]


def operations() -> list[Operation]:
    """Return all of them, in the order of the documentation."""
    return [one for name in MODULES.values() for one in _operations(name)]


def _operations(module: str) -> Sequence[Operation]:
    loaded = importlib.import_module(f'{__name__}.{module}')
    found: Sequence[Operation] = loaded.OPERATIONS
    return found
