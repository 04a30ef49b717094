"""``/v1/services``: the compute services, from records and membership."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ironic_ownership.contracts import model
from ironic_ownership.engine import names
from ironic_ownership.engine.inspecting import standings
from ironic_ownership.observe import columns, service
from ironic_ownership.web import asking, shape
from ironic_ownership.web.operation import (
    Access,
    Answer,
    Operation,
    Parameter,
)

_TYPES: shape.Types = {
    'host': shape.TEXT,
    'alive': {
        'type': 'string',
        'enum': ['up', 'standby', 'away', 'down', 'unknown'],
        'description': 'What the membership sees: up; standby, while only '
        'processes are alive that stand by; away, if it was stopped for a '
        'while; down; unknown, if the membership does not answer.',
    },
    'status': {'type': 'string', 'enum': ['enabled', 'disabled']},
    'forced_down': shape.FLAG,
    'epoch': shape.NUMBER,
    'nodes': shape.NUMBER,
    'instances': shape.NUMBER,
    'free': {'type': 'integer'},
    'unavailable': {
        'type': ['integer', 'null'],
        'description': 'Nodes that could not be given to anybody now; null '
        'if that is not known.',
    },
    'of_mean': {'type': ['number', 'null']},
    'fenced': shape.FLAG,
    'standbys': {'type': ['integer', 'null']},
    'disabled_reason': shape.TEXT_OR_NULL,
    'registered_at': shape.TEXT_OR_NULL,
    'policies': shape.TEXTS,
    'settings': shape.THING,
    'incarnation': shape.TEXT_OR_NULL,
    'joined_at': shape.TEXT_OR_NULL,
    'contract_version': {'type': 'integer'},
    'view_checksum': shape.TEXT_OR_NULL,
    'config_error': shape.TEXT_OR_NULL,
}

_LONG = Parameter(
    'long',
    'Also say how much of each service is free and unavailable, its share '
    'against the mean, and its settings. Ironic is asked for all nodes.',
    {'type': 'boolean'},
)
HOST = Parameter(
    'host',
    'Host name of the service; case does not count.',
    shape.HOST,
    example='rack1',
)
_DETAILS = shape.thing(service.DETAILS, _TYPES, warnings=shape.WARNINGS)


def _list(asked: asking.Asked) -> Answer:
    behind = asked.behind
    found = standings.take(behind.records, behind.backend)
    shown: Sequence[columns.Column[Any]] = service.SHORT
    if asked.query.get('long'):
        seen = behind.overview(reservations=False)
        found = standings.weigh(found, seen, behind.interpret)
        shown = service.LONG
    return asked.page(
        'services',
        found.standings,
        lambda standing: standing.row.host,
        lambda standing: shape.cells(shown, standing),
        found.doubts,
    )


def _show(asked: asking.Asked) -> Answer:
    found = standings.take(asked.behind.records, asked.behind.backend)
    by_host = {standing.row.host: standing for standing in found.standings}
    host = asked.path['host']
    one = by_host.get(model.canonical_host(host))
    if one is None:
        raise names.unknown('service', host, by_host)
    cells = shape.cells(service.DETAILS, one)
    return Answer(cells | {'warnings': list(found.doubts)})


def _listed() -> shape.Types:
    """Return the schema of an item: the long columns come if asked for."""
    item = shape.thing(service.LONG, _TYPES)
    return item | {'required': [c.key for c in service.SHORT]}


OPERATIONS = (
    Operation(
        'service:list',
        'GET',
        '/v1/services',
        'List the compute services: alive or not, and how much they own.',
        _list,
        Access.READ,
        {200: ('A page of services.', shape.page('services', _listed()))},
        query=(_LONG, *asking.PAGE),
        errors=(503,),
    ),
    Operation(
        'service:show',
        'GET',
        '/v1/services/{host}',
        'Show one compute service: row, membership, settings, nodes owned.',
        _show,
        Access.READ,
        {200: ('The service.', _DETAILS)},
        parameters=(HOST,),
        errors=(404, 503),
    ),
)
