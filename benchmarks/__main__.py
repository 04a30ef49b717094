"""Run every benchmark, each in a process of its own.

Of its own, because memory and imports of one would show in the next.
"""

from __future__ import annotations

import subprocess
import sys

_BENCHMARKS = (
    'startup',
    'decide',
    'preview',
    'select',
    'scan',
    'inventory',
    'move',
    'reserve',
    'membership',
    'takeover',
)


def main(names: list[str]) -> int:
    """Run some benchmarks, or all.

    :param names: which ones; none means all.
    :returns: an exit code: 0 if every target was met, else 1.
    """
    unknown = set(names) - set(_BENCHMARKS)
    if unknown:
        print(f'no such benchmark: {", ".join(sorted(unknown))}')
        print(f'there are: {", ".join(_BENCHMARKS)}')
        return 2
    failed = [
        name
        for name in names or _BENCHMARKS
        if subprocess.run(
            [sys.executable, '-m', f'benchmarks.{name}'], check=False
        ).returncode
    ]
    if failed:
        print(f'\nerror, or a target missed: {", ".join(failed)}')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
