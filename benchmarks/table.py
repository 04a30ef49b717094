"""Tables of measurements, each compared with a peer and a target."""

from __future__ import annotations

import dataclasses
import math
import os
import platform
import time
from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar('T')

_HEAD = ('measure', 'ours', 'peer', 'ratio', 'target', '')


@dataclasses.dataclass(frozen=True)
class Row:
    """One measure of ours and the same measure of a peer.

    :param measure: the measure, the number of runs, and the peer.
    :param ours: our figure, in ``unit``.
    :param peer: the peer's figure, in ``unit``.
    :param unit: of both figures.
    :param target: the highest good ratio of ours to the peer's; infinite if
        the row is only for comparison.
    :param bound: the highest good figure of ours, instead of a ratio.
    """

    measure: str
    ours: float
    peer: float
    unit: str
    target: float
    bound: float | None = None

    @property
    def ratio(self) -> float:
        """Ours as a share of the peer's."""
        return self.ours / self.peer

    @property
    def met(self) -> bool:
        """``True`` if the target is met."""
        if self.bound is not None:
            return self.ours <= self.bound
        return self.ratio <= self.target

    def cells(self) -> tuple[str, ...]:
        """Return the row as text, column by column."""
        return (
            self.measure,
            f'{self.ours:.4g} {self.unit}',
            f'{self.peer:.4g} {self.unit}',
            f'{self.ratio:.3f}',
            self._wanted,
            self._outcome,
        )

    @property
    def _wanted(self) -> str:
        if self.bound is not None:
            return f'<= {self.bound:g} {self.unit}'.rstrip()
        return '' if math.isinf(self.target) else f'<= {self.target:g}'

    @property
    def _outcome(self) -> str:
        if not self._wanted:
            return ''
        return 'met' if self.met else 'MISSED'


def timed(work: Callable[[], T]) -> tuple[float, T]:
    """Do some work; return its processor time in seconds, and its result."""
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


def show(title: str, rows: Sequence[Row]) -> int:
    """Print a table of rows.

    :returns: an exit code: 0 if every target is met, else 1.
    """
    lines = [_HEAD, *(row.cells() for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    print(
        f'\n{title} (Python {platform.python_version()}, '
        f'{os.cpu_count()} CPUs)'
    )
    for line in lines:
        cells = zip(line, widths, strict=True)
        print('  '.join(f'{c:<{w}}' for c, w in cells).rstrip())
    return 0 if all(row.met for row in rows) else 1
