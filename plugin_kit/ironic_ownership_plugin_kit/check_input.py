"""Input of ``plugin check``: options, nodes and snapshots of sources.

Nodes in a file are as OpenStackClient or as the API of Ironic lists them.
"""

from __future__ import annotations

import argparse
import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ironic_ownership import plugins
from ironic_ownership.api import policy_options
from ironic_ownership.api.policy_options import Given
from ironic_ownership.cli import errors, input_file
from ironic_ownership.clients.ironic import nodes as ironic_nodes
from ironic_ownership.contracts import (
    exceptions,
    model,
    options,
    texts,
)
from ironic_ownership.contracts.calls import (
    KeyedCalls,
    UnfinishedError,
    is_interrupt,
)
from ironic_ownership.engine.host import source_reader


def option(words: str) -> Given:
    """Read ``[PLUGIN.]NAME=VALUE``.

    :raises ArgumentTypeError: if it is something else.
    """
    plugin, name, text = policy_options.split(words)
    if not name:
        raise argparse.ArgumentTypeError(
            f'{words!r} is not [PLUGIN.]NAME=VALUE'
        )
    return Given('', plugin, name, text)


def check(
    given: Sequence[Given],
    chosen: Sequence[plugins.Plugin],
    *,
    per_member: bool = False,
) -> None:
    """Refuse options that no plugin has.

    :param per_member: whether they have to be advertised by each service for
        itself.
    :raises UsageError: naming what is near.
    """
    for one in given:
        names = {
            name
            for plugin in chosen
            if plugin.target is not None and one.policy in ('', plugin.name)
            for declared in plugin.target.options
            if declared.per_member or not per_member
            for name in policy_options.names(declared)
        }
        loaded = all(plugin.target is not None for plugin in chosen)
        if loaded and one.name not in names:
            kind = 'option of a member' if per_member else 'option'
            raise errors.UsageError(
                f'no plugin that is checked has the {kind} {one.name!r}',
                hint=errors.nearest(one.name, names),
            )


def settings(
    plugin: plugins.Plugin, given: Sequence[Given]
) -> dict[str, model.Value]:
    """Read the options of one plugin.

    :raises OwnershipError: if one is missing, or cannot be read.
    """
    assert plugin.target is not None
    found: dict[str, model.Value] = {}
    missing = []
    for declared in plugin.target.options:
        for value in _values(plugin, declared, given):
            found[declared.name] = value
        if declared.name not in found and _has_to_be_given(declared):
            missing.append(declared)
    if missing:
        raise exceptions.OwnershipError(
            f'{plugin.name} needs '
            + ', '.join(f'{o.name} ({o.type.value})' for o in missing),
            hint='Give '
            + ' '.join(
                f'--option {plugin.name}.{o.name}=VALUE' for o in missing
            ),
        )
    return found


def peer_values(
    plugin: plugins.Plugin, given: Sequence[Given]
) -> dict[str, list[model.Value]]:
    """Read values that members advertise for themselves, by option.

    :raises OwnershipError: if one cannot be read.
    """
    assert plugin.target is not None
    found = {
        declared.name: [*_values(plugin, declared, given)]
        for declared in plugin.target.options
    }
    return {name: values for name, values in found.items() if values}


def _values(
    plugin: plugins.Plugin, declared: options.Option, given: Sequence[Given]
) -> Iterator[model.Value]:
    """Yield the values that were given for one option, in order."""
    for one in given:
        if one.is_of(plugin.name, declared):
            yield policy_options.value_of(declared, one.name, one.text)


def _has_to_be_given(declared: options.Option) -> bool:
    # A default that stands for another option leads to a deployment.
    refers = isinstance(declared.default, str) and '$' in declared.default
    return refers or (declared.required and declared.default is None)


_HEADINGS = {'provisioning_state': 'provision_state'}
"""Column headings of OpenStackClient that are no names of fields."""

_MAPPINGS = ('properties', 'extra')
_PAIR = re.compile(r"""([^\s=,]+)=(?:'([^']*)'|"([^"]*)")(?:, |$)""")
_EXAMPLE = 'openstack baremetal node list --long -f json'


def nodes_of(path: str) -> Sequence[model.Node]:
    """Read nodes from a file of JSON or YAML.

    :param path: of the file; ``-`` is standard input.
    :raises UsageError: if it holds no list of nodes, or one without a uuid.
    """
    data = input_file.read(path)
    if isinstance(data, dict):
        data = data.get('nodes')
    if not isinstance(data, list):
        raise errors.UsageError(
            f'{path} holds no list of nodes', hint=f'Write it with {_EXAMPLE}'
        )
    reader = ironic_nodes.NodeReader()
    found: dict[str, model.Node] = {}
    for number, item in enumerate(data, start=1):
        fields = _fields(item) if isinstance(item, dict) else {}
        node = (
            reader.read(fields)
            if ironic_nodes.is_uuid(fields.get('uuid'))
            else None
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


def snapshot_of(
    source: options.Source, settings: Mapping[str, model.Value]
) -> tuple[model.Value, str]:
    """Read a source as a service does, and again.

    :returns: the snapshot and an empty text, or ``None`` and the error.
    """
    found, error = _read(source, settings)
    if not error and _read(source, settings) != (found, ''):
        error = (
            'two reads in a row differ, and each change is advertised: sort '
            'it, and leave out what is new each time'
        )
    return (None, error) if error else (found, '')


def _read(
    source: options.Source, settings: Mapping[str, model.Value]
) -> tuple[model.Value, str]:
    calls: KeyedCalls[model.Value] = KeyedCalls()
    try:
        found = calls.result(
            source.name,
            functools.partial(source.read, dict(settings)),
            source.timeout,
        )
        source_reader.check_snapshot(found)
    except UnfinishedError:
        return None, f'it has not been read after {source.timeout:g} s'
    except BaseException as exc:
        if is_interrupt(exc):
            raise
        return None, texts.described(exc)
    return found, ''
