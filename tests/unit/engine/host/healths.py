"""Health of a process that works, to change for each test."""

from __future__ import annotations

import dataclasses
from typing import Any

from ironic_ownership.contracts.conditions import Condition, Loop
from ironic_ownership.engine.host.health import Health
from ironic_ownership.engine.host.refresh_result import Summary
from ironic_ownership.engine.membership.registration import Role

WORKS = Condition(Loop.HEARTBEAT, succeeded_at=98.0)
FAILS = Condition(
    Loop.REFRESH,
    succeeded_at=40.0,
    code='ironic_unavailable',
    error='Ironic does not answer',
    since=60.0,
    took=1.5,
)


def health(**changes: Any) -> Health:
    """Return the health of an active process without any fault."""
    return dataclasses.replace(
        Health(
            'host1',
            Role.ACTIVE,
            fence_remaining=17.0,
            now=100.0,
            loops=(WORKS,),
            errors={('refresh', 'ironic_unavailable'): 3},
            changes={('claim', 'owner_died'): 7},
            summary=Summary(nodes=40, waiting=2, limited=True),
        ),
        **changes,
    )
