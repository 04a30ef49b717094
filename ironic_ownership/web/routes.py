"""All operations of the HTTP service, in the order of its documentation."""

from __future__ import annotations

import functools
from typing import Any

from ironic_ownership import program
from ironic_ownership.api import operation, schemas
from ironic_ownership.api.operation import (
    Access,
    Answer,
    Operation,
    Request,
    operations,
    operations_of,
)
from ironic_ownership.web import errors
from ironic_ownership.web.exposition import MEDIA_TYPE, text_of

_VERSION = {
    'type': 'object',
    'required': ['id', 'status', 'links'],
    'properties': {
        'id': schemas.TEXT,
        'status': schemas.TEXT,
        'links': schemas.THINGS,
    },
}


@Operation(
    'version:list',
    'GET /',
    schemas.answer(
        'The versions.',
        name=schemas.TEXT,
        release=schemas.TEXT,
        versions=schemas.array(_VERSION),
    ),
    allowed_to=Access.PUBLIC,
)
def _versions(request: Request) -> Answer:
    """Name the service, its release and the versions of its API."""
    links = [{'rel': 'describedby', 'href': '/openapi.json'}]
    return Answer(
        {
            'name': program.DISTRIBUTION,
            'release': program.number(),
            'versions': [{'id': 'v1', 'status': 'CURRENT', 'links': links}],
        }
    )


@Operation(
    'document:show',
    'GET /openapi.json',
    {200: ('The document.', {'type': 'object'})},
    allowed_to=Access.PUBLIC,
)
def _document(request: Request) -> Answer:
    """Describe all operations in OpenAPI 3.1."""
    return Answer(document())


@Operation(
    'metrics:show',
    'GET /metrics',
    {200: ('The metrics.', {'type': 'string'})},
    media_type=MEDIA_TYPE,
    errors=(503,),
)
def _metrics(request: Request) -> Answer:
    """Show metrics in the text format of Prometheus.

    Computed at most once in [api] metrics_interval. Answered without a token
    if [api] public_metrics is set.
    """
    assert request.gauges is not None
    return Answer(text_of(request.gauges.families()))


OPERATIONS = [*operations(), *operations_of(__name__)]


_ALWAYS = (400, 500)
_WITH_TOKEN = (401, 403)
_WITH_BODY = (413, 415)

_ERRORS = {
    400: 'Something was sent that the operation does not take.',
    401: 'No valid token was sent.',
    403: 'The rules of access do not allow it.',
    404: 'There is no such resource.',
    409: 'Refused by a gate, or by the state of what it is about.',
    413: 'The body is too large.',
    415: 'The body is not JSON.',
    500: 'The service failed; its log has the reason.',
    502: 'Ironic or Placement answers with something unusable.',
    503: 'Ironic, Placement, the records or the membership do not answer.',
}
_INTRODUCTION = """\
The owner of each bare-metal node, the services, and the reasons: rows and
keys are those of "ironic-ownership -f json". Every answer has the header
x-openstack-request-id, and every error the same form with a stable reason
code. Lists come in pages: follow "next" until it is null."""


@functools.cache
def document() -> dict[str, Any]:
    """Return the OpenAPI document."""
    paths: dict[str, dict[str, Any]] = {}
    for one in OPERATIONS:
        paths.setdefault(one.path, {})[one.method.lower()] = _operation(one)
    return {
        'openapi': '3.1.0',
        'info': {
            'title': program.DISTRIBUTION,
            'version': 'v1',
            'description': _INTRODUCTION,
            'license': {'name': 'Apache-2.0', 'identifier': 'Apache-2.0'},
        },
        'servers': [{'url': '/'}],
        'tags': [
            {'name': noun}
            for noun in dict.fromkeys(o.noun for o in OPERATIONS)
        ],
        'paths': paths,
        'components': {
            'schemas': {'Error': errors.SCHEMA},
            'headers': {
                'request_id': {
                    'description': 'The id of the request in the log.',
                    'schema': {'type': 'string'},
                }
            },
            'securitySchemes': {
                'token': {
                    'type': 'apiKey',
                    'in': 'header',
                    'name': 'X-Auth-Token',
                    'description': 'A token of Keystone, where the service '
                    'runs with auth_strategy = keystone.',
                },
                'password': {
                    'type': 'http',
                    'scheme': 'basic',
                    'description': 'User and password, where the service '
                    'runs with auth_strategy = http_basic.',
                },
            },
        },
    }


def _operation(one: operation.Operation) -> dict[str, Any]:
    body = None
    if one.body is not None:
        body = {
            'required': True,
            'content': {'application/json': {'schema': one.body}},
        }
    is_public = one.access is Access.PUBLIC
    described: dict[str, Any] = {
        'operationId': one.name.replace(':', '_'),
        'tags': [one.noun],
        'summary': one.summary,
        'responses': _responses(one),
        'description': one.description,
        'parameters': [
            *(_parameter(p, 'path') for p in one.parameters),
            *(_parameter(p, 'query') for p in one.query),
        ],
        'requestBody': body,
        'security': not is_public and [{}, {'token': []}, {'password': []}],
    }
    return {key: value for key, value in described.items() if value}


def _parameter(one: schemas.Parameter, where: str) -> dict[str, Any]:
    described = {
        'name': one.name,
        'in': where,
        'description': one.description,
        'required': where == 'path',
        'schema': one.schema,
    }
    if one.example is not None:
        described['example'] = one.example
    return described


def _responses(one: operation.Operation) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for status, (text, schema) in one.answers.items():
        found[str(status)] = _response(text, schema, one.media_type)
    for status in statuses(one):
        found[str(status)] = _response(
            _ERRORS[status],
            {'$ref': '#/components/schemas/Error'},
            'application/json',
        )
    return found


def statuses(one: operation.Operation) -> list[int]:
    """Return the statuses of an operation's errors."""
    found = {*_ALWAYS, *one.errors}
    if one.access is not operation.Access.PUBLIC:
        found.update(_WITH_TOKEN)
    if one.body is not None:
        found.update(_WITH_BODY)
    return sorted(found)


def _response(
    text: str, schema: schemas.Schema, media_type: str
) -> dict[str, Any]:
    request_id = {'$ref': '#/components/headers/request_id'}
    return {
        'description': text,
        'headers': {'x-openstack-request-id': request_id},
        'content': {media_type: {'schema': schema}},
    }
