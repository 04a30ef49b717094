"""Nova's own driver beside the one of this project, in the same run.

Both have the same Nova, MariaDB, RabbitMQ, Placement and Ironic with fake
hardware, and the same nodes. First Nova's driver is measured, then the rows
are adopted, then ours is. Intervals are the defaults of Nova, and ours.

``passes``: one nova-compute has all nodes. A steady pass is one in which
nothing has changed; the restart is that of known nodes. ``failover``: two
share the nodes by the ring, and one is killed. ``moves``: a server is booted
through Nova's API, copied to all nodes, and all are moved to another service.

    python -m benchmarks.nova [--nodes 1000] [--part passes] [--limit 3600]

Processor time is that of nova-compute and nova-conductor. Statements are
those of the whole database server during a pass, heartbeats included.
"""

from __future__ import annotations

import argparse
import pathlib
import sys
import tempfile
from collections.abc import Sequence

from benchmarks.nova import failover, moves, passes
from benchmarks.nova.cloud import Cloud
from benchmarks.nova.progress import LimitError, Progress
from benchmarks.nova.results import Results
from lab import nova, process

PARTS = ('passes', 'failover', 'moves')


def main(argv: Sequence[str] | None = None) -> int:
    """Run the benchmark.

    :returns: an exit code: 0 if every target was met, else 1.
    """
    args = _parser().parse_args(argv)
    parts = args.part or PARTS
    drivers = [args.only] if args.only else list(nova.DRIVERS)
    progress, results = Progress(args.limit), Results()
    code = 0
    with tempfile.TemporaryDirectory(prefix='nova-') as name:
        directory = pathlib.Path(name)
        # Servers that run as other users have their files below it.
        directory.chmod(0o755)
        cloud = Cloud(directory, args.nodes, progress)
        try:
            cloud.start()
            for driver in drivers:
                _measure(cloud, driver, parts, args.steady, results)
        except (LimitError, process.LabError) as exc:
            progress.report(f'ENDED EARLY: {exc}')
            code = 1
        finally:
            cloud.stop()
    return results.show(args.nodes) or code


def _measure(
    cloud: Cloud,
    driver: nova.Driver,
    parts: Sequence[str],
    steady: int,
    results: Results,
) -> None:
    if driver == 'ours':
        cloud.adopt()
    first, running = None, []
    if 'passes' in parts:
        first = passes.measure(cloud, driver, steady, results)
        running = [first]
    if 'failover' in parts:
        running = failover.measure(cloud, driver, first, results)
    for compute in running:
        compute.nova.stop()
    if 'moves' in parts and driver == 'ours':
        moves.measure(cloud, results)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog='python -m benchmarks.nova')
    add = parser.add_argument
    add('--nodes', type=int, default=1000)
    add(
        '--part',
        action='append',
        choices=PARTS,
        help='measure this part; may be repeated (default: all)',
    )
    add('--only', choices=sorted(nova.DRIVERS), help='measure one driver')
    add('--steady', type=int, default=2, help='steady passes (default: 2)')
    add(
        '--limit',
        type=float,
        default=3600.0,
        help='seconds for everything (default: 3600)',
    )
    return parser


if __name__ == '__main__':
    sys.exit(main())
