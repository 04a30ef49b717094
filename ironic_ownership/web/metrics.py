"""``/metrics``, in the text format of Prometheus."""

from __future__ import annotations

from ironic_ownership.api.operation import Access, Operation
from ironic_ownership.api.request import Answer, Request
from ironic_ownership.web.exposition import MEDIA_TYPE, text_of


def _show(request: Request) -> Answer:
    assert request.gauges is not None
    return Answer(text_of(request.gauges.families()))


OPERATIONS = (
    Operation(
        'metrics:show',
        'GET',
        '/metrics',
        'Show metrics in the text format of Prometheus.',
        _show,
        Access.READ,
        {200: ('The metrics.', {'type': 'string'})},
        description='Computed at most once in [api] metrics_interval. '
        'Answered without a token if [api] public_metrics is set.',
        media_type=MEDIA_TYPE,
        errors=(503,),
    ),
)
