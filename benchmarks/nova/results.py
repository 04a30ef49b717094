"""Measurements of both drivers, and their table."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

from benchmarks import table
from lab import nova

TTL = 20.0
"""The default time to live of a member, in seconds."""


@dataclasses.dataclass(frozen=True)
class Measure:
    """One measure, of both drivers.

    :param ratio: the highest good ratio of ours to Nova's.
    :param bound: the highest good figure of ours, instead.
    """

    name: str
    text: str
    unit: str
    ratio: float = math.inf
    bound: float | None = None


MEASURES: Sequence[Measure] = (
    Measure('steady', 'steady pass, wall time', 's', 0.1),
    Measure('processor', 'steady pass, processor', 's', 0.1),
    Measure('statements', 'steady pass, SQL statements', '', bound=60),
    Measure('requests', 'steady pass, Placement requests', '', bound=0),
    Measure('cycle', 'processor for a minute, all included', 's'),
    Measure('restart', 'restart, first pass', 's', 0.05),
    Measure('start', 'restart, until the service is up', 's'),
    Measure('memory', 'peak of memory of nova-compute', 'MB', 1.0),
    Measure('failover', 'SIGKILL to the last free row', 's', bound=TTL + 2),
    Measure('move', '1,000 deployed nodes moved', 's', bound=1.0),
)


class Results:
    """Measurements so far, by driver and measure."""

    def __init__(self) -> None:
        self._found: dict[nova.Driver, dict[str, float]] = {
            driver: {} for driver in nova.DRIVERS
        }

    def note(self, driver: nova.Driver, name: str, value: float) -> None:
        """Keep one figure."""
        self._found[driver][name] = value

    def show(self, nodes: int) -> int:
        """Print the table of what was measured with our driver.

        :returns: an exit code: 0 if every target is met, else 1.
        """
        ours, stock = self._found['ours'], self._found['stock']
        return table.show(
            f'nova-compute, {nodes} nodes; the peer is the driver of Nova',
            [
                table.Row(
                    one.text,
                    ours[one.name],
                    stock.get(one.name, math.nan),
                    one.unit,
                    one.ratio,
                    one.bound,
                )
                for one in MEASURES
                if one.name in ours
                and (one.name in stock or one.bound is not None)
            ],
        )
