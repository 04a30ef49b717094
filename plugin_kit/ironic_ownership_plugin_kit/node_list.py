"""Nodes in a file: as OpenStackClient or as the API of Ironic lists them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from ironic_ownership.cli import errors, node_file
from ironic_ownership.clients.ironic import nodes
from ironic_ownership.contracts import model

_HEADINGS = {'provisioning_state': 'provision_state'}
"""Column headings of OpenStackClient that are no names of fields."""

_MAPPINGS = ('properties', 'extra')
_PAIR = re.compile(r"""([^\s=,]+)=(?:'([^']*)'|"([^"]*)")(?:, |$)""")
_EXAMPLE = 'openstack baremetal node list --long -f json'


def read(path: str) -> Sequence[model.Node]:
    """Read nodes from a file of JSON or YAML.

    :param path: of the file; ``-`` is standard input.
    :raises UsageError: if it holds no list of nodes, or one without a uuid.
    """
    data = node_file.read(path)
    if isinstance(data, dict):
        data = data.get('nodes')
    if not isinstance(data, list):
        raise errors.UsageError(
            f'{path} holds no list of nodes', hint=f'Write it with {_EXAMPLE}'
        )
    reader = nodes.NodeReader()
    found: dict[str, model.Node] = {}
    for number, item in enumerate(data, start=1):
        fields = _fields(item) if isinstance(item, dict) else {}
        node = (
            reader.read(fields) if nodes.is_uuid(fields.get('uuid')) else None
        )
        if node is None or node.uuid in found:
            raise errors.UsageError(
                f'{path}: node {number} has '
                + ('no uuid' if node is None else 'the uuid of another one'),
                hint=f'Write it with {_EXAMPLE}',
            )
        found[node.uuid] = node
    return list(found.values())


def _fields(item: Mapping[Any, Any]) -> dict[str, Any]:
    fields = {}
    for heading, value in item.items():
        name = str(heading).strip().lower().replace(' ', '_')
        name = _HEADINGS.get(name, name)
        joined = name in _MAPPINGS and isinstance(value, str)
        fields[name] = _split(value) if joined else value
    return fields


def _split(text: str) -> dict[str, str]:
    """Return what OpenStackClient joins: key='value', other='value'."""
    return {key: one or other for key, one, other in _PAIR.findall(text)}
