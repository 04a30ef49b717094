"""The id under which all traces of one request are found again."""

from __future__ import annotations

import uuid


def new_id() -> str:
    """Return a new request id, in the form that OpenStack gives them."""
    return f'req-{uuid.uuid4()}'
