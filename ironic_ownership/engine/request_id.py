"""Request ids, which connect all traces of one request."""

from __future__ import annotations

import uuid


def new_id() -> str:
    """Return a new request id in the format of OpenStack."""
    return f'req-{uuid.uuid4()}'
