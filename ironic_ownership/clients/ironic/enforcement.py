"""Probe of the middleware in Ironic: whether it enforces ownership.

It sends a change of a node that does not exist, under an epoch that no service
has. Ironic alone answers 404, or 403 to a user who may not write.
"""

from __future__ import annotations

import uuid
from typing import Any

from ironic_ownership.clients.ironic import api, errors
from ironic_ownership.contracts import request_header
from ironic_ownership.contracts.bare_metal import Enforcement

_CODES = {
    'fenced': Enforcement.ENFORCED,
    'invalid_header': Enforcement.OTHER_KEY,
    'records_unavailable': Enforcement.NO_RECORDS,
}


def probe(ironic: api.IronicAPI, shared_key: str) -> Enforcement:
    """Return whether Ironic refuses the request of a former owner.

    :raises IronicError: if Ironic does not answer.
    """
    node = str(uuid.uuid4())
    claim = request_header.Claim(f'probe-{node}', 0, node)

    def sign(request: Any) -> Any:
        value = claim.header(shared_key, request.method, request.url)
        request.headers[request_header.HEADER] = value
        return request

    answer = ironic.answer_to_write('PATCH', f'/nodes/{node}', [], sign)
    return _CODES.get(errors.code_of(answer) or '', Enforcement.ABSENT)
