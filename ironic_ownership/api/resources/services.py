"""``/v1/services``: the compute services, from records and membership."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ironic_ownership.api import schemas
from ironic_ownership.api.operation import PAGE, Access, Operation, Parameter
from ironic_ownership.api.request import Answer, Request
from ironic_ownership.contracts import model
from ironic_ownership.engine import suggestions
from ironic_ownership.engine.queries import service_status
from ironic_ownership.observe import columns, service
from ironic_ownership.observe.columns import cells

_TYPES: schemas.Types = {
    'host': schemas.TEXT,
    'alive': {
        'type': 'string',
        'enum': ['up', 'standby', 'away', 'down', 'unknown'],
        'description': 'The view of the membership: up; standby, while only '
        'processes are alive that stand by; away, if it was stopped for a '
        'while; down; unknown, if the membership does not answer. Next to a '
        'Nova cell also up: a nova-compute without the driver that sends '
        'heartbeats to Nova.',
    },
    'status': {'type': 'string', 'enum': ['enabled', 'disabled']},
    'forced_down': schemas.FLAG,
    'epoch': schemas.NUMBER,
    'nodes': schemas.NUMBER,
    'instances': schemas.NUMBER,
    'conditions': {
        'type': ['string', 'null'],
        'description': 'The loops that fail: ok, unknown, or their names; '
        'null without a process.',
    },
    'loops': {
        'type': 'array',
        'items': schemas.THING,
        'description': 'The condition of each loop, as stored by the '
        'service: its last success, and an error with the time since which '
        'it fails.',
    },
    'free': {'type': 'integer'},
    'unavailable': {
        'type': ['integer', 'null'],
        'description': 'Nodes that could not be given to a client now; null '
        'if that is not known.',
    },
    'of_mean': schemas.OF_MEAN,
    'fenced': schemas.FLAG,
    'standbys': {'type': ['integer', 'null']},
    'disabled_reason': schemas.TEXT_OR_NULL,
    'registered_at': schemas.TEXT_OR_NULL,
    'policies': schemas.TEXTS,
    'settings': schemas.THING,
    'member_values': schemas.MEMBER_VALUES,
    'incarnation': schemas.TEXT_OR_NULL,
    'joined_at': schemas.TEXT_OR_NULL,
    'contract_version': {'type': 'integer'},
    'view_checksum': schemas.TEXT_OR_NULL,
    'config_error': schemas.TEXT_OR_NULL,
}

_LONG = Parameter(
    'long',
    'Also say how much of each service is free and unavailable, its share '
    'against the mean, and its settings. Ironic is read for all nodes.',
    schemas.FLAG,
)
HOST = Parameter(
    'host',
    'Host name of the service; case does not count.',
    schemas.HOST,
    example='rack1',
)
_DETAILS = schemas.thing(service.DETAILS, _TYPES, warnings=schemas.WARNINGS)


def _list(request: Request) -> Answer:
    context = request.context
    found = service_status.read(context.records, context.backend)
    shown: Sequence[columns.Column[Any]] = service.SHORT
    if request.query.get('long'):
        seen = context.overview(complete=False)
        found = service_status.add_load(found, seen, context.interpret)
        shown = service.LONG
    return request.page(
        'services',
        found.services,
        lambda status: status.row.host,
        lambda status: cells(shown, status),
        found.warnings,
    )


def _show(request: Request) -> Answer:
    found = service_status.read(
        request.context.records, request.context.backend
    )
    by_host = {status.row.host: status for status in found.services}
    host = request.path['host']
    one = by_host.get(model.canonical_host(host))
    if one is None:
        raise suggestions.unknown('service', host, by_host)
    return Answer(
        cells(service.DETAILS, one) | {'warnings': list(found.warnings)}
    )


def _listed() -> schemas.Types:
    # The long columns are optional.
    item = schemas.thing(service.LONG, _TYPES)
    return item | {'required': [c.key for c in service.SHORT]}


OPERATIONS = (
    Operation(
        'service:list',
        'GET',
        '/v1/services',
        'List the compute services: alive or not, and how much they own.',
        _list,
        Access.READ,
        {200: ('A page of services.', schemas.page('services', _listed()))},
        query=(_LONG, *PAGE),
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
