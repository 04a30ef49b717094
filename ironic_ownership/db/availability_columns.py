"""Availability columns of a node's record, as an evaluation changes them.

Pure. The change set decides whether the writer may change them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ironic_ownership.contracts import availability


def columns(
    row: Mapping[str, Any] | None,
    evaluation: availability.Evaluation | None,
    now: float,
) -> dict[str, Any]:
    """Return the two columns to write; ``None`` keeps them as they are."""
    before = row['unavailable'] if row else None
    since = row['unavailable_since'] if row else None
    if evaluation is None or evaluation.code == before:
        return {'unavailable': before, 'unavailable_since': since}
    return {
        'unavailable': evaluation.code.value if evaluation.code else None,
        'unavailable_since': now if evaluation.code else None,
    }


def event_reason(
    row: Mapping[str, Any] | None, evaluation: availability.Evaluation | None
) -> str | None:
    """Return the reason of the event that an evaluation leaves, if any.

    The first evaluation is no change, and an instance that comes or goes has
    an event of its own.
    """
    if evaluation is None or row is None or row['deleted_at'] is not None:
        return None
    before, after = row['unavailable'], evaluation.code
    by_instance = {None, *availability.WITH_INSTANCE}
    if before == after or {before, after} <= by_instance:
        return None
    change = f'{before or "available"} -> {after or "available"}'
    detail = f': {evaluation.detail}' if evaluation.detail else ''
    return f'{change}{detail}'
