"""API versions of a server, read from its version document.

The SDK's discovery is not used: it takes a server that is down for one that
is not Ironic. Sends nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ironic_ownership.clients.ironic import errors
from ironic_ownership.contracts import exceptions


def read(
    document: Mapping[str, Any], headers: Mapping[str, str]
) -> tuple[str, int, int]:
    """Read the prefix of the API, and the lowest and highest minor version.

    :param document: that of the root, or of ``/v1`` itself.
    :raises IronicError: if the server is not Ironic.
    """
    default = document.get('default_version')
    if document.get('id') == 'v1':
        prefix, entry = '', {}
    elif isinstance(default, dict) and default.get('id') == 'v1':
        prefix, entry = '/v1', default
    else:
        raise exceptions.IronicError(
            'The server at the URL of Ironic is another one',
            hint=errors.IRONIC.endpoint_hint,
        )
    low = _minor(
        headers.get('X-OpenStack-Ironic-API-Minimum-Version')
        or entry.get('min_version')
    )
    high = _minor(
        headers.get('X-OpenStack-Ironic-API-Maximum-Version')
        or entry.get('version')
    )
    if low is None or high is None:
        raise exceptions.IronicError(
            'The server at the URL of Ironic does not list its API versions',
            hint=errors.IRONIC.endpoint_hint,
        )
    return prefix, low, high


def _minor(version: object) -> int | None:
    found = re.fullmatch(r'1\.([0-9]+)', str(version))
    return int(found[1]) if found else None
