"""Run every benchmark, each in its own process.

Memory and imports of one benchmark would distort the next.
"""

from __future__ import annotations

import argparse
import subprocess
import sys

_BENCHMARKS = (
    'startup',
    'decide',
    'shard_plan',
    'enforcement',
    'select',
    'scan',
    'scale',
    'bulk',
    'inventory',
    'move',
    'reserve',
    'membership',
    'membership_held',
    'fencing',
    'takeover',
    'nova',
    'writers',
    'console',
    'overview',
)


def main(argv: list[str] | None = None) -> int:
    """Run some benchmarks, or all.

    :returns: an exit code: 0 if every target was met, else 1.
    """
    parser = argparse.ArgumentParser(
        prog='python -m benchmarks',
        description='Measure, each benchmark in a process of its own; "python '
        '-m benchmarks.NAME --help" tells what one of them takes.',
    )
    parser.add_argument(
        'names',
        nargs='*',
        metavar='NAME',
        help=f'which ones (default: all): {", ".join(_BENCHMARKS)}',
    )
    names = parser.parse_args(argv).names
    unknown = sorted(set(names) - set(_BENCHMARKS))
    if unknown:
        parser.error(
            f'no such benchmark: {", ".join(unknown)}; there are: '
            f'{", ".join(_BENCHMARKS)}'
        )
    failed = [name for name in names or _BENCHMARKS if _run(name)]
    if failed:
        print(f'\nerror, or a target missed: {", ".join(failed)}')
    return 1 if failed else 0


def _run(name: str) -> int:
    with subprocess.Popen(
        [sys.executable, '-m', f'benchmarks.{name}']
    ) as child:
        try:
            return child.wait()
        finally:
            # It ends its servers before it ends: it is not killed.
            child.terminate()


if __name__ == '__main__':
    sys.exit(main())
