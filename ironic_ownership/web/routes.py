"""All operations of the HTTP service, in the order of its documentation."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from ironic_ownership import version
from ironic_ownership.api import resources, schemas
from ironic_ownership.api.operation import Access, Operation
from ironic_ownership.api.request import Answer, Request
from ironic_ownership.web import openapi
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


def _versions(request: Request) -> Answer:
    links = [{'rel': 'describedby', 'href': '/openapi.json'}]
    return Answer(
        {
            'name': version.DISTRIBUTION,
            'release': version.text().split()[-1],
            'versions': [{'id': 'v1', 'status': 'CURRENT', 'links': links}],
        }
    )


def _document(request: Request) -> Answer:
    return Answer(document())


def _metrics(request: Request) -> Answer:
    assert request.gauges is not None
    return Answer(text_of(request.gauges.families()))


@functools.cache
def document() -> dict[str, Any]:
    """Return the OpenAPI document."""
    return openapi.build(OPERATIONS)


OPERATIONS: Sequence[Operation] = (
    *resources.operations(),
    Operation(
        'version:list',
        'GET',
        '/',
        'Name the service, its release and the versions of its API.',
        _versions,
        Access.PUBLIC,
        schemas.answer(
            'The versions.',
            name=schemas.TEXT,
            release=schemas.TEXT,
            versions=schemas.array(_VERSION),
        ),
    ),
    Operation(
        'document:show',
        'GET',
        '/openapi.json',
        'Describe all operations in OpenAPI 3.1.',
        _document,
        Access.PUBLIC,
        {200: ('The document.', {'type': 'object'})},
    ),
    Operation(
        'metrics:show',
        'GET',
        '/metrics',
        'Show metrics in the text format of Prometheus.',
        _metrics,
        Access.READ,
        {200: ('The metrics.', {'type': 'string'})},
        description='Computed at most once in [api] metrics_interval. '
        'Answered without a token if [api] public_metrics is set.',
        media_type=MEDIA_TYPE,
        errors=(503,),
    ),
)
