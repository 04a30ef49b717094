"""Command line of the nemesis."""

from __future__ import annotations

import argparse
import contextlib
import pathlib
import random
import shutil
import signal
import sys
import tempfile
from collections.abc import Sequence

from benchmarks.nemesis import members, records, report, scopes
from benchmarks.nemesis.cluster import Cluster
from benchmarks.nemesis.faults import FAULTS
from benchmarks.nemesis.operators import COMMANDS
from benchmarks.nemesis.run import Run
from benchmarks.nemesis.settings import MIDDLEWARE, Settings
from lab import process


def main(argv: Sequence[str] | None = None) -> int:
    """Run, and print the report.

    :returns: an exit code: 0 without a violation, 1 with one, 2 if the run
        itself had a trouble or was interrupted.
    """
    parser = _parser()
    options = parser.parse_args(argv)
    if options.request_interval and options.records.startswith('postgresql'):
        parser.error("Ironic's middleware has no driver for PostgreSQL here")
    if options.broken == MIDDLEWARE and not options.request_interval:
        parser.error(f'--broken {MIDDLEWARE} needs --request-interval')
    # An end by SIGTERM cleans up as well.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(2))
    settings = Settings(
        **{
            name: value
            for name, value in vars(options).items()
            if name not in ('report', 'directory', 'pace')
            and value is not None
        }
    ).slower(options.pace)
    directory = options.directory or pathlib.Path(
        tempfile.mkdtemp(prefix='nemesis-')
    )
    directory.mkdir(parents=True, exist_ok=True)
    directory.chmod(0o755)
    _say(
        f'seed {settings.seed}: {settings.records} and {settings.members}, '
        f'{settings.minutes:g} minutes, files in {directory}'
    )
    files = [
        path for path in (directory / 'report.json', options.report) if path
    ]
    completed = False
    try:
        with Cluster(directory, settings) as cluster:
            run = Run(cluster)

            def save() -> None:
                for path in files:
                    report.save(report.figures(run), path)

            # An interrupted run reports what it has found so far.
            with contextlib.suppress(KeyboardInterrupt, SystemExit):
                run.run(_say, save)
                completed = True
            # A fault that goes on would start a server behind its end.
            run.storm.calm()
            found = report.figures(run)
    except (process.LabError, OSError) as exc:
        _say(f'the run itself failed: {exc}')
        return 2
    for path in files:
        report.save(found, path)
    _say(report.text(found))
    if found['violations']:
        return 1
    if not completed or found['troubles']:
        return 2
    if not options.directory:
        shutil.rmtree(directory, ignore_errors=True)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog='python -m benchmarks.nemesis',
        description='Random faults against real host processes, and a check '
        'of the laws. The same seed gives the same schedule.',
    )
    parser.add_argument(
        '--seed', type=int, default=random.SystemRandom().getrandbits(31)
    )
    parser.add_argument('--minutes', type=float, default=10)
    parser.add_argument(
        '--records', choices=sorted(records.RECORDS), default='postgresql'
    )
    parser.add_argument('--members', choices=members.NAMES, default='db')
    parser.add_argument('--policy', choices=scopes.POLICIES)
    parser.add_argument('--nodes', type=int)
    parser.add_argument('--ttl', type=float, help='seconds')
    parser.add_argument(
        '--storm', type=float, help='seconds of faults in each round'
    )
    parser.add_argument(
        '--pause', type=float, help='mean seconds between two faults'
    )
    parser.add_argument(
        '--ask-interval',
        type=float,
        help='seconds between two questions to one guard',
    )
    parser.add_argument(
        '--request-interval',
        type=float,
        help='seconds between two signed requests of one thread to an Ironic '
        'with the middleware, on average; without it there is neither',
    )
    parser.add_argument(
        '--pace',
        type=float,
        default=1,
        help='factor of all other times but the minutes: for a machine that '
        'is busy with other work',
    )
    parser.add_argument(
        '--patience',
        type=float,
        help='seconds until all has to be well after the faults',
    )
    parser.add_argument(
        '--kinds',
        type=lambda text: tuple(text.split(',')),
        help='only these kinds of faults, separated by commas: '
        + ', '.join(kind.name for kind in (*FAULTS, *COMMANDS)),
    )
    parser.add_argument(
        '--broken',
        choices=('fence', 'guard', MIDDLEWARE),
        help='break every host, or the middleware in Ironic, on purpose: '
        'there have to be violations',
    )
    parser.add_argument(
        '--report',
        type=pathlib.Path,
        help='write the report to this file, after each round and at the end',
    )
    parser.add_argument(
        '--directory',
        type=pathlib.Path,
        help='keep all files here; otherwise they are deleted after a run '
        'without a violation',
    )
    return parser


def _say(text: str) -> None:
    print(text, flush=True)


if __name__ == '__main__':
    sys.exit(main())
