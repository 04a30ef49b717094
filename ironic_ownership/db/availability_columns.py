"""What becomes of a record when its node is judged. Pure, no SQL.

The ledger says whether the writer may judge at all.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ironic_ownership.contracts import availability

_LONGEST = 255


def columns(
    row: Mapping[str, Any] | None,
    verdict: availability.Verdict | None,
    now: float,
) -> dict[str, Any]:
    """Return the two columns about it as they are to be.

    :param row: of the node, if there is one.
    :param verdict: ``None`` keeps what is there.
    :param now: seconds since the epoch.
    """
    before = row['unavailable'] if row else None
    since = row['unavailable_since'] if row else None
    if verdict is None or verdict.code == before:
        return {'unavailable': before, 'unavailable_since': since}
    return {
        'unavailable': verdict.code.value if verdict.code else None,
        'unavailable_since': now if verdict.code else None,
    }


def told(
    row: Mapping[str, Any] | None, verdict: availability.Verdict | None
) -> str | None:
    """Return the reason of the event that a verdict leaves, if any.

    The first verdict is no change, and an instance that comes or goes has an
    event of its own.
    """
    if verdict is None or row is None or row['deleted_at'] is not None:
        return None
    before, after = row['unavailable'], verdict.code
    told_by_instance = {None, *availability.WITH_INSTANCE}
    if before == after or {before, after} <= told_by_instance:
        return None
    change = f'{before or "available"} -> {after or "available"}'
    detail = f': {verdict.detail}' if verdict.detail else ''
    return f'{change}{detail}'[:_LONGEST]
