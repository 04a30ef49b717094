"""``/`` and ``/openapi.json``: where a client begins."""

from __future__ import annotations

from ironic_ownership import version
from ironic_ownership.api import schemas
from ironic_ownership.api.operation import Access, Operation
from ironic_ownership.api.request import Answer, Request

_VERSIONS = {
    'type': 'object',
    'required': ['name', 'release', 'versions'],
    'additionalProperties': False,
    'properties': {
        'name': schemas.TEXT,
        'release': schemas.TEXT,
        'versions': {
            'type': 'array',
            'items': {
                'type': 'object',
                'required': ['id', 'status', 'links'],
                'properties': {
                    'id': schemas.TEXT,
                    'status': schemas.TEXT,
                    'links': schemas.THINGS,
                },
            },
        },
    },
}


def _versions(request: Request) -> Answer:
    return Answer(
        {
            'name': version.DISTRIBUTION,
            'release': version.text().split()[-1],
            'versions': [
                {
                    'id': 'v1',
                    'status': 'CURRENT',
                    'links': [
                        {'rel': 'describedby', 'href': '/openapi.json'},
                    ],
                }
            ],
        }
    )


def _document(request: Request) -> Answer:
    # Made of all operations, of which this is one.
    from ironic_ownership.web import openapi

    return Answer(openapi.build())


OPERATIONS = (
    Operation(
        'version:list',
        'GET',
        '/',
        'Name the service, its release and the versions of its API.',
        _versions,
        Access.PUBLIC,
        {200: ('The versions.', _VERSIONS)},
    ),
    Operation(
        'document:show',
        'GET',
        '/openapi.json',
        'Describe all of this in OpenAPI 3.1.',
        _document,
        Access.PUBLIC,
        {200: ('The document.', {'type': 'object'})},
    ),
)
