"""Nodes and conductors of Ironic: what to ask for, and their conversion.

No requests, no decisions.

An odd node becomes a value or is dropped: it must not stop the others. Odd
fields are read in the safe direction.

Memory: a scan may bring 100,000 nodes that differ in little, so equal texts,
properties and traits exist once for each :class:`NodeReader`.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from oslo_log import log

from ironic_ownership.clients.ironic import errors
from ironic_ownership.contracts import bare_metal, exceptions, model, texts
from ironic_ownership.contracts.bare_metal import ChangedNode

LOG = log.getLogger(__name__)

FIELDS = (
    'uuid',
    'name',
    'driver',
    'power_state',
    'target_power_state',
    'provision_state',
    'target_provision_state',
    'maintenance',
    'instance_uuid',
    'resource_class',
    'properties',
    'traits',
    'shard',
    'conductor_group',
    'reservation',
    'retired',
)
"""Fields that a scan reads.

More would cost the server two to five times the work, or a 500.
"""

FREE = (
    ('associated', 'false'),
    ('maintenance', 'false'),
    ('provision_state', 'available'),
    ('retired', 'false'),
)
"""The query for free nodes."""

_NOTHING: Mapping[str, Any] = {}
_UUID = re.compile(r'[0-9a-fA-F]{8}-?(?:[0-9a-fA-F]{4}-?){3}[0-9a-fA-F]{12}')
_NAME = re.compile(r'(?!\.+$)[A-Za-z0-9._~-]{1,255}')
"""Names that Ironic accepts, without the relative parts of a path."""

_CHILDREN = 83
"""Minor version from which on lists lack child nodes by default."""

_FALSE = frozenset(('', '0', 'f', 'false', 'n', 'no', 'off', 'none'))


def is_uuid(value: object) -> bool:
    """Tell whether a value is the text of a uuid."""
    return isinstance(value, str) and _UUID.fullmatch(value) is not None


def is_name(text: str) -> bool:
    """Tell whether a node may have a name, in the path of a request."""
    # "detail" is no node but a list of all of them.
    return text != 'detail' and _NAME.fullmatch(text) is not None


def checked_uuid(text: str) -> str:
    """Return a uuid; another text could change the meaning of a path."""
    if not is_uuid(text):
        raise exceptions.IronicError(f'{text!r} is not a uuid')
    return text


def names(minor: int, on_request: Collection[str] = ()) -> list[str]:
    """Return the fields of nodes that are read.

    :param minor: the version of the API; newer fields are left out.
    :param on_request: further fields, as in a policy's ``node_fields``.
    """
    wanted = sorted({name.partition('.')[0] for name in on_request})
    known = [name for name in wanted if bare_metal.field_since(name) <= minor]
    return [*dict.fromkeys((*FIELDS, *known))]


def query(minor: int, on_request: Collection[str] = ()) -> tuple[str, str]:
    """Return the parameter of a query that names these fields."""
    fields = names(minor, on_request)
    if bare_metal.DETAIL.intersection(fields):
        return 'detail', 'true'
    return 'fields', ','.join(fields)


def in_scope(scope: model.Scope) -> list[tuple[str, str]]:
    """Return the query for the nodes in a scope."""
    filters: list[tuple[str, str]] = []
    if scope.shard is not None:
        # Named once, the server splits it at commas and puts it in lower case;
        # a repeated one it takes as it is.
        filters += [('shard', scope.shard)] * 2
    if scope.conductor_group is not None:
        filters.append(('conductor_group', scope.conductor_group))
    return filters


def with_children(minor: int) -> tuple[tuple[str, str], ...]:
    """Return the query for a list with child nodes."""
    return (('include_children', 'true'),) if minor >= _CHILDREN else ()


class NodeReader:
    """Reads the nodes of one scan; equal parts of them are shared.

    :param on_request: further fields, as in a policy's ``node_fields``.
    """

    def __init__(self, on_request: Collection[str] = ()) -> None:
        self._fields = sorted(set(on_request) - {'extra'})
        self._texts: dict[str, str] = {}
        self._mappings: dict[str, Mapping[str, Any]] = {}
        self._traits: dict[tuple[str, ...], tuple[str, ...]] = {}

    def read(self, data: object) -> model.Node | None:
        """Convert a node; ``None``, with a warning, without a usable uuid."""
        if not isinstance(data, dict) or not is_uuid(data.get('uuid')):
            LOG.warning(
                'Ironic lists a node without a usable uuid, which is '
                'ignored: %.200r',
                data,
            )
            return None
        get = data.get
        shared = self._shared
        return model.Node(
            uuid=data['uuid'],
            name=_text(get('name')),
            driver=shared(get('driver')) or '',
            conductor_group=self._group(get('conductor_group')),
            shard=shared(get('shard')),
            instance_uuid=_instance(get('instance_uuid')),
            provision_state=shared(get('provision_state')),
            target_provision_state=shared(get('target_provision_state')),
            power_state=shared(get('power_state')),
            target_power_state=shared(get('target_power_state')),
            maintenance=_flag(get('maintenance')),
            retired=_flag(get('retired')),
            reservation=shared(get('reservation')),
            resource_class=shared(get('resource_class')),
            properties=self._mapping_of(get('properties')),
            traits=self._traits_of(get('traits')),
            extra=self._mapping_of(get('extra')),
            fields=self._requested(data) if self._fields else _NOTHING,
        )

    def _requested(self, data: Mapping[str, Any]) -> Mapping[str, Any]:
        found = {}
        for name in self._fields:
            field, _, key = name.partition('.')
            value = data.get(field)
            if key:
                value = value.get(key) if isinstance(value, dict) else None
            found[name] = value
        return self._mapping_of(found)

    def _shared(self, value: object) -> str | None:
        if value is None:
            return None
        text = _text(value)
        return None if text is None else self._texts.setdefault(text, text)

    def _group(self, value: object) -> str:
        text = _text(value)
        return self._shared(text.lower()) or '' if text else ''

    def _mapping_of(self, value: object) -> Mapping[str, Any]:
        if not isinstance(value, dict) or texts.is_deep(value):
            value = {}
        key = repr(value)
        known = self._mappings.get(key)
        if known is None:
            # Nodes that differ in a serial number share the other texts.
            text = self._texts.setdefault
            known = self._mappings[key] = {
                text(k, k): text(v, v) if isinstance(v, str) else v
                for k, v in value.items()
            }
        return known

    def _traits_of(self, value: object) -> tuple[str, ...]:
        if not isinstance(value, list):
            return ()
        traits = tuple(sorted({t for t in value if isinstance(t, str)}))
        return self._traits.setdefault(traits, traits)


def _text(value: object) -> str | None:
    if isinstance(value, str):
        if not value.isprintable():
            # No database takes half a character, and PostgreSQL no NUL.
            raw = value.encode(errors='replace')
            value = raw.replace(b'\0', b'?').decode()
        return value or None
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    return None


def _instance(value: object) -> str | None:
    # An odd instance is an instance: the node is not free.
    return str(value) if value else None


def _flag(value: object) -> bool:
    # An odd flag is set: the node is in maintenance, or retired.
    if isinstance(value, str):
        return value.strip().lower() not in _FALSE
    return bool(value)


def by_change(scope: model.Scope, direction: str) -> list[tuple[str, str]]:
    """Return the query for nodes in the order of their last changes.

    With it the detailed list is read, which alone has ``updated_at``.

    :param direction: ``desc`` begins with the latest. Then it is one page:
        while nodes change, a second one lacks those that moved to the first.
        With ``asc`` they move to the last page.
    """
    return [
        ('sort_key', 'updated_at'),
        ('sort_dir', direction),
        *in_scope(scope),
    ]


def changed(
    rows: object, minor: int, on_request: Collection[str]
) -> Iterator[ChangedNode]:
    """Read the rows of a detailed list, with the fields that a scan reads.

    :raises IronicError: if these are no rows, or if a time is odd.
    """
    known, reader = names(minor, on_request), NodeReader(on_request)
    for data in rows_of(rows):
        node = reader.read({name: data.get(name) for name in known})
        if node is not None:
            yield ChangedNode(node, _time(data.get('updated_at')))


def rows_of(rows: object) -> Sequence[dict[str, Any]]:
    """Return the rows of a list of nodes.

    :raises IronicError: if these are none.
    """
    if not isinstance(rows, list) or not all(
        isinstance(data, dict) for data in rows
    ):
        raise errors.unusable('a list of nodes')
    return rows


def conductor(data: object) -> model.Conductor | None:
    """Read a conductor; a bad one is dropped: it must not hide the others."""
    if not isinstance(data, dict) or not isinstance(data.get('hostname'), str):
        LOG.warning(
            'Ironic lists a conductor without a host name, which is '
            'ignored: %.200r',
            data,
        )
        return None
    drivers = data.get('drivers')
    return model.Conductor(
        hostname=data['hostname'],
        conductor_group=str(data.get('conductor_group') or '').lower(),
        drivers=frozenset(
            driver
            for driver in (drivers if isinstance(drivers, list) else ())
            if isinstance(driver, str)
        ),
        alive=data.get('alive') is True,
    )


def _time(text: object) -> float | None:
    if text is None:
        return None
    try:
        read_time = datetime.datetime.fromisoformat(str(text))
    except ValueError as exc:
        raise exceptions.IronicError(
            f'The answer of Ironic has an odd time of a change: {text!r:.60}'
        ) from exc
    if read_time.tzinfo is None:
        read_time = read_time.replace(tzinfo=datetime.UTC)
    return read_time.timestamp()
