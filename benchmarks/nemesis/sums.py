"""Sums of several reports of the nemesis, a line for each mix of stores.

python -m benchmarks.nemesis.sums FILE ...
"""

from __future__ import annotations

import argparse
import json
import pathlib
import sys
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

_HEAD = (
    *('records', 'members', 'runs', 'hours', 'rounds', 'faults'),
    *('permissions', 'violations', 'others', 'unserved s', 'processors'),
)
_LAWS = ('law ', 'epochs', 'history', 'guard')


class Sum(NamedTuple):
    """The reports of one mix.

    :param violations: of the laws of ownership.
    :param others: violations of what else is expected: that all is as it
        should be in time, and stays so, and that nothing ends or logs an
        unexpected error. On a machine without enough processors they may be
        faults of the machine.
    :param unserved: longest seconds for which a free node had no service
        that could act.
    :param used: seconds of processors.
    """

    records: str
    members: str
    runs: int = 0
    seconds: float = 0.0
    rounds: int = 0
    faults: int = 0
    permissions: int = 0
    violations: int = 0
    others: int = 0
    unserved: float = 0.0
    used: float = 0.0

    def plus(self, report: dict[str, Any]) -> Sum:
        """Return the sum with one more report."""
        seconds = report['seconds']
        laws, others = violations(report)
        return Sum(
            self.records,
            self.members,
            self.runs + 1,
            self.seconds + seconds,
            self.rounds + report['rounds'],
            self.faults + sum(report['faults'].values()),
            self.permissions + report['permissions_checked'],
            self.violations + laws,
            self.others + others,
            max(self.unserved, report['longest']['free_node_unserved']),
            self.used + seconds * report['processors'],
        )

    def line(self) -> tuple[str, ...]:
        """Return the cells of the table."""
        return (
            *(self.records, self.members, str(self.runs)),
            f'{self.seconds / 3600:.2f}',
            *(str(self.rounds), str(self.faults), str(self.permissions)),
            *(str(self.violations), str(self.others)),
            f'{self.unserved:.1f}',
            f'{self.used / self.seconds:.2f}' if self.seconds else '',
        )


def violations(report: dict[str, Any]) -> tuple[int, int]:
    """Return the numbers of violations of the laws, and of others."""
    listed = [one['law'] for one in report['violations']]
    laws = sum(law.startswith(_LAWS) for law in listed)
    # Which ones are not listed is unknown.
    return laws + report['violations_not_listed'], len(listed) - laws


def sums(reports: Iterable[dict[str, Any]]) -> list[Sum]:
    """Add up reports by mix.

    Runs that were broken on purpose are left out.
    """
    found: dict[tuple[str, str], Sum] = {}
    for report in reports:
        settings = report['settings']
        if not settings['broken']:
            mix = settings['records'], settings['members']
            found[mix] = found.get(mix, Sum(*mix)).plus(report)
    return list(found.values())


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table.

    :returns: an exit code: 0 without a violation of a law, else 1.
    """
    parser = argparse.ArgumentParser(
        prog='python -m benchmarks.nemesis.sums', description=__doc__
    )
    parser.add_argument('files', type=pathlib.Path, nargs='+')
    files = parser.parse_args(argv).files
    found = sums(json.loads(path.read_text()) for path in files)
    lines = [_HEAD, *(one.line() for one in found)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        cells = zip(line, widths, strict=True)
        print('  '.join(f'{c:<{w}}' for c, w in cells).rstrip())
    return 1 if any(one.violations for one in found) else 0


if __name__ == '__main__':
    sys.exit(main())
