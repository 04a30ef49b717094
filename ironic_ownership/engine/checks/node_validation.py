"""Validation of nodes in a file before they are enrolled. Pure.

Compares them with the current nodes, conductors and services. Ironic itself
refuses some of these faults, with one text for all of them; it accepts the
others, and nothing is ever scheduled to the node.
"""

from __future__ import annotations

import dataclasses
import re
import uuid as uuid_
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ironic_ownership.contracts import model, texts
from ironic_ownership.contracts.texts import DescribedEnum
from ironic_ownership.engine import availability, suggestions
from ironic_ownership.engine.queries.deployment import Deployment

_NAME = re.compile(r'[A-Za-z0-9._~-]{1,255}')
_TYPES: Mapping[str, tuple[type, str]] = {
    **dict.fromkeys(
        (
            *('name', 'driver', 'resource_class'),
            *('conductor_group', 'shard', 'owner'),
        ),
        (str, 'a text'),
    ),
    **dict.fromkeys(
        ('properties', 'extra', 'driver_info', 'instance_info'),
        (Mapping, 'a mapping'),
    ),
}
"""The types of fields in Ironic, each of which may be null."""


class FaultSeverity(DescribedEnum):
    """Consequence of a fault."""

    REFUSED = (
        'refused',
        'Ironic would refuse it, or nothing could be scheduled to it',
    )
    WARNING = 'warning', 'can be enrolled, but may not be as intended'


@dataclasses.dataclass(frozen=True)
class NodeDescription:
    """One node as a file describes it.

    :param place: where in the file, such as ``nodes[3]``.
    :param data: any JSON or YAML value.
    """

    place: str
    data: Any

    @property
    def fields(self) -> Mapping[str, Any]:
        """The fields of the node; none if it is no mapping."""
        return self.data if isinstance(self.data, Mapping) else {}

    @property
    def label(self) -> str | None:
        """Name or uuid."""
        found = self.fields.get('name') or self.fields.get('uuid')
        return None if found is None else str(found)


@dataclasses.dataclass(frozen=True)
class Fault:
    """One fault of one node, with a code that is stable, for scripts."""

    entry: NodeDescription
    code: str
    what: str
    hint: str = ''
    severity: FaultSeverity = FaultSeverity.REFUSED


def validate(
    entries: Iterable[NodeDescription], seen: Deployment
) -> list[Fault]:
    """Return all faults, in the order of the entries.

    Source: out-of-service: a driver without a live conductor is refused
    before the node exists.

    :param seen: the deployment in which they would be enrolled, with its
        conductors; its services are optional.
    """
    there = 'a node in Ironic'
    uuids = dict.fromkeys(map(str.lower, seen.nodes), there)
    named = {node.name or '': there for node in seen.nodes.values()}
    faults: list[Fault] = []
    for entry in entries:
        if not isinstance(entry.data, Mapping):
            faults.append(Fault(entry, 'not_a_node', 'not a mapping'))
            continue
        for name, (kind, what) in _TYPES.items():
            value = entry.fields.get(name)
            if value is not None and not isinstance(value, kind):
                text = f'{name} is {value!r:.60}, which is not {what}'
                faults.append(Fault(entry, 'field_invalid', text))
        faults += _identity(entry, uuids, named)
        faults += _service(entry, seen.conductors or availability.Conductors())
        faults += _scheduling(entry, seen)
    return faults


def _identity(
    entry: NodeDescription, uuids: dict[str, str], named: dict[str, str]
) -> Iterable[Fault]:
    uuid, name = entry.fields.get('uuid'), entry.fields.get('name')
    if uuid is not None:
        if not texts.is_uuid(str(uuid)):
            yield Fault(entry, 'uuid_invalid', f'{uuid!r} is not a uuid')
        else:
            yield from _unique(entry, 'uuid', str(uuid).lower(), uuids)
    if name is not None:
        if not _NAME.fullmatch(str(name)) or texts.is_uuid(str(name)):
            yield Fault(
                entry,
                'name_invalid',
                f'Ironic does not accept the name {name!r}',
                'Use only letters, digits and . _ ~ -',
            )
        else:
            yield from _unique(entry, 'name', str(name), named)


def _unique(
    entry: NodeDescription, what: str, value: str, taken: dict[str, str]
) -> Iterable[Fault]:
    if value in taken:
        text = f'the {what} {value} already belongs to {taken[value]}'
        yield Fault(entry, f'{what}_duplicate', text)
        return
    taken[value] = entry.place


def _service(
    entry: NodeDescription, conductors: availability.Conductors
) -> Iterable[Fault]:
    driver, group = str(entry.fields.get('driver') or ''), _group(entry)
    if not driver:
        yield Fault(
            entry,
            'driver_missing',
            'the node has no driver',
            suggestions.nearest('', conductors.drivers),
        )
        return
    if conductors.supports(driver, group):
        return
    where = texts.group_named(group)
    if driver not in conductors.drivers:
        code = 'driver_unknown'
        what = f'no live conductor has the driver {driver!r}'
        hint = suggestions.nearest(driver, conductors.drivers)
    elif group not in conductors.groups:
        code = 'conductor_group_unknown'
        what = f'no live conductor is in {where}'
        hint = suggestions.nearest(group, {repr(g) for g in conductors.groups})
    else:
        code = 'driver_not_in_group'
        what = f'no live conductor of {where} has the driver {driver!r}'
        groups = sorted(g for d, g in conductors.living if d == driver)
        names = texts.listed([*map(texts.group_named, groups)])
        hint = f'It is available in: {names}'
    if needed := conductors.needed(driver, group):
        hint = f'Start one of these conductors: {texts.listed(needed)}'
    yield Fault(entry, code, what, hint)


def _group(entry: NodeDescription) -> str:
    return str(entry.fields.get('conductor_group') or '').lower()


def _scheduling(entry: NodeDescription, seen: Deployment) -> Iterable[Fault]:
    if not entry.fields.get('resource_class'):
        yield Fault(
            entry,
            'resource_class_missing',
            'the node has no resource class, so nothing can be scheduled to '
            'it',
        )
    groups = seen.peer_groups
    node = _node(entry)
    place = node.shard, node.conductor_group
    if not (
        seen.unread
        or any(groups.admits(group.hosts[0], node) for group in groups.groups)
        or any(one.may_admit(*place, node) for one in seen.unreadable)
    ):
        shard = entry.fields.get('shard')
        yield Fault(
            entry,
            'not_admitted',
            'no live, enabled service admits the node: its shard is '
            f'{"none" if shard is None else repr(str(shard))}, its '
            f'conductor group {_group(entry)!r}',
            'Start a service for this place, or correct the node',
            FaultSeverity.WARNING,
        )


def _node(entry: NodeDescription) -> model.Node:
    fields = entry.fields
    properties, extra = fields.get('properties'), fields.get('extra')
    return model.Node(
        uuid=str(fields.get('uuid') or uuid_.UUID(int=0)),
        name=_text(fields.get('name')),
        driver=str(fields.get('driver') or ''),
        conductor_group=_group(entry),
        shard=_text(fields.get('shard')),
        resource_class=_text(fields.get('resource_class')),
        properties=properties if isinstance(properties, Mapping) else {},
        extra=extra if isinstance(extra, Mapping) else {},
    )


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def entries_of(document: Any) -> Sequence[NodeDescription] | None:
    """Return the nodes of a file for ``openstack baremetal create``.

    :param document: a list of nodes, or a mapping with ``nodes`` and
        ``chassis``, which have nodes as well.
    :returns: ``None`` if it is neither.
    """
    if isinstance(document, list):
        return _numbered('', document)
    if not isinstance(document, Mapping):
        return None
    found = _numbered('nodes', document.get('nodes') or [])
    chassis = document.get('chassis') or []
    if not isinstance(chassis, list) or not (
        {'nodes', 'chassis'} & {*document}
    ):
        return None
    for number, one in enumerate(chassis):
        place = f'chassis[{number}]'
        nodes = [NodeDescription(place, one)]
        if isinstance(one, Mapping):
            nodes = [*_numbered(f'{place}.nodes', one.get('nodes') or [])]
        found = [*found, *nodes]
    return found


def _numbered(place: str, nodes: Any) -> Sequence[NodeDescription]:
    if not isinstance(nodes, list):
        return [NodeDescription(place, nodes)]
    return [
        NodeDescription(f'{place}[{n}]', one) for n, one in enumerate(nodes)
    ]
