"""All kinds of fault, and those that a plan has."""

from __future__ import annotations

import dataclasses

from tests.simulation.faults import (  # noqa: F401 - they add their kinds
    changes,
    commands,
    processes,
    servers,
)
from tests.simulation.faults.targets import ALL

__all__ = ['ALL', 'OFTEN', 'Planned']

OFTEN = (
    'kill',
    'freeze-long',
    'slow',
    'force-down',
    'evacuate',
    'fail-over',
    'move',
    'pause',
    'trial',
)
"""Kinds that are chosen more often than others."""


@dataclasses.dataclass(frozen=True)
class Planned:
    """A fault at a time, for some heartbeats.

    :param named: its targets; by default the seed chooses.
    """

    at: float
    kind: str
    lasts: float
    named: tuple[str, ...] = ()
